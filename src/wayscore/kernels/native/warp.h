/* What other kernels take from warp.c. */
#ifndef WAYSCORE_WARP_H
#define WAYSCORE_WARP_H

#include "native.h"

/* Two paths: of points, or of nodes whose distances stand in a table. */
typedef struct {
    int dimension; /* 0: nodes */
    int64_t n, m;
    const double *r_points, *q_points;
    const int32_t *r_codes, *q_codes;
    const double *table;
    int64_t columns; /* of the table */
} Pair;

/* The pair that three arrays hold: a table and codes, or None and points. Sets a Python error and returns 0 where they do
 * not fit. */
int take_pair(const Array *arrays, Pair *pair);

/* Pairs of up to this number of cells are computed row by row: the strips' lead-in would cost more than it saves. */
enum { SHORT_CELLS = 256 };

/* Euclidean distance, coordinates summed in their order. */
static inline double point_distance(int dimension, const double *a, const double *b) {
    double squares = 0.0;
    for (int axis = 0; axis < dimension; axis++) {
        double difference = a[axis] - b[axis];
        squares += difference * difference;
    }
    return sqrt(squares);
}

static inline double least(double a, double b) { return a < b ? a : b; }

/* The distance of r_i and q_j. */
static inline double cell_cost(const int dimension, const Pair *pair, int64_t i, int64_t j) {
    if (dimension) return point_distance(dimension, pair->r_points + i * dimension, pair->q_points + j * dimension);
    return pair->table[pair->r_codes[i] * pair->columns + pair->q_codes[j]];
}

/* One more row of C, in place: `row` is row i - 1 (row[0] its border) and becomes row i, from its border `west`, which
 * becomes its last cell. `cost`, the distance of a cell, is an expression of j. */
#define WARP_ROW(row, count, west, cost)                           \
    do {                                                           \
        double corner = (row)[0];                                  \
        (row)[0] = west;                                           \
        for (int64_t j = 0; j < (count); j++) {                    \
            const double north = (row)[j + 1];                     \
            west = (cost) + least(least(north, corner), west);     \
            corner = north;                                        \
            (row)[j + 1] = west;                                   \
        }                                                          \
    } while (0)

static inline void reverse_cells(int64_t *cells, int64_t count) {
    for (int64_t a = 0, b = count - 1; a < b; a++, b--)
        for (int side = 0; side < 2; side++) {
            const int64_t cell = cells[2 * a + side];
            cells[2 * a + side] = cells[2 * b + side];
            cells[2 * b + side] = cell;
        }
}

/* Borders of a tile at the start of both paths: infinite except for the corner. */
static inline void fresh_borders(double *top, int64_t m, double *left, int64_t n) {
    top[0] = left[0] = 0.0;
    for (int64_t j = 1; j <= m; j++) top[j] = INFINITY;
    for (int64_t i = 1; i <= n; i++) left[i] = INFINITY;
}

/* Fills a tile of C (warp.c says what its borders are); returns 0 when memory runs out. Where `nearest` (m values) and
 * `covered` (n, and room for 15 more) are given, they receive the least squared distance of each column and row of a pair of
 * points. */
int warp_tile(const Pair *pair, double *top, double *left, double *nearest, double *covered);
/* Follows the optimal warping back from cell (i, j) until it leaves the tile; returns the number of cells, or -1 when
 * memory runs out. `cells` receives them, last first, and after them the first cell outside (a coordinate is -1). Ties
 * go to the diagonal, then to the reference's step. The borders change as in warp_tile, with C[i][j] in top[j + 1]. */
int64_t trace_tile(const Pair *pair, double *top, double *left, int64_t i, int64_t j, int64_t *cells);

#endif
