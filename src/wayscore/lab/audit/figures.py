"""Figures of audits: responses to changed episodes, real systems, and people's judgements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wayscore.errors import OptionError
from wayscore.figures.style import FAINT, FRAME, INK, PAGE, QUERY, REFERENCE, new_figure, style
from wayscore.lab.audit.battery.battery import SAME, Battery
from wayscore.lab.audit.battery.responses import Response
from wayscore.lab.audit.people.people import METHODS, PeopleAudit
from wayscore.lab.audit.systems.scoreboard import Matrix
from wayscore.lab.audit.systems.systems import Systems
from wayscore.metrics import Metric
from wayscore.palette import COSTS, light
from wayscore.report.layout import ARROWS, counted, is_share

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
    """Draw every response in a cell of one grid; the first experiment and metric are in the upper left corner."""
    rows, columns = len(battery.experiments), len(battery.metrics)
    outcomes = {(one.claim.metric, one.claim.experiment): one.outcome for one in battery.findings}
    with style():
        figure = new_figure(PAGE, ROW * (rows + 1) + 0.25)
        figure.set_label(f"{CAPTION}{battery.scope()}.")
        ax = figure.subplots()
        heads = []
        for column, metric in enumerate(battery.metrics):
            responses = [battery.of(metric.symbol, one.name) for one in battery.experiments]
            whole = _full_scale(metric, responses)
            scale = "100 %" if is_share(metric) else f"{whole:.3g} {metric.unit}".rstrip()
            heads.append(f"{metric.symbol} {ARROWS[metric.direction]}\n±{scale}")
            for row, one in enumerate(responses):
                if (outcome := outcomes.get((metric.symbol, one.experiment))) is not None:
                    edges, color = [column - 0.5, column + 0.5], BACKGROUND[outcome]
                    ax.fill_between(edges, row - 0.5, row + 0.5, color=color, linewidth=0, zorder=0)
                _draw_curve(ax, one, metric, column, row, whole)
        for line in np.arange(rows + 1) - 0.5:
            ax.axhline(line, color=FRAME, linewidth=0.4, zorder=1)
        for line in np.arange(columns + 1) - 0.5:
            ax.axvline(line, color=FRAME, linewidth=0.4, zorder=1)
        ax.set_xticks(range(columns), heads, size=5.6)
        ax.set_yticks(range(rows), [one.name for one in battery.experiments])
        ax.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
        for spine in ax.spines.values():
            spine.set_visible(False)
        ax.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    return figure


def _full_scale(metric: Metric, responses: list[Response]) -> float:
    """Return the change that reaches the edge of a cell: 1 for shares, else the largest, scaling left out."""
    if is_share(metric):
        return 1.0
    known = {one.experiment: abs(one.largest) for one in responses if one.largest is not None}
    others = [largest for name, largest in known.items() if name not in SCALED]
    return max(others, default=0.0) or max(known.values(), default=0.0) or 1.0


def _draw_curve(ax: Axes, response: Response, metric: Metric, column: int, row: int, whole: float) -> None:
    if response.largest is None or any(one.mean is None for one in response.changes):
        ax.text(column, row, "undefined", size=4.5, color=FAINT, ha="center", va="center")
        return
    if response.verdict.word in (*SAME, "unclear"):
        color = FAINT
    elif metric.direction is None:
        color = INK
    else:
        color = BETTER if (response.largest > 0) == (metric.direction == "up") else WORSE
    at = column + np.linspace(-ROOM, ROOM, len(response.changes) + 1)
    curves = np.array([(0.0, 0.0, 0.0), *response.changes], dtype=np.float64).T  # mean, low, high
    mean, low, high = row - ROOM * np.clip(curves / whole, -1, 1)
    ax.plot(at[[0, -1]], [row, row], color=FAINT, linewidth=0.4, linestyle=(0, (1, 2)), zorder=2)
    ax.fill_between(at, low, high, color=color, alpha=0.25, linewidth=0, zorder=2)
    ax.plot(at, mean, color=color, linewidth=1.0, zorder=3, solid_joinstyle="round")


SYSTEMS_ROW = 0.17
"""Inches for each metric."""
SYSTEMS_CAPTION = (
    "Upper left: Kendall's tau between the rankings of the systems by two metrics. Upper right: Spearman's rho between "
    "two metrics over episodes, within systems. Lower left: share of pairs of systems that a metric tells apart "
    "(p < 0.05) with more and more paths, from light to dark. Lower right: Kendall's tau between the ranking by "
    "resampled episodes and that by all of them: mean (dot) and 2.5 % quantile (end of the line). "
)


def figure_systems(systems: Systems) -> Figure:
    """Draw rankings, redundancy, power and stability."""
    with style():
        figure = new_figure(PAGE, 2 * SYSTEMS_ROW * len(systems.metrics) + 1.9)
        figure.set_label(f"{SYSTEMS_CAPTION}{systems.scope()}.")
        (upper, upper_right), (lower, lower_right) = figure.subplots(2, 2)
        _draw_matrix(upper, systems.agreement, "agreement of rankings (Kendall's tau)")
        _draw_matrix(upper_right, systems.correlations, "agreement on episodes (Spearman's rho)")
        _draw_power(lower, systems)
        _draw_stability(lower_right, systems)
    return figure


def _draw_matrix(ax: Axes, matrix: Matrix, title: str) -> None:
    """Draw a matrix of correlations, each as a shade and a number."""
    from matplotlib.colors import LinearSegmentedColormap

    symbols = list(matrix)
    values = np.array([[matrix[a][b] for b in symbols] for a in symbols])
    shades = LinearSegmentedColormap.from_list("correlations", [QUERY, COSTS[0], REFERENCE])
    ax.imshow(values, cmap=shades, vmin=-1, vmax=1, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        tone = "white" if abs(value) > 0.7 else INK
        ax.text(column, row, f"{value:.2f}".replace("0.", ".", 1), size=4.6, color=tone, ha="center", va="center")
    ax.set_xticks(range(len(symbols)), symbols, rotation=45, ha="right", rotation_mode="anchor", size=5.8)
    ax.set_yticks(range(len(symbols)), symbols, size=5.8)
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_title(title)


def _draw_power(ax: Axes, systems: Systems) -> None:
    """Draw for each metric the share of pairs that it tells apart, one dot per number of paths."""
    sizes = systems.power[0].paths
    for row, one in enumerate(systems.power):
        ax.plot(one.told_apart, [row] * len(sizes), color=FRAME, linewidth=1.0, zorder=1)
        for place, share in enumerate(one.told_apart):
            depth = 0.25 + 0.75 * (place + 1) / len(sizes)
            ax.plot(share, row, "o", color=REFERENCE, alpha=depth, markersize=3.6, markeredgewidth=0, zorder=2)
    _name_rows(ax, [one.metric for one in systems.power])
    counts = ", ".join(map(str, sizes))
    ax.set(title="pairs of systems told apart", xlabel=f"share of pairs with {counts} paths", xlim=(0, 1))


def _draw_stability(ax: Axes, systems: Systems) -> None:
    """Draw for each metric how far rankings change if paths or scans are resampled."""
    kinds = list(dict.fromkeys(one.cluster for one in systems.stability))
    symbols = [metric.symbol for metric in systems.metrics]
    for one in systems.stability:
        place = kinds.index(one.cluster)
        row = symbols.index(one.metric) + (0.18 if place else -0.18) * (len(kinds) > 1)
        color = QUERY if place else REFERENCE
        label = f"other {one.cluster}s" if one.metric == symbols[0] else None
        ax.plot([one.low, one.tau], [row, row], color=color, linewidth=1.1, solid_capstyle="butt")
        ax.plot(one.tau, row, "o", color=color, markersize=3.2, label=label)
    _name_rows(ax, symbols)
    ax.set(title="stability of rankings", xlabel="Kendall's tau", xlim=(None, 1.0))
    ax.legend(loc="lower left")


def _name_rows(ax: Axes, symbols: list[str]) -> None:
    ax.set_yticks(range(len(symbols)), symbols, size=5.8)
    ax.set_ylim(len(symbols) - 0.4, -0.6)
    ax.grid(axis="x", color=FRAME, linewidth=0.5)
    ax.set_axisbelow(True)
    ax.tick_params(axis="y", length=0, colors=INK)
    ax.spines["left"].set_color(FAINT)


PEOPLE_ROW = 0.17
"""Inches for each metric."""
ENDS = ("SR", "OSR", "NE", "ONE")
"""Metrics that look at the goal alone; the others look at the path, or at both."""


def figure_people(audits: Sequence[PeopleAudit]) -> Figure:
    """Draw the correlation of each metric with people's judgements, one panel for each audit."""
    if not audits:
        raise OptionError("a figure needs at least one audit")
    rows = max(len(audit.correlations) for audit in audits)
    with style():
        figure = new_figure(PAGE, PEOPLE_ROW * rows + 0.75)
        warned = "SIMULATED raters: no person gave these judgements. " if any(one.simulated for one in audits) else ""
        parts = [f"{one.name}, {one.rating}: {one.scope()} {one.summary()}" for one in audits]
        figure.set_label(
            f"{warned}Rank correlation of each metric with people's judgements, with 95 % intervals. {' '.join(parts)}"
        )
        panels = figure.subplots(1, len(audits), squeeze=False, sharex=True)[0]
        for ax, audit in zip(panels, audits, strict=True):
            _draw_audit(ax, audit)
        handles, names = panels[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower right", ncols=2)
    return figure


def _draw_audit(ax: Axes, audit: PeopleAudit) -> None:
    """Draw one audit, the largest correlation at the top; undefined ones have no mark."""
    rows = np.arange(len(audit.correlations))[::-1]
    for label, color, marker, goal in (
        ("at the goal only", QUERY, "s", True),
        ("along the path", REFERENCE, "o", False),
    ):
        for row, one in zip(rows, audit.correlations, strict=True):
            found = getattr(one, audit.method)
            if (one.metric in ENDS) == goal and found.mean is not None:
                ax.plot([found.low, found.high], [row, row], color=color, linewidth=1.2, solid_capstyle="butt")
                ax.plot(found.mean, row, marker, color=color, markersize=3.6, label=label, linestyle="none")
                label = "_again"  # so that the legend has it once
    ax.axvline(0, color=FAINT, linewidth=0.6, linestyle=(0, (3, 2)), zorder=0)
    ax.set_yticks(rows, [one.metric for one in audit.correlations], color=INK)
    what = counted(audit.judgements, audit.unit)
    ax.set(ylim=(-0.6, len(rows) - 0.4), title=f"{audit.name}: {audit.rating} ({what})")
    ax.set_xlabel(METHODS[audit.method])
