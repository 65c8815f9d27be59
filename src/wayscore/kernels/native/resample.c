/* Bootstrap resamples: the total of each column over units drawn at random. plain/resample.py says how they are drawn. */
#include "lane_table.h"
#include "native.h"

/* Eight resamples go together, and eight columns of values, which are packed side by side first. */
static int resample(uint64_t seed, uint64_t first, const Array *values, const Array *totals) {
    const int64_t units = LENGTH(*values, 0), columns = LENGTH(*values, 1), rows = LENGTH(*totals, 0);
    const int64_t blocks = (columns + GROUP - 1) / GROUP;
    double *times = calloc((size_t)((1 + blocks) * GROUP * units), sizeof *times), *packed = times + GROUP * units;
    uint64_t *pairs = malloc((size_t)(units + 1) / 2 * sizeof *pairs);
    const int enough = times && pairs;
    for (int64_t u = 0; enough && u < units; u++)
        for (int64_t c = 0; c < columns; c++)
            packed[(c / GROUP * units + u) * GROUP + c % GROUP] = DOUBLES(*values)[u * columns + c];
    for (int64_t r = 0; enough && r < rows; r += GROUP) {
        const int64_t count = rows - r < GROUP ? rows - r : GROUP;
        for (int64_t g = 0; g < count; g++)
            lane_kernels->draw(seed, first + (uint64_t)(r + g), units, pairs, times + g * units);
        for (int64_t b = 0; b < blocks; b++) {
            double sums[GROUP][GROUP];
            const int64_t width = columns - b * GROUP < GROUP ? columns - b * GROUP : GROUP;
            lane_kernels->weigh(times, units, packed + b * units * GROUP, GROUP, sums[0]);
            for (int64_t g = 0; g < count; g++)
                memcpy(DOUBLES(*totals) + (r + g) * columns + b * GROUP, sums[g], (size_t)width * sizeof(double));
        }
    }
    free(times);
    free(pairs);
    return enough;
}

KERNEL(resample, "n n d2 d2w") {
    const int64_t first = numbers[1].n, units = LENGTH(arrays[0], 0);
    if (first < 0 || units < 1 || units > UINT32_MAX || LENGTH(arrays[0], 1) != LENGTH(arrays[1], 1))
        return refuse("resample: values and totals do not fit");
    PyThreadState *state = PyEval_SaveThread();
    const int enough = resample((uint64_t)numbers[0].n, (uint64_t)first, &arrays[0], &arrays[1]);
    PyEval_RestoreThread(state);
    return enough ? none() : PyErr_NoMemory();
}
