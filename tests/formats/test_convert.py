"""Conversion to Parquet: the same rows come back from every format; damage is found by checksums of pages."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from tests.formats.test_readers import COUNTS, LINES, REFERENCES, RUNS, VLNCE_DENSE, write
from tests.house import command
from wayscore.errors import FormatError, OptionError, OutputError
from wayscore.formats import chunks, convert as module, load_references, load_run
from wayscore.formats.benchmarks import distances_for
from wayscore.formats.convert import Converted, convert
from wayscore.formats.episodes import References, Run

FIELDS = ("episode", "scene", "path_id", "instruction", "goals", "start_distance", "heading")


def assert_same_references(made: References, asked: References) -> None:
    assert list(made.episodes) == list(asked.episodes)
    assert (made.withheld, made.format, made.fingerprint) == (asked.withheld, asked.format, asked.fingerprint)
    for one, other in zip(made.episodes.values(), asked.episodes.values(), strict=True):
        assert [getattr(one, name) for name in FIELDS] == [getattr(other, name) for name in FIELDS]
        assert_same_path(one.path, other.path)
        assert (one.dense is None) == (other.dense is None)
        if one.dense is not None:
            assert_same_path(one.dense, other.dense)


def assert_same_run(made: Run, done: Run) -> None:
    assert (made.name, made.format, made.duplicates) == (done.name, done.format, done.duplicates)
    assert [query.episode for query in made.answers] == [query.episode for query in done.answers]
    for one, other in zip(made.answers, done.answers, strict=True):
        assert one.stopped == other.stopped
        assert_same_path(one.path, other.path)


def assert_same_path(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, other, strict=True)
    else:
        assert [*map(type, one)] == [*map(type, other)]
        assert one == other


def run_of(file: Path, **options: Any) -> tuple[Converted, Run]:
    """Convert a run and read the result, which has the name of the original."""
    target = file.with_name(load_run(file).name + ".parquet")
    if target == file:
        target = file.with_name("again") / file.name
        target.parent.mkdir(exist_ok=True)
    made = convert(file, target, **options)
    return made, load_run(target)


def rows_of(file: str | Path) -> list[dict[str, Any]]:
    return pq.read_table(file).to_pylist()


def many(tmp_path: Path, count: int = 50, name: str = "walks.jsonl") -> Path:
    rows = [{"episode": f"e{n}", "path": [f"a{n % 7}", f"b{n}"]} for n in range(count)]
    return write(tmp_path, rows, name, lines=True)


# The same rows


@pytest.mark.parametrize("rows", [1, 100])
@pytest.mark.parametrize("form", sorted(set(REFERENCES) - {"table"}))
def test_references_of_every_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, rows: int) -> None:
    monkeypatch.setattr(module, "ROWS", rows)
    file = write(tmp_path, REFERENCES[form], lines=form in LINES)
    if form == "vlnce":
        write(tmp_path, VLNCE_DENSE, "file_gt.json")
    made = convert(file, tmp_path / "made.parquet")
    assert made.kind == "references"
    assert_same_references(load_references(made.file), load_references(file))


@pytest.mark.parametrize("form", RUNS)
def test_runs_of_every_format(tmp_path: Path, form: str) -> None:
    file = write(tmp_path, RUNS[form])
    made, run = run_of(file)
    assert made.kind == "run"
    assert_same_run(run, load_run(file))


NUMBER = st.floats(allow_nan=False, allow_infinity=False)
PATHS = st.one_of(
    *(
        st.lists(st.lists(label, min_size=1, max_size=5), min_size=1, max_size=8)
        for label in (st.text(max_size=3), st.integers(-(2**63), 2**63 - 1))
    ),
    st.integers(1, 3).flatmap(
        lambda k: st.lists(
            st.lists(st.lists(NUMBER, min_size=k, max_size=k), min_size=1, max_size=4), min_size=1, max_size=6
        )
    ),
)


@settings(max_examples=40)
@given(paths=PATHS, names=st.lists(st.integers(0, 4), min_size=8, max_size=8))
def test_any_table_of_walks(tmp_path_factory: pytest.TempPathFactory, paths: Any, names: list[int]) -> None:
    flags = (None, True, False)
    table = [{"episode": n, "path": path, "stopped": flags[n % 3]} for n, path in zip(names, paths, strict=False)]
    file = write(tmp_path_factory.mktemp("any"), table, lines=True)
    made, run = run_of(file)
    assert made.rows == len(table)  # second answers too
    assert_same_run(run, load_run(file))


@settings(max_examples=40)
@given(paths=PATHS, scenes=st.lists(st.sampled_from(["s", "t", ""]), min_size=8, max_size=8))
def test_any_table_of_references(tmp_path_factory: pytest.TempPathFactory, paths: Any, scenes: list[str]) -> None:
    table = [
        {"episode": f"e{number}", "scene": scene, "path": path, "goals": [scene] * number, "heading": number / 3}
        for number, (path, scene) in enumerate(zip(paths, scenes, strict=False))
    ]
    file = write(tmp_path_factory.mktemp("any"), table, "file.json")
    made = convert(file, file.with_name("made.parquet"))
    assert_same_references(load_references(made.file), load_references(file))


def test_layouts_of_a_table_make_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"episode": f"e{n}", "path": ["a", f"b{n % 3}", "c\nd"], "stopped": n % 2 == 0} for n in range(10)]
    lines = write(tmp_path, rows, "t.jsonl", lines=True)
    array, packed = write(tmp_path, rows, "t.json"), write(tmp_path, rows, "t.jsonl.gz", lines=True)
    marked = tmp_path / "marked.jsonl"
    marked.write_bytes(b"\xef\xbb\xbf" + lines.read_bytes())
    table = tmp_path / "in.parquet"
    pq.write_table(pa.Table.from_pylist(rows), table)
    text = tmp_path / "t.csv"
    with text.open("w", newline="") as stream:
        written = csv.writer(stream)
        written.writerow(rows[0])
        written.writerows([row["episode"], json.dumps(row["path"]), row["stopped"]] for row in rows)
    for block in (None, 200):  # however it is cut
        if block is not None:
            monkeypatch.setattr(chunks, "CHUNK_BYTES", block)
        for file in (lines, array, packed, marked, table, text):
            made = convert(file, tmp_path / f"{file.name}.parquet")
            assert rows_of(made.file) == rows_of(tmp_path / "t.jsonl.parquet")
    assert rows_of(tmp_path / "t.json.parquet") == [{**row, "recorded": None} for row in rows]
    again = convert(tmp_path / "t.json.parquet", tmp_path / "again.parquet")
    assert rows_of(again.file) == rows_of(tmp_path / "t.json.parquet")


def test_members_of_tars_pipes_and_folders(tmp_path: Path) -> None:
    write(tmp_path, RUNS["r2r"], "a.json")
    write(tmp_path, RUNS["table"], "b.jsonl", lines=True)
    with tarfile.open(tmp_path / "runs.tar.gz", "w:gz") as archive:
        for name in ("a.json", "b.jsonl"):
            archive.add(tmp_path / name, name)
    for name in ("a.json", "b.jsonl"):
        made = convert(f"{tmp_path}/runs.tar.gz::{name}", tmp_path / "x.parquet")
        assert rows_of(made.file) == rows_of(convert(tmp_path / name, tmp_path / "y.parquet").file)
    os.mkfifo(tmp_path / "pipe")
    writer = subprocess.Popen(["sh", "-c", f"cat {tmp_path}/a.json > {tmp_path}/pipe"])
    assert convert(tmp_path / "pipe", tmp_path / "x.parquet", kind="run").rows == 1
    writer.wait()
    whole = convert(many(tmp_path), tmp_path / "whole.parquet")
    (tmp_path / "parts").mkdir()
    lines = many(tmp_path).read_text().splitlines(keepends=True)
    for number in range(2):
        (tmp_path / "parts" / f"{number}.jsonl").write_text("".join(lines[number * 25 : number * 25 + 25]))
    assert rows_of(convert(tmp_path / "parts", tmp_path / "x.parquet").file) == rows_of(whole.file)


def test_addresses_of_other_systems(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    for name, content in (("t.jsonl", RUNS["table"]), ("r.json", RUNS["r2r"]), ("r.json.gz", RUNS["r2r"])):
        file = write(tmp_path, content, name, lines=name == "t.jsonl")
        with fsspec.open(f"memory://convert/{name}", "wb") as stream:
            stream.write(file.read_bytes())
        far = convert(f"memory://convert/{name}", tmp_path / "far.parquet")
        near = convert(file, tmp_path / "near.parquet")
        assert rows_of(far.file) == rows_of(near.file)
        assert (far.read, far.written) == (near.read, near.written)
    with pytest.raises(OutputError, match=r"^memory://convert/made\.parquet: files are written on this machine only"):
        convert(file, "memory://convert/made.parquet")


# What a file keeps besides rows


def test_rows_get_the_scene_of_their_reference(tmp_path: Path) -> None:
    asked = write(tmp_path, REFERENCES["r2r"], "asked.json")
    walks = [{"instr_id": "8_0", "trajectory": [["c", 0, 0]]}, {"instr_id": "7_1", "trajectory": [["c", 0, 0], ["a"]]}]
    file = write(tmp_path, walks, "walks.json")
    packed = convert(asked, tmp_path / "asked.parquet")
    for references in (asked, packed.file, load_references(asked)):
        made, run = run_of(file, references=references)
        assert pq.read_table(made.file).column("scene").to_pylist() == ["t", "s"]
        assert pq.read_table(made.file).column("path").to_pylist() == [["c"], ["c", "a"]]
        assert_same_run(run, load_run(file))
    again, run = run_of(Path(made.file))  # a run still, since rows say whether the agent stopped
    assert again.kind == "run"
    assert_same_run(run, load_run(file))


def test_columns_as_parquet_writes_them(tmp_path: Path) -> None:
    made = convert(many(tmp_path, 1000), tmp_path / "labels.parquet")
    file = pq.ParquetFile(made.file)
    assert file.schema_arrow.field("path").type == pa.list_(pa.field("element", pa.string()))
    column = file.metadata.row_group(0).column(1)
    assert column.path_in_schema == "path.list.element"
    assert "RLE_DICTIONARY" in column.encodings
    rows = [{"episode": 1, "path": [[0, 1, 2]]}, {"episode": 2, "path": [[3, 4, 5], [6, 7, 8]]}]
    made = convert(write(tmp_path, rows, lines=True), tmp_path / "points.parquet")
    assert pq.read_schema(made.file).field("path").type.value_type.list_size == 3


def test_references_that_do_not_fit(tmp_path: Path) -> None:
    asked = write(tmp_path, REFERENCES["r2r"], "asked.json")
    file = write(tmp_path, [{"instr_id": "7_2", "trajectory": [["a", 0, 0]]}])
    with pytest.raises(FormatError, match=r"episode '7_2' is none of the 3 of the references; did you mean '7_1'\?"):
        convert(file, tmp_path / "made.parquet", references=asked)
    with pytest.raises(FormatError, match="looks like R2R references, not a run"):
        convert(asked, tmp_path / "made.parquet", references=asked)
    with pytest.raises(OptionError, match="references need no references"):
        convert(asked, tmp_path / "made.parquet", references=asked, kind="references")


def test_what_a_format_means_is_kept(tmp_path: Path) -> None:
    streets = convert(write(tmp_path, REFERENCES["street"], lines=True), tmp_path / "streets.parquet")
    (tmp_path / "nodes.txt").write_text("p,0,1,1\nq,0,1,2\nr,0,1,3\n")
    (tmp_path / "links.txt").write_text("p,0,q\nq,0,r\n")
    assert list(distances_for(load_references(streets.file), tmp_path)) == ["manhattan"]
    ndh = write(tmp_path, REFERENCES["ndh"], "ndh.json")
    made = convert(ndh, tmp_path / "ndh.parquet", path_type="player")
    assert load_references(made.file).name == "ndh.parquet(path_type=player)"
    assert_same_references(load_references(made.file), load_references(ndh, path_type="player"))
    again = convert(made.file, tmp_path / "again.parquet")
    assert load_references(again.file).name == "again.parquet(path_type=player)"


def test_a_table_could_be_both(tmp_path: Path) -> None:
    file = write(tmp_path, [{"episode": 1, "scene": "s", "path": ["a"]}], lines=True)
    assert convert(file, tmp_path / "a.parquet").kind == "references"
    assert convert(file, tmp_path / "b.parquet", kind="run").kind == "run"
    assert convert(file, tmp_path / "c.parquet", references=tmp_path / "a.parquet").kind == "run"
    file = write(tmp_path, [{"episode": 1, "scene": "s", "path": ["a"], "stopped": None}], lines=True)
    assert convert(file, tmp_path / "d.parquet").kind == "run"


def test_dense_walks_of_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROWS", 1)
    row = {"scene": "s", "path": [[0, 1], [2, 3]]}
    dense = [{**row, "episode": 1, "dense": None}, {**row, "episode": 2, "dense": [[0, 1], [1, 2], [2, 3]]}]
    file = write(tmp_path, dense, lines=True)
    made = convert(file, tmp_path / "made.parquet")
    assert_same_references(load_references(made.file), load_references(file))
    assert rows_of(convert(made.file, tmp_path / "again.parquet").file) == rows_of(made.file)
    for walk, told in (
        ([[1]], "dense walk has points of 1 coordinates, expected points of 2"),
        ([[1], [2, 3]], "'2'.*field 'dense': must be a list of points"),
        ([], "'2'.*field 'dense': must be a list of points"),
    ):
        damaged = write(tmp_path, [dense[0], {**dense[1], "dense": walk}], lines=True)
        with pytest.raises(FormatError, match=told):
            convert(damaged, tmp_path / "bad.parquet")


# Damage


def test_errors_of_readers_leave_nothing(tmp_path: Path) -> None:
    rows: list[Any] = [{"episode": 1, "path": ["a"]}, {"episode": 2, "path": [[0, 1]]}, {"episode": 3, "path": [[0]]}]
    for some, told in (
        ([rows[0], {"episode": "e7", "path": [1.5]}], r"line 2 \(episode 'e7'\), field 'path', item 0: must be"),
        (rows[:2], "'2': its path has points of 2 coordinates, but the file begins with labels"),
        (rows[1::-1], "'1': its path has labels, but the file begins with points of 2 coordinates"),
        (rows[1:], "'3': its path has points of 1 coordinates, but the file begins with points of 2 coordinates"),
        ([rows[0], {"episode": 4, "path": [7]}], "'4': its path has integers, but the file begins with labels"),
        ([{"episode": 4, "path": [7, "a"]}], "'4': its path has both text and integers, or integers of more than 64"),
        ([{"episode": 4, "path": [7, 2**64]}], "'4': its path has both text and integers, or integers of more than 64"),
    ):
        file = write(tmp_path, some, lines=True)
        with pytest.raises(FormatError, match=rf"^{file}, .*{told}"):
            convert(file, tmp_path / "made.parquet")
        assert not list(tmp_path.glob("made.parquet*"))


@pytest.mark.parametrize("content", [b"", b"\n\n", b"[]", b"no table", b"\x1f\x8bdamaged", b"PAR1damaged"])
def test_no_episodes(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "file.json"
    file.write_bytes(content)
    with pytest.raises(FormatError, match=f"^{file}: "):
        convert(file, tmp_path / "made.parquet")


def test_targets_and_settings_that_cannot_be(tmp_path: Path) -> None:
    file, target = many(tmp_path), tmp_path / "made.parquet"
    (tmp_path / "dir.parquet").mkdir()
    for name, told in (
        ("run.json", "must end in .parquet"),
        ("none/run.parquet", "none/run.parquet: cannot be written: there is no folder"),
        ("dir.parquet", "is a folder"),
    ):
        with pytest.raises((OptionError, OutputError), match=told):
            convert(file, tmp_path / name)
    for options, told in (
        ({"kind": "walks"}, "a file is a run or references, not 'walks'"),
        ({"path_type": "player"}, "a run has no reader settings"),
    ):
        with pytest.raises(OptionError, match=told):
            convert(file, target, **options)
    assert {path.name for path in tmp_path.iterdir()} == {"walks.jsonl", "dir.parquet"}
    convert(file, target)
    with pytest.raises(OptionError, match="would replace the file that is converted"):
        convert(target, target)
    assert load_run(target).queries


FULL = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
from wayscore.cli.app import main
main()
"""


def test_a_full_disk(tmp_path: Path) -> None:
    file = many(tmp_path, 5000)
    words = [sys.executable, "-c", FULL, "convert", str(file), "-o", str(tmp_path / "made.parquet")]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "cannot be written: file too large" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not list(tmp_path.glob("made.parquet*"))


def test_a_flipped_byte_is_found_or_changes_nothing(tmp_path: Path) -> None:
    asked = [{"episode": f"e{n}", "path": [f"a{n % 7}", "b"]} for n in range(400)]
    made = convert(write(tmp_path, asked, lines=True), tmp_path / "made.parquet")
    content, wanted = Path(made.file).read_bytes(), load_run(made.file)
    copy = tmp_path / "made" / "made.parquet"
    copy.parent.mkdir()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    missed = 0
    for at in range(0, footer, 17):
        copy.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
        try:
            found = load_run(copy)
        except FormatError:
            continue
        missed += 1
        assert_same_run(found, wanted)
    assert missed < 0.1 * footer / 17  # some of what the headers of pages say, and columns that no run has


# The command


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    many(tmp_path, name="agent.v2.jsonl.gz")
    result = command("convert", "agent.v2.jsonl.gz", "-o", "agent.v2.parquet")
    read, written = (Path(name).stat().st_size for name in ("agent.v2.jsonl.gz", "agent.v2.parquet"))
    assert result.stdout == f"agent.v2.parquet: 50 rows of a run, {read} bytes in, {written / 1000:.1f} kB out\n"
    write(tmp_path, REFERENCES["ndh"], "ndh.json")
    command("convert", "ndh.json", "--reader", "path_type=trusted", status=0)
    assert load_references("ndh.parquet").name == "ndh.parquet(path_type=trusted)"
    write(tmp_path, RUNS["ndh"], "run.json")
    assert "1 rows of a run" in command("convert", "run.json", "-r", "ndh.parquet", "--as", "run").stdout
    for words, told in (
        (("none.json",), "none.json: no such file"),
        (("ndh.json", "--as", "walks"), "--as must be run or references, not 'walks'"),
        (("run.json", "-o", "none/a.parquet"), "there is no folder"),
    ):
        wrong = command("convert", *words)
        assert wrong.exit_code in (1, 2)
        assert told in wrong.stderr


# Every real file

REAL_RUNS = {
    "predictions/r2r/val_unseen_seq2seq_iter19000": "r2r/R2R_val_unseen.json.gz",
    "predictions/r2r/val_seen_navillm_run1": "r2r/R2R_val_seen.json.gz",
    "predictions/r2r/val_unseen_qwen25vl_lowlevel_full": "r2r/R2R_val_unseen.json.gz",
    "predictions/ndh/val_seen_seq2seq_iter00100": "ndh/NDH_val_seen.json.gz",
    "vlnce/results/gridmap_agent_val_unseen_3scenes_locations": "vlnce/R2R_VLNCE_v1-3/val_unseen/val_unseen.json.gz",
}


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.soak
def test_real_references(name: str, data: Path, tmp_path: Path) -> None:
    made = convert(data / f"{name}.json.gz", tmp_path / "made.parquet")
    assert_same_references(load_references(made.file), load_references(data / f"{name}.json.gz"))


@pytest.mark.parametrize("name", REAL_RUNS)
def test_real_runs(name: str, data: Path, tmp_path: Path) -> None:
    file = data / f"{name}.json.gz"
    done = load_run(file)
    known = load_references(data / REAL_RUNS[name])
    for references in (None, known):
        made = convert(file, tmp_path / f"{done.name}.parquet", references=references)
        assert_same_run(load_run(made.file), done)
    table = pq.read_table(made.file, columns=["episode", "scene"]).to_pylist()
    assert all(known.episodes[row["episode"]].scene == row["scene"] for row in table)
