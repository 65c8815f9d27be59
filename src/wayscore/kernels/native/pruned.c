/* Exact warping of long pairs that track each other, without visiting most cells.
 *
 * Let U be the cost of some warping (FastDTW's), a_i = min_j d(r_i, q_j) and b_j = min_i d(r_i, q_j). Every
 * warping through cell (i, j) still visits each later row and each later column at least once, so it costs at
 * least C[i][j] + max(sum of a over later rows, sum of b over later columns). A cell where that exceeds U lies
 * on no optimal warping and is dropped; every cell of an optimal warping is kept, with its exact value, and the
 * last cell comes out as if nothing had been dropped, bit for bit: dropping can only raise a cell's value, and
 * the optimal warping's cells are computed from each other by the same additions.
 *
 * Rounding: sums of at most K = n + m non-negative terms are off by a factor of at most (1 + K 2^-53) each, and
 * three such sums take part, so U is widened by 8 K 2^-53. */
#include "lane_table.h"
#include "native.h"
#include "warp.h"

double fast_upper_bound(int dimension, const double *reference, int64_t n, const double *query, int64_t m);

#define LEAF 8

/* Boxes around runs of consecutive points, and around pairs of boxes, up to one: a tree over the path itself. */
typedef struct {
    int dimension, levels;
    int64_t counts[48], starts[48]; /* boxes of each level, and where they begin; level 0 holds the leaves */
    double *boxes;                  /* lowest then highest coordinates of each */
    const double *points;
    int64_t count;
} Tree;

static int grow(Tree *tree, int dimension, const double *points, int64_t count) {
    const int k = dimension;
    int64_t total = 0, width = (count + LEAF - 1) / LEAF;
    tree->dimension = k;
    tree->points = points;
    tree->count = count;
    tree->levels = 0;
    for (;; width = (width + 1) / 2) {
        tree->counts[tree->levels] = width;
        tree->starts[tree->levels++] = total;
        total += width;
        if (width == 1) break;
    }
    if (!(tree->boxes = malloc(sizeof(double) * 2 * (size_t)(total * k)))) return 0;
    for (int level = 0; level < tree->levels; level++)
        for (int64_t b = 0; b < tree->counts[level]; b++) {
            double *box = tree->boxes + (tree->starts[level] + b) * 2 * k;
            int64_t first = level ? 2 * b : b * LEAF, last = level ? 2 * b + 2 : first + LEAF;
            int64_t limit = level ? tree->counts[level - 1] : count;
            const double *parts = level ? tree->boxes + tree->starts[level - 1] * 2 * k : points;
            for (int axis = 0; axis < k; axis++) {
                double low = INFINITY, high = -INFINITY;
                for (int64_t c = first; c < last && c < limit; c++) {
                    double bottom = level ? parts[c * 2 * k + axis] : parts[c * k + axis];
                    double top = level ? parts[c * 2 * k + k + axis] : bottom;
                    low = bottom < low ? bottom : low;
                    high = top > high ? top : high;
                }
                box[axis] = low;
                box[k + axis] = high;
            }
        }
    return 1;
}

static double box_squares(const Tree *tree, int level, int64_t b, const double *point) {
    const int k = tree->dimension;
    const double *box = tree->boxes + (tree->starts[level] + b) * 2 * k;
    double squares = 0.0;
    for (int axis = 0; axis < k; axis++) {
        double below = box[axis] - point[axis], above = point[axis] - box[k + axis];
        double gap = below > above ? below : above;
        if (gap > 0.0) squares += gap * gap;
    }
    return squares;
}

static double leaf_squares(const Tree *tree, int64_t b, const double *point, double best) {
    const int k = tree->dimension;
    for (int64_t c = b * LEAF; c < (b + 1) * LEAF && c < tree->count; c++) {
        double squares = 0.0;
        for (int axis = 0; axis < k; axis++) {
            double difference = tree->points[c * k + axis] - point[axis];
            squares += difference * difference;
        }
        best = squares < best ? squares : best;
    }
    return best;
}

/* The least squared distance to the path; `hint` is the leaf where the last search ended, and this one begins. */
static double nearest_squares_in(const Tree *tree, const double *point, int64_t *hint) {
    struct { int level; int64_t box; double squares; } stack[128];
    int depth = 0;
    double best = leaf_squares(tree, *hint, point, INFINITY);
    stack[depth].level = tree->levels - 1;
    stack[depth].box = 0;
    stack[depth++].squares = 0.0;
    while (depth) {
        depth--;
        int level = stack[depth].level;
        int64_t b = stack[depth].box;
        if (stack[depth].squares >= best) continue;
        if (level == 0) {
            double found = leaf_squares(tree, b, point, best);
            if (found < best) best = found, *hint = b;
            continue;
        }
        double squares[2] = {INFINITY, INFINITY};
        for (int side = 0; side < 2; side++)
            if (2 * b + side < tree->counts[level - 1]) squares[side] = box_squares(tree, level - 1, 2 * b + side, point);
        int far = squares[0] <= squares[1];
        for (int turn = 0; turn < 2; turn++, far = !far) /* the nearer child is pushed last and visited first */
            if (squares[far] < best) {
                stack[depth].level = level - 1;
                stack[depth].box = 2 * b + far;
                stack[depth++].squares = squares[far];
            }
    }
    return best;
}

/* rest[i] = sum over k > i of the distance from points[k] to the other path. */
static void remaining(const Tree *others, const double *points, int64_t count, double *rest) {
    int64_t hint = others->counts[0] - 1;
    double sum = 0.0;
    for (int64_t i = count - 1; i >= 0; i--) {
        rest[i] = sum;
        sum += sqrt(nearest_squares_in(others, points + i * others->dimension, &hint));
    }
}

/* The sum over all points of their distance to the other path, estimated from one in 32. */
static double sampled_sum(const Tree *others, const double *points, int64_t count) {
    int64_t hint = 0;
    double sum = 0.0;
    for (int64_t i = 0; i < count; i += 32) sum += sqrt(nearest_squares_in(others, points + i * others->dimension, &hint));
    return sum * (double)count / (double)((count + 31) / 32);
}

/* Is it worth trying? What a warping may cost beyond the bound, `slack`, pays for straying from the best one: k places
 * off it the distances have grown by about k steps, so straying that far and back costs about step k^2 / 2. The band of
 * cells that survive is then 2 sqrt(2 slack / step) wide. A guess, which only decides how the value is computed. */
static int promising(const Tree *reference, const Tree *query, double upper, int64_t budget) {
    const int k = reference->dimension;
    double rows = sampled_sum(query, reference->points, reference->count);
    double columns = sampled_sum(reference, query->points, query->count), length = 0.0;
    for (int64_t i = 1; i < reference->count; i++)
        length += point_distance(k, reference->points + (i - 1) * k, reference->points + i * k);
    double slack = upper - (rows > columns ? rows : columns), step = length / (double)reference->count;
    double width = slack > 0.0 ? 2.0 * sqrt(2.0 * slack / step) : 0.0;
    return width * (double)reference->count <= 1.5 * (double)budget;
}

enum { DONE, ABANDONED, NO_MEMORY };

static int warp_pruned(int k, const double *reference, int64_t n, const double *query, int64_t m, int64_t budget,
                       double *value) {
    double *memory = malloc(sizeof(double) * (size_t)(n + m + (m + 1) + m + m * k));
    if (!memory) return NO_MEMORY;
    double *rows_left = memory, *columns_left = rows_left + n, *row = columns_left + m, *costs = row + m + 1;
    double *by_axis = costs + m;
    int outcome = NO_MEMORY;
    double upper = fast_upper_bound(k, reference, n, query, m);
    Tree reference_tree = {.boxes = NULL}, query_tree = {.boxes = NULL};
    if (upper < 0.0 || !grow(&reference_tree, k, reference, n) || !grow(&query_tree, k, query, m)) goto end;
    outcome = ABANDONED;
    if (budget < n * m && !promising(&reference_tree, &query_tree, upper, budget)) goto end;
    remaining(&query_tree, reference, n, rows_left);
    remaining(&reference_tree, query, m, columns_left);
    upper += upper * (double)(n + m) * 8.0 * 0x1p-53;
    for (int axis = 0; axis < k; axis++)
        for (int64_t j = 0; j < m; j++) by_axis[axis * m + j] = query[j * k + axis];
    int64_t low = 0, high = -1, visited = 0; /* columns of the row above that are alive lie in low..high */
    for (int64_t i = 0; i < n; i++) {
        const double *point = reference + i * k;
        double west = INFINITY, corner = i ? INFINITY : 0.0;
        int64_t first = -1, last = -1, known = high + 2 < m ? high + 2 : m, j = low;
        if (known > low) lane_kernels->distances_to(k, point, by_axis + low, m, known - low, costs + low);
        for (; j < m; j++) {
            double north = j <= high ? row[j + 1] : INFINITY;
            if (j > high + 1 && !(west < INFINITY)) break; /* nothing alive reaches further */
            double cost = j < known ? costs[j] : point_distance(k, point, query + j * k);
            double best = north < corner ? north : corner;
            best = west < best ? west : best;
            west = cost + best;
            double rest = rows_left[i] > columns_left[j] ? rows_left[i] : columns_left[j];
            if (west + rest > upper) west = INFINITY;
            else {
                first = first < 0 ? j : first;
                last = j;
            }
            corner = north;
            row[j + 1] = west;
        }
        visited += j - low;
        /* too many so far, with a lead of a few rows for a wide start */
        if (first < 0 || (double)visited > (double)budget * (double)(i + 1) / (double)n + 8.0 * (double)m) goto end;
        low = first;
        high = last;
    }
    if (high == m - 1) {
        *value = row[m];
        outcome = DONE;
    }
end:
    free(reference_tree.boxes);
    free(query_tree.boxes);
    free(memory);
    return outcome;
}

/* pruned_points(reference, query, budget) -> C at the last cell, or None where it does not look as if keeping about
 * `budget` cells would do */
KERNEL(kernel_pruned_points) {
    (void)self;
    Array arrays[2] = {{.held = 0}};
    int64_t budget;
    PyObject *result = NULL;
    if (!need_arguments("pruned_points", nargs, 3) || !take_array(args[0], &arrays[0], 'd', 2, 0, 0) ||
        !take_array(args[1], &arrays[1], 'd', 2, 0, 0) || !take_count(args[2], &budget))
        goto end;
    int64_t n = LENGTH(arrays[0], 0), m = LENGTH(arrays[1], 0), dimension = LENGTH(arrays[0], 1);
    if (n < 1 || m < 1 || dimension < 1 || LENGTH(arrays[1], 1) != dimension) {
        PyErr_SetString(PyExc_ValueError, "both paths need points of one dimension");
        goto end;
    }
    double value = 0.0;
    PyThreadState *state = PyEval_SaveThread();
    int outcome = warp_pruned((int)dimension, DOUBLES(arrays[0]), n, DOUBLES(arrays[1]), m, budget, &value);
    PyEval_RestoreThread(state);
    if (outcome == NO_MEMORY) PyErr_NoMemory();
    else if (outcome == DONE) result = PyFloat_FromDouble(value);
    else {
        Py_INCREF(Py_None);
        result = Py_None;
    }
end:
    drop_arrays(arrays, 2);
    return result;
}
