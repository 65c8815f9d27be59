/* What the metrics are made of, for many episodes in one pass: lengths, end and nearest distances, coverage,
 * edit distance and warping. Formulas over these numbers (success, SPL, nDTW, ...) are the metrics' business.
 *
 * Eight episodes run side by side, one a lane (measure_lanes in lane_kernels.h): a single short episode is a
 * chain of dependent additions, eight of them fill the processor. Long pairs of points run alone, by strips. */
#include "measure.h"

#include "lane_table.h"
#include "native.h"
#include "warp.h"

/* Where a pair of points stops running in a lane and gets strips of its own. */
static const int64_t LANE_CELLS = 4096;

typedef struct {
    int64_t r, n, q, m; /* first place and number of places of both paths */
    int64_t number;
} Episode;

/* What is known of an episode once its two paths have been compared place by place. */
typedef struct {
    double query_length, reference_length, warping, closest, largest;
    double deviation, coverage; /* sums */
} Found;

static Episode episode_of(const Batch *batch, int64_t e) {
    int64_t reference = batch->pairing ? batch->pairing[e] : e;
    int64_t r = batch->r_offsets[reference], q = batch->q_offsets[e];
    return (Episode){r, batch->r_offsets[reference + 1] - r, q, batch->q_offsets[e + 1] - q, e};
}

static inline double points_length(const int dimension, const double *points, int64_t count) {
    double length = 0.0;
    for (int64_t i = 0; i + 1 < count; i++)
        length += point_distance(dimension, points + i * dimension, points + (i + 1) * dimension);
    return length;
}

static double path_length(const Batch *batch, int reference, int64_t first, int64_t count) {
    double length = 0.0;
    const int64_t last = first + count - 1, k = batch->dimension;
    if (k) {
        const double *points = (reference ? batch->r_points : batch->q_points) + first * k;
        return k == 3 ? points_length(3, points, count) : points_length((int)k, points, count);
    } else if (batch->table) {
        const int32_t *codes = reference ? batch->r_codes : batch->q_codes;
        for (int64_t i = first; i < last; i++) length += batch->table[codes[i] * batch->table_size + codes[i + 1]];
    } else {
        const double *steps = reference ? batch->r_steps : batch->q_steps;
        for (int64_t i = first; i < last; i++) length += steps[i];
    }
    return length;
}

static inline double pair_distance(const Batch *batch, const Episode *at, int64_t i, int64_t j) {
    const int64_t k = batch->dimension;
    if (k) return point_distance((int)k, batch->r_points + (at->r + i) * k, batch->q_points + (at->q + j) * k);
    if (batch->table) return batch->table[batch->r_codes[at->r + i] * batch->table_size + batch->q_codes[at->q + j]];
    return batch->block[i * at->m + j];
}

static inline int is_same_place(const int dimension, const Batch *batch, int64_t r, int64_t q) {
    if (!dimension) return batch->r_codes[r] == batch->q_codes[q];
    int axis = 0;
    while (axis < dimension && batch->r_points[r * dimension + axis] == batch->q_points[q * dimension + axis]) axis++;
    return axis == dimension;
}

/* The edit distance of the two sequences of edges: how many must be replaced, inserted or left out. `row` has room for two
 * numbers for each place of the query: a row of the distances, and whether its places are the reference's i-th. */
static inline int32_t count_edits(const int dimension, const Batch *batch, const Episode *at, int32_t *row) {
    const int32_t n = (int32_t)at->n, m = (int32_t)at->m;
    int32_t *same = row + m;
    for (int32_t j = 0; j < m; j++) {
        row[j] = j;
        same[j] = is_same_place(dimension, batch, at->r, at->q + j);
    }
    for (int32_t i = 1; i < n; i++) {
        int32_t corner = row[0], starts_same = same[0], west = row[0] = i;
        same[0] = is_same_place(dimension, batch, at->r + i, at->q);
        for (int32_t j = 1; j < m; j++) {
            const int32_t ends_same = is_same_place(dimension, batch, at->r + i, at->q + j), north = row[j];
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
static int finish(const Batch *batch, const Episode *at, const Found *found) {
    double *out = batch->out + at->number;
    const int64_t stride = batch->stride;
    double end = pair_distance(batch, at, at->n - 1, at->m - 1);
    out[QUERY_LENGTH * stride] = found->query_length;
    out[REFERENCE_LENGTH * stride] = found->reference_length;
    out[END * stride] = end;
    out[CLOSEST * stride] = found->closest;
    out[START * stride] = pair_distance(batch, at, at->n - 1, 0);
    out[MEAN_DEVIATION * stride] = found->deviation / (double)at->m;
    out[MAX_DEVIATION * stride] = found->largest;
    out[COVERAGE * stride] = batch->scale > 0.0 ? found->coverage / (double)at->n : 0.0;
    out[WARPING * stride] = found->warping;
    out[REFERENCE_COUNT * stride] = (double)at->n;
    out[QUERY_COUNT * stride] = (double)at->m;
    int64_t edits = (at->n > at->m ? at->n : at->m) - 1; /* the most there can be */
    if (end <= batch->reach) {
        int32_t few[256], *row = at->m <= 128 ? few : malloc(sizeof(int32_t) * 2 * (size_t)at->m);
        if (!row) return 0;
        edits = batch->dimension ? count_edits(batch->dimension, batch, at, row) : count_edits(0, batch, at, row);
        if (row != few) free(row);
    }
    out[EDITS * stride] = (double)edits;
    return 1;
}

/* One long pair of points, by strips. The root is monotone, so the least root is the root of the least square, to the
 * bit. */
static int measure_alone(const Batch *batch, const Episode *at) {
    const int k = batch->dimension, near = batch->compare & COMPARE_NEAREST;
    const Pair pair = {.dimension = k, .n = at->n, .m = at->m, .r_points = batch->r_points + at->r * k,
                       .q_points = batch->q_points + at->q * k};
    double *top = malloc(sizeof(double) * (size_t)(2 * (at->n + at->m) + 2 + STRIP_ROWS));
    if (!top) return 0;
    double *left = top + at->m + 1, *nearest = left + at->n + 1, *covered = nearest + at->m;
    fresh_borders(top, at->m, left, at->n);
    for (int64_t j = 0; j < at->m; j++) nearest[j] = INFINITY;
    int done = warp_tile(&pair, top, left, near ? nearest : NULL, near ? covered : NULL);
    Found found = {.query_length = path_length(batch, 0, at->q, at->m),
                   .reference_length = path_length(batch, 1, at->r, at->n),
                   .warping = batch->compare & COMPARE_WARPING ? top[at->m] : 0.0};
    for (int64_t i = 0; done && near && i < at->n; i++) {
        found.closest = sqrt(covered[i]);
        if (batch->scale > 0.0) found.coverage += exp(-found.closest / batch->scale);
    }
    for (int64_t j = 0; done && near && j < at->m; j++) {
        double distance = sqrt(nearest[j]);
        found.deviation += distance;
        found.largest = distance > found.largest ? distance : found.largest;
    }
    done = done && finish(batch, at, &found);
    free(top);
    return done;
}

/* One lane's points, coordinate by coordinate, the last one repeated up to `padded`. */
static void spread(double *lane, const double *points, int64_t count, int64_t padded, int k) {
    for (int64_t i = 0; i < padded; i++)
        for (int axis = 0; axis < k; axis++)
            lane[(i * k + axis) * GROUP] = points[(i < count ? i : count - 1) * k + axis];
}

/* The references that lie in the lanes. */
typedef struct {
    int64_t rows, r[GROUP];
} Laid;

/* How many bytes eight episodes of this size take side by side. */
static size_t bytes_needed(const Batch *batch, const Group *group) {
    const size_t k = (size_t)batch->dimension, rows = (size_t)group->rows, columns = (size_t)group->columns;
    const size_t looked_up = k ? 0 : rows * sizeof(const double *) + columns * sizeof(int32_t);
    return GROUP * (sizeof(double) * (rows * (1 + k) + columns * (2 + k)) + looked_up);
}

/* Lay eight episodes side by side in `memory`. The references' parts come first: they often stay as they are. */
static void lay_out(const Batch *batch, const Episode *episodes, Group *group, Laid *laid, char *memory) {
    const int k = batch->dimension;
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
    int same_references = !batch->block && group->rows == laid->rows;
    for (int l = 0; l < GROUP; l++) {
        same_references &= laid->r[l] == episodes[l].r;
        laid->r[l] = episodes[l].r;
    }
    laid->rows = group->rows;
    for (int l = 0; l < GROUP; l++) {
        const Episode *at = &episodes[l];
        group->n[l] = at->n;
        group->m[l] = at->m;
        if (k) {
            if (!same_references) spread(group->reference + l, batch->r_points + at->r * k, at->n, group->rows, k);
            spread(group->query + l, batch->q_points + at->q * k, at->m, group->columns, k);
            continue;
        }
        const double **row = group->row + l, *block = batch->block;
        const int32_t *r = batch->r_codes + at->r, *q = batch->q_codes + at->q;
        int32_t *column = group->column + l;
        for (int64_t i = 0; i < at->n && !same_references; i++) row[i * GROUP] = block ? block + i * at->m : batch->table + r[i] * batch->table_size;
        for (int64_t i = at->n; i < group->rows && !same_references; i++) row[i * GROUP] = row[(at->n - 1) * GROUP];
        for (int64_t j = 0; j < at->m; j++) column[j * GROUP] = block ? (int32_t)j : q[j];
        for (int64_t j = at->m; j < group->columns; j++) column[j * GROUP] = column[(at->m - 1) * GROUP];
    }
}

/* What eight episodes have in common with the ones before them. */
typedef struct {
    int64_t reference;
    double length;
} Last;

static int finish_lane(const Batch *batch, const Episode *at, Found found, Last *last) {
    if (at->r != last->reference) *last = (Last){at->r, path_length(batch, 1, at->r, at->n)};
    found.query_length = path_length(batch, 0, at->q, at->m);
    found.reference_length = last->length;
    return finish(batch, at, &found);
}

int measure(const Batch *batch) {
    Group group = {.dimension = batch->dimension, .compare = batch->compare, .scale = batch->scale};
    Laid laid = {0};
    Last last = {.reference = -1};
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
                done = finish_lane(batch, &at, (Found){0}, &last);
            } else if (batch->dimension && at.n * at.m > LANE_CELLS) {
                done = measure_alone(batch, &at);
            } else {
                group.rows = at.n > group.rows ? at.n : group.rows;
                group.columns = at.m > group.columns ? at.m : group.columns;
                episodes[taken++] = at;
            }
        }
        if (!done || !taken) break;
        for (int l = taken; l < GROUP; l++) episodes[l] = episodes[0];
        size_t needed = bytes_needed(batch, &group);
        if (needed > capacity) {
            free(memory);
            memory = malloc(capacity = 2 * needed);
            if (!(done = memory != NULL)) break;
            laid.rows = 0;
        }
        lay_out(batch, episodes, &group, &laid, memory);
        lane_kernels->measure_group(&group);
        for (int l = 0; done && l < taken; l++) {
            Found found = {0};
            if (batch->compare & COMPARE_WARPING) found.warping = group.warping[l];
            if (batch->compare & COMPARE_NEAREST) {
                found.closest = group.covered[(episodes[l].n - 1) * GROUP + l];
                found.deviation = group.deviation[l];
                found.largest = group.largest[l];
                found.coverage = group.coverage[l];
            }
            done = finish_lane(batch, &episodes[l], found, &last);
        }
    }
    free(memory);
    return done;
}

/* The arguments that both kernels end with: compare, scale, reach, out, first. Episode e is written to column first + e of
 * `out`. */
#define REST " n x x d2w n"

/* Check what both kernels share, and measure. */
static PyObject *run(Batch *batch, const Number *numbers, const Array *out, int64_t references, int64_t r_count,
                     int64_t q_count) {
    const int64_t first = numbers[3].n;
    batch->compare = (int)numbers[0].n & (COMPARE_WARPING | COMPARE_NEAREST);
    batch->scale = numbers[1].x;
    batch->reach = numbers[2].x;
    batch->stride = LENGTH(*out, 1);
    batch->out = DOUBLES(*out) + first;
    if (LENGTH(*out, 0) != MEASURES || first < 0 || batch->episodes < 0 || first + batch->episodes > batch->stride)
        return refuse("measure: shapes do not fit");
    for (int64_t e = 0; e < batch->episodes; e++) { /* every episode must lie inside its arrays and have places */
        const int64_t reference = batch->pairing ? batch->pairing[e] : e;
        if (reference >= 0 && reference < references) {
            const Episode at = episode_of(batch, e);
            if (at.r >= 0 && at.n > 0 && at.r + at.n <= r_count && at.q >= 0 && at.m > 0 && at.q + at.m <= q_count) continue;
        }
        return refuse("measure: offsets do not fit the places");
    }
    PyThreadState *state = PyEval_SaveThread();
    const int done = measure(batch);
    PyEval_RestoreThread(state);
    return done ? none() : PyErr_NoMemory();
}

/* measure(table, r, r_offsets, q, q_offsets, pairing, compare, scale, reach, out, first) */
KERNEL(measure, "d2? p l1 p l1 l1?" REST) {
    const Array *table = arrays, *r = arrays + 1, *q = arrays + 3, *pairing = arrays + 5;
    const int64_t references = LENGTH(arrays[2], 0) - 1;
    Batch batch = {.r_offsets = INTS64(arrays[2]), .q_offsets = INTS64(arrays[4]), .episodes = LENGTH(arrays[4], 0) - 1,
                   .pairing = pairing->held ? INTS64(*pairing) : NULL};
    if ((pairing->held ? LENGTH(*pairing, 0) : references) != batch.episodes) return refuse("measure: shapes do not fit");
    if (table->held) {
        batch.table = DOUBLES(*table), batch.table_size = LENGTH(*table, 1);
        batch.r_codes = INTS32(*r), batch.q_codes = INTS32(*q);
        if (LENGTH(*table, 0) != batch.table_size) return refuse("measure: a table needs as many rows as columns");
        if (!check_codes(r, table, 0) || !check_codes(q, table, 1)) return NULL;
    } else {
        batch.r_points = DOUBLES(*r), batch.q_points = DOUBLES(*q), batch.dimension = (int)LENGTH(*r, 1);
        if (batch.dimension < 1 || LENGTH(*q, 1) != batch.dimension) return refuse("both sides need points of one dimension");
    }
    return run(&batch, numbers, arrays + 6, references, LENGTH(*r, 0), LENGTH(*q, 0));
}

/* measure_block(block, r_steps, q_steps, r, q, compare, scale, reach, out, first): one episode, whose distances are given.
 * block[i][j] = d(r_i, q_j); steps[k] = d(place k, place k + 1); codes say which places are the same. */
KERNEL(measure_block, "d2 d1 d1 i1 i1" REST) {
    const int64_t n = LENGTH(arrays[0], 0), m = LENGTH(arrays[0], 1), r_offsets[2] = {0, n}, q_offsets[2] = {0, m};
    Batch batch = {.block = DOUBLES(arrays[0]), .r_steps = DOUBLES(arrays[1]), .q_steps = DOUBLES(arrays[2]),
                   .r_codes = INTS32(arrays[3]), .q_codes = INTS32(arrays[4]), .r_offsets = r_offsets,
                   .q_offsets = q_offsets, .episodes = 1};
    if (LENGTH(arrays[1], 0) != n || LENGTH(arrays[2], 0) != m || LENGTH(arrays[3], 0) != n || LENGTH(arrays[4], 0) != m)
        return refuse("measure_block: shapes do not fit");
    return run(&batch, numbers, arrays + 5, 1, n, m);
}
