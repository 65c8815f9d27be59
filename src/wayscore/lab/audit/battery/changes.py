"""Episodes of generated worlds, and how experiments change them.

Each change returns the changed case, or None where it is not possible there: no node is so far away, or a loop is the
same in both directions. Of two sizes both see the same random numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from wayscore.distances import Graph
from wayscore.distances.base import Distance, Floats
from wayscore.distances.euclidean import EUCLIDEAN
from wayscore.episodes import References
from wayscore.errors import OptionError, UnknownSceneError
from wayscore.worlds.walkers import noisy
from wayscore.worlds.world import THRESHOLD_IN_EDGES, Rng, World, check_whole

MISTAKES = 0.3
"""The share of wrong steps of a faulty walk."""
SHIFT = 0.5
"""How far the points of a faulty walk without a graph are moved, in thresholds (standard deviation of each axis)."""
TRIES = 20
"""How often a faulty walk is drawn that turns out to be perfect."""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One reference and one query that an experiment changes.

    Attributes:
        name: what the episode is called.
        scene: the world or scan that it lies in.
        cluster: what the bootstrap resamples it with.
        reference: the ground-truth path: node labels, or (n, k) points.
        query: the walk.
        distance: d, a graph for labels.
        threshold: d_th.
    """

    name: str
    scene: str
    cluster: str
    reference: Any
    query: Any
    distance: Distance
    threshold: float

    @property
    def graph(self) -> Graph | None:
        """The graph whose nodes the paths consist of; None where they consist of points."""
        return self.distance if isinstance(self.distance, Graph) else None

    def walked(self, query: Any) -> Case:
        """Return the same with another query."""
        return replace(self, query=query)

    def in_space(self) -> Case | None:
        """Return the same with points and straight lines in place of nodes; None where nodes have no positions."""
        graph = self.graph
        if graph is None:
            return self
        if graph.positions is None:
            return None
        reference, query = (graph.positions[[graph.index[node] for node in path]] for path in self.paths)
        return replace(self, reference=reference, query=query, distance=EUCLIDEAN)

    @property
    def paths(self) -> tuple[Any, Any]:
        """The reference and the query."""
        return self.reference, self.query


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """The episodes of a battery of experiments.

    Attributes:
        source: what they are, in words.
        perfect: the query is the reference.
        faulty: the same references, each with a walk that leaves it.
        threshold: d_th of all of them.
        cluster: what the bootstrap resamples: "world" or "path".
    """

    source: str
    perfect: tuple[Case, ...]
    faulty: tuple[Case, ...]
    threshold: float
    cluster: str


def from_worlds(worlds: int = 40, paths: int = 5, seed: int = 0, *, threshold: float | None = None) -> Cases:
    """Return paths in worlds of the paper's kind; the bootstrap resamples worlds.

    Args:
        worlds: how many.
        paths: in each of them.
        seed: random seed.
        threshold: d_th; by default 1.33 mean edges, as in the paper.

    >>> cases = from_worlds(worlds=2, paths=3)
    >>> len(cases.perfect), cases.perfect[0].cluster, round(cases.threshold, 2)
    (6, 'world1', 1.41)
    """
    for name, value in (("worlds", worlds), ("paths", paths)):
        check_whole(f"<<{name}>>", value, least=1)
    check_whole("<<seed>>", seed, least=0)
    made = [World.paper(seed * worlds + number) for number in range(worlds)]
    lengths = [world.lengths for world in made]
    if threshold is None:
        threshold = THRESHOLD_IN_EDGES * math.fsum(map(np.sum, lengths)) / sum(map(len, lengths))
    perfect = []
    for number, world in enumerate(made, start=1):
        rng = np.random.default_rng([seed, number, *b"paths"])
        scene = f"world{number}"
        for path in range(1, paths + 1):
            nodes = world.sample_path(rng)
            perfect.append(Case(f"{scene}-{path}", scene, scene, nodes, nodes, world.graph, threshold))
    return _with_faults(f"{len(perfect)} paths in {worlds} generated worlds", perfect, threshold, seed, "world")


def from_references(
    references: References, distances: Any, *, threshold: float = 3.0, paths: int = 200, seed: int = 0
) -> Cases:
    """Return different paths of references, at most `paths` of them drawn at random; the bootstrap resamples paths.

    Args:
        references: the ground-truth paths.
        distances: scene -> graph; None where paths are points.
        threshold: d_th.
        paths: how many.
        seed: random seed.
    """
    check_whole("<<paths>>", paths, least=1)
    if references.withheld:
        raise OptionError(
            f"{references.name}: its paths are withheld (a test split), so nothing can be changed in them"
        )
    different = {
        (one.scene, one.path_id): one for one in reversed([*references.episodes.values()]) if len(one.path) > 1
    }
    listed = sorted(different)
    if not listed:
        raise OptionError(f"{references.name} has no path of two nodes or more, and experiments need some")
    rng = np.random.default_rng([seed, *b"references"])
    chosen = sorted(rng.choice(len(listed), size=min(paths, len(listed)), replace=False).tolist())
    perfect = []
    for scene, path_id in (listed[number] for number in chosen):
        path = different[scene, path_id].path
        distance = EUCLIDEAN if distances is None else distances
        if not isinstance(distance, Distance):
            if scene not in distance:
                raise UnknownSceneError(
                    f"{references.name}: there is no graph of the scene {scene!r}; add it to <<graphs>>"
                )
            distance = distance[scene]
        name = f"{scene}-{path_id}"
        perfect.append(Case(name, scene, name, path, path, distance, float(threshold)))
    return _with_faults(f"{len(perfect)} paths of {references.name}", perfect, float(threshold), seed, "path")


def _with_faults(source: str, perfect: Sequence[Case], threshold: float, seed: int, cluster: str) -> Cases:
    rng = np.random.default_rng([seed, *b"faults"])
    faulty = tuple(case.walked(_faulty(case, rng)) for case in perfect)
    return Cases(source, tuple(perfect), faulty, threshold, cluster)


def _faulty(case: Case, rng: Rng) -> Any:
    """Return a walk of the reference with mistakes."""
    graph = case.graph
    if graph is None:
        points: Floats = np.asarray(case.reference, dtype=np.float64)
        return points + rng.normal(scale=SHIFT * case.threshold, size=points.shape)
    for _ in range(TRIES):
        walk = noisy(graph, case.reference, rng, mistakes=MISTAKES)
        if walk != list(case.reference):
            break
    return walk


# ruff: noqa: ARG001 -- changes share one signature, whether or not they leave anything to chance


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
