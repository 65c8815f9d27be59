/* What the metrics are made of, for many episodes in one pass: lengths, end and nearest distances, coverage,
 * edit distance and warping. Formulas over these numbers (success, SPL, nDTW, ...) are the metrics' business.
 *
 * Eight episodes run side by side, one a lane (measure_lanes in lane_kernels.h): a single short episode is a
 * chain of dependent additions, eight of them fill the processor. Long pairs of points run alone, by strips. */
#include "lane_table.h"
#include "native.h"
#include "warp.h"

enum { QUERY_LENGTH, REFERENCE_LENGTH, END, CLOSEST, START, MEAN_DEVIATION, MAX_DEVIATION, COVERAGE, EDITS, WARPING, REFERENCE_COUNT,
       QUERY_COUNT, COLUMNS };

/* Where a pair of points stops running in a lane and gets strips of its own. */
static const int64_t LANE_CELLS = 4096;

typedef struct {
    /* places: codes into a table or identities of block rows, or points */
    const int32_t *r_codes, *q_codes;
    const double *r_points, *q_points;
    int dimension; /* 0 for codes */
    const int64_t *r_offsets, *q_offsets, *pairing;
    /* distances: a table over codes, or one block an episode with the steps of all paths */
    const double *table, *blocks, *r_steps, *q_steps;
    int64_t table_size;
    const int64_t *block_offsets;
    /* what to compute */
    double scale; /* of the coverage's exponential; 0: leave coverage out */
    double reach; /* edit distances only of episodes that end this near; negative: of none */
    double *out;
    int64_t stride; /* from one row of `out` to the next */
    int64_t episodes;
} Batch;

typedef struct {
    int64_t r, n, q, m; /* first place and number of places of both paths */
    int64_t number;
} Episode;

static Episode episode_of(const Batch *batch, int64_t e) {
    int64_t reference = batch->pairing ? batch->pairing[e] : e;
    int64_t r = batch->r_offsets[reference], q = batch->q_offsets[e];
    return (Episode){r, batch->r_offsets[reference + 1] - r, q, batch->q_offsets[e + 1] - q, e};
}

static inline double path_length(const Batch *batch, int reference, int64_t first, int64_t count) {
    double length = 0.0;
    const int64_t last = first + count - 1, k = batch->dimension;
    if (k) {
        const double *points = reference ? batch->r_points : batch->q_points;
        for (int64_t i = first; i < last; i++) length += point_distance((int)k, points + i * k, points + (i + 1) * k);
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
    return batch->blocks[batch->block_offsets[at->number] + i * at->m + j];
}

/* Bit i of the words: is r_i the same place as q_j? */
static void same_places(const Batch *batch, const Episode *at, int64_t j, uint64_t *words, int64_t count) {
    const int64_t k = batch->dimension;
    for (int64_t w = 0; w < count; w++) words[w] = 0;
    for (int64_t i = 0; i < at->n; i++) {
        uint64_t same = k == 0;
        if (k) {
            const double *a = batch->r_points + (at->r + i) * k, *b = batch->q_points + (at->q + j) * k;
            int64_t axis = 0;
            while (axis < k && a[axis] == b[axis]) axis++;
            same = axis == k;
        } else {
            same = batch->r_codes[at->r + i] == batch->q_codes[at->q + j];
        }
        words[i / 64] |= same << (i % 64);
    }
}

/* Levenshtein distance of the two sequences of edges, 64 cells of a column at once (Myers; Hyyrö). `scratch`
 * holds four runs of words for |R| bits. */
static int64_t edit_distance(const Batch *batch, const Episode *at, uint64_t *scratch) {
    const int64_t edges = at->n - 1, words = (at->n + 63) / 64;
    if (!edges) return at->m - 1;
    uint64_t *up = scratch, *down = up + words, *here = down + words, *next = here + words;
    const int64_t last_word = (edges - 1) / 64;
    const uint64_t last_bit = (uint64_t)1 << ((edges - 1) % 64);
    int64_t distance = edges;
    for (int64_t w = 0; w < words; w++) {
        up[w] = ~(uint64_t)0;
        down[w] = 0;
    }
    same_places(batch, at, 0, here, words);
    for (int64_t j = 0; j + 1 < at->m; j++) {
        same_places(batch, at, j + 1, next, words);
        uint64_t up_in = 1, down_in = 0;
        for (int64_t w = 0; w <= last_word; w++) {
            uint64_t shifted = next[w] >> 1 | (w + 1 < words ? next[w + 1] << 63 : 0);
            uint64_t equal = here[w] & shifted; /* edge i equals edge j when both their ends do */
            uint64_t vertical = equal | down[w];
            equal |= down_in;
            uint64_t horizontal = (((equal & up[w]) + up[w]) ^ up[w]) | equal;
            uint64_t rise = down[w] | ~(horizontal | up[w]), fall = up[w] & horizontal;
            if (w == last_word) distance += (rise & last_bit) ? 1 : (fall & last_bit) ? -1 : 0;
            uint64_t up_out = rise >> 63, down_out = fall >> 63;
            rise = rise << 1 | up_in;
            fall = fall << 1 | down_in;
            up[w] = fall | ~(vertical | rise);
            down[w] = rise & vertical;
            up_in = up_out;
            down_in = down_out;
        }
        uint64_t *swap = here;
        here = next;
        next = swap;
    }
    return distance;
}

/* What is known of an episode once its two paths have been compared place by place. */
typedef struct {
    double warping, closest, deviation, largest, coverage; /* deviation and coverage are sums */
} Compared;

/* Write an episode's numbers. */
static inline int finish(const Batch *batch, const Episode *at, const Compared *compared, double reference_length) {
    double *out = batch->out + at->number;
    const int64_t stride = batch->stride;
    double end = pair_distance(batch, at, at->n - 1, at->m - 1);
    out[QUERY_LENGTH * stride] = path_length(batch, 0, at->q, at->m);
    out[REFERENCE_LENGTH * stride] = reference_length;
    out[END * stride] = end;
    out[CLOSEST * stride] = compared->closest;
    out[START * stride] = pair_distance(batch, at, at->n - 1, 0);
    out[MEAN_DEVIATION * stride] = compared->deviation / (double)at->m;
    out[MAX_DEVIATION * stride] = compared->largest;
    out[COVERAGE * stride] = batch->scale > 0.0 ? compared->coverage / (double)at->n : 0.0;
    out[WARPING * stride] = compared->warping;
    out[REFERENCE_COUNT * stride] = (double)at->n;
    out[QUERY_COUNT * stride] = (double)at->m;
    int64_t edits = (at->n > at->m ? at->n : at->m) - 1; /* the most there can be */
    if (end <= batch->reach) {
        uint64_t few[32], *scratch = few;
        int64_t words = (at->n + 63) / 64;
        if (words > 8 && !(scratch = malloc(sizeof(uint64_t) * (size_t)(4 * words)))) return 0;
        edits = edit_distance(batch, at, scratch);
        if (scratch != few) free(scratch);
    }
    out[EDITS * stride] = (double)edits;
    return 1;
}

/* One long pair of points: strips for C, a scan for the nearest distances (squares first: the root is monotone,
 * so the least root is the root of the least square, to the bit). */
static int measure_alone(const Batch *batch, const Episode *at) {
    const int k = batch->dimension;
    const double *reference = batch->r_points + at->r * k, *query = batch->q_points + at->q * k;
    int64_t stride;
    double *left, *top = new_borders(at->n, at->m, &left);
    double *reversed = reverse_points(query, at->m, k, &stride);
    int done = 0;
    if (!top || !reversed || !warp_tile(k, reference, at->n, query, at->m, top, left)) goto end;
    Compared compared = {.warping = top[at->m]};
    double *nearest = top; /* C is done with it */
    for (int64_t j = 0; j < at->m; j++) nearest[j] = INFINITY;
    for (int64_t i = 0; i < at->n; i++) {
        compared.closest =
            sqrt(lane_kernels->nearest_squares(k, reference + i * k, reversed + STRIP_ROWS, stride, at->m, nearest));
        if (batch->scale > 0.0) compared.coverage += exp(-compared.closest / batch->scale);
    }
    for (int64_t j = at->m - 1; j >= 0; j--) { /* the query is reversed */
        double near = sqrt(nearest[j]);
        compared.deviation += near;
        compared.largest = near > compared.largest ? near : compared.largest;
    }
    done = finish(batch, at, &compared, path_length(batch, 1, at->r, at->n));
end:
    free(top);
    free(reversed);
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
    int same_references = !batch->blocks && group->rows == laid->rows;
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
        const double **row = group->row + l, *block = batch->blocks ? batch->blocks + batch->block_offsets[at->number] : NULL;
        const int32_t *r = batch->r_codes + at->r, *q = batch->q_codes + at->q;
        int32_t *column = group->column + l;
        for (int64_t i = 0; i < at->n && !same_references; i++) row[i * GROUP] = block ? block + i * at->m : batch->table + r[i] * batch->table_size;
        for (int64_t i = at->n; i < group->rows && !same_references; i++) row[i * GROUP] = row[(at->n - 1) * GROUP];
        for (int64_t j = 0; j < at->m; j++) column[j * GROUP] = block ? (int32_t)j : q[j];
        for (int64_t j = at->m; j < group->columns; j++) column[j * GROUP] = column[(at->m - 1) * GROUP];
    }
}

static int measure(const Batch *batch) {
    Group group = {.dimension = batch->dimension, .scale = batch->scale};
    Laid laid = {0};
    char *memory = NULL;
    size_t capacity = 0;
    int done = 1;
    int64_t last_reference = -1;
    double reference_length = 0.0;
    for (int64_t e = 0; done && e < batch->episodes;) {
        Episode episodes[GROUP];
        int taken = 0;
        group.rows = group.columns = 0;
        for (; taken < GROUP && e < batch->episodes; e++) {
            Episode at = episode_of(batch, e);
            if (batch->dimension && at.n * at.m > LANE_CELLS) {
                if (!(done = measure_alone(batch, &at))) break;
                continue;
            }
            group.rows = at.n > group.rows ? at.n : group.rows;
            group.columns = at.m > group.columns ? at.m : group.columns;
            episodes[taken++] = at;
        }
        if (!done || !taken) break;
        for (int l = taken; l < GROUP; l++) episodes[l] = episodes[0];
        size_t needed = bytes_needed(batch, &group);
        if (needed > capacity) {
            free(memory);
            memory = malloc(capacity = 2 * needed);
            if (!memory) return 0;
            laid.rows = 0;
        }
        lay_out(batch, episodes, &group, &laid, memory);
        lane_kernels->measure_group(&group);
        for (int l = 0; done && l < taken; l++) {
            if (episodes[l].r != last_reference) reference_length = path_length(batch, 1, episodes[l].r, episodes[l].n);
            last_reference = episodes[l].r;
            Compared compared = {group.warping[l], group.covered[(episodes[l].n - 1) * GROUP + l], group.deviation[l],
                                 group.largest[l], group.coverage[l]};
            done = finish(batch, &episodes[l], &compared, reference_length);
        }
    }
    free(memory);
    return done;
}

/* The arguments that all three kernels end with: pairing, scale, reach, out, first. Episode e is written to column
 * first + e of `out`. */
#define REST 5
static int take_rest(PyObject *const *args, Array *arrays, Batch *batch, int64_t episodes) {
    int64_t first;
    if (!take_array(args[0], &arrays[0], 'l', 1, 0, 1) || !take_double(args[1], &batch->scale) ||
        !take_double(args[2], &batch->reach) || !take_array(args[3], &arrays[1], 'd', 2, 1, 0) ||
        !take_count(args[4], &first))
        return 0;
    batch->pairing = arrays[0].held ? INTS64(arrays[0]) : NULL;
    batch->stride = LENGTH(arrays[1], 1);
    batch->episodes = episodes;
    if (LENGTH(arrays[1], 0) == COLUMNS && first >= 0 && episodes >= 0 && first + episodes <= batch->stride &&
        (!batch->pairing || LENGTH(arrays[0], 0) == episodes)) {
        batch->out = DOUBLES(arrays[1]) + first;
        return 1;
    }
    PyErr_SetString(PyExc_ValueError, "measure: shapes do not fit");
    return 0;
}

/* Every episode must lie inside its arrays and have places. */
static int check_offsets(const Batch *batch, const Array *r_offsets, int64_t r_count, int64_t q_count) {
    int64_t references = LENGTH(*r_offsets, 0) - 1;
    int fits = batch->pairing || references == batch->episodes;
    for (int64_t e = 0; fits && e < batch->episodes; e++) {
        int64_t reference = batch->pairing ? batch->pairing[e] : e;
        if (reference < 0 || reference >= references) {
            fits = 0;
            break;
        }
        Episode at = episode_of(batch, e);
        fits = at.r >= 0 && at.n > 0 && at.r + at.n <= r_count && at.q >= 0 && at.m > 0 && at.q + at.m <= q_count;
    }
    if (!fits) PyErr_SetString(PyExc_ValueError, "measure: offsets do not fit the places");
    return fits;
}

static PyObject *run(Batch *batch, Array *arrays, int count, const Array *r_offsets, int64_t r_count, int64_t q_count) {
    PyObject *result = NULL;
    if (check_offsets(batch, r_offsets, r_count, q_count)) {
        PyThreadState *state = PyEval_SaveThread();
        int done = measure(batch);
        PyEval_RestoreThread(state);
        if (done) {
            Py_INCREF(Py_None);
            result = Py_None;
        } else {
            PyErr_NoMemory();
        }
    }
    drop_arrays(arrays, count);
    return result;
}

/* measure_table(table, r, r_offsets, q, q_offsets, pairing, scale, reach, out, first) */
KERNEL(kernel_measure_table) {
    (void)self;
    Array arrays[7] = {{.held = 0}};
    Batch batch = {0};
    if (!need_arguments("measure_table", nargs, 5 + REST) || !take_array(args[0], &arrays[0], 'd', 2, 0, 0) ||
        !take_array(args[1], &arrays[1], 'i', 1, 0, 0) || !take_array(args[2], &arrays[2], 'l', 1, 0, 0) ||
        !take_array(args[3], &arrays[3], 'i', 1, 0, 0) || !take_array(args[4], &arrays[4], 'l', 1, 0, 0) ||
        !check_codes(&arrays[1], &arrays[0]) || !check_codes(&arrays[3], &arrays[0]) ||
        !take_rest(args + 5, arrays + 5, &batch, LENGTH(arrays[4], 0) - 1)) {
        drop_arrays(arrays, 7);
        return NULL;
    }
    batch.table = DOUBLES(arrays[0]);
    batch.table_size = LENGTH(arrays[0], 1);
    batch.r_codes = INTS32(arrays[1]);
    batch.r_offsets = INTS64(arrays[2]);
    batch.q_codes = INTS32(arrays[3]);
    batch.q_offsets = INTS64(arrays[4]);
    return run(&batch, arrays, 7, &arrays[2], LENGTH(arrays[1], 0), LENGTH(arrays[3], 0));
}

/* measure_points(r, r_offsets, q, q_offsets, pairing, scale, reach, out, first) */
KERNEL(kernel_measure_points) {
    (void)self;
    Array arrays[6] = {{.held = 0}};
    Batch batch = {0};
    if (!need_arguments("measure_points", nargs, 4 + REST) || !take_array(args[0], &arrays[0], 'd', 2, 0, 0) ||
        !take_array(args[1], &arrays[1], 'l', 1, 0, 0) || !take_array(args[2], &arrays[2], 'd', 2, 0, 0) ||
        !take_array(args[3], &arrays[3], 'l', 1, 0, 0) || !take_rest(args + 4, arrays + 4, &batch, LENGTH(arrays[3], 0) - 1)) {
        drop_arrays(arrays, 6);
        return NULL;
    }
    batch.dimension = (int)LENGTH(arrays[0], 1);
    if (batch.dimension < 1 || LENGTH(arrays[2], 1) != batch.dimension) {
        PyErr_SetString(PyExc_ValueError, "both sides need points of one dimension");
        drop_arrays(arrays, 6);
        return NULL;
    }
    batch.r_points = DOUBLES(arrays[0]);
    batch.r_offsets = INTS64(arrays[1]);
    batch.q_points = DOUBLES(arrays[2]);
    batch.q_offsets = INTS64(arrays[3]);
    return run(&batch, arrays, 6, &arrays[1], LENGTH(arrays[0], 0), LENGTH(arrays[2], 0));
}

/* measure_block(blocks, block_offsets, r_steps, q_steps, r, r_offsets, q, q_offsets, pairing, scale, reach, out,
 * first)
 * blocks[block_offsets[e] + i * m + j] = d(r_i, q_j) of episode e; steps[k] = d(place k, place k + 1). */
KERNEL(kernel_measure_block) {
    (void)self;
    Array arrays[10] = {{.held = 0}};
    Batch batch = {0};
    static const char kinds[] = "dlddilil";
    if (!need_arguments("measure_block", nargs, 8 + REST)) return NULL;
    for (int a = 0; a < 8; a++)
        if (!take_array(args[a], &arrays[a], kinds[a], 1, 0, 0)) goto fail;
    if (!take_rest(args + 8, arrays + 8, &batch, LENGTH(arrays[7], 0) - 1)) goto fail;
    batch.blocks = DOUBLES(arrays[0]);
    batch.block_offsets = INTS64(arrays[1]);
    batch.r_steps = DOUBLES(arrays[2]);
    batch.q_steps = DOUBLES(arrays[3]);
    batch.r_codes = INTS32(arrays[4]);
    batch.r_offsets = INTS64(arrays[5]);
    batch.q_codes = INTS32(arrays[6]);
    batch.q_offsets = INTS64(arrays[7]);
    int64_t r_count = LENGTH(arrays[4], 0), q_count = LENGTH(arrays[6], 0);
    int fits = LENGTH(arrays[1], 0) == batch.episodes && LENGTH(arrays[2], 0) == r_count && LENGTH(arrays[3], 0) == q_count;
    if (fits && !check_offsets(&batch, &arrays[5], r_count, q_count)) goto fail;
    for (int64_t e = 0; fits && e < batch.episodes; e++) {
        Episode at = episode_of(&batch, e);
        fits = batch.block_offsets[e] >= 0 && batch.block_offsets[e] + at.n * at.m <= LENGTH(arrays[0], 0);
    }
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "measure_block: shapes do not fit");
        goto fail;
    }
    return run(&batch, arrays, 10, &arrays[5], r_count, q_count);
fail:
    drop_arrays(arrays, 10);
    return NULL;
}
