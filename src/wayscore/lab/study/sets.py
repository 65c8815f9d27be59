"""Comparison sets: drawn in generated worlds as in the paper, and attention checks whose answer is obvious.

The metrics that a study compares do not influence which queries are drawn, except success in success-constrained
studies. Checks are made by construction. The best query is the reference itself. The worst is a walk elsewhere, which
never comes near the reference. The three others follow the reference for half of it or more and then leave it, but
every point of them is nearer to the reference, and their end nearer to the goal, than the walk elsewhere ever comes, as
seen from above. So whatever a rater likes about paths, the answer is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from wayscore.distances.base import Euclidean
from wayscore.distances.graph import Graph
from wayscore.errors import OptionError
from wayscore.lab.study.model import QUERIES, ComparisonSet, Kind, SetKind
from wayscore.worlds import STAGES, Node, Path, Rng, World
from wayscore.worlds.files import node_name

Place = TypeVar("Place")

Sampler: TypeAlias = Literal["near", "start", "independent"]
Success: TypeAlias = Literal["all", "mixed"]
SAMPLERS: tuple[Sampler, ...] = ("near", "start", "independent")
"""How queries are drawn; see `draw_stages`."""
SUCCESSES: tuple[Success, ...] = ("all", "mixed")
"""How many queries of a success-constrained set succeed: all five, or two to four.

The paper does not say. Its counts against SR and OSR are nearly the same (219/16, 220/14), as they are if all five
succeed and neither metric can order them. SDTW, SPL and SED are all 0 for paths that fail.
"""
HOPS = (1, 2, 3, 4, 5)
"""Largest distance of a query's stages from those of the reference, in edges; drawn for each query."""
STRIDE = 3
"""Every third node of a reference is a stage that a query passes near; the paper's stages are 2 or 3 edges apart."""
TRIES = 50_000
FARTHEST = 0.15
"""A check's worst query joins two of the nodes that are farthest from the reference: this share of all nodes."""
NEAREST = 0.4
"""Where the middle queries lead: one of the nodes that are nearest to the reference, this share of all nodes."""
MIDDLE = 3
CHECK_TRIES = 60
"""How many middle queries are tried for one check."""


class Check(NamedTuple):
    """The queries of a check in a random order, and the numbers of the best and the worst."""

    queries: list[list[Any]]
    best: int
    worst: int


class Around(NamedTuple):
    """How far the nodes of a graph are from a reference, straight, as seen from above."""

    away: NDArray[np.float64]  # from the nearest node of the reference
    short: NDArray[np.float64]  # from the reference's goal
    reached: NDArray[np.bool_]  # whether a node can be reached from the reference's start

    @classmethod
    def of(cls, graph: Graph, reference: Sequence[Any], storey: float = np.inf) -> Around:
        """Measure; nodes that differ in height from the reference by more than `storey` count as not reached."""
        assert graph.positions is not None  # callers have looked
        codes = np.array([graph.index[node] for node in reference])
        flat = np.ascontiguousarray(graph.positions[:, :2])
        between = Euclidean().between(flat[codes], flat)
        reached = np.isfinite(graph.between(codes[:1], np.arange(len(graph)))[0])
        if graph.positions.shape[1] > 2:
            height = graph.positions[:, 2]
            reached &= (height >= height[codes].max() - storey) & (height <= height[codes].min() + storey)
        return cls(between.min(axis=0), between[-1], reached)


def make_check(graph: Graph, reference: list[Place], rng: Rng, *, storey: float = np.inf) -> Check | None:
    """Return a check of this reference, or None where the graph is too small to make its answer obvious."""
    around = Around.of(graph, reference, storey)
    far = far_path(graph, around, rng)
    codes = [graph.index[node] for node in far]
    limit, limit_short = around.away[codes].min(), around.short[codes].min()
    middle: list[list[Place]] = []
    for _ in range(CHECK_TRIES):
        path = _leaving(graph, reference, around, rng)
        own = [graph.index[node] for node in path]
        inside = around.away[own].max() < limit and around.short[own[-1]] < limit_short and around.reached[own].all()
        if inside and around.away[own[-1]] > 0 and path not in middle:
            middle.append(path)
        if len(middle) == MIDDLE:
            queries = [reference, *middle, far]
            order = rng.permutation(len(queries)).tolist()
            return Check([queries[number] for number in order], order.index(0), order.index(len(queries) - 1))
    return None


def far_path(graph: Graph, around: Around, rng: Rng) -> list[Any]:
    """Return the longest path between far nodes that stays far from the reference."""
    order = np.argsort(np.where(around.reached, around.away, -1.0), kind="stable")[::-1]
    far = order[: max(2, int(FARTHEST * around.reached.sum()))]
    start = int(rng.choice(far))
    path: list[Any] = []
    for goal in far[np.argsort(-graph.between(np.array([start]), far)[0], kind="stable")]:
        path = graph.shortest_path(graph.nodes[start], graph.nodes[int(goal)])
        if min(around.away[graph.index[node]] for node in path) >= around.away[start] / 2:
            break
    return path


def _leaving(graph: Graph, reference: list[Place], around: Around, rng: Rng) -> list[Any]:
    """Return a path that follows the reference for half of it or more, then leaves it for a node beside it."""
    at = int(rng.integers(len(reference) // 2, len(reference)))
    near = np.flatnonzero(around.reached & (around.away > 0))
    near = near[np.argsort(around.away[near], kind="stable")][: max(1, int(NEAREST * len(near)))]
    if not len(near):
        return reference
    goal = graph.nodes[int(rng.choice(near))]
    return [*reference[: at + 1], *graph.shortest_path(reference[at], goal)[1:]]


def draw_set(
    name: str, scene: str, world: World, rng: Rng, *, kind: Kind, threshold: float, sampler: Sampler, success: Success
) -> ComparisonSet:
    """Draw one reference and five different queries.

    In a success-constrained set all five end within the threshold of the reference's goal, or two to four do.
    """
    reference = world.sample_path(rng)
    wanted: list[bool | None] = [None] * QUERIES
    if kind == "SC":
        reached = QUERIES if success == "all" else int(rng.integers(2, QUERIES))
        wanted = rng.permutation([n < reached for n in range(QUERIES)]).tolist()
    queries: list[Path] = []
    for _ in range(TRIES):
        stages = draw_stages(world, reference, rng, sampler)
        met = world.graph.distance(stages[-1], reference[-1]) <= threshold
        if wanted[len(queries)] not in (None, met):
            continue
        query = stages[:1]
        for stage in stages[1:]:
            query += world.shortest_path(query[-1], stage)[1:]
        if query not in queries:
            queries.append(query)
        if len(queries) == QUERIES:
            return _named(name, scene, reference, queries)
    raise OptionError(f"set {name}: no five different queries were found in {TRIES:,} draws; choose another seed")


def draw_stages(world: World, reference: Path, rng: Rng, sampler: Sampler) -> Path:
    """Draw the stages of one query; shortest paths will join them.

    "near": the reference's start, then nodes within a few edges of every third node of the reference and of its
    goal; the number of edges is drawn for each query. "start": the paper's procedure, but from the reference's start,
    where an agent would start too. "independent": any path, as the paper describes it.
    """
    if sampler == "independent":
        return world.sample_stages(rng)

    def draw(nodes: list[Node]) -> Node:
        return nodes[int(rng.integers(len(nodes)))]

    path = reference[:1]
    if sampler == "start":
        for _ in range(STAGES):
            path.append(draw([node for node, away in world.within(path[-1], 3).items() if away >= 2]))
        return path
    hops = int(rng.choice(HOPS))
    return path + [draw(list(world.within(node, hops))) for node in (*reference[STRIDE:-1:STRIDE], reference[-1])]


def draw_check(name: str, scene: str, world: World, rng: Rng) -> ComparisonSet:
    """Draw a set with an obvious answer; see `wayscore.lab.study.sets`."""
    for _ in range(TRIES):
        reference = world.sample_path(rng)
        if (check := make_check(world.graph, reference, rng)) is not None:
            return _named(name, scene, reference, *check)
    raise OptionError(f"no check was found in {TRIES:,} draws; choose another seed")


def _named(
    name: str, scene: str, reference: Path, queries: list[Path], best: int = -1, worst: int = -1
) -> ComparisonSet:
    paths = [[node_name(node) for node in path] for path in (reference, *queries)]
    kind: SetKind = "plain" if best < 0 else "check"
    return ComparisonSet(name, scene, paths[0], paths[1:], kind=kind, best=best, worst=worst)
