/* Exact sums of scores by unit, as whole numbers of 2^-72: additions of integers come out the same in any order and
 * any pieces. Twin: plain/tally.py. */
#include "native.h"

#define ONE_AT_MOST 0x1p40
#define TOGETHER 16 /* episodes whose sums stay in the cache while all their metrics are added */

static inline int64_t size_of(double value) { /* ordered as the values are, whatever their sign */
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (int64_t)(bits & INT64_MAX);
}

static int all_in_range(const double *values, int64_t count) {
    const int64_t limit = size_of(ONE_AT_MOST), infinite = size_of(INFINITY);
    int64_t beyond = 0; /* negative once a size is not below the limit, but finite: compilers make vectors of this */
    for (int64_t i = 0; i < count; i++) beyond |= ~(size_of(values[i]) - limit) & (size_of(values[i]) - infinite);
    return beyond >= 0;
}

static int all_below(const int64_t *units, int64_t count, int64_t limit) {
    uint64_t most = 0; /* a negative unit is a huge unsigned one */
    for (int64_t i = 0; i < count; i++) most = (uint64_t)units[i] > most ? (uint64_t)units[i] : most;
    return count == 0 || most < (uint64_t)limit;
}

/* Add floor(value 2^72) = upper 2^62 + lower, every step of which is exact. The top bit of `full` is set once a sum
 * comes to 2^126, long before it could leave 128 bits. */
static inline int64_t add(int64_t *sum, double value, uint64_t *full) {
    if (!(fabs(value) < INFINITY)) return 0;
    int64_t upper = (int64_t)(value * 0x1p10);
    const double rest = (value * 0x1p10 - (double)upper) * 0x1p62;
    int64_t lower = (int64_t)rest;
    if (rest < 0) { /* seldom: scores are positive */
        lower += (INT64_C(1) << 62) - ((double)lower > rest);
        upper -= 1;
    }
    const uint64_t more = ((uint64_t)upper << 62) + (uint64_t)lower, low = (uint64_t)sum[0] + more;
    const uint64_t high = (uint64_t)sum[1] + (uint64_t)(upper >> 2) + (low < more);
    *full |= high ^ high << 1;
    sum[0] = (int64_t)low;
    sum[1] = (int64_t)high;
    return 1;
}

/* Returns whether every sum is still exact. */
static int tally(const Array *values, const int64_t *units, int64_t *sums, int64_t *counts) {
    const int64_t metrics = LENGTH(*values, 0), episodes = LENGTH(*values, 1);
    uint64_t full = 0;
    for (int64_t first = 0; first < episodes; first += TOGETHER) {
        const int64_t stop = episodes - first < TOGETHER ? episodes : first + TOGETHER;
        for (int64_t j = 0; j < metrics; j++) {
            const double *row = DOUBLES(*values) + j * episodes;
            for (int64_t i = first; i < stop; i++) {
                const int64_t cell = units[i] * metrics + j;
                counts[cell] += add(sums + 2 * cell, row[i], &full);
            }
        }
    }
    return full >> 63 == 0;
}

KERNEL(kernel_tally) {
    (void)self;
    Array arrays[4] = {{.held = 0}, {.held = 0}, {.held = 0}, {.held = 0}};
    PyObject *result = NULL;
    if (!need_arguments("tally", nargs, 4) || !take_array(args[0], &arrays[0], 'd', 2, 0, 0) ||
        !take_array(args[1], &arrays[1], 'l', 1, 0, 0) || !take_array(args[2], &arrays[2], 'l', 3, 1, 0) ||
        !take_array(args[3], &arrays[3], 'l', 2, 1, 0))
        goto end;
    const int64_t metrics = LENGTH(arrays[0], 0), episodes = LENGTH(arrays[0], 1), units = LENGTH(arrays[2], 0);
    if (LENGTH(arrays[1], 0) != episodes || LENGTH(arrays[2], 1) != metrics || LENGTH(arrays[2], 2) != 2 ||
        LENGTH(arrays[3], 0) != units || LENGTH(arrays[3], 1) != metrics) {
        PyErr_SetString(PyExc_ValueError, "tally: values, units, sums and counts do not fit");
        goto end;
    }
    PyThreadState *state = PyEval_SaveThread();
    const int known = all_below(INTS64(arrays[1]), episodes, units);
    const int small = known && all_in_range(DOUBLES(arrays[0]), metrics * episodes);
    const int exact = small && tally(&arrays[0], INTS64(arrays[1]), INTS64(arrays[2]), INTS64(arrays[3]));
    PyEval_RestoreThread(state);
    if (exact)
        result = Py_NewRef(Py_None);
    else if (!known)
        PyErr_Format(PyExc_ValueError, "expected units from 0 to %lld", (long long)units - 1);
    else if (!small)
        PyErr_SetString(PyExc_ValueError, "exact sums take values below 2^40, and one is as large");
    else
        PyErr_SetString(PyExc_OverflowError, "an exact sum came to 2^54: the values are too large for so many of them");
end:
    drop_arrays(arrays, 4);
    return result;
}
