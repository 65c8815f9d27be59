"""DTW of one pair straight from lists and arrays, where nothing is unusual about them; else None, and others look."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.kernels.plain.warp import warp_block, warp_points

Floats = NDArray[np.float64]
MOST_CELLS = 9_000_000
"""From so many cells on pruning is tried, which the general way does."""


def pair(reference: Any, query: Any, index: Mapping[Any, int] | None, table: Floats | None) -> float | None:
    """Return DTW of two paths of points, or of labels that an index finds in a table; None where it is not plain."""
    if index is not None and table is not None:
        codes = [_codes(path, index) for path in (reference, query)]
        if any(code is None for code in codes):
            return None
        return float(warp_block(table[codes[0]][:, codes[1]], None, None))
    R, Q = _points(reference), _points(query)
    if R is None or Q is None or R.shape[1] != Q.shape[1] or len(R) * len(Q) >= MOST_CELLS:
        return None
    cost = float(warp_points(R, Q, None, None))
    return cost if np.isfinite(cost) else None


def _codes(path: Any, index: Mapping[Any, int]) -> list[int] | None:
    if not isinstance(path, list | tuple) or not path:
        return None
    try:
        return [index[label] for label in path]
    except (KeyError, TypeError):
        return None


def _points(path: Any) -> Floats | None:
    if isinstance(path, np.ndarray):
        plain = path.ndim == 2 and path.size and path.dtype in (np.float64, np.float32)
    else:
        plain = isinstance(path, list | tuple) and len(path) and all(_is_point(step, path[0]) for step in path)
    if not plain:
        return None
    points = np.ascontiguousarray(path, dtype=np.float64)
    return points if np.isfinite(points).all() else None


def _is_point(step: Any, first: Any) -> bool:
    if not isinstance(step, list | tuple) or not isinstance(first, list | tuple) or not 0 < len(step) == len(first):
        return False
    return all(isinstance(number, float | int) and not isinstance(number, bool) for number in step)
