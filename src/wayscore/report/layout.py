"""What all tables share: the order of metrics, numbers as papers print them, cells of means, names that fit."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from wayscore.escaping import escape
from wayscore.report.document import Cell

if TYPE_CHECKING:
    from wayscore.evaluation.result import Result
    from wayscore.metrics import Metric
    from wayscore.statistics import Interval

ARROWS = {"up": "↑", "down": "↓", None: ""}
HEADLINE = ("SR", "SPL", "nDTW", "SDTW")
"""The metrics that tables begin with; the others follow in the order in which they were measured."""
UNDEFINED = "–"
"""What is printed for a mean over no episodes, and for a difference or a p-value that does not exist."""


def is_share(metric: Metric) -> bool:
    """Whether a metric lies between 0 and 1, and so is printed in percent."""
    return metric.bounds == (0, 1)


def head(metric: Metric) -> str:
    """Return a metric's symbol, unit and better direction.

    >>> from wayscore import METRICS
    >>> head(METRICS["nDTW"]), head(METRICS["PL"])
    ('nDTW % ↑', 'PL m')
    """
    unit = "%" if is_share(metric) else metric.unit
    return " ".join(escape(part) for part in (metric.symbol, unit, ARROWS[metric.direction]) if part)


def number(metric: Metric, value: float | None, *, signed: bool = False, more: int = 0) -> str:
    """Return a value as papers print it: shares in percent with one decimal, others with two, and `more` decimals.

    >>> from wayscore import METRICS
    >>> number(METRICS["nDTW"], 0.6065), number(METRICS["NE"], -0.001, signed=True), number(METRICS["NE"], None)
    ('60.7', '+0.00', '–')
    """
    if value is None or not math.isfinite(value):
        return UNDEFINED
    scaled, digits = (100 * value, 1 + more) if is_share(metric) else (value, 2 + more)
    rounded = round(scaled, digits) + 0.0  # what rounds to nothing has no minus
    return f"{rounded:{'+' if signed else ''}.{digits}f}"


def interval(metric: Metric, found: Interval, *, signed: bool = False) -> str:
    """Return the bounds of an interval in brackets; nothing where there are none."""
    if found.low is None or found.high is None:
        return ""
    return f"[{number(metric, found.low, signed=signed)}, {number(metric, found.high, signed=signed)}]"


def metrics_of(results: Sequence[Result]) -> tuple[Metric, ...]:
    """Return the metrics that any of the results has, with the unit of its distance, in the order of tables."""
    unit = results[0].settings.get("unit", "m")
    found: dict[str, Metric] = {}
    for metric in (metric for result in results for metric in result.metrics):
        found.setdefault(metric.symbol, replace(metric, unit=unit) if metric.unit == "m" != unit else metric)
    return tuple(sorted(found.values(), key=lambda metric: (*HEADLINE, metric.symbol).index(metric.symbol)))


def means_of(results: Sequence[Result], metrics: Sequence[Metric]) -> list[list[Cell]]:
    """Return a row of means for each result, one of them for each metric: with spread, what is left out, and interval.

    The best of several runs are bold; what is equal as printed is equal. None is the best where runs are undefined in
    different numbers of episodes: their means are over different ones.
    """
    intervals = [result.intervals() for result in results]
    spreads = [result.spread() if result.runs > 1 else {} for result in results]
    columns = []
    for metric in metrics:
        symbol = metric.symbol
        found = [one.get(symbol) for one in intervals]
        known = [one.mean for one in found if one is not None and one.mean is not None]
        alike = len({result.undefined.get(symbol, 0) for result in results}) == 1
        top = None
        if metric.direction is not None and len(results) > 1 and known and alike:
            top = number(metric, max(known) if metric.direction == "up" else min(known))
        column = []
        for result, one, spread in zip(results, found, spreads, strict=True):
            text, deviation = number(metric, one and one.mean), spread.get(symbol)
            rest = "" if deviation is None else f" ± {number(metric, deviation)}"
            rest += left_out(result, metric, result.undefined.get(symbol, 0))
            column.append(Cell(text, rest, interval(metric, one) if one else "", bold=text == top))
        columns.append(column)
    return [list(row) for row in zip(*columns, strict=True)]


def left_out(result: Result, metric: Metric, count: int) -> str:
    """Return how many episodes are left out of a mean, and why: " (63 unreachable)", or ""."""
    return f" ({count:,} {why_undefined(result, metric)})" if count else ""


def why_undefined(result: Result, metric: Metric) -> str:
    """Return why values of a metric are undefined, as far as that is known: "unreachable" or "undefined".

    Besides unreachable goals, episodes that a policy gives the worst values, metrics of the user's own, and the score
    files of other evaluators have values that are undefined.
    """
    policies = result.settings.get("policies", {})
    worst = any(policies.get(kind) == "zero" for kind in result.problems.counts)
    known = not worst and metric.measure is None and result.settings.get("format") != "scores"
    return "unreachable" if known else "undefined"


def p_value(value: float | None) -> str:
    """Return a p-value with four decimals, or as a power of ten where these would be 0.

    >>> p_value(0.0213), p_value(1e-9), p_value(None)
    ('0.0213', '1e-09', '–')
    """
    return UNDEFINED if value is None else f"{value:.4f}" if value >= 0.0001 else f"{value:.0e}"


def counted(count: int, what: str = "episode") -> str:
    """Return a number with its noun.

    >>> counted(2349), counted(1)
    ('2,349 episodes', '1 episode')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def short_names(names: Sequence[str], room: int) -> list[str]:
    """Return names of at most `room` characters: without the words that all begin with, or with a gap.

    >>> short_names(["val_unseen_seq2seq_iter00100", "val_unseen_seq2seq_iter19000"], 12)
    ['iter00100', 'iter19000']
    >>> short_names(["a_very_long_name_of_an_agent", "b"], 13)
    ['a_ve…an_agent', 'b']
    """
    names = [escape(name) for name in names]
    short = list(names)
    if len(names) > 1 and max(map(len, names)) > room:
        same = takewhile(lambda chars: len({*chars}) == 1, zip(*names, strict=False))
        common = re.sub(r"[^_\-./ ]*$", "", "".join(chars[0] for chars in same))
        short = [name[len(common) :] for name in names]
    begin = room // 3  # agents of one series differ at the end
    short = [n if len(n) <= room else f"{n[:begin]}…{n[len(n) - (room - 1 - begin) :]}" for n in short]
    if len({*short}) < len({*names}) or not all(short):  # better a number than two of one name
        return [name if len(name) <= room else f"run {n}" for n, name in enumerate(names, start=1)]
    return short


def legend(short: Sequence[str], full: Sequence[str]) -> list[str]:
    """Say what shortened names stand for: one line where all miss the same beginning, else one line per name.

    >>> legend(["seq2seq", "random"], ["val_seq2seq", "val_random"])
    ['The names of all runs begin with val_, which is left out here.']
    >>> legend(["a_ve…an_agent", "b"], ["a_very_long_name_of_an_agent", "b"])
    ['a_ve…an_agent = a_very_long_name_of_an_agent']
    """
    common = full[0][: len(full[0]) - len(short[0])]
    if common and all(common + a == b for a, b in zip(short, full, strict=True)):
        return [f"The names of all runs begin with {common}, which is left out here."]
    return [f"{a} = {b}" for a, b in zip(short, full, strict=True) if a != b]
