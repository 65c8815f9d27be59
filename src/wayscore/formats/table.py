"""Plain tables of episodes, for agents of one's own: JSON lines, a JSON array, CSV or Parquet.

Columns `episode`, `scene` and `path` (a run needs no scene); optional for references: `path_id`, `instruction`,
`goals`, `start_distance`, `heading`, `dense`; for runs: `stopped`. A path is a list of labels (text or integers) or of
points; in CSV it is written as JSON, or as labels separated by spaces. Parquet files that `wayscore convert` wrote hold
codes for labels, and say which format they came from.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from wayscore.episodes import Query, Reference, References, Run
from wayscore.errors import FormatError
from wayscore.formats.base import REFERENCES, RUN, Kind, make_references, make_run
from wayscore.formats.beginning import Beginning, look
from wayscore.formats.columns import (
    FORMAT,
    OPTIONS,
    REFUSED,
    Columns,
    Places,
    Points,
    notes_of,
    read_csv,
    read_parquet,
    refuse_cell,
)
from wayscore.formats.decoding import decode_each, place
from wayscore.formats.faults import Fault, in_words
from wayscore.formats.files import Source
from wayscore.formats.trajectories import Name

EXPECTED = 'a table of episodes: {"episode": ..., "scene": ..., "path": [label, ...] or [[x, y, z], ...]} a row'
EXPECTED_RUN = 'a table of walks: {"episode": ..., "path": [label, ...] or [[x, y, z], ...]} a row'


class ReferenceRow(msgspec.Struct, kw_only=True, gc=False):
    """One reference."""

    episode: Name
    scene: Name
    path: Places
    path_id: Name | None = None
    instruction: str | None = None
    goals: list[str] | None = None
    start_distance: float | None = None
    heading: float | None = None
    dense: Points | None = None


class QueryRow(msgspec.Struct, kw_only=True, gc=False):
    """One walk."""

    episode: Name
    path: Places
    stopped: bool | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Plain tables."""

    name: str = "table"
    title: str = "table"

    def sniff(self, beginning: Beginning) -> Collection[Kind]:
        """Recognise the columns `episode` and `path`; with a `scene`, rows can be references too."""
        if not beginning.has("episode", "path"):
            return ()
        return (*REFERENCES, *RUN) if beginning.has("scene") else RUN

    def references(self, source: Source) -> References:
        """Read references."""
        rows = _rows(source, ReferenceRow, EXPECTED)
        notes = notes_of(source)
        made = make_references(
            source,
            self,
            (
                Reference(
                    episode=str(row.episode),
                    scene=str(row.scene),
                    path=path,
                    path_id=str(row.episode if row.path_id is None else row.path_id),
                    instruction=row.instruction or "",
                    goals=tuple(row.goals or ()),
                    start_distance=row.start_distance,
                    dense=row.dense,
                    heading=row.heading or 0.0,
                )
                for row, path in _with_paths(source, rows)
            ),
        )
        return replace(made, name=made.name + notes.get(OPTIONS, ""), format=notes.get(FORMAT, self.name))

    def run(self, source: Source) -> Run:
        """Read a run."""
        rows = _with_paths(source, _rows(source, QueryRow, EXPECTED_RUN))
        made = make_run(source, self, (Query(str(row.episode), path, row.stopped) for row, path in rows))
        return replace(made, format=notes_of(source).get(FORMAT, self.name))


def _rows(source: Source, kind: Any, expected: str) -> Iterable[tuple[int | str, Any]]:
    """Return every row with what `place` takes to say where it is."""
    layout = look(source.content).layout
    if layout == "parquet":
        return _from_columns(source, read_parquet(source, kind.__struct_fields__), kind, expected)
    if layout in ("csv", "text"):
        return _from_columns(source, read_csv(source, kind.__struct_fields__), kind, expected)
    return decode_each(source, kind, names=("episode",), expected=expected)


def _from_columns(source: Source, columns: Columns, kind: Any, expected: str) -> list[tuple[int | str, Any]]:
    for field in msgspec.structs.fields(kind):
        if field.name in columns:
            for row, what in _wrong_cells(columns[field.name], field).items():
                refuse_cell(source, columns, field.name, row, what, expected)
        elif field.required:
            raise FormatError(f"{source}: the column {field.name!r} is missing; expected {expected}")
    cells = list(zip(*columns.values(), strict=True))
    if not cells:
        raise FormatError(f"{source}: holds no rows; expected {expected}")
    return [
        (f"row {number}", kind(**dict(zip(columns, row, strict=True))))
        for number, row in enumerate(cells)
        if not source.faults or not any(cell is REFUSED for cell in row)
    ]


def _wrong_cells(column: list[Any], field: Any) -> dict[int, str]:
    """Return what is wrong with the cells of a column, by row; found at once where nothing is."""
    if field.name in ("path", "dense"):  # looked at when it was read, if there is one
        return {row: "is empty" for row, cell in enumerate(column) if cell is None and field.required}
    try:
        msgspec.convert(column, list[field.type])
    except msgspec.ValidationError:
        found = ((row, _wrong(cell, field.type)) for row, cell in enumerate(column) if cell is not REFUSED)
        return {row: what for row, what in found if what}
    return {}


def _wrong(cell: Any, kind: Any) -> str:
    try:
        msgspec.convert(cell, kind)
    except msgspec.ValidationError as error:
        return in_words(str(error).partition(" - at ")[0])
    return ""


def _with_paths(source: Source, rows: Iterable[tuple[int | str, Any]]) -> Iterator[tuple[Any, Any]]:
    """Yield rows with their paths: labels as a list and points as an array; both in one path are refused."""
    for where, row in rows:
        path, dense = _even(row.path), getattr(row, "dense", None)
        if path is None:
            what = "mixes points of several dimensions, or points and labels"
            source.refuse(Fault(what, place(where, source), str(row.episode), "field 'path'", EXPECTED_RUN))
            continue
        if dense is not None:
            row.dense = _even(dense)
            if not isinstance(row.dense, np.ndarray) or not len(row.dense):
                what = "must be a list of points of one dimension; leave it out where there is none"
                source.refuse(Fault(what, place(where, source), str(row.episode), "field 'dense'", EXPECTED))
                continue
        yield row, path


def _even(places: Any) -> Any:
    """Return labels as they are, and points as an array; None for a mixture."""
    if isinstance(places, np.ndarray) or list not in map(type, places):
        return places
    lengths = {len(step) if isinstance(step, list) else 0 for step in places}
    return np.array(places, dtype=np.float64) if len(lengths) == 1 and 0 not in lengths else None


TABLE_FORMAT = Table()
