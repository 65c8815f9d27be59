"""The files that the documentation's examples read: one generated run, written as each kind of dataset writes it.

A world's metre is stretched so that 3 m is 1.33 times the mean edge, as it is in Matterport3D.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.worlds.files import Course, course_files, node_name

Floats = NDArray[np.float64]

COURSE = Course(seed=0, episodes=240, instructions=3)
STRETCH = 3 / COURSE.threshold
HABITS = ("noisy", "noisy", "detour", "shortest", "overshoot")
"""How the agent of the examples walks, episode by episode."""
STRIDE = 0.25
"""How far an agent in a continuous world moves at once, metres."""
ALTITUDE = 30.0
CITY = 10.0
"""A drone's world is so much larger than a building."""


@cache
def files() -> dict[str, bytes]:
    """Return every file of the workspace: name -> content."""
    made = course_files(COURSE, [])
    references = json.loads(made["references.json"])
    for record in references:
        record["distance"] = round(record["distance"] * STRETCH, 2)
    walks = _walks()
    found = {
        "R2R_val_unseen.json": _json(references),
        "R2R_test.json": _json([{**r, "path": r["path"][:1]} for r in references]),
        "R4R_val_unseen.json": _json([{**r, "first_path_id": 1, "second_path_id": 2} for r in references]),
        "results.json": _run(walks["agent"]),
        "other.json": _run(walks["shortest"]),
    }
    found |= {name: _stretched(content) for name, content in made.items() if name.startswith("connectivity/")}
    return found | _rxr(walks) | _ndh(walks) | _reverie(walks) | _continuous(walks) | _streets(walks) | _flights(walks)


def write(folder: Path) -> None:
    """Write the files into a folder."""
    for name, content in files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def _walks() -> dict[str, dict[str, list[Any]]]:
    """Return what the agent walks, and what one walks who always takes the shortest way: episode -> nodes."""
    by_habit = {habit: COURSE.walk(habit) for habit in dict.fromkeys((*HABITS, "shortest"))}
    names = list(by_habit["shortest"])
    mixed = {name: by_habit[HABITS[number % len(HABITS)]][name] for number, name in enumerate(names)}
    return {"agent": mixed, "shortest": by_habit["shortest"]}


def _episodes() -> Iterable[tuple[str, Any, str]]:
    """Yield name, task and words of every episode."""
    for task in COURSE.tasks:
        for number, words in enumerate(task.instructions):
            yield f"{task.path_id}_{number}", task, words


def _nodes(path: Sequence[Any]) -> list[str]:
    return [node_name(node) for node in path]


def _points(scan: str, path: Sequence[Any]) -> Floats:
    world = COURSE.worlds[scan]
    points: Floats = STRETCH * world.positions[[world.graph.index[node] for node in path]]
    return points


def _far(scan: str, path: Sequence[Any]) -> float:
    return round(STRETCH * COURSE.worlds[scan].graph.distance(path[0], path[-1]), 3)


def _run(walk: dict[str, list[Any]]) -> bytes:
    return _json(
        {"instr_id": name, "trajectory": [[node, 0.0, 0.0] for node in _nodes(path)]} for name, path in walk.items()
    )


def _stretched(content: bytes) -> bytes:
    viewpoints = json.loads(content)
    for viewpoint in viewpoints:
        for entry in (3, 7):
            viewpoint["pose"][entry] *= STRETCH
    return _json(viewpoints)


def _rxr(walks: dict[str, dict[str, list[Any]]]) -> dict[str, bytes]:
    guides = [
        {
            "instruction_id": number,
            "path_id": task.path_id,
            "scan": task.scan,
            "path": _nodes(task.path),
            "instruction": words,
            "language": ("en-US", "hi-IN", "te-IN")[number % 3],
        }
        for number, (_, task, words) in enumerate(_episodes())
    ]
    run = [
        {"instruction_id": number, "path": _nodes(walks["agent"][name])}
        for number, (name, _, _) in enumerate(_episodes())
    ]
    return {"rxr_val_unseen_guide.jsonl.gz": gzip.compress(_lines(guides), mtime=0), "rxr_results.jsonl": _lines(run)}


def _ndh(walks: dict[str, dict[str, list[Any]]]) -> dict[str, bytes]:
    instances, run = [], []
    for number, (name, task, words) in enumerate(_episodes()):
        world = COURSE.worlds[task.scan]
        instances.append(
            {
                "inst_idx": number,
                "scan": task.scan,
                "start_pano": {"pano": node_name(task.path[0])},
                "planner_path": _nodes(task.path),
                "player_path": _nodes(task.path[:-1]),
                "end_panos": _nodes([task.path[-1], *world.neighbors(task.path[-1])[:2]]),
                "dialog_history": [{"role": "oracle", "message": words}],
            }
        )
        run.append({"inst_idx": number, "trajectory": [[node, 0.0, 0.0] for node in _nodes(walks["agent"][name])]})
    return {"NDH_val_unseen.json": _json(instances), "ndh_results.json": _json(run)}


def _reverie(walks: dict[str, dict[str, list[Any]]]) -> dict[str, bytes]:
    records, boxes, run = [], {}, []
    for task in COURSE.tasks:
        seen = _nodes([task.path[-1], *COURSE.worlds[task.scan].neighbors(task.path[-1])[:2]])
        thing = str(100 + task.path_id)
        records.append(
            {
                "id": f"{task.path_id}_{thing}",
                "scan": task.scan,
                "path": _nodes(task.path),
                "instructions": list(task.instructions),
                "objId": thing,
                "path_id": task.path_id,
            }
        )
        for node in seen:
            boxes.setdefault(task.scan, {}).setdefault(node, {})[thing] = {"visible_pos": [12]}
        for number in range(len(task.instructions)):
            path = walks["agent"][f"{task.path_id}_{number}"]
            steps = [[node, 0.0, 0.0] for node in _nodes(path)]
            run.append({"instr_id": f"{task.path_id}_{thing}_{number}", "trajectory": steps, "predObjId": thing})
    return {
        "REVERIE_val_unseen.json": _json(records),
        "BBoxes.json": json.dumps(boxes).encode(),
        "reverie_results.json": _json(run),
    }


def _continuous(walks: dict[str, dict[str, list[Any]]]) -> dict[str, bytes]:
    """Write the walks in steps of 0.25 m, in Habitat's frame (y points up) and in one where z does."""
    rng = np.random.default_rng(0)
    episodes, dense, run, plain, walked = [], {}, {}, [], []
    for number, (name, task, words) in enumerate(_episodes(), start=1):
        nodes, query = _points(task.scan, task.path), walks["agent"][name]
        steps = _strides(_points(task.scan, query), rng)
        stop = bool(rng.random() < 0.9)  # the others ran out of time
        episodes.append(
            {
                "episode_id": number,
                "trajectory_id": task.path_id,
                "scene_id": f"mp3d/{task.scan}/{task.scan}.glb",
                "start_position": _habitat(nodes)[0],
                "info": {"geodesic_distance": _far(task.scan, task.path)},
                "instruction": {"instruction_text": words},
                "reference_path": _habitat(nodes),
            }
        )
        dense[str(number)] = {"locations": _habitat(_even(nodes))}
        poses: list[dict[str, Any]] = [{"position": point, "stop": False} for point in _habitat(steps)]
        poses[-1]["stop"] = stop
        run[str(number)] = poses
        row = {"episode": number, "scene": task.scan, "path": _upright(nodes)}
        plain.append({**row, "path_id": task.path_id, "start_distance": _far(task.scan, task.path)})
        walked.append({"episode": number, "path": _upright(steps), "stopped": stop})
    return {
        "val_unseen.json.gz": gzip.compress(json.dumps({"episodes": episodes}).encode(), mtime=0),
        "val_unseen_gt.json.gz": gzip.compress(json.dumps(dense).encode(), mtime=0),
        "predictions.json": json.dumps(run).encode(),
        "rooms.jsonl": _lines(plain),
        "walked.jsonl": _lines(walked),
    }


def _strides(nodes: Floats, rng: np.random.Generator) -> Floats:
    """Walk along nodes: a little off their line, with turns on the spot at every node."""
    points = [nodes[:1]]
    for start, end in pairwise(nodes):
        way = _even(np.stack((start, end)))[1:]
        points += [np.repeat(points[-1][-1:], rng.integers(0, 4), axis=0), way + rng.normal(scale=0.08, size=way.shape)]
    return np.concatenate(points)


def _even(nodes: Floats) -> Floats:
    from wayscore.convention.path_step import apply_path_step

    return apply_path_step([nodes], STRIDE)[0]


def _habitat(points: Floats) -> list[list[float]]:
    return [[round(x, 3), 0.2, round(-y, 3)] for x, y in points.tolist()]


def _upright(points: Floats) -> list[list[float]]:
    return [[round(x, 3), round(y, 3), 0.2] for x, y in points.tolist()]


def _streets(walks: dict[str, dict[str, list[Any]]]) -> dict[str, bytes]:
    """Write the episodes of the first world as routes along streets, some of which are one-way."""
    scan = "world1"
    graph = COURSE.worlds[scan].graph
    rng = np.random.default_rng(0)
    nodes = [
        f"{node_name(node)},0,{40.7 + y / 1e5:.6f},{-74.0 + x / 1e5:.6f}"  # type: ignore[arg-type]
        for node, (x, y) in zip(graph.nodes, COURSE.worlds[scan].positions.tolist(), strict=True)
    ]
    links = []
    for a, b in graph.edges:
        names = [node_name(graph.nodes[end]) for end in (a, b)]  # type: ignore[arg-type]
        links.append(f"{names[0]},0,{names[1]}")
        if rng.random() < 0.8:
            links.append(f"{names[1]},0,{names[0]}")
    here = [(name, task, words) for name, task, words in _episodes() if task.scan == scan]
    routes = [
        {"route_id": number, "route_panoids": _nodes(task.path), "navigation_text": words}
        for number, (_, task, words) in enumerate(here)
    ]
    run = [{"route_id": number, "path": _nodes(walks["agent"][name])} for number, (name, _, _) in enumerate(here)]
    return {
        "streets/nodes.txt": "\n".join(nodes).encode(),
        "streets/links.txt": "\n".join(links).encode(),
        "touchdown_test.json": _lines(routes),
        "touchdown_results.json": _lines(run),
    }


def _flights(walks: dict[str, dict[str, list[Any]]]) -> dict[str, bytes]:
    """Write the walks as flights: ten times as far, at changing altitudes."""
    rng = np.random.default_rng(0)
    flights, flown = [], []
    for number, (name, task, words) in enumerate(_episodes(), start=1):
        reference, query = (CITY * _points(task.scan, path) for path in (task.path, walks["agent"][name]))
        row = {"episode": number, "scene": task.scan, "path_id": task.path_id, "instruction": words}
        flights.append({**row, "path": _aloft(reference, np.full(len(reference), ALTITUDE))})
        heights = ALTITUDE + np.concatenate(([0.0], rng.normal(scale=6.0, size=len(query) - 1).cumsum()))
        flown.append({"episode": number, "path": _aloft(query, heights)})
    return {"flights.jsonl": _lines(flights), "flown.jsonl": _lines(flown)}


def _aloft(points: Floats, heights: Floats) -> list[list[float]]:
    return [
        [round(x, 2), round(y, 2), round(z, 2)] for (x, y), z in zip(points.tolist(), heights.tolist(), strict=True)
    ]


def _json(records: Iterable[Any]) -> bytes:
    return json.dumps(list(records)).encode()


def _lines(records: Iterable[Any]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()
