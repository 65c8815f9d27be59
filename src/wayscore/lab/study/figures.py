"""Figures of a study's results: how well each metric agrees with raters, and how often it agrees better."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wayscore.figures.style import FAINT, INK, PAGE, new_figure, style
from wayscore.lab.study.analysis import Analysis
from wayscore.lab.study.correlations import MAIN
from wayscore.lab.study.report import METHODS, scope, warnings
from wayscore.lab.study.table1 import p_text
from wayscore.palette import light

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BETTER, TIE, WORSE = light("better"), light("line"), light("worse")
ROW = 0.19
"""Inches for each metric."""


def figure_study(analyses: Sequence[Analysis]) -> Figure:
    """Draw each study in a row: mean correlations with their intervals, and Table 1 as bars."""
    heights = [len(one.correlations) + 2.6 for one in analyses]
    warned = " ".join(warnings(analyses))
    with style():
        figure = new_figure(PAGE, ROW * sum(heights) + (0.5 if warned else 0.3))
        figure.set_label(
            " ".join(
                [
                    warned,
                    "Left: mean correlation of each metric with the raters, with 95 % intervals that resample sets. "
                    "Right: number of rankings with which the study's metric correlates better than, equally to or "
                    "worse than each other metric.",
                    *(scope(one) for one in analyses),
                ]
            ).strip()
        )
        panels = figure.subplots(len(analyses), 2, squeeze=False, height_ratios=heights, width_ratios=[1, 1.25])
        for (left, right), one in zip(panels, analyses, strict=True):
            draw_correlations(left, one)
            draw_contests(right, one)
        handles, names = panels[-1][1].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower right", ncols=3)
        if warned:
            figure.suptitle(warned, color=WORSE, fontsize=7.5, weight="bold")
    return figure


def draw_correlations(ax: Axes, one: Analysis) -> None:
    """Draw the mean correlation of each metric with raters."""
    rows = np.arange(len(one.correlations))[::-1]
    for row, (metric, found) in zip(rows, one.correlations.items(), strict=True):
        color = BETTER if metric == MAIN[one.kind] else INK
        if found.mean is not None and found.low is not None and found.high is not None:
            ax.plot([found.low, found.high], [row, row], color=color, linewidth=1.2, solid_capstyle="butt")
            ax.plot(found.mean, row, "o", color=color, markersize=3.6)
    ax.axvline(0, color=FAINT, linewidth=0.6, linestyle=(0, (3, 2)), zorder=0)
    ax.set_yticks(rows, list(one.correlations))
    low = min(0.0, *(found.low or 0.0 for found in one.correlations.values()))
    ax.set(xlim=(low - 0.04, 1.0), ylim=(-0.6, len(rows) - 0.4), title=f"{one.kind}: agreement with raters")
    ax.set_xlabel(METHODS[one.method])


def draw_contests(ax: Axes, one: Analysis) -> None:
    """Draw Table 1 as bars, with counts and p-values."""
    rows = np.arange(len(one.contests))[::-1]
    before = np.zeros(len(rows))
    parts = (
        ("better", BETTER, [c.positive for c in one.contests]),
        ("equal", TIE, [c.ties for c in one.contests]),
        ("worse", WORSE, [c.negative for c in one.contests]),
    )
    for name, color, counts in parts:
        ax.barh(rows, counts, left=before, height=0.66, color=color, label=name)
        for row, start, count in zip(rows, before, counts, strict=True):
            if count > 0.035 * one.rankings:
                tone = INK if color == TIE else "white"
                ax.text(start + count / 2, row, str(count), size=5.8, ha="center", va="center", color=tone)
        before += counts
    for row, contest in zip(rows, one.contests, strict=True):
        ax.text(1.02 * one.rankings, row, f"p = {p_text(contest.p)}", size=6, va="center")
    ax.set_yticks(rows, [contest.rival for contest in one.contests])
    ax.set(xlim=(0, 1.22 * one.rankings), ylim=(-0.6, len(rows) - 0.4), title=f"{MAIN[one.kind]} compared with")
    ax.set_xticks([tick for tick in ax.get_xticks() if tick <= one.rankings])
    ax.set_xlabel("number of rankings")
