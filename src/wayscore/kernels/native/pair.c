/* DTW of one pair straight from what people hold: lists of labels with their dictionary, lists of points, any buffer of
 * floats. No array is made on the way. What is unusual (an unknown label, an empty path, a value that is not finite, other
 * kinds of objects) returns None: the general way, which checks everything, takes over and says what is wrong. */
#include "native.h"
#include "warp.h"

enum { FEW = 256, MOST_CELLS = 9000000 };
/* Up to so many doubles or codes stand on the stack; of more cells pruning is tried, by the general way. */
static const int64_t RELEASED_CELLS = 100000; /* others may run meanwhile: letting them costs less than this work */
static const int64_t SCALAR_CELLS = 200; /* below, one row at a time is quicker than strips */

typedef struct {
    double few[FEW], *points;
    int32_t few_codes[FEW], *codes;
    int64_t count;
    int dimension;
} Path;

static void release(Path *path) {
    if (path->points != path->few) free(path->points);
    if (path->codes != path->few_codes) free(path->codes);
}

static int room(Path *path, int64_t values) {
    if (values > FEW && !(path->points = malloc(sizeof(double) * (size_t)values))) return 0;
    return 1;
}

/* Points out of a buffer of doubles or floats, whatever its strides. */
static int from_buffer(PyObject *object, Path *path) {
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_STRIDES | PyBUF_FORMAT) < 0) {
        PyErr_Clear();
        return 0;
    }
    const char *format = view.format ? view.format : "B";
    if (*format == '@' || *format == '=' || *format == '<') format++;
    const int wide = *format == 'd' && view.itemsize == 8, narrow = *format == 'f' && view.itemsize == 4;
    int taken = 0;
    if (view.ndim == 2 && (wide || narrow) && view.shape[0] > 0 && view.shape[1] > 0 && view.shape[1] < FEW) {
        path->count = view.shape[0];
        path->dimension = (int)view.shape[1];
        if (room(path, path->count * path->dimension)) {
            double *out = path->points;
            for (int64_t i = 0; i < path->count; i++)
                for (int64_t axis = 0; axis < path->dimension; axis++) {
                    const char *at = (const char *)view.buf + i * view.strides[0] + axis * view.strides[1];
                    if (wide) memcpy(out++, at, sizeof(double));
                    else {
                        float value;
                        memcpy(&value, at, sizeof(float));
                        *out++ = (double)value;
                    }
                }
            taken = 1;
        }
    }
    PyBuffer_Release(&view);
    return taken;
}

static PyObject *item_of(PyObject *sequence, Py_ssize_t at) {
    return PyList_Check(sequence) ? PyList_GetItem(sequence, at) : PyTuple_GetItem(sequence, at);
}

static Py_ssize_t length_of(PyObject *sequence) {
    if (PyList_Check(sequence)) return PyList_Size(sequence);
    return PyTuple_Check(sequence) ? PyTuple_Size(sequence) : -1;
}

/* Points out of a list of lists (or tuples) of numbers. */
static int from_lists(PyObject *object, Path *path) {
    Py_ssize_t count = length_of(object);
    if (count < 1) return 0;
    Py_ssize_t dimension = length_of(item_of(object, 0));
    if (dimension < 1 || dimension >= FEW) return 0;
    path->count = count;
    path->dimension = (int)dimension;
    if (!room(path, count * dimension)) return 0;
    double *out = path->points;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *point = item_of(object, i);
        if (length_of(point) != dimension) return 0;
        for (Py_ssize_t axis = 0; axis < dimension; axis++) {
            PyObject *number = item_of(point, axis);
            if (!PyFloat_Check(number) && (!PyLong_Check(number) || PyBool_Check(number))) return 0;
            double value = PyFloat_AsDouble(number);
            if (value == -1.0 && PyErr_Occurred()) {
                PyErr_Clear();
                return 0;
            }
            *out++ = value;
        }
    }
    return 1;
}

static int take_points(PyObject *object, Path *path) {
    int taken = PyList_Check(object) || PyTuple_Check(object) ? from_lists(object, path) : from_buffer(object, path);
    double sum = 0.0; /* NaN or infinite if any coordinate is */
    for (int64_t i = 0; taken && i < path->count * path->dimension; i++) sum += path->points[i] * 0.0;
    return taken && sum == 0.0;
}

static int take_labels(PyObject *object, PyObject *index, Path *path) {
    Py_ssize_t count = length_of(object);
    if (count < 1) return 0;
    path->count = count;
    if (count > FEW && !(path->codes = malloc(sizeof(int32_t) * (size_t)count))) return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *code = PyDict_GetItemWithError(index, item_of(object, i));
        if (!code) {
            PyErr_Clear(); /* a label that cannot be hashed is as unknown as any */
            return 0;
        }
        path->codes[i] = (int32_t)PyLong_AsLong(code);
    }
    return 1;
}

/* C row by row, its last row in `row`, which has m + 1 places; `distance` sees i and j. */
#define RECURRENCE(distance)                                                                                     \
    row[0] = 0.0;                                                                                                \
    for (int64_t j = 1; j <= m; j++) row[j] = INFINITY;                                                          \
    for (int64_t i = 0; i < n; i++) {                                                                            \
        double corner = row[0], west = INFINITY;                                                                 \
        row[0] = INFINITY;                                                                                       \
        for (int64_t j = 0; j < m; j++) {                                                                        \
            double north = row[j + 1], best = north < corner ? north : corner;                                   \
            best = west < best ? west : best;                                                                    \
            west = best + (distance);                                                                            \
            corner = north;                                                                                      \
            row[j + 1] = west;                                                                                   \
        }                                                                                                        \
    }

static double warp_few(const Path *r, const Path *q, double *row) {
    const int64_t n = r->count, m = q->count;
    const int k = r->dimension;
    if (k == 3) {
        RECURRENCE(point_distance(3, r->points + 3 * i, q->points + 3 * j))
    } else if (k == 2) {
        RECURRENCE(point_distance(2, r->points + 2 * i, q->points + 2 * j))
    } else {
        RECURRENCE(point_distance(k, r->points + k * i, q->points + k * j))
    }
    return row[m];
}

static double warp_codes(const Path *r, const Path *q, const double *table, int64_t size, double *row) {
    const int64_t n = r->count, m = q->count;
    RECURRENCE(table[r->codes[i] * size + q->codes[j]])
    return row[m];
}

static int fits(const Path *path, int64_t size) {
    for (int64_t i = 0; i < path->count; i++)
        if (path->codes[i] < 0 || path->codes[i] >= size) return 0;
    return 1;
}

/* pair(reference, query, index, table) -> DTW, or None where the general way must look. Without an index the paths are
 * points; with one it maps labels to rows of the table. */
KERNEL(kernel_pair) {
    (void)self;
    Path r, q;
    Array table = {.held = 0};
    double few[FEW + 1], *row = few, cost = NAN;
    r.points = r.few, r.codes = r.few_codes, q.points = q.few, q.codes = q.few_codes;
    if (!need_arguments("pair", nargs, 4)) return NULL;
    if (args[2] == Py_None) {
        if (!take_points(args[0], &r) || !take_points(args[1], &q) || r.dimension != q.dimension) goto end;
        if (r.count * q.count >= MOST_CELLS) goto end;
        if (r.count * q.count <= SCALAR_CELLS && q.count <= FEW) cost = warp_few(&r, &q, row);
        else {
            PyThreadState *state = r.count * q.count > RELEASED_CELLS ? PyEval_SaveThread() : NULL;
            double *left, *top = new_borders(r.count, q.count, &left);
            if (top && warp_tile(r.dimension, r.points, r.count, q.points, q.count, top, left)) cost = top[q.count];
            free(top);
            if (state) PyEval_RestoreThread(state);
        }
        if (cost == INFINITY) cost = NAN; /* squares that overflow */
    } else {
        if (!PyDict_Check(args[2]) || !take_labels(args[0], args[2], &r) || !take_labels(args[1], args[2], &q)) goto end;
        if (!take_array(args[3], &table, 'd', 2, 0, 0)) {
            PyErr_Clear();
            goto end;
        }
        const int64_t size = LENGTH(table, 1);
        if (LENGTH(table, 0) != size || !fits(&r, size) || !fits(&q, size)) goto end;
        if (q.count > FEW && !(row = malloc(sizeof(double) * (size_t)(q.count + 1)))) goto end;
        PyThreadState *state = r.count * q.count > RELEASED_CELLS ? PyEval_SaveThread() : NULL;
        cost = warp_codes(&r, &q, DOUBLES(table), size, row);
        if (state) PyEval_RestoreThread(state);
    }
end:
    if (row != few) free(row);
    release(&r);
    release(&q);
    drop_arrays(&table, 1);
    if (isnan(cost)) {
        Py_INCREF(Py_None);
        return Py_None;
    }
    return PyFloat_FromDouble(cost);
}
