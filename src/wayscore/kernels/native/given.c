/* Reads paths straight from lists, dictionaries and buffers: no array is made on the way. */
#include "given.h"

static const double LARGEST = 1e150; /* as in paths.py: squares of larger ones overflow */

static int room(Path *path, int64_t values) {
    return values <= FEW || (path->points = malloc(sizeof(double) * (size_t)values)) != NULL;
}

/* Points out of an array of floats. */
static int from_array(PyObject *object, Path *path) {
    Floats floats;
    int taken = look_at_floats(object, &floats) && floats.dimensions == 2 && floats.shape[0] > 0 && floats.shape[1] > 0 &&
                floats.shape[1] < FEW;
    if (taken) {
        path->count = floats.shape[0];
        path->dimension = (int)floats.shape[1];
        taken = room(path, path->count * path->dimension);
    }
    double *out = path->points;
    if (taken && floats.wide && floats.strides[1] == 8 && floats.strides[0] == 8 * floats.shape[1]) {
        memcpy(out, floats.data, sizeof(double) * (size_t)(path->count * path->dimension));
    } else if (taken) {
        for (int64_t i = 0; i < path->count; i++)
            for (int64_t axis = 0; axis < path->dimension; axis++)
                *out++ = float_at(&floats, floats.data + i * floats.strides[0] + axis * floats.strides[1]);
    }
    leave_floats(&floats);
    return taken;
}

/* A list or a tuple, looked at once: its kind takes as long to find out as an item. */
typedef struct {
    PyObject *object;
    Py_ssize_t count; /* -1 where it is something else */
    int is_list;
} Sequence;

static Sequence sequence_of(PyObject *object) {
    const int is_list = PyList_Check(object);
    return (Sequence){object, is_list ? PyList_Size(object) : PyTuple_Check(object) ? PyTuple_Size(object) : -1, is_list};
}

static inline PyObject *item_of(const Sequence *sequence, Py_ssize_t at) {
    return sequence->is_list ? PyList_GetItem(sequence->object, at) : PyTuple_GetItem(sequence->object, at);
}

static inline int take_number(PyObject *number, double *value) {
    if (!Py_IS_TYPE(number, &PyFloat_Type) && !PyFloat_Check(number) && (!PyLong_Check(number) || PyBool_Check(number)))
        return 0;
    *value = PyFloat_AsDouble(number);
    if (*value != -1.0 || !PyErr_Occurred()) return 1;
    PyErr_Clear();
    return 0;
}

/* Points out of a list of lists (or tuples) of numbers. */
static int from_lists(const Sequence *list, Path *path) {
    if (list->count < 1) return 0;
    const Py_ssize_t dimension = sequence_of(item_of(list, 0)).count;
    if (dimension < 1 || dimension >= FEW) return 0;
    path->count = list->count;
    path->dimension = (int)dimension;
    if (!room(path, list->count * dimension)) return 0;
    double *out = path->points;
    for (Py_ssize_t i = 0; i < list->count; i++) {
        const Sequence point = sequence_of(item_of(list, i));
        if (point.count != dimension) return 0;
        for (Py_ssize_t axis = 0; axis < dimension; axis++)
            if (!take_number(item_of(&point, axis), out++)) return 0;
    }
    return 1;
}

static int take_points(PyObject *object, Path *path) {
    const Sequence list = sequence_of(object);
    int taken = list.count >= 0 ? from_lists(&list, path) : from_array(object, path);
    const int64_t values = taken ? path->count * path->dimension : 0;
    int64_t usable = 0; /* as wide as a double: then several are compared at once */
    for (int64_t i = 0; i < values; i++) usable += fabs(path->points[i]) <= LARGEST;
    return taken && usable == values;
}

static int take_labels(PyObject *object, PyObject *index, Path *path, int64_t size) {
    const Sequence list = sequence_of(object);
    const Py_ssize_t count = list.count;
    if (count < 1) return 0;
    path->count = count;
    if (count > FEW && !(path->codes = malloc(sizeof(int32_t) * (size_t)count))) return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *code = PyDict_GetItemWithError(index, item_of(&list, i));
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
