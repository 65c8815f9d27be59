"""The analysis of a study's answers: Table 1, and how reliable it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from wayscore.errors import OptionError
from wayscore.lab.study.agreement import Agreement, Care, agree, care_of, mean_consistency
from wayscore.lab.study.correlations import Correlations, correlate
from wayscore.lab.study.haste import SECONDS_PER_PICTURE, Haste, haste_of, is_fast
from wayscore.lab.study.model import Kind, Study
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
)
from wayscore.statistics.correlations import Method
from wayscore.worlds.world import check_number, check_whole

PASS_SHARE = 2 / 3
"""A rater who passes less than this share of their checks is inattentive."""
FEW = 30
"""Intervals from fewer clusters than this are too narrow."""


@dataclass(frozen=True, slots=True)
class Effect:
    """How much better the study's metric correlates with rankings than one other.

    Attributes:
        rival: the other metric.
        mean: the mean difference of the two correlations.
        by_rater: its 95 % interval, all rankings of a rater resampled together; None if there is only one rater.
        by_set: its 95 % interval, all rankings of a set resampled together.
        d_z: the mean in standard deviations of the differences; infinite if all differences are equal.
        superiority: the probability of a better correlation with a ranking, ties counted half.
        p_swap: p-value of a randomization test that swaps the two metrics in all rankings of a set at once.
        p_holm: the sign test's p-value, corrected for the number of rivals by Holm's method.
    """

    rival: str
    mean: float
    by_rater: Interval | None
    by_set: Interval
    d_z: float | None
    superiority: float | None
    p_swap: float | None
    p_holm: float


@dataclass(frozen=True, slots=True)
class Analysis:
    """The results of a study.

    Attributes:
        study: its name.
        kind: "UC" or "SC".
        method: of the correlations.
        directed: False if the sign of metrics for which lower is better was not changed.
        rankings: how many rankings of plain sets there are.
        raters: how many raters gave them.
        sets: how many sets they rank.
        simulated: how many of the rankings are simulated.
        correlations: metric -> mean correlation with raters, with its 95 % interval resampled by set.
        contests: Table 1.
        effects: one for each rival.
        agreement: of raters with each other.
        care: rater -> checks and repeats.
        consistency: of raters with themselves, on repeats; None without repeats.
        left_out: the inattentive raters.
        attentive: Table 1 without them; None if there are none, or if all raters are inattentive.
        haste: the answers that came too fast.
        unhurried: Table 1 without them; None if there are none, or if no other answers are left.
        threshold: d_th, metres.
        seed: random seed of the bootstrap.
        resamples: the number of resamples.
    """

    study: str
    kind: Kind
    method: Method
    directed: bool
    rankings: int
    raters: int
    sets: int
    simulated: int
    correlations: dict[str, Interval]
    contests: list[Contest]
    effects: list[Effect]
    agreement: Agreement
    care: dict[str, Care]
    consistency: float | None
    left_out: list[str]
    attentive: list[Contest] | None
    haste: Haste
    unhurried: list[Contest] | None
    threshold: float
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

    Args:
        study: the study.
        rankings: the answers.
        method: "spearman", "kendall" (tau-b) or "pearson" (of a metric's values with the ranks).
        directed: change the sign of metrics for which lower is better; see `wayscore.lab.study.correlations.correlate`.
        pass_share: raters who pass a smaller share of their checks are left out of a second table.
        seconds_per_picture: answers that took less, times five pictures, are left out of a third table.
        seed: random seed of the bootstrap.
        resamples: the number of resamples of the bootstrap and of the randomization test.
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
        consistency=mean_consistency(care),
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
