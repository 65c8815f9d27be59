/* A navigation mesh as the kernels read it, and the geometry that snapping and searching share.
 *
 * Every operation is rounded to float, in Detour's order: the arithmetic is part of the answer. x and z span the floor,
 * y points up. */
#ifndef WAYSCORE_NAVMESH_H
#define WAYSCORE_NAVMESH_H

#include "native.h"
#include <float.h>

#define MOST_NODES 2048
#define MOST_POLYGONS 256
#define MOST_POINTS 256
#define MESH_ARRAYS 9

typedef struct {
    float x, y, z;
} Point;

typedef struct {
    float low[3], high[3];
    float steps; /* of the nodes' boxes, per metre */
    float climb;
} TileBox;

typedef struct {
    int32_t x, z, first, end;
} Tile;

typedef struct {
    int32_t low[3], high[3];
    int32_t value; /* the polygon of a leaf, or below 0 how many nodes to skip if the box is missed */
} BoxNode;

typedef struct {
    int32_t corners[6], count;
    int32_t island; /* -1: not walkable */
    int32_t first_link, end_link, first_triangle, end_triangle;
} Polygon;

typedef struct {
    int32_t target;
    int32_t kind; /* the number of the search's node for it */
} Link;

typedef struct {
    Point left, right;
} Portal;

typedef struct {
    int32_t corners[3];
    int32_t flags; /* bit j: edge j is on the polygon's border; bit 3 + j: it is looked at only once */
} Triangle;

typedef struct {
    const float *frame; /* origin of the grid of tiles, size of a tile in x and z */
    const TileBox *boxes;
    const Tile *tiles;
    const BoxNode *nodes;
    const Point *points;
    const Polygon *polygons;
    const Link *links;
    const Portal *portals;
    const Triangle *triangles;
    int64_t tile_count, polygon_count;
} Mesh;

/* Read a mesh from the tuple of its arrays, or set a Python error and return 0. */
int take_mesh(PyObject *tuple, Array *arrays, Mesh *mesh);

/* The nearest walkable polygon, of equals the first in the trees' order, and its point that is nearest; -1 and the
 * point itself where there is none. */
int32_t nearest_polygon(const Mesh *mesh, Point point, Point *snapped);

static inline Point minus(Point a, Point b) { return (Point){a.x - b.x, a.y - b.y, a.z - b.z}; }

static inline float squared(Point a, Point b) {
    Point d = minus(b, a);
    return d.x * d.x + d.y * d.y + d.z * d.z;
}

static inline float distance(Point a, Point b) { return sqrtf(squared(a, b)); }

/* A point between two; share is 0 at a and 1 at b. */
static inline Point between(Point a, Point b, float share) {
    return (Point){a.x + (b.x - a.x) * share, a.y + (b.y - a.y) * share, a.z + (b.z - a.z) * share};
}

static inline float clamped(float value, float low, float high) {
    return value < low ? low : value > high ? high : value;
}

/* The squared distance to a segment, seen from above, and where on it the nearest point is. */
static inline float to_segment(Point point, Point a, Point b, float *share) {
    float x = b.x - a.x, z = b.z - a.z;
    float length = x * x + z * z;
    float at = x * (point.x - a.x) + z * (point.z - a.z);
    if (length > 0.0f) at /= length;
    at = clamped(at, 0.0f, 1.0f);
    float dx = a.x + at * x - point.x, dz = a.z + at * z - point.z;
    *share = at;
    return dx * dx + dz * dz;
}

/* Is a point inside a polygon, seen from above? */
static inline int is_inside(const Mesh *mesh, const Polygon *polygon, Point point) {
    int inside = 0;
    Point before = mesh->points[polygon->corners[polygon->count - 1]];
    for (int i = 0; i < polygon->count; i++) {
        Point corner = mesh->points[polygon->corners[i]];
        if ((corner.z > point.z) != (before.z > point.z) &&
            point.x < (before.x - corner.x) * (point.z - corner.z) / (before.z - corner.z) + corner.x)
            inside = !inside;
        before = corner;
    }
    return inside;
}

#endif
