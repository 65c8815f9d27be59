/* FastDTW (Salvador and Chan): warp halves of the paths first, then only look near that warping. Its windows, ties and two
 * rules are those of the `fastdtw` package; plain/fast.py describes them. Rows are the query's, columns the reference's. */
#include "warp.h"

typedef enum { PYTHON, COMPILED } Rule;

static void average(const double *points, int64_t count, int dimension, double *out) {
    for (int64_t i = 0; i < count; i++)
        for (int axis = 0; axis < dimension; axis++, out++)
            *out = (points[2 * i * dimension + axis] + points[(2 * i + 1) * dimension + axis]) / 2;
}

/* Halve both paths: the mean of every two points, or every second node. Returns the memory of the halves, or NULL. */
static void *halve(const Pair *from, Pair *to) {
    const size_t k = (size_t)from->dimension, places = (size_t)(from->n / 2 + from->m / 2);
    void *memory = malloc((k ? sizeof(double) * k : sizeof(int32_t)) * places + 1);
    *to = *from;
    to->n = from->n / 2;
    to->m = from->m / 2;
    if (memory && k) {
        double *r = memory, *q = r + to->n * from->dimension;
        average(from->r_points, to->n, from->dimension, r);
        average(from->q_points, to->m, from->dimension, q);
        to->r_points = r;
        to->q_points = q;
    } else if (memory) {
        int32_t *r = memory, *q = r + to->n;
        for (int64_t i = 0; i < to->n; i++) r[i] = from->r_codes[2 * i];
        for (int64_t j = 0; j < to->m; j++) q[j] = from->q_codes[2 * j];
        to->r_codes = r;
        to->q_codes = q;
    }
    return memory;
}

/* Which columns, low[i] to high[i], may be matched with row i, and the first and the last that the halved paths' warping
 * matches with a row of theirs. */
typedef struct {
    int64_t *low, *high, *first, *last;
} Window;

/* The window of this level, given the warping (`cells`, `count` of them) of the halved paths. */
static void widen(Window window, int64_t n, int64_t m, const int64_t *cells, int64_t count, int64_t radius, Rule rule) {
    const int64_t half_rows = n / 2;
    for (int64_t c = 0; c < count; c++) { /* cells are in order: the first column of a row comes first */
        int64_t column = cells[2 * c], row = cells[2 * c + 1];
        if (c == 0 || cells[2 * c - 1] != row) window.first[row] = column;
        window.last[row] = column;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t half = rule == COMPILED && i / 2 == half_rows ? half_rows - 1 : i / 2;
        int64_t from = half - radius, to = half + radius;
        from = from < 0 ? 0 : from >= half_rows ? half_rows - 1 : from;
        to = to >= half_rows ? half_rows - 1 : to;
        int64_t low = 2 * (window.first[from] - radius), high = 2 * (window.last[to] + radius) + 1;
        window.low[i] = low < 0 ? 0 : low;
        window.high[i] = high >= m ? m - 1 : high;
    }
    window.high[n - 1] = m - 1; /* radius 0 and an odd number of columns would leave the last one out */
}

/* C inside the window, and the warping found there, first cell (of the reference, of the query) first. Returns its
 * number of cells, 0 when memory runs out. */
static int64_t warp_window(const Pair *pair, Window window, Rule rule, double *cost, int64_t *cells) {
    const int64_t n = pair->m, m = pair->n;
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
            double north = i && j < filled ? row[j + 1] : INFINITY, best;
            double distance = pair->dimension == 3 ? cell_cost(3, pair, j, i) : cell_cost(pair->dimension, pair, j, i);
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
        cells[2 * count] = j;
        cells[2 * count + 1] = i;
        count++;
        if (i == 0 && j == 0) break;
        uint8_t step = steps[starts[i] + j - window.low[i]];
        if (i == 0) step = 1; /* where no way is finite the steps say nothing: stay inside the window */
        else if (j == 0) step = 0;
        else if (step == 0 && j > window.high[i - 1]) step = j > window.low[i] ? 1 : 2;
        i -= step != 1;
        j -= step != 0;
    }
    reverse_cells(cells, count);
end:
    free(steps);
    free(row);
    free(starts);
    return count;
}

/* The whole of FastDTW; `cells` has room for n + m pairs. Returns their number, 0 when memory runs out. */
static int64_t fast(const Pair *pair, int64_t radius, Rule rule, double *cost, int64_t *cells) {
    Pair pairs[64] = {*pair};
    void *memory[64];
    const int64_t rows = pair->m;
    int64_t count = 0, *numbers = malloc(sizeof(int64_t) * (size_t)(4 * rows));
    const Window window = {numbers, numbers + rows, numbers + 2 * rows, numbers + 3 * rows};
    int levels = 1, enough = numbers != NULL;
    while (enough && pairs[levels - 1].n >= radius + 2 && pairs[levels - 1].m >= radius + 2) {
        memory[levels] = halve(&pairs[levels - 1], &pairs[levels]);
        enough = memory[levels++] != NULL;
    }
    for (int level = levels - 1; enough && level >= 0; level--) {
        const int64_t n = pairs[level].m, m = pairs[level].n;
        if (level < levels - 1) widen(window, n, m, cells, count, radius, rule);
        for (int64_t i = 0; level == levels - 1 && i < n; i++) {
            window.low[i] = 0;
            window.high[i] = m - 1;
        }
        count = warp_window(&pairs[level], window, rule, cost, cells);
        enough = count > 0;
    }
    for (int level = 1; level < levels; level++) free(memory[level]);
    free(numbers);
    return enough ? count : 0;
}

/* fast(table, reference, query, radius, rule, cells) -> (cost, count) */
KERNEL(fast, "d2? p p n n l2w") {
    const int64_t radius = numbers[0].n, rule = numbers[1].n;
    Pair pair;
    if (!take_pair(arrays, &pair)) return NULL;
    if (pair.n < 1 || pair.m < 1 || radius < 0 || LENGTH(arrays[3], 0) < pair.n + pair.m || LENGTH(arrays[3], 1) != 2)
        return refuse("fast: shapes do not fit");
    if (rule != PYTHON && rule != COMPILED) return refuse("fast: the rule is 0 or 1");
    double cost = 0.0;
    PyThreadState *state = PyEval_SaveThread();
    const int64_t count = fast(&pair, radius, (Rule)rule, &cost, INTS64(arrays[3]));
    PyEval_RestoreThread(state);
    return count ? Py_BuildValue("(dL)", cost, (long long)count) : PyErr_NoMemory();
}
