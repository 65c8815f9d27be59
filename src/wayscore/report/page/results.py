"""What the page shows at once: the runs, their means as papers print them, signatures, warnings and tests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from wayscore.errors import in_command, marked
from wayscore.escaping import escape
from wayscore.report.document import Document
from wayscore.report.layout import ARROWS, HEADLINE, head, is_share, left_out, means_of, metrics_of, short_names
from wayscore.report.results import (
    caption,
    contrasts_of,
    differing_tables,
    explained,
    extent,
    method,
    scope,
    tests_table,
    warnings_of,
)

if TYPE_CHECKING:
    from wayscore.evaluation.comparison import Comparison
    from wayscore.evaluation.result import Result
    from wayscore.metrics import Metric
    from wayscore.report.document import Cell, Part

SHORT_NAME = 18
"""Names of runs get this many characters where there is little room."""
KEYS = MappingProxyType(
    {
        "version": "version of wayscore",
        "convention": "rules by which the metrics are computed",
        "threshold": "success distance d_th, which also scales nDTW",
        "repeats": "steps that stay at the same node: kept or dropped before scoring",
        "distance": "how distances are measured; after # a hash of the graphs",
        "references": "file of the ground-truth paths; after # a hash of its content",
        "episodes": "number of episodes",
        "runs": "number of runs of each agent",
        "cluster": "what the bootstrap resamples in place of single episodes",
        "missing": "episodes without a prediction: what was done, and for how many",
        "unknown": "predictions for episodes that are not in the references: what was done, and for how many",
        "duplicate": "episodes with several predictions: what was done, and for how many",
        "start": "queries with another first node or point than their reference: what was done, and for how many",
        "move": "queries that move between nodes without an edge: what was done, and for how many",
        "node": "queries with nodes that the graph does not have: what was done, and for how many",
        "undefined": "undefined values that are left out of a mean, at most",
        "goal": "recorded: distances to the goal are taken from the run",
        "stop": "episodes that do not record whether the agent stopped; they count as stopped",
        "up": "the coordinate that points up",
        "unrecorded": "what the convention takes from the run and did not find, and in how many episodes",
    }
)
"""What each key of a signature means."""


def results_of(results: Sequence[Result], comparison: Comparison | None) -> dict[str, Any]:
    """Return the results as plain values, numbers beside the words that print them."""
    metrics = metrics_of(results)
    shorts = short_names([result.name for result in results], SHORT_NAME)
    leading = next((result for result in results if result.inputs is not None), results[0])
    settings = leading.settings
    warnings = warnings_of(results, None if comparison is None else comparison.warnings)
    return {
        "version": settings["version"],
        "references": references_name(results),
        "convention": settings["convention"],
        "threshold": settings.get("threshold"),
        "unit": settings.get("unit", "m"),
        "goal": None if leading.inputs is None else leading.inputs.convention.goal,
        "caption": caption(results),
        "metrics": [_metric(metric) for metric in metrics],
        "runs": [
            _run(result, short, metrics, means)
            for result, short, means in zip(results, shorts, means_of(results, metrics), strict=True)
        ],
        "keys": {key: KEYS.get(key, "") for result in results for key in result.signature.fields},
        "warnings": [in_command(re.sub("<<[^>]*>>", r"`\g<0>`", marked(warning))) for warning in warnings],
        "comparison": None if comparison is None else _comparison(comparison),
    }


def references_name(results: Sequence[Result]) -> str:
    """Return the name of the references of the first result; "" where rows carry them or it is unknown."""
    name: str = (results[0].settings.get("references") or {"name": ""})["name"]
    return "" if name == "unknown" else name


def _metric(metric: Metric) -> dict[str, Any]:
    return {
        "symbol": metric.symbol,
        "headline": metric.symbol in HEADLINE,
        "name": metric.name,
        "direction": metric.direction,
        "arrow": ARROWS[metric.direction],
        "unit": "%" if is_share(metric) else metric.unit,
        "head": head(metric),
        "share": is_share(metric),
        "formula": metric.formula,
    }


def _run(result: Result, short: str, metrics: Sequence[Metric], means: Sequence[Cell]) -> dict[str, Any]:
    known = result.intervals()
    references = result.settings.get("references") or {"name": "the references"}
    problems = [
        f"{result.problems.sentence(kind, references['name'], references.get('episodes', 0))} "
        f"({result.settings['policies'][kind]})"
        for kind in result.problems.counts
    ]
    means_shown = {}
    for metric, mean in zip(metrics, means, strict=True):
        found = known.get(metric.symbol)
        values = dict.fromkeys(("mean", "low", "high")) if found is None else found._asdict()
        words = {"text": mean.text, "rest": mean.rest.strip(), "interval": mean.below, "best": mean.bold}
        means_shown[metric.symbol] = {**values, **words}
    return {
        "name": result.name,
        "short": short,
        "signature": str(result.signature),
        "episodes": result.episodes_scored,
        "scope": extent(result),
        "runs": result.runs,
        "undefined": result.undefined,
        "why": {
            metric.symbol: left_out(result, metric, count).rstrip(")").rpartition(" ")[2]
            for metric in metrics
            if (count := result.undefined.get(metric.symbol, 0))
        },
        "problems": problems,
        "means": means_shown,
    }


def _comparison(comparison: Comparison) -> dict[str, Any]:
    """Return by run the intervals of its differences, for drawing; `comparison_html` has the numbers in words."""
    others = {}
    for run in comparison.others:
        tests = contrasts_of(comparison, run)
        others[run] = [{"metric": metric.symbol, **test.difference._asdict()} for metric, test in tests]
    return {"baseline": comparison.baseline, "metric": comparison.metric, "others": others}


def comparison_html(comparison: Comparison) -> str:
    """Return the tests of each run against the baseline, and where the two differ most: tables without any style."""
    names = [result.name for result in comparison.results]
    short = dict(zip(names, short_names(names, SHORT_NAME), strict=True))
    found = [_plain(f"{scope(comparison)}.")]
    for run in comparison.others:
        tests = tests_table(comparison, run, short)
        differing = "".join(map(_plain, differing_tables(comparison, run, short)))
        found.append(
            f'<div class="contrast"><div class="scrolling tests" tabindex="0" role="region" '
            f'aria-label="{escape(tests.title, "html")}">{_plain(tests)}</div>'
            f'<div class="differ">{differing}</div><div class="against"></div></div>'
        )
    return "".join([*found, _plain(f"{method(comparison)} {explained(comparison)}")])


def _plain(part: Part) -> str:
    """Return a table or words as HTML without the style that notebooks need, which this page forbids and has itself."""
    html = re.sub(' style="[^"]*"', "", Document([part]).render("html"))
    return re.sub(r"(<td>(?:<b>)?|\[|\d, )-(?=\d)", "\\1\u2212", html)
