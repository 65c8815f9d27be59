"""FastDTW (Salvador and Chan): warp halves of the paths first, then only look near that warping.

Points are averaged in pairs; nodes, which have no average, are sampled (every second one), as the paper says.
Ties and windows are those of the widely used `fastdtw` package, so that its scores are reproduced. Evaluators give
it the agent's path first: rows are the query's. Its two builds differ (`rule` says which):

                                 PYTHON                           COMPILED
  ties prefer                    query's step, reference's, both  both, reference's step, query's
  costs are compared             with the local distance          before it is added
  a step of both                 from any cell of the row above   not past the last column of the row above
  last of an odd number of rows  window of a row further on       window of the row above

With radius 0 the first fails on odd lengths (windows are mended here), the second crashes (costs are infinite).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.kernels.plain.warp import euclidean

Floats = NDArray[np.float64]
Cells = NDArray[np.int64]
Places = NDArray[Any]
Pairs = Callable[[Places, Places], Floats]

PYTHON, COMPILED = 0, 1


def fast(
    table: Floats | None, reference: Places, query: Places, radius: int, rule: int, cells: Cells
) -> tuple[float, int]:
    """FastDTW of two paths, of codes of a table or, without one, of points; `cells` receives the warping."""
    pairs = euclidean if table is None else lambda a, b: table[a, b]
    return fast_warp(reference, query, pairs, radius, rule, cells)


def fast_warp(
    reference: Places, query: Places, pairs: Pairs, radius: int, rule: int, cells: Cells
) -> tuple[float, int]:
    """FastDTW with any distance: `pairs(a, b)` gives it for places standing in the same position."""
    cost, warping = _level(reference, query, pairs, radius, rule)
    cells[: len(warping)] = warping[:, ::-1]  # the reference's places come first for callers
    return cost, len(warping)


def _level(reference: Places, query: Places, pairs: Pairs, radius: int, rule: int) -> tuple[float, Cells]:
    n, m = len(query), len(reference)
    if n < radius + 2 or m < radius + 2:
        low, high = np.zeros(n, dtype=np.int64), np.full(n, m - 1)
    else:
        _, coarse = _level(_halve(reference), _halve(query), pairs, radius, rule)
        low, high = _widen(coarse, n, m, radius, rule)
    return _warp_window(reference, query, pairs, low, high, rule)


def _halve(path: Places) -> Places:
    even = len(path) // 2 * 2
    if path.ndim == 1:
        return path[0:even:2]
    return np.asarray((path[0:even:2] + path[1:even:2]) / 2)


def _widen(coarse: Cells, n: int, m: int, radius: int, rule: int) -> tuple[Cells, Cells]:
    """Return the columns that each row may be matched with, given the warping of the halved paths."""
    rows = n // 2
    first, last = np.full(rows, m), np.zeros(rows, dtype=np.int64)
    np.minimum.at(first, coarse[:, 0], coarse[:, 1])
    np.maximum.at(last, coarse[:, 0], coarse[:, 1])
    half = np.arange(n) // 2
    if rule == COMPILED:
        half = np.minimum(half, rows - 1)
    low = np.maximum(2 * (first[np.clip(half - radius, 0, rows - 1)] - radius), 0)
    high = np.minimum(2 * (last[np.clip(half + radius, 0, rows - 1)] + radius) + 1, m - 1)
    high[-1] = m - 1  # radius 0 and an odd number of columns would leave the last one out
    return low, high


def _warp_window(
    reference: Places, query: Places, pairs: Pairs, low: Cells, high: Cells, rule: int
) -> tuple[float, Cells]:
    """Return the cost and the warping found in the window, as places of the query and the reference."""
    widths = high - low + 1
    starts = np.concatenate(([0], np.cumsum(widths)))
    row_of = np.repeat(np.arange(len(low)), widths)
    column_of = np.arange(starts[-1]) - np.repeat(starts[:-1] - low, widths)
    costs = pairs(reference[column_of], query[row_of]).tolist()
    steps = np.empty(len(costs), dtype=np.uint8)
    infinity = float("inf")
    above: dict[int, float] = {-1: 0.0}
    at = 0
    for start, stop in zip(low.tolist(), high.tolist(), strict=True):
        here: dict[int, float] = {}
        west = infinity
        for j in range(start, stop + 1):
            distance = costs[at]
            north, corner = above.get(j, infinity), above.get(j - 1, infinity)
            if rule == PYTHON:
                best, step = north + distance, 0
                if west + distance < best:
                    best, step = west + distance, 1
                if corner + distance < best:
                    best, step = corner + distance, 2
            else:
                if j and j not in above:  # past the row above, whose last cell it does not see
                    corner = infinity
                best, step = north, 0
                if west <= best:
                    best, step = west, 1
                if corner <= best:
                    best, step = corner, 2
                if best == infinity:  # no way leads here: nor does a step of both
                    step = 0
                best += distance
            here[j] = west = best
            steps[at] = step
            at += 1
        above = here
    i, j = len(low) - 1, len(reference) - 1
    warping = []
    while True:
        warping.append((i, j))
        if i == j == 0:
            break
        step = int(steps[starts[i] + j - low[i]])
        if i == 0:  # where no way is finite the steps say nothing: stay inside the window
            step = 1
        elif j == 0:
            step = 0
        elif step == 0 and j > high[i - 1]:
            step = 1 if j > low[i] else 2
        i, j = i - (step != 1), j - (step != 0)
    return above[len(reference) - 1], np.array(warping[::-1], dtype=np.int64)
