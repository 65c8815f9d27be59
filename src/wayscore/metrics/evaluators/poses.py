"""Columns of evaluators that look at positions and headings: IndoorUAV and UAV-Flow."""

from __future__ import annotations

from math import inf, pi
from typing import Any, NamedTuple

import numpy as np

from wayscore.distances.base import EUCLIDEAN, Floats
from wayscore.metrics.base import Metric
from wayscore.metrics.episode import Episode
from wayscore.metrics.evaluators.column import ANGLE, POINTS, column, fast_cost_by, goal_columns, variant
from wayscore.warping.encoded import dtw_value, fast_cost

STATES = 15
"""How many states IndoorUAV looks at in a short flight."""
PAUSE = 0.15, np.radians(15)
"""A move below both (metres, radians) is a pause, which ends a short flight."""
FACING = np.radians(45)
"""A short flight must end facing the right way, within this angle."""
POSITION_SCALE = 2.2
"""What IndoorUAV divides the weight of positions by, beside that of headings."""
LONG = 10
"""What nDTW of a long flight multiplies the reference's length by."""
SHORTEST = 1e-5
"""The least length of a reference, metres or radians."""
RECORDS = ("headings", "reference_headings")


def _headings(episode: Episode) -> tuple[Floats, Floats] | None:
    """Return the headings of reference and query, radians; None where they were not recorded."""
    known = [episode.recorded.get(name) for name in ("reference_headings", "headings")]
    if any(values is None for values in known):
        return None
    return np.radians(np.array(known[0], dtype=np.float64)), np.array(known[1], dtype=np.float64)


def _turn(a: Any, b: Any) -> Any:
    """Return the angle between two headings; as there, negative if they are more than a full turn apart."""
    apart = np.abs(np.asarray(a) - b)
    return np.minimum(apart, 2 * pi - apart)


class ShortFlight(NamedTuple):
    """Positions and headings up to the pause or the last state, whether it paused, and the reference's headings."""

    path: Floats
    headings: Floats
    paused: bool
    reference: Floats


def _flown(episode: Episode) -> ShortFlight | None:
    """Return a short flight; None where nothing was flown."""
    known = _headings(episode)
    if known is None or len(episode.encoded_query) < 2:
        return None
    path, headings = episode.encoded_query[1 : STATES + 1], known[1][1 : STATES + 1]
    moved = np.linalg.norm(np.diff(path, axis=0), axis=1)
    paused = np.flatnonzero((moved < PAUSE[0]) & (_turn(headings[1:], headings[:-1]) < PAUSE[1]))
    end = int(paused[0]) + 1 if paused.size else len(path)
    return ShortFlight(path[:end], headings[:end], bool(paused.size), known[0])


def short_distances(episode: Episode) -> Floats:
    """Return the distance from the goal at the end of a short flight."""
    flown, goal = _flown(episode), episode.encoded_reference[-1:]
    return np.empty(0) if flown is None else episode.distance.between(goal, flown.path)[0][-1:]


def short_turn(episode: Episode) -> float:
    """The angle between the headings at the ends of a short flight and its reference."""
    flown = _flown(episode)
    return inf if flown is None else float(_turn(flown.reference[-1], flown.headings[-1]))


def short_success(episode: Episode) -> float:
    """1 where a short flight ends within d_th, facing within 45 degrees of the right way."""
    away = short_distances(episode)
    return float(episode.within(away)[0] and short_turn(episode) < FACING) if len(away) else inf


def short_similarity(episode: Episode) -> float:
    """NDTW of positions and of headings, each by the reference's own length, weighted by that length."""
    flown = _flown(episode)
    if flown is None or not flown.paused:
        return inf
    metres = max(episode.reference_length(), SHORTEST)
    radians = max(float(_turn(flown.reference[1:], flown.reference[:-1]).sum()), SHORTEST)
    by_position = np.exp(-fast_cost(episode.encoded_reference, flown.path, EUCLIDEAN) / metres)
    by_heading = np.exp(-fast_cost_by(_turns, flown.reference[:, None], flown.headings[:, None]) / radians)
    weight = metres / POSITION_SCALE
    found = float((by_position * weight + by_heading * radians) / (weight + radians))
    return found if found < 1 else inf


def _turns(a: Floats, b: Floats) -> Floats:
    angles: Floats = _turn(a[:, 0], b[:, 0])
    return angles


def long_distances(episode: Episode) -> Floats:
    """Return the distances from the goal of a long flight; none where it was broken off."""
    reason = episode.recorded.get("termination_reason")
    return episode.goal_distances() if reason in (None, "no_more_instructions") else np.empty(0)


def long_similarity(episode: Episode) -> float:
    """exp(-FastDTW / (10 PL(R)))."""
    if not len(long_distances(episode)):
        return inf
    cost = fast_cost(episode.encoded_reference, episode.encoded_query, EUCLIDEAN)
    return float(np.exp(-cost / (LONG * max(episode.reference_length(), SHORTEST))))


def long_turn(episode: Episode) -> float:
    """The angle between the headings at the ends of a long flight and its reference."""
    known = _headings(episode)
    return inf if known is None or not len(long_distances(episode)) else float(_turn(known[0][-1], known[1][-1]))


def _states(episode: Episode) -> tuple[Floats, Floats] | None:
    """Return the sampled states of reference and query: metres, and the cosines of roll, yaw and pitch."""
    known = [episode.recorded.get(name) for name in ("reference_headings", "headings")]
    kind = episode.recorded.get("class", "")
    if any(values is None for values in known):
        return None
    every = 2 if kind in ("Turn", "Move") else 5
    found = []
    for path, angles in zip((episode.encoded_reference, episode.encoded_query), known, strict=True):
        metres = np.zeros_like(path) if kind in ("Turn", "Rotate") else path / 100
        found.append(np.hstack([metres, np.cos(np.radians(np.array(angles, dtype=np.float64)))])[::every])
    return np.ascontiguousarray(found[0][:20]), np.ascontiguousarray(found[1])


def state_warping(episode: Episode) -> float:
    """DTW of the states."""
    states = _states(episode)
    return inf if states is None else dtw_value(*states, EUCLIDEAN)


def state_length(episode: Episode) -> float:
    """The length of the reference's states."""
    states = _states(episode)
    return inf if states is None else float(np.linalg.norm(np.diff(states[0], axis=0), axis=1).sum())


def state_similarity(episode: Episode) -> float:
    """exp(-DTW / L) of the states; undefined where L is 0."""
    length = state_length(episode)
    return float(np.exp(-state_warping(episode) / length)) if 0 < length < inf else inf


SHORT, LONGER = "indooruav-vla", "indooruav-vln"
END = (*RECORDS, "termination_reason")
STATE = (*RECORDS, "class")
COLUMNS: dict[str, Metric] = {
    **goal_columns(SHORT, short_distances, "at the pause or the 15th state", records=RECORDS, needs=POINTS),
    f"SR:{SHORT}": variant("SR", "1[NE < d_th and heading error < 45 degrees]", short_success, RECORDS, POINTS),
    f"nDTW:{SHORT}": variant("nDTW", "exp(-DTW / PL(R)) of positions and headings", short_similarity, RECORDS, POINTS),
    f"heading_error:{SHORT}": column(
        "heading_error", "Heading error", ANGLE, "|heading - reference's| at the end", short_turn, RECORDS
    ),
    **goal_columns(LONGER, long_distances, "of flights that were not broken off", records=END, needs=POINTS),
    f"nDTW:{LONGER}": variant("nDTW", "exp(-DTW / (10 PL(R)))", long_similarity, END, POINTS),
    f"heading_error:{LONGER}": column(
        "heading_error", "Heading error", ANGLE, "|heading - reference's| at the end", long_turn, END
    ),
    "DTW:uav-flow": variant("DTW", "DTW of positions and cosines of angles", state_warping, STATE, POINTS),
    "L:uav-flow": column(
        "L",
        "Reference length",
        (None, (0, inf), ""),
        "of positions and cosines of angles",
        state_length,
        STATE,
        needs=POINTS,
    ),
    "nDTW:uav-flow": variant("nDTW", "exp(-DTW / L)", state_similarity, STATE, POINTS),
}
