"""Columns of CSV and Parquet files as Python lists, with paths as lists of labels or arrays of points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, TypeAlias, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from wayscore.errors import FormatError, first_line
from wayscore.formats import files
from wayscore.formats.beginning import PARQUET_MAGIC
from wayscore.formats.faults import FAULTS, Fault
from wayscore.formats.files import Source

Places: TypeAlias = list[str | int | list[float]]
Points: TypeAlias = list[list[float]]
Columns: TypeAlias = dict[str, list[Any]]
REFUSED: Any = object()
"""Stands for a cell that was refused; its row is left out."""
LABELS = b"wayscore.labels"
"""Where a Parquet file says in its metadata what the codes in its paths stand for."""
FORMAT = b"wayscore.format"
"""Where it names the format that its rows were read from ..."""
OPTIONS = b"wayscore.options"
"""... and the settings of that reader, as `load_references` adds them to a name."""


def labels_of(schema: Any, file: object = "this table") -> dict[str, list[Any]] | None:
    """Return what the codes in the paths of an Arrow schema's rows stand for: labels by scene.

    Under "" are those of rows that have no scene. None: labels stand in the rows as they are. Errors name the file.

    >>> import pyarrow as pa
    >>> labels_of(pa.schema([], {LABELS: b'{"": ["door", 7]}'}))
    {'': ['door', 7]}
    """
    text = (schema.metadata or {}).get(LABELS)
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=dict[str, list[str | int]])
    except FAULTS:
        raise FormatError(f"{file}: the labels in its metadata are damaged; copy or write it again") from None


def notes_of(source: Source) -> dict[bytes, str]:
    """Return what a Parquet file says in its metadata of where its rows came from."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not source.content.startswith(PARQUET_MAGIC):
        return {}
    notes = pq.read_schema(pa.BufferReader(source.content)).metadata or {}
    return {name: notes[name].decode(errors="replace") for name in (FORMAT, OPTIONS) if name in notes}


def read_parquet(source: Source, names: tuple[str, ...]) -> Columns:
    """Read those of `names` that a Parquet file has."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(source.content), page_checksum_verification=True)
        groups = (file.metadata.row_group(number) for number in range(file.metadata.num_row_groups))
        if sum(group.total_byte_size for group in groups) > files.SIZE_LIMIT:
            raise FormatError(f"{source}: has more than {files.SIZE_LIMIT:,} bytes when decompressed; split it")
        labels = labels_of(file.schema_arrow, source)
        wanted = (*names, "scene") if labels and "scene" not in names else names
        table = file.read(columns=[name for name in wanted if name in file.schema_arrow.names])
    except (pa.ArrowException, OSError) as error:
        raise FormatError(f"{source}: is damaged Parquet ({first_line(error)}); copy or write it again") from None
    columns = {name: table.column(name) for name in table.column_names}
    scenes = list(map(str, columns["scene"].to_pylist())) if "scene" in columns else [""] * len(table)
    named = None if labels is None else partial(_named, source, scenes, labels)
    result = {
        name: _paths(source, name, column, range(len(column)), named if name == "path" else None)
        if name in ("path", "dense")
        else column.to_pylist()
        for name, column in columns.items()
    }
    for name in ("start_distance", "heading"):  # a missing number is NaN in many writers
        if name in result:
            result[name] = [None if cell != cell else cell for cell in result[name]]
    return {name: cells for name, cells in result.items() if name in names}


def read_csv(source: Source, names: tuple[str, ...]) -> Columns:
    """Read those of `names` that a CSV file with a header has; empty cells become None."""
    import pyarrow as pa
    from pyarrow import csv

    content = source.content
    try:
        table = csv.read_csv(
            pa.BufferReader(content),
            read_options=csv.ReadOptions(block_size=min(len(content) + 1, 2**31 - 1)),
            parse_options=csv.ParseOptions(newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                include_columns=list(names),
                include_missing_columns=True,
                column_types=dict.fromkeys(names, pa.string()),
            ),
        )
    except pa.ArrowException as error:
        raise FormatError(
            f"{source}: is not a table ({first_line(error)}); write a header and one row a line"
        ) from None
    header = content.split(b"\n", 1)[0].decode(errors="replace").strip().split(",")
    present = [name for name in names if name in {column.strip('"') for column in header}]
    columns: Columns = {name: [cell or None for cell in table.column(name).to_pylist()] for name in present}
    for name, reader in READERS.items():
        for row, cell in enumerate(columns.get(name, ())):
            if cell is not None:
                try:
                    columns[name][row] = reader(cell)
                except (msgspec.MsgspecError, ValueError) as error:
                    what = f"cannot be read from {_short(cell)} ({first_line(error)}); {HINTS[name]}"
                    refuse_cell(source, columns, name, row, what)
    return columns


def refuse_cell(source: Source, columns: Columns, name: str, row: int, what: str, expected: str = "") -> None:
    """Refuse a cell; where the source collects its faults, `REFUSED` stands in its place."""
    episode = columns["episode"][row] if "episode" in columns else None
    named = str(episode) if isinstance(episode, str | int) else None
    source.refuse(Fault(what, f"row {row}", named, f"column {name!r}", expected))
    columns[name][row] = REFUSED


HINTS = {
    "path": "write a JSON list of labels or of finite points, or labels separated by spaces",
    "goals": "write a JSON list of labels, or labels separated by spaces",
    "start_distance": "write metres as a finite number",
    "heading": "write radians as a finite number",
    "dense": "write a JSON list of finite points",
    "stopped": "write true or false",
}


def _cell_path(cell: str) -> Any:
    return msgspec.json.decode(cell, type=Places) if cell.lstrip().startswith("[") else cell.split()


def _cell_goals(cell: str) -> Any:
    return msgspec.json.decode(cell, type=list[str]) if cell.lstrip().startswith("[") else cell.split()


def _cell_points(cell: str) -> Any:
    return msgspec.json.decode(cell, type=Points)


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


READERS: dict[str, Callable[[str], Any]] = {
    "path": _cell_path,
    "goals": _cell_goals,
    "start_distance": _cell_number,
    "heading": _cell_number,
    "dense": _cell_points,
    "stopped": _cell_flag,
}


def _named(
    source: Source,
    scenes: Sequence[str],
    labels: Mapping[str, Sequence[Any]],
    codes: list[int],
    starts: NDArray[Any],
    numbers: Sequence[int],
) -> list[Any]:
    """Return the labels that the codes of paths, end to end, stand for; `REFUSED` for those that stand for none."""
    known = {scene: labels.get(scene, ()) for scene in dict.fromkeys(scenes)}
    order = {scene: place for place, scene in enumerate(known)}
    sizes = np.array([*map(len, known.values())], dtype=np.int64)
    of_row = np.fromiter((order[scenes[number]] for number in numbers), dtype=np.int64, count=len(numbers))
    of_code = np.repeat(of_row, np.diff(starts))
    places = np.array(codes, dtype=np.int64)
    outside = (places < 0) | (places >= sizes[of_code])
    for at in np.flatnonzero(outside).tolist():
        row = int(np.searchsorted(starts, at, side="right")) - 1
        scene = scenes[numbers[row]]
        of = f" of scene {scene!r}" if scene else ""
        what = f"the code {codes[at]} is none of the {len(known[scene])} labels{of}; convert the original file again"
        source.refuse(Fault(what, f"row {numbers[row]}", field=f"column 'path', step {at - int(starts[row])}"))
    every = np.array([*chain.from_iterable(known.values()), REFUSED], dtype=object)
    return cast("list[Any]", every[np.where(outside, -1, places + (np.cumsum(sizes) - sizes)[of_code])].tolist())


def _paths(
    source: Source, name: str, column: Any, numbers: Sequence[int], named: Callable[..., list[Any]] | None = None
) -> list[Any]:
    """Slice a list column: its places are turned into Python values or one array at once, not row by row.

    `numbers` are what errors call the rows; `named` turns codes into labels. Only the column 'path' needs a value in
    every row.
    """
    import pyarrow as pa

    kind = column.type
    where = f"{source}, column {name!r}"
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        raise FormatError(f"{where}: must hold lists, got Arrow type {kind}")
    if column.null_count:
        empty = column.is_null().to_pylist()
        for row in (row for row, null in zip(numbers, empty, strict=True) if null and name == "path"):
            source.refuse(Fault("is null; give every episode a path", f"row {row}", field="column 'path'"))
        kept = [row for row, null in zip(numbers, empty, strict=True) if not null]
        others = iter(_paths(source, name, column.drop_null(), kept, named))
        nothing = REFUSED if name == "path" else None
        return [nothing if null else next(others) for null in empty]
    array = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], kind)
    starts = np.asarray(array.offsets)
    starts = starts - starts[0]
    places = _places(where, array.flatten())
    if named is not None and pa.types.is_integer(kind.value_type):
        places = named(places, starts, numbers)
    bounds = zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    if isinstance(places, list):
        walks = (places[start:stop] for start, stop in bounds)
        return [REFUSED if REFUSED in walk else walk for walk in walks] if source.faults else list(walks)
    paths = [places[start:stop] for start, stop in bounds]
    bad = np.flatnonzero(~np.isfinite(places).all(axis=1))
    rows, firsts = np.unique(np.searchsorted(starts, bad, side="right") - 1, return_index=True)
    for row, at in zip(rows.tolist(), bad[firsts].tolist(), strict=True):
        what = f"coordinates must be finite, got {places[at].tolist()}; leave the episode out or write its real value"
        source.refuse(Fault(what, f"row {numbers[row]}", field=f"column {name!r}, step {at - starts[row]}"))
        paths[row] = REFUSED
    return paths


def _places(where: str, values: Any) -> Any:
    import pyarrow as pa

    kind = values.type
    if pa.types.is_dictionary(kind):
        return _places(where, values.dictionary_decode())
    nested = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    numbers = values.flatten() if nested else values
    if values.null_count or numbers.null_count:
        raise FormatError(f"{where}: a path holds a null; leave the step out")
    if not nested and (is_text(kind) or pa.types.is_integer(kind)):
        return values.to_pylist()
    lengths = set(values.value_lengths().unique().to_pylist()) if nested else set()
    if len(lengths) > 1 or not nested or not (pa.types.is_floating(numbers.type) or pa.types.is_integer(numbers.type)):
        raise FormatError(f"{where}: places must be text, integers, or points of one dimension, got Arrow type {kind}")
    points = numbers.to_numpy(zero_copy_only=False).astype(np.float64)
    return points.reshape(len(values), *lengths or (1,))  # there may be no points at all


def is_text(kind: Any) -> bool:
    """Say whether an Arrow type holds text, as it is or by dictionary."""
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _short(cell: str) -> str:
    return repr(cell if len(cell) <= 40 else cell[:37] + "...")
