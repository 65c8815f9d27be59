"""Measurements that the kernels do not make: one episode at a time, where a convention or a metric needs them."""

from __future__ import annotations

import numpy as np

from wayscore.metrics.episode import Episode


def to_goals(episode: Episode) -> tuple[float, float, float]:
    """Return how far the start, the end and the nearest node of the query are from the nearest goal."""
    nearest = episode.distances_to(episode.goals).min(axis=0)
    return float(nearest[0]), float(nearest[-1]), float(nearest.min())


def reach(episode: Episode) -> float:
    """Return the length walked when the query first met the threshold, infinite where it never did."""
    met = np.flatnonzero(episode.within(episode.goal_distances()))
    if not met.size:
        return np.inf
    walked = episode.encoded_query[: met[0] + 1]
    return float(episode.distance.pairs(walked[:-1], walked[1:]).sum())
