/* Snapping points to a navigation mesh: the nearest polygon as Detour finds it. */
#include "navmesh.h"

#define FARTHEST 1e9f /* metres: no point beyond is on a mesh, and no product of coordinates within overflows */
static const float EXTENTS[3] = {2.0f, 4.0f, 2.0f}; /* half of the box in which polygons are looked for, metres */
enum { BORDER = 0, ONCE = 3 };                      /* the lowest bits of an edge's flags */

/* The largest number of each column, read as unsigned: a negative one is huge. */
static void largest(const Array *array, int columns, uint32_t *most) {
    const uint32_t *numbers = array->view.buf;
    memset(most, 0, sizeof(uint32_t) * (size_t)columns);
    for (int64_t row = 0; row < LENGTH(*array, 0); row++, numbers += columns)
        for (int i = 0; i < columns; i++) most[i] = numbers[i] > most[i] ? numbers[i] : most[i];
}

/* Does every number of a mesh lead to something? */
static int fits_itself(const Mesh *mesh, const Array *arrays) {
    const int64_t nodes = LENGTH(arrays[3], 0), points = LENGTH(arrays[4], 0), polygons = LENGTH(arrays[5], 0);
    const int64_t links = LENGTH(arrays[6], 0), triangles = LENGTH(arrays[8], 0);
    uint32_t tile[4], polygon[12], link[2], triangle[4];
    int fits = 1;
    for (int64_t t = 0; t < mesh->tile_count; t++)
        for (int i = 0; i < 3; i++) {
            float steps = mesh->boxes[t].steps * (mesh->boxes[t].high[i] - mesh->boxes[t].low[i]) + 1.0f;
            fits &= steps >= 1.0f && steps < 65536.0f;
        }
    for (int64_t i = 0; i < nodes; i++) fits &= mesh->nodes[i].value < polygons;
    for (int64_t i = 0; i < polygons; i++) fits &= mesh->polygons[i].count >= 3;
    largest(&arrays[2], 4, tile);
    largest(&arrays[5], 12, polygon);
    largest(&arrays[6], 2, link);
    largest(&arrays[8], 4, triangle);
    if (polygons)
        for (int i = 0; i < 6; i++) fits &= polygon[i] < points;
    if (triangles)
        for (int i = 0; i < 3; i++) fits &= triangle[i] < points;
    return fits && tile[2] <= nodes && tile[3] <= nodes && polygon[6] <= 6 && polygon[8] <= links &&
           polygon[9] <= links && polygon[10] <= triangles && polygon[11] <= triangles &&
           (!links || (link[0] < polygons && link[1] < 4));
}

int take_mesh(PyObject *tuple, Array *arrays, Mesh *mesh) {
    static const struct {
        const char *form;
        int columns;
    } expected[MESH_ARRAYS] = {{"f1", 5},  {"f2", 8}, {"i2", 4}, {"i2", 7}, {"f2", 3},
                                {"i2", 12}, {"i2", 2}, {"f2", 6}, {"i2", 4}};
    int fits = 1;
    if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) != MESH_ARRAYS) {
        PyErr_SetString(PyExc_TypeError, "a mesh is a tuple of 9 arrays");
        return 0;
    }
    for (int i = 0; i < MESH_ARRAYS; i++) {
        if (!take_array(PyTuple_GetItem(tuple, i), &arrays[i], expected[i].form)) return 0;
        fits &= LENGTH(arrays[i], i > 0) == expected[i].columns;
    }
    if (!fits || LENGTH(arrays[1], 0) != LENGTH(arrays[2], 0) || LENGTH(arrays[6], 0) != LENGTH(arrays[7], 0)) {
        refuse("the arrays of the mesh do not fit each other");
        return 0;
    }
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
    if (!fits_itself(mesh, arrays)) refuse("a number of the mesh is out of range");
    return !PyErr_Occurred();
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

/* Whether a point is above or below a polygon, and the polygon's nearest point by its triangles; 0 if it has none. */
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

int32_t nearest_polygon(const Mesh *mesh, Point point, Point *snapped) {
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

