"""One path for every input: however a run is written, cut and worked on, the same bytes come out."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import wayscore as ws
from tests.town import (
    Town,
    by_number,
    carried,
    changed,
    evaluated,
    in_dictionaries,
    in_type,
    read_scores,
    write_array,
    write_files,
    write_lines,
    write_parquet,
)
from wayscore.formats import chunks
from wayscore.metrics.base import Measurements

Form = Callable[[Path, pa.Table], Any]


def saved(result: ws.Result, folder: Path) -> bytes:
    """The bytes of a saved result, whatever the run was called."""
    result.renamed("agent").save(folder / "saved.parquet")
    return (folder / "saved.parquet").read_bytes()


def assert_same(found: ws.Result, wanted: ws.Result, folder: Path) -> None:
    assert found.intervals() == wanted.intervals()
    assert str(found.signature) == str(wanted.signature)
    assert (found.problems, found.undefined) == (wanted.problems, wanted.undefined)
    assert found.warnings == wanted.warnings
    assert found.to_arrow().equals(wanted.to_arrow())
    same = saved(found, folder) == saved(wanted, folder)
    assert same, "the bytes of the saved results differ"


# However it is written


def _pattern(folder: Path, walks: pa.Table) -> str:
    write_files(folder / "many", walks, 3)
    write_parquet(folder / "many" / "other.parquet", walks.slice(0, 5))
    return str(folder / "many" / "rows-*.parquet")


def _mixed(folder: Path, walks: pa.Table) -> str:
    write_parquet(folder / "many" / "a.parquet", walks.slice(0, 100))
    write_lines(folder / "many" / "b.jsonl", walks.slice(100, 150))
    write_array(folder / "many" / "c.json", walks.slice(250, 50))
    write_parquet(folder / "many" / "deep" / "d.parquet", in_dictionaries(walks.slice(300, 100)))
    write_lines(folder / "many" / "e.ndjson.gz", walks.slice(400))
    (folder / "many" / "_note.jsonl").write_text("left by another program")
    return f"{folder / 'many'}/"


def _csv(folder: Path, walks: pa.Table) -> Path:
    with (folder / "walks.csv").open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["episode", "path"])
        rows.writerows([row["episode"], json.dumps(row["path"])] for row in walks.to_pylist())
    return folder / "walks.csv"


def _run(_: Path, walks: pa.Table) -> ws.Run:
    return ws.Run("agent", "table", [ws.Query(row["episode"], row["path"]) for row in walks.to_pylist()])


def _parquet(change: Callable[[pa.Table], pa.Table], name: str = "walks.parquet") -> Form:
    return lambda folder, walks: write_parquet(folder / name, change(walks))


FORMS: dict[str, Form] = {
    "array": lambda folder, walks: write_array(folder / "walks.json", walks),
    "lines": lambda folder, walks: write_lines(folder / "walks.jsonl", walks),
    "gzipped lines": lambda folder, walks: write_lines(folder / "walks.jsonl.gz", walks),
    "CSV": _csv,
    "Parquet": _parquet(lambda walks: walks),
    "dictionaries": _parquet(in_dictionaries),
    "large types": _parquet(lambda walks: in_type(walks, pa.large_string())),
    "views": _parquet(lambda walks: in_type(walks, pa.string_view())),
    "no scenes": _parquet(lambda walks: walks.select(["episode", "path"])),
    "column query": _parquet(lambda walks: walks.rename_columns(["episode", "scene", "query", "stopped"])),
    "no ending": _parquet(lambda walks: walks, "walks"),
    "folder": lambda folder, walks: write_files(folder / "many", walks, 5),
    "pattern": _pattern,
    "mixed folder": _mixed,
    "several files": lambda folder, walks: sorted(write_files(folder / "many", walks, 2).iterdir()),
    "Run": _run,
    "Arrow table": lambda _, walks: walks,
    "Arrow chunks": lambda _, walks: pa.concat_tables([walks.slice(0, 99), walks.slice(99, 1), walks.slice(100)]),
    "Arrow slices": lambda _, walks: pa.concat_tables([walks.slice(5), walks]).slice(len(walks) - 5),
    "Arrow batch": lambda _, walks: walks.combine_chunks().to_batches()[0],
    "Arrow reader": lambda _, walks: pa.RecordBatchReader.from_batches(walks.schema, walks.to_batches(99)),
    "Arrow dictionaries": lambda _, walks: in_dictionaries(walks),
    "pandas": lambda _, walks: walks.to_pandas(),
    "polars": lambda _, walks: pytest.importorskip("polars").from_arrow(walks),
    "DuckDB": lambda _, walks: pytest.importorskip("duckdb").from_arrow(walks),
}


@pytest.mark.parametrize("form", FORMS)
def test_any_form(town: Town, whole: ws.Result, tmp_path: Path, form: str) -> None:
    if form == "pandas":
        pytest.importorskip("pandas")
    assert_same(evaluated(FORMS[form](tmp_path, town.walks), town, chunk=70), whole, tmp_path)


def test_paths_by_episode(town: Town, tmp_path: Path) -> None:
    by_name = {row["episode"]: row["path"] for row in town.answers.to_pylist()}
    assert_same(evaluated(by_name, town), evaluated(town.answers, town), tmp_path)
    assert evaluated(by_name, town).name == "run"


@pytest.mark.parametrize("write", [write_parquet, write_lines])
def test_integers_for_labels(town: Town, whole: ws.Result, tmp_path: Path, write: Any) -> None:
    walks, references, graphs = by_number(town)
    run = write(tmp_path / ("walks.parquet" if write is write_parquet else "walks.jsonl"), walks)
    found = evaluated(run, town, references=references, graphs=graphs)
    assert found.intervals() == whole.intervals()
    assert found.to_arrow().equals(whole.to_arrow())


@pytest.mark.parametrize("kind", [pa.int64(), pa.int32(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_episodes_of_any_type(tmp_path: Path, kind: Any) -> None:
    asked = {str(number): ws.Reference(str(number), "S", ["a", "b"], str(number)) for number in range(4)}
    names = pa.array([3, 1, 0, 2]) if pa.types.is_integer(kind) else pa.array(["3", "1", "0", "2"])
    walks = pa.table({"episode": names.cast(kind), "path": [["a"], ["a", "b"], ["a"], ["a", "b", "c", "d"]]})
    run = write_parquet(tmp_path / "walks.parquet", walks, rows=2)
    graphs = {"S": ws.Graph.from_edges(["ab", "bc", "cd"])}
    result = ws.evaluate(run, ws.References("asked", "table", asked), graphs, metrics="NE", resamples=9)
    assert dict(zip(result.episodes, result["NE"].tolist(), strict=True)) == {"0": 1.0, "1": 0.0, "2": 2.0, "3": 1.0}


@pytest.mark.parametrize("form", ["array", "lines", "Parquet", "Arrow table"])
def test_rows_that_carry_their_references(town: Town, whole: ws.Result, tmp_path: Path, form: str) -> None:
    rows = carried(town)
    run = FORMS[form](tmp_path, rows)
    found = evaluated(run, town, references=None, missing=None, duplicate=None, chunk=70)
    for symbol in whole.symbols:
        assert np.array_equal(found[symbol], whole[symbol]), symbol
    assert found.episodes == whole.episodes == town.walks["episode"].to_pylist()
    assert found.means() == whole.means()
    assert found.signature.fields["references"] == "rows"
    both = evaluated(run, town, chunk=70)  # what the references say goes before what the rows do
    assert_same(both, whole, tmp_path)
    if form != "array":
        bare = evaluated(rows.select(["path", "reference", "scene"]), town, references=None)
        assert bare.means() == whole.means()
        assert list(bare.episodes[:2]) == ["0", "1"]


# However it is cut


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(group=st.integers(20, 400), piece=st.integers(20, 300), chunk=st.integers(9, 300), form=st.booleans())
def test_any_cut_of_parquet(
    town: Town, whole: ws.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: int, piece: int, **cut: int
) -> None:
    run = write_parquet(tmp_path / "w.parquet", in_dictionaries(town.walks) if cut["form"] else town.walks, rows=group)
    with monkeypatch.context() as patched:
        patched.setattr(chunks, "CHUNK_ROWS", piece)
        assert_same(evaluated(run, town, chunk=cut["chunk"]), whole, tmp_path)


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    block=st.integers(3000, 20_000),
    piece=st.integers(1, 300),
    ending=st.sampled_from([b"\n", b"", b"\r\n", b"\n  ", b" \r \n", b"\n\n\n"]),
    packed=st.booleans(),
)
def test_any_cut_of_lines(
    town: Town,
    whole: ws.Result,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    block: int,
    piece: int,
    ending: bytes,
    packed: bool,
) -> None:
    run = write_lines(tmp_path / ("w.jsonl.gz" if packed else "w.jsonl"), town.walks)
    if not packed:
        run.write_bytes(run.read_bytes()[:-1] + ending)
    with monkeypatch.context() as patched:
        patched.setattr(chunks, "CHUNK_ROWS", piece)
        patched.setattr(chunks, "CHUNK_BYTES", block)
        assert (len(chunks.plan_run(run).chunks) > 1) == (
            not packed and piece < len(town.walks) and block < run.stat().st_size
        )
        assert_same(evaluated(run, town), whole, tmp_path)


def test_a_run_in_any_order(town: Town, tmp_path: Path) -> None:
    # What is resampled is numbered by the references, not by the rows.
    shuffled = town.answers.take(np.random.default_rng(0).permutation(len(town.answers)))
    for cluster in ("none", "path", "scan"):
        found = [evaluated(rows, town, cluster=cluster, duplicate=None) for rows in (town.answers, shuffled)]
        assert_same(*found, tmp_path)


# Whoever works on it


def test_two_workers(town: Town, whole: ws.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 60)
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 3000)
    run = _mixed(tmp_path, town.walks)
    assert {piece.kind for piece in chunks.plan_run(run).chunks} == {"whole", "parquet", "lines"}
    assert_same(evaluated(run, town, workers=2), whole, tmp_path)


def own_process(measured: Measurements) -> np.ndarray:
    return np.full(len(measured.query_count), float(os.getpid()))


def visits(episode: ws.Episode) -> float:
    return float(len(episode.query))


OWN_PROCESS = ws.Metric(
    symbol="process", name="Process", direction=None, bounds=(0, 1e9), unit="", formula="its id", compute=own_process
)
VISITS = ws.Metric(
    symbol="visits", name="Visits", direction=None, bounds=(0, 1e9), unit="", formula="|Q|", measure=visits
)


@pytest.mark.soak
def test_threads_score_parquet_and_processes_what_is_python(
    town: Town, whole: ws.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 60)
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 3000)
    parquet = write_parquet(tmp_path / "walks.parquet", town.walks)
    lines = write_lines(tmp_path / "walks.jsonl", town.walks)
    assert len(chunks.plan_run(parquet).chunks) > 3
    assert_same(evaluated(parquet, town, workers=3), whole, tmp_path)
    for run, more, here in ((parquet, [], True), (lines, [], False), (parquet, [VISITS], False)):
        found = evaluated(run, town, metrics=[OWN_PROCESS, *more], workers=2)["process"]
        assert {os.getpid()} == {*found.tolist()} if here else os.getpid() not in found


def test_an_error_in_a_thread(town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 60)
    run = write_parquet(tmp_path / "walks.parquet", changed(town.walks, 333, path=[]))
    said = []
    for workers in (1, 3):
        with pytest.raises(ws.FormatError, match="row 333") as raised:
            evaluated(run, town, workers=workers)
        said.append(str(raised.value))
    assert said[0] == said[1]


@pytest.mark.soak
def test_dask(town: Town, whole: ws.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="install wayscore[cluster] to run the tests of clusters")
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 100)
    run = _mixed(tmp_path, town.walks)
    assert_same(evaluated(run, town, workers=2, engine="dask"), whole, tmp_path)


# Scores as files


def test_files_of_scores(town: Town, whole: ws.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 100)
    run = write_parquet(tmp_path / "walks.parquet", town.walks)
    for target in ("scores.parquet", "scores.csv", "scores.jsonl", "scores.jsonl"):  # what was there is replaced
        found = evaluated(run, town, episodes=tmp_path / target, chunk=70)
        assert_same(found, whole, tmp_path)
    assert read_scores(tmp_path / "scores.parquet").equals(whole.to_arrow())  # in the run's order
    assert_same(ws.load_result(tmp_path / "scores.parquet"), whole, tmp_path)
    lines = (tmp_path / "scores.jsonl").read_text().splitlines()
    assert [json.loads(line)["episode"] for line in lines] == town.walks["episode"].to_pylist()
    assert len((tmp_path / "scores.csv").read_text().splitlines()) == 601


# Files elsewhere, and places that cannot be written


@pytest.mark.parametrize("name", ["scores.parquet", "scores.csv", "scores.jsonl"])
def test_places_that_cannot_be_written(town: Town, tmp_path: Path, whole: ws.Result, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ws.OutputError, match=rf"file/{name}: cannot be written: not a directory"):
        whole.write_episodes(tmp_path / "file" / name)
    with pytest.raises(ws.OutputError, match=rf"file/{name}.*: cannot be written: not a directory"):
        evaluated(write_parquet(tmp_path / "w.parquet", town.walks), town, episodes=tmp_path / "file" / name)


def test_memory(town: Town, whole: ws.Result, tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    home = f"/{tmp_path.name}"
    write_parquet(tmp_path / "a.parquet", town.walks.slice(0, 200))
    write_lines(tmp_path / "b.jsonl.gz", town.walks.slice(200))
    for name in ("a.parquet", "b.jsonl.gz"):
        system.pipe(f"{home}/run/{name}", (tmp_path / name).read_bytes())
    for run in (f"memory:/{home}/run", f"memory:/{home}/run/*", f"file://{tmp_path}/*.*"):
        found = evaluated(run, town, chunk=70)
        assert found.intervals() == whole.intervals()
        assert str(found.signature) == str(whole.signature)
        assert len(found["nDTW"]) == 600
    for address, message in (
        (f"memory:/{home}/run/c.parquet", r"memory://.*/c\.parquet: no such file"),
        (f"memory:/{home}/run/*.jsonl", r"memory://.*/\*\.jsonl: matches no file"),
        ("memory://nowhere/run", r"memory://nowhere/run: no such file"),
        ("nothing://run.parquet", r"nothing://run\.parquet: .*nothing"),
    ):
        with pytest.raises(ws.FormatError, match=message) as raised:
            evaluated(address, town)
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["scores.parquet", "scores.csv"])
def test_nothing_is_written_elsewhere(town: Town, whole: ws.Result, tmp_path: Path, name: str) -> None:
    run = write_parquet(tmp_path / "w.parquet", town.walks)
    target = f"memory://out/{name}"
    for write in (lambda: evaluated(run, town, episodes=target), lambda: whole.write_episodes(target)):
        with pytest.raises(
            ws.OutputError, match=rf"^{target}.*: files are written on this machine only; write it here"
        ):
            write()
