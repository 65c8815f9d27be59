"""Results and comparisons as tables for a terminal: one row per run, broken into blocks of metrics where they must."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from wayscore.foreign import shown
from wayscore.report import notes
from wayscore.report.layout import (
    HEADLINE,
    Mean,
    Split,
    group_rows,
    head,
    legend,
    means_of,
    metrics_of,
    short_names,
    split,
)
from wayscore.report.terminal import DEFAULT_WIDTH, Cell, TextPage, TextTable

if TYPE_CHECKING:
    from wayscore.evaluation.comparison import Comparison
    from wayscore.evaluation.result import Result
    from wayscore.metrics import Metric
    from wayscore.report.contrasts import Tests

NAME_ROOM = 24
"""Names of runs get so many characters, fewer in a narrow terminal; what shortened ones mean is printed below."""


def render(
    results: Sequence[Result], *, split_by: str | None = None, width: int | None = None, color: bool = False
) -> str:
    """Return a table with one row per run and one column per metric, signatures and warnings below."""
    page = TextPage(width or DEFAULT_WIDTH, color)
    names = _add_means(page, results)
    for part, name in zip(split(results, split_by), names, strict=False):
        metrics = metrics_of([part.result])
        page.add(f"\nMeans{f' of {name}' if len(results) > 1 else ''} by {part.title}\n")
        page.add_apart(page.blocks(metrics, partial(_groups, part)))
    page.add(f"\n{notes.caption(results)}.")
    return _with_notes(page, names, results, notes.warnings_of(results))


def render_comparison(comparison: Comparison, *, width: int | None = None, color: bool = False) -> str:
    """Return tables of the means, of the tests of each run against the baseline, and of where they differ most."""
    from wayscore.report import contrasts

    page = TextPage(width or DEFAULT_WIDTH, color)
    page.add(f"{contrasts.scope(comparison)}\n")
    names = _add_means(page, comparison.results)
    short = {result.name: name for result, name in zip(comparison.results, names, strict=True)}
    base = short[comparison.baseline]
    for run in comparison.others:
        page.add(f"\n{short[run]} minus {base}\n", style="bold")
        _add_tests(page, contrasts.tests_of(comparison, run))
        for found in contrasts.differing(comparison, run, base, short[run]):
            page.add(f"\n{found.title}\n", TextTable(found.heads, left=(0, 1), rows=[*found.rows]))
    said = (f"{notes.caption(comparison.results)}.", contrasts.method(comparison), contrasts.explained(comparison))
    page.add("", *said, style="dim")
    return _with_notes(page, names, comparison.results, notes.warnings_of(comparison.results, comparison.warnings))


def _add_means(page: TextPage, results: Sequence[Result]) -> list[str]:
    """Add means with intervals beside or below them; return the names as printed.

    The better of the two has all headline metrics in its first block, and then fewer lines.
    """
    names = short_names([result.name for result in results], min(NAME_ROOM, page.width // 3))
    metrics = metrics_of(results)
    columns = list(zip(metrics, zip(*means_of(results, metrics), strict=True), strict=True))
    headline = sum(metric.symbol in HEADLINE for metric in metrics)

    def worse(tables: Sequence[TextTable]) -> tuple[bool, int]:
        return len(tables[0].heads) - 1 < headline, sum(table.height() + 1 for table in tables)

    blocks = min((page.blocks(columns, partial(_means, names, below)) for below in (False, True)), key=worse)
    page.add_apart(blocks)
    return names


def _means(names: Sequence[str], below: bool, columns: Sequence[tuple[Metric, Sequence[Mean]]]) -> TextTable:
    cells = [_below(means) if below else _beside(means) for _, means in columns]
    left = (0,) if below else range(len(columns) + 1)
    heads = ["run", *(head(metric) for metric, _ in columns)]
    return TextTable(heads, left=left, space=2, rows=[*zip(names, *cells, strict=True)])


def _below(means: Sequence[Mean]) -> list[Cell]:
    """Return the cells of a column: means above their intervals."""
    return [[(one.mean, "bold" * one.best), (one.rest, ""), (f"\n{one.interval}", "dim")] for one in means]


def _beside(means: Sequence[Mean]) -> list[Cell]:
    """Return the cells of a column: means, what follows them, and intervals, each part as wide as the widest."""
    mean, rest = max(len(one.mean) for one in means), max(len(one.rest) for one in means)
    return [
        [(one.mean.rjust(mean), "bold" * one.best), (one.rest.ljust(rest), ""), (f" {one.interval}", "dim")]
        for one in means
    ]


def _groups(part: Split, metrics: Sequence[Metric]) -> TextTable:
    heads = [f"{metric.symbol}\n{head(metric).partition(' ')[2]}" for metric in metrics]
    return TextTable([part.head, "n", *heads], space=2, rows=[*group_rows(part, metrics)])


def _add_tests(page: TextPage, tests: Tests) -> None:
    """Add a table of tests, closer together where there is less room, and at last in several blocks of columns."""
    rows = [
        [name, [(mean, "bold" if bold else "")], [(bounds, "dim")], f"{p} {mark}", *others]
        for (name, mean, bounds, p, mark, *others), bold in zip(tests.rows, tests.bold, strict=True)
    ]
    names, *columns = zip([*tests.heads[:4], *tests.heads[5:]], *rows, strict=True)
    p_column = columns[2]

    def table(some: Sequence[Sequence[Cell]], space: int = 1) -> TextTable:
        left = [0, *(place for place, column in enumerate(some, start=1) if column is p_column)]
        heads, *cells = zip(names, *some, strict=True)
        return TextTable([str(one) for one in heads], left=left, space=space, rows=[*cells])

    fitting = (one for one in (table(columns, space) for space in (3, 2, 1)) if page.fits(one))
    found = next(fitting, None)
    page.add_apart(page.blocks(columns, table) if found is None else [found])


def _with_notes(page: TextPage, names: Sequence[str], results: Sequence[Result], warnings: Sequence[str]) -> str:
    """Return the page, and what must not be broken into lines: what short names mean, signatures and warnings."""
    said = [*legend(names, [result.name for result in results]), *notes.signatures(results)]
    return f"{page}\n" + "\n".join(map(shown, [*said, *notes.warning_lines(warnings)])) + "\n"
