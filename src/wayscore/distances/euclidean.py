"""Euclidean distance between points of any dimension, without obstacles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wayscore import kernels
from wayscore.distances.base import Distance, Floats, Places
from wayscore.errors import PathError
from wayscore.paths import PathBatch, Paths, Role


@dataclass(frozen=True)
class Euclidean(Distance):
    """The straight line, d(a, b) = sqrt(sum_c (a_c - b_c)^2), in the unit of the coordinates.

    >>> Euclidean().between(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([[5., 1.]])
    """

    fingerprint: ClassVar[str] = "euclidean"  # type: ignore[misc]
    name: ClassVar[str] = "space"  # type: ignore[misc]
    is_straight: ClassVar[bool] = True  # type: ignore[misc]

    def encode(self, paths: Paths, *, role: Role = "path") -> PathBatch:
        """Check coordinates and return them as one batch."""
        if isinstance(paths, PathBatch):
            if not isinstance(paths.places, np.ndarray) or paths.places.ndim != 2:
                raise PathError("paths hold labels, but Euclidean distance needs coordinates; give a Graph or a Table")
            return paths
        return PathBatch.from_points(paths, role=role)

    def between(self, a: Places, b: Places) -> Floats:
        """Return every distance from `a` (n, k) to `b` (m, k)."""
        block = np.empty((len(a), len(b)))
        kernels.euclidean_block(a, b, block)
        return block

    def pairs(self, a: Places, b: Places) -> Floats:
        """Return the distance of each point of `a` to its partner in `b`."""
        squares = np.zeros(len(a))
        with np.errstate(over="ignore"):  # squares that overflow are infinite, which is checked later
            for axis in range(a.shape[1]):
                difference = a[:, axis] - b[:, axis]
                squares += difference * difference
        return np.sqrt(squares)


EUCLIDEAN = Euclidean()
"""The default, `distance=None`."""
