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

/* What the four kernels below share: a pair, its borders (new ones where both are None), and the arrays behind them. */
typedef struct {
    Pair pair;
    Array arrays[6];
    double *top, *left, *own;
} Tile;

/* Borders that the caller will read are changed in place, others are copied. */
static int take_borders(PyObject *const *args, Tile *tile, int in_place) {
    Array *arrays = tile->arrays + 3;
    const int64_t n = tile->pair.n, m = tile->pair.m;
    if (!take_array(args[0], &arrays[0], 'd', 1, in_place, 1) || !take_array(args[1], &arrays[1], 'd', 1, in_place, 1))
        return 0;
    const int given = arrays[0].held;
    if (given != arrays[1].held || (given && (LENGTH(arrays[0], 0) != m + 1 || LENGTH(arrays[1], 0) != n + 1))) {
        PyErr_SetString(PyExc_ValueError, "borders must have one more value than the tile has columns and rows");
        return 0;
    }
    if (given && in_place) {
        tile->top = DOUBLES(arrays[0]);
        tile->left = DOUBLES(arrays[1]);
        return 1;
    }
    if (!(tile->own = tile->top = malloc(sizeof(double) * (size_t)(n + m + 2)))) {
        PyErr_NoMemory();
        return 0;
    }
    tile->left = tile->top + m + 1;
    if (given) {
        memcpy(tile->top, DOUBLES(arrays[0]), sizeof(double) * (size_t)(m + 1));
        memcpy(tile->left, DOUBLES(arrays[1]), sizeof(double) * (size_t)(n + 1));
    } else {
        fresh_borders(tile->top, m, tile->left, n);
    }
    return 1;
}

/* reference, query, top, left */
static int take_points(PyObject *const *args, Tile *tile, int in_place) {
    Array *arrays = tile->arrays;
    if (!take_array(args[0], &arrays[0], 'd', 2, 0, 0) || !take_array(args[1], &arrays[1], 'd', 2, 0, 0)) return 0;
    const int64_t dimension = LENGTH(arrays[0], 1);
    tile->pair = (Pair){.dimension = (int)dimension, .n = LENGTH(arrays[0], 0), .m = LENGTH(arrays[1], 0),
                        .r_points = DOUBLES(arrays[0]), .q_points = DOUBLES(arrays[1])};
    if (tile->pair.n < 1 || tile->pair.m < 1 || dimension < 1 || LENGTH(arrays[1], 1) != dimension) {
        PyErr_SetString(PyExc_ValueError, "both paths need points of one dimension");
        return 0;
    }
    return take_borders(args + 2, tile, in_place);
}

/* table, reference, query, top, left */
static int take_codes(PyObject *const *args, Tile *tile, int in_place) {
    Array *arrays = tile->arrays;
    if (!take_array(args[0], &arrays[0], 'd', 2, 0, 0) || !take_array(args[1], &arrays[1], 'i', 1, 0, 0) ||
        !take_array(args[2], &arrays[2], 'i', 1, 0, 0) || !check_codes(&arrays[1], &arrays[0], 0) ||
        !check_codes(&arrays[2], &arrays[0], 1))
        return 0;
    tile->pair = (Pair){.n = LENGTH(arrays[1], 0), .m = LENGTH(arrays[2], 0), .r_codes = INTS32(arrays[1]),
                        .q_codes = INTS32(arrays[2]), .table = DOUBLES(arrays[0]), .columns = LENGTH(arrays[0], 1)};
    if (tile->pair.n < 1 || tile->pair.m < 1) {
        PyErr_SetString(PyExc_ValueError, "both paths need at least one node");
        return 0;
    }
    return take_borders(args + 3, tile, in_place);
}

static PyObject *drop_tile(Tile *tile, PyObject *result) {
    free(tile->own);
    drop_arrays(tile->arrays, 6);
    return result;
}

static PyObject *warp_taken(Tile *tile) {
    PyThreadState *state = PyEval_SaveThread();
    const int done = warp_tile(&tile->pair, tile->top, tile->left, NULL, NULL);
    PyEval_RestoreThread(state);
    return done ? PyFloat_FromDouble(tile->top[tile->pair.m]) : PyErr_NoMemory();
}

static PyObject *trace_taken(Tile *tile, PyObject *const *args) {
    int64_t i, j;
    Array *cells = &tile->arrays[5];
    if (!take_count(args[0], &i) || !take_count(args[1], &j) || !take_array(args[2], cells, 'l', 2, 1, 0)) return NULL;
    if (i < 0 || j < 0 || i >= tile->pair.n || j >= tile->pair.m || LENGTH(*cells, 0) < i + j + 2 || LENGTH(*cells, 1) != 2) {
        PyErr_SetString(PyExc_ValueError, "trace: shapes do not fit");
        return NULL;
    }
    PyThreadState *state = PyEval_SaveThread();
    const int64_t count = trace_tile(&tile->pair, tile->top, tile->left, i, j, INTS64(*cells));
    PyEval_RestoreThread(state);
    return count < 0 ? PyErr_NoMemory() : Py_BuildValue("dL", tile->top[j + 1], (long long)count);
}

/* warp_points(reference, query, top, left) -> C at the tile's last cell */
KERNEL(kernel_warp_points) {
    (void)self;
    Tile tile = {0};
    const int taken = need_arguments("warp_points", nargs, 4) && take_points(args, &tile, 1);
    return drop_tile(&tile, taken ? warp_taken(&tile) : NULL);
}

/* warp_table(table, reference, query, top, left) -> C at the tile's last cell */
KERNEL(kernel_warp_table) {
    (void)self;
    Tile tile = {0};
    const int taken = need_arguments("warp_table", nargs, 5) && take_codes(args, &tile, 1);
    return drop_tile(&tile, taken ? warp_taken(&tile) : NULL);
}

/* trace_points(reference, query, top, left, i, j, cells) -> (C at that cell, count); see trace_tile */
KERNEL(kernel_trace_points) {
    (void)self;
    Tile tile = {0};
    const int taken = need_arguments("trace_points", nargs, 7) && take_points(args, &tile, 0);
    return drop_tile(&tile, taken ? trace_taken(&tile, args + 4) : NULL);
}

/* trace_table(table, reference, query, top, left, i, j, cells) -> (C at that cell, count) */
KERNEL(kernel_trace_table) {
    (void)self;
    Tile tile = {0};
    const int taken = need_arguments("trace_table", nargs, 8) && take_codes(args, &tile, 0);
    return drop_tile(&tile, taken ? trace_taken(&tile, args + 5) : NULL);
}

/* euclidean_block(a, b, out) */
KERNEL(kernel_euclidean_block) {
    (void)self;
    Array arrays[3] = {{.held = 0}};
    PyObject *result = NULL;
    if (!need_arguments("euclidean_block", nargs, 3) || !take_array(args[0], &arrays[0], 'd', 2, 0, 0) ||
        !take_array(args[1], &arrays[1], 'd', 2, 0, 0) || !take_array(args[2], &arrays[2], 'd', 2, 1, 0))
        goto end;
    int64_t n = LENGTH(arrays[0], 0), m = LENGTH(arrays[1], 0), dimension = LENGTH(arrays[0], 1);
    if (LENGTH(arrays[1], 1) != dimension || LENGTH(arrays[2], 0) != n || LENGTH(arrays[2], 1) != m) {
        PyErr_SetString(PyExc_ValueError, "euclidean_block: shapes do not fit");
        goto end;
    }
    double *by_axis = malloc(sizeof(double) * (size_t)(m * dimension + 1));
    if (!by_axis) {
        PyErr_NoMemory();
        goto end;
    }
    const double *a = DOUBLES(arrays[0]), *b = DOUBLES(arrays[1]);
    double *out = DOUBLES(arrays[2]);
    PyThreadState *state = PyEval_SaveThread();
    for (int64_t axis = 0; axis < dimension; axis++)
        for (int64_t j = 0; j < m; j++) by_axis[axis * m + j] = b[j * dimension + axis];
    for (int64_t i = 0; i < n; i++)
        lane_kernels->distances_to((int)dimension, a + i * dimension, by_axis, m, m, out + i * m);
    PyEval_RestoreThread(state);
    free(by_axis);
    Py_INCREF(Py_None);
    result = Py_None;
end:
    drop_arrays(arrays, 3);
    return result;
}

/* all_within(numbers, largest) -> is every |number| at most that? NaN is not. */
KERNEL(kernel_all_within) {
    (void)self;
    Array array = {.held = 0};
    double largest;
    PyObject *result = NULL;
    if (need_arguments("all_within", nargs, 2) && take_array(args[0], &array, 'd', 2, 0, 0) &&
        take_double(args[1], &largest)) {
        const int64_t count = LENGTH(array, 0) * LENGTH(array, 1);
        const double *numbers = DOUBLES(array);
        int64_t within = 0;
        for (int64_t i = 0; i < count; i++) within += fabs(numbers[i]) <= largest;
        result = PyBool_FromLong(within == count);
    }
    drop_arrays(&array, 1);
    return result;
}
