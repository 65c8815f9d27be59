"""The tables of an audit on real systems."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from wayscore.lab.audit.systems.scoreboard import ALIKE, Matrix
from wayscore.report.document import Table
from wayscore.report.layout import UNDEFINED, head, legend, number, short_names

if TYPE_CHECKING:
    from wayscore.lab.audit.systems.scoreboard import Alternative
    from wayscore.lab.audit.systems.systems import Systems
    from wayscore.metrics import Metric

NAME_ROOM = 26


def tables_of(systems: Systems) -> list[Table]:
    """Return all tables."""
    alike = "; ".join(", ".join(group) for group in systems.groups if len(group) > 1) or "none"
    return [
        _means(systems),
        _matrix(
            "Agreement of rankings",
            systems.agreement,
            "Kendall's tau between the rankings of the systems by two metrics: 1 if they are the same, -1 if opposite.",
        ),
        _stability(systems),
        _power(systems),
        *_alternatives(systems, "threshold"),
        *_alternatives(systems, "convention"),
        _matrix(
            "Redundancy",
            systems.correlations,
            "Spearman's rho between two metrics over episodes, within each system, averaged over systems; signs are "
            "such that higher is better for both.",
            f"Groups with a mean |rho| of {ALIKE:g} or more: {alike}.",
        ),
    ]


def _means(systems: Systems) -> Table:
    names = short_names(systems.names, NAME_ROOM)
    rows = []
    for place, name in enumerate(names):
        found = ((metric, systems.means[metric.symbol][place]) for metric in systems.metrics)
        ranks = (systems.ranks[metric.symbol][place] for metric in systems.metrics)
        rows.append([name, *(f"{number(*one)}  {rank:>2}" for one, rank in zip(found, ranks, strict=True))])
    notes = ["Each cell has the mean and the rank.", *legend(names, systems.names)]
    return Table(["system", *map(head, systems.metrics)], rows, "Means and ranks", notes)


def _matrix(title: str, matrix: Matrix, *notes: str) -> Table:
    symbols = list(matrix)
    rows = [[a, *(f"{matrix[a][b]:.2f}" for b in symbols)] for a in symbols]
    return Table(["", *symbols], rows, title, notes)


def _stability(systems: Systems) -> Table:
    kinds = list(dict.fromkeys(one.cluster for one in systems.stability))
    known = {(one.metric, one.cluster): one for one in systems.stability}
    rows = []
    for metric in systems.metrics:
        cells = [metric.symbol]
        for kind in kinds:
            one = known[metric.symbol, kind]
            cells += [f"{one.tau:.2f}", f"{one.low:.2f}", f"{100 * one.same_first:.0f} %"]
        rows.append(cells)
    heads = [part for kind in kinds for part in (f"{kind}s\ntau", "2.5 %\ntau", "same\nfirst")]
    notes = [
        "Paths or scans are resampled: Kendall's tau with the ranking by all episodes (mean and 2.5 % quantile), and "
        "how often the same system is first."
    ]
    return Table(["", *heads], rows, "Stability of rankings", notes)


def _power(systems: Systems) -> Table:
    first = systems.power[0]
    heads = [
        "",
        *(f"{paths}\npaths" for paths in first.paths),
        "difference",
        "episodes\nfor it",
        "for the\nmedian pair",
    ]
    metrics = {metric.symbol: metric for metric in systems.metrics}
    rows = [
        [
            one.metric,
            *(f"{100 * share:.0f} %" for share in one.told_apart),
            number(metrics[one.metric], one.difference),
            _count(one.needed),
            _count(one.needed_median),
        ]
        for one in systems.power
    ]
    pairs = len(systems.names) * (len(systems.names) - 1) // 2
    notes = [
        f"Share of all pairs of systems ({pairs}) that differ with p < 0.05 (paired randomization test over paths) in "
        "so many paths, drawn at random. Then: how many episodes find this difference with a probability of 80 % "
        "(median over pairs), and how many find the median pair's own difference."
    ]
    return Table(heads, rows, "Power to tell systems apart", notes)


def _alternatives(systems: Systems, setting: str) -> Iterator[Table]:
    found = [one for one in systems.alternatives if one.setting == setting]
    if not found:
        return
    values = list(dict.fromkeys(one.value for one in found))
    known = {(one.metric, one.value): one for one in found}
    rows = [
        [metric.symbol, *(_tau(known.get((metric.symbol, value)), metric) for value in values)]
        for metric in systems.metrics
    ]
    heads = ["", *(f"{value:g} m" if isinstance(value, float) else value for value in values)]
    notes = [
        f"Kendall's tau with the ranking above, and how much the mean over systems changes, with another {setting}."
    ]
    if setting == "convention":
        notes.append(f"{UNDEFINED}: its evaluator does not print this metric.")
        notes += [f"Left out: {name}: {reason}." for name, reason in systems.unfit.items()]
    yield Table(heads, rows, f"Another {setting}", notes)


def _tau(one: Alternative | None, metric: Metric) -> str:
    return UNDEFINED if one is None else f"{one.tau:.2f}  {number(metric, one.change, signed=True)}"


def _count(value: float | None) -> str:
    return UNDEFINED if value is None else f"{max(1, round(value)):,}"
