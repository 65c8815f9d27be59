"""What runs record, on its way through an evaluation: numbers, warnings, signature, and pieces of any size."""

from __future__ import annotations

import json
from math import exp, inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wayscore as ws

PATH = np.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [8.0, 0.0, 0.0]])
KNOWN = ws.References(
    "val.json",
    "vlnce",
    {str(n): ws.Reference(str(n), "s", PATH, str(n), start_distance=9.0, dense=PATH) for n in range(6)},
    up_axis=1,
)


def run_of(**recorded: Any) -> ws.Run:
    """Six answers that end 2 m short; what is recorded is one value for each."""
    stops = recorded.pop("stopped", [None] * 6)
    facts = [{name: values[n] for name, values in recorded.items() if values[n] is not None} for n in range(6)]
    return ws.Run("agent", "table", [ws.Query(str(n), PATH - [2.0, 0, 0], stops[n], facts[n]) for n in range(6)])


def evaluate(run: Any, **options: Any) -> ws.Result:
    return ws.evaluate(run, KNOWN, **{"start": "keep", "resamples": 1, "convention": "vlnce", **options})


def test_recorded_distances_decide_and_are_signed() -> None:
    result = evaluate(run_of(goal_distances=[[9.0, 6.0, 1.5]] * 6, stopped=[True] * 6))
    assert result.means()["NE"] == 1.5
    assert result.means()["SPL"] == 1.0
    assert result.signature.fields["goal"] == "recorded"
    assert {"stop", "unrecorded"}.isdisjoint(result.signature.fields)
    assert result.warnings == ()


def test_what_stands_in_is_counted_said_and_signed() -> None:
    result = evaluate(run_of(goal_distances=[[9.0, 6.0, inf], *[None] * 5], stopped=[True, False, *[None] * 4]))
    assert result["NE"].tolist() == [inf, 2.0, 2.0, 2.0, 2.0, 2.0]
    assert result["SR"].tolist() == [0.0, 0.0, 1.0, 1.0, 1.0, 1.0]
    assert result.undefined["NE"] == 1
    fields = result.signature.fields
    assert (fields["goal"], fields["stop"], fields["unrecorded"]) == (
        "recorded+straight",
        "unknown-4",
        "goal_distances-5",
    )
    assert ws.Signature.parse(str(result.signature)) == result.signature
    said = json.loads(result.to_json())["warnings"]
    assert any(warning.startswith("5 of 6 episodes have no `goal_distances`") for warning in said)
    assert any(warning.startswith("4 of 6 episodes have no `stopped`") for warning in said)


def test_references_without_their_dense_walks() -> None:
    known = ws.References("val.json", "vlnce", {"0": ws.Reference("0", "s", PATH, "0", start_distance=9.0)}, up_axis=1)
    with pytest.raises(ws.FormatError, match="not every reference has a dense"):
        ws.evaluate({"0": PATH}, known, convention="vlnce")
    assert list(ws.evaluate({"0": PATH}, KNOWN, convention="vlnce", metrics="SDTW", missing="skip").means()) == ["SDTW"]


def test_the_axis_that_points_up_comes_with_the_references() -> None:
    above = ws.Run("agent", "table", [ws.Query(str(n), PATH + np.array([0.0, 50.0, 1.0])) for n in range(6)])
    result = evaluate(above, convention="internnav-pe", metrics="NE,SR,proximity")
    assert result.means() == {"NE": 1.0, "SR": 1.0, "proximity": pytest.approx(exp(-1 / 18))}
    assert result.signature.fields["up"] == "y"


def test_objects_that_some_runs_do_not_name(tmp_path: Path) -> None:
    graph = {"s": ws.Graph.from_edges([("a", "b")])}
    facts = {"object": "7"}
    known = ws.References(
        "r", "reverie", {n: ws.Reference(n, "s", ["a", "b"], n, goals=("b",), facts=facts) for n in "xyz"}
    )
    records = [
        {"instr_id": n, "trajectory": [["a", 0, 0], ["b", 0, 0]], "predObjId": thing}
        for n, thing in zip("xyz", (7, 8, None), strict=True)
    ]
    (tmp_path / "run.json").write_text(json.dumps(records))
    options: dict[str, Any] = {"convention": "reverie", "resamples": 1}
    result = ws.evaluate(tmp_path / "run.json", known, graph, **options)
    assert result["RGS"].tolist() == result["RGSPL"].tolist() == [1.0, 0.0, 0.0]
    unnamed = ws.evaluate({n: ["a", "b"] for n in "xyz"}, known, graph, **options)
    assert unnamed.means()["RGS"] is None
    assert unnamed.warnings == ("3 of 3 episodes have no `predicted_object`: RGS and RGSPL are undefined there",)


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_in_pieces_of_any_size(form: str, tmp_path: Path) -> None:
    run = run_of(goal_distances=[[9.0, 6.0, float(n)] if n % 2 else None for n in range(6)], stopped=[True] * 6)
    whole = evaluate(run)
    file = tmp_path / "run.jsonl"
    rows = [
        {"episode": query.episode, "path": query.path.tolist(), "stopped": True, **query.recorded}
        for query in run.answers
    ]
    file.write_text("\n".join(map(json.dumps, rows)))
    if form == "parquet":
        from wayscore.formats.convert import convert

        file = Path(convert(file, tmp_path / "run.parquet").file)
    for chunk in (1, 4, 100):
        piecewise = evaluate(file, chunk=chunk)
        for symbol in whole.symbols:
            assert piecewise[symbol].tolist() == whole[symbol].tolist(), symbol
        assert piecewise.warnings == whole.warnings
        assert {**piecewise.signature.fields} == {**whole.signature.fields}
    assert whole.signature.fields["unrecorded"] == "goal_distances-3"
