"""Columns of evaluators of continuous walks through buildings: InternNav, CWP, ETPNav, LAW, HA-VLN, NavDP, IVLN-CE."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby, pairwise
from math import inf
from typing import Any

import numpy as np

from wayscore.distances.base import Floats
from wayscore.metrics.base import LENGTH, SCORE, Measured, Metric
from wayscore.metrics.episode import Episode
from wayscore.metrics.evaluators.column import CHANCE, COUNT, KNOWN, POINTS, column, goal_columns, share, variant
from wayscore.metrics.evaluators.graphs import shortest_length
from wayscore.metrics.paper import WARPING
from wayscore.paths import changes, in_plane
from wayscore.warping.encoded import fast_cost, warp_costs

PEOPLE = ("people_hit", "people_hit_by_reference")
TOUR = ("query_episodes", "query_phases", "reference_episodes", "reference_phases")
WAYPOINT_STEP = 0.25
"""How far apart CWP lays points between waypoints, metres."""
NEAR_WAYPOINT = 0.5
"""How near a walk must come to a waypoint of LAW, metres."""


def finished_distances(episode: Episode) -> Floats:
    """Return the distances from the goal where actions ended; after the start, where that was not recorded."""
    away: Floats = episode.matrix()[-1]
    finished = episode.recorded.get("finished")
    if finished is None:
        return away[1:] if len(away) > 1 else away
    ended: Floats = away[np.asarray(finished, dtype=bool)]
    return ended


def finished_success_by_length(episode: Episode) -> float:
    """SPL with the dataset's length; 0 for an agent that did not move."""
    away, walked, length = finished_distances(episode), episode.length(), episode.start_distance
    if not len(away) or length is None:
        return inf
    return float(episode.within(away[-1:])[0]) * share(length, walked) if walked else 0.0


def finished_proximity(episode: Episode) -> float:
    """Mean of exp(-d(q, R)^2 / (2 d_th^2)) over the first position and those where actions ended."""
    nearest = episode.matrix().min(axis=0)
    finished = episode.recorded.get("finished")
    if finished is not None:
        if not any(finished):
            return inf
        nearest = np.append(nearest[:1], nearest[np.asarray(finished, dtype=bool)])
    return float(np.exp(-(nearest**2) / (2 * episode.threshold**2)).mean())


def dataset_length(episode: Episode) -> float:
    """The dataset's distance from start to goal."""
    return inf if episode.start_distance is None else episode.start_distance


def fell(episode: Episode) -> float:
    """1 where the robot fell."""
    return _failed(episode, "fall")


def stuck(episode: Episode) -> float:
    """1 where the robot got stuck."""
    return _failed(episode, "stuck")


def _failed(episode: Episode, how: str) -> float:
    reason = episode.recorded.get("fail_reason")
    return inf if reason is None else float(reason == how)


def decision_success(episode: Episode) -> float:
    """1 where any position at which the agent decided meets the threshold; all count, where that was not recorded."""
    away, decisions = episode.goal_distances(), episode.recorded.get("decisions")
    return float(episode.within(away if decisions is None else away[list(decisions)]).any())


def collision_rate(episode: Episode) -> float:
    """The share of moves that ran into something."""
    flags = episode.recorded.get("collided")
    return inf if flags is None else float(np.mean(flags)) if len(flags) else 0.0


def collisions_by_position(episode: Episode) -> float:
    """Collisions / logged positions."""
    count = episode.recorded.get("collisions")
    return inf if count is None else count / len(episode.encoded_query)


def between_waypoints(path: Floats, up_axis: int | None) -> Floats:
    """Add points within each move, every quarter metre of its horizontal length, none nearer to its end than that."""
    lengths = np.linalg.norm(np.diff(in_plane(path, up_axis), axis=0), axis=1)
    pieces = [path[:1]]
    for start, end, length in zip(path[:-1], path[1:], lengths, strict=True):
        between = np.arange(1, max(int(length / WAYPOINT_STEP), 1))[:, None]
        pieces += [start + between * (WAYPOINT_STEP / length if length else 0.0) * (end - start), end[None, :]]
    return np.concatenate(pieces)


def sampled_length(episode: Episode) -> float:
    """The length of the sampled waypoints."""
    return episode.length_of(between_waypoints(episode.encoded_query, episode.up_axis))


def sampled_success_by_length(episode: Episode) -> float:
    """SPL by that length."""
    return episode.success() * share(_shortest(episode), sampled_length(episode))


def _shortest(episode: Episode) -> float:
    """Return the shortest length: as the simulator recorded it, else the dataset's, else that of the distance."""
    if episode.recorded.get("goal_distances") is None and episode.start_distance is not None:
        return episode.start_distance
    return float(episode.goal_distances()[0])


def sampled_similarity(episode: Episode) -> float:
    """NDTW of the sampled waypoints to the dense reference."""
    query = episode.warped[1] if episode.warped else episode.encoded_query
    return _similarity(episode, between_waypoints(query, episode.up_axis))


def _similarity(episode: Episode, query: Floats) -> float:
    """Return nDTW of another query, by FastDTW."""
    reference = episode.warped[0] if episode.warped else episode.encoded_reference
    cost = fast_cost(reference, query, episode.distance, compiled=episode.convention.warping == "fast-compiled")
    return float(np.exp(-cost / (len(reference) * episode.threshold)))


def after_start(episode: Episode) -> Floats:
    """Return the distances from the goal after the first action; none where there was none."""
    return episode.goal_distances()[1:]


def first_success_by_length(episode: Episode) -> float:
    """SPL at the first moment within the threshold, stopped or not."""
    met = np.flatnonzero(episode.within(after_start(episode)))
    if not met.size:
        return 0.0
    length, walked = _shortest(episode), episode.length_of(episode.encoded_query[: met[0] + 2])
    return share(length, walked) if length or walked else 0.0


def unstarted_similarity(episode: Episode) -> float:
    """NDTW of what was walked after the first action, without repeats."""
    query = episode.encoded_query[1:]
    return _similarity(episode, query[changes(query)]) if len(query) else inf


def unstarted_success(episode: Episode) -> float:
    """SR times that."""
    return episode.success() * unstarted_similarity(episode) if episode.success() else 0.0


def waypoint_accuracy(episode: Episode) -> float:
    """The share of the reference's points that some position after the first action comes within half a metre of."""
    recorded = episode.recorded.get("waypoint_distances")
    away = np.array(episode.matrix() if recorded is None else recorded, dtype=np.float64)
    if recorded is None:
        away[-1] = episode.goal_distances()
    return float((away[:, 1:] < NEAR_WAYPOINT).any(axis=1).mean())


def people_met(episode: Episode) -> float:
    """Collisions with people beyond those of the ground truth."""
    met, unavoidable = (episode.recorded.get(name) for name in PEOPLE)
    return inf if met is None or unavoidable is None else float(max(0, met - unavoidable))


def any_met(episode: Episode) -> float:
    """1 where there was one."""
    met = people_met(episode)
    return met if met == inf else float(met > 0)


def safe_success(episode: Episode) -> float:
    """1 for a success without one."""
    met = people_met(episode)
    return met if met == inf else float(episode.success() and met == 0)


def driven_success_by_length(episode: Episode) -> float:
    """SR times the straight line over speed times time, between 0 and 1."""
    speeds, step = episode.recorded.get("speeds"), episode.recorded.get("step")
    if speeds is None or step is None:
        return inf
    straight, driven = float(episode.goal_distances()[0]), float(np.sum(speeds) * step)
    ratio = straight / driven if driven else 1.0
    return episode.success() * min(max(ratio, 0.0), 1.0)


def tour_similarity(episode: Episode) -> float:
    """IVLN-CE's t-nDTW: one warping over a tour of several episodes, tied where they begin and end.

    exp(-DTW / (|R| d_th)) of the positions that the agent walked itself.
    """
    if any(name not in episode.recorded for name in TOUR):
        return inf
    known = [episode.recorded[name] for name in TOUR]
    query, of_query = _walked(episode.encoded_query, *known[:2], repeats=False)
    reference, of_reference = _walked(episode.encoded_reference, *known[2:], repeats=True)
    if [key for key, _ in groupby(of_query)] != [key for key, _ in groupby(of_reference)]:
        return inf
    distances = episode.distance.between(reference, query)
    tied = distances.copy()  # one cell stays open in the reference's rows where an episode ends and the next begins
    for i, j in zip(_borders(of_reference), _borders(of_query), strict=True):
        tied[i] = inf
        tied[i, j] = distances[i, j]
    cost = warp_costs(tied)
    return float(np.exp(-cost / (len(reference) * episode.threshold))) if cost < inf else inf


def _walked(path: Any, episodes: list[Any], phases: list[Any], *, repeats: bool) -> tuple[Floats, list[Any]]:
    """Return the positions of phase "agent" and their episodes."""
    steps = list(zip(path.tolist(), episodes, phases, strict=True))
    kept = [step for k, step in enumerate(steps) if (repeats or not k or step != steps[k - 1]) and step[2] == "agent"]
    return np.array([point for point, _, _ in kept]), [key for _, key, _ in kept]


def _borders(keys: list[Any]) -> list[int]:
    """Return the last row of every run of equal keys and the first of the next."""
    return [row for last, (a, b) in enumerate(pairwise(keys)) if a != b for row in (last, last + 1)]


PE, LAW, WAYPOINTS, HA = "internnav-pe", "law-vlnce", "cwp-waypoints", "ha-vln"
FINISHED, FAILED = ("finished",), ("fail_reason",)
COLUMNS: dict[str, Metric] = {
    **goal_columns(PE, finished_distances, "of finished actions", records=FINISHED),
    f"SPL:{PE}": variant(
        "SPL", "SR * L / max(PL, L), 0 where PL = 0", finished_success_by_length, (*FINISHED, "start_distance")
    ),
    f"proximity:{PE}": variant(
        "proximity",
        "mean of exp(-d(q, R)^2 / (2 d_th^2)) at the start and finished actions",
        finished_proximity,
        FINISHED,
    ),
    f"steps:{PE}": replace(KNOWN["steps"], formula="|Q|, repeats counted", compute=Measured("recorded_count")),
    f"L:{PE}": column("L", "Shortest length", LENGTH, "the dataset's", dataset_length, ("start_distance",)),
    f"FR:{PE}": column("FR", "Fall Rate", CHANCE, "1[fall]", fell, FAILED),
    f"StR:{PE}": column("StR", "Stuck Rate", CHANCE, "1[stuck]", stuck, FAILED),
    "OSR:cwp": variant("OSR", "1[min d(q, goal) <= d_th] over decisions", decision_success, ("decisions",)),
    "collisions:cwp": column(
        "collisions", "Collision rate", COUNT, "collisions / moves", collision_rate, ("collided",)
    ),
    "collisions:etpnav": column(
        "collisions", "Collision rate", COUNT, "collisions / |Q|", collisions_by_position, ("collisions",)
    ),
    f"PL:{WAYPOINTS}": variant("PL", "of points every 0.25 m between waypoints", sampled_length, needs=POINTS),
    f"SPL:{WAYPOINTS}": variant(
        "SPL", "SR * L / max(PL, L), PL of those points", sampled_success_by_length, needs=POINTS
    ),
    f"nDTW:{WAYPOINTS}": variant(
        "nDTW", "exp(-DTW / (|R| d_th)) of those points", sampled_similarity, needs=POINTS | WARPING
    ),
    **goal_columns(LAW, after_start, "after the first action"),
    f"OSPL:{LAW}": variant("OSPL", "L / max(PL, L) at the first moment within d_th", first_success_by_length),
    f"nDTW:{LAW}": variant(
        "nDTW", "exp(-DTW / (|R| d_th)) after the first action", unstarted_similarity, needs=WARPING
    ),
    f"SDTW:{LAW}": variant("SDTW", "SR * nDTW", unstarted_success, needs=WARPING),
    f"WA:{LAW}": column(
        "WA", "Waypoint Accuracy", SCORE, "mean_r 1[min_q d(q, r) < 0.5 m]", waypoint_accuracy, ("waypoint_distances",)
    ),
    f"TCR:{HA}": column("TCR", "Total Collision Rate", COUNT, "max(0, collisions - those of R)", people_met, PEOPLE),
    f"CR:{HA}": column("CR", "Collision Rate", CHANCE, "1[TCR > 0]", any_met, PEOPLE),
    f"safeSR:{HA}": column("safeSR", "Success without collisions", SCORE, "SR * 1[TCR = 0]", safe_success, PEOPLE),
    "SPL:navdp": variant(
        "SPL", "SR * d(q_1, goal) / (speed * time), between 0 and 1", driven_success_by_length, ("speeds", "step")
    ),
    "L:navdp": column("L", "Straight line", LENGTH, "d(q_1, goal)", shortest_length),
    "tnDTW:ivlnce-tours": column(
        "tnDTW", "nDTW of a tour", SCORE, "exp(-DTW / (|R| d_th)), tied at the ends of episodes", tour_similarity, TOUR
    ),
}
