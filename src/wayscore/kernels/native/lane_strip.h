/* C[i][j] for up to 16 consecutive rows against all m columns.
 *
 * Lane k holds row k and runs one column behind lane k - 1: at step t it is at column t - k. Its left neighbour is
 * then its own last value, the upper one is lane k - 1's last value, the diagonal one is what was the upper one a
 * step ago: one lane shift a step, no memory traffic but the border row. The order of additions is that of the plain
 * double loop, so the result has the same bits. Before column 0 and after the last one the query repeats its end,
 * which changes no minimum and no cell that counts.
 *
 * On entry top[0] is the corner, top[1..m] the row above, left[0..rows-1] the column before; on return top holds the
 * last row (top[0]: the last of the old left) and left the last column. */

/* Fewer rows than 16 take fewer registers; a full strip needs no look at which row is the last. */
INLINE void strip(const int dimension, const int registers, const int full, const int extra, const Strip *given) {
    double edge[STRIP_ROWS], current_row[STRIP_ROWS], passing_row[STRIP_ROWS] = {0}, numbers[STRIP_ROWS];
    lanes current[REGISTERS], diagonal[REGISTERS], border[REGISTERS], number[REGISTERS], covered[REGISTERS],
        passing[REGISTERS];
    const int most_rows = registers * LANE_COUNT, rows = full ? most_rows : given->rows;
    const int64_t m = given->m, stride = given->stride;
    double *const top = given->top, *const left = given->left, *const nearest = given->nearest;
    double *const rows_by_axis = given->rows_by_axis;
    uint32_t *const choices = given->choices;
    for (int k = 0; k < most_rows; k++) {
        int row = k < rows ? k : rows - 1;
        for (int axis = 0; axis < dimension; axis++)
            rows_by_axis[axis * STRIP_ROWS + k] = given->reference[row * dimension + axis];
        edge[k] = k < rows ? left[k] : INFINITY;
        numbers[k] = k;
    }
    for (int s = 0; s < registers; s++) {
        border[s] = current[s] = lanes_load(edge + LANE_COUNT * s);
        number[s] = lanes_load(numbers + LANE_COUNT * s);
        diagonal[s] = lanes_shift(s ? border[s - 1] : lanes_all(top[0]), border[s]);
        covered[s] = passing[s] = lanes_all(INFINITY);
    }
    const double *last_point = dimension ? given->reversed + STRIP_ROWS + m - 1 : NULL;
    const int32_t *last_code = dimension ? NULL : given->codes + STRIP_ROWS + m - 1;
    const int64_t steps = m + rows - 1;
    const int64_t middle = m - 1 < steps ? m - 1 : steps; /* from here on some lane has run off the end */

#define STRIP_STEP(above, nearest_above, careful)                                                              \
    uint32_t diagonals = 0, uppers = 0;                                                                        \
    for (int s = registers - 1; s >= 0; s--) {                                                                 \
        if (careful && (LANE_COUNT * s > t || LANE_COUNT * (s + 1) <= t - m + 1)) continue; /* no lane is inside */ \
        lanes cost, upper = lanes_shift(s ? current[s - 1] : lanes_all(above), current[s]);                    \
        lanes best = lanes_min(lanes_min(upper, diagonal[s]), current[s]);                                     \
        if (dimension) {                                                                                       \
            lanes squares = squares_between(dimension, rows_by_axis + LANE_COUNT * s, STRIP_ROWS,              \
                                            last_point - t + LANE_COUNT * s, stride);                          \
            if (extra == STRIP_NEAREST) {                                                                      \
                covered[s] = lanes_min(covered[s], squares);                                                   \
                passing[s] = lanes_min(                                                                        \
                    lanes_shift(s ? passing[s - 1] : lanes_all(nearest_above), passing[s]), squares);          \
            }                                                                                                  \
            cost = s % 2 ? lanes_sqrt_beside(squares) : lanes_sqrt(squares);                                   \
        } else {                                                                                               \
            cost = lanes_look_up(given->row + LANE_COUNT * s, last_code - t + LANE_COUNT * s);                 \
        }                                                                                                      \
        if (extra == STRIP_CHOICES) {                                                                          \
            diagonals |= (uint32_t)lanes_at_most(diagonal[s], best) << (LANE_COUNT * s);                       \
            uppers |= (uint32_t)lanes_at_most(upper, current[s]) << (LANE_COUNT * s);                          \
        }                                                                                                      \
        lanes value = cost + best;                                                                             \
        diagonal[s] = upper;                                                                                   \
        current[s] = careful ? lanes_choose(number[s], lanes_all((double)t), value, border[s]) : value;        \
    }                                                                                                          \
    if (extra == STRIP_CHOICES) choices[t] = diagonals | uppers << STRIP_ROWS;

/* The last row's cell of column t - rows + 1 is ready: hand it on. */
#define STRIP_BOTTOM                                                                                           \
    for (int s = 0; s < registers; s++) lanes_store(current_row + LANE_COUNT * s, current[s]);                 \
    if (extra == STRIP_NEAREST)                                                                                \
        for (int s = 0; s < registers; s++) lanes_store(passing_row + LANE_COUNT * s, passing[s]);             \
    if (t >= rows - 1) {                                                                                       \
        top[t - rows + 2] = current_row[rows - 1];                                                             \
        if (extra == STRIP_NEAREST) nearest[t - rows + 1] = passing_row[rows - 1];                             \
    }

    const double corner_below = edge[rows - 1];
    for (int64_t t = 0; t < steps; t++) {
        if (t == most_rows - 1) { /* all lanes are under way, until the first runs off the end */
            for (; t < middle; t++) {
                STRIP_STEP(top[t + 1], nearest[t], 0)
                if (full) {
                    top[t - most_rows + 2] = lanes_last(current[registers - 1]);
                    if (extra == STRIP_NEAREST) nearest[t - most_rows + 1] = lanes_last(passing[registers - 1]);
                } else {
                    STRIP_BOTTOM
                }
            }
        }
        /* lanes enter one by one, or leave one by one, each past the last column */
        STRIP_STEP((t < m ? top[t + 1] : INFINITY), (t < m ? nearest[t] : INFINITY), 1)
        if (t < rows - 1 && t < m - 1) continue; /* nothing is ready */
        STRIP_BOTTOM
        if (t >= m - 1) left[t - m + 1] = current_row[t - m + 1];
    }
    top[0] = corner_below;
    if (extra == STRIP_NEAREST)
        for (int s = 0; s < registers; s++) lanes_store(given->covered + LANE_COUNT * s, covered[s]);
#undef STRIP_STEP
#undef STRIP_BOTTOM
}

/* One routine for each kind of distance and number of registers, where that pays. */
#define STRIP_ANY(dimension, extra)                                                                            \
    if (given->rows == STRIP_ROWS) strip(dimension, REGISTERS, 1, extra, given);                               \
    else strip(dimension, REGISTERS, 0, extra, given);
#define STRIP_SHORT(dimension, extra)                                                                          \
    if (given->rows <= 4 && LANE_COUNT <= 4) strip(dimension, 4 / LANE_COUNT, 0, extra, given);                \
    else if (given->rows <= 8) strip(dimension, 8 / LANE_COUNT, 0, extra, given);                              \
    else STRIP_ANY(dimension, extra)
TARGET static void strip_values(const Strip *given) {
    switch (given->dimension) {
    case 0: STRIP_SHORT(0, STRIP_VALUES) break;
    case 2: STRIP_ANY(2, STRIP_VALUES) break;
    case 3: STRIP_SHORT(3, STRIP_VALUES) break;
    default: strip(given->dimension, REGISTERS, 0, STRIP_VALUES, given);
    }
}

TARGET static void strip_nearest(const Strip *given) {
    if (given->dimension == 3) {
        STRIP_ANY(3, STRIP_NEAREST)
    } else {
        strip(given->dimension, REGISTERS, 0, STRIP_NEAREST, given);
    }
}

TARGET static void strip_choices(const Strip *given) {
    switch (given->dimension) {
    case 0: STRIP_ANY(0, STRIP_CHOICES) break;
    case 3: STRIP_ANY(3, STRIP_CHOICES) break;
    default: strip(given->dimension, REGISTERS, 0, STRIP_CHOICES, given);
    }
}
