"""What a converted file keeps besides rows: labels by scene, the format they came from, dense walks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.test_convert import assert_same_references, assert_same_run, run_of
from tests.test_formats import REFERENCES, write
from wayscore.errors import FormatError, OptionError
from wayscore.formats import load_references, load_run
from wayscore.formats.convert import convert
from wayscore.formats.graphs import distances_for
from wayscore.formats.layout import LABELS, Labels, labels_of


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


def test_an_episode_that_references_lack(tmp_path: Path) -> None:
    asked = write(tmp_path, REFERENCES["r2r"], "asked.json")
    file = write(tmp_path, [{"instr_id": "7_2", "trajectory": [["a", 0, 0]]}])
    with pytest.raises(FormatError, match=r"episode '7_2' is none of the 3 of the references; did you mean '7_1'\?"):
        convert(file, tmp_path / "made.parquet", references=asked)
    with pytest.raises(FormatError, match="looks like R2R references, not a run"):
        convert(asked, tmp_path / "made.parquet", references=asked)
    with pytest.raises(OptionError, match="references need no references"):
        convert(asked, tmp_path / "made.parquet", references=asked, kind="references")


@pytest.mark.parametrize(("code", "told"), [(2, "2 is none of the 2 labels of scene 't'"), (-1, "-1 is none")])
def test_a_code_that_stands_for_nothing(tmp_path: Path, code: int, told: str) -> None:
    codes = pa.array([[0, 1], [1, code], [0]], pa.list_(pa.int32()))
    labels = {LABELS: b'{"s": ["a", "b", "c"], "t": ["d", 5]}'}
    schema = pa.schema({"episode": pa.string(), "scene": pa.string(), "path": codes.type}, labels)
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table([pa.array(["x", "y", "z"]), pa.array(["s", "t", "t"]), codes], schema=schema), file)
    for load in (load_references, load_run):
        with pytest.raises(FormatError, match=rf"t\.parquet, row 1, column 'path', step 1: the code {told}"):
            load(file)
    faults: list[Any] = []
    run = load_run(file, faults=faults)
    assert {name: query.path for name, query in run.queries.items()} == {"x": ["a", "b"], "z": ["d"]}
    assert [fault.where for fault in faults] == ["row 1"]


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
    asked = load_references(streets.file)
    (tmp_path / "nodes.txt").write_text("p,0,1,1\nq,0,1,2\nr,0,1,3\n")
    (tmp_path / "links.txt").write_text("p,0,q\nq,0,r\n")
    assert list(distances_for(asked, tmp_path)) == ["manhattan"]
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


def test_dense_walks_of_tables(tmp_path: Path) -> None:
    row = {"scene": "s", "path": [[0, 1], [2, 3]]}
    dense = [{**row, "episode": 1, "dense": None}, {**row, "episode": 2, "dense": [[0, 1], [1, 2], [2, 3]]}]
    file = write(tmp_path, dense, lines=True)
    made = convert(file, tmp_path / "made.parquet", rows=1)
    assert_same_references(load_references(made.file), load_references(file))
    again = convert(made.file, tmp_path / "again.parquet", rows=1)
    assert again.checksum == made.checksum
    for damaged, told in (
        ([{**row, "episode": 1}, dense[1]], "'2': has a dense walk, but the first record has no field 'dense'"),
        ([dense[0], {**dense[1], "dense": [[1]]}], "dense walk has points of 1 coordinates, expected points of 2"),
        ([dense[0], {**dense[1], "dense": [[1], [2, 3]]}], "'2'.*field 'dense': must be a list of points"),
        ([dense[0], {**dense[1], "dense": []}], "'2'.*field 'dense': must be a list of points"),
    ):
        with pytest.raises(FormatError, match=told):
            convert(write(tmp_path, damaged, lines=True), tmp_path / "bad.parquet", rows=1)
