"""The matrix of costs that DTW fills (the paper's Algorithm 1), with the warping through it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from wayscore.errors import OptionError
from wayscore.figures.style import INK, QUERY, REFERENCE
from wayscore.palette import COSTS, HIGHLIGHT, UNREACHABLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from wayscore.warping.alignment import Alignment

NUMBERS = 14  # up to this many rows and columns, each cell shows its cost
TICKS = 20  # up to this many nodes, each has a tick


def draw_cost_matrix(
    ax: Axes,
    alignment: Alignment,
    *,
    costs: Literal["cumulative", "local"] = "cumulative",
    numbers: bool | None = None,
    bar: bool | None = None,
    unit: str = "m",
) -> Axes:
    """Draw the costs between each node of the reference (rows) and of the query (columns), and the warping.

    Args:
        ax: where to draw.
        alignment: the result of `wayscore.align` or `wayscore.fast_dtw`.
        costs: "cumulative" for C of the paper's Algorithm 1, whose last cell is DTW; "local" for the distances.
        numbers: write its cost into each cell; by default if there are few cells.
        bar: add a colour bar; by default if there are no numbers.
        unit: the unit of the distance.
    """
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.ticker import MaxNLocator

    if costs not in ("cumulative", "local"):
        raise OptionError(f"costs must be 'cumulative' or 'local', got {costs!r}")
    values = alignment.matrix() if costs == "cumulative" else alignment.distances()
    rows, columns = values.shape
    small = max(rows, columns) <= NUMBERS
    numbers = small if numbers is None else numbers
    ramp = COSTS[:3] if numbers else COSTS  # numbers are readable on light colours only
    shades = LinearSegmentedColormap.from_list("costs", ramp).with_extremes(bad=UNREACHABLE)
    mesh = ax.pcolormesh(
        np.arange(1, columns + 1),
        np.arange(1, rows + 1),
        np.ma.masked_invalid(values),
        cmap=shades,
        vmin=0,
        shading="nearest",
        edgecolors="white" if small else "face",
        linewidth=0.4 if small else 0,
        rasterized=rows * columns > 2500,
    )
    i, j = alignment.pairs.T + 1
    if numbers:
        through, size = set(zip(i.tolist(), j.tolist(), strict=True)), min(6.0, 58 / max(rows, columns))
        for (row, column), cost in np.ndenumerate(values):
            weight = "bold" if (row + 1, column + 1) in through else "normal"
            text = f"{cost:.1f}" if np.isfinite(cost) else "∞"
            ax.text(column + 1, row + 1, text, size=size, weight=weight, ha="center", va="center", zorder=4)
        ax.plot(j, i, color=HIGHLIGHT, linewidth=7, solid_joinstyle="round", solid_capstyle="round", zorder=3)
    else:
        for color, width in (("white", 2.6), (INK, 1.2)):
            ax.plot(j, i, color=color, linewidth=width, solid_joinstyle="round", zorder=3)
    ax.lines[-1].set_label("warping")
    ax.set(xlim=(0.5, columns + 0.5), ylim=(rows + 0.5, 0.5))
    for axis, count in ((ax.xaxis, columns), (ax.yaxis, rows)):
        axis.set_major_locator(MaxNLocator(nbins=8, steps=[1, 2, 5, 10], integer=True))
        if count <= TICKS:
            axis.set_ticks(range(1, count + 1))
    ax.set_xlabel("query node $j$", color=QUERY)
    ax.set_ylabel("reference node $i$", color=REFERENCE)
    if numbers is False if bar is None else bar:
        label = "accumulated cost" if costs == "cumulative" else "distance"
        figure = ax.get_figure()
        assert figure is not None
        figure.colorbar(mesh, ax=ax, label=f"{label} ({unit})", shrink=0.9, pad=0.02).outline.set_visible(False)
    return ax
