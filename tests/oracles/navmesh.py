"""Geodesics on a navigation mesh as Habitat's PathFinder finds them with Detour: nearest polygons, then the search.

These are not shortest paths: the search minimises a way through the middles of portals, and only the corridor of
polygons that it finds is pulled straight. So the arithmetic is part of the answer: every operation is rounded to
float32, in Detour's order, and ties are broken as Detour breaks them. x and z span the floor, y points up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.distances.navmesh_build import Mesh

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
Point = tuple[np.float32, np.float32, np.float32]

CORNERS, COUNT, ISLAND, LINKS, TRIANGLES = slice(0, 6), 6, 7, slice(8, 10), slice(10, 12)
"""The columns of `Mesh.polygons`."""
BORDER, ONCE = 0, 3
"""The lowest bits of an edge's flags in `Mesh.triangles`: it is on the polygon's border; it is looked at only once."""
FARTHEST = np.float32(1e9)
"""Metres: no point beyond is on a mesh, and no product of coordinates within overflows."""
LARGEST = np.finfo(np.float32).max
ZERO, ONE, HALF = np.float32(0), np.float32(1), np.float32(0.5)
EXTENTS = (np.float32(2), np.float32(4), np.float32(2))
"""Half of the box around a point in which polygons are looked for, metres."""
FLAT = np.float32(1e-6)
"""Square metres: a triangle of less has no height."""


_SHAPES = ((5,), (None, 8), (None, 4), (None, 7), (None, 3), (None, 12), (None, 2), (None, 6), (None, 4))
_REAL = (True, True, False, False, True, False, False, True, False)


def check_mesh(mesh: Mesh) -> None:
    """Raise a ValueError if a number of the mesh leads out of its arrays."""
    fits = len(mesh) == len(_SHAPES)
    for array, shape, real in zip(mesh, _SHAPES, _REAL, strict=False):
        dimensions = array.ndim == len(shape) and (None, *array.shape[1:])[-1] == (None, *shape[1:])[-1]
        fits = fits and array.dtype == (np.float32 if real else np.int32) and dimensions
    if not fits or len(mesh.frame) != 5 or len(mesh.tiles) != len(mesh.boxes) or len(mesh.links) != len(mesh.portals):
        raise ValueError("the arrays of the mesh do not fit each other")
    steps = mesh.boxes[:, 6:7] * (mesh.boxes[:, 3:6] - mesh.boxes[:, :3]) + ONE
    polygons, points = mesh.polygons, len(mesh.points)
    in_range = (
        ((steps >= ONE) & (steps < 65536)).all()
        and _below(mesh.tiles[:, 2:], len(mesh.nodes) + 1)
        and (mesh.nodes[:, 6] < len(polygons)).all()
        and _below(polygons[:, CORNERS], points)
        and _below(polygons[:, COUNT] - 3, 4)
        and _below(polygons[:, LINKS], len(mesh.links) + 1)
        and _below(polygons[:, TRIANGLES], len(mesh.triangles) + 1)
        and _below(mesh.links[:, 0], len(polygons))
        and _below(mesh.links[:, 1], 4)
        and _below(mesh.triangles[:, :3], points)
    )
    if not in_range:
        raise ValueError("a number of the mesh is out of range")


def _below(numbers: Ints, end: int) -> Any:
    return ((numbers >= 0) & (numbers < end)).all()


def nearest_polygon(mesh: Mesh, point: Point) -> tuple[int, Point]:
    """Return the nearest walkable polygon (of equals, the first in the trees' order) and its point that is nearest.

    Where there is none, that is -1 and the point itself.
    """
    found, place, least = -1, point, LARGEST
    if not all(abs(coordinate) <= FARTHEST for coordinate in point):
        return found, place
    low = [coordinate - extent for coordinate, extent in zip(point, EXTENTS, strict=True)]
    high = [coordinate + extent for coordinate, extent in zip(point, EXTENTS, strict=True)]
    origin, sizes = mesh.frame[:3], mesh.frame[3:]
    first_x, last_x = (float(np.floor((end[0] - origin[0]) / sizes[0])) for end in (low, high))
    first_z, last_z = (float(np.floor((end[2] - origin[2]) / sizes[1])) for end in (low, high))
    for (x, z, node, end), box in zip(mesh.tiles.tolist(), mesh.boxes, strict=True):
        if not (first_x <= x <= last_x and first_z <= z <= last_z):
            continue
        climb = box[7]
        least_box = [int(box[6] * (_clamped(low[i], box[i], box[3 + i]) - box[i])) & 0xFFFE for i in range(3)]
        most_box = [int(box[6] * (_clamped(high[i], box[i], box[3 + i]) - box[i]) + ONE) | 1 for i in range(3)]
        while node < end:
            *bounds, value = mesh.nodes[node].tolist()
            meets = all(least_box[i] <= bounds[3 + i] and most_box[i] >= bounds[i] for i in range(3))
            if meets and value >= 0 and mesh.polygons[value, ISLAND] >= 0:
                inside, nearest = _nearest_in(mesh, value, point)
                if nearest is not None:
                    score = _score(point, nearest, climb, inside=inside)
                    if score < least:
                        found, place, least = value, nearest, score
            node += 1 if meets or value >= 0 else -value
    return found, place


def _clamped(value: np.float32, low: np.float32, high: np.float32) -> np.float32:
    return low if value < low else high if value > high else value


def _score(point: Point, nearest: Point, climb: np.float32, *, inside: bool) -> np.float32:
    """Return what nearness is judged by: above or below a polygon, heights within the climb do not count."""
    x, y, z = (a - b for a, b in zip(point, nearest, strict=True))
    if inside:
        height = abs(y) - climb
        return height * height if height > ZERO else ZERO
    return x * x + y * y + z * z


def _nearest_in(mesh: Mesh, polygon: int, point: Point) -> tuple[bool, Point | None]:
    """Return whether a point is above or below a polygon, and the polygon's nearest point by its triangles."""
    start, stop = mesh.polygons[polygon, TRIANGLES]
    triangles = mesh.triangles[start:stop]
    if not is_inside(corners_of(mesh, polygon), point):
        return False, _nearest_on_edges(mesh, triangles, point, BORDER)
    for triangle in triangles:
        height = _height(point, *(tuple(corner) for corner in mesh.points[triangle[:3]]))
        if height is not None:
            return True, (point[0], height, point[2])
    nearest = _nearest_on_edges(mesh, triangles, point, ONCE)  # no triangle: the point is on an edge, up to rounding
    return True, nearest and (point[0], nearest[1], point[2])


def _height(point: Point, a: Point, b: Point, c: Point) -> np.float32 | None:
    """Return the height of a triangle at a point, or None beside it."""
    ac, ab, ap = ([one - other for one, other in zip(end, a, strict=True)] for end in (c, b, point))
    area = ac[0] * ab[2] - ac[2] * ab[0]
    if abs(area) < FLAT:
        return None
    u = ab[2] * ap[0] - ab[0] * ap[2]
    v = ac[0] * ap[2] - ac[2] * ap[0]
    if area < ZERO:
        area, u, v = -area, -u, -v
    if u >= ZERO and v >= ZERO and u + v <= area:
        return a[1] + (ac[1] * u + ab[1] * v) / area
    return None


def _nearest_on_edges(mesh: Mesh, triangles: Ints, point: Point, kind: int) -> Point | None:
    """Return the nearest point, seen from above, on the edges of triangles whose flag of this kind is set."""
    least, found = LARGEST, None
    for *numbers, flags in triangles.tolist():
        corners = [tuple(mesh.points[number]) for number in numbers]
        for edge, end in ((2, 0), (0, 1), (1, 2)):
            if flags >> (kind + edge) & 1:
                distance, share = to_segment(point, corners[edge], corners[end])
                if distance < least:
                    least, found = distance, (corners[edge], corners[end], share)
    return None if found is None else between(*found)


def corners_of(mesh: Mesh, polygon: int) -> list[Point]:
    """Return the corners of a polygon."""
    row = mesh.polygons[polygon]
    return [tuple(corner) for corner in mesh.points[row[: row[COUNT]]]]


def is_inside(corners: list[Point], point: Point) -> bool:
    """Say whether a point is inside a polygon, seen from above."""
    inside = False
    x, _, z = point
    for (xi, _, zi), (xj, _, zj) in zip(corners, [corners[-1], *corners[:-1]], strict=True):
        if (zi > z) != (zj > z) and x < (xj - xi) * (z - zi) / (zj - zi) + xi:
            inside = not inside
    return inside


def to_segment(point: Point, a: Point, b: Point) -> tuple[np.float32, np.float32]:
    """Return the squared distance to a segment, seen from above, and where on it (0 to 1) the nearest point is."""
    x, z = b[0] - a[0], b[2] - a[2]
    length = x * x + z * z
    share = x * (point[0] - a[0]) + z * (point[2] - a[2])
    if length > ZERO:
        share = share / length
    share = _clamped(share, ZERO, ONE)
    dx, dz = a[0] + share * x - point[0], a[2] + share * z - point[2]
    return dx * dx + dz * dz, share


def between(a: Point, b: Point, share: np.float32) -> Point:
    """Return a point between two."""
    return tuple(one + (other - one) * share for one, other in zip(a, b, strict=True))  # type: ignore[return-value]
