"""Attention checks: sets whose best and worst query are obvious to everyone who looks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from wayscore.distances import Euclidean, Graph

Rng = np.random.Generator
Place = TypeVar("Place")

FARTHEST = 0.15
"""A check's worst query joins two of the nodes that are farthest from the reference: this share of all nodes."""
MIDDLING = (0.05, 0.6)
"""The range of nDTW of a check's middle queries: worse than the reference, and better than the worst query, ..."""
WORST = 0.01
"""... whose nDTW is at most this."""


def is_middling(similarity: float) -> bool:
    """Whether a query of this nDTW is clearly between the best and the worst of a check."""
    return MIDDLING[0] <= similarity <= MIDDLING[1]


def far_path(graph: Graph, reference: Sequence[Place], rng: Rng) -> list[Place]:
    """Return the longest path between far nodes that stays far from the reference, as seen from above."""
    assert graph.positions is not None  # callers have looked
    codes = np.array([graph.index[node] for node in reference])
    flat = np.ascontiguousarray(graph.positions[:, :2])
    away = Euclidean().between(flat[codes], flat).min(axis=0)
    reached = np.isfinite(graph.between(codes[:1], np.arange(len(graph)))[0])
    order = np.argsort(np.where(reached, away, -1.0), kind="stable")[::-1]
    far = order[: max(2, int(FARTHEST * len(graph)))]
    start = int(rng.choice(far))
    path: list[Any] = []
    for goal in far[np.argsort(-graph.between(np.array([start]), far)[0], kind="stable")]:
        path = graph.shortest_path(graph.nodes[start], graph.nodes[int(goal)])
        if min(away[graph.index[node]] for node in path) >= away[start] / 2:
            break
    return path


def mixed(
    reference: list[Place], middle: list[list[Place]], worst: list[Place], rng: Rng
) -> tuple[list[list[Place]], int, int]:
    """Return the queries of a check in a random order, and the numbers of the best (the reference) and the worst."""
    queries = [reference, *middle, worst]
    order = rng.permutation(len(queries)).tolist()
    return [queries[number] for number in order], order.index(0), order.index(len(queries) - 1)
