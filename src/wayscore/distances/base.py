"""What a distance is: the base class that scoring, warping and reports rely on, and how other objects become one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wayscore.errors import OptionError

if TYPE_CHECKING:
    from wayscore.paths import PathBatch, Paths, Role

Floats = NDArray[np.float64]
Places = NDArray[Any]
"""Encoded nodes, int32 codes of shape (n,), or points, float64 of shape (n, k)."""
METHODS = ("encode", "between", "pairs")
"""What an object must have to be taken as a distance, beside its `fingerprint`."""


class Distance:
    """The distance d between two nodes or points; the base class of all of them.

    `encode` turns what users write (labels, coordinates) into arrays once; the other methods take those arrays.
    Distances are not negative and never NaN; infinity means unreachable. A distance of your own defines
    `fingerprint`, `encode`, `between` and `pairs`; the rest has defaults.

    Attributes:
        fingerprint: a short text for signatures: equal for equal distances, and free of machine details.
        unit: what distances are measured in: "m", "hops".
        name: what errors call it: "node 'x' is not among the 12 nodes of the {name}".
        table: all pairs as a square float64 array, or None. With it the fastest kernels are used.
        index: label -> code, where all nodes are known in advance; else None.
        is_straight: encoded paths are points, and d is the straight line between two of them.
    """

    fingerprint: str
    unit: str = "m"
    name: str = "distance"
    table: Floats | None = None
    index: dict[Any, int] | None = None
    is_straight: bool = False

    def encode(self, paths: Paths, *, role: Role = "path") -> PathBatch:
        """Check the paths and return them as a batch of codes or points; `role` names them in errors."""
        raise NotImplementedError

    def decode(self, places: Places) -> Any:
        """Return encoded nodes as a list of labels, or points as an (n, k) array."""
        return places if places.ndim == 2 else places.tolist()

    def between(self, a: Places, b: Places) -> Floats:
        """Return the (len(a), len(b)) distances from each node or point of `a` to each of `b`."""
        raise NotImplementedError

    def pairs(self, a: Places, b: Places) -> Floats:
        """Return the (len(a),) distances from each node or point of `a` to its partner in `b`."""
        raise NotImplementedError


class _Adapted(Distance):
    """An object that is no `Distance` but has the methods of one; what else it has is taken over."""

    def __init__(self, given: Any) -> None:
        self.given = given
        self.encode = given.encode  # type: ignore[method-assign]
        self.between = given.between  # type: ignore[method-assign]
        self.pairs = given.pairs  # type: ignore[method-assign]
        if hasattr(given, "decode"):
            self.decode = given.decode  # type: ignore[method-assign]
        for fact in ("unit", "name", "table", "index", "is_straight"):
            if hasattr(given, fact):
                setattr(self, fact, getattr(given, fact))

    def __repr__(self) -> str:
        return repr(self.given)

    def __reduce__(self) -> tuple[Any, ...]:
        return as_distance, (self.given,)

    @property
    def fingerprint(self) -> str:  # type: ignore[override]
        """That of the object, when it is used: a large table is slow to hash."""
        return str(self.given.fingerprint)


def as_distance(given: Any) -> Distance:
    """Return a distance: as it is, or made of an object that has the methods of one.

    >>> class Floors:
    ...     fingerprint = "floors"
    ...     def encode(self, paths, *, role="path"): ...
    ...     def between(self, a, b): ...
    ...     def pairs(self, a, b): ...
    >>> as_distance(Floors()).unit
    'm'
    """
    if isinstance(given, Distance):
        return given
    if not all(callable(getattr(given, method, None)) for method in METHODS) or isinstance(given, type):
        raise OptionError(
            "distance must be a Graph, Euclidean, Grid, Table or Function, or an object with their methods; got a "
            f"{type(given).__name__}"
        )
    # Looked for, not looked at: it may be slow to compute.
    if not hasattr(type(given), "fingerprint") and "fingerprint" not in getattr(given, "__dict__", {}):
        raise OptionError(
            f"distance: the {type(given).__name__} has no fingerprint; give it a short text that names it in "
            'signatures, such as fingerprint = "lift"'
        )
    return _Adapted(given)
