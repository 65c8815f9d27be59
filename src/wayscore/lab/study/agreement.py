"""How far raters agree: with each other, with themselves on repeats, and with the obvious answers of checks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from wayscore.errors import OptionError
from wayscore.lab.study.model import Study
from wayscore.lab.study.rankings import Ranking
from wayscore.statistics import spearman

Label = TypeVar("Label", bound=Hashable)


def kendall_w(ranks: Sequence[Sequence[float]]) -> float | None:
    """Return Kendall's coefficient of concordance W of m raters' ranks of the same n items; ties have their mean rank.

    W = (12 sum_i R_i^2 - 3 m^2 n (n + 1)^2) / (m^2 n (n^2 - 1) - m sum_j T_j), with R_i the sum of the ranks of item i
    and T_j = sum (t^3 - t) over the groups of t tied items of rater j. It is 1 if all raters agree, 0 if all sums are
    equal, and None if every rater ties all items.

    >>> kendall_w([[1, 2, 3], [1, 2, 3], [1, 3, 2]])
    0.7777777777777778
    """
    table = np.asarray(ranks, dtype=np.float64)
    if table.ndim != 2 or len(table) < 2:
        raise OptionError("agreement needs the ranks that two or more raters gave to the same items")
    m, n = table.shape
    ties = sum(int(t) ** 3 - int(t) for row in table for t in np.unique(row, return_counts=True)[1])
    most = m * m * n * (n * n - 1) - m * ties
    if most == 0:
        return None
    return float((12 * (table.sum(axis=0) ** 2).sum() - 3 * m * m * n * (n + 1) ** 2) / most)


def krippendorff_alpha(units: Iterable[Sequence[float]]) -> float | None:
    """Return Krippendorff's alpha for ordinal data: 1 is perfect agreement, 0 is agreement by chance.

    alpha = 1 - D_o / D_e. D_o is the mean squared difference of two ratings of the same item, D_e that of any two
    ratings. The difference of two values is the number of ratings between them, plus half of those equal to either.

    Args:
        units: the ratings of each item, any number of them; items with fewer than two are ignored.

    Returns:
        None if no two ratings can be compared, or if all are equal.

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
    """Agreement between raters on the plain sets that more than one rater ranked.

    Attributes:
        sets: the number of these sets.
        raters: the mean number of raters per set.
        w: the mean of Kendall's W over the sets; None without such sets.
        spearman: the mean rank correlation of two raters of one set.
        alpha: Krippendorff's alpha of the ranks, ordinal; None without such sets.
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
        same_best: in how many of these sets the best query was the same both times.
    """

    rankings: int
    checks: int
    passed: int
    repeats: int
    consistency: float | None
    same_best: int

    def attentive(self, share: float) -> bool:
        """Whether at least this share of the checks was passed; True for a rater who saw none."""
        return self.passed >= share * self.checks


def care_of(study: Study, rankings: Sequence[Ranking]) -> dict[str, Care]:
    """Look at each rater's checks and repeats.

    A check is passed if its obviously best query is ranked first, its obviously worst last, and their ranks differ.
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
