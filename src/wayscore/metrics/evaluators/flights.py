"""Columns of evaluators of flights: AerialVLN, OpenFly, CityNav, CityNavAgent, TravelUAV."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np

from wayscore.distances.base import Floats
from wayscore.metrics.base import Metric
from wayscore.metrics.episode import Episode
from wayscore.metrics.evaluators.column import COUNT, POINTS, column, fast_cost_by, goal_columns, share, variant
from wayscore.paths import in_plane

FINISH = 20.0
"""What TravelUAV takes off the reference's length, metres."""


def _planar(episode: Episode) -> Floats:
    goal, query = (in_plane(path, episode.up_axis) for path in (episode.encoded_reference[-1:], episode.encoded_query))
    away: Floats = episode.distance.between(goal, query)[0]
    return away


def stale_distances(episode: Episode) -> Floats:
    """Return distances from the goal in the plane, taken again only after a move of more than a metre on an axis."""
    away, path = _planar(episode), episode.encoded_query
    taken = 0
    found = np.empty(len(path))
    for step, point in enumerate(path):
        if not np.allclose(path[taken], point, atol=1):
            taken = step
        found[step] = away[taken]
    return found


def stale_success_by_warping(episode: Episode) -> float:
    """SDTW by the success that these distances give."""
    return float(episode.within(stale_distances(episode)[-1:])[0]) * episode.ndtw()


def flown_distances(episode: Episode) -> Floats:
    """Return distances from the goal after the first position; of that alone, where there is no other."""
    away = episode.goal_distances()
    return away[1:] if len(away) > 1 else away


def own_length_ratio(episode: Episode) -> float:
    """SR times the straight line over the agent's own length, which begins at a millimetre."""
    return episode.success() * float(episode.goal_distances()[0]) / (episode.length() + 1e-3)


def planar_oracle(episode: Episode) -> float:
    """1 where any position is within d_th in the plane, d_th included."""
    return float((_planar(episode) <= episode.threshold).any())


def _predicted(episode: Episode) -> Floats:
    """Return how far each predicted goal is from the goal, in the plane."""
    goals = episode.recorded.get("predicted_goals")
    if goals is None:
        return np.empty(0)
    points = in_plane(np.array(goals, dtype=np.float64), episode.up_axis)
    away: Floats = episode.distance.between(episode.encoded_reference[-1:], points)[0]
    return away


def _progress_errors(episode: Episode) -> Floats:
    """Return the squared errors of the progress that the agent believed; none where it cannot be known."""
    believed, away = episode.recorded.get("predicted_progress"), episode.goal_distances()
    if believed is None or not away[0]:
        return np.empty(0)
    errors: Floats = (np.array(believed) - (1 - np.minimum(away / away[0], 1.0))) ** 2
    return errors


def progress_error(episode: Episode) -> float:
    """The mean of these errors."""
    errors = _progress_errors(episode)
    return float(errors.mean()) if len(errors) else inf


def final_progress_error(episode: Episode) -> float:
    """The last of these errors."""
    errors = _progress_errors(episode)
    return float(errors[-1]) if len(errors) else inf


def success_by_reference(episode: Episode) -> float:
    """SR PL(R) / (max(PL, PL(R)) + 1e-6)."""
    length = episode.reference_length()
    return episode.success() * length / (max(episode.length(), length) + 1e-6)


def success_by_manhattan(episode: Episode) -> float:
    """SR times nDTW whose FastDTW adds up differences along the axes."""
    if not episode.success():
        return 0.0
    cost = fast_cost_by(_manhattan, episode.encoded_query, episode.encoded_reference)  # its order: the reference first
    return float(np.exp(-cost / (len(episode.encoded_reference) * episode.threshold)))


def _manhattan(a: Floats, b: Floats) -> Floats:
    distances: Floats = np.abs(a - b).sum(axis=1)
    return distances


def named_success(episode: Episode) -> float:
    """1 where the result was filed under success."""
    outcome = episode.recorded.get("outcome")
    return inf if outcome is None else float(outcome == "success")


def named_oracle(episode: Episode) -> float:
    """1 where the result was filed under success or oracle."""
    outcome = episode.recorded.get("outcome")
    return inf if outcome is None else float(outcome in ("success", "oracle"))


def named_success_by_length(episode: Episode) -> float:
    """SPL by the reference's length less 20 m."""
    success, length = named_success(episode), episode.reference_length() - FINISH
    return success if success == inf else success * share(length, episode.length()) if length > 0 else 0.0


PREDICTED, PROGRESS, OUTCOME = ("predicted_goals",), ("predicted_progress",), ("outcome",)
STALE = "in the plane, taken again after moves of more than a metre"
COLUMNS: dict[str, Metric] = {
    **goal_columns("aerialvln", stale_distances, STALE, needs=POINTS),
    "SDTW:aerialvln": variant("SDTW", "SR * nDTW", stale_success_by_warping, needs=POINTS),
    **goal_columns("openfly", flown_distances, "after the first position"),
    "SPL:openfly": variant("SPL", "SR * d(q_1, goal) / (PL + 0.001)", own_length_ratio),
    "OSR:citynav-vlnce": variant("OSR", "1[min_q d(q, goal) <= d_th], in the plane", planar_oracle, needs=POINTS),
    "SPL:citynavagent": variant("SPL", "SR * PL(R) / (max(PL, PL(R)) + 1e-6)", success_by_reference),
    "SDTW:citynavagent": variant(
        "SDTW", "SR * nDTW by FastDTW over |dx| + |dy| + |dz|", success_by_manhattan, needs=POINTS
    ),
    **{
        f"pred{key}": replace(metric, symbol=f"pred{metric.symbol}", name=f"{metric.name} of the predicted goal")
        for key, metric in goal_columns(
            "citynav", _predicted, "of the predicted goals", records=PREDICTED, needs=POINTS
        ).items()
    },
    "progressMSE:citynav": column(
        "progressMSE", "Error of progress", COUNT, "mean_q (progress - (1 - d / d_1))^2", progress_error, PROGRESS
    ),
    "finalMSE:citynav": column(
        "finalMSE",
        "Error of progress at the end",
        COUNT,
        "(progress - (1 - d / d_1))^2 of q_|Q|",
        final_progress_error,
        PROGRESS,
    ),
    "SR:traveluav": variant("SR", "1[filed under success]", named_success, OUTCOME),
    "OSR:traveluav": variant("OSR", "1[filed under success or oracle]", named_oracle, OUTCOME),
    "SPL:traveluav": variant("SPL", "SR * L / max(PL, L), L = PL(R) - 20 m", named_success_by_length, OUTCOME),
}
