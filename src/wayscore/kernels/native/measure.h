/* What the metrics are made of, for many episodes in one pass; measure.c explains. */
#ifndef WAYSCORE_MEASURE_H
#define WAYSCORE_MEASURE_H

#include "warp.h"

enum { QUERY_LENGTH, REFERENCE_LENGTH, END, CLOSEST, START, MEAN_DEVIATION, MAX_DEVIATION, COVERAGE, EDITS, WARPING,
       REFERENCE_COUNT, QUERY_COUNT, MEASURES };

typedef struct {
    Pair pair; /* the places of all references and all queries, end to end */
    const int64_t *r_offsets, *q_offsets, *pairing;
    const double *block, *r_steps, *q_steps; /* of one episode whose distances stand in no table, or NULL */
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
