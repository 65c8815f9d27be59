"""The files that the documentation's examples read: one generated run, written as each kind of dataset writes it."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from docs.building.continuous import continuous_files
from docs.building.course import COURSE, STRETCH, Walks, as_json, as_lines, episodes, nodes, seen_from, walks
from wayscore.worlds.files import course_files, node_name


@cache
def files() -> dict[str, bytes]:
    """Return every file of the workspace: name -> content."""
    made = course_files(COURSE, [])
    references = json.loads(made["references.json"])
    for record in references:
        record["distance"] = round(record["distance"] * STRETCH, 2)
    agent = walks()["agent"]
    found = {
        "R2R_val_unseen.json": as_json(references),
        "R2R_test.json": as_json([{**r, "path": r["path"][:1]} for r in references]),
        "R4R_val_unseen.json": as_json([{**r, "first_path_id": 1, "second_path_id": 2} for r in references]),
        "results.json": _run(agent),
        "other.json": _run(walks()["shortest"]),
    }
    found |= {name: _stretched(content) for name, content in made.items() if name.startswith("connectivity/")}
    for written in (_rxr, _back, _ndh, _reverie, _soon, _streets):
        found |= written(agent)
    return found | continuous_files()


def write(folder: Path) -> None:
    """Write the files into a folder."""
    for name, content in files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def _run(walk: Walks) -> bytes:
    return as_json({"instr_id": name, "trajectory": _steps(path)} for name, path in walk.items())


def _steps(path: list[Any]) -> list[list[Any]]:
    return [[node, 0.0, 0.0] for node in nodes(path)]


def _stretched(content: bytes) -> bytes:
    viewpoints = json.loads(content)
    for viewpoint in viewpoints:
        for entry in (3, 7):
            viewpoint["pose"][entry] *= STRETCH
    return as_json(viewpoints)


def _rxr(walk: Walks) -> dict[str, bytes]:
    guides = [
        {
            "instruction_id": number,
            "path_id": task.path_id,
            "scan": task.scan,
            "path": nodes(task.path),
            "instruction": words,
            "language": ("en-US", "hi-IN", "te-IN")[number % 3],
        }
        for number, (_, task, words) in enumerate(episodes())
    ]
    run = [{"instruction_id": number, "path": nodes(walk[name])} for number, (name, _, _) in enumerate(episodes())]
    return {
        "rxr_val_unseen_guide.jsonl.gz": gzip.compress(as_lines(guides), mtime=0),
        "rxr_results.jsonl": as_lines(run),
    }


def _back(walk: Walks) -> dict[str, bytes]:
    """Write walks there and back; the agent says where it turned."""
    references, run = [], []
    for name, task, _ in episodes():
        there, walked = nodes(task.path), nodes(walk[name])
        row = {"episode": name, "scene": task.scan, "path_id": task.path_id, "path": [*there, *there[-2::-1]]}
        references.append({**row, "facts": {"midstop": there[-1]}})
        run.append({"episode": name, "path": [*walked, *walked[-2::-1]], "recorded": {"pred_midstop": walked[-1]}})
    return {"back.jsonl": as_lines(references), "back_results.jsonl": as_lines(run)}


def _ndh(walk: Walks) -> dict[str, bytes]:
    instances, run = [], []
    for number, (name, task, words) in enumerate(episodes()):
        instances.append(
            {
                "inst_idx": number,
                "scan": task.scan,
                "start_pano": {"pano": node_name(task.path[0])},
                "planner_path": nodes(task.path),
                "player_path": nodes(task.path[:-1]),
                "end_panos": seen_from(task),
                "dialog_history": [{"role": "oracle", "message": words}],
            }
        )
        run.append({"inst_idx": number, "trajectory": _steps(walk[name])})
    return {"NDH_val_unseen.json": as_json(instances), "ndh_results.json": as_json(run)}


def _reverie(walk: Walks) -> dict[str, bytes]:
    """Write walks to objects; the agent names another object every fourth time."""
    records, boxes, run = [], {}, []
    for task in COURSE.tasks:
        thing = str(100 + task.path_id)
        records.append(
            {
                "id": f"{task.path_id}_{thing}",
                "scan": task.scan,
                "path": nodes(task.path),
                "instructions": list(task.instructions),
                "objId": thing,
                "path_id": task.path_id,
            }
        )
        for node in seen_from(task):
            boxes.setdefault(task.scan, {}).setdefault(node, {})[thing] = {"visible_pos": [12]}
        for number in range(len(task.instructions)):
            steps = _steps(walk[f"{task.path_id}_{number}"])
            named = thing if len(run) % 4 else "1"
            run.append({"instr_id": f"{task.path_id}_{thing}_{number}", "trajectory": steps, "predObjId": named})
    return {
        "REVERIE_val_unseen.json": as_json(records),
        "BBoxes.json": json.dumps(boxes).encode(),
        "reverie_results.json": as_json(run),
    }


def _soon(walk: Walks) -> dict[str, bytes]:
    """Write walks to objects with the direction in which each is seen, and the one that the agent named."""
    rng = np.random.default_rng(0)
    references, run = [], []
    for name, task, _ in episodes():
        boxes = {node: _box(heading) for node, heading in zip(seen_from(task), (-0.8, 0.4, 1.6), strict=False)}
        row = {"episode": name, "scene": task.scan, "path_id": task.path_id, "path": nodes(task.path)}
        references.append({**row, "facts": {"boxes": boxes}})
        path = nodes(walk[name])
        heading = round(boxes.get(path[-1], {"heading": 0.0})["heading"] + rng.normal(scale=0.3), 3)
        run.append(
            {"episode": name, "path": path, "recorded": {"predicted_heading": heading, "predicted_elevation": 0.1}}
        )
    return {"soon.jsonl": as_lines(references), "soon_results.jsonl": as_lines(run)}


def _box(heading: float) -> dict[str, Any]:
    corners = {"left_top": (-1, 1), "right_top": (1, 1), "right_bottom": (1, -1), "left_bottom": (-1, -1)}
    target = {
        name: {"heading": round(heading + 0.4 * across, 3), "elevation": 0.3 * up}
        for name, (across, up) in corners.items()
    }
    return {"heading": heading, "elevation": 0.0, "target": target}


def _streets(walk: Walks) -> dict[str, bytes]:
    """Write the episodes of the first world as routes along streets, some of which are one-way."""
    scan = "world1"
    graph = COURSE.worlds[scan].graph
    rng = np.random.default_rng(0)
    panoramas = [
        f"{node_name(node)},0,{40.7 + y / 1e5:.6f},{-74.0 + x / 1e5:.6f}"  # type: ignore[arg-type]
        for node, (x, y) in zip(graph.nodes, COURSE.worlds[scan].positions.tolist(), strict=True)
    ]
    links = []
    for a, b in graph.edges:
        names = [node_name(graph.nodes[end]) for end in (a, b)]  # type: ignore[arg-type]
        links.append(f"{names[0]},0,{names[1]}")
        if rng.random() < 0.8:
            links.append(f"{names[1]},0,{names[0]}")
    here = [(name, task, words) for name, task, words in episodes() if task.scan == scan]
    routes = [
        {"route_id": number, "route_panoids": nodes(task.path), "navigation_text": words}
        for number, (_, task, words) in enumerate(here)
    ]
    run = [{"route_id": number, "path": nodes(walk[name])} for number, (name, _, _) in enumerate(here)]
    return {
        "streets/nodes.txt": "\n".join(panoramas).encode(),
        "streets/links.txt": "\n".join(links).encode(),
        "touchdown_test.json": as_lines(routes),
        "touchdown_results.json": as_lines(run),
    }
