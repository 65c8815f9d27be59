/* Dynamic time warping: C[i][j] = d(r_i, q_j) + min(C[i-1][j], C[i][j-1], C[i-1][j-1]) (the paper's Alg. 1).
 *
 * A call fills one tile of C. `top` (m + 1 values) is the row above it and `left` (n + 1) the column before
 * it, both beginning with the corner they share; on return they hold the tile's last row and last column, the
 * borders of the tiles below and to the right. */
#include "lane_table.h"
#include "warp.h"

/* Row by row. `choices`, where given, has a word for each cell. */
static inline void warp_rows(const int dimension, const Pair *pair, double *top, double *left, uint32_t *choices) {
    for (int64_t i = 0; i < pair->n; i++) {
        double corner = top[0], west = left[i + 1];
        top[0] = west;
        for (int64_t j = 0; j < pair->m; j++) {
            const double north = top[j + 1], best = least(least(north, corner), west);
            if (choices)
                choices[i * pair->m + j] = (uint32_t)(corner <= best) | (uint32_t)(north <= west) << STRIP_ROWS;
            west = cell_cost(dimension, pair, i, j) + best;
            corner = north;
            top[j + 1] = west;
        }
        left[i + 1] = west;
    }
}

/* The query as strips read it: last place first, both ends repeated, one array for each coordinate. */
static void reverse_query(const Pair *pair, double *points, int32_t *codes, int64_t stride) {
    const int k = pair->dimension;
    for (int64_t at = 0; at < stride; at++) {
        int64_t j = pair->m - 1 - (at - STRIP_ROWS);
        j = j < 0 ? 0 : j >= pair->m ? pair->m - 1 : j;
        if (!k) codes[at] = pair->q_codes[j];
        for (int axis = 0; axis < k; axis++) points[axis * stride + at] = pair->q_points[j * k + axis];
    }
}

/* C by strips. `choices`, where given, has a word for each step of each strip. */
static int warp_strips(const Pair *pair, double *top, double *left, double *nearest, double *covered, uint32_t *choices) {
    const int k = pair->dimension;
    const int64_t stride = pair->m + 2 * STRIP_ROWS;
    double few[1024], *memory = few;
    const size_t needed = k ? (size_t)(k * (stride + STRIP_ROWS)) : (size_t)(stride + 1) / 2;
    if (needed > 1024 && !(memory = malloc(sizeof(double) * needed))) return 0;
    Strip strip = {.dimension = k, .m = pair->m, .stride = stride, .top = top, .rows_by_axis = memory,
                   .reversed = memory + k * STRIP_ROWS, .codes = (int32_t *)memory, .nearest = nearest};
    reverse_query(pair, memory + k * STRIP_ROWS, (int32_t *)memory, stride);
    const double beside = top[pair->m];
    for (int64_t i = 0; i < pair->n; i += STRIP_ROWS) {
        strip.rows = (int)(pair->n - i < STRIP_ROWS ? pair->n - i : STRIP_ROWS);
        strip.left = left + i + 1;
        if (k) strip.reference = pair->r_points + i * k;
        for (int row = 0; !k && row < STRIP_ROWS; row++)
            strip.row[row] = pair->table + pair->r_codes[i + (row < strip.rows ? row : strip.rows - 1)] * pair->columns;
        if (choices) {
            strip.choices = choices + i / STRIP_ROWS * (pair->m + STRIP_ROWS);
            lane_kernels->strip_choices(&strip);
        } else if (nearest) {
            strip.covered = covered + i;
            lane_kernels->strip_nearest(&strip);
        } else {
            lane_kernels->strip_values(&strip);
        }
    }
    left[0] = beside;
    if (memory != few) free(memory);
    return 1;
}

int warp_tile(const Pair *pair, double *top, double *left, double *nearest, double *covered) {
    if (nearest || pair->n * pair->m > SHORT_CELLS) return warp_strips(pair, top, left, nearest, covered, NULL);
    const double beside = top[pair->m];
    switch (pair->dimension) {
    case 0: warp_rows(0, pair, top, left, NULL); break;
    case 2:
    case 3: lane_kernels->short_rows(pair, top, left); break;
    default: warp_rows(pair->dimension, pair, top, left, NULL);
    }
    left[0] = beside;
    return 1;
}

/* Follow choices back from cell (i, j); see trace_tile. The word of a cell, of which each strip of `rows` rows has `words`,
 * has bit 0 set (once shifted by the cell's row in the strip) where the cell comes from the diagonal, bit 16 where its upper
 * neighbour is at most its left one. */
static inline int64_t follow(const uint32_t *choices, const int rows, int64_t words, int64_t i, int64_t j, int64_t *cells) {
    int64_t count = 0;
    while (i >= 0 && j >= 0) {
        const uint32_t choice = choices[i / rows * words + i % rows + j] >> i % rows;
        const int diagonal = choice & 1, upper = choice >> STRIP_ROWS & 1;
        cells[2 * count] = i;
        cells[2 * count + 1] = j;
        count++;
        i -= diagonal | upper;
        j -= diagonal | !upper;
    }
    cells[2 * count] = i;
    cells[2 * count + 1] = j;
    return count;
}

int64_t trace_tile(const Pair *pair, double *top, double *left, int64_t i, int64_t j, int64_t *cells) {
    Pair used = *pair;
    used.n = i + 1;
    used.m = j + 1;
    if (used.n * used.m <= SHORT_CELLS) {
        uint32_t choices[SHORT_CELLS];
        switch (used.dimension) {
        case 0: warp_rows(0, &used, top, left, choices); break;
        case 3: warp_rows(3, &used, top, left, choices); break;
        default: warp_rows(used.dimension, &used, top, left, choices);
        }
        return follow(choices, 1, used.m, i, j, cells);
    }
    const int64_t words = used.m + STRIP_ROWS, strips = (used.n + STRIP_ROWS - 1) / STRIP_ROWS;
    uint32_t *choices = malloc(sizeof(uint32_t) * (size_t)(strips * words));
    const int filled = choices && warp_strips(&used, top, left, NULL, NULL, choices);
    const int64_t count = filled ? follow(choices, STRIP_ROWS, words, i, j, cells) : -1;
    free(choices);
    return count;
}

int take_pair(const Array *arrays, Pair *pair) {
    const Array *table = arrays, *r = arrays + 1, *q = arrays + 2;
    *pair = (Pair){.n = LENGTH(*r, 0), .m = LENGTH(*q, 0)};
    if (table->held) {
        if (!check_codes(r, table, 0) || !check_codes(q, table, 1)) return 0;
        pair->r_codes = INTS32(*r), pair->q_codes = INTS32(*q);
        pair->table = DOUBLES(*table), pair->columns = LENGTH(*table, 1);
    } else {
        pair->r_points = DOUBLES(*r), pair->q_points = DOUBLES(*q), pair->dimension = (int)LENGTH(*r, 1);
    }
    if (table->held || (pair->dimension > 0 && LENGTH(*q, 1) == pair->dimension)) return 1;
    refuse("both paths need points of one dimension");
    return 0;
}

/* Fill a tile or, where a cell is given, trace from it. In `arrays` are the pair, its borders (new ones where both are None),
 * and room for the cells. Tracing leaves the borders. */
static PyObject *run_tile(const Array *arrays, const int64_t *cell) {
    const Array *borders = arrays + 3, *cells = arrays + 5;
    double *own = NULL, *top = DOUBLES(borders[0]), *left = DOUBLES(borders[1]);
    Pair pair;
    if (!take_pair(arrays, &pair)) return NULL;
    const int64_t n = pair.n, m = pair.m;
    if (n < 1 || m < 1) return refuse("both paths need nodes or points");
    if (!top != !left || (top && (LENGTH(borders[0], 0) != m + 1 || LENGTH(borders[1], 0) != n + 1)))
        return refuse("borders must have one more value than the tile has columns and rows");
    if (cell && (cell[0] < 0 || cell[1] < 0 || cell[0] >= n || cell[1] >= m || LENGTH(*cells, 0) < cell[0] + cell[1] + 2 ||
                 LENGTH(*cells, 1) != 2))
        return refuse("trace: shapes do not fit");
    if (!top || cell) {
        if (!(own = malloc(sizeof(double) * (size_t)(n + m + 2)))) return PyErr_NoMemory();
        if (top) {
            memcpy(own, top, sizeof(double) * (size_t)(m + 1));
            memcpy(own + m + 1, left, sizeof(double) * (size_t)(n + 1));
        } else {
            fresh_borders(own, m, own + m + 1, n);
        }
        top = own;
        left = own + m + 1;
    }
    PyThreadState *state = PyEval_SaveThread();
    const int64_t count = cell ? trace_tile(&pair, top, left, cell[0], cell[1], INTS64(*cells))
                               : warp_tile(&pair, top, left, NULL, NULL) - 1;
    PyEval_RestoreThread(state);
    PyObject *result = count < 0 ? PyErr_NoMemory()
                       : cell    ? Py_BuildValue("dL", top[cell[1] + 1], (long long)count)
                                 : PyFloat_FromDouble(top[m]);
    free(own);
    return result;
}

/* warp(table, reference, query, top, left) -> C at the tile's last cell */
KERNEL(warp, "d2? p p d1w? d1w?") { return run_tile(arrays, NULL); }

/* trace(table, reference, query, top, left, i, j, cells) -> (C at that cell, count); see trace_tile */
KERNEL(trace, "d2? p p d1? d1? n n l2w") {
    const int64_t cell[2] = {numbers[0].n, numbers[1].n};
    return run_tile(arrays, cell);
}

/* euclidean_block(a, b, out) */
KERNEL(euclidean_block, "d2 d2 d2w") {
    const int64_t n = LENGTH(arrays[0], 0), m = LENGTH(arrays[1], 0), dimension = LENGTH(arrays[0], 1);
    if (LENGTH(arrays[1], 1) != dimension || LENGTH(arrays[2], 0) != n || LENGTH(arrays[2], 1) != m)
        return refuse("euclidean_block: shapes do not fit");
    double *by_axis = malloc(sizeof(double) * (size_t)(m * dimension + 1));
    if (!by_axis) return PyErr_NoMemory();
    const double *a = DOUBLES(arrays[0]), *b = DOUBLES(arrays[1]);
    double *out = DOUBLES(arrays[2]);
    PyThreadState *state = PyEval_SaveThread();
    for (int64_t axis = 0; axis < dimension; axis++)
        for (int64_t j = 0; j < m; j++) by_axis[axis * m + j] = b[j * dimension + axis];
    for (int64_t i = 0; i < n; i++)
        lane_kernels->distances_to((int)dimension, a + i * dimension, by_axis, m, m, out + i * m);
    PyEval_RestoreThread(state);
    free(by_axis);
    return none();
}

/* all_within(numbers, largest) -> is every |number| at most that? NaN is not. */
KERNEL(all_within, "d2 x") {
    return PyBool_FromLong(all_within(DOUBLES(arrays[0]), LENGTH(arrays[0], 0) * LENGTH(arrays[0], 1), numbers[0].x));
}
