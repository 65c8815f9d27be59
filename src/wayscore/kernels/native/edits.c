/* The edit distance of two paths: how many edges must be replaced, inserted or left out. */
#include <stdlib.h>

#include "measure.h"

enum { FEW_WORDS = 32 };

/* Bit i of the words: is r_i the same place as q_j? */
static void find_same(const Batch *batch, const Episode *at, int64_t j, uint64_t *words, int64_t count) {
    const int64_t k = batch->dimension;
    for (int64_t w = 0; w < count; w++) words[w] = 0;
    for (int64_t i = 0; i < at->n; i++) {
        int64_t axis = 0;
        while (axis < k && batch->r_points[(at->r + i) * k + axis] == batch->q_points[(at->q + j) * k + axis]) axis++;
        const int same = k ? axis == k : batch->r_codes[at->r + i] == batch->q_codes[at->q + j];
        words[i / 64] |= (uint64_t)same << (i % 64);
    }
}

/* 64 cells of a column at once (Myers; Hyyrö). `scratch` holds four runs of words for |R| bits. */
static int64_t count_edits(const Batch *batch, const Episode *at, uint64_t *scratch, int64_t words) {
    const int64_t edges = at->n - 1, last_word = (edges - 1) / 64;
    const uint64_t last_bit = (uint64_t)1 << ((edges - 1) % 64);
    uint64_t *up = scratch, *down = up + words, *here = down + words, *next = here + words;
    int64_t distance = edges;
    for (int64_t w = 0; w < words; w++) {
        up[w] = ~(uint64_t)0;
        down[w] = 0;
    }
    find_same(batch, at, 0, here, words);
    for (int64_t j = 0; j + 1 < at->m; j++) {
        find_same(batch, at, j + 1, next, words);
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
    uint64_t few[FEW_WORDS], *scratch = few;
    const int64_t words = (at->n + 63) / 64;
    if (4 * words > FEW_WORDS && !(scratch = malloc(sizeof(uint64_t) * (size_t)(4 * words)))) return -1;
    const int64_t distance = count_edits(batch, at, scratch, words);
    if (scratch != few) free(scratch);
    return distance;
}
