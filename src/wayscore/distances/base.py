"""The base class of distances, which scoring, warping and reports use, and how other objects become one."""

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
"""The methods that an object needs to be used as a distance, besides its `fingerprint`."""


class Distance:
    """The base class of all distances d between two nodes or points.

    `encode` turns paths of labels or coordinates into arrays once; the other methods take these arrays.
    Distances are not negative and never NaN; infinity means unreachable. Your own distance defines
    `fingerprint`, `encode`, `between` and `pairs`; everything else has defaults.

    Attributes:
        fingerprint: a short text for signatures: equal for equal distances, and the same on every machine.
        unit: the unit of distances: "m", "hops".
        name: its name in errors: "node 'x' is not among the 12 nodes of the {name}".
        table: all pairs as a square float64 array, or None. With it the fastest kernels are used.
        index: label -> code, if all nodes are known in advance; else None.
        is_straight: True if encoded paths are points and d is the straight line between two of them.
    """

    fingerprint: str
    unit: str = "m"
    name: str = "distance"
    table: Floats | None = None
    index: dict[Any, int] | None = None
    is_straight: bool = False

    def encode(self, paths: Paths, *, role: Role = "path") -> PathBatch:  # noqa: ARG002
        """Check the paths and return them as a batch of codes or points; `role` names them in errors."""
        raise self._undefined("encode")

    def decode(self, places: Places) -> Any:
        """Return encoded nodes as a list of labels, or points as an (n, k) array."""
        return places if places.ndim == 2 else places.tolist()

    def between(self, a: Places, b: Places) -> Floats:  # noqa: ARG002
        """Return the (len(a), len(b)) distances from each node or point of `a` to each of `b`."""
        raise self._undefined("between")

    def pairs(self, a: Places, b: Places) -> Floats:  # noqa: ARG002
        """Return the (len(a),) distances from each node or point of `a` to its partner in `b`."""
        raise self._undefined("pairs")

    def _undefined(self, method: str) -> OptionError:
        return OptionError(f"distance: the {type(self).__name__} does not define {method}(); see wayscore.Distance")


class _Adapted(Distance):
    """An object that is not a `Distance` but has its methods; its other attributes are copied."""

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
        """The fingerprint of the object, computed when it is needed: hashing a large table is slow."""
        return str(self.given.fingerprint)


def as_distance(given: Any) -> Distance:
    """Return a distance unchanged, or make one from an object that has the methods of a distance.

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
            "distance must be a Graph, Euclidean, Grid, Table, Function, NavMesh or Snapped, or an object with their "
            "methods; got a "
            f"{type(given).__name__}"
        )
    # Only check that it exists: computing it may be slow.
    if not hasattr(type(given), "fingerprint") and "fingerprint" not in getattr(given, "__dict__", {}):
        raise OptionError(
            f"distance: the {type(given).__name__} has no fingerprint; give it a short text that names it in "
            'signatures, such as fingerprint = "lift"'
        )
    return _Adapted(given)
