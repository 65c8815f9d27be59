"""Results and comparisons as tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from wayscore.report import contrasts, notes
from wayscore.report.layout import Mean, Split, group_rows, head, legend, means_of, metrics_of, short_names, split
from wayscore.report.terminal import DEFAULT_WIDTH, Cell, TextPage, TextTable

if TYPE_CHECKING:
    from wayscore.evaluation.comparison import Comparison
    from wayscore.evaluation.result import Result
    from wayscore.metrics import Metric

Item = TypeVar("Item")
NAME_ROOM = 20, 40
"""Names of runs get so many characters, more where there is room; shortened ones are written out below the table."""


def render(
    results: Sequence[Result], *, split_by: str | None = None, width: int | None = None, color: bool = False
) -> str:
    """Return a table with one row per metric and one column per run, signatures and warnings below."""
    page = TextPage(width or DEFAULT_WIDTH, color)
    _add_caption(page, results)
    names = _add_means(page, results)
    for part in split(results, split_by):
        whose = f" of {part.result.name}" if len(results) > 1 else ""
        page.add(f"\nMeans{whose} by {part.title}\n")
        _add_groups(page, part)
    below = [*legend(names, [result.name for result in results]), *notes.signatures(results)]
    return f"{page}\n" + "\n".join([*below, *notes.warning_lines(notes.warnings_of(results))]) + "\n"


def render_comparison(comparison: Comparison, *, width: int | None = None, color: bool = False) -> str:
    """Return tables of the means, of the tests of each run against the baseline, and of where they differ most."""
    page = TextPage(width or DEFAULT_WIDTH, color)
    page.add(contrasts.scope(comparison))
    _add_caption(page, comparison.results)
    names = _add_means(page, comparison.results, most=NAME_ROOM[0])  # two of them stand in one table below
    full = [result.name for result in comparison.results]
    short = dict(zip(full, names, strict=True))
    base = short[comparison.baseline]
    for run in comparison.others:
        page.add(f"\n{short[run]} minus {base}\n", style="bold")
        wide, narrow = (_tests(comparison, run, space) for space in (3, 2))
        page.add(wide if page.fits(wide) else narrow)
        for found in contrasts.differing(comparison, run, base, short[run]):
            page.add(f"\n{found.title}\n", TextTable(found.heads, left=(0, 1), rows=[*found.rows]))
    page.add(f"\n{contrasts.method(comparison)}", contrasts.EXPLAINED, style="dim")
    below = [*legend(names, full), *notes.signatures(comparison.results)]
    return f"{page}\n" + "\n".join([*below, *notes.warning_lines(comparison.warnings)]) + "\n"


def _add_caption(page: TextPage, results: Sequence[Result]) -> None:
    words = notes.caption(results)
    first, comma, last = words.partition(", resampled by")
    if comma and len(words) > page.width > len(first):  # broken where it reads best
        words = f"{first},\n{comma[2:]}{last}"
    page.add(f"{words}\n")


def _add_means(page: TextPage, results: Sequence[Result], most: int = NAME_ROOM[1]) -> list[str]:
    """Add means with intervals beside them, or below where there is less room; return the names as printed.

    Where even that is too wide, the runs are spread over several tables. Names get `most` characters at most.
    """
    room = min(max((page.width - 10) // len(results) - 3, NAME_ROOM[0]), most)
    names = short_names([result.name for result in results], room)
    metrics = metrics_of(results)
    columns = list(zip(names, means_of(results, metrics), strict=True))
    for below in (False, True):
        table = _means(columns, metrics, below)
        if page.fits(table):
            page.add(table)
            return names
    for count in range(max(len(columns) - 1, 1), 0, -1):
        tables = [_means(part, metrics, below=False) for part in evenly(columns, count)]
        if all(map(page.fits, tables)):
            break
    else:
        tables = [_means([one], metrics, below=True) for one in columns]
    _add_apart(page, tables)
    return names


def _means(columns: Sequence[tuple[str, Sequence[Mean]]], metrics: Sequence[Metric], below: bool) -> TextTable:
    table = TextTable(["", *(name for name, _ in columns)], left=(0,) if below else range(len(columns) + 1))
    cells = [[_mean(one, means, below) for one in means] for _, means in columns]
    table.rows.extend([head(metric), *row] for metric, *row in zip(metrics, *cells, strict=True))
    return table


def _mean(one: Mean, column: Sequence[Mean], below: bool) -> Cell:
    """Return a mean and its interval, below each other or each as wide as the widest of its column."""
    style = "bold" if one.best else ""
    if below:
        return [(one.mean, style), (one.rest, ""), (f"\n{one.interval}", "dim")]
    mean, rest = (max(map(len, texts)) for texts in zip(*((m.mean, m.rest) for m in column), strict=True))
    return [(one.mean.rjust(mean), style), (one.rest.ljust(rest), ""), (f"  {one.interval}", "dim")]


def _add_groups(page: TextPage, part: Split) -> None:
    metrics = metrics_of([part.result])
    for count in range(len(metrics), 0, -1):
        tables = [_groups(part, some) for some in evenly(metrics, count)]
        if count == 1 or all(map(page.fits, tables)):
            _add_apart(page, tables)
            return


def _groups(part: Split, metrics: Sequence[Metric]) -> TextTable:
    heads = [f"{metric.symbol}\n{head(metric).partition(' ')[2]}" for metric in metrics]
    return TextTable([part.head, "n", *heads], space=2, rows=[*group_rows(part, metrics)])


def _tests(comparison: Comparison, run: str, space: int) -> TextTable:
    table = TextTable(contrasts.HEADS, left=(0, 4), space=space)
    for metric, contrast in contrasts.contrasts_of(comparison, run):
        name, mean, bounds, *others = contrasts.contrast_cells(metric, contrast)
        sure = "bold" if contrasts.mark(contrast) else ""
        table.rows.append([name, [(mean, sure)], [(bounds, "dim")], *others])
    return table


def evenly(items: Sequence[Item], most: int) -> list[Sequence[Item]]:
    """Cut a sequence into as few parts of at most `most` as possible, of nearly one size.

    >>> evenly("abcde", 4)
    ['abc', 'de']
    """
    size = -(-len(items) // -(-len(items) // most))
    return [items[first : first + size] for first in range(0, len(items), size)]


def _add_apart(page: TextPage, tables: Sequence[TextTable]) -> None:
    """Add tables with an empty line between them."""
    for number, table in enumerate(tables):
        page.add(*([""] if number else []), table)
