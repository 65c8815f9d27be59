"""The benchmarks compute what they say; how fast is never asked here."""

from __future__ import annotations

import importlib
import json
import math
import shutil
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wayscore as ws
from benchmarks import command, data, graphs, instructions, lengths, literal, loops, readme, rows, timing, walks
from benchmarks.__main__ import main
from benchmarks.report import Curve, Outcome, Report, Row, difference
from benchmarks.rows import Setting
from wayscore.formats import load_references, load_run
from wayscore.metrics import METRICS

SCORERS = (literal.score_literally, literal.score_as_released)


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests use generated inputs, wherever the real ones are, and take no care with the times."""
    monkeypatch.delenv(data.VARIABLE, raising=False)
    monkeypatch.setattr(timing, "SHORT", 0.0)
    monkeypatch.setattr(timing, "LITTLE", 0.0)


@pytest.fixture(scope="module")
def inputs() -> data.Inputs:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(data.VARIABLE, raising=False)
        return data.load()


def quick(inputs: data.Inputs, before: str | None = None) -> Setting:
    """Return a quick run's setting whose inputs are there already."""
    setting = Setting(quick=True, before=before)
    setting.__dict__["inputs"] = inputs
    return setting


def forbid(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Make a package look as if it were not installed."""
    real = importlib.import_module

    def without(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == package:
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(timing, "import_module", without)
    literal._levenshtein.cache_clear()
    loops.compiled.cache_clear()


@pytest.mark.parametrize("scorer", SCORERS)
def test_the_literal_scorers_agree_with_score(inputs: data.Inputs, scorer: Callable[..., dict[str, float]]) -> None:
    pytest.importorskip("rapidfuzz")
    episodes = inputs.episodes[:150]
    scenes, references, queries = (list(column) for column in zip(*episodes, strict=True))
    table = ws.score(references=references, queries=queries, distance=inputs.graphs, scenes=scenes)
    distances = {scan: literal.distances_of(inputs.graphs[scan]) for scan in set(scenes)}
    for number, (scan, reference, query) in enumerate(episodes):
        scores = scorer(reference, query, distances[scan])
        assert list(scores) == list(METRICS)
        for symbol, value in scores.items():
            assert table[symbol][number] == pytest.approx(value, rel=1e-12, abs=1e-12), symbol
    assert 0 < np.mean(table["SR"]) < 1  # both branches of success were taken


@pytest.mark.parametrize("scorer", SCORERS)
def test_the_literal_scorers_where_the_paper_is_silent(scorer: Callable[..., dict[str, float]]) -> None:
    pytest.importorskip("rapidfuzz")
    random = np.random.default_rng(5)
    graph = data.building(random)
    d = literal.distances_of(graph)
    a, b = str(graph.nodes[0]), str(graph.neighbors(graph.nodes[0])[0])
    episodes = [([a], [a]), ([a], [a, b]), ([a, b, a], [a, b, a]), ([a, b, a], [a]), ([a, b], [b, b, b])]
    for reference, query in episodes:
        table = ws.score(references=[reference], queries=[query], distance=graph)
        for symbol, value in scorer(reference, query, d).items():
            assert table[symbol][0] == pytest.approx(value, rel=1e-12, abs=1e-12), (symbol, reference, query)


def test_generated_inputs_look_like_r2r(inputs: data.Inputs) -> None:
    assert len(inputs.graphs) == 90
    assert len(inputs.references) == 783
    assert len(inputs.scans) == 11
    assert len(inputs.episodes) == 2_349
    for graph in list(inputs.graphs.values())[:3]:
        assert len(graph) == 117
        assert graph.table is not None
        assert np.isfinite(graph.table).all()
        assert all(len(str(node)) == 32 for node in graph.nodes)
    for scan, path in inputs.references:
        graph = inputs.graphs[scan]
        assert 4 <= len(path) <= 7
        length = sum(graph.distance(a, b) for a, b in pairwise(path))
        assert length == pytest.approx(graph.distance(path[0], path[-1]))  # shortest, as R2R's are


def test_random_walks_step_along_edges_from_the_start_of_their_reference(inputs: data.Inputs) -> None:
    walks = data.random_walks(inputs, 2_000)
    assert sum(len(walk.queries) for walk in walks) == 2_000
    for walk in walks:
        edges = set(inputs.graphs[walk.scan].edges)
        assert (np.diff(walk.pairing) >= 0).all()
        for query, number in zip(walk.queries, walk.pairing.tolist(), strict=True):
            assert query[0] == walk.references[number][0]
            assert 4 <= len(query) <= 7
            for a, b in pairwise(query.tolist()):
                assert (min(a, b), max(a, b)) in edges


def test_missing_data_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(data.VARIABLE, str(tmp_path))
    with pytest.raises(ws.FormatError, match=r"connectivity\.tar\.gz"):
        data.load()


def test_real_queries_are_used_where_they_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, inputs: data.Inputs
) -> None:
    run, references, graphs = command.write(inputs, tmp_path, packed=True)
    for file, place in ((references, "r2r/R2R_val_unseen"), (run, "predictions/r2r/val_unseen_prevalent_add")):
        (tmp_path / f"{place}.json.gz").parent.mkdir(parents=True)
        shutil.copy(file, tmp_path / f"{place}.json.gz")
    assert graphs == tmp_path / "connectivity.tar.gz"
    monkeypatch.setenv(data.VARIABLE, str(tmp_path))
    found = data.load()
    assert found.references == inputs.references
    assert found.episodes == inputs.episodes
    assert "PREVALENT" in found.source


def test_race_times_every_contestant_and_keeps_its_value() -> None:
    prepared = []

    def prepare() -> int:
        prepared.append(len(prepared))
        return prepared[-1]

    ours, theirs = timing.race(timing.Contestant(lambda given: given, prepare=prepare), lambda: "value", rounds=3)
    assert min(ours.rounds, theirs.rounds) >= 3
    assert theirs.value == "value"
    assert len(prepared) == ours.rounds + 1  # the first call warms up
    assert 0 <= ours.seconds < math.inf


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 4), (5, 3), (8, 8)])
def test_loops_compute_dtw(n: int, m: int) -> None:
    R, Q = data.random_walk_points(n, 1), data.random_walk_points(m, 2)
    found = ws.align(reference=R, query=Q)
    assert loops.warp_lists(R.tolist(), Q.tolist()) == pytest.approx(found.cost)
    assert loops.warp_points(R, Q, 0.0) == pytest.approx(found.cost)
    assert loops.warp_points(R, Q, 2.0) == pytest.approx(ws.ndtw(reference=R, query=Q, threshold=2.0))
    for cost, pairs in (loops.align_lists(R.tolist(), Q.tolist()), loops.align_points(R, Q)):
        assert cost == pytest.approx(found.cost)
        assert np.array_equal(pairs, found.pairs)


def test_a_quick_run_of_cheap_rows(inputs: data.Inputs) -> None:
    pytest.importorskip("rapidfuzz")
    calls: list[tuple[int, int, str]] = []
    report = rows.run(quick(inputs), ["12 metrics from node names", "SciPy"], lambda *what: calls.append(what))
    assert [row.peer for row in report.rows][-1] == "SciPy"
    assert len(report.rows) == 3
    for row in report.rows:
        assert row.outcome is not None
        assert row.outcome.agreed is True
        assert row.value is not None
        assert row.bar is None
    assert [measured for measured, _, _ in calls] == [0, 1, 2, 3]
    assert "generated" in report.data
    assert not report.missed


COVERED = (
    "`ndtw`, node names; points, lists, n = 5; float32, n = 5; `score` of one episode; `dtw`, node names, n = 50; "
    "`align`, points, n = 50; `RunningDTW`; `RunningBatch`; NavigationVectorEnv; pairs; 20,000 random walks; "
    "streaming; dtaidistance; fast_dtw; memory at; import wayscore; --version; cold, gzipped; bootstrap"
)
"""Rows of a quick run."""


@pytest.mark.parametrize("text", COVERED.split("; "))
@pytest.mark.soak
def test_rows_agree_with_their_peers(text: str, inputs: data.Inputs) -> None:
    found = rows.run(quick(inputs), [text]).rows
    assert found
    for row in found:
        if "is not installed" in row.problem:
            pytest.skip(row.problem)
        assert row.outcome is not None, row.problem
        assert row.outcome.agreed is not False, row.work
        assert row.value is not None


@pytest.mark.parametrize("packed", [False, True])
def test_files_of_the_command_hold_what_is_scored(tmp_path: Path, inputs: data.Inputs, packed: bool) -> None:
    run, references, graphs = command.write(inputs, tmp_path, packed)
    assert (run.suffix == ".gz") == packed == graphs.is_file()
    assert [reference.path for reference in load_references(references).episodes.values()][::3] == [
        path for _, path in inputs.references
    ]
    assert len(load_run(run).queries) == len(inputs.episodes)


@pytest.mark.soak
def test_compare_needs_an_older_version(inputs: data.Inputs) -> None:
    (row,) = rows.run(quick(inputs), ["compare"]).rows
    assert "--before PYTHON" in row.problem
    (row,) = rows.run(quick(inputs, sys.executable), ["compare"]).rows
    assert row.value is not None
    assert row.value > 0


def test_walks_are_read_as_they_were_written(inputs: data.Inputs, tmp_path: Path) -> None:
    file = tmp_path / "walks.parquet"
    walks.write_walks(file, inputs, 500)
    graphs_used = {scan: inputs.graphs[scan] for scan in inputs.scans}
    result = ws.evaluate(
        file, walks.references_of(inputs), graphs=graphs_used, duplicate="all", missing="skip", resamples=10
    )
    scores = np.concatenate([ws.score(**scene)["nDTW"] for scene in walks.load_walks(file, inputs)])
    assert len(scores) == 500
    assert result.means()["nDTW"] == pytest.approx(scores.mean())


def test_no_row_matches() -> None:
    with pytest.raises(ws.OptionError, match="no row matches zebra"):
        rows.run(Setting(), only=["zebra"])


@pytest.mark.parametrize(
    ("package", "text"),
    [("numba", "`align`"), ("fastdtw", "fast_dtw"), ("dtaidistance", "dtaidistance"), ("rapidfuzz", "one episode")],
)
def test_a_missing_peer_is_reported(
    monkeypatch: pytest.MonkeyPatch, inputs: data.Inputs, package: str, text: str
) -> None:
    forbid(monkeypatch, package)
    report = rows.run(quick(inputs), [text])
    assert report.rows
    for row in report.rows:
        assert row.outcome is None
        assert row.problem == f"{package} is not installed: pip install {package}"
    assert f"{package} is not installed" in report.to_text(140)
    assert json.loads(report.to_json())["rows"][0]["value"] is None


# The figures: judged, written, read, shown; ratios over length, and counted instructions


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
