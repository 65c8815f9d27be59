"""Files of any size cut into chunks of records, each of which a format's own reader takes for a file of its own.

JSON lines, CSV and Parquet are read piece by piece; a JSON array or object is cut without decoding it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import IO, Any

import msgspec

from wayscore.episodes import References
from wayscore.errors import FormatError, first_line
from wayscore.formats import FORMATS, load_references, storage
from wayscore.formats.base import Format, Kind, read_with
from wayscore.formats.beginning import look
from wayscore.formats.decoding import LINE_LIMIT, _decoder, _Key
from wayscore.formats.faults import FAULTS, NAMED_LIMIT, in_words
from wayscore.formats.inputs import Input, parquet_bytes
from wayscore.formats.table import QueryRow, ReferenceRow

CHUNK_BYTES = 64 * 2**20
"""Bytes after which a chunk ends, however few its records are."""
BY_RECORD = ("r2r", "r4r", "rxr", "reverie", "street", "table")
"""Formats of references whose records mean the same when they are read apart, without settings."""
COLUMNS = tuple(dict.fromkeys((*ReferenceRow.__struct_fields__, *QueryRow.__struct_fields__)))
"""What is read of a table."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some records of a file, one after another.

    Attributes:
        records: lines, JSON values, keys with their values, or an Arrow table.
        pack: makes a file of its own from some of them.
        before: how many lines, records or rows of the file come before.
        share: how much of the file has been read after this chunk.
    """

    records: Any
    pack: Callable[[Any], bytes]
    before: int
    share: float

    def halves(self) -> tuple[Chunk, Chunk]:
        """Return the first and the second half."""
        middle = len(self.records) // 2
        second = replace(self, records=self.records[middle:], before=self.before + middle)
        return replace(self, records=self.records[:middle]), second


def can_cut(form: Format, kind: Kind, options: Mapping[str, Any]) -> bool:
    """Say whether the records of a file mean the same when they are read apart.

    Settings of a reader may concern all of a file, and so may a plug-in.
    """
    return not options and form.name in (BY_RECORD if kind == "references" else FORMATS)


def cut(given: Input, form: Format, rows: int) -> Iterator[Chunk]:
    """Cut a file.

    Args:
        given: the file.
        form: how it is written.
        rows: how many records a chunk has, unless they are large.
    """
    beginning = look(given.source.content)
    if beginning.layout == "parquet":
        return _tables(given, rows)
    if not beginning.json:
        return _csv(given, rows, [name for name in COLUMNS if beginning.has(name)])
    if given.source.content.lstrip()[:1] == b"[":
        return _values(given, rows, list[msgspec.Raw], _pack_array)
    if form.name == "vlnce":
        return _values(given, rows, dict[_Key, msgspec.Raw], _pack_object)
    return _lines(given, rows)


def read_chunk(given: Input, chunk: Chunk, form: Format, kind: Kind) -> list[Any]:
    """Return the references or queries of a chunk; of several queries for one episode, all.

    Raises:
        FormatError: naming the line, record or row of the file.
    """
    content = chunk.pack(chunk.records)
    if not content or content.isspace():  # blank lines
        return []
    source = replace(given.source, content=content)
    try:
        made = read_with(form, source, kind, {}, FORMATS)
    except FormatError as error:
        raise FormatError(given.address + _moved(str(error).removeprefix(str(source)), chunk.before)) from None
    if isinstance(made, References):
        return list(made.episodes.values())
    if not made.duplicates:
        return list(made.queries.values())
    return [query for half in chunk.halves() for query in read_chunk(given, half, form, kind)]


def read_whole(given: Input, form: Format, kind: Kind, options: Mapping[str, Any]) -> tuple[list[Any], str]:
    """Return all references or queries of a file, and the settings as they go into the name of references."""
    if kind == "references" and not storage.is_remote(given.address):
        made: Any = load_references(given.address, form.name, **options)
        return list(made.episodes.values()), made.name.removeprefix(given.source.name)
    made = read_with(form, given.everything(), kind, options, FORMATS)
    if isinstance(made, References):
        return list(made.episodes.values()), ""
    if made.duplicates:
        raise FormatError(f"{given.address}: answers episode {made.duplicates[0]!r} twice; keep one of the answers")
    return list(made.queries.values()), ""


def _lines(given: Input, rows: int) -> Iterator[Chunk]:
    before = 0
    with given.opened() as (stream, share):
        for group in _grouped(_bounded_lines(stream, given.address), rows):
            yield Chunk(group, b"".join, before, share())
            before += len(group)


def _values(given: Input, rows: int, kind: Any, pack: Callable[[Any], bytes]) -> Iterator[Chunk]:
    content = given.mapped()
    try:
        found = _decoder(kind).decode(content)
    except FAULTS as error:
        if len(content) > NAMED_LIMIT:
            raise FormatError(f"{given.address}: {in_words(str(error))}; copy or write it again in full") from None
        yield Chunk([bytes(content)], b"".join, 0, 1.0)  # its reader will name the record
        return
    before = 0
    for group in _grouped(list(found.items()) if isinstance(found, dict) else found, rows):
        before += len(group)
        yield Chunk(group, pack, before - len(group), before / len(found))


def _tables(given: Input, rows: int) -> Iterator[Chunk]:
    import pyarrow as pa

    before = 0
    with given.opened_parquet() as file:
        schema, total = file.schema_arrow, file.metadata.num_rows
        size = sum(file.metadata.row_group(number).total_byte_size for number in range(file.num_row_groups))
        few = max(1, min(rows, CHUNK_BYTES * total // max(1, size)))
        for batch in file.iter_batches(few, columns=[name for name in COLUMNS if name in schema.names]):
            table = pa.Table.from_batches([batch]).replace_schema_metadata(schema.metadata)
            yield Chunk(table, parquet_bytes, before, (before + len(table)) / total)
            before += len(table)


def _csv(given: Input, rows: int, names: list[str]) -> Iterator[Chunk]:
    import pyarrow as pa
    from pyarrow import csv

    before = 0
    with given.opened() as (stream, share):
        try:
            batches = csv.open_csv(
                stream,
                read_options=csv.ReadOptions(block_size=CHUNK_BYTES),
                parse_options=csv.ParseOptions(newlines_in_values=True),
                convert_options=csv.ConvertOptions(
                    include_columns=names, column_types=dict.fromkeys(names, pa.string())
                ),
            )
            for table in map(pa.Table.from_batches, ([batch] for batch in batches)):
                for start in range(0, len(table), rows):
                    yield Chunk(table[start : start + rows], _pack_csv, before + start, share())
                before += len(table)
        except pa.ArrowException as error:
            what = f"is not a table ({first_line(error)}); write a header and one row a line"
            raise FormatError(f"{given.address}: {what}") from None


def _bounded_lines(stream: IO[bytes], address: str) -> Iterator[bytes]:
    number = 0
    while line := stream.readline(LINE_LIMIT + 1):
        number += 1
        if len(line) > LINE_LIMIT:
            raise FormatError(f"{address}: line {number} has more than {LINE_LIMIT:,} bytes; write one record a line")
        yield line


def _grouped(records: Iterable[Any], rows: int) -> Iterator[list[Any]]:
    """Gather records until there are enough, or they are large."""
    group: list[Any] = []
    room = CHUNK_BYTES
    for record in records:
        group.append(record)
        room -= len(record[1] if isinstance(record, tuple) else record)
        if len(group) == rows or room <= 0:
            yield group
            group, room = [], CHUNK_BYTES
    if group:
        yield group


def _moved(told: str, before: int) -> str:
    """Return what an error says of a place in a chunk, as a place in the file.

    >>> _moved(", line 3: is not JSON", 100)
    ', line 103: is not JSON'
    """
    return re.sub(r"^, (line|record|row) (\d+)", lambda at: f", {at[1]} {int(at[2]) + before}", told)


def _pack_array(records: Sequence[Any]) -> bytes:
    return b"[" + b",".join(records) + b"]"


def _pack_object(pairs: Sequence[tuple[str, Any]]) -> bytes:
    return b"{" + b",".join(json.dumps(str(key)).encode() + b":" + bytes(value) for key, value in pairs) + b"}"


def _pack_csv(table: Any) -> bytes:
    import pyarrow as pa
    from pyarrow import csv

    sink = pa.BufferOutputStream()
    csv.write_csv(table, sink)
    return bytes(sink.getvalue())
