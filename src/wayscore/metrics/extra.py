"""Metrics that conventions name beside the paper's."""

from __future__ import annotations

from math import inf

import numpy as np

from wayscore.metrics.base import Floats, Measurements, Metric


def goal_progress(m: Measurements) -> Floats:
    """GP = min_g d(q_1, g) - min_g d(q_|Q|, g): how much nearer the agent came, infinite where no way exists."""
    with np.errstate(invalid="ignore"):
        progress = m.goal_start - m.goal_end
    progress[np.isnan(progress)] = inf
    return progress


EXTRA: dict[str, Metric] = {
    metric.symbol: metric
    for metric in (
        Metric("GP", "Goal Progress", "up", (-inf, inf), "m", "min_g d(q_1, g) - min_g d(q_|Q|, g)", goal_progress),
        Metric("steps", "Moves", None, (0, inf), "moves", "|Q| - 1", lambda m: m.query_count - 1),
        Metric(
            "PC",
            "Path Coverage",
            "up",
            (0, 1),
            "",
            "mean_r exp(-d(r, Q) / d_th)",
            lambda m: m.coverage,
            frozenset({"coverage"}),
        ),
    )
}
"""Symbol -> metric, for those asked for by name only."""
