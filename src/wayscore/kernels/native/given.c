/* Reads paths straight from lists, dictionaries and buffers: no array is made on the way. */
#include "given.h"

static const double LARGEST = 1e150; /* as in paths.py: squares of larger ones overflow */

static int room(Path *path, int64_t values) {
    return values <= FEW || (path->points = malloc(sizeof(double) * (size_t)values)) != NULL;
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
    int taken = view.ndim == 2 && (wide || narrow) && view.shape[0] > 0 && view.shape[1] > 0 && view.shape[1] < FEW;
    if (taken) {
        path->count = view.shape[0];
        path->dimension = (int)view.shape[1];
        taken = room(path, path->count * path->dimension);
    }
    double *out = path->points;
    if (taken && wide && view.strides[1] == 8 && view.strides[0] == 8 * view.shape[1]) {
        memcpy(out, view.buf, sizeof(double) * (size_t)(path->count * path->dimension));
    } else if (taken) {
        for (int64_t i = 0; i < path->count; i++)
            for (int64_t axis = 0; axis < path->dimension; axis++) {
                const char *at = (const char *)view.buf + i * view.strides[0] + axis * view.strides[1];
                float value;
                if (wide) memcpy(out, at, sizeof(double));
                else {
                    memcpy(&value, at, sizeof(float));
                    *out = (double)value;
                }
                out++;
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
    const int64_t values = taken ? path->count * path->dimension : 0;
    for (int64_t i = 0; i < values; i++) taken &= fabs(path->points[i]) <= LARGEST;
    return taken;
}

static int take_labels(PyObject *object, PyObject *index, Path *path, int64_t size) {
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
        const long number = PyLong_AsLong(code);
        if (number < 0 || number >= size) {
            PyErr_Clear();
            return 0;
        }
        path->codes[i] = (int32_t)number;
    }
    return 1;
}

int take_given(PyObject *const *args, Given *given) {
    Path *r = &given->r, *q = &given->q;
    r->points = r->few, r->codes = r->few_codes, q->points = q->few, q->codes = q->few_codes;
    given->table.held = 0;
    if (args[2] == Py_None) {
        if (!take_points(args[0], r) || !take_points(args[1], q) || r->dimension != q->dimension) return 0;
        given->pair = (Pair){.dimension = r->dimension, .r_points = r->points, .q_points = q->points};
    } else {
        if (!PyDict_Check(args[2]) || !take_array(args[3], &given->table, 'd', 2, 0, 0)) {
            PyErr_Clear();
            return 0;
        }
        const int64_t size = LENGTH(given->table, 0);
        if (LENGTH(given->table, 1) != size || !take_labels(args[0], args[2], r, size) ||
            !take_labels(args[1], args[2], q, size))
            return 0;
        given->pair = (Pair){.r_codes = r->codes, .q_codes = q->codes, .table = DOUBLES(given->table), .columns = size};
    }
    given->pair.n = r->count;
    given->pair.m = q->count;
    return 1;
}

static void release(Path *path) {
    if (path->points != path->few) free(path->points);
    if (path->codes != path->few_codes) free(path->codes);
}

void drop_given(Given *given) {
    release(&given->r);
    release(&given->q);
    drop_arrays(&given->table, 1);
}
