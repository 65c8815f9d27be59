/* Random signs: the total of each column over the units that come out positive. Twin: plain/flip.py. */
#include "lane_table.h"
#include "native.h"

#define BYTES_AT_ONCE 8 /* of a row of noise, whose tables stay in the nearest cache */
#define NIBBLES (2 * BYTES_AT_ONCE)

#if defined(__GNUC__) || defined(__clang__)
#define INLINED static inline __attribute__((always_inline))
typedef double Eight __attribute__((vector_size(64), aligned(8)));
#define ADD(sum, more) ((sum) += (more))
#else
#define INLINED static inline
typedef struct { double of[GROUP]; } Eight;
#define ADD(sum, more) \
    do { \
        for (int k = 0; k < GROUP; k++) (sum).of[k] += (more).of[k]; \
    } while (0)
#endif

typedef struct {
    const uint8_t *noise; /* [rows][width] */
    const double *values; /* [8 width][columns] */
    int64_t rows, width, columns;
    Eight *sums; /* [rows] */
} Flips;

/* The values of eight columns, from the first on, of one unit; 0 where there are no more columns. */
INLINED Eight *read_unit(const Flips *flips, int64_t unit, int64_t first, Eight *into) {
    const int64_t left = flips->columns - first;
    memset(into, 0, sizeof *into);
    memcpy(into, flips->values + unit * flips->columns + first, (size_t)(left < GROUP ? left : GROUP) * sizeof(double));
    return into;
}

/* For every half byte the totals of its units, four at most; then for every row the sum of what its halves say. */
INLINED void run(const Flips *flips, int64_t first) {
    Eight table[NIBBLES][16], unit;
    memset(flips->sums, 0, (size_t)flips->rows * sizeof *flips->sums);
    for (int64_t byte = 0; byte < flips->width; byte += BYTES_AT_ONCE) {
        const int64_t bytes = flips->width - byte < BYTES_AT_ONCE ? flips->width - byte : BYTES_AT_ONCE;
        for (int64_t half = 0; half < 2 * bytes; half++) {
            memset(&table[half][0], 0, sizeof table[half][0]);
            for (int bit = 0; bit < 4; bit++) {
                read_unit(flips, 8 * byte + 4 * half + 3 - bit, first, &unit);
                for (int set = 0; set < 1 << bit; set++) {
                    table[half][set | 1 << bit] = table[half][set];
                    ADD(table[half][set | 1 << bit], unit);
                }
            }
        }
        for (int64_t row = 0; row < flips->rows; row++) {
            const uint8_t *noise = flips->noise + row * flips->width + byte;
            Eight sum = flips->sums[row];
            for (int64_t b = 0; b < bytes; b++) {
                ADD(sum, table[2 * b][noise[b] >> 4]);
                ADD(sum, table[2 * b + 1][noise[b] & 15]);
            }
            flips->sums[row] = sum;
        }
    }
}

static void run_base(const Flips *flips, int64_t first) { run(flips, first); }
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
__attribute__((target("avx2"))) static void run_avx2(const Flips *flips, int64_t first) { run(flips, first); }
#else
#define run_avx2 run_base
#endif

static int flip(Flips *flips, double *totals) {
    flips->sums = malloc((size_t)(flips->rows + 1) * sizeof *flips->sums);
    if (!flips->sums) return 0;
    for (int64_t first = 0; first < flips->columns; first += GROUP) {
        const int64_t left = flips->columns - first;
        (lane_kernels == &lanes_base ? run_base : run_avx2)(flips, first);
        for (int64_t row = 0; row < flips->rows; row++)
            memcpy(totals + row * flips->columns + first, &flips->sums[row],
                   (size_t)(left < GROUP ? left : GROUP) * sizeof *totals);
    }
    free(flips->sums);
    return 1;
}

KERNEL(kernel_flip) {
    (void)self;
    Array arrays[3] = {{.held = 0}, {.held = 0}, {.held = 0}};
    PyObject *result = NULL;
    if (!need_arguments("flip", nargs, 3) || !take_array(args[0], &arrays[0], 'B', 2, 0, 0) ||
        !take_array(args[1], &arrays[1], 'd', 2, 0, 0) || !take_array(args[2], &arrays[2], 'd', 2, 1, 0))
        goto end;
    Flips flips = {.noise = BYTES(arrays[0]), .values = DOUBLES(arrays[1]), .rows = LENGTH(arrays[0], 0),
                   .width = LENGTH(arrays[0], 1), .columns = LENGTH(arrays[1], 1)};
    if (LENGTH(arrays[1], 0) != 8 * flips.width || LENGTH(arrays[2], 0) != flips.rows ||
        LENGTH(arrays[2], 1) != flips.columns) {
        PyErr_SetString(PyExc_ValueError, "flip: noise, values and totals do not fit");
        goto end;
    }
    PyThreadState *state = PyEval_SaveThread();
    const int enough = flip(&flips, DOUBLES(arrays[2]));
    PyEval_RestoreThread(state);
    result = enough ? Py_NewRef(Py_None) : PyErr_NoMemory();
end:
    drop_arrays(arrays, 3);
    return result;
}
