"""Figures of an audit on real systems: rankings, redundancy, power, stability."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayscore.figures.style import FAINT, FRAME, INK, PAGE, QUERY, REFERENCE, new_figure, style
from wayscore.lab.audit.systems.rankings import Matrix
from wayscore.lab.audit.systems.systems import Systems
from wayscore.palette import COSTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW = 0.17
"""Inches for each metric."""
CAPTION = (
    "Upper left: Kendall's tau between the rankings of the systems by two metrics. Upper right: Spearman's rho between "
    "two metrics over episodes, within systems. Lower left: share of pairs of systems that a metric tells apart "
    "(p < 0.05) with more and more paths, from light to dark. Lower right: Kendall's tau between the ranking by "
    "resampled episodes and that by all of them: mean (dot) and 2.5 % quantile (end of the line). "
)


def figure_systems(systems: Systems) -> Figure:
    """Draw rankings, redundancy, power and stability."""
    height = ROW * len(systems.metrics)
    with style():
        figure = new_figure(PAGE, 2 * height + 1.9)
        figure.set_label(f"{CAPTION}{systems.scope()}.")
        (upper, upper_right), (lower, lower_right) = figure.subplots(2, 2)
        draw_matrix(upper, systems.agreement, title="agreement of rankings (Kendall's tau)")
        draw_matrix(upper_right, systems.correlations, title="agreement on episodes (Spearman's rho)")
        draw_power(lower, systems)
        draw_stability(lower_right, systems)
    return figure


def draw_matrix(ax: Axes, matrix: Matrix, *, title: str = "") -> Axes:
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
    return ax


def draw_power(ax: Axes, systems: Systems) -> Axes:
    """Draw for each metric the share of pairs that it tells apart, one dot per number of paths."""
    sizes = systems.power[0].paths
    for row, one in enumerate(systems.power):
        ax.plot(one.told_apart, [row] * len(sizes), color=FRAME, linewidth=1.0, zorder=1)
        for place, share in enumerate(one.told_apart):
            depth = 0.25 + 0.75 * (place + 1) / len(sizes)
            ax.plot(share, row, "o", color=REFERENCE, alpha=depth, markersize=3.6, markeredgewidth=0, zorder=2)
    _rows(ax, [one.metric for one in systems.power])
    counts = ", ".join(map(str, sizes))
    ax.set(title="pairs of systems told apart", xlabel=f"share of pairs with {counts} paths", xlim=(0, 1))
    return ax


def draw_stability(ax: Axes, systems: Systems) -> Axes:
    """Draw for each metric how far rankings change if paths or scans are drawn again."""
    kinds = list(dict.fromkeys(one.cluster for one in systems.stability))
    symbols = [metric.symbol for metric in systems.metrics]
    for one in systems.stability:
        place = kinds.index(one.cluster)
        row = symbols.index(one.metric) + (0.18 if place else -0.18) * (len(kinds) > 1)
        color = QUERY if place else REFERENCE
        label = f"other {one.cluster}s" if one.metric == symbols[0] else None
        ax.plot([one.low, one.tau], [row, row], color=color, linewidth=1.1, solid_capstyle="butt")
        ax.plot(one.tau, row, "o", color=color, markersize=3.2, label=label)
    _rows(ax, symbols)
    ax.set(title="stability of rankings", xlabel="Kendall's tau", xlim=(None, 1.0))
    ax.legend(loc="lower left")
    return ax


def _rows(ax: Axes, symbols: list[str]) -> None:
    ax.set_yticks(range(len(symbols)), symbols, size=5.8)
    ax.set_ylim(len(symbols) - 0.4, -0.6)
    ax.grid(axis="x", color=FRAME, linewidth=0.5)
    ax.set_axisbelow(True)
    ax.tick_params(axis="y", length=0, colors=INK)
    ax.spines["left"].set_color(FAINT)
