"""What experiments do to an episode: one function per change, of a case, a size and a random generator.

Each returns the changed case, or None where the change is not possible there: no node is so far away, or a loop is the
same in both directions. Of two sizes both see the same random numbers.
"""

# ruff: noqa: ARG001 -- changes share one signature, whether or not they leave anything to chance

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from wayscore.distances import Graph
from wayscore.distances.base import Floats
from wayscore.lab.audit.battery.cases import Case
from wayscore.worlds.world import Rng

Change: TypeAlias = Callable[[Case, float, Rng], "Case | None"]
MISPLACED = 1.5
"""How far `misplace` moves its point, in thresholds."""

# In space


def scale(case: Case, size: float, rng: Rng) -> Case:
    """Multiply all coordinates and the threshold."""
    return replace(magnify(case, size, rng), threshold=case.threshold * size)


def magnify(case: Case, size: float, rng: Rng) -> Case:
    """Multiply all coordinates; the threshold stays."""
    return replace(case, reference=np.multiply(case.reference, size), query=np.multiply(case.query, size))


def translate(case: Case, size: float, rng: Rng) -> Case:
    """Move both paths together by so many thresholds, in one random direction."""
    shift = size * case.threshold * direction(case, rng)
    return replace(case, reference=case.reference + shift, query=case.query + shift)


def densify_query(case: Case, size: float, rng: Rng) -> Case:
    """Divide every step of the query into so many."""
    return case.walked(subdivided(case.query, round(size)))


def densify_reference(case: Case, size: float, rng: Rng) -> Case:
    """Divide every step of the reference into so many."""
    return replace(case, reference=subdivided(case.reference, round(size)))


def densify_both(case: Case, size: float, rng: Rng) -> Case:
    """Divide every step of both paths into so many."""
    return densify_query(densify_reference(case, size, rng), size, rng)


def shift(case: Case, size: float, rng: Rng) -> Case:
    """Move the whole query aside by so many thresholds, in one random direction."""
    return case.walked(case.query + size * case.threshold * direction(case, rng))


def misplace(case: Case, size: float, rng: Rng) -> Case:
    """Move one point of the query by `MISPLACED` thresholds: the one at this share of its points."""
    query = np.array(case.query, dtype=np.float64)
    query[round(size * (len(query) - 1))] += MISPLACED * case.threshold * direction(case, rng)
    return case.walked(query)


# On graphs and in space


def swap(case: Case, size: float, rng: Rng) -> Case:
    """Exchange reference and query."""
    return replace(case, reference=case.query, query=case.reference) if size else case


def reverse(case: Case, size: float, rng: Rng) -> Case:
    """Walk the query from its end to its start."""
    return case.walked(case.query[::-1]) if size else case


def shuffle(case: Case, size: float, rng: Rng) -> Case | None:
    """Exchange this share of the query's nodes among themselves at random; the first and the last stay."""
    inner = len(case.query) - 2
    if inner < 2:
        return None
    moved = 1 + np.sort(rng.permutation(inner)[: round(size * inner)])
    order = np.arange(len(case.query))
    order[moved] = rng.permutation(moved)
    return case.walked(taken(case.query, order))


def repeat(case: Case, size: float, rng: Rng) -> Case:
    """Log every node of the query so many times, as an agent that turns on the spot does."""
    return case.walked(taken(case.query, np.repeat(np.arange(len(case.query)), round(size))))


def retrace(case: Case, size: float, rng: Rng) -> Case | None:
    """Turn back at the query's middle, walk so many edges back and the same edges forward again."""
    edges, middle = round(size), len(case.query) // 2
    if edges > middle:
        return None
    back = np.arange(middle - 1, middle - edges - 1, -1)
    order = np.concatenate((np.arange(middle + 1), back, back[::-1][1:], [middle] * bool(edges)))
    return case.walked(taken(case.query, np.append(order, np.arange(middle + 1, len(case.query))).astype(np.int64)))


def stop_early(case: Case, size: float, rng: Rng) -> Case:
    """Leave out this share of the query's edges, the last ones."""
    return case.walked(case.query[: 1 + round((1 - size) * (len(case.query) - 1))])


# On graphs


def stop_late(case: Case, size: float, rng: Rng) -> Case | None:
    """Walk on beyond the goal, to a node so many edges away from it."""
    return _excursion(case, len(case.query) - 1, round(size), rng, returns=False)


def overshoot(case: Case, size: float, rng: Rng) -> Case | None:
    """Walk on beyond the goal, to a node so many edges away, and come back to it."""
    return _excursion(case, len(case.query) - 1, round(size), rng)


def detour(case: Case, size: float, rng: Rng) -> Case | None:
    """Leave the path at a random node before the goal, visit a node so many edges away, and come back."""
    return _excursion(case, int(rng.integers(len(case.query) - 1)), round(size), rng)


def start_elsewhere(case: Case, size: float, rng: Rng) -> Case | None:
    """Begin at a node so many edges away from the start, and walk to the start first."""
    path = _away(case, case.query[0], round(size), rng)
    back = None if path is None else _way_back(_graph(case), path)
    return None if back is None else case.walked([*back, *case.query[1:]])


def reverse_loop(case: Case, size: float, rng: Rng) -> Case | None:
    """Replace the reference by a loop that begins and ends at its start; walk it, or (size 1) the other way around."""
    graph = _graph(case)
    corners = [case.reference[0], case.reference[len(case.reference) // 2]]
    corners.append(_drawn(_at_hops(graph, corners[1], (2, 3), corners), rng))
    if None in corners or corners[0] == corners[1]:
        return None
    if not all(np.isfinite(graph.distance(a, b)) for a, b in zip(corners, [*corners[1:], corners[0]], strict=True)):
        return None
    loop = [corners[0]]
    for corner in (*corners[1:], corners[0]):
        loop += graph.shortest_path(loop[-1], corner)[1:]
    if loop == loop[::-1] or graph.directed:
        return None
    return replace(case, reference=loop, query=loop[::-1] if size else loop)


# What they are made of


def subdivided(points: Floats, parts: int) -> Floats:
    """Return a path of points with every step divided into equal parts.

    >>> subdivided(np.array([[0.0, 0.0], [4.0, 2.0]]), 2).tolist()
    [[0.0, 0.0], [2.0, 1.0], [4.0, 2.0]]
    """
    points = np.asarray(points, dtype=np.float64)
    numbers = np.arange(len(points))
    at = np.arange((len(points) - 1) * parts + 1) / parts
    return np.column_stack([np.interp(at, numbers, axis) for axis in points.T])


def direction(case: Case, rng: Rng) -> Floats:
    """Return a random direction, of length 1."""
    drawn = rng.normal(size=np.shape(case.reference)[1])
    found: Floats = drawn / np.linalg.norm(drawn)
    return found


def taken(path: Any, numbers: Any) -> Any:
    """Return these nodes or points of a path."""
    return path[numbers] if isinstance(path, np.ndarray) else [path[number] for number in numbers.tolist()]


def _graph(case: Case) -> Graph:
    assert case.graph is not None
    return case.graph


def _excursion(case: Case, place: int, hops: int, rng: Rng, *, returns: bool = True) -> Case | None:
    path = _away(case, case.query[place], hops, rng)
    back = None if path is None else _way_back(_graph(case), path) if returns else [path[-1]]
    if path is None or back is None:
        return None
    return case.walked([*case.query[: place + 1], *path[1:], *back[1:], *case.query[place + 1 :]])


def _away(case: Case, node: Hashable, hops: int, rng: Rng) -> list[Hashable] | None:
    """Return a shortest path to a random node exactly so many edges away and not on the reference."""
    if not hops:
        return [node]
    graph = _graph(case)
    goal = _drawn(_at_hops(graph, node, (hops,), case.reference), rng)
    return None if goal is None else graph.shortest_path(node, goal)


def _way_back(graph: Graph, path: list[Hashable]) -> list[Hashable] | None:
    """Return the same edges from the end to the start, or where edges are directed a shortest path, if there is one."""
    if not graph.directed:
        return path[::-1]
    there, here = path[0], path[-1]
    return graph.shortest_path(here, there) if np.isfinite(graph.distance(here, there)) else None


def _at_hops(graph: Graph, node: Hashable, hops: Collection[int], without: Collection[Hashable]) -> list[Hashable]:
    """Return the nodes that are so many edges away."""
    row = graph.hops.between(np.array([graph.index[node]]), np.arange(len(graph)))[0]
    excluded = set(without)
    found = (graph.nodes[code] for code in np.flatnonzero(np.isin(row, list(hops))).tolist())
    return [one for one in found if one not in excluded]


def _drawn(nodes: list[Hashable], rng: Rng) -> Hashable | None:
    return nodes[int(rng.integers(len(nodes)))] if nodes else None
