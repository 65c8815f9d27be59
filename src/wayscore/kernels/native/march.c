/* Fast marching: the eikonal equation |grad T| = 1 from one cell of a grid, T in cells; plain/march.py says by which rules.
 * The grid is framed by one blocked cell on every side, so that no neighbour is ever out of bounds. */
#include "heap.h"
#include "native.h"

#define EXACT_RADIUS 8 /* in cells */
static const double DIAGONAL = 1.4142135623730951;

enum { BLOCKED, OPEN, EXACT, SETTLED };

typedef struct {
    int64_t stride; /* cells in a framed row */
    int64_t source;
    uint8_t *state;
    Heap open; /* cells by T */
} Front;

/* Whether every cell that the segment between two centres touches is free; through a corner, both beside it. */
static int in_sight(const Front *front, int64_t cell, int64_t rows, int64_t columns) {
    int64_t down = rows < 0 ? -front->stride : front->stride, right = columns < 0 ? -1 : 1;
    int64_t height = rows < 0 ? -rows : rows, width = columns < 0 ? -columns : columns;
    for (int64_t i = 0, j = 0; i < height || j < width;) {
        int64_t side = (1 + 2 * i) * width - (1 + 2 * j) * height;
        if (side == 0 && (front->state[cell + down] == BLOCKED || front->state[cell + right] == BLOCKED)) return 0;
        if (side <= 0) i++, cell += down;
        if (side >= 0) j++, cell += right;
        if (front->state[cell] == BLOCKED) return 0;
    }
    return 1;
}

/* The difference along one axis: weight * (T - base)^2, and the settled neighbour it leans on. */
typedef struct {
    double near, base, weight;
} Slope;

static Slope slope(const Front *front, int64_t cell, int64_t step) {
    Slope found = {INFINITY, INFINITY, 1.0};
    int64_t beyond = cell;
    for (int side = 0; side < 2; side++, step = -step) {
        int64_t beside = cell - step;
        if (front->state[beside] == SETTLED && front->open.value[beside] < found.near) {
            found.near = found.base = front->open.value[beside];
            beyond = beside - step;
        }
    }
    if (front->state[beyond] == SETTLED && front->open.value[beyond] <= found.near) {
        found.base = (4.0 * found.near - front->open.value[beyond]) / 3.0;
        found.weight = 2.25;
    }
    return found;
}

static double straight_line(const Front *front, int64_t cell) {
    int64_t i = cell / front->stride - front->source / front->stride;
    int64_t j = cell % front->stride - front->source % front->stride;
    return sqrt((double)(i * i + j * j));
}

static void update(Front *front, int64_t cell) {
    if (front->state[cell] != OPEN) return;
    Slope i = slope(front, cell, front->stride), j = slope(front, cell, 1);
    double value = (i.near < j.near ? i.near : j.near) + 1.0;
    if (i.near < INFINITY && j.near < INFINITY) {
        double weight = i.weight + j.weight, gap = i.base - j.base;
        double inside = weight - i.weight * j.weight * gap * gap;
        if (inside >= 0.0) {
            double both = (i.weight * i.base + j.weight * j.base + sqrt(inside)) / weight;
            /* Only a front that comes from both neighbours may use both differences. */
            if (both >= i.base && both >= j.base && both < value) {
                double line = straight_line(front, cell);
                value = both < line ? line : both;
            }
        }
    }
    lower(&front->open, cell, value);
}

static void step_diagonally(Front *front, int64_t cell, int64_t down, int64_t right) {
    int64_t corner = cell + down + right;
    if (front->state[corner] == OPEN && front->state[cell + down] != BLOCKED && front->state[cell + right] != BLOCKED)
        lower(&front->open, corner, front->open.value[cell] + DIAGONAL);
}

/* March until the target is settled, or everywhere where there is none. */
static void march(Front *front, int64_t target) {
    const int64_t down = front->stride, source = front->source, reach = EXACT_RADIUS;
    for (int64_t i = -reach; i <= reach; i++)
        for (int64_t j = -reach; j <= reach; j++)
            if (i * i + j * j <= reach * reach && in_sight(front, source, i, j)) {
                lower(&front->open, source + i * down + j, sqrt((double)(i * i + j * j)));
                front->state[source + i * down + j] = EXACT;
            }
    while (front->open.count > 0) {
        int64_t cell = take_first(&front->open);
        front->state[cell] = SETTLED;
        if (cell == target) return;
        update(front, cell - down);
        update(front, cell - 1);
        update(front, cell + 1);
        update(front, cell + down);
        step_diagonally(front, cell, -down, -1);
        step_diagonally(front, cell, -down, 1);
        step_diagonally(front, cell, down, -1);
        step_diagonally(front, cell, down, 1);
    }
}

static int64_t framed(int64_t cell, int64_t width) {
    return (cell / width + 1) * (width + 2) + cell % width + 1;
}

/* Frame the free cells, march, and write the settled values; 0 when memory is short. */
static int fill(const uint8_t *free_cells, int64_t height, int64_t width, int64_t source, int64_t target, double *out) {
    const int64_t stride = width + 2;
    const size_t cells = (size_t)((height + 2) * stride);
    double *value = malloc(cells * sizeof(double));
    Front front = {.stride = stride, .source = framed(source, width), .state = malloc(cells)};
    int enough = front.state && value && open_heap(&front.open, value, (int64_t)cells);
    if (enough) {
        memset(front.state, BLOCKED, cells);
        for (int64_t i = 0; i < height; i++)
            for (int64_t j = 0; j < width; j++)
                if (free_cells[i * width + j]) front.state[(i + 1) * stride + j + 1] = OPEN;
        march(&front, target < 0 ? -1 : framed(target, width));
        for (int64_t i = 0; i < height; i++)
            for (int64_t j = 0; j < width; j++) {
                int64_t cell = (i + 1) * stride + j + 1;
                out[i * width + j] = front.state[cell] == SETTLED ? value[cell] : INFINITY;
            }
    }
    free(front.state);
    free(value);
    close_heap(&front.open);
    return enough;
}

/* march(free, source, target, out): distances in cells from a flat index; -1 for no target. */
KERNEL(march, "B2 n n d2w") {
    const int64_t source = numbers[0].n, target = numbers[1].n;
    const int64_t height = LENGTH(arrays[0], 0), width = LENGTH(arrays[0], 1);
    if (LENGTH(arrays[1], 0) != height || LENGTH(arrays[1], 1) != width) return refuse("out must have the shape of free");
    if (source < 0 || source >= height * width || !BYTES(arrays[0])[source])
        return refuse("source must be the flat index of a free cell");
    if (target < -1 || target >= height * width) return refuse("target must be the flat index of a cell, or -1");
    if ((height + 2) * (width + 2) > INT32_MAX) return refuse("free must have fewer than 2^31 cells");
    PyThreadState *state = PyEval_SaveThread();
    const int enough = fill(BYTES(arrays[0]), height, width, source, target, DOUBLES(arrays[1]));
    PyEval_RestoreThread(state);
    return enough ? none() : PyErr_NoMemory();
}
