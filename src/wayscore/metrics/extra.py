"""Metrics that conventions name beside the paper's."""

from __future__ import annotations

from math import inf

import numpy as np

from wayscore.metrics.base import Floats, Measurements, Metric, ratio
from wayscore.metrics.paper import COVERAGE, efficiency, length_score


def goal_progress(m: Measurements) -> Floats:
    """GP = min_g d(q_1, g) - min_g d(q_|Q|, g): how much nearer the agent came, infinite where no way exists."""
    with np.errstate(invalid="ignore"):
        progress = m.goal_start - m.goal_end
    progress[np.isnan(progress)] = inf
    return progress


def oracle_success_by_length(m: Measurements) -> Floats:
    """OSPL: SPL of the same walk, had it stopped where it first met the threshold; no stop is asked for."""
    met = np.isfinite(m.reach)
    return np.where(met, efficiency(m, np.where(met, m.reach, 0.0)), 0.0)


def soft_success_by_length(m: Measurements) -> Floats:
    """SoftSPL = max(0, 1 - d(q_|Q|, goal) / L) L / max(PL, L): how near the agent came takes success's place."""
    with np.errstate(invalid="ignore"):
        nearer = np.maximum(0.0, 1 - ratio(m.end, m.optimal_length, both_zero=0.0))
        return nearer * efficiency(m, m.query_length)


EXTRA: dict[str, Metric] = {
    metric.symbol: metric
    for metric in (
        Metric("GP", "Goal Progress", "up", (-inf, inf), "m", "min_g d(q_1, g) - min_g d(q_|Q|, g)", goal_progress),
        Metric("steps", "Moves", None, (0, inf), "moves", "|Q| - 1", lambda m: m.query_count - 1),
        Metric(
            "OSPL",
            "Oracle SPL",
            "up",
            (0, 1),
            "",
            "max_i 1[d(q_i, r_|R|) <= d_th] L / max(PL(q_1..i), L)",
            oracle_success_by_length,
            frozenset({"reach"}),
        ),
        Metric(
            "SoftSPL",
            "Soft success weighted by Path Length",
            "up",
            (0, 1),
            "",
            "max(0, 1 - NE / L) L / max(PL, L)",
            soft_success_by_length,
        ),
        Metric("PC", "Path Coverage", "up", (0, 1), "", "mean_r exp(-d(r, Q) / d_th)", lambda m: m.coverage, COVERAGE),
        Metric(
            "LS",
            "Length Score",
            "up",
            (0, 1),
            "",
            "PC PL(R) / (PC PL(R) + |PC PL(R) - PL(Q)|)",
            length_score,
            COVERAGE,
        ),
        Metric(
            "proximity",
            "Gaussian proximity",
            "up",
            (0, 1),
            "",
            "mean_q exp(-d(q, R)^2 / (2 d_th^2))",
            lambda m: m.proximity,
            frozenset({"proximity"}),
        ),
    )
}
"""Symbol -> metric, for those asked for by name only."""
