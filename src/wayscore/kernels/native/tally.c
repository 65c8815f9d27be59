/* Exact sums of scores by unit, as whole numbers of 2^-72: additions of integers come out the same in any order and
 * any pieces. Twin: plain/tally.py. */
#include "lane_table.h"
#include "native.h"

#define TOGETHER 32      /* episodes whose values are gathered, then added */
#define CARRY_EVERY 1024 /* episodes of a unit, after which its limbs are still below 2^62 in size */
#define LIMB 52

/* A small number that is added to one of these is rounded to its last place, and the bits of the result count how many
 * of that place there are. */
#define FINE 0x1.8p-20  /* 2^-72 */
#define COARSE 0x1.8p32 /* 2^-20 */
#define LARGE 0x1.8p84  /* 2^32 */

#if defined(__GNUC__) || defined(__clang__)
#define INLINED static inline __attribute__((always_inline))
#else
#define INLINED static inline
#endif

typedef struct {
    const double *values; /* [metrics][episodes] */
    const int64_t *units;
    int64_t metrics, episodes;
    uint64_t *sums, *large; /* [units][2][metrics], [units][metrics] */
    int64_t *lacking, *sizes;
    double *gathered; /* [TOGETHER][metrics] */
    double *least;    /* [metrics][TOGETHER] */
} Tally;

INLINED uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static int all_below(const int64_t *units, int64_t count, int64_t limit) {
    uint64_t most = 0; /* a negative unit is a huge unsigned one */
    for (int64_t i = 0; i < count; i++) most = (uint64_t)units[i] > most ? (uint64_t)units[i] : most;
    return count == 0 || most < (uint64_t)limit;
}

/* Are all of these below 2^31 in size? Bits without their sign are ordered as sizes are. */
INLINED int all_usual(const double *row) {
    int64_t beyond = 0; /* negative once one is not: compilers make vectors of this */
    for (int64_t i = 0; i < TOGETHER; i++)
        beyond |= (int64_t)bits_of(0x1p31) - 1 - (int64_t)(bits_of(row[i]) & INT64_MAX);
    return beyond >= 0;
}

INLINED void gather(const double *row, double *__restrict least, double *__restrict gathered, int64_t metrics) {
    for (int64_t i = 0; i < TOGETHER; i++) least[i] = row[i] < least[i] ? row[i] : least[i];
    for (int64_t i = 0; i < TOGETHER; i++) gathered[i * metrics] = row[i];
}

/* Gather values one by one: 0 for one that is not finite, and large ones without their multiples of 2^32, which are
 * added here. Returns 0 at one that is too large. */
INLINED int gather_unusual(const Tally *tally, int64_t j, int64_t first, int64_t count, const int64_t sign) {
    double *least = tally->least + j * TOGETHER;
    for (int64_t i = 0; i < count; i++) {
        const int64_t cell = tally->units[first + i] * tally->metrics + j;
        double value = tally->values[j * tally->episodes + first + i];
        if (!(fabs(value) < INFINITY)) {
            tally->lacking[cell] += sign;
            value = 0.0;
        } else {
            if (fabs(value) >= 0x1p40) return 0;
            if (value < *least) *least = value;
            if (fabs(value) >= 0x1p31) {
                const double whole = value + LARGE;
                tally->large[cell] += (uint64_t)sign * (bits_of(whole) - bits_of(LARGE));
                value += LARGE - whole;
            }
        }
        tally->gathered[i * tally->metrics + j] = value;
    }
    return 1;
}

/* Add floor(value 2^72) for each metric, as whole numbers of 2^-20 and what is left; nothing else is rounded. */
INLINED void add_episode(const double *values, uint64_t *__restrict low, uint64_t *__restrict high, int64_t metrics,
                         const int64_t sign) {
    for (int64_t j = 0; j < metrics; j++) {
        const double coarse = values[j] + COARSE, rest = values[j] + (COARSE - coarse), fine = rest + FINE;
        const uint64_t too_much = bits_of(rest + (FINE - fine)) >> 63; /* the sign: equal numbers differ by +0 */
        low[j] += (uint64_t)sign * (bits_of(fine) - bits_of(FINE) - too_much);
        high[j] += (uint64_t)sign * (bits_of(coarse) - bits_of(COARSE));
    }
}

static void carry(uint64_t *low, uint64_t *high, uint64_t *large, int64_t metrics) {
    const uint64_t mask = (UINT64_C(1) << LIMB) - 1;
    for (int64_t j = 0; j < metrics; j++) {
        high[j] += (uint64_t)((int64_t)low[j] >> LIMB);
        large[j] += (uint64_t)((int64_t)high[j] >> LIMB);
        low[j] &= mask;
        high[j] &= mask;
    }
}

/* Returns 0 at the first value that is too large. With sign -1 it takes the same steps back, up to the same value. */
INLINED int run(const Tally *tally, const int64_t sign) {
    const int64_t metrics = tally->metrics, episodes = tally->episodes;
    for (int64_t first = 0; first < episodes; first += TOGETHER) {
        const int64_t count = episodes - first < TOGETHER ? episodes - first : TOGETHER;
        for (int64_t j = 0; j < metrics; j++) {
            const double *row = tally->values + j * episodes + first;
            if (count == TOGETHER && all_usual(row))
                gather(row, tally->least + j * TOGETHER, tally->gathered + j, metrics);
            else if (!gather_unusual(tally, j, first, count, sign))
                return 0;
        }
        for (int64_t i = 0; i < count; i++) {
            const int64_t unit = tally->units[first + i];
            uint64_t *low = tally->sums + 2 * unit * metrics, *high = low + metrics;
            add_episode(tally->gathered + i * metrics, low, high, metrics, sign);
            tally->sizes[unit] += sign;
            if (tally->sizes[unit] % CARRY_EVERY == 0) carry(low, high, tally->large + unit * metrics, metrics);
        }
    }
    return 1;
}

static int add(const Tally *tally) { return run(tally, 1); }
static int take_back(const Tally *tally) { return run(tally, -1); }
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
__attribute__((target("avx2"))) static int add_avx2(const Tally *tally) { return run(tally, 1); }
#else
#define add_avx2 add
#endif

enum { DONE, TOO_LARGE, NO_MEMORY, UNKNOWN_UNIT };

static int tally_all(Tally *tally, int64_t units, double *least) {
    if (!all_below(tally->units, tally->episodes, units)) return UNKNOWN_UNIT;
    const int64_t cells = tally->metrics * TOGETHER;
    double *memory = malloc((size_t)(2 * cells + 1) * sizeof *memory);
    if (!memory) return NO_MEMORY;
    tally->gathered = memory;
    tally->least = memory + cells;
    for (int64_t j = 0; j < cells; j++) tally->least[j] = INFINITY;
    const int done = lane_kernels == &lanes_base ? add(tally) : add_avx2(tally);
    if (!done) take_back(tally);
    for (int64_t j = 0; done && j < cells; j++)
        if (tally->least[j] < least[j / TOGETHER]) least[j / TOGETHER] = tally->least[j];
    free(memory);
    return done ? DONE : TOO_LARGE;
}

KERNEL(kernel_tally) {
    (void)self;
    static const struct { char kind; int dimensions, writable; } expected[7] = {
        {'d', 2, 0}, {'l', 1, 0}, {'l', 3, 1}, {'l', 2, 1}, {'l', 2, 1}, {'l', 1, 1}, {'d', 1, 1}};
    Array arrays[7] = {{.held = 0}, {.held = 0}, {.held = 0}, {.held = 0}, {.held = 0}, {.held = 0}, {.held = 0}};
    PyObject *result = NULL;
    if (!need_arguments("tally", nargs, 7)) return NULL;
    for (int a = 0; a < 7; a++)
        if (!take_array(args[a], &arrays[a], expected[a].kind, expected[a].dimensions, expected[a].writable, 0)) goto end;
    const int64_t metrics = LENGTH(arrays[0], 0), episodes = LENGTH(arrays[0], 1), units = LENGTH(arrays[2], 0);
    if (LENGTH(arrays[1], 0) != episodes || LENGTH(arrays[2], 1) != 2 || LENGTH(arrays[2], 2) != metrics ||
        LENGTH(arrays[3], 0) != units || LENGTH(arrays[3], 1) != metrics || LENGTH(arrays[4], 0) != units ||
        LENGTH(arrays[4], 1) != metrics || LENGTH(arrays[5], 0) != units || LENGTH(arrays[6], 0) != metrics) {
        PyErr_SetString(PyExc_ValueError, "tally: values, units and sums do not fit");
        goto end;
    }
    Tally tally = {.values = DOUBLES(arrays[0]), .units = INTS64(arrays[1]), .metrics = metrics, .episodes = episodes,
                   .sums = (uint64_t *)INTS64(arrays[2]), .large = (uint64_t *)INTS64(arrays[3]),
                   .lacking = INTS64(arrays[4]), .sizes = INTS64(arrays[5])};
    PyThreadState *state = PyEval_SaveThread();
    const int outcome = tally_all(&tally, units, DOUBLES(arrays[6]));
    PyEval_RestoreThread(state);
    if (outcome == DONE)
        result = Py_NewRef(Py_None);
    else if (outcome == NO_MEMORY)
        PyErr_NoMemory();
    else if (outcome == UNKNOWN_UNIT)
        PyErr_Format(PyExc_ValueError, "expected units from 0 to %lld", (long long)units - 1);
    else
        PyErr_SetString(PyExc_ValueError, "exact sums take values below 2^40, and one is as large");
end:
    drop_arrays(arrays, 7);
    return result;
}
