/* The search on a navigation mesh: A* from polygon to polygon, then the corridor pulled straight, as Detour does both.
 *
 * Habitat snaps both points for A*, and pulls the path straight between the points as they were given, each moved into
 * its polygon only sideways: heights above the floor count. */
#include "navmesh.h"

#define HEURISTIC 0.999f
#define CLOSE (0.001f * 0.001f)                       /* square metres: a start nearer has passed the portal */
#define EQUAL ((1.0f / 16384.0f) * (1.0f / 16384.0f)) /* square metres: nearer points of a path are one */
#define TOLERANCE 1e-5f

/* What became of a search. */
enum { FOUND, SAME, NO_START, NO_END = 4, OTHER_ISLAND = 8, UNREACHED = 16, OUT_OF_NODES = 32, TOO_LONG = 64 };

/* A polygon that the search has met, and where the way to it enters it: that stays, even if the way changes. */
typedef struct {
    Point place;
    float cost, total;
    int32_t polygon, kind, parent, slot; /* slot: where it is in the heap, -1 while it is closed */
} Node;

typedef struct {
    const Mesh *mesh;
    int32_t end;
    Point goal;
    Node nodes[MOST_NODES];
    int32_t heap[MOST_NODES];
    int count, open, is_out_of_nodes;
    int32_t *numbers; /* of the nodes, four for each polygon; -1: none yet */
} Search;

static void sift_up(Search *search, int slot, int32_t number) {
    Node *nodes = search->nodes;
    int32_t *heap = search->heap;
    for (int parent; slot > 0; slot = parent) {
        parent = (slot - 1) / 2;
        if (!(nodes[heap[parent]].total > nodes[number].total)) break;
        heap[slot] = heap[parent];
        nodes[heap[slot]].slot = slot;
    }
    heap[slot] = number;
    nodes[number].slot = slot;
}

/* The gap moves down to a leaf, then the last node moves up from there. */
static int32_t take_best(Search *search) {
    Node *nodes = search->nodes;
    int32_t *heap = search->heap, best = heap[0], last = heap[--search->open];
    int slot = 0;
    for (int child = 1; child < search->open; slot = child, child = 2 * child + 1) {
        if (child + 1 < search->open && nodes[heap[child]].total > nodes[heap[child + 1]].total) child++;
        heap[slot] = heap[child];
        nodes[heap[slot]].slot = slot;
    }
    if (search->open) sift_up(search, slot, last);
    nodes[best].slot = -1;
    return best;
}

static int32_t add_node(Search *search, int32_t polygon, int32_t kind, Point place) {
    int32_t number = search->count++;
    search->numbers[4 * (int64_t)polygon + kind] = number;
    search->nodes[number] = (Node){.place = place, .polygon = polygon, .kind = kind, .parent = -1, .slot = -1};
    return number;
}

/* Go from the best node to a neighbour, if that is better than what is known of the neighbour. */
static void visit(Search *search, int32_t best, const Link *link, const Portal *portal) {
    int32_t number = search->numbers[4 * (int64_t)link->target + link->kind];
    int is_new = number < 0;
    if (is_new) {
        if (search->count == MOST_NODES) {
            search->is_out_of_nodes = 1;
            return;
        }
        Point left = portal->left, right = portal->right;
        Point middle = {(left.x + right.x) * 0.5f, (left.y + right.y) * 0.5f, (left.z + right.z) * 0.5f};
        number = add_node(search, link->target, link->kind, middle);
    }
    Node *node = &search->nodes[number], *from = &search->nodes[best];
    float cost = from->cost + distance(from->place, node->place), total;
    float rest = distance(node->place, search->goal);
    if (link->target == search->end)
        total = cost = cost + rest;
    else
        total = cost + rest * HEURISTIC;
    if (!is_new && total >= node->total) return;
    node->parent = best;
    node->cost = cost;
    node->total = total;
    sift_up(search, node->slot < 0 ? search->open++ : node->slot, number);
}

/* Search until the end is the best open node; its number, or -1. */
static int32_t run(Search *search, int32_t start, Point place) {
    const Mesh *mesh = search->mesh;
    search->count = search->open = search->is_out_of_nodes = 0;
    int32_t first = add_node(search, start, 0, place);
    search->nodes[first].total = distance(place, search->goal) * HEURISTIC;
    sift_up(search, search->open++, first);
    while (search->open) {
        int32_t best = take_best(search);
        const Node *node = &search->nodes[best];
        if (node->polygon == search->end) return best;
        const Polygon *polygon = &mesh->polygons[node->polygon];
        int32_t before = node->parent < 0 ? -1 : search->nodes[node->parent].polygon;
        for (int32_t i = polygon->first_link; i < polygon->end_link; i++) {
            int32_t target = mesh->links[i].target;
            if (target != before && mesh->polygons[target].island >= 0)
                visit(search, best, &mesh->links[i], &mesh->portals[i]);
        }
    }
    return -1;
}

static int is_same(Point a, Point b) {
    const float one[3] = {a.x, a.y, a.z}, other[3] = {b.x, b.y, b.z};
    for (int i = 0; i < 3; i++) {
        float apart = fabsf(one[i] - other[i]);
        int relative = one[i] != 0.0f && other[i] != 0.0f && apart / (fabsf(one[i]) + fabsf(other[i])) < TOLERANCE;
        if (!(one[i] == other[i] || apart < TOLERANCE || relative)) return 0;
    }
    return 1;
}

static int is_about_same(Point a, Point b) {
    const Point origin = {0.0f, 0.0f, 0.0f};
    float from_a = squared(origin, a), from_b = squared(origin, b);
    return squared(a, b) <= TOLERANCE * TOLERANCE * (from_b < from_a ? from_b : from_a);
}

/* What became of the search; the corridor's polygons, and how many they are, where it was found. */
static int find_corridor(Search *search, const int32_t ends[2], const Point places[2], int by_component,
                         int32_t *corridor, int *count) {
    const Mesh *mesh = search->mesh;
    *count = 0;
    if (ends[0] < 0) return NO_START;
    if (ends[1] < 0) return NO_END;
    if (by_component ? is_same(places[0], places[1]) : is_about_same(places[0], places[1])) return SAME;
    if (mesh->polygons[ends[0]].island != mesh->polygons[ends[1]].island) return OTHER_ISLAND;
    if (ends[0] == ends[1]) {
        corridor[(*count)++] = ends[0];
        return FOUND;
    }
    search->end = ends[1];
    search->goal = places[1];
    int32_t reached = run(search, ends[0], places[0]);
    int outcome = search->is_out_of_nodes ? OUT_OF_NODES : FOUND, length = 0;
    for (int i = 0; i < search->count; i++)
        search->numbers[4 * (int64_t)search->nodes[i].polygon + search->nodes[i].kind] = -1;
    if (reached < 0) return outcome | UNREACHED;
    for (int32_t n = reached; n >= 0; n = search->nodes[n].parent) length++;
    if (length > MOST_POLYGONS) outcome |= TOO_LONG;
    if (outcome != FOUND) return outcome;
    *count = length;
    for (int32_t n = reached; n >= 0; n = search->nodes[n].parent) corridor[--length] = search->nodes[n].polygon;
    return FOUND;
}

/* A point that is above or below a polygon as it is, another one moved to the nearest edge. */
static Point moved_into(const Mesh *mesh, const Polygon *polygon, Point point) {
    if (is_inside(mesh, polygon, point)) return point;
    float least = FLT_MAX, share = 0.0f;
    Point nearest = point;
    for (int i = 0; i < polygon->count; i++) {
        Point a = mesh->points[polygon->corners[i]], b = mesh->points[polygon->corners[(i + 1) % polygon->count]];
        float away = to_segment(point, a, b, &share);
        if (away < least) least = away, nearest = between(a, b, share);
    }
    return nearest;
}

static const Portal *portal_between(const Mesh *mesh, int32_t polygon, int32_t following) {
    int32_t link = mesh->polygons[polygon].first_link;
    while (mesh->links[link].target != following) link++;
    return &mesh->portals[link];
}

static float area(Point a, Point b, Point c) { return (c.x - a.x) * (b.z - a.z) - (b.x - a.x) * (c.z - a.z); }

static int is_equal(Point a, Point b) { return squared(a, b) < EQUAL; }

/* Pull the path through a corridor straight (the funnel); how many points it has, or 0 if they are too many. */
static int pull(const Mesh *mesh, const int32_t *corridor, int polygons, Point start, Point end, Point *path) {
    start = moved_into(mesh, &mesh->polygons[corridor[0]], start);
    end = moved_into(mesh, &mesh->polygons[corridor[polygons - 1]], end);
    Point apex = start, left = start, right = start;
    int left_at = 0, right_at = 0, left_ends = 0, right_ends = 0, count = 0;
    const int last = polygons - 1;
    path[count++] = start;
    for (int i = last ? 0 : 1; i <= last; i++) { /* within one polygon there is no portal */
        Portal portal = {end, end};
        if (i < last) {
            float share;
            portal = *portal_between(mesh, corridor[i], corridor[i + 1]);
            if (i == 0 && to_segment(apex, portal.left, portal.right, &share) < CLOSE) continue;
        }
        int turns_at = -1, is_end = 0;
        if (area(apex, right, portal.right) <= 0.0f) {
            if (is_equal(apex, right) || area(apex, left, portal.right) > 0.0f)
                right = portal.right, right_at = i, right_ends = i == last;
            else
                apex = left, turns_at = left_at, is_end = left_ends;
        }
        if (turns_at < 0 && area(apex, left, portal.left) >= 0.0f) {
            if (is_equal(apex, left) || area(apex, right, portal.left) < 0.0f)
                left = portal.left, left_at = i, left_ends = i == last;
            else
                apex = right, turns_at = right_at, is_end = right_ends;
        }
        if (turns_at < 0) continue;
        if (!is_equal(path[count - 1], apex)) {
            path[count++] = apex;
            if (count == MOST_POINTS) return 0;
            if (is_end) return count;
        }
        left = right = apex;
        left_at = right_at = i = turns_at;
    }
    if (!is_equal(path[count - 1], end)) path[count++] = end;
    return count < MOST_POINTS ? count : 0;
}

/* One pair: what became of it and its path, if there is one, are written, and the path's length is returned. */
static double find_path(Search *search, const Point *points, const Point *snapped, const int32_t *polygons,
                        const int32_t *pair, int by_component, Point *path, int32_t *outcome) {
    int32_t corridor[MOST_POLYGONS];
    Point pulled[MOST_POINTS];
    const int32_t ends[2] = {polygons[pair[0]], polygons[pair[1]]};
    const Point places[2] = {snapped[pair[0]], snapped[pair[1]]};
    int count = 0, found = find_corridor(search, ends, places, by_component, corridor, &count);
    outcome[0] = found;
    outcome[1] = count;
    outcome[2] = 0;
    if (found == SAME) {
        if (path) memcpy(path, places, sizeof places);
        outcome[2] = 2;
        return 0.0;
    }
    if (found != FOUND) return INFINITY;
    int length = pull(search->mesh, corridor, count, points[pair[0]], points[pair[1]], pulled);
    if (!length) {
        outcome[0] = TOO_LONG;
        return INFINITY;
    }
    outcome[2] = length;
    float sum = 0.0f;
    for (int i = 1; i < length; i++) sum += distance(pulled[i - 1], pulled[i]);
    if (path) memcpy(path, pulled, sizeof(Point) * (size_t)length);
    return sum;
}

static int shapes_fit(const Array *own) {
    int64_t count = LENGTH(own[0], 0), many = LENGTH(own[1], 0);
    if (LENGTH(own[0], 1) != 3 || LENGTH(own[1], 1) != 2 || LENGTH(own[2], 0) != count || LENGTH(own[2], 1) != 3 ||
        LENGTH(own[3], 0) != count || LENGTH(own[4], 0) != many || LENGTH(own[5], 0) != many || LENGTH(own[5], 1) != 3)
        return 0;
    if (own[6].held && (LENGTH(own[6], 0) != many || LENGTH(own[6], 1) != MOST_POINTS || LENGTH(own[6], 2) != 3))
        return 0;
    for (int64_t i = 0; i < 2 * many; i++)
        if (INTS32(own[1])[i] < 0 || INTS32(own[1])[i] >= count) return 0;
    return 1;
}

/* navmesh_search(mesh, points, pairs, by_component, snapped, polygons, lengths, outcomes, paths): points snapped to the
 * mesh, and the way from one to another for many pairs of them. */
KERNEL(navmesh_search, "o f2 i2 n f2w i1w d1w i2w f3w?") {
    Array mesh_arrays[MESH_ARRAYS] = {{.held = 0}};
    Mesh mesh;
    Search *search = NULL;
    PyObject *result = NULL;
    if (!take_mesh(args[0], mesh_arrays, &mesh)) goto end;
    if (!shapes_fit(arrays)) {
        refuse("points, pairs and results do not fit each other");
        goto end;
    }
    size_t size = sizeof(int32_t) * 4 * (size_t)mesh.polygon_count;
    if (!(search = malloc(sizeof(Search) + size))) {
        PyErr_NoMemory();
        goto end;
    }
    search->mesh = &mesh;
    search->numbers = (int32_t *)(search + 1);
    const Point *points = arrays[0].view.buf;
    Point *snapped = arrays[2].view.buf, *paths = arrays[6].view.buf;
    int32_t *polygons = INTS32(arrays[3]);
    PyThreadState *state = PyEval_SaveThread();
    memset(search->numbers, 0xff, size);
    for (int64_t i = 0; i < LENGTH(arrays[0], 0); i++) polygons[i] = nearest_polygon(&mesh, points[i], &snapped[i]);
    for (int64_t i = 0; i < LENGTH(arrays[1], 0); i++)
        DOUBLES(arrays[4])[i] = find_path(search, points, snapped, polygons, INTS32(arrays[1]) + 2 * i, numbers[0].n != 0,
                                          paths ? paths + i * MOST_POINTS : NULL, INTS32(arrays[5]) + 3 * i);
    PyEval_RestoreThread(state);
    result = none();
end:
    free(search);
    drop_arrays(mesh_arrays, MESH_ARRAYS);
    return result;
}
