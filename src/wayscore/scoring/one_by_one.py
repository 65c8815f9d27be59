"""Measurements that the kernels do not make: one episode at a time, where a convention or a metric asks for them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from wayscore.convention import Convention
from wayscore.distances.base import Distance, Places


@dataclass(frozen=True, slots=True)
class Episode:
    """A reference and a query, encoded, in their space."""

    space: Distance
    reference: Places
    query: Places

    def to_last(self, rules: Convention) -> tuple[float, float]:
        """Return NE and ONE as the convention measures them."""
        goal, query = self.reference[-1:], self.query
        if rules.plane == "goal":
            goal, query = np.ascontiguousarray(goal[:, :2]), np.ascontiguousarray(query[:, :2])
        away = self.space.between(goal, query)[0]
        tried = away[1:] if rules.oracle == "after start" and len(away) > 1 else away
        return float(away[-1]), float(tried.min())

    def to_goals(self, goals: Places) -> tuple[float, float, float]:
        """Return how far the start, the end and the nearest place of the query are from the nearest goal."""
        nearest = self.space.between(goals, self.query).min(axis=0)
        return float(nearest[0]), float(nearest[-1]), float(nearest.min())

    def reach(self, threshold: float, rules: Convention) -> float:
        """Return the length walked when the query first met the threshold, infinite where it never did."""
        away = self.space.between(self.reference[-1:], self.query)[0]
        met = np.flatnonzero(away < threshold if rules.comparison == "<" else away <= threshold)
        if not met.size:
            return np.inf
        walked = self.query[: met[0] + 1]
        return float(self.space.pairs(walked[:-1], walked[1:]).sum())

    def proximity(self, threshold: float) -> float:
        """Return mean over q of exp(-d(q, R)^2 / (2 d_th^2))."""
        nearest = self.space.between(self.reference, self.query).min(axis=0)
        return float(np.exp(-(nearest**2) / (2 * threshold**2)).mean())

    def edits(self, rules: Convention) -> int:
        """Return the edit distance of the places; where SED divides by their number, a swap is one edit."""
        return edit_distance(_keys(self.reference), _keys(self.query), swaps=rules.sed == "places")


Measure: TypeAlias = Callable[[Episode], Sequence[float]]


def asked_for(rules: Convention, needs: Collection[str], threshold: float) -> dict[tuple[str, ...], Measure]:
    """Return the measurements to make one by one: the names of the values, and what measures them."""
    found: dict[tuple[str, ...], Measure] = {}
    if rules.plane == "goal" or rules.oracle == "after start":
        found["end", "closest"] = lambda episode: episode.to_last(rules)
    if "edits" in needs and rules.sed != "edges":
        found[("edits",)] = lambda episode: (episode.edits(rules),)
    if "reach" in needs:
        found[("reach",)] = lambda episode: (episode.reach(threshold, rules),)
    if "proximity" in needs:
        found[("proximity",)] = lambda episode: (episode.proximity(threshold),)
    return found


def edit_distance(a: Sequence[Any], b: Sequence[Any], *, swaps: bool = False) -> int:
    """Return how many insertions, deletions and replacements, each 1, lead from `a` to `b`.

    With `swaps`, exchanging two neighbours is one edit as well, if neither is edited again (optimal string
    alignment).

    >>> edit_distance("abcd", "acbd"), edit_distance("abcd", "acbd", swaps=True)
    (2, 1)
    """
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, (last, place) in enumerate(pairwise([None, *a]), start=1):
        two_before, before, row = before, row, [i]
        for j, other in enumerate(b, start=1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (place != other))
            if swaps and i > 1 < j and place == b[j - 2] and last == other:
                best = min(best, two_before[j - 2] + 1)
            row.append(best)
    return row[-1]


def _keys(places: Places) -> list[Any]:
    """Return places as values that can be compared: codes, or points as tuples."""
    return [tuple(point) for point in places.tolist()] if places.ndim == 2 else places.tolist()
