"""Figures for papers, with matplotlib (the extra `plot`): maps of paths, cost matrices, metrics, learning curves.

Functions named `draw_...` draw on Axes and return them; functions named `figure_...` return a whole figure, whose label
is its caption. None of them uses pyplot or changes matplotlib's settings.

    with style():
        figure = new_figure(COLUMN, 3.0)
        warping = ws.align(reference=R, query=Q, distance=graph)
        draw_pair(figure.subplots(), graph, reference=R, query=Q, alignment=warping)
        save(figure, "pair.pdf")
"""

from wayscore.figures.charts import (
    draw_cost_matrix as draw_cost_matrix,
    draw_learning_curves as draw_learning_curves,
    draw_metric_scatter as draw_metric_scatter,
    figure_metrics as figure_metrics,
)
from wayscore.figures.episode import (
    WarpedEpisode as WarpedEpisode,
    find_episode as find_episode,
    up_in as up_in,
    warp_episode as warp_episode,
)
from wayscore.figures.paths import (
    draw_graph as draw_graph,
    draw_pair as draw_pair,
    draw_scale as draw_scale,
    legend_handles as legend_handles,
)
from wayscore.figures.runs import (
    Panel as Panel,
    figure_alignment as figure_alignment,
    figure_panels as figure_panels,
    figure_run_gallery as figure_run_gallery,
    figure_run_metrics as figure_run_metrics,
)
from wayscore.figures.simulated import (
    figure_comparison_set as figure_comparison_set,
    figure_gallery as figure_gallery,
    figure_matrix as figure_matrix,
    figure_walkers as figure_walkers,
    figure_warping as figure_warping,
)
from wayscore.figures.style import (
    COLUMN as COLUMN,
    PAGE as PAGE,
    new_figure as new_figure,
    save as save,
    style as style,
)
