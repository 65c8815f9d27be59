"""Results and comparisons as LaTeX tables (booktabs), one row per run, everything else in comments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from wayscore.report import contrasts, notes
from wayscore.report.layout import UNDEFINED, Mean, group_rows, means_of, metrics_of, split

if TYPE_CHECKING:
    from wayscore.evaluation.comparison import Comparison
    from wayscore.evaluation.result import Result
    from wayscore.metrics import Metric

ARROWS = {"up": r" $\uparrow$", "down": r" $\downarrow$", None: ""}
SPECIAL = str.maketrans(
    {char: "\\" + char for char in "_%&#${}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {UNDEFINED: "--", "±": r"$\pm$", "\n": " "}
)


def render(results: Sequence[Result], *, split_by: str | None = None) -> str:
    """Return a table of means, the best of each column in bold; where they are split, one of groups for each run."""
    metrics = metrics_of(results)
    lines = _means(results, metrics)
    for part in split(results, split_by):
        rows = (map(escaped, row) for row in group_rows(part, metrics))
        lines += ["", _comment(f"{part.result.name} by {part.title}")]
        lines += latex_table([part.head, "n", *_heads(metrics)], rows)
    said = [f"{notes.caption(results, intervals=False)}.", *notes.signatures(results)]
    return _with_comments(lines, [*said, *notes.warning_lines(notes.warnings_of(results))])


def render_comparison(comparison: Comparison) -> str:
    """Return a table of means: the best of each column in bold, significance marks, method and signature below."""
    lines = _means(comparison.results, metrics_of(comparison.results), comparison)
    said = [f"{contrasts.scope(comparison)}.", contrasts.method(comparison), *notes.signatures(comparison.results)]
    return _with_comments(lines, [*said, *notes.warning_lines(comparison.warnings)])


def latex_table(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return the lines of a booktabs table, the first column flush left, the others flush right."""
    lines = [" & ".join(cells) + r" \\" for cells in (heads, *rows)]
    begin = r"\begin{tabular}{l" + "r" * (len(heads) - 1) + "}"
    return [begin, r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule", r"\end{tabular}"]


def escaped(text: str) -> str:
    r"""Return text with the characters escaped that mean something to LaTeX.

    >>> print(escaped("a_1 ± 50%"))
    a\_1 $\pm$ 50\%
    """
    return text.translate(SPECIAL)


def _heads(metrics: Sequence[Metric]) -> list[str]:
    return [escaped(metric.symbol) + ARROWS[metric.direction] for metric in metrics]


def _means(results: Sequence[Result], metrics: Sequence[Metric], comparison: Comparison | None = None) -> list[str]:
    rows = []
    for result, means in zip(results, means_of(results, metrics), strict=True):
        tests = {} if comparison is None else comparison.of(result.name)
        marks = (contrasts.mark(tests.get(metric.symbol)) for metric in metrics)
        rows.append([escaped(result.name), *map(_cell, means, marks)])
    return latex_table(["run", *_heads(metrics)], rows)


def _cell(one: Mean, mark: str) -> str:
    mean = escaped(one.mean)
    shown = rf"\textbf{{{mean}}}" if one.best else mean
    return shown + (f"$^{{{mark}}}$" if mark else "") + escaped(one.rest)


def _comment(text: str) -> str:
    return "% " + text.replace("\n", " ")


def _with_comments(lines: Sequence[str], comments: Iterable[str]) -> str:
    return "\n".join([*lines, *map(_comment, comments)]) + "\n"
