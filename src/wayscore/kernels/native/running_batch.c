/* DTW of many growing queries: one call takes a step in every environment, or in those that are active.
 * plain/running.py says what the arguments are. */
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
    double *row = batch->rows + e * (batch->width + 1), west = INFINITY;
    WARP_ROW(row, reach(batch, e), west, costs[j]);
    batch->values[e] = row[batch->lengths[e]];
}

/* advance_points(references, lengths, rows, active, values, points): the references are points, coordinate by
 * coordinate, (environments, dimension, width). */
KERNEL(advance_points, "d3 l1 d2w B1? d1w d2") {
    const Array *references = arrays, *points = arrays + 5;
    Batch batch;
    if (!take_batch(arrays + 1, &batch)) return NULL;
    const int64_t dimension = LENGTH(*references, 1), width = batch.width;
    if (LENGTH(*references, 0) != batch.count || LENGTH(*references, 2) != width || LENGTH(*points, 0) != batch.count ||
        LENGTH(*points, 1) != dimension)
        return refuse("advance_points: shapes do not fit");
    EACH_ACTIVE(batch) {
        if (!all_within(DOUBLES(*points) + e * dimension, dimension, LARGEST)) return PyLong_FromLongLong(e);
    }
    double *costs = malloc(sizeof(double) * (size_t)(width + 1));
    if (!costs) return PyErr_NoMemory();
    EACH_ACTIVE(batch) {
        lane_kernels->distances_to((int)dimension, DOUBLES(*points) + e * dimension,
                                   DOUBLES(*references) + e * dimension * width, width, reach(&batch, e), costs);
        advance(&batch, e, costs);
    }
    free(costs);
    return PyLong_FromLong(-1);
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
KERNEL(advance_table, "i2 l1 d2w B1? d1w l1 l1 o") {
    Batch batch;
    Py_ssize_t count;
    if (!take_batch(arrays + 1, &batch)) return NULL;
    Array *tables = take_tables(args[7], &count);
    if (!tables) return NULL;
    const int64_t *codes = INTS64(arrays[5]), *scenes = INTS64(arrays[6]);
    int fits = LENGTH(arrays[0], 0) == batch.count && LENGTH(arrays[0], 1) == batch.width &&
               LENGTH(arrays[5], 0) == batch.count && LENGTH(arrays[6], 0) == batch.count;
    for (int64_t e = 0; fits && e < batch.count; e++) fits = (uint64_t)scenes[e] < (uint64_t)count;
    const int64_t wrong = fits ? find_wrong(&batch, tables, scenes, codes) : -1;
    if (fits && wrong < 0) fits = advance_codes(&batch, tables, scenes, INTS32(arrays[0]), codes);
    drop_tables(tables, count);
    return fits ? PyLong_FromLongLong(wrong) : refuse("advance_table: shapes do not fit");
}

/* look_up(labels, active, codes, scenes, indexes): the code of each environment's label, by indexes[scenes[e]]. Returns
 * the number of the first environment whose label is unknown, or -1. */
KERNEL(look_up, "o B1? l1w l1 o") {
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
    return fits ? PyLong_FromLongLong(wrong) : refuse("look_up: shapes do not fit");
}
