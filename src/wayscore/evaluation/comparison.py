"""compare: several agents over the episodes they share, tested against one of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wayscore.convention.presets import find_convention
from wayscore.errors import OptionError, Sentence, check_count, did_you_mean
from wayscore.evaluation.agents import pool
from wayscore.evaluation.contrasts import Contrast, contrast, finite
from wayscore.evaluation.evaluator import evaluate
from wayscore.evaluation.inputs import Prepared, find_distances, find_references
from wayscore.evaluation.result import Result, names_apart, signature_differences
from wayscore.evaluation.shared import per_episode, share_episodes
from wayscore.evaluation.table import Floats
from wayscore.evaluation.warnings import unlike_paths
from wayscore.metrics import Metric
from wayscore.statistics.bootstrap import equal
from wayscore.statistics.tests import holm

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
        values = {"baseline": finite(self.baseline), "run": finite(self.run)}
        return {"episode": self.episode, "scene": self.scene, **values}


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
    contrasts: tuple[Contrast, ...]
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

    def of(self, run: str) -> dict[str, Contrast]:
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
            "differ_most": {
                "metric": self.metric,
                **{
                    kind: {run: [example.to_dict() for example in examples] for run, examples in found.items()}
                    for kind, found in (("better", self.better), ("worse", self.worse))
                },
            },
            "warnings": list(self.warnings),
        }

    def __repr__(self) -> str:
        names = ", ".join(result.name for result in self.results)
        return f"<Comparison of {names} over {self.episodes:,} episodes; baseline {self.baseline}>"

    def _repr_html_(self) -> str:
        from importlib import import_module  # a comparison can show itself, though showing stands above it

        text: str = import_module("wayscore.report.results").render_comparison(self, "html")
        return text


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
    place = _baseline(baseline, [result.name for result in results], runs)
    if len(results) < 2:
        raise OptionError(f"all runs have one name, {results[0].name!r}: they are one agent, and need another one")
    shared, left_out = share_episodes(results, metrics)
    shared, contrasts = contrast(shared, place)
    base = shared[place]
    others = [result for result in shared if result is not base]
    tested = [one.p for one in contrasts if one.p is not None]
    adjusted = iter(holm(tested) if tested else [])
    leading = next((m for m in base.metrics if m.symbol == FIRST_METRIC), base.metrics[0])
    leading = base.metrics[0] if metrics is not None else leading
    ranked = {one.name: _examples(one, base, leading, top) for one in others}
    warnings = unlike_paths({result.name: result.settings.get("seen", {}) for result in shared})
    warnings += [warning for result in shared for warning in result.warnings]
    return Comparison(
        (base.settings.get("references") or {"name": "rows"})["name"],
        base.episodes_scored // base.runs,
        left_out,
        base.name,
        tuple(shared),
        tuple(one if one.p is None else replace(one, p_holm=next(adjusted)) for one in contrasts),
        leading.symbol,
        {name: better for name, (better, _) in ranked.items()},
        {name: worse for name, (_, worse) in ranked.items()},
        tuple(map(Sentence, dict.fromkeys([*signature_differences(shared), *warnings]))),
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
        graphs = find_distances(graphs, known, find_convention(options.get("convention", "paper")))
        prepared = Prepared(known, graphs)
    found = [evaluate(run, prepared, graphs, metrics=metrics, **options) for run in runs]
    homes = [os.path.basename(os.path.dirname(os.path.abspath(run))) if _is_path(run) else "" for run in runs]
    own = iter(
        names_apart(
            [r.name for r, n in zip(found, given, strict=True) if n is None],
            (home for home, name in zip(homes, given, strict=True) if name is None),
        )
    )
    agents: dict[str, list[Result]] = {}
    for result, name in zip(found, given, strict=True):
        agents.setdefault(next(own) if name is None else name, []).append(result)
    return [pool(some, name) for name, some in agents.items()]


def _is_path(run: Any) -> bool:
    return isinstance(run, str | os.PathLike)


def _examples(one: Result, base: Result, metric: Metric, top: int) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    a, b = per_episode(one), per_episode(base)
    if metric.symbol not in a.columns:
        return (), ()
    return rank_examples(a[metric.symbol], b[metric.symbol], b.episodes, b.fact("scene"), metric, top)


def rank_examples(
    x: Floats, y: Floats, episodes: Sequence[Any], scenes: Sequence[str], metric: Metric, top: int
) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """Return the episodes where an agent (x) gains most on the baseline (y), and those where it loses most."""
    sign = -1.0 if metric.direction == "down" else 1.0
    undefined = -np.inf if metric.direction else np.inf
    better, worse = (np.where(np.isfinite(values), sign * values, undefined) for values in (x, y))
    gain = np.subtract(better, worse, out=np.zeros(len(x)), where=better != worse)
    gain[equal(better, worse)] = 0.0

    def take(order: Any, wanted: Any) -> tuple[Example, ...]:
        rows = [int(row) for row in order if wanted[row]][:top]
        return tuple(Example(str(episodes[row]), scenes[row], float(y[row]), float(x[row])) for row in rows)

    return (take(np.argsort(-gain, kind="stable"), gain > 0), take(np.argsort(gain, kind="stable"), gain < 0))


def _baseline(wanted: str | int | None, names: Sequence[str], runs: Sequence[Any]) -> int:
    """Return where the baseline stands among the agents."""
    if wanted is None:
        return 0
    files = [os.fspath(run) if _is_path(run) else "" for run in runs]
    for known in (names, files if len(files) == len(names) else []):
        if str(wanted) in known:
            return list(known).index(str(wanted))
    if str(wanted).isdecimal() and 1 <= int(wanted) <= len(names):
        return int(wanted) - 1
    raise OptionError(
        f"there is no run {str(wanted)!r} to be the baseline{did_you_mean(wanted, names)} "
        f"Known: {', '.join(names)}, or a number from 1 to {len(names)}"
    )
