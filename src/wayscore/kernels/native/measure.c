/* What the metrics are made of, for many episodes in one pass: lengths, end and nearest distances, coverage,
 * edit distance and warping. Formulas over these numbers (success, SPL, nDTW, ...) are the metrics' business.
 *
 * Eight episodes run side by side, one a lane (measure_lanes in lane_kernels.h): a single short episode is a
 * chain of dependent additions, eight of them fill the processor. Long pairs of points run alone, by strips. */
#include "measure.h"

#include "lane_table.h"

/* Where a pair of points stops running in a lane and gets strips of its own. */
static const int64_t LANE_CELLS = 4096;

/* The two paths of an episode, and its number. */
typedef struct {
    Pair pair;
    int64_t number;
} Episode;

/* What is known of an episode once its two paths have been compared place by place. */
typedef struct {
    double warping, closest, largest;
    double deviation, coverage; /* sums */
} Found;

/* What the episodes before had, which often stays as it is: the references that lie in the lanes, and the length of the one
 * that was measured last. */
typedef struct {
    int64_t rows;
    const void *laid[GROUP], *reference;
    double length;
} Last;

static Episode episode_of(const Batch *batch, int64_t e) {
    const int64_t reference = batch->pairing ? batch->pairing[e] : e, k = batch->pair.dimension;
    const int64_t r = batch->r_offsets[reference], q = batch->q_offsets[e];
    Episode at = {batch->pair, e};
    at.pair.n = batch->r_offsets[reference + 1] - r;
    at.pair.m = batch->q_offsets[e + 1] - q;
    if (k) at.pair.r_points += r * k, at.pair.q_points += q * k;
    else at.pair.r_codes += r, at.pair.q_codes += q;
    return at;
}

static inline const void *reference_of(const Pair *pair) {
    return pair->dimension ? (const void *)pair->r_points : (const void *)pair->r_codes;
}

static inline double points_length(const int dimension, const double *points, int64_t count) {
    double length = 0.0;
    for (int64_t i = 0; i + 1 < count; i++)
        length += point_distance(dimension, points + i * dimension, points + (i + 1) * dimension);
    return length;
}

/* The length of a path: of points, of codes, or by its steps. */
static double path_length(const Pair *pair, const double *points, const int32_t *codes, const double *steps, int64_t count) {
    double length = 0.0;
    if (pair->dimension == 3) return points_length(3, points, count);
    if (pair->dimension) return points_length(pair->dimension, points, count);
    for (int64_t i = 0; i + 1 < count; i++) length += steps ? steps[i] : pair->table[codes[i] * pair->columns + codes[i + 1]];
    return length;
}

static inline double distance_of(const Batch *batch, const Pair *pair, int64_t i, int64_t j) {
    return batch->block ? batch->block[i * pair->m + j] : cell_cost(pair->dimension, pair, i, j);
}

static inline int is_same_place(const int dimension, const Pair *pair, int64_t i, int64_t j) {
    if (!dimension) return pair->r_codes[i] == pair->q_codes[j];
    int axis = 0;
    while (axis < dimension && pair->r_points[i * dimension + axis] == pair->q_points[j * dimension + axis]) axis++;
    return axis == dimension;
}

/* The edit distance of the two sequences of edges: how many must be replaced, inserted or left out. `row` has room for two
 * numbers for each place of the query: a row of the distances, and whether its places are the reference's i-th. */
static inline int32_t count_edits(const int dimension, const Pair *pair, int32_t *row) {
    const int32_t n = (int32_t)pair->n, m = (int32_t)pair->m;
    int32_t *same = row + m;
    for (int32_t j = 0; j < m; j++) {
        row[j] = j;
        same[j] = is_same_place(dimension, pair, 0, j);
    }
    for (int32_t i = 1; i < n; i++) {
        int32_t corner = row[0], starts_same = same[0], west = row[0] = i;
        same[0] = is_same_place(dimension, pair, i, 0);
        for (int32_t j = 1; j < m; j++) {
            const int32_t ends_same = is_same_place(dimension, pair, i, j), north = row[j];
            const int32_t aside = (north < west ? north : west) + 1, replaced = corner + !(starts_same & ends_same);
            row[j] = west = replaced < aside ? replaced : aside;
            corner = north;
            starts_same = same[j];
            same[j] = ends_same;
        }
    }
    return row[m - 1];
}

/* Writes an episode's numbers; returns 0 when memory runs out. */
static int finish(const Batch *batch, const Episode *at, const Found *found, Last *last) {
    const Pair *pair = &at->pair;
    const int64_t n = pair->n, m = pair->m, stride = batch->stride;
    double *out = batch->out + at->number, end = distance_of(batch, pair, n - 1, m - 1);
    if (last->reference != reference_of(pair)) {
        last->reference = reference_of(pair);
        last->length = path_length(pair, pair->r_points, pair->r_codes, batch->r_steps, n);
    }
    out[QUERY_LENGTH * stride] = path_length(pair, pair->q_points, pair->q_codes, batch->q_steps, m);
    out[REFERENCE_LENGTH * stride] = last->length;
    out[END * stride] = end;
    out[CLOSEST * stride] = found->closest;
    out[START * stride] = distance_of(batch, pair, n - 1, 0);
    out[MEAN_DEVIATION * stride] = found->deviation / (double)m;
    out[MAX_DEVIATION * stride] = found->largest;
    out[COVERAGE * stride] = batch->scale > 0.0 ? found->coverage / (double)n : 0.0;
    out[WARPING * stride] = found->warping;
    out[REFERENCE_COUNT * stride] = (double)n;
    out[QUERY_COUNT * stride] = (double)m;
    int64_t edits = (n > m ? n : m) - 1; /* the most there can be */
    if (end <= batch->reach) {
        int32_t few[256], *row = m <= 128 ? few : malloc(sizeof(int32_t) * 2 * (size_t)m);
        if (!row) return 0;
        edits = pair->dimension ? count_edits(pair->dimension, pair, row) : count_edits(0, pair, row);
        if (row != few) free(row);
    }
    out[EDITS * stride] = (double)edits;
    return 1;
}

/* One long pair of points, by strips. The root is monotone, so the least root is the root of the least square, to the
 * bit. */
static int measure_alone(const Batch *batch, const Episode *at, Last *last) {
    const Pair *pair = &at->pair;
    const int64_t n = pair->n, m = pair->m;
    const int near = batch->compare & COMPARE_NEAREST;
    double *top = malloc(sizeof(double) * (size_t)(2 * (n + m) + 2 + STRIP_ROWS));
    if (!top) return 0;
    double *left = top + m + 1, *nearest = left + n + 1, *covered = nearest + m;
    fresh_borders(top, m, left, n);
    for (int64_t j = 0; j < m; j++) nearest[j] = INFINITY;
    int done = warp_tile(pair, top, left, near ? nearest : NULL, near ? covered : NULL);
    Found found = {.warping = batch->compare & COMPARE_WARPING ? top[m] : 0.0};
    for (int64_t i = 0; done && near && i < n; i++) {
        found.closest = sqrt(covered[i]);
        if (batch->scale > 0.0) found.coverage += exp(-found.closest / batch->scale);
    }
    for (int64_t j = 0; done && near && j < m; j++) {
        double distance = sqrt(nearest[j]);
        found.deviation += distance;
        found.largest = distance > found.largest ? distance : found.largest;
    }
    done = done && finish(batch, at, &found, last);
    free(top);
    return done;
}

/* One lane's points, coordinate by coordinate, the last one repeated up to `padded`. */
static void spread(double *lane, const double *points, int64_t count, int64_t padded, int k) {
    for (int64_t i = 0; i < padded; i++)
        for (int axis = 0; axis < k; axis++)
            lane[(i * k + axis) * GROUP] = points[(i < count ? i : count - 1) * k + axis];
}

/* How many bytes eight episodes of this size take side by side. */
static size_t bytes_needed(const Group *group) {
    const size_t k = (size_t)group->dimension, rows = (size_t)group->rows, columns = (size_t)group->columns;
    const size_t looked_up = k ? 0 : rows * sizeof(const double *) + columns * sizeof(int32_t);
    return GROUP * (sizeof(double) * (rows * (1 + k) + columns * (2 + k)) + looked_up);
}

/* Lay eight episodes side by side in `memory`. The references' parts come first: they often stay as they are. */
static void lay_out(const Batch *batch, const Episode *episodes, Group *group, Last *last, char *memory) {
    const int k = group->dimension;
#define PART(field, type, count)                                                                                \
    group->field = (type *)memory;                                                                              \
    memory += sizeof(type) * (size_t)(count) * GROUP;
    PART(row, const double *, k ? 0 : group->rows)
    PART(reference, double, group->rows * k)
    PART(covered, double, group->rows)
    PART(previous, double, group->columns)
    PART(nearest, double, group->columns)
    PART(query, double, group->columns * k)
    PART(column, int32_t, k ? 0 : group->columns)
#undef PART
    int same_references = group->rows == last->rows;
    for (int l = 0; l < GROUP; l++) {
        same_references &= last->laid[l] == reference_of(&episodes[l].pair);
        last->laid[l] = reference_of(&episodes[l].pair);
    }
    last->rows = group->rows;
    for (int l = 0; l < GROUP; l++) {
        const Pair *at = &episodes[l].pair;
        group->n[l] = at->n;
        group->m[l] = at->m;
        if (k) {
            if (!same_references) spread(group->reference + l, at->r_points, at->n, group->rows, k);
            spread(group->query + l, at->q_points, at->m, group->columns, k);
            continue;
        }
        const double **row = group->row + l;
        int32_t *column = group->column + l;
        for (int64_t i = 0; i < at->n && !same_references; i++)
            row[i * GROUP] = batch->block ? batch->block + i * at->m : at->table + at->r_codes[i] * at->columns;
        for (int64_t i = at->n; i < group->rows && !same_references; i++) row[i * GROUP] = row[(at->n - 1) * GROUP];
        for (int64_t j = 0; j < at->m; j++) column[j * GROUP] = batch->block ? (int32_t)j : at->q_codes[j];
        for (int64_t j = at->m; j < group->columns; j++) column[j * GROUP] = column[(at->m - 1) * GROUP];
    }
}

int measure(const Batch *batch) {
    Group group = {.dimension = batch->pair.dimension, .compare = batch->compare, .scale = batch->scale};
    Last last = {0};
    char *memory = NULL;
    size_t capacity = 0;
    int done = 1;
    for (int64_t e = 0; done && e < batch->episodes;) {
        Episode episodes[GROUP];
        int taken = 0;
        group.rows = group.columns = 0;
        for (; done && taken < GROUP && e < batch->episodes; e++) {
            const Episode at = episode_of(batch, e);
            if (!batch->compare) {
                done = finish(batch, &at, &(Found){0}, &last);
            } else if (group.dimension && at.pair.n * at.pair.m > LANE_CELLS) {
                done = measure_alone(batch, &at, &last);
            } else {
                group.rows = at.pair.n > group.rows ? at.pair.n : group.rows;
                group.columns = at.pair.m > group.columns ? at.pair.m : group.columns;
                episodes[taken++] = at;
            }
        }
        if (!done || !taken) break;
        for (int l = taken; l < GROUP; l++) episodes[l] = episodes[0];
        size_t needed = bytes_needed(&group);
        if (needed > capacity) {
            free(memory);
            memory = malloc(capacity = 2 * needed);
            if (!(done = memory != NULL)) break;
            last.rows = 0;
        }
        lay_out(batch, episodes, &group, &last, memory);
        lane_kernels->measure_group(&group);
        for (int l = 0; done && l < taken; l++) {
            Found found = {0};
            if (batch->compare & COMPARE_WARPING) found.warping = group.warping[l];
            if (batch->compare & COMPARE_NEAREST) {
                found.closest = group.covered[(episodes[l].pair.n - 1) * GROUP + l];
                found.deviation = group.deviation[l];
                found.largest = group.largest[l];
                found.coverage = group.coverage[l];
            }
            done = finish(batch, &episodes[l], &found, &last);
        }
    }
    free(memory);
    return done;
}

/* The arguments that both kernels end with: compare, scale, reach, out, first. Episode e is written to column first + e of
 * `out`. */
#define REST " n x x d2w n"

/* How many places a path has, 0 or fewer where they do not lie within an array of `most`. */
static int64_t count_at(const int64_t *offsets, int64_t path, int64_t most) {
    return offsets[path] >= 0 && offsets[path + 1] <= most ? offsets[path + 1] - offsets[path] : 0;
}

/* Check what both kernels share, and measure. */
static PyObject *run(Batch *batch, const Number *numbers, const Array *out, int64_t references) {
    const int64_t first = numbers[3].n;
    batch->compare = (int)numbers[0].n & (COMPARE_WARPING | COMPARE_NEAREST);
    batch->scale = numbers[1].x;
    batch->reach = numbers[2].x;
    batch->stride = LENGTH(*out, 1);
    batch->out = DOUBLES(*out) + first;
    if (LENGTH(*out, 0) != MEASURES || first < 0 || batch->episodes < 0 || first + batch->episodes > batch->stride)
        return refuse("measure: shapes do not fit");
    for (int64_t e = 0; e < batch->episodes; e++) {
        const int64_t reference = batch->pairing ? batch->pairing[e] : e;
        if (reference < 0 || reference >= references || count_at(batch->r_offsets, reference, batch->pair.n) < 1 ||
            count_at(batch->q_offsets, e, batch->pair.m) < 1)
            return refuse("measure: offsets do not fit the places");
    }
    PyThreadState *state = PyEval_SaveThread();
    const int done = measure(batch);
    PyEval_RestoreThread(state);
    return done ? none() : PyErr_NoMemory();
}

/* measure(table, r, q, r_offsets, q_offsets, pairing, compare, scale, reach, out, first) */
KERNEL(measure, "d2? p p l1 l1 l1?" REST) {
    const Array *table = arrays, *pairing = arrays + 5;
    const int64_t references = LENGTH(arrays[3], 0) - 1;
    Batch batch = {.r_offsets = INTS64(arrays[3]), .q_offsets = INTS64(arrays[4]), .episodes = LENGTH(arrays[4], 0) - 1,
                   .pairing = pairing->held ? INTS64(*pairing) : NULL};
    if ((pairing->held ? LENGTH(*pairing, 0) : references) != batch.episodes) return refuse("measure: shapes do not fit");
    if (table->held && LENGTH(*table, 0) != LENGTH(*table, 1)) return refuse("measure: a table needs as many rows as columns");
    return take_pair(arrays, &batch.pair) ? run(&batch, numbers, arrays + 6, references) : NULL;
}

/* measure_block(block, r_steps, q_steps, r, q, compare, scale, reach, out, first): one episode, whose distances are given.
 * block[i][j] = d(r_i, q_j); steps[k] = d(place k, place k + 1); codes say which places are the same. */
KERNEL(measure_block, "d2 d1 d1 i1 i1" REST) {
    const int64_t n = LENGTH(arrays[0], 0), m = LENGTH(arrays[0], 1), r_offsets[2] = {0, n}, q_offsets[2] = {0, m};
    Batch batch = {.pair = {.n = n, .m = m, .r_codes = INTS32(arrays[3]), .q_codes = INTS32(arrays[4])},
                   .block = DOUBLES(arrays[0]), .r_steps = DOUBLES(arrays[1]), .q_steps = DOUBLES(arrays[2]),
                   .r_offsets = r_offsets, .q_offsets = q_offsets, .episodes = 1};
    if (LENGTH(arrays[1], 0) != n || LENGTH(arrays[2], 0) != m || LENGTH(arrays[3], 0) != n || LENGTH(arrays[4], 0) != m)
        return refuse("measure_block: shapes do not fit");
    return run(&batch, numbers, arrays + 5, 1);
}
