"""Dynamic time warping (the paper's Alg. 1), tile by tile, along anti-diagonals.

`top` (m + 1 values) is the row of C above a tile and `left` (n + 1) the column before it, both beginning with
the corner they share; on return they hold the tile's last row and last column.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[Any]
Cells = NDArray[np.int64]

TILE = 512
"""Rows and columns of C that are computed at once, so that memory stays linear."""


def euclidean(a: Floats, b: Floats) -> Floats:
    """Return sqrt(sum_c (a_c - b_c)^2) along the last axis, summing coordinates in their order."""
    squares = np.zeros(np.broadcast_shapes(a.shape, b.shape)[:-1])
    with np.errstate(over="ignore", invalid="ignore"):  # as in C: squares that overflow are infinite
        for axis in range(a.shape[-1]):
            difference = a[..., axis] - b[..., axis]
            squares += difference * difference
    return np.sqrt(squares)


def euclidean_block(a: Floats, b: Floats, out: Floats) -> None:
    """Write the distances of all pairs of points to `out`."""
    out[...] = euclidean(a[:, None], b)


def all_within(numbers: Floats, largest: float) -> bool:
    """Say whether every |number| is at most that; NaN is not."""
    return bool((np.abs(numbers) <= largest).all())


def fill(costs: Floats, top: Floats, left: Floats) -> Floats:
    """Return C of one tile, borders included, (..., n + 1, m + 1); leading axes are tiles side by side.

    C[i, j] = costs[i, j] + min(C[i-1, j], C[i, j-1], C[i-1, j-1]); cells of one anti-diagonal do not depend on
    each other, and on the flat memory of a matrix they stand a constant stride apart.
    """
    *others, n, m = costs.shape
    C = np.empty((*others, n + 1, m + 1))
    C[..., 0, :], C[..., :, 0] = top, left
    flat, flat_costs = C.reshape(*others, -1), np.ascontiguousarray(costs).reshape(*others, -1)
    for diagonal in range(n + m - 1):
        first = max(0, diagonal - m + 1)  # the topmost row that this diagonal crosses
        count = min(n - 1, diagonal) - first + 1

        def cells(start: int, stride: int, count: int = count) -> slice:
            return slice(start, start + (count - 1) * stride + 1, max(1, stride))

        here = (first + 1) * (m + 1) + (diagonal - first + 1)
        north, west, corner = (flat[..., cells(here - back, m)] for back in (m + 1, 1, m + 2))
        cost = flat_costs[..., cells(first * m + diagonal - first, m - 1)]
        flat[..., cells(here, m)] = cost + np.minimum(np.minimum(north, corner), west)
    return C


def warp(table: Floats | None, reference: Places, query: Places, top: Floats | None, left: Floats | None) -> float:
    """Warp one tile of two paths, of codes of a table or, without one, of points; return C at its last cell."""
    n, m = len(reference), len(query)
    fresh_top, fresh_left = fresh_borders(n, m)
    top = fresh_top if top is None else top
    left = fresh_left if left is None else left
    for i in range(0, n, TILE):
        i_end = min(i + TILE, n)
        side = left[i : i_end + 1].copy()
        side[0] = top[0]
        below = side[-1]
        for j in range(0, m, TILE):
            j_end = min(j + TILE, m)
            upper = top[j : j_end + 1].copy()
            upper[0] = side[0]
            C = fill(_costs(table, reference[i:i_end], query[j:j_end]), upper, side)
            top[j + 1 : j_end + 1], side = C[-1, 1:], C[:, -1]
        top[0] = below
        left[i : i_end + 1] = side
    return float(top[-1])


def trace(
    table: Floats | None,
    reference: Places,
    query: Places,
    top: Floats | None,
    left: Floats | None,
    i: int,
    j: int,
    cells: Cells,
) -> tuple[float, int]:
    """Follow the optimal warping back from cell (i, j) until it leaves the tile; return C there and how many cells.

    `cells` receives them, last first, and after them the first cell outside (a coordinate is -1). Ties go to
    the diagonal, then to the reference's step.
    """
    costs = _costs(table, reference[: i + 1], query[: j + 1])
    fresh_top, fresh_left = fresh_borders(i + 1, j + 1)
    C = fill(costs, fresh_top if top is None else top[: j + 2], fresh_left if left is None else left[: i + 2])
    count = 0
    while i >= 0 and j >= 0:
        cells[count] = i, j
        count += 1
        corner, north, west = C[i, j], C[i, j + 1], C[i + 1, j]
        if corner <= north and corner <= west:
            i, j = i - 1, j - 1
        elif north <= west:
            i -= 1
        else:
            j -= 1
    cells[count] = i, j
    return float(C[-1, -1]), count


def _costs(table: Floats | None, reference: Places, query: Places) -> Floats:
    return euclidean(reference[:, None], query) if table is None else table[reference[:, None], query]


def fresh_borders(n: int, m: int) -> tuple[Floats, Floats]:
    """Return `top` and `left` at the start of both paths: infinite except for the corner."""
    top, left = np.full(m + 1, np.inf), np.full(n + 1, np.inf)
    top[0] = left[0] = 0.0
    return top, left
