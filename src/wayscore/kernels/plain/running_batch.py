"""DTW of many queries that grow: one call takes a step in every environment, or in those that are active.

`rows[e]` is the last column of C over the reference of environment e, beginning with its border, and `values[e]`
receives DTW so far. References stand in arrays that have room for the longest; what stands behind a shorter one does
not matter, and neither do the rows there. A kernel returns the number of the first environment whose node does not
fit, and takes no step in any; else it returns -1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.kernels.plain.running import LARGEST

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
Flags = NDArray[np.uint8] | None


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
    squares = np.zeros((len(references), references.shape[2]))
    with np.errstate(over="ignore", invalid="ignore"):  # of environments that are not active
        for axis in range(references.shape[1]):
            difference = references[:, axis, :] - points[:, axis, None]
            squares += difference * difference
        return advance_block(np.sqrt(squares), lengths, rows, active, values)


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
