/* Snapping points to a navigation mesh: the nearest polygon as Detour finds it. */
#include "navmesh.h"

#define FARTHEST 1e9f /* metres: no point beyond is on a mesh, and no product of coordinates within overflows */
static const float EXTENTS[3] = {2.0f, 4.0f, 2.0f}; /* half of the box in which polygons are looked for, metres */
enum { BORDER = 0, ONCE = 3 };                      /* the lowest bits of an edge's flags */

static int within(int32_t first, int32_t end, int64_t count) { return 0 <= first && first <= end && end <= count; }

static int below(const int32_t *numbers, int count, int64_t end) {
    int fits = 1;
    for (int i = 0; i < count; i++) fits &= (uint32_t)numbers[i] < (uint64_t)end;
    return fits;
}

/* Does every number of a mesh lead to something? */
static int fits_itself(const Mesh *mesh, const Array *arrays) {
    const int64_t nodes = LENGTH(arrays[3], 0), points = LENGTH(arrays[4], 0), polygons = LENGTH(arrays[5], 0);
    const int64_t links = LENGTH(arrays[6], 0), triangles = LENGTH(arrays[8], 0);
    int fits = 1;
    for (int64_t t = 0; t < mesh->tile_count; t++) {
        const TileBox *box = &mesh->boxes[t];
        for (int i = 0; i < 3; i++) {
            float steps = box->steps * (box->high[i] - box->low[i]) + 1.0f;
            fits &= steps >= 1.0f && steps < 65536.0f;
        }
        fits &= within(mesh->tiles[t].first, mesh->tiles[t].end, nodes);
    }
    for (int64_t i = 0; i < nodes; i++) fits &= mesh->nodes[i].value < polygons;
    for (int64_t i = 0; i < polygons; i++) {
        const Polygon *polygon = &mesh->polygons[i];
        fits &= below(polygon->corners, 6, points) && 3 <= polygon->count && polygon->count <= 6 &&
                within(polygon->first_link, polygon->end_link, links) &&
                within(polygon->first_triangle, polygon->end_triangle, triangles);
    }
    for (int64_t i = 0; i < links; i++) fits &= below(&mesh->links[i].target, 1, polygons) && below(&mesh->links[i].kind, 1, 4);
    for (int64_t i = 0; i < triangles; i++) fits &= below(mesh->triangles[i].corners, 3, points);
    return fits;
}

int take_mesh(PyObject *tuple, Array *arrays, Mesh *mesh) {
    static const int columns[MESH_ARRAYS] = {5, 8, 4, 7, 3, 12, 2, 6, 4};
    static const char kinds[] = "ffiifiifi";
    if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) != MESH_ARRAYS) {
        PyErr_SetString(PyExc_TypeError, "a mesh is a tuple of 9 arrays");
        return 0;
    }
    for (int i = 0; i < MESH_ARRAYS; i++) {
        int dimensions = i ? 2 : 1;
        if (!take_array(PyTuple_GetItem(tuple, i), &arrays[i], kinds[i], dimensions, 0, 0)) return 0;
        if (LENGTH(arrays[i], dimensions - 1) != columns[i]) goto unfit;
    }
    if (LENGTH(arrays[1], 0) != LENGTH(arrays[2], 0) || LENGTH(arrays[6], 0) != LENGTH(arrays[7], 0)) goto unfit;
    *mesh = (Mesh){
        .frame = FLOATS(arrays[0]),
        .boxes = arrays[1].view.buf,
        .tiles = arrays[2].view.buf,
        .nodes = arrays[3].view.buf,
        .points = arrays[4].view.buf,
        .polygons = arrays[5].view.buf,
        .links = arrays[6].view.buf,
        .portals = arrays[7].view.buf,
        .triangles = arrays[8].view.buf,
        .tile_count = LENGTH(arrays[1], 0),
        .polygon_count = LENGTH(arrays[5], 0),
    };
    if (fits_itself(mesh, arrays)) return 1;
    PyErr_SetString(PyExc_ValueError, "a number of the mesh is out of range");
    return 0;
unfit:
    PyErr_SetString(PyExc_ValueError, "the arrays of the mesh do not fit each other");
    return 0;
}

/* The height of a triangle at a point; 0 is returned beside it. */
static int height_at(Point point, Point a, Point b, Point c, float *height) {
    Point ac = minus(c, a), ab = minus(b, a), ap = minus(point, a);
    float area = ac.x * ab.z - ac.z * ab.x;
    if (fabsf(area) < 1e-6f) return 0;
    float u = ab.z * ap.x - ab.x * ap.z, v = ac.x * ap.z - ac.z * ap.x;
    if (area < 0.0f) area = -area, u = -u, v = -v;
    if (!(u >= 0.0f && v >= 0.0f && u + v <= area)) return 0;
    *height = a.y + (ac.y * u + ab.y * v) / area;
    return 1;
}

/* The nearest point, seen from above, on the edges of a polygon's triangles whose flag of this kind is set. */
static int nearest_on_edges(const Mesh *mesh, const Polygon *polygon, Point point, int kind, Point *nearest) {
    float least = FLT_MAX, share = 0.0f, found_share = 0.0f;
    const Point *from = NULL, *to = NULL;
    for (int32_t t = polygon->first_triangle; t < polygon->end_triangle; t++) {
        const Triangle *triangle = &mesh->triangles[t];
        for (int end = 0, edge = 2; end < 3; edge = end++) {
            if (!(triangle->flags >> (kind + edge) & 1)) continue;
            const Point *a = &mesh->points[triangle->corners[edge]], *b = &mesh->points[triangle->corners[end]];
            float away = to_segment(point, *a, *b, &share);
            if (away < least) least = away, from = a, to = b, found_share = share;
        }
    }
    if (from) *nearest = between(*from, *to, found_share);
    return from != NULL;
}

/* Whether a point is above or below a polygon, and the polygon's nearest point by its triangles; 0 where there is none. */
static int nearest_in(const Mesh *mesh, const Polygon *polygon, Point point, int *inside, Point *nearest) {
    *inside = is_inside(mesh, polygon, point);
    if (!*inside) return nearest_on_edges(mesh, polygon, point, BORDER, nearest);
    *nearest = point;
    for (int32_t t = polygon->first_triangle; t < polygon->end_triangle; t++) {
        const int32_t *corners = mesh->triangles[t].corners;
        if (height_at(point, mesh->points[corners[0]], mesh->points[corners[1]], mesh->points[corners[2]], &nearest->y))
            return 1;
    }
    Point edge; /* no triangle: the point is on an edge, up to rounding */
    if (!nearest_on_edges(mesh, polygon, point, ONCE, &edge)) return 0;
    nearest->y = edge.y;
    return 1;
}

/* What nearness is judged by: above or below a polygon, heights within the climb do not count. */
static float score(Point point, Point nearest, float climb, int inside) {
    if (!inside) return squared(nearest, point);
    float height = fabsf(point.y - nearest.y) - climb;
    return height > 0.0f ? height * height : 0.0f;
}

/* The nearest walkable polygon, of equals the first in the trees' order; -1 where there is none. */
static int32_t nearest_polygon(const Mesh *mesh, Point point, Point *snapped) {
    const float place[3] = {point.x, point.y, point.z}, *frame = mesh->frame;
    float low[3], high[3], least = FLT_MAX;
    int32_t found = -1;
    *snapped = point;
    for (int i = 0; i < 3; i++) {
        if (!(fabsf(place[i]) <= FARTHEST)) return -1;
        low[i] = place[i] - EXTENTS[i];
        high[i] = place[i] + EXTENTS[i];
    }
    double first_x = floorf((low[0] - frame[0]) / frame[3]), last_x = floorf((high[0] - frame[0]) / frame[3]);
    double first_z = floorf((low[2] - frame[2]) / frame[4]), last_z = floorf((high[2] - frame[2]) / frame[4]);
    for (int64_t t = 0; t < mesh->tile_count; t++) {
        const Tile *tile = &mesh->tiles[t];
        const TileBox *box = &mesh->boxes[t];
        if (!(first_x <= tile->x && tile->x <= last_x && first_z <= tile->z && tile->z <= last_z)) continue;
        int32_t from[3], to[3];
        for (int i = 0; i < 3; i++) {
            from[i] = (int32_t)(box->steps * (clamped(low[i], box->low[i], box->high[i]) - box->low[i])) & 0xfffe;
            to[i] = (int32_t)(box->steps * (clamped(high[i], box->low[i], box->high[i]) - box->low[i]) + 1.0f) | 1;
        }
        for (int64_t n = tile->first; n < tile->end;) {
            const BoxNode *node = &mesh->nodes[n];
            int meets = from[0] <= node->high[0] && to[0] >= node->low[0] && from[1] <= node->high[1] &&
                        to[1] >= node->low[1] && from[2] <= node->high[2] && to[2] >= node->low[2];
            if (meets && node->value >= 0 && mesh->polygons[node->value].island >= 0) {
                Point nearest;
                int inside;
                if (nearest_in(mesh, &mesh->polygons[node->value], point, &inside, &nearest)) {
                    float away = score(point, nearest, box->climb, inside);
                    if (away < least) least = away, found = node->value, *snapped = nearest;
                }
            }
            n += meets || node->value >= 0 ? 1 : -(int64_t)node->value;
        }
    }
    return found;
}

/* navmesh_snap(mesh, points, snapped, polygons): the nearest walkable polygon of each point and its nearest point. */
KERNEL(kernel_navmesh_snap) {
    (void)self;
    Array arrays[MESH_ARRAYS + 3] = {{.held = 0}}, *own = arrays + MESH_ARRAYS;
    Mesh mesh;
    PyObject *result = NULL;
    if (!need_arguments("navmesh_snap", nargs, 4) || !take_mesh(args[0], arrays, &mesh) ||
        !take_array(args[1], &own[0], 'f', 2, 0, 0) || !take_array(args[2], &own[1], 'f', 2, 1, 0) ||
        !take_array(args[3], &own[2], 'i', 1, 1, 0))
        goto end;
    int64_t count = LENGTH(own[0], 0);
    if (LENGTH(own[0], 1) != 3 || LENGTH(own[1], 0) != count || LENGTH(own[1], 1) != 3 || LENGTH(own[2], 0) != count) {
        PyErr_SetString(PyExc_ValueError, "points, snapped and polygons do not fit each other");
        goto end;
    }
    const Point *points = own[0].view.buf;
    Point *snapped = own[1].view.buf;
    PyThreadState *state = PyEval_SaveThread();
    for (int64_t i = 0; i < count; i++) INTS32(own[2])[i] = nearest_polygon(&mesh, points[i], &snapped[i]);
    PyEval_RestoreThread(state);
    Py_INCREF(Py_None);
    result = Py_None;
end:
    drop_arrays(arrays, MESH_ARRAYS + 3);
    return result;
}
