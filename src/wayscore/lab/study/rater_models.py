"""Models of raters, to test and plan studies: what they prefer, and how they err; no person judges.

A taste is a function of the points of reference and query (n, 2) that returns one or more parts of dislike. None of
them is a metric of a study: they compare points along two drawn lines by straight distance, as an eye does, and ask
neither the graph nor a threshold of success. But each resembles some metrics more than others, so **the metric that
wins with simulated raters follows from their taste**; `protocol.find_winners` computes which.

    utility = -(w_1 part_1 + w_2 part_2 + ...)

Each rater has their own weights w, log-normal around 1, and ranks by Plackett and Luce: the best is drawn with chances
proportional to exp(utility / noise), then the best of the others, and so on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from wayscore.errors import OptionError, did_you_mean
from wayscore.lab.study.model import ComparisonSet, Study
from wayscore.lab.study.rankings import Ranking
from wayscore.worlds.world import check_number, check_whole

Floats: TypeAlias = NDArray[np.float64]
Parts: TypeAlias = tuple[float, ...]
Taste: TypeAlias = Callable[[Floats, Floats, float], Parts]

SAMPLES = 64
"""Points along each line at which the two are compared."""


def faithful(reference: Floats, query: Floats, d_th: float) -> Parts:
    """Follow the whole path, in order, to its end.

    The mean distance between the lines at the same share of their lengths; four times the share of pairs of the
    reference's nodes that the query passes in the wrong order; half the distance between the two ends.
    """
    gap = np.hypot(*(along(reference) - along(query)).T).mean()
    near = _between(reference, along(query)).argmin(axis=1)
    before, after = np.triu_indices(len(reference), k=1)
    disorder = float(np.mean(near[before] > near[after])) if len(before) else 0.0
    return gap / d_th, 4.0 * disorder, 0.5 * _miss(reference, query) / d_th


def covering(reference: Floats, query: Floats, d_th: float) -> Parts:
    """Come by every point of the blue line, whatever else you do and in whichever order.

    The mean distance from points of the reference to the nearest point of the query.
    """
    return (float(_between(along(reference), along(query)).min(axis=1).mean()) / d_th,)


def arriving(reference: Floats, query: Floats, d_th: float) -> Parts:
    """Arrive, and soon: where the path leads matters, and a little how long it is.

    The distance between the two ends, and a twentieth of the query's length.
    """
    length = float(np.hypot(*np.diff(query, axis=0).T).sum()) if len(query) > 1 else 0.0
    return _miss(reference, query) / d_th, 0.05 * length / d_th


def careful(reference: Floats, query: Floats, d_th: float) -> Parts:
    """Never stray: the worst moment counts.

    The largest distance from a point of the query to the nearest point of the reference.
    """
    return (float(_between(along(query), along(reference)).min(axis=1).max()) / d_th,)


def orderless(reference: Floats, query: Floats, d_th: float) -> Parts:
    """Stay on the line; its direction and order do not matter, nor how much of it is walked.

    The mean distance from points of the query to the nearest point of the reference.
    """
    return (float(_between(along(query), along(reference)).min(axis=1).mean()) / d_th,)


TASTES: dict[str, Taste] = {
    "faithful": faithful,
    "covering": covering,
    "arriving": arriving,
    "careful": careful,
    "orderless": orderless,
}
"""Name -> taste; the first is the default."""
IN_WORDS = {
    "faithful": "follows the whole path, in order, to its end",
    "covering": "covers the blue line",
    "arriving": "arrives, and soon",
    "careful": "never strays",
    "orderless": "stays on the line, blind to order",
}
"""Name -> what a rater of this taste likes, in words."""


def along(path: Floats) -> Floats:
    """Return points at equal shares of a line's length."""
    steps = np.hypot(*np.diff(path, axis=0).T) if len(path) > 1 else np.zeros(0)
    walked = np.concatenate(([0.0], np.cumsum(steps)))
    at = np.linspace(0.0, walked[-1], SAMPLES)
    return np.column_stack([np.interp(at, walked, path[:, axis]) for axis in (0, 1)])


def _between(a: Floats, b: Floats) -> Floats:
    """Return the distance of each point of a from each point of b."""
    between: Floats = np.hypot(*(a[:, None] - b[None]).transpose(2, 0, 1))
    return between


def _miss(reference: Floats, query: Floats) -> float:
    return float(np.hypot(*(reference[-1] - query[-1])))


TIED = 0.15
"""In a study that allows ties, utilities (with noise) that differ by less than this share a rank."""


@dataclass(frozen=True, slots=True)
class Temper:
    """How simulated raters judge."""

    taste: str = "faithful"  # what they like: one of `TASTES`
    noise: float = 0.5  # of Plackett and Luce: with 0 they make no errors, with large values they rank at random
    spread: float = 0.4  # the standard deviation of the logarithm of raters' weights
    lapse: float = 0.02  # the share of sets that a rater ranks at random, without looking
    careless: float = 0.0  # the share of raters (the last ones) who rank everything at random

    def __post_init__(self) -> None:
        if self.taste not in TASTES:
            hint = did_you_mean(self.taste, TASTES)
            raise OptionError(f"<<taste>> must be {' or '.join(TASTES)}, not {self.taste!r}{hint}")
        for name, most in (("noise", np.inf), ("spread", np.inf), ("lapse", 1.0), ("careless", 1.0)):
            check_number(name, getattr(self, name), most=most)


def dislikes(study: Study, one: ComparisonSet, taste: str = "faithful") -> Floats:
    """Return the parts of dislike of the five queries, (5, parts)."""
    points = study.scenes[one.scene].positions
    reference = np.array([points[node] for node in one.reference])
    queries = [np.array([points[node] for node in query]) for query in one.queries]
    return np.array([TASTES[taste](reference, query, study.threshold) for query in queries])


def draw_weights(raters: int, parts: int, temper: Temper, rng: np.random.Generator) -> Floats:
    """Return the weight of each part of a taste for each rater, (raters, parts)."""
    weights: Floats = np.exp(temper.spread * rng.standard_normal((raters, parts)))
    return weights


def perceive(utilities: Floats, temper: Temper, rng: np.random.Generator, *, careless: bool = False) -> Floats:
    """Return utilities as raters perceive them, one row per set; the highest is ranked first."""
    chance = rng.gumbel(size=utilities.shape)
    blind = rng.random(len(utilities)) < (1.0 if careless else temper.lapse)
    return np.where(blind[:, None], chance, utilities + temper.noise * chance)


def simulate(study: Study, *, seed: int = 0, temper: Temper | None = None) -> list[Ranking]:
    """Let simulated raters rank all assigned sets of a study; each set has its own random stream.

    >>> from wayscore.lab.study.create import create
    >>> for ranking in simulate(create("UC", sets=2, raters=2, worlds=1, seed=1), seed=1):
    ...     print(ranking.rater, ranking.set, ranking.groups, ranking.simulated)
    simulated-1 uc-1 [[0], [3], [4], [1], [2]] True
    simulated-2 uc-2 [[3], [1], [2], [4], [0]] True
    """
    check_whole("seed", seed, least=0)
    temper = temper or Temper()
    found = []
    for one in study.assignments:
        careless = one.rater > len(study.assignments) * (1 - temper.careless)
        for item in one.items:
            parts = dislikes(study, study.set(item.set), temper.taste)
            own = np.random.default_rng([seed, one.rater, *b"taste"])
            utilities = -parts @ draw_weights(1, parts.shape[1], temper, own)[0]
            rng = np.random.default_rng([seed, one.rater, *item.set.encode()])
            seen = perceive(utilities[None], temper, rng, careless=careless)[0]
            groups = _groups(seen, TIED if study.ties else 0.0)
            found.append(Ranking(f"simulated-{one.rater}", item.set, groups, simulated=True))
    return found


def _groups(seen: Floats, apart: float) -> list[list[int]]:
    """Return query numbers, the best group first; a query less than `apart` from the one before shares its rank."""
    order = np.argsort(-seen, kind="stable").tolist()
    groups = [order[:1]]
    for before, query in pairwise(order):
        if seen[before] - seen[query] < apart:
            groups[-1].append(query)
        else:
            groups.append([query])
    return groups
