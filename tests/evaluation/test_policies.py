"""What is scored, and by which convention: as `ws.score` and literal loops over single episodes have it."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import wayscore as ws
from tests.conftest import CONVENTIONS
from tests.town import (
    ALL,
    Town,
    evaluated,
    in_dictionaries,
    in_points,
    table_of,
    write_array,
    write_lines,
    write_parquet,
)
from wayscore.evaluation.policies import POLICIES
from wayscore.formats import chunks
from wayscore.metrics import find_metrics

WRITE = {
    "array": lambda folder, table: write_array(folder / "agent.json", table),
    "lines": lambda folder, table: write_lines(folder / "agent.jsonl", table),
    "Parquet": lambda folder, table: write_parquet(folder / "agent.parquet", table),
    "dictionaries": lambda folder, table: write_parquet(folder / "codes.parquet", in_dictionaries(table)),
    "Arrow": lambda _, table: table,
}


def run_of(table: pa.Table) -> ws.Run:
    """A table as single queries."""
    queries = (ws.Query(row["episode"], _path(row["path"]), row["stopped"]) for row in table.to_pylist())
    return ws.Run("agent", "table", queries)


def _path(path: list[Any]) -> Any:
    return path if isinstance(path[0], str) else np.array(path)


def scored(pairs: Any, distance: Any, convention: str = "paper", **options: Any) -> ws.ScoreTable:
    """Score pairs of reference and query as they are."""
    references = [reference for reference, _ in pairs]
    choices = ws.conventions()[convention]
    goals = [one.goals for one in references]
    dense = [one.dense for one in references]
    return ws.score(
        references=[one.path for one in references],
        queries=[query.path for _, query in pairs],
        distance=distance,
        scenes=[one.scene for one in references],
        convention=convention,
        goals=goals if any(goals) else None,
        start_distances=[one.start_distance for one in references],
        dense=dense if choices.reference == "dense" and all(walk is not None for walk in dense) else None,
        stopped=[query.stopped for _, query in pairs],
        **options,
    )


# Conventions


@pytest.mark.parametrize("space", ["graphs", "points"])
@pytest.mark.parametrize("name", CONVENTIONS)
def test_every_convention(town: Town, name: str, space: str) -> None:
    answers, references = (town.answers, town.references) if space == "graphs" else in_points(town)
    graphs = town.graphs if space == "graphs" else None
    options: dict[str, Any] = {"references": references, "graphs": graphs, "convention": name}
    if space not in _spaces(name):
        with pytest.raises(ws.WayscoreError):
            evaluated(answers, town, **options)
        return
    found = evaluated(answers, town, **options, unknown="skip")  # some conventions take one instruction per path
    joined = ws.join(run_of(answers), references, graphs=graphs, convention=name, unknown="skip")
    wanted = scored(joined.pairs, graphs, name)
    assert list(found.episodes) == [reference.episode for reference, _ in joined.pairs]
    assert found.symbols == wanted.metrics
    for symbol in wanted.metrics:
        assert np.array_equal(found[symbol], wanted[symbol]), symbol
    for symbol, mean in wanted.means().items():
        assert found.means()[symbol] == (None if mean is None else pytest.approx(mean, rel=1e-12))
    assert found.signature.fields["convention"] == wanted.settings["convention"]


def _spaces(name: str) -> tuple[str, ...]:
    """Where a convention can score these references; none of the graphs has dense walks, none of the points goals."""
    rules = ws.conventions()[name]
    if rules.goal == "set" or rules.distance != "given":
        return ("graphs",)
    needs = frozenset().union(*(metric.needs for metric in find_metrics(None, rules)))
    if rules.plane != "none" or "points" in needs or (rules.reference == "dense" and "warping" in needs):
        return ("points",)
    return ("graphs", "points")


def test_a_scene_in_which_nothing_is_scored(town: Town) -> None:
    # Signatures name the distances that were used, and no others.
    here = town.answers.filter(pa.compute.not_equal(town.answers["scene"], "world2"))
    alone = {scene: graph for scene, graph in town.graphs.items() if scene != "world2"}
    episodes = {name: one for name, one in town.references.episodes.items() if one.scene != "world2"}
    known = ws.References("references.json", "r2r", episodes)
    found, wanted = evaluated(here, town), evaluated(here, town, references=known, graphs=alone)
    assert found.signature.fields["distance"] == wanted.signature.fields["distance"]
    assert found.means() == wanted.means()


def test_one_distance_for_all_scenes(town: Town) -> None:
    one = town.graphs["world1"]
    here = town.answers.filter(pa.compute.equal(town.answers["scene"], "world1"))
    wanted = evaluated(here, town)
    for distance in (one, ws.Table(one.table, one.nodes)):
        known = {name: r for name, r in town.references.episodes.items() if r.scene == "world1"}
        found = evaluated(here, town, references=ws.References("r", "table", known), graphs=distance)
        assert found.means() == wanted.means()


# Policies


@cache
def spoiled(town: Town) -> pa.Table:
    """Answers in the references' order with every kind of problem; the last five episodes are not answered."""
    walks = {row["episode"]: row["path"] for row in town.answers.to_pylist()[:-5]}
    names = list(walks)
    for number, name in enumerate(names):
        path = walks[name]
        graph = town.graphs[town.references.episodes[name].scene]
        if number % 17 == 3:
            path = [next(iter(graph.neighbors(path[0]))), *path]
        if number % 13 == 4:
            path = [*path, next(n for n in graph.nodes if n not in (path[-1], *graph.neighbors(path[-1])))]
        if number % 19 == 5:
            path = [*path[:2], "nowhere", *path[2:]]
        walks[name] = path
    walks[names[1]] = ["nowhere", "nowhere"]
    walks[names[2]] = ["nowhere", "elsewhere"]
    return table_of([*walks.items(), ("stranger", ["x00y00"])], town.references)


def faults(town: Town, row: dict[str, Any]) -> set[str]:
    """What is wrong with an answer, literally."""
    if row["episode"] not in town.references.episodes:
        return {"unknown"}
    one = town.references.episodes[row["episode"]]
    graph = town.graphs[one.scene]
    known = {"node"} if any(node not in graph.nodes for node in row["path"]) else set()
    moves = pairwise(row["path"])
    known |= {"move"} if any(a != b and not graph.has_edge(a, b) for a, b in moves) else set()
    return known | ({"start"} if row["path"][0] != one.path[0] else set())


GENTLE = {"missing": "skip", "unknown": "skip", "start": "keep", "move": "keep", "node": "skip"}
CASES = [(kind, to) for kind, allowed in POLICIES.items() for to in allowed if kind != "duplicate"]


@pytest.mark.parametrize(("kind", "policy"), CASES)
def test_every_policy(town: Town, tmp_path: Path, kind: str, policy: str) -> None:
    answers = spoiled(town)
    chosen = {**GENTLE, kind: policy}
    given: dict[str, Any] = {**chosen, "duplicate": None, "name": "agent", "chunk": 20}
    runs = {form: write(tmp_path, answers) for form, write in WRITE.items()}
    if policy == "error":
        for run in runs.values():
            with pytest.raises(ws.FormatError, match=f'use {kind}="'):
                evaluated(run, town, **given)
        return
    rows = {row["episode"]: row for row in answers.to_pylist()}
    fault_of = {name: faults(town, row) for name, row in rows.items()}
    pairs, worst = [], []
    for name, one in town.references.episodes.items():
        policies = [chosen[wrong] for wrong in fault_of.get(name, {"missing"})]
        if "zero" in policies:
            worst.append(name)
        elif "skip" not in policies:
            pairs.append((one, ws.Query(name, rows[name]["path"])))
    wanted = scored(pairs, town.graphs)
    counts = {wrong: sum(wrong in some for some in fault_of.values()) for wrong in POLICIES} | {"missing": 5}
    for run in runs.values():
        found = evaluated(run, town, **given)
        table = {name: number for number, name in enumerate(found.episodes)}
        assert table.keys() == {*worst, *(one.episode for one, _ in pairs)}
        assert list(table) == [name for name in town.references.episodes if name in table]
        for metric in found.metrics:
            values = found[metric.symbol]
            assert np.array_equal(values[[table[one.episode] for one, _ in pairs]], wanted[metric.symbol]), metric
            assert (values[[table[name] for name in worst]] == metric.worst).all()
        assert found.problems.counts == {wrong: count for wrong, count in counts.items() if count}
        fields = found.signature.fields
        assert {wrong: fields[wrong] for wrong in chosen} == {w: f"{to}-{counts[w]}" for w, to in chosen.items()}


def test_zero_goes_before_skip(town: Town) -> None:
    found = evaluated(spoiled(town), town, **{**GENTLE, "start": "skip", "node": "zero", "duplicate": None})
    assert found.problems.counts["node"] == int((found["nDTW"] == 0).sum())


def test_graphs_too_large_for_tables(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {**GENTLE, "duplicate": None, "chunk": 20}
    wanted = {name: evaluated(spoiled(town), town, **given, convention=name) for name in ("paper", "touchdown-valan")}
    monkeypatch.setattr("wayscore.distances.graph.TABLE_NODES", 10)
    graphs = ws.load_graphs(town.folder / "connectivity")
    assert graphs["world1"].table is None
    for name, result in wanted.items():
        found = evaluated(spoiled(town), town, **given, convention=name, graphs=graphs)
        assert found.means() == pytest.approx(result.means(), rel=1e-12)
        assert found.problems == result.problems


# Duplicates


@pytest.mark.parametrize("policy", POLICIES["duplicate"])
@pytest.mark.parametrize("form", WRITE)
def test_duplicates(
    town: Town, whole: ws.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, policy: str
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 50)  # in many pieces, which cannot know of each other
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 4000)
    run = WRITE[form](tmp_path, town.walks)
    given: dict[str, Any] = {**ALL, "duplicate": policy, "chunk": 30}
    if policy == "error":
        with pytest.raises(ws.FormatError, match=r'113 episodes are answered more than once: .*; use duplicate="keep"'):
            evaluated(run, town, **given)
        return
    found = evaluated(run, town, **given)
    assert found.problems == whole.problems
    assert found.signature.fields["duplicate"] == f"{policy}-113"
    first: dict[str, Any] = {}
    for row in town.walks.to_pylist():
        first.setdefault(row["episode"], row["path"])
    if policy == "all":
        assert found.intervals() == whole.intervals()
    else:
        wanted = evaluated(first, town, duplicate=None)
        assert found.intervals() == wanted.intervals()
        assert found.to_arrow().equals(wanted.to_arrow())


def test_what_is_wrong_with_later_answers_does_not_matter(town: Town, tmp_path: Path) -> None:
    name, path = town.answers["episode"][0].as_py(), ["nowhere"]
    table = pa.concat_tables([town.answers, table_of([(name, path)], town.references)])
    run = write_parquet(tmp_path / "agent.parquet", table)
    found = evaluated(run, town, duplicate="keep")
    assert found.means() == evaluated(town.answers, town).means()
    assert found.problems.counts == {"duplicate": 1}
    with pytest.raises(ws.FormatError, match="does not begin where its reference does"):
        evaluated(run, town, duplicate="all")
