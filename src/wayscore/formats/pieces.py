"""A piece of a run: some rows of a file, read by themselves, a batch at a time, by whoever gets them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from wayscore import reading
from wayscore.episodes import EpisodeBatch
from wayscore.errors import FormatError, first_line
from wayscore.formats import storage
from wayscore.formats.arrow import COLUMNS, from_arrow
from wayscore.formats.files import MARK, Fault, Source, read
from wayscore.formats.sniff import FORMATS, choose, read_with

BLOCK = 8 * 2**20
"""Bytes of JSON lines that are decoded at once."""


class Piece(Struct, frozen=True):
    """Some rows of a file.

    Attributes:
        number: its place among all pieces of the run.
        file: where its rows are.
        kind: "whole", "parquet" or "lines".
        format: how the file is written.
        first: the number of its first row in the run.
        start: its first row group, or the byte at which it begins.
        stop: the row group or byte after its last.
        row: the number of its first row or line in the file.
        rows: how many it has; of a whole file at most so many as are known.
        source: the content, where it was read already.
    """

    number: int
    file: str
    kind: str
    format: str
    first: int = 0
    start: int = 0
    stop: int = 0
    row: int = 0
    rows: int = 0
    source: Source | None = None


def read_piece(
    piece: Piece, rows: int = storage.ROWS_AT_ONCE, faults: list[Fault] | None = None, leave: Collection[str] = ()
) -> Iterator[EpisodeBatch]:
    """Go through the rows of a piece, some at a time.

    Args:
        piece: what to read.
        rows: how many rows of Parquet at a time, at most.
        faults: a list that receives what is wrong with single records, which are left out then; without it, the first
            is an error.
        leave: columns of Parquet that need not be read, where rows name their references.

    Raises:
        FormatError: naming the file and the row, line or record that cannot be read.
    """
    if piece.kind == "parquet":
        yield from _read_parquet(piece, rows, faults, leave)
        return
    form = choose(Source(Path(piece.file), b""), "run", piece.format, FORMATS)
    if piece.kind == "whole":
        source = structs.replace(_all_of(piece.file) if piece.source is None else piece.source, faults=faults)
        yield _batch(read_with(form, source, "run", {}, FORMATS), piece.first)
        return
    first, line = piece.first, piece.row
    for block in _lines(piece):
        count = block.count(b"\n") + (not block.endswith(b"\n"))
        if not block.isspace():
            source = Source(Path(piece.file), block, faults=faults, lines_before=line)
            yield _batch(form.run(source), first)
        first, line = first + count, line + count


def _batch(found: Any, first: int) -> EpisodeBatch:
    assert isinstance(found, EpisodeBatch)
    return structs.replace(found, first=first)


def _all_of(file: str) -> Source:
    if not storage.is_remote(file):
        return read(file)
    with storage.open_file(file) as stream:
        content = reading.BoundedFile(stream, file, reading.size_limit()).read()
        return Source(Path(file), content.removeprefix(MARK))


def open_parquet(file: str) -> Any:
    """Open a Parquet file whose names of episodes, scenes and nodes are read as codes of dictionaries."""
    import pyarrow.parquet as pq

    stream = storage.open_native(file)
    with storage.damage(file):
        metadata = pq.read_metadata(stream)
        leaves = [metadata.schema.column(number) for number in range(metadata.num_columns)]
        texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        lists = ("path.", "query.", "reference.")
        named = [path for path in texts if path in ("episode", "scene") or path.startswith(lists)]
        return storage.parquet_file(stream, file, metadata=metadata, read_dictionary=named)


def _read_parquet(
    piece: Piece, rows: int, faults: list[Fault] | None, leave: Collection[str]
) -> Iterator[EpisodeBatch]:
    import pyarrow as pa

    source = Source(Path(piece.file), b"", faults=faults)
    with open_parquet(piece.file) as file:
        schema = file.schema_arrow
        names = [name for name in COLUMNS if name in schema.names]
        if "episode" in names and "path" in names and "reference" not in names:
            names = [name for name in names if name not in leave]
        first, row = piece.first, piece.row
        for group in range(piece.start, piece.stop):
            batches = file.iter_batches(batch_size=rows, row_groups=[group], columns=names, use_threads=False)
            while True:
                try:
                    batch = next(batches, None)
                    if batch is not None:
                        batch.validate(full=True)  # codes of names beyond their list, offsets beyond their values
                except (pa.ArrowException, OSError) as error:
                    raise FormatError(
                        f"{piece.file}, row group {group}: is damaged ({first_line(error)}); copy or write it again"
                    ) from None
                if batch is None:
                    break
                yield from_arrow(batch, source, first=first, row=row)
                first, row = first + len(batch), row + len(batch)


def _lines(piece: Piece) -> Iterator[bytes]:
    """Go through the lines of a piece, whole lines at a time."""
    with storage.open_file(piece.file) as raw:
        packed = reading.is_packed(raw)
        raw.seek(0 if packed else piece.start)
        rest, first = b"", piece.start == 0
        for block in blocks(raw, BLOCK, piece.file, None if packed else piece.stop - piece.start):
            cut = block.rfind(b"\n") + 1
            lines, rest = (rest + block[:cut], block[cut:]) if cut else (b"", rest + block)
            if lines:
                yield lines.removeprefix(MARK) if first else lines
                first = False
        if rest.strip():
            yield rest.removeprefix(MARK) if first else rest


def blocks(raw: Any, size: int, file: str, left: int | None = None) -> Iterator[bytes]:
    """Read a file, decompressed, in blocks of a size; or so many bytes as are left, from where the file is."""
    stream = reading.BoundedFile(raw, file, None) if left is None else raw
    while True:
        try:
            block = bytes(stream.read(size if left is None else min(size, left)))
        except OSError as error:
            raise reading.unreadable(file, error) from None
        if not block:
            return
        left = None if left is None else left - len(block)
        yield block
