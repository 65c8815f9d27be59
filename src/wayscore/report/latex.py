"""Results and comparisons as LaTeX tables (booktabs), one row per run, everything else in comments."""

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

NEEDED = r"needs \usepackage{booktabs}"


def render(results: Sequence[Result], *, split_by: str | None = None) -> str:
    """Return a table of means above their intervals, the best in bold; where they are split, one of groups per run."""
    metrics = metrics_of(results)
    lines = _means(results, metrics)
    for part in split(results, split_by):
        rows = (map(escaped, row) for row in group_rows(part, metrics))
        lines += ["", _comment(f"{part.result.name} by {part.title}")]
        lines += latex_table([part.head, "n", *_heads(metrics)], rows)
    said = [f"{notes.caption(results)}.", *notes.signatures(results)]
    return _with_comments(lines, [*said, *notes.warning_lines(notes.warnings_of(results))])


def render_comparison(comparison: Comparison) -> str:
    """Return a table of means: the best of each column in bold, significance marks, method and signature below."""
    lines = _means(comparison.results, metrics_of(comparison.results), comparison)
    said = [
        f"{contrasts.scope(comparison)}.",
        f"{notes.caption(comparison.results)}.",
        f"{contrasts.method(comparison)} Tests are over the episodes in which both runs have a value.",
        *notes.signatures(comparison.results),
        *notes.warning_lines(notes.warnings_of(comparison.results, comparison.warnings)),
    ]
    return _with_comments(lines, said)


def latex_table(heads: Sequence[str], rows: Iterable[Iterable[str]], align: str = "r") -> list[str]:
    """Return the lines of a booktabs table, the first column flush left, the others flush right or as `align` says."""
    lines = [" & ".join(cells) + r" \\" for cells in (heads, *rows)]
    begin = r"\begin{tabular}{l" + align * (len(heads) - 1) + "}"
    return [begin, r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule", r"\end{tabular}"]


def escaped(text: str) -> str:
    r"""Return text with the characters escaped that mean something to LaTeX.

    >>> print(escaped("a_1 ± 50%"))
    a\_1 $\pm$ 50\%
    """
    return shown(text, "latex")


def _heads(metrics: Sequence[Metric]) -> list[str]:
    return [escaped(head(metric)) for metric in metrics]


def _means(results: Sequence[Result], metrics: Sequence[Metric], comparison: Comparison | None = None) -> list[str]:
    """Return a table with two lines per run: means, and in small type their intervals."""
    rows: list[list[str]] = []
    for result, means in zip(results, means_of(results, metrics), strict=True):
        tests = {} if comparison is None else comparison.of(result.name)
        marks = (contrasts.mark(tests.get(metric.symbol)) for metric in metrics)
        rows.append([escaped(result.name), *map(_mean, means, marks)])
        rows.append(["", *(rf"\scriptsize {one.interval}" if one.interval else "" for one in means)])
    return latex_table(["run", *_heads(metrics)], rows, align="c")


def _mean(one: Mean, mark: str) -> str:
    mean = escaped(one.mean)
    shown = rf"\textbf{{{mean}}}" if one.best else mean
    return shown + (f"$^{{{mark}}}$" if mark else "") + escaped(one.rest)


def _comment(text: str) -> str:
    return "% " + shown(text.replace("\n", " "))


def _with_comments(lines: Sequence[str], comments: Iterable[str]) -> str:
    return "\n".join([*lines, *map(_comment, (NEEDED, *comments))]) + "\n"
