/* One step of agents that walk along the edges of navigation graphs, each in an environment and an episode of its own. */
#include "native.h"
#include "warp.h"

/* The arguments: first what a step changes in each environment, then what it looks up. */
enum { STATE, OVER, ROWS, TRAIL, VISITED, PROGRESS, OUTCOME, ACTIONS, SCENE, PATHS, LENGTHS, AFTER, NODE, METRES, ARRAYS };
/* Rows of matrices that have a column per environment. */
enum { EPISODE, POSE, STEPS, STATES };
enum { WALKED, TO_GOAL, DTW, NDTW, GAINS };
enum { MOVED, STOPPED, CUT_OFF, FLAGS };

typedef struct {
    const Array *array;
    Array *tables;
    Py_ssize_t scenes;
    double threshold;
} Walk;

static int shapes_fit(const Walk *walk) {
    const Array *array = walk->array;
    const int64_t count = LENGTH(array[OVER], 0), episodes = LENGTH(array[SCENE], 0), poses = LENGTH(array[NODE], 0);
    int fits = LENGTH(array[STATE], 0) == STATES && LENGTH(array[STATE], 1) == count &&
               LENGTH(array[PROGRESS], 0) == GAINS && LENGTH(array[PROGRESS], 1) == count &&
               LENGTH(array[OUTCOME], 0) == FLAGS && LENGTH(array[OUTCOME], 1) == count &&
               LENGTH(array[ACTIONS], 0) == count && LENGTH(array[PATHS], 1) > 0 &&
               LENGTH(array[ROWS], 1) == LENGTH(array[PATHS], 1) + 1;
    for (int i = ROWS; i <= VISITED; i++) fits &= LENGTH(array[i], 0) == count;
    for (int i = SCENE; i <= LENGTHS; i++) fits &= LENGTH(array[i], 0) == episodes;
    for (int i = AFTER; i <= METRES; i++) fits &= LENGTH(array[i], 0) == poses;
    return fits;
}

static int within(int64_t value, int64_t bound) { return value >= 0 && value < bound; }

/* Put the agent of environment e at a new pose; 0 where anything that is looked up is not there. */
static int arrive(const Walk *walk, int64_t e, int64_t pose) {
    const Array *array = walk->array;
    const int64_t count = LENGTH(array[OVER], 0), width = LENGTH(array[PATHS], 1), *state = INTS64(array[STATE]) + e;
    const int64_t episode = state[EPISODE * count];
    if (!within(pose, LENGTH(array[NODE], 0)) || !within(episode, LENGTH(array[SCENE], 0))) return 0;
    const int64_t scene = INTS64(array[SCENE])[episode], length = INTS64(array[LENGTHS])[episode];
    const int64_t node = INTS64(array[NODE])[pose];
    if (!within(scene, walk->scenes) || !within(length - 1, width) || !within(node, LENGTH(array[VISITED], 1))) return 0;
    const int64_t size = LENGTH(walk->tables[scene], 0);
    if (node >= size) return 0;
    const double *table = DOUBLES(walk->tables[scene]);
    const int32_t *path = INTS32(array[PATHS]) + episode * width;
    double *row = DOUBLES(array[ROWS]) + e * (width + 1), west = INFINITY;
    for (int64_t j = 0; j < length; j++)
        if (!within(path[j], size)) return 0;
    WARP_ROW(row, length, west, table[path[j] * size + node]);
    double *progress = DOUBLES(array[PROGRESS]) + e;
    progress[WALKED * count] += DOUBLES(array[METRES])[pose];
    progress[TO_GOAL * count] = table[node * size + path[length - 1]];
    progress[DTW * count] = west;
    progress[NDTW * count] = exp(-west / ((double)length * walk->threshold));
    BYTES(array[VISITED])[e * LENGTH(array[VISITED], 1) + node] = 1;
    return 1;
}

/* How many episodes end with this step; -1 where anything that is looked up is not there. */
static int64_t step(const Walk *walk) {
    const Array *array = walk->array;
    const int64_t count = LENGTH(array[OVER], 0), actions = LENGTH(array[AFTER], 1), most = LENGTH(array[TRAIL], 1) - 1;
    int64_t ended = 0;
    memset(BYTES(array[OUTCOME]), 0, (size_t)(FLAGS * count));
    for (int64_t e = 0; e < count; e++) {
        if (BYTES(array[OVER])[e]) continue;
        const int64_t action = INTS64(array[ACTIONS])[e];
        int64_t *pose = INTS64(array[STATE]) + POSE * count + e, *steps = INTS64(array[STATE]) + STEPS * count + e;
        uint8_t *outcome = BYTES(array[OUTCOME]) + e;
        if (action == 0) {
            outcome[STOPPED * count] = 1;
        } else {
            if (!within(*pose, LENGTH(array[AFTER], 0)) || !within(*steps, most)) return -1;
            const int32_t after = within(action, actions) ? INTS32(array[AFTER])[*pose * actions + action] : -1;
            if (after >= 0) {
                if (!arrive(walk, e, after)) return -1;
                *pose = after;
                outcome[MOVED * count] = 1;
            }
            INTS64(array[TRAIL])[e * (most + 1) + ++*steps] = *pose;
            outcome[CUT_OFF * count] = *steps == most;
        }
        BYTES(array[OVER])[e] = outcome[STOPPED * count] | outcome[CUT_OFF * count];
        ended += BYTES(array[OVER])[e];
    }
    return ended;
}

/* walk(state, over, rows, trail, visited, progress, outcome, actions, scene, paths, lengths, after, node, metres, tables,
 * threshold) -> how many episodes ended; plain/walk.py says what they are */
KERNEL(walk, "l2w B1w d2w l2w B2w d2w B2w l1 l1 i2 l1 i2 l1 d1 o x") {
    Walk walk = {.array = arrays, .threshold = numbers[0].x};
    if (!(walk.tables = take_tables(args[ARRAYS], &walk.scenes))) return NULL;
    const int64_t ended = shapes_fit(&walk) ? step(&walk) : -1;
    drop_tables(walk.tables, walk.scenes);
    return ended >= 0 ? PyLong_FromLongLong(ended) : refuse("walk: shapes or numbers do not fit");
}
