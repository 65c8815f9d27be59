"""Result files as people have them, given to the command as they are: recognised, joined and scored."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import wayscore as ws
from tests.house import command, write_house

STRAIGHT = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]
ASTRAY = [[0.0, 0.0, 0.0], [2.0, 0.0, 4.0]]
WALKS = {"1": STRAIGHT, "2": ASTRAY}
"""Two walks to a goal at [2, 0, 0]: one arrives, one ends 4 m beside it."""
MEANS = {"NE": 2.0, "SR": 0.5, "PL": (2.0 + 20**0.5) / 2}
NODES = {"1_0": "abcd", "1_1": "ab", "2_0": "xyz"}
"""Walks in a house whose nodes are a metre apart."""
BY_NODE = {"NE": 2 / 3, "SR": 1.0, "PL": 2.0}


def scored(*words: object) -> dict[str, float]:
    """The means that `wayscore score` prints."""
    result = command("score", *words, "--metrics", "NE,SR,PL", "--resamples", 9, "--format", "json", status=0)
    return {symbol: found["mean"] for symbol, found in json.loads(result.stdout)["metrics"].items()}


def write(path: Path, content: Any) -> Path:
    """Write JSON, JSON lines (a list, where the name ends so) or text, gzipped where the name says so."""
    if path.suffixes[:1] == [".jsonl"]:
        content = "\n".join(map(json.dumps, content))
    data = (content if isinstance(content, str) else json.dumps(content, indent=1)).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def episode(number: int, **fields: Any) -> dict[str, Any]:
    """An episode of VLN-CE."""
    return {
        "episode_id": number,
        "trajectory_id": number,
        "scene_id": "mp3d/S/S.glb",
        "start_position": [0.0, 0.0, 0.0],
        "info": {"geodesic_distance": 2.0},
        "reference_path": [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]],
        **fields,
    }


@pytest.fixture
def space(tmp_path: Path) -> Path:
    """References of VLN-CE: two episodes, with their dense walks beside them."""
    write(tmp_path / "val_gt.json", {name: {"locations": STRAIGHT} for name in WALKS})
    return write(tmp_path / "val.json", {"episodes": [episode(1), episode(2)]})


@pytest.fixture
def house(tmp_path: Path) -> list[str]:
    """References of R2R and their graphs, as words of a command line."""
    return write_house(tmp_path, [("S", "abcd", 2), ("T", "xyz", 1)])


# Positions


@pytest.mark.parametrize("walk", ["path", "trajectory", "positions", "locations"])
@pytest.mark.parametrize("file", ["run.json", "run.jsonl", "run.json.gz"])
def test_vlnce_records(space: Path, tmp_path: Path, walk: str, file: str) -> None:
    run = write(tmp_path / file, [{"episode_id": name, walk: steps} for name, steps in WALKS.items()])
    assert scored(run, "-r", space) == pytest.approx(MEANS)


def test_vlnce_beside_a_summary(space: Path, tmp_path: Path) -> None:
    """Records with scores of their own and the scene, as small projects write them."""
    records = [
        {"episode_id": int(name), "scene_id": "S", "spl": 0.0, "info": {"steps": 3}, "trajectory": steps}
        for name, steps in WALKS.items()
    ]
    run = write(tmp_path / "run.json", {"summary": {"spl": 0.25}, "episodes": records, "config": {}})
    assert scored(run, "-r", space) == pytest.approx(MEANS)
    assert command("score", run).exit_code == 0  # without references, the scores that it holds
    records[1]["trajectory"] = [[0.0, 0.0]]
    write(run, {"summary": {"spl": 0.25}, "episodes": records})
    failed = command("score", run, "-r", space, status=1)
    assert "record 1 (episode '2'), field 'trajectory', item 0: must be a list of 3" in failed.stderr


@pytest.mark.parametrize(
    "steps_of",
    [
        lambda steps: [{"position": point} for point in steps],
        lambda steps: [{"stop": False, "heading": 0.5, "position": point} for point in steps],
        lambda steps: [steps[0], *({"position": point} for point in steps[1:])],
    ],
)
@pytest.mark.parametrize("named", [True, False])
def test_vlnce_poses(space: Path, tmp_path: Path, steps_of: Callable[[Any], Any], named: bool) -> None:
    by_name = {name: steps_of(steps) for name, steps in WALKS.items()}
    records = [{"episode_id": name, "path": steps} for name, steps in by_name.items()]
    assert scored(write(tmp_path / "run.json", by_name if named else records), "-r", space) == pytest.approx(MEANS)


@pytest.mark.parametrize(
    ("fields", "success"),
    [
        ({"stopped": True}, 0.5),
        ({"stopped": False}, 0.0),
        ({"stop": False}, 0.0),
        ({"goal_distances": [9.0, 1.0]}, 1.0),
        ({"goal_distances": [9.0, None]}, 0.0),
        ({"goal_distances": [9.0, "inf"]}, 0.0),
    ],
)
def test_what_vlnce_records_say_beside_the_walk(
    space: Path, tmp_path: Path, fields: dict[str, Any], success: float
) -> None:
    walks = {"1": STRAIGHT[::2], "2": ASTRAY}
    run = write(tmp_path / "run.jsonl", [{"episode_id": n, "path": steps, **fields} for n, steps in walks.items()])
    assert scored(run, "-r", space, "--convention", "vlnce")["SR"] == success


def test_vlnce_records_that_are_wrong(space: Path, tmp_path: Path) -> None:
    records = [
        {"episode_id": 1, "path": []},
        {"episode_id": 2},
        {"path": STRAIGHT},
        {"episode_id": 2, "path": [["hall", 0.0, 0.0]]},
    ]
    found = command("validate", write(tmp_path / "run.jsonl", records), "-r", space, "--run-format", "vlnce").stdout
    assert "episode '1': its path is empty" in found
    assert "line 2 (episode '2'): the field 'path' is missing" in found
    assert "line 3: the field 'episode_id' is missing" in found
    assert "line 4 (episode '2'), field 'path', item 0, item 0: must be a number, got text" in found


# RxR-Habitat: no file of it is at hand, so this one is made up after VLN-CE's own reader of such files.

HABITAT = [
    episode(7, instruction={"instruction_id": "12", "language": "en-US", "instruction_text": "Ahead."}),
    episode(12, instruction={"instruction_id": "13", "language": "en-IN", "instruction_text": "On."}),
    episode(9, instruction={"instruction_id": "99", "language": "hi-IN", "instruction_text": "आगे."}),
]


@pytest.fixture
def rxr(tmp_path: Path) -> Path:
    """References of RxR-Habitat, and their dense walks, which are named by `episode_id`."""
    write(tmp_path / "guide_gt.json.gz", {str(one["episode_id"]): {"locations": STRAIGHT} for one in HABITAT})
    return write(tmp_path / "guide.json.gz", {"episodes": HABITAT})


def test_rxr_submissions(rxr: Path, tmp_path: Path) -> None:
    walks = {"12": STRAIGHT, "13": ASTRAY}
    lines = [{"instruction_id": name, "path": steps} for name, steps in walks.items()]
    run = write(tmp_path / "run.jsonl", lines)
    assert scored(run, "-r", rxr, "--reader", "language=en") == pytest.approx(MEANS)
    known = ws.load_references(rxr)
    assert (known.format, list(known.episodes)) == ("vlnce", ["12", "13", "99"])
    assert all(one.dense is not None for one in known.episodes.values())
    failed = command("score", run, "-r", rxr, "--reader", "language=te")
    assert (failed.exit_code, "it has en-IN, en-US, hi-IN" in failed.stderr) == (2, True)


def test_rxr_by_episode(rxr: Path, tmp_path: Path) -> None:
    walks = {"7": STRAIGHT, "12": ASTRAY}
    run = write(tmp_path / "run.json", walks)
    words = (run, "-r", rxr, "--missing", "skip")
    assert scored(*words, "--reader", "names=episode_id") == pytest.approx(MEANS)
    failed = command("score", *words)
    hint = "7 (an episode_id, but these references are named by instruction_id: use --reader names=episode_id)"
    assert hint in failed.stderr
    assert "names must be episode_id or instruction_id" in command("score", *words, "--reader", "names=id").stderr


def test_vlnce_has_no_instruction_ids(space: Path) -> None:
    with pytest.raises(ws.FormatError, match="episode '1': its instruction has no 'instruction_id'"):
        ws.load_references(space, names="instruction_id")
    with pytest.raises(ws.OptionError, match="no instructions in language 'en'; it has no languages"):
        ws.load_references(space, language="en")


# Nodes


@pytest.mark.parametrize("steps_of", [list, lambda walk: [[node, 0.5, 0.0] for node in walk]])
def test_one_object(house: list[str], tmp_path: Path, steps_of: Callable[[str], Any]) -> None:
    run = write(tmp_path / "run.json", {name: steps_of(walk) for name, walk in NODES.items()})
    assert scored(run, *house) == pytest.approx(BY_NODE)


@pytest.mark.parametrize(
    ("episode_name", "path_name"),
    [("instr_id", "nodes"), ("episode_id", "path"), ("episode", "trajectory"), ("id", "viewpoints")],
)
def test_records_with_other_names(house: list[str], tmp_path: Path, episode_name: str, path_name: str) -> None:
    records = [{episode_name: name, path_name: list(walk)} for name, walk in NODES.items()]
    assert scored(write(tmp_path / "run.jsonl", records), *house) == pytest.approx(BY_NODE)


@pytest.mark.parametrize("episode_name", ["instr_id", "instruction_id", "episode_id", "id", "episode"])
@pytest.mark.parametrize("path_name", ["nodes", "trajectory", "viewpoints", "positions", "path"])
@pytest.mark.parametrize("delimiter", [",", ";"])
def test_csv_with_other_names(
    house: list[str], tmp_path: Path, episode_name: str, path_name: str, delimiter: str
) -> None:
    rows = [(name, json.dumps(list(walk))) for name, walk in NODES.items()]
    run = write(tmp_path / "run.csv", table((episode_name, path_name), rows, delimiter))
    assert scored(run, *house) == pytest.approx(BY_NODE)


@pytest.mark.parametrize(
    "cell_of",
    [
        " ".join,
        lambda walk: str(list(walk)),  # as pandas prints a list
        lambda walk: json.dumps([[node, 0.5, 0.0] for node in walk]),
        lambda walk: str([(node, 0.5, 0.0) for node in walk]),
    ],
)
def test_cells_of_csv(house: list[str], tmp_path: Path, cell_of: Callable[[str], str]) -> None:
    rows = [(number, name, cell_of(walk)) for number, (name, walk) in enumerate(NODES.items())]
    run = write(tmp_path / "run.csv.gz", table(("", "instr_id", "trajectory"), rows))
    assert scored(run, *house) == pytest.approx(BY_NODE)


@pytest.mark.parametrize(("scene_name", "scene_of"), [("scan", str), ("scene_id", lambda s: f"mp3d/{s}/{s}.glb")])
def test_csv_references(house: list[str], tmp_path: Path, scene_name: str, scene_of: Callable[[str], str]) -> None:
    walks = {"1_0": ("S", "abcd"), "1_1": ("S", "abcd"), "2_0": ("T", "xyz")}
    rows = [(name, scene_of(scan), " ".join(walk)) for name, (scan, walk) in walks.items()]
    references = write(tmp_path / "mine.csv", table(("instr_id", scene_name, "path"), rows))
    run = write(tmp_path / "run.json", {name: list(walk) for name, walk in NODES.items()})
    assert scored(run, "-r", references, *house[2:]) == pytest.approx(BY_NODE)


def test_a_cell_is_called_as_in_the_file(house: list[str], tmp_path: Path) -> None:
    run = write(tmp_path / "run.csv", table(("instr_id", "nodes"), [("1_0", '["a", {}]')]))
    assert "row 0 (episode '1_0'), column 'nodes': cannot be read" in command("score", run, *house).stderr


def table(header: tuple[str, ...], rows: list[tuple[Any, ...]], delimiter: str = ",") -> str:
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter).writerows([header, *rows])
    return stream.getvalue()


def test_a_format_that_cannot_be_recognised_is_named(house: list[str], tmp_path: Path) -> None:
    """The beginning of the file is all numbers of the agent's own."""
    records = [{"logits": [0.125] * 20_000, "instr_id": name, "trajectory": list(walk)} for name, walk in NODES.items()]
    run = write(tmp_path / "run.json", records)
    failed = command("score", run, *house, status=1)
    assert (
        "if it is one of r2r, r4r, rxr, ndh, reverie, vlnce, street, recorder, table, say which with --run-format"
        in (failed.stderr)
    )
    assert scored(run, *house, "--run-format", "r2r") == pytest.approx(BY_NODE)


# Real files


def vlnce_of(data: Path, split: str) -> Path:
    return data / f"vlnce/R2R_VLNCE_v1-3/{split}/{split}.json.gz"


@pytest.mark.parametrize("file", ["results_r2r_habitat", "test_3episodes"])
def test_real_results_with_a_summary(data: Path, file: str) -> None:
    """Distances and lengths are those that the file itself reports; starts tell that it is not of the other split."""
    run = data / f"predictions/habitat_vln/{file}.json"
    records = json.loads(run.read_text())["episodes"]
    fields = {"NE": "distance_to_goal", "SR": "success", "PL": "trajectory_length"}
    means = {symbol: sum(one[field] for one in records) / len(records) for symbol, field in fields.items()}
    assert scored(run, "-r", vlnce_of(data, "val_seen"), "--missing", "skip") == pytest.approx(means, abs=1e-6)
    failed = command("score", run, "-r", vlnce_of(data, "val_unseen"), "--missing", "skip", status=1)
    assert "do not begin where their references in val_unseen.json.gz do: wrong split" in failed.stderr


def test_real_scores_without_paths(data: Path) -> None:
    file = data / "predictions/habitat_vln/results_r2r_vln_metrics.json"
    assert scored(file)["SR"] == 0.1
    failed = command("validate", file, "-r", vlnce_of(data, "val_seen"))
    assert "looks like scores of single episodes, which hold no paths, not a run; give the agent's" in failed.stderr


def test_both_releases_of_reverie(data: Path, tmp_path: Path) -> None:
    old, new = (data / f"{folder}/REVERIE_val_unseen.json.gz" for folder in ("reverie_v1", "reverie"))
    graphs = ("-g", data / "connectivity.tar.gz")
    runs = {}
    for file in (old, new):
        paths = {name: one.path for name, one in ws.load_references(file).episodes.items()}
        records = [{"instr_id": name, "trajectory": path, "predObjId": 1} for name, path in paths.items()]
        runs[file] = write(tmp_path / f"{file.parent.name}.json", records)
        assert scored(runs[file], "-r", file, *graphs)["SR"] == 1.0
    failed = command("score", runs[old], "-r", new, *graphs, status=1)
    assert "88 of its 3,521 answers are to episodes that REVERIE_val_unseen.json.gz does not have: wrong split or" in (
        failed.stderr
    )
    failed = command("score", runs[new], "-r", old, *graphs, status=1)
    assert "and 85 more (an unfinished run, or another release?); use --missing skip" in failed.stderr
