/* What the native kernels share: array arguments, the method table's entries, and the routines one file
 * lends another. Plain C11 against Python's limited API. Every kernel has a NumPy twin of the same name in
 * ../plain (navmesh_search: in tests/oracles), which is its specification; the two return the same bits (exponentials:
 * 1e-15). */
#ifndef WAYSCORE_NATIVE_H
#define WAYSCORE_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* One array argument: C-contiguous memory of a known element type and number of dimensions. */
typedef struct {
    Py_buffer view;
    int held;
} Array;

#define DOUBLES(array) ((double *)(array).view.buf)
#define FLOATS(array) ((float *)(array).view.buf)
#define INTS32(array) ((int32_t *)(array).view.buf)
#define INTS64(array) ((int64_t *)(array).view.buf)
#define BYTES(array) ((uint8_t *)(array).view.buf)
#define LENGTH(array, axis) ((int64_t)(array).view.shape[axis])

/* Fill `array` from `object`, or set a Python error and return 0. `form` is its kind and number of dimensions: "d2" is a
 * matrix of float64; the others are 'f' (float32), 'i' (int32), 'l' (int64) and 'B' (uint8 or bool). It may be written to
 * where 'w' follows ("d2w"), and be None where '?' does ("d2w?"): the array then has no memory. */
int take_array(PyObject *object, Array *array, const char *form);
void drop_arrays(Array *arrays, int count);
int need_arguments(const char *name, Py_ssize_t given, Py_ssize_t needed);
/* A list of square tables: an array for each, or NULL and a Python error. The caller drops them. */
Array *take_tables(PyObject *list, Py_ssize_t *count);
void drop_tables(Array *tables, Py_ssize_t count);

static inline PyObject *none(void) { return Py_NewRef(Py_None); }
static inline PyObject *refuse(const char *why) {
    PyErr_SetString(PyExc_ValueError, why);
    return NULL;
}

#define LARGEST 1e150 /* as in plain/pair.py: squares of larger coordinates overflow */
static inline int all_within(const double *values, int64_t count, double largest) {
    int64_t within = 0; /* as wide as a double: then several are compared at once */
    for (int64_t i = 0; i < count; i++) within += fabs(values[i]) <= largest;
    return within == count;
}

/* Are all of these codes rows (axis 0) or columns (1) of this table? Sets a Python error where not. */
int check_codes(const Array *codes, const Array *table, int axis);

/* A kernel of the method table. `form` has a word for each argument: an array as take_array knows it; "p", a path, which is
 * codes ("i1") where the first array is a table and points ("d2") where that is None; "n" a whole number; "x" a float; "o"
 * what the kernel looks at by itself. Arrays and numbers are there when its body runs, and dropped afterwards. */
enum { MOST_ARRAYS = 14, MOST_NUMBERS = 4 };
typedef union {
    int64_t n;
    double x;
} Number;
typedef PyObject *Body(PyObject *const *args, Array *arrays, const Number *numbers);
PyObject *call_kernel(const char *name, const char *form, Body *body, PyObject *const *args, Py_ssize_t nargs);

#define METHOD(name) PyObject *kernel_##name(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
#define KERNEL(name, form)                                                                                  \
    static Body body_of_##name;                                                                             \
    METHOD(name) { return call_kernel(#name, form, body_of_##name, args, nargs); }                          \
    static PyObject *body_of_##name(PyObject *const *args, Array *arrays, const Number *numbers)
#define KERNELS(DO)                                                                                             \
    DO(march) DO(warp) DO(trace) DO(euclidean_block) DO(all_within) DO(running) DO(advance_points)              \
    DO(advance_table) DO(look_up) DO(walk) DO(all_pairs) DO(dijkstra) DO(encode) DO(fast) DO(measure)           \
    DO(measure_block) DO(resample) DO(pair_value) DO(pair_ndtw) DO(pair_warping) DO(pair_measures)              \
    DO(navmesh_search)
#define DECLARE(name) METHOD(name);
KERNELS(DECLARE)

/* What the module does when it is loaded: finds out how arrays are laid out; adds the type of what `running` returns. */
int find_array_fields(PyObject *module);
int add_running(PyObject *module);

#endif
