"""Numbers that are right by the letter and mislead in practice are said with the result, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wayscore as ws
from tests.house import command
from wayscore.evaluation.warnings import other_split, unlike_paths

HOUSE = {"s": ws.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d")], [4.0, 4.0, 4.0])}
KNOWN = ws.References("R2R_val_unseen.json", "r2r", {n: ws.Reference(n, "s", ["a", "b", "c"], n) for n in "123"})


def evaluate(run: Any, references: Any = KNOWN, graphs: Any = HOUSE, **options: Any) -> ws.Result:
    return ws.evaluate(run, references, graphs, **{"resamples": 1, **options})


def named(result: Any, word: str) -> list[str]:
    return [warning for warning in result.warnings if word in warning]


def test_repeated_nodes_with_both_values() -> None:
    turning = {"1": list("abbbd"), "2": list("abc"), "3": list("aabc")}
    result = evaluate(turning)
    kept, dropped = (evaluate(turning, repeats=how).means()["nDTW"] for how in ("keep", "drop"))
    assert kept is not None
    assert dropped is not None
    (said,) = named(result, "repeat")
    assert said.startswith("33 % of the steps repeat the node before")
    assert f"nDTW is {100 * kept:.1f} % as logged and {100 * dropped:.1f} % without repeats" in said
    assert 'repeats="drop"' in said
    assert result.signature.fields["repeats"] == "keep"
    once = evaluate(turning, repeats="drop")
    assert (named(once, "repeat"), once.signature.fields["repeats"]) == ([], "drop")
    assert named(evaluate(turning, metrics="SR,SPL"), "repeat") == []  # which no repeat changes
    assert "nDTW is" not in named(evaluate(turning, metrics="SED"), "repeat")[0]


def test_one_repeat_in_twenty_is_said_of_more_only() -> None:
    walk = ["a", "b"] * 10 + ["a"]
    known = ws.References("r", "r2r", {"1": ws.Reference("1", "s", walk, "1")})
    assert named(evaluate({"1": [*walk[:-1], "b"]}, known), "repeat") == []  # 1 of 20
    assert len(named(evaluate({"1": [*walk[:-2], "a", "a"]}, known), "repeat")) == 1  # 2 of 20


def continuous(step: float, reference: float = 2.0, dense: float | None = None) -> tuple[dict[str, Any], ws.References]:
    """A straight walk of 8 m in steps of this length."""

    def line(step: float) -> Any:
        return np.column_stack(
            [np.arange(0, 8 + 1e-9, step), np.zeros((int(8 / step + 1.5), 2))[: int(8 / step + 1.001)]]
        )

    one = ws.Reference("1", "s", line(reference), "1", dense=None if dense is None else line(dense), start_distance=8.0)
    return {"1": line(step)}, ws.References("val.json", "vlnce", {"1": one}, up_axis=1)


def test_unlike_density() -> None:
    run, known = continuous(0.25)
    (said,) = named(evaluate(run, known, None, convention="paper"), "densely")
    assert "0.25 m long on average" in said
    assert "those of the paths they are compared with 2 m" in said
    assert "path_step=0.25" in said
    assert named(evaluate(run, known, None, convention="paper", path_step=0.25), "densely") == []
    assert named(evaluate(*continuous(1.0), None, convention="paper"), "densely") == []
    assert named(evaluate(*continuous(4.1), None, convention="paper"), "densely") != []
    options: dict[str, Any] = {"convention": "vlnce", "metrics": "nDTW"}
    assert named(evaluate(*continuous(0.25, dense=0.25), None, **options), "densely") == []


def test_the_usual_convention_where_none_is_chosen() -> None:
    run, known = continuous(0.25, dense=0.25)
    assert "usually reported by the convention vlnce" in named(evaluate(run, known, None), "usually")[0]
    assert named(evaluate(run, known, None, convention="paper"), "usually") == []
    assert named(evaluate({n: list("abc") for n in "123"}), "usually") == []


@pytest.mark.parametrize(
    ("run", "references", "said"),
    [
        ("agent_val_seen", "R2R_val_unseen.json", True),
        ("agent_val_unseen", "R2R_val_unseen.json.gz", False),
        ("agent", "R2R_val_unseen.json", False),
        ("latest_val_seen_best", "mine.json", False),
        ("val_seen_and_val_unseen", "R2R_val_unseen.json", False),
    ],
)
def test_names_of_other_splits(run: str, references: str, said: bool) -> None:
    assert bool(other_split(run, references)) == said


def test_clean_runs_have_no_warning() -> None:
    result = evaluate({n: list("abc") for n in "123"}, cluster="none")
    assert result.warnings == ()
    assert json.loads(result.to_json())["warnings"] == []


def test_agents_that_log_differently() -> None:
    turning, plain = ({n: list(path) for n in "123"} for path in ("abbbbd", "abc"))
    compared = ws.compare([turning, plain], KNOWN, HOUSE, names=["turning", "plain"], resamples=9, metrics="nDTW")
    (said,) = [warning for warning in compared.warnings if "of the steps of turning" in warning]
    assert "60 % of the steps of turning and 0 % of those of plain" in said
    assert unlike_paths({"a": {"density": 1.0}, "b": {"density": 0.2}})[0].startswith(
        "steps of a and b differ in length"
    )
    assert unlike_paths({"a": {"repeated": 0.5, "density": 1.0}, "b": {"repeated": 0.4, "density": 0.7}}) == []


def test_validate_says_them_too(tmp_path: Path) -> None:
    run = [{"instr_id": n, "trajectory": [[node, 0, 0] for node in "abbbc"]} for n in "123"]
    (tmp_path / "val_seen_run.json").write_text(json.dumps(run))
    found = ws.validate(tmp_path / "val_seen_run.json", KNOWN, HOUSE)
    assert len(found) == 0
    assert len(found.warnings) == 2
    assert any(line.startswith("warning: 50 % of the steps") and "--repeats drop" in line for line in found.lines())
    assert found.to_dict()["warnings"] == list(found.warnings)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("val_unseen_seq2seq_iter09000", "nDTW is 20.9 % as logged and 39.2 % without repeats"),
        ("val_unseen_seq2seq_iter19000", "nDTW is 25.9 % as logged and 42.1 % without repeats"),
        ("val_unseen_prevalent_add", None),
        ("val_unseen_qwen25vl_panoramic_half", None),
    ],
)
def test_real_runs(name: str, said: str | None, data: Path) -> None:
    files = [data / f"predictions/r2r/{name}.json.gz", "-r", data / "r2r/R2R_val_unseen.json.gz"]
    words = ["score", *files, "-g", data / "connectivity.tar.gz", "--format", "json", "--resamples", "9"]
    warnings = json.loads(command(*words, status=0).stdout)["warnings"]
    assert any(said in warning for warning in warnings) if said else warnings == []
