"""Columns of evaluators on Matterport3D's graphs: the authors' CLS, VALAN, HAMT's R2R-Back, and dialogs (NDH)."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np

from wayscore.distances.base import Floats, Places
from wayscore.distances.graph import Graph
from wayscore.metrics.base import ERROR, LENGTH, SCORE, Measurements, Metric, ratio
from wayscore.metrics.episode import Episode
from wayscore.metrics.evaluators.column import KNOWN, column, share, variant
from wayscore.metrics.paper import OPTIMAL, WARPING, length_score


def coverage_by_edges(episode: Episode) -> float:
    """CLS whose lengths add up edges at their own weights, even where a way round is shorter."""
    coverage = float(np.exp(-episode.matrix().min(axis=1) / episode.threshold).mean())
    expected = coverage * _edges(episode, episode.encoded_reference)
    walked = _edges(episode, episode.encoded_query)
    return coverage * float(length_score(np.array([expected]), np.array([walked]))[0])


def _edges(episode: Episode, path: Places) -> float:
    graph, before, after = episode.distance, path[:-1], path[1:]
    shortest = graph.pairs(before, after)
    if not isinstance(graph, Graph):
        return float(shortest.sum())
    own = graph.edge_lengths(before, after)
    return float(np.where(np.isfinite(own), own, shortest).sum())


def warping_by_length(m: Measurements) -> Floats:
    """DTW / PL(R), undefined where the reference has no length."""
    with np.errstate(divide="ignore", invalid="ignore"):
        divided = m.warping / m.reference_length
    return np.where(np.isfinite(divided), divided, inf)


def success_by_length(m: Measurements) -> Floats:
    """SPL, 0 where the start is the goal."""
    length = m.optimal_length
    return m.success * ratio(length, np.maximum(m.query_length, length), both_zero=0.0)


def back_success(episode: Episode) -> float:
    """1 where both the end and the middle stop ("" for none) are within d_th of where they should be."""
    right, named = episode.recorded.get("midstop"), episode.recorded.get("pred_midstop")
    if right is None or named is None:
        return inf
    if named == "" or not episode.success():
        return 0.0
    stops = episode.distance.encode([[right, named]], role=f"episode {episode.name}, midstop").places
    return float(episode.within(episode.distance.between(stops[:1], stops[1:])[0])[0])


def back_success_by_length(episode: Episode) -> float:
    """SPL of R2R-Back."""
    if (success := back_success(episode)) != 1:
        return success
    return share(episode.reference_length(), episode.length(), episode.convention.spl_floor)


def back_success_by_warping(episode: Episode) -> float:
    """SDTW of R2R-Back."""
    success = back_success(episode)
    return episode.ndtw() if success == 1 else success


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


BACK, STOPS, PLANNER = "r2r-back-hamt", ("pred_midstop", "midstop"), ("planner",)
COLUMNS: dict[str, Metric] = {
    "CLS:r4r": variant("CLS", "PC * LS, lengths adding up edges", coverage_by_edges),
    "DTW:valan": replace(KNOWN["DTW"], formula="DTW / PL(R)", unit="", compute=warping_by_length, needs=WARPING),
    "SPL:valan": replace(
        KNOWN["SPL"], formula="SR * L / max(PL, L), 0 where L = 0", compute=success_by_length, needs=OPTIMAL
    ),
    f"SR:{BACK}": variant("SR", "1[NE <= d_th and d(midstop, own midstop) <= d_th]", back_success, STOPS),
    f"SPL:{BACK}": variant("SPL", "SR * PL(R) / max(PL, PL(R), 0.01)", back_success_by_length, STOPS),
    f"SDTW:{BACK}": variant("SDTW", "SR * nDTW", back_success_by_warping, STOPS),
    "OPSR:cvdn": column(
        "OPSR", "Oracle Path Success Rate", SCORE, "1[min_q d(q, planner's end) < d_th]", planner_success, PLANNER
    ),
    "OPNE:cvdn-navillm": column(
        "OPNE", "Oracle error to the planner's end", ERROR, "min_q d(q, planner's end)", planner_error, PLANNER
    ),
    "L:cvdn-navillm": column("L", "Shortest length", LENGTH, "d(q_1, r_|R|)", shortest_length),
    "SPL:cvdn-hamt": variant("SPL", "SR * min_g d(q_1, g) / max(PL, min_g d(q_1, g), 0.01)", nearest_success_by_length),
}
