/* Dynamic time warping: C[i][j] = d(r_i, q_j) + min(C[i-1][j], C[i][j-1], C[i-1][j-1]) (the paper's Alg. 1).
 *
 * A call fills one tile of C. `top` (m + 1 values) is the row above it and `left` (n + 1) the column before
 * it, both beginning with the corner they share; on return they hold the tile's last row and last column, the
 * borders of the tiles below and to the right. */
#include "lane_table.h"
#include "native.h"
#include "warp.h"

static inline double cell_cost(const int dimension, const Pair *pair, int64_t i, int64_t j) {
    if (dimension) return point_distance(dimension, pair->r_points + i * dimension, pair->q_points + j * dimension);
    return pair->table[pair->r_codes[i] * pair->columns + pair->q_codes[j]];
}

static inline void warp_rows(const int dimension, const Pair *pair, double *top, double *left) {
    for (int64_t i = 0; i < pair->n; i++) {
        double corner = top[0], west = left[i + 1];
        top[0] = west;
        for (int64_t j = 0; j < pair->m; j++) {
            const double north = top[j + 1];
            west = cell_cost(dimension, pair, i, j) + least(least(north, corner), west);
            corner = north;
            top[j + 1] = west;
        }
        left[i + 1] = west;
    }
}

/* The query as strips read it: last place first, both ends repeated, one array for each coordinate. */
static void reverse_query(const Pair *pair, double *points, int32_t *codes, int64_t stride) {
    const int k = pair->dimension;
    for (int64_t at = 0; at < stride; at++) {
        int64_t j = pair->m - 1 - (at - STRIP_ROWS);
        j = j < 0 ? 0 : j >= pair->m ? pair->m - 1 : j;
        if (!k) codes[at] = pair->q_codes[j];
        for (int axis = 0; axis < k; axis++) points[axis * stride + at] = pair->q_points[j * k + axis];
    }
}

/* C by strips. `choices`, where given, has a word for each step of each strip. */
static int warp_strips(const Pair *pair, double *top, double *left, double *nearest, double *covered, uint32_t *choices) {
    const int k = pair->dimension;
    const int64_t stride = pair->m + 2 * STRIP_ROWS;
    double few[1024], *memory = few;
    const size_t needed = k ? (size_t)(k * (stride + STRIP_ROWS)) : (size_t)(stride + 1) / 2;
    if (needed > 1024 && !(memory = malloc(sizeof(double) * needed))) return 0;
    Strip strip = {.dimension = k, .m = pair->m, .stride = stride, .top = top, .rows_by_axis = memory,
                   .reversed = memory + k * STRIP_ROWS, .codes = (int32_t *)memory, .nearest = nearest};
    reverse_query(pair, memory + k * STRIP_ROWS, (int32_t *)memory, stride);
    const double beside = top[pair->m];
    for (int64_t i = 0; i < pair->n; i += STRIP_ROWS) {
        strip.rows = (int)(pair->n - i < STRIP_ROWS ? pair->n - i : STRIP_ROWS);
        strip.left = left + i + 1;
        if (k) strip.reference = pair->r_points + i * k;
        for (int row = 0; !k && row < STRIP_ROWS; row++)
            strip.row[row] = pair->table + pair->r_codes[i + (row < strip.rows ? row : strip.rows - 1)] * pair->columns;
        if (choices) {
            strip.choices = choices + i / STRIP_ROWS * (pair->m + STRIP_ROWS);
            lane_kernels->strip_choices(&strip);
        } else if (nearest) {
            strip.covered = covered + i;
            lane_kernels->strip_nearest(&strip);
        } else {
            lane_kernels->strip_values(&strip);
        }
    }
    left[0] = beside;
    if (memory != few) free(memory);
    return 1;
}

int warp_tile(const Pair *pair, double *top, double *left, double *nearest, double *covered) {
    if (nearest || pair->n * pair->m > SHORT_CELLS) return warp_strips(pair, top, left, nearest, covered, NULL);
    const double beside = top[pair->m];
    switch (pair->dimension) {
    case 0: warp_rows(0, pair, top, left); break;
    case 2:
    case 3: lane_kernels->short_rows(pair, top, left); break;
    default: warp_rows(pair->dimension, pair, top, left);
    }
    left[0] = beside;
    return 1;
}

/* Follow choices back from cell (i, j) of a pair; see trace_tile. `CHOICE(i, j)` has bit 0 set where the cell comes from
 * the diagonal, bit 16 where its upper neighbour is at most its left one. */
#define FOLLOW(CHOICE)                                                                                         \
    int64_t count = 0;                                                                                         \
    while (i >= 0 && j >= 0) {                                                                                 \
        const uint32_t choice = CHOICE;                                                                        \
        const int diagonal = choice & 1, upper = choice >> STRIP_ROWS & 1;                                     \
        cells[2 * count] = i;                                                                                  \
        cells[2 * count + 1] = j;                                                                              \
        count++;                                                                                               \
        i -= diagonal | upper;                                                                                 \
        j -= diagonal | !upper;                                                                                \
    }                                                                                                          \
    cells[2 * count] = i;                                                                                      \
    cells[2 * count + 1] = j;

/* The same for a short pair, row by row. */
static inline int64_t trace_rows(const int dimension, const Pair *pair, double *top, double *left, int64_t i, int64_t j,
                                 int64_t *cells) {
    uint32_t choices[SHORT_CELLS];
    for (int64_t row = 0; row < pair->n; row++) {
        double corner = top[0], west = left[row + 1];
        top[0] = west;
        for (int64_t column = 0; column < pair->m; column++) {
            const double north = top[column + 1], best = least(least(north, corner), west);
            choices[row * pair->m + column] = (uint32_t)(corner <= best) | (uint32_t)(north <= west) << STRIP_ROWS;
            west = cell_cost(dimension, pair, row, column) + best;
            corner = north;
            top[column + 1] = west;
        }
    }
    FOLLOW(choices[i * pair->m + j])
    return count;
}

int64_t trace_tile(const Pair *pair, double *top, double *left, int64_t i, int64_t j, int64_t *cells) {
    Pair used = *pair;
    used.n = i + 1;
    used.m = j + 1;
    if (used.n * used.m <= SHORT_CELLS) {
        if (used.dimension == 0) return trace_rows(0, &used, top, left, i, j, cells);
        if (used.dimension == 3) return trace_rows(3, &used, top, left, i, j, cells);
        return trace_rows(used.dimension, &used, top, left, i, j, cells);
    }
    const int64_t words = used.m + STRIP_ROWS, strips = (used.n + STRIP_ROWS - 1) / STRIP_ROWS;
    uint32_t *choices = malloc(sizeof(uint32_t) * (size_t)(strips * words));
    if (!choices || !warp_strips(&used, top, left, NULL, NULL, choices)) {
        free(choices);
        return -1;
    }
    FOLLOW(choices[i / STRIP_ROWS * words + i % STRIP_ROWS + j] >> i % STRIP_ROWS)
    free(choices);
    return count;
}

/* What the four kernels below do: fill a tile or, where a cell is given, trace from it. In `arrays` are the pair (points, or
 * a table and codes), its borders (new ones where both are None), and room for the cells. Tracing leaves the borders. */
static PyObject *run_tile(Array *arrays, int coded, const int64_t *cell) {
    Array *paths = arrays + coded, *borders = paths + 2, *cells = borders + 2;
    const int64_t n = LENGTH(paths[0], 0), m = LENGTH(paths[1], 0), columns = LENGTH(arrays[0], 1);
    Pair pair = {.n = n, .m = m};
    PyObject *result = NULL;
    double *own = NULL, *top = DOUBLES(borders[0]), *left = DOUBLES(borders[1]);
    if (coded) {
        if (!check_codes(&paths[0], &arrays[0], 0) || !check_codes(&paths[1], &arrays[0], 1)) goto end;
        pair.r_codes = INTS32(paths[0]), pair.q_codes = INTS32(paths[1]), pair.table = DOUBLES(arrays[0]), pair.columns = columns;
    } else {
        pair.r_points = DOUBLES(paths[0]), pair.q_points = DOUBLES(paths[1]), pair.dimension = (int)columns;
    }
    if (n < 1 || m < 1 || (!coded && (columns < 1 || LENGTH(paths[1], 1) != columns))) {
        refuse("both paths need nodes, or points of one dimension");
        goto end;
    }
    if (!top != !left || (top && (LENGTH(borders[0], 0) != m + 1 || LENGTH(borders[1], 0) != n + 1))) {
        refuse("borders must have one more value than the tile has columns and rows");
        goto end;
    }
    if (cell && (cell[0] < 0 || cell[1] < 0 || cell[0] >= n || cell[1] >= m || LENGTH(*cells, 0) < cell[0] + cell[1] + 2 ||
                 LENGTH(*cells, 1) != 2)) {
        refuse("trace: shapes do not fit");
        goto end;
    }
    if (!top || cell) {
        if (!(own = malloc(sizeof(double) * (size_t)(n + m + 2)))) {
            PyErr_NoMemory();
            goto end;
        }
        if (top) {
            memcpy(own, top, sizeof(double) * (size_t)(m + 1));
            memcpy(own + m + 1, left, sizeof(double) * (size_t)(n + 1));
        } else {
            fresh_borders(own, m, own + m + 1, n);
        }
        top = own;
        left = own + m + 1;
    }
    PyThreadState *state = PyEval_SaveThread();
    const int64_t count = cell ? trace_tile(&pair, top, left, cell[0], cell[1], INTS64(*cells))
                               : warp_tile(&pair, top, left, NULL, NULL) - 1;
    PyEval_RestoreThread(state);
    if (count < 0) PyErr_NoMemory();
    else result = cell ? Py_BuildValue("dL", top[cell[1] + 1], (long long)count) : PyFloat_FromDouble(top[m]);
end:
    free(own);
    drop_arrays(arrays, 4 + coded + (cell != NULL));
    return result;
}

/* warp_points(reference, query, top, left) -> C at the tile's last cell */
KERNEL(kernel_warp_points) {
    Array arrays[4];
    return take_arguments("warp_points", args, nargs, "d2 d2 d1w? d1w?", arrays) ? run_tile(arrays, 0, NULL) : NULL;
}

/* warp_table(table, reference, query, top, left) -> C at the tile's last cell */
KERNEL(kernel_warp_table) {
    Array arrays[5];
    return take_arguments("warp_table", args, nargs, "d2 i1 i1 d1w? d1w?", arrays) ? run_tile(arrays, 1, NULL) : NULL;
}

/* trace_points(reference, query, top, left, i, j, cells) -> (C at that cell, count); see trace_tile */
KERNEL(kernel_trace_points) {
    Array arrays[5];
    int64_t cell[2];
    const int taken = take_arguments("trace_points", args, nargs, "d2 d2 d1? d1? n n l2w", arrays, &cell[0], &cell[1]);
    return taken ? run_tile(arrays, 0, cell) : NULL;
}

/* trace_table(table, reference, query, top, left, i, j, cells) -> (C at that cell, count) */
KERNEL(kernel_trace_table) {
    Array arrays[6];
    int64_t cell[2];
    const int taken = take_arguments("trace_table", args, nargs, "d2 i1 i1 d1? d1? n n l2w", arrays, &cell[0], &cell[1]);
    return taken ? run_tile(arrays, 1, cell) : NULL;
}

/* euclidean_block(a, b, out) */
KERNEL(kernel_euclidean_block) {
    Array arrays[3];
    PyObject *result = NULL;
    double *by_axis = NULL;
    if (!take_arguments("euclidean_block", args, nargs, "d2 d2 d2w", arrays)) return NULL;
    const int64_t n = LENGTH(arrays[0], 0), m = LENGTH(arrays[1], 0), dimension = LENGTH(arrays[0], 1);
    if (LENGTH(arrays[1], 1) != dimension || LENGTH(arrays[2], 0) != n || LENGTH(arrays[2], 1) != m) {
        refuse("euclidean_block: shapes do not fit");
    } else if (!(by_axis = malloc(sizeof(double) * (size_t)(m * dimension + 1)))) {
        PyErr_NoMemory();
    } else {
        const double *a = DOUBLES(arrays[0]), *b = DOUBLES(arrays[1]);
        double *out = DOUBLES(arrays[2]);
        PyThreadState *state = PyEval_SaveThread();
        for (int64_t axis = 0; axis < dimension; axis++)
            for (int64_t j = 0; j < m; j++) by_axis[axis * m + j] = b[j * dimension + axis];
        for (int64_t i = 0; i < n; i++)
            lane_kernels->distances_to((int)dimension, a + i * dimension, by_axis, m, m, out + i * m);
        PyEval_RestoreThread(state);
        result = none();
    }
    free(by_axis);
    drop_arrays(arrays, 3);
    return result;
}

/* all_within(numbers, largest) -> is every |number| at most that? NaN is not. */
KERNEL(kernel_all_within) {
    Array array;
    double largest;
    if (!take_arguments("all_within", args, nargs, "d2 x", &array, &largest)) return NULL;
    PyObject *result = PyBool_FromLong(all_within(DOUBLES(array), LENGTH(array, 0) * LENGTH(array, 1), largest));
    drop_arrays(&array, 1);
    return result;
}
