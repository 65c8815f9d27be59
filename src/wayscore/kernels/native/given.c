/* Reads paths straight from lists, dictionaries and buffers, without making an array of Python objects. */
#include "given.h"

/* Looks at the numbers of an array of floats. A short pair takes less time than NumPy needs to describe two arrays by the
 * buffer protocol, so the fields of a NumPy array are read where they stand. Their order is part of NumPy's binary
 * interface, which every extension built with its headers relies on; it is tried out when the module is loaded, and
 * where it differs everything goes through the buffer protocol. */
typedef struct {
    const char *data;
    int dimensions, wide; /* wide: float64, else float32 */
    const Py_ssize_t *shape, *strides;
    Py_buffer view;
    int held;
} Floats;

typedef struct {
    PyObject_HEAD
    char *data;
    int dimensions;
    Py_ssize_t *shape, *strides;
    PyObject *base, *type;
} NumpyArray;

static PyTypeObject *array_type; /* NULL: the fields stand elsewhere */
static PyObject *float64, *float32;

/* Look at an array of floats, which the caller keeps alive. Returns 0, with no Python error, where it is something else.
 * leave_floats is due either way. */
static int look_at_floats(PyObject *object, Floats *floats) {
    floats->held = 0;
    if (array_type && Py_IS_TYPE(object, array_type)) {
        const NumpyArray *array = (const NumpyArray *)object;
        floats->wide = array->type == float64;
        floats->data = array->data;
        floats->dimensions = array->dimensions;
        floats->shape = array->shape;
        floats->strides = array->strides;
        if (floats->wide || array->type == float32) return 1;
    }
    Py_buffer *view = &floats->view;
    if (PyObject_GetBuffer(object, view, PyBUF_STRIDES | PyBUF_FORMAT) < 0) {
        PyErr_Clear();
        return 0;
    }
    floats->held = 1;
    const char *format = view->format ? view->format : "B";
    if (*format == '@' || *format == '=' || *format == '<') format++;
    floats->wide = *format == 'd' && view->itemsize == 8;
    floats->data = view->buf;
    floats->dimensions = view->ndim;
    floats->shape = view->shape;
    floats->strides = view->strides;
    return floats->wide || (*format == 'f' && view->itemsize == 4);
}

static void leave_floats(Floats *floats) {
    if (floats->held) PyBuffer_Release(&floats->view);
}

static inline double float_at(const Floats *floats, const char *at) {
    float narrow;
    double wide;
    if (floats->wide) memcpy(&wide, at, sizeof wide);
    else {
        memcpy(&narrow, at, sizeof narrow);
        wide = (double)narrow;
    }
    return wide;
}

/* Does a new array have its fields where they are expected? */
static int fields_fit(PyObject *object) {
    const NumpyArray *array = (const NumpyArray *)object;
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_STRIDES) < 0) return 0;
    int fit = array->data == view.buf && array->dimensions == 2 && array->type == float64 && !array->base;
    for (int axis = 0; fit && axis < 2; axis++)
        fit = array->shape[axis] == view.shape[axis] && array->strides[axis] == view.strides[axis];
    PyBuffer_Release(&view);
    return fit;
}

int find_array_fields(PyObject *module) {
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *type = numpy ? PyObject_GetAttrString(numpy, "ndarray") : NULL;
    PyObject *array = numpy ? PyObject_CallMethod(numpy, "ones", "((ii))", 3, 5) : NULL;
    float64 = numpy ? PyObject_CallMethod(numpy, "dtype", "s", "float64") : NULL;
    float32 = numpy ? PyObject_CallMethod(numpy, "dtype", "s", "float32") : NULL;
    const int found = type && array && float64 && float32;
    if (found && fields_fit(array)) array_type = (PyTypeObject *)type; /* kept, as are both types of numbers */
    else Py_XDECREF(type);
    Py_XDECREF(array);
    Py_XDECREF(numpy);
    return found ? 0 : -1;
}

enum { MOST_DIMENSIONS = 1 << 20 };

static int room(Path *path, int64_t values) {
    return values <= FEW || (path->points = malloc(sizeof(double) * (size_t)values)) != NULL;
}

/* Points out of an array of floats. */
static int from_array(PyObject *object, Path *path) {
    Floats floats;
    int taken = look_at_floats(object, &floats) && floats.dimensions == 2 && floats.shape[0] > 0 && floats.shape[1] > 0 &&
                floats.shape[1] < MOST_DIMENSIONS;
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

static int take_numbers(const Sequence *list, double *out) {
    for (Py_ssize_t axis = 0; axis < list->count; axis++)
        if (!take_number(item_of(list, axis), out + axis)) return 0;
    return 1;
}

/* Points out of a list of lists (or tuples) of numbers. */
static int from_lists(const Sequence *list, Path *path) {
    if (list->count < 1) return 0;
    const Py_ssize_t dimension = sequence_of(item_of(list, 0)).count;
    if (dimension < 1 || dimension >= MOST_DIMENSIONS) return 0;
    path->count = list->count;
    path->dimension = (int)dimension;
    if (!room(path, list->count * dimension)) return 0;
    for (Py_ssize_t i = 0; i < list->count; i++) {
        const Sequence point = sequence_of(item_of(list, i));
        if (point.count != dimension || !take_numbers(&point, path->points + i * dimension)) return 0;
    }
    return 1;
}

int take_points(PyObject *object, Path *path) {
    const Sequence list = sequence_of(object);
    return (list.count >= 0 ? from_lists(&list, path) : from_array(object, path)) &&
           all_within(path->points, path->count * path->dimension, LARGEST);
}

int take_point(PyObject *object, int dimension, double *point) {
    const Sequence list = sequence_of(object);
    int taken = list.count == dimension && take_numbers(&list, point);
    if (list.count < 0) {
        Floats floats;
        taken = look_at_floats(object, &floats) && floats.dimensions == 1 && floats.shape[0] == dimension;
        for (int axis = 0; taken && axis < dimension; axis++)
            point[axis] = float_at(&floats, floats.data + axis * floats.strides[0]);
        leave_floats(&floats);
    }
    return taken && all_within(point, dimension, LARGEST);
}

int64_t take_code(PyObject *node, PyObject *index, int64_t size) {
    PyObject *number = index && node ? PyDict_GetItemWithError(index, node) : node;
    const long code = number ? PyLong_AsLong(number) : -1;
    if (code < 0) PyErr_Clear(); /* a label that cannot be hashed is as unknown as any */
    return code >= 0 && code < size ? code : -1;
}

int take_labels(PyObject *object, PyObject *index, int64_t size, Path *path) {
    const Sequence list = sequence_of(object);
    if (list.count < 1) return 0;
    path->count = list.count;
    if (list.count > FEW && !(path->codes = malloc(sizeof(int32_t) * (size_t)list.count))) return 0;
    for (Py_ssize_t i = 0; i < list.count; i++) {
        const int64_t code = take_code(item_of(&list, i), index, size);
        if (code < 0) return 0;
        path->codes[i] = (int32_t)code;
    }
    return 1;
}

int take_given(PyObject *const *args, Given *given) {
    Path *r = &given->r, *q = &given->q;
    open_path(r);
    open_path(q);
    given->table.held = 0;
    if (args[2] == Py_None) {
        if (!take_points(args[0], r) || !take_points(args[1], q) || r->dimension != q->dimension) return 0;
        given->pair = (Pair){.dimension = r->dimension, .r_points = r->points, .q_points = q->points};
    } else {
        if (!PyDict_Check(args[2]) || !take_array(args[3], &given->table, "d2")) {
            PyErr_Clear();
            return 0;
        }
        const int64_t size = LENGTH(given->table, 0);
        if (LENGTH(given->table, 1) != size || !take_labels(args[0], args[2], size, r) ||
            !take_labels(args[1], args[2], size, q))
            return 0;
        given->pair = (Pair){.r_codes = r->codes, .q_codes = q->codes, .table = DOUBLES(given->table), .columns = size};
    }
    given->pair.n = r->count;
    given->pair.m = q->count;
    return 1;
}

void drop_path(Path *path) {
    if (path->points != path->few) free(path->points);
    if (path->codes != path->few_codes) free(path->codes);
}

void drop_given(Given *given) {
    drop_path(&given->r);
    drop_path(&given->q);
    drop_arrays(&given->table, 1);
}

/* Are both the same text? Agents that turn in place repeat their node, which then need not be looked up again. */
static int is_same(PyObject *label, PyObject *before) {
    return label == before ||
           (PyUnicode_CheckExact(label) && PyUnicode_CheckExact(before) && PyUnicode_Compare(label, before) == 0);
}

/* encode(index, paths, codes) -> position of the first unknown label, or -1
 * `index` maps labels to codes, or is a list of such mappings, one a path; `paths` is a list of sequences whose lengths
 * add up to len(codes). */
KERNEL(encode, "o o i1w") {
    PyObject *indexes = PyList_Check(args[0]) ? args[0] : NULL, *index = args[0];
    if (!PyList_Check(args[1]) || (indexes && PyList_Size(indexes) != PyList_Size(args[1])))
        return refuse("encode takes a list of sequences, and one dict or one for each of them");
    int32_t *codes = INTS32(arrays[0]);
    int64_t position = 0, total = LENGTH(arrays[0], 0);
    for (Py_ssize_t p = 0; p < PyList_Size(args[1]); p++) {
        PyObject *path = PyList_GetItem(args[1], p);
        if (indexes) index = PyList_GetItem(indexes, p);
        if (!path || !index || !PyDict_Check(index))
            return PyErr_Occurred() ? NULL : refuse("encode needs dicts to look labels up in");
        const Sequence list = sequence_of(path);
        const Py_ssize_t length = list.count < 0 ? PySequence_Size(path) : list.count;
        if (length < 0) return NULL;
        if (position + length > total) return refuse("encode: the paths are longer than their codes");
        PyObject *before = NULL; /* of a list or a tuple, which keeps it */
        for (Py_ssize_t s = 0; s < length; s++) {
            PyObject *label = list.count < 0 ? NULL : item_of(&list, s);
            if (label && before && is_same(label, before)) {
                codes[position] = codes[position - 1];
                position++;
                continue;
            }
            before = label;
            PyObject *own = label ? NULL : PySequence_GetItem(path, s);
            if (!label && !(label = own)) return NULL;
            PyObject *code = PyDict_GetItemWithError(index, label);
            Py_XDECREF(own);
            if (!code) return PyErr_Occurred() ? NULL : PyLong_FromLongLong(position);
            codes[position++] = (int32_t)PyLong_AsLong(code);
        }
    }
    return PyErr_Occurred() ? NULL : PyLong_FromLong(-1);
}
