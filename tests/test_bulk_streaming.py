"""Streamed scores are the same digits however a run is cut, written or read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import wayscore as ws
from tests.bulk_data import (
    Town,
    by_number,
    carried,
    in_codes,
    in_dictionaries,
    streamed,
    write_files,
    write_lines,
    write_parquet,
)
from wayscore.episodes import Reference, References
from wayscore.formats import plan as pieces
from wayscore.report import Summary


def assert_same(found: tuple[Summary, pa.Table], wanted: tuple[Summary, pa.Table], *, signed: bool = True) -> None:
    assert found[0].metrics == wanted[0].metrics
    assert found[1].equals(wanted[1])
    assert (found[0].episodes, found[0].undefined) == (wanted[0].episodes, wanted[0].undefined)
    assert not signed or found[0].signature == wanted[0].signature


# However it is cut

ENDINGS = [b"\n", b"", b"\r\n", b"\n  ", b" \r \n"]


@pytest.mark.parametrize(
    "options",
    [{"workers": 2}, {"rows": 7}, {"rows": 77}, {"rows": 10_000}, {"workers": 2, "rows": 100}],
    ids=lambda options: ",".join(f"{name}={value}" for name, value in options.items()),
)
def test_any_number_of_workers_and_rows(
    town: Town, whole: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, int]
) -> None:
    monkeypatch.setattr(pieces, "ROWS", 250)
    run = write_parquet(tmp_path / "walks.parquet", town.walks)
    assert len(pieces.plan(str(run))) == 15
    assert_same(streamed(run, town.references, town.graphs, tmp_path / "scores.parquet", **options), whole)


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(group=st.integers(20, 400), piece=st.integers(1, 500), rows=st.integers(20, 500), kept=st.integers(150, 400))
def test_any_cut(
    town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: int, piece: int, rows: int, kept: int
) -> None:
    walks = town.walks.slice(11, kept)
    once = streamed(
        write_parquet(tmp_path / "w.parquet", walks, rows=kept), town.references, town.graphs, tmp_path / "a.parquet"
    )
    run = write_parquet(tmp_path / "w.parquet", walks, rows=group)
    with monkeypatch.context() as patched:
        patched.setattr(pieces, "ROWS", piece)
        assert_same(streamed(run, town.references, town.graphs, tmp_path / "b.parquet", rows=rows), once)


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    block=st.integers(2000, 40_000),
    chunk=st.integers(200, 5000),
    rows=st.integers(10, 300),
    ending=st.sampled_from(ENDINGS),
)
def test_lines_cut_anywhere(
    town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, chunk: int, rows: int, ending: bytes
) -> None:
    walks = town.walks.slice(0, 300)
    run = write_lines(tmp_path / "w.jsonl", walks)
    once = streamed(run, town.references, town.graphs, tmp_path / "a.parquet")
    assert once[1]["episode"].to_pylist() == walks["episode"].to_pylist()
    run.write_bytes(run.read_bytes()[:-1] + ending)
    with monkeypatch.context() as patched:
        patched.setattr(pieces, "BLOCK", block)
        patched.setattr(pieces, "_CHUNK", chunk)
        assert_same(streamed(run, town.references, town.graphs, tmp_path / "b.parquet", rows=rows), once)


# However it is written


def _folder(folder: Path, town: Town) -> Any:
    return write_files(folder / "many", town.walks, 5)


def _pattern(folder: Path, town: Town) -> Any:
    write_parquet(folder / "many" / "other.parquet", town.walks.slice(0, 5))
    for number in range(3):
        write_parquet(folder / "many" / f"rows-{number}.parquet", town.walks.slice(number * 1000, 1000))
    return str(folder / "many" / "rows-*.parquet")


def _mixed(folder: Path, town: Town) -> Any:
    write_parquet(folder / "many" / "a.parquet", in_codes(town.walks.slice(0, 700)))
    write_lines(folder / "many" / "b.jsonl", town.walks.slice(700, 800))
    write_parquet(folder / "many" / "deep" / "c.parquet", in_dictionaries(town.walks.slice(1500, 500)))
    write_lines(folder / "many" / "e.ndjson.gz", town.walks.slice(2000))
    (folder / "many" / "_note.jsonl").write_text("left by another program")
    return f"{folder / 'many'}/"


FORMS: dict[str, Callable[[Path, Town], Any]] = {
    "folder": _folder,
    "pattern": _pattern,
    "mixed": _mixed,
    "lines": lambda folder, town: write_lines(folder / "walks.jsonl", town.walks),
    "gzipped": lambda folder, town: write_lines(folder / "walks.jsonl.gz", town.walks),
    "dictionaries": lambda folder, town: write_parquet(folder / "walks.parquet", in_dictionaries(town.walks)),
    "codes": lambda folder, town: write_parquet(folder / "walks.parquet", in_codes(town.walks)),
    "codes by the graphs": lambda folder, town: town.folder / "walks.parquet",
    "no scenes": lambda folder, town: write_parquet(folder / "walks.parquet", town.walks.select(["episode", "path"])),
    "no ending": lambda folder, town: write_parquet(folder / "walks", town.walks),
    "large": lambda folder, town: write_parquet(
        folder / "walks.parquet",
        town.walks.cast(
            pa.schema(
                [
                    ("episode", pa.large_string()),
                    ("scene", pa.large_string()),
                    ("path", pa.large_list(pa.large_string())),
                    ("stopped", pa.bool_()),
                ]
            )
        ),
    ),
    "called query": lambda folder, town: write_parquet(
        folder / "walks.parquet", town.walks.rename_columns(["episode", "scene", "query", "stopped"])
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_any_form(town: Town, whole: Any, tmp_path: Path, form: str) -> None:
    run = FORMS[form](tmp_path, town)
    assert_same(streamed(run, town.references, town.graphs, tmp_path / "scores.parquet", rows=300), whole)


@pytest.mark.parametrize("write", [write_parquet, write_lines])
def test_integers_for_labels(town: Town, whole: Any, tmp_path: Path, write: Any) -> None:
    walks, references, graphs = by_number(town)
    run = write(tmp_path / ("walks.parquet" if write is write_parquet else "walks.jsonl"), walks)
    assert_same(streamed(run, references, graphs, tmp_path / "scores.parquet"), whole, signed=False)


@pytest.mark.parametrize(
    "kind",
    [pa.int64(), pa.int32(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())],
    ids=str,
)
def test_episodes_of_any_type(tmp_path: Path, kind: Any) -> None:
    asked = {str(number): Reference(str(number), "S", ["a", "b"], str(number)) for number in range(4)}
    names = pa.array([3, 1, 0, 2]) if pa.types.is_integer(kind) else pa.array(["3", "1", "0", "2"])
    walks = pa.table({"episode": names.cast(kind), "path": [["a"], ["a", "b"], ["a"], ["a", "b", "c", "d"]]})
    run = write_parquet(tmp_path / "walks.parquet", walks, rows=2)
    graphs = {"S": ws.Graph.from_edges(["ab", "bc", "cd"])}
    _, scores = streamed(run, References("asked", "table", asked), graphs, tmp_path / "scores.parquet", metrics="NE")
    assert scores.to_pydict() == {"episode": ["3", "1", "0", "2"], "scene": ["S"] * 4, "NE": [1.0, 0.0, 1.0, 2.0]}


@pytest.mark.parametrize("write", [write_parquet, write_lines])
def test_rows_that_carry_their_references(town: Town, whole: Any, tmp_path: Path, write: Any) -> None:
    run = write(tmp_path / ("walks.parquet" if write is write_parquet else "walks.jsonl"), carried(town))
    summary, scores = streamed(run, None, town.graphs, tmp_path / "scores.parquet", rows=300)
    assert_same((summary, scores), whole, signed=False)
    assert summary.signature.fields == {
        **{name: value for name, value in whole[0].signature.fields.items() if name != "duplicate"},
        "references": "rows",
    }
    both = streamed(run, town.references, town.graphs, tmp_path / "both.parquet", rows=300)
    assert_same(both, whole)  # what the references say goes before what the rows do


def test_a_folder_of_scores(town: Town, whole: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "ROWS", 1000)
    run = write_parquet(tmp_path / "walks.parquet", town.walks)
    for _ in range(2):  # what was there is replaced
        assert_same(streamed(run, town.references, town.graphs, tmp_path / "scores"), whole)
        assert sorted(path.name for path in (tmp_path / "scores").iterdir()) == [
            f"part-{n:06d}.parquet" for n in range(3)
        ]
