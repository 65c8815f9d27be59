/* The loops that run several doubles at a time. Included once for each instruction set (lanes_base.c,
 * lanes_avx2.c, lanes_avx512.c), which names its table of entry points LANE_KERNELS. */
#include "lane_table.h"
#include "lanes.h"

#define REGISTERS (STRIP_ROWS / LANE_COUNT)
#define PARTS (GROUP / LANE_COUNT)

/* C[i][j] for up to 16 consecutive rows against all m columns.
 *
 * Lane k holds row k and runs one column behind lane k - 1: at step t it is at column t - k. Its left
 * neighbour is then its own last value, the upper one is lane k - 1's last value, the diagonal one is what was
 * the upper one a step ago: one lane shift a step, no memory traffic but the border row. The order of
 * additions is that of the plain double loop, so the result has the same bits.
 *
 * `reversed` is the query, one array for each coordinate, last point first, padded by ROWS at both ends
 * (`stride` apart). On entry top[0] is the corner, top[1..m] the row above, left[0..rows-1] the column before;
 * on return top holds the last row (top[0]: the last of the old left) and left the last column. */
INLINE void strip(const int dimension, const int full, const double *reference, int rows, const double *reversed,
                  int64_t stride, int64_t m, double *top, double *left, double *rows_by_axis) {
    double edge[STRIP_ROWS], current_row[STRIP_ROWS], numbers[STRIP_ROWS];
    lanes current[REGISTERS], diagonal[REGISTERS], border[REGISTERS], number[REGISTERS];
    for (int k = 0; k < STRIP_ROWS; k++) {
        int row = k < rows ? k : rows - 1;
        for (int axis = 0; axis < dimension; axis++)
            rows_by_axis[axis * STRIP_ROWS + k] = reference[row * dimension + axis];
        edge[k] = k < rows ? left[k] : INFINITY;
        numbers[k] = k;
    }
    for (int s = 0; s < REGISTERS; s++) {
        border[s] = current[s] = lanes_load(edge + LANE_COUNT * s);
        number[s] = lanes_load(numbers + LANE_COUNT * s);
        diagonal[s] = lanes_shift(s ? border[s - 1] : lanes_all(top[0]), border[s]);
    }
    const double *last_point = reversed + STRIP_ROWS + m - 1;
    const int64_t steps = m + rows - 1;
    const int64_t middle = m - 1 < steps ? m - 1 : steps; /* from here on some lane has run off the end */

#define STRIP_STEP(above, careful)                                                                             \
    for (int s = REGISTERS - 1; s >= 0; s--) {                                                                 \
        const double *query = last_point - t + LANE_COUNT * s, *row = rows_by_axis + LANE_COUNT * s;           \
        lanes difference = lanes_sub(lanes_load(row), lanes_load(query));                                      \
        lanes squares = lanes_mul(difference, difference);                                                     \
        for (int axis = 1; axis < dimension; axis++) {                                                         \
            difference = lanes_sub(lanes_load(row + axis * STRIP_ROWS), lanes_load(query + axis * stride));    \
            squares = lanes_add(squares, lanes_mul(difference, difference));                                   \
        }                                                                                                      \
        lanes upper = lanes_shift(s ? current[s - 1] : lanes_all(above), current[s]);                          \
        lanes best = lanes_min(lanes_min(upper, diagonal[s]), current[s]);                                     \
        lanes value = lanes_add(s % 2 ? lanes_sqrt_beside(squares) : lanes_sqrt(squares), best);               \
        diagonal[s] = upper;                                                                                   \
        current[s] = careful ? lanes_choose(number[s], lanes_all((double)t), value, border[s]) : value;        \
    }

    const double corner_below = edge[rows - 1];
    int64_t t = 0;
    for (; t < STRIP_ROWS - 1 && t < middle; t++) { /* lanes enter one by one */
        STRIP_STEP(top[t + 1], 1)
        if (t >= rows - 1) {
            for (int s = 0; s < REGISTERS; s++) lanes_store(current_row + LANE_COUNT * s, current[s]);
            top[t - rows + 2] = current_row[rows - 1];
        }
    }
    if (full) {
        for (; t < middle; t++) {
            STRIP_STEP(top[t + 1], 0)
            top[t - STRIP_ROWS + 2] = lanes_last(current[REGISTERS - 1]);
        }
    } else {
        for (; t < middle; t++) {
            STRIP_STEP(top[t + 1], 0)
            for (int s = 0; s < REGISTERS; s++) lanes_store(current_row + LANE_COUNT * s, current[s]);
            top[t - rows + 2] = current_row[rows - 1];
        }
    }
    for (; t < steps; t++) { /* lanes leave one by one, each past the last column */
        STRIP_STEP((t < m ? top[t + 1] : INFINITY), 1)
        for (int s = 0; s < REGISTERS; s++) lanes_store(current_row + LANE_COUNT * s, current[s]);
        if (t >= rows - 1) top[t - rows + 2] = current_row[rows - 1];
        if (t >= m - 1) left[t - m + 1] = current_row[t - m + 1];
    }
    top[0] = corner_below;
#undef STRIP_STEP
}

TARGET static void strip_points(int dimension, const double *reference, int rows, const double *reversed,
                                int64_t stride, int64_t m, double *top, double *left, double *rows_by_axis) {
    if (dimension == 3 && rows == STRIP_ROWS) strip(3, 1, reference, STRIP_ROWS, reversed, stride, m, top, left, rows_by_axis);
    else if (dimension == 2 && rows == STRIP_ROWS) strip(2, 1, reference, STRIP_ROWS, reversed, stride, m, top, left, rows_by_axis);
    else if (dimension == 3) strip(3, 0, reference, rows, reversed, stride, m, top, left, rows_by_axis);
    else if (dimension == 2) strip(2, 0, reference, rows, reversed, stride, m, top, left, rows_by_axis);
    else strip(dimension, 0, reference, rows, reversed, stride, m, top, left, rows_by_axis);
}

/* Distances from one point to many, those laid out coordinate by coordinate. */
TARGET static void distances_to(int dimension, const double *point, const double *others, int64_t stride, int64_t count,
                         double *out) {
    int64_t j = 0;
    for (; j + LANE_COUNT <= count; j += LANE_COUNT) {
        lanes squares = lanes_all(0.0);
        for (int axis = 0; axis < dimension; axis++) {
            lanes difference = lanes_sub(lanes_all(point[axis]), lanes_load(others + axis * stride + j));
            squares = lanes_add(squares, lanes_mul(difference, difference));
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

/* nearest[j] = min(nearest[j], d^2(point, others[j])); returns the least d^2. */
TARGET static double nearest_squares(int dimension, const double *point, const double *others, int64_t stride,
                                     int64_t count, double *nearest) {
    double least = INFINITY, each[LANE_COUNT];
    lanes lowest = lanes_all(INFINITY);
    int64_t j = 0;
    for (; j + LANE_COUNT <= count; j += LANE_COUNT) {
        lanes squares = lanes_all(0.0);
        for (int axis = 0; axis < dimension; axis++) {
            lanes difference = lanes_sub(lanes_all(point[axis]), lanes_load(others + axis * stride + j));
            squares = lanes_add(squares, lanes_mul(difference, difference));
        }
        lowest = lanes_min(lowest, squares);
        lanes_store(nearest + j, lanes_min(lanes_load(nearest + j), squares));
    }
    lanes_store(each, lowest);
    for (int l = 0; l < LANE_COUNT; l++) least = each[l] < least ? each[l] : least;
    for (; j < count; j++) {
        double squares = 0.0;
        for (int axis = 0; axis < dimension; axis++) {
            double difference = point[axis] - others[axis * stride + j];
            squares += difference * difference;
        }
        least = squares < least ? squares : least;
        nearest[j] = squares < nearest[j] ? squares : nearest[j];
    }
    return least;
}

/* row[j] = min(row[j], through + via[j]): one row of one round of Floyd and Warshall. */
TARGET static void relax(double *row, double through, const double *via, int64_t count) {
    lanes add = lanes_all(through);
    int64_t j = 0;
    for (; j + 2 * LANE_COUNT <= count; j += 2 * LANE_COUNT) {
        lanes_store(row + j, lanes_min(lanes_add(add, lanes_load(via + j)), lanes_load(row + j)));
        lanes_store(row + j + LANE_COUNT, lanes_min(lanes_add(add, lanes_load(via + j + LANE_COUNT)), lanes_load(row + j + LANE_COUNT)));
    }
    for (; j < count; j++) {
        double candidate = through + via[j];
        row[j] = candidate < row[j] ? candidate : row[j];
    }
}

/* Warping and nearest distances of eight episodes, one a lane; see measure.c. */
INLINE void measure_lanes(Group *group, const int dimension) {
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
                    lanes squares = lanes_all(0.0);
                    for (int axis = 0; axis < dimension; axis++) {
                        lanes difference = lanes_sub(lanes_load(point + axis * GROUP + l),
                                                     lanes_load(query + axis * GROUP + l));
                        squares = lanes_add(squares, lanes_mul(difference, difference));
                    }
                    cost = lanes_sqrt(squares);
                } else {
                    cost = lanes_look_up(row + l, at + l);
                }
                double *cell = previous + j * GROUP + l, *closest = nearest + j * GROUP + l;
                lanes north = lanes_load(cell);
                covered[part] = lanes_min(covered[part], cost);
                lanes_store(closest, lanes_min(lanes_load(closest), cost));
                west[part] = lanes_add(cost, lanes_min(lanes_min(north, corner[part]), west[part]));
                corner[part] = north;
                lanes_store(cell, west[part]);
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
            sum = lanes_add(sum, lanes_choose(lanes_all((double)j + 1.0), columns, near, zero));
        }
        lanes_store(group->deviation + l, sum);
        lanes_store(group->largest + l, most);
        if (!(group->scale > 0.0)) continue;
        sum = zero;
        for (int64_t i = 0; i < group->rows; i++) {
            lanes near = lanes_load(group->covered + i * GROUP + l);
            lanes share = lanes_exp(lanes_div(lanes_sub(zero, near), lanes_all(group->scale)));
            sum = lanes_add(sum, lanes_choose(lanes_all((double)i + 1.0), rows, share, zero));
        }
        lanes_store(group->coverage + l, sum);
    }
}

TARGET static void measure_group(Group *group) {
    switch (group->dimension) {
    case 0: measure_lanes(group, 0); break;
    case 2: measure_lanes(group, 2); break;
    case 3: measure_lanes(group, 3); break;
    default: measure_lanes(group, group->dimension);
    }
    sum_lanes(group);
}

/* totals[g][c] = sum of weights[g][u] values[u][c] over the units u, for eight rows of weights; columns in eights. */
TARGET static void weigh(const double *weights, int64_t units, const double *values, int64_t columns, double *totals) {
    for (int64_t c = 0; c < columns; c += LANE_COUNT) {
        lanes sum[GROUP];
        for (int g = 0; g < GROUP; g++) sum[g] = lanes_all(0.0);
        for (int64_t u = 0; u < units; u++) {
            const lanes value = lanes_load(values + u * columns + c);
            for (int g = 0; g < GROUP; g++)
                sum[g] = lanes_add(sum[g], lanes_mul(lanes_all(weights[g * units + u]), value));
        }
        for (int g = 0; g < GROUP; g++) lanes_store(totals + g * columns + c, sum[g]);
    }
}

const LaneKernels LANE_KERNELS = {strip_points, distances_to, nearest_squares, relax, measure_group, weigh};
