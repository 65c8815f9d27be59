/* The edit distance of two paths: how many edges must be replaced, inserted or left out. */
#include <stdlib.h>

#include "measure.h"

enum { FEW_WORDS = 32, FEW_CELLS = 4096 };

static inline int same_point(const double *a, const double *b, int64_t dimension) {
    int64_t axis = 0;
    while (axis < dimension && a[axis] == b[axis]) axis++;
    return axis == dimension;
}

static inline uint64_t hash_point(const double *point, int64_t dimension) {
    uint64_t hash = 0;
    for (int64_t axis = 0; axis < dimension; axis++) {
        union { double value; uint64_t bits; } as = {point[axis] + 0.0}; /* -0 equals 0 */
        hash = (hash ^ as.bits) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    return hash;
}

static inline uint64_t hash_code(int32_t code) { return (uint64_t)(uint32_t)code * 0x9e3779b97f4a7c15u >> 16; }

/* Which places of the reference are the same as a place of the query: buckets by hash, each a chain. Short pairs do
 * without and compare all. */
typedef struct {
    const Batch *batch;
    const Episode *at;
    int64_t *buckets, *next;
    uint64_t mask;
} Finder;

static inline int same(const Finder *finder, int64_t i, int64_t j) {
    const Batch *batch = finder->batch;
    const int64_t k = batch->dimension, r = finder->at->r + i, q = finder->at->q + j;
    return k ? same_point(batch->r_points + r * k, batch->q_points + q * k, k) : batch->r_codes[r] == batch->q_codes[q];
}

static inline uint64_t bucket(const Finder *finder, const double *points, const int32_t *codes, int64_t at) {
    const int64_t k = finder->batch->dimension;
    return (k ? hash_point(points + at * k, k) : hash_code(codes[at])) & finder->mask;
}

static int open_finder(Finder *finder) {
    const int64_t n = finder->at->n;
    int64_t size = 16;
    while (size < 2 * n) size *= 2;
    if (!(finder->buckets = malloc(sizeof(int64_t) * (size_t)(size + n)))) return 0;
    finder->next = finder->buckets + size;
    finder->mask = (uint64_t)size - 1;
    for (int64_t b = 0; b < size; b++) finder->buckets[b] = -1;
    for (int64_t i = 0; i < n; i++) {
        int64_t *first = finder->buckets + bucket(finder, finder->batch->r_points, finder->batch->r_codes, finder->at->r + i);
        finder->next[i] = *first;
        *first = i;
    }
    return 1;
}

/* Bit i of the words: is r_i the same place as q_j? */
static void find_same(const Finder *finder, int64_t j, uint64_t *words, int64_t count) {
    for (int64_t w = 0; w < count; w++) words[w] = 0;
    if (!finder->buckets) {
        for (int64_t i = 0; i < finder->at->n; i++) words[i / 64] |= (uint64_t)same(finder, i, j) << (i % 64);
        return;
    }
    int64_t i = finder->buckets[bucket(finder, finder->batch->q_points, finder->batch->q_codes, finder->at->q + j)];
    for (; i >= 0; i = finder->next[i]) words[i / 64] |= (uint64_t)same(finder, i, j) << (i % 64);
}

/* 64 cells of a column at once (Myers; Hyyrö). `scratch` holds four runs of words for |R| bits. */
static int64_t count_edits(const Finder *finder, uint64_t *scratch, int64_t words) {
    const int64_t edges = finder->at->n - 1, last_word = (edges - 1) / 64;
    const uint64_t last_bit = (uint64_t)1 << ((edges - 1) % 64);
    uint64_t *up = scratch, *down = up + words, *here = down + words, *next = here + words;
    int64_t distance = edges;
    for (int64_t w = 0; w < words; w++) {
        up[w] = ~(uint64_t)0;
        down[w] = 0;
    }
    find_same(finder, 0, here, words);
    for (int64_t j = 0; j + 1 < finder->at->m; j++) {
        find_same(finder, j + 1, next, words);
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

int64_t edit_distance(const Batch *batch, const Episode *at) {
    if (at->n == 1) return at->m - 1;
    Finder finder = {.batch = batch, .at = at};
    uint64_t few[FEW_WORDS], *scratch = few;
    const int64_t words = (at->n + 63) / 64;
    int64_t distance = -1;
    if (4 * words > FEW_WORDS && !(scratch = malloc(sizeof(uint64_t) * (size_t)(4 * words)))) return -1;
    if (at->n * at->m <= FEW_CELLS || open_finder(&finder)) distance = count_edits(&finder, scratch, words);
    free(finder.buckets);
    if (scratch != few) free(scratch);
    return distance;
}
