/* What other kernels take from warp.c. */
#ifndef WAYSCORE_WARP_H
#define WAYSCORE_WARP_H

#include <stdint.h>

double point_distance(int dimension, const double *a, const double *b);
double *reverse_points(const double *points, int64_t count, int dimension, int64_t *stride);
double *new_borders(int64_t n, int64_t m, double **left);
/* Fills a tile of C for two paths of points; returns 0 when memory runs out. */
int warp_tile(int dimension, const double *reference, int64_t n, const double *query, int64_t m, double *top,
              double *left);

#endif
