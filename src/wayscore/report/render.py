"""Summaries as a terminal table, JSON, Markdown or LaTeX; bounded scores in percent, as papers print them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from wayscore.errors import OptionError, did_you_mean
from wayscore.metrics import METRICS, Metric, find_metrics

if TYPE_CHECKING:
    from wayscore.report.summary import Summary
    from wayscore.statistics import Interval

ARROWS = {"up": "↑", "down": "↓", None: ""}
LATEX_ARROWS = {"up": r"$\uparrow$", "down": r"$\downarrow$", None: ""}


def render(summaries: Sequence[Summary], form: str, *, width: int | None = None) -> str:
    """Return summaries of several runs in one of the forms of `RENDERERS`."""
    if form not in RENDERERS:
        raise OptionError(f"there is no format {form!r}{did_you_mean(form, RENDERERS)} Known: {', '.join(RENDERERS)}")
    if form == "text":
        return text(summaries, width=width)
    return RENDERERS[form](summaries)


def text(summaries: Sequence[Summary], *, width: int | None = None) -> str:
    """Return a table for a terminal: a row for each metric, a column for each run, and the signatures below."""
    from io import StringIO

    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE, pad_edge=False)
    table.add_column("")
    for summary in summaries:
        table.add_column(summary.run, justify="right")
    for metric in _metrics(summaries):
        cells = [_cell(metric, summary.metrics[metric.symbol]) for summary in summaries]
        table.add_row(f"{metric.symbol} {_unit(metric)} {ARROWS[metric.direction]}".rstrip(), *cells)
    console = Console(file=StringIO(), width=width or 100, highlight=False)
    console.print(table)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue() + "\n".join(_notes(summaries)) + "\n"


def as_json(summaries: Sequence[Summary]) -> str:
    """Return one JSON object a run, one a line; full precision."""
    return "".join(json.dumps(summary.to_dict(), allow_nan=False) + "\n" for summary in summaries)


def markdown(summaries: Sequence[Summary]) -> str:
    """Return a Markdown table: a row for each run."""
    metrics = _metrics(summaries)
    lines = [
        "| run | " + " | ".join(f"{m.symbol} {ARROWS[m.direction]}".rstrip() for m in metrics) + " |",
        "|---|" + "---:|" * len(metrics),
    ]
    for summary in summaries:
        means = (_number(metric, summary.metrics[metric.symbol].mean) for metric in metrics)
        lines.append(f"| {summary.run} | " + " | ".join(means) + " |")
    return "\n".join([*lines, "", *(f"`{note}`" for note in _notes(summaries))]) + "\n"


def latex(summaries: Sequence[Summary]) -> str:
    """Return a booktabs table, a row for each run, the best of each column in bold, signatures as comments."""
    metrics = _metrics(summaries)
    heads = " & ".join(f"{m.symbol} {LATEX_ARROWS[m.direction]}".rstrip() for m in metrics)
    lines = [r"\begin{tabular}{l" + "r" * len(metrics) + "}", r"\toprule", rf"run & {heads} \\", r"\midrule"]
    best = {metric.symbol: _best(metric, summaries) for metric in metrics}
    for summary in summaries:
        cells = []
        for metric in metrics:
            number = _number(metric, summary.metrics[metric.symbol].mean)
            cells.append(rf"\textbf{{{number}}}" if len(summaries) > 1 and number == best[metric.symbol] else number)
        name = (
            summary.run.replace("\\", r"\textbackslash{}").replace("_", r"\_").replace("%", r"\%").replace("&", r"\&")
        )
        lines.append(f"{name} & {' & '.join(cells)} " + r"\\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", *(f"% {note}" for note in _notes(summaries))]) + "\n"


RENDERERS: dict[str, Callable[[Sequence[Summary]], str]] = {
    "text": text,
    "json": as_json,
    "markdown": markdown,
    "latex": latex,
}


def _metrics(summaries: Sequence[Summary]) -> tuple[Metric, ...]:
    return find_metrics(list(summaries[0].metrics), METRICS)


def _unit(metric: Metric) -> str:
    return metric.unit or "%"


def _number(metric: Metric, value: float) -> str:
    return f"{value:.2f}" if metric.unit else f"{100 * value:.1f}"


def _cell(metric: Metric, found: Interval) -> str:
    return f"{_number(metric, found.mean)}  [{_number(metric, found.low)}, {_number(metric, found.high)}]"


def _best(metric: Metric, summaries: Iterable[Summary]) -> str | None:
    if metric.direction is None:
        return None
    choose = max if metric.direction == "up" else min
    return _number(metric, choose(summary.metrics[metric.symbol].mean for summary in summaries))


def _notes(summaries: Sequence[Summary]) -> list[str]:
    """Signatures, once where all agree, and a warning where they do not."""
    signatures = {str(summary.signature) for summary in summaries}
    if len(signatures) == 1:
        return sorted(signatures)
    notes = [f"{summary.run}: {summary.signature}" for summary in summaries]
    first = summaries[0]
    for summary in summaries[1:]:
        for key, (here, there) in first.signature.differences(summary.signature).items():
            notes.append(
                f"warning: {first.run} and {summary.run} differ in {key} ({here or 'none'}, {there or 'none'})"
            )
    return notes
