"""The experiments: what each changes in an episode, in which sizes, and the function that changes it.

A function returns the changed case, or None where the change is not possible: no node is so far away, or a loop is the
same in both directions. The same random numbers are used for every size.
"""

# ruff: noqa: ARG001 -- all changes have one signature, whether or not they need random numbers

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np

from wayscore.distances.base import Floats
from wayscore.distances.graph import Graph
from wayscore.errors import OptionError, did_you_mean
from wayscore.lab.audit.battery.cases import Case
from wayscore.worlds.world import Rng

Change: TypeAlias = Callable[[Case, float, Rng], Case | None]
C = TypeVar("C", bound=Change)
MISPLACED = 1.5
"""How far `misplace` moves its point, in thresholds."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """One change of episodes, in several sizes.

    Attributes:
        name: what tables and `--experiments` call it.
        about: what is changed, in words.
        sizes: from none (what the others are compared with) to the largest.
        unit: what the sizes are.
        change: the function that changes an episode.
        base: the query that is changed: a "perfect" one, or a "faulty" one, where a perfect one would hide the change.
        on: "nodes" of a graph, "points" in space, or "any".
        graded: sizes begin small enough to see whether a metric jumps; doubling the density does not.
    """

    name: str
    about: str
    sizes: tuple[float, ...]
    unit: str
    change: Change
    base: Literal["perfect", "faulty"] = "perfect"
    on: Literal["nodes", "points", "any"] = "any"
    graded: bool = True


EXPERIMENTS: dict[str, Experiment] = {}
"""Name -> experiment, in the order of tables."""


def experiment(name: str, about: str, sizes: tuple[float, ...], unit: str, **facts: Any) -> Callable[[C], C]:
    """Make an experiment of a function; see `Experiment`."""

    def add(change: C) -> C:
        EXPERIMENTS[name] = Experiment(name, about, sizes, unit, change, **facts)
        return change

    return add


def find_experiments(names: Iterable[str] | None = None) -> tuple[Experiment, ...]:
    """Return experiments by name; all of them by default.

    >>> [one.unit for one in find_experiments(["detour"])]
    ['edges away']
    """
    found = dict.fromkeys(EXPERIMENTS if names is None else [names] if isinstance(names, str) else names)
    for name in found:
        if name not in EXPERIMENTS:
            raise OptionError(
                f"there is no experiment {name!r}{did_you_mean(name, EXPERIMENTS) or '.'} "
                f"Known: {', '.join(EXPERIMENTS)}"
            )
    return tuple(EXPERIMENTS[name] for name in found)


POINTS: dict[str, Any] = {"base": "faulty", "on": "points", "graded": False}
PARTS = (1, 2, 4, 8)
SWITCH = (0, 1)
AWAY = (0, 1, 2, 3, 4)
NEAR = (0, 0.001, 0.01, 0.1, 0.5, 0.9, 1.1, 2)


@experiment("scale", "both paths and d_th are multiplied", (1, 2, 5, 10), "times", **POINTS)
def scale(case: Case, size: float, rng: Rng) -> Case:
    """Multiply all coordinates and the threshold."""
    return replace(magnify(case, size, rng), threshold=case.threshold * size)


@experiment("scale-only", "both paths are multiplied; d_th stays", (1, 2, 5, 10), "times", **POINTS)
def magnify(case: Case, size: float, rng: Rng) -> Case:
    """Multiply all coordinates; the threshold stays."""
    return replace(case, reference=np.multiply(case.reference, size), query=np.multiply(case.query, size))


@experiment("translation", "both paths are moved together", (0, 1, 10, 100), "d_th", **POINTS)
def translate(case: Case, size: float, rng: Rng) -> Case:
    """Move both paths together, in one random direction."""
    shift = size * case.threshold * direction(case, rng)
    return replace(case, reference=case.reference + shift, query=case.query + shift)


@experiment("query-density", "steps of the query are divided", PARTS, "parts", **POINTS)
def densify_query(case: Case, size: float, rng: Rng) -> Case:
    """Divide every step of the query into equal parts."""
    return case.walked(subdivided(case.query, round(size)))


@experiment("reference-density", "steps of the reference are divided", PARTS, "parts", **POINTS)
def densify_reference(case: Case, size: float, rng: Rng) -> Case:
    """Divide every step of the reference into equal parts."""
    return replace(case, reference=subdivided(case.reference, round(size)))


@experiment("both-densities", "steps of both paths are divided", PARTS, "parts", **POINTS)
def densify_both(case: Case, size: float, rng: Rng) -> Case:
    """Divide every step of both paths into equal parts."""
    return densify_query(densify_reference(case, size, rng), size, rng)


@experiment(
    "repeats", "every node of the query is logged several times", (1, 2, 3, 5), "times", base="faulty", graded=False
)
def repeat(case: Case, size: float, rng: Rng) -> Case:
    """Log every node of the query several times, as an agent that turns on the spot does."""
    return case.walked(taken(case.query, np.repeat(np.arange(len(case.query)), round(size))))


@experiment("swap", "reference and query are exchanged", SWITCH, "", base="faulty", graded=False)
def swap(case: Case, size: float, rng: Rng) -> Case:
    """Exchange reference and query."""
    return replace(case, reference=case.query, query=case.reference) if size else case


@experiment("reversed", "the reference is walked from its end", SWITCH, "", graded=False)
def reverse(case: Case, size: float, rng: Rng) -> Case:
    """Walk the query from its end to its start."""
    return case.walked(case.query[::-1]) if size else case


@experiment("shuffled", "inner nodes of the query are exchanged at random", (0, 0.25, 0.5, 1), "of the nodes")
def shuffle(case: Case, size: float, rng: Rng) -> Case | None:
    """Exchange this share of the query's nodes among themselves at random; the first and the last stay."""
    inner = len(case.query) - 2
    if inner < 2:
        return None
    moved = 1 + np.sort(rng.permutation(inner)[: round(size * inner)])
    order = np.arange(len(case.query))
    order[moved] = rng.permutation(moved)
    return case.walked(taken(case.query, order))


@experiment("reversed-loop", "a loop is walked the other way around", SWITCH, "", on="nodes", graded=False)
def reverse_loop(case: Case, size: float, rng: Rng) -> Case | None:
    """Replace the reference by a loop that begins and ends at its start; walk it, or (size 1) the other way around."""
    graph = _graph(case)
    start, middle = case.reference[0], case.reference[len(case.reference) // 2]
    last = _random_node(graph, middle, (2, 3), (start, middle), rng)
    if last is None or start == middle:
        return None
    loop = [start]
    for corner in (middle, last, start):
        if not np.isfinite(graph.distance(loop[-1], corner)):
            return None
        loop += graph.shortest_path(loop[-1], corner)[1:]
    if loop == loop[::-1] or graph.directed:
        return None
    return replace(case, reference=loop, query=loop[::-1] if size else loop)


@experiment("retrace", "the query walks some edges back and forth", (0, 1, 2), "edges")
def retrace(case: Case, size: float, rng: Rng) -> Case | None:
    """Turn back at the query's middle, walk some edges back and the same edges forward again."""
    edges, middle = round(size), len(case.query) // 2
    if edges > middle:
        return None
    back = np.arange(middle - 1, middle - edges - 1, -1)
    order = np.concatenate((np.arange(middle + 1), back, back[::-1][1:], [middle] * bool(edges)))
    return case.walked(taken(case.query, np.append(order, np.arange(middle + 1, len(case.query))).astype(np.int64)))


@experiment("near-miss", "the whole query is moved aside", NEAR, "d_th", on="points")
def shift(case: Case, size: float, rng: Rng) -> Case:
    """Move the whole query aside, in one random direction."""
    return case.walked(case.query + size * case.threshold * direction(case, rng))


@experiment(
    "misplaced-point",
    f"one point is {MISPLACED} d_th off, at the middle or nearer to the end",
    (0.5, 0.75, 1),
    "of the query",
    on="points",
)
def misplace(case: Case, size: float, rng: Rng) -> Case:
    """Move one point of the query by `MISPLACED` thresholds: the one at this share of its points."""
    query = np.array(case.query, dtype=np.float64)
    query[round(size * (len(query) - 1))] += MISPLACED * case.threshold * direction(case, rng)
    return case.walked(query)


@experiment("detour", "the query leaves the reference and comes back", AWAY, "edges away", on="nodes")
def detour(case: Case, size: float, rng: Rng) -> Case | None:
    """Leave the path at a random node before the goal, visit a node this many edges away, and come back."""
    return _excursion(case, int(rng.integers(len(case.query) - 1)), round(size), rng)


@experiment("stop-early", "the last edges are not walked", (0, 0.2, 0.4, 0.6, 0.8, 1), "of the edges")
def stop_early(case: Case, size: float, rng: Rng) -> Case:
    """Leave out this share of the query's edges, the last ones."""
    return case.walked(case.query[: 1 + round((1 - size) * (len(case.query) - 1))])


@experiment("stop-late", "the query goes on beyond the goal", AWAY, "edges away", on="nodes")
def stop_late(case: Case, size: float, rng: Rng) -> Case | None:
    """Walk on beyond the goal, to a node this many edges away from it."""
    return _excursion(case, len(case.query) - 1, round(size), rng, returns=False)


@experiment("overshoot", "the query passes the goal and comes back to it", AWAY, "edges away", on="nodes")
def overshoot(case: Case, size: float, rng: Rng) -> Case | None:
    """Walk on beyond the goal, to a node this many edges away, and come back to it."""
    return _excursion(case, len(case.query) - 1, round(size), rng)


@experiment("start-elsewhere", "the query walks to the start first", AWAY, "edges away", on="nodes")
def start_elsewhere(case: Case, size: float, rng: Rng) -> Case | None:
    """Begin at a node this many edges away from the start, and walk to the start first."""
    path = _away(case, case.query[0], round(size), rng)
    back = None if path is None else _way_back(_graph(case), path)
    return None if back is None else case.walked([*back, *case.query[1:]])


def subdivided(points: Floats, parts: int) -> Floats:
    """Return a path of points with every step divided into equal parts.

    >>> subdivided(np.array([[0.0, 0.0], [4.0, 2.0]]), 2).tolist()
    [[0.0, 0.0], [2.0, 1.0], [4.0, 2.0]]
    """
    points = np.asarray(points, dtype=np.float64)
    at = np.arange((len(points) - 1) * parts + 1) / parts
    return np.column_stack([np.interp(at, np.arange(len(points)), axis) for axis in points.T])


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
    """Return a shortest path to a random node exactly this many edges away and not on the reference."""
    if not hops:
        return [node]
    goal = _random_node(_graph(case), node, (hops,), case.reference, rng)
    return None if goal is None else _graph(case).shortest_path(node, goal)


def _way_back(graph: Graph, path: list[Hashable]) -> list[Hashable] | None:
    """Return the same edges from the end to the start, or where edges are directed a shortest path, if there is one."""
    if not graph.directed:
        return path[::-1]
    there, here = path[0], path[-1]
    return graph.shortest_path(here, there) if np.isfinite(graph.distance(here, there)) else None


def _random_node(
    graph: Graph, node: Hashable, hops: Collection[int], without: Collection[Hashable], rng: Rng
) -> Hashable | None:
    """Draw one of the nodes whose distance in edges is one of `hops`; None where there are none."""
    row = graph.hops.between(np.array([graph.index[node]]), np.arange(len(graph)))[0]
    excluded = set(without)
    near = (graph.nodes[code] for code in np.flatnonzero(np.isin(row, list(hops))).tolist())
    nodes = [one for one in near if one not in excluded]
    return nodes[int(rng.integers(len(nodes)))] if nodes else None
