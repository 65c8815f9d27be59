/* DTW of many growing queries: one call takes a step in every environment, or in those that are active.
 *
 * rows[e] is the last column of C over the reference of environment e, beginning with its border, and values[e] receives
 * DTW so far. References stand in arrays that have room for the longest; what stands behind a shorter one is of no
 * matter, and neither are the rows there. A node that does not fit is told by the number of its environment, and no step
 * is taken in any; else -1 is returned. */
#include "lane_table.h"
#include "native.h"
#include "warp.h"

static const double LARGEST = 1e150; /* as in paths.py: squares of larger ones overflow */

typedef struct {
    Array arrays[4];
    int64_t count, width; /* of environments; of the longest reference that there is room for */
    const int64_t *lengths;
    const uint8_t *active; /* NULL: all are */
    double *rows, *values;
} Batch;

/* Take lengths, rows, active (or None) and values. */
static int take_batch(PyObject *const *args, Batch *batch) {
    Array *arrays = batch->arrays;
    if (!take_array(args[0], &arrays[0], 'l', 1, 0, 0) || !take_array(args[1], &arrays[1], 'd', 2, 1, 0) ||
        !take_array(args[2], &arrays[2], 'B', 1, 0, 1) || !take_array(args[3], &arrays[3], 'd', 1, 1, 0))
        return 0;
    batch->count = LENGTH(arrays[1], 0);
    batch->width = LENGTH(arrays[1], 1) - 1;
    batch->lengths = INTS64(arrays[0]);
    batch->rows = DOUBLES(arrays[1]);
    batch->active = arrays[2].held ? BYTES(arrays[2]) : NULL;
    batch->values = DOUBLES(arrays[3]);
    int fits = LENGTH(arrays[0], 0) == batch->count && LENGTH(arrays[3], 0) == batch->count &&
               (!batch->active || LENGTH(arrays[2], 0) == batch->count);
    for (int64_t e = 0; fits && e < batch->count; e++)
        fits = batch->lengths[e] >= 1 && batch->lengths[e] <= batch->width;
    if (!fits) PyErr_SetString(PyExc_ValueError, "lengths, rows, active and values do not fit together");
    return fits;
}

/* How far the row of an environment is computed: beyond its reference, so that the processor foresees where it ends. */
static inline int64_t reach(const Batch *batch, int64_t e) {
    const int64_t rounded = (batch->lengths[e] + 7) & ~(int64_t)7;
    return rounded < batch->width ? rounded : batch->width;
}

static int shapes_differ(const char *name) {
    PyErr_Format(PyExc_ValueError, "%s: shapes do not fit", name);
    return 0;
}

#define EACH_ACTIVE(batch)                          \
    for (int64_t e = 0; e < (batch).count; e++)     \
        if (!(batch).active || (batch).active[e])

static void advance(const Batch *batch, int64_t e, const double *costs) {
    double *row = batch->rows + e * (batch->width + 1);
    warp_row(costs, reach(batch, e), row, INFINITY);
    batch->values[e] = row[batch->lengths[e]];
}

/* advance_block(costs, lengths, rows, active, values): distances are given, (environments, width). */
KERNEL(kernel_advance_block) {
    (void)self;
    Batch batch = {.count = 0};
    Array costs = {.held = 0};
    PyObject *result = NULL;
    if (need_arguments("advance_block", nargs, 5) && take_array(args[0], &costs, 'd', 2, 0, 0) &&
        take_batch(args + 1, &batch) &&
        ((LENGTH(costs, 0) == batch.count && LENGTH(costs, 1) == batch.width) || shapes_differ("advance_block"))) {
        EACH_ACTIVE(batch) advance(&batch, e, DOUBLES(costs) + e * batch.width);
        result = PyLong_FromLong(-1);
    }
    drop_arrays(&costs, 1);
    drop_arrays(batch.arrays, 4);
    return result;
}

/* advance_points(references, lengths, rows, active, values, points): the references are points, coordinate by
 * coordinate, (environments, dimension, width). */
KERNEL(kernel_advance_points) {
    (void)self;
    Batch batch = {.count = 0};
    Array references = {.held = 0}, points = {.held = 0};
    PyObject *result = NULL;
    double *costs = NULL;
    if (!need_arguments("advance_points", nargs, 6) || !take_array(args[0], &references, 'd', 3, 0, 0) ||
        !take_batch(args + 1, &batch) || !take_array(args[5], &points, 'd', 2, 0, 0))
        goto end;
    const int64_t dimension = LENGTH(references, 1), width = batch.width;
    if (LENGTH(references, 0) != batch.count || LENGTH(references, 2) != width || LENGTH(points, 0) != batch.count ||
        LENGTH(points, 1) != dimension) {
        shapes_differ("advance_points");
        goto end;
    }
    costs = malloc(sizeof(double) * (size_t)(width + 1));
    if (!costs) {
        PyErr_NoMemory();
        goto end;
    }
    int64_t wrong = -1;
    EACH_ACTIVE(batch) {
        int usable = 1;
        for (int64_t at = e * dimension; at < (e + 1) * dimension; at++) usable &= fabs(DOUBLES(points)[at]) <= LARGEST;
        if (!usable && wrong < 0) wrong = e;
    }
    if (wrong < 0) EACH_ACTIVE(batch) {
        lane_kernels->distances_to((int)dimension, DOUBLES(points) + e * dimension,
                                   DOUBLES(references) + e * dimension * width, width, reach(&batch, e), costs);
        advance(&batch, e, costs);
    }
    result = PyLong_FromLongLong(wrong);
end:
    free(costs);
    drop_arrays(&references, 1);
    drop_arrays(&points, 1);
    drop_arrays(batch.arrays, 4);
    return result;
}

typedef struct {
    const double *distances;
    int64_t size;
} Table;

static int take_tables(PyObject *list, Array *arrays, Table *tables, Py_ssize_t count) {
    if (!arrays || !tables) {
        PyErr_NoMemory();
        return 0;
    }
    for (Py_ssize_t t = 0; t < count; t++) {
        if (!take_array(PyList_GetItem(list, t), &arrays[t], 'd', 2, 0, 0)) return 0;
        tables[t] = (Table){DOUBLES(arrays[t]), LENGTH(arrays[t], 0)};
        if (LENGTH(arrays[t], 1) != tables[t].size) return shapes_differ("advance_table");
    }
    return 1;
}

/* The number of the first environment whose code is not in its table, or -1. */
static int64_t find_wrong(const Batch *batch, const Table *tables, const int64_t *scenes, const int64_t *codes) {
    EACH_ACTIVE(*batch) {
        if ((uint64_t)codes[e] >= (uint64_t)tables[scenes[e]].size) return e;
    }
    return -1;
}

/* Returns 0 where a reference is not in its table. */
static int advance_codes(const Batch *batch, const Table *tables, const int64_t *scenes, const int32_t *references,
                         const int64_t *codes) {
    EACH_ACTIVE(*batch) {
        const uint64_t size = (uint64_t)tables[scenes[e]].size;
        const int64_t cells = reach(batch, e);
        const double *to = tables[scenes[e]].distances + codes[e];
        const int32_t *reference = references + e * batch->width;
        double *row = batch->rows + e * (batch->width + 1), corner = row[0], west = INFINITY;
        row[0] = INFINITY;
        for (int64_t j = 0; j < cells; j++) {
            const uint64_t code = (uint32_t)reference[j]; /* a negative code is a huge unsigned one */
            if (code >= size) return 0;
            double north = row[j + 1];
            west = to[code * size] + least(least(north, corner), west);
            corner = north;
            row[j + 1] = west;
        }
        batch->values[e] = row[batch->lengths[e]];
    }
    return 1;
}

/* advance_table(references, lengths, rows, active, values, codes, scenes, tables): the references are codes, as are the
 * next nodes; the distances of environment e stand in tables[scenes[e]]. */
KERNEL(kernel_advance_table) {
    (void)self;
    Batch batch = {.count = 0};
    Array arrays[3] = {{.held = 0}}, *held = NULL;
    Table *tables = NULL;
    PyObject *result = NULL;
    Py_ssize_t count = 0;
    if (!need_arguments("advance_table", nargs, 8) || !take_array(args[0], &arrays[0], 'i', 2, 0, 0) ||
        !take_batch(args + 1, &batch) || !take_array(args[5], &arrays[1], 'l', 1, 0, 0) ||
        !take_array(args[6], &arrays[2], 'l', 1, 0, 0))
        goto end;
    if (LENGTH(arrays[0], 0) != batch.count || LENGTH(arrays[0], 1) != batch.width ||
        LENGTH(arrays[1], 0) != batch.count || LENGTH(arrays[2], 0) != batch.count || !PyList_Check(args[7])) {
        shapes_differ("advance_table");
        goto end;
    }
    count = PyList_Size(args[7]);
    held = calloc((size_t)count + 1, sizeof(Array));
    tables = calloc((size_t)count + 1, sizeof(Table));
    if (!take_tables(args[7], held, tables, count)) goto end;
    const int32_t *references = INTS32(arrays[0]);
    const int64_t *codes = INTS64(arrays[1]), *scenes = INTS64(arrays[2]);
    int fits = 1;
    for (int64_t e = 0; e < batch.count; e++) fits &= (uint64_t)scenes[e] < (uint64_t)count;
    const int64_t wrong = fits ? find_wrong(&batch, tables, scenes, codes) : -1;
    if (fits && wrong < 0) fits = advance_codes(&batch, tables, scenes, references, codes);
    if (fits || shapes_differ("advance_table")) result = PyLong_FromLongLong(wrong);
end:
    if (held) drop_arrays(held, (int)count);
    free(held);
    free(tables);
    drop_arrays(arrays, 3);
    drop_arrays(batch.arrays, 4);
    return result;
}

/* look_up(labels, active, codes, scenes, indexes): the code of each environment's label, by indexes[scenes[e]]. Returns
 * the number of the first environment whose label is unknown, or -1. */
KERNEL(kernel_look_up) {
    (void)self;
    Array arrays[3] = {{.held = 0}};
    PyObject *result = NULL;
    if (!need_arguments("look_up", nargs, 5) || !take_array(args[1], &arrays[0], 'B', 1, 0, 1) ||
        !take_array(args[2], &arrays[1], 'l', 1, 1, 0) || !take_array(args[3], &arrays[2], 'l', 1, 0, 0))
        goto end;
    const int64_t count = LENGTH(arrays[1], 0), *scenes = INTS64(arrays[2]);
    const uint8_t *active = arrays[0].held ? BYTES(arrays[0]) : NULL;
    if (!PyList_Check(args[0]) || !PyList_Check(args[4]) || LENGTH(arrays[2], 0) != count ||
        (active && LENGTH(arrays[0], 0) != count)) {
        shapes_differ("look_up");
        goto end;
    }
    int fits = PyList_Size(args[0]) == count;
    for (Py_ssize_t scene = 0; scene < PyList_Size(args[4]); scene++)
        fits &= PyDict_Check(PyList_GetItem(args[4], scene));
    int64_t wrong = -1;
    for (int64_t e = 0; fits && e < count && wrong < 0; e++) {
        if (active && !active[e]) continue;
        PyObject *index = PyList_GetItem(args[4], scenes[e]);
        if (!(fits = index != NULL)) break;
        PyObject *code = PyDict_GetItemWithError(index, PyList_GetItem(args[0], e));
        const long number = code ? PyLong_AsLong(code) : -1;
        INTS64(arrays[1])[e] = number;
        if (number == -1) wrong = e;
    }
    PyErr_Clear(); /* a label that cannot be hashed is as unknown as any */
    if (!fits) {
        shapes_differ("look_up");
        goto end;
    }
    result = PyLong_FromLongLong(wrong);
end:
    drop_arrays(arrays, 3);
    return result;
}
