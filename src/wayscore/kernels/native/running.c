/* DTW of a query that grows: the state is an object, so that a step takes no buffer but that of its own node. */
#include "given.h"

#include <structmember.h>

typedef struct {
    PyObject_HEAD
    int64_t count, steps; /* how many nodes the reference has, and the query so far */
    int dimension;        /* of points; 0 for anything else */
    double dtw;
    double *row;           /* count + 1 values: the last column of C over the reference, beginning with its border */
    double *points, *here; /* the reference, and room for the query's next point */
    int32_t *codes;        /* the reference, where distances stand in a table */
    Array table;
    PyObject *index; /* label -> code; NULL where nodes are given as codes */
} Running;

static PyObject *taken(Running *running, double dtw) {
    running->steps++;
    running->dtw = dtw;
    return PyFloat_FromDouble(dtw);
}

/* step(node) -> DTW so far; None, and no step, where the node is unusual: the general way must look. */
static PyObject *running_step(PyObject *self, PyObject *node) {
    Running *running = (Running *)self;
    double *row = running->row, *here = running->here, west = INFINITY;
    const int dimension = running->dimension;
    if (running->codes) {
        const int64_t size = LENGTH(running->table, 1), code = take_code(node, running->index, size);
        if (code < 0) return none();
        const double *table = DOUBLES(running->table);
        WARP_ROW(row, running->count, west, table[running->codes[j] * size + code]);
    } else if (!dimension || !take_point(node, dimension, here)) {
        return none();
    } else if (dimension == 3) { /* unrolled */
        WARP_ROW(row, running->count, west, point_distance(3, running->points + 3 * j, here));
    } else {
        WARP_ROW(row, running->count, west, point_distance(dimension, running->points + dimension * j, here));
    }
    return taken(running, west);
}

/* advance(costs) -> DTW so far, from the distances of the next node to every node of the reference */
static PyObject *running_advance(PyObject *self, PyObject *costs) {
    Running *running = (Running *)self;
    Array array;
    PyObject *result = NULL;
    double west = INFINITY;
    if (take_array(costs, &array, "d1")) {
        if (LENGTH(array, 0) != running->count) {
            refuse("advance needs one distance for each node of the reference");
        } else {
            WARP_ROW(running->row, running->count, west, DOUBLES(array)[j]);
            result = taken(running, west);
        }
    }
    drop_arrays(&array, 1);
    return result;
}

/* ndtw(threshold) -> nDTW so far; None where the threshold is not a number above 0 */
static PyObject *running_ndtw(PyObject *self, PyObject *threshold) {
    const Running *running = (Running *)self;
    if (!PyFloat_Check(threshold)) return none();
    const double value = PyFloat_AsDouble(threshold);
    if (!(value > 0.0 && value < INFINITY)) return none();
    return PyFloat_FromDouble(exp(-running->dtw / ((double)running->count * value)));
}

static Running *new_running(PyTypeObject *type, int64_t count, int dimension, int codes) {
    Running *running = (Running *)PyType_GenericAlloc(type, 0);
    if (!running) return NULL;
    running->count = count;
    running->dimension = dimension;
    running->dtw = INFINITY;
    running->row = malloc(sizeof(double) * (size_t)(count + 1 + (count + 1) * dimension));
    running->codes = codes ? malloc(sizeof(int32_t) * (size_t)count) : NULL;
    if (!running->row || (codes && !running->codes)) {
        Py_DECREF(running);
        PyErr_NoMemory();
        return NULL;
    }
    running->points = running->row + count + 1;
    running->here = running->points + count * dimension;
    running->row[0] = 0.0;
    for (int64_t j = 1; j <= count; j++) running->row[j] = INFINITY;
    return running;
}

static void free_running(PyObject *self) {
    Running *running = (Running *)self;
    PyTypeObject *type = Py_TYPE(self);
    free(running->row);
    free(running->codes);
    drop_arrays(&running->table, 1);
    Py_XDECREF(running->index);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

/* fork() -> an independent copy */
static PyObject *running_fork(PyObject *self, PyObject *unused) {
    const Running *running = (Running *)self;
    const int64_t count = running->count;
    Running *copy = new_running(Py_TYPE(self), count, running->dimension, running->codes != NULL);
    if (!copy) return NULL;
    copy->steps = running->steps;
    copy->dtw = running->dtw;
    memcpy(copy->row, running->row, sizeof(double) * (size_t)(count + 1 + count * running->dimension));
    Py_XINCREF(running->index);
    copy->index = running->index;
    if (running->codes) {
        memcpy(copy->codes, running->codes, sizeof(int32_t) * (size_t)count);
        if (!take_array(running->table.view.obj, &copy->table, "d2")) Py_CLEAR(copy);
    }
    return (PyObject *)copy;
}

/* The state before the first step, or NULL, without an error where the reference is unusual. Without a table it is points;
 * with one, a list of labels or an array of codes. */
static Running *along(PyTypeObject *type, PyObject *reference, PyObject *index, PyObject *table) {
    Array codes = {.held = 0}, distances = {.held = 0};
    Path path;
    Running *running = NULL;
    open_path(&path);
    int usable = table ? take_array(table, &distances, "d2") && LENGTH(distances, 0) == LENGTH(distances, 1) &&
                             (!index || PyDict_Check(index))
                       : take_points(reference, &path);
    if (usable && table && !(usable = take_labels(reference, index, LENGTH(distances, 0), &path)) &&
        !PyList_Check(reference) && !PyTuple_Check(reference) && take_array(reference, &codes, "i1")) {
        path.count = LENGTH(codes, 0);
        usable = path.count > 0 && check_codes(&codes, &distances, 0);
    }
    PyErr_Clear();
    if (usable) running = new_running(type, path.count, table ? 0 : path.dimension, table != NULL);
    if (running && table) {
        memcpy(running->codes, codes.held ? INTS32(codes) : path.codes, sizeof(int32_t) * (size_t)path.count);
        running->index = index ? Py_NewRef(index) : NULL;
        if (!take_array(table, &running->table, "d2")) Py_CLEAR(running);
    } else if (running) {
        memcpy(running->points, path.points, sizeof(double) * (size_t)(path.count * path.dimension));
    }
    drop_path(&path);
    drop_arrays(&codes, 1);
    drop_arrays(&distances, 1);
    return running;
}

/* running(reference, index, table) -> the state before the first step; None where the reference is unusual.
 * Without a table the reference is points, or the number of its nodes (then only `advance` takes steps). With a table
 * it is labels that the index finds, or codes; without an index so are the nodes of the query. */
METHOD(running) {
    if (!need_arguments("running", nargs, 3)) return NULL;
    PyTypeObject *type = (PyTypeObject *)PyObject_GetAttrString(self, "_Running");
    if (!type) return NULL;
    PyObject *index = args[1] == Py_None ? NULL : args[1], *table = args[2] == Py_None ? NULL : args[2];
    Running *running = NULL;
    if (table || !PyLong_Check(args[0])) running = along(type, args[0], index, table);
    else if (PyLong_AsLong(args[0]) > 0) running = new_running(type, PyLong_AsLong(args[0]), 0, 0);
    Py_DECREF(type);
    return running ? (PyObject *)running : PyErr_Occurred() ? NULL : none();
}

static PyMethodDef running_methods[] = {
    {"step", running_step, METH_O, NULL},
    {"advance", running_advance, METH_O, NULL},
    {"ndtw", running_ndtw, METH_O, NULL},
    {"fork", running_fork, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef running_members[] = {
    {"count", T_LONGLONG, offsetof(Running, count), READONLY, NULL},
    {"dimension", T_INT, offsetof(Running, dimension), READONLY, NULL},
    {"steps", T_LONGLONG, offsetof(Running, steps), READONLY, NULL},
    {"dtw", T_DOUBLE, offsetof(Running, dtw), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

int add_running(PyObject *module) {
    PyType_Slot slots[] = {
        {Py_tp_dealloc, (void *)free_running},
        {Py_tp_methods, running_methods},
        {Py_tp_members, running_members},
        {0, NULL},
    };
    PyType_Spec spec = {
        "wayscore.kernels._native._Running", sizeof(Running), 0,
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots,
    };
    PyObject *type = PyType_FromSpec(&spec);
    const int added = type ? PyModule_AddObjectRef(module, "_Running", type) : -1;
    Py_XDECREF(type);
    return added;
}
