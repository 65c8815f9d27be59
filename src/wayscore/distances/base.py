"""The protocol of a distance: what scoring needs to know of the space that paths live in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from wayscore.errors import OptionError

if TYPE_CHECKING:
    from wayscore.paths import PathBatch, Paths, Role

Floats = NDArray[np.float64]
Places = NDArray[Any]
"""Encoded places: int32 codes of shape (n,), or float64 points of shape (n, k)."""


@runtime_checkable
class Distance(Protocol):
    """A metric on places. Three methods, so that anyone can add one.

    `encode` turns what users write (labels, coordinates) into arrays once; the other two take those arrays.
    Distances are non-negative and never NaN; infinity means that no way exists.
    """

    @property
    def fingerprint(self) -> str:
        """A short text for signatures: equal for equal distances, and free of machine details."""
        ...

    def encode(self, paths: Paths, *, role: Role = "path") -> PathBatch:
        """Check the paths and return them as a batch of codes or points; `role` names them in errors."""
        ...

    def between(self, a: Places, b: Places) -> Floats:
        """Return the (len(a), len(b)) distances between each place of `a` and each of `b`."""
        ...

    def pairs(self, a: Places, b: Places) -> Floats:
        """Return the (len(a),) distances from each place of `a` to its partner in `b`."""
        ...


def check_distance(distance: Any) -> None:
    """Refuse what cannot serve as a distance."""
    # By its methods: isinstance would look at the fingerprint too, and a large table is slow to hash.
    if not all(callable(getattr(distance, method, None)) for method in ("encode", "between", "pairs")):
        raise OptionError(
            "distance must be a Graph, Euclidean, Grid, Table or Function, or an object with their methods; got a "
            f"{type(distance).__name__}"
        )
