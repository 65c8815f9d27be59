"""How far raters agree: with each other, with themselves on repeats, and with what is obvious."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from wayscore.errors import OptionError
from wayscore.statistics import spearman
from wayscore.study.model import Study
from wayscore.study.rankings import Ranking

Label = TypeVar("Label", bound=Hashable)


def kendall_w(ranks: Sequence[Sequence[float]]) -> float | None:
    """Return Kendall's coefficient of concordance W of m raters' ranks of the same n things, ties at their mean rank.

    W = (12 sum_i R_i^2 - 3 m^2 n (n + 1)^2) / (m^2 n (n^2 - 1) - m sum_j T_j), with R_i the sum of the ranks of thing i
    and T_j = sum (t^3 - t) over the groups of t tied things of rater j. 1 where all agree, 0 where sums are equal;
    None where every rater ties everything.

    >>> kendall_w([[1, 2, 3], [1, 2, 3], [1, 3, 2]])
    0.7777777777777778
    """
    table = np.asarray(ranks, dtype=np.float64)
    if table.ndim != 2 or len(table) < 2:
        raise OptionError("agreement needs the ranks of two raters or more, of the same things")
    m, n = table.shape
    ties = sum(int(t) ** 3 - int(t) for row in table for t in np.unique(row, return_counts=True)[1])
    most = m * m * n * (n * n - 1) - m * ties
    if most == 0:
        return None
    return float((12 * (table.sum(axis=0) ** 2).sum() - 3 * m * m * n * (n + 1) ** 2) / most)


def krippendorff_alpha(units: Iterable[Sequence[float]]) -> float | None:
    """Return Krippendorff's alpha for ordinal data: 1 is perfect agreement, 0 is that of chance.

    alpha = 1 - D_o / D_e, the mean squared difference of two ratings of one unit over that of two ratings at all; the
    difference of two values counts the ratings between them, half of those at either end.

    Args:
        units: the ratings of each thing, in any number; things with fewer than two say nothing.

    Returns:
        None where fewer than two ratings can be compared, or all are equal.

    >>> krippendorff_alpha([[1, 1], [2, 2], [3, 3]])
    1.0
    """
    pairable = [np.asarray(unit, dtype=np.float64) for unit in units if len(unit) > 1]
    if not pairable:
        return None
    values, counts = np.unique(np.concatenate(pairable), return_counts=True)
    middle = np.cumsum(counts) - counts / 2
    apart = (middle[:, None] - middle[None, :]) ** 2
    observed = 0.0
    for unit in pairable:
        found = np.bincount(np.searchsorted(values, unit), minlength=len(values))
        observed += float(found @ apart @ found) / (len(unit) - 1)
    expected = float(counts @ apart @ counts) / (int(counts.sum()) - 1)
    return 1 - observed / expected if expected > 0 else None


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement between raters on the plain sets that several ranked.

    Attributes:
        sets: how many those are.
        raters: the mean number of raters of such a set.
        w: the mean of Kendall's W over them; None where there are none.
        spearman: the mean rank correlation of two raters of one set.
        alpha: Krippendorff's alpha of the ranks, ordinal; None where there are none.
    """

    sets: int
    raters: float
    w: float | None
    spearman: float | None
    alpha: float | None


def agree(study: Study, rankings: Sequence[Ranking]) -> Agreement:
    """Measure how far raters agree with each other."""
    plain = {one.name for one in study.of_kind("plain")}
    several = [
        [one.ranks() for one in found]
        for name, found in _grouped((ranking.set, ranking) for ranking in rankings if ranking.set in plain).items()
        if len(found) > 1
    ]
    if not several:
        return Agreement(0, 0.0, None, None, None)
    known = [w for ranks in several if (w := kendall_w(ranks)) is not None]
    pairs = [spearman(a, b) for ranks in several for number, a in enumerate(ranks) for b in ranks[number + 1 :]]
    return Agreement(
        len(several),
        float(np.mean([len(ranks) for ranks in several])),
        float(np.mean(known)) if known else None,
        float(np.mean(pairs)),
        krippendorff_alpha([query for ranks in several for query in zip(*ranks, strict=True)]),
    )


@dataclass(frozen=True, slots=True)
class Care:
    """How much care one rater took.

    Attributes:
        rankings: how many plain sets they ranked.
        checks: how many checks they saw.
        passed: how many of these they got right.
        repeats: how many sets they ranked twice.
        consistency: the mean rank correlation of the two orders; None without repeats.
        same_best: of those sets, how many times the best was the same.
    """

    rankings: int
    checks: int
    passed: int
    repeats: int
    consistency: float | None
    same_best: int

    def attentive(self, share: float) -> bool:
        """Whether at least this share of the checks was passed; who saw none is taken to be."""
        return self.passed >= share * self.checks


def care_of(study: Study, rankings: Sequence[Ranking]) -> dict[str, Care]:
    """Look at each rater's checks and repeats.

    A check is passed where its obvious best is ranked first, its obvious worst last, and these differ.
    """
    found = {}
    for rater, own in _grouped((ranking.rater, ranking) for ranking in rankings).items():
        by_set = {ranking.set: ranking for ranking in own}
        sets = [study.set(name) for name in by_set]
        checks = [one for one in sets if one.kind == "check"]
        passed = sum(_passed(by_set[one.name].groups, one.best, one.worst) for one in checks)
        twice = [(by_set[one.of], by_set[one.name]) for one in sets if one.kind == "repeat" and one.of in by_set]
        same = [spearman(first.ranks(), second.ranks()) for first, second in twice]
        found[rater] = Care(
            sum(one.kind == "plain" for one in sets),
            len(checks),
            passed,
            len(twice),
            float(np.mean(same)) if same else None,
            sum(set(first.groups[0]) == set(second.groups[0]) for first, second in twice),
        )
    return found


def mean_consistency(care: Mapping[str, Care]) -> float | None:
    """Return the mean rank correlation of two orders of one set by one rater, over all repeats."""
    repeats = sum(one.repeats for one in care.values())
    return sum(one.repeats * (one.consistency or 0.0) for one in care.values()) / repeats if repeats else None


def _passed(groups: Sequence[Sequence[int]], best: int, worst: int) -> bool:
    return len(groups) > 1 and best in groups[0] and worst in groups[-1]


def _grouped(pairs: Iterable[tuple[Label, Ranking]]) -> dict[Label, list[Ranking]]:
    groups: dict[Label, list[Ranking]] = defaultdict(list)
    for label, ranking in pairs:
        groups[label].append(ranking)
    return groups
