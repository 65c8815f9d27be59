"""Readers that collect what is wrong with single records, as `validate` needs it, and read the rest."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.formats.test_readers import LINES, RUNS, encode, write
from wayscore.errors import FormatError
from wayscore.formats import Fault, chunks, load_run


@pytest.mark.parametrize("form", RUNS)
def test_every_format(tmp_path: Path, form: str) -> None:
    content = RUNS[form]
    path = tmp_path / "run.json"
    if isinstance(content, dict):
        path.write_text(json.dumps({"before": 5, **content, "after": [], "last": [[0, 1]]}))
        names = ["before", "last", "after"]
    else:
        record = content[0]
        walk = next(field for field in ("trajectory", "path") if field in record)
        path.write_bytes(encode([{**record, walk: 5}, record, {**record, walk: "x"}], form in LINES))
        names = [str(next(iter(record.values())))] * 2
    faults: list[Fault] = []
    run = load_run(path, form, faults=faults)
    assert [fault.episode for fault in faults] == names
    assert len(run.queries) == 1
    with pytest.raises(FormatError) as caught:
        load_run(path, form)
    assert str(caught.value) == faults[0].of(path)


def test_tables(tmp_path: Path) -> None:
    csv = tmp_path / "run.csv"
    csv.write_text(
        'episode,path,stopped\na,x y,true\nb,,true\n,x,true\nd,"[1, 2",true\ne,x,maybe\nf,"[[1, 2], [3]]",\n'
    )
    faults: list[Fault] = []
    assert list(load_run(csv, faults=faults).queries) == ["a"]
    assert sorted((fault.where, fault.episode) for fault in faults if fault.episode) == [
        ("row 1", "b"),
        ("row 3", "d"),
        ("row 4", "e"),
        ("row 5", "f"),
    ]
    assert [fault.where for fault in faults if not fault.episode] == ["row 2"]
    parquet = tmp_path / "run.parquet"
    nan = float("nan")
    walks = [[[0.0, 1.0]], None, [[0.0, 1.0], [nan, nan], [nan, 0.0]], [], [[2.0, 3.0]]]
    kind = pa.list_(pa.list_(pa.float64(), 2))
    pq.write_table(pa.table({"episode": list("abcde"), "path": pa.array(walks, kind)}), parquet)
    faults.clear()
    run = load_run(parquet, faults=faults)
    assert {name: np.asarray(query.path).tolist() for name, query in run.queries.items()} == {
        "a": [[0.0, 1.0]],
        "e": [[2.0, 3.0]],
    }
    assert sorted(fault.place for fault in faults) == [
        "row 1 (episode 'b')",
        "row 2 (episode 'c'), field 'path', item 1, item 0",
        "row 3 (episode 'd')",
    ]


@pytest.mark.parametrize("block", [None, 40])
def test_lines_are_counted_with_the_empty_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int | None
) -> None:
    if block is not None:
        monkeypatch.setattr(chunks, "CHUNK_BYTES", block)
    paths = {"e": ["a"], "f": [], "g": [[1], "a"], "h": ["b"]}
    path = tmp_path / "run.jsonl"
    path.write_text("\n\n".join(json.dumps({"episode": name, "path": walk}) for name, walk in paths.items()))
    faults: list[Fault] = []
    assert list(load_run(path, faults=faults).queries) == ["e", "h"]
    assert [fault.place for fault in faults] == ["line 3 (episode 'f')", "line 5 (episode 'g'), field 'path'"]


def test_a_file_too_large_to_be_read_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"instr_id": f"{n}_0", "trajectory": [["a", 0, 0], 7 if n == 3 else ["b", 0, 0]]} for n in range(6)]
    path = write(tmp_path, rows)
    monkeypatch.setattr("wayscore.formats.decoding.NAMED_LIMIT", 10)
    faults: list[Fault] = []
    with pytest.raises(FormatError, match=r"record 3, field 'trajectory', item 1: must be"):
        load_run(path, faults=faults)


def test_a_folder_and_a_pattern_are_one_run(tmp_path: Path) -> None:
    for number, name in enumerate(("a.json.gz", "b.jsonl", "c.parquet")):
        rows = [{"episode": f"{number}{n}", "path": ["a", "b"]} for n in range(3)]
        if name.endswith("parquet"):
            pq.write_table(pa.Table.from_pylist(rows), tmp_path / name)
        else:
            write(tmp_path, rows, name, lines=name.endswith("l"))
    run = load_run(tmp_path)
    assert (run.name, len(run)) == (tmp_path.name, 9)
    assert list(run.queries) == [f"{number}{n}" for number in range(3) for n in range(3)]
    assert list(load_run(f"{tmp_path}/*.json*").queries) == list(run.queries)[:6]
