"""Conversion of damaged files: errors name the place in the file, and nothing is written under its name."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.test_convert import many
from tests.test_formats import write
from wayscore.errors import FormatError
from wayscore.formats import cutting
from wayscore.formats.convert import convert


@pytest.mark.parametrize("rows", [3, 100])
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_errors_name_the_line_of_the_file(tmp_path: Path, rows: int, ending: str) -> None:
    lines = many(tmp_path).read_text().splitlines()
    for damage, told in (
        ('{"episode": "e7", "path": [1.5]}', r"line 8 \(episode 'e7'\), field 'path', item 0: must be"),
        ('{"episode": "e7", "path"', "line 8: ends in the middle of a record"),
        ('{"episode": "e7", "path": [NaN]}', r"line 8 \(episode 'e7'\), field 'path', item 0: NaN is not"),
        ('{"episode": "e7", "path": [[1], ["a"]]}', r"line 8 \(episode 'e7'\), field 'path'"),
        ("gibberish", "line 8, byte 0: is not JSON near 'gibberish'"),
    ):
        file = tmp_path / f"bad.jsonl{ending}"
        content = "\n".join([*lines[:7], damage, *lines[8:]]).encode()
        file.write_bytes(gzip.compress(content) if ending else content)
        with pytest.raises(FormatError, match=rf"^{file}, {told}"):
            convert(file, tmp_path / "made.parquet", rows=rows)
        assert not (tmp_path / "made.parquet").exists()


@pytest.mark.parametrize("rows", [3, 100])
def test_errors_name_the_record_of_the_file(tmp_path: Path, rows: int) -> None:
    records = [{"instr_id": f"{n}_0", "trajectory": [["a", 0.5, 0]]} for n in range(20)]
    for damage, told in (
        ({"instr_id": "x", "trajectory": [5]}, r", record 13 \(episode 'x'\), field 'trajectory'"),
        ({"instr_id": "x", "trajectory": []}, r", record 13 \(episode 'x'\): its walk has no steps"),
        ({"trajectory": [["a"]]}, ", record 13: the field 'instr_id' is missing"),
        ({"instr_id": "x", "trajectory": [["a", float("nan"), 0]]}, r", record 13 \(episode 'x'\).*NaN is not"),
    ):
        file = write(tmp_path, [*records[:13], damage, *records[14:]])
        with pytest.raises(FormatError, match=f"^{file}{told}"):
            convert(file, tmp_path / "made.parquet", rows=rows)
    file = write(tmp_path, records)
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(FormatError, match="ends in the middle of a record"):
        convert(file, tmp_path / "made.parquet", rows=rows)


def test_large_damaged_files_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "NAMED_LIMIT", 100)
    file = write(tmp_path, [{"instr_id": f"{n}_0", "trajectory": [["a", 0.5, 0]]} for n in range(20)])
    content = file.read_bytes()
    for damaged, told in ((content[:-1], "truncated"), (content[:200] + b"}" + content[201:], "malformed.*byte")):
        file.write_bytes(damaged)
        with pytest.raises(FormatError, match=told):
            convert(file, tmp_path / "made.parquet")


def test_errors_name_the_row_or_the_episode(tmp_path: Path) -> None:
    rows = [{"episode": f"e{n}", "path": [[0.0, 1.0], [n, 2.0]]} for n in range(9)]
    rows[7]["path"] = [[0.0, float("nan")]]
    file = tmp_path / "t.parquet"
    pq.write_table(pa.Table.from_pylist(rows), file)
    with pytest.raises(FormatError, match="row 7, column 'path', step 0: coordinates must be finite"):
        convert(file, tmp_path / "made.parquet", rows=2)
    text = tmp_path / "t.csv"
    text.write_text("episode,path\n" + "".join(f"e{n},a b\n" for n in range(7)) + 'e7,"[""a"", 1.5]"\ne8,a\n')
    with pytest.raises(FormatError, match=r"row 7 \(episode 'e7'\), column 'path': cannot be read"):
        convert(text, tmp_path / "made.parquet", rows=2)
    text.write_text("episode,path\ne1,a b\ne2\n")
    with pytest.raises(FormatError, match=r"t\.csv: is not a table"):
        convert(text, tmp_path / "made.parquet")
    walks = {str(n): [[0, 0, n]] for n in range(9)} | {"7": [[0, 0]]}
    with pytest.raises(FormatError, match="episode '7', item 0: must be"):
        convert(write(tmp_path, walks), tmp_path / "made.parquet", rows=2)


def test_one_kind_of_path_in_a_file(tmp_path: Path) -> None:
    rows = [{"episode": 1, "path": ["a"]}, {"episode": 2, "path": [[0, 1]]}, {"episode": 3, "path": [[0, 1, 2]]}]
    for some, told in (
        (rows[:2], "'2': its path has points of 2 coordinates, but the file begins with labels"),
        (rows[1::-1], "'1': its path has labels, but the file begins with points of 2 coordinates"),
        (rows[1:], "'3': its path has points of 3 coordinates, but the file begins with points of 2 coordinates"),
    ):
        for size in (1, 9):
            with pytest.raises(FormatError, match=told):
                convert(write(tmp_path, some, lines=True), tmp_path / "made.parquet", rows=size)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"[]", b"no table", b"\x1f\x8bdamaged", b"PAR1damaged"])
def test_no_episodes(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "file.json"
    file.write_bytes(content)
    with pytest.raises(FormatError, match=f"^{file}: "):
        convert(file, tmp_path / "made.parquet")
    empty = tmp_path / "empty.parquet"
    pq.write_table(pa.table({"episode": pa.array([], pa.string()), "path": pa.array([], pa.list_(pa.string()))}), empty)
    with pytest.raises(FormatError, match="holds no episodes"):
        convert(empty, tmp_path / "made.parquet")


def test_long_lines_and_damaged_gzip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = many(tmp_path, name="walks.jsonl.gz")
    file.write_bytes(file.read_bytes()[:-12])
    with pytest.raises(FormatError, match=r"walks\.jsonl\.gz: is damaged gzip"):
        convert(file, tmp_path / "made.parquet")
    monkeypatch.setattr(cutting, "LINE_LIMIT", 50)
    file = write(tmp_path, [{"episode": n, "path": ["a" * 12 * n]} for n in range(1, 5)], lines=True)
    with pytest.raises(FormatError, match="line 2 has more than 50 bytes"):
        convert(file, tmp_path / "made.parquet")
