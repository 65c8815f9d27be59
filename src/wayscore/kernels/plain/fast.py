"""FastDTW (Salvador and Chan): warp halves of the paths first, then only look near that warping.

Points are averaged in pairs; nodes, which have no average, are sampled (every second one), as the paper says.
Ties prefer the reference's step, then the query's, then the diagonal, compared after the local distance is
added, and windows are cut as the widely used `fastdtw` package cuts them, so that its scores are reproduced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Cells = NDArray[np.int64]
Places = NDArray[Any]


def fast_points(reference: Floats, query: Floats, radius: int, cells: Cells) -> tuple[float, int]:
    """FastDTW of two paths of points; `cells` receives the warping."""

    def pairs(a: Floats, b: Floats) -> Floats:
        squares = np.zeros(len(a))
        with np.errstate(over="ignore"):  # as in C: squares that overflow are infinite
            for axis in range(a.shape[1]):
                difference = a[:, axis] - b[:, axis]
                squares += difference * difference
        return np.sqrt(squares)

    return fast_warp(reference, query, pairs, radius, cells)


def fast_table(table: Floats, reference: Places, query: Places, radius: int, cells: Cells) -> tuple[float, int]:
    """FastDTW of two paths of codes, with their distances in a table."""
    return fast_warp(reference, query, lambda a, b: table[a, b], radius, cells)


def fast_warp(
    reference: Places, query: Places, pairs: Callable[[Places, Places], Floats], radius: int, cells: Cells
) -> tuple[float, int]:
    """FastDTW with any distance: `pairs(a, b)` gives it for places standing in the same position."""
    cost, warping = _level(reference, query, pairs, radius)
    cells[: len(warping)] = warping
    return cost, len(warping)


def _level(
    reference: Places, query: Places, pairs: Callable[[Places, Places], Floats], radius: int
) -> tuple[float, Cells]:
    n, m = len(reference), len(query)
    if n < radius + 2 or m < radius + 2:
        low, high = np.zeros(n, dtype=np.int64), np.full(n, m - 1)
    else:
        _, coarse = _level(_halve(reference), _halve(query), pairs, radius)
        low, high = _widen(coarse, n, m, radius)
    return _warp_window(reference, query, pairs, low, high)


def _halve(path: Places) -> Places:
    even = len(path) // 2 * 2
    if path.ndim == 1:
        return path[0:even:2]
    return np.asarray((path[0:even:2] + path[1:even:2]) / 2)


def _widen(coarse: Cells, n: int, m: int, radius: int) -> tuple[Cells, Cells]:
    """Return the columns that each row may be matched with, given the warping of the halved paths."""
    rows = n // 2
    first, last = np.full(rows, m), np.zeros(rows, dtype=np.int64)
    np.minimum.at(first, coarse[:, 0], coarse[:, 1])
    np.maximum.at(last, coarse[:, 0], coarse[:, 1])
    half = np.arange(n) // 2
    low = np.maximum(2 * (first[np.clip(half - radius, 0, rows - 1)] - radius), 0)
    high = np.minimum(2 * (last[np.clip(half + radius, 0, rows - 1)] + radius) + 1, m - 1)
    high[-1] = m - 1  # radius 0 and an odd number of columns would leave the last one out
    return low, high


def _warp_window(
    reference: Places, query: Places, pairs: Callable[[Places, Places], Floats], low: Cells, high: Cells
) -> tuple[float, Cells]:
    widths = high - low + 1
    starts = np.concatenate(([0], np.cumsum(widths)))
    row_of = np.repeat(np.arange(len(low)), widths)
    column_of = np.arange(starts[-1]) - np.repeat(starts[:-1] - low, widths)
    costs = pairs(reference[row_of], query[column_of]).tolist()
    steps = np.empty(len(costs), dtype=np.uint8)
    infinity = float("inf")
    above: dict[int, float] = {-1: 0.0}
    at = 0
    for start, stop in zip(low.tolist(), high.tolist(), strict=True):
        here: dict[int, float] = {}
        west = infinity
        for j in range(start, stop + 1):
            distance = costs[at]
            best, step = above.get(j, infinity) + distance, 0
            if west + distance < best:
                best, step = west + distance, 1
            if above.get(j - 1, infinity) + distance < best:
                best, step = above.get(j - 1, infinity) + distance, 2
            here[j] = west = best
            steps[at] = step
            at += 1
        above = here
    i, j = len(low) - 1, len(query) - 1
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
    return above[len(query) - 1], np.array(warping[::-1], dtype=np.int64)
