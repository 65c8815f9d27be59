"""Rows of a run as they come out of Parquet, Arrow tables or JSON lines, not yet looked up in any scene.

A row has an `episode` that names its reference, or carries its own `scene` and `reference`; its `path` (or `query`) is
what the agent did, and `stopped` says whether it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from wayscore.errors import FormatError
from wayscore.formats.columns import Places, is_text
from wayscore.formats.layout import labels_of
from wayscore.formats.trajectories import Name
from wayscore.paths import Offsets, PathBatch

Where: TypeAlias = Callable[[int], str]
"""What errors call a row."""
COLUMNS = ("episode", "scene", "reference", "path", "query", "stopped")
"""What is read of a table; at least a path or query, and an episode or a reference."""
OWN = ("scene", "reference")
"""Those of rows that carry what they are scored against."""


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """Paths of labels: codes end to end, and what they stand for.

    Attributes:
        codes: int32; path i has those from offsets[i] to offsets[i + 1].
        offsets: one more than there are paths.
        labels: by scene, what each code stands for; under "" what it stands for in every scene.
    """

    codes: NDArray[np.int32]
    offsets: Offsets
    labels: Mapping[str, Sequence[Any]]


Walks: TypeAlias = Coded | PathBatch | list[Any]
"""Labels by code, points, or labels as they are."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Some rows.

    Attributes:
        walks: what the agent did.
        episodes: the names of the references (an Arrow array or a list), where there are any.
        scenes: where each was walked, likewise.
        references: what was asked for, where rows carry it.
        stopped: whether the agent said that it stopped, where rows tell.
        first: the number of the first row in the run.
        where: what errors call a row.
    """

    walks: Walks
    episodes: Any
    scenes: Any
    references: Walks | None
    stopped: Sequence[bool | None] | None
    first: int
    where: Where

    def __len__(self) -> int:
        return len(self.walks.offsets) - 1 if isinstance(self.walks, Coded) else len(self.walks)


class Line(msgspec.Struct, kw_only=True, gc=False):
    """A row as a JSON line."""

    path: Places
    episode: Name | None = None
    scene: Name | None = None
    reference: Places | None = None
    stopped: bool | None = None


def from_arrow(table: Any, first: int, where: Where, labels: Mapping[str, Sequence[Any]] | None = None) -> Rows:
    """Take the rows of an Arrow table or record batch; lists of codes and points are not copied.

    Args:
        table: with columns of `COLUMNS`, in any order; others are left alone.
        first: the number of its first row in the run.
        where: what errors call a row.
        labels: what codes stand for; what the table's own metadata says, by default.
    """
    names = table.schema.names
    if labels is None:
        labels = labels_of(table.schema)
    columns = {name: _whole(table.column(name)) for name in COLUMNS if name in names}
    walks = columns.get("path", columns.get("query"))
    if walks is None or not ("episode" in columns or "reference" in columns):
        raise FormatError(
            f"{where(0)}: the columns are {', '.join(names) or 'none'}; expected path (or query), and episode or "
            "scene and reference"
        )
    stopped = columns.get("stopped")
    return Rows(
        _walks(walks, "path" if "path" in columns else "query", where, labels),
        columns.get("episode"),
        columns.get("scene"),
        _walks(columns["reference"], "reference", where, labels) if "reference" in columns else None,
        None if stopped is None or stopped.null_count == len(stopped) else stopped.to_pylist(),
        first,
        where,
    )


def from_lines(lines: Sequence[Line], first: int, where: Where, own: bool) -> Rows:
    """Take decoded JSON lines; `own` says whether they carry what they are scored against."""
    needed = "reference" if own else "episode"
    lacking = [number for number, line in enumerate(lines) if getattr(line, needed) is None]
    if lacking:
        hint = "; rows without one need --references" if own else ""
        raise FormatError(f"{where(lacking[0])}: has no {needed}, which it needs{hint}")
    stopped = [line.stopped for line in lines]
    return Rows(
        _points([line.path for line in lines], "path", where),
        _names(lines, "episode", where),
        _names(lines, "scene", where) if own else None,
        _points([line.reference for line in lines], "reference", where) if own else None,
        stopped if any(flag is not None for flag in stopped) else None,
        first,
        where,
    )


def _names(lines: Sequence[Line], field: str, where: Where) -> list[str] | None:
    """Return the names that lines give; None where they give none."""
    names = [getattr(line, field) for line in lines]
    if None not in names:
        return list(map(str, names))
    if len({*names}) > 1:
        raise FormatError(f"{where(names.index(None))}: has no {field}, unlike others; name all or none")
    return None


def _points(paths: list[Any], what: str, where: Where) -> Walks:
    """Return paths of labels as they are, and paths of points as one batch."""
    if not paths or not paths[0] or not isinstance(paths[0][0], list):
        return paths
    return PathBatch.from_points(paths, role=lambda number: f"{where(number)}, {what}")


def _walks(column: Any, what: str, where: Where, labels: Mapping[str, Sequence[Any]] | None) -> Walks:
    import pyarrow as pa

    kind = column.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        raise FormatError(f"{where(0)}: the column {what!r} must hold lists, got Arrow type {kind}")
    if column.null_count:
        row = column.is_null().to_pylist().index(True)
        raise FormatError(f"{where(row)}: the column {what!r} is null; give every row a path")
    offsets = np.asarray(column.offsets).astype(np.int64)
    if len(empty := np.flatnonzero(offsets[1:] == offsets[:-1])):
        raise FormatError(f"{where(int(empty[0]))}: the {what} is empty; an agent that never moves has its start")
    places = column.values.slice(offsets[0], offsets[-1] - offsets[0])
    offsets -= offsets[0]
    if places.null_count:
        row = int(np.searchsorted(offsets, places.is_null().to_pylist().index(True), side="right")) - 1
        raise FormatError(f"{where(row)}: the {what} holds a null; leave the step out")
    if pa.types.is_integer(places.type) and labels is not None:
        codes = places.to_numpy()
        if codes.dtype != np.int32 and len(wide := np.flatnonzero((codes < 0) | (codes >= 2**31))):
            row = int(np.searchsorted(offsets, wide[0], side="right")) - 1
            raise FormatError(
                f"{where(row)}: code {codes[wide[0]]} stands for no label; convert the original file again"
            )
        return Coded(codes.astype(np.int32, copy=False), offsets, labels)
    if pa.types.is_nested(places.type):
        return _batch(places, offsets, what, where)
    if not (pa.types.is_integer(places.type) or is_text(places.type)):
        raise FormatError(
            f"{where(0)}: the column {what!r} must hold labels, or points of one dimension, got Arrow type {kind}"
        )
    named = places if pa.types.is_dictionary(places.type) else places.dictionary_encode()
    return Coded(named.indices.cast(pa.int32()).to_numpy(), offsets, {"": named.dictionary.to_pylist()})


def _batch(places: Any, offsets: Offsets, what: str, where: Where) -> PathBatch:
    numbers = places.flatten()
    sizes = set(places.value_lengths().unique().to_pylist())
    if len(sizes) != 1 or numbers.null_count:
        raise FormatError(f"{where(0)}: the column {what!r} mixes points of several dimensions, or holds nulls")
    points = np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64).reshape(len(places), -1)
    batch = PathBatch(points, offsets)
    batch.check_finite(role=lambda number: f"{where(number)}, {what}")
    return batch


def _whole(column: Any) -> Any:
    import pyarrow as pa

    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
