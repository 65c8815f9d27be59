"""Any callable as a distance, called once for each distinct pair of places."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from wayscore.distances.base import Floats, Places
from wayscore.errors import DistanceError, PathError
from wayscore.paths import PathBatch, Paths, Role, offsets_of, path_name


class Function:
    """A distance given as a function of two places (labels, or coordinates as tuples).

    The function must return a number >= 0 (infinity for "no way"). It is called once for each distinct pair;
    d(b, a) is taken to be d(a, b) unless `symmetric=False`.

    >>> taxi = Function(lambda a, b: abs(a[0] - b[0]) + abs(a[1] - b[1]))
    >>> codes = taxi.encode([[(0, 0), (2, 3)]]).places
    >>> taxi.pairs(codes[:1], codes[1:])
    array([5.])
    """

    def __init__(
        self, function: Callable[[Any, Any], float], *, symmetric: bool = True, name: str | None = None
    ) -> None:
        if not callable(function):
            raise DistanceError(f"Function needs a callable of two places, got {function!r}")
        self.function = function
        self.symmetric = symmetric
        self.name = name or getattr(function, "__qualname__", type(function).__name__)
        self.places: list[Any] = []
        self._index: dict[Any, int] = {}
        self._known: dict[tuple[int, int], float] = {}
        self._lock = threading.RLock()  # one thread asks at a time, so that no pair is asked for twice

    @property
    def fingerprint(self) -> str:
        """The function's name: what it computes cannot be told from outside."""
        return f"function:{self.name}"

    def encode(self, paths: Paths, *, role: Role = "path") -> PathBatch:
        """Number places as they are first met; arrays and lists of coordinates become tuples."""
        paths = list(paths)
        offsets = offsets_of(paths, role=role)
        codes = []
        with self._lock:
            for number, path in enumerate(paths):
                for step, place in enumerate(path):
                    key = tuple(np.asarray(place).tolist()) if isinstance(place, list | np.ndarray) else place
                    try:
                        code = self._index.setdefault(key, len(self._index))
                    except TypeError:
                        raise PathError(
                            f"{path_name(role, number)}, step {step}: {place!r} is neither a label nor coordinates"
                        ) from None
                    if code == len(self.places):
                        self.places.append(key)
                    codes.append(code)
        return PathBatch(np.array(codes, dtype=np.int32), offsets)

    def between(self, a: Places, b: Places) -> Floats:
        """Call the function for the pairs not met before."""
        with self._lock:
            return np.array([[self._distance(x, y) for y in b.tolist()] for x in a.tolist()], dtype=np.float64)

    def pairs(self, a: Places, b: Places) -> Floats:
        """Call the function for the pairs not met before."""
        partners = zip(a.tolist(), b.tolist(), strict=True)
        with self._lock:
            return np.array([self._distance(x, y) for x, y in partners], dtype=np.float64)

    def _distance(self, a: int, b: int) -> float:
        known = self._known.get((a, b))
        if known is None:
            value = self.function(self.places[a], self.places[b])
            try:
                known = float(value)
            except (TypeError, ValueError):
                known = float("nan")
            if not known >= 0.0:
                raise DistanceError(
                    f"{self.name}({self.places[a]!r}, {self.places[b]!r}) returned {value!r}; "
                    "a distance is a number that is not negative"
                )
            self._known[a, b] = known
            if self.symmetric:
                self._known[b, a] = known
        return known
