"""Comparisons as terminal tables, JSON, Markdown or LaTeX."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from wayscore.metrics import Metric, find_metrics
from wayscore.report.layout import (
    ARROWS,
    LATEX_ARROWS,
    counted,
    head,
    interval,
    latex_name,
    legend,
    markdown_name,
    number,
)
from wayscore.report.render import (
    NAME_ROOM,
    best_of,
    check_form,
    latex_table,
    markdown_table,
    metrics_of,
    print_means,
    signatures,
)
from wayscore.report.terminal import DEFAULT_WIDTH, Cell, TextPage, TextTable

if TYPE_CHECKING:
    from wayscore.evaluation.comparison import Comparison, Contrast, Example

MARKS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
"""Significance marks: for corrected p-values below these."""


def render_comparison(comparison: Comparison, form: str, *, width: int | None = None, color: bool = False) -> str:
    """Return a comparison in one of the forms of `RENDERERS`; width and colour concern text only."""
    check_form(form)
    if form == "text":
        return text(comparison, width=width, color=color)
    forms: dict[str, Callable[[Comparison], str]] = {"json": as_json, "markdown": markdown, "latex": latex}
    return forms[form](comparison)


def as_json(comparison: Comparison) -> str:
    """Return one JSON object, full precision, null for what is infinite or has no meaning."""
    return json.dumps(comparison.to_dict(), allow_nan=False) + "\n"


def text(comparison: Comparison, *, width: int | None = None, color: bool = False) -> str:
    """Return tables for a terminal: means, the tests of each run against the baseline, where they differ most."""
    page = TextPage(width or DEFAULT_WIDTH, color)
    page.add(_scope(comparison))
    page.add(f"Means with 95 % bootstrap intervals{_clustered(comparison)}\n")
    summaries = comparison.summaries
    names = print_means(page, summaries, most=NAME_ROOM[0])  # two of them stand in one table below
    full = [summary.run for summary in summaries]
    short = dict(zip(full, names, strict=True))
    base = short[comparison.baseline]
    for run in comparison.others:
        page.add(f"\n{short[run]} minus {base}\n", style="bold")
        wide, narrow = (_tests_table(comparison, run, space) for space in (3, 2))
        page.add(wide if page.fits(wide) else narrow)
        _print_examples(page, comparison, run, short)
    notes = [
        f"\n{_method(comparison)}",
        "d_z: mean difference in standard deviations of the differences. P(better): chance to do better in an episode.",
    ]
    page.add(*notes, style="dim")
    return f"{page}\n" + "\n".join([*legend(names, full), *_notes(comparison)]) + "\n"


def markdown(comparison: Comparison) -> str:
    """Return Markdown tables: means with marks, the tests of each run, where they differ most."""
    metrics = metrics_of(comparison.summaries)
    heads = [f"{m.symbol} {ARROWS[m.direction]}".rstrip() for m in metrics]
    rows = []
    tops = best_of(metrics, comparison.summaries)
    for summary in comparison.summaries:
        tests = comparison.of(summary.run)
        cells = []
        for metric in metrics:
            mean = number(metric, summary.metrics[metric.symbol].mean)
            shown = f"**{mean}**" if mean == tops[metric.symbol] else mean
            cells.append(shown + _escaped(_mark(tests.get(metric.symbol))))
        rows.append([markdown_name(summary.run), *cells])
    lines = [f"{_scope(comparison)}.", "", *markdown_table(["run", *heads], rows), ""]
    for run in comparison.others:
        tests = comparison.of(run)
        lines += [
            f"{markdown_name(run)} minus {markdown_name(comparison.baseline)}:",
            "",
            *markdown_table(
                [name.replace("\n", " ") for name in _TEST_HEADS],
                [[_escaped(cell) for cell in _test_cells(m, tests[m.symbol])] for m in metrics],
            ),
            "",
        ]
        lines += _markdown_examples(comparison, run)
    lines += [_escaped(_method(comparison)), ""]
    return "\n".join([*lines, *(f"`{note}`" for note in _notes(comparison))]) + "\n"


def latex(comparison: Comparison) -> str:
    """Return a booktabs table: the best of each column in bold, significance marks, method and signature below."""
    metrics = metrics_of(comparison.summaries)
    tops = best_of(metrics, comparison.summaries)
    rows = []
    for summary in comparison.summaries:
        tests = comparison.of(summary.run)
        cells = []
        for metric in metrics:
            mean = number(metric, summary.metrics[metric.symbol].mean)
            mark = _mark(tests.get(metric.symbol))
            shown = rf"\textbf{{{mean}}}" if mean == tops[metric.symbol] else mean
            cells.append(shown + (f"$^{{{mark}}}$" if mark else ""))
        rows.append([latex_name(summary.run), *cells])
    heads = ["run", *(f"{m.symbol} {LATEX_ARROWS[m.direction]}".rstrip() for m in metrics)]
    comments = [f"{_scope(comparison)}.", _method(comparison), *_notes(comparison)]
    return "\n".join([*latex_table(heads, rows), *(f"% {line}" for line in comments)]) + "\n"


def _scope(comparison: Comparison) -> str:
    left = f", {comparison.left_out:,} left out" if comparison.left_out else ", none left out"
    return f"{len(comparison.summaries)} runs on {counted(comparison.episodes)} of {comparison.references}{left}"


def _clustered(comparison: Comparison) -> str:
    return "" if comparison.cluster == "none" else f", resampled by {comparison.cluster}"


def _method(comparison: Comparison) -> str:
    marks = ", ".join(f"{mark} p < {level:g}" for level, mark in reversed(MARKS))
    return (
        f"{marks} against {comparison.baseline}: paired randomization test{_clustered(comparison)}, "
        f"Holm correction over {counted(len(comparison.contrasts), 'test')}; "
        f"{comparison.resamples:,} resamples, seed {comparison.seed}."
    )


def _notes(comparison: Comparison) -> list[str]:
    known = signatures(comparison.summaries)
    return [*known, *(warning for warning in comparison.warnings if warning not in known)]


def _mark(contrast: Contrast | None) -> str:
    if contrast is None:
        return ""
    return next((mark for level, mark in MARKS if contrast.p_holm < level), "")


_TEST_HEADS = ("", "mean", "95 % interval", "p\n(Holm)", "", "win/tie/loss", "d_z", "P\n(better)")


def _test_cells(metric: Metric, contrast: Contrast) -> list[str]:
    found = contrast.difference
    return [
        head(metric),
        number(metric, found.mean, signed=True),
        interval(metric, found, signed=True),
        _p(contrast.p_holm),
        _mark(contrast),
        "/".join(map(str, contrast.outcomes)) if contrast.outcomes else "-",
        f"{contrast.effect_size:+z.2f}",
        "-" if contrast.superiority is None else f"{contrast.superiority:.3f}",
    ]


def _p(value: float) -> str:
    """Return a p-value with four decimals, or as a power of ten where these would be 0."""
    return f"{value:.4f}" if value >= 0.0001 else f"{value:.0e}"


def _tests_table(comparison: Comparison, run: str, space: int) -> TextTable:
    table = TextTable(_TEST_HEADS, left=(0, 4), space=space)
    for symbol, contrast in comparison.of(run).items():
        name, mean, bounds, *others = _test_cells(find_metrics([symbol])[0], contrast)
        cells: list[Cell] = [name, [(mean, "bold" if _mark(contrast) else "")], [(bounds, "dim")], *others]
        table.rows.append(cells)
    return table


def _escaped(text: str) -> str:
    """Return text whose stars are stars in Markdown."""
    return text.replace("*", "\\*")


def _sides(comparison: Comparison, run: str) -> list[tuple[str, tuple[Example, ...]]]:
    directed = find_metrics([comparison.metric])[0].direction
    names = ("gains most", "loses most") if directed else ("is most above", "is most below")
    return list(zip(names, (comparison.better[run], comparison.worse[run]), strict=True))


def _example_cells(metric: Metric, example: Example) -> list[str]:
    values = (number(metric, example.baseline), number(metric, example.run))
    return [example.episode, example.scene, *values, number(metric, example.run - example.baseline, signed=True)]


def _print_examples(page: TextPage, comparison: Comparison, run: str, short: dict[str, str]) -> None:
    metric = find_metrics([comparison.metric])[0]
    for side, examples in _sides(comparison, run):
        if not examples:
            continue
        heads = ("episode", "scan", short[comparison.baseline], short[run], "difference")
        table = TextTable(heads, left=(0, 1), rows=[_example_cells(metric, example) for example in examples])
        page.add(f"\nWhere {short[run]} {side}, {head(metric)}\n", table)


def _markdown_examples(comparison: Comparison, run: str) -> list[str]:
    metric = find_metrics([comparison.metric])[0]
    heads = ["episode", "scan", markdown_name(comparison.baseline), markdown_name(run), "difference"]
    lines = []
    for side, examples in _sides(comparison, run):
        if examples:
            rows = [[markdown_name(cell) for cell in _example_cells(metric, example)] for example in examples]
            lines += [
                f"Where {markdown_name(run)} {side}, {head(metric)}:",
                "",
                *markdown_table(heads, rows, left=2),
                "",
            ]
    return lines
