"""Streamed scores are those of the same run scored in memory: to the bit, with the same signature."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from wayscore.evaluation.groups import clusters_of

import wayscore as ws
from tests.bulk_data import (
    SAMPLES,
    Town,
    in_codes,
    in_points,
    streamed,
    table_of,
    write_lines,
    write_parquet,
)
from wayscore.episodes import References
from wayscore.episodes.targets import Course, lay_out
from wayscore.errors import WayscoreError
from wayscore.evaluation import streaming
from wayscore.formats import load_references
from wayscore.report import Summary, score_runs, summarize


def in_memory(run: Any, references: References, graphs: Any, cluster: str = "none", **options: Any) -> Any:
    """Score a run at once; return its summary and its table."""
    options.pop("rows", None)
    scored = score_runs([run], references, graphs=graphs, **options)[0]
    clusters = clusters_of(references.episodes.values(), cluster)
    summary = summarize(scored.table, scored.joined, rng=0, resamples=SAMPLES, clusters=clusters)
    return summary, scored.table


def assert_as_in_memory(run: Path, references: References, graphs: Any, out: Path, **options: Any) -> Summary:
    wanted, table = in_memory(run, references, graphs, **options)
    summary, scores = streamed(run, references, graphs, out, **{"policies": None, **options})
    names = scores["episode"].to_pylist()
    rows = np.argsort([list(table.episodes).index(name) for name in names])
    assert [names[row] for row in rows] == list(table.episodes)
    assert scores.column_names[-len(table.metrics) :] == table.metrics
    for symbol in table.metrics:
        assert np.array_equal(scores[symbol].to_numpy()[rows], table[symbol]), symbol
    assert str(summary.signature) == str(wanted.signature)
    assert {s: i.mean for s, i in summary.metrics.items()} == {s: i.mean for s, i in wanted.metrics.items()}
    assert (summary.missing, summary.unknown, summary.undefined) == (wanted.missing, wanted.unknown, wanted.undefined)
    assert summary.settings == wanted.settings
    for symbol, interval in summary.metrics.items():
        assert interval == pytest.approx(wanted.metrics[symbol], rel=1e-9, abs=1e-9), symbol
    assert ws.ScoreTable.load(out).settings == table.settings
    return summary


@pytest.mark.parametrize("space", ["graphs", "points"])
@pytest.mark.parametrize("name", ws.conventions())
def test_every_convention(town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, space: str) -> None:
    # Against what workers get: the course as one block of bytes that cannot be written.
    monkeypatch.setattr(streaming, "lay_out", lambda *given: Course.from_bytes(lay_out(*given).to_bytes()))
    answers, references = (town.answers, town.references) if space == "graphs" else in_points(town)
    graphs = town.graphs if space == "graphs" else None
    run = write_parquet(tmp_path / "agent.parquet", answers)
    out = tmp_path / "scores.parquet"
    if space not in _spaces(name):
        for score in (in_memory, streamed):
            with pytest.raises(WayscoreError):
                score(run, references, graphs, **({"out": out} if score is streamed else {}), convention=name)
        assert not out.exists()
        return
    assert_as_in_memory(run, references, graphs, out, convention=name)


def _spaces(name: str) -> tuple[str, ...]:
    """Where a convention can score these references; none of the graphs has dense walks, none of the points goals."""
    rules = ws.conventions()[name]
    if rules.goal == "set" or rules.distance != "given":
        return ("graphs",)
    warps = any("DTW" in symbol for symbol in rules.metrics)
    if rules.plane != "none" or rules.path_step or (rules.reference == "dense" and warps):
        return ("points",)
    return ("graphs", "points")


def spoiled(town: Town) -> pa.Table:
    """Answers in the references' order with every kind of problem; the last five episodes are not answered."""
    walks = {row["episode"]: row["path"] for row in town.answers.to_pylist()[:-5]}
    names = list(walks)
    for number, name in enumerate(names):
        path = walks[name]
        graph = town.graphs[town.references.episodes[name].scene]
        if number % 17 == 3:
            path = [next(node for node in graph.neighbors(path[0])), *path]
        if number % 13 == 4:
            path = [
                *path,
                next(node for node in graph.nodes if node not in (path[-1], *graph.neighbors(path[-1]))),
            ]
        if number % 19 == 5:
            path = [*path[:2], "nowhere", *path[2:]]
        walks[name] = path
    walks[names[1]] = ["nowhere", "nowhere"]
    walks[names[2]] = ["nowhere", "elsewhere"]
    walks["stranger"] = ["x00y00"]
    return table_of(walks, town.references)


GENTLE: dict[str, str | None] = {"missing": "skip", "unknown": "skip", "start": "keep", "move": "keep", "node": "skip"}


@pytest.mark.parametrize("form", ["parquet", "lines", "codes"])
@pytest.mark.parametrize(
    "policies",
    [{}, {"missing": "zero"}, *({kind: to} for kind in ("start", "move", "node") for to in ("skip", "zero"))],
    ids=lambda policies: ",".join(f"{kind}={to}" for kind, to in policies.items()) or "gentle",
)
def test_every_policy(town: Town, tmp_path: Path, policies: dict[str, str | None], form: str) -> None:
    answers = spoiled(town)
    if form == "lines":
        run = write_lines(tmp_path / "agent.jsonl", answers)
    else:
        run = write_parquet(tmp_path / "agent.parquet", answers if form == "parquet" else in_codes(answers))
    chosen = {**GENTLE, **policies}
    summary = assert_as_in_memory(run, town.references, town.graphs, tmp_path / "s.parquet", policies=chosen, rows=50)
    fields = summary.signature.fields
    assert {kind: fields[kind].partition("-")[0] for kind in chosen} == chosen


@pytest.mark.parametrize("convention", ["paper", "touchdown-valan"])
def test_graphs_too_large_for_tables(
    town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, convention: str
) -> None:
    monkeypatch.setattr("wayscore.distances.graph.TABLE_NODES", 10)
    graphs = ws.load_graphs(town.folder / "connectivity")
    run = write_parquet(tmp_path / "agent.parquet", spoiled(town))
    out = tmp_path / "scores.parquet"
    assert_as_in_memory(run, town.references, graphs, out, policies=GENTLE, convention=convention, rows=50)
    assert graphs["world1"].table is None


@pytest.mark.parametrize("kind", ["missing", "unknown", "start", "move", "node"])
def test_a_problem_that_is_an_error(town: Town, tmp_path: Path, kind: str) -> None:
    run = write_parquet(tmp_path / "agent.parquet", spoiled(town))
    policies = {**GENTLE, kind: "error"}
    where = "references.json" if kind == "missing" else r"agent\.parquet, row group \d, row \d+ \(episode '"
    with pytest.raises(ws.FormatError, match=f"{where}.*see {kind}=") as raised:
        streamed(run, town.references, town.graphs, tmp_path / "scores.parquet", policies=policies)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "scores.parquet").exists()


def test_a_scene_in_which_nothing_is_scored(town: Town, tmp_path: Path) -> None:
    # Signatures tell of the distances that were used, and of no others.
    answers = town.answers.filter(pc.not_equal(town.answers["scene"], "world2"))
    run = write_parquet(tmp_path / "agent.parquet", answers)
    assert_as_in_memory(run, town.references, town.graphs, tmp_path / "s.parquet", policies={"missing": "skip"})


@pytest.mark.parametrize("cluster", ["path", "scan"])
def test_clusters(town: Town, tmp_path: Path, cluster: str) -> None:
    run = write_parquet(tmp_path / "agent.parquet", town.answers)
    summary = assert_as_in_memory(run, town.references, town.graphs, tmp_path / "s.parquet", cluster=cluster, rows=90)
    assert summary.signature.fields["cluster"] == cluster


@pytest.mark.parametrize("cluster", ["none", "path", "scan"])
def test_a_run_in_any_order(town: Town, tmp_path: Path, cluster: str) -> None:
    # What is resampled is numbered by the references, not by the rows.
    shuffled = town.answers.take(np.random.default_rng(0).permutation(len(town.answers)))
    found = []
    for rows in (town.answers, shuffled):
        run = write_parquet(tmp_path / "agent.parquet", rows)
        out = tmp_path / "scores.parquet"
        found.append(assert_as_in_memory(run, town.references, town.graphs, out, cluster=cluster))
    assert found[0].metrics == found[1].metrics


def test_points_as_lines(town: Town, tmp_path: Path) -> None:
    answers, references = in_points(town)
    run = write_lines(tmp_path / "agent.jsonl", answers)
    assert_as_in_memory(run, references, None, tmp_path / "s.parquet", convention="vlnce", rows=99)
    apart = {"start": "skip", "missing": "skip"}
    rows = answers.to_pylist()
    for row in rows[::3]:
        row["path"] = [[a + 1.0, *rest] for a, *rest in row["path"]]
    run = write_parquet(tmp_path / "apart.parquet", pa.Table.from_pylist(rows, answers.schema))
    summary = assert_as_in_memory(run, references, None, tmp_path / "s.parquet", policies=apart)
    assert summary.signature.fields["start"] == f"skip-{len(rows[::3])}"


def test_a_real_run(data: Path, tmp_path: Path) -> None:
    name = "predictions/r2r/val_seen_navillm_run1.json.gz"
    asked = load_references(data / "r2r/R2R_val_seen.json.gz")
    graphs = ws.load_graphs(data / "connectivity.tar.gz")
    walks = {query.episode: query.path for query in ws.load_run(data / name).queries.values()}
    run = write_parquet(tmp_path / "agent.parquet", in_codes(table_of(walks, asked)))
    summary = assert_as_in_memory(run, asked, graphs, tmp_path / "s.parquet", convention="duet")
    published: Mapping[str, float] = json.loads((data / "published.json").read_text())[name]["figures"]
    for symbol, value in published.items():
        assert summary.metrics["PL" if symbol == "TL" else symbol].mean == pytest.approx(value, abs=1e-9), symbol
