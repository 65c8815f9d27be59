/* Shortest paths: all pairs of a small graph (Floyd and Warshall), one source of a large one (Dijkstra). */
#include "lane_table.h"
#include "native.h"

/* all_pairs(matrix, symmetric): `matrix` holds edge lengths, infinity where there is no edge, 0 on the
 * diagonal, and becomes the distances. A symmetric one costs half: in round k only the lower triangle is
 * relaxed, against a copy of row k put together from both of its halves. */
KERNEL(kernel_all_pairs) {
    Array array;
    int64_t symmetric;
    double *via = NULL;
    PyObject *result = NULL;
    if (!take_arguments("all_pairs", args, nargs, "d2w n", &array, &symmetric)) return NULL;
    int64_t n = LENGTH(array, 0);
    if (LENGTH(array, 1) != n) {
        refuse("all_pairs needs a square matrix");
        goto end;
    }
    via = malloc(sizeof(double) * (size_t)(n + 1));
    if (!via) {
        PyErr_NoMemory();
        goto end;
    }
    double *matrix = DOUBLES(array);
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
    result = none();
end:
    free(via);
    drop_arrays(&array, 1);
    return result;
}

/* A binary heap of nodes ordered by their distance; place[v] is where v stands in it, -1 before and after. */
typedef struct {
    int32_t *nodes, *place;
    const double *distance;
    int64_t count;
} Heap;

static void sift_up(Heap *heap, int64_t at) {
    int32_t node = heap->nodes[at];
    while (at > 0) {
        int64_t parent = (at - 1) / 2;
        if (heap->distance[heap->nodes[parent]] <= heap->distance[node]) break;
        heap->nodes[at] = heap->nodes[parent];
        heap->place[heap->nodes[at]] = (int32_t)at;
        at = parent;
    }
    heap->nodes[at] = node;
    heap->place[node] = (int32_t)at;
}

static int32_t pop(Heap *heap) {
    int32_t first = heap->nodes[0], node = heap->nodes[--heap->count];
    int64_t at = 0;
    heap->place[first] = -1;
    if (!heap->count) return first;
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= heap->count) break;
        if (child + 1 < heap->count && heap->distance[heap->nodes[child + 1]] < heap->distance[heap->nodes[child]])
            child++;
        if (heap->distance[heap->nodes[child]] >= heap->distance[node]) break;
        heap->nodes[at] = heap->nodes[child];
        heap->place[heap->nodes[at]] = (int32_t)at;
        at = child;
    }
    heap->nodes[at] = node;
    heap->place[node] = (int32_t)at;
    return first;
}

/* dijkstra(indptr, indices, weights, source, target, out): distances from one node of a sparse graph; with a
 * target >= 0 the search stops there and what was not settled by then stays infinite. Offsets, nodes and weights are
 * checked where they are used: wrong offsets or nodes would read past the arrays, negative weights never end. */
KERNEL(kernel_dijkstra) {
    Array arrays[4];
    int64_t source, target;
    PyObject *result = NULL;
    Heap heap = {NULL, NULL, NULL, 0};
    if (!take_arguments("dijkstra", args, nargs, "l1 i1 d1 n n d1w", arrays, &source, &target)) return NULL;
    int64_t n = LENGTH(arrays[3], 0), edges = LENGTH(arrays[1], 0);
    const int64_t *indptr = INTS64(arrays[0]);
    if (LENGTH(arrays[0], 0) != n + 1 || source < 0 || source >= n || target >= n || n > INT32_MAX ||
        LENGTH(arrays[2], 0) != edges) {
        refuse("dijkstra: shapes do not fit");
        goto end;
    }
    double *distance = DOUBLES(arrays[3]);
    heap.nodes = malloc(sizeof(int32_t) * (size_t)n);
    heap.place = malloc(sizeof(int32_t) * (size_t)n);
    heap.distance = distance;
    if (!heap.nodes || !heap.place) {
        PyErr_NoMemory();
        goto end;
    }
    const int32_t *indices = INTS32(arrays[1]);
    const double *weights = DOUBLES(arrays[2]);
    int sound = 1;
    PyThreadState *state = PyEval_SaveThread();
    for (int64_t v = 0; v < n; v++) {
        distance[v] = INFINITY;
        heap.place[v] = -1;
    }
    distance[source] = 0.0;
    heap.nodes[heap.count++] = (int32_t)source;
    heap.place[source] = 0;
    while (heap.count && sound) {
        int32_t u = pop(&heap);
        if (u == target) break;
        if (indptr[u] < 0 || indptr[u + 1] > edges) sound = 0;
        for (int64_t e = indptr[u]; sound && e < indptr[u + 1]; e++) {
            int32_t v = indices[e];
            if (v < 0 || v >= n || !(weights[e] >= 0.0)) {
                sound = 0;
                break;
            }
            double candidate = distance[u] + weights[e];
            if (candidate < distance[v]) {
                if (heap.place[v] < 0) heap.nodes[heap.place[v] = (int32_t)heap.count++] = v;
                distance[v] = candidate;
                sift_up(&heap, heap.place[v]);
            }
        }
    }
    for (int64_t at = 0; at < heap.count; at++) distance[heap.nodes[at]] = INFINITY;
    PyEval_RestoreThread(state);
    result = sound ? none() : refuse("dijkstra: an offset or node is outside the graph, or a weight is negative");
end:
    free(heap.nodes);
    free(heap.place);
    drop_arrays(arrays, 4);
    return result;
}
