"""What the page shows at once: the runs, their means as papers print them, their signatures, and the tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wayscore.episodes import describe
from wayscore.evaluation.summary import differences
from wayscore.metrics import Metric, find_metrics
from wayscore.report.layout import ARROWS, best, head, interval, is_share, number, short_names
from wayscore.report.page.choices import choices_of
from wayscore.report.render import metrics_of

if TYPE_CHECKING:
    from wayscore.episodes import References
    from wayscore.evaluation.comparison import Comparison, Contrast, Example
    from wayscore.evaluation.runs import ScoredRun
    from wayscore.evaluation.summary import Summary
    from wayscore.statistics import Interval

SHORT_NAME = 18
"""Names of runs get so many characters where there is little room."""


def results_of(
    runs: Sequence[ScoredRun], summaries: Sequence[Summary], references: References, comparison: Comparison | None
) -> dict[str, Any]:
    """Return the results as plain values, numbers beside the words that print them."""
    metrics = metrics_of(summaries)
    shorts = short_names([run.name for run in runs], SHORT_NAME)
    warnings = [] if comparison is None else list(comparison.warnings)
    rules = choices_of(runs[0])
    return {
        "version": runs[0].table.settings["version"],
        "references": references.name,
        "convention": runs[0].table.settings["convention"],
        "threshold": runs[0].table.settings["threshold"],
        "unit": runs[0].table.settings.get("unit", "m"),
        "success": rules.comparison,
        "goal": rules.goal,
        "cluster": summaries[0].signature.fields.get("cluster", ""),
        "metrics": [_metric(metric) for metric in metrics],
        "runs": [
            _run(run, summary, short, metrics, summaries, references)
            for run, summary, short in zip(runs, summaries, shorts, strict=True)
        ],
        "warnings": list(dict.fromkeys([*differences(summaries), *warnings])),
        "comparison": None if comparison is None else _comparison(comparison, metrics),
    }


def _metric(metric: Metric) -> dict[str, Any]:
    return {
        "symbol": metric.symbol,
        "name": metric.name,
        "direction": metric.direction,
        "arrow": ARROWS[metric.direction],
        "unit": "%" if is_share(metric) else metric.unit,
        "head": head(metric),
        "share": is_share(metric),
        "formula": metric.formula,
    }


def _run(
    run: ScoredRun,
    summary: Summary,
    short: str,
    metrics: Sequence[Metric],
    summaries: Sequence[Summary],
    references: References,
) -> dict[str, Any]:
    means = {}
    for metric in metrics:
        found = summary.metrics[metric.symbol]
        top = best(metric, [other.metrics[metric.symbol].mean for other in summaries])
        means[metric.symbol] = {**_interval(metric, found), "best": number(metric, found.mean) == top}
    problems = [
        f"{describe(kind, names, references)} ({run.joined.policies[kind]})"
        for kind, names in run.joined.problems.items()
        if names
    ]
    return {
        "name": run.name,
        "short": short,
        "signature": str(summary.signature),
        "episodes": summary.episodes,
        "undefined": summary.undefined,
        "problems": problems,
        "means": means,
    }


def _interval(metric: Metric, found: Interval, *, signed: bool = False) -> dict[str, Any]:
    return {
        **{name: _finite(value) for name, value in found._asdict().items()},
        "text": number(metric, found.mean, signed=signed),
        "interval": interval(metric, found, signed=signed),
    }


def _comparison(comparison: Comparison, metrics: Sequence[Metric]) -> dict[str, Any]:
    leading = find_metrics([comparison.metric])[0]
    return {
        "baseline": comparison.baseline,
        "left_out": comparison.left_out,
        "resamples": comparison.resamples,
        "seed": comparison.seed,
        "tests": len(comparison.contrasts),
        "metric": comparison.metric,
        "others": [
            {
                "run": run,
                "tests": [_test(metric, comparison.of(run)[metric.symbol]) for metric in metrics],
                "better": [_example(leading, example) for example in comparison.better[run]],
                "worse": [_example(leading, example) for example in comparison.worse[run]],
            }
            for run in comparison.others
        ],
    }


def _test(metric: Metric, contrast: Contrast) -> dict[str, Any]:
    return {
        "metric": metric.symbol,
        **_interval(metric, contrast.difference, signed=True),
        "p": contrast.p_holm,
        "outcomes": contrast.outcomes,
        "superiority": contrast.superiority,
        "effect_size": _finite(contrast.effect_size),
    }


def _example(metric: Metric, example: Example) -> dict[str, Any]:
    return {
        "episode": example.episode,
        "scene": example.scene,
        "baseline": number(metric, example.baseline),
        "run": number(metric, example.run),
        "difference": number(metric, example.run - example.baseline, signed=True),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
