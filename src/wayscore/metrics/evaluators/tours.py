"""t-nDTW of IVLN-CE: one warping over a tour of several episodes, tied where they begin and end."""

from __future__ import annotations

from itertools import groupby, pairwise
from math import inf
from typing import Any

import numpy as np

from wayscore.distances.base import Floats
from wayscore.metrics.base import Metric
from wayscore.metrics.episode import Episode
from wayscore.metrics.evaluators.column import column
from wayscore.warping.encoded import warp_costs

RECORDS = ("query_episodes", "query_phases", "reference_episodes", "reference_phases")


def tour_similarity(episode: Episode) -> float:
    """exp(-DTW / (|R| d_th)) of the positions that the agent walked itself."""
    if any(name not in episode.recorded for name in RECORDS):
        return inf
    known = [episode.recorded[name] for name in RECORDS]
    query, of_query = _walked(episode.encoded_query, *known[:2], repeats=False)
    reference, of_reference = _walked(episode.encoded_reference, *known[2:], repeats=True)
    if [key for key, _ in groupby(of_query)] != [key for key, _ in groupby(of_reference)]:
        return inf
    distances = episode.distance.between(reference, query)
    cost = warp_costs(_tied(distances, of_reference, of_query))
    return float(np.exp(-cost / (len(reference) * episode.threshold))) if cost < inf else inf


def _walked(path: Any, episodes: list[Any], phases: list[Any], *, repeats: bool) -> tuple[Floats, list[Any]]:
    """Return the positions of phase "agent" and their episodes."""
    steps = list(zip(path.tolist(), episodes, phases, strict=True))
    kept = [step for k, step in enumerate(steps) if (repeats or not k or step != steps[k - 1]) and step[2] == "agent"]
    return np.array([point for point, _, _ in kept]), [key for _, key, _ in kept]


def _tied(distances: Floats, of_reference: list[Any], of_query: list[Any]) -> Floats:
    """Close every cell but one in the reference's rows where one episode ends and the next begins."""
    tied = distances.copy()
    for i, j in zip(_borders(of_reference), _borders(of_query), strict=True):
        tied[i] = inf
        tied[i, j] = distances[i, j]
    return tied


def _borders(keys: list[Any]) -> list[int]:
    """Return the last place of every run of equal keys and the first of the next."""
    return [place for last, (a, b) in enumerate(pairwise(keys)) if a != b for place in (last, last + 1)]


COLUMNS: dict[str, Metric] = {
    "tnDTW:ivlnce-tours": column(
        "tnDTW",
        "nDTW of a tour",
        "exp(-DTW / (|R| d_th)), tied at the ends of episodes",
        tour_similarity,
        RECORDS,
        direction="up",
        bounds=(0, 1),
    )
}
