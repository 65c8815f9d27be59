"""Ways to damage the files of a run, and what commands say of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from typer.testing import CliRunner

from tests.bulk_data import Town
from wayscore.cli.app import app

Case: TypeAlias = tuple[Callable[[Town, Path], Path], str]
"""What makes a damaged run in a folder, and what is said of it."""
PATH = 2
"""The column of the paths."""


def put(table: pa.Table, **columns: Any) -> pa.Table:
    """Return a table with other columns in place of some."""
    for name, column in columns.items():
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def changed(table: pa.Table, row: int, **cells: Any) -> pa.Table:
    """Return a table with other cells in a row."""
    rows = table.to_pylist()
    rows[row].update(cells)
    return pa.Table.from_pylist(rows, table.schema)


def flipped(path: Path, group: int, column: int = PATH) -> Path:
    """Change one bit in the middle of a column of a row group."""
    chunk = pq.read_metadata(path).row_group(group).column(column)
    content = bytearray(path.read_bytes())
    content[chunk.data_page_offset + (chunk.total_compressed_size // 2)] ^= 4
    path.write_bytes(content)
    return path


def replaced(path: Path, line: int, text: str) -> Path:
    """Write another text in the place of a line, counted from 1."""
    lines = path.read_text().split("\n")
    lines[line - 1] = text
    path.write_text("\n".join(lines))
    return path


def torn(path: Path, size: int = 1000) -> Path:
    path.write_bytes(path.read_bytes()[:size])
    return path


def written(path: Path, content: str = "") -> Path:
    path.write_text(content)
    return path


def refused(words: list[str], out: Path) -> str:
    """Run a command that must fail; return what it says."""
    found = CliRunner().invoke(app, [*words, "--episodes", str(out)])
    assert found.exit_code == 1, found.output
    assert isinstance(found.exception, SystemExit), found.exception
    assert found.stdout == ""
    assert found.stderr.startswith("wayscore: ")
    assert found.stderr.count("\n") == 1
    assert not out.exists()
    return found.stderr
