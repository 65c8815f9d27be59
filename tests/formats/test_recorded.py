"""What files record beside paths: distances to the goal, headings, objects, decisions, and whatever else."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path
from typing import Any

import pytest

import wayscore as ws
from tests.formats.test_readers import write
from wayscore.formats.convert import convert


def one(path: Path, **options: Any) -> ws.Query:
    return ws.load_run(path, **options).answers[0]


ROW = {
    "episode": "e1",
    "path": [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]],
    "stopped": True,
    "goal_distances": [3.5, None],
    "headings": [0.0, 1.5],
    "recorded": {"collisions": 2, "finished": [False, True]},
}
KNOWN = {"goal_distances": [3.5, inf], "headings": [0.0, 1.5], "collisions": 2, "finished": [False, True]}


def test_tables_of_every_kind(tmp_path: Path) -> None:
    rows = write(tmp_path, [ROW, {"episode": "e2", "path": [[0.0, 0.0, 0.0]]}], "run.jsonl", lines=True)
    cells = {name: json.dumps(value) for name, value in ROW.items() if name != "episode"}
    quoted = ",".join('"' + cell.replace('"', '""') + '"' for cell in cells.values())
    table = tmp_path / "run.csv"
    table.write_text(f"episode,{','.join(cells)}\ne1,{quoted}\n")
    made = convert(rows, tmp_path / "run.parquet").file
    for path in (rows, table, Path(made)):
        query = one(path)
        assert (query.stopped, dict(query.recorded)) == (True, KNOWN), path
    assert ws.load_run(made).answers[1].recorded == {}


def test_references_with_facts_points_as_goals_and_an_axis(tmp_path: Path) -> None:
    row = {
        "episode": "e1",
        "scene": "s",
        "path": [[0.0, 0.0, 0.0]],
        "goals": [[1.0, 2.0, 3.0]],
        "facts": {"object": "7"},
    }
    file = write(tmp_path, [row], "references.jsonl", lines=True)
    made = convert(file, tmp_path / "references.parquet", up_axis="y").file
    for known in (ws.load_references(file, up_axis="y"), ws.load_references(made)):
        reference = known.episodes["e1"]
        assert (known.up_axis, reference.goals, reference.facts) == (1, ((1.0, 2.0, 3.0),), {"object": "7"})
    assert ws.load_references(file).up_axis is None
    with pytest.raises(ws.OptionError, match="up_axis must be x, y or z"):
        ws.load_references(file, up_axis="w")
    other = write(tmp_path, [{**row, "facts": {"object": "8"}}], "other.jsonl", lines=True)
    assert ws.load_references(other).fingerprint != ws.load_references(file).fingerprint


def test_poses_of_vlnce(tmp_path: Path) -> None:
    poses = [{"position": [0, 0, 0], "goal_distance": 2.0, "heading": 0.5}, {"position": [1, 0, 0], "stop": True}]
    assert one(write(tmp_path, {"1": poses}, "a.json")).recorded == {}  # not of every position
    poses[1] |= {"goal_distance": "inf", "heading": 0.75}
    query = one(write(tmp_path, {"1": poses}, "b.json"))
    assert (query.stopped, query.recorded) == (True, {"goal_distances": [2.0, inf], "headings": [0.5, 0.75]})
    poses[1]["collided"] = True
    assert one(write(tmp_path, {"1": poses}, "c.json")).recorded["collided"] == [True]


@pytest.mark.parametrize("field", ["predObjId", "pred_objid"])
def test_objects_of_reverie(field: str, tmp_path: Path) -> None:
    steps = [["a", 0.0, 0.0]]
    records = [{"instr_id": name, "trajectory": steps, field: thing} for name, thing in (("1_0", 7), ("1_1", None))]
    run = ws.load_run(write(tmp_path, records, "run.json"))
    assert run.format == "reverie"
    assert [query.recorded["predicted_object"] for query in run.answers] == ["7", ""]
    item = {"id": "1_7", "scan": "s", "path": ["a"], "instructions": ["go"], "objId": 7}
    known = ws.load_references(write(tmp_path, [item], "references.json"))
    assert known.episodes["1_7_0"].facts == {"object": "7"}


def test_decisions_of_nested_trajectories(tmp_path: Path) -> None:
    nested = [{"instr_id": "1_0", "trajectory": [["a"], ["b", "c"], ["d"]]}]
    assert one(write(tmp_path, nested, "duet.json")).recorded == {"actions": 2}
    flat = [{"instr_id": "1_0", "trajectory": [["a", 0.0, 0.0], ["b", 0.0, 0.0]]}]
    assert one(write(tmp_path, flat, "r2r.json")).recorded == {}
