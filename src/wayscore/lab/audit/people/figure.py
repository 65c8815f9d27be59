"""The figure of audits against people: one panel for each, every metric's correlation with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wayscore.errors import OptionError
from wayscore.figures.style import FAINT, INK, PAGE, QUERY, REFERENCE, new_figure, style
from wayscore.lab.audit.people.text import NAMES, differences, scope
from wayscore.report.layout import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from wayscore.lab.audit.people.people import PeopleAudit

ROW = 0.17
"""Inches for each metric."""
ENDS = ("SR", "OSR", "NE", "ONE")
"""Metrics that look at the goal alone; the others look at the path, or at both."""


def figure_people(audits: Sequence[PeopleAudit]) -> Figure:
    """Draw the correlation of each metric with people's judgements, one panel for each audit."""
    if not audits:
        raise OptionError("a figure needs at least one audit")
    rows = max(len(audit.correlations) for audit in audits)
    with style():
        figure = new_figure(PAGE, ROW * rows + 0.75)
        warned = "SIMULATED raters: no person gave these judgements. " if any(one.simulated for one in audits) else ""
        parts = [f"{one.name}, {one.rating}: {scope(one)} {' '.join(differences(one))}" for one in audits]
        figure.set_label(
            f"{warned}Rank correlation of each metric with people's judgements, with 95 % intervals. {' '.join(parts)}"
        )
        panels = figure.subplots(1, len(audits), squeeze=False, sharex=True)[0]
        for ax, audit in zip(panels, audits, strict=True):
            draw_audit(ax, audit)
        handles, names = panels[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower right", ncols=2)
    return figure


def draw_audit(ax: Axes, audit: PeopleAudit) -> Axes:
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
    ax.set_xlabel(NAMES[audit.method])
    return ax
