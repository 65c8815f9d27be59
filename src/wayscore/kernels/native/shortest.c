/* Shortest paths: all pairs of a small graph (Floyd and Warshall), one source of a large one (Dijkstra). */
#include "heap.h"
#include "lane_table.h"
#include "native.h"

/* all_pairs(matrix, symmetric): `matrix` holds edge lengths, infinity where there is no edge, 0 on the
 * diagonal, and becomes the distances. A symmetric one costs half: in round k only the lower triangle is
 * relaxed, against a copy of row k put together from both of its halves. */
KERNEL(all_pairs, "d2w n") {
    const int64_t n = LENGTH(arrays[0], 0), symmetric = numbers[0].n;
    if (LENGTH(arrays[0], 1) != n) return refuse("all_pairs needs a square matrix");
    double *matrix = DOUBLES(arrays[0]), *via = malloc(sizeof(double) * (size_t)(n + 1));
    if (!via) return PyErr_NoMemory();
    PyThreadState *state = PyEval_SaveThread();
    for (int64_t k = 0; k < n; k++) {
        memcpy(via, matrix + k * n, sizeof(double) * (size_t)n);
        if (symmetric)
            for (int64_t i = k + 1; i < n; i++) via[i] = matrix[i * n + k];
        for (int64_t i = 0; i < n; i++) {
            double through = symmetric ? via[i] : matrix[i * n + k];
            if (through < INFINITY) lane_kernels->relax(matrix + i * n, through, via, symmetric ? i : n);
        }
    }
    if (symmetric)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < i; j++) matrix[j * n + i] = matrix[i * n + j];
    PyEval_RestoreThread(state);
    free(via);
    return none();
}

/* dijkstra(indptr, indices, weights, source, target, out): distances from one node of a sparse graph; with a
 * target >= 0 the search stops there and what was not settled by then stays infinite. Offsets, nodes and weights are
 * checked where they are used: wrong offsets or nodes would read past the arrays, negative weights never end. */
KERNEL(dijkstra, "l1 i1 d1 n n d1w") {
    const int64_t source = numbers[0].n, target = numbers[1].n, n = LENGTH(arrays[3], 0), edges = LENGTH(arrays[1], 0);
    const int64_t *indptr = INTS64(arrays[0]);
    const int32_t *indices = INTS32(arrays[1]);
    const double *weights = DOUBLES(arrays[2]);
    double *distance = DOUBLES(arrays[3]);
    if (LENGTH(arrays[0], 0) != n + 1 || source < 0 || source >= n || target >= n || n > INT32_MAX ||
        LENGTH(arrays[2], 0) != edges)
        return refuse("dijkstra: shapes do not fit");
    Heap heap;
    const int enough = open_heap(&heap, distance, n);
    int sound = 1;
    PyThreadState *state = PyEval_SaveThread();
    if (enough) lower(&heap, source, 0.0);
    while (heap.count && sound) {
        int32_t u = take_first(&heap);
        if (u == target) break;
        sound = indptr[u] >= 0 && indptr[u + 1] <= edges;
        for (int64_t e = indptr[u]; sound && e < indptr[u + 1]; e++) {
            int32_t v = indices[e];
            sound = v >= 0 && v < n && weights[e] >= 0.0;
            if (sound) lower(&heap, v, distance[u] + weights[e]);
        }
    }
    for (int64_t at = 0; at < heap.count; at++) distance[heap.items[at]] = INFINITY;
    PyEval_RestoreThread(state);
    close_heap(&heap);
    if (!enough) return PyErr_NoMemory();
    return sound ? none() : refuse("dijkstra: an offset or node is outside the graph, or a weight is negative");
}
