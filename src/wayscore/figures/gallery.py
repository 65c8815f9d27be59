"""Many pairs of paths as small maps in rows, for the comparison set and both galleries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from wayscore.figures.paths import Up, coordinates, draw_pair, draw_scale, flatten, legend_handles, window_of
from wayscore.figures.style import FAINT, PAGE, new_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from wayscore.distances.graph import Graph
    from wayscore.warping.alignment import Alignment
    from wayscore.worlds import World

TITLE = 0.15
"""Space above a panel for a line of text, inches."""
LEGEND = 0.2
GAP = 0.06


@dataclass(frozen=True, slots=True)
class Panel:
    """A pair of paths to draw, and what to write above it.

    Attributes:
        title: a short text.
        reference: labels, or coordinates.
        query: labels, or coordinates.
        graph: the graph, if paths are labels.
        alignment: the warping to show, if any.
        note: a second line in small type.
    """

    title: str
    reference: Any
    query: Any
    graph: Graph | World | None = None
    alignment: Alignment | None = None
    note: str = ""


def figure_panels(
    panels: Sequence[Panel],
    *,
    columns: int = 6,
    up: Up = "z",
    scale: Literal["own", "one", "same"] = "own",
    caption: str = "",
) -> Figure:
    """Return a figure as wide as a page with a map for each pair.

    Args:
        panels: the pairs, row by row.
        columns: the number of panels in a row.
        up: the axis that points up, for three-dimensional positions.
        scale: "own": each pair fills its panel and has its own scale bar; "one": all have the same scale, with one
            scale bar; "same": all panels show the same part of the map.
        caption: the figure's label.
    """
    flat = [[flatten(coordinates(path, p.graph), up) for path in (p.reference, p.query)] for p in panels]
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
            draw_pair(
                ax,
                panel.graph,
                reference=panel.reference,
                query=panel.query,
                alignment=panel.alignment,
                up=up,
                size=0.22 + 0.3 * side,
                window=window,
            )
            ax.set_title(panel.title, pad=2.5 + (7 if panel.note else 0))
            if panel.note:
                ax.text(0.5, 1, panel.note, size=5, color=FAINT, ha="center", va="bottom", transform=ax.transAxes)
            if scale == "own" or number == 0:
                draw_scale(ax, flat[number])
        links = any(panel.alignment is not None for panel in panels)
        figure.legend(handles=legend_handles(links=links), loc="lower center", ncols=5, borderaxespad=0.2)
    return figure
