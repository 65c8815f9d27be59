/* A binary heap of numbered items, the least value first, then the least number. */
#ifndef WAYSCORE_HEAP_H
#define WAYSCORE_HEAP_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct {
    double *value;  /* of each item, infinite before it enters the heap */
    int32_t *items; /* those in the heap */
    int32_t *place; /* where each item is in it, or -1 */
    int64_t count;
} Heap;

/* An empty heap of items whose values stand in `value`; 0 when memory runs out. close_heap is due either way. */
static int open_heap(Heap *heap, double *value, int64_t items) {
    *heap = (Heap){value, malloc(sizeof(int32_t) * (size_t)items), malloc(sizeof(int32_t) * (size_t)items), 0};
    if (!heap->items || !heap->place) return 0;
    for (int64_t item = 0; item < items; item++) {
        value[item] = INFINITY;
        heap->place[item] = -1;
    }
    return 1;
}

static void close_heap(Heap *heap) {
    free(heap->items);
    free(heap->place);
}

static inline int comes_before(const Heap *heap, int32_t a, int32_t b) {
    const double left = heap->value[a], right = heap->value[b];
    return left < right || (left == right && a < b);
}

static inline void put(Heap *heap, int64_t slot, int32_t item) {
    heap->items[slot] = item;
    heap->place[item] = (int32_t)slot;
}

/* Lower the value of an item that was not taken yet, adding it where it is new. */
static void lower(Heap *heap, int64_t item, double value) {
    if (!(value < heap->value[item])) return;
    heap->value[item] = value;
    int64_t slot = heap->place[item] < 0 ? heap->count++ : heap->place[item];
    for (int64_t parent; slot > 0; slot = parent) {
        parent = (slot - 1) / 2;
        if (comes_before(heap, heap->items[parent], (int32_t)item)) break;
        put(heap, slot, heap->items[parent]);
    }
    put(heap, slot, (int32_t)item);
}

static int32_t take_first(Heap *heap) {
    const int32_t first = heap->items[0], last = heap->items[--heap->count];
    int64_t slot = 0;
    for (int64_t child; (child = 2 * slot + 1) < heap->count; slot = child) {
        if (child + 1 < heap->count && comes_before(heap, heap->items[child + 1], heap->items[child])) child++;
        if (comes_before(heap, last, heap->items[child])) break;
        put(heap, slot, heap->items[child]);
    }
    put(heap, slot, last);
    return first;
}

#endif
