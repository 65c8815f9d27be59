"""What results and comparisons say, in every form: means, groups, tests, where runs differ, signatures, warnings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wayscore.errors import OptionError, Sentence, check_choice, did_you_mean, marked
from wayscore.escaping import escape
from wayscore.evaluation.result import signature_differences
from wayscore.metrics.registry import paper_symbol
from wayscore.report.document import DEFAULT_WIDTH, Cell, Document, Line, Part, Row, Table
from wayscore.report.layout import (
    HEADLINE,
    UNDEFINED,
    counted,
    head,
    interval,
    left_out,
    legend,
    means_of,
    metrics_of,
    number,
    p_value,
    short_names,
)

if TYPE_CHECKING:
    from wayscore.evaluation.comparison import Comparison
    from wayscore.evaluation.differences import PairedDifference
    from wayscore.evaluation.result import Group, Result
    from wayscore.metrics import Metric

NAME_ROOM = 24
"""In text, names of runs have at most this many characters, fewer in a narrow terminal; a legend explains them."""
SPLITS = {
    "scan": ("scene", "scan"),
    "length": ("reference_nodes", "number of reference nodes"),
    "path": ("path_id", "path"),
}
"""What means may be split by -> the fact of each episode that this needs, and what titles call it."""
MARKS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
"""Significance marks: for corrected p-values below these."""
HEADS = ("", "mean", "95 % interval", "p\n(Holm)", "win/tie/loss", "d_z", "P\n(better)", "n")
"""Of a table of tests; it has the last column where some episodes are left out of a difference."""
EXPLAINED = (
    "d_z: mean difference in standard deviations of the differences. P(better): chance to do better in an episode."
)
LEFT_OUT = (
    "Mean, interval, p and d_z are over the n episodes in which both runs have a value. In win/tie/loss and P(better) "
    "an undefined value loses against a defined one, and two undefined ones are a tie."
)
TESTS = "run baseline metric episodes difference low high p p_holm wins ties losses superiority effect_size".split()
"""The columns of a comparison as CSV."""


def render(
    results: Sequence[Result],
    form: str,
    *,
    width: int | None = None,
    color: bool = False,
    split_by: str | None = None,
    sort: str | None = None,
) -> str:
    """Return results in one of the forms `FORMS`.

    Width and colour concern text only. `split_by` adds the means of groups of episodes (see `SPLITS`), and `sort` lists
    the runs by a metric, the best first.
    """
    if not results:
        raise OptionError("there is no result to render; give at least one")
    listed = results if sort is None else sort_results(results, sort)
    groups = [[] if split_by is None else _groups_of(result, split_by) for result in listed]
    metrics = metrics_of(listed)
    if form in ("json", "csv"):
        data = [_object(result, split_by, some) for result, some in zip(listed, groups, strict=True)]
        records = _records(data, [metric.symbol for metric in metrics]) if form == "csv" else ()
        return Document(data=data, records=[*records]).render(form)
    names = _names(listed, form, width)
    parts: list[Part] = [_means(listed, names, metrics)]
    for result, name, some in zip(listed, names, groups, strict=True):
        rows: list[Row] = []
        for group in some:
            rest = (left_out(result, metric, group.undefined.get(metric.symbol, 0)) for metric in metrics)
            means = (number(metric, group.means.get(metric.symbol)) for metric in metrics)
            rows.append([escape(group.name), f"{group.episodes:,}", *map(Cell, means, rest)])
        if split_by is not None:
            of = f" of {name}" if len(listed) > 1 else ""
            heads = [split_by, "n", *(head(metric).replace(" ", "\n", 1) for metric in metrics)]
            parts.append(Table(heads, rows, f"Means{of} by {SPLITS[split_by][1]}"))
    parts += [f"{caption(listed)}.", *_signed(listed, names, warnings_of(listed))]
    return Document(parts).render(form, width, color)


def render_comparison(comparison: Comparison, form: str, *, width: int | None = None, color: bool = False) -> str:
    """Return a comparison in one of the forms `FORMS`; width and colour concern text only.

    LaTeX has the table for a paper, the means with marks of significance; the others also have the tests.
    """
    results = comparison.results
    warnings = warnings_of(results, comparison.warnings)
    tests = [contrast.to_dict() for run in comparison.others for _, contrast in contrasts_of(comparison, run)]
    if form == "json":
        runs = [_object(result) for result in results]
        return Document(data=[{**comparison.to_dict(), "runs": runs, "tests": tests, "warnings": warnings}]).render(
            form
        )
    if form == "csv":
        for row in tests:
            row |= {**row["difference"], "baseline": comparison.baseline, "difference": row["difference"]["mean"]}
        return Document(records=[{column: row[column] for column in TESTS} for row in tests]).render(form)
    metrics, names = metrics_of(results), _names(results, form, width)
    short = {result.name: name for result, name in zip(results, names, strict=True)}
    # text has no room for marks in the table of means: they stand beside the p-values
    marked = {run: comparison.of(run) for run in comparison.others} if form != "text" else {}
    parts: list[Part] = [scope(comparison), _means(results, names, metrics, marked)]
    for run in comparison.others if form != "latex" else ():
        parts.append(tests_table(comparison, run, short))
        parts += differing_tables(comparison, run, short) if form != "html" else ()
    latex = "Tests are over the episodes in which both runs have a value."
    words = [f"{caption(results)}.", method(comparison), latex if form == "latex" else explained(comparison)]
    parts += [Line(text, "dim") for text in words]
    return Document([*parts, *_signed(results, names, warnings)]).render(form, width, color)


def sort_results(results: Sequence[Result], metric: str) -> list[Result]:
    """Return results with the best of a metric first, by any name of it; undefined means come last."""
    known = metrics_of(results)
    names = {name.lower() for name in (metric, paper_symbol(metric)) if name is not None}
    found = next((one for one in known if one.symbol.lower() in names), None)
    if found is None:
        symbols = [one.symbol for one in known]
        raise OptionError(
            f"<<sort>> must be a metric of these results, not {metric!r}{did_you_mean(metric, symbols) or '.'} "
            f"They have: {', '.join(symbols)}"
        )
    sign = 1.0 if found.direction == "down" else -1.0

    def key(result: Result) -> float:
        mean = result.means().get(found.symbol)
        return math.inf if mean is None else sign * mean

    return sorted(results, key=key)


def _groups_of(result: Result, split_by: str) -> list[Group]:
    check_choice("split_by", split_by, tuple(SPLITS))
    fact, title = SPLITS[split_by]
    if fact not in result.table.facts:
        raise OptionError(f"{result.name}: the {title} of its episodes is not known; leave <<split_by>> out")
    return result.groups(split_by)


def _object(result: Result, split_by: str | None = None, groups: Sequence[Group] = ()) -> dict[str, Any]:
    """Return a run for programs, its metrics in the order of tables; None where a mean is undefined."""
    found = result.to_dict()
    symbols = [metric.symbol for metric in metrics_of([result])]
    found["metrics"] = {symbol: found["metrics"][symbol] for symbol in symbols}
    if split_by is not None:
        found["split_by"], found["groups"] = split_by, {}
        for group in groups:
            means = {symbol: {"mean": group.means[symbol]} for symbol in symbols}
            found["groups"][group.name] = {"episodes": group.episodes, "undefined": group.undefined, "metrics": means}
    return found


def _records(runs: Sequence[Mapping[str, Any]], symbols: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield one row per run, or per run and group; fractions (not percent) and metres, None where undefined.

    Each metric has columns for its mean and interval (groups have no intervals), for how many episodes are left out
    of its mean where any are, and for the spread over runs where an agent has several.
    """
    gone = {symbol for run in runs for symbol in run["undefined"]}
    several = any("runs" in run for run in runs)
    for run in runs:
        for name, part in run.get("groups", {None: run}).items():
            row = {"run": run["run"], **({} if name is None else {run["split_by"]: name}), "episodes": part["episodes"]}
            for symbol in symbols:
                found = part["metrics"].get(symbol, {})
                row[symbol] = found.get("mean")
                row |= {f"{symbol}_{end}": found.get(end) for end in ("low", "high") if name is None}
                row |= {f"{symbol}_undefined": part["undefined"].get(symbol, 0)} if symbol in gone else {}
                row |= {f"{symbol}_spread": found.get("spread")} if several and name is None else {}
            yield {**row, "signature": run["signature"]}


def _names(results: Sequence[Result], form: str, width: int | None) -> list[str]:
    """Return the names of runs that can be shown; in text, short ones."""
    room = min(NAME_ROOM, (width or DEFAULT_WIDTH) // 3) if form == "text" else 10**9
    return short_names([result.name for result in results], room)


def _means(
    results: Sequence[Result],
    names: Sequence[str],
    metrics: Sequence[Metric],
    tests: Mapping[str, Mapping[str, PairedDifference]] | None = None,
) -> Table:
    rows: list[Row] = []
    for result, name, means in zip(results, names, means_of(results, metrics), strict=True):
        marks = (_mark((tests or {}).get(result.name, {}).get(metric.symbol)) for metric in metrics)
        rows.append([name, *(cell._replace(mark=stars) for cell, stars in zip(means, marks, strict=True))])
    headline = sum(metric.symbol in HEADLINE for metric in metrics)
    return Table(["run", *map(head, metrics)], rows, together=headline)


def _signed(results: Sequence[Result], names: Sequence[str], warnings: Sequence[str]) -> list[Line]:
    """Return what must not be broken into lines: what short names mean, signatures and warnings, each once."""
    signatures = [str(result.signature) for result in results]
    if len({*signatures}) > 1:
        signatures = [f"{result.name}: {signature}" for result, signature in zip(results, signatures, strict=True)]
    exact = [*legend(names, [escape(result.name) for result in results]), *dict.fromkeys(signatures)]
    return [*(Line(text, "code") for text in exact), *(Line(text, "warning") for text in dict.fromkeys(warnings))]


def warnings_of(results: Sequence[Result], warnings: Iterable[str] | None = None) -> list[Sentence]:
    """Return each warning once, with the names of the runs that have it unless all have it.

    `warnings` are those of a comparison; by default what the signatures differ in, and what each run warns of.
    """
    if warnings is None:
        apart = signature_differences(results) if len(results) > 1 else []
        warnings = [*apart, *(warning for result in results for warning in result.warnings)]
    found = []
    for warning in dict.fromkeys(warnings):
        names = [result.name for result in results if warning in result.warnings]
        who = f"{', '.join(names)}: " if 0 < len(names) < len(results) else ""
        found.append(Sentence(who + marked(warning)))
    return found


def caption(results: Sequence[Result]) -> str:
    """Say over what the means are, what stands after ±, and what the intervals resample.

    Seeds and resamples change intervals and not means, so the signature does not have them.
    """
    scopes = {extent(result) for result in results}
    over = f" over {scopes.pop()}" if len(scopes) == 1 else ""
    spread = " ± standard deviation over runs" if any(result.runs > 1 for result in results) else ""
    if not any(result.bootstrap["resamples"] for result in results):
        return f"Means{over}{spread}; 95 % intervals of the normal distribution"
    drawn = []
    for result in results:
        times, seed = counted(result.bootstrap["resamples"], "time"), result.bootstrap["seed"]
        drawn.append(f"{clusters(result)} ({times}, seed {seed})")
    if len({*drawn}) > 1:
        drawn = [f"{words} for {result.name}" for words, result in zip(drawn, results, strict=True)]
    return f"Means{over}{spread}; 95 % bootstrap intervals resample {', '.join(dict.fromkeys(drawn))}"


def extent(result: Result) -> str:
    """Return how many episodes a result is over."""
    runs = f" in {result.runs} runs" if result.runs > 1 else ""
    return f"{counted(result.episodes_scored)}{runs}"


def clusters(result: Result) -> str:
    """Return what the bootstrap draws with replacement, and how many there are: "783 paths"."""
    known = result.bootstrap
    drawn = counted(known["clusters"], "episode" if known["cluster"] == "none" else known["cluster"])
    return f"{result.runs} runs and {drawn}" if result.runs > 1 else drawn


def scope(comparison: Comparison) -> str:
    """Say what is compared on which episodes."""
    left = f", {comparison.left_out:,} left out" if comparison.left_out else ", none left out"
    agents = "agents" if any(result.runs > 1 for result in comparison.results) else "runs"
    of = "" if comparison.references in ("unknown", "rows") else f" of {comparison.references}"
    return f"{len(comparison.results)} {agents} on {counted(comparison.episodes)}{of}{left}"


def method(comparison: Comparison) -> str:
    """Say how the p-values were found."""
    marks = ", ".join(f"{stars} p < {level:g}" for level, stars in reversed(MARKS))
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
    """Say what the columns of tests are."""
    some = any(contrast.episodes < comparison.episodes for contrast in comparison.contrasts)
    return f"{EXPLAINED} {LEFT_OUT}" if some else EXPLAINED


def _mark(contrast: PairedDifference | None) -> str:
    """Return the stars of a test."""
    p = None if contrast is None else contrast.p_holm
    return "" if p is None else next((stars for level, stars in MARKS if p < level), "")


def contrasts_of(comparison: Comparison, run: str) -> Iterator[tuple[Metric, PairedDifference]]:
    """Go through the tests of one run, in the order of the metrics."""
    known = comparison.of(run)
    return ((metric, known[metric.symbol]) for metric in metrics_of(comparison.results) if metric.symbol in known)


def tests_table(comparison: Comparison, run: str, names: dict[str, str]) -> Table:
    """Return a run's differences from the baseline and their tests; the significant ones are bold."""
    rows: list[Row] = []
    for metric, contrast in contrasts_of(comparison, run):
        found, size, better, stars = contrast.difference, contrast.effect_size, contrast.superiority, _mark(contrast)
        mean = Cell(number(metric, found.mean, signed=True), bold=bool(stars))
        p = Cell(p_value(contrast.p_holm), f" {stars}" if stars else "")
        outcomes = "/".join(map(str, contrast.outcomes)) if contrast.outcomes else UNDEFINED
        sizes = (
            UNDEFINED if size is None else f"{round(size, 2) + 0.0:+.2f}",
            UNDEFINED if better is None else f"{better:.3f}",
            f"{contrast.episodes:,}",
        )
        rows.append([head(metric), mean, interval(metric, found, signed=True) or UNDEFINED, p, outcomes, *sizes])
    some = any(contrast.episodes < comparison.episodes for contrast in comparison.contrasts)
    count = len(HEADS) if some else len(HEADS) - 1
    title = f"{names[run]} minus {names[comparison.baseline]}"
    return Table(HEADS[:count], [row[:count] for row in rows], title)


def differing_tables(comparison: Comparison, run: str, names: dict[str, str]) -> Iterator[Table]:
    """Yield the episodes in which a run is furthest above or below the baseline."""
    metric = next(metric for metric in metrics_of(comparison.results) if metric.symbol == comparison.metric)
    sides = ("gains most", "loses most") if metric.direction else ("is most above", "is most below")
    for side, examples in zip(sides, (comparison.better[run], comparison.worse[run]), strict=True):
        if examples:
            rows: list[Row] = []
            for one in examples:
                values = number(metric, one.baseline), number(metric, one.run)
                gain = number(metric, one.run - one.baseline, signed=True)
                rows.append([escape(one.episode), escape(one.scene), *values, gain])
            heads = ["episode", "scan", names[comparison.baseline], names[run], "difference"]
            yield Table(heads, rows, f"Where {names[run]} {side}, {head(metric)}", left=2)
