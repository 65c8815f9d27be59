"""Dynamic time warping of one pair of paths: its value, the warping itself, and the linear-time approximation.

DTW(R, Q) = min over warpings W of the sum of d(r_i, q_j) over (i, j) in W, where W leads from (1, 1) to
(|R|, |Q|) by steps (1, 1), (1, 0) and (0, 1). Units are those of the distance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore import kernels
from wayscore.distances.base import Distance, Floats, Places, check_distance
from wayscore.distances.euclidean import Euclidean
from wayscore.errors import OptionError, PathError
from wayscore.kernels.plain.fast import fast_warp

BLOCK_CELLS = 1 << 21
"""The most cells of C that are held at once (16 MiB)."""
PRUNE_CELLS = 9_000_000
"""From this many cells on (3,000 x 3,000) pairs of points are tried with pruning first."""
PRUNE_SHARE = 50
"""Pruning gives up once it has kept one cell in this many: then the full recurrence is faster."""


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """A warping between a reference and a query, and what it costs.

    Attributes:
        cost: the sum of distances along the warping.
        pairs: (k, 2) zero-based positions in the reference and the query, from (0, 0) to the last two.
    """

    cost: float
    pairs: NDArray[np.int64]
    reference: Places = field(repr=False)
    query: Places = field(repr=False)
    distance: Distance = field(repr=False)

    def __len__(self) -> int:
        return len(self.pairs)

    def distances(self) -> Floats:
        """Return d(r_i, q_j) for all i and j, (|R|, |Q|)."""
        if len(self.reference) * len(self.query) > 1 << 28:
            raise OptionError(
                f"a matrix of {len(self.reference)} x {len(self.query)} cells would take more than 2 GiB; "
                "cut the paths or look at .pairs"
            )
        return self.distance.between(self.reference, self.query)

    def matrix(self) -> Floats:
        """Return the accumulated costs C, (|R|, |Q|): C[i, j] = DTW(r_1..i+1, q_1..j+1).

        >>> align(reference=[[0.0], [1.0]], query=[[0.0], [3.0]]).matrix()
        array([[0., 3.],
               [1., 2.]])
        """
        from wayscore.kernels.plain.warp import fill

        distances = self.distances()
        top, left = _fresh_borders(*distances.shape)
        return fill(distances, top, left)[1:, 1:].copy()


def dtw(*, reference: Any, query: Any, distance: Distance | None = None) -> float:
    """Return DTW(R, Q), exactly, in memory linear in the lengths.

    Args:
        reference: R, the instructed path: labels for a `Graph` or `Table`, else an (n, k) array of coordinates.
        query: Q, the agent's path.
        distance: the metric on places; None is Euclidean.

    Long pairs of points that track each other are pruned. Let U be the cost of some warping (FastDTW's) and
    a_i the distance from r_i to the nearest point of Q, b_j from q_j to that of R. A warping through cell (i, j)
    still visits every later row and column, so it costs at least C[i, j] + max(sum_{k>i} a_k, sum_{k>j} b_k).
    Where that exceeds U, no optimal warping passes and the cell is dropped. Cells of an optimal warping are
    never dropped and are computed from each other by the same additions, so the value is that of the full
    recurrence to the bit (U is widened by the largest rounding error that the sums can have). When more than
    one cell in 50 survives, the full recurrence takes over.

    >>> dtw(reference=[[0, 0], [1, 0], [2, 0]], query=[[0, 0], [1, 1], [2, 0]])
    1.0
    """
    R, Q, distance = encode_pair(reference, query, distance)
    return _value(R, Q, distance)


def ndtw(*, reference: Any, query: Any, distance: Distance | None = None, threshold: float = 3.0) -> float:
    """Return nDTW(R, Q) = exp(-DTW(R, Q) / (|R| d_th)), between 0 and 1 (the paper's Eq. 2).

    >>> ndtw(reference=[[0, 0], [3, 0]], query=[[0, 0], [3, 3]], threshold=3.0)
    0.6065306597126334
    """
    check_threshold(threshold)
    R, Q, distance = encode_pair(reference, query, distance)
    return math.exp(-_value(R, Q, distance) / (len(R) * threshold))


def sdtw(*, reference: Any, query: Any, distance: Distance | None = None, threshold: float = 3.0) -> float:
    """Return SDTW(R, Q): nDTW if the query ends within d_th of the reference's end, else 0 (Alg. 2).

    >>> sdtw(reference=[[0, 0], [3, 0]], query=[[0, 0], [9, 9]])
    0.0
    """
    check_threshold(threshold)
    R, Q, distance = encode_pair(reference, query, distance)
    if distance.pairs(R[-1:], Q[-1:])[0] > threshold:
        return 0.0
    return math.exp(-_value(R, Q, distance) / (len(R) * threshold))


def align(*, reference: Any, query: Any, distance: Distance | None = None) -> Alignment:
    """Return an optimal warping, in memory linear in the lengths.

    Long pairs are cut into tiles; only the tiles' borders are kept, and only those tiles that the warping
    crosses are filled again. Among equally good warpings the diagonal step is preferred, then the reference's.

    >>> align(reference=[[0.0], [1.0], [2.0]], query=[[0.0], [2.0]]).pairs.tolist()
    [[0, 0], [1, 0], [2, 1]]
    """
    R, Q, distance = encode_pair(reference, query, distance)
    top, left = _fresh_borders(len(R), len(Q))
    cells = list(_walk_back(R, Q, distance, top, left, len(R) - 1, len(Q) - 1))
    pairs = np.array(cells[-2::-1], dtype=np.int64)  # without the cell before the first
    i, j = pairs.T
    cost = 0.0
    for step in distance.pairs(R[i], Q[j]).tolist():  # one by one, as the recurrence adds them
        cost += step
    return Alignment(cost, pairs, R, Q, distance)


def fast_dtw(*, reference: Any, query: Any, distance: Distance | None = None, radius: int = 1) -> Alignment:
    """Return a nearly optimal warping in linear time and memory (FastDTW, Salvador and Chan).

    Halves both paths again and again, warps the shortest exactly, and refines within `radius` cells of the
    coarser warping. Points are averaged; places without an average (nodes) are sampled, as the paper says, so
    only real nodes are ever compared. A larger radius is slower and closer to `dtw`.

    >>> fast_dtw(reference=[[0.0], [1.0], [2.0]], query=[[0.0], [2.0]], radius=1).cost
    1.0
    """
    if not isinstance(radius, int | np.integer) or isinstance(radius, bool) or radius < 0:
        raise OptionError(f"radius must be a whole number of cells, 0 or more, got {radius!r}")
    R, Q, distance = encode_pair(reference, query, distance)
    return Alignment(*_fast(R, Q, distance, int(radius)), R, Q, distance)


def fast_cost(R: Places, Q: Places, distance: Distance) -> float:
    """Return the cost of FastDTW of radius 1 between two encoded paths."""
    return _fast(R, Q, distance, 1)[0]


def _fast(R: Places, Q: Places, distance: Distance, radius: int) -> tuple[float, NDArray[np.int64]]:
    cells = np.empty((len(R) + len(Q), 2), dtype=np.int64)
    table = getattr(distance, "table", None)
    radius = min(radius, len(R) + len(Q))
    if isinstance(distance, Euclidean):
        cost, count = kernels.fast_points(R, Q, radius, cells)
    elif table is not None:
        cost, count = kernels.fast_table(table, R, Q, radius, cells)
    else:
        cost, count = fast_warp(R, Q, distance.pairs, radius, cells)
    return cost, cells[:count].copy()


def encode_pair(reference: Any, query: Any, distance: Distance | None) -> tuple[Places, Places, Distance]:
    """Check two paths and return them encoded, with their distance."""
    distance = Euclidean() if distance is None else distance
    if (
        is_plain_points(reference, distance)
        and is_plain_points(query, distance)
        and reference.shape[1] == query.shape[1]
    ):
        return reference, query, distance
    check_distance(distance)
    R = distance.encode([reference], role=lambda _: "the reference").places
    Q = distance.encode([query], role=lambda _: "the query").places
    if R.ndim == 2 and R.shape[1] != Q.shape[1]:
        raise PathError(
            f"the reference has {R.shape[1]}-dimensional points and the query {Q.shape[1]}-dimensional ones; "
            "both need the same dimension"
        )
    return R, Q, distance


def is_plain_points(path: Any, distance: Distance) -> bool:
    """Is this path ready as it is? Then a batch, which would cost more than a short warping, is not needed."""
    return (
        type(path) is np.ndarray
        and type(distance) is Euclidean
        and path.dtype == np.float64
        and path.ndim == 2
        and path.size > 0
        and path.flags.c_contiguous
        and kernels.all_finite(path)
    )


def check_threshold(threshold: float) -> None:
    """Refuse a success threshold that is not a positive, finite number."""
    if (
        not isinstance(threshold, int | float | np.number)
        or isinstance(threshold, bool)
        or not 0 < threshold < math.inf
    ):
        raise OptionError(f"threshold must be a positive distance such as 3.0, got {threshold!r}")


def _fresh_borders(n: int, m: int) -> tuple[Floats, Floats]:
    top, left = np.full(m + 1, np.inf), np.full(n + 1, np.inf)
    top[0] = left[0] = 0.0
    return top, left


def _value(R: Places, Q: Places, distance: Distance) -> float:
    if isinstance(distance, Euclidean):
        cells = len(R) * len(Q)
        pruned = kernels.pruned_points(R, Q, cells // PRUNE_SHARE) if cells >= PRUNE_CELLS else None
        return kernels.warp_points(R, Q, None, None) if pruned is None else pruned
    if len(R) * len(Q) <= BLOCK_CELLS:
        return kernels.warp_block(distance.between(R, Q), None, None)
    top, left = _fresh_borders(len(R), len(Q))
    parts = math.isqrt(len(R) * len(Q) // BLOCK_CELLS) + 1
    rows, *_ = _warp_tiles(R, Q, distance, top, left, parts)
    return float(rows[-1][-1])


def _warp_tile(R: Places, Q: Places, distance: Distance, top: Floats, left: Floats) -> None:
    if isinstance(distance, Euclidean):
        kernels.warp_points(R, Q, top, left)
    else:
        kernels.warp_block(distance.between(R, Q), top, left)


def _warp_tiles(
    R: Places, Q: Places, distance: Distance, top: Floats, left: Floats, parts: int
) -> tuple[list[Floats], list[Floats], NDArray[np.int64], NDArray[np.int64]]:
    """Fill C in `parts` x `parts` tiles, keeping the row above each row of tiles and the column before each.

    Returns those rows and columns (one more of each than tiles: the last is the end of C), and the cuts.
    """
    row_cuts = np.unique(np.linspace(0, len(R), min(parts, len(R)) + 1).astype(np.int64))
    column_cuts = np.unique(np.linspace(0, len(Q), min(parts, len(Q)) + 1).astype(np.int64))
    columns = [left.copy()] + [np.empty_like(left) for _ in column_cuts[1:]]
    rows = [top.copy()]
    for i, i_end in pairwise(row_cuts):
        row = rows[-1].copy()
        for number, (j, j_end) in enumerate(pairwise(column_cuts)):
            above, beside = rows[-1][j : j_end + 1].copy(), columns[number][i : i_end + 1].copy()
            _warp_tile(R[i:i_end], Q[j:j_end], distance, above, beside)
            row[j if j == 0 else j + 1 : j_end + 1] = above if j == 0 else above[1:]
            columns[number + 1][i : i_end + 1] = beside
        rows.append(row)
    return rows, columns, row_cuts, column_cuts


def _walk_back(
    R: Places, Q: Places, distance: Distance, top: Floats, left: Floats, i: int, j: int
) -> Iterator[tuple[int, int]]:
    """Yield the cells of an optimal warping from (i, j) back, and then the first one outside these borders."""
    R, Q, top, left = R[: i + 1], Q[: j + 1], top[: j + 2], left[: i + 2]
    if len(R) * len(Q) <= BLOCK_CELLS:
        cells = np.empty((len(R) + len(Q) + 1, 2), dtype=np.int64)
        count = kernels.trace_block(distance.between(R, Q), top, left, i, j, cells)
        yield from map(tuple, cells[: count + 1].tolist())
        return
    rows, columns, row_cuts, column_cuts = _warp_tiles(R, Q, distance, top, left, 48)
    while i >= 0 and j >= 0:
        a = int(np.searchsorted(row_cuts, i, side="right")) - 1
        b = int(np.searchsorted(column_cuts, j, side="right")) - 1
        i0, j0 = int(row_cuts[a]), int(column_cuts[b])
        above = rows[a][j0 : int(column_cuts[b + 1]) + 1]
        beside = columns[b][i0 : int(row_cuts[a + 1]) + 1]
        inside = _walk_back(R[i0 : i + 1], Q[j0 : j + 1], distance, above, beside, i - i0, j - j0)
        cell = next(inside)
        for following in inside:
            yield cell[0] + i0, cell[1] + j0
            cell = following
        i, j = cell[0] + i0, cell[1] + j0
    yield i, j
