"""Metrics that evaluators print beside the paper's."""

from __future__ import annotations

from math import inf

import numpy as np

from wayscore.metrics.base import Floats, Measured, Measurements, Metric, ratio
from wayscore.metrics.episode import Episode
from wayscore.metrics.paper import COVERAGE, OPTIMAL, efficiency, length_score


def goal_progress(m: Measurements) -> Floats:
    """GP = min_g d(q_1, g) - min_g d(q_|Q|, g): how much nearer the agent came, infinite if unreachable."""
    with np.errstate(invalid="ignore"):
        progress = m.goal_start - m.goal_end
    progress[np.isnan(progress)] = inf
    return progress


def oracle_success_by_length(m: Measurements) -> Floats:
    """OSPL: SPL of the same walk, had it stopped where it first met the threshold; no stop is required."""
    met = np.isfinite(m.reach)
    return np.where(met, efficiency(m, np.where(met, m.reach, 0.0)), 0.0)


def soft_success_by_length(m: Measurements) -> Floats:
    """SoftSPL = max(0, 1 - d(q_|Q|, goal) / L) L / max(PL, L): the share of the way in place of success."""
    with np.errstate(invalid="ignore"):
        nearer = np.maximum(0.0, 1 - ratio(m.end, m.optimal_length, both_zero=0.0))
        return nearer * efficiency(m, m.query_length)


def moves(m: Measurements) -> Floats:
    """|Q| - 1."""
    return m.query_count - 1


def gaussian_proximity(episode: Episode) -> float:
    """Mean over q of exp(-d(q, R)^2 / (2 d_th^2))."""
    nearest = episode.matrix().min(axis=0)
    return float(np.exp(-(nearest**2) / (2 * episode.threshold**2)).mean())


EXTRA: dict[str, Metric] = {
    metric.symbol: metric
    for metric in (
        Metric("GP", "Goal Progress", "up", (-inf, inf), "m", "min_g d(q_1, g) - min_g d(q_|Q|, g)", goal_progress),
        Metric("steps", "Moves", None, (0, inf), "moves", "|Q| - 1", moves),
        Metric(
            "OSPL",
            "Oracle SPL",
            "up",
            (0, 1),
            "",
            "max_i 1[d(q_i, r_|R|) <= d_th] L / max(PL(q_1..i), L)",
            oracle_success_by_length,
            OPTIMAL | {"reach"},
        ),
        Metric(
            "SoftSPL",
            "Soft success weighted by Path Length",
            "up",
            (0, 1),
            "",
            "max(0, 1 - NE / L) L / max(PL, L)",
            soft_success_by_length,
            OPTIMAL,
        ),
        Metric("PC", "Path Coverage", "up", (0, 1), "", "mean_r exp(-d(r, Q) / d_th)", Measured("coverage"), COVERAGE),
        Metric(
            "LS", "Length Score", "up", (0, 1), "", "PC PL(R) / (PC PL(R) + |PC PL(R) - PL(Q)|)", length_score, COVERAGE
        ),
        Metric(
            "proximity",
            "Gaussian proximity",
            "up",
            (0, 1),
            "",
            "mean_q exp(-d(q, R)^2 / (2 d_th^2))",
            measure=gaussian_proximity,
        ),
    )
}
"""Symbol -> metric; printed only where a convention or a user names them."""
