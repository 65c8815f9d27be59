"""Summaries as a terminal table, JSON, Markdown or LaTeX; bounded scores in percent, as papers print them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from wayscore.errors import OptionError, did_you_mean
from wayscore.evaluation.summary import differences
from wayscore.metrics import Metric, find_metrics
from wayscore.report.layout import (
    ARROWS,
    LATEX_ARROWS,
    best,
    counted,
    head,
    interval,
    latex_name,
    legend,
    markdown_name,
    number,
    short_names,
)
from wayscore.report.terminal import DEFAULT_WIDTH, TextPage, TextTable

if TYPE_CHECKING:
    from wayscore.evaluation.summary import Summary

Item = TypeVar("Item")
NAME_ROOM = 20, 40
"""Names of runs get so many characters in a terminal, more where there is room; shortened ones are told below."""


def render(summaries: Sequence[Summary], form: str, *, width: int | None = None, color: bool = False) -> str:
    """Return summaries of several runs in one of the forms of `RENDERERS`; width and colour concern text only."""
    check_form(form)
    if form == "text":
        return text(summaries, width=width, color=color)
    return RENDERERS[form](summaries)


def check_form(form: str) -> None:
    """Refuse a form that there is not."""
    if form not in RENDERERS:
        raise OptionError(f"there is no format {form!r}{did_you_mean(form, RENDERERS)} Known: {', '.join(RENDERERS)}")


def text(summaries: Sequence[Summary], *, width: int | None = None, color: bool = False) -> str:
    """Return a table for a terminal: a row for each metric, a column for each run, and the signatures below."""
    page = TextPage(width or DEFAULT_WIDTH, color)
    counts = {summary.episodes for summary in summaries}
    over = f" over {counted(counts.pop())}" if len(counts) == 1 else ""
    page.add(f"Means{over} with 95 % {intervals(summaries[0])}\n")
    names = print_means(page, summaries)
    for summary in summaries:
        if summary.split_by:
            whose = f" of {summary.run}" if len(summaries) > 1 else ""
            page.add(f"\nMeans{whose} by {_split(summary)}\n")
            _print_groups(page, summary)
    notes = [*legend(names, [summary.run for summary in summaries]), *signatures(summaries)]
    return f"{page}\n" + "\n".join(notes) + "\n"


def intervals(summary: Summary) -> str:
    """Say of what kind the intervals are, and what they depend on.

    Seeds and resamples move intervals and leave means alone, which is why the signature does not tell them.
    """
    if summary.bootstrap is None:
        return "intervals"
    seed, cluster = summary.bootstrap["seed"], summary.bootstrap["cluster"]
    by = f", resampled by {cluster}" if cluster != "none" else ""
    of = f", seed {seed}" if seed is not None else ""
    return f"bootstrap intervals ({counted(summary.bootstrap['resamples'], 'resample')}{of}){by}"


def as_json(summaries: Sequence[Summary]) -> str:
    """Return one JSON object a run, one a line; full precision."""
    return "".join(json.dumps(summary.to_dict(), allow_nan=False) + "\n" for summary in summaries)


def markdown(summaries: Sequence[Summary]) -> str:
    """Return a Markdown table: a row for each run, and where they are split a table of groups for each run."""
    metrics = metrics_of(summaries)
    heads = [f"{m.symbol} {ARROWS[m.direction]}".rstrip() for m in metrics]
    rows = [
        [markdown_name(summary.run), *(number(metric, summary.metrics[metric.symbol].mean) for metric in metrics)]
        for summary in summaries
    ]
    lines = [*markdown_table(["run", *heads], rows), ""]
    for summary in summaries:
        if summary.split_by:
            groups = [
                [markdown_name(g.name), str(g.episodes), *(number(m, g.means[m.symbol]) for m in metrics)]
                for g in summary.groups
            ]
            title = f"{markdown_name(summary.run)} by {_split(summary)}:"
            lines += [title, "", *markdown_table([summary.split_by, "n", *heads], groups), ""]
    return "\n".join([*lines, *(f"`{note}`" for note in signatures(summaries))]) + "\n"


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Return the lines of a Markdown table whose first `left` columns are words and the others numbers."""
    lines = ["| " + " | ".join(cells) + " |" for cells in (heads, *rows)]
    return [lines[0], "|" + "---|" * left + "---:|" * (len(heads) - left), *lines[1:]]


def latex(summaries: Sequence[Summary]) -> str:
    """Return a booktabs table, a row for each run, the best of each column in bold, signatures as comments."""
    metrics = metrics_of(summaries)
    heads = [f"{m.symbol} {LATEX_ARROWS[m.direction]}".rstrip() for m in metrics]
    tops = best_of(metrics, summaries)
    rows = []
    for summary in summaries:
        shown = {metric.symbol: number(metric, summary.metrics[metric.symbol].mean) for metric in metrics}
        cells = (rf"\textbf{{{mean}}}" if mean == tops[symbol] else mean for symbol, mean in shown.items())
        rows.append([latex_name(summary.run), *cells])
    lines = latex_table(["run", *heads], rows)
    for summary in summaries:
        if summary.split_by:
            groups = [
                [latex_name(g.name), str(g.episodes), *(number(m, g.means[m.symbol]) for m in metrics)]
                for g in summary.groups
            ]
            title = f"% {summary.run} by {_split(summary)}"
            lines += ["", title, *latex_table([summary.split_by, "n", *heads], groups)]
    return "\n".join([*lines, *(f"% {note}" for note in signatures(summaries))]) + "\n"


def latex_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a booktabs table, the first column left, the others right."""
    lines = [" & ".join(cells) + r" \\" for cells in (heads, *rows)]
    begin = r"\begin{tabular}{l" + "r" * (len(heads) - 1) + "}"
    return [begin, r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule", r"\end{tabular}"]


RENDERERS: dict[str, Callable[[Sequence[Summary]], str]] = {
    "text": text,
    "json": as_json,
    "markdown": markdown,
    "latex": latex,
}


def metrics_of(summaries: Sequence[Summary]) -> tuple[Metric, ...]:
    """Return the metrics that the runs were scored by."""
    unit = summaries[0].settings.get("unit", "m")
    found = find_metrics(list(summaries[0].metrics))
    return tuple(replace(metric, unit=unit) if metric.unit == "m" else metric for metric in found)


def best_of(metrics: Sequence[Metric], summaries: Sequence[Summary]) -> dict[str, str | None]:
    """Return the best mean of each metric as printed: what is equal as printed is equal."""
    return {m.symbol: best(m, [summary.metrics[m.symbol].mean for summary in summaries]) for m in metrics}


def signatures(summaries: Sequence[Summary]) -> list[str]:
    """Return the signatures, once where all agree, and a warning where they do not."""
    found = {str(summary.signature) for summary in summaries}
    if len(found) == 1:
        return sorted(found)
    return [*(f"{summary.run}: {summary.signature}" for summary in summaries), *differences(summaries)]


def print_means(page: TextPage, summaries: Sequence[Summary], most: int = NAME_ROOM[1]) -> list[str]:
    """Print means with intervals beside them, or below where there is less room; return the names as printed.

    Where even that is too wide, the runs are spread over several tables. Names get `most` characters at most.
    """
    room = min(max((page.width - 10) // len(summaries) - 3, NAME_ROOM[0]), most)
    names = short_names([summary.run for summary in summaries], room)
    tops = best_of(metrics_of(summaries), summaries)
    columns = list(zip(summaries, names, strict=True))
    for below in (False, True):
        table = _means(columns, tops, below)
        if page.fits(table):
            page.add(table)
            return names
    for count in range(len(columns) - 1, 0, -1):
        parts = [_means(part, tops, below=False) for part in evenly(columns, count)]
        if count == 1 or all(map(page.fits, parts)):
            print_apart(page, parts)
            break
    return names


def evenly(items: Sequence[Item], most: int) -> list[Sequence[Item]]:
    """Cut a sequence into as few pieces of at most `most` as can be, of nearly one size.

    >>> evenly("abcde", 4)
    ['abc', 'de']
    """
    size = -(-len(items) // -(-len(items) // most))
    return [items[first : first + size] for first in range(0, len(items), size)]


def print_apart(page: TextPage, tables: Sequence[TextTable]) -> None:
    """Print tables with an empty line between them."""
    for place, table in enumerate(tables):
        page.add(*([""] if place else []), table)


def _means(columns: Sequence[tuple[Summary, str]], tops: dict[str, str | None], below: bool) -> TextTable:
    table = TextTable(["", *(name for _, name in columns)], left=(0,) if below else range(len(columns) + 1))
    metrics = metrics_of([summary for summary, _ in columns])
    between = "\n" if below else "  "
    cells = []
    for summary, _ in columns:
        means = [number(metric, summary.metrics[metric.symbol].mean) for metric in metrics]
        wide = 0 if below else max(map(len, means))
        cells.append(
            [
                [
                    (mean.rjust(wide), "bold" if mean == tops[metric.symbol] else ""),
                    (f"{between}{interval(metric, summary.metrics[metric.symbol])}", "dim"),
                ]
                for metric, mean in zip(metrics, means, strict=True)
            ]
        )
    table.rows.extend([head(metric), *row] for metric, *row in zip(metrics, *cells, strict=True))
    return table


def _print_groups(page: TextPage, summary: Summary) -> None:
    metrics = metrics_of([summary])
    for count in range(len(metrics), 0, -1):
        tables = [_group_table(summary, part) for part in evenly(metrics, count)]
        if count == 1 or all(map(page.fits, tables)):
            print_apart(page, tables)
            return


def _group_table(summary: Summary, metrics: Sequence[Metric]) -> TextTable:
    heads = [f"{metric.symbol}\n{head(metric).partition(' ')[2]}" for metric in metrics]
    table = TextTable([summary.split_by, "n", *heads], space=2)
    for group in summary.groups:
        means = (number(metric, group.means[metric.symbol]) for metric in metrics)
        table.rows.append([group.name, f"{group.episodes:,}", *means])
    return table


def _split(summary: Summary) -> str:
    return "number of reference nodes" if summary.split_by == "length" else summary.split_by
