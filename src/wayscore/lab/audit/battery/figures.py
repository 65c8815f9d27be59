"""The response curves of a battery as small multiples: one row per experiment, one column per metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayscore.figures.style import FAINT, FRAME, INK, PAGE, QUERY, new_figure, style
from wayscore.lab.audit.battery.battery import Battery
from wayscore.lab.audit.battery.claims import SAME
from wayscore.lab.audit.battery.responses import Response
from wayscore.metrics import Metric
from wayscore.palette import light
from wayscore.report.layout import ARROWS, is_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW = 0.36
"""Inches for each experiment."""
ROOM = 0.42
"""Half of a cell that curves may fill."""
SCALED = ("scale", "scale-only")
"""Experiments that multiply metres, which says nothing about the others."""
BACKGROUND = {"holds": light("better-soft"), "fails": light("worse-soft"), "unclear": light("warning")}
WORSE, BETTER = QUERY, light("better")
CAPTION = (
    "Mean change of each metric (columns) as the change of the episodes (rows) grows from left to right, with 95 % "
    "intervals; dotted: no change. All cells of a column have the scale below its name; larger changes are cut. "
    "Orange: the metric gets worse, green: better, black: neither is better, grey: it does not change, or by too "
    "little to matter. Shaded green: a claim of the paper holds; shaded orange: it fails. "
)


def figure_battery(battery: Battery) -> Figure:
    """Draw all responses of a battery."""
    rows, columns = len(battery.experiments), len(battery.metrics)
    with style():
        figure = new_figure(PAGE, ROW * (rows + 1) + 0.25)
        figure.set_label(f"{CAPTION}{battery.scope()}.")
        ax = figure.subplots()
        draw_responses(ax, battery)
        ax.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    return figure


def draw_responses(ax: Axes, battery: Battery) -> Axes:
    """Draw every response in a cell of one grid; the first experiment and metric are in the upper left corner."""
    outcomes = {(one.claim.metric, one.claim.experiment): one.outcome for one in battery.findings}
    places = {one.name: row for row, one in enumerate(battery.experiments)}
    heads = []
    for column, metric in enumerate(battery.metrics):
        responses = [one for one in battery.responses if one.metric == metric.symbol]
        whole = full_scale(metric, responses)
        heads.append(f"{metric.symbol} {ARROWS[metric.direction]}\n±{_scale_text(metric, whole)}")
        for one in responses:
            row = places[one.experiment]
            outcome = outcomes.get((metric.symbol, one.experiment))
            if outcome is not None:
                ax.fill_between(
                    [column - 0.5, column + 0.5], row - 0.5, row + 0.5, color=BACKGROUND[outcome], linewidth=0, zorder=0
                )
            _draw_curve(ax, one, metric, column, row, whole)
    for line in np.arange(len(battery.experiments) + 1) - 0.5:
        ax.axhline(line, color=FRAME, linewidth=0.4, zorder=1)
    for line in np.arange(len(battery.metrics) + 1) - 0.5:
        ax.axvline(line, color=FRAME, linewidth=0.4, zorder=1)
    ax.set_xticks(range(len(heads)), heads, size=5.6)
    ax.set_yticks(range(len(places)), list(places))
    ax.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
    for spine in ax.spines.values():
        spine.set_visible(False)
    return ax


def full_scale(metric: Metric, responses: list[Response]) -> float:
    """Return the change that reaches the edge of a cell: 1 for shares, else the largest, scaling left out."""
    if is_share(metric):
        return 1.0
    known = {one.experiment: abs(one.largest) for one in responses if one.largest is not None}
    others = [largest for name, largest in known.items() if name not in SCALED]
    return max(others, default=0.0) or max(known.values(), default=0.0) or 1.0


def _draw_curve(ax: Axes, response: Response, metric: Metric, column: int, row: int, whole: float) -> None:
    known = [one for one in response.changes if one.mean is not None]
    if len(known) < len(response.changes):
        ax.text(column, row, "undefined", size=4.5, color=FAINT, ha="center", va="center")
        return
    color = _color(metric, response)
    at = column + np.linspace(-ROOM, ROOM, len(known) + 1)
    mean, low, high = (
        row - ROOM * np.clip(np.array([0.0, *(one[place] or 0.0 for one in known)]) / whole, -1, 1)
        for place in range(3)
    )
    ax.plot(at[[0, -1]], [row, row], color=FAINT, linewidth=0.4, linestyle=(0, (1, 2)), zorder=2)
    ax.fill_between(at, low, high, color=color, alpha=0.25, linewidth=0, zorder=2)
    ax.plot(at, mean, color=color, linewidth=1.0, zorder=3, solid_joinstyle="round")


def _color(metric: Metric, response: Response) -> str:
    if response.verdict.word in (*SAME, "unclear"):
        return FAINT
    largest = response.largest or 0.0
    if metric.direction is None:
        return INK
    return BETTER if (largest > 0) == (metric.direction == "up") else WORSE


def _scale_text(metric: Metric, whole: float) -> str:
    return "100 %" if is_share(metric) else f"{whole:.3g} {metric.unit}".rstrip()
