"""Columns of CSV files as Python lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any, TypeAlias

import msgspec
import numpy as np

from wayscore.errors import FormatError, first_line
from wayscore.escaping import from_cell
from wayscore.formats.files import Fault, Source
from wayscore.formats.sniff import header, own_names
from wayscore.formats.trajectories import Loose, flatten

Places: TypeAlias = list[str | int | list[float]]
Points: TypeAlias = list[list[float]]
REFUSED: Any = object()
"""Stands for a cell that was refused; its row is left out."""


class Columns(dict[str, list[Any]]):
    """Columns by wayscore's names.

    Attributes:
        own: what the file calls them, where that is something else.
    """

    def __init__(self, columns: Mapping[str, list[Any]], own: Mapping[str, str] | None = None) -> None:
        super().__init__(columns)
        self.own = own or {}


def read_csv(source: Source, names: tuple[str, ...]) -> Columns:
    """Read those of `names` that a CSV file with a header has, by any of their names; empty cells become None."""
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
    columns = Columns(
        {name: [from_cell(cell) or None for cell in table.column(own[name]).fill_null("").to_pylist()] for name in own},
        own,
    )
    if own.get("scene") == "scene_id":  # mp3d/17DRP5sb8fy/17DRP5sb8fy.glb
        columns["scene"] = [None if cell is None else PurePosixPath(cell).stem for cell in columns["scene"]]
    for name, (reader, hint) in CELLS.items():
        for row, cell in enumerate(columns.get(name, ())):
            if cell is not None:
                try:
                    columns[name][row] = reader(cell)
                except (msgspec.MsgspecError, ValueError) as error:
                    short = repr(cell if len(cell) <= 40 else cell[:37] + "...")
                    what = f"cannot be read from {short} ({first_line(error)}); {hint}"
                    refuse_cell(source, columns, name, row, what)
    return columns


def refuse_cell(source: Source, columns: Columns, name: str, row: int, what: str, expected: str = "") -> None:
    """Refuse a cell; where the source collects its faults, `REFUSED` stands in its place."""
    episode = columns["episode"][row] if "episode" in columns else None
    named = str(episode) if isinstance(episode, str | int) else None
    source.refuse(Fault(what, f"row {row}", named, f"column {columns.own.get(name, name)!r}", expected))
    columns[name][row] = REFUSED


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
