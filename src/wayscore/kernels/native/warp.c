/* Dynamic time warping: C[i][j] = d(r_i, q_j) + min(C[i-1][j], C[i][j-1], C[i-1][j-1]) (the paper's Alg. 1).
 *
 * A call fills one tile of C. `top` (m + 1 values) is the row above it and `left` (n + 1) the column before
 * it, both beginning with the corner they share; on return they hold the tile's last row and last column, the
 * borders of the tiles below and to the right. */
#include "lane_table.h"
#include "native.h"
#include "warp.h"

/* One array a coordinate, last point first, with STRIP_ROWS of padding at both ends. */
double *reverse_points(const double *points, int64_t count, int dimension, int64_t *stride) {
    *stride = count + 2 * STRIP_ROWS;
    double *reversed = calloc((size_t)(*stride * dimension), sizeof(double));
    if (!reversed) return NULL;
    for (int axis = 0; axis < dimension; axis++) {
        double *out = reversed + axis * *stride + STRIP_ROWS;
        for (int64_t j = 0; j < count; j++) out[count - 1 - j] = points[j * dimension + axis];
    }
    return reversed;
}

static void warp_costs(const double *costs, int64_t n, int64_t m, double *top, double *left) {
    double beside = top[m];
    for (int64_t i = 0; i < n; i++) left[i + 1] = warp_row(costs + i * m, m, top, left[i + 1]);
    left[0] = beside;
}

/* Short pairs: the strips' lead-in would cost more than it saves. */
static const int64_t SCALAR_CELLS = 256;

int warp_tile(int dimension, const double *reference, int64_t n, const double *query, int64_t m, double *top,
              double *left) {
    if (n * m <= SCALAR_CELLS) {
        double costs[256];
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < m; j++)
                costs[i * m + j] = point_distance(dimension, reference + i * dimension, query + j * dimension);
        warp_costs(costs, n, m, top, left);
        return 1;
    }
    int64_t stride;
    double *rows_by_axis = malloc(sizeof(double) * (size_t)(dimension * STRIP_ROWS));
    double *reversed = reverse_points(query, m, dimension, &stride);
    if (rows_by_axis && reversed) {
        double beside = top[m];
        for (int64_t i = 0; i < n; i += STRIP_ROWS)
            lane_kernels->strip_points(dimension, reference + i * dimension,
                                       (int)(n - i < STRIP_ROWS ? n - i : STRIP_ROWS), reversed, stride, m, top,
                                       left + i + 1, rows_by_axis);
        left[0] = beside;
    }
    int done = rows_by_axis && reversed;
    free(rows_by_axis);
    free(reversed);
    return done;
}

/* Borders of a tile at the start of both paths. */
static void fresh_borders(double *top, int64_t m, double *left, int64_t n) {
    top[0] = left[0] = 0.0;
    for (int64_t j = 1; j <= m; j++) top[j] = INFINITY;
    for (int64_t i = 1; i <= n; i++) left[i] = INFINITY;
}

double *new_borders(int64_t n, int64_t m, double **left) {
    double *top = malloc(sizeof(double) * (size_t)(n + m + 2));
    if (!top) return NULL;
    *left = top + m + 1;
    fresh_borders(top, m, *left, n);
    return top;
}

/* The borders given, or new ones where both are None. Returns 0 with a Python error. */
static int take_borders(PyObject *const *args, Array *arrays, int64_t n, int64_t m, double **top, double **left,
                        double **own) {
    *own = NULL;
    if (!take_array(args[0], &arrays[0], 'd', 1, 1, 1) || !take_array(args[1], &arrays[1], 'd', 1, 1, 1)) return 0;
    if (arrays[0].held != arrays[1].held ||
        (arrays[0].held && (LENGTH(arrays[0], 0) != m + 1 || LENGTH(arrays[1], 0) != n + 1))) {
        PyErr_SetString(PyExc_ValueError, "borders must have one more value than the tile has columns and rows");
        return 0;
    }
    if (arrays[0].held) {
        *top = DOUBLES(arrays[0]);
        *left = DOUBLES(arrays[1]);
        return 1;
    }
    *own = *top = new_borders(n, m, left);
    if (!*own) PyErr_NoMemory();
    return *own != NULL;
}

/* warp_points(reference, query, top, left) -> C at the tile's last cell */
KERNEL(kernel_warp_points) {
    (void)self;
    Array arrays[4] = {{.held = 0}};
    PyObject *result = NULL;
    double *top, *left, *own = NULL;
    if (!need_arguments("warp_points", nargs, 4) || !take_array(args[0], &arrays[0], 'd', 2, 0, 0) ||
        !take_array(args[1], &arrays[1], 'd', 2, 0, 0))
        goto end;
    int64_t n = LENGTH(arrays[0], 0), m = LENGTH(arrays[1], 0), dimension = LENGTH(arrays[0], 1);
    if (n < 1 || m < 1 || dimension < 1 || LENGTH(arrays[1], 1) != dimension) {
        PyErr_SetString(PyExc_ValueError, "both paths need points of one dimension");
        goto end;
    }
    if (!take_borders(args + 2, arrays + 2, n, m, &top, &left, &own)) goto end;
    int done;
    if (n * m > 1 << 14) {
        PyThreadState *state = PyEval_SaveThread();
        done = warp_tile((int)dimension, DOUBLES(arrays[0]), n, DOUBLES(arrays[1]), m, top, left);
        PyEval_RestoreThread(state);
    } else {
        done = warp_tile((int)dimension, DOUBLES(arrays[0]), n, DOUBLES(arrays[1]), m, top, left);
    }
    result = done ? PyFloat_FromDouble(top[m]) : PyErr_NoMemory();
end:
    free(own);
    drop_arrays(arrays, 4);
    return result;
}

/* warp_block(costs, top, left) -> C at the tile's last cell */
KERNEL(kernel_warp_block) {
    (void)self;
    Array arrays[3] = {{.held = 0}};
    PyObject *result = NULL;
    double *top, *left, *own = NULL;
    if (!need_arguments("warp_block", nargs, 3) || !take_array(args[0], &arrays[0], 'd', 2, 0, 0)) goto end;
    int64_t n = LENGTH(arrays[0], 0), m = LENGTH(arrays[0], 1);
    if (n < 1 || m < 1) {
        PyErr_SetString(PyExc_ValueError, "costs must have at least one row and one column");
        goto end;
    }
    if (!take_borders(args + 1, arrays + 1, n, m, &top, &left, &own)) goto end;
    PyThreadState *state = PyEval_SaveThread();
    warp_costs(DOUBLES(arrays[0]), n, m, top, left);
    PyEval_RestoreThread(state);
    result = PyFloat_FromDouble(top[m]);
end:
    free(own);
    drop_arrays(arrays, 3);
    return result;
}

/* trace_block(costs, top, left, i, j, cells) -> count
 * Follows the optimal warping back from cell (i, j) until it leaves the tile. cells[0..count-1] are the cells
 * visited, last first, and cells[count] the first one outside (a coordinate is -1). Ties go to the diagonal,
 * then to the reference's step. */
KERNEL(kernel_trace_block) {
    (void)self;
    Array arrays[4] = {{.held = 0}};
    PyObject *result = NULL;
    int64_t i, j;
    if (!need_arguments("trace_block", nargs, 6) || !take_array(args[0], &arrays[0], 'd', 2, 0, 0) ||
        !take_array(args[1], &arrays[1], 'd', 1, 0, 0) || !take_array(args[2], &arrays[2], 'd', 1, 0, 0) ||
        !take_count(args[3], &i) || !take_count(args[4], &j) || !take_array(args[5], &arrays[3], 'l', 2, 1, 0))
        goto end;
    int64_t n = LENGTH(arrays[0], 0), m = LENGTH(arrays[0], 1);
    if (LENGTH(arrays[1], 0) != m + 1 || LENGTH(arrays[2], 0) != n + 1 || i < 0 || j < 0 || i >= n || j >= m ||
        LENGTH(arrays[3], 0) < i + j + 2 || LENGTH(arrays[3], 1) != 2) {
        PyErr_SetString(PyExc_ValueError, "trace_block: shapes do not fit");
        goto end;
    }
    const int64_t width = m + 1;
    double *C = malloc(sizeof(double) * (size_t)((i + 2) * width));
    if (!C) {
        PyErr_NoMemory();
        goto end;
    }
    const double *costs = DOUBLES(arrays[0]), *left = DOUBLES(arrays[2]);
    int64_t *cells = INTS64(arrays[3]), count = 0;
    PyThreadState *state = PyEval_SaveThread();
    memcpy(C, DOUBLES(arrays[1]), sizeof(double) * (size_t)width);
    for (int64_t row = 0; row <= i; row++) {
        memcpy(C + (row + 1) * width, C + row * width, sizeof(double) * (size_t)width);
        warp_row(costs + row * m, j + 1, C + (row + 1) * width, left[row + 1]);
    }
    while (i >= 0 && j >= 0) {
        cells[2 * count] = i;
        cells[2 * count + 1] = j;
        count++;
        const double *above = C + i * width + j; /* C is shifted by one: above[0] is C[i-1][j-1] */
        double corner = above[0], north = above[1], west = above[width];
        if (corner <= north && corner <= west) i--, j--;
        else if (north <= west) i--;
        else j--;
    }
    cells[2 * count] = i;
    cells[2 * count + 1] = j;
    PyEval_RestoreThread(state);
    free(C);
    result = PyLong_FromLongLong(count);
end:
    drop_arrays(arrays, 4);
    return result;
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

/* all_finite(numbers) -> bool */
KERNEL(kernel_all_finite) {
    (void)self;
    Array array = {.held = 0};
    if (!need_arguments("all_finite", nargs, 1) || !take_array(args[0], &array, 'd', 2, 0, 0)) {
        drop_arrays(&array, 1);
        return NULL;
    }
    int64_t count = LENGTH(array, 0) * LENGTH(array, 1);
    const double *numbers = DOUBLES(array);
    double sum = 0.0; /* x * 0 is 0 for every finite x, and NaN for the others */
    for (int64_t i = 0; i < count; i++) sum += numbers[i] * 0.0;
    drop_arrays(&array, 1);
    return PyBool_FromLong(sum == 0.0);
}
