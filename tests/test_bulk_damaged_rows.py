"""Rows that carry their references, and points, where something is wrong with them: one sentence, nothing written."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest

from tests.bulk_damage import Case, changed, put, refused, replaced, written
from tests.bulk_data import Town, carried, in_points, write_lines, write_parquet

OWN: dict[str, Case] = {
    "no reference": (
        lambda town, folder: write_parquet(folder / "w.parquet", town.walks),
        r"w\.parquet, row group 0, row 0: .*; give .*--references",
    ),
    "no reference in a line": (
        lambda town, folder: replaced(write_lines(folder / "w.jsonl", carried(town)), 10, '{"path": ["x00y00"]}'),
        r"w\.jsonl, line 10: has no reference",
    ),
    "no references in lines": (
        lambda town, folder: write_lines(folder / "w.jsonl", town.walks),
        r"w\.jsonl, line 1: has no reference.*--references",
    ),
    "no references and an array": (
        lambda town, folder: written(folder / "w.json", "[]"),
        r"w\.json: what was asked for is missing; give it with --references FILE",
    ),
    "an unknown scene": (
        lambda town, folder: write_parquet(folder / "w.parquet", changed(carried(town), 117, scene="worlds1")),
        r"w\.parquet, row group 1, row 17: there is no scene 'worlds1' among the 3 .*; did you mean 'world1'\?",
    ),
    "a null scene": (
        lambda town, folder: write_parquet(folder / "w.parquet", changed(carried(town), 117, scene=None)),
        r"w\.parquet, row group 1, row 17: .*scene",
    ),
    "no scenes": (
        lambda town, folder: write_parquet(folder / "w.parquet", carried(town).drop_columns("scene")),
        r"w\.parquet, row group 0, row 0: has no scene, which rows need that carry their reference",
    ),
    "a reference that visits an unknown place": (
        lambda town, folder: write_parquet(folder / "w.parquet", changed(carried(town), 117, reference=["cellar"])),
        r"w\.parquet, row group 1, row 17: its reference visits a place that its scene does not have",
    ),
    "a null reference": (
        lambda town, folder: write_parquet(folder / "w.parquet", changed(carried(town), 117, reference=None)),
        r"w\.parquet, row group 1, row 17: the column 'reference' is null",
    ),
    "scenes in some lines only": (
        lambda town, folder: replaced(
            write_lines(folder / "w.jsonl", carried(town)), 10, '{"path": ["x"], "reference": ["x"], "episode": "1"}'
        ),
        r"w\.jsonl, line 10: has no scene, unlike others; name all or none",
    ),
    "no scenes in lines": (
        lambda town, folder: write_lines(folder / "w.jsonl", carried(town).drop_columns("scene")),
        r"w\.jsonl, line 1: has no scene, which rows need that carry their reference",
    ),
    "names in some lines only": (
        lambda town, folder: _joined(
            write_lines(folder / "w.jsonl", carried(town).slice(0, 100)),
            write_lines(folder / "v.jsonl", carried(town).slice(100).drop_columns("episode")),
        ),
        r"w\.jsonl, line 101: gives the columns scene, .*, others episode, scene, .*; give all rows an episode",
    ),
    "names in some files only": (
        lambda town, folder: _two_files(folder / "in", carried(town), carried(town).drop_columns("episode")),
        r"scores\.parquet: some files of the run give the columns episode, scene, .*, others scene, .*the same",
    ),
    "names in some rows only": (
        lambda town, folder: replaced(
            write_lines(folder / "w.jsonl", carried(town)),
            2500,
            json.dumps({name: cell for name, cell in carried(town).to_pylist()[2499].items() if name != "episode"}),
        ),
        r"w\.jsonl, line 2500: has no episode, unlike others; name all or none",
    ),
}


def _joined(one: Path, other: Path) -> Path:
    one.write_bytes(one.read_bytes() + other.read_bytes())
    return one


def _two_files(folder: Path, one: pa.Table, other: pa.Table) -> Path:
    write_parquet(folder / "a.parquet", one)
    write_parquet(folder / "b.parquet", other)
    return folder


@pytest.mark.parametrize("case", OWN)
def test_rows_that_carry_their_references(town: Town, tmp_path: Path, case: str) -> None:
    make, message = OWN[case]
    words = ["score", str(make(town, tmp_path)), *town.files[2:], "--workers", "1", "--chunk", "100"]
    assert re.search(message, said := refused(words, tmp_path / "scores.parquet")), said


POINTS: dict[str, Case] = {
    "labels": (
        lambda town, folder: write_parquet(folder / "w.parquet", town.answers),
        r"w\.parquet, row group 0, row 0: paths hold labels, so distances need the graphs; give them with --graphs",
    ),
    "labels in a line": (
        lambda town, folder: replaced(
            write_lines(folder / "w.jsonl", in_points(town)[0]), 10, '{"episode": "1_0", "path": ["x00y00"]}'
        ),
        r"w\.jsonl, line 10, path must hold coordinates of one dimension",
    ),
    "not finite": (
        lambda town, folder: write_parquet(
            folder / "w.parquet", changed(in_points(town)[0], 117, path=[[0.0, 1.0, float("nan")]])
        ),
        r"w\.parquet, row group 1, row 17, path, step 0: coordinates must be finite, got \[0\.0, 1\.0, nan\]",
    ),
    "several dimensions": (
        lambda town, folder: write_parquet(
            folder / "w.parquet", changed(in_points(town)[0], 117, path=[[0.0, 1.0, 2.0], [0.0, 1.0]])
        ),
        r"w\.parquet, row group 1, row \d+: the column 'path' mixes points of several dimensions, or holds nulls",
    ),
    "another dimension": (
        lambda town, folder: write_parquet(
            folder / "w.parquet", put(in_points(town)[0], path=pa.array([[[0.0, 1.0]]] * 400))
        ),
        r"w\.parquet, row group 0, row 0: paths have points of 2 coordinates, but references of 3; both need the same",
    ),
}


@pytest.mark.parametrize("case", POINTS)
def test_points(town: Town, tmp_path: Path, case: str) -> None:
    make, message = POINTS[case]
    asked = [
        {"episode": one.episode, "scene": one.scene, "path": one.path.tolist()}
        for one in in_points(town)[1].episodes.values()
    ]
    references = written(tmp_path / "references.jsonl", "".join(json.dumps(row) + "\n" for row in asked))
    words = ["score", str(make(town, tmp_path)), "-r", str(references), "--workers", "1", "--start", "keep"]
    assert re.search(message, said := refused(words, tmp_path / "scores.parquet")), said
