"""The search on a navigation mesh: A* from polygon to polygon, then the corridor pulled straight, as Detour does both.

See `navmesh` for the arithmetic. Habitat snaps both points for A*, and pulls the path straight between the points as
they were given, each moved into its polygon only sideways: heights above the floor count.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tests.oracles.navmesh import (
    HALF,
    ISLAND,
    LINKS,
    ONE,
    ZERO,
    Floats,
    Ints,
    Point,
    between,
    check_mesh,
    corners_of,
    is_inside,
    nearest_polygon,
    to_segment,
)
from wayscore.distances.navmesh_build import Mesh

FOUND, SAME, NO_START, NO_END, OTHER_ISLAND, UNREACHED, OUT_OF_NODES, TOO_LONG = 0, 1, 2, 4, 8, 16, 32, 64
"""What became of a search; the last three may come together. A path is known after FOUND and SAME."""
MOST_NODES = 2048
MOST_POLYGONS = 256
MOST_POINTS = 256
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

    Args:
        mesh: where.
        points: (n, 3).
        pairs: (m, 2): numbers of start and end.
        by_component: 1 if snapped points are the same when each coordinate is (habitat-sim 0.3.3 and later), 0 if they
            are by their distance (before).
        snapped: (n, 3), written: the nearest point of the nearest walkable polygon, or the point itself.
        polygons: (n,), written: the number of that polygon, -1 where there is none.
        lengths: (m,), written: metres, infinite where there is no path.
        outcomes: (m, 3), written: what became of the search, how many polygons the corridor has, how many points the
            path.
        paths: (m, 256, 3), written as far as paths have points; or None.
    """
    check_mesh(mesh)
    count, many = len(points), len(pairs)
    if (
        points.shape != (count, 3)
        or pairs.shape != (many, 2)
        or snapped.shape != (count, 3)
        or polygons.shape != (count,)
        or lengths.shape != (many,)
        or outcomes.shape != (many, 3)
        or (paths is not None and paths.shape != (many, MOST_POINTS, 3))
        or not ((pairs >= 0) & (pairs < count)).all()
    ):
        raise ValueError("points, pairs and results do not fit each other")
    with np.errstate(all="ignore"):
        for number, point in enumerate(points):
            polygons[number], snapped[number] = nearest_polygon(mesh, tuple(point))
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
    for one, other in zip(a, b, strict=True):
        apart = abs(one - other)
        relative = one != ZERO and other != ZERO and apart / (abs(one) + abs(other)) < TOLERANCE
        if not (one == other or apart < TOLERANCE or relative):
            return False
    return True


def _about_same(a: Point, b: Point) -> bool:
    origin = (ZERO, ZERO, ZERO)
    return bool(_squared(a, b) <= TOLERANCE * TOLERANCE * min(_squared(origin, a), _squared(origin, b)))


class _Node:
    """A polygon that the search has met, and where the way to it enters it: that stays, even if the way changes."""

    __slots__ = ("cost", "is_open", "parent", "place", "polygon", "total")

    def __init__(self, polygon: int, place: Point, parent: int) -> None:
        self.polygon, self.place, self.parent = polygon, place, parent
        self.cost = self.total = ZERO
        self.is_open = True


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
            if i == 0 and to_segment(apex, new_left, new_right)[0] < CLOSE:
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
    corners = corners_of(mesh, polygon)
    if is_inside(corners, point):
        return point
    edges = list(zip(corners, [*corners[1:], corners[0]], strict=True))
    found = [to_segment(point, *edge) for edge in edges]
    nearest = min(range(len(edges)), key=lambda edge: found[edge][0])
    return between(*edges[nearest], found[nearest][1])


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
    length = ZERO
    for a, b in pairwise(path):
        length = length + _distance(a, b)
    return length
