"""Logs of the recorder: written by it, described by their schema, read and scored here, and damaged."""

from __future__ import annotations

import gzip
import json
import math
import re
from collections.abc import Callable
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import wayscore as ws
from tests.formats import recorder_cases
from tests.house import command
from wayscore.formats import FORMATS
from wayscore.formats.table import LOG_MARK as MARK, VERSION, Line
from wayscore_recorder import Recorder, logfile
from wayscore_recorder.path_scores import RunningCLS, RunningSED

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schema" / "episode-1.json").read_text())
REFERENCE = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [4.0, 0.0, 0.0]]
ROW = {"wayscore_episode": 1, "episode": "1", "path": [[0.0, 0.0], [1.0, 0.0]], "stopped": True}
WITH_REFERENCE = {**ROW, "reference": [[0.0, 0.0], [1.0, 0.0]]}


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def record(path: Path, count: int = 3, **settings: Any) -> dict[str, float | None]:
    """Record walks that drift off their reference, with everything that a simulator knows; return live nDTW."""
    live = {}
    with Recorder(path, agent="drift") as log:
        for number in range(count):
            episode = log.episode(number, "house", **{"reference": REFERENCE, **settings})
            for step in range(4):
                away = inf if number == 2 else 4.0 - step
                episode.step([1.0 * step, 0.0, 0.25 * number * step], 0.5 * step, away, collided=step == 2)
            live[str(number)] = episode.stop() if number else episode.end()
    return live


def test_a_log_is_scored_without_references_and_with(tmp_path: Path) -> None:
    run = tmp_path / "run.jsonl"
    live = record(run)
    rows = [{"episode": str(number), "scene": "house", "path": REFERENCE} for number in range(3)]
    alone, beside = ws.evaluate(run), ws.evaluate(run, write(tmp_path / "references.jsonl", *rows))
    assert alone.means() == beside.means()
    assert dict(zip(alone.episodes, alone["nDTW"], strict=True)) == {
        name: pytest.approx(score, rel=1e-14) for name, score in live.items()
    }
    assert (alone["NE"].tolist(), alone["SR"].tolist()) == ([1.0, 1.0, inf], [1.0, 1.0, 0.0])
    assert alone.signature.fields["goal"] == "recorded"
    assert list(alone.table.fact("scene")) == ["house"] * 3  # type: ignore[union-attr]


def test_everything_that_was_recorded_is_read(tmp_path: Path) -> None:
    run = tmp_path / "run.jsonl"
    with Recorder(run, agent="mine") as log:
        episode = log.episode("7", "house", reference=REFERENCE, threshold=2.0)
        episode.step(np.float32([0.1, 0.2, 0.3]), heading=[0.5, 0.25], goal_distance=inf)
        episode.step([1, 0, 0], heading=[1.5, 0.0], goal_distance=3, collided=True)
        episode.recorded["outcome"] = "success"
        episode.stop()
    found = ws.load_run(run)
    (query,) = found.answers
    assert (found.format, query.episode, query.stopped) == ("recorder", "7", True)
    assert query.path.tolist() == [np.float32([0.1, 0.2, 0.3]).tolist(), [1.0, 0.0, 0.0]]
    assert query.recorded == {
        "outcome": "success",
        "goal_distances": [inf, 3.0],
        "headings": [[0.5, 0.25], [1.5, 0.0]],
        "collided": [True],
        "collisions": 1,
        "threshold": 2.0,
        "agent": "mine",
    }
    assert ws.load_references(run).episodes["7"].path.tolist() == REFERENCE


def test_nodes_of_a_graph(tmp_path: Path) -> None:
    graph = ws.Graph.from_edges([("a", "b"), ("b", "c")], [2.0, 1.0])
    run = tmp_path / "run.jsonl"
    with Recorder(run) as log:
        episode = log.episode("1", "house", reference=["a", "b", "c"], distance=graph.distance)
        live = [episode.step(node) for node in ("a", "b")]
        episode.stop()
    result = ws.evaluate(run, graphs={"house": graph}, metrics="nDTW")
    assert result["nDTW"].tolist() == [live[-1]]
    assert live[-1] == ws.ndtw(reference=["a", "b", "c"], query=["a", "b"], distance=graph)


def test_lines_fit_their_schema(tmp_path: Path) -> None:
    run = tmp_path / "run.jsonl"
    record(run, threshold=1)
    with Recorder(run) as log:
        log.episode("least").__enter__().step([0.0])
        episode = log.episode("nodes", reference=["a"], distance=lambda _a, _b: 0.0)
        episode.step("a")
        episode.recorded["outcome"] = None
        episode.stop()
    checker = jsonschema.Draft202012Validator(SCHEMA)
    checker.check_schema(SCHEMA)
    lines = [json.loads(line) for line in run.read_text().splitlines()]
    assert len(lines) == 4
    for line in lines:
        checker.validate(line)
        assert next(iter(line)) == MARK
    for wrong in ({MARK: 2}, {"path": []}, {"path": [[0.0], "a"]}, {"stopped": None}, {"more": 1}, {"threshold": 0}):
        with pytest.raises(jsonschema.ValidationError):
            checker.validate({**lines[0], **wrong})
    assert set(SCHEMA["properties"]) == set(Line.__struct_fields__)
    assert (MARK, VERSION) == (logfile.MARK, logfile.VERSION)


def test_the_cases_that_both_agree_on() -> None:
    assert json.loads(recorder_cases.FILE.read_text()) == recorder_cases.cases()


def test_cls_and_sed_are_those_of_the_paper() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        reference = rng.integers(0, 4, (rng.integers(1, 6), 2)) * 10.0
        query = np.concatenate([reference[:1], rng.integers(0, 4, (rng.integers(0, 6), 2)) * 10.0])
        query = np.array([point for n, point in enumerate(query) if not n or (point != query[n - 1]).any()])
        if any((a == b).all() for a, b in pairwise(reference)):
            continue
        far = ws.score(references=[reference], queries=[query], metrics="CLS,SED", threshold=3.0)
        near = ws.score(references=[reference], queries=[[*query, reference[-1]]], metrics="SR,SED", threshold=3.0)
        cls, sed = RunningCLS(reference=reference, threshold=3.0), RunningSED(reference=reference, threshold=3.0)
        for point in query:
            cls.step(point)
            sed.step(point)
        assert cls.value() == pytest.approx(far["CLS"][0], abs=1e-12)
        on_path = all((point == reference).all(axis=1).any() for point in query)
        if on_path:  # off the path, the paper tells places apart that positions do not
            if (query[-1] != reference[-1]).any():
                sed.step(reference[-1])
                assert sed.value() == pytest.approx(near["SED"][0], abs=1e-12)
            else:
                assert sed.value() == pytest.approx(far["SED"][0], abs=1e-12)


@pytest.mark.parametrize("name", ["vlnce", "vlnce-exact", "internnav-h", "streamvln", "etpnav"])
def test_a_log_alone_gives_what_the_evaluators_say(name: str, golden: Path, tmp_path: Path) -> None:
    """What the evaluator's own code said of walks is what comes out of their log, without the dataset."""
    content = json.loads(gzip.decompress((golden / "evaluators" / f"{name}.json.gz").read_bytes()))
    episodes, run, live = content["episodes"], tmp_path / "run.jsonl", []
    with Recorder(run) as log:
        for one in episodes:
            episode = log.episode(one["id"], one["scene"], reference=one["dense"], repeats="drop")
            for position, away in zip(one["query"], one["goal_distance"], strict=True):
                episode.step(position, goal_distance=inf if away == "inf" else away)
            live.append(episode.stop() if one.get("stopped", True) else episode.end())
    result = ws.evaluate(run, convention=name, start="keep")
    rows = [result.episodes.index(one["id"]) for one in episodes]
    checked = 0
    for column, expected in content["expected"].items():
        if expected["wayscore"] not in result.symbols or "compiled" in column:
            continue
        scores = result[expected["wayscore"]][rows]
        for score, value in zip(scores, expected["values"], strict=True):
            assert value is None or score == pytest.approx(value, abs=1e-9)
            checked += value is not None
        if expected["wayscore"] == "nDTW" and name in ("vlnce-exact", "internnav-h"):
            assert live == pytest.approx(expected["values"], abs=1e-12)
    assert checked > 4 * len(episodes)


def test_a_dense_reference_is_what_a_log_carries(tmp_path: Path) -> None:
    run = write(tmp_path / "run.jsonl", {**WITH_REFERENCE, "goal_distances": [1.0, 0.0]})
    assert ws.evaluate(run, convention="vlnce", metrics="nDTW")["nDTW"].tolist() == [1.0]
    sparse = {**ROW, "path": [[0.25 * n, 0.0] for n in range(17)], "reference": [[0.0, 0.0], [4.0, 0.0]]}
    result = ws.evaluate(write(run, sparse), convention="vlnce", metrics="nDTW")
    assert any("depend on how densely paths are sampled" in warning for warning in result.warnings)


def test_another_threshold_is_reported(tmp_path: Path) -> None:
    run = tmp_path / "run.jsonl"
    record(run, threshold=20.0)
    said = "3 episodes were recorded with the threshold 20, and are scored with 3; use threshold=20"
    assert said in ws.evaluate(run).warnings
    assert not [one for one in ws.evaluate(run, threshold=20).warnings if "recorded with the threshold" in one]
    assert any(said in warning for warning in ws.evaluate(run, workers=2).warnings)


def test_several_logs_are_one_run(tmp_path: Path) -> None:
    logs = [Recorder(tmp_path / "run.jsonl", shared=True) for _ in range(3)]
    for number, log in enumerate(logs):
        with log.episode(number, "house", reference=REFERENCE) as episode:
            episode.step(REFERENCE[number])
        log.close()
    result = ws.evaluate(tmp_path / "run*.jsonl", metrics="nDTW", start="keep")
    assert len(result) == 3


def test_the_command_needs_no_references(tmp_path: Path) -> None:
    record(tmp_path / "run.jsonl")
    arguments = ["score", str(tmp_path / "run.jsonl"), "--convention", "vlnce", "--metrics", "SR,nDTW"]
    done = command(*arguments, "--format", "json", status=0)
    assert json.loads(done.stdout)["metrics"]["SR"]["mean"] == pytest.approx(1 / 3)  # cut off, stopped, unreachable
    (tmp_path / "none.jsonl").write_text(json.dumps(ROW) + "\n")
    done = command("score", str(tmp_path / "none.jsonl"), status=2)
    assert "line 1: has no reference of its own; give the references with --references FILE" in done.output


def test_the_line_without_a_reference_is_named(tmp_path: Path) -> None:
    run = write(tmp_path / "run.jsonl", WITH_REFERENCE, {**ROW, "episode": "2"})
    with pytest.raises(ws.WayscoreError, match="line 2: has no reference of its own"):
        ws.evaluate(run)
    with pytest.raises(ws.FormatError, match=r"line 2 \(episode '2'\): has no reference"):
        ws.load_references(run)
    known = ws.References("r", "table", {n: ws.Reference(n, "s", np.array([[0.0, 0.0], [1.0, 0.0]]), n) for n in "12"})
    assert ws.evaluate(run, known, metrics="SR")["SR"].tolist() == [1.0, 1.0]


def cut(content: bytes) -> bytes:
    return content[:-20]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({MARK: 2}, "is version 2, and this wayscore reads version 1; install a later wayscore"),
        ({MARK: "1"}, "field 'wayscore_episode': must be an integer, got text"),
        ({"path": []}, "its path is empty"),
        ({"path": [[0.0, 0.0], [1.0]]}, "field 'path': mixes points of several dimensions, or points and labels"),
        ({"path": [[0.0], "a"]}, "field 'path': mixes points"),
        ({"reference": [[0.0], "a"]}, "field 'reference': mixes points"),
        ({"reference": []}, "field 'reference': is empty; leave it out"),
        ({"headings": [0.5]}, "field 'headings': has 1 values for 2 positions"),
        ({"goal_distances": [0.5] * 3}, "field 'goal_distances': has 3 values for 2 positions"),
        ({"collided": [True, False]}, "field 'collided': has 2 values for 1 moves"),
        ({"goal_distances": "far"}, "field 'goal_distances': must be a list or null, got text"),
        ({"stopped": "yes"}, "field 'stopped': must be"),
        ({"recorded": [1]}, "field 'recorded': must be an object or null, got a list"),
        ({"episode": None}, "field 'episode': must be"),
        (cut, "is incomplete, because the program that wrote it was stopped there; `python -m wayscore_recorder "),
    ],
)
def test_damaged_lines_are_named(change: dict[str, Any] | Callable[[bytes], bytes], match: str, tmp_path: Path) -> None:
    good = {**WITH_REFERENCE, "headings": [0.0, 0.5], "goal_distances": [1.0, None], "collided": [False]}
    run = write(tmp_path / "run.jsonl", good, {**good, "episode": "2", **(change if isinstance(change, dict) else {})})
    if callable(change):
        run.write_bytes(change(run.read_bytes()))
    with pytest.raises(ws.FormatError, match=rf"run\.jsonl, line 2\b.*{match}"):
        ws.evaluate(run)
    known = ws.load_references(write(tmp_path / "r.jsonl", {"episode": "1", "scene": "s", "path": [[0.0, 0.0]]}))
    assert any(re.search(match, problem) for problem in ws.validate(run, known))


def test_a_log_is_recognised_by_its_first_field() -> None:
    assert FORMATS["recorder"].title == "recorder"
    long = json.dumps({**WITH_REFERENCE, "path": [[0.1234567890123 * n, math.pi] for n in range(9000)]}).encode()
    from wayscore.formats.sniff import HEAD, look

    assert len(long) > HEAD
    assert list(FORMATS["recorder"].sniff(look(long))) == ["run"]
    assert list(FORMATS["recorder"].sniff(look(json.dumps(ROW).encode()))) == ["run"]
    assert list(FORMATS["recorder"].sniff(look(b'{"episode": "1", "path": [[0.0]]}'))) == []
