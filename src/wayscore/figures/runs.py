"""Figures of real runs: a gallery of their episodes, and one episode's warping beside its map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayscore.convention import Convention
from wayscore.errors import OptionError
from wayscore.evaluation.runs import ScoredRun
from wayscore.figures.episode import WarpedEpisode, warp_episode
from wayscore.figures.gallery import Panel, figure_panels
from wayscore.figures.matrix import draw_cost_matrix
from wayscore.figures.paths import Up, draw_pair, draw_scale, flatten, legend_handles, places
from wayscore.figures.scatter import figure_metrics
from wayscore.figures.style import PAGE, new_figure, style
from wayscore.report.layout import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from wayscore.distances.graph import Graph
    from wayscore.warping.alignment import Alignment
    from wayscore.worlds import World


def figure_run_gallery(
    scored: ScoredRun,
    graphs: Mapping[str, Graph] | None = None,
    *,
    count: int = 24,
    convention: str | Path | Convention = "paper",
    threshold: float | None = None,
    up: Up = "z",
) -> Figure:
    """Draw episodes of a run, evenly from the highest nDTW to the lowest, with their names.

    Args:
        scored: a run with its scores.
        graphs: scene -> graph; None where paths are coordinates.
        count: how many episodes.
        convention: what the run was scored by.
        threshold: what it was scored with; the convention's by default.
        up: the axis of three-dimensional positions that is looked along.
    """
    pairs = {reference.episode: (reference, query) for reference, query in scored.joined.pairs}
    values = dict(zip(scored.table.episodes, scored.table["nDTW"].tolist(), strict=True))
    ranked = sorted(pairs, key=lambda name: -values[name])
    if not ranked:
        raise OptionError(f"{scored.name} answers no episode of {scored.joined.references}, so there is none to draw")
    ranks = np.linspace(0, len(ranked) - 1, min(count, len(ranked))).round().astype(int)
    panels = []
    for rank in ranks.tolist():
        one = warp_episode(*pairs[ranked[rank]], graphs, convention=convention, threshold=threshold)
        panels.append(
            Panel(f"{one.ndtw:.2f}", one.reference, one.query, one.graph, one.alignment, note=_short(one.episode))
        )
    caption = (
        f"{counted(len(panels))} of {scored.name}'s {len(ranked):,} on {scored.joined.references}, evenly from the "
        "highest nDTW to the lowest: reference (blue), query (orange) and the warping between them (dashed), with "
        "nDTW and the episode's name above. Seen from above; each map has its own scale."
    )
    return figure_panels(panels, up=up, caption=caption)


def figure_run_metrics(scored: ScoredRun, *, x: Sequence[str] = ("SR", "NE", "CLS"), y: str = "nDTW") -> Figure:
    """Draw one metric against others, a dot an episode of a run."""
    caption = (
        f"{y} against {', '.join(x)} of {scored.name} on {scored.joined.references}, a dot for each of "
        f"{counted(len(scored.table))}. Where a metric is 0 or 1, boxes show quartiles and whiskers 5 to 95 %."
    )
    if "NE" in x:
        caption += f" Dashed: the success threshold, {scored.table.settings['threshold']:g}."
    return figure_metrics(scored.table, x=x, y=y, caption=caption)


def figure_alignment(one: WarpedEpisode, *, up: Up = "z") -> Figure:
    """Draw an episode's matrix of accumulated costs with the warping through it, beside its map."""
    caption = (
        f"Episode {one.episode} in {one.scene}: accumulated costs with the warping through them (left), and both paths "
        f"with the same warping, seen from above (right). DTW {one.alignment.cost:.2f} {one.unit}, nDTW {one.ndtw:.3f}."
    )
    title = f"episode {_short(one.episode, 40)}: DTW {one.alignment.cost:.2f} {one.unit}, nDTW {one.ndtw:.3f}"
    return draw_beside(
        one.alignment, one.reference, one.query, one.graph, up=up, caption=caption, title=title, unit=one.unit
    )


def draw_beside(
    alignment: Alignment,
    reference: Any,
    query: Any,
    graph: Graph | World | None,
    *,
    up: Up = "z",
    caption: str = "",
    title: str = "",
    unit: str = "m",
) -> Figure:
    """Return a figure of the matrix (left) and the map (right)."""
    with style():
        figure = new_figure(PAGE, 3.5)
        figure.set_label(caption)
        left, right = figure.subplots(1, 2)
        draw_cost_matrix(left, alignment, unit=unit)
        draw_pair(right, graph, reference=reference, query=query, alignment=alignment, up=up)
        draw_scale(right, [flatten(places(path, graph), up) for path in (reference, query)])
        if title:
            figure.suptitle(title, size=7.5)
        figure.legend(handles=legend_handles(), loc="outside lower center", ncols=5)
    return figure


def _short(name: str, room: int = 22) -> str:
    return name if len(name) <= room else f"{name[: room - 1]}…"
