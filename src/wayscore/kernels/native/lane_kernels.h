/* The loops that run several doubles at a time. Each of lanes_base.c, lanes_avx2.c and lanes_avx512.c includes them for its
 * instruction set, and names its table of entry points LANE_KERNELS. */
#include "lane_table.h"
#include "lanes.h"

#define REGISTERS (STRIP_ROWS / LANE_COUNT)
#define PARTS (GROUP / LANE_COUNT)

/* Squared distances between lanes of points, whose coordinates are `a_stride` and `b_stride` apart. */
INLINE lanes squares_between(const int dimension, const double *a, int64_t a_stride, const double *b, int64_t b_stride) {
    lanes difference = lanes_load(a) - lanes_load(b), squares = difference * difference;
    for (int axis = 1; axis < dimension; axis++) {
        difference = lanes_load(a + axis * a_stride) - lanes_load(b + axis * b_stride);
        squares = squares + difference * difference;
    }
    return squares;
}

#include "lane_strip.h"

INLINE void distances_from(const int dimension, const double *point, const double *others, int64_t stride, int64_t count,
                           double *out) {
    int64_t j = 0;
    for (; j + LANE_COUNT <= count; j += LANE_COUNT) {
        lanes squares = lanes_all(0.0);
        for (int axis = 0; axis < dimension; axis++) {
            lanes difference = lanes_all(point[axis]) - lanes_load(others + axis * stride + j);
            squares = squares + difference * difference;
        }
        lanes_store(out + j, lanes_sqrt(squares));
    }
    for (; j < count; j++) {
        double squares = 0.0;
        for (int axis = 0; axis < dimension; axis++) {
            double difference = point[axis] - others[axis * stride + j];
            squares += difference * difference;
        }
        out[j] = sqrt(squares);
    }
}

/* Distances from one point to many, those laid out coordinate by coordinate. */
TARGET static void distances_to(int dimension, const double *point, const double *others, int64_t stride, int64_t count,
                                double *out) {
    distances_from(dimension, point, others, stride, count, out);
}

/* Distances several at a time, then C one by one. The query's end is repeated until it fills the lanes. */
INLINE void rows_of_points(const int dimension, const Pair *pair, double *top, double *left) {
    double costs[SHORT_CELLS + LANE_COUNT], by_axis[3 * (SHORT_CELLS + LANE_COUNT)];
    const int64_t m = pair->m, stride = (m + LANE_COUNT - 1) / LANE_COUNT * LANE_COUNT;
    for (int64_t j = 0; j < stride; j++)
        for (int axis = 0; axis < dimension; axis++)
            by_axis[axis * stride + j] = pair->q_points[(j < m ? j : m - 1) * dimension + axis];
    for (int64_t i = 0; i < pair->n; i++) {
        double west = left[i + 1];
        distances_from(dimension, pair->r_points + i * dimension, by_axis, stride, stride, costs);
        WARP_ROW(top, m, west, costs[j]);
        left[i + 1] = west;
    }
}

TARGET static void short_rows(const Pair *pair, double *top, double *left) {
    if (pair->dimension == 2) rows_of_points(2, pair, top, left);
    else rows_of_points(3, pair, top, left);
}

/* row[j] = min(row[j], through + via[j]): one row of one round of Floyd and Warshall. */
TARGET static void relax(double *row, double through, const double *via, int64_t count) {
    lanes add = lanes_all(through);
    int64_t j = 0;
    for (; j + 2 * LANE_COUNT <= count; j += 2 * LANE_COUNT) {
        double *here = row + j, *next = here + LANE_COUNT;
        lanes_store(here, lanes_min(add + lanes_load(via + j), lanes_load(here)));
        lanes_store(next, lanes_min(add + lanes_load(via + j + LANE_COUNT), lanes_load(next)));
    }
    for (; j < count; j++) {
        double candidate = through + via[j];
        row[j] = candidate < row[j] ? candidate : row[j];
    }
}

/* Warping and nearest distances of eight episodes, one a lane; see measure.c. */
INLINE void measure_lanes(Group *group, const int dimension, const int compare) {
    const int64_t n = group->rows, m = group->columns;
    double *const previous = group->previous, *const nearest = group->nearest;
    for (int64_t j = 0; j < m * GROUP; j++) previous[j] = nearest[j] = INFINITY;
    for (int64_t i = 0; i < n; i++) {
        lanes covered[PARTS], west[PARTS], corner[PARTS];
        for (int part = 0; part < PARTS; part++) {
            covered[part] = west[part] = lanes_all(INFINITY);
            corner[part] = lanes_all(i ? INFINITY : 0.0);
        }
        const double *const *row = group->row + i * GROUP;
        const double *point = group->reference + i * GROUP * dimension;
        for (int64_t j = 0; j < m; j++) {
            const int32_t *at = group->column + j * GROUP;
            const double *query = group->query + j * GROUP * dimension;
            for (int part = 0; part < PARTS; part++) {
                const int l = part * LANE_COUNT;
                lanes cost;
                if (dimension) {
                    cost = lanes_sqrt(squares_between(dimension, point + l, GROUP, query + l, GROUP));
                } else {
                    cost = lanes_look_up(row + l, at + l);
                }
                if (compare & COMPARE_NEAREST) {
                    double *closest = nearest + j * GROUP + l;
                    covered[part] = lanes_min(covered[part], cost);
                    lanes_store(closest, lanes_min(lanes_load(closest), cost));
                }
                if (compare & COMPARE_WARPING) {
                    double *cell = previous + j * GROUP + l;
                    lanes north = lanes_load(cell);
                    west[part] = cost + lanes_min(lanes_min(north, corner[part]), west[part]);
                    corner[part] = north;
                    lanes_store(cell, west[part]);
                }
            }
        }
        for (int part = 0; part < PARTS; part++) lanes_store(group->covered + i * GROUP + part * LANE_COUNT, covered[part]);
        for (int l = 0; l < GROUP; l++)
            if (i == group->n[l] - 1) group->warping[l] = previous[(group->m[l] - 1) * GROUP + l];
    }
}

/* Sums over the places that each episode really has, in their order. */
INLINE void sum_lanes(Group *group) {
    double n[GROUP], m[GROUP];
    for (int l = 0; l < GROUP; l++) {
        n[l] = (double)group->n[l];
        m[l] = (double)group->m[l];
    }
    for (int l = 0; l < GROUP; l += LANE_COUNT) {
        const lanes rows = lanes_load(n + l), columns = lanes_load(m + l), zero = lanes_all(0.0);
        lanes sum = zero, most = zero;
        for (int64_t j = 0; j < group->columns; j++) {
            lanes near = lanes_load(group->nearest + j * GROUP + l);
            most = lanes_max(most, near); /* padding repeats a place, so it changes no maximum */
            sum = sum + lanes_choose(lanes_all((double)j + 1.0), columns, near, zero);
        }
        lanes_store(group->deviation + l, sum);
        lanes_store(group->largest + l, most);
        if (!(group->scale > 0.0)) continue;
        sum = zero;
        for (int64_t i = 0; i < group->rows; i++) {
            lanes near = lanes_load(group->covered + i * GROUP + l);
            lanes share = lanes_exp((zero - near) / lanes_all(group->scale)); /* how much of the place is covered */
            sum = sum + lanes_choose(lanes_all((double)i + 1.0), rows, share, zero);
        }
        lanes_store(group->coverage + l, sum);
    }
}

#define MEASURE_LANES(compare)                                                                                 \
    switch (group->dimension) {                                                                                \
    case 0: measure_lanes(group, 0, compare); break;                                                           \
    case 2: measure_lanes(group, 2, compare); break;                                                           \
    case 3: measure_lanes(group, 3, compare); break;                                                           \
    default: measure_lanes(group, group->dimension, compare);                                                  \
    }
TARGET static void measure_group(Group *group) {
    if (group->compare == COMPARE_WARPING) {
        MEASURE_LANES(COMPARE_WARPING)
    } else if (group->compare == COMPARE_NEAREST) {
        MEASURE_LANES(COMPARE_NEAREST)
    } else {
        MEASURE_LANES(COMPARE_WARPING | COMPARE_NEAREST)
    }
    if (group->compare & COMPARE_NEAREST) sum_lanes(group);
}

/* totals[g][c] = sum of weights[g][u] values[u][c] over the units u, for eight rows of weights; columns in eights. */
TARGET static void weigh(const double *weights, int64_t units, const double *values, int64_t columns, double *totals) {
    for (int64_t c = 0; c < columns; c += LANE_COUNT) {
        lanes sum[GROUP];
        for (int g = 0; g < GROUP; g++) sum[g] = lanes_all(0.0);
        for (int64_t u = 0; u < units; u++) {
            const lanes value = lanes_load(values + u * columns + c);
            for (int g = 0; g < GROUP; g++)
                sum[g] = sum[g] + lanes_all(weights[g * units + u]) * value;
        }
        for (int g = 0; g < GROUP; g++) lanes_store(totals + g * columns + c, sum[g]);
    }
}

#define GOLDEN_STEP 0x9E3779B97F4A7C15u

/* SplitMix64's mixing: neighbouring numbers become words that nothing tells from chance. */
INLINE uint64_t mixed(uint64_t word) {
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
    return word ^ (word >> 31);
}

/* A unit by the upper half of a word, all of them equally likely: where the 2^32 halves cannot be shared out evenly,
 * the few left over draw again. */
INLINE uint64_t pick(uint64_t word, uint64_t units, uint32_t left_over) {
    uint64_t scaled = (word >> 32) * units;
    while ((uint32_t)scaled < left_over) {
        word = mixed(word + GOLDEN_STEP);
        scaled = (word >> 32) * units;
    }
    return scaled >> 32;
}

/* How often each unit is drawn in resample `number`; two draws share a word. Nearly always none has to draw again, so
 * that compilers make vectors of the first loop. */
TARGET static void draw(uint64_t seed, uint64_t number, int64_t units, uint64_t *pairs, double *times) {
    const uint32_t count = (uint32_t)units, left_over = (uint32_t)((UINT64_C(1) << 32) % count);
    const int64_t words = (units + 1) / 2;
    const uint64_t start = seed + GOLDEN_STEP * (number * (uint64_t)words), lower = UINT32_MAX;
    uint64_t state = start, uneven = 0;
    for (int64_t w = 0; w < words; w++) {
        const uint64_t word = mixed(state += GOLDEN_STEP);
        const uint64_t first = (uint64_t)(uint32_t)(word >> 32) * count, second = (uint64_t)(uint32_t)word * count;
        pairs[w] = first >> 32 | (second & ~lower);
        uneven |= ((first & lower) - left_over) | ((second & lower) - left_over); /* negative once one is left over */
    }
    state = start;
    for (int64_t w = 0; uneven >> 63 && w < words; w++) {
        const uint64_t word = mixed(state += GOLDEN_STEP);
        pairs[w] = pick(word, count, left_over) | pick(word << 32 | word >> 32, count, left_over) << 32;
    }
    memset(times, 0, (size_t)units * sizeof *times);
    for (int64_t w = 0; w < units / 2; w++) {
        times[pairs[w] & lower] += 1.0;
        times[pairs[w] >> 32] += 1.0;
    }
    if (units % 2) times[pairs[words - 1] & lower] += 1.0;
}

const LaneKernels LANE_KERNELS = {strip_values, strip_nearest, strip_choices, short_rows, distances_to,
                                  relax,        measure_group, weigh,         draw};
