"""The results of a benchmark run: rows with their bars, as a table for people and JSON for programs."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass, field
from pathlib import Path
from textwrap import wrap
from typing import Any, Literal

from wayscore.report.markdown import markdown_table
from wayscore.report.terminal import TextPage, TextTable, breadth

Measure = Literal["ratio", "growth", "MB", "ms"]
"""ratio: peer's time over ours, the more the better; the others are ours alone, the less the better."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one measurement.

    Attributes:
        ours: our time in seconds; or the value itself where the measure is not a ratio.
        theirs: the peer's time in seconds.
        agreed: whether both results are the same (to 1e-9, or to the bit where the row says so).
        difference: how far the peer's result is from ours, relative to ours.
        note: what else a reader should know.
        means: mean scores that the run computed, where they are of interest.
    """

    ours: float
    theirs: float | None = None
    agreed: bool | None = None
    difference: float | None = None
    note: str = ""
    means: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: what was measured, against whom, and whether it reached its bars."""

    work: str
    peer: str
    measure: Measure
    bar: float | None
    stretch: float | None
    outcome: Outcome | None
    problem: str = ""

    @property
    def value(self) -> float | None:
        """What the bars are about: the ratio, or our own figure."""
        if self.outcome is None:
            return None
        if self.measure != "ratio":
            return self.outcome.ours
        return None if self.outcome.theirs is None else self.outcome.theirs / self.outcome.ours

    def reaches(self, bar: float | None) -> bool | None:
        """Say whether the value reaches a bar; None where there is no value or no bar."""
        value = self.value
        if value is None or bar is None:
            return None
        return value >= bar if self.measure == "ratio" else value <= bar

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain values."""
        return {
            "work": self.work,
            "peer": self.peer,
            "measure": self.measure,
            "value": self.value,
            "bar": self.bar,
            "stretch": self.stretch,
            "reached": self.reaches(self.bar),
            "stretch_reached": self.reaches(self.stretch),
            "problem": self.problem,
            **(asdict(self.outcome) if self.outcome else {}),
        }


@dataclass(frozen=True, slots=True)
class Report:
    """Every row of one run, and where and on what it ran."""

    rows: tuple[Row, ...]
    data: str
    quick: bool = False
    machine: dict[str, str] = field(default_factory=dict)

    @property
    def missed(self) -> tuple[Row, ...]:
        """Rows that are below their bar, or whose results differ from the peer's."""
        return tuple(
            row
            for row in self.rows
            if row.reaches(row.bar) is False or (row.outcome is not None and row.outcome.agreed is False)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the run as plain values."""
        return {
            "data": self.data,
            "quick": self.quick,
            "machine": self.machine,
            "rows": [row.to_dict() for row in self.rows],
        }

    def to_json(self) -> str:
        """Return the run as JSON text (never NaN or infinity)."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"

    def to_markdown(self) -> str:
        """Return the rows as a Markdown table."""
        rows = [[cell.replace("|", "\\|") for cell in cells(row)] for row in self.rows]
        return "\n".join(markdown_table(HEADINGS, rows, left=len(HEADINGS))) + "\n"

    def to_text(self, width: int) -> str:
        """Return the rows as a table for a terminal; peers and notes stand below what was measured."""
        sizes = "a smoke test at small sizes, without bars" if self.quick else "CPU time of one thread"
        page = TextPage(width)
        page.add(f"wayscore against its peers: {sizes}", "")
        table = TextTable(["work, peer, note", *HEADINGS[2:-1]], space=2)
        figures = sum(breadth(heading) + 4 for heading in HEADINGS[2:-1])
        for row in self.rows:
            work, peer, *values, note = cells(row)
            below = [line for text in (peer, note) for line in wrap(text, max(40, width - figures - 2))]
            table.rows.append(["\n  ".join([work, *below]), *values])
        page.add(table, "", f"Data: {self.data}. {'; '.join(f'{key} {value}' for key, value in self.machine.items())}.")
        return str(page)


HEADINGS = ("work", "peer", "ours", "peer's", "result", "bar", "stretch", "reached", "agree", "note")


def cells(row: Row) -> tuple[str, ...]:
    """Return a row as text, in the order of `HEADINGS`."""
    bars = [_bar(row, row.bar), _bar(row, row.stretch)]
    if (outcome := row.outcome) is None:
        return row.work, row.peer, "", "", "", *bars, "", "", row.problem
    ours = _seconds(outcome.ours) if row.measure == "ratio" else ""
    theirs = "" if outcome.theirs is None else _seconds(outcome.theirs)
    said = {None: "", True: "yes", False: "NO"}
    reached = "stretch" if row.reaches(row.stretch) else said[row.reaches(row.bar)]
    figure = _figure(row.measure, row.value)
    return row.work, row.peer, ours, theirs, figure, *bars, reached, said[outcome.agreed], outcome.note


def describe_machine() -> dict[str, str]:
    """Return what the figures depend on: processor, versions, kernels; no names of hosts or paths."""
    import numpy as np

    from wayscore import __version__, kernels

    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "wayscore": __version__,
        "kernels": kernels.description,
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _seconds(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def _figure(measure: Measure, value: float | None) -> str:
    if value is None:
        return ""
    if measure in ("ratio", "growth"):
        return f"x{value:,.0f}" if value >= 100 else f"x{value:.3g}"
    return f"{value:.2g} {measure}" if value < 10 else f"{value:.0f} {measure}"


def _bar(row: Row, bar: float | None) -> str:
    if bar is None:
        return ""
    return _figure(row.measure, bar) if row.measure == "ratio" else f"<= {_figure(row.measure, bar)}"
