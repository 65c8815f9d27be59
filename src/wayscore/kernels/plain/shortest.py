"""Shortest paths: all pairs of a small graph (Floyd and Warshall), one source of a large one (Dijkstra)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def all_pairs(matrix: Floats, symmetric: int) -> None:  # noqa: ARG001
    """Turn edge lengths (infinity: no edge; 0 on the diagonal) into distances, in place.

    D_k[i, j] = min(D_{k-1}[i, j], D_{k-1}[i, k] + D_{k-1}[k, j]). A symmetric matrix stays symmetric to the
    bit, since additions commute; the flag only tells the native twin that half the work will do.
    """
    for k in range(len(matrix)):
        np.minimum(matrix, matrix[:, k, None] + matrix[None, k, :].copy(), out=matrix)


def dijkstra(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], weights: Floats, source: int, target: int, out: Floats
) -> None:
    """Write the distances from `source` in a sparse graph to `out`; infinity where no way leads.

    The native twin may stop at `target`; here the whole field is computed, which includes it.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra as scipy_dijkstra

    count, edges = len(out), len(indices)
    if len(indptr) != count + 1 or len(weights) != edges or target >= count or not 0 <= source < count:
        raise ValueError("dijkstra: shapes do not fit")
    rows = (np.diff(indptr) >= 0).all() and indptr[0] >= 0 and indptr[-1] <= edges
    if not (rows and (indices >= 0).all() and (indices < count).all() and (weights >= 0.0).all()):
        raise ValueError("dijkstra: an offset or node is outside the graph, or a weight is negative")
    starts = indptr.astype(np.int32)  # csgraph takes no other, and SciPy before 1.15 does not convert by itself
    graph = csr_array((weights, indices, starts), shape=(count, count))
    out[:] = scipy_dijkstra(graph, directed=True, indices=source)
