/* What the metrics are made of, for many episodes in one pass; measure.c explains. */
#ifndef WAYSCORE_MEASURE_H
#define WAYSCORE_MEASURE_H

#include <stdint.h>

enum { QUERY_LENGTH, REFERENCE_LENGTH, END, CLOSEST, START, MEAN_DEVIATION, MAX_DEVIATION, COVERAGE, EDITS, WARPING,
       REFERENCE_COUNT, QUERY_COUNT, MEASURES };

typedef struct {
    /* places: codes into a table or codes that say which are the same, or points */
    const int32_t *r_codes, *q_codes;
    const double *r_points, *q_points;
    int dimension; /* 0 for codes */
    const int64_t *r_offsets, *q_offsets, *pairing;
    /* distances: a table over codes, or of one episode all pairs and the steps of both paths */
    const double *table, *block, *r_steps, *q_steps;
    int64_t table_size;
    /* what to compute */
    int compare;  /* COMPARE_ flags of lane_table.h: what takes all pairs of places; the rest is left as it was */
    double scale; /* of the coverage's exponential; 0: leave coverage out */
    double reach; /* edit distances only of episodes that end this near; negative: of none */
    double *out;
    int64_t stride; /* from one row of `out` to the next */
    int64_t episodes;
} Batch;

/* Measures every episode of a batch; returns 0 when memory runs out. */
int measure(const Batch *batch);

#endif
