"""Plain tables of episodes, for agents of one's own: JSON lines, a JSON array, CSV or Parquet.

Columns `episode`, `scene` and `path` (a run needs no scene); optional for references: `path_id`, `instruction`,
`goals`, `start_distance`; for runs: `stopped`. A path is a list of labels (text or integers) or of points; in CSV
it is written as JSON, or as labels separated by spaces.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from wayscore.episodes import Query, Reference, References, Run
from wayscore.errors import FormatError
from wayscore.formats.base import REFERENCES, RUN, Kind, make_references, make_run
from wayscore.formats.beginning import Beginning, look
from wayscore.formats.columns import Columns, Places, read_csv, read_parquet
from wayscore.formats.decoding import decode_records, in_words, place
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
        return make_references(
            source,
            self,
            (
                Reference(
                    episode=str(row.episode),
                    scene=str(row.scene),
                    path=_path(source, number, row),
                    path_id=str(row.episode if row.path_id is None else row.path_id),
                    instruction=row.instruction or "",
                    goals=tuple(row.goals or ()),
                    start_distance=row.start_distance,
                )
                for number, row in enumerate(rows)
            ),
        )

    def run(self, source: Source) -> Run:
        """Read a run."""
        rows = _rows(source, QueryRow, EXPECTED_RUN)
        walks = (Query(str(row.episode), _path(source, n, row), row.stopped) for n, row in enumerate(rows))
        return make_run(source, self, walks)


def _rows(source: Source, kind: Any, expected: str) -> list[Any]:
    layout = look(source.content).layout
    if layout == "parquet":
        return _from_columns(source, read_parquet(source, kind.__struct_fields__), kind, expected)
    if layout in ("csv", "text"):
        return _from_columns(source, read_csv(source, kind.__struct_fields__), kind, expected)
    return decode_records(source, kind, names=("episode",), expected=expected)


def _from_columns(source: Source, columns: Columns, kind: Any, expected: str) -> list[Any]:
    for field in msgspec.structs.fields(kind):
        if field.name not in columns:
            if field.required:
                raise FormatError(f"{source}: the column {field.name!r} is missing; expected {expected}")
        elif field.name != "path":
            try:
                msgspec.convert(columns[field.name], list[field.type])  # type: ignore[name-defined]
            except msgspec.ValidationError as error:
                what, _, at = str(error).partition(" - at ")
                number = int(at.strip("`$[").split("]")[0])
                raise FormatError(
                    f"{source}, row {number} (episode {columns['episode'][number]!r}), column {field.name!r}: "
                    f"{in_words(what)}; expected {expected}"
                ) from None
        elif (row := next((row for row, path in enumerate(columns["path"]) if path is None), None)) is not None:
            raise FormatError(
                f"{source}, row {row} (episode {columns['episode'][row]!r}), column 'path': is empty; "
                f"expected {expected}"
            )
    rows = [kind(**dict(zip(columns, cells, strict=True))) for cells in zip(*columns.values(), strict=True)]
    if not rows:
        raise FormatError(f"{source}: holds no rows; expected {expected}")
    return rows


def _path(source: Source, number: int, row: Any) -> Any:
    """Return labels as a list and points as an array; both in one path are refused."""
    path = row.path
    if isinstance(path, np.ndarray) or not any(isinstance(step, list) for step in path):
        return path
    lengths = {len(step) if isinstance(step, list) else 0 for step in path}
    if len(lengths) > 1 or 0 in lengths:
        where = place(number, source) if look(source.content).json else f"row {number}"
        raise FormatError(
            f"{source}, {where} (episode {str(row.episode)!r}), field 'path': mixes points of several dimensions, or "
            f"points and labels; expected {EXPECTED_RUN}"
        )
    return np.array(path, dtype=np.float64)


TABLE_FORMAT = Table()
