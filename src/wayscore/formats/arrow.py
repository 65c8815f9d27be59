"""Rows of a run out of Arrow tables and Parquet: columns as they are, without a Python object per row.

A row has an `episode` that names its reference, or carries its own `scene` and `reference`; its `path` (or `query`) is
what the agent did, and `stopped` says whether it stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any

import msgspec
import numpy as np
from msgspec import structs

from wayscore.errors import FormatError, OptionError
from wayscore.formats.base import EMPTY_PATH, Fault, Source
from wayscore.formats.decoding import not_finite
from wayscore.formats.episodes import BatchPaths, CodedPaths, EpisodeBatch
from wayscore.formats.storage import parquet_table
from wayscore.paths import PathBatch

RECORDED = ("stopped", "goal_distances", "headings", "recorded")
"""What rows may record beside their paths; `recorded` holds whatever else, as a JSON object."""
COLUMNS = ("episode", "scene", "reference", "path", "query", *RECORDED)
"""What is read of a table; at least a path or query, and an episode or a reference."""
EXPECTED = 'a table of paths: {"episode": ..., "path": [label, ...] or [[x, y, z], ...]} per row'


def from_arrow(table: Any, source: Source, *, first: int = 0, row: int = 0) -> EpisodeBatch:
    """Take the rows of an Arrow table or record batch; dictionaries of labels and points are not copied.

    Columns may be in any order, and those not in `COLUMNS` are ignored. `first` is the number of the first row in the
    run, `row` its number in the file.
    """
    names = table.schema.names
    columns = {name: _whole(table.column(name)) for name in COLUMNS if name in names}
    field = "path" if "path" in columns else "query"
    if field not in columns or not ("episode" in columns or "reference" in columns):
        raise FormatError(
            f"{source}: the columns are {', '.join(names) or 'none'}; expected path (or query), and episode or "
            "scene and reference"
        )
    if "reference" in columns and "episode" in columns and columns["episode"].null_count == len(table):
        del columns["episode"]
    bad = np.zeros(len(table), dtype=bool)
    for name in (name for name in ("episode", field, "reference") if name in columns):
        for number, fault in (_absent if name == "episode" else _faults)(columns[name], name, source):
            if not bad[number]:
                named = columns["episode"][number].as_py() if "episode" in columns else None
                episode = None if named is None else str(named)
                source.refuse(Fault(fault.what, f"row {row + number}", episode, fault.field, fault.expected))
            bad[number] = True
    if bad.any():
        import pyarrow as pa

        kept = pa.array(np.flatnonzero(~bad))
        columns = {name: column.take(kept) for name, column in columns.items()}
    rows = np.flatnonzero(~bad)
    return EpisodeBatch(
        _paths(columns[field], field, source),
        columns.get("episode"),
        columns.get("scene"),
        _paths(columns["reference"], "reference", source) if "reference" in columns else None,
        _recorded(columns, source, row),
        first,
        lambda number: f"{source}, row {row + int(rows[number])}",
    )


def _recorded(columns: Mapping[str, Any], source: Source, first: int) -> dict[str, list[Any]]:
    found = {
        name: columns[name].to_pylist()
        for name in RECORDED
        if name in columns and columns[name].null_count < len(columns[name])
    }
    texts = found.pop("recorded", [])
    try:
        rows = [msgspec.json.decode(text, type=dict[str, Any]) if text else {} for text in texts]
    except (msgspec.MsgspecError, TypeError):
        raise FormatError(f"{source}, from row {first} on: the column 'recorded' must hold JSON objects") from None
    for name in dict.fromkeys(name for row in rows for name in row):
        found[name] = [row.get(name) for row in rows]
    if "goal_distances" in found:
        found["goal_distances"] = [as_distances(some) for some in found["goal_distances"]]
    return found


def as_distances(values: Sequence[float | str | None] | None) -> list[float] | None:
    """Return distances to the goal as numbers: null and "inf" stand for infinity, which JSON does not have."""
    return None if values is None else [inf if value is None or value == "inf" else float(value) for value in values]


def as_arrow(table: Any) -> Any:
    """Return a table of any library as PyArrow's, without copying where both keep Arrow's layout."""
    import pyarrow as pa

    if isinstance(table, pa.Table | pa.RecordBatch):
        return table
    try:
        return pa.table(table) if hasattr(table, "__arrow_c_stream__") else pa.Table.from_pandas(table)
    except (AttributeError, TypeError, pa.ArrowException) as error:
        why = f" ({error.args[0]})" if isinstance(error, pa.ArrowException) else ""
        raise OptionError(
            f"expected a file, a Run, paths by episode, or an Arrow table or data frame, got "
            f"{type(table).__name__}{why}"
        ) from None


def reference_columns(source: Source, names: Sequence[str]) -> tuple[dict[str, list[Any]], dict[str, str]]:
    """Read those of `names` that a Parquet file has: paths as lists of labels or arrays of points."""
    table = parquet_table(str(source), source.content)
    columns: dict[str, list[Any]] = {}
    for name in (name for name in names if name in table.column_names):
        if name not in ("path", "dense"):
            columns[name] = table.column(name).to_pylist()
            if name in ("start_distance", "heading"):  # a missing number is NaN in many writers
                columns[name] = [None if cell != cell else cell for cell in columns[name]]
            continue
        column = _whole(table.column(name))
        kept = np.flatnonzero(np.asarray(column.is_valid())) if name == "dense" else np.arange(len(column))
        column = column.drop_null() if name == "dense" else column  # only dense walks may be missing
        for number, fault in _faults(column, name, source):
            source.refuse(structs.replace(fault, where=f"row {kept[number]}"))
        paths = _paths(column, name, source)
        columns[name] = [None] * len(table)
        for number, row in enumerate(kept.tolist()):
            columns[name][row] = paths.path(number) if isinstance(paths, CodedPaths) else paths[number]
    return columns, {}


def _absent(column: Any, field: str, _: Source) -> Iterator[tuple[int, Fault]]:
    """Go through the rows that have nothing in a column."""
    for number in np.flatnonzero(~np.asarray(column.is_valid())).tolist():
        yield number, Fault(f"the field {field!r} is missing", expected=EXPECTED)


def _faults(column: Any, field: str, source: Source) -> Iterator[tuple[int, Fault]]:
    """Go through what is wrong with the paths of a column, by row."""
    import pyarrow as pa

    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        raise FormatError(f"{source}: the column {field!r} must hold lists, got Arrow type {column.type}")
    lengths = np.asarray(column.value_lengths().fill_null(1))
    places = column.flatten()
    if not column.null_count and lengths.all() and not places.null_count and not pa.types.is_nested(places.type):
        return
    yield from _absent(column, field, source)
    for number in np.flatnonzero(lengths == 0).tolist():
        yield number, Fault(EMPTY_PATH)
    filled = np.where(np.asarray(column.is_valid()), lengths, 0)
    ends = np.cumsum(filled)
    for at in np.flatnonzero(~np.asarray(places.is_valid())).tolist():
        number = int(np.searchsorted(ends, at, side="right"))
        step = at - int(ends[number] - filled[number])
        what = "must be an integer or text or a list, got null"
        yield number, Fault(what, field=f"field {field!r}, item {step}", expected=EXPECTED)
    if pa.types.is_nested(places.type):
        numbers = places.flatten()
        values = numbers.to_numpy(zero_copy_only=False)
        if values.dtype.kind != "f" or np.isfinite(values).all():
            return
        starts = np.concatenate(([0], np.cumsum(np.asarray(places.value_lengths().fill_null(0)))))
        for at in np.flatnonzero(~np.isfinite(values)).tolist():
            point = int(np.searchsorted(starts, at, side="right")) - 1
            number = int(np.searchsorted(ends, point, side="right"))
            step = point - int(ends[number] - filled[number])
            yield number, not_finite(float(values[at]), (field, step, at - int(starts[point])))


def _paths(column: Any, field: str, source: Source) -> BatchPaths:
    import pyarrow as pa

    kind = column.type
    offsets = np.asarray(column.offsets).astype(np.int64)
    places = column.values.slice(offsets[0], offsets[-1] - offsets[0]) if len(column) else column.flatten()
    offsets -= offsets[0]
    if pa.types.is_nested(places.type):
        numbers = places.flatten()
        sizes = set(places.value_lengths().unique().to_pylist())
        if len(sizes) > 1 or numbers.null_count:
            raise FormatError(f"{source}: the column {field!r} mixes points of several dimensions, or holds nulls")
        points = np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)
        return PathBatch(points.reshape(len(places), *sizes or (1,)), offsets)
    coded = pa.types.is_dictionary(places.type)
    label = places.type.value_type if coded else places.type
    texts = pa.types.is_string(label) or pa.types.is_large_string(label) or pa.types.is_string_view(label)
    if not (texts or pa.types.is_integer(label)):
        raise FormatError(
            f"{source}: the column {field!r} must hold labels, or points of one dimension, got Arrow type {kind}"
        )
    named = places if coded else places.dictionary_encode()
    if coded and len(named.dictionary.unique()) < len(named.dictionary):  # a label has one code
        named = places.cast(label).dictionary_encode()
    return CodedPaths(named.indices.cast(pa.int32()).to_numpy(), offsets, named.dictionary.to_pylist())


def _whole(column: Any) -> Any:
    import pyarrow as pa

    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
