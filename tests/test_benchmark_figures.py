"""The figures of benchmarks: judged, written, read, shown; ratios over length, and counted instructions."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wayscore as ws
from benchmarks import graphs, instructions, lengths, loops, readme, rows
from benchmarks.__main__ import main
from benchmarks.report import Curve, Outcome, Report, Row, difference
from benchmarks.rows import Setting
from tests.test_benchmarks import hasty  # noqa: F401
from wayscore.metrics import METRICS


@pytest.mark.soak
def test_the_ratios_over_length() -> None:
    report = rows.run(Setting(quick=True), ["lengths"])
    assert not report.rows
    found = {(curve.panel, curve.peer): curve for curve in report.curves}
    for panel in (lengths.POINTS, lengths.LISTS, lengths.NAMES, lengths.ALIGN):
        curve = found[panel, "Python loop"]
        assert curve.lengths == lengths.LENGTHS[:4]
        assert all(0 < ratio < math.inf for ratio in curve.ratios)
    assert not any(curve.peer in ("", "aeon") for curve in report.curves)


@pytest.mark.soak
def test_a_peer_that_computes_something_else_stops_the_ratios(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "warp_lists", lambda *_: 1.0)
    with pytest.raises(ws.WayscoreError, match=r"Python loop, n = 5: the cost must be same as"):
        rows.run(Setting(quick=True), ["lengths"])


def test_an_interpreter_with_aeon_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def squared(_: str, pairs: list[Any]) -> Any:
        distance = ws.Function(lambda a, b: math.dist(a, b) ** 2)
        costs = [ws.dtw(reference=R, query=Q, distance=distance) for R, Q in pairs]
        return [{"dtw": 1.0, "align": 2.0, "values": [cost, cost]} for cost in costs]

    monkeypatch.setattr(lengths, "_ask_aeon", squared)
    monkeypatch.setattr(lengths, "LENGTHS", (5,))
    found = {c.panel: c.theirs for c in lengths.measure(Setting(quick=True, aeon="python")) if c.peer == "aeon"}
    assert found == {lengths.POINTS: (1.0,), lengths.LISTS: (1.0,), lengths.ALIGN: (2.0,)}


REPORT = Report(
    (
        Row("fast work, |R| = 7", "peer", "ratio", 10, 50, Outcome(0.001, 0.1, True, "a note")),
        Row("slow work", "peer", "ratio", 10, None, Outcome(0.1, 0.2, True)),
        Row("wrong work", "peer", "ratio", 10, None, Outcome(0.001, 0.2, False)),
        Row("memory", "", "MB", 10, 1, Outcome(4.0)),
        Row("start", "peer", "growth", 0.4, 0.3, Outcome(0.01, 0.1)),
        Row("absent", "peer", "ratio", 10, None, None, "peer is not installed"),
    ),
    "generated",
    machine={"processor": "one"},
    curves=(Curve("dtw", "peer", (5, 10), (1.0, 2.0), (2.0, 1.0)),),
)


def test_the_report_judges_and_renders() -> None:
    assert [row.reached for row in REPORT.rows] == ["stretch", "NO", "yes", "yes", "stretch", ""]
    assert [row.work for row in REPORT.missed] == ["slow work", "wrong work"]
    text = REPORT.to_text(140)
    for part in ("fast work", "x100", "x0.1", "stretch", "NO", "<= 10 MB", "a note", "processor one", "not installed"):
        assert part in text
    markdown = REPORT.to_markdown().splitlines()
    assert len(markdown) == 2 + len(REPORT.rows)
    assert len({line.replace(r"\|", "").count("|") for line in markdown}) == 1
    assert r"\|R\| = 7" in markdown[2]
    assert REPORT.curves[0].ratios == [2.0, 0.5]


def test_a_report_is_read_as_it_was_written() -> None:
    text = REPORT.to_json()
    assert Report.from_json(text) == REPORT
    content = json.loads(text)
    assert content["rows"][0]["value"] == pytest.approx(100)
    assert len(text.splitlines()) < 20  # one line for each row


def test_the_readme_has_the_figures_of_the_results_file() -> None:
    report = Report.from_json(readme.RESULTS.read_text(encoding="utf-8"))
    text = readme.README.read_text(encoding="utf-8")
    assert readme.written(text, report) == text, "run python -m benchmarks.readme"
    assert not report.quick
    assert [(row.work, row.peer) for row in report.rows] == [(spec.work, spec.peer) for spec in rows.specs()]
    assert {curve.panel for curve in report.curves} == {lengths.POINTS, lengths.LISTS, lengths.NAMES, lengths.ALIGN}
    assert readme.written(text, REPORT) != text


def test_a_readme_without_its_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="<!-- rows -->"):
        readme.written("# Benchmarks", REPORT)


def test_a_difference_is_noticed() -> None:
    ours = {symbol: np.zeros(2) for symbol in METRICS}
    theirs = [dict.fromkeys(METRICS, 0.0), {**dict.fromkeys(METRICS, 0.0), "SED": 0.5}]
    assert graphs.largest_difference(ours, theirs) == 1.0
    assert difference([1.0, 2.0], [1.0, 2.0]) == 0.0
    assert difference([1.0, 2.0], [1.0]) == math.inf


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
@pytest.mark.soak
def test_instructions_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    instructions.main(["--only", "step, list"])
    (found,) = (line for line in capsys.readouterr().out.splitlines() if "step, list" in line)
    assert 100 < float(found.split("|")[2].replace(",", "")) < 1e6


@pytest.mark.parametrize("path", instructions.PATHS)
def test_paths_of_which_instructions_are_counted_run(path: str) -> None:
    make, _, episodes = instructions.PATHS[path]
    value = make()()
    assert (len(value) if isinstance(value, ws.ScoreTable) else np.size(value)) == episodes


def test_the_command_prints_the_table_and_writes_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "results.json"
    main(["--quick", "--only", "SciPy", "--json", str(file)])
    assert "all pairs of 6 scans" in capsys.readouterr().out
    assert json.loads(file.read_text())["quick"] is True


def test_the_command_refuses_a_file_in_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--quick", "--json", str(tmp_path / "none" / "results.json")])
    assert "this folder does not exist" in capsys.readouterr().err
