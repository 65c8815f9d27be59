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

double *reverse_points(const double *points, int64_t count, int dimension, int64_t *stride);
double *new_borders(int64_t n, int64_t m, double **left);
/* Fills a tile of C for two paths of points; returns 0 when memory runs out. */
int warp_tile(int dimension, const double *reference, int64_t n, const double *query, int64_t m, double *top,
              double *left);

#endif
