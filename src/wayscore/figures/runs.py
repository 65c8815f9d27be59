"""Galleries of many pairs of paths as small maps in rows, and figures of runs: their episodes, and single warpings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from wayscore.errors import OptionError
from wayscore.escaping import escape
from wayscore.figures.charts import draw_cost_matrix, figure_metrics
from wayscore.figures.episode import WarpedEpisode, drawable, up_in, warp_episode
from wayscore.figures.paths import Floats, Up, coordinates, draw_pair, draw_scale, flatten, legend_handles, window_of
from wayscore.figures.style import FAINT, PAGE, new_figure, style
from wayscore.report.layout import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from wayscore.distances.graph import Graph
    from wayscore.evaluation.result import Result
    from wayscore.warping.alignment import Alignment
    from wayscore.worlds import World

TITLE, LEGEND, GAP = 0.15, 0.2, 0.06  # inches: a line of text above a panel, the legend, and between panels


@dataclass(frozen=True, slots=True)
class Panel:
    """A pair of paths to draw, and what to write above it."""

    title: str
    reference: Any  # labels, or coordinates
    query: Any
    graph: Graph | World | None = None
    alignment: Alignment | None = None
    note: str = ""  # a second line in small type

    def flat(self, up: Up = "z") -> list[Floats]:
        """Return both paths as seen from above."""
        return [flatten(coordinates(path, self.graph), up) for path in (self.reference, self.query)]

    def draw(self, ax: Axes, up: Up = "z", **how: Any) -> None:
        """Draw the pair as `draw_pair` does."""
        pair = {"reference": self.reference, "query": self.query, "alignment": self.alignment}
        draw_pair(ax, self.graph, up=up, **pair, **how)


def figure_panels(
    panels: Sequence[Panel],
    *,
    columns: int = 6,
    up: Up = "z",
    scale: Literal["own", "one", "same"] = "own",
    caption: str = "",
) -> Figure:
    """Return a figure as wide as a page with a map for each pair, row by row.

    With `scale="own"`, each pair fills its panel and has its own scale bar; with "one", all have the same scale and one
    scale bar; with "same", all panels show the same part of the map.
    """
    flat = [panel.flat(up) for panel in panels]
    windows = [window_of(paths) for paths in flat]
    if scale == "one":
        windows = [(x, y, max(window[2] for window in windows)) for x, y, _ in windows]
    elif scale == "same":
        windows = [window_of([path for paths in flat for path in paths])] * len(panels)
    rows = math.ceil(len(panels) / columns)
    side = (PAGE - GAP * (columns + 1)) / columns
    above = TITLE + (0.1 if any(panel.note for panel in panels) else 0.0)
    height = rows * (side + above + GAP) + LEGEND
    with style():
        figure = new_figure(PAGE, height, layout=None)
        figure.set_label(caption)
        for number, (panel, window) in enumerate(zip(panels, windows, strict=True)):
            row, column = divmod(number, columns)
            left = GAP + column * (side + GAP)
            top = height - row * (side + above + GAP) - above
            ax = figure.add_axes((left / PAGE, (top - side) / height, side / PAGE, side / height))
            panel.draw(ax, up, size=0.22 + 0.3 * side, window=window)
            ax.set_title(panel.title, pad=2.5 + (7 if panel.note else 0))
            if panel.note:
                ax.text(0.5, 1, panel.note, size=5, color=FAINT, ha="center", va="bottom", transform=ax.transAxes)
            if scale == "own" or number == 0:
                draw_scale(ax, flat[number])
        links = any(panel.alignment is not None for panel in panels)
        figure.legend(handles=legend_handles(links=links), loc="lower center", ncols=5, borderaxespad=0.2)
    return figure


def figure_run_gallery(result: Result, *, count: int = 24, up: Up | None = None) -> Figure:
    """Draw episodes of a run, evenly spaced from the highest nDTW to the lowest, with their names.

    Args:
        result: the result of `wayscore.evaluate` for the run, with nDTW among its metrics.
        count: the number of episodes.
        up: the axis that points up, for three-dimensional positions; by default that of the references' format.
    """
    inputs = result.inputs
    if inputs is None or inputs.references is None:
        raise OptionError(
            f"{result.name}: this result has no paths to draw; evaluate the run with its references first"
        )
    references, queries = inputs.references, inputs.queries()
    values = dict(zip(result.episodes, result["nDTW"].tolist(), strict=True))
    ranked = sorted((name for name in values if name in queries), key=lambda name: -values[name])
    if not ranked:
        raise OptionError(f"{result.name} answers no episode of {references.name}, so there is none to draw")
    ranks = np.linspace(0, len(ranked) - 1, min(count, len(ranked))).round().astype(int)
    graphs = drawable(cast(Any, inputs.distances), references)  # paths of nodes have graphs
    options: dict[str, Any] = {"convention": inputs.convention, "threshold": result.settings["threshold"]}
    panels = []
    for rank in ranks.tolist():
        name = ranked[rank]
        one = warp_episode(references.episodes[name], queries[name], graphs, **options)
        panels.append(
            Panel(f"{one.ndtw:.2f}", one.reference, one.query, one.graph, one.alignment, note=_short(one.episode))
        )
    caption = (
        f"{counted(len(panels))} of {len(ranked):,} of {result.name} on {references.name}, evenly spaced from the "
        "highest nDTW to the lowest: reference (blue), query (the agent's trajectory, orange) and the warping between "
        "them (dashed), with nDTW and the episode's name above. Maps show paths from above, each at its own scale."
    )
    return figure_panels(panels, up=up or up_in(references), caption=caption)


def figure_run_metrics(result: Result, *, x: Sequence[str] = ("SR", "NE", "CLS"), y: str = "nDTW") -> Figure:
    """Draw one metric against others, one dot per episode of a run."""
    references = result.settings.get("references") or {"name": "its own references"}
    caption = (
        f"{y} against {', '.join(x)} of {result.name} on {references['name']}, one dot for each of "
        f"{counted(len(result))}. If a metric is either 0 or 1, boxes show quartiles and whiskers 5 to 95 %."
    )
    if "NE" in x:
        caption += f" Dashed: the success threshold, {result.settings['threshold']:g}."
    return figure_metrics(result, x=x, y=y, caption=caption)


def figure_alignment(one: WarpedEpisode, *, up: Up = "z") -> Figure:
    """Draw an episode's matrix of accumulated costs with the warping, next to a map of both paths."""
    caption = (
        f"Episode {one.episode} in {one.scene}: accumulated costs with the warping (left); reference (blue) and query "
        "(the agent's trajectory, orange) with the same warping, seen from above (right). "
        f"DTW {one.alignment.cost:.2f} {one.unit}, nDTW {one.ndtw:.3f}."
    )
    title = f"episode {_short(one.episode, 40)}: DTW {one.alignment.cost:.2f} {one.unit}, nDTW {one.ndtw:.3f}"
    panel = Panel(title, one.reference, one.query, one.graph, one.alignment)
    return draw_beside(panel, up=up, caption=caption, unit=one.unit)


def draw_beside(panel: Panel, *, up: Up = "z", caption: str = "", unit: str = "m") -> Figure:
    """Return a figure of the matrix (left) and the map (right) of a pair that has a warping."""
    assert panel.alignment is not None
    with style():
        figure = new_figure(PAGE, 3.5)
        figure.set_label(caption)
        left, right = figure.subplots(1, 2)
        draw_cost_matrix(left, panel.alignment, unit=unit)
        panel.draw(right, up)
        draw_scale(right, panel.flat(up))
        if panel.title:
            figure.suptitle(panel.title, size=7.5)
        figure.legend(handles=legend_handles(), loc="outside lower center", ncols=5)
    return figure


def _short(name: str, room: int = 22) -> str:
    return escape(name if len(name) <= room else f"{name[: room - 1]}…", "figure")
