"""FastDTW with the ties and windows of the `fastdtw` package's compiled build: a literal recursion, slow, obvious."""

from __future__ import annotations

import math
from collections.abc import Sequence

Point = Sequence[float]
Cell = tuple[int, int]


def length(a: Point, b: Point) -> float:
    """The Euclidean distance, added axis by axis: `math.dist` rounds better, which would break ties."""
    return math.sqrt(sum((x - y) * (x - y) for x, y in zip(a, b, strict=True)))


def compiled(X: Sequence[Point], Y: Sequence[Point], radius: int) -> tuple[float, list[Cell]]:
    """The cost and the warping, X given first; the radius is 1 or more."""
    if min(len(X), len(Y)) < radius + 2:
        return warp(X, Y, [range(len(Y))] * len(X))
    _, coarse = compiled(halves(X), halves(Y), radius)
    last = len(X) // 2 - 1
    spans = []
    for i in range(len(X)):
        half = min(i // 2, last)  # an odd last row sees what the row above it sees
        first_row, last_row = max(half - radius, 0), min(half + radius, last)
        low = min(j for row, j in coarse if row == first_row) - radius
        high = max(j for row, j in coarse if row == last_row) + radius
        spans.append(range(max(2 * low, 0), min(2 * high + 2, len(Y))))
    return warp(X, Y, spans)


def halves(path: Sequence[Point]) -> list[Point]:
    return [[(a + b) / 2 for a, b in zip(*pair, strict=True)] for pair in zip(path[::2], path[1::2], strict=False)]


def warp(X: Sequence[Point], Y: Sequence[Point], spans: Sequence[range]) -> tuple[float, list[Cell]]:
    cost: dict[Cell, float] = {}
    origin: dict[Cell, Cell] = {}
    for i, span in enumerate(spans):
        for j in span:
            up, left, corner = (i - 1, j), (i, j - 1), (i - 1, j - 1)
            c_up, c_left, c_corner = (cost.get(cell, math.inf) for cell in (up, left, corner))
            if i == j == 0:
                c_corner = 0.0
            elif up not in cost:  # where the row above has ended, its last cell is not seen across the corner either
                c_corner = math.inf
            if c_up < c_left and c_up < c_corner:
                before, origin[i, j] = c_up, up
            elif c_left < c_corner:
                before, origin[i, j] = c_left, left
            else:
                before, origin[i, j] = c_corner, corner
            cost[i, j] = before + length(X[i], Y[j])
    cell = end = len(X) - 1, len(Y) - 1
    warping = []
    while cell != (-1, -1):
        warping.append(cell)
        cell = origin[cell]
    return cost[end], warping[::-1]
