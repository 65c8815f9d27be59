"""The results of a benchmark run: rows with their bars, and ratios over length; for people and for programs."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass, field
from pathlib import Path
from textwrap import wrap
from typing import Any, Literal

import numpy as np

from benchmarks.timing import Timing
from wayscore.report.document import Document, Table, breadth

TOLERANCE = 1e-9
"""Up to this relative difference two results are the same."""
Measure = Literal["ratio", "growth", "MB", "ms"]
"""ratio: the peer's time over ours, the more the better; growth is ours over the peer's, and like the others the less
the better."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one measurement.

    Attributes:
        ours: our time in seconds; or the value itself in MB or ms.
        theirs: the peer's time in seconds.
        agreed: whether both results are the same; None where there is nothing to compare.
        note: what else a reader should know.
    """

    ours: float
    theirs: float | None = None
    agreed: bool | None = None
    note: str = ""

    @classmethod
    def compared(cls, ours: Timing, theirs: Timing, note: str = "", scale: float = 1.0) -> Outcome:
        """Return the outcome of a race whose contestants must return the same numbers.

        Args:
            ours: of our call.
            theirs: of the peer's.
            note: what else a reader should know.
            scale: the peer did only 1 / scale of the work.
        """
        return cls(ours.seconds, theirs.seconds * scale, difference(ours.value, theirs.value) <= TOLERANCE, note)


def difference(ours: Any, theirs: Any) -> float:
    """Return the largest difference of two results, relative to the peer's (to 0.001 where that is smaller)."""
    a, b = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    if a.shape != b.shape:
        return float("inf")
    return float(np.max(np.abs(a - b) / np.maximum(np.abs(b), 1e-3), initial=0.0))


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
        if (outcome := self.outcome) is None:
            return None
        if self.measure in ("MB", "ms"):
            return outcome.ours
        if outcome.theirs is None:
            return None
        return outcome.theirs / outcome.ours if self.measure == "ratio" else outcome.ours / outcome.theirs

    def reaches(self, bar: float | None) -> bool | None:
        """Say whether the value reaches a bar; None where there is no value or no bar."""
        if (value := self.value) is None or bar is None:
            return None
        return value >= bar if self.measure == "ratio" else value <= bar

    @property
    def reached(self) -> str:
        """The best that was reached: "stretch", "yes", "NO", or "" without a bar."""
        if self.reaches(self.stretch):
            return "stretch"
        return {None: "", True: "yes", False: "NO"}[self.reaches(self.bar)]


@dataclass(frozen=True, slots=True)
class Curve:
    """Times of one peer beside ours for paths of several lengths; `panel` is what was computed, from what."""

    panel: str
    peer: str
    lengths: tuple[int, ...]
    ours: tuple[float, ...]
    theirs: tuple[float, ...]

    @property
    def ratios(self) -> list[float]:
        """The peer's time over ours at every length."""
        return [theirs / ours for ours, theirs in zip(self.ours, self.theirs, strict=True)]


@dataclass(frozen=True, slots=True)
class Report:
    """Every row of one run, and where and on what it ran."""

    rows: tuple[Row, ...]
    data: str
    quick: bool = False
    machine: dict[str, str] = field(default_factory=dict)
    curves: tuple[Curve, ...] = ()

    @property
    def missed(self) -> tuple[Row, ...]:
        """Rows that are below their bar, or whose results differ from the peer's."""
        return tuple(row for row in self.rows if row.reached == "NO" or (row.outcome and row.outcome.agreed is False))

    def to_json(self) -> str:
        """Return the run as JSON text, one line per row and curve (never NaN or infinity)."""
        head = {"data": self.data, "quick": self.quick, "machine": self.machine}
        lists = {
            "rows": [{**asdict(row), "value": row.value, "reached": row.reached} for row in self.rows],
            "curves": [asdict(curve) for curve in self.curves],
        }
        parts = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
        for key, values in lists.items():
            lines = ",\n".join(json.dumps(value, allow_nan=False) for value in values)
            parts.append(f"{json.dumps(key)}: [\n{lines}\n]")
        return "{" + ",\n".join(parts) + "}\n"

    @classmethod
    def from_json(cls, text: str) -> Report:
        """Return the run that `to_json` wrote."""
        content = json.loads(text)
        rows = []
        for row in content["rows"]:
            outcome = None if row["outcome"] is None else Outcome(**row["outcome"])
            given = {key: value for key, value in row.items() if key not in ("value", "reached", "outcome")}
            rows.append(Row(**given, outcome=outcome))
        curves = [
            Curve(c["panel"], c["peer"], *(tuple(c[name]) for name in ("lengths", "ours", "theirs")))
            for c in content["curves"]
        ]
        return cls(tuple(rows), content["data"], content["quick"], content["machine"], tuple(curves))

    def to_markdown(self) -> str:
        """Return the rows as a Markdown table."""
        rows = [[cell.replace("|", "\\|") for cell in cells(row)] for row in self.rows]
        head, *below = (f"| {' | '.join(row)} |\n" for row in (HEADINGS, *rows))
        return "".join([head, "|" + "---|" * len(HEADINGS) + "\n", *below])

    def to_text(self, width: int) -> str:
        """Return the rows as a table for a terminal; peers and notes stand below what was measured."""
        sizes = "a smoke test at small sizes, without bars" if self.quick else "CPU time of one thread"
        figures = sum(breadth(heading) + 4 for heading in HEADINGS[2:-1])
        rows = []
        for row in self.rows:
            work, peer, *values, note = cells(row)
            below = [line for text in (peer, note) for line in wrap(text, max(40, width - figures - 2))]
            rows.append(["\n  ".join([work, *below]), *values])
        table = Table(["work, peer, note", *HEADINGS[2:-1]], rows)
        return Document([f"wayscore against its peers: {sizes}", table, self.circumstances]).render(width=width)

    @property
    def circumstances(self) -> str:
        """Where and on what the figures were measured, as a sentence or two."""
        return f"Data: {self.data}. Machine: {', '.join(f'{key} {value}' for key, value in self.machine.items())}."


HEADINGS = ("work", "peer", "ours", "peer's", "result", "bar", "stretch", "reached", "agree", "note")


def cells(row: Row) -> tuple[str, ...]:
    """Return a row as text, in the order of `HEADINGS`."""
    bars = [_bar(row, row.bar), _bar(row, row.stretch)]
    if (outcome := row.outcome) is None:
        return row.work, row.peer, "", "", "", *bars, "", "", row.problem
    ours = _seconds(outcome.ours) if row.measure in ("ratio", "growth") else ""
    theirs = "" if outcome.theirs is None else _seconds(outcome.theirs)
    agreed = {None: "", True: "yes", False: "NO"}[outcome.agreed]
    return row.work, row.peer, ours, theirs, _figure(row.measure, row.value), *bars, row.reached, agreed, outcome.note


def describe_machine() -> dict[str, str]:
    """Return what the figures depend on: processor, versions, kernels; no names of hosts or paths."""
    from wayscore import __version__, kernels

    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "wayscore": __version__,
        "kernels": f"{kernels.name}, {kernels.lanes}",
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
