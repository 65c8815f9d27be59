"""compare_runs: several runs over the episodes they share, tested against one of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from wayscore.distances.base import Floats
from wayscore.episodes import Run
from wayscore.errors import OptionError, did_you_mean
from wayscore.evaluation.groups import CLUSTERS, check_choice, clusters_of, few_clusters
from wayscore.evaluation.runs import Progress, ReferencesLike, RunLike, ScoredRun, score_runs
from wayscore.evaluation.summary import Summary, differences, summarize
from wayscore.metrics import Metric, find_metrics
from wayscore.statistics import (
    Interval,
    effect_size,
    holm,
    paired_bootstrap_table,
    probability_of_superiority,
    randomization_test,
    win_tie_loss,
)

FIRST_METRIC = "nDTW"
"""Which episodes differ most is told by this metric, unless metrics are named."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """One metric of one run against the baseline; differences are run - baseline.

    Attributes:
        run: the run.
        metric: the metric's symbol.
        episodes: in how many episodes it is defined for both.
        difference: mean difference with its 95 % interval from the paired bootstrap; fractions and metres.
        p: two-sided p-value of the paired randomization test.
        p_holm: the same after Holm's correction over all metrics and runs of the comparison.
        outcomes: in how many episodes the run wins, ties and loses; None where a metric has no better direction.
        superiority: the chance that the run does better in an episode, ties counting half; None as above.
        effect_size: d_z, the mean difference in standard deviations of the differences; may be infinite.
    """

    run: str
    metric: str
    episodes: int
    difference: Interval
    p: float
    p_holm: float
    outcomes: tuple[int, int, int] | None
    superiority: float | None
    effect_size: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, None for what is infinite or has no meaning."""
        outcomes = self.outcomes or (None, None, None)
        return {
            "run": self.run,
            "metric": self.metric,
            "episodes": self.episodes,
            "difference": self.difference._asdict(),
            "p": self.p,
            "p_holm": self.p_holm,
            **dict(zip(("wins", "ties", "losses"), outcomes, strict=True)),
            "superiority": self.superiority,
            "effect_size": _finite(self.effect_size),
        }


@dataclass(frozen=True, slots=True)
class Example:
    """An episode in which a run and the baseline differ; infinite values mean that no way exists."""

    episode: str
    scene: str
    baseline: float
    run: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, None for what is infinite."""
        values = {"baseline": _finite(self.baseline), "run": _finite(self.run)}
        return {"episode": self.episode, "scene": self.scene, **values}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Several runs over the same episodes.

    Attributes:
        references: what was asked for.
        episodes: how many episodes all runs share.
        left_out: how many references are not among them.
        baseline: the name of the run that the others are tested against.
        summaries: of all runs over the shared episodes, in the order given.
        contrasts: a test for each other run and metric.
        metric: by which `better` and `worse` are chosen.
        better: by run, the episodes where it exceeds the baseline most (has more, if the metric has no direction).
        worse: by run, the episodes where it falls behind most.
        cluster: what was resampled together: none, path or scan.
        seed: of all resampling.
        resamples: of the bootstrap and of the randomization test.
        warnings: what a reader must know before believing it.
        scored: the runs over the shared episodes, in the order given.
    """

    references: str
    episodes: int
    left_out: int
    baseline: str
    summaries: tuple[Summary, ...]
    contrasts: tuple[Contrast, ...]
    metric: str
    better: Mapping[str, tuple[Example, ...]]
    worse: Mapping[str, tuple[Example, ...]]
    cluster: str
    seed: int
    resamples: int
    warnings: tuple[str, ...]
    scored: tuple[ScoredRun, ...] = field(default=(), repr=False, compare=False)

    @property
    def others(self) -> list[str]:
        """The runs that are tested against the baseline."""
        return [summary.run for summary in self.summaries if summary.run != self.baseline]

    def of(self, run: str) -> dict[str, Contrast]:
        """Return the tests of one run, by metric; none for the baseline."""
        return {contrast.metric: contrast for contrast in self.contrasts if contrast.run == run}

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--format json` prints."""
        return {
            "references": self.references,
            "episodes": self.episodes,
            "left_out": self.left_out,
            "baseline": self.baseline,
            "cluster": self.cluster,
            "seed": self.seed,
            "resamples": self.resamples,
            "runs": [summary.to_dict() for summary in self.summaries],
            "tests": [contrast.to_dict() for contrast in self.contrasts],
            "differ_most": {
                "metric": self.metric,
                **{
                    kind: {run: [example.to_dict() for example in examples] for run, examples in found.items()}
                    for kind, found in (("better", self.better), ("worse", self.worse))
                },
            },
            "warnings": list(self.warnings),
        }


def compare_runs(
    runs: Sequence[RunLike],
    references: ReferencesLike,
    *,
    graphs: Mapping[str, Any] | str | Path | None = None,
    convention: Any = "paper",
    threshold: float | None = None,
    metrics: Any = None,
    baseline: str | int | None = None,
    cluster: str = "none",
    top: int = 5,
    seed: int = 0,
    resamples: int = 10_000,
    progress: Progress | None = None,
    **policies: Any,
) -> Comparison:
    """Score runs on the episodes they share and test each against the baseline.

    Every test starts from the same seed, so what it finds does not depend on which others are made beside it.

    Args:
        runs: result files, or runs that were read before; two or more.
        references: what was asked for.
        graphs: connectivity files, or scene -> graph; not needed for paths of coordinates.
        convention: the set of choices to score by.
        threshold: success threshold, in the units of the distance; the convention's by default.
        metrics: which metrics; the convention's by default.
        baseline: the run that the others are tested against: its name, its file as given, or its number from 1 on;
            the first by default.
        cluster: what is resampled together: "none", "path" or "scan".
        top: how many episodes that differ most to keep, each way.
        seed: of all resampling.
        resamples: of the bootstrap and of the randomization test.
        progress: told of every piece of work: three for each run and one for each that is tested.
        **policies: what to do about each kind of problem (see `wayscore.episodes.POLICIES`).
    """
    check_comparison(runs, cluster, top, seed)
    scored = score_runs(
        runs,
        references,
        graphs=graphs,
        convention=convention,
        threshold=threshold,
        metrics=metrics,
        policies=policies,
        shared=True,
        progress=progress,
    )
    first = scored[0]
    asked = [reference for reference, _ in first.joined.pairs] + list(first.joined.worst)
    clusters = clusters_of(asked, cluster)
    tell = progress or (lambda _: None)
    summaries: list[Summary] = []
    for one in scored:
        tell(f"resampling {one.name}")
        found = summarize(one.table, one.joined, rng=seed, resamples=resamples, name=one.name, clusters=clusters)
        summaries.append(found)
    base = scored[baseline_place(baseline, [one.name for one in scored], runs)]
    labels = None if clusters is None else clusters.of(base.table)
    others = [one for one in scored if one is not base]
    contrasts: list[Contrast] = []
    for one in others:
        tell(f"testing {one.name}")
        contrasts += _contrasts(one, base, labels, seed, resamples)
    adjusted = holm([contrast.p for contrast in contrasts])
    leading = leading_metric(metrics, base.table.metrics)
    ranked = {one.name: _examples(one, base, leading, top) for one in others}
    return Comparison(
        base.joined.references,
        len(base.table),
        len(base.joined.order) - len(base.table),
        base.name,
        tuple(summaries),
        tuple(replace(contrast, p_holm=p) for contrast, p in zip(contrasts, adjusted, strict=True)),
        leading.symbol,
        {name: better for name, (better, _) in ranked.items()},
        {name: worse for name, (_, worse) in ranked.items()},
        cluster,
        seed,
        resamples,
        (*differences(summaries), *few_clusters(cluster, labels)),
        tuple(scored),
    )


def check_comparison(runs: Sequence[Any], cluster: str, top: object, seed: object) -> None:
    """Refuse what cannot be compared."""
    if len(runs) < 2:
        raise OptionError(f"a comparison needs two runs or more, got {len(runs)}; one is scored by `wayscore score`")
    check_choice("cluster by", cluster, CLUSTERS)
    for name, value in (("top", top), ("seed", seed)):
        if not isinstance(value, int) or value < 0:
            raise OptionError(f"{name} must be a whole number, 0 or more, got {value!r}")


def _contrasts(one: ScoredRun, base: ScoredRun, labels: list[str] | None, seed: int, resamples: int) -> list[Contrast]:
    a, b = one.table.columns, base.table.columns
    means = paired_bootstrap_table(a, b, rng=np.random.default_rng(seed), resamples=resamples, clusters=labels)
    found = []
    for metric in find_metrics(list(a)):
        x, y = a[metric.symbol], b[metric.symbol]
        rng = np.random.default_rng(seed)
        p = randomization_test(x, y, rng=rng, resamples=resamples, clusters=labels)
        contrast = Contrast(
            run=one.name,
            metric=metric.symbol,
            episodes=int(np.count_nonzero(np.isfinite(x) & np.isfinite(y))),
            difference=Interval(*means[metric.symbol][:3]),
            p=p,
            p_holm=p,
            outcomes=win_tie_loss(x, y, metric.direction) if metric.direction else None,
            superiority=probability_of_superiority(x, y, metric.direction) if metric.direction else None,
            effect_size=effect_size(x, y),
        )
        found.append(contrast)
    return found


def leading_metric(metrics: Any, scored: Sequence[str]) -> Metric:
    """Return the metric that ranks episodes: the first named, else nDTW where it was scored."""
    symbol = FIRST_METRIC if metrics is None and FIRST_METRIC in scored else scored[0]
    return find_metrics([symbol])[0]


def _examples(
    one: ScoredRun, base: ScoredRun, metric: Metric, top: int
) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    scenes = base.table.scenes or [""] * len(base.table)
    return rank_examples(one.table[metric.symbol], base.table[metric.symbol], base.table.episodes, scenes, metric, top)


def rank_examples(
    x: Floats, y: Floats, episodes: Sequence[Any], scenes: Sequence[str], metric: Metric, top: int
) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """Return the episodes where a run (x) gains most on the baseline (y), and those where it loses most."""
    sign = -1.0 if metric.direction == "down" else 1.0
    undefined = -np.inf if metric.direction else np.inf
    better, worse = (np.where(np.isfinite(values), sign * values, undefined) for values in (x, y))
    gain = np.subtract(better, worse, out=np.zeros(len(x)), where=better != worse)

    def take(order: Any, wanted: Any) -> tuple[Example, ...]:
        rows = [int(row) for row in order if wanted[row]][:top]
        return tuple(Example(str(episodes[row]), scenes[row], float(y[row]), float(x[row])) for row in rows)

    return (
        take(np.argsort(-gain, kind="stable"), gain > 0),
        take(np.argsort(gain, kind="stable"), gain < 0),
    )


def baseline_place(wanted: str | int | None, names: Sequence[str], runs: Sequence[RunLike]) -> int:
    """Return where the baseline stands among the runs."""
    if wanted is None:
        return 0
    files = [run.name if isinstance(run, Run) else str(run) for run in runs]
    for known in (names, files):
        if str(wanted) in known:
            return known.index(str(wanted))
    if str(wanted).isdecimal() and 1 <= int(wanted) <= len(names):
        return int(wanted) - 1
    raise OptionError(
        f"there is no run {str(wanted)!r} to be the baseline{did_you_mean(wanted, names)} "
        f"Known: {', '.join(names)}, or a number from 1 to {len(names)}"
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
