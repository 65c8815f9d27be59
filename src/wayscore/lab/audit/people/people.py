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
from wayscore.errors import OptionError, check_choice
from wayscore.lab.audit.people.rated import RatedWalks, read_rated
from wayscore.lab.audit.people.sample import RANKING, Facts, File, GraphSource, Sample, sample_study, sample_walks
from wayscore.lab.study.analysis import FEW
from wayscore.lab.study.report import bounds, signed
from wayscore.lab.study.table1 import p_text
from wayscore.metrics import find_metrics
from wayscore.report.document import Cell, Document, Line, Part, Row, Table
from wayscore.report.layout import counted
from wayscore.statistics.bootstrap import Floats, Integers, Interval, check_resampling, interval, number_labels, tail
from wayscore.statistics.correlations import RankMethod, draw_counts, weighted_correlations
from wayscore.statistics.tests import holm

METRICS = ("PL", "NE", "ONE", "SR", "OSR", "AD", "MD", "SPL", "SED", "CLS", "nDTW", "SDTW")
METHODS: dict[RankMethod, str] = {"spearman": "Spearman's rho", "kendall": "Kendall's tau-b"}
ALPHA = 0.05
"""A difference is more than chance if its p-value, corrected for all pairs of metrics, is below this."""
LEVEL = 0.95


class Correlation(Struct, frozen=True):
    """How far judgements follow one metric."""

    metric: str
    spearman: Interval  # rho with its 95 % interval; None where the metric is the same for all
    kendall: Interval  # tau-b with its 95 % interval
    p: float | None  # two-sided p-value of no correlation, by the audit's method, corrected for all metrics (Holm)


class Gap(Struct, frozen=True):
    """The difference of the correlations of two metrics with the same judgements."""

    metric: str  # the one with the larger correlation
    other: str
    difference: Interval  # of the two, with its 95 % interval
    p: float  # two-sided p-value of no difference
    p_holm: float  # the same, corrected for all pairs of metrics

    @property
    def clear(self) -> bool:
        """Whether the difference is more than chance."""
        return self.p_holm < ALPHA


class PeopleAudit(Facts, frozen=True, kw_only=True):
    """What an audit found."""

    judgements: int
    levels: dict[str, int]  # rating -> how many of them; empty for rankings
    clusters: int
    groups: int  # how many groups have different judgements, so that they count
    method: RankMethod  # of the differences and p-values
    correlations: list[Correlation]  # the largest first
    gaps: list[Gap]  # of every pair of metrics
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
        rows = [
            {"metric": one.metric, "spearman": one.spearman._asdict(), "kendall": one.kendall._asdict(), "p": one.p}
            for one in self.correlations
        ]
        gaps = [{**msgspec.structs.asdict(gap), "difference": gap.difference._asdict()} for gap in self.gaps]
        return msgspec.json.encode({**msgspec.structs.asdict(self), "correlations": rows, "gaps": gaps}).decode()

    def __str__(self) -> str:
        return str(self.document())

    def scope(self) -> str:
        """Return what was correlated, in a sentence."""
        spread = ", ".join(f"{level}: {count}" for level, count in self.levels.items())
        ratings = f" (ratings {spread})" if spread else ""
        inside = f", correlated inside each {self.within} ({self.groups} of them)" if self.within and spread else ""
        return (
            f"{counted(self.judgements, self.unit)}{ratings}{inside}; intervals resample "
            f"{counted(self.clusters, self.cluster)}; d_th = {self.threshold:.2f} m."
        )

    def summary(self) -> str:
        """Return how many differences between metrics are more than chance, in a sentence."""
        clear = sum(gap.clear for gap in self.gaps)
        return (
            f"{clear} of {counted(len(self.gaps), 'difference')} between two metrics {'is' if clear == 1 else 'are'} "
            f"more than chance (p < {ALPHA}, corrected for all pairs by Holm's method)."
        )

    def document(self) -> Document:
        """Return correlations, the differences between metrics that are more than chance, and what to be careful of."""
        parts: list[Part] = []
        if self.simulated:
            parts.append(Line("SIMULATED raters: no person gave these judgements.", "bold"))
        parts += [f"{self.name}, {self.rating}: {self.meaning}.", self.scope()]
        if self.recorded:
            others = f"; not in {'; '.join(self.different[:3])}" if self.different else ""
            parts.append(
                f"The file's own {', '.join(self.recorded)} are reproduced to 1e-6 in "
                f"{self.walks - len(self.different):,} of {self.walks:,} walks{others}."
            )
        if self.left_out:
            parts.append(f"Left out, since it has no rating: {'; '.join(self.left_out[:3])}.")
        rows: list[Row] = []
        for one in self.correlations:
            cells = (Cell(signed(found.mean), "", bounds(found)) for found in (one.spearman, one.kendall))
            rows.append([one.metric, *cells, p_text(one.p)])
        parts += [Table(["metric", "rho, 95 %", "tau-b, 95 %", "p (Holm)"], rows), self.summary()]
        if 2 * len(self.gaps) / (self.resamples + 1) >= ALPHA:
            pairs = counted(len(self.gaps), "difference")
            parts.append(f"{self.resamples:,} resamples are too few to find any of {pairs}; take more resamples.")
        if self.clusters < FEW:
            parts.append(
                f"With {counted(self.clusters, self.cluster)} (fewer than {FEW}) intervals are too narrow and p-values "
                "too small: do not rely on them."
            )
        if clear := [gap for gap in self.gaps if gap.clear]:
            rows = [
                [
                    f"{gap.metric} above {gap.other}",
                    signed(gap.difference.mean),
                    bounds(gap.difference),
                    p_text(gap.p_holm),
                ]
                for gap in clear
            ]
            parts.append(Table([f"difference of {METHODS[self.method]}", "", "95 %", "p (Holm)"], rows))
        method = (
            "All metrics are used so that higher is better; PL as minus its distance from the reference's length. "
            f"p-values invert the bootstrap interval of {METHODS[self.method]}; {self.resamples:,} resamples, seed "
            f"{self.seed}."
        )
        return Document([*parts, *(Line(note, "dim") for note in (*self.notes, method))])


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
    check_choice("method", method, tuple(METHODS))
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
    """Return the audit of measured walks and their judgements; all metrics see the same resamples of clusters."""
    if len(np.unique(sample.outcome)) < 2:
        raise OptionError(f"{sample.name}: all judgements ({sample.rating}) are equal, so nothing can follow them")
    clusters = number_labels(sample.clusters)
    count = int(clusters.max()) + 1
    if count < 2:
        raise OptionError(
            f"{sample.name}: there is only one {sample.cluster}, so intervals cannot resample it; choose another "
            "<<cluster>>"
        )
    counts = draw_counts(count, resamples, rng)
    metrics, columns = list(sample.columns), list(sample.columns.values())
    found: dict[RankMethod, tuple[Floats, Floats]] = {}
    groups = 0
    for each in METHODS:
        if sample.within:
            by_group, units = _within(columns, sample, each)
            groups = len(units)
            found[each] = by_group.mean(axis=1), _means(by_group, clusters[units], counts)
        else:
            whole = weighted_correlations(columns, sample.outcome, clusters, np.ones((1, count)), each)[:, 0]
            found[each] = whole, weighted_correlations(columns, sample.outcome, clusters, counts, each)
    intervals = {
        each: [interval(v if np.isfinite(v) else None, d, LEVEL) for v, d in zip(values.tolist(), drawn, strict=True)]
        for each, (values, drawn) in found.items()
    }
    values, drawn = found[method]
    p_values = {
        metric: p
        for row, metric in enumerate(metrics)
        if (p := tail(values[row : row + 1], drawn[row])) is not None  # undefined correlations have none
    }
    corrected = holm(p_values)
    rows = [
        Correlation(metric, rho, tau, corrected.get(metric))
        for metric, rho, tau in zip(metrics, intervals["spearman"], intervals["kendall"], strict=True)
    ]
    ranked = sample.unit == RANKING
    levels, sizes = np.unique(sample.outcome, return_counts=True)
    return PeopleAudit(
        **{field: getattr(sample, field) for field in Facts.__struct_fields__},
        judgements=groups if ranked else len(sample.outcome),
        levels={} if ranked else {f"{level:g}": int(size) for level, size in zip(levels, sizes, strict=True)},
        clusters=count,
        groups=groups,
        method=method,
        correlations=sorted(rows, key=lambda one: np.inf if (r := getattr(one, method).mean) is None else -r),
        gaps=_gaps([row for row, metric in enumerate(metrics) if metric in p_values], metrics, values, drawn),
        resamples=resamples,
        seed=seed,
    )


def _gaps(rows: Sequence[int], metrics: Sequence[str], values: Floats, drawn: Floats) -> list[Gap]:
    """Return the differences of all pairs of metrics, the surest first, with intervals in the same resamples."""
    pairs, intervals, p_values = [], [], []
    for a, b in combinations(rows, 2):
        one, other = (a, b) if values[a] >= values[b] else (b, a)
        both = np.isfinite(drawn[one]) & np.isfinite(drawn[other])
        apart = drawn[one][both] - drawn[other][both]
        value = values[one : one + 1] - values[other : other + 1]
        p = tail(value, apart)
        assert p is not None  # both correlations are defined
        pairs.append((metrics[one], metrics[other]))
        intervals.append(interval(float(value[0]), apart, LEVEL))
        p_values.append(p)
    corrected = holm(p_values) if pairs else []
    found = zip(pairs, intervals, p_values, corrected, strict=True)
    gaps = [Gap(one, other, difference, p, p_holm) for (one, other), difference, p, p_holm in found]
    return sorted(gaps, key=lambda gap: (gap.p, -(gap.difference.mean or 0.0)))


def _within(columns: Sequence[Floats], sample: Sample, method: RankMethod) -> tuple[Floats, Integers]:
    """Return the correlations inside each group, (metrics, groups), and one unit of each group.

    Groups with equal judgements throughout are left out; a metric that ties all units of a group has 0 there.
    """
    groups = number_labels(sample.groups)
    order = np.argsort(groups, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
    parts = [part for part in parts if len(np.unique(sample.outcome[part])) > 1]
    found = np.zeros((len(columns), len(parts)))
    for number, part in enumerate(parts):
        one, each = np.zeros(len(part), dtype=np.int64), np.ones((1, 1))
        own = [column[part] for column in columns]
        found[:, number] = weighted_correlations(own, sample.outcome[part], one, each, method)[:, 0]
    return np.where(np.isfinite(found), found, 0.0), np.array([part[0] for part in parts])


def _means(values: Floats, clusters: Integers, counts: Floats) -> Floats:
    """Return the mean over groups in each resample, infinite where a resample has no group."""
    sums = np.zeros((counts.shape[1], len(values)))
    np.add.at(sums, clusters, values.T)
    sizes = counts @ np.bincount(clusters, minlength=counts.shape[1])
    totals = (counts @ sums).T
    means: Floats = np.divide(totals, sizes, out=np.full(totals.shape, np.inf), where=sizes > 0)
    return means
