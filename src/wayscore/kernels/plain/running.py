"""DTW of queries that grow, one step at a time: of one, whose state is an object, and of many at once.

Of many, one call takes a step in every environment, or in those that are active. `rows[e]` is the last column of C over
the reference of environment e, beginning with its border, and `values[e]` receives DTW so far. References stand in
arrays that have room for the longest; what stands behind a shorter one does not matter, and neither do the rows there.
A kernel returns the number of the first environment whose node does not fit, and takes no step in any; else -1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.kernels.plain.pair import LARGEST, code_of, codes_of, points_of
from wayscore.kernels.plain.warp import euclidean

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
Flags = NDArray[np.uint8] | None


class Running:
    """The last column of C over a reference, and what is needed for the next one.

    Attributes:
        count: how many nodes the reference has.
        dimension: of its points; 0 if they are not points.
        steps: how many the query has so far.
        dtw: DTW so far; infinite before the first step.
    """

    __slots__ = ("_codes", "_index", "_points", "_row", "_table", "count", "dimension", "dtw", "steps")

    def __init__(self, count: int, points: Any = None, codes: Any = None, index: Any = None, table: Any = None) -> None:
        self.count, self.steps, self.dtw = count, 0, math.inf
        self._points, self._codes, self._index, self._table = points, codes, index, table
        self.dimension = 0 if points is None else points.shape[1]
        self._row = [0.0] + [math.inf] * count

    def step(self, node: Any) -> float | None:
        """Take the next node or point; return DTW so far, or None (and take no step) if the node is unusual."""
        if self._table is not None:
            code = code_of(node, self._index, len(self._table))
            return None if code is None else self.advance(self._table[self._codes, code])
        point = None if self._points is None else points_of(node, 1)
        if point is None or len(point) != self.dimension:
            return None
        return self.advance(euclidean(self._points, point))

    def advance(self, costs: Floats) -> float:
        """Take a step, given the distances of the next node to every node of the reference; return DTW so far."""
        if len(costs) != self.count:
            raise ValueError("advance needs one distance for each node of the reference")
        old, west = self._row, math.inf
        self._row = [west]
        for j, cost in enumerate(costs.tolist(), start=1):
            west = cost + min(old[j], old[j - 1], west)
            self._row.append(west)
        self.steps += 1
        self.dtw = west
        return west

    def ndtw(self, threshold: float) -> float | None:
        """Return nDTW so far, or None if the threshold is not a float above 0."""
        if not isinstance(threshold, float) or not 0.0 < threshold < math.inf:
            return None
        return math.exp(-self.dtw / (self.count * threshold))

    def fork(self) -> Running:
        """Return an independent copy."""
        copy = object.__new__(Running)
        for name in Running.__slots__:  # a step replaces the row, so that both may share it
            setattr(copy, name, getattr(self, name))
        return copy


def running(reference: Any, index: dict[Any, int] | None, table: Floats | None) -> Running | None:
    """Return the state before the first step, or None if the reference is unusual.

    Without a table the reference is points, or the number of its nodes (then only `advance` takes steps). With a table
    it is labels that the index finds, or codes; without an index so are the nodes of the query.
    """
    if table is not None:
        square = table.ndim == 2 and table.shape[0] == table.shape[1]
        if not square or table.dtype != np.float64 or not table.flags.c_contiguous:
            return None
        known = isinstance(reference, np.ndarray) and reference.dtype == np.int32 and reference.ndim == 1  # codes
        codes = codes_of(reference.tolist() if known else reference, None if known else index, len(table))
        return None if codes is None else Running(len(codes), None, codes, index, table)
    if isinstance(reference, int):
        return Running(reference) if reference > 0 else None
    points = points_of(reference)
    return None if points is None else Running(len(points), points)


def advance_block(costs: Floats, lengths: Numbers, rows: Floats, active: Flags, values: Floats) -> int:
    """Take a step, given the distances to all nodes of the references, (environments, width)."""
    chosen = _chosen(active, rows)
    old, costs = rows[chosen], costs[chosen]
    new = np.full_like(old, np.inf)
    for j in range(costs.shape[1]):  # environments side by side, reference nodes one by one
        new[:, j + 1] = costs[:, j] + np.minimum(np.minimum(old[:, j + 1], old[:, j]), new[:, j])
    rows[chosen] = new
    values[chosen] = new[np.arange(len(new)), lengths[chosen]]
    return -1


def advance_points(
    references: Floats, lengths: Numbers, rows: Floats, active: Flags, values: Floats, points: Floats
) -> int:
    """Take a step to points; the references are points, coordinate by coordinate, (environments, dimension, width)."""
    chosen = _chosen(active, rows)
    wrong = ~(np.abs(points[chosen]) <= LARGEST).all(axis=1)
    if wrong.any():
        return int(chosen[np.argmax(wrong)])
    costs = euclidean(references.transpose(0, 2, 1), points[:, None])
    return advance_block(costs, lengths, rows, active, values)


def advance_table(
    references: NDArray[np.int32],
    lengths: Numbers,
    rows: Floats,
    active: Flags,
    values: Floats,
    codes: Numbers,
    scenes: Numbers,
    tables: list[Any],
) -> int:
    """Take a step to nodes, given as codes like the references; `tables[scenes[e]]` has environment e's distances."""
    chosen = _chosen(active, rows)
    sizes = np.array([len(table) for table in tables])[scenes[chosen]]
    wrong = (codes[chosen] < 0) | (codes[chosen] >= sizes)
    if wrong.any():
        return int(chosen[np.argmax(wrong)])
    costs = np.zeros(references.shape)
    for number in np.unique(scenes[chosen]).tolist():
        here = chosen[scenes[chosen] == number]
        costs[here] = np.asarray(tables[number])[references[here], codes[here, None]]
    return advance_block(costs, lengths, rows, active, values)


def look_up(labels: list[Any], active: Flags, codes: Numbers, scenes: Numbers, indexes: list[dict[Any, int]]) -> int:
    """Write the code of each environment's label, by `indexes[scenes[e]]`; return the first that is unknown, or -1."""
    for number in _chosen(active, codes).tolist():
        try:
            codes[number] = indexes[scenes[number]][labels[number]]
        except (KeyError, TypeError):
            codes[number] = -1
            return int(number)
    return -1


def _chosen(active: Flags, every: NDArray[Any]) -> Numbers:
    return np.arange(len(every)) if active is None else np.flatnonzero(active)
