"""How far people's judgements follow each metric, and which differences between metrics are more than chance.

audit = audit_people("hear.json.gz", "connectivity/")
print(audit)
audit = audit_people("study.json", answers="study.jsonl")
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import combinations

import msgspec
import numpy as np
from msgspec import Struct

from wayscore.convention.presets import find_convention
from wayscore.errors import OptionError
from wayscore.formats.rated import RatedWalks, read_rated
from wayscore.lab.audit.people.correlating import Correlated, correlate_sample
from wayscore.lab.audit.people.sample import RANKING, File, GraphSource, Sample, sample_study, sample_walks
from wayscore.metrics import find_metrics
from wayscore.statistics.bootstrap import Interval, check_resampling
from wayscore.statistics.correlations import RankMethod
from wayscore.statistics.tests import holm

METRICS = ("PL", "NE", "ONE", "SR", "OSR", "AD", "MD", "SPL", "SED", "CLS", "nDTW", "SDTW")
METHODS: tuple[RankMethod, ...] = ("spearman", "kendall")
ALPHA = 0.05
"""A difference is more than chance if its p-value, corrected for all pairs of metrics, is below this."""
LEVEL = 0.95


class Correlation(Struct, frozen=True):
    """How far judgements follow one metric.

    Attributes:
        metric: its symbol.
        spearman: rho with its 95 % interval; None where the metric is the same for all.
        kendall: tau-b with its 95 % interval.
        p: two-sided p-value of no correlation, by the audit's method, corrected for all metrics (Holm).
    """

    metric: str
    spearman: Interval
    kendall: Interval
    p: float | None


class Gap(Struct, frozen=True):
    """The difference of the correlations of two metrics with the same judgements.

    Attributes:
        metric: the one with the larger correlation.
        other: the other one.
        difference: of the two, with its 95 % interval.
        p: two-sided p-value of no difference.
        p_holm: the same, corrected for all pairs of metrics.
    """

    metric: str
    other: str
    difference: Interval
    p: float
    p_holm: float

    @property
    def clear(self) -> bool:
        """Whether the difference is more than chance."""
        return self.p_holm < ALPHA


class PeopleAudit(Struct, frozen=True):
    """What an audit found.

    Attributes:
        name: of the dataset.
        rating: the judgement.
        meaning: who judged what.
        unit: what has one judgement.
        judgements: how many there are.
        levels: rating -> how many of them; empty for rankings.
        cluster: what was resampled.
        clusters: how many of these there are.
        within: groups inside which units were correlated, or empty.
        groups: how many of these have different judgements, so that they count.
        method: of the differences and p-values.
        threshold: d_th, metres.
        correlations: the largest first.
        gaps: of every pair of metrics.
        left_out: walks without this rating.
        walks: how many walks the file has.
        recorded: the metrics of which the file has its own values.
        different: walks with a recorded value that is not reproduced to 1e-6.
        simulated: whether judgements are simulated: no person gave them.
        notes: what the judgements cannot show.
        resamples: of the bootstrap.
        seed: of the bootstrap.
    """

    name: str
    rating: str
    meaning: str
    unit: str
    judgements: int
    levels: dict[str, int]
    cluster: str
    clusters: int
    within: str
    groups: int
    method: RankMethod
    threshold: float
    correlations: list[Correlation]
    gaps: list[Gap]
    left_out: list[str]
    walks: int
    recorded: list[str]
    different: list[str]
    simulated: bool
    notes: tuple[str, ...]
    resamples: int
    seed: int

    def __getitem__(self, metric: str) -> Correlation:
        found = next((one for one in self.correlations if one.metric == metric), None)
        if found is None:
            raise OptionError(
                f"this audit has no metric {metric!r}; it has {', '.join(o.metric for o in self.correlations)}"
            )
        return found

    def gap(self, one: str, other: str) -> Gap:
        """Return the difference between two metrics, in the order in which the audit has it."""
        return next(gap for gap in self.gaps if {gap.metric, gap.other} == {one, other})

    def to_json(self) -> str:
        """Return one JSON object, full precision; null where a correlation is undefined."""
        return msgspec.json.encode(msgspec.to_builtins({**msgspec.structs.asdict(self), **self._tables()})).decode()

    def _tables(self) -> dict[str, object]:
        rows = [
            {"metric": one.metric, "spearman": one.spearman._asdict(), "kendall": one.kendall._asdict(), "p": one.p}
            for one in self.correlations
        ]
        gaps = [{**msgspec.structs.asdict(gap), "difference": gap.difference._asdict()} for gap in self.gaps]
        return {"correlations": rows, "gaps": gaps}

    def __str__(self) -> str:
        from wayscore.lab.audit.people.text import document

        return str(document(self))


def audit_people(
    judgements: RatedWalks | File | Sequence[File],
    graphs: GraphSource | None = None,
    *,
    answers: File | None = None,
    rating: str | None = None,
    metrics: Sequence[str] = METRICS,
    method: RankMethod = "spearman",
    cluster: str | None = None,
    within: str | None = None,
    threshold: float | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> PeopleAudit:
    """Correlate metrics with people's judgements, with intervals and paired differences between metrics.

    Args:
        judgements: the file of HEAR's human evaluation, reference files of NDH, or a study (then give `answers`).
        graphs: connectivity files (a folder or a tar), or a mapping from scene to distance; a study has its own.
        answers: the answers to a study, as `wayscore study export` writes them.
        rating: which rating; the dataset's first by default.
        metrics: their symbols. All are used so that higher is better; PL as minus its distance from the reference's.
        method: "spearman" or "kendall", of differences and p-values; both correlations are always given.
        cluster: what the bootstrap resamples together: "instruction", "path", "person" or "system" (HEAR), "game" or
            "scan" (NDH), "set" or "rater" (studies).
        within: correlate only inside groups of this label, such as "path", and take the mean over groups, which are
            resampled. Differences between groups, such as harder paths, then cannot make a correlation.
        threshold: d_th in metres; 3 by default. A study has its own.
        resamples: of the bootstrap.
        seed: of the bootstrap.
    """
    if method not in METHODS:
        raise OptionError(f"<<method>> must be spearman or kendall, not {method!r}")
    rng = np.random.default_rng(seed)
    check_resampling(rng, resamples)
    symbols = [metric.symbol for metric in find_metrics(list(metrics))]
    if answers is not None:
        if isinstance(judgements, RatedWalks) or not isinstance(judgements, str | os.PathLike):
            raise OptionError("<<answers>> belong to one study; give its file")
        if graphs or rating or within or threshold is not None:
            raise OptionError("a study has its own graphs, question and threshold; give only its file and <<answers>>")
        sample = sample_study(judgements, answers, metrics=symbols, cluster=cluster)
    else:
        d_th = find_convention("paper").threshold if threshold is None else threshold
        rated = judgements if isinstance(judgements, RatedWalks) else read_rated(judgements)
        sample = sample_walks(
            rated, graphs, metrics=symbols, threshold=d_th, rating=rating, cluster=cluster, within=within
        )
    return audit_sample(sample, method=method, rng=rng, resamples=resamples, seed=seed)


def audit_sample(
    sample: Sample, *, method: RankMethod, rng: np.random.Generator, resamples: int, seed: int
) -> PeopleAudit:
    """Return the audit of measured walks and their judgements."""
    found = correlate_sample(sample, METHODS, rng=rng, resamples=resamples)
    own = found.by_method[method]
    ranked = sample.unit == RANKING
    levels, counts = np.unique(sample.outcome, return_counts=True)
    p_values = {metric: p for metric in sample.columns if (p := own.p_value(metric)) is not None}
    corrected = holm(p_values)
    rows = [
        Correlation(
            metric,
            found.by_method["spearman"].interval(metric, LEVEL),
            found.by_method["kendall"].interval(metric, LEVEL),
            corrected.get(metric),
        )
        for metric in sample.columns
    ]
    return PeopleAudit(
        name=sample.name,
        rating=sample.rating,
        meaning=sample.meaning,
        unit=sample.unit,
        judgements=found.groups if ranked else len(sample.outcome),
        levels={} if ranked else {f"{level:g}": int(count) for level, count in zip(levels, counts, strict=True)},
        cluster=sample.cluster,
        clusters=len({*sample.clusters}),
        within=sample.within,
        groups=found.groups,
        method=method,
        threshold=sample.threshold,
        correlations=sorted(rows, key=lambda one: _order(getattr(one, method))),
        gaps=_gaps(own, list(p_values)),
        left_out=sample.left_out,
        walks=sample.walks,
        recorded=sample.recorded,
        different=sample.different,
        simulated=sample.simulated,
        notes=sample.notes,
        resamples=resamples,
        seed=seed,
    )


def _order(found: Interval) -> float:
    return np.inf if found.mean is None else -found.mean


def _gaps(own: Correlated, metrics: Sequence[str]) -> list[Gap]:
    """Return the differences of all pairs of metrics, the surest first."""
    pairs = [pair if own.value(pair[0]) >= own.value(pair[1]) else pair[::-1] for pair in combinations(metrics, 2)]
    found = [own.difference(*pair, LEVEL) for pair in pairs]
    corrected = holm([p for _, p in found]) if found else []
    gaps = [
        Gap(one, other, difference, p, p_holm)
        for (one, other), (difference, p), p_holm in zip(pairs, found, corrected, strict=True)
    ]
    return sorted(gaps, key=lambda gap: (gap.p, -(gap.difference.mean or 0.0)))
