"""What the metrics are made of, for many episodes at once: padded into one block, vectorised across episodes.

Episode e is written to column `first + e` of `out`, whose rows are, in this order: the query's length, the
reference's length, the distance of the ends, the nearest distance to the goal, the distance from the query's start to
the goal, the mean and the largest deviation of the query, the coverage of the reference, the edit distance of the
edges, the warping (DTW), and the numbers of places of the reference and the query.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.kernels.plain.warp import fill

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


@dataclass(slots=True)
class _Chunk:
    """Episodes padded to one size by repeating their last places."""

    n: Offsets
    m: Offsets
    r: Offsets
    """(episodes, rows) positions of the reference's places in their flat array."""
    q: Offsets
    """(episodes, columns), of the query's."""
    numbers: Offsets


def measure_table(
    table: Floats,
    r: Codes,
    r_offsets: Offsets,
    q: Codes,
    q_offsets: Offsets,
    pairing: Offsets | None,
    compare: int,
    scale: float,
    reach: float,
    out: Floats,
    first: int,
) -> None:
    """Measure paths of codes whose distances are in a table."""

    def block(chunk: _Chunk) -> Floats:
        return table[r[chunk.r][:, :, None], q[chunk.q][:, None, :]]

    def steps(places: Codes) -> Callable[[Offsets], Floats]:
        return lambda at: table[places[at[:, :-1]], places[at[:, 1:]]]

    _measure(block, steps(r), steps(q), r, r_offsets, q, q_offsets, pairing, compare, scale, reach, out[:, first:])


def measure_points(
    r: Floats,
    r_offsets: Offsets,
    q: Floats,
    q_offsets: Offsets,
    pairing: Offsets | None,
    compare: int,
    scale: float,
    reach: float,
    out: Floats,
    first: int,
) -> None:
    """Measure paths of points, with Euclidean distances."""

    def norm(a: Floats, b: Floats) -> Floats:
        squares = np.zeros(np.broadcast_shapes(a.shape, b.shape)[:-1])
        for axis in range(a.shape[-1]):
            difference = a[..., axis] - b[..., axis]
            squares += difference * difference
        return np.sqrt(squares)

    def block(chunk: _Chunk) -> Floats:
        return norm(r[chunk.r][:, :, None, :], q[chunk.q][:, None, :, :])

    def steps(places: Floats) -> Callable[[Offsets], Floats]:
        return lambda at: norm(places[at[:, :-1]], places[at[:, 1:]])

    _measure(block, steps(r), steps(q), r, r_offsets, q, q_offsets, pairing, compare, scale, reach, out[:, first:])


def measure_block(
    blocks: Floats,
    block_offsets: Offsets,
    r_steps: Floats,
    q_steps: Floats,
    r: Codes,
    r_offsets: Offsets,
    q: Codes,
    q_offsets: Offsets,
    pairing: Offsets | None,
    compare: int,
    scale: float,
    reach: float,
    out: Floats,
    first: int,
) -> None:
    """Measure episodes whose distances are given: `blocks[block_offsets[e] + i * m + j]` = d(r_i, q_j).

    `steps[k]` is the distance from place k to the next; codes only tell which places are the same.
    """

    def block(chunk: _Chunk) -> Floats:
        i, j = (chunk.r - chunk.r[:, :1])[:, :, None], (chunk.q - chunk.q[:, :1])[:, None, :]
        found: Floats = blocks[block_offsets[chunk.numbers][:, None, None] + i * chunk.m[:, None, None] + j]
        return found

    def steps(distances: Floats) -> Callable[[Offsets], Floats]:
        return lambda at: distances[at[:, :-1]]  # the last place of a path has no next; its step is padding

    _measure(
        block,
        steps(r_steps),
        steps(q_steps),
        r,
        r_offsets,
        q,
        q_offsets,
        pairing,
        compare,
        scale,
        reach,
        out[:, first:],
    )


def _measure(
    block: Callable[[_Chunk], Floats],
    r_steps: Callable[[Offsets], Floats],
    q_steps: Callable[[Offsets], Floats],
    r: Places,
    r_offsets: Offsets,
    q: Places,
    q_offsets: Offsets,
    pairing: Offsets | None,
    compare: int,
    scale: float,
    reach: float,
    out: Floats,
) -> None:
    references = np.arange(len(q_offsets) - 1) if pairing is None else pairing
    n = (r_offsets[1:] - r_offsets[:-1])[references]
    m = q_offsets[1:] - q_offsets[:-1]
    longest = np.maximum(n, m)
    order = np.argsort(longest, kind="stable")  # alike with alike, so that little is padding
    begin = 0
    while begin < len(order):
        padded = np.arange(1, len(order) - begin + 1) * longest[order[begin:]] ** 2
        fitting = int(np.searchsorted(padded, CELLS_AT_ONCE, side="right"))
        numbers = order[begin : begin + max(1, fitting)]
        begin += len(numbers)
        chunk = _Chunk(
            n[numbers],
            m[numbers],
            _positions(r_offsets[references[numbers]], n[numbers]),
            _positions(q_offsets[numbers], m[numbers]),
            numbers,
        )
        out[:, numbers] = _measure_chunk(block(chunk), r_steps(chunk.r), q_steps(chunk.q), chunk, compare, scale)
    for number in range(len(m)):
        edits = max(int(n[number]), int(m[number])) - 1
        if out[2, number] <= reach:
            start, stop = r_offsets[references[number]], r_offsets[references[number] + 1]
            edits = edit_distance(r[start:stop], q[q_offsets[number] : q_offsets[number + 1]])
        out[8, number] = edits


def _positions(starts: Offsets, counts: Offsets) -> Offsets:
    return starts[:, None] + np.minimum(np.arange(counts.max())[None, :], counts[:, None] - 1)


def _measure_chunk(D: Floats, r_steps: Floats, q_steps: Floats, chunk: _Chunk, compare: int, scale: float) -> Floats:
    episodes = np.arange(len(D))
    last_r, last_q = chunk.n - 1, chunk.m - 1
    nearest, covered = D.min(axis=1), D.min(axis=2)
    real_q = np.arange(D.shape[2])[None, :] < chunk.m[:, None]
    real_r = np.arange(D.shape[1])[None, :] < chunk.n[:, None]
    coverage = np.zeros(len(D))
    if scale > 0:
        coverage = _sum(np.where(real_r, np.exp(-covered / scale), 0.0)) / chunk.n
    found = np.stack(
        [
            _sum(np.where(real_q[:, 1:], q_steps, 0.0)),
            _sum(np.where(real_r[:, 1:], r_steps, 0.0)),
            D[episodes, last_r, last_q],
            covered[episodes, last_r],
            D[episodes, last_r, 0],
            _sum(np.where(real_q, nearest, 0.0)) / chunk.m,
            nearest.max(axis=1),
            coverage,
            np.zeros(len(D)),
            _warp(D)[episodes, last_r, last_q] if compare & COMPARE_WARPING else np.zeros(len(D)),
            chunk.n,
            chunk.m,
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


def _warp(D: Floats) -> Floats:
    """C of every episode at once."""
    top, left = np.full(D.shape[2] + 1, np.inf), np.full(D.shape[1] + 1, np.inf)
    top[0] = left[0] = 0.0
    return fill(D, top, left)[:, 1:, 1:]


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
