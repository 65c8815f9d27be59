"""Dynamic time warping (the paper's Alg. 1), tile by tile, along anti-diagonals.

`top` (m + 1 values) is the row of C above a tile and `left` (n + 1) the column before it, both beginning with
the corner they share; on return they hold the tile's last row and last column.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def euclidean_block(a: Floats, b: Floats, out: Floats) -> None:
    """Write sqrt(sum_c (a_ic - b_jc)^2) to `out`, summing coordinates in their order."""
    out[...] = 0.0
    with np.errstate(over="ignore"):  # as in C: squares that overflow are infinite
        for axis in range(a.shape[1]):
            difference = a[:, axis, None] - b[None, :, axis]
            out += difference * difference
    np.sqrt(out, out=out)


def all_finite(numbers: Floats) -> bool:
    """Say whether no number is NaN or infinite."""
    return bool(np.isfinite(numbers).all())


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


def _fresh(n: int, m: int) -> tuple[Floats, Floats]:
    top, left = np.full(m + 1, np.inf), np.full(n + 1, np.inf)
    top[0] = left[0] = 0.0
    return top, left


def warp_block(costs: Floats, top: Floats | None, left: Floats | None) -> float:
    """Warp one tile of known costs; return C at its last cell."""
    fresh_top, fresh_left = _fresh(*costs.shape)
    top = fresh_top if top is None else top
    left = fresh_left if left is None else left
    C = fill(costs, top, left)
    top[:], left[:] = C[-1], C[:, -1]
    return float(C[-1, -1])


def warp_points(reference: Floats, query: Floats, top: Floats | None, left: Floats | None) -> float:
    """Warp one tile of two paths of points; 512 rows and columns of C at a time, so that memory stays linear."""
    size = 512
    fresh_top, fresh_left = _fresh(len(reference), len(query))
    top = fresh_top if top is None else top
    left = fresh_left if left is None else left
    for i in range(0, len(reference), size):
        rows = reference[i : i + size]
        side = left[i : i + len(rows) + 1].copy()
        side[0] = top[0]
        below = side[-1]
        for j in range(0, len(query), size):
            columns = query[j : j + size]
            costs = np.empty((len(rows), len(columns)))
            euclidean_block(rows, columns, costs)
            upper = top[j : j + len(columns) + 1].copy()
            upper[0] = side[0]
            warp_block(costs, upper, side)
            top[j + 1 : j + len(columns) + 1] = upper[1:]
        top[0] = below
        left[i if i == 0 else i + 1 : i + len(rows) + 1] = side if i == 0 else side[1:]
    return float(top[-1])


def pruned_points(reference: Floats, query: Floats, budget: int) -> float | None:  # noqa: ARG001
    """Always decline: pruning cell by cell does not pay in NumPy, and the full warping has the same bits."""
    return None


def trace_block(costs: Floats, top: Floats, left: Floats, i: int, j: int, cells: NDArray[np.int64]) -> int:
    """Follow the optimal warping back from cell (i, j) until it leaves the tile; return the number of cells.

    `cells` receives them, last first, and after them the first cell outside (a coordinate is -1). Ties go to
    the diagonal, then to the reference's step.
    """
    C = fill(costs[: i + 1, : j + 1], top[: j + 2], left[: i + 2])
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
    return count
