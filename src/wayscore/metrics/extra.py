"""Metrics that evaluators print beside the paper's."""

from __future__ import annotations

from math import inf

import numpy as np

from wayscore.metrics.base import Floats, Measured, Measurements, Metric, ratio
from wayscore.metrics.episode import Episode
from wayscore.metrics.paper import CHEAP, COVERAGE, OPTIMAL, efficiency, length_score, success_by_length


def goal_progress(m: Measurements) -> Floats:
    """GP = min_g d(q_1, g) - min_g d(q_|Q|, g): how much nearer the agent came, infinite if unreachable."""
    with np.errstate(invalid="ignore"):
        progress = m.goal_start - m.goal_end
    progress[np.isnan(progress)] = inf
    return progress


def oracle_success_by_length(m: Measurements) -> Floats:
    """OSPL: SPL of the same walk, had it stopped where it first met the threshold.

    Where a stop is required, only the end of the walk can be one: it equals SPL.
    """
    if m.convention.stop == "required":
        return success_by_length(m)
    met = np.isfinite(m.reach)
    return np.where(met, efficiency(m, np.where(met, m.reach, 0.0)), 0.0)


def soft_success_by_length(m: Measurements) -> Floats:
    """SoftSPL = max(0, 1 - d(q_|Q|, goal) / L) L / max(PL, L): the share of the way in place of success."""
    with np.errstate(invalid="ignore"):
        nearer = np.maximum(0.0, 1 - ratio(m.end, m.optimal_length, both_zero=0.0))
        return nearer * efficiency(m, m.query_length)


def length_ratio(m: Measurements) -> Floats:
    """L / max(PL, L): SPL without the success."""
    return efficiency(m, m.query_length)


def moves(m: Measurements) -> Floats:
    """|Q| - 1, repeats counted."""
    return m.recorded_count - 1


def gaussian_proximity(episode: Episode) -> float:
    """Mean over q of exp(-d(q, R)^2 / (2 d_th^2))."""
    nearest = episode.matrix().min(axis=0)
    return float(np.exp(-(nearest**2) / (2 * episode.threshold**2)).mean())


def grounding(episode: Episode) -> float:
    """RGS: 1 where the agent named the right object, wherever its walk ends."""
    right, named = episode.recorded.get("object"), episode.recorded.get("predicted_object")
    return inf if right is None or named is None else float(str(right) == str(named))


def grounding_by_length(episode: Episode) -> float:
    """RGSPL = RGS L / max(PL, L)."""
    if (right := grounding(episode)) == inf:
        return inf
    by_reference = episode.convention.spl_length == "reference"
    length = episode.reference_length() if by_reference else float(episode.goal_distances()[0])
    longest = max(episode.length(), length, episode.convention.spl_floor)
    return right * (length / longest if longest else 1.0) if length < inf else 0.0


def decisions(episode: Episode) -> float:
    """How many decisions the agent took, as the run recorded it."""
    return float(episode.recorded.get("actions", inf))


OBJECTS, ACTIONS = ("object", "predicted_object"), ("actions",)
GOALS = frozenset({"goals"})
EXTRA: dict[str, Metric] = {
    metric.symbol: metric
    for metric in (
        Metric(
            "GP", "Goal Progress", "up", (-inf, inf), "m", "min_g d(q_1, g) - min_g d(q_|Q|, g)", goal_progress, GOALS
        ),
        Metric("steps", "Moves", None, (0, inf), "moves", "|Q| - 1, repeats counted", moves, CHEAP),
        Metric("actions", "Decisions", None, (0, inf), "decisions", "as recorded", measure=decisions, records=ACTIONS),
        Metric("efficiency", "Length ratio", "up", (0, 1), "", "L / max(PL, L)", length_ratio, OPTIMAL),
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
            "RGS", "Remote Grounding Success", "up", (0, 1), "", "1[right object]", measure=grounding, records=OBJECTS
        ),
        Metric(
            "RGSPL",
            "RGS weighted by Path Length",
            "up",
            (0, 1),
            "",
            "RGS L / max(PL, L)",
            measure=grounding_by_length,
            records=OBJECTS,
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
