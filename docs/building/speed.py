"""The page on speed: its picture and its table, both from the figures of the last benchmark run."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.readme import RESULTS
from benchmarks.report import Curve, Report, cells
from docs.building.tables import table
from wayscore.figures import PAGE, new_figure
from wayscore.figures.style import CYCLE, FAINT, INK

MARKS = "osD^v"


@cache
def report() -> Report:
    """Return the last run."""
    return Report.from_json(RESULTS.read_text(encoding="utf-8"))


def speed(_: Path) -> str:
    """Show every row: what was measured, against whom, both times and the result."""
    rows = []
    for row in report().rows:
        work, peer, ours, theirs, result, bar, *_rest = cells(row)
        rows.append((work, peer, ours, theirs, f"**{result}**" if row.reached == "NO" else result, bar))
    return table(
        ("work", "against", "ours", "theirs", "result", "bar"), rows, right=("ours", "theirs", "result", "bar")
    )


def circumstances(_: Path) -> str:
    """Say where the figures were measured."""
    return report().circumstances


def ratios() -> Any:
    """Every peer's time over ours by the length of both paths, one panel for each kind of call."""
    panels: dict[str, list[Curve]] = {}
    for curve in report().curves:
        panels.setdefault(curve.panel, []).append(curve)
    peers = list(dict.fromkeys(curve.peer for curve in report().curves))
    values = [ratio for curve in report().curves for ratio in curve.ratios]
    figure = new_figure(PAGE, 5.0)
    axes = figure.subplots(2, 2, sharex=True, sharey=True)
    for ax, (panel, curves) in zip(axes.flat, panels.items(), strict=True):
        ax.axhspan(min(values) / 10, 1, color=FAINT, alpha=0.13, linewidth=0)
        ax.axhline(1, color=INK, linewidth=1.0)
        for curve in curves:
            ax.plot(curve.lengths, curve.ratios, label=curve.peer, markersize=3, **_look(peers.index(curve.peer)))
        ax.set(title=panel, xscale="log", yscale="log", ylim=(min(values) / 1.6, max(values) * 1.6))
        ax.yaxis.set_major_formatter(lambda value, _: f"x{value:g}" if value < 1000 else f"x{value:,.0f}")
        ax.set_xticks([5, 10, 50, 100, 500, 1_000, 5_000], ["5", "10", "50", "100", "500", "1,000", "5,000"])
        ax.minorticks_off()
        ax.text(0.985, 0.02, "wayscore is slower", color=FAINT, ha="right", transform=ax.transAxes)
    figure.supxlabel("nodes or points of both paths", fontsize=7)
    figure.supylabel("the peer's CPU time over wayscore's", fontsize=7)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=len(peers))
    return figure


def _look(number: int) -> dict[str, Any]:
    return {"color": CYCLE[number], "marker": MARKS[number], "linewidth": 1.2}
