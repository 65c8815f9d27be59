"""Results and comparisons as Markdown tables, one row per run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from wayscore.foreign import shown
from wayscore.report import contrasts, notes
from wayscore.report.layout import Mean, group_rows, head, means_of, metrics_of, split

if TYPE_CHECKING:
    from wayscore.evaluation.comparison import Comparison
    from wayscore.evaluation.result import Result
    from wayscore.metrics import Metric


def render(results: Sequence[Result], *, split_by: str | None = None) -> str:
    """Return a table of means with intervals, and where they are split a table of groups for each run."""
    metrics = metrics_of(results)
    lines = [*_means(results, metrics), "", f"{escaped(notes.caption(results))}.", ""]
    for part in split(results, split_by):
        rows = _all_escaped(group_rows(part, metrics))
        lines += [f"{escaped(part.result.name)} by {part.title}:", ""]
        lines += [*markdown_table([part.head, "n", *_heads(metrics)], rows), ""]
    return _with_notes(lines, results, notes.warnings_of(results))


def render_comparison(comparison: Comparison) -> str:
    """Return tables of means with marks, of the tests of each run, and of where they differ most."""
    metrics = metrics_of(comparison.results)
    lines = [f"{escaped(contrasts.scope(comparison))}.", "", *_means(comparison.results, metrics, comparison), ""]
    lines += [f"{escaped(notes.caption(comparison.results))}.", ""]
    for run in comparison.others:
        tests = contrasts.tests_of(comparison, run)
        heads = [name.replace("\n", " ") for name in tests.heads]
        lines += [f"{escaped(run)} minus {escaped(comparison.baseline)}:", ""]
        lines += [*markdown_table(heads, _all_escaped(tests.rows)), ""]
        for found in contrasts.differing(comparison, run):
            (cells,) = _all_escaped([found.heads])
            lines += [f"{escaped(found.title)}:", "", *markdown_table(cells, _all_escaped(found.rows), left=2), ""]
    lines += [escaped(f"{contrasts.method(comparison)} {contrasts.explained(comparison)}"), ""]
    return _with_notes(lines, comparison.results, notes.warnings_of(comparison.results, comparison.warnings))


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> list[str]:
    r"""Return the lines of a Markdown table whose first `left` columns are words and the others numbers.

    >>> print(*markdown_table(["run", "SR"], [["agent", "21.4"]]), sep="\n")
    | run | SR |
    |---|---:|
    | agent | 21.4 |
    """
    lines = ["| " + " | ".join(cells) + " |" for cells in (heads, *rows)]
    return [lines[0], "|" + "---|" * left + "---:|" * (len(heads) - left), *lines[1:]]


def escaped(text: str) -> str:
    """Return text that means nothing to Markdown."""
    return shown(text, "markdown")


def _all_escaped(rows: Iterable[Sequence[str]]) -> list[list[str]]:
    return [[escaped(cell) for cell in row] for row in rows]


def _heads(metrics: Sequence[Metric]) -> list[str]:
    return [escaped(head(metric)) for metric in metrics]


def _means(results: Sequence[Result], metrics: Sequence[Metric], comparison: Comparison | None = None) -> list[str]:
    rows = []
    for result, means in zip(results, means_of(results, metrics), strict=True):
        tests = {} if comparison is None else comparison.of(result.name)
        marks = (contrasts.mark(tests.get(metric.symbol)) for metric in metrics)
        rows.append([escaped(result.name), *map(_mean, means, marks)])
    return markdown_table(["run", *_heads(metrics)], rows)


def _mean(one: Mean, mark: str) -> str:
    mean = f"**{one.mean}**" if one.best else one.mean
    return f"{mean}{escaped(mark)}{one.rest} {one.interval}".rstrip()


def _with_notes(lines: Sequence[str], results: Sequence[Result], warnings: Iterable[str]) -> str:
    """Add every signature as a paragraph and every warning as a quotation of its own."""
    signed = [f"`{shown(signature).replace('`', chr(39))}`" for signature in notes.signatures(results)]
    said = [*signed, *(f"> {escaped(line)}" for line in notes.warning_lines(warnings))]
    return "\n".join([*lines, "\n\n".join(said)]) + "\n"
