/* One pair straight from what people hold: its DTW, its warping, what the metrics are made of. What is unusual about the
 * paths returns None: the general way, which checks everything, takes over and says what is wrong. */
#include "given.h"
#include "lane_table.h"
#include "measure.h"

/* Of more cells a warping is found tile by tile, by the general way. */
static const int64_t MOST_CELLS = 9000000;
static const int64_t RELEASED_CELLS = 100000; /* others may run meanwhile: letting them costs less than this work */

/* DTW of reference, query, index, table; NaN where anything is unusual. `count` receives how many nodes the reference has or,
 * where there are `cells` for the optimal warping, how many of them it takes. */
static double dtw_of(PyObject *const *args, const Array *cells, int64_t *count) {
    Given given;
    const Pair *pair = &given.pair;
    double few[2 * FEW], cost = NAN;
    int usable = take_given(args, &given);
    if (usable && cells)
        usable = pair->n * pair->m < MOST_CELLS && LENGTH(*cells, 0) >= pair->n + pair->m && LENGTH(*cells, 1) == 2;
    if (usable) {
        const int64_t n = pair->n, m = pair->m, borders = n + m + 2;
        PyThreadState *state = n * m > RELEASED_CELLS ? PyEval_SaveThread() : NULL;
        double *top = borders <= 2 * FEW ? few : malloc(sizeof(double) * (size_t)borders), *left = NULL;
        *count = -1;
        if (top) fresh_borders(top, m, left = top + m + 1, n);
        if (top && cells) *count = trace_tile(pair, top, left, n - 1, m - 1, INTS64(*cells));
        else if (top && warp_tile(pair, top, left, NULL, NULL)) *count = n;
        if (*count > 0) cost = top[m];
        if (cells) reverse_cells(INTS64(*cells), *count);
        if (top != few) free(top);
        if (state) PyEval_RestoreThread(state);
        if (pair->dimension && cost == INFINITY) cost = NAN; /* squares that overflow */
    }
    drop_given(&given);
    return cost;
}

/* pair_value(reference, query, index, table) -> DTW, or None. Without an index the paths are points; with one it maps
 * labels to rows of the table. */
METHOD(pair_value) {
    int64_t count = 0;
    if (!need_arguments("pair_value", nargs, 4)) return NULL;
    const double cost = dtw_of(args, NULL, &count);
    return isnan(cost) ? none() : PyFloat_FromDouble(cost);
}

/* pair_ndtw(reference, query, index, table, threshold) -> nDTW, or None: also where the threshold is no float above 0 */
METHOD(pair_ndtw) {
    int64_t count = 0;
    if (!need_arguments("pair_ndtw", nargs, 5)) return NULL;
    const double threshold = PyFloat_Check(args[4]) ? PyFloat_AsDouble(args[4]) : NAN;
    const double cost = threshold > 0.0 && threshold < INFINITY ? dtw_of(args, NULL, &count) : NAN;
    return isnan(cost) ? none() : PyFloat_FromDouble(exp(-cost / ((double)count * threshold)));
}

/* pair_warping(reference, query, index, table, cells) -> (DTW, count), or None: cells[0..count-1] are the optimal
 * warping, first pair first. `cells` has room for one cell more than both paths have places. */
KERNEL(pair_warping, "o o o o l2w") {
    int64_t count = 0;
    const double cost = dtw_of(args, &arrays[0], &count);
    return isnan(cost) ? none() : Py_BuildValue("dL", cost, (long long)count);
}

/* pair_measures(reference, query, index, table, scale, reach) -> a tuple of what the measure kernels write for one
 * episode, in their order, or None */
KERNEL(pair_measures, "o o o o x x") {
    Given given;
    double out[MEASURES];
    int measured = 0;
    if (take_given(args, &given)) {
        const Pair *pair = &given.pair;
        const int64_t r_offsets[2] = {0, pair->n}, q_offsets[2] = {0, pair->m};
        const Batch batch = {.pair = *pair, .r_offsets = r_offsets, .q_offsets = q_offsets, .episodes = 1, .out = out,
                             .stride = 1, .compare = COMPARE_WARPING | COMPARE_NEAREST, .scale = numbers[0].x,
                             .reach = numbers[1].x};
        PyThreadState *state = pair->n * pair->m > RELEASED_CELLS ? PyEval_SaveThread() : NULL;
        measured = measure(&batch);
        if (state) PyEval_RestoreThread(state);
        if (pair->dimension && out[WARPING] == INFINITY) measured = 0;
    }
    drop_given(&given);
    if (!measured) return none();
    PyObject *result = PyTuple_New(MEASURES);
    for (int k = 0; result && k < MEASURES; k++) {
        PyObject *number = PyFloat_FromDouble(out[k]);
        if (!number || PyTuple_SetItem(result, k, number) < 0) {
            Py_DECREF(result);
            return NULL;
        }
    }
    return result;
}
