"""What the page shows at once: means, signatures, warnings and tests as HTML, and the facts that its figures need."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from wayscore.errors import in_command, marked
from wayscore.escaping import escape
from wayscore.report.document import Document, Part, Row, Table
from wayscore.report.layout import (
    ARROWS,
    HEADLINE,
    counted,
    head,
    is_share,
    means_of,
    metrics_of,
    short_names,
    why_undefined,
)
from wayscore.report.results import (
    caption as caption_of,
    contrasts_of,
    differing_tables,
    explained,
    extent,
    method,
    scope,
    tests_table,
    warnings_of,
)
from wayscore.statistics import Interval

if TYPE_CHECKING:
    from wayscore.evaluation.comparison import Comparison
    from wayscore.evaluation.result import Result

SHORT_NAME = 18
"""Names of runs get this many characters where there is little room."""
COLUMNS = 3
"""Up to this many runs are columns beside each other; more are rows."""
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
NO_MEAN = Interval(None, None, None)


def results_of(results: Sequence[Result], comparison: Comparison | None) -> dict[str, Any]:
    """Return what figures and the list of episodes need to know, as plain values."""
    metrics, names = metrics_of(results), [result.name for result in results]
    leading = _leading(results)
    compared = None
    if comparison is not None:
        tests: dict[str, list[dict[str, Any]]] = {run: [] for run in comparison.others}
        for run, mine in tests.items():
            for metric, test in contrasts_of(comparison, run):
                mine.append({"metric": metric.symbol, **test.difference._asdict()})
        compared = {"baseline": comparison.baseline, "metric": comparison.metric, "others": tests}
    runs = []
    for result, short in zip(results, short_names(names, SHORT_NAME), strict=True):
        known, undefined = result.intervals(), result.undefined
        means = {one.symbol: known.get(one.symbol, NO_MEAN)._asdict() for one in metrics}
        why = {one.symbol: why_undefined(result, one) for one in metrics if undefined.get(one.symbol)}
        runs.append({"name": result.name, "short": short, "undefined": undefined, "why": why, "means": means})
    return {
        "threshold": leading.settings.get("threshold"),
        "unit": leading.settings.get("unit", "m"),
        "goal": None if leading.inputs is None else leading.inputs.convention.goal,
        "metrics": [
            {
                **{fact: getattr(metric, fact) for fact in ("symbol", "name", "direction", "formula")},
                "headline": metric.symbol in HEADLINE,
                "arrow": ARROWS[metric.direction],
                "unit": "%" if is_share(metric) else metric.unit,
                "share": is_share(metric),
            }
            for metric in metrics
        ],
        "runs": runs,
        "comparison": compared,
    }


def _leading(results: Sequence[Result]) -> Result:
    """Return the first result that was scored here, else the first."""
    return next((result for result in results if result.inputs is not None), results[0])


def sections_of(results: Sequence[Result], comparison: Comparison | None) -> dict[str, str]:
    """Return the parts of `static/page.html` that are tables and words, by their names there."""
    items = ""
    warnings = warnings_of(results, None if comparison is None else comparison.warnings)
    for warning in warnings:
        text = escape(in_command(re.sub("<<[^>]*>>", r"`\g<0>`", marked(warning))), "html")
        items += re.sub("`([^`]+)`", r"<code>\1</code>", f"<li>{text}</li>").replace(" %", "&nbsp;%")
    title = f"<h2>{counted(len(warnings), 'warning')}: read before you use these numbers</h2>"
    return {
        "lead": escape(_lead(results), "html"),
        "warnings": items and f'<aside id="warnings" aria-label="Warnings">{title}<ul>{items}</ul></aside>',
        "means": _means(results),
        "signatures": _signatures(results),
        "comparison": "" if comparison is None else _comparison(comparison),
        "version": escape(results[0].settings["version"], "html"),
    }


def references_name(results: Sequence[Result]) -> str:
    """Return the name of the references of the first result; "" where rows carry them or it is unknown."""
    name: str = (results[0].settings.get("references") or {"name": ""})["name"]
    return "" if name == "unknown" else name


def _lead(results: Sequence[Result]) -> str:
    """Say what was scored on which episodes, and what success means as far as that is known."""
    leading = _leading(results)
    agents = "agent" if any(result.runs > 1 for result in results) else "run"
    who = f"One {agents}" if len(results) == 1 else f"{len(results)} {agents}s"
    name = references_name(results)
    over = ", ".join(dict.fromkeys(map(extent, results))) + (f" of {name}" if name else "")
    threshold, convention = leading.settings.get("threshold"), f"convention {leading.settings['convention']}"
    if threshold is None:
        return f"{who} on {over}. Scored by another evaluator."
    within = f"{threshold:g} {leading.settings.get('unit', 'm')}"
    if leading.inputs is None:
        return f"{who} on {over}. Threshold {within}; {convention}."
    success = "at a goal" if leading.inputs.convention.goal == "set" else f"within {within} of the goal"
    return f"{who} on {over}. Success means stopping {success}; {convention}."


def _means(results: Sequence[Result]) -> str:
    """Return the means, one row for each metric or for each of many runs, and what must be known of them."""
    metrics, names = metrics_of(results), short_names([result.name for result in results], SHORT_NAME)
    means, caption = means_of(results, metrics), caption_of(results)
    tables = []
    if len(results) > COLUMNS:
        first = sum(metric.symbol in HEADLINE for metric in metrics)
        for title, part in ((caption, slice(first)), ("The other metrics", slice(first, None))):
            rows: list[Row] = [[name, *row[part]] for name, row in zip(names, means, strict=True)]
            tables += [Table(["Run", *map(head, metrics[part])], rows, title)] if metrics[part] else []
    else:
        rows = [[head(metric), *column] for metric, column in zip(metrics, zip(*means, strict=True), strict=True)]
        heads = names if len(names) > 1 else ["Mean [95 % interval]"]
        tables.append(Table(["Metric", *heads], rows, caption))
    found = [_scrolling("means", table) for table in tables]
    gone = {why_undefined(one, metric) for one in results for metric in metrics if one.undefined.get(metric.symbol)}
    who = "Unreachable episodes" if "unreachable" in gone else "Undefined values"
    found += [f'<p class="note">{who} are left out of the mean; their number is given beside it.</p>'] if gone else []
    for result in results:
        references = result.settings.get("references") or {"name": "the references"}
        problems = ""
        for kind in result.problems.counts:
            words = result.problems.sentence(kind, references["name"], references.get("episodes", 0))
            problems += f"<li>{escape(words, 'html')} ({result.settings['policies'][kind]})</li>"
        title = f"<summary>Problems found in {escape(result.name, 'html')}</summary>"
        found += [f'<details class="note">{title}<ul>{problems}</ul></details>'] if problems else []
    return "".join(found)


def _signatures(results: Sequence[Result]) -> str:
    """Return every signature once, key by key, with the runs that it is of where there are several."""
    runs: dict[str, list[Result]] = {}
    for result in results:
        runs.setdefault(str(result.signature), []).append(result)
    found = ""
    for signature, some in runs.items():
        of = f" of {', '.join(result.name for result in some)}" if len(runs) > 1 else ""
        keys = ""
        for key, value in some[0].signature.fields.items():
            value = escape(value, "html")
            keys += f'<div><dt>{key}</dt><dd class="value">{value}</dd><dd>{KEYS.get(key, "")}</dd></div>'
        copied = escape(signature, "html")
        found += (
            f'<details class="signature card"{" open" if len(runs) <= 2 else ""}>'
            f"<summary>Signature{escape(of, 'html')}</summary>"
            "<p>Everything that these numbers depend on. Print it below your table. "
            f'<button type="button" class="small" data-copy="{copied}">Copy the signature</button></p>'
            f"<dl>{keys}</dl></details>"
        )
    return found


def _comparison(comparison: Comparison) -> str:
    """Return the tests of each run against the baseline, and where the two differ most: tables without any style."""
    names = [result.name for result in comparison.results]
    short = dict(zip(names, short_names(names, SHORT_NAME), strict=True))
    found = [_plain(f"{scope(comparison)}.")]
    for run in comparison.others:
        tests = tests_table(comparison, run, short)
        differing = "".join(map(_plain, differing_tables(comparison, run, short)))
        drawn = f'<div class="differ">{differing}</div><div class="against"></div>'
        found.append(f'<div class="contrast">{_scrolling("tests", tests)}{drawn}</div>')
    return "".join([*found, _plain(f"{method(comparison)} {explained(comparison)}")])


def _scrolling(kind: str, table: Table) -> str:
    label = escape(table.title, "html")
    return f'<div class="scrolling {kind}" tabindex="0" role="region" aria-label="{label}">{_plain(table)}</div>'


def _plain(part: Part) -> str:
    """Return a table or words as HTML without the style that notebooks need, which this page forbids and has itself."""
    html = re.sub(' style="[^"]*"', "", Document([part]).render("html"))
    html = re.sub(r"(<td>(?:<b>)?|\[|\d, )-(?=\d)", "\\1\u2212", html)
    return re.sub(r"(<td>(?:<b>[^<]*</b>|[^<( \[]*))( [^<]+)", r"\1<small>\2</small>", html)  # what follows a number
