"""Checks of the arguments of a grid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wayscore.errors import DistanceError, shortened


def checked_occupancy(free: ArrayLike) -> NDArray[np.bool_]:
    """Return a read-only copy, True where free."""
    try:
        array = np.asarray(free)
    except ValueError:
        raise DistanceError("free must be a 2-dimensional array, got rows of different lengths") from None
    if array.dtype.kind not in "biuf":
        raise DistanceError(f"free must hold booleans or numbers (nonzero = free), got {array.dtype}")
    if array.ndim != 2:
        raise DistanceError(f"free must be a 2-dimensional array, got shape {array.shape}")
    if (array.shape[0] + 2) * (array.shape[1] + 2) >= 2**31:
        raise DistanceError(f"free must have fewer than 2**31 cells, got shape {array.shape}; use larger cells")
    if np.isnan(array).any():
        raise DistanceError("free must not hold NaN; mark every cell as free or not, for example with free == 1")
    cells = np.array(array != 0, order="C")
    if not cells.any():
        raise DistanceError(f"free has no free cell (shape {array.shape}); nonzero means free, not occupied")
    cells.flags.writeable = False
    return cells


def checked_cell(cell: float) -> float:
    """Return the side of a cell, metres."""
    side = _numbers([cell])
    if len(side) != 1 or side[0] <= 0.0:
        raise DistanceError(
            f"cell must be the side of a cell, a finite length above 0 in metres, got {shortened(cell)}"
        )
    return side[0]


def checked_origin(origin: Sequence[float]) -> tuple[float, float]:
    """Return the centre of cell [0, 0], metres."""
    point = _numbers(origin)
    if len(point) != 2:
        raise DistanceError(f"origin must be two finite numbers, the centre of cell [0, 0], got {shortened(origin)}")
    return point[0], point[1]


def _numbers(values: Sequence[float]) -> list[float]:
    """Return finite numbers (-0.0 becomes 0.0), or an empty list if a value is not a finite number."""
    try:
        numbers = [float(value) + 0.0 for value in values]
    except (TypeError, ValueError):
        return []
    return numbers if np.isfinite(numbers).all() else []
