/* Bootstrap resamples: the total of each column over units drawn at random. Twin: plain/resample.py. */
#include "lane_table.h"
#include "native.h"

#define STEP 0x9E3779B97F4A7C15u

#if defined(__GNUC__) || defined(__clang__)
#define INLINED static inline __attribute__((always_inline))
#else
#define INLINED static inline
#endif

/* SplitMix64's mixing: neighbouring numbers become words that nothing tells from chance. */
INLINED uint64_t mixed(uint64_t word) {
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
    return word ^ (word >> 31);
}

/* A unit by the upper half of a word, all of them equally likely: where the 2^32 halves cannot be shared out evenly,
 * the few left over draw again. */
static uint64_t pick(uint64_t word, uint64_t units, uint32_t left_over) {
    uint64_t scaled = (word >> 32) * units;
    while ((uint32_t)scaled < left_over) {
        word = mixed(word + STEP);
        scaled = (word >> 32) * units;
    }
    return scaled >> 32;
}

/* How often each unit is drawn in resample `number`; two draws share a word. Nearly always none has to draw again, so
 * that compilers make vectors of the first loop. */
INLINED void draw(uint64_t seed, uint64_t number, int64_t units, uint64_t *pairs, double *times) {
    const uint32_t count = (uint32_t)units, left_over = (uint32_t)((UINT64_C(1) << 32) % count);
    const int64_t words = (units + 1) / 2;
    const uint64_t start = seed + STEP * (number * (uint64_t)words), lower = UINT32_MAX;
    uint64_t state = start, uneven = 0;
    for (int64_t w = 0; w < words; w++) {
        const uint64_t word = mixed(state += STEP);
        const uint64_t first = (uint64_t)(uint32_t)(word >> 32) * count, second = (uint64_t)(uint32_t)word * count;
        pairs[w] = first >> 32 | (second & ~lower);
        uneven |= ((first & lower) - left_over) | ((second & lower) - left_over); /* negative once one is left over */
    }
    state = start;
    for (int64_t w = 0; uneven >> 63 && w < words; w++) {
        const uint64_t word = mixed(state += STEP);
        pairs[w] = pick(word, count, left_over) | pick(word << 32 | word >> 32, count, left_over) << 32;
    }
    memset(times, 0, (size_t)units * sizeof *times);
    for (int64_t w = 0; w < units / 2; w++) {
        times[pairs[w] & lower] += 1.0;
        times[pairs[w] >> 32] += 1.0;
    }
    if (units % 2) times[pairs[words - 1] & lower] += 1.0;
}

typedef void Draw(uint64_t seed, uint64_t number, int64_t units, uint64_t *pairs, double *times);

static void draw_base(uint64_t seed, uint64_t number, int64_t units, uint64_t *pairs, double *times) {
    draw(seed, number, units, pairs, times);
}

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
__attribute__((target("avx2"))) static void draw_avx2(uint64_t seed, uint64_t number, int64_t units, uint64_t *pairs, double *times) {
    draw(seed, number, units, pairs, times);
}

#else
#define draw_avx2 draw_base
#endif

/* Eight resamples go together, and eight columns of values, which are packed side by side first. */
static int resample(uint64_t seed, uint64_t first, const Array *values, const Array *totals) {
    const int64_t units = LENGTH(*values, 0), columns = LENGTH(*values, 1), rows = LENGTH(*totals, 0);
    const int64_t blocks = (columns + GROUP - 1) / GROUP;
    Draw *const draw_units = lane_kernels == &lanes_base ? draw_base : draw_avx2;
    double *times = calloc((size_t)((1 + blocks) * GROUP * units), sizeof *times), *packed = times + GROUP * units;
    uint64_t *pairs = malloc((size_t)(units + 1) / 2 * sizeof *pairs);
    const int enough = times && pairs;
    for (int64_t u = 0; enough && u < units; u++)
        for (int64_t c = 0; c < columns; c++)
            packed[(c / GROUP * units + u) * GROUP + c % GROUP] = DOUBLES(*values)[u * columns + c];
    for (int64_t r = 0; enough && r < rows; r += GROUP) {
        const int64_t count = rows - r < GROUP ? rows - r : GROUP;
        for (int64_t g = 0; g < count; g++) draw_units(seed, first + (uint64_t)(r + g), units, pairs, times + g * units);
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
