"""The loop that a user writes for one pair: Python on lists and dictionaries, and numba on arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import dist, exp, inf, sqrt
from typing import Any

import numpy as np

from benchmarks.timing import need

Point = Sequence[float]


def warp_names(R: Sequence[str], Q: Sequence[str], d: Mapping[str, Mapping[str, float]]) -> float:
    """Return DTW of node names in Python; d[a][b] is a distance."""
    C = [0.0] + [inf] * len(Q)
    for r in R:
        from_r, diagonal, left = d[r], C[0], inf
        C[0] = inf
        for j, q in enumerate(Q, 1):
            above = C[j]
            C[j] = left = from_r[q] + min(above, left, diagonal)
            diagonal = above
    return C[-1]


def warp_lists(R: Sequence[Point], Q: Sequence[Point]) -> float:
    """Return DTW of points in lists, in Python."""
    C = [0.0] + [inf] * len(Q)
    for r in R:
        diagonal, left = C[0], inf
        C[0] = inf
        for j, q in enumerate(Q, 1):
            above = C[j]
            C[j] = left = dist(r, q) + min(above, left, diagonal)
            diagonal = above
    return C[-1]


def align_lists(R: Sequence[Point], Q: Sequence[Point]) -> tuple[float, list[tuple[int, int]]]:
    """Return DTW of points in lists and the warping, in Python."""
    C, moves = [0.0] + [inf] * len(Q), []
    for r in R:
        diagonal, left, row = C[0], inf, bytearray(len(Q))
        C[0] = inf
        for j, q in enumerate(Q):
            above = C[j + 1]
            best = min(diagonal, above, left)
            row[j] = 0 if best == diagonal else 1 if best == above else 2
            C[j + 1] = left = dist(r, q) + best
            diagonal = above
        moves.append(row)
    i, j = len(R) - 1, len(Q) - 1
    pairs = [(i, j)]
    while i or j:
        move = moves[i][j]
        i, j = i - (move != 2), j - (move != 1)
        pairs.append((i, j))
    return C[-1], pairs[::-1]


def warp_points(R: Any, Q: Any, threshold: float) -> float:
    """Return DTW of points in float64 arrays, or with a threshold above 0 nDTW; to be compiled by numba."""
    n, m = len(R), len(Q)
    C = np.full(m + 1, np.inf)
    C[0] = 0.0
    for i in range(n):
        diagonal = C[0]
        C[0] = np.inf
        for j in range(m):
            squares = 0.0
            for k in range(R.shape[1]):
                step = R[i, k] - Q[j, k]
                squares += step * step
            above = C[j + 1]
            C[j + 1] = sqrt(squares) + min(above, min(C[j], diagonal))  # numba: two at a time
            diagonal = above
    return exp(-C[m] / (n * threshold)) if threshold > 0 else float(C[m])


def warp_codes(table: Any, R: Any, Q: Any) -> float:
    """Return DTW of node numbers with a table of distances; to be compiled by numba."""
    m = len(Q)
    C = np.full(m + 1, np.inf)
    C[0] = 0.0
    for i in range(len(R)):
        diagonal = C[0]
        C[0] = np.inf
        for j in range(m):
            above = C[j + 1]
            C[j + 1] = table[R[i], Q[j]] + min(above, min(C[j], diagonal))
            diagonal = above
    return float(C[m])


def align_points(R: Any, Q: Any) -> tuple[float, Any]:
    """Return DTW of points in float64 arrays and the warping, (k, 2); to be compiled by numba."""
    n, m = len(R), len(Q)
    C = np.full(m + 1, np.inf)
    C[0] = 0.0
    moves = np.empty((n, m), np.uint8)
    for i in range(n):
        diagonal = C[0]
        C[0] = np.inf
        for j in range(m):
            squares = 0.0
            for k in range(R.shape[1]):
                step = R[i, k] - Q[j, k]
                squares += step * step
            above, left = C[j + 1], C[j]
            best, move = diagonal, 0
            if above < best:
                best, move = above, 1
            if left < best:
                best, move = left, 2
            moves[i, j] = move
            C[j + 1] = sqrt(squares) + best
            diagonal = above
    pairs = np.empty((n + m - 1, 2), np.int64)
    i, j, at = n - 1, m - 1, n + m - 2
    while i > 0 or j > 0:
        pairs[at, 0], pairs[at, 1] = i, j
        move = moves[i, j]
        if move != 2:
            i -= 1
        if move != 1:
            j -= 1
        at -= 1
    pairs[at, 0], pairs[at, 1] = 0, 0
    return float(C[m]), pairs[at:]


@cache
def compiled(loop: Callable[..., Any]) -> Callable[..., Any]:
    """Return a loop of this module as numba compiles it at its first call."""
    found: Callable[..., Any] = need("numba").njit(loop)
    return found
