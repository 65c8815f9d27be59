/* DTW of many growing queries: one call takes a step in every environment, or in those that are active.
 *
 * rows[e] is the last column of C over the reference of environment e, beginning with its border, and values[e] receives
 * DTW so far. References stand in arrays that have room for the longest; what stands behind a shorter one is of no
 * matter, and neither are the rows there. A node that does not fit is told by the number of its environment, and no step
 * is taken in any; else -1 is returned. */
#include "given.h"
#include "lane_table.h"

typedef struct {
    int64_t count, width; /* of environments; of the longest reference that there is room for */
    const int64_t *lengths;
    const uint8_t *active; /* NULL: all are */
    double *rows, *values;
} Batch;

/* Of lengths, rows, active (or None) and values. */
static int take_batch(const Array *arrays, Batch *batch) {
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
    if (!fits) refuse("lengths, rows, active and values do not fit together");
    return fits;
}

/* How far the row of an environment is computed: beyond its reference, so that the processor foresees where it ends. */
static inline int64_t reach(const Batch *batch, int64_t e) {
    const int64_t rounded = (batch->lengths[e] + 7) & ~(int64_t)7;
    return rounded < batch->width ? rounded : batch->width;
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
    Array arrays[5], *costs = arrays;
    Batch batch;
    PyObject *result = NULL;
    if (!take_arguments("advance_block", args, nargs, "d2 l1 d2w B1? d1w", arrays)) return NULL;
    if (take_batch(arrays + 1, &batch)) {
        if (LENGTH(*costs, 0) == batch.count && LENGTH(*costs, 1) == batch.width) {
            EACH_ACTIVE(batch) advance(&batch, e, DOUBLES(*costs) + e * batch.width);
            result = PyLong_FromLong(-1);
        } else {
            refuse("advance_block: shapes do not fit");
        }
    }
    drop_arrays(arrays, 5);
    return result;
}

/* advance_points(references, lengths, rows, active, values, points): the references are points, coordinate by
 * coordinate, (environments, dimension, width). */
KERNEL(kernel_advance_points) {
    Array arrays[6], *references = arrays, *points = arrays + 5;
    Batch batch;
    PyObject *result = NULL;
    double *costs = NULL;
    if (!take_arguments("advance_points", args, nargs, "d3 l1 d2w B1? d1w d2", arrays)) return NULL;
    if (!take_batch(arrays + 1, &batch)) goto end;
    const int64_t dimension = LENGTH(*references, 1), width = batch.width;
    if (LENGTH(*references, 0) != batch.count || LENGTH(*references, 2) != width || LENGTH(*points, 0) != batch.count ||
        LENGTH(*points, 1) != dimension) {
        refuse("advance_points: shapes do not fit");
        goto end;
    }
    costs = malloc(sizeof(double) * (size_t)(width + 1));
    if (!costs) {
        PyErr_NoMemory();
        goto end;
    }
    int64_t wrong = -1;
    EACH_ACTIVE(batch) {
        if (wrong < 0 && !all_within(DOUBLES(*points) + e * dimension, dimension, LARGEST)) wrong = e;
    }
    if (wrong < 0) EACH_ACTIVE(batch) {
        lane_kernels->distances_to((int)dimension, DOUBLES(*points) + e * dimension,
                                   DOUBLES(*references) + e * dimension * width, width, reach(&batch, e), costs);
        advance(&batch, e, costs);
    }
    result = PyLong_FromLongLong(wrong);
end:
    free(costs);
    drop_arrays(arrays, 6);
    return result;
}

/* The number of the first environment whose code is not in its table, or -1. */
static int64_t find_wrong(const Batch *batch, const Array *tables, const int64_t *scenes, const int64_t *codes) {
    EACH_ACTIVE(*batch) {
        if ((uint64_t)codes[e] >= (uint64_t)LENGTH(tables[scenes[e]], 0)) return e;
    }
    return -1;
}

/* Returns 0 where a reference is not in its table. */
static int advance_codes(const Batch *batch, const Array *tables, const int64_t *scenes, const int32_t *references,
                         const int64_t *codes) {
    EACH_ACTIVE(*batch) {
        const uint64_t size = (uint64_t)LENGTH(tables[scenes[e]], 0);
        const int64_t cells = reach(batch, e);
        const double *to = DOUBLES(tables[scenes[e]]) + codes[e];
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
    Array arrays[7], *tables = NULL;
    Batch batch;
    PyObject *result = NULL;
    Py_ssize_t count = 0;
    if (!take_arguments("advance_table", args, nargs, "i2 l1 d2w B1? d1w l1 l1 o", arrays)) return NULL;
    if (!take_batch(arrays + 1, &batch) || !(tables = take_tables(args[7], &count))) goto end;
    const int64_t *codes = INTS64(arrays[5]), *scenes = INTS64(arrays[6]);
    int fits = LENGTH(arrays[0], 0) == batch.count && LENGTH(arrays[0], 1) == batch.width &&
               LENGTH(arrays[5], 0) == batch.count && LENGTH(arrays[6], 0) == batch.count;
    for (int64_t e = 0; fits && e < batch.count; e++) fits = (uint64_t)scenes[e] < (uint64_t)count;
    const int64_t wrong = fits ? find_wrong(&batch, tables, scenes, codes) : -1;
    if (fits && wrong < 0) fits = advance_codes(&batch, tables, scenes, INTS32(arrays[0]), codes);
    result = fits ? PyLong_FromLongLong(wrong) : refuse("advance_table: shapes do not fit");
end:
    if (tables) drop_arrays(tables, (int)count);
    free(tables);
    drop_arrays(arrays, 7);
    return result;
}

/* look_up(labels, active, codes, scenes, indexes): the code of each environment's label, by indexes[scenes[e]]. Returns
 * the number of the first environment whose label is unknown, or -1. */
KERNEL(kernel_look_up) {
    Array arrays[3];
    if (!take_arguments("look_up", args, nargs, "o B1? l1w l1 o", arrays)) return NULL;
    const int64_t count = LENGTH(arrays[1], 0), *scenes = INTS64(arrays[2]);
    const uint8_t *active = arrays[0].held ? BYTES(arrays[0]) : NULL;
    int fits = PyList_Check(args[0]) && PyList_Check(args[4]) && LENGTH(arrays[2], 0) == count &&
               (!active || LENGTH(arrays[0], 0) == count) && PyList_Size(args[0]) == count;
    for (Py_ssize_t scene = 0; fits && scene < PyList_Size(args[4]); scene++)
        fits = PyDict_Check(PyList_GetItem(args[4], scene));
    int64_t wrong = -1;
    for (int64_t e = 0; fits && e < count && wrong < 0; e++) {
        if (active && !active[e]) continue;
        PyObject *index = PyList_GetItem(args[4], scenes[e]);
        if (!(fits = index != NULL)) break;
        const int64_t code = take_code(PyList_GetItem(args[0], e), index, INT64_MAX);
        INTS64(arrays[1])[e] = code;
        if (code < 0) wrong = e;
    }
    drop_arrays(arrays, 3);
    return fits ? PyLong_FromLongLong(wrong) : refuse("look_up: shapes do not fit");
}
