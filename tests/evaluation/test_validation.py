"""`ws.validate`: every damaged record and every misfit at once, for people and programs; and what conventions do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import wayscore as ws
from tests.house import ASKED, GRAPHS, command, connectivity, run
from wayscore.convention.presets import find_convention
from wayscore.evaluation.comparison import Effects, effects
from wayscore.metrics import METRICS
from wayscore.report.conventions import differences, effects_document

CHAIN = "abcdefgh"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """R2R references `0_0` to `39_0` in one scan, the chain a-b-...-h, each from a to c."""
    asked = [{"path_id": n, "scan": "S", "path": ["a", "b", "c"], "instructions": ["Go."]} for n in range(40)]
    (tmp_path / "references.json").write_text(json.dumps(asked))
    (tmp_path / "connectivity").mkdir()
    edges = " ".join(CHAIN[n : n + 2] for n in range(len(CHAIN) - 1))
    (tmp_path / "connectivity" / "S_connectivity.json").write_text(json.dumps(connectivity(CHAIN, edges)))
    return tmp_path


def good() -> list[dict[str, Any]]:
    return [{"instr_id": f"{n}_0", "trajectory": [[node, 0.0, 0.0] for node in "abc"]} for n in range(40)]


def check(files: Path, content: Any, *, lines: bool = False, **options: Any) -> Any:
    written = content if isinstance(content, str) else json.dumps(content)
    (files / "run.json").write_text("\n".join(map(json.dumps, content)) if lines else written)
    return ws.validate(files / "run.json", files / "references.json", files / "connectivity", **options)


def test_nothing_wrong(files: Path) -> None:
    found = check(files, good())
    assert (list(found), len(found)) == ([], 0)
    assert list(found.lines()) == ["run: 40 answers to 40 episodes of references.json, no problem found"]
    facts = {"run": "run", "references": "references.json", "answers": 40, "episodes": 40}
    assert found.to_dict() == {**facts, "counts": {}, "problems": {}, "warnings": []}


def damaged() -> list[Any]:
    """One record of every kind that cannot be read."""
    rows: list[Any] = good()
    rows[3]["trajectory"][1] = 7
    rows[4]["instr_id"] = None
    del rows[5]["trajectory"]
    rows[6]["trajectory"] = []
    rows[7]["trajectory"] = ["a", [1, 2, 3]]
    rows[8]["trajectory"][2][1] = float("nan")
    rows[9] = 5
    return rows


@pytest.mark.parametrize("lines", [False, True])
def test_every_damaged_record_is_listed(files: Path, lines: bool) -> None:
    found = check(files, damaged(), lines=lines)
    name = (lambda n: f"line {n + 1}") if lines else (lambda n: f"record {n}")
    assert list(found.lines()) == [
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
        "2 of the 40 episodes of references.json have no answer: 4_0, 9_0",  # the others are answered, if badly
        "run: 9 problems in 33 answers to 40 episodes of references.json",
    ]
    assert found[2] == (
        f"{name(5)} (episode '5_0'): the field 'trajectory' is missing; expected R2R results: "
        '[{"instr_id": ..., "trajectory": [[viewpoint, heading, elevation], ...]}, ...]'
    )
    assert found[-1] == "episode 9_0: has no answer"


def test_misfits_of_the_readable_rest(files: Path) -> None:
    rows = damaged()
    rows[10]["trajectory"][1][0] = "cc"
    rows[11]["trajectory"] = [["a", 0, 0], ["c", 0, 0]]
    rows[12]["trajectory"] = [["b", 0, 0]]
    rows[13] = rows[14]
    rows[15]["instr_id"] = "15_1"
    found = check(files, rows).to_dict()
    counts = {"damaged": 7, "missing": 4, "unknown": 1, "duplicate": 1, "start": 1, "move": 2, "node": 1}
    assert found["counts"] == counts
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
    without = ws.validate(files / "run.json", files / "references.json")  # names alone tell starts, not moves
    assert without.counts == {kind: count for kind, count in counts.items() if kind not in ("move", "node")}


def test_long_lists_are_cut_unless_all_are_wanted(files: Path) -> None:
    rows = [{**record, "trajectory": 5} if n < 25 else record for n, record in enumerate(good())]
    found = check(files, rows)
    text = "\n".join(found.lines())
    assert "  record 19 (" in text
    assert "record 20" not in text
    assert "  and 5 more; --all lists them\n" in text
    for most, shown in ((20, 20), (None, 25)):
        found = check(files, rows, most=most)
        assert (found.counts, len(found.problems["damaged"])) == ({"damaged": 25}, shown)
    assert "record 24 (" in "\n".join(found.lines())
    missing = "\n".join(check(files, good()[:10]).lines())
    assert "30 of the 40 episodes of references.json have no answer: 10_0, " in missing
    assert " 29_0 and 10 more; --all lists them\n" in missing


def test_a_file_that_breaks_off(files: Path) -> None:
    whole = json.dumps(good())
    for content, words, before, problems in (
        (whole[: whole.index('"12_0"') + 20], "ends in the middle of a record; copy or write it again in full", 12, 29),
        (whole.replace('"instr_id": "12_0"', '"instr_id" "12_0"'), "is not JSON near", 12, 29),
        (whole + "]", "is not JSON near", 40, 1),
    ):
        text = "\n".join(check(files, content).lines())
        assert text.startswith("1 record cannot be read:\n  ")
        assert words in text
        assert f"(before that, {before} records can be read)" in text
        assert f"run: {problems} problem" in text


@pytest.mark.parametrize("content", ["", "Not Found", '[{"instr_id": "1_0", "traj'])
def test_where_nothing_can_be_read_there_is_one_sentence(files: Path, content: str) -> None:
    with pytest.raises(ws.FormatError, match=str(files / "run.json")) as raised:
        check(files, content)
    assert "\n" not in str(raised.value)


def test_inputs_of_every_kind(files: Path) -> None:
    walks = {f"{n}_0": ["a", "b", "c"] for n in range(39)} | {"5_0": ["b"]}
    table = [{"episode": name, "path": path} for name, path in walks.items()]
    wanted = ["episode 39_0: has no answer", "episode 5_0: its query does not begin where its reference does (begins"]
    pyarrow = pytest.importorskip("pyarrow")
    for given in (walks, ws.Run.from_paths(walks), pyarrow.Table.from_pylist(table)):
        found = ws.validate(given, files / "references.json", files / "connectivity")
        assert [sentence[: len(start)] for sentence, start in zip(found, wanted, strict=True)] == wanted


def test_a_test_split_can_be_checked(tmp_path: Path) -> None:
    starts = [{"path_id": n, "scan": "s", "path": ["a"], "instructions": ["go"]} for n in range(3)]
    (tmp_path / "R2R_test.json").write_text(json.dumps(starts))
    found = ws.validate({"0_0": ["a", "b"], "1_0": ["b"]}, tmp_path / "R2R_test.json")
    assert found.counts == {"missing": 1, "start": 1}


def test_the_command(files: Path) -> None:
    check(files, damaged())
    where = ["--references", files / "references.json", "--graphs", files / "connectivity"]
    result = command("validate", files / "run.json", *where, status=1)
    assert result.stdout.splitlines() == list(check(files, damaged()).lines())
    printed = json.loads(command("validate", files / "run.json", *where, "-f", "json").stdout)
    assert printed == check(files, damaged()).to_dict()
    check(files, good())
    command("validate", files / "run.json", *where, status=0)


# What conventions do to the numbers of a run


def compared(first: str, second: str, **options: Any) -> Effects:
    """What two conventions say of a run whose e1 ends 3 m from its goal: exactly the threshold."""
    answers = run(e1="a", e2="xy", e3="abc")
    return effects(answers, ASKED, find_convention(first), find_convention(second), graphs=GRAPHS, **options)


def test_both_conventions_and_every_single_choice() -> None:
    found = compared("envdrop", "paper", metrics="NE,SPL,SR")
    assert set(found.choices) == {"comparison", "spl_floor", "unknown", "duplicate"}
    assert found.first["SR"] == found.choices["comparison"]["SR"] == pytest.approx(2 / 3)
    assert found.second["SR"] == found.choices["spl_floor"]["SR"] == 1
    assert [metric.symbol for metric in found.metrics] == ["NE", "SPL", "SR"]
    kept = found.changing()
    assert [*kept.choices] == ["comparison"]
    assert [metric.symbol for metric in kept.metrics] == ["SPL", "SR"]
    assert (
        effects_document(found, differences(find_convention("envdrop"), find_convention("paper"))).render()
        == """\
comparison: envdrop <, paper <=

                                  SR % ↑  SPL % ↑
─────────────────────────────────────────────────
envdrop                             66.7     44.4
paper                              100.0     77.8
paper, but comparison as envdrop    66.7     44.4

3 choices change no number of this run: spl_floor, unknown, duplicate.
"""
    )
    assert effects_document(compared("paper", "paper"), {}).render() == "No number of this run changes.\n"


@pytest.mark.parametrize(
    ("first", "second", "metrics"),
    [("r2r", "r4r", "PL NE SR OSR SPL CLS DTW nDTW SDTW"), ("duet", "paper", " ".join(METRICS))],
)
def test_metrics_are_those_that_both_know(first: str, second: str, metrics: str) -> None:
    assert [metric.symbol for metric in compared(first, second).metrics] == metrics.split()


def test_small_changes_get_as_many_digits_as_they_need() -> None:
    metric = METRICS["SPL"]
    found = Effects(("a", "b"), {"SPL": 0.44837}, {"SPL": 0.44790}, {"spl_length": {"SPL": 0.44837}}, (metric,))
    lines = effects_document(found, {"spl_length": "spl_length: a reference, b shortest"}).render().splitlines()
    assert [line.split()[-1] for line in lines[4:7]] == ["44.84", "44.79", "44.84"]
