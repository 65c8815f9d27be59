/* What other kernels take from warp.c. */
#ifndef WAYSCORE_WARP_H
#define WAYSCORE_WARP_H

#include <math.h>
#include <stdint.h>

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

/* One more row of C, in place: `row` is row i - 1 (row[0] its border) and becomes row i, whose border is `west`. */
static inline double warp_row(const double *costs, int64_t m, double *row, double west) {
    double corner = row[0];
    row[0] = west;
    for (int64_t j = 0; j < m; j++) {
        double north = row[j + 1];
        west = costs[j] + least(least(north, corner), west);
        corner = north;
        row[j + 1] = west;
    }
    return west;
}

double *reverse_points(const double *points, int64_t count, int dimension, int64_t *stride);
double *new_borders(int64_t n, int64_t m, double **left);
/* Fills a tile of C for two paths of points; returns 0 when memory runs out. */
int warp_tile(int dimension, const double *reference, int64_t n, const double *query, int64_t m, double *top,
              double *left);

#endif
