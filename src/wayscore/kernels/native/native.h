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

/* The numbers of an array, whatever its strides; see floats.c. */
typedef struct {
    const char *data;
    int dimensions, wide; /* wide: float64, else float32 */
    const Py_ssize_t *shape, *strides;
    Py_buffer view;
    int held;
} Floats;

/* Look at an array of floats, which the caller keeps alive. Returns 0, with no Python error, where it is something else.
 * leave_floats is due either way. */
int look_at_floats(PyObject *object, Floats *floats);
void leave_floats(Floats *floats);
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

int take_double(PyObject *object, double *value);
/* Are all of these codes rows (axis 0) or columns (1) of this table? Sets a Python error where not. */
int check_codes(const Array *codes, const Array *table, int axis);
int need_arguments(const char *name, Py_ssize_t given, Py_ssize_t needed);

#define KERNEL(name) PyObject *name(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
KERNEL(kernel_march);
KERNEL(kernel_warp_points);
KERNEL(kernel_warp_table);
KERNEL(kernel_trace_points);
KERNEL(kernel_trace_table);
KERNEL(kernel_euclidean_block);
KERNEL(kernel_all_within);
KERNEL(kernel_running);
KERNEL(kernel_advance_block);
KERNEL(kernel_advance_points);
KERNEL(kernel_advance_table);
KERNEL(kernel_look_up);
KERNEL(kernel_walk);
KERNEL(kernel_all_pairs);
KERNEL(kernel_dijkstra);
KERNEL(kernel_encode);
KERNEL(kernel_fast_points);
KERNEL(kernel_fast_table);
KERNEL(kernel_measure_table);
KERNEL(kernel_measure_points);
KERNEL(kernel_measure_block);
KERNEL(kernel_resample);
KERNEL(kernel_place);
KERNEL(kernel_pair_value);
KERNEL(kernel_pair_ndtw);
KERNEL(kernel_pair_warping);
KERNEL(kernel_pair_measures);
KERNEL(kernel_navmesh_search);

/* What the module does when it is loaded: finds out how arrays are laid out; adds the type of what `running` returns. */
int find_array_fields(PyObject *module);
int add_running(PyObject *module);

#endif
