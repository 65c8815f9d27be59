"""Simulated raters, to test and plan studies; no person judges, and every ranking is marked as simulated.

A rater has a taste (`wayscore.lab.study.tastes`), whose parts say what is disliked about a query:

    utility = -(w_1 part_1 + w_2 part_2 + ...)

Each rater has their own weights w, log-normal around 1, and ranks by Plackett and Luce: the best is drawn with chances
proportional to exp(utility / noise), then the best of the others, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from wayscore.errors import OptionError
from wayscore.lab.study.model import ComparisonSet, Study
from wayscore.lab.study.rankings import Ranking
from wayscore.lab.study.tastes import find_taste
from wayscore.worlds.world import check_number, check_whole

Floats = NDArray[np.float64]

TIED = 0.15
"""In a study that allows ties, utilities (with noise) that differ by less than this share a rank."""


@dataclass(frozen=True, slots=True)
class Temper:
    """How simulated raters judge.

    Attributes:
        taste: what they like: one of `wayscore.lab.study.tastes.TASTES`.
        noise: of Plackett and Luce: with 0 they make no errors, with large values they rank at random.
        spread: the standard deviation of the logarithm of raters' weights.
        lapse: the share of sets that a rater ranks at random, without looking.
        careless: the share of raters (the last ones) who rank everything at random.
    """

    taste: str = "faithful"
    noise: float = 0.5
    spread: float = 0.4
    lapse: float = 0.02
    careless: float = 0.0

    def __post_init__(self) -> None:
        find_taste(self.taste)
        for name, most in (("noise", np.inf), ("spread", np.inf), ("lapse", 1.0), ("careless", 1.0)):
            check_number(name, getattr(self, name), most=most)


def dislikes(study: Study, one: ComparisonSet, taste: str = "faithful") -> Floats:
    """Return the parts of dislike of the five queries, (5, parts)."""
    judge = find_taste(taste)
    points = study.scenes[one.scene].positions
    reference = np.array([points[node] for node in one.reference])
    queries = [np.array([points[node] for node in query]) for query in one.queries]
    return np.array([judge(reference, query, study.threshold) for query in queries])


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

    >>> from wayscore.lab.study.design import create
    >>> for ranking in simulate(create("UC", sets=2, raters=2, worlds=1, seed=1), seed=1):
    ...     print(ranking.rater, ranking.set, ranking.groups, ranking.simulated)
    simulated-1 uc-1 [[0], [3], [4], [1], [2]] True
    simulated-2 uc-2 [[3], [1], [2], [4], [0]] True
    """
    found: list[Ranking] = []
    for one in study.assignments:
        found += rank_assignment(study, one.rater, seed=seed, temper=temper)
    return found


def rank_assignment(study: Study, rater: int, *, seed: int = 0, temper: Temper | None = None) -> Iterator[Ranking]:
    """Yield the rankings of one simulated rater, in the order of the rater's assignment."""
    check_whole("seed", seed, least=0)
    temper = temper or Temper()
    given = next((one for one in study.assignments if one.rater == rater), None)
    if given is None:
        raise OptionError(f"the study {study.name!r} has no rater {rater}; it has {len(study.assignments)}")
    careless = rater > len(study.assignments) * (1 - temper.careless)
    for item in given.items:
        rng = np.random.default_rng([seed, rater, *item.set.encode()])
        parts = dislikes(study, study.set(item.set), temper.taste)
        weights = draw_weights(1, parts.shape[1], temper, np.random.default_rng([seed, rater, *b"taste"]))[0]
        utilities = -parts @ weights
        seen = perceive(utilities[None], temper, rng, careless=careless)[0]
        yield Ranking(f"simulated-{rater}", item.set, _groups(seen, TIED if study.ties else 0.0), simulated=True)


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
