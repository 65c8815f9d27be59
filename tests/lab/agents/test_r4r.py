"""R4R built from R2R: by hand, and against the released files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import wayscore as ws
from tests.conftest import read_json
from tests.house import command, connectivity
from wayscore.lab.agents.r4r import Annotation, build, read_annotations

LINE = ws.Graph.from_edges(
    [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")],
    [1.0, 2.0, 3.0, 4.0],
    positions={"a": (0, 0, 0), "b": (1, 0, 0), "c": (3, 0, 0), "d": (3, 3, 0), "e": (3, 7, 0)},
)


def annotation(number: int, path: str, *, heading: float = 0.0, instructions: int = 1, scan: str = "S") -> Annotation:
    words = [f"{path}{k}. " for k in range(instructions)]
    return Annotation(number, scan, heading, list(path), words, float(len(path)))


def test_two_paths_joined_by_hand() -> None:
    made = build([annotation(7, "ab", instructions=2), annotation(9, "cd", instructions=2)], {"S": LINE}, distance=2.0)
    # b to c is 2 m; the other three pairs are farther apart (b-a 1 m back: also near), d to a and d to c are not.
    assert [(path["first_path_id"], path["second_path_id"]) for path in made.paths] == [(7, 7), (7, 9)]
    joined = made.paths[1]
    assert joined["path"] == ["a", "b", "c", "d"]
    assert joined["distance"] == 2.0 + 2.0 + 2.0
    assert joined["instructions"] == ["ab0. cd0. ", "ab0. cd1. ", "ab1. cd0. ", "ab1. cd1. "]
    assert (joined["path_id"], joined["heading"]) == (1, 0.0)
    assert (joined["shortest_path"], joined["shortest_path_distance"]) == (["a", "b", "c", "d"], 6.0)
    assert made.paths[0]["path"] == ["a", "b", "a", "b"]
    assert (made.too_far, made.turned) == (2, 0)
    assert made.summary()["instructions"] == 8


def test_headings() -> None:
    # The first ends heading along x; seconds that head a quarter turn away are left out.
    some = [annotation(1, "ab"), annotation(2, "bc", heading=1.5), annotation(3, "bc", heading=0.5)]
    made = build(some, {"S": LINE}, distance=0.0, heading=1.0)
    assert [(path["first_path_id"], path["second_path_id"]) for path in made.paths] == [(1, 3)]
    assert made.turned == 1
    without = ws.Graph.from_edges([("a", "b"), ("b", "c")])
    with pytest.raises(ws.OptionError, match="has no positions"):
        build(some, {"S": without}, heading=1.0)


def test_what_cannot_be_joined() -> None:
    with pytest.raises(ws.PathError, match=r"path 4: has fewer than two nodes \(1\); R4R needs whole paths"):
        build([annotation(4, "a")], {"S": LINE})
    with pytest.raises(ws.UnknownNodeError, match="path 4, step 1"):
        build([annotation(4, "az")], {"S": LINE})
    with pytest.raises(ws.OptionError, match="must be 0 or more"):
        build([annotation(4, "ab")], {"S": LINE}, distance=-1.0)
    assert build([], {}).summary()["paths"] == 0


def test_the_released_file(data: Path) -> None:
    graphs = ws.load_graphs(data / "connectivity.tar.gz")
    made = build(read_annotations(data / "r2r/R2R_val_seen.json.gz"), graphs)
    released = read_json(data / "r4r/R4R_val_seen.json.gz")
    assert len(made.paths) == len(released) == 115
    for ours, theirs in zip(made.paths, released, strict=True):
        distance, expected = ours.pop("shortest_path_distance"), theirs.pop("shortest_path_distance")
        assert distance == pytest.approx(expected, abs=1e-12)
        assert ours == theirs


@pytest.mark.parametrize(("split", "paths", "instructions"), [("val_unseen", 5026, 45234), ("train", 25921, 233532)])
@pytest.mark.soak
def test_the_sizes_of_other_splits(split: str, paths: int, instructions: int, data: Path) -> None:
    graphs = ws.load_graphs(data / "connectivity.tar.gz")
    found = build(read_annotations(data / f"r2r/R2R_{split}.json.gz"), graphs).summary()
    assert (found["paths"], found["instructions"]) == (paths, instructions)


@pytest.mark.parametrize("ending", ["json", "json.gz"])
def test_the_command(ending: str, tmp_path: Path) -> None:
    (tmp_path / "S_connectivity.json").write_text(json.dumps(connectivity("abcd", "ab bc cd")))
    asked: list[dict[str, Any]] = [
        {"path_id": 1, "scan": "S", "heading": 0.0, "path": list(path), "instructions": ["Go. "], "distance": 1.0}
        for path in ("ab", "bc")
    ]
    (tmp_path / "r2r.json").write_text(json.dumps(asked))
    out = tmp_path / f"r4r.{ending}"
    words = ["build", "r4r", str(tmp_path / "r2r.json"), "-g", str(tmp_path), "-o", str(out)]
    result = command(*words, status=0)
    assert "paths" in result.stdout
    references = ws.load_references(out)
    assert references.format == "r4r"
    content = gzip.decompress(out.read_bytes()) if ending.endswith("gz") else out.read_bytes()
    assert json.loads(content)[1]["path"] == ["a", "b", "c"]
    assert "must be r4r, not 'r5r'" in command("build", "r5r", *words[2:], status=2).stderr
    nowhere = command(*words[:-1], str(tmp_path / "no" / "r4r.json"), status=1)
    assert "cannot be written" in nowhere.stderr
