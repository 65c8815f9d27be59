"""The analysis of a study's answers: Table 1, how far raters agree, and how much care they took."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from wayscore.errors import OptionError
from wayscore.lab.study.correlations import Correlations, correlate
from wayscore.lab.study.model import QUERIES, Kind, Study
from wayscore.lab.study.rankings import Ranking
from wayscore.lab.study.table1 import Contest, contests
from wayscore.statistics import (
    Interval,
    bootstrap,
    bootstrap_table,
    effect_size,
    holm,
    probability_of_superiority,
    randomization_test,
    spearman,
)
from wayscore.statistics.correlations import Method
from wayscore.worlds.world import check_number, check_whole

SECONDS_PER_PICTURE = 1.0
"""The least time to look at one picture and to place it, seconds."""
PASS_SHARE = 2 / 3
"""A rater who passes less than this share of their checks is inattentive."""
FEW = 30
"""Intervals from fewer clusters than this are too narrow."""


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

    Items with fewer than two ratings are ignored. It is None if no two ratings can be compared, or if all are equal.

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
    """Agreement between raters on the plain sets that more than one rater ranked."""

    sets: int
    raters: float  # the mean number per set
    w: float | None  # the mean of Kendall's W over the sets; None without such sets
    spearman: float | None  # the mean rank correlation of two raters of one set
    alpha: float | None  # Krippendorff's alpha of the ranks, ordinal


def agree(study: Study, rankings: Sequence[Ranking]) -> Agreement:
    """Measure how far raters agree with each other."""
    plain = {one.name for one in study.of_kind("plain")}
    by_set: dict[str, list[list[float]]] = defaultdict(list)
    for ranking in rankings:
        if ranking.set in plain:
            by_set[ranking.set].append(ranking.ranks())
    several = [ranks for ranks in by_set.values() if len(ranks) > 1]
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
    """How much care one rater took."""

    rankings: int  # of plain sets
    checks: int
    passed: int  # checks that were answered right
    repeats: int
    consistency: float | None  # the mean rank correlation of the two orders of a set; None without repeats
    same_best: int  # in how many of the repeats the best query was the same both times

    def attentive(self, share: float) -> bool:
        """Whether at least this share of the checks was passed; True for a rater who saw none."""
        return self.passed >= share * self.checks


def care_of(study: Study, rankings: Sequence[Ranking]) -> dict[str, Care]:
    """Look at each rater's checks and repeats.

    A check is passed if its obviously best query is ranked first, its obviously worst last, and their ranks differ.
    """
    found = {}
    by_rater: dict[str, dict[str, Ranking]] = defaultdict(dict)
    for ranking in rankings:
        by_rater[ranking.rater][ranking.set] = ranking
    for rater, by_set in by_rater.items():
        sets = [study.set(name) for name in by_set]
        checks = [one for one in sets if one.kind == "check"]
        passed = sum(
            len(groups := by_set[one.name].groups) > 1 and one.best in groups[0] and one.worst in groups[-1]
            for one in checks
        )
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


def total_care(care: Mapping[str, Care]) -> Care:
    """Return the sums over all raters, and their mean consistency over all repeats."""
    every = list(care.values())
    repeats = sum(one.repeats for one in every)
    return Care(
        sum(one.rankings for one in every),
        sum(one.checks for one in every),
        sum(one.passed for one in every),
        repeats,
        sum(one.repeats * (one.consistency or 0.0) for one in every) / repeats if repeats else None,
        sum(one.same_best for one in every),
    )


@dataclass(frozen=True, slots=True)
class Haste:
    """How many answers of people came too fast."""

    least: float  # the least time for a set, seconds: that for a picture, times five
    timed: int  # how many answers of people have a time
    fast: dict[str, int]  # rater -> how many of their answers took less; only raters with such answers

    @property
    def count(self) -> int:
        """How many answers came too fast."""
        return sum(self.fast.values())


def is_fast(ranking: Ranking, seconds_per_picture: float = SECONDS_PER_PICTURE) -> bool:
    """Whether an answer came too fast; programs and answers without a time are never too fast.

    >>> is_fast(Ranking("1", "uc-1", [[0], [1], [2], [3], [4]], seconds=4.9))
    True
    """
    return not ranking.simulated and 0 < ranking.seconds < QUERIES * seconds_per_picture


def haste_of(rankings: Sequence[Ranking], seconds_per_picture: float = SECONDS_PER_PICTURE) -> Haste:
    """Count the answers that came too fast."""
    fast = Counter(one.rater for one in rankings if is_fast(one, seconds_per_picture))
    timed = sum(not one.simulated and one.seconds > 0 for one in rankings)
    return Haste(QUERIES * seconds_per_picture, timed, dict(fast))


@dataclass(frozen=True, slots=True)
class Effect:
    """How much better the study's metric correlates with rankings than one other."""

    rival: str
    mean: float  # the mean difference of the two correlations
    by_rater: Interval | None  # its 95 % interval, all rankings of a rater resampled together; None with one rater
    by_set: Interval  # its 95 % interval, all rankings of a set resampled together
    d_z: float | None  # the mean in standard deviations of the differences; infinite if all are equal
    superiority: float | None  # the probability of a better correlation with a ranking, ties counted half
    p_swap: float | None  # of a randomization test that swaps the two metrics in all rankings of a set at once
    p_holm: float  # of the sign test, corrected for the number of rivals by Holm's method


@dataclass(frozen=True, slots=True)
class Analysis:
    """The results of a study."""

    study: str
    kind: Kind
    method: Method
    directed: bool  # False if the sign of metrics for which lower is better was not changed
    rankings: int  # of plain sets
    raters: int
    sets: int
    simulated: int  # how many of the rankings are simulated
    correlations: dict[str, Interval]  # metric -> mean correlation with raters, with its 95 % interval by set
    contests: list[Contest]  # Table 1
    effects: list[Effect]
    agreement: Agreement
    care: dict[str, Care]  # by rater
    consistency: float | None  # of raters with themselves, on repeats; None without repeats
    left_out: list[str]  # the inattentive raters
    attentive: list[Contest] | None  # Table 1 without them; None if there are none, or if all raters are inattentive
    haste: Haste
    unhurried: list[Contest] | None  # Table 1 without hasty answers; None if there are none, or no others
    threshold: float  # d_th, metres
    seed: int
    resamples: int

    def warning(self) -> str:
        """Return the warning about simulated rankings, or an empty text."""
        if not self.simulated:
            return ""
        if self.simulated == self.rankings:
            return "SIMULATED raters: no person gave these rankings."
        return f"{self.simulated:,} of these {self.rankings:,} rankings are SIMULATED: no person gave them."

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: full precision, null for values that are infinite or undefined."""
        plain: dict[str, Any] = _plain(asdict(self))
        for name in ("contests", "attentive", "unhurried"):
            for one, contest in zip(plain[name] or [], getattr(self, name) or [], strict=True):
                one["p"] = contest.p
        return {"simulated_raters": self.warning() or None, **plain}


def analyze(
    study: Study,
    rankings: Sequence[Ranking],
    *,
    method: Method = "spearman",
    directed: bool = True,
    pass_share: float = PASS_SHARE,
    seconds_per_picture: float = SECONDS_PER_PICTURE,
    seed: int = 0,
    resamples: int = 10_000,
) -> Analysis:
    """Analyze the answers to a study.

    For `method` and `directed`, see `correlations.correlate`. A second table leaves out raters who pass a smaller share
    of their checks than `pass_share`, a third one answers that took less than `seconds_per_picture` times five.
    """
    check_number("pass_share", pass_share, most=1)
    check_number("seconds_per_picture", seconds_per_picture)
    check_whole("seed", seed, least=0)
    found = correlate(study, rankings, method, directed=directed)
    table = contests(found)
    columns = {symbol: found.values[:, number] for number, symbol in enumerate(found.metrics)}
    plain = {one.name for one in study.of_kind("plain")}
    rng = np.random.default_rng(seed)
    care = care_of(study, rankings)
    left_out = [rater for rater, one in care.items() if not one.attentive(pass_share)]

    def without(dropped: Callable[[Ranking], bool]) -> list[Contest] | None:
        """Table 1 without some rankings; None if that leaves out none, or all."""
        kept = [ranking for ranking in rankings if not dropped(ranking)]
        if len(kept) == len(rankings) or not any(ranking.set in plain for ranking in kept):
            return None
        return contests(correlate(study, kept, method, directed=directed))

    corrected = holm([contest.p for contest in table])
    return Analysis(
        study=study.name,
        kind=study.kind,
        method=method,
        directed=directed,
        rankings=len(found.values),
        raters=len({*found.raters}),
        sets=len({*found.sets}),
        simulated=sum(ranking.simulated for ranking in rankings if ranking.set in plain),
        correlations=bootstrap_table(columns, rng=rng, resamples=resamples, clusters=found.sets),
        contests=table,
        effects=[_effect(found, contest.rival, p, rng, resamples) for contest, p in zip(table, corrected, strict=True)],
        agreement=agree(study, rankings),
        care=care,
        consistency=total_care(care).consistency,
        left_out=left_out,
        attentive=without(lambda ranking: ranking.rater in left_out),
        haste=haste_of(rankings, seconds_per_picture),
        unhurried=without(lambda ranking: is_fast(ranking, seconds_per_picture)),
        threshold=study.threshold,
        seed=seed,
        resamples=resamples,
    )


def _effect(found: Correlations, rival: str, p_holm: float, rng: np.random.Generator, resamples: int) -> Effect:
    d = found.differences(rival)
    if len(d) < 2:
        raise OptionError("an analysis needs at least two rankings of plain sets; collect more answers")
    zero = np.zeros_like(d)
    several = len({*found.raters}) > 1
    return Effect(
        rival=rival,
        mean=math.fsum(d) / len(d),
        by_rater=bootstrap(d, rng=rng, resamples=resamples, clusters=found.raters) if several else None,
        by_set=bootstrap(d, rng=rng, resamples=resamples, clusters=found.sets),
        d_z=effect_size(d, zero),
        superiority=probability_of_superiority(d, zero, "up"),
        p_swap=randomization_test(d, zero, rng=rng, resamples=resamples, clusters=found.sets),
        p_holm=p_holm,
    )


def _plain(value: Any) -> Any:
    if isinstance(value, Interval):
        return {name: _plain(one) for name, one in value._asdict().items()}
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
