/* Dynamic time warping: C[i][j] = d(r_i, q_j) + min(C[i-1][j], C[i][j-1], C[i-1][j-1]) (the paper's Alg. 1).
 *
 * A call fills one tile of C. `top` (m + 1 values) is the row above it and `left` (n + 1) the column before
 * it, both beginning with the corner they share; on return they hold the tile's last row and last column, the
 * borders of the tiles below and to the right. */
#include "lane_table.h"
#include "native.h"
#include "warp.h"

/* Short pairs row by row: the strips' lead-in would cost more than it saves. */
enum { SCALAR_CELLS = 256 };

static inline double cell_cost(const int dimension, const Pair *pair, int64_t i, int64_t j) {
    if (dimension) return point_distance(dimension, pair->r_points + i * dimension, pair->q_points + j * dimension);
    return pair->table[pair->r_codes[i] * pair->columns + pair->q_codes[j]];
}

static inline void warp_rows(const int dimension, const Pair *pair, double *top, double *left) {
    double costs[SCALAR_CELLS], by_axis[3 * SCALAR_CELLS];
    const int64_t m = pair->m;
    const int lanes = m >= 8 && (dimension == 2 || dimension == 3); /* else several distances at once do not pay */
    for (int64_t j = 0; lanes && j < m; j++)
        for (int axis = 0; axis < dimension; axis++) by_axis[axis * m + j] = pair->q_points[j * dimension + axis];
    for (int64_t i = 0; i < pair->n; i++) {
        if (lanes) lane_kernels->distances_to(dimension, pair->r_points + i * dimension, by_axis, m, m, costs);
        else
            for (int64_t j = 0; j < m; j++) costs[j] = cell_cost(dimension, pair, i, j);
        left[i + 1] = warp_row(costs, m, top, left[i + 1]);
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
    if (nearest || pair->n * pair->m > SCALAR_CELLS) return warp_strips(pair, top, left, nearest, covered, NULL);
    const double beside = top[pair->m];
    switch (pair->dimension) {
    case 0: warp_rows(0, pair, top, left); break;
    case 2: warp_rows(2, pair, top, left); break;
    case 3: warp_rows(3, pair, top, left); break;
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
    uint32_t choices[SCALAR_CELLS];
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
    if (used.n * used.m <= SCALAR_CELLS) {
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

/* advance_cost(costs, row) -> DTW so far: one more step of one running warping. `row` is the last column of C over the
 * reference, beginning with its border. */
KERNEL(kernel_advance_cost) {
    (void)self;
    Array arrays[2] = {{.held = 0}};
    PyObject *result = NULL;
    if (need_arguments("advance_cost", nargs, 2) && take_array(args[0], &arrays[0], 'd', 1, 0, 0) &&
        take_array(args[1], &arrays[1], 'd', 1, 1, 0)) {
        int64_t n = LENGTH(arrays[0], 0);
        if (n < 1 || LENGTH(arrays[1], 0) != n + 1)
            PyErr_SetString(PyExc_ValueError, "advance_cost: shapes do not fit");
        else
            result = PyFloat_FromDouble(warp_row(DOUBLES(arrays[0]), n, DOUBLES(arrays[1]), INFINITY));
    }
    drop_arrays(arrays, 2);
    return result;
}

/* One more step of one running warping on points. */
static inline double warp_point(int dimension, const double *reference, int64_t n, const double *place, double *row) {
    double corner = row[0], west = INFINITY;
    row[0] = INFINITY;
    for (int64_t j = 0; j < n; j++) {
        double north = row[j + 1], distance = point_distance(dimension, reference + j * dimension, place);
        west = distance + least(least(north, corner), west);
        corner = north;
        row[j + 1] = west;
    }
    return west;
}

enum { MOST_AXES = 16 };

/* Coordinates out of a list or tuple of numbers; how many there are, or -1 where it is something else. */
static int64_t listed_point(PyObject *object, double *point) {
    const int is_list = PyList_Check(object);
    if (!is_list && !PyTuple_Check(object)) return -1;
    const Py_ssize_t count = is_list ? PyList_Size(object) : PyTuple_Size(object);
    if (count < 1 || count > MOST_AXES) return -1;
    for (Py_ssize_t axis = 0; axis < count; axis++) {
        PyObject *number = is_list ? PyList_GetItem(object, axis) : PyTuple_GetItem(object, axis);
        if (!PyFloat_Check(number)) return -1; /* whole numbers and others: the caller converts */
        point[axis] = PyFloat_AsDouble(number);
    }
    return count;
}

/* advance_point(reference, row, place) -> DTW so far, or None (and no step) where the place does not fit or is not
 * finite */
KERNEL(kernel_advance_point) {
    (void)self;
    Array arrays[3] = {{.held = 0}};
    PyObject *result = NULL;
    double listed[MOST_AXES];
    if (need_arguments("advance_point", nargs, 3) && take_array(args[0], &arrays[0], 'd', 2, 0, 0) &&
        take_array(args[1], &arrays[1], 'd', 1, 1, 0)) {
        const int64_t n = LENGTH(arrays[0], 0), dimension = LENGTH(arrays[0], 1);
        int64_t given = listed_point(args[2], listed);
        const double *place = listed;
        if (given < 0) { /* not a list: an array */
            if (!take_array(args[2], &arrays[2], 'd', 1, 0, 0)) goto end;
            given = LENGTH(arrays[2], 0);
            place = DOUBLES(arrays[2]);
        }
        int usable = given == dimension;
        for (int64_t axis = 0; usable && axis < dimension; axis++) usable = isfinite(place[axis]) != 0;
        if (n < 1 || LENGTH(arrays[1], 0) != n + 1) {
            PyErr_SetString(PyExc_ValueError, "advance_point: shapes do not fit");
        } else if (!usable) {
            Py_INCREF(Py_None);
            result = Py_None;
        } else {
            const double *reference = DOUBLES(arrays[0]);
            double *row = DOUBLES(arrays[1]);
            result = PyFloat_FromDouble(dimension == 3   ? warp_point(3, reference, n, place, row)
                                        : dimension == 2 ? warp_point(2, reference, n, place, row)
                                                         : warp_point((int)dimension, reference, n, place, row));
        }
    }
end:
    drop_arrays(arrays, 3);
    return result;
}

/* Are all reference lengths at most `width`? */
static int lengths_fit(const Array *lengths, int64_t width) {
    for (int64_t s = 0; s < LENGTH(*lengths, 0); s++)
        if (INTS64(*lengths)[s] < 0 || INTS64(*lengths)[s] > width) return 0;
    return 1;
}

/* advance_block(costs, lengths, rows, active): one more step of every running warping.
 * rows[s] is the last column of C over the reference of slot s, beginning with its border. */
KERNEL(kernel_advance_block) {
    (void)self;
    Array arrays[4] = {{.held = 0}};
    PyObject *result = NULL;
    if (!need_arguments("advance_block", nargs, 4) || !take_array(args[0], &arrays[0], 'd', 2, 0, 0) ||
        !take_array(args[1], &arrays[1], 'l', 1, 0, 0) || !take_array(args[2], &arrays[2], 'd', 2, 1, 0) ||
        !take_array(args[3], &arrays[3], 'B', 1, 0, 1))
        goto end;
    int64_t slots = LENGTH(arrays[0], 0), width = LENGTH(arrays[0], 1);
    if (LENGTH(arrays[1], 0) != slots || LENGTH(arrays[2], 0) != slots || LENGTH(arrays[2], 1) != width + 1 ||
        !lengths_fit(&arrays[1], width) || (arrays[3].held && LENGTH(arrays[3], 0) != slots)) {
        PyErr_SetString(PyExc_ValueError, "advance_block: shapes do not fit");
        goto end;
    }
    for (int64_t s = 0; s < slots; s++)
        if (!arrays[3].held || BYTES(arrays[3])[s])
            warp_row(DOUBLES(arrays[0]) + s * width, INTS64(arrays[1])[s], DOUBLES(arrays[2]) + s * (width + 1),
                     INFINITY);
    Py_INCREF(Py_None);
    result = Py_None;
end:
    drop_arrays(arrays, 4);
    return result;
}

/* advance_points(references, lengths, rows, places, active): the same, distances taken on the way. */
KERNEL(kernel_advance_points) {
    (void)self;
    Array arrays[5] = {{.held = 0}};
    PyObject *result = NULL;
    if (!need_arguments("advance_points", nargs, 5) || !take_array(args[0], &arrays[0], 'd', 3, 0, 0) ||
        !take_array(args[1], &arrays[1], 'l', 1, 0, 0) || !take_array(args[2], &arrays[2], 'd', 2, 1, 0) ||
        !take_array(args[3], &arrays[3], 'd', 2, 0, 0) || !take_array(args[4], &arrays[4], 'B', 1, 0, 1))
        goto end;
    int64_t slots = LENGTH(arrays[0], 0), width = LENGTH(arrays[0], 1), dimension = LENGTH(arrays[0], 2);
    if (LENGTH(arrays[1], 0) != slots || LENGTH(arrays[2], 0) != slots || LENGTH(arrays[2], 1) != width + 1 ||
        LENGTH(arrays[3], 0) != slots || LENGTH(arrays[3], 1) != dimension ||
        !lengths_fit(&arrays[1], width) || (arrays[4].held && LENGTH(arrays[4], 0) != slots)) {
        PyErr_SetString(PyExc_ValueError, "advance_points: shapes do not fit");
        goto end;
    }
    for (int64_t s = 0; s < slots; s++) {
        if (arrays[4].held && !BYTES(arrays[4])[s]) continue;
        const double *reference = DOUBLES(arrays[0]) + s * width * dimension, *place = DOUBLES(arrays[3]) + s * dimension;
        warp_point((int)dimension, reference, INTS64(arrays[1])[s], place, DOUBLES(arrays[2]) + s * (width + 1));
    }
    Py_INCREF(Py_None);
    result = Py_None;
end:
    drop_arrays(arrays, 5);
    return result;
}
