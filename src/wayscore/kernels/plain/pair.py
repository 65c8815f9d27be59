"""One pair straight from lists and arrays, where nothing is unusual about them; else None, and others look.

Without an index the paths are points; with one it maps labels to rows of a table of distances.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.kernels.plain.measure import COMPARE_NEAREST, COMPARE_WARPING, MEASURES, measure
from wayscore.kernels.plain.warp import trace, warp

Floats = NDArray[np.float64]
Index = Mapping[Any, int] | None
MOST_CELLS = 9_000_000
"""From this number of cells on, warpings are found tile by tile, by the general way."""
LARGEST = 1e150
"""Squares of larger coordinates overflow."""


def pair_value(reference: Any, query: Any, index: Index, table: Floats | None) -> float | None:
    """Return DTW of two paths."""
    given = _given(reference, query, index, table)
    cost = np.inf if given is None else warp(*given, None, None)
    return None if cost == np.inf and (given is None or given[0] is None) else cost


def pair_ndtw(reference: Any, query: Any, index: Index, table: Floats | None, threshold: Any) -> float | None:
    """Return nDTW of two paths; None also where the threshold is no float above 0."""
    if not isinstance(threshold, float) or not 0.0 < threshold < math.inf:
        return None
    cost = pair_value(reference, query, index, table)
    return None if cost is None else math.exp(-cost / (len(reference) * threshold))


def pair_warping(
    reference: Any, query: Any, index: Index, table: Floats | None, cells: NDArray[np.int64]
) -> tuple[float, int] | None:
    """Write the pairs of the optimal warping to `cells`, first pair first; return DTW and their number."""
    given = _given(reference, query, index, table)
    if given is None or len(given[1]) * len(given[2]) >= MOST_CELLS:
        return None
    cost, count = trace(*given, None, None, len(given[1]) - 1, len(given[2]) - 1, cells)
    cells[:count] = cells[:count][::-1].copy()
    return None if cost == np.inf and given[0] is None else (cost, count)


def pair_measures(
    reference: Any, query: Any, index: Index, table: Floats | None, scale: float, reach: float
) -> tuple[float, ...] | None:
    """Return what the measure kernels write for one episode, in their order."""
    given = _given(reference, query, index, table)
    if given is None:
        return None
    table, R, Q = given
    out, r_offsets, q_offsets = np.empty((MEASURES, 1)), np.array([0, len(R)]), np.array([0, len(Q)])
    compare = COMPARE_WARPING | COMPARE_NEAREST
    measure(table, R, Q, r_offsets, q_offsets, None, compare, scale, reach, out, 0)
    return None if out[9, 0] == np.inf and table is None else tuple(out[:, 0].tolist())


def _given(reference: Any, query: Any, index: Index, table: Floats | None) -> tuple[Floats | None, Any, Any] | None:
    """Return the table and two paths of codes, or None and two paths of points; None where anything is unusual."""
    if index is None:
        R, Q = points_of(reference), points_of(query)
        return None if R is None or Q is None or R.shape[1] != Q.shape[1] else (None, R, Q)
    if table is None:
        return None
    r, q = (codes_of(path, index, len(table)) for path in (reference, query))
    return None if r is None or q is None else (table, r, q)


def codes_of(path: Any, index: Index, size: int) -> NDArray[np.int32] | None:
    """Return a list of labels (without an index, of codes) as rows of a table; None where anything is unusual."""
    codes = [code_of(node, index, size) for node in path] if isinstance(path, list | tuple) else []
    return None if not codes or None in codes else np.array(codes, dtype=np.int32)


def code_of(node: Any, index: Index, size: int) -> int | None:
    """Return the row of a table for a label (without an index, for a code); None if there is none."""
    try:
        code = operator.index(node if index is None else index[node])
    except (KeyError, TypeError):
        return None
    return code if 0 <= code < size else None


def points_of(path: Any, dimensions: int = 2) -> Floats | None:
    """Return a list of points (or with 1 dimension, one point) or an array of floats as a new array of float64.

    None where anything is unusual: kinds of numbers, shapes, sizes.
    """
    if isinstance(path, list | tuple):
        steps = [path] if dimensions == 1 else path
        plain = all(
            isinstance(step, list | tuple)
            and all(isinstance(number, float | int) and not isinstance(number, bool) for number in step)
            for step in steps
        )
    else:
        try:
            view = memoryview(path)
        except (TypeError, ValueError):
            return None
        plain = view.ndim == dimensions and view.format in ("d", "f")
    try:
        points = np.array(path, dtype=np.float64, order="C") if plain else None
    except (OverflowError, ValueError):
        return None
    fits = points is not None and points.ndim == dimensions and points.size and (np.abs(points) <= LARGEST).all()
    return points if fits else None


def encode(
    index: dict[Any, int] | list[dict[Any, int]], paths: Sequence[Sequence[Any]], codes: NDArray[np.int32]
) -> int:
    """Write the code of every label of every path; return the position of the first unknown one, or -1.

    `index` maps labels to codes, or is a list of such mappings, one a path.
    """
    position = 0
    indexes = index if isinstance(index, list) else repeat(index, len(paths))
    for path, known in zip(paths, indexes, strict=True):
        for label in path:
            if label not in known:
                return position
            codes[position] = known[label]
            position += 1
    return -1
