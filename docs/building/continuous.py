"""Example files of continuous worlds: walks through rooms, tours of several walks, and flights.

Beside the paths they hold what some evaluators take from a simulator or from the agent.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from docs.building.course import COURSE, Floats, as_lines, episodes, points, walks, way
from wayscore.convention.applied import apply_path_step

STRIDE = 0.25
"""How far an agent in a continuous world moves at once, metres."""
ALTITUDE = 30.0
CITY = 10.0
"""How many times larger than a building a drone's world is."""
FINISH = 20.0
"""The success threshold of a drone, metres."""
TOUR = 4
"""How many walks a tour has."""
STATES = 14
"""How many states a flight through rooms has."""


def continuous_files() -> dict[str, bytes]:
    """Return the files: name -> content."""
    return _rooms() | _tours() | _flights() | _indoor()


def _rooms() -> dict[str, bytes]:
    """Write the walks in steps of 0.25 m, in Habitat's frame (y points up) and in one where z does."""
    rng, luck = np.random.default_rng(0), np.random.default_rng(1)
    listed, dense, run, measured, plain, walked = [], {}, {}, {}, [], []
    for number, (name, task, words) in enumerate(episodes(), start=1):
        query = walks()["agent"][name]
        corners = points(task.scan, task.path)
        steps, legs = _strides(points(task.scan, query), rng)
        stop = bool(rng.random() < 0.9)  # the others ran out of time
        shortest = round(way(task.scan, task.path[0], task.path[-1]), 3)
        listed.append(
            {
                "episode_id": number,
                "trajectory_id": task.path_id,
                "scene_id": f"mp3d/{task.scan}/{task.scan}.glb",
                "start_position": _habitat(corners)[0],
                "info": {"geodesic_distance": shortest},
                "instruction": {"instruction_text": words},
                "reference_path": _habitat(corners),
            }
        )
        dense[str(number)] = {"locations": _habitat(_even(corners))}
        last = len(steps) - 1
        run[str(number)] = [
            {"position": point, "stop": stop and at == last} for at, point in enumerate(_habitat(steps))
        ]
        away = _goal_distances(task.scan, query, steps, legs, task.path[-1])
        measured[str(number)] = [
            {**pose, "goal_distance": far} for pose, far in zip(run[str(number)], away, strict=True)
        ]
        row = {"episode": number, "scene": task.scan, "path": _upright(corners)}
        plain.append({**row, "path_id": task.path_id, "start_distance": shortest})
        recorded = _driven(steps, str(luck.choice(["", "fall", "stuck"], p=[0.92, 0.03, 0.05])))
        walked.append({"episode": number, "path": _upright(steps), "stopped": stop, "recorded": recorded})
    return {
        "val_unseen.json.gz": gzip.compress(json.dumps({"episodes": listed}).encode(), mtime=0),
        "val_unseen_gt.json.gz": gzip.compress(json.dumps(dense).encode(), mtime=0),
        "predictions.json": json.dumps(run).encode(),
        "measured.json": json.dumps(measured).encode(),
        "rooms.jsonl": as_lines(plain),
        "walked.jsonl": as_lines(walked),
    }


def _strides(corners: Floats, rng: np.random.Generator) -> tuple[Floats, list[int]]:
    """Walk along nodes, a little off their line, with turns on the spot; return points, and the leg of each."""
    found, legs = [corners[:1]], [0]
    for leg, (start, end) in enumerate(pairwise(corners)):
        line = _even(np.stack((start, end)))[1:]
        turns = np.repeat(found[-1][-1:], rng.integers(0, 4), axis=0)
        found += [turns, line + rng.normal(scale=0.08, size=line.shape)]
        legs += [leg] * (len(turns) + len(line))
    return np.concatenate(found), legs


def _goal_distances(scan: str, query: Sequence[Any], steps: Floats, legs: list[int], goal: Any) -> list[float]:
    """Return what a simulator would measure: from each position to an end of its leg, then along the edges."""
    corners, ways = points(scan, query), [way(scan, node, goal) for node in query]
    ends = [(leg, min(leg + 1, len(query) - 1)) for leg in legs]
    return [
        round(min(float(np.linalg.norm(step - corners[end])) + ways[end] for end in pair), 3)
        for step, pair in zip(steps, ends, strict=True)
    ]


def _driven(steps: Floats, failed: str) -> dict[str, Any]:
    """Return what a robot records: where actions ended, how fast it drove, and why it failed."""
    moved = np.linalg.norm(np.diff(steps, axis=0), axis=1)
    finished = [True, *(moved > 0).tolist()]
    return {"finished": finished, "speeds": (moved / 0.5).round(3).tolist(), "step": 0.5, "fail_reason": failed}


def _even(corners: Floats, step: float = STRIDE) -> Floats:
    return apply_path_step([corners], step)[0]


def _habitat(path: Floats) -> list[list[float]]:
    return [[round(x, 3), 0.2, round(-y, 3)] for x, y in path.tolist()]


def _upright(path: Floats, height: float = 0.2) -> list[list[float]]:
    return [[round(x, 3), round(y, 3), height] for x, y in path.tolist()]


def _tours() -> dict[str, bytes]:
    """Write walks through one world on end, each beginning where its instruction does."""
    rng = np.random.default_rng(0)
    references, run = [], []
    for scan, tasks in groupby(COURSE.tasks, lambda task: task.scan):
        listed = list(tasks)
        for first in range(0, len(listed), TOUR):
            tour = listed[first : first + TOUR]
            row = {"episode": f"tour{len(run)}", "scene": scan}
            path, of_path = _on_end([points(scan, task.path) for task in tour])
            facts = {"reference_episodes": of_path, "reference_phases": ["agent"] * len(path)}
            references.append({**row, "path": _upright(path), "facts": facts})
            query, of_query = _on_end([points(scan, walks()["agent"][f"{task.path_id}_0"]) for task in tour])
            query[1:] += rng.normal(scale=0.1, size=query[1:].shape)
            recorded = {"query_episodes": of_query, "query_phases": ["agent"] * len(query)}
            run.append({**row, "path": _upright(query), "recorded": recorded})
    return {"tours.jsonl": as_lines(references), "toured.jsonl": as_lines(run)}


def _on_end(paths: Sequence[Floats]) -> tuple[Floats, list[int]]:
    return np.concatenate(paths), [number for number, path in enumerate(paths) for _ in path]


def _flights() -> dict[str, bytes]:
    """Write the walks as flights: ten times as far, at changing altitudes."""
    rng, luck = np.random.default_rng(0), np.random.default_rng(1)
    flights, flown = [], []
    for number, (name, task, words) in enumerate(episodes(), start=1):
        reference, query = (CITY * points(task.scan, path) for path in (task.path, walks()["agent"][name]))
        row = {"episode": number, "scene": task.scan, "path_id": task.path_id, "instruction": words}
        flights.append({**row, "path": _aloft(reference, np.full(len(reference), ALTITUDE))})
        heights = ALTITUDE + np.concatenate(([0.0], rng.normal(scale=6.0, size=len(query) - 1).cumsum()))
        recorded = _believed(query, reference[-1], luck)
        flown.append({"episode": number, "path": _aloft(query, heights), "recorded": recorded})
    return {"flights.jsonl": as_lines(flights), "flown.jsonl": as_lines(flown)}


def _aloft(path: Floats, heights: Floats) -> list[list[float]]:
    return np.column_stack((path, heights)).round(2).tolist()


def _believed(query: Floats, goal: Floats, luck: np.random.Generator) -> dict[str, Any]:
    """Return where a drone believed its goal and how far along itself, and the folder its result was put in."""
    away = np.linalg.norm(query - goal, axis=1)
    progress = np.clip(1 - away / max(away[0], 1.0) + luck.normal(scale=0.1, size=len(away)), 0, 1)
    goals = goal + luck.normal(size=query.shape) * (5 + 0.2 * away[:, None])
    outcome = "success" if away[-1] <= FINISH else "oracle" if away.min() <= FINISH else "failure"
    return {
        "predicted_goals": goals.round(2).tolist(),
        "predicted_progress": progress.round(3).tolist(),
        "outcome": outcome,
    }


def _indoor() -> dict[str, bytes]:
    """Write the beginnings of the walks as flights with headings: in metres, and in centimetres with three angles."""
    rng = np.random.default_rng(0)
    indoor, indoor_flown, drone, drone_flown = [], [], [], []
    for number, (name, task, _) in enumerate(episodes(), start=1):
        reference = _even(points(task.scan, task.path), 0.5)[:STATES]
        query = _even(points(task.scan, walks()["agent"][name]), 0.5)[:STATES]
        query[1:] += rng.normal(scale=0.05, size=query[1:].shape)
        row, right, own = {"episode": number, "scene": task.scan}, _yaws(reference), _yaws(query)
        query, own = np.vstack([query, query[-1:]]), [*own, own[-1]]  # it pauses at its end
        ended = "no_more_instructions" if number % 10 else "timeout"
        indoor.append({**row, "path": _upright(reference, 1.5), "facts": {"reference_headings": right}})
        flown = {"episode": number, "path": _upright(query, 1.5), "headings": np.radians(own).round(4).tolist()}
        indoor_flown.append({**flown, "recorded": {"termination_reason": ended}})
        facts = {"class": "Move", "reference_headings": _with_roll_and_pitch(right)}
        drone.append({**row, "path": _upright(100 * reference, 150.0), "facts": facts})
        headings = _with_roll_and_pitch(own)
        drone_flown.append({"episode": number, "path": _upright(100 * query, 150.0), "headings": headings})
    return {
        "indoor.jsonl": as_lines(indoor),
        "indoor_flown.jsonl": as_lines(indoor_flown),
        "drone.jsonl": as_lines(drone),
        "drone_flown.jsonl": as_lines(drone_flown),
    }


def _yaws(path: Floats) -> list[float]:
    """Return where a path leads at every point, degrees; its last move counts for its end too."""
    moves = np.diff(path, axis=0, append=2 * path[-1:] - path[-2:-1]) if len(path) > 1 else np.zeros((1, 2))
    return np.degrees(np.arctan2(moves[:, 1], moves[:, 0])).round(2).tolist()


def _with_roll_and_pitch(yaws: list[float]) -> list[list[float]]:
    return [[0.0, yaw, 0.0] for yaw in yaws]
