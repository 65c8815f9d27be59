"""Figures for papers, with matplotlib (the extra `plot`): maps of paths, cost matrices, metrics, learning curves.

Functions named `draw_...` draw on Axes and return them; functions named `figure_...` return a whole figure, whose label
is its caption. None of them uses pyplot or changes matplotlib's settings.

    with style():
        figure = new_figure(COLUMN, 3.0)
        warping = ws.align(reference=R, query=Q, distance=graph)
        draw_pair(figure.subplots(), graph, reference=R, query=Q, alignment=warping)
        save(figure, "pair.pdf")
"""

from wayscore.figures.curves import draw_learning_curves
from wayscore.figures.episode import WarpedEpisode, find_episode, up_in, warp_episode
from wayscore.figures.matrix import draw_cost_matrix
from wayscore.figures.paths import draw_graph, draw_pair, draw_scale, legend_handles
from wayscore.figures.runs import Panel, figure_alignment, figure_panels, figure_run_gallery, figure_run_metrics
from wayscore.figures.scatter import draw_metric_scatter, figure_metrics
from wayscore.figures.simulated import (
    figure_comparison_set,
    figure_gallery,
    figure_matrix,
    figure_walkers,
    figure_warping,
)
from wayscore.figures.style import COLUMN, PAGE, new_figure, save, style

__all__ = [
    "COLUMN",
    "PAGE",
    "Panel",
    "WarpedEpisode",
    "draw_cost_matrix",
    "draw_graph",
    "draw_learning_curves",
    "draw_metric_scatter",
    "draw_pair",
    "draw_scale",
    "figure_alignment",
    "figure_comparison_set",
    "figure_gallery",
    "figure_matrix",
    "figure_metrics",
    "figure_panels",
    "figure_run_gallery",
    "figure_run_metrics",
    "figure_walkers",
    "figure_warping",
    "find_episode",
    "legend_handles",
    "new_figure",
    "save",
    "style",
    "up_in",
    "warp_episode",
]
