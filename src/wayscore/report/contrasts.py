"""The words and cells of a comparison that its tables share: tests against the baseline, and where runs differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from wayscore.foreign import shown
from wayscore.report.layout import UNDEFINED, counted, head, interval, metrics_of, number
from wayscore.report.notes import clusters

if TYPE_CHECKING:
    from wayscore.evaluation.comparison import Comparison, Example
    from wayscore.evaluation.contrasts import Contrast
    from wayscore.metrics import Metric

MARKS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
"""Significance marks: for corrected p-values below these."""
HEADS = ("", "mean", "95 % interval", "p\n(Holm)", "", "win/tie/loss", "d_z", "P\n(better)", "n")
"""Of a table of tests; it has the last column where some episodes are left out of a difference."""
EXPLAINED = (
    "d_z: mean difference in standard deviations of the differences. P(better): chance to do better in an episode."
)
LEFT_OUT = (
    "Mean, interval, p and d_z are over the n episodes in which both runs have a value. In win/tie/loss and P(better) "
    "an undefined value loses against a defined one, and two undefined ones are a tie."
)


class Tests(NamedTuple):
    """A run's differences from the baseline and their tests, as cells; bold are the rows that are significant."""

    heads: list[str]
    rows: list[list[str]]
    bold: list[bool]


class Differing(NamedTuple):
    """The episodes in which a run is furthest above or below the baseline, as cells."""

    title: str
    heads: list[str]
    rows: list[list[str]]


def scope(comparison: Comparison) -> str:
    """Say what is compared on which episodes."""
    left = f", {comparison.left_out:,} left out" if comparison.left_out else ", none left out"
    agents = "agents" if any(result.runs > 1 for result in comparison.results) else "runs"
    of = "" if comparison.references in ("unknown", "rows") else f" of {comparison.references}"
    return f"{len(comparison.results)} {agents} on {counted(comparison.episodes)}{of}{left}"


def method(comparison: Comparison) -> str:
    """Say how the p-values were found."""
    marks = ", ".join(f"{mark} p < {level:g}" for level, mark in reversed(MARKS))
    known, base = comparison.bootstrap, comparison.results[0]
    test = f"paired randomization test over {clusters(base)}"
    if any(result.runs > 1 for result in comparison.results):
        test = f"bootstrap of runs and {clusters(replace(base, runs=1))}"
    tested = sum(contrast.p is not None for contrast in comparison.contrasts)
    return (
        f"{marks} against {comparison.baseline}: {test}, Holm correction over {counted(tested, 'test')}; "
        f"{counted(known['resamples'], 'resample')}, seed {known['seed']}."
    )


def explained(comparison: Comparison) -> str:
    """Say what the columns of a table of tests are, and over which episodes where values are undefined."""
    return f"{EXPLAINED} {LEFT_OUT}" if _has_left_out(comparison) else EXPLAINED


def _has_left_out(comparison: Comparison) -> bool:
    return any(contrast.episodes < comparison.episodes for contrast in comparison.contrasts)


def mark(contrast: Contrast | None) -> str:
    """Return the stars of a test."""
    p = None if contrast is None else contrast.p_holm
    return "" if p is None else next((stars for level, stars in MARKS if p < level), "")


def contrasts_of(comparison: Comparison, run: str) -> Iterator[tuple[Metric, Contrast]]:
    """Go through the tests of one run, in the order of the metrics."""
    known = comparison.of(run)
    return ((metric, known[metric.symbol]) for metric in metrics_of(comparison.results) if metric.symbol in known)


def tests_of(comparison: Comparison, run: str) -> Tests:
    """Return the table of a run's tests."""
    count = len(HEADS) if _has_left_out(comparison) else len(HEADS) - 1
    found = list(contrasts_of(comparison, run))
    rows = [contrast_cells(*test)[:count] for test in found]
    return Tests([*HEADS[:count]], rows, [bool(mark(contrast)) for _, contrast in found])


def contrast_cells(metric: Metric, contrast: Contrast) -> list[str]:
    """Return the cells under `HEADS`."""
    found, effect = contrast.difference, contrast.effect_size
    return [
        head(metric),
        number(metric, found.mean, signed=True),
        interval(metric, found, signed=True) or UNDEFINED,
        p_value(contrast.p_holm),
        mark(contrast),
        "/".join(map(str, contrast.outcomes)) if contrast.outcomes else UNDEFINED,
        UNDEFINED if effect is None else f"{round(effect, 2) + 0.0:+.2f}",
        UNDEFINED if contrast.superiority is None else f"{contrast.superiority:.3f}",
        f"{contrast.episodes:,}",
    ]


def p_value(value: float | None) -> str:
    """Return a p-value with four decimals, or as a power of ten where these would be 0.

    >>> p_value(0.0213), p_value(1e-9), p_value(None)
    ('0.0213', '1e-09', '–')
    """
    return UNDEFINED if value is None else f"{value:.4f}" if value >= 0.0001 else f"{value:.0e}"


def differing(
    comparison: Comparison, run: str, baseline: str | None = None, name: str | None = None
) -> list[Differing]:
    """Return the episodes in which a run and the baseline differ most, under the names that are given."""
    metric = next(metric for metric in metrics_of(comparison.results) if metric.symbol == comparison.metric)
    base, run_name = baseline or comparison.baseline, name or run
    sides = ("gains most", "loses most") if metric.direction else ("is most above", "is most below")
    heads = ["episode", "scan", base, run_name, "difference"]
    return [
        Differing(f"Where {run_name} {side}, {head(metric)}", heads, [_cells(metric, one) for one in examples])
        for side, examples in zip(sides, (comparison.better[run], comparison.worse[run]), strict=True)
        if examples
    ]


def _cells(metric: Metric, example: Example) -> list[str]:
    values = (number(metric, example.baseline), number(metric, example.run))
    return [
        shown(example.episode),
        shown(example.scene),
        *values,
        number(metric, example.run - example.baseline, signed=True),
    ]
