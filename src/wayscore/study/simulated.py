"""Simulated raters, to test and plan studies; no person judges, and every ranking is marked as simulated.

Their preference is none of the metrics that a study compares. With both paths as lines on the map:

- gap: the mean straight distance between the two lines, at the same share of each line's length (the area between
  them, per metre of the reference);
- disorder: the share of pairs of the reference's nodes that the query passes in the wrong order;
- miss: the straight distance between the two ends.

    utility = -(w_gap gap / d_th + w_disorder 4 disorder + w_miss miss / (2 d_th))

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
from wayscore.study.model import ComparisonSet, Study
from wayscore.study.rankings import Ranking
from wayscore.worlds.world import check_number, check_whole

Floats = NDArray[np.float64]

SAMPLES = 64
"""Points along each line at which the two are compared."""
PARTS = (1.0, 4.0, 0.5)
"""Mean weights of gap, disorder and miss; chosen so that each of them changes the order of some sets."""
TIED = 0.15
"""In a study that allows ties, utilities (with noise) that differ by less than this share a rank."""


@dataclass(frozen=True, slots=True)
class Temper:
    """How simulated raters differ from one who always follows the utility.

    Attributes:
        noise: of Plackett and Luce: with 0 they make no errors, with large values they rank at random.
        spread: the standard deviation of the logarithm of raters' weights.
        lapse: the share of sets that a rater ranks at random, without looking.
        careless: the share of raters (the last ones) who rank everything at random.
    """

    noise: float = 0.5
    spread: float = 0.4
    lapse: float = 0.02
    careless: float = 0.0

    def __post_init__(self) -> None:
        for name, most in (("noise", np.inf), ("spread", np.inf), ("lapse", 1.0), ("careless", 1.0)):
            check_number(name, getattr(self, name), most=most)


def features(study: Study, one: ComparisonSet) -> Floats:
    """Return gap, disorder and miss of the five queries, (5, 3), in thresholds and shares."""
    points = study.scenes[one.scene].positions
    reference = np.array([points[node] for node in one.reference])
    found = [_features(reference, np.array([points[node] for node in query])) for query in one.queries]
    scaled: Floats = np.array(found) / np.array([study.threshold, 1.0, study.threshold])
    return scaled


def draw_weights(raters: int, temper: Temper, rng: np.random.Generator) -> Floats:
    """Return the weights of gap, disorder and miss for each rater, (raters, 3)."""
    weights: Floats = np.array(PARTS) * np.exp(temper.spread * rng.standard_normal((raters, len(PARTS))))
    return weights


def perceive(utilities: Floats, temper: Temper, rng: np.random.Generator, *, careless: bool = False) -> Floats:
    """Return utilities as raters perceive them, one row per set; the highest is ranked first."""
    chance = rng.gumbel(size=utilities.shape)
    blind = rng.random(len(utilities)) < (1.0 if careless else temper.lapse)
    return np.where(blind[:, None], chance, utilities + temper.noise * chance)


def simulate(study: Study, *, seed: int = 0, temper: Temper | None = None) -> list[Ranking]:
    """Let simulated raters rank all assigned sets of a study; each set has its own random stream.

    >>> from wayscore.study.design import create
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
    weights = draw_weights(1, temper, np.random.default_rng([seed, rater, *b"taste"]))[0]
    careless = rater > len(study.assignments) * (1 - temper.careless)
    for item in given.items:
        rng = np.random.default_rng([seed, rater, *item.set.encode()])
        utilities = -features(study, study.set(item.set)) @ weights
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


def _features(reference: Floats, query: Floats) -> tuple[float, float, float]:
    gap = np.hypot(*(_along(reference) - _along(query)).T).mean()
    near = np.hypot(*(reference[:, None] - _along(query)[None]).transpose(2, 0, 1)).argmin(axis=1)
    before, after = np.triu_indices(len(reference), k=1)
    disorder = np.mean(near[before] > near[after]) if len(before) else 0.0
    miss = np.hypot(*(reference[-1] - query[-1]))
    return float(gap), float(disorder), float(miss)


def _along(path: Floats) -> Floats:
    """Return points at equal shares of a line's length."""
    steps = np.hypot(*np.diff(path, axis=0).T) if len(path) > 1 else np.zeros(0)
    walked = np.concatenate(([0.0], np.cumsum(steps)))
    at = np.linspace(0.0, walked[-1], SAMPLES)
    return np.column_stack([np.interp(at, walked, path[:, axis]) for axis in (0, 1)])
