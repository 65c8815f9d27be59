"""Every convention against what its evaluator's own code said: columns, printed means, and result files with faults."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import wayscore as ws
from tests.convention.golden import COMPILED, TOLERANCE, WITHOUT_PATHS, aggregate, compare, distances, load, precision
from wayscore.convention.evaluator import proof_of, proofs
from wayscore.convention.presets import EVALUATORS

Rows = list[dict[str, Any]]
FILES = sorted(name for one in EVALUATORS.values() for name in one.golden)
BY_HAND = {"paper"}
"""Conventions that have no golden file."""
OTHER_MEANS = {("ivlnce-tours", "t-ndtw"): "weighs a tour by its number of episodes less one"}
"""Printed means that are not the mean of the column, and why; NaN and infinity are never printed here."""


KINDS = ("complete", "one missing", "an unknown id", "one twice, the same", "one twice, another walk second", "empty")
"""Result files, most of them with a fault."""


@pytest.fixture
def folder(golden: Path) -> Path:
    return golden / "evaluators"


def test_every_preset_is_proven_or_says_by_hand(folder: Path) -> None:
    assert {name for name, one in EVALUATORS.items() if not one.golden} == BY_HAND
    assert all("by hand" in proof_of(EVALUATORS[name]) for name in BY_HAND)
    there = {path.name.removesuffix(".json.gz") for path in folder.glob("*.json.gz")}
    assert there == {*FILES, *WITHOUT_PATHS}


@pytest.mark.parametrize("name", FILES)
def test_every_column(name: str, folder: Path) -> None:
    path = folder / f"{name}.json.gz"
    found = compare(path)
    assert [f"{one.column}: {one.first}" for one in found if one.differ] == []
    assert proofs()[name].values == sum(one.values for one in found)
    assert max(one.worst for one in found) <= TOLERANCE
    gold = load(path)
    compared = {one.column for one in found}
    assert {column for column in gold.content["expected"] if column not in compared} <= set(gold.evaluator.unmatched)


@pytest.mark.parametrize("name", FILES)
def test_what_is_printed_at_the_end(name: str, folder: Path) -> None:
    path = folder / f"{name}.json.gz"
    for key, theirs, mine in aggregate(path):
        if (name, key) in OTHER_MEANS or not math.isfinite(theirs):
            continue
        assert mine is not None, key
        assert abs(theirs - mine) <= precision(load(path)) * max(1.0, abs(theirs)), key


def test_a_convention_prints_only_what_its_evaluator_does() -> None:
    for name, one in EVALUATORS.items():
        if name != "paper":
            assert set(one.convention.metrics) == set(one.columns.values()), name
            assert "@" in one.source, name


def references_of(case: dict[str, Any], gold: Any) -> ws.References:
    """Return what the answers of a case are compared with."""
    by_id = {episode["id"]: episode for episode in gold.episodes}
    listed = {}
    for name in case["annotated"]:
        one = by_id[name]
        facts = {"planner": one["planner"]} if "planner" in one else {}
        listed[name] = ws.Reference(
            name, one["scene"], one["reference"], name.split("_")[0], goals=tuple(one.get("goals", ())), facts=facts
        )
    return ws.References("golden", "table", listed)


@pytest.mark.parametrize("name", ["r2r", "envdrop", "envdrop-recbert", "envdrop-envedit", "duet", "duet-hamt", "cvdn"])
@pytest.mark.parametrize("kind", KINDS)
def test_result_files_with_faults(name: str, kind: str, folder: Path) -> None:
    path = folder / f"{name}.json.gz"
    gold = load(path)
    case = next((case for case in gold.content["submissions"] if case["case"] == kind), None)
    if case is None:
        pytest.skip(f"{name} was not run on such a file")
    answers = [ws.Query(answer["id"], answer["query"]) for answer in case["answers"]]
    run = ws.Run("run", "r2r", answers)
    options: dict[str, Any] = {"graphs": distances(path), "convention": gold.evaluator.convention, "resamples": 1}
    if "raises" in case["outcome"]:
        with pytest.raises(ws.WayscoreError):
            ws.evaluate(run, references_of(case, gold), **options)
        return
    names = gold.evaluator.names
    printed = {
        key: value for key, value in case["outcome"]["printed"].items() if names.get(key, "actions") != "actions"
    }
    metrics = sorted({names[key] for key in printed})
    means = ws.evaluate(run, references_of(case, gold), metrics=metrics, **options).means()
    for key, theirs in printed.items():
        unit = gold.content["aggregate"]["columns"].get(key, {}).get("unit")
        mine = means[names[key]]
        assert mine is not None
        assert mine * (100 if unit == "percent" else 1) == pytest.approx(theirs, rel=TOLERANCE), key


@pytest.mark.parametrize("name", ["reverie", "vlnce"])
def test_through_real_files(name: str, folder: Path, tmp_path: Path) -> None:
    """REVERIE with objects; VLN-CE with stops and distances."""
    path = folder / f"{name}.json.gz"
    gold = load(path)
    over = set(gold.content["aggregate"].get("over") or [one["id"] for one in gold.episodes])
    left_out = ("wrong start", "teleports", "empty")
    episodes = [one for one in gold.episodes if one["id"] in over and one["what"] not in left_out]
    assert len(episodes) > 200
    options = WRITERS[name](episodes, distances(path), tmp_path)
    rows = {one.get("name", one["id"]): row for row, one in enumerate(gold.episodes)}
    result = ws.evaluate(**options, convention=name, start="keep", resamples=1)
    assert result.episodes_scored == len(episodes)
    for column, facts in gold.content["expected"].items():
        symbol = gold.evaluator.names.get(column) or facts["wayscore"]
        if symbol not in result.symbols or column.endswith(COMPILED):
            continue
        for episode, mine in zip(result.episodes, result[symbol], strict=True):
            theirs = facts["values"][rows[episode]]
            assert theirs is None or mine == pytest.approx(theirs, rel=TOLERANCE, abs=TOLERANCE), (column, episode)


def write(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content))
    return path


def as_reverie(episodes: Rows, graphs: Any, folder: Path) -> dict[str, Any]:
    """One object per episode, seen from its goals; every instruction has a path of its own."""
    items, run, boxes = [], [], {scene: {} for scene in graphs}
    for number, one in enumerate(episodes):
        thing = f"{number}-{one['object']}"
        found = thing if str(one["pred_object"]) == str(one["object"]) else "none of them"
        one["name"] = f"{one['id'].rpartition('_')[0]}x{number}_0"
        item = {"id": one["name"].removesuffix("_0"), "path_id": number, "scan": one["scene"], "path": one["reference"]}
        items.append({**item, "instructions": ["go"], "objId": thing})
        walk = [[node, 0.0, 0.0] for node in one["query"]]
        run.append({"instr_id": one["name"], "trajectory": walk, "predObjId": found})
        for node in one["goals"]:
            boxes[one["scene"]].setdefault(node, {})[thing] = {"visible_pos": [1]}
    objects = write(folder / "boxes.json", boxes)
    references = ws.load_references(write(folder / "REVERIE_val.json", items), objects=objects)
    return {"run": write(folder / "reverie.json", run), "references": references, "graphs": graphs}


def as_vlnce(episodes: Rows, graphs: Any, folder: Path) -> dict[str, Any]:
    """As poses by episode with stops and distances."""
    items = [
        {
            "episode_id": one["id"],
            "scene_id": f"mp3d/{one['scene']}/{one['scene']}.glb",
            "start_position": one["reference"][0],
            "reference_path": one["reference"],
            "info": {"geodesic_distance": None if one["start_distance"] == "inf" else one["start_distance"]},
        }
        for one in episodes
    ]
    references = write(folder / "val.json", {"episodes": items})
    write(folder / "val_gt.json", {one["id"]: {"locations": one["dense"]} for one in episodes})
    poses = {
        one["id"]: [
            {"position": point, "stop": one["stopped"], "goal_distance": away}
            for point, away in zip(one["query"], one["goal_distance"], strict=True)
        ]
        for one in episodes
    }
    return {"run": write(folder / "poses.json", poses), "references": references}


WRITERS = {"reverie": as_reverie, "vlnce": as_vlnce}
