/* The entry points of lane_kernels.h, one table for each instruction set. */
#ifndef WAYSCORE_LANE_TABLE_H
#define WAYSCORE_LANE_TABLE_H

#include "warp.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define HAS_AVX
#endif

#define STRIP_ROWS 16
enum { STRIP_VALUES, STRIP_NEAREST, STRIP_CHOICES };

/* Up to 16 rows of C against all m columns; see lane_strip.h. Distances are Euclidean between points of `dimension`
 * coordinates, or, where that is 0, looked up: row[k][code]. The query stands last place first, with its ends repeated
 * STRIP_ROWS times: one array for each coordinate (`stride` apart), or codes. */
typedef struct {
    int dimension, rows;
    int64_t m, stride;
    const double *reference, *reversed;
    const double *row[STRIP_ROWS];
    const int32_t *codes;
    double *top, *left, *rows_by_axis;
    double *nearest;   /* the least square of each column so far, updated */
    double *covered;   /* the least square of each row */
    uint32_t *choices; /* a word a step t: bit k, cell (k, t - k) comes from the diagonal; bit 16 + k, its upper
                          neighbour is at most its left one */
} Strip;

#define GROUP 8

/* What of two paths takes all pairs of their places. */
enum { COMPARE_WARPING = 1, COMPARE_NEAREST = 2 };

/* Eight episodes side by side, padded to `rows` by `columns` with repeats of their last places (which change
 * neither minima nor any cell of C that matters). Either distances are looked up, row[i][lane][column[j][lane]],
 * and dimension is 0; or they are Euclidean, between reference[i][axis][lane] and query[j][axis][lane]. */
typedef struct {
    int dimension, compare;
    int64_t rows, columns;
    int64_t n[GROUP], m[GROUP];
    const double **row;
    int32_t *column;
    double *reference, *query;
    double *previous; /* [columns][GROUP], one row of C */
    double *nearest;  /* [columns][GROUP], d(q_j, R) */
    double *covered;  /* [rows][GROUP], d(r_i, Q) */
    double scale;     /* of the coverage; 0: leave it out */
    double warping[GROUP], deviation[GROUP], largest[GROUP], coverage[GROUP]; /* deviation and coverage as sums */
} Group;

typedef struct {
    void (*strip_values)(const Strip *strip);
    void (*strip_nearest)(const Strip *strip);
    void (*strip_choices)(const Strip *strip);
    void (*short_rows)(const Pair *pair, double *top, double *left); /* warp_tile for few cells in two or three dimensions */
    void (*distances_to)(int dimension, const double *point, const double *others, int64_t stride, int64_t count,
                         double *out);
    void (*relax)(double *row, double through, const double *via, int64_t count);
    void (*measure_group)(Group *group);
    void (*weigh)(const double *weights, int64_t units, const double *values, int64_t columns, double *totals);
    void (*draw)(uint64_t seed, uint64_t number, int64_t units, uint64_t *pairs, double *times); /* see resample.c */
} LaneKernels;

extern const LaneKernels lanes_base, lanes_avx2, lanes_avx512;
int roots_are_exact(void); /* call only where AVX-512 runs */
extern const LaneKernels *lane_kernels; /* the best this processor runs, set when the module is loaded */

#endif
