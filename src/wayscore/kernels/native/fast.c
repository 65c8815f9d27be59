/* FastDTW (Salvador and Chan): warp halves of the paths first, then only look near that warping.
 *
 * Points are averaged in pairs; nodes of a graph, which have no average, are sampled (every second one), as the
 * paper says. Ties and windows are those of the widely used `fastdtw` package, so that scores made with it are
 * reproduced. Evaluators give it the agent's path first: rows are the query's. Its two builds differ:
 *
 *                                  PYTHON                             COMPILED
 *   ties prefer                    query's step, reference's, both    both, reference's step, query's
 *   costs are compared             with the local distance            before it is added
 *   a step of both                 from any cell of the row above     not past the last column of the row above
 *   last of an odd number of rows  window of a row further on         window of the row above
 *
 * With radius 0 the first fails on odd lengths (windows are mended here), the second crashes (costs are infinite). */
#include "native.h"
#include "warp.h"

typedef enum { PYTHON, COMPILED } Rule;

typedef struct {
    int dimension; /* 0: codes into a table */
    const double *table;
    int64_t table_size;
} Space;

typedef struct {
    const double *points;
    const int32_t *codes;
    int64_t count;
    void *own; /* what this level allocated */
} Level;

static inline double local_distance(const Space *space, const Level *r, int64_t i, const Level *q, int64_t j) {
    const int k = space->dimension;
    if (k == 3) return point_distance(3, r->points + 3 * i, q->points + 3 * j); /* unrolled */
    if (k) return point_distance(k, r->points + i * k, q->points + j * k);
    return space->table[r->codes[i] * space->table_size + q->codes[j]];
}

static int halve(const Space *space, const Level *from, Level *to) {
    const int k = space->dimension;
    to->count = from->count / 2;
    to->own = malloc((k ? sizeof(double) * (size_t)k : sizeof(int32_t)) * (size_t)to->count + 1);
    if (!to->own) return 0;
    if (k) {
        double *points = to->own;
        for (int64_t i = 0; i < to->count; i++)
            for (int axis = 0; axis < k; axis++)
                points[i * k + axis] = (from->points[2 * i * k + axis] + from->points[(2 * i + 1) * k + axis]) / 2;
        to->points = points;
        to->codes = NULL;
    } else {
        int32_t *codes = to->own;
        for (int64_t i = 0; i < to->count; i++) codes[i] = from->codes[2 * i];
        to->codes = codes;
        to->points = NULL;
    }
    return 1;
}

/* Row i may be matched with columns low[i] to high[i]. */
typedef struct {
    int64_t *low, *high;
} Window;

/* What may be matched at this level, given the warping (`cells`, `count` of them) of the halved paths. */
static void widen(Window window, int64_t n, int64_t m, const int64_t *cells, int64_t count, int64_t half_rows,
                  int64_t radius, Rule rule, int64_t *first, int64_t *last) {
    for (int64_t c = 0; c < count; c++) { /* cells are in order: the first column of a row comes first */
        int64_t row = cells[2 * c];
        if (c == 0 || cells[2 * c - 2] != row) first[row] = cells[2 * c + 1];
        last[row] = cells[2 * c + 1];
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t half = rule == COMPILED && i / 2 == half_rows ? half_rows - 1 : i / 2;
        int64_t from = half - radius, to = half + radius;
        from = from < 0 ? 0 : from >= half_rows ? half_rows - 1 : from;
        to = to >= half_rows ? half_rows - 1 : to;
        int64_t low = 2 * (first[from] - radius), high = 2 * (last[to] + radius) + 1;
        window.low[i] = low < 0 ? 0 : low;
        window.high[i] = high >= m ? m - 1 : high;
    }
    window.high[n - 1] = m - 1; /* radius 0 and an odd number of columns would leave the last one out */
}

/* C inside the window, and the warping found there, first cell (of the query, of the reference) first. Returns its
 * number of cells, 0 when memory runs out. */
static int64_t warp_window(const Space *space, const Level *r, const Level *q, Window window, Rule rule, double *cost,
                           int64_t *cells) {
    const int64_t n = q->count, m = r->count;
    int64_t total = 0, count = 0;
    for (int64_t i = 0; i < n; i++) total += window.high[i] - window.low[i] + 1;
    uint8_t *steps = malloc((size_t)total);
    double *row = malloc(sizeof(double) * (size_t)(m + 1));
    int64_t *starts = malloc(sizeof(int64_t) * (size_t)n);
    if (!steps || !row || !starts) goto end;
    int64_t at = 0, filled = 0; /* row[1..filled] holds the row above; what lies past it was never reached */
    for (int64_t i = 0; i < n; i++) {
        const int64_t low = window.low[i], high = window.high[i];
        int inside = i && low > window.low[i - 1] && low <= filled; /* is (i - 1, low - 1) in the window? */
        double west = INFINITY, corner = inside ? row[low] : i ? INFINITY : 0.0;
        starts[i] = at;
        for (int64_t j = low; j <= high; j++) {
            double north = i && j < filled ? row[j + 1] : INFINITY;
            double distance = local_distance(space, r, j, q, i), best;
            uint8_t step = 0;
            if (rule == PYTHON) {
                double by_west = west + distance, by_corner = corner + distance;
                best = north + distance;
                if (by_west < best) best = by_west, step = 1;
                if (by_corner < best) best = by_corner, step = 2;
            } else {
                if (j && j >= filled) corner = INFINITY; /* past the row above, whose last cell it does not see */
                best = north;
                if (west <= best) best = west, step = 1;
                if (corner <= best) best = corner, step = 2;
                if (best == INFINITY) step = 0; /* no way leads here: nor does a step of both */
                best += distance;
            }
            steps[at++] = step;
            corner = north;
            west = best;
            row[j + 1] = best;
        }
        filled = high + 1;
    }
    *cost = row[m];
    int64_t i = n - 1, j = m - 1;
    while (i >= 0 && j >= 0) {
        cells[2 * count] = i;
        cells[2 * count + 1] = j;
        count++;
        if (i == 0 && j == 0) break;
        uint8_t step = steps[starts[i] + j - window.low[i]];
        if (i == 0) step = 1; /* where no way is finite the steps say nothing: stay inside the window */
        else if (j == 0) step = 0;
        else if (step == 0 && j > window.high[i - 1]) step = j > window.low[i] ? 1 : 2;
        i -= step != 1;
        j -= step != 0;
    }
    for (int64_t a = 0, b = count - 1; a < b; a++, b--)
        for (int side = 0; side < 2; side++) {
            int64_t swap = cells[2 * a + side];
            cells[2 * a + side] = cells[2 * b + side];
            cells[2 * b + side] = swap;
        }
end:
    free(steps);
    free(row);
    free(starts);
    return count;
}

/* The whole of FastDTW; `cells` has room for n + m pairs. Returns their number, 0 when memory runs out. */
static int64_t fast(const Space *space, Level reference, Level query, int64_t radius, Rule rule, double *cost,
                    int64_t *cells) {
    Level r[64], q[64];
    int levels = 1;
    int64_t count = 0, n = query.count;
    int64_t *rows = malloc(sizeof(int64_t) * (size_t)(4 * n));
    r[0] = reference;
    q[0] = query;
    if (!rows) return 0;
    while (r[levels - 1].count >= radius + 2 && q[levels - 1].count >= radius + 2) {
        int halved = halve(space, &r[levels - 1], &r[levels]);
        if (!halved || !halve(space, &q[levels - 1], &q[levels])) {
            if (halved) free(r[levels].own);
            goto end;
        }
        levels++;
    }
    Window window = {rows, rows + n};
    for (int level = levels - 1; level >= 0; level--) {
        const int64_t here = q[level].count;
        if (level == levels - 1)
            for (int64_t i = 0; i < here; i++) {
                window.low[i] = 0;
                window.high[i] = r[level].count - 1;
            }
        else
            widen(window, here, r[level].count, cells, count, q[level + 1].count, radius, rule, rows + 2 * n,
                  rows + 3 * n);
        count = warp_window(space, &r[level], &q[level], window, rule, cost, cells);
        if (!count) break;
    }
end:
    for (int level = 1; level < levels; level++) {
        free(r[level].own);
        free(q[level].own);
    }
    free(rows);
    return count;
}

static PyObject *run_fast(const Space *space, Level r, Level q, int64_t radius, int64_t rule, Array *cells) {
    if (r.count < 1 || q.count < 1 || radius < 0 || LENGTH(*cells, 0) < r.count + q.count || LENGTH(*cells, 1) != 2)
        return refuse("fast: shapes do not fit");
    if (rule != PYTHON && rule != COMPILED) return refuse("fast: the rule is 0 or 1");
    double cost = 0.0;
    PyThreadState *state = PyEval_SaveThread();
    int64_t count = fast(space, r, q, radius, (Rule)rule, &cost, INTS64(*cells));
    for (int64_t c = 0; c < count; c++) { /* the reference's places come first for callers */
        int64_t *cell = INTS64(*cells) + 2 * c, row = cell[0];
        cell[0] = cell[1];
        cell[1] = row;
    }
    PyEval_RestoreThread(state);
    if (!count) return PyErr_NoMemory();
    return Py_BuildValue("(dL)", cost, (long long)count);
}

/* fast_points(reference, query, radius, rule, cells) -> (cost, count) */
KERNEL(kernel_fast_points) {
    Array arrays[3];
    int64_t radius, rule;
    if (!take_arguments("fast_points", args, nargs, "d2 d2 n n l2w", arrays, &radius, &rule)) return NULL;
    const Space space = {(int)LENGTH(arrays[0], 1), NULL, 0};
    const Level r = {.points = DOUBLES(arrays[0]), .count = LENGTH(arrays[0], 0)};
    const Level q = {.points = DOUBLES(arrays[1]), .count = LENGTH(arrays[1], 0)};
    const int fit = space.dimension > 0 && LENGTH(arrays[1], 1) == space.dimension;
    PyObject *result = fit ? run_fast(&space, r, q, radius, rule, &arrays[2]) : refuse("both paths need points of one dimension");
    drop_arrays(arrays, 3);
    return result;
}

/* fast_table(table, reference, query, radius, rule, cells) -> (cost, count) */
KERNEL(kernel_fast_table) {
    Array arrays[4];
    int64_t radius, rule;
    if (!take_arguments("fast_table", args, nargs, "d2 i1 i1 n n l2w", arrays, &radius, &rule)) return NULL;
    const Space space = {0, DOUBLES(arrays[0]), LENGTH(arrays[0], 1)};
    const Level r = {.codes = INTS32(arrays[1]), .count = LENGTH(arrays[1], 0)};
    const Level q = {.codes = INTS32(arrays[2]), .count = LENGTH(arrays[2], 0)};
    const int fit = check_codes(&arrays[1], &arrays[0], 0) && check_codes(&arrays[2], &arrays[0], 1);
    PyObject *result = fit ? run_fast(&space, r, q, radius, rule, &arrays[3]) : NULL;
    drop_arrays(arrays, 4);
    return result;
}
