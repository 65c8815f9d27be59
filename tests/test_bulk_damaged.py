"""Damaged runs, streamed: one sentence that names the file, the place in it and the remedy, and nothing written."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pyarrow as pa
import pytest

from tests.bulk_damage import Case, changed, flipped, put, refused, replaced, torn, written
from tests.bulk_data import Town, in_codes, in_points, write_files, write_lines, write_parquet
from wayscore.formats.layout import LABELS


def _flipped_in_folder(town: Town, folder: Path) -> Path:
    whole = write_files(folder / "walks", town.walks, 3)
    flipped(whole / "rows-001.parquet", 4)
    return whole


def _relabelled(town: Town, labels: bytes) -> pa.Table:
    return in_codes(town.walks).replace_schema_metadata({LABELS: labels})


PARQUET: dict[str, Case] = {
    "a bit is flipped": (
        lambda town, folder: flipped(write_parquet(folder / "w.parquet", town.walks), 2),
        r"w\.parquet, row group 2: is damaged \(.*\); copy or write it again",
    ),
    "a bit of an episode is flipped": (
        lambda town, folder: flipped(write_parquet(folder / "w.parquet", town.walks), 3, column=0),
        r"w\.parquet, row group 3: is damaged \(.*\); copy or write it again",
    ),
    "a bit is flipped in a folder": (
        _flipped_in_folder,
        r"rows-001\.parquet, row group 4: is damaged \(.*\); copy or write it again",
    ),
    "truncated": (
        lambda town, folder: torn(write_parquet(folder / "w.parquet", town.walks)),
        r"w\.parquet: is damaged Parquet \(.*\); copy or write it again",
    ),
    "empty": (
        lambda town, folder: written(folder / "w.parquet"),
        r"w\.parquet: is damaged Parquet \(.*\); copy or write it again",
    ),
    "no rows": (
        lambda town, folder: write_parquet(folder / "w.parquet", town.walks.slice(0, 0)),
        r"w\.parquet: holds no rows; expected episodes and paths",
    ),
    "paths of numbers": (
        lambda town, folder: write_parquet(folder / "w.parquet", put(town.walks, path=pa.array([[0.5]] * 3000))),
        r"w\.parquet, row group 0, row 0: the column 'path' must hold labels, or points .*got Arrow type list<",
    ),
    "paths of text": (
        lambda town, folder: write_parquet(folder / "w.parquet", put(town.walks, path=town.walks["episode"])),
        r"w\.parquet, row group 0, row 0: the column 'path' must hold lists, got Arrow type",
    ),
    "a null path": (
        lambda town, folder: write_parquet(folder / "w.parquet", changed(town.walks, 423, path=None)),
        r"w\.parquet, row group 4, row 23: the column 'path' is null; give every row a path",
    ),
    "an empty path": (
        lambda town, folder: write_parquet(folder / "w.parquet", changed(town.walks, 250, path=[])),
        r"w\.parquet, row group 2, row 50: the path is empty; an agent that never moves has its start",
    ),
    "a null place": (
        lambda town, folder: write_parquet(folder / "w.parquet", changed(town.walks, 117, path=["x00y00", None])),
        r"w\.parquet, row group 1, row 17: the path holds a null; leave the step out",
    ),
    "a null episode": (
        lambda town, folder: write_parquet(folder / "w.parquet", changed(town.walks, 117, episode=None)),
        r"w\.parquet, row group 1, row 17 .*answers an episode that the references do not have; see unknown=skip",
    ),
    "an unknown episode": (
        lambda town, folder: write_parquet(folder / "w.parquet", changed(town.walks, 117, episode="9_9")),
        r"w\.parquet, row group 1, row 17 \(episode '9_9'\): answers an episode .*; see unknown=skip",
    ),
    "an unknown place": (
        lambda town, folder: write_parquet(
            folder / "w.parquet", changed(town.walks, 117, path=[*town.walks["path"][117].as_py(), "cellar"])
        ),
        r"w\.parquet, row group 1, row 17 \(episode '.*'\): visits a place .*does not have; see node=skip or zero",
    ),
    "several answers": (
        lambda town, folder: write_parquet(folder / "w.parquet", town.walks),
        r"episode '\d+_\d' is answered more than once; see duplicate=all",
    ),
    "a code too large": (
        lambda town, folder: write_parquet(folder / "w.parquet", changed(in_codes(town.walks), 117, path=[0, 9999])),
        r"w\.parquet, row group 1, row 17: code 9999 stands for no label; the file lists \d+ of the scene world",
    ),
    "a negative code": (
        lambda town, folder: write_parquet(folder / "w.parquet", changed(in_codes(town.walks), 117, path=[-1])),
        r"w\.parquet, row group 1, row 17: code -1 stands for no label; the file lists \d+ of the scene world",
    ),
    "a huge code": (
        lambda town, folder: write_parquet(
            folder / "w.parquet",
            changed(
                put(coded := in_codes(town.walks), path=coded["path"].cast(pa.list_(pa.int64()))), 117, path=[2**40]
            ),
        ),
        r"w\.parquet, row group 1, row 17: code 1099511627776 stands for no label",
    ),
    "labels of no scene": (
        lambda town, folder: write_parquet(folder / "w.parquet", _relabelled(town, b'{"attic": ["a"]}')),
        r"w\.parquet, row group 0, row \d+: code \d+ stands for no label; the file lists 0 of the scene world",
    ),
    "damaged labels": (
        lambda town, folder: write_parquet(folder / "w.parquet", _relabelled(town, b"{[")),
        r"w\.parquet: the labels in its metadata are damaged; copy or write it again",
    ),
    "other columns": (
        lambda town, folder: write_parquet(folder / "w.parquet", pa.table({"episode": ["1"], "SR": [1.0]})),
        r"w\.parquet, row group 0, row 0: the columns are episode.*; expected path \(or query\), and episode",
    ),
    "points": (
        lambda town, folder: write_parquet(folder / "w.parquet", in_points(town)[0]),
        r"w\.parquet, row group 0, row 0: paths hold points, but scenes know nodes by their labels",
    ),
}
LINES: dict[str, Case] = {
    "not JSON": (
        lambda town, folder: replaced(write_lines(folder / "w.jsonl", town.walks), 1234, '{"episode": "1_0", '),
        r"w\.jsonl, line 1234: is not JSON; expected \{\"episode\"",
    ),
    "an empty line": (
        lambda town, folder: replaced(write_lines(folder / "w.jsonl", town.walks), 7, ""),
        r"w\.jsonl, line 7: is empty; expected \{\"episode\"",
    ),
    "no path": (
        lambda town, folder: replaced(write_lines(folder / "w.jsonl", town.walks), 2000, '{"episode": "1_0"}'),
        r"w\.jsonl, line 2000: the field 'path' is missing; expected \{\"episode\"",
    ),
    "a path that is none": (
        lambda town, folder: replaced(
            write_lines(folder / "w.jsonl", town.walks), 2000, '{"episode": "1_0", "path": [null]}'
        ),
        r"w\.jsonl, line 2000, field 'path', item 0: must be .*, got null; expected",
    ),
    "no episode": (
        lambda town, folder: replaced(write_lines(folder / "w.jsonl", town.walks), 10, '{"path": ["x00y00"]}'),
        r"w\.jsonl, line 10: has no episode, which it needs",
    ),
    "an empty path as a line": (
        lambda town, folder: replaced(
            write_lines(folder / "w.jsonl", town.walks), 10, '{"episode": "1_0", "path": []}'
        ),
        r"w\.jsonl, line 10.* is empty; a path has at least one place",
    ),
    "labels and points": (
        lambda town, folder: replaced(
            write_lines(folder / "w.jsonl", town.walks), 10, '{"episode": "1_0", "path": [[0, 0]]}'
        ),
        r"w\.jsonl, line 10: a path holds points, but scenes know nodes by their labels",
    ),
    "an empty file of lines": (
        lambda town, folder: written(folder / "w.jsonl"),
        r"w\.jsonl: holds no rows; expected episodes and paths",
    ),
    "an array": (
        lambda town, folder: written(folder / "w.json", json.dumps([{"instr_id": "1_0", "trajectory": []}])),
        r"w\.json: is a JSON array; streams read Parquet and JSON lines, which `wayscore convert` writes",
    ),
    "truncated gzip": (
        lambda town, folder: torn(write_lines(folder / "w.jsonl.gz", town.walks), 9000),
        r"w\.jsonl\.gz: is damaged gzip .*; copy or write it again",
    ),
    "gzip of nothing": (
        lambda town, folder: Path(folder / "w.jsonl.gz").write_bytes(gzip.compress(b"")) and folder / "w.jsonl.gz",
        r"w\.jsonl\.gz: holds no rows; expected episodes and paths",
    ),
    "no such file": (
        lambda town, folder: folder / "walks.parquet",
        r"walks\.parquet: no such file",
    ),
    "no such pattern": (
        lambda town, folder: folder / "*.parquet",
        r"\*\.parquet: matches no file",
    ),
    "an empty folder": (
        lambda town, folder: folder,
        r": this folder holds none of \.parquet, \.jsonl",
    ),
}


@pytest.mark.parametrize("case", [*PARQUET, *LINES])
def test_one_sentence(town: Town, tmp_path: Path, case: str) -> None:
    make, message = {**PARQUET, **LINES}[case]
    folder = tmp_path / "in"
    folder.mkdir()
    words = ["score", str(make(town, folder)), *town.files, "--missing", "skip", "--workers", "1"]
    words += [] if case == "several answers" else ["--duplicate", "all"]
    assert re.search(message, said := refused(words, tmp_path / "scores.parquet")), said
