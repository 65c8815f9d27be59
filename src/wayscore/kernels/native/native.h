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

/* Fill `array` from `object`, or set a Python error and return 0. `kind` is 'd' (float64), 'f' (float32),
 * 'i' (int32), 'l' (int64) or 'B' (uint8 or bool). None is allowed where `optional`: the array then has no memory. */
int take_array(PyObject *object, Array *array, char kind, int dimensions, int writable, int optional);
void drop_arrays(Array *arrays, int count);
int take_count(PyObject *object, int64_t *value);
int take_double(PyObject *object, double *value);
int need_arguments(const char *name, Py_ssize_t given, Py_ssize_t needed);
/* Take the arguments of a kernel. `form` has a word for each: "d2" is an array, by kind and number of dimensions, which
 * is changed ("d2w") or may be None ("d2?"); "n" a whole number, "x" a float, "o" what the kernel looks at by itself.
 * Arrays are put into `arrays`, numbers where the pointers behind it say. Where something does not fit, a Python error
 * is set, all arrays are dropped and 0 is returned. */
int take_arguments(const char *name, PyObject *const *args, Py_ssize_t nargs, const char *form, Array *arrays, ...);
/* A list of square tables: an array for each, or NULL and a Python error. The caller drops and frees them. */
Array *take_tables(PyObject *list, Py_ssize_t *count);

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

#define KERNEL(name) PyObject *name(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
#define KERNELS(DO)                                                                                                   \
    DO(march) DO(warp_points) DO(warp_table) DO(trace_points) DO(trace_table) DO(euclidean_block) DO(all_within)      \
    DO(running) DO(advance_block) DO(advance_points) DO(advance_table) DO(look_up) DO(walk) DO(all_pairs)             \
    DO(dijkstra) DO(encode) DO(fast_points) DO(fast_table) DO(measure_table) DO(measure_points) DO(measure_block)     \
    DO(resample) DO(pair_value) DO(pair_ndtw) DO(pair_warping) DO(pair_measures) DO(navmesh_search)
#define DECLARE(name) KERNEL(kernel_##name);
KERNELS(DECLARE)

/* What the module does when it is loaded: finds out how arrays are laid out; adds the type of what `running` returns. */
int find_array_fields(PyObject *module);
int add_running(PyObject *module);

#endif
