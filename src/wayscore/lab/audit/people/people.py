"""How far people's judgements follow each metric, and which differences between metrics are more than chance.

audit = audit_people("hear.json.gz", "connectivity/")
print(audit)
audit = audit_people("study.json", answers="study.jsonl")
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np
from msgspec import Struct

from wayscore.convention.presets import find_convention
from wayscore.distances.base import Distance
from wayscore.distances.graphs import load_graphs
from wayscore.errors import OptionError, did_you_mean
from wayscore.evaluation.score import score
from wayscore.lab.audit.people.rated import RatedWalk, RatedWalks, read_rated
from wayscore.lab.study.correlations import goodness, higher_is_better
from wayscore.lab.study.files import read_study
from wayscore.lab.study.model import QUERIES
from wayscore.lab.study.rankings import read_rankings
from wayscore.metrics import find_metrics
from wayscore.statistics import Interval
from wayscore.statistics.bootstrap import Floats, Integers, Rng, check_resampling, interval, number_labels, tail
from wayscore.statistics.correlations import RankMethod, draw_counts, weighted_correlations
from wayscore.statistics.tests import holm

File: TypeAlias = str | os.PathLike[str]
GraphSource: TypeAlias = File | Mapping[str, Distance]
"""Connectivity files, or scene -> distance."""
REPRODUCED = 1e-6
"""Values that a file records are reproduced if they differ by less than this."""
RANKING = "ranking"
STUDY_NOTES = (
    "Raters looked at maps of both paths, and judged which one they would rather have a robot take.",
    "Each correlation is over the paths of one ranking, and the mean over rankings is given; it is 0 for a metric that "
    "ties all paths.",
)


class Facts(Struct, frozen=True):
    """What a sample and its audit say about the judgements.

    Attributes:
        name: of the dataset.
        rating: the name of the judgement.
        meaning: who judged what.
        unit: what has one judgement: "walk", "game", or "ranking" (of several paths).
        cluster: the label of what is resampled.
        within: the label of groups inside which units are correlated; empty if all are correlated together.
        left_out: the walks without this rating.
        walks: how many walks the file has.
        recorded: the metrics of which the file has its own values.
        different: walks with a recorded value that is not reproduced to 1e-6.
        threshold: d_th, metres.
        simulated: whether judgements are simulated: no person gave them.
        notes: what the judgements cannot show.
    """

    name: str
    rating: str
    meaning: str
    unit: str
    cluster: str
    within: str
    left_out: list[str]
    walks: int
    recorded: list[str]
    different: list[str]
    threshold: float
    simulated: bool
    notes: tuple[str, ...]


class Sample(Facts, frozen=True):
    """Metrics and judgements, one value of each per unit.

    Attributes:
        columns: metric -> values, higher is better.
        outcome: the judgements, higher is better as far as the rating's meaning says so.
        clusters: the cluster of each unit.
        groups: the group of each unit.
    """

    columns: dict[str, Floats]
    outcome: Floats
    clusters: list[str]
    groups: list[str]


def sample_walks(
    rated: RatedWalks,
    graphs: GraphSource | None,
    *,
    metrics: Sequence[str],
    threshold: float,
    rating: str | None = None,
    cluster: str | None = None,
    within: str | None = None,
) -> Sample:
    """Measure rated walks; `rating`, `cluster` and `within` are names that the data has.

    Where one rating is about several walks (a game), their metrics are averaged.
    """
    labels = rated.walks[0].labels
    rating = _known("rating", rating or next(iter(rated.meanings)), rated.meanings)
    if within and cluster:
        raise OptionError("<<within>> resamples its own groups; give either <<within>> or <<cluster>>")
    cluster = _known("within" if within else "cluster", within or cluster or rated.cluster, labels)
    if graphs is None:
        raise OptionError(
            f"{rated.name}: paths are node names, so distances need the graphs; give the connectivity files (a folder "
            "or a tar) with <<graphs=FOLDER>>"
        )
    scenes = graphs if isinstance(graphs, Mapping) else load_graphs(Path(graphs))
    recorded = list(rated.walks[0].recorded)
    found = score(metrics=recorded or ["NE"], **_paths(rated.walks, scenes, threshold))
    different = [
        walk.name
        for number, walk in enumerate(rated.walks)
        if any(abs(found[metric][number] - value) > REPRODUCED for metric, value in walk.recorded.items())
    ]
    walks = [walk for walk in rated.walks if rating in walk.ratings]
    if not walks:
        raise OptionError(f"{rated.name}: no walk has the rating {rating!r}")
    columns = higher_is_better(metrics, **_paths(walks, scenes, threshold))
    units = number_labels(walk.labels[rated.unit] if rated.unit else walk.name for walk in walks)
    first = np.unique(units, return_index=True)[1]
    one_each = [walks[number] for number in first]
    return Sample(
        name=rated.name,
        rating=rating,
        meaning=rated.meanings[rating],
        unit=rated.unit or "walk",
        columns={metric: np.bincount(units, values) / np.bincount(units) for metric, values in columns.items()},
        outcome=np.array([walk.ratings[rating] for walk in one_each]),
        cluster=cluster,
        clusters=[walk.labels[cluster] for walk in one_each],
        within=within or "",
        groups=[walk.labels[within] for walk in one_each] if within else [],
        left_out=[walk.name for walk in rated.walks if rating not in walk.ratings],
        walks=len(rated.walks),
        recorded=recorded,
        different=different,
        threshold=threshold,
        simulated=False,
        notes=rated.notes,
    )


def sample_study(file: File, answers: File, *, metrics: Sequence[str], cluster: str | None = None) -> Sample:
    """Measure the paths of a study's plain sets, beside the answers that `wayscore study export` wrote."""
    study = read_study(file)
    plain = {one.name: number for number, one in enumerate(study.of_kind("plain"))}
    rankings = [ranking for ranking in read_rankings(answers, study) if ranking.set in plain]
    if not rankings:
        raise OptionError(f"{answers}: ranks no plain set (repeats and checks do not count); collect answers first")
    cluster = _known("cluster", cluster or "set", ("set", "rater"))
    scores = goodness(study, study.of_kind("plain"), metrics)[[plain[ranking.set] for ranking in rankings]]
    flat = scores.reshape(-1, len(metrics)).T
    return Sample(
        name=study.name,
        rating="rank",
        meaning=f'raters on "{study.question}"',
        unit=RANKING,
        columns=dict(zip(metrics, flat, strict=True)),
        outcome=-np.array([ranking.ranks() for ranking in rankings]).ravel(),
        cluster=cluster,
        clusters=[getattr(ranking, cluster) for ranking in rankings for _ in range(QUERIES)],
        within=RANKING,
        groups=[str(number) for number in range(len(rankings)) for _ in range(QUERIES)],
        left_out=[],
        walks=len(rankings) * QUERIES,
        recorded=[],
        different=[],
        threshold=study.threshold,
        simulated=any(ranking.simulated for ranking in rankings),
        notes=STUDY_NOTES,
    )


def _paths(walks: Sequence[RatedWalk], scenes: Mapping[str, Distance], threshold: float) -> dict[str, Any]:
    return {
        "references": [walk.reference for walk in walks],
        "queries": [walk.query for walk in walks],
        "scenes": [walk.scene for walk in walks],
        "episodes": [walk.name for walk in walks],
        "distance": scenes,
        "threshold": threshold,
    }


def _known(option: str, name: str, known: Iterable[str]) -> str:
    names = list(known)
    if name not in names:
        raise OptionError(f"<<{option}>> must be {' or '.join(names)}, not {name!r}{did_you_mean(name, names)}")
    return name


class Correlated(Struct, frozen=True):
    """Correlations by one method.

    Attributes:
        numbers: metric -> its row.
        values: the correlation of each metric; infinite where it is undefined.
        drawn: the same in each resample, (metrics, resamples).
    """

    numbers: dict[str, int]
    values: Floats
    drawn: Floats

    def value(self, metric: str) -> float:
        """Return a correlation, infinite where it is undefined."""
        return float(self.values[self.numbers[metric]])

    def interval(self, metric: str, level: float) -> Interval:
        """Return a correlation with its percentile interval; None where it is undefined."""
        value = self.value(metric)
        return interval(value if np.isfinite(value) else None, self.drawn[self.numbers[metric]], level)

    def p_value(self, metric: str) -> float | None:
        """Return the two-sided p-value of no correlation, which inverts the interval; None where it is undefined."""
        number = self.numbers[metric]
        return tail(self.values[number : number + 1], self.drawn[number])

    def difference(self, one: str, other: str, level: float) -> tuple[Interval, float]:
        """Return the difference of two defined correlations with its interval and p-value, in the same resamples."""
        a, b = self.numbers[one], self.numbers[other]
        value = self.values[a : a + 1] - self.values[b : b + 1]
        both = np.isfinite(self.drawn[a]) & np.isfinite(self.drawn[b])
        drawn = self.drawn[a][both] - self.drawn[b][both]
        p = tail(value, drawn)
        assert p is not None  # both are defined
        return interval(float(value[0]), drawn, level), p


class AllCorrelated(Struct, frozen=True):
    """Correlations by several methods, and in how many groups units were correlated (0: all together)."""

    by_method: dict[RankMethod, Correlated]
    groups: int


def correlate_sample(sample: Sample, methods: Sequence[RankMethod], *, rng: Rng, resamples: int) -> AllCorrelated:
    """Correlate every metric with the judgements; all of them see the same resamples of clusters."""
    if len(np.unique(sample.outcome)) < 2:
        raise OptionError(f"{sample.name}: all judgements ({sample.rating}) are equal, so nothing can follow them")
    numbers = {metric: number for number, metric in enumerate(sample.columns)}
    columns = list(sample.columns.values())
    clusters = number_labels(sample.clusters)
    count = int(clusters.max()) + 1
    if count < 2:
        raise OptionError(
            f"{sample.name}: there is only one {sample.cluster}, so intervals cannot resample it; choose another "
            "<<cluster>>"
        )
    counts = draw_counts(count, resamples, rng)
    by_method: dict[RankMethod, Correlated] = {}
    groups = 0
    for method in methods:
        if sample.within:
            values, of_group = _within(columns, sample, method)
            groups = len(of_group)
            drawn = _means(values, clusters[of_group], counts)
            by_method[method] = Correlated(numbers, values.mean(axis=1), drawn)
        else:
            each = np.ones((1, count))
            value = weighted_correlations(columns, sample.outcome, clusters, each, method)[:, 0]
            drawn = weighted_correlations(columns, sample.outcome, clusters, counts, method)
            by_method[method] = Correlated(numbers, value, drawn)
    return AllCorrelated(by_method, groups)


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


class PeopleAudit(Facts, frozen=True):
    """What an audit found.

    Attributes:
        judgements: how many there are.
        levels: rating -> how many of them; empty for rankings.
        clusters: how many of these there are.
        groups: how many of these have different judgements, so that they count.
        method: of the differences and p-values.
        correlations: the largest first.
        gaps: of every pair of metrics.
        resamples: of the bootstrap.
        seed: of the bootstrap.
    """

    judgements: int
    levels: dict[str, int]
    clusters: int
    groups: int
    method: RankMethod
    correlations: list[Correlation]
    gaps: list[Gap]
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
        **{field: getattr(sample, field) for field in Facts.__struct_fields__},
        judgements=found.groups if ranked else len(sample.outcome),
        levels={} if ranked else {f"{level:g}": int(count) for level, count in zip(levels, counts, strict=True)},
        clusters=len({*sample.clusters}),
        groups=found.groups,
        method=method,
        correlations=sorted(rows, key=lambda one: _order(getattr(one, method))),
        gaps=_gaps(own, list(p_values)),
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
