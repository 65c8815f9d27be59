"""Measurements that the kernels do not make: one episode at a time, where a convention or a metric needs them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from wayscore.convention.choices import Convention
from wayscore.distances.base import Places
from wayscore.errors import PathError
from wayscore.metrics.episode import Episode

Measure: TypeAlias = Callable[[Episode], Sequence[float]]


def single_measurements(convention: Convention, needs: Collection[str]) -> dict[tuple[str, ...], Measure]:
    """Return what has to be measured one episode at a time: the names of the values, and the function."""
    found: dict[tuple[str, ...], Measure] = {}
    if convention.plane == "goal" or convention.oracle == "after start":
        found["end", "closest"] = to_end
    if "edits" in needs and convention.sed != "edges":
        found[("edits",)] = node_edits
    if "reach" in needs:
        found[("reach",)] = reach
    return found


def to_end(episode: Episode) -> tuple[float, float]:
    """Return NE and ONE as the convention measures them."""
    away = episode.goal_distances()
    tried = away[1:] if episode.convention.oracle == "after start" and len(away) > 1 else away
    return float(away[-1]), float(tried.min())


def to_goals(episode: Episode) -> tuple[float, float, float]:
    """Return how far the start, the end and the nearest node of the query are from the nearest goal."""
    where = f"episode {episode.name}, goals"
    goals, query = episode.distance.encode([list(episode.goals)], role=lambda _: where).places, episode.encoded_query
    if goals.ndim == 2 and episode.convention.plane == "all":
        goals = np.ascontiguousarray(goals[:, :2])
    if goals.shape[1:] != query.shape[1:]:
        raise PathError(
            f"{where}: points of {goals.shape[1]} coordinates, but the query has {query.shape[1]}; both need the same"
        )
    nearest = episode.distance.between(goals, query).min(axis=0)
    return float(nearest[0]), float(nearest[-1]), float(nearest.min())


def reach(episode: Episode) -> tuple[float]:
    """Return the length walked when the query first met the threshold, infinite where it never did."""
    met = np.flatnonzero(episode.within(episode.goal_distances()))
    if not met.size:
        return (np.inf,)
    walked = episode.encoded_query[: met[0] + 1]
    return (float(episode.distance.pairs(walked[:-1], walked[1:]).sum()),)


def node_edits(episode: Episode) -> tuple[int]:
    """Return the edit distance of the nodes; where SED divides by their number, a swap is one edit."""
    reference, query = _keys(episode.encoded_reference), _keys(episode.encoded_query)
    return (edit_distance(reference, query, swaps=episode.convention.sed == "nodes"),)


def edit_distance(a: Sequence[Any], b: Sequence[Any], *, swaps: bool = False) -> int:
    """Return how many insertions, deletions and replacements, each 1, lead from `a` to `b`.

    With `swaps`, exchanging two neighbours is one edit as well, if neither is edited again (optimal string
    alignment).

    >>> edit_distance("abcd", "acbd"), edit_distance("abcd", "acbd", swaps=True)
    (2, 1)
    """
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, (last, node) in enumerate(pairwise([None, *a]), start=1):
        two_before, before, row = before, row, [i]
        for j, other in enumerate(b, start=1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (node != other))
            if swaps and i > 1 < j and node == b[j - 2] and last == other:
                best = min(best, two_before[j - 2] + 1)
            row.append(best)
    return row[-1]


def _keys(places: Places) -> list[Any]:
    """Return encoded nodes as values that can be compared: codes, or points as tuples."""
    return [tuple(point) for point in places.tolist()] if places.ndim == 2 else places.tolist()
