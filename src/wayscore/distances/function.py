"""Any function as a distance, called once for each distinct pair of nodes or points."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from wayscore.distances.base import Distance, Floats, Places
from wayscore.errors import DistanceError, PathError, shortened
from wayscore.paths import PathBatch, Paths, Role, offsets_of, path_name


class Function(Distance):
    """A distance given as a function of two nodes (labels) or two points (coordinates as tuples).

    The function must return a number >= 0 (infinity for "unreachable"). It is called once for each distinct pair;
    d(b, a) is assumed to be equal to d(a, b) unless `symmetric=False`.

    >>> taxi = Function(lambda a, b: abs(a[0] - b[0]) + abs(a[1] - b[1]))
    >>> codes = taxi.encode([[(0, 0), (2, 3)]]).places
    >>> taxi.pairs(codes[:1], codes[1:])
    array([5.])
    """

    def __init__(
        self, function: Callable[[Any, Any], float], *, symmetric: bool = True, name: str | None = None
    ) -> None:
        if not callable(function):
            raise DistanceError(f"Function needs a function of two nodes, got {shortened(function)}")
        self.function = function
        self.symmetric = symmetric
        self.name = name or str(getattr(function, "__qualname__", type(function).__name__))
        self.fingerprint = f"function:{self.name}"  # what it computes is unknown
        self._labels: list[Any] = []
        self._codes: dict[Any, int] = {}
        self._known: dict[tuple[int, int], float] = {}
        self._lock = threading.RLock()  # one thread calls at a time, so that no pair is computed twice

    def __repr__(self) -> str:
        return f"<Function {self.name}>"

    def __getstate__(self) -> dict[str, Any]:
        # A lock cannot be pickled. Codes are kept, because encoded paths may be pickled together with this object.
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())

    def encode(self, paths: Paths, *, role: Role = "path") -> PathBatch:
        """Number nodes and points in the order in which they first occur; coordinates become tuples."""
        paths = list(paths)
        offsets = offsets_of(paths, role=role)
        codes = []
        with self._lock:
            for number, path in enumerate(paths):
                for step, node in enumerate(path):
                    key = tuple(np.asarray(node).tolist()) if isinstance(node, list | np.ndarray) else node
                    try:
                        code = self._codes.setdefault(key, len(self._codes))
                    except TypeError:
                        raise PathError(
                            f"{path_name(role, number)}, step {step}: {shortened(node)} is neither a label nor "
                            "coordinates"
                        ) from None
                    if code == len(self._labels):
                        self._labels.append(key)
                    codes.append(code)
        return PathBatch(np.array(codes, dtype=np.int32), offsets)

    def decode(self, places: Places) -> list[Any]:
        """Return what the function is called with: labels, or coordinates as tuples."""
        return [self._labels[code] for code in places.tolist()]

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
            value = self.function(self._labels[a], self._labels[b])
            try:
                known = float(value)
            except (TypeError, ValueError):
                known = float("nan")
            if not known >= 0.0:
                raise DistanceError(
                    f"{self.name}({shortened(self._labels[a])}, {shortened(self._labels[b])}) returned "
                    f"{shortened(value)}; a distance must be a number that is not negative"
                )
            self._known[a, b] = known
            if self.symmetric:
                self._known[b, a] = known
        return known
