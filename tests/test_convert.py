"""Conversion to Parquet: the same rows come back, from every format and after every interruption."""

from __future__ import annotations

import csv
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from tests.test_formats import LINES, REFERENCES, RUNS, VLNCE_DENSE, write
from wayscore.cli.app import app
from wayscore.episodes import Query, References, Run
from wayscore.errors import FormatError
from wayscore.evaluation.parts import Parts
from wayscore.formats import base, cutting, load_references, load_run
from wayscore.formats.beginning import Beginning
from wayscore.formats.convert import Converted, check, convert
from wayscore.formats.files import Source

FIELDS = ("episode", "scene", "path_id", "instruction", "goals", "start_distance", "heading")


def assert_same_references(made: References, asked: References) -> None:
    assert list(made.episodes) == list(asked.episodes)
    assert (made.withheld, made.format) == (asked.withheld, asked.format)
    for one, other in zip(made.episodes.values(), asked.episodes.values(), strict=True):
        assert [getattr(one, name) for name in FIELDS] == [getattr(other, name) for name in FIELDS]
        assert_same_path(one.path, other.path)
        assert (one.dense is None) == (other.dense is None)
        if one.dense is not None:
            assert_same_path(one.dense, other.dense)


def assert_same_run(made: Run, done: Run) -> None:
    assert list(made.queries) == list(done.queries)
    assert (made.name, made.format, made.duplicates) == (done.name, done.format, done.duplicates)
    for one, other in zip(made.queries.values(), done.queries.values(), strict=True):
        assert (one.episode, one.stopped) == (other.episode, other.stopped)
        assert_same_path(one.path, other.path)


def assert_same_path(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, other, strict=True)
    else:
        assert [*map(type, one)] == [*map(type, other)]
        assert one == other


def run_of(file: Path, **settings: Any) -> tuple[Converted, Run]:
    """Convert a run and read the result, which has the name of the original."""
    target = file.with_name(load_run(file).name + ".parquet")
    if target == file:
        target = file.with_name("again") / file.name
        target.parent.mkdir(exist_ok=True)
    made = convert(file, target, **settings)
    return made, load_run(target)


def call(*words: object) -> Result:
    return CliRunner().invoke(app, ["convert", *map(str, words)])


class PlugPulledError(Exception):
    """Stops a conversion between two parts."""


def stop_after(file: Path, parts: int, **settings: Any) -> Path:
    """Begin to convert a run, and stop after some parts; return their folder."""
    target = file.with_name(load_run(file).name + ".parquet")
    target.unlink(missing_ok=True)
    told: list[int] = []

    def progress(share: float, rows: int) -> None:
        told.append(rows)
        if len(told) == parts:
            raise PlugPulledError

    with pytest.raises(PlugPulledError):
        convert(file, target, progress=progress, **settings)
    assert not target.exists()
    return Path(Parts(str(target)).folder)


def many(tmp_path: Path, count: int = 50, name: str = "walks.jsonl") -> Path:
    rows = [{"episode": f"e{n}", "path": [f"a{n % 7}", f"b{n}"]} for n in range(count)]
    return write(tmp_path, rows, name, lines=True)


@pytest.mark.parametrize("rows", [1, 2, 100])
@pytest.mark.parametrize("form", set(REFERENCES) - {"table"})
def test_references_of_every_format(tmp_path: Path, form: str, rows: int) -> None:
    file = write(tmp_path, REFERENCES[form], lines=form in LINES)
    if form == "vlnce":
        write(tmp_path, VLNCE_DENSE, "file_gt.json")
    made = convert(file, tmp_path / "made.parquet", rows=rows)
    assert made.kind == "references"
    assert_same_references(load_references(made.file), load_references(file))


@pytest.mark.parametrize("rows", [1, 100])
@pytest.mark.parametrize("form", RUNS)
def test_runs_of_every_format(tmp_path: Path, form: str, rows: int) -> None:
    file = write(tmp_path, RUNS[form])
    made, run = run_of(file, rows=rows)
    assert made.kind == "run"
    assert_same_run(run, load_run(file))


LABEL = st.text(max_size=3) | st.integers(-(10**20), 10**20)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
PATHS = st.one_of(
    st.lists(st.lists(LABEL, min_size=1, max_size=5), min_size=1, max_size=8),
    st.integers(1, 3).flatmap(
        lambda k: st.lists(
            st.lists(st.lists(NUMBER, min_size=k, max_size=k), min_size=1, max_size=4), min_size=1, max_size=6
        )
    ),
)


@given(paths=PATHS, names=st.lists(st.integers(0, 4), min_size=8, max_size=8), rows=st.integers(1, 5))
def test_any_table_of_walks(tmp_path_factory: pytest.TempPathFactory, paths: Any, names: list[int], rows: int) -> None:
    flags = (None, True, False)
    table = [{"episode": n, "path": path, "stopped": flags[n % 3]} for n, path in zip(names, paths, strict=False)]
    file = write(tmp_path_factory.mktemp("any"), table, lines=True)
    made, run = run_of(file, rows=rows)
    assert made.rows == len(table)  # second answers too
    assert_same_run(run, load_run(file))
    assert check(made.file).checksum == made.checksum


@given(paths=PATHS, scenes=st.lists(st.sampled_from(["s", "t", ""]), min_size=8, max_size=8), rows=st.integers(1, 5))
def test_any_table_of_references(
    tmp_path_factory: pytest.TempPathFactory, paths: Any, scenes: list[str], rows: int
) -> None:
    table = [
        {"episode": f"e{number}", "scene": scene, "path": path, "goals": [scene] * number, "heading": number / 3}
        for number, (path, scene) in enumerate(zip(paths, scenes, strict=False))
    ]
    file = write(tmp_path_factory.mktemp("any"), table, "file.json")
    made = convert(file, file.with_name("made.parquet"), rows=rows)
    assert_same_references(load_references(made.file), load_references(file))


def test_layouts_of_a_table_make_the_same_file(tmp_path: Path) -> None:
    rows = [{"episode": f"e{n}", "path": ["a", f"b{n % 3}", "c\nd"], "stopped": n % 2 == 0} for n in range(10)]
    lines = write(tmp_path, rows, "t.jsonl", lines=True)
    array = write(tmp_path, rows, "t.json")
    packed = write(tmp_path, rows, "t.jsonl.gz", lines=True)
    marked = tmp_path / "marked.jsonl"
    marked.write_bytes(b"\xef\xbb\xbf" + lines.read_bytes())
    table = tmp_path / "in.parquet"
    pq.write_table(pa.Table.from_pylist(rows), table)
    text = tmp_path / "t.csv"
    with text.open("w", newline="") as stream:
        written = csv.writer(stream)
        written.writerow(rows[0])
        written.writerows([row["episode"], json.dumps(row["path"]), row["stopped"]] for row in rows)
    sums = {
        convert(file, tmp_path / f"{file.name}.parquet", rows=count).checksum
        for file in (lines, array, packed, marked, table, text)
        for count in (3, 100)
    }
    assert len(sums) == 1
    again = convert(tmp_path / "t.json.parquet", tmp_path / "again.parquet", rows=4)
    assert {again.checksum} == sums


def test_large_records_end_a_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "CHUNK_BYTES", 200)
    rows = [{"episode": f"e{n}", "path": ["a" * 90, "b"]} for n in range(9)]
    seen: list[int] = []
    for name, lines in (("t.jsonl", True), ("t.json", False)):
        file = write(tmp_path, rows, name, lines=lines)
        made = convert(file, tmp_path / "made.parquet", progress=lambda _, count: seen.append(count))
        assert made.rows == 9
    assert seen == [2, 4, 6, 8, 9] * 2


def test_second_answers_are_kept(tmp_path: Path) -> None:
    records = [{"instr_id": name, "trajectory": [[f"{name}{n}", 0, 0]]} for n, name in enumerate("aababca")]
    made, run = run_of(write(tmp_path, records), rows=5)
    assert pq.read_table(made.file).column("episode").to_pylist() == list("aababca")
    assert run.duplicates == ("a", "b")
    assert_same_run(run, load_run(tmp_path / "file.json"))
    file = tmp_path / "walks.json"  # JSON that names a key twice
    file.write_text('{"1": [[0, 0, 0]], "2": [[1, 1, 1]], "1": [[2, 2, 2]]}')
    made, run = run_of(file)
    assert [path[0][0] for path in pq.read_table(made.file).column("path").to_pylist()] == [0, 1, 2]
    assert_same_run(run, load_run(file))


def test_blank_lines_are_no_rows(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    lines = [f'{{"episode": "e{n}", "path": ["a"]}}\n' + "\n" * (5 * n) for n in range(4)]
    file.write_text("".join(lines))
    stop_after(file, 2, rows=3)
    made, run = run_of(file, rows=3, resume=True)
    assert (made.rows, made.kept) == (4, 2)
    assert_same_run(run, load_run(file))


def test_members_of_tars_and_pipes(tmp_path: Path) -> None:
    import tarfile

    write(tmp_path, RUNS["r2r"], "a.json")
    write(tmp_path, RUNS["table"], "b.jsonl", lines=True)
    with tarfile.open(tmp_path / "runs.tar.gz", "w:gz") as archive:
        for name in ("a.json", "b.jsonl"):
            archive.add(tmp_path / name, name)
    for name in ("a.json", "b.jsonl"):
        made = convert(f"{tmp_path}/runs.tar.gz::{name}", tmp_path / "x.parquet")
        assert made.checksum == convert(tmp_path / name, tmp_path / "y.parquet").checksum
    os.mkfifo(tmp_path / "pipe")
    writer = subprocess.Popen(["sh", "-c", f"cat {tmp_path}/a.json > {tmp_path}/pipe"])
    assert convert(tmp_path / "pipe", tmp_path / "x.parquet").rows == 1
    writer.wait()


def test_addresses_of_other_systems(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    for name, content in (("t.jsonl", RUNS["table"]), ("r.json", RUNS["r2r"]), ("r.json.gz", RUNS["r2r"])):
        file = write(tmp_path, content, name, lines=name == "t.jsonl")
        with fsspec.open(f"memory://convert/{name}", "wb") as stream:
            stream.write(file.read_bytes())
        far = convert(f"memory://convert/{name}", "memory://convert/made.parquet")
        near = convert(file, tmp_path / "near.parquet")
        assert far.checksum == near.checksum == check("memory://convert/made.parquet").checksum
        assert far.written == near.written
    with fsspec.open("memory://convert/bad.jsonl", "wb") as stream:
        stream.write(b'{"episode": 1, "path": ["a"]}\n{"episode": 2, "path": 3}\n')
    with pytest.raises(FormatError, match=r"^memory://convert/bad.jsonl, line 2 \(episode '2'\), field 'path': must"):
        convert("memory://convert/bad.jsonl", tmp_path / "bad.parquet", rows=1)


class Letters:
    """Somebody's own format: a line of letters an episode, the first its name."""

    name = title = "letters"

    def sniff(self, beginning: Beginning) -> Any:
        return () if beginning.json else ("run",)

    def run(self, source: Source) -> Run:
        lines = source.content.decode().split()
        return base.make_run(source, self, [Query(line[0], list(line[1:])) for line in lines])  # type: ignore[arg-type]


def test_plug_ins_read_whole_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_installed", lambda: {"letters": Letters()})
    file = tmp_path / "walks.txt"
    file.write_text("xab\nyb\nzcc\n")
    made, run = run_of(file, rows=2)
    assert made.rows == 3
    assert_same_run(run, load_run(file))
    file.write_text("xab\nyb\nxcc\n")
    with pytest.raises(FormatError, match="answers episode 'x' twice; keep one"):
        run_of(file)
