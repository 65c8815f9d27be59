"""Results that are saved and loaded again, and score files of other evaluators, wherever a run is taken."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import wayscore as ws
from tests.house import ASKED, GRAPHS, command, run
from tests.town import Town, evaluated
from wayscore.evaluation.repeated_runs import pool

# Saved results


def everything(result: ws.Result) -> list[Any]:
    settings = {key: value for key, value in result.settings.items() if key != "undefined"}
    facts = [result.name, settings, result.episodes_scored, result.problems, result.bootstrap, result.warnings]
    numbers = [result.means(), result.intervals(), result.undefined, result.spread(), result.groups("scan")]
    return [*facts, *numbers, result.runs, str(result.signature), result.to_json()]


def assert_equal(one: ws.Result, other: ws.Result) -> None:
    assert everything(one) == everything(other)
    assert one.to_arrow().equals(other.to_arrow())


@pytest.mark.parametrize("cluster", ["scan", "path", "none"])
def test_saved_results_resample_what_is_asked_for(town: Town, tmp_path: Path, cluster: str) -> None:
    answers = {row["episode"]: row["path"] for row in town.answers.to_pylist()[:100]}
    scored = {
        one: evaluated(answers, town, missing="skip", start="keep", cluster=one) for one in (cluster, "scan", "none")
    }
    other = scored["none" if cluster != "none" else "scan"]
    other.save(tmp_path / "saved.parquet")
    for given in (other, tmp_path / "saved.parquet"):
        again = ws.evaluate(given, cluster=cluster)
        assert again.intervals() == scored[cluster].intervals()
        assert again.bootstrap == scored[cluster].bootstrap
        assert str(again.signature) == str(scored[cluster].signature)
        assert ws.evaluate(given).bootstrap == other.bootstrap  # as it was saved


@pytest.mark.parametrize(
    "options",
    [{}, {"metrics": "NE,nDTW", "threshold": 1.5}, {"convention": "duet"}, {"cluster": "scan", "seed": 4}],
    ids=str,
)
def test_what_is_saved_comes_back(town: Town, tmp_path: Path, options: dict[str, Any]) -> None:
    answers = {row["episode"]: row["path"] for row in town.answers.to_pylist()[:100]}
    answers |= {"stranger": ["x00y00"], town.answers["episode"][0].as_py(): ["nowhere"]}
    policies = {"missing": "zero", "unknown": "skip", "start": "keep", "node": "zero"}
    result = evaluated(answers, town, **policies, duplicate=None, **options)
    assert set(result.problems.counts) == {"missing", "unknown", "start", "move", "node"} - {"move"}
    result.save(tmp_path / "agent.parquet")
    loaded = ws.load_result(tmp_path / "agent.parquet")
    assert_equal(loaded, result)
    assert (loaded.inputs, ws.load_result(tmp_path / "agent.parquet", name="b").name) == (None, "b")
    assert bool(result.warnings) == ("cluster" in options)
    loaded.save(tmp_path / "again.parquet")
    assert_equal(ws.load_result(tmp_path / "again.parquet"), result)


def test_several_runs_of_an_agent_are_saved(town: Town, tmp_path: Path) -> None:
    both = pool([evaluated(town.answers, town), evaluated(town.answers.slice(3), town)], "agent")
    both.save(tmp_path / "agent.parquet")
    assert_equal(ws.load_result(tmp_path / "agent.parquet"), both)


def _detour(episode: ws.Episode) -> float:
    return len(episode.query) / len(episode.reference)


def test_metrics_of_ones_own(tmp_path: Path) -> None:
    facts: dict[str, Any] = {"name": "Detour", "direction": "down", "unit": "", "formula": "|Q| / |R|"}
    own = ws.Metric(symbol="detour", bounds=(0, math.inf), **facts, measure=_detour)
    answers = run(e1="abcb", e2="xy", e3="ab")
    result = ws.evaluate(answers, ASKED, GRAPHS, metrics=["SR", own], resamples=50)
    assert result["detour"].tolist() == [4 / 3, 1.0, 1.0]
    result.save(tmp_path / "a.parquet")
    loaded = ws.load_result(tmp_path / "a.parquet")
    assert_equal(loaded, result)
    (kept,) = (metric for metric in loaded.metrics if metric.symbol == "detour")
    assert {name: getattr(kept, name) for name in facts} == facts
    assert kept.bounds == (0, math.inf)
    with pytest.raises(ws.OptionError, match="has its values, but not the function that made them"):
        ws.evaluate(answers, ASKED, GRAPHS, metrics=[kept])
    assert ws.compare([loaded, result.renamed("b")]).of("b")["detour"].outcomes == (0, 3, 0)


def test_saved_results_wherever_a_run_is_taken(town: Town, tmp_path: Path) -> None:
    a, b = evaluated(town.answers, town, name="a"), evaluated(town.walks, town, duplicate="keep", name="b")
    for result in (a, b):
        result.save(tmp_path / f"{result.name}.parquet")
    live, loaded = ws.compare([a, b]), ws.compare([tmp_path / "a.parquet", str(tmp_path / "b.parquet")])
    assert live.to_dict() == loaded.to_dict()
    again = ws.evaluate(tmp_path / "a.parquet", name="again")
    assert (again.name, again.intervals()) == ("again", a.intervals())
    printed = command("score", tmp_path / "a.parquet", "--format", "json").stdout
    assert json.loads(printed) == a.to_dict()
    command("compare", tmp_path / "a.parquet", tmp_path / "b.parquet", status=0)


def test_damaged_results(whole: ws.Result, tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    whole.save(file)
    table = pq.read_table(file)
    for told in (b"{", b'{"metrics": ["nDTW"]}', b'{"metrics": ["XY"]}'):
        pq.write_table(table.replace_schema_metadata({"wayscore.result": told}), file)
        with pytest.raises(ws.FormatError, match=r"a\.parquet: the description of this result is damaged \(.*\); save"):
            ws.load_result(file)
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(ws.FormatError, match=r"a\.parquet: is damaged Parquet"):
        ws.load_result(file)
    with pytest.raises(ws.FormatError, match="no such file"):
        ws.load_result(tmp_path / "b.parquet")
    with pytest.raises(ws.OptionError, match=r"a result is saved as a \.parquet file"):
        whole.save(tmp_path / "a.json")


def test_one_row_per_episode(tmp_path: Path) -> None:
    result = ws.evaluate({"e1": ["a"], "e2": ["x"]}, ASKED, GRAPHS, missing="zero", metrics="NE,SR", resamples=9)
    for name in ("rows.csv", "rows.jsonl", "rows.parquet"):
        result.write_episodes(tmp_path / name)
    assert (tmp_path / "rows.csv").read_text().splitlines() == [
        '"episode","scene","path_id","reference_nodes","NE","SR"',
        '"e1","S","e1",3,3,1',
        '"e2","T","e2",2,5,0',
        '"e3","S","e3",2,,0',  # what is undefined is empty, or null
    ]
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [row["NE"] for row in rows] == [3.0, 5.0, None]
    assert_equal(ws.load_result(tmp_path / "rows.parquet"), result)
    with pytest.raises(ws.OptionError, match=r"rows\.xls: the ending must be .parquet, .csv or .jsonl"):
        result.write_episodes(tmp_path / "rows.xls")


# Score files of other evaluators

LINES = (
    '{"scene_id": "mp3d/s/s.glb", "episode_id": 1, "success": 1.0, "spl": 0.5, "os": 1, "ne": 0.5, "steps": 9}\n'
    '{"scene_id": "mp3d/t/t.glb", "episode_id": 2, "success": 0.0, "spl": 0, "os": 1, "ne": 4, "steps": 3}\n'
)
HABITAT = '{"1": {"distance_to_goal": 0.5, "success": 1, "spl": 0.5, "collisions": {"count": 3}}, "2": %s}'
FORMS = {
    "lines.jsonl": LINES,
    "one.json": LINES.splitlines()[0],
    "object.json": HABITAT % '{"distance_to_goal": 4, "success": 0, "spl": 0}',
    "list.json": '[{"episode": "1", "success": true, "SPL": 0.5}, {"episode": "2", "success": false, "SPL": 0.0}]',
    "inside.json": '{"episodes": [{"id": 1, "success": 1, "spl": 0.5}, {"id": 2, "success": 0, "spl": 0}]}',
    "table.csv": "instr_id,success,spl,agent\n1,1,0.5,mine\n2,0,0,mine\n",
}


@pytest.mark.parametrize("name", FORMS)
def test_score_files(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(FORMS[name])
    result = ws.load_result(tmp_path / name)
    count = 1 if name == "one.json" else 2
    assert list(result.episodes) == ["1", "2"][:count]
    assert result["SR"].tolist() == [1.0, 0.0][:count]
    assert result["SPL"].tolist() == [0.5, 0.0][:count]
    assert ("NE" in result.symbols) == (name in ("lines.jsonl", "one.json", "object.json"))
    assert not {"nDTW", "agent", "collisions"} & set(result.symbols)  # what cannot be known is absent
    assert result.name == name.partition(".")[0]
    assert "convention:theirs|threshold:unknown" in str(result.signature)
    assert result.means()["SR"] == 1 / count
    if name == "lines.jsonl":
        assert list(result.table.fact("scene")) == ["s", "t"]
    result.save(tmp_path / "saved.parquet")
    assert ws.load_result(tmp_path / "saved.parquet").intervals() == result.intervals()


def test_values_that_are_no_numbers(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(
        '{"1": {"ndtw": NaN, "ne": 2.0, "success": 1}, "2": {"ndtw": 0.5, "ne": Infinity, "success": 0}, '
        '"3": {"ne": null, "success": 1}}'
    )
    result = ws.load_result(file)
    assert result["nDTW"].tolist() == [0.0, 0.5, 0.0]  # bounded: the worst
    assert result["NE"].tolist() == [2.0, math.inf, math.inf]  # undefined
    assert result.means()["NE"] == 2.0
    assert result.undefined == {"NE": 2}
    assert result.warnings == (
        "2 values of nDTW are NaN: they count as the worst value",
        "2 values of NE are NaN: they count as undefined",
    )
    assert "undefined:2" in str(result.signature)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"1": {"success": "yes"}}', r"episode '1', field 'success': must be a number, got 'yes'"),
        ('[{"id": 1, "success": 1}, {"id": 1, "success": 0}]', "episode '1' comes twice; keep one of its records"),
        ('[{"success": 1, "spl": 1}]', "record 0: names no episode; expected the field 'episode_id' or 'episode'"),
        ('[{"id": 1, "success": 1}, 7]', "record 1: must be an object with the scores of an episode"),
        ('{"id": 1, "success": 1}\n{"id": 2, "succ', "line 2: is not JSON"),
        ('[{"id": 1, "colour": "red"}]', "none of its fields is a known metric: id, colour; expected success, spl"),
        ("[]", "holds no scores; expected numbers per episode"),
    ],
)
def test_score_files_that_cannot_be_read(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(ws.FormatError, match=message) as raised:
        ws.load_result(tmp_path / "a.json")
    assert str(tmp_path / "a.json") in str(raised.value)


def test_episodes_of_one_number_in_several_scenes(tmp_path: Path) -> None:
    rows = [{"scene_id": scene, "episode_id": 1, "success": 1} for scene in "st"]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert list(ws.load_result(tmp_path / "a.jsonl").episodes) == ["s/1", "t/1"]


def test_scores_beside_results(tmp_path: Path) -> None:
    (tmp_path / "theirs.json").write_text('{"e1": {"success": 0, "spl": 0}, "e2": {"success": 1, "spl": 1}}')
    ours = ws.evaluate(run(e1="abc", e2="xy", e3="ab"), ASKED, GRAPHS, resamples=50)
    found = ws.compare([ours, tmp_path / "theirs.json"])
    assert (found.episodes, found.left_out) == (2, 1)
    assert [metric.symbol for metric in found.metrics] == ["SR", "SPL"]
    assert found.of("theirs")["SR"].difference.mean == -0.5
    assert any("differ in convention (paper, theirs)" in warning for warning in found.warnings)
    mixed = ws.compare([tmp_path / "theirs.json", run(e1="abc", e2="xy", e3="ab")], ASKED, GRAPHS, resamples=50)
    assert mixed.of("agent")["SR"].difference.mean == 0.5


# Real files


def test_two_agents_of_which_only_scores_are_known(data: Path) -> None:
    files = [data / f"vlnce/results/cwp_{name}_val_unseen_episodes.json.gz" for name in ("cma", "vlnbert")]
    found = ws.compare(files)
    assert (found.episodes, found.left_out) == (1839, 0)
    theirs = {"SR": "success", "NE": "distance_to_goal", "OSR": "oracle_success", "PL": "path_length", "nDTW": "ndtw"}
    for file, result in zip(files, found.results, strict=True):
        summary = json.loads(Path(str(file).replace("episodes.json.gz", "summary.json")).read_text())
        for symbol, name in theirs.items():
            assert result.means()[symbol] == pytest.approx(summary[name], rel=1e-12), symbol
    better = found.of("cwp_vlnbert_val_unseen_episodes")
    assert better["SR"].difference.low > 0
    assert better["SR"].outcomes == (318, 1262, 259)


def test_a_progress_file(data: Path) -> None:
    file = data / "predictions/internnav/progress.json"
    found = ws.compare([file, file])
    assert found.episodes == 8
    assert found.results[0].means()["SR"] == 0.875
    assert all(contrast.p == 1.0 for contrast in found.contrasts)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert found.results[0].means()["NE"] == pytest.approx(np.mean([line["ne"] for line in lines]))
