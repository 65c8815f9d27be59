"""`wayscore validate`: every damaged record and every misfit at once, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from tests.test_formats import LINES, RUNS, encode
from wayscore.cli.app import app
from wayscore.errors import FormatError
from wayscore.formats import Fault, decoding, load_run

CHAIN = "abcdefgh"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """R2R references `0_0` to `39_0` in one scan, the chain a-b-...-h, each from a to c."""
    asked = [{"path_id": n, "scan": "S", "path": ["a", "b", "c"], "instructions": ["Go."]} for n in range(40)]
    (tmp_path / "references.json").write_text(json.dumps(asked))
    (tmp_path / "connectivity").mkdir()
    viewpoints = [
        {
            "image_id": node,
            "pose": [1, 0, 0, float(place), *([0] * 12)],
            "included": True,
            "unobstructed": [abs(place - other) == 1 for other in range(len(CHAIN))],
        }
        for place, node in enumerate(CHAIN)
    ]
    (tmp_path / "connectivity" / "S_connectivity.json").write_text(json.dumps(viewpoints))
    return tmp_path


def good() -> list[dict[str, Any]]:
    return [{"instr_id": f"{n}_0", "trajectory": [[node, 0.0, 0.0] for node in "abc"]} for n in range(40)]


def check(files: Path, content: Any, *words: str, lines: bool = False) -> Result:
    text = (
        "\n".join(map(json.dumps, content)) if lines else content if isinstance(content, str) else json.dumps(content)
    )
    (files / "run.json").write_text(text)
    where = ["--references", str(files / "references.json"), "--graphs", str(files / "connectivity")]
    return CliRunner().invoke(app, ["validate", str(files / "run.json"), *where, *words])


def test_nothing_wrong(files: Path) -> None:
    result = check(files, good())
    assert result.exit_code == 0
    assert result.stdout == "run: 40 answers to 40 episodes of references.json, no problem found\n"
    assert json.loads(check(files, good(), "-f", "json").stdout) == {
        "run": "run",
        "references": "references.json",
        "answers": 40,
        "episodes": 40,
        "counts": {},
        "problems": {},
    }


def damaged() -> list[Any]:
    """One record of every kind that cannot be read."""
    run: list[Any] = good()
    run[3]["trajectory"][1] = 7
    run[4]["instr_id"] = None
    del run[5]["trajectory"]
    run[6]["trajectory"] = []
    run[7]["trajectory"] = ["a", [1, 2, 3]]
    run[8]["trajectory"][2][1] = float("nan")
    run[9] = 5
    return run


@pytest.mark.parametrize("lines", [False, True])
def test_every_damaged_record_is_told(files: Path, lines: bool) -> None:
    result = check(files, damaged(), lines=lines)
    assert result.exit_code == 1
    name = (lambda n: f"line {n + 1}") if lines else (lambda n: f"record {n}")
    assert result.stdout.splitlines() == [
        "7 records cannot be read:",
        f"  {name(3)} (episode '3_0'), field 'trajectory', item 1: must be text or a list, got an integer",
        f"  {name(4)}, field 'instr_id': must be an integer or text, got null",
        f"  {name(5)} (episode '5_0'): the field 'trajectory' is missing",
        f"  {name(6)} (episode '6_0'): its walk has no steps; an agent that never moves has its start",
        f"  {name(7)} (episode '7_0'): step 1 mixes viewpoints and coordinates; write one kind",
        f"  {name(8)} (episode '8_0'), field 'trajectory', item 2, item 1: NaN is not a finite number; "
        "expected its real value, or the episode left out",
        f"  {name(9)}: must be an object, got an integer",
        '  expected R2R results: [{"instr_id": ..., "trajectory": [[viewpoint, heading, elevation], ...]}, ...]',
        "2 of the 40 episodes of references.json are not answered: 4_0, 9_0",  # the others are, if badly
        "run: 9 problems in 33 answers to 40 episodes of references.json",
    ]


def test_misfits_of_the_readable_rest(files: Path) -> None:
    run = damaged()
    run[10]["trajectory"][1][0] = "cc"
    run[11]["trajectory"] = [["a", 0, 0], ["c", 0, 0]]
    run[12]["trajectory"] = [["b", 0, 0]]
    run[13] = run[14]
    run[15]["instr_id"] = "15_1"
    found = json.loads(check(files, run, "--format", "json").stdout)
    assert found["counts"] == {
        "damaged": 7,
        "missing": 4,
        "unknown": 1,
        "duplicate": 1,
        "start": 1,
        "move": 2,
        "node": 1,
    }
    assert found["problems"]["damaged"][0] == {
        "what": "must be text or a list, got an integer",
        "where": "record 3",
        "episode": "3_0",
        "field": "field 'trajectory', item 1",
        "expected": 'R2R results: [{"instr_id": ..., "trajectory": [[viewpoint, heading, elevation], ...]}, ...]',
    }
    assert [problem["episode"] for problem in found["problems"]["missing"]] == ["4_0", "9_0", "13_0", "15_0"]
    assert found["problems"]["unknown"] == [{"episode": "15_1", "what": "did you mean '15_0'?"}]
    assert found["problems"]["start"] == [{"episode": "12_0", "what": "begins at 'b', its reference at 'a'"}]
    assert found["problems"]["move"] == [
        {"episode": "10_0", "what": "step 1, from 'a' to 'cc'"},
        {"episode": "11_0", "what": "step 1, from 'a' to 'c'"},
    ]
    assert found["problems"]["node"][0]["what"].startswith("step 1, 'cc'")


def test_long_lists_are_cut_unless_all_are_wanted(files: Path) -> None:
    run = [{**record, "trajectory": 5} if n < 25 else record for n, record in enumerate(good())]
    result = check(files, run)
    assert "  record 19 (" in result.stdout
    assert "record 20" not in result.stdout
    assert "  and 5 more; --all lists them\n" in result.stdout
    assert "record 24 (" in check(files, run, "--all").stdout
    for words, shown in ((), 20), (("--all",), 25):
        found = json.loads(check(files, run, "-f", "json", *words).stdout)
        assert (found["counts"], len(found["problems"]["damaged"])) == ({"damaged": 25}, shown)
    missing = check(files, good()[:10])
    assert "30 of the 40 episodes of references.json are not answered: 10_0, " in missing.stdout
    assert " 29_0 and 10 more; --all lists them\n" in missing.stdout


def test_a_file_that_breaks_off(files: Path) -> None:
    whole = json.dumps(good())
    result = check(files, whole[: whole.index('"12_0"') + 20])
    assert result.exit_code == 1
    assert (
        "1 record cannot be read:\n"
        "  ends in the middle of a record; copy or write it again in full (before that, 12 records can be read)\n"
    ) in result.stdout
    assert "run: 29 problems in 12 answers to 40 episodes" in result.stdout
    broken = check(files, whole.replace('"instr_id": "12_0"', '"instr_id" "12_0"'))
    assert "is not JSON near" in broken.stdout
    assert "(before that, 12 records can be read)" in broken.stdout
    behind = check(files, whole + "]")
    assert "(before that, 40 records can be read)" in behind.stdout


@pytest.mark.parametrize("content", ["", "Not Found", '[{"instr_id": "1_0", "traj'])
def test_where_nothing_can_be_read_there_is_one_sentence(files: Path, content: str) -> None:
    result = check(files, content)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"wayscore: {files / 'run.json'}")
    assert result.stderr.count("\n") == 1


def test_an_unknown_form(files: Path) -> None:
    result = check(files, good(), "--format", "latex")
    assert (result.exit_code, result.stderr) == (1, "wayscore: problems are told as text or json, not 'latex'\n")


def test_coordinates_where_labels_are_asked_for(files: Path) -> None:
    run = good()
    run[0]["trajectory"] = [[0.0, 1.0, 2.0], [0.5, 1.0, 2.0]]
    result = check(files, run)
    assert "  0_0: begins at [0.0, 1.0, 2.0], its reference at 'a'\n" in result.stdout
    assert "  0_0: step 0, [0.0, 1.0, 2.0]\n" in result.stdout
    assert "  0_0: step 1, from [0.0, 1.0, 2.0] to [0.5, 1.0, 2.0]\n" in result.stdout


# ------------------------------------------------------------------------------------------------ readers


@pytest.mark.parametrize("form", RUNS)
def test_every_format_collects(tmp_path: Path, form: str) -> None:
    content = RUNS[form]
    path = tmp_path / "run.json"
    if isinstance(content, dict):
        path.write_text(json.dumps({"before": 5, **content, "after": [], "last": [[0, 1]]}))
        names = ["before", "last", "after"]
    else:
        record = content[0]
        walk = next(field for field in ("trajectory", "path") if field in record)
        path.write_bytes(encode([{**record, walk: 5}, record, {**record, walk: "x"}], form in LINES))
        names = [str(next(iter(record.values())))] * 2
    faults: list[Fault] = []
    run = load_run(path, form, faults=faults)
    assert [fault.episode for fault in faults] == names
    assert len(run.queries) == 1
    with pytest.raises(FormatError) as caught:
        load_run(path, form)
    assert str(caught.value) == faults[0].of(path)


def test_tables_collect(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    csv = tmp_path / "run.csv"
    csv.write_text(
        'episode,path,stopped\na,x y,true\nb,,true\n,x,true\nd,"[1, 2",true\ne,x,maybe\nf,"[[1, 2], [3]]",\n'
    )
    faults: list[Fault] = []
    assert list(load_run(csv, faults=faults).queries) == ["a"]
    assert [(fault.where, fault.episode, fault.field) for fault in faults] == [
        ("row 3", "d", "column 'path'"),
        ("row 4", "e", "column 'stopped'"),
        ("row 2", None, "column 'episode'"),
        ("row 1", "b", "column 'path'"),
        ("row 5", "f", "field 'path'"),
    ]
    parquet = tmp_path / "run.parquet"
    nan = float("nan")
    walks = [[[0.0, 1.0]], None, [[0.0, 1.0], [nan, nan], [nan, 0.0]], [], [[2.0, 3.0]]]
    kind = pa.list_(pa.list_(pa.float64(), 2))
    pq.write_table(pa.table({"episode": list("abcde"), "path": pa.array(walks, kind)}), parquet)
    faults.clear()
    run = load_run(parquet, faults=faults)
    assert {name: np.asarray(query.path).tolist() for name, query in run.queries.items()} == {
        "a": [[0.0, 1.0]],
        "e": [[2.0, 3.0]],
    }
    assert [fault.place for fault in faults] == [
        "row 1, column 'path'",
        "row 2, column 'path', step 1",
        "episode 'd'",
    ]


def test_lines_are_counted_with_the_empty_ones(tmp_path: Path) -> None:
    paths = {"e": ["a"], "f": [], "g": [[1], "a"]}
    path = tmp_path / "run.jsonl"
    path.write_text("\n\n".join(json.dumps({"episode": name, "path": walk}) for name, walk in paths.items()))
    faults: list[Fault] = []
    assert list(load_run(path, faults=faults).queries) == ["e"]
    assert [fault.place for fault in faults] == ["episode 'f'", "line 5 (episode 'g'), field 'path'"]


def test_a_file_too_large_to_be_read_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(damaged()[:6]))
    monkeypatch.setattr("wayscore.formats.pieces.NAMED_LIMIT", 10)
    faults: list[Fault] = []
    with pytest.raises(FormatError, match=r"record 3, field 'trajectory', item 1: must be"):
        load_run(path, faults=faults)


def test_place_of_a_record(tmp_path: Path) -> None:
    from wayscore.formats.files import Source

    assert decoding.place(1, Source(tmp_path, b'{"a": 1}\n\n{"a": 2}')) == "line 3"
    assert decoding.place(1, Source(tmp_path, b"[1, 2]")) == "record 1"
    assert decoding.place("row 7", Source(tmp_path, b"")) == "row 7"
