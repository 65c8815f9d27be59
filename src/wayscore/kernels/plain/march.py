"""Fast marching: the eikonal equation |grad T| = 1 from one cell of a grid, T in cells.

The grid is framed by one blocked cell on every side, so that no neighbour is ever out of bounds. The front
grows from the smallest open value. These rules bound its error:

- cells near the source and in straight sight of it hold their exact distance;
- differences are of second order where two settled cells stand in line, of first order elsewhere;
- no value exceeds a settled neighbour's by more than the step between them (1, or sqrt 2 between two free
  cells), so that no way is longer than on the 8-neighbour grid;
- no value is below the straight line to the source.
"""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

EXACT_RADIUS = 8
"""In cells. Beyond 20 cells of an empty grid the error stays below 0.2 % with 5, below 0.11 % with 8."""

DIAGONAL = 1.4142135623730951
BLOCKED, OPEN, EXACT, SETTLED = range(4)


def march(free: NDArray[np.uint8], source: int, target: int, out: NDArray[np.float64]) -> None:
    """Write the distance in cells from `source` to every cell it can reach.

    Args:
        free: (h, w), nonzero where one can walk.
        source: flat index of a free cell.
        target: flat index of the cell at which to stop once it is settled, or -1 for the whole field.
        out: (h, w), written; infinity where no way leads or the march stopped before.

    >>> out = np.empty((2, 3))
    >>> march(np.array([[1, 1, 0], [0, 1, 1]], dtype=np.uint8), 0, -1, out)
    >>> out.round(3).tolist()
    [[0.0, 1.0, inf], [inf, 2.0, 2.236]]
    """
    height, width = free.shape
    if out.shape != free.shape:
        raise ValueError("out must have the shape of free")
    if not 0 <= source < free.size or not free[source // width, source % width]:
        raise ValueError("source must be the flat index of a free cell")
    if not -1 <= target < free.size:
        raise ValueError("target must be the flat index of a cell, or -1")
    front = _Front(free, source)
    front.march(-1 if target < 0 else (target // width + 1) * (width + 2) + target % width + 1)
    values = np.where(np.array(front.state) == SETTLED, front.value, inf)
    out[:] = values.reshape(height + 2, width + 2)[1:-1, 1:-1]


class _Front:
    """The marching front on the framed grid; cells are flat indices of the frame."""

    def __init__(self, free: NDArray[np.uint8], source: int) -> None:
        width = free.shape[1]
        self.stride = width + 2
        self.source = (source // width + 1) * self.stride + source % width + 1
        self.state = [OPEN if cell else BLOCKED for cell in np.pad(free, 1).ravel().tolist()]
        self.value = [inf] * len(self.state)
        self.heap: list[tuple[float, int]] = []

    def march(self, target: int) -> None:
        """March until the target is settled, or everywhere where there is none."""
        down, reach, state = self.stride, EXACT_RADIUS, self.state
        for i in range(-reach, reach + 1):
            for j in range(-reach, reach + 1):
                if i * i + j * j <= reach * reach and self.in_sight(i, j):
                    self.lower(self.source + i * down + j, sqrt(i * i + j * j))
                    state[self.source + i * down + j] = EXACT
        while self.heap:
            _, cell = heappop(self.heap)
            if state[cell] == SETTLED:  # an entry that a lower value has overtaken
                continue
            state[cell] = SETTLED
            if cell == target:
                return
            for beside in (cell - down, cell - 1, cell + 1, cell + down):
                self.update(beside)
            for vertical in (-down, down):
                for horizontal in (-1, 1):
                    corner = cell + vertical + horizontal
                    if state[corner] == OPEN and state[cell + vertical] and state[cell + horizontal]:
                        self.lower(corner, self.value[cell] + DIAGONAL)

    def lower(self, cell: int, value: float) -> None:
        """Lower the value of a cell that is not settled."""
        if value < self.value[cell]:
            self.value[cell] = value
            heappush(self.heap, (value, cell))

    def in_sight(self, rows: int, columns: int) -> bool:
        """Whether the segment from the source touches free cells only; through a corner, both beside it."""
        cell, state = self.source, self.state
        down, right = (-self.stride if rows < 0 else self.stride), (-1 if columns < 0 else 1)
        height, width = abs(rows), abs(columns)
        i = j = 0
        while i < height or j < width:
            side = (1 + 2 * i) * width - (1 + 2 * j) * height
            if side == 0 and (state[cell + down] == BLOCKED or state[cell + right] == BLOCKED):
                return False
            if side <= 0:
                i, cell = i + 1, cell + down
            if side >= 0:
                j, cell = j + 1, cell + right
            if state[cell] == BLOCKED:
                return False
        return True

    def slope(self, cell: int, step: int) -> tuple[float, float, float]:
        """Return the smaller settled neighbour on an axis, and b and w of the difference w (T - b)^2."""
        near, beyond = inf, cell
        for beside, behind in ((cell - step, cell - 2 * step), (cell + step, cell + 2 * step)):
            if self.state[beside] == SETTLED and self.value[beside] < near:
                near, beyond = self.value[beside], behind
        if self.state[beyond] == SETTLED and self.value[beyond] <= near:
            return near, (4.0 * near - self.value[beyond]) / 3.0, 2.25
        return near, near, 1.0

    def update(self, cell: int) -> None:
        """Solve the equation at an open cell from its settled neighbours."""
        if self.state[cell] != OPEN:
            return
        near_i, base_i, weight_i = self.slope(cell, self.stride)
        near_j, base_j, weight_j = self.slope(cell, 1)
        value = min(near_i, near_j) + 1.0
        if near_i < inf and near_j < inf:
            weight, gap = weight_i + weight_j, base_i - base_j
            inside = weight - weight_i * weight_j * gap * gap
            if inside >= 0.0:
                both = (weight_i * base_i + weight_j * base_j + sqrt(inside)) / weight
                # Only a front that comes from both neighbours may use both differences.
                if base_i <= both < value and base_j <= both:
                    (i, j), (source_i, source_j) = divmod(cell, self.stride), divmod(self.source, self.stride)
                    value = max(both, sqrt((i - source_i) ** 2 + (j - source_j) ** 2))  # the straight line
        self.lower(cell, value)
