"""What the metrics are made of, for many episodes at once: padded into one block, vectorised across episodes.

Episode e is written to column `first + e` of `out`, whose rows are, in this order: the query's length, the
reference's length, the distance of the ends, the nearest distance to the goal, the distance from the query's start to
the goal, the mean and the largest deviation of the query, the coverage of the reference, the edit distance of the
edges, the warping (DTW), and the numbers of places of the reference and the query.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.kernels.plain.warp import euclidean, fill, fresh_borders

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Offsets = NDArray[np.int64]
Places = NDArray[Any]

CELLS_AT_ONCE = 1 << 20
MEASURES = 12
"""The number of rows."""
COMPARE_WARPING, COMPARE_NEAREST = 1, 2
"""Flags of `compare`: which measurements that take all pairs of places are made. Without the second, the nearest
distance to the goal, the deviations and the coverage are 0; without the first, the warping is."""


def measure(
    table: Floats | None,
    r: Places,
    q: Places,
    r_offsets: Offsets,
    q_offsets: Offsets,
    pairing: Offsets | None,
    compare: int,
    scale: float,
    reach: float,
    out: Floats,
    first: int,
) -> None:
    """Measure paths of codes whose distances are in a table, or without one paths of points.

    Edit distances are those of episodes that end within `reach`; of the others they are the most there can be.
    """

    def distances(a: Places, b: Places) -> Floats:
        return euclidean(a, b) if table is None else table[a, b]

    references = np.arange(len(q_offsets) - 1) if pairing is None else pairing
    n, m = np.diff(r_offsets)[references], np.diff(q_offsets)
    longest = np.maximum(n, m)
    order = np.argsort(longest, kind="stable")  # alike with alike, so that little is padding
    while len(order):
        padded = np.arange(1, len(order) + 1) * longest[order] ** 2
        fitting = max(1, int(np.searchsorted(padded, CELLS_AT_ONCE, side="right")))
        numbers, order = order[:fitting], order[fitting:]
        R = r[_positions(r_offsets[references[numbers]], n[numbers])]
        Q = q[_positions(q_offsets[numbers], m[numbers])]
        r_steps, q_steps = distances(R[:, :-1], R[:, 1:]), distances(Q[:, :-1], Q[:, 1:])
        D = distances(R[:, :, None], Q[:, None])
        out[:, first + numbers] = _measure(D, r_steps, q_steps, n[numbers], m[numbers], compare, scale)
    for number, reference in enumerate(references.tolist()):
        R, Q = r[slice(*r_offsets[reference : reference + 2])], q[slice(*q_offsets[number : number + 2])]
        _write_edits(R, Q, reach, out[:, first + number])


def measure_block(
    block: Floats,
    r_steps: Floats,
    q_steps: Floats,
    r: Codes,
    q: Codes,
    compare: int,
    scale: float,
    reach: float,
    out: Floats,
    first: int,
) -> None:
    """Measure one episode whose distances are given, d(r_i, q_j).

    `steps[k]` is the distance from place k to the next; codes only say which places are the same.
    """
    steps, counts = (r_steps[None, :-1], q_steps[None, :-1]), (np.array([len(r)]), np.array([len(q)]))
    out[:, [first]] = _measure(block[None], *steps, *counts, compare, scale)
    _write_edits(r, q, reach, out[:, first])


def _write_edits(r: Places, q: Places, reach: float, measured: Floats) -> None:
    measured[8] = edit_distance(r, q) if measured[2] <= reach else max(len(r), len(q)) - 1


def _positions(starts: Offsets, counts: Offsets) -> Offsets:
    return starts[:, None] + np.minimum(np.arange(counts.max())[None, :], counts[:, None] - 1)


def _measure(D: Floats, r_steps: Floats, q_steps: Floats, n: Offsets, m: Offsets, compare: int, scale: float) -> Floats:
    """Measure episodes padded to one size by repeats of their last places: all but the edits."""
    episodes = np.arange(len(D))
    last_r, last_q = n - 1, m - 1
    nearest, covered = D.min(axis=1), D.min(axis=2)
    real_q = np.arange(D.shape[2])[None, :] < m[:, None]
    real_r = np.arange(D.shape[1])[None, :] < n[:, None]
    coverage = _sum(np.where(real_r, np.exp(-covered / scale), 0.0)) / n if scale > 0 else np.zeros(len(D))
    found = np.stack(
        [
            _sum(np.where(real_q[:, 1:], q_steps, 0.0)),
            _sum(np.where(real_r[:, 1:], r_steps, 0.0)),
            D[episodes, last_r, last_q],
            covered[episodes, last_r],
            D[episodes, last_r, 0],
            _sum(np.where(real_q, nearest, 0.0)) / m,
            nearest.max(axis=1),
            coverage,
            np.zeros(len(D)),
            fill(D, *fresh_borders(*D.shape[1:]))[episodes, n, m] if compare & COMPARE_WARPING else np.zeros(len(D)),
            n,
            m,
        ]
    )
    if not compare & COMPARE_NEAREST:
        found[[3, 5, 6, 7]] = 0.0
    return found


def _sum(columns: Floats) -> Floats:
    """Add column to column in their order, as a plain loop over one episode would."""
    total = np.zeros(len(columns))
    for column in columns.T:
        total += column
    return total


def edit_distance(r: Places, q: Places) -> int:
    """Levenshtein distance of the two sequences of edges.

    The usual row is d[j] = min(above[j] + 1, above[j-1] + differs[j], d[j-1] + 1); the last term is a running
    minimum of d[j] - j, which keeps it to whole-row operations.

    >>> edit_distance(np.array([0, 1, 2, 3]), np.array([0, 1, 3]))
    2
    """
    same = r[:, None] == q[None, :]
    if same.ndim == 3:
        same = same.all(axis=2)
    differs = ~(same[:-1, :-1] & same[1:, 1:])
    ramp = np.arange(len(q))
    row = ramp.copy()
    for number, edge in enumerate(differs, start=1):
        candidate = np.empty_like(row)
        candidate[0] = number
        candidate[1:] = np.minimum(row[1:] + 1, row[:-1] + edge)
        row = np.minimum.accumulate(candidate - ramp) + ramp
    return int(row[-1])
