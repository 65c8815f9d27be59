"""What all tables share: numbers as papers print them, names that fit, and tables as wide as there is room."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import StringIO
from itertools import takewhile
from typing import TYPE_CHECKING

from wayscore.metrics import Metric
from wayscore.report.terminal import DEFAULT_WIDTH

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from wayscore.statistics import Interval

ARROWS = {"up": "↑", "down": "↓", None: ""}
LATEX_ARROWS = {"up": r"$\uparrow$", "down": r"$\downarrow$", None: ""}
LATEX_SPECIAL = str.maketrans(
    {char: "\\" + char for char in "_%&#${}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


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
    return " ".join(part for part in (metric.symbol, unit, ARROWS[metric.direction]) if part)


def number(metric: Metric, value: float, *, signed: bool = False) -> str:
    """Return a value as papers print it: shares in percent with one decimal, others with two.

    >>> from wayscore import METRICS
    >>> number(METRICS["nDTW"], 0.6065), number(METRICS["NE"], -0.001, signed=True)
    ('60.7', '+0.00')
    """
    scaled, places = (100 * value, 1) if is_share(metric) else (value, 2)
    return f"{scaled:{'+' if signed else ''}z.{places}f}"


def interval(metric: Metric, found: Interval, *, signed: bool = False) -> str:
    """Return the bounds of an interval in brackets."""
    return f"[{number(metric, found.low, signed=signed)}, {number(metric, found.high, signed=signed)}]"


def best(metric: Metric, means: Sequence[float]) -> str | None:
    """Return the best of several means as it is printed, None where none is better."""
    if metric.direction is None or len(means) < 2:
        return None
    return number(metric, max(means) if metric.direction == "up" else min(means))


def counted(count: int, what: str = "episode") -> str:
    """Return a number with its noun.

    >>> counted(2349), counted(1)
    ('2,349 episodes', '1 episode')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def latex_name(name: str) -> str:
    """Return a name with the characters escaped that mean something to LaTeX."""
    return name.translate(LATEX_SPECIAL)


def markdown_name(name: str) -> str:
    """Return a name that does not end a cell of a Markdown table."""
    return name.replace("|", "\\|")


def short_names(names: Sequence[str], room: int) -> list[str]:
    """Return names of at most `room` characters: without the words that all begin with, or with a hole.

    >>> short_names(["val_unseen_seq2seq_iter00100", "val_unseen_seq2seq_iter19000"], 12)
    ['iter00100', 'iter19000']
    >>> short_names(["a_very_long_name_of_an_agent", "b"], 13)
    ['a_ve…an_agent', 'b']
    """
    short = list(names)
    if len(names) > 1 and max(map(len, names)) > room:
        same = takewhile(lambda chars: len({*chars}) == 1, zip(*names, strict=False))
        common = re.sub(r"[^_\-./ ]*$", "", "".join(chars[0] for chars in same))
        short = [name[len(common) :] for name in names]
    short = [_with_hole(name, room) for name in short]
    if len({*short}) < len({*names}) or not all(short):  # better a number than two of one name
        return [name if len(name) <= room else f"run {n}" for n, name in enumerate(names, start=1)]
    return short


def _with_hole(name: str, room: int) -> str:
    if len(name) <= room:
        return name
    begin = room // 3  # agents of one series differ at the end
    return f"{name[:begin]}…{name[len(name) - (room - 1 - begin) :]}"


def legend(short: Sequence[str], full: Sequence[str]) -> list[str]:
    """Return a line for every name that was shortened."""
    return [f"{a} = {b}" for a, b in zip(short, full, strict=True) if a != b]


def console_for(width: int | None, color: bool) -> Console:
    """Return a console that writes to a string; `printed` reads it."""
    from rich.console import Console

    return Console(
        file=StringIO(),
        width=width or DEFAULT_WIDTH,
        highlight=False,
        force_terminal=color,
        legacy_windows=False,
        no_color=None if color else True,
    )


def printed(console: Console) -> str:
    """Return what a console of `console_for` has written, without spaces at the ends of lines."""
    assert isinstance(console.file, StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().split("\n"))


def plain_table(space: int = 2) -> Table:
    """Return an empty table with one line under its heads."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    return Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, space, 0, 0))


def fits(console: Console, table: Table) -> bool:
    """Whether a table needs no more than the console's width."""
    unbounded = console.options.update(width=100_000)
    return console.measure(table, options=unbounded).maximum <= console.width
