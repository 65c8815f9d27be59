"""Comparisons: several agents over the episodes they share, tested against one of them; one run by two conventions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from wayscore.convention.choices import Convention
from wayscore.convention.presets import find_convention
from wayscore.errors import OptionError, Sentence, check_count, did_you_mean
from wayscore.evaluation.differences import PairedDifference, finite, paired_differences
from wayscore.evaluation.evaluator import evaluate
from wayscore.evaluation.inputs import Prepared, find_references
from wayscore.evaluation.repeated_runs import per_episode, pool, share_episodes
from wayscore.evaluation.result import Result, names_apart, signature_differences
from wayscore.evaluation.warnings import unlike_paths
from wayscore.formats.benchmarks import distances_for
from wayscore.metrics import METRICS, Metric, find_metrics
from wayscore.metrics.registry import KNOWN
from wayscore.statistics.bootstrap import equal

FIRST_METRIC = "nDTW"
"""The metric that ranks the episodes which differ most, unless metrics are named."""


@dataclass(frozen=True, slots=True)
class Example:
    """An episode in which an agent and the baseline differ; infinite values are undefined."""

    episode: str
    scene: str
    baseline: float
    run: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, None for what is infinite."""
        return asdict(self) | {"baseline": finite(self.baseline), "run": finite(self.run)}


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Several agents over the same episodes.

    Attributes:
        references: the name of the ground-truth paths.
        episodes: how many episodes all agents share.
        left_out: how many references are not among them.
        baseline: the name of the agent that the others are tested against.
        results: of all agents over the shared episodes, in the order given.
        contrasts: a test for each other agent and metric.
        metric: by which `better` and `worse` are chosen.
        better: by agent, the episodes where it exceeds the baseline most (has more, if the metric has no direction).
        worse: by agent, the episodes where it falls behind most.
        warnings: what a reader must know before believing it.
    """

    references: str
    episodes: int
    left_out: int
    baseline: str
    results: tuple[Result, ...]
    contrasts: tuple[PairedDifference, ...]
    metric: str
    better: Mapping[str, tuple[Example, ...]]
    worse: Mapping[str, tuple[Example, ...]]
    warnings: tuple[str, ...]

    @property
    def bootstrap(self) -> dict[str, Any]:
        """What all resampling depends on: resamples, seed and cluster."""
        return self.results[0].bootstrap

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """What is compared, as values."""
        return self.results[0].metrics

    @property
    def others(self) -> list[str]:
        """The agents that are tested against the baseline."""
        return [result.name for result in self.results if result.name != self.baseline]

    def of(self, run: str) -> dict[str, PairedDifference]:
        """Return the tests of one agent, by metric; none for the baseline."""
        return {one.metric: one for one in self.contrasts if one.run == run}

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--format json` prints."""
        return {
            "references": self.references,
            "episodes": self.episodes,
            "left_out": self.left_out,
            "baseline": self.baseline,
            **{fact: self.bootstrap[fact] for fact in ("cluster", "seed", "resamples")},
            "runs": [result.to_dict() for result in self.results],
            "tests": [one.to_dict() for one in self.contrasts],
            "differ_most": {"metric": self.metric, "better": _plain(self.better), "worse": _plain(self.worse)},
            "warnings": list(self.warnings),
        }

    def __repr__(self) -> str:
        names = ", ".join(result.name for result in self.results)
        return f"<Comparison of {names} over {self.episodes:,} episodes; baseline {self.baseline}>"

    def _repr_html_(self) -> str:
        from importlib import import_module  # a comparison can show itself, though showing stands above it

        text: str = import_module("wayscore.report.results").render_comparison(self, "html")
        return text


def _plain(examples: Mapping[str, tuple[Example, ...]]) -> dict[str, list[dict[str, Any]]]:
    return {run: [example.to_dict() for example in some] for run, some in examples.items()}


def compare(
    runs: Sequence[Any],
    references: Any = None,
    graphs: Any = None,
    *,
    names: Sequence[str | None] | None = None,
    baseline: str | int | None = None,
    top: int = 5,
    metrics: Any = None,
    reader: Mapping[str, Any] | None = None,
    **options: Any,
) -> Comparison:
    """Compare agents on the episodes they share, and test each against the baseline.

    Every test starts from the same seed, so what it finds does not depend on which others are made beside it.

    Args:
        runs: results, saved results, score files of other evaluators, or runs to evaluate; two or more.
        references: the ground-truth paths, where there are runs to evaluate.
        graphs: connectivity files, or scene -> distance.
        names: what to call each; entries of one name are several runs of one agent.
        baseline: the agent that the others are tested against: its name, its file as given, or its number from 1 on;
            the first by default.
        top: how many episodes that differ most to keep, each way.
        metrics: which metrics; the first ranks the episodes that differ (nDTW by default).
        reader: settings of the references' reader.
        **options: further ones of `ws.evaluate`: convention, threshold, policies, cluster, seed, workers, ...

    >>> import wayscore as ws
    >>> a, b = ({"1": ["x", "y"], "2": ["x"]}, {"1": ["x"], "2": ["x", "y"]})
    >>> truth = ws.References("mine", "table", {e: ws.Reference(e, "s", ["x", "y"], e) for e in "12"})
    >>> house = {"s": ws.Graph.from_edges([("x", "y")], [4.0])}
    >>> compare([a, b], truth, house, names=["a", "b"], metrics="SR").of("b")["SR"].outcomes
    (1, 0, 1)
    """
    if len(runs) < 2:
        raise OptionError(f"a comparison needs two runs or more, got {len(runs)}; one is scored by `wayscore score`")
    check_count("top", top, least=0)
    results = evaluate_runs(runs, names, references, graphs, metrics, reader, options)
    position = _baseline(baseline, [result.name for result in results], runs)
    if len(results) < 2:
        raise OptionError(f"all runs have one name, {results[0].name!r}: they are one agent, and need another one")
    shared, left_out = share_episodes(results, metrics)
    shared, tests = paired_differences(shared, shared[position])
    base = shared[position]
    leading = next((m for m in base.metrics if metrics is None and m.symbol == FIRST_METRIC), base.metrics[0])
    ranked = {one.name: _examples(one, base, leading, top) for one in shared if one is not base}
    warnings = signature_differences(shared)
    warnings += unlike_paths({result.name: result.settings.get("seen", {}) for result in shared})
    warnings += [warning for result in shared for warning in result.warnings]
    return Comparison(
        (base.settings.get("references") or {"name": "rows"})["name"],
        base.episodes_scored // base.runs,
        left_out,
        base.name,
        tuple(shared),
        tuple(tests),
        leading.symbol,
        {name: better for name, (better, _) in ranked.items()},
        {name: worse for name, (_, worse) in ranked.items()},
        tuple(map(Sentence, dict.fromkeys(warnings))),
    )


def evaluate_runs(
    runs: Sequence[Any],
    names: Sequence[str | None] | None,
    references: Any,
    graphs: Any,
    metrics: Any,
    reader: Mapping[str, Any] | None,
    options: Mapping[str, Any],
) -> list[Result]:
    """Take results as they are, load saved ones, evaluate the rest; join the runs of one agent."""
    given = list(names) if names is not None else [None] * len(runs)
    if len(given) != len(runs):
        raise OptionError(f"{len(runs)} runs but {len(given)} names; give one for each, or None")
    prepared = references if isinstance(references, Prepared) else None
    if prepared is None and (known := find_references(references, reader)) is not None:
        graphs = distances_for(known, graphs, find_convention(options.get("convention", "paper")))
        prepared = Prepared(known, graphs)
    found = [evaluate(run, prepared, graphs, metrics=metrics, **options) for run in runs]
    unnamed = [(result.name, run) for result, run, name in zip(found, runs, given, strict=True) if name is None]
    paths = (os.path.abspath(run) if isinstance(run, str | os.PathLike) else "" for _, run in unnamed)
    homes = [os.path.basename(os.path.dirname(path)) for path in paths]
    own = iter(names_apart([name for name, _ in unnamed], homes))
    agents: dict[str, list[Result]] = {}
    for result, name in zip(found, given, strict=True):
        agents.setdefault(next(own) if name is None else name, []).append(result)
    return [pool(some, name) for name, some in agents.items()]


def _examples(one: Result, base: Result, metric: Metric, top: int) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """Return the episodes where an agent gains most on the baseline, and those where it loses most."""
    table = per_episode(base)
    x, y = per_episode(one)[metric.symbol], table[metric.symbol]
    sign = -1.0 if metric.direction == "down" else 1.0
    undefined = -np.inf if metric.direction else np.inf
    better, worse = (np.where(np.isfinite(values), sign * values, undefined) for values in (x, y))
    gain = np.subtract(better, worse, out=np.zeros(len(x)), where=better != worse)
    gain[equal(better, worse)] = 0.0
    scenes = table.fact("scene")

    def take(order: Any, wanted: Any) -> tuple[Example, ...]:
        rows = [int(row) for row in order if wanted[row]][:top]
        return tuple(Example(str(table.episodes[row]), scenes[row], float(y[row]), float(x[row])) for row in rows)

    return take(np.argsort(-gain, kind="stable"), gain > 0), take(np.argsort(gain, kind="stable"), gain < 0)


def _baseline(wanted: str | int | None, names: Sequence[str], runs: Sequence[Any]) -> int:
    """Return the position of the baseline among the agents."""
    if wanted is None:
        return 0
    files = [os.fspath(run) if isinstance(run, str | os.PathLike) else "" for run in runs]
    for known in ([*names], files if len(files) == len(names) else []):
        if str(wanted) in known:
            return known.index(str(wanted))
    if str(wanted).isdecimal() and 1 <= int(wanted) <= len(names):
        return int(wanted) - 1
    raise OptionError(
        f"there is no run {str(wanted)!r} to be the baseline{did_you_mean(wanted, names)} "
        f"Known: {', '.join(names)}, or a number from 1 to {len(names)}"
    )


@dataclass(frozen=True, slots=True)
class Effects:
    """The means of one run by two conventions, and by the second with one choice of the first at a time.

    Attributes:
        names: of the conventions.
        first: means by the first convention.
        second: means by the second.
        choices: by choice in which they differ, the means by the second with that choice made as the first makes it.
        metrics: what the means are of.
    """

    names: tuple[str, str]
    first: Mapping[str, float | None]
    second: Mapping[str, float | None]
    choices: Mapping[str, Mapping[str, float | None]]
    metrics: tuple[Metric, ...]

    def rows(self) -> list[tuple[str, Mapping[str, float | None]]]:
        """Return the lines of a table: both conventions, and the second with one choice of the first at a time."""
        first, second = self.names
        changed = ((f"{second}, but {choice} as {first}", means) for choice, means in self.choices.items())
        return [(first, self.first), (second, self.second), *changed]

    def changing(self) -> Effects:
        """Return the same with only the choices that change a mean, and the metrics whose means change."""
        kept = {
            choice: means
            for choice, means in self.choices.items()
            if any(_rounded(means[one.symbol]) != _rounded(self.second[one.symbol]) for one in self.metrics)
        }
        rows = (self.first, self.second, *kept.values())
        metrics = (one for one in self.metrics if len({_rounded(means[one.symbol]) for means in rows}) > 1)
        return replace(self, choices=kept, metrics=tuple(metrics))


def _rounded(mean: float | None) -> float | None:
    return None if mean is None else round(mean, 9)  # rounding errors are no change


def effects(
    run: Any, references: Any, first: Convention, second: Convention, *, graphs: Any = None, metrics: Any = None
) -> Effects:
    """Score a run by both conventions, and by every single choice in which they differ.

    Columns that one of them computes in its own way count as one choice, "columns".
    """
    if metrics is None:
        one, other = ({metric.symbol for metric in find_metrics(None, convention)} for convention in (first, second))
        metrics = [symbol for symbol in KNOWN if symbol in (one | other if symbol in METRICS else one & other)]
    known = find_references(references)
    distances = distances_for(known, graphs, first if first.distance == "directed hops" else second)

    def means(convention: Convention) -> dict[str, float | None]:
        return evaluate(run, known, distances, convention=convention, metrics=metrics).means()

    own, others = ({key for key in convention.metrics if ":" in key} for convention in (first, second))
    changed = {choice: choice for choice in first.differences(second) if choice != "metrics"}
    changed |= {"columns": "metrics"} if own != others else {}
    by_choice = {name: means(replace(second, **{choice: getattr(first, choice)})) for name, choice in changed.items()}
    return Effects((first.name, second.name), means(first), means(second), by_choice, find_metrics(metrics, first))
