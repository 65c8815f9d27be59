/* The extension module: its method table and the handling of array arguments. */
#include "lane_table.h"
#include "native.h"

const LaneKernels *lane_kernels = &lanes_base;

static int same_kind(const Py_buffer *view, char kind) {
    const char *format = view->format ? view->format : "B";
    if (*format == '@' || *format == '=' || *format == '<') format++;
    switch (kind) {
    case 'd': return *format == 'd';
    case 'f': return *format == 'f';
    case 'i': return view->itemsize == 4 && (*format == 'i' || *format == 'l');
    case 'l': return view->itemsize == 8 && (*format == 'l' || *format == 'q');
    default: return view->itemsize == 1 && (*format == 'B' || *format == '?');
    }
}

int take_array(PyObject *object, Array *array, const char *form) {
    const int dimensions = form[1] - '0', writable = form[2] == 'w';
    array->held = 0;
    array->view.buf = NULL;
    if (object == Py_None && form[2 + writable] == '?') return 1;
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object, &array->view, flags) < 0) return 0;
    array->held = 1;
    if (same_kind(&array->view, *form) && array->view.ndim == dimensions) return 1;
    PyErr_Format(PyExc_TypeError, "expected a %d-dimensional array of kind '%c', got %d dimensions of '%s'",
                 dimensions, *form, array->view.ndim, array->view.format ? array->view.format : "B");
    return 0;
}

void drop_arrays(Array *arrays, int count) {
    for (int i = 0; i < count; i++)
        if (arrays[i].held) PyBuffer_Release(&arrays[i].view);
}

int check_codes(const Array *codes, const Array *table, int axis) {
    const int64_t count = LENGTH(*codes, 0);
    uint32_t most = 0; /* a negative code is a huge unsigned one */
    for (int64_t i = 0; i < count; i++) {
        uint32_t code = (uint32_t)INTS32(*codes)[i];
        most = code > most ? code : most;
    }
    if (count == 0 || (int64_t)most < LENGTH(*table, axis)) return 1;
    PyErr_SetString(PyExc_ValueError, "codes do not fit the table");
    return 0;
}

int need_arguments(const char *name, Py_ssize_t given, Py_ssize_t needed) {
    if (given == needed) return 1;
    PyErr_Format(PyExc_TypeError, "%s takes %zd arguments, got %zd", name, needed, given);
    return 0;
}

PyObject *call_kernel(const char *name, const char *form, Body *body, PyObject *const *args, Py_ssize_t nargs) {
    Array arrays[MOST_ARRAYS];
    Number numbers[MOST_NUMBERS];
    Py_ssize_t needed = 1, at = 0;
    int taken = 1, held = 0, counted = 0;
    for (const char *c = form; *c; c++) needed += *c == ' ';
    if (!need_arguments(name, nargs, needed)) return NULL;
    for (const char *word = form; taken && word; word = strchr(word, ' '), at++) {
        word += *word == ' ';
        if (*word == 'n') numbers[counted++].n = (int64_t)PyLong_AsLongLong(args[at]);
        else if (*word == 'x') numbers[counted++].x = PyFloat_AsDouble(args[at]);
        else if (*word == 'p') taken = take_array(args[at], &arrays[held++], arrays[0].held ? "i1" : "d2");
        else if (*word != 'o') taken = take_array(args[at], &arrays[held++], word);
        if (*word == 'n' || *word == 'x') taken = !PyErr_Occurred();
    }
    PyObject *result = taken ? body(args, arrays, numbers) : NULL;
    drop_arrays(arrays, held);
    return result;
}

Array *take_tables(PyObject *list, Py_ssize_t *count) {
    *count = PyList_Check(list) ? PyList_Size(list) : 0;
    Array *tables = calloc((size_t)*count + 1, sizeof(Array));
    int taken = tables != NULL;
    if (!taken) PyErr_NoMemory();
    for (Py_ssize_t t = 0; taken && t < *count; t++) {
        taken = take_array(PyList_GetItem(list, t), &tables[t], "d2");
        if (taken && LENGTH(tables[t], 0) != LENGTH(tables[t], 1)) {
            refuse("a table needs as many rows as columns");
            taken = 0;
        }
    }
    if (taken) return tables;
    drop_tables(tables, *count);
    return NULL;
}

void drop_tables(Array *tables, Py_ssize_t count) {
    if (tables) drop_arrays(tables, (int)count);
    free(tables);
}

#define ENTRY(name) {#name, (PyCFunction)(void (*)(void))kernel_##name, METH_FASTCALL, NULL},
static PyMethodDef methods[] = {KERNELS(ENTRY){NULL, NULL, 0, NULL}};

/* WAYSCORE_LANES=base or avx2 keeps to less than the processor offers (tests compare them). AVX-512 is used from the
 * generation on that runs it at full clock (the one that brought IFMA). */
static int choose_lanes(PyObject *module) {
    const char *wish = getenv("WAYSCORE_LANES"), *name = "base";
#ifdef HAS_AVX
    int level = !wish ? 2 : strcmp(wish, "base") == 0 ? 0 : strcmp(wish, "avx2") == 0 ? 1 : 2;
    __builtin_cpu_init();
    if (level >= 1 && __builtin_cpu_supports("avx2")) {
        lane_kernels = &lanes_avx2;
        name = "avx2";
    }
    if (level >= 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512ifma") && roots_are_exact()) {
        lane_kernels = &lanes_avx512;
        name = "avx512";
    }
#else
    (void)wish;
#endif
    if (PyModule_AddIntMacro(module, COMPARE_WARPING) < 0 || PyModule_AddIntMacro(module, COMPARE_NEAREST) < 0) return -1;
    return PyModule_AddStringConstant(module, "lanes", name);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)choose_lanes},
    {Py_mod_exec, (void *)find_array_fields},
    {Py_mod_exec, (void *)add_running},
#ifdef Py_GIL_DISABLED /* items of lists are borrowed, and a running state has no lock: both rely on the lock */
    {Py_mod_gil, Py_MOD_GIL_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "wayscore.kernels._native", "The native kernels.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&definition); }
