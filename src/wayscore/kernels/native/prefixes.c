/* Many walks that answer one reference begin alike, and many are the same. A column of C, the least distances and the
 * sums depend on the walk up to that place alone, so here they are made once for each distinct beginning (a prefix),
 * and all numbers once for each distinct walk. The additions are those of measure_lanes, in the same order. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lane_table.h"
#include "measure.h"

enum { MOST_STEPS = 8192, MOST_ROWS = 16, FEWEST_EPISODES = 32, SLOT_BITS = 14, SLOTS = 1 << SLOT_BITS, ROOT = 1 };
/* After so many steps sharing goes on only if it halves them: where walks differ, eight side by side are faster. */
enum { TRIAL = 2048 };

struct Prefixes {
    int64_t steps, made; /* so far: how many steps were walked, and how many prefixes they took */
    int64_t rows;        /* of the reference, in eights */
    int64_t count, columns;
    uint16_t slots[SLOTS]; /* a hash table: numbers of prefixes, 0 where free */
    /* of each prefix; 1 is the empty one, and a parent comes before its children */
    uint64_t step[MOST_STEPS + 2]; /* its parent and, from bit 16 on, its last code */
    int64_t first[MOST_STEPS + 2]; /* the first episode that is this prefix, or -1 */
    double length[MOST_STEPS + 2], deviation[MOST_STEPS + 2], largest[MOST_STEPS + 2];
    double warping[(MOST_STEPS + 2) * MOST_ROWS]; /* a column of C */
    double covered[(MOST_STEPS + 2) * MOST_ROWS], share[(MOST_STEPS + 2) * MOST_ROWS]; /* d(r_i, Q), its exponential */
    /* of each episode: its prefix; and the episodes that go on */
    uint16_t prefix[MOST_STEPS], walking[MOST_STEPS];
    /* of each code that was met: distances to the reference, their exponentials, the least distance */
    double distances[MOST_STEPS * MOST_ROWS], shares[MOST_STEPS * MOST_ROWS], nearest[MOST_STEPS];
    int32_t column[]; /* where these are, or -1: of all codes */
};

static inline int32_t code_of(const Prefixes *all, int64_t prefix) { return (int32_t)(all->step[prefix] >> 16); }

int has_prefixes(const Batch *batch, int64_t e, const Prefixes *all) {
    if (!batch->table || !batch->pairing || !batch->compare || e + FEWEST_EPISODES > batch->episodes) return 0;
    if (all && all->steps > TRIAL && 2 * all->made > all->steps) return 0;
    const int64_t reference = batch->pairing[e], last = batch->pairing[e + FEWEST_EPISODES - 1];
    return reference == last && batch->r_offsets[reference + 1] - batch->r_offsets[reference] <= MOST_ROWS &&
           batch->q_offsets[e + 1] - batch->q_offsets[e] <= MOST_STEPS;
}

/* The number of the prefix that goes on from `parent` to `code`. */
static inline uint16_t go_on(Prefixes *all, uint16_t parent, int32_t code) {
    const uint64_t step = (uint64_t)(uint32_t)code << 16 | (uint64_t)parent;
    uint64_t slot = step * 0x9e3779b97f4a7c15u >> (64 - SLOT_BITS);
    while (all->step[all->slots[slot]] != step) {
        if (!all->slots[slot]) {
            all->step[all->count] = step;
            return all->slots[slot] = (uint16_t)all->count++;
        }
        slot = (slot + 1) % SLOTS;
    }
    return all->slots[slot];
}

/* Find the prefix of every episode, step by step for all of them: one walk alone would wait for each look-up. */
static void find_prefixes(Prefixes *all, const int32_t *codes, const int64_t *offsets, int64_t episodes) {
    memset(all->slots, 0, sizeof(all->slots));
    all->step[0] = ~(uint64_t)0;
    all->count = ROOT + 1;
    for (int64_t e = 0; e < episodes; e++) {
        all->walking[e] = (uint16_t)e;
        all->prefix[e] = ROOT;
    }
    for (int64_t step = 0, walking = episodes; walking; step++) {
        int64_t going = 0;
        for (int64_t w = 0; w < walking; w++) {
            const uint16_t e = all->walking[w];
            const int64_t at = offsets[e] + step;
            all->prefix[e] = go_on(all, all->prefix[e], codes[at]);
            all->walking[going] = e;
            going += at + 1 < offsets[e + 1];
        }
        walking = going;
    }
}

/* The distances of a code to all places of the reference: where they are. */
static inline int64_t column_of(Prefixes *all, const Batch *batch, const Episode *at, int32_t code) {
    if (all->column[code] >= 0) return all->column[code];
    const int64_t made = all->columns++;
    double *distances = all->distances + made * all->rows, least = INFINITY;
    for (int64_t i = 0; i < all->rows; i++) {
        const int32_t place = batch->r_codes[at->r + (i < at->n ? i : at->n - 1)];
        distances[i] = batch->table[place * batch->table_size + code];
        least = distances[i] < least ? distances[i] : least;
    }
    double *shares = all->shares + made * all->rows;
    if (batch->scale > 0.0) lane_kernels->shares(distances, all->rows, batch->scale, shares);
    else memset(shares, 0, sizeof(double) * (size_t)all->rows);
    all->nearest[made] = least;
    return all->column[code] = (int32_t)made;
}

/* Compute what is known of every prefix from what is known of its parent. */
static void grow(Prefixes *all, const Batch *batch, const Episode *at) {
    const int64_t rows = all->rows;
    all->columns = 0;
    for (int64_t code = 0; code < batch->table_size; code++) all->column[code] = -1;
    for (int64_t i = 0; i < rows; i++) {
        all->warping[ROOT * rows + i] = all->covered[ROOT * rows + i] = INFINITY;
        all->share[ROOT * rows + i] = 0.0;
    }
    all->length[ROOT] = all->deviation[ROOT] = all->largest[ROOT] = 0.0;
    for (int64_t p = ROOT + 1; p < all->count; p++) {
        const int64_t parent = all->step[p] & 0xffff, column = column_of(all, batch, at, code_of(all, p));
        const double *distances = all->distances + column * rows, *shares = all->shares + column * rows;
        const double *west = all->warping + parent * rows;
        double *cell = all->warping + p * rows, north = INFINITY, corner = parent == ROOT ? 0.0 : INFINITY;
        for (int64_t i = 0; i < at->n; i++) {
            const double before = corner < west[i] ? corner : west[i];
            corner = west[i];
            cell[i] = north = distances[i] + (north < before ? north : before);
        }
        const double *covered = all->covered + parent * rows, *share = all->share + parent * rows;
        lane_kernels->cover(rows, distances, shares, covered, share, all->covered + p * rows, all->share + p * rows);
        const double near = all->nearest[column], largest = all->largest[parent];
        all->deviation[p] = all->deviation[parent] + near;
        all->largest[p] = near > largest ? near : largest;
        all->length[p] = all->length[parent];
        if (parent != ROOT) all->length[p] += batch->table[code_of(all, parent) * batch->table_size + code_of(all, p)];
        all->first[p] = -1;
    }
}

static Found found_of(const Prefixes *all, const Batch *batch, const Episode *at, int64_t p, double reference_length) {
    Found found = {.query_length = all->length[p], .reference_length = reference_length};
    const int64_t last = p * all->rows + at->n - 1;
    if (batch->compare & COMPARE_WARPING) found.warping = all->warping[last];
    if (batch->compare & COMPARE_NEAREST) {
        found.closest = all->covered[last];
        found.deviation = all->deviation[p];
        found.largest = all->largest[p];
        for (int64_t i = p * all->rows; batch->scale > 0.0 && i <= last; i++) found.coverage += all->share[i];
    }
    return found;
}

int64_t measure_prefixes(const Batch *batch, int64_t e, Prefixes **held) {
    if (!*held) {
        if (!(*held = malloc(sizeof(Prefixes) + sizeof(int32_t) * (size_t)batch->table_size))) return -1;
        (*held)->steps = (*held)->made = 0;
    }
    Prefixes *all = *held;
    const int64_t begin = batch->q_offsets[e];
    Episode at = episode_of(batch, e);
    int64_t stop = e;
    while (stop < batch->episodes && batch->pairing[stop] == batch->pairing[e] &&
           batch->q_offsets[stop + 1] - begin <= MOST_STEPS)
        stop++;
    all->rows = (at.n + GROUP - 1) / GROUP * GROUP;
    find_prefixes(all, batch->q_codes, batch->q_offsets + e, stop - e);
    grow(all, batch, &at);
    const double reference_length = path_length(batch, 1, at.r, at.n);
    for (int64_t number = e; number < stop; number++) {
        const int64_t p = all->prefix[number - e], first = all->first[p];
        if (first >= 0) {
            double *out = batch->out;
            for (int64_t measure = 0; measure < MEASURES; measure++, out += batch->stride) out[number] = out[first];
            continue;
        }
        all->first[p] = number;
        at.number = number;
        at.q = batch->q_offsets[number];
        at.m = batch->q_offsets[number + 1] - at.q;
        const Found found = found_of(all, batch, &at, p, reference_length);
        if (!finish(batch, &at, &found)) return -1;
    }
    all->steps += batch->q_offsets[stop] - begin;
    all->made += all->count;
    return stop - e;
}
