/* Looks at the numbers of an array of floats. A short pair takes less time than NumPy needs to describe two arrays by the
 * buffer protocol, so the fields of a NumPy array are read where they stand. Their order is part of NumPy's binary
 * interface, which every extension built with its headers relies on; it is tried out when the module is loaded, and
 * where it differs everything goes through the buffer protocol. */
#include "native.h"

typedef struct {
    PyObject_HEAD
    char *data;
    int dimensions;
    Py_ssize_t *shape, *strides;
    PyObject *base, *type;
} NumpyArray;

static PyTypeObject *array_type; /* NULL: the fields stand elsewhere */
static PyObject *float64, *float32;

int look_at_floats(PyObject *object, Floats *floats) {
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

void leave_floats(Floats *floats) {
    if (floats->held) PyBuffer_Release(&floats->view);
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
    (void)module;
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
