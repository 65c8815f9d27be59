"""Attention checks: sets whose best and worst query are obvious to everyone who looks.

They are made by construction, and no metric is asked. The best query is the reference itself. The worst is a walk
elsewhere, which never comes near the reference. The three others follow the reference for half of it or more and then
leave it, but every point of them is nearer to the reference, and their end nearer to the goal, than the walk elsewhere
ever comes, as seen from above. So whatever a rater likes about paths, the answer is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from wayscore.distances import Euclidean, Graph

Rng = np.random.Generator
Place = TypeVar("Place")

FARTHEST = 0.15
"""A check's worst query joins two of the nodes that are farthest from the reference: this share of all nodes."""
NEAREST = 0.4
"""Where the middle queries lead: one of the nodes that are nearest to the reference, this share of all nodes."""
MIDDLE = 3
TRIES = 60
"""How many middle queries are tried for one check."""


class Check(NamedTuple):
    """The queries of a check in a random order, and the numbers of the best and the worst."""

    queries: list[list[Any]]
    best: int
    worst: int


class Around(NamedTuple):
    """How far the nodes of a graph are from a reference and from its goal, straight, as seen from above.

    Attributes:
        away: from the nearest node of the reference, for each node of the graph.
        short: from the reference's goal.
        reached: whether a node can be reached from the reference's start.
    """

    away: NDArray[np.float64]
    short: NDArray[np.float64]
    reached: NDArray[np.bool_]

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
    for _ in range(TRIES):
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
