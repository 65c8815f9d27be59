"""What all tables share: the order of metrics, numbers as papers print them, cells of means, names that fit."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from wayscore.episodes.groups import check_choice
from wayscore.errors import OptionError
from wayscore.foreign import shown

if TYPE_CHECKING:
    from wayscore.evaluation.result import Group, Result
    from wayscore.metrics import Metric
    from wayscore.statistics import Interval

ARROWS = {"up": "↑", "down": "↓", None: ""}
HEADLINE = ("SR", "SPL", "nDTW", "SDTW")
"""The metrics that tables begin with; the others follow in the order in which they were measured."""
UNDEFINED = "–"
"""What is printed for a mean over no episodes, and for a difference or a p-value that does not exist."""
SPLITS = {
    "scan": ("scene", "scan"),
    "length": ("reference_nodes", "number of reference nodes"),
    "path": ("path_id", "path"),
}
"""What means may be split by -> the fact of each episode that this needs, and what titles call it."""


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
    return " ".join(shown(part) for part in (metric.symbol, unit, ARROWS[metric.direction]) if part)


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


def best(metric: Metric, means: Sequence[float | None]) -> str | None:
    """Return the best of several means as it is printed, None where none is better."""
    known = [mean for mean in means if mean is not None]
    if metric.direction is None or len(means) < 2 or not known:
        return None
    return number(metric, max(known) if metric.direction == "up" else min(known))


class Mean(NamedTuple):
    """One mean as tables print it.

    Attributes:
        mean: the number, or a dash where no episode has a value.
        spread: of the means of several runs, a number; "" for one run.
        left_out: how many episodes are left out of the mean: "(63 unreachable)", or "".
        interval: the bounds in brackets, or "".
        best: whether it is the best of several runs; what is equal as printed is equal.
    """

    mean: str
    spread: str
    left_out: str
    interval: str
    best: bool = False

    @property
    def rest(self) -> str:
        """What follows the number: its spread, and how many episodes are left out."""
        parts = (f"± {self.spread}" if self.spread else "", self.left_out)
        return "".join(f" {part}" for part in parts if part)


def headline_first(metrics: Iterable[Metric]) -> tuple[Metric, ...]:
    """Return metrics in the order of tables.

    >>> from wayscore import METRICS
    >>> [metric.symbol for metric in headline_first(METRICS[symbol] for symbol in ("PL", "nDTW", "NE", "SR"))]
    ['SR', 'nDTW', 'PL', 'NE']
    """
    places = {symbol: place for place, symbol in enumerate(HEADLINE)}
    return tuple(sorted(metrics, key=lambda metric: places.get(metric.symbol, len(places))))


def metrics_of(results: Sequence[Result]) -> tuple[Metric, ...]:
    """Return the metrics that any of the results has, with the unit of its distance, in the order of tables."""
    unit = results[0].settings.get("unit", "m")
    found: dict[str, Metric] = {}
    for metric in (metric for result in results for metric in result.metrics):
        found.setdefault(metric.symbol, replace(metric, unit=unit) if metric.unit == "m" != unit else metric)
    return headline_first(found.values())


def means_of(results: Sequence[Result], metrics: Sequence[Metric]) -> list[list[Mean]]:
    """Return a row of means for each result, one of them for each metric.

    None is the best where runs are undefined in different numbers of episodes: their means are over different ones.
    """
    intervals = [result.intervals() for result in results]
    tops = []
    for symbol, metric in ((metric.symbol, metric) for metric in metrics):
        means = [one[symbol].mean if symbol in one else None for one in intervals]
        alike = len({result.undefined.get(symbol, 0) for result in results}) == 1
        tops.append(best(metric, means) if alike else None)
    rows = []
    for result, known in zip(results, intervals, strict=True):
        spread = result.spread() if result.runs > 1 else {}
        row = []
        for metric, top in zip(metrics, tops, strict=True):
            found = known.get(metric.symbol)
            shown = number(metric, None if found is None else found.mean)
            deviation = spread.get(metric.symbol)
            row.append(
                Mean(
                    shown,
                    "" if deviation is None else number(metric, deviation),
                    left_out(result, metric, result.undefined.get(metric.symbol, 0)),
                    "" if found is None else interval(metric, found),
                    top is not None and shown == top,
                )
            )
        rows.append(row)
    return rows


def left_out(result: Result, metric: Metric, count: int) -> str:
    """Return how many episodes are left out of a mean, and why as far as that is known; "" where none are.

    Besides unreachable goals, episodes that a policy gives the worst values, metrics of the user's own, and the score
    files of other evaluators have values that are undefined.
    """
    if not count:
        return ""
    policies = result.settings.get("policies", {})
    worst = any(policies.get(kind) == "zero" for kind in result.problems.counts)
    known = not worst and metric.measure is None and result.settings.get("format") != "scores"
    return f"({count:,} {'unreachable' if known else 'undefined'})"


class Split(NamedTuple):
    """A result by groups of episodes, with what titles and the head of a table call these."""

    result: Result
    groups: list[Group]
    title: str
    head: str


def split(results: Sequence[Result], split_by: str | None) -> list[Split]:
    """Return the groups of each result; none where the means are not split."""
    if split_by is None:
        return []
    check_choice("split_by", split_by, tuple(SPLITS))
    fact, title = SPLITS[split_by]
    for result in results:
        if fact not in result.table.facts:
            raise OptionError(f"{result.name}: the {title} of its episodes is not known; leave <<split_by>> out")
    return [Split(result, result.groups(split_by), title, split_by) for result in results]


def group_rows(split: Split, metrics: Sequence[Metric]) -> list[list[str]]:
    """Return the cells of every group: its name, its episodes, its means."""
    rows = []
    for group in split.groups:
        gone = (left_out(split.result, metric, group.undefined.get(metric.symbol, 0)) for metric in metrics)
        means = (number(metric, group.means.get(metric.symbol)) for metric in metrics)
        cells = (" ".join(filter(None, cell)) for cell in zip(means, gone, strict=True))
        rows.append([shown(group.name), f"{group.episodes:,}", *cells])
    return rows


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
    names = [shown(name) for name in names]
    short = list(names)
    if len(names) > 1 and max(map(len, names)) > room:
        same = takewhile(lambda chars: len({*chars}) == 1, zip(*names, strict=False))
        common = re.sub(r"[^_\-./ ]*$", "", "".join(chars[0] for chars in same))
        short = [name[len(common) :] for name in names]
    short = [_with_gap(name, room) for name in short]
    if len({*short}) < len({*names}) or not all(short):  # better a number than two of one name
        return [name if len(name) <= room else f"run {n}" for n, name in enumerate(names, start=1)]
    return short


def _with_gap(name: str, room: int) -> str:
    if len(name) <= room:
        return name
    begin = room // 3  # agents of one series differ at the end
    return f"{name[:begin]}…{name[len(name) - (room - 1 - begin) :]}"


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
