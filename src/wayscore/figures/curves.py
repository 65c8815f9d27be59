"""Learning curves: the mean over seeds as a line, their range as a band."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from wayscore.errors import OptionError
from wayscore.escaping import escape
from wayscore.figures.style import CYCLE, FRAME

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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

    Returns:
        The same axes.
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
        low, high = seeds.min(axis=0), seeds.max(axis=0)
        if band == "deviation":
            apart = seeds.std(axis=0, ddof=1) if len(seeds) > 1 else np.zeros_like(mean)
            low, high = mean - apart, mean + apart
        color = CYCLE[number % len(CYCLE)]
        if len(seeds) > 1:
            ax.fill_between(at, low, high, color=color, alpha=0.2, linewidth=0, zorder=2)
        ax.plot(at, mean, color=color, linewidth=1.3, zorder=3, label=escape(name, "figure"))
    ax.set(xlabel=x, ylabel=y)
    ax.margins(x=0.02)
    ax.grid(axis="y", color=FRAME, linewidth=0.5)
    ax.set_axisbelow(True)
    if len(curves) > 1:
        ax.legend()
    return ax
