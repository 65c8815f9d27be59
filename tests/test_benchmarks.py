"""The benchmarks compute what they say; how fast is never asked here."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wayscore as ws
from benchmarks import data, graphs, literal, rows, timing
from benchmarks.__main__ import main
from benchmarks.report import Outcome, Report, Row
from benchmarks.rows import Setting
from wayscore.metrics import METRICS

SCORERS = (literal.score_literally, literal.score_as_released)


@pytest.fixture(autouse=True)
def generated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests use generated inputs, wherever the real ones are."""
    monkeypatch.delenv(data.VARIABLE, raising=False)


@pytest.fixture(scope="module")
def inputs() -> data.Inputs:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(data.VARIABLE, raising=False)
        return data.load()


def forbid(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Make a package look as if it were not installed."""
    real = importlib.import_module

    def without(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == package:
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(timing, "import_module", without)
    literal._levenshtein.cache_clear()


@pytest.mark.parametrize("scorer", SCORERS)
def test_the_literal_scorers_agree_with_score(inputs: data.Inputs, scorer: Callable[..., dict[str, float]]) -> None:
    pytest.importorskip("rapidfuzz")
    episodes = list(data.noisy_queries(inputs, limit=150))
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


def test_tracking_pairs_keep_near_each_other() -> None:
    R, Q = data.tracking_pair(2_000)
    assert R.shape == Q.shape == (2_000, 3)
    assert np.linalg.norm(np.diff(R, axis=0), axis=1) == pytest.approx(0.25)
    assert ws.ndtw(reference=R, query=Q) > 0.8


def test_missing_data_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(data.VARIABLE, str(tmp_path))
    with pytest.raises(ws.FormatError, match=r"connectivity\.tar\.gz"):
        data.load()


def test_race_times_every_contestant_and_keeps_its_value() -> None:
    prepared = []

    def prepare() -> int:
        prepared.append(len(prepared))
        return prepared[-1]

    ours, theirs = timing.race(timing.Contestant(lambda given: given, prepare=prepare), lambda: "value", rounds=3)
    assert (ours.rounds, theirs.rounds, theirs.value) == (3, 3, "value")
    assert len(prepared) == 4  # each round, and the warm-up
    assert 0 <= ours.seconds < math.inf


def test_a_quick_run_of_cheap_rows(inputs: data.Inputs) -> None:
    pytest.importorskip("rapidfuzz")
    calls: list[tuple[int, int, str]] = []
    report = rows.run(quick=True, only=["node names", "SciPy"], progress=lambda *what: calls.append(what))
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


@pytest.mark.parametrize(
    "text",
    ["pruned", "T = 10", "n = 50", "20,000 random walks", "with warping", "import wayscore", "NavigationVectorEnv"],
)
def test_other_rows_agree_with_their_peers(text: str) -> None:
    for package in ("fastdtw", "dtaidistance", "rapidfuzz"):
        pytest.importorskip(package)
    for row in rows.run(quick=True, only=[text]).rows:
        assert row.outcome is not None, row.problem
        assert row.outcome.agreed is not False, row.work
        assert row.value is not None


def test_no_row_matches() -> None:
    with pytest.raises(ws.OptionError, match="no row matches zebra"):
        rows.run(only=["zebra"])


@pytest.mark.parametrize(
    ("package", "text"), [("fastdtw", "own fast_dtw"), ("dtaidistance", "dtaidistance"), ("rapidfuzz", "node names")]
)
def test_a_missing_peer_is_reported(monkeypatch: pytest.MonkeyPatch, package: str, text: str) -> None:
    forbid(monkeypatch, package)
    report = rows.run(quick=True, only=[text])
    assert report.rows
    for row in report.rows:
        assert row.outcome is None
        assert row.problem == f"{package} is not installed: pip install {package}"
    assert f"{package} is not installed" in report.to_text(140)
    assert json.loads(report.to_json())["rows"][0]["value"] is None


def test_specs_have_the_bars_of_the_design() -> None:
    bars = [(spec.bar, spec.stretch) for spec in rows.specs()]
    for expected in ((60, 150), (800, 2_000), (60, 100), (4, 7), (4, 8), (7, 8), (500, None), (35, None), (200, 1_000)):
        assert expected in bars
    works = [(spec.work, spec.peer) for spec in rows.specs()]
    assert len(set(works)) == len(works)


REPORT = Report(
    (
        Row("fast work, |R| = 7", "peer", "ratio", 10, 50, Outcome(0.001, 0.1, True, 1e-16, "a note")),
        Row("slow work", "peer", "ratio", 10, None, Outcome(0.1, 0.2, True)),
        Row("wrong work", "peer", "ratio", 10, None, Outcome(0.001, 0.2, False)),
        Row("memory", "", "MB", 10, 1, Outcome(4.0)),
        Row("absent", "peer", "ratio", 10, None, None, "peer is not installed"),
    ),
    "generated",
    machine={"processor": "one"},
)


def test_the_report_judges_and_renders() -> None:
    assert [row.reaches(row.bar) for row in REPORT.rows] == [True, False, True, True, None]
    assert [row.work for row in REPORT.missed] == ["slow work", "wrong work"]
    text = REPORT.to_text(140)
    for part in ("fast work", "x100", "stretch", "NO", "<= 10 MB", "a note", "processor one", "not installed"):
        assert part in text
    markdown = REPORT.to_markdown().splitlines()
    assert len(markdown) == 2 + len(REPORT.rows)
    assert len({line.replace(r"\|", "").count("|") for line in markdown}) == 1
    assert r"\|R\| = 7" in markdown[2]
    content = json.loads(REPORT.to_json())
    assert content["rows"][0]["value"] == pytest.approx(100)
    assert [row["reached"] for row in content["rows"]] == [True, False, True, True, None]


def test_a_difference_is_noticed() -> None:
    ours = {symbol: np.zeros(2) for symbol in METRICS}
    theirs = [dict.fromkeys(METRICS, 0.0), {**dict.fromkeys(METRICS, 0.0), "SED": 0.5}]
    assert graphs.largest_difference(ours, theirs) == 0.5


def test_inputs_are_made_only_when_asked_for() -> None:
    setting = Setting(quick=True)
    assert "inputs" not in setting.__dict__
    assert setting.inputs is setting.inputs


def test_the_command_prints_the_table_and_writes_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "results.json"
    main(["--quick", "--only", "SciPy", "--json", str(file)])
    assert "all-pairs distances" in capsys.readouterr().out
    assert json.loads(file.read_text())["quick"] is True


def test_the_command_refuses_a_file_in_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--quick", "--json", str(tmp_path / "none" / "results.json")])
    assert "this folder does not exist" in capsys.readouterr().err
