"""Geodesics on a navigation mesh as Habitat's PathFinder finds them with Detour: a literal twin of the native search.

Both points are snapped to their nearest polygons, A* goes from polygon to polygon, and the corridor is pulled straight.
These are not shortest paths: the search minimises a way through the middles of portals, and only the corridor of
polygons that it finds is pulled straight. So the arithmetic is part of the answer: every operation is rounded to
float32, in Detour's order, and ties are broken as Detour breaks them. x and z span the floor, y points up. Habitat
pulls the path straight between the points as they were given, each moved into its polygon only sideways: heights above
the floor count.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

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
FOUND, SAME, NO_START, NO_END, OTHER_ISLAND, UNREACHED, OUT_OF_NODES, TOO_LONG = 0, 1, 2, 4, 8, 16, 32, 64
"""What became of a search; the last three may come together. A path is known after FOUND and SAME."""
MOST_NODES, MOST_POLYGONS, MOST_POINTS = 2048, 256, 256
HEURISTIC = np.float32(0.999)
CLOSE = np.float32(0.001) * np.float32(0.001)
"""Square metres: a start nearer to the first portal has passed it already."""
EQUAL = (ONE / np.float32(16384)) * (ONE / np.float32(16384))
"""Square metres: nearer points of a path are one."""
TOLERANCE = np.float32(1e-5)


def navmesh_search(
    mesh: Mesh,
    points: Floats,
    pairs: Ints,
    by_component: int,
    snapped: Floats,
    polygons: Ints,
    lengths: NDArray[np.float64],
    outcomes: Ints,
    paths: Floats | None,
) -> None:
    """Snap points to the mesh, and find the way from one to another for many pairs of them.

    `by_component` is 1 if snapped points are the same when each coordinate is (habitat-sim 0.3.3 and later), 0 if they
    are by their distance (before). The arrays after it are written: `outcomes` has what became of the search, and the
    numbers of polygons of the corridor and of points of the path.
    """
    with np.errstate(all="ignore"):
        for number, point in enumerate(points):
            polygons[number], snapped[number] = _nearest_polygon(mesh, tuple(point))
        for number, (a, b) in enumerate(pairs.tolist()):
            ends = (int(polygons[a]), int(polygons[b]))
            places = (tuple(snapped[a]), tuple(snapped[b]))
            outcome, corridor = _corridor(mesh, ends, places, by_component)
            path: list[Point] | None = None
            if outcome == FOUND:
                path = _pulled(mesh, corridor, tuple(points[a]), tuple(points[b]))
                if path is None:
                    outcome = TOO_LONG
            elif outcome == SAME:
                path = list(places)
            lengths[number] = np.inf if path is None else 0.0 if outcome == SAME else _length(path)
            outcomes[number] = outcome, len(corridor), 0 if path is None else len(path)
            if paths is not None and path is not None:
                paths[number, : len(path)] = path


def _corridor(
    mesh: Mesh, ends: tuple[int, int], places: tuple[Point, Point], by_component: int
) -> tuple[int, list[int]]:
    """Return what became of the search, and the polygons from start to end where it was found."""
    start, end = ends
    if start < 0 or end < 0:
        return NO_START if start < 0 else NO_END, []
    if _same(*places) if by_component else _about_same(*places):
        return SAME, []
    if mesh.polygons[start, ISLAND] != mesh.polygons[end, ISLAND]:
        return OTHER_ISLAND, []
    if start == end:
        return FOUND, [start]
    search = _Search(mesh, end, places[1])
    reached = search.run(start, places[0])
    outcome = OUT_OF_NODES if search.is_out_of_nodes else FOUND
    if reached < 0:
        return outcome | UNREACHED, []
    corridor = []
    while reached >= 0:
        corridor.append(search.nodes[reached].polygon)
        reached = search.nodes[reached].parent
    if len(corridor) > MOST_POLYGONS:
        outcome |= TOO_LONG
    return outcome, corridor[::-1] if outcome == FOUND else []


def _same(a: Point, b: Point) -> bool:
    return all(
        one == other
        or abs(one - other) < TOLERANCE
        or (one != ZERO and other != ZERO and abs(one - other) / (abs(one) + abs(other)) < TOLERANCE)
        for one, other in zip(a, b, strict=True)
    )


def _about_same(a: Point, b: Point) -> bool:
    origin = (ZERO, ZERO, ZERO)
    return bool(_squared(a, b) <= TOLERANCE * TOLERANCE * min(_squared(origin, a), _squared(origin, b)))


@dataclass
class _Node:
    """A polygon that the search has met, and where the way to it enters it: that stays, even if the way changes."""

    polygon: int
    place: Point
    parent: int
    cost: np.float32 = ZERO
    total: np.float32 = ZERO
    is_open: bool = True


class _Search:
    """A* over polygons; a polygon that is entered over several borders of its tile has several nodes."""

    def __init__(self, mesh: Mesh, end: int, goal: Point) -> None:
        self.mesh, self.end, self.goal = mesh, end, goal
        self.nodes: list[_Node] = []
        self.numbers: dict[tuple[int, int], int] = {}
        self.heap: list[int] = []
        self.is_out_of_nodes = False

    def run(self, start: int, place: Point) -> int:
        """Search until the end is the best open node; return its number, or -1."""
        self.nodes.append(_Node(start, place, -1))
        self.nodes[0].total = _distance(place, self.goal) * HEURISTIC
        self.numbers[start, 0] = 0
        self.push(0)
        while self.heap:
            best = self.pop()
            node = self.nodes[best]
            node.is_open = False
            if node.polygon == self.end:
                return best
            before = self.nodes[node.parent].polygon if node.parent >= 0 else -1
            first, last = self.mesh.polygons[node.polygon, LINKS].tolist()
            for link in range(first, last):
                target, kind = self.mesh.links[link].tolist()
                if target != before and self.mesh.polygons[target, ISLAND] >= 0:
                    self.visit(best, target, kind, self.mesh.portals[link])
        return -1

    def visit(self, best: int, target: int, kind: int, portal: Floats) -> None:
        """Go from the best node to a neighbour, if that is better than what is known of the neighbour."""
        number = self.numbers.get((target, kind), -1)
        is_new = number < 0
        if is_new:
            if len(self.nodes) == MOST_NODES:
                self.is_out_of_nodes = True
                return
            number = self.numbers[target, kind] = len(self.nodes)
            left, right = tuple(portal[:3]), tuple(portal[3:])
            middle = tuple((one + other) * HALF for one, other in zip(left, right, strict=True))
            self.nodes.append(_Node(target, middle, best))
        node, from_node = self.nodes[number], self.nodes[best]
        cost = from_node.cost + _distance(from_node.place, node.place)
        rest = _distance(node.place, self.goal)
        if target == self.end:
            cost = cost + rest
            total = cost
        else:
            total = cost + rest * HEURISTIC
        if not is_new and total >= node.total:
            return
        node.parent, node.cost, node.total = best, cost, total
        if is_new or not node.is_open:
            node.is_open = True
            self.push(number)
        else:
            self.sift_up(self.heap.index(number), number)

    def push(self, number: int) -> None:
        """Add a node to the open ones."""
        self.heap.append(number)
        self.sift_up(len(self.heap) - 1, number)

    def sift_up(self, slot: int, number: int) -> None:
        """Move a node towards the root while what is above it costs more."""
        heap, nodes = self.heap, self.nodes
        while slot > 0 and nodes[heap[(slot - 1) // 2]].total > nodes[number].total:
            heap[slot] = heap[(slot - 1) // 2]
            slot = (slot - 1) // 2
        heap[slot] = number

    def pop(self) -> int:
        """Take the best node out: the gap moves down to a leaf, then the last node moves up from there."""
        heap, nodes = self.heap, self.nodes
        best, last = heap[0], heap.pop()
        slot, child = 0, 1
        while child < len(heap):
            if child + 1 < len(heap) and nodes[heap[child]].total > nodes[heap[child + 1]].total:
                child += 1
            heap[slot] = heap[child]
            slot, child = child, 2 * child + 1
        if heap:
            self.sift_up(slot, last)
        return best


def _pulled(mesh: Mesh, corridor: list[int], start: Point, end: Point) -> list[Point] | None:
    """Pull the path through a corridor straight (the funnel); return its points, or None if they are too many."""
    start, end = _moved_into(mesh, corridor[0], start), _moved_into(mesh, corridor[-1], end)
    path = [start]
    apex = left = right = start
    left_at = right_at = 0
    left_ends = right_ends = False
    last = len(corridor) - 1
    i = 0 if last else 1  # within one polygon there is no portal
    while i <= last:
        if i < last:
            new_left, new_right = _portal(mesh, corridor[i], corridor[i + 1])
            if i == 0 and _to_segment(apex, new_left, new_right)[0] < CLOSE:
                i += 1
                continue
        else:
            new_left = new_right = end
        turns_at, is_end = -1, False
        if _area(apex, right, new_right) <= ZERO:
            if _equal(apex, right) or _area(apex, left, new_right) > ZERO:
                right, right_at, right_ends = new_right, i, i == last
            else:
                apex, turns_at, is_end = left, left_at, left_ends
        if turns_at < 0 and _area(apex, left, new_left) >= ZERO:
            if _equal(apex, left) or _area(apex, right, new_left) < ZERO:
                left, left_at, left_ends = new_left, i, i == last
            else:
                apex, turns_at, is_end = right, right_at, right_ends
        if turns_at >= 0:
            if not _equal(path[-1], apex):
                path.append(apex)
                if len(path) == MOST_POINTS:
                    return None
                if is_end:
                    return path
            left = right = apex
            left_at = right_at = i = turns_at
        i += 1
    if not _equal(path[-1], end):
        path.append(end)
    return path if len(path) < MOST_POINTS else None


def _moved_into(mesh: Mesh, polygon: int, point: Point) -> Point:
    """Return a point that is above or below a polygon as it is, another one moved to the nearest edge."""
    corners = _corners_of(mesh, polygon)
    if _is_inside(corners, point):
        return point
    edges = list(zip(corners, [*corners[1:], corners[0]], strict=True))
    found = [_to_segment(point, *edge) for edge in edges]
    nearest = min(range(len(edges)), key=lambda edge: found[edge][0])
    return _between(*edges[nearest], found[nearest][1])


def _portal(mesh: Mesh, polygon: int, following: int) -> tuple[Point, Point]:
    first, last = mesh.polygons[polygon, LINKS].tolist()
    link = next(link for link in range(first, last) if mesh.links[link, 0] == following)
    return tuple(mesh.portals[link, :3]), tuple(mesh.portals[link, 3:])


def _area(a: Point, b: Point, c: Point) -> np.float32:
    return (c[0] - a[0]) * (b[2] - a[2]) - (b[0] - a[0]) * (c[2] - a[2])


def _squared(a: Point, b: Point) -> np.float32:
    x, y, z = (other - one for one, other in zip(a, b, strict=True))
    return x * x + y * y + z * z


def _equal(a: Point, b: Point) -> bool:
    return bool(_squared(a, b) < EQUAL)


def _distance(a: Point, b: Point) -> np.float32:
    return np.float32(np.sqrt(_squared(a, b)))


def _length(path: list[Point]) -> np.float32:
    return sum((_distance(a, b) for a, b in pairwise(path)), start=ZERO)


def _nearest_polygon(mesh: Mesh, point: Point) -> tuple[int, Point]:
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
    if not _is_inside(_corners_of(mesh, polygon), point):
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
                distance, share = _to_segment(point, corners[edge], corners[end])
                if distance < least:
                    least, found = distance, (corners[edge], corners[end], share)
    return None if found is None else _between(*found)


def _corners_of(mesh: Mesh, polygon: int) -> list[Point]:
    """Return the corners of a polygon."""
    row = mesh.polygons[polygon]
    return [tuple(corner) for corner in mesh.points[row[: row[COUNT]]]]


def _is_inside(corners: list[Point], point: Point) -> bool:
    """Say whether a point is inside a polygon, seen from above."""
    inside = False
    x, _, z = point
    for (xi, _, zi), (xj, _, zj) in zip(corners, [corners[-1], *corners[:-1]], strict=True):
        if (zi > z) != (zj > z) and x < (xj - xi) * (z - zi) / (zj - zi) + xi:
            inside = not inside
    return inside


def _to_segment(point: Point, a: Point, b: Point) -> tuple[np.float32, np.float32]:
    """Return the squared distance to a segment, seen from above, and where on it (0 to 1) the nearest point is."""
    x, z = b[0] - a[0], b[2] - a[2]
    length = x * x + z * z
    share = x * (point[0] - a[0]) + z * (point[2] - a[2])
    if length > ZERO:
        share = share / length
    share = _clamped(share, ZERO, ONE)
    dx, dz = a[0] + share * x - point[0], a[2] + share * z - point[2]
    return dx * dx + dz * dz, share


def _between(a: Point, b: Point, share: np.float32) -> Point:
    """Return a point between two."""
    return tuple(one + (other - one) * share for one, other in zip(a, b, strict=True))  # type: ignore[return-value]
