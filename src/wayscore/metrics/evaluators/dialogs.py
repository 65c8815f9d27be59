"""Columns of evaluators of dialogs (NDH): the planner's end, and SPL by the nearest of several goals."""

from __future__ import annotations

from math import inf

from wayscore.metrics.base import Metric
from wayscore.metrics.episode import Episode
from wayscore.metrics.evaluators.column import column, share, variant


def planner_error(episode: Episode) -> float:
    """Min over q of d(q, the end of the planner's path)."""
    path = episode.recorded.get("planner")
    return inf if not path else float(episode.distances_to(path[-1:], "planner").min())


def planner_success(episode: Episode) -> float:
    """1 where any node comes within d_th of the end of the planner's path."""
    path = episode.recorded.get("planner")
    return inf if not path else float(episode.within(episode.distances_to(path[-1:], "planner")).any())


def shortest_length(episode: Episode) -> float:
    """d(q_1, r_|R|)."""
    return float(episode.goal_distances()[0])


def nearest_success_by_length(episode: Episode) -> float:
    """SPL by the goal that is nearest to the start."""
    length = float(episode.distances_to(episode.goals)[:, 0].min())
    return episode.success() * share(length, episode.length(), 0.01)


COLUMNS: dict[str, Metric] = {
    "OPSR:cvdn": column(
        "OPSR",
        "Oracle Path Success Rate",
        "1[min_q d(q, planner's end) < d_th]",
        planner_success,
        ("planner",),
        direction="up",
        bounds=(0, 1),
    ),
    "OPNE:cvdn-navillm": column(
        "OPNE",
        "Oracle error to the planner's end",
        "min_q d(q, planner's end)",
        planner_error,
        ("planner",),
        direction="down",
        unit="m",
    ),
    "L:cvdn-navillm": column("L", "Shortest length", "d(q_1, r_|R|)", shortest_length, unit="m"),
    "SPL:cvdn-hamt": variant("SPL", "SR * min_g d(q_1, g) / max(PL, min_g d(q_1, g), 0.01)", nearest_success_by_length),
}
