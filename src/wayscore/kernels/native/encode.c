/* Labels to codes: one dictionary look-up a place, without a Python-level loop. */
#include "native.h"

/* Are both the same text? Agents that turn in place repeat their node, which then need not be looked up again. */
static int is_same(PyObject *label, PyObject *before) {
    return label == before ||
           (PyUnicode_CheckExact(label) && PyUnicode_CheckExact(before) && PyUnicode_Compare(label, before) == 0);
}

static PyObject *wrong_type(const char *why) {
    PyErr_SetString(PyExc_TypeError, why);
    return NULL;
}

/* encode(index, paths, codes) -> position of the first unknown label, or -1
 * `index` maps labels to codes, or is a list of such mappings, one a path; `paths` is a list of sequences whose lengths
 * add up to len(codes). */
KERNEL(encode, "o o i1w") {
    PyObject *indexes = PyList_Check(args[0]) ? args[0] : NULL, *index = args[0];
    if (!PyList_Check(args[1]) || (indexes && PyList_Size(indexes) != PyList_Size(args[1])))
        return wrong_type("encode takes a list of sequences, and one dict or one for each of them");
    int32_t *codes = INTS32(arrays[0]);
    int64_t position = 0, total = LENGTH(arrays[0], 0);
    for (Py_ssize_t p = 0; p < PyList_Size(args[1]); p++) {
        PyObject *path = PyList_GetItem(args[1], p);
        if (indexes) index = PyList_GetItem(indexes, p);
        if (!path || !index || !PyDict_Check(index))
            return PyErr_Occurred() ? NULL : wrong_type("encode needs dicts to look labels up in");
        const int is_list = PyList_Check(path), is_tuple = PyTuple_Check(path);
        const Py_ssize_t length = PySequence_Size(path);
        if (length < 0) return NULL;
        if (position + length > total) return refuse("encode: the paths are longer than their codes");
        PyObject *before = NULL; /* of a list or a tuple, which keeps it */
        for (Py_ssize_t s = 0; s < length; s++) {
            PyObject *label = is_list ? PyList_GetItem(path, s) : is_tuple ? PyTuple_GetItem(path, s) : NULL;
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
