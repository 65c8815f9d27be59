"""Charts: the costs that DTW fills (the paper's Algorithm 1), one metric against another, learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from wayscore.errors import OptionError
from wayscore.escaping import escape
from wayscore.figures.style import CYCLE, FAINT, FRAME, INK, PAGE, QUERY, REFERENCE, new_figure, style
from wayscore.metrics import find_metrics
from wayscore.palette import COSTS, HIGHLIGHT, UNREACHABLE
from wayscore.report.layout import counted, is_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from wayscore.evaluation.result import Result
    from wayscore.evaluation.table import ScoreTable
    from wayscore.metrics import Metric
    from wayscore.warping.alignment import Alignment

    Scores: TypeAlias = ScoreTable | Result


NUMBERS = 14  # up to this many rows and columns, each cell shows its cost
TICKS = 20  # up to this many nodes, each has a tick
GOLDEN = (5**0.5 - 1) / 2  # its multiples fill an interval evenly: dots of one value are spread without random numbers


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


def draw_metric_scatter(ax: Axes, table: Scores | Mapping[str, Scores], *, x: str = "NE", y: str = "nDTW") -> Axes:
    """Draw each episode as a dot, with one metric on each axis; each table has its own colour.

    If `x` is either 0 or 1 (SR, OSR), dots are spread horizontally and boxes show quartiles. Episodes in which a metric
    is undefined are left out and counted.

    Args:
        ax: where to draw.
        table: scores of one run, or name -> scores.
        x: the symbol of the metric on the horizontal axis.
        y: the symbol of the metric on the vertical axis.
    """
    tables = table if isinstance(table, Mapping) else {"": table}
    both = {name: np.column_stack((some[x], some[y])) for name, some in tables.items()}
    yes_or_no = bool(np.isin(np.concatenate(list(both.values()))[:, 0], (0.0, 1.0)).all())
    drawn = {name: points[np.isfinite(points).all(axis=1)] for name, points in both.items()}
    total, everything = sum(map(len, both.values())), np.concatenate(list(drawn.values()))
    for number, (name, points) in enumerate(drawn.items()):
        spread = 0.66 * (np.arange(1, len(points) + 1) * GOLDEN % 1 - 0.5) if yes_or_no else 0.0
        ax.scatter(
            points[:, 0] + spread,
            points[:, 1],
            s=float(np.clip(2500 / max(total, 1), 1.8, 9)),
            color=CYCLE[number % len(CYCLE)],
            alpha=float(np.clip(900 / max(total, 1), 0.4, 0.8)),
            linewidths=0,
            label=escape(name.replace("_", " "), "figure"),
            rasterized=total > 20_000,
        )
    if yes_or_no:
        groups = [everything[everything[:, 0] == value, 1] for value in (0.0, 1.0)]
        present = [number for number, group in enumerate(groups) if len(group)]
        widths = {"box": 0.7, "whisker": 0.7, "cap": 0.7, "median": 1.5}
        lines: Any = {f"{part}props": {"color": INK, "linewidth": width} for part, width in widths.items()}
        lines |= {"widths": 0.76, "whis": (5, 95), "showfliers": False, "manage_ticks": False, "zorder": 3}
        ax.boxplot([groups[number] for number in present], positions=present, **lines)
        ax.set_xlim(-0.55, 1.55)
        ax.set_xticks([0, 1], [f"{number} (n = {len(group):,})" for number, group in enumerate(groups)])
    elif x == "NE" and "threshold" in (settings := next(iter(tables.values())).settings):
        ax.axvline(settings["threshold"], color=FAINT, linewidth=0.7, linestyle=(0, (3, 2)), zorder=0.5)
    horizontal, vertical = find_metrics([x])[0], find_metrics([y])[0]
    ax.set_xlabel(_label(horizontal))
    ax.set_ylabel(_label(vertical))
    if is_share(horizontal) and not yes_or_no:
        ax.set_xlim(-0.03, 1.03)
    if is_share(vertical):
        ax.set_ylim(-0.03, 1.03)
    if left_out := total - len(everything):
        where: dict[str, Any] = {"ha": "right", "va": "top", "transform": ax.transAxes}
        ax.text(1, 1, f"{counted(left_out)} undefined", size=5.5, color=FAINT, **where)
    return ax


def figure_metrics(
    table: Scores | Mapping[str, Scores], *, x: Sequence[str] = ("SR", "NE", "CLS"), y: str = "nDTW", caption: str = ""
) -> Figure:
    """Return a figure as wide as a page: one metric against each of several others."""
    with style():
        figure = new_figure(PAGE, 2.4 if isinstance(table, Mapping) else 2.1)
        figure.set_label(caption)
        panels = figure.subplots(1, len(x), sharey=True, squeeze=False)[0]
        for ax, metric in zip(panels, x, strict=True):
            draw_metric_scatter(ax, table, x=metric, y=y)
            ax.label_outer()
        if isinstance(table, Mapping):
            handles, names = panels[0].get_legend_handles_labels()
            legend = figure.legend(handles, names, loc="outside lower center", ncols=len(table), handletextpad=0.1)
            for handle in filter(None, legend.legend_handles):
                handle.set(alpha=1, sizes=[12])
    return figure


def _label(metric: Metric) -> str:
    return f"{metric.symbol} ({metric.unit})" if metric.unit else metric.symbol


def draw_learning_curves(
    ax: Axes,
    curves: Mapping[str, tuple[Any, Any]],
    *,
    band: Literal["range", "deviation"] = "range",
    x: str = "step",
    y: str = "nDTW",
) -> Axes:
    """Draw learning curves.

    Args:
        ax: where to draw.
        curves: name -> (steps, values), where steps are (n,) and values (seeds, n), or (n,) for one seed.
        band: what the band shows: "range", from the lowest seed to the highest; "deviation", one standard deviation on
            both sides of the mean.
        x: the label of the horizontal axis.
        y: the label of the vertical axis.
    """
    if band not in ("range", "deviation"):
        raise OptionError(f"band must be 'range' or 'deviation', got {band!r}")
    for number, (name, (steps, values)) in enumerate(curves.items()):
        at, seeds = np.asarray(steps, dtype=np.float64), np.atleast_2d(np.asarray(values, dtype=np.float64))
        if at.ndim != 1 or seeds.shape[1:] != at.shape or not seeds.size:
            raise OptionError(
                f"curve {name!r} has steps of shape {at.shape} and values of shape {np.shape(values)}; "
                "expected (n,) and (seeds, n)"
            )
        mean = seeds.mean(axis=0)
        color = CYCLE[number % len(CYCLE)]
        if len(seeds) > 1:
            low, high = seeds.min(axis=0), seeds.max(axis=0)
            if band == "deviation":
                apart = seeds.std(axis=0, ddof=1)
                low, high = mean - apart, mean + apart
            ax.fill_between(at, low, high, color=color, alpha=0.2, linewidth=0, zorder=2)
        ax.plot(at, mean, color=color, linewidth=1.3, zorder=3, label=escape(name, "figure"))
    ax.set(xlabel=x, ylabel=y)
    ax.margins(x=0.02)
    ax.grid(axis="y", color=FRAME, linewidth=0.5)
    ax.set_axisbelow(True)
    if len(curves) > 1:
        ax.legend()
    return ax
