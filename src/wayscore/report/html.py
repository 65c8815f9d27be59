"""Results and comparisons as small tables for notebooks: no scripts, no style sheets, any background."""

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

LINE = "border-bottom:1px solid rgba(128,128,128,.45)"
CELL = "padding:.15em .7em;white-space:nowrap;vertical-align:top;background:none"
NOTE = "margin:.3em 0;font-size:90%"
"""Text keeps the notebook's colour, and lines are grey, so that both can be read on white and on black."""


def render(results: Sequence[Result], *, split_by: str | None = None) -> str:
    """Return a table with one row per run and one column per metric, signatures and warnings below."""
    metrics = metrics_of(results)
    parts = [_means(results, metrics)]
    for part in split(results, split_by):
        rows = [[escaped(cell) for cell in row] for row in group_rows(part, metrics)]
        parts.append(html_table([part.head, "n", *map(head, metrics)], rows, f"{part.result.name} by {part.title}"))
    return _fragment(parts, results, notes.warnings_of(results))


def render_comparison(comparison: Comparison) -> str:
    """Return a table of the means, and for each run a table of its differences from the baseline."""
    means = _means(comparison.results, metrics_of(comparison.results))
    parts = [_note(escaped(f"{contrasts.scope(comparison)}.")), means]
    for run in comparison.others:
        tests, rows = contrasts.tests_of(comparison, run), []
        for cells, bold in zip(tests.rows, tests.bold, strict=True):
            name, mean, *others = map(escaped, cells)
            rows.append([name, f"<b>{mean}</b>" if bold else mean, *others])
        heads = [name.replace("\n", " ") for name in tests.heads]
        parts.append(html_table(heads, rows, f"{run} minus {comparison.baseline}"))
    parts.append(_note(escaped(f"{contrasts.method(comparison)} {contrasts.explained(comparison)}")))
    return _fragment(parts, comparison.results, notes.warnings_of(comparison.results, comparison.warnings))


def html_table(heads: Sequence[str], rows: Iterable[Sequence[str]], caption: str, side: str = "top") -> str:
    """Return a table with a caption above or below; heads and caption are text, the cells of rows HTML already."""
    top = "".join(_cell("th", escaped(name), number) for number, name in enumerate(heads))
    lines = [f'<tr style="{LINE}">{top}</tr>']
    for name, *cells in rows:
        first = _cell("th", name, 0)
        lines.append(f"<tr>{first}{''.join(_cell('td', cell, 1) for cell in cells)}</tr>")
    said = f'<caption style="caption-side:{side};text-align:left;color:inherit">{escaped(caption)}</caption>'
    return f'<table style="border-collapse:collapse;color:inherit;margin:.5em 0">{said}{"".join(lines)}</table>'


def _cell(tag: str, content: str, column: int) -> str:
    weight = ";font-weight:normal" if tag == "th" and column == 0 else ""
    return f'<{tag} style="text-align:{"right" if column else "left"}{weight};{CELL}">{content}</{tag}>'


def _means(results: Sequence[Result], metrics: Sequence[Metric]) -> str:
    found = zip(results, means_of(results, metrics), strict=True)
    rows = [[escaped(result.name), *map(_mean, means)] for result, means in found]
    return html_table(["run", *map(head, metrics)], rows, f"{notes.caption(results)}.", side="bottom")


def _mean(one: Mean) -> str:
    mean = f"<b>{one.mean}</b>" if one.best else one.mean
    bounds = f'<br><span style="font-size:85%">{one.interval}</span>' if one.interval else ""
    return f"{mean}{one.rest}{bounds}"


def _note(content: str) -> str:
    return f'<p style="{NOTE}">{content}</p>'


def _fragment(parts: Iterable[str], results: Sequence[Result], warnings: Iterable[str]) -> str:
    signed = (f'<code style="overflow-wrap:anywhere">{escaped(text)}</code>' for text in notes.signatures(results))
    said = (f"<b>warning:</b> {escaped(warning)}" for warning in dict.fromkeys(warnings))
    return '<div style="overflow-x:auto">' + "\n".join([*parts, *map(_note, signed), *map(_note, said)]) + "</div>\n"


def escaped(text: str) -> str:
    """Return text that means nothing to a browser."""
    return shown(text, "html")
