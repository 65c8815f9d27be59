"""Conversion to Parquet: the same rows come back from every format; damage is named, and found by checksums."""

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

from tests.formats.test_readers import LINES, REFERENCES, RUNS, VLNCE_DENSE, write
from tests.house import command
from wayscore.episodes import Query, References, Run
from wayscore.errors import FormatError, OptionError, OutputError
from wayscore.formats import base, convert as module, load_references, load_run, pieces, plan
from wayscore.formats.beginning import Beginning
from wayscore.formats.columns import LABELS, labels_of
from wayscore.formats.convert import Converted, check, convert
from wayscore.formats.files import Source
from wayscore.formats.graphs import distances_for
from wayscore.formats.layout import Labels

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


@settings(max_examples=40)
@given(paths=PATHS, names=st.lists(st.integers(0, 4), min_size=8, max_size=8))
def test_any_table_of_walks(tmp_path_factory: pytest.TempPathFactory, paths: Any, names: list[int]) -> None:
    flags = (None, True, False)
    table = [{"episode": n, "path": path, "stopped": flags[n % 3]} for n, path in zip(names, paths, strict=False)]
    file = write(tmp_path_factory.mktemp("any"), table, lines=True)
    made, run = run_of(file)
    assert made.rows == len(table)  # second answers too
    assert_same_run(run, load_run(file))
    assert check(made.file).checksum == made.checksum


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


def test_layouts_of_a_table_make_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    sums = set()
    for block in (None, 200):  # however it is cut
        if block is not None:
            for where in (plan, pieces):
                monkeypatch.setattr(where, "BLOCK", block)
        for file in (lines, array, packed, marked, table, text):
            sums.add(convert(file, tmp_path / f"{file.name}.parquet").checksum)
    assert len(sums) == 1
    assert {convert(tmp_path / "t.json.parquet", tmp_path / "again.parquet").checksum} == sums


def test_second_answers_are_kept(tmp_path: Path) -> None:
    records = [{"instr_id": name, "trajectory": [[f"{name}{n}", 0, 0]]} for n, name in enumerate("aababca")]
    made, run = run_of(write(tmp_path, records))
    assert pq.read_table(made.file).column("episode").to_pylist() == list("aababca")
    assert run.duplicates == ("a", "b")
    file = tmp_path / "walks.json"  # JSON that names a key twice
    file.write_text('{"1": [[0, 0, 0]], "2": [[1, 1, 1]], "1": [[2, 2, 2]]}')
    made, run = run_of(file)
    assert [path[0][0] for path in pq.read_table(made.file).column("path").to_pylist()] == [0, 1, 2]
    assert_same_run(run, load_run(file))


def test_members_of_tars_pipes_and_folders(tmp_path: Path) -> None:
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
    assert convert(tmp_path / "pipe", tmp_path / "x.parquet", kind="run").rows == 1
    writer.wait()
    whole = convert(many(tmp_path), tmp_path / "whole.parquet")
    (tmp_path / "parts").mkdir()
    lines = many(tmp_path).read_text().splitlines(keepends=True)
    for number in range(2):
        (tmp_path / "parts" / f"{number}.jsonl").write_text("".join(lines[number * 25 : number * 25 + 25]))
    assert convert(tmp_path / "parts", tmp_path / "x.parquet").checksum == whole.checksum


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


class Letters:
    """Somebody's own format: a line of letters an episode, the first its name."""

    name = title = "letters"

    def sniff(self, beginning: Beginning) -> Any:
        return () if beginning.json else ("run",)

    def run(self, source: Source) -> Any:
        return base.make_batch(source, [Query(line[0], list(line[1:])) for line in source.content.decode().split()])


def test_formats_of_other_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_installed", lambda: {"letters": Letters()})
    file = tmp_path / "walks.txt"
    file.write_text("xab\nyb\nzcc\n")
    made, run = run_of(file)
    assert (made.rows, run.format) == (3, "letters")
    assert_same_run(run, load_run(file))


# What a file keeps besides rows


def test_labels_are_numbered_by_scene(tmp_path: Path) -> None:
    asked = write(tmp_path, REFERENCES["r2r"], "asked.json")
    walks = [{"instr_id": "8_0", "trajectory": [["c", 0, 0]]}, {"instr_id": "7_1", "trajectory": [["c", 0, 0], ["a"]]}]
    file = write(tmp_path, walks, "walks.json")
    plain, _ = run_of(file)
    assert labels_of(pq.read_schema(plain.file)) == {"": ["c", "a"]}
    packed = convert(asked, tmp_path / "asked.parquet")
    assert labels_of(pq.read_schema(packed.file)) == {"s": ["a", "b"], "t": ["c", "d"]}
    sums = set()
    for references in (asked, packed.file, load_references(asked)):
        made, run = run_of(file, references=references)
        assert pq.read_table(made.file).column("scene").to_pylist() == ["t", "s"]
        assert pq.read_table(made.file).column("path").to_pylist() == [[0], [0, 1]]
        assert labels_of(pq.read_schema(made.file)) == {"t": ["c"], "s": ["c", "a"]}
        assert_same_run(run, load_run(file))
        sums.add(made.checksum)
    assert len(sums) == 1
    again, run = run_of(Path(made.file))  # a run still, since rows say whether the agent stopped
    assert again.kind == "run"
    assert_same_run(run, load_run(file))


def test_references_that_do_not_fit(tmp_path: Path) -> None:
    asked = write(tmp_path, REFERENCES["r2r"], "asked.json")
    file = write(tmp_path, [{"instr_id": "7_2", "trajectory": [["a", 0, 0]]}])
    with pytest.raises(FormatError, match=r"episode '7_2' is none of the 3 of the references; did you mean '7_1'\?"):
        convert(file, tmp_path / "made.parquet", references=asked)
    with pytest.raises(FormatError, match="looks like R2R references, not a run"):
        convert(asked, tmp_path / "made.parquet", references=asked)
    with pytest.raises(OptionError, match="references need no references"):
        convert(asked, tmp_path / "made.parquet", references=asked, kind="references")


@pytest.mark.parametrize("code", [2, -1])
def test_a_code_that_stands_for_nothing(tmp_path: Path, code: int) -> None:
    codes = pa.array([[0, 1], [1, code], [0]], pa.list_(pa.int32()))
    labels = {LABELS: b'{"s": ["a", "b", "c"], "t": ["d", 5]}'}
    schema = pa.schema({"episode": pa.string(), "scene": pa.string(), "path": codes.type}, labels)
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table([pa.array(["x", "y", "z"]), pa.array(["s", "t", "t"]), codes], schema=schema), file)
    for load in (load_references, load_run):
        with pytest.raises(FormatError, match=r"t\.parquet, row 1.*stands for no label.*convert the original file"):
            load(file)


def test_labels_damaged_or_not_needed(tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    table = pa.table({"episode": ["x"], "path": [["a"]]})
    pq.write_table(table.replace_schema_metadata({LABELS: '{"": ["b"]}'}), file)
    assert load_run(file).queries["x"].path == ["a"]  # text stands for itself
    pq.write_table(table.replace_schema_metadata({LABELS: '{"": ["b"'}), file)
    with pytest.raises(FormatError, match=r"t\.parquet: the labels in its metadata are damaged"):
        load_run(file)
    with pytest.raises(FormatError, match=r"labels are text or integers; got \(1, 2\)"):
        Labels().encode([[(1, 2)]])


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
    assert convert(made.file, tmp_path / "again.parquet").checksum == made.checksum
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
    asked = [{"episode": f"e{n}", "scene": "s", "path": [f"a{n % 7}", "b"]} for n in range(400)]
    made = convert(write(tmp_path, asked, lines=True), tmp_path / "made.parquet")
    assert check(made.file).rows == 400
    content, rows = Path(made.file).read_bytes(), pq.read_table(made.file)
    copy = tmp_path / "copy.parquet"
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    missed = []
    for at in range(0, len(content), 17):
        copy.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
        try:
            check(copy)
        except FormatError:
            continue
        missed.append(at)
        assert pq.read_table(copy).equals(rows)
        assert labels_of(pq.read_schema(copy)) == labels_of(pq.read_schema(made.file))
    in_pages = [at for at in missed if at < footer]
    assert len(in_pages) < 0.03 * footer / 17  # some of what the headers of pages say, which no reader needs


def test_changed_rows_are_found(tmp_path: Path) -> None:
    made, _ = run_of(many(tmp_path))
    table = pq.read_table(made.file)
    pq.write_table(table, made.file)
    assert check(made.file).rows == 50
    pq.write_table(table.slice(1), made.file)
    with pytest.raises(FormatError, match=r"is not what was written: its checksum is .* and it should be"):
        check(made.file)
    pq.write_table(table.set_column(0, "episode", table.column("episode").cast(pa.large_string())), made.file)
    with pytest.raises(FormatError, match="the column 'episode' has Arrow type large_string"):
        check(made.file)
    pq.write_table(table.replace_schema_metadata(None), made.file)
    with pytest.raises(FormatError, match="carries no checksum"):
        check(made.file)
    with pytest.raises(FormatError, match="is not Parquet"):
        check(tmp_path / "walks.jsonl")


# The command


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    many(tmp_path, name="agent.v2.jsonl.gz")
    result = command("convert", "agent.v2.jsonl.gz", "--check", "-o", "agent.v2.parquet")
    made = check("agent.v2.parquet")
    sizes = rf"{Path('agent.v2.jsonl.gz').stat().st_size} bytes in, {made.written / 1000:.1f} kB out"
    checked = (
        f"agent.v2.parquet: 50 rows of a run, {made.written / 1000:.1f} kB: pages and content are what was written, "
        f"sha256 {made.checksum}\n"
    )
    assert result.stdout == f"agent.v2.parquet: 50 rows of a run, {sizes}, sha256 {made.checksum}\n{checked}"
    assert command("convert", "agent.v2.parquet", "--check").stdout == checked
    write(tmp_path, REFERENCES["ndh"], "ndh.json")
    assert command("convert", "ndh.json", "--reader", "path_type=trusted").exit_code == 0
    assert load_references("ndh.parquet").name == "ndh.parquet(path_type=trusted)"
    write(tmp_path, RUNS["ndh"], "run.json")
    assert "1 rows of a run" in command("convert", "run.json", "-r", "ndh.parquet", "--as", "run").stdout
    for words, told in (
        (("none.json",), "none.json: no such file"),
        (("ndh.json", "--check"), "is not Parquet"),
        (("ndh.json", "--as", "walks"), "--as must be run or references, not 'walks'"),
        (("run.json", "-o", "none/a.parquet"), "there is no folder"),
    ):
        wrong = command("convert", *words)
        assert wrong.exit_code in (1, 2)
        assert told in wrong.stderr


# Every real file

REAL_REFERENCES = [
    *(f"r2r/R2R_{split}.json.gz" for split in ("train", "val_seen", "val_unseen", "test")),
    "r4r/R4R_val_seen.json.gz",
    *(f"reverie/REVERIE_{split}.json.gz" for split in ("val_seen", "val_unseen", "test")),
    *(f"ndh/NDH_{split}.json.gz" for split in ("val_seen", "val_unseen")),
    *(f"street/map2seq_{split}.json.gz" for split in ("seen_dev", "unseen_dev", "seen_test", "unseen_test")),
    "street/touchdown_unseen_dev.json.gz",
    *(f"vlnce/R2R_VLNCE_v1-3/{split}/{split}.json.gz" for split in ("val_seen", "val_unseen")),
]
REAL_RUNS = {
    "predictions/r2r/val_unseen_seq2seq_iter19000": "r2r/R2R_val_unseen.json.gz",
    "predictions/r2r/val_seen_navillm_run1": "r2r/R2R_val_seen.json.gz",
    "predictions/r2r/val_unseen_qwen25vl_lowlevel_full": "r2r/R2R_val_unseen.json.gz",
    "predictions/ndh/val_seen_seq2seq_iter00100": "ndh/NDH_val_seen.json.gz",
    "vlnce/results/gridmap_agent_val_unseen_3scenes_locations": "vlnce/R2R_VLNCE_v1-3/val_unseen/val_unseen.json.gz",
}


@pytest.mark.parametrize("name", REAL_REFERENCES)
@pytest.mark.soak
def test_real_references(name: str, data: Path, tmp_path: Path) -> None:
    made = convert(data / name, tmp_path / "made.parquet")
    assert_same_references(load_references(made.file), load_references(data / name))
    assert check(made.file).checksum == made.checksum


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


def test_settings_of_real_references(data: Path, tmp_path: Path) -> None:
    boxes = data / "semantics/reverie_bbox.json.gz"
    file = data / "reverie/REVERIE_val_seen.json.gz"
    made = convert(file, tmp_path / "made.parquet", objects=str(boxes))
    asked = load_references(file, objects=boxes)
    assert any(reference.goals for reference in asked.episodes.values())
    assert_same_references(load_references(made.file), asked)
