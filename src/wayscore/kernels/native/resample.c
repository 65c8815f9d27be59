/* Bootstrap resamples: the total of each column over units drawn at random. Twin: plain/resample.py. */
#include "lane_table.h"
#include "native.h"

#define STEP 0x9E3779B97F4A7C15u

/* SplitMix64's mixing: neighbouring numbers become words that nothing tells from chance. */
static inline uint64_t mixed(uint64_t word) {
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
    return word ^ (word >> 31);
}

/* A unit by the upper half of a word, all of them equally likely: where the 2^32 halves cannot be shared out evenly,
 * the few left over draw again. */
static inline uint64_t pick(uint64_t word, uint64_t units, uint32_t left_over) {
    uint64_t scaled = (word >> 32) * units;
    while ((uint32_t)scaled < left_over) {
        word = mixed(word + STEP);
        scaled = (word >> 32) * units;
    }
    return scaled >> 32;
}

/* How often each unit is drawn in resample `number`. */
static void draw(uint64_t seed, uint64_t number, int64_t units, double *times) {
    const uint32_t left_over = (uint32_t)((UINT64_C(1) << 32) % (uint64_t)units);
    uint64_t state = seed + STEP * (number * ((uint64_t)(units + 1) / 2));
    memset(times, 0, (size_t)units * sizeof *times);
    for (int64_t drawn = 0; drawn < units; drawn += 2) {
        uint64_t word = mixed(state += STEP);
        times[pick(word, (uint64_t)units, left_over)] += 1.0;
        if (drawn + 1 < units) times[pick(word << 32 | word >> 32, (uint64_t)units, left_over)] += 1.0;
    }
}

/* Eight resamples go together, so that a row of values is read once for all of them. */
static int resample(uint64_t seed, uint64_t first, const Array *values, const Array *totals) {
    const int64_t units = LENGTH(*values, 0), columns = LENGTH(*values, 1), rows = LENGTH(*totals, 0);
    const int64_t width = (columns + GROUP - 1) / GROUP * GROUP;
    double *memory = calloc((size_t)(GROUP * units + units * width + GROUP * width), sizeof *memory);
    if (!memory) return 0;
    double *times = memory, *padded = times + GROUP * units, *sums = padded + units * width;
    for (int64_t u = 0; u < units; u++)
        memcpy(padded + u * width, DOUBLES(*values) + u * columns, (size_t)columns * sizeof *padded);
    for (int64_t r = 0; r < rows; r += GROUP) {
        const int64_t count = rows - r < GROUP ? rows - r : GROUP;
        for (int64_t g = 0; g < count; g++) draw(seed, first + (uint64_t)(r + g), units, times + g * units);
        lane_kernels->weigh(times, units, padded, width, sums);
        for (int64_t g = 0; g < count; g++)
            memcpy(DOUBLES(*totals) + (r + g) * columns, sums + g * width, (size_t)columns * sizeof *sums);
    }
    free(memory);
    return 1;
}

KERNEL(kernel_resample) {
    (void)self;
    Array arrays[2] = {{.held = 0}, {.held = 0}};
    PyObject *result = NULL;
    int64_t seed, first;
    if (!need_arguments("resample", nargs, 4) || !take_count(args[0], &seed) || !take_count(args[1], &first) ||
        !take_array(args[2], &arrays[0], 'd', 2, 0, 0) || !take_array(args[3], &arrays[1], 'd', 2, 1, 0))
        goto end;
    const int64_t units = LENGTH(arrays[0], 0), columns = LENGTH(arrays[0], 1);
    if (first < 0 || units < 1 || units > UINT32_MAX || columns != LENGTH(arrays[1], 1)) {
        PyErr_SetString(PyExc_ValueError, "resample: values and totals do not fit");
        goto end;
    }
    PyThreadState *state = PyEval_SaveThread();
    int enough = resample((uint64_t)seed, (uint64_t)first, &arrays[0], &arrays[1]);
    PyEval_RestoreThread(state);
    result = enough ? Py_NewRef(Py_None) : PyErr_NoMemory();
end:
    drop_arrays(arrays, 2);
    return result;
}
