"""Columns of evaluators of walks to objects: ScaleVLN's REVERIE, DUET's SOON."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot, inf
from typing import Any

import numpy as np

from wayscore.distances.base import Places
from wayscore.metrics.base import SCORE, Metric
from wayscore.metrics.episode import Episode
from wayscore.metrics.evaluators.column import ANGLE, column, share, variant
from wayscore.metrics.extra import grounding, grounding_by_length

BOXES, DIRECTION = ("boxes",), ("boxes", "predicted_heading", "predicted_elevation")


def grounding_at_goal(episode: Episode) -> float:
    """RGS where the walk also succeeds, else 0."""
    return grounding(episode) if episode.success() else 0.0


def grounding_at_goal_by_length(episode: Episode) -> float:
    """RGSPL where the walk also succeeds, else 0."""
    return grounding_by_length(episode) if episode.success() else 0.0


def _box(episode: Episode) -> Any:
    """Return the object's box as it is seen from where the walk ends; None where it is not seen."""
    boxes = episode.recorded.get("boxes")
    return boxes.get(episode.query[-1]) if boxes else None


def _goal(episode: Episode) -> Places:
    """Return the goal: where the walk ends if the object is seen there, else the reference's end."""
    return episode.encoded_query[-1:] if _box(episode) is not None else episode.encoded_reference[-1:]


def _away(episode: Episode, step: int) -> float:
    return float(episode.distance.between(_goal(episode), episode.encoded_query[[step]])[0, 0])


def error(episode: Episode) -> float:
    """d(q_|Q|, goal)."""
    return _away(episode, -1)


def oracle_error(episode: Episode) -> float:
    """d(q, goal) of the node that is nearest to the reference's end."""
    return _away(episode, int(np.argmin(episode.goal_distances())))


def success(episode: Episode) -> float:
    """1 where the error is below d_th."""
    return float(error(episode) < episode.threshold)


def oracle_success(episode: Episode) -> float:
    """1 where the oracle's error is below d_th."""
    return float(oracle_error(episode) < episode.threshold)


def progress(episode: Episode) -> float:
    """d(q_1, goal) - d(q_|Q|, goal)."""
    start, end = _away(episode, 0), _away(episode, -1)
    return start - end if end < inf else inf


def _efficiency(episode: Episode) -> float:
    return share(_away(episode, 0), episode.length(), 0.01)


def success_by_length(episode: Episode) -> float:
    """SPL."""
    return success(episode) * _efficiency(episode)


def found(episode: Episode) -> float:
    """1 where the direction that the agent named lies inside the box."""
    box = _box(episode)
    if box is None:
        return 0.0
    corners = [(corner["heading"], corner["elevation"]) for corner in box["target"].values()]
    return float(_inside(_direction(episode), corners))


def found_by_length(episode: Episode) -> float:
    """The same weighted as SPL is."""
    return found(episode) * _efficiency(episode)


def heading_error(episode: Episode) -> float:
    """Between the direction that the agent named and the middle of the box, around."""
    return _off(episode)[0]


def elevation_error(episode: Episode) -> float:
    """The same, up and down."""
    return _off(episode)[1]


def point_error(episode: Episode) -> float:
    """Both together."""
    return hypot(*_off(episode))


def _direction(episode: Episode) -> tuple[float, float]:
    return episode.recorded.get("predicted_heading", inf), episode.recorded.get("predicted_elevation", inf)


def _off(episode: Episode) -> tuple[float, float]:
    box = _box(episode)
    if box is None:
        return inf, inf
    heading, elevation = _direction(episode)
    return abs(heading - box["heading"]), abs(elevation - box["elevation"])


def _inside(point: tuple[float, float], corners: Sequence[tuple[float, float]]) -> bool:
    """Say whether a point lies strictly inside a convex polygon: on the same side of all of its sides."""
    x, y = point
    turns = [
        (bx - ax) * (y - ay) - (by - ay) * (x - ax)
        for (ax, ay), (bx, by) in zip(corners, [*corners[1:], corners[0]], strict=True)
    ]
    return all(turn > 0 for turn in turns) or all(turn < 0 for turn in turns)


OBJECTS = ("object", "predicted_object")
SOON = "soon-duet"
COLUMNS: dict[str, Metric] = {
    "RGS:reverie-scalevln": variant("RGS", "SR * 1[right object]", grounding_at_goal, OBJECTS),
    "RGSPL:reverie-scalevln": variant("RGSPL", "RGS * L / max(PL, L)", grounding_at_goal_by_length, OBJECTS),
    f"NE:{SOON}": variant("NE", "d(q_|Q|, goal), 0 where the object is seen from q_|Q|", error, BOXES),
    f"ONE:{SOON}": variant("ONE", "d(q, goal) of the q nearest to r_|R|", oracle_error, BOXES),
    f"SR:{SOON}": variant("SR", "1[NE < d_th]", success, BOXES),
    f"OSR:{SOON}": variant("OSR", "1[ONE < d_th]", oracle_success, BOXES),
    f"GP:{SOON}": variant("GP", "d(q_1, goal) - d(q_|Q|, goal)", progress, BOXES),
    f"SPL:{SOON}": variant("SPL", "SR * L / max(PL, L, 0.01), L = d(q_1, goal)", success_by_length, BOXES),
    f"detSR:{SOON}": column("detSR", "Detection rate", SCORE, "1[direction inside the box]", found, DIRECTION),
    f"detSPL:{SOON}": column(
        "detSPL", "Detection by length", SCORE, "detSR * L / max(PL, L, 0.01)", found_by_length, DIRECTION
    ),
    f"heading_error:{SOON}": column(
        "heading_error", "Heading error", ANGLE, "|heading - box|", heading_error, DIRECTION
    ),
    f"elevation_error:{SOON}": column(
        "elevation_error", "Elevation error", ANGLE, "|elevation - box|", elevation_error, DIRECTION
    ),
    f"point_error:{SOON}": column(
        "point_error", "Direction error", ANGLE, "root of both errors, squared and added", point_error, DIRECTION
    ),
}
