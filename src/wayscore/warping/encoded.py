"""DTW of two encoded paths: its value, its optimal warping tile by tile, and FastDTW."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from wayscore import kernels
from wayscore.distances.base import Distance, Floats, Places
from wayscore.errors import PathError

BLOCK_CELLS = 1 << 21
"""The most distances that are computed at once where they are not in a table (16 MiB)."""
TRACE_CELLS = 1 << 24
"""The most cells whose warping is found in one tile where kernels take the distances (4 MiB)."""


def dtw_value(R: Places, Q: Places, distance: Distance) -> float:
    """Return DTW of two encoded paths."""
    if len(R) * len(Q) > BLOCK_CELLS and not _knows_distances(distance):
        parts = math.isqrt(len(R) * len(Q) // BLOCK_CELLS) + 1
        rows, *_ = _warp_tiles(R, Q, distance, *fresh_borders(len(R), len(Q)), parts)
        return float(rows[-1][-1])
    value = kernels.warp(*_for_kernels(R, Q, distance), None, None)
    check_overflow(value, Q, distance)
    return value


def warp_costs(costs: Floats) -> float:
    """Return DTW of two paths whose distances are given."""
    return kernels.warp(*_as_table(costs), None, None)


def _knows_distances(distance: Distance) -> bool:
    """Return whether kernels find the distances by themselves, which then need no memory."""
    return distance.is_straight or distance.table is not None


def _for_kernels(R: Places, Q: Places, distance: Distance) -> tuple[Floats | None, Places, Places]:
    """Return what kernels take: points after None, or codes after the table of their distances."""
    if _knows_distances(distance):
        return None if distance.is_straight else distance.table, R, Q
    return _as_table(distance.between(R, Q))


def _as_table(costs: Floats) -> tuple[Floats, Places, Places]:
    """Known costs are a table of distances between row i and column j."""
    return costs, np.arange(costs.shape[0], dtype=np.int32), np.arange(costs.shape[1], dtype=np.int32)


def fast_cost(R: Places, Q: Places, distance: Distance, compiled: bool = False) -> float:
    """Return the cost of FastDTW of radius 1 between two encoded paths."""
    return fast_warping(R, Q, distance, 1, compiled)[0]


def fast_warping(
    R: Places, Q: Places, distance: Distance, radius: int, compiled: bool = False
) -> tuple[float, NDArray[np.int64]]:
    """Return the cost and the (k, 2) pairs of FastDTW, as a build of the `fastdtw` package finds them, query first."""
    cells = np.empty((len(R) + len(Q), 2), dtype=np.int64)
    how = min(radius, len(R) + len(Q)), int(compiled), cells
    if _knows_distances(distance):
        cost, count = kernels.fast(*_for_kernels(R, Q, distance), *how)
    else:
        cost, count = kernels.fast_warp(R, Q, distance.pairs, *how)
    check_overflow(cost, Q, distance)
    return cost, cells[:count].copy()


def check_overflow(value: float, Q: Places, distance: Distance) -> None:
    """Raise an error for points whose squares overflow, found by the result: checking every point would be slower."""
    if value == math.inf and distance.is_straight:
        role = "the query" if np.abs(Q).max() > kernels.LARGEST else "the reference"
        raise PathError(f"{role} has coordinates above {kernels.LARGEST:g}, whose squares overflow")


def fresh_borders(n: int, m: int) -> tuple[Floats, Floats]:
    """Return the row above C and the column before it: infinite except for the corner, which is 0."""
    top, left = np.full(m + 1, np.inf), np.full(n + 1, np.inf)
    top[0] = left[0] = 0.0
    return top, left


def _warp_tiles(
    R: Places, Q: Places, distance: Distance, top: Floats, left: Floats, parts: int
) -> tuple[list[Floats], list[Floats], NDArray[np.int64], NDArray[np.int64]]:
    """Fill C in `parts` x `parts` tiles, keeping the row above each row of tiles and the column before each.

    Returns those rows and columns (one more of each than tiles: the last is the end of C), and where tiles begin.
    """
    row_cuts = np.unique(np.linspace(0, len(R), min(parts, len(R)) + 1).astype(np.int64))
    column_cuts = np.unique(np.linspace(0, len(Q), min(parts, len(Q)) + 1).astype(np.int64))
    columns = [left.copy()] + [np.empty_like(left) for _ in column_cuts[1:]]
    rows = [top.copy()]
    for i, i_end in pairwise(row_cuts):
        row = rows[-1].copy()
        for number, (j, j_end) in enumerate(pairwise(column_cuts)):
            above, beside = rows[-1][j : j_end + 1].copy(), columns[number][i : i_end + 1].copy()
            kernels.warp(*_for_kernels(R[i:i_end], Q[j:j_end], distance), above, beside)
            row[j : j_end + 1] = above
            columns[number + 1][i : i_end + 1] = beside
        rows.append(row)
    return rows, columns, row_cuts, column_cuts


def optimal_warping(R: Places, Q: Places, distance: Distance) -> tuple[float, NDArray[np.int64]]:
    """Return DTW of two encoded paths and the (k, 2) pairs of an optimal warping."""
    cost, cells = _walk_back(R, Q, distance, *fresh_borders(len(R), len(Q)))
    check_overflow(cost, Q, distance)
    return cost, cells[-2::-1].copy()  # without the cell before the first


def _walk_back(R: Places, Q: Places, distance: Distance, top: Floats, left: Floats) -> tuple[float, NDArray[np.int64]]:
    """Return C at the last cell of a tile, and the cells of an optimal warping from there back to the first outside.

    A long pair is divided into tiles: only their borders are stored, and only those are computed again that the
    warping crosses.
    """
    i, j = len(R) - 1, len(Q) - 1
    if len(R) * len(Q) <= (TRACE_CELLS if _knows_distances(distance) else BLOCK_CELLS):
        cells = np.empty((len(R) + len(Q), 2), dtype=np.int64)
        cost, count = kernels.trace(*_for_kernels(R, Q, distance), top, left, i, j, cells)
        return cost, cells[: count + 1]
    rows, columns, row_cuts, column_cuts = _warp_tiles(R, Q, distance, top, left, 48)
    found = []
    while i >= 0 and j >= 0:
        a = int(np.searchsorted(row_cuts, i, side="right")) - 1
        b = int(np.searchsorted(column_cuts, j, side="right")) - 1
        i0, j0 = int(row_cuts[a]), int(column_cuts[b])
        above, beside = rows[a][j0 : j + 2], columns[b][i0 : i + 2]
        _, inside = _walk_back(R[i0 : i + 1], Q[j0 : j + 1], distance, above, beside)
        inside += np.array([i0, j0])
        found.append(inside[:-1])
        i, j = inside[-1].tolist()
    found.append(np.array([[i, j]]))
    return float(rows[-1][-1]), np.concatenate(found)
