"""The JSON Schemas in docs/schema: as the code generates them, and true of what wayscore really writes."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow.parquet as pq
import pytest

import wayscore as ws
from docs.building import schemas
from tests.house import ASKED, GRAPHS, command, run, write_house, write_run
from tests.town import Town
from wayscore.convention.presets import CONVENTIONS
from wayscore.evaluation.saved import RESULT


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    schema = json.loads((schemas.FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def check(name: str, text: str) -> list[dict[str, Any]]:
    """Return the objects of JSON lines, if each is as a schema says."""
    found = [json.loads(line, parse_constant=pytest.fail) for line in text.splitlines()]
    for one in found:
        validator(name).validate(one)
    return found


def printed(name: str, *words: object, status: int = 0) -> list[dict[str, Any]]:
    """Return what a command prints as JSON, if it is as a schema says."""
    result = command(*words, "--format", "json")
    assert result.exit_code == status, result.stderr
    return check(name, result.stdout)


def described(path: Path) -> dict[str, Any]:
    """Return what a saved result says of itself, if it is as its schema says."""
    return check("result-1", pq.read_schema(path).metadata[RESULT].decode())[0]


@pytest.fixture
def house(tmp_path: Path) -> list[str]:
    return write_house(tmp_path, [("S", "abc", 2), ("T", "xyz", 1), ("S", "dcb", 1)])


@pytest.fixture
def runs(tmp_path: Path, house: list[str]) -> tuple[Path, Path]:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    write_run(good, {"1_0": "abc", "1_1": "abcd", "2_0": "xyz", "3_0": "dc"})
    write_run(bad, {"1_0": "a", "1_1": "ab", "2_0": "xyzy", "3_0": "dcba"})
    return good, bad


@pytest.mark.parametrize("name", schemas.SCHEMAS)
def test_files_are_what_the_types_generate(name: str) -> None:
    written = (schemas.FOLDER / f"{name}.json").read_text(encoding="utf-8")
    assert written == schemas.text_of(name), "run `make schemas`"


def test_every_schema_is_tested() -> None:
    here = Path(__file__).read_text(encoding="utf-8")
    names = {path.stem for path in schemas.FOLDER.glob("*.json")}
    assert names == {*schemas.SCHEMAS, "episode-1"}  # the last is tested with the recorder's logs
    assert all(f'"{name}"' in here for name in schemas.SCHEMAS)


def test_scores(house: list[str], runs: tuple[Path, Path], tmp_path: Path) -> None:
    good, bad = runs
    assert [one["run"] for one in printed("score-1", "score", good, bad, *house)] == ["good", "bad"]
    (agent,) = printed("score-1", "score", f"A={good}", f"A={bad}", *house, "--split-by", "scan")
    assert agent["runs"] == 2
    assert agent["groups"]
    assert "spread" in agent["metrics"]["nDTW"]
    write_run(tmp_path / "few.json", {"1_0": "abc"})
    (few,) = printed("score-1", "score", tmp_path / "few.json", *house, "--missing", "skip", "--cluster", "none")
    assert few["missing"] == 3
    for convention in ("duet", "r2r", "r4r-hops"):
        printed("score-1", "score", good, *house, "--convention", convention, "--start", "keep")


def test_scores_of_unreachable_episodes() -> None:
    apart = {**GRAPHS, "S": ws.Graph.from_edges([("a", "b"), ("c", "d")], [1.0, 4.0])}
    result = ws.evaluate(run(e1="ad", e2="xy", e3="abcd"), ASKED, apart)
    (found,) = check("score-1", result.to_json())
    assert found["undefined"]
    assert found["metrics"]["SR"]["mean"] is not None
    alone = ws.evaluate(run(e1="ab"), ASKED, apart, missing="skip", metrics="NE")
    assert check("score-1", alone.to_json())[0]["metrics"]["NE"] == {"mean": None, "low": None, "high": None}


def test_baselines(house: list[str]) -> None:
    (found,) = printed("score-1", "baseline", "random", *house, "--episodes", 50)
    assert found["episodes"] == 50


def test_comparisons(house: list[str], runs: tuple[Path, Path], tmp_path: Path) -> None:
    good, bad = runs
    (found,) = printed("comparison-1", "compare", good, bad, *house)
    assert {one["metric"] for one in found["tests"]} >= {"SR", "PL", "nDTW"}
    assert next(one for one in found["tests"] if one["metric"] == "PL")["wins"] is None
    assert found["differ_most"]["worse"]["bad"]
    command("score", good, bad, *house, "--save", tmp_path / "saved")
    saved = [tmp_path / "saved" / f"{name}.parquet" for name in ("good", "bad")]
    printed("comparison-1", "compare", *saved, "--top", 0)
    scores = tmp_path / "scores.jsonl"
    scores.write_text("".join(f'{{"episode_id": "{n}", "success": {n % 2}, "spl": 0.5}}\n' for n in range(4)))
    (of_others,) = printed("comparison-1", "compare", f"a={scores}", f"b={scores}")
    assert of_others["runs"][0]["threshold"] is None


def test_validations(house: list[str], runs: tuple[Path, Path], tmp_path: Path) -> None:
    (fine,) = printed("validation-1", "validate", runs[0], *house)
    assert fine["counts"] == {}
    wrong = tmp_path / "wrong.json"
    write_run(wrong, {"1_0": "bca", "2_0": "xQ", "9_0": "ab"})
    records = json.loads(wrong.read_text())
    wrong.write_text(json.dumps([*records, records[0], {"instr_id": "3_0", "trajectory": 7}]))
    (found,) = printed("validation-1", "validate", wrong, *house, status=1)
    assert set(found["counts"]) == {"damaged", "missing", "unknown", "duplicate", "start", "move", "node"}


def test_conventions(tmp_path: Path) -> None:
    found = printed("conventions-1", "conventions")
    assert [one["name"] for one in found] == [*CONVENTIONS]
    assert found == [printed("conventions-1", "conventions", name)[0] for name in CONVENTIONS]
    duet = next(one for one in found if one["name"] == "duet")
    assert duet["choices"]["comparison"] == "<"
    assert {"symbol": "SR", "formula": "1[NE < d_th]", "names": ["sr"]} in duet["columns"]
    mine = tmp_path / "mine.toml"
    mine.write_text('base = "duet"\nthreshold = 5.0\n')
    (own,) = printed("conventions-1", "conventions", mine)
    assert (own["source"], own["proven"], own["choices"]["threshold"]) == (None, None, 5.0)
    refused = command("conventions", "--diff", "duet", "paper", "--format", "json", status=2)
    assert "--diff prints text only" in refused.stderr


def test_rows_of_episodes(house: list[str], runs: tuple[Path, Path], tmp_path: Path, town: Town) -> None:
    out = tmp_path / "rows.jsonl"
    command("score", runs[0], *house, "--episodes", out, status=0)
    rows = check("scores-1", out.read_text())
    assert [row["episode"] for row in rows] == ["1_0", "1_1", "2_0", "3_0"]
    assert {"scene", "path_id", "reference_nodes", "nDTW"} <= set(rows[0])
    ws.evaluate(town.answers, town.references, town.graphs, resamples=1).write_episodes(out)
    assert len(check("scores-1", out.read_text())) == len(town.references)


def test_saved_results(house: list[str], runs: tuple[Path, Path], tmp_path: Path) -> None:
    good, bad = runs
    command("score", good, f"A={good}", f"A={bad}", *house, "--save", tmp_path / "saved", status=0)
    assert described(tmp_path / "saved" / "good.parquet")["runs"] == 1
    assert described(tmp_path / "saved" / "A.parquet")["runs"] == 2
    own = ws.Metric(
        symbol="nodes",
        name="Nodes",
        direction=None,
        bounds=(1, float("inf")),
        unit="nodes",
        formula="|Q|",
        measure=lambda episode: float(len(episode.query)),
    )
    target = tmp_path / "own.parquet"
    ws.evaluate(run(e1="abc", e3="ab"), ASKED, GRAPHS, metrics=[own, "nDTW"], missing="zero").save(target)
    found = described(target)
    assert found["metrics"][0]["bounds"] == [1, None]
    assert found["problems"]["missing"][0] == 1
    scores = tmp_path / "scores.json"
    scores.write_text(json.dumps({"1": {"success": 1.0, "spl": 0.5}, "2": {"success": 0.0, "spl": 0.0}}))
    ws.load_result(scores).save(target)
    assert "threshold" not in described(target)["settings"]


DAMAGED = [
    ("score-1", {"episodes": -1}),
    ("score-1", {"signature": "BLEU|v:1"}),
    ("score-1", {"metrics": {"SR": {"mean": "0.5", "low": 0.0, "high": 1.0}}}),
    ("score-1", {"metrics": {"SR": {"mean": 0.5}}}),
    ("score-1", {"nDTW": 0.5}),
    ("validation-1", {"counts": {"typos": 1}}),
    ("validation-1", {"problems": {"missing": ["1_0"]}}),
]


@pytest.mark.parametrize(("name", "change"), DAMAGED)
def test_other_objects_are_refused(
    name: str, change: dict[str, Any], house: list[str], runs: tuple[Path, Path]
) -> None:
    (found,) = printed(name, {"score-1": "score", "validation-1": "validate"}[name], runs[0], *house)
    with pytest.raises(jsonschema.ValidationError):
        validator(name).validate({**found, **change})
    for field in found:
        with pytest.raises(jsonschema.ValidationError):
            validator(name).validate({key: value for key, value in found.items() if key != field})
