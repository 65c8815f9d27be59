"""Rows of CSV files, and of Parquet files of references: their columns, each cell checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from types import GenericAlias
from typing import Any, TypeAlias

import msgspec
import numpy as np

from wayscore.errors import FormatError, first_line
from wayscore.escaping import from_cell
from wayscore.formats.arrow import reference_columns
from wayscore.formats.base import Fault, Source
from wayscore.formats.decoding import in_words
from wayscore.formats.sniff import PARQUET_MAGIC, header, own_names
from wayscore.formats.trajectories import Loose, flatten

Places: TypeAlias = list[str | int | list[float]]
Points: TypeAlias = list[list[float]]


def decode_rows(source: Source, kind: Any, expected: str) -> list[tuple[str, Any]]:
    """Return the rows of a file as records of this kind, each with what errors call it."""
    parquet = source.content.startswith(PARQUET_MAGIC)
    read = reference_columns if parquet else _read_csv
    columns, titles = read(source, kind.__struct_fields__)
    refused: set[tuple[int, str]] = set()

    def refuse(row: int, name: str, what: str, expected: str) -> None:
        episode = columns["episode"][row] if "episode" in columns else None
        named = str(episode) if isinstance(episode, str | int) else None
        source.refuse(Fault(what, f"row {row}", named, f"column {titles.get(name, name)!r}", expected))
        refused.add((row, name))

    for name, (reader, hint) in {} if parquet else CELLS.items():
        for row, cell in enumerate(columns.get(name, ())):
            if cell is not None:
                try:
                    columns[name][row] = reader(cell)
                except (msgspec.MsgspecError, ValueError) as error:
                    short = repr(cell if len(cell) <= 40 else cell[:37] + "...")
                    refuse(row, name, f"cannot be read from {short} ({first_line(error)}); {hint}", "")
    for field in msgspec.structs.fields(kind):
        column = columns.get(field.name)
        if column is None and field.required:
            raise FormatError(f"{source}: the column {field.name!r} is missing; expected {expected}")
        if column is None:
            continue
        if field.name in ("path", "dense"):  # checked when they were read
            for row in [row for row, cell in enumerate(column) if cell is None and field.required]:
                refuse(row, field.name, "is empty", expected)
            continue
        try:
            msgspec.convert(column, GenericAlias(list, field.type))
        except msgspec.ValidationError:
            for row, cell in enumerate(column):
                if (row, field.name) not in refused:
                    try:
                        msgspec.convert(cell, field.type)
                    except msgspec.ValidationError as error:
                        refuse(row, field.name, in_words(str(error).partition(" - at ")[0]), expected)
    cells = list(zip(*columns.values(), strict=True))
    if not cells:
        raise FormatError(f"{source}: holds no rows; expected {expected}")
    left_out = {row for row, _ in refused}
    return [
        (f"row {number}", kind(**dict(zip(columns, row, strict=True))))
        for number, row in enumerate(cells)
        if number not in left_out
    ]


def _read_csv(source: Source, names: Sequence[str]) -> tuple[dict[str, list[Any]], dict[str, str]]:
    """Read those of `names` that a CSV file with a header has, and what it calls them; empty cells become None."""
    import pyarrow as pa
    from pyarrow import csv

    content = source.content
    delimiter, titles = header(content)
    own = {name: title for name, title in own_names(titles).items() if name in names}
    own |= {name: name for name in names if name in titles and name not in own}
    try:
        table = csv.read_csv(
            pa.BufferReader(content),
            read_options=csv.ReadOptions(block_size=min(len(content) + 1, 2**31 - 1)),
            parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                include_columns=list(own.values()),
                include_missing_columns=True,
                column_types=dict.fromkeys(own.values(), pa.string()),
            ),
        )
    except pa.ArrowException as error:
        raise FormatError(
            f"{source}: is not a table ({first_line(error)}); write a header and one row a line"
        ) from None
    columns = {
        name: [from_cell(cell) or None for cell in table.column(title).fill_null("").to_pylist()]
        for name, title in own.items()
    }
    if own.get("scene") == "scene_id":  # mp3d/17DRP5sb8fy/17DRP5sb8fy.glb
        columns["scene"] = [None if cell is None else PurePosixPath(cell).stem for cell in columns["scene"]]
    return columns, own


def _cell_path(cell: str) -> Any:
    """Read labels or points: JSON, or a list as Python prints it; steps of R2R's results have angles too."""
    if not cell.lstrip().startswith("["):
        return cell.split()
    text = cell if '"' in cell else cell.replace("'", '"').replace("(", "[").replace(")", "]")
    try:
        return msgspec.json.decode(text, type=Places)
    except msgspec.ValidationError as error:
        try:
            return flatten(msgspec.json.decode(text, type=Loose))
        except msgspec.ValidationError:
            raise error from None


def _cell_number(cell: str) -> float:
    number = float(cell)
    if not np.isfinite(number):
        raise ValueError("not finite")
    return number


def _cell_flag(cell: str) -> bool:
    flags = {"true": True, "1": True, "false": False, "0": False}
    if cell.strip().lower() not in flags:
        raise ValueError("neither true nor false")
    return flags[cell.strip().lower()]


CELLS: dict[str, tuple[Callable[[str], Any], str]] = {
    "path": (_cell_path, "write a JSON list of labels or of finite points, or labels separated by spaces"),
    "goals": (
        lambda cell: msgspec.json.decode(cell, type=Places) if cell.lstrip().startswith("[") else cell.split(),
        "write a JSON list of labels, or labels separated by spaces",
    ),
    "start_distance": (_cell_number, "write metres as a finite number"),
    "heading": (_cell_number, "write radians as a finite number"),
    "dense": (lambda cell: msgspec.json.decode(cell, type=Points), "write a JSON list of finite points"),
    "stopped": (_cell_flag, "write true or false"),
    "goal_distances": (msgspec.json.decode, "write a JSON list of metres, null where the goal is unreachable"),
    "headings": (msgspec.json.decode, "write a JSON list of angles"),
    "recorded": (msgspec.json.decode, "write a JSON object"),
    "facts": (msgspec.json.decode, "write a JSON object"),
}
"""How the cells of a column are read that are more than text, and what to do about one that cannot be."""
