"""A run of any size as pieces of work: row groups of Parquet files, stretches of JSON lines.

A piece is read by itself, a batch of rows at a time, by whoever gets it; the plan holds no rows.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, TypeAlias

import msgspec

from wayscore.episodes.batch import COLUMNS, OWN, Line, Rows, from_arrow, from_lines
from wayscore.errors import FormatError, first_line
from wayscore.formats import storage
from wayscore.formats.faults import FAULTS, wrong_type
from wayscore.formats.layout import labels_of

Cut: TypeAlias = tuple[int, int, int]
"""Where some rows begin and end, and how many they are."""
ROWS = 400_000
"""Row groups go together until a piece has so many rows ..."""
PIECES = 4096
"""... or there are so many pieces."""
BLOCK = 8 * 2**20
"""Bytes of JSON lines that are not cut."""
LINE = 64 * 2**20
"""Bytes that one line may have."""
EXPECTED = '{"episode": ..., "path": [label, ...] or [[x, y, z], ...]} a line'


@dataclass(frozen=True, slots=True)
class Piece:
    """Some rows of a file.

    Attributes:
        number: its place among all pieces of the run.
        file: where its rows are.
        kind: "parquet" or "lines".
        first: the number of its first row in the run.
        start: its first row group, or the byte at which it begins.
        stop: the row group or byte after its last.
        row: the number of its first row in the file.
        rows: how many it has.
        stamp: what changes when the file does.
    """

    number: int
    file: str
    kind: str
    first: int
    start: int
    stop: int
    row: int
    rows: int
    stamp: str

    def __str__(self) -> str:
        if self.kind == "lines":
            return self.file
        several = f"row groups {self.start} to {self.stop - 1}"
        return f"{self.file}, {several if self.stop - self.start > 1 else f'row group {self.start}'}"


def plan(address: str, progress: Callable[[str], None] | None = None) -> list[Piece]:
    """Return the pieces of a run: a file, a folder of files or all that match a pattern, in order of their names."""
    found = []
    for file in storage.find_files(address):
        if progress is not None:
            progress(f"looking at {PurePosixPath(file).name}")
        kind = "parquet" if file.endswith(".parquet") or _is_parquet(file) else "lines"
        found.append((file, kind, storage.stamp(file), list((_row_groups if kind == "parquet" else _stretches)(file))))
    total = sum(rows for *_, cuts in found for _, _, rows in cuts)
    if not total:
        raise FormatError(f"{address}: holds no rows; expected episodes and paths")
    pieces: list[Piece] = []
    row = 0
    for file, kind, stamp, cuts in found:
        before = 0
        for start, stop, rows in _together(cuts, max(ROWS, total // PIECES)):
            pieces.append(Piece(len(pieces), file, kind, row, start, stop, before, rows, stamp))
            row, before = row + rows, before + rows
    return pieces


def _together(cuts: Sequence[Cut], most: int) -> Iterator[Cut]:
    """Join neighbouring cuts up to so many rows."""
    first, rows = 0, 0
    for number, (_, _, count) in enumerate(cuts):
        if rows and rows + count > most:
            yield cuts[first][0], cuts[number - 1][1], rows
            first, rows = number, 0
        rows += count
    if rows:
        yield cuts[first][0], cuts[-1][1], rows


def _is_parquet(file: str) -> bool:
    with storage.open_file(file) as stream:
        return bool(stream.read(4) == b"PAR1")


def _parquet(file: str) -> Any:
    import pyarrow.parquet as pq

    stream = storage.open_file(file)
    with storage.damage(file):
        metadata = pq.read_metadata(stream)
        named = [name for name in ("episode", "scene") if name in metadata.schema.to_arrow_schema().names]
        return storage.parquet_file(stream, metadata=metadata, read_dictionary=named)


def _row_groups(file: str) -> Iterator[Cut]:
    with _parquet(file) as opened:
        for number in range(opened.num_row_groups):
            yield number, number + 1, opened.metadata.row_group(number).num_rows


def _stretches(file: str) -> Iterator[Cut]:
    """Cut JSON lines at line ends; gzipped ones are one piece, since nothing can be read from their middle."""
    with storage.open_file(file) as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        size = raw.size()
        lines = at = start = 0
        rest = b""
        for block in _blocks(raw, packed, BLOCK, file):
            if not at and block.lstrip()[:1] == b"[":
                raise FormatError(
                    f"{file}: is a JSON array; streams read Parquet and JSON lines, which `wayscore convert` writes"
                )
            cut = block.rfind(b"\n") + 1
            lines += block.count(b"\n")
            if cut and not packed:
                yield start, at + cut, lines
                start, lines = at + cut, 0
            rest = block[cut:] if cut else rest + block
            if len(rest) > LINE:
                raise FormatError(f"{file}: a line has more than {LINE:,} bytes; write one record a line")
            at += len(block)
        lines += bool(rest.strip())
        if lines:
            yield start, size if packed else at, lines


def _blocks(raw: Any, packed: bool, size: int, file: str, left: int | None = None) -> Iterator[bytes]:
    """Read from where a file is, blocks of a size, as many bytes as are left, or up to its end."""
    stream = gzip.GzipFile(fileobj=raw) if packed else raw
    while True:
        try:
            block = stream.read(size if left is None else min(size, left))
        except (EOFError, OSError, zlib.error) as error:
            what = f"is damaged gzip ({first_line(error)})" if packed else f"cannot be read: {first_line(error)}"
            raise FormatError(f"{file}: {what}; copy or write it again") from None
        if not block:
            return
        left = None if left is None else left - len(block)
        yield block


def read(piece: Piece, rows: int, own: bool) -> Iterator[Rows]:
    """Go through the rows of a piece, some at a time.

    Args:
        piece: what to read.
        rows: how many rows at a time, at most.
        own: whether rows carry their scenes and references.

    Raises:
        FormatError: naming the file and the row group or line that cannot be read.
    """
    yield from (_read_parquet if piece.kind == "parquet" else _read_lines)(piece, rows, own)


def _read_parquet(piece: Piece, rows: int, own: bool) -> Iterator[Rows]:
    import pyarrow as pa

    with _parquet(piece.file) as file:
        schema = file.schema_arrow
        names = [name for name in COLUMNS if name in schema.names and (own or name not in OWN)]
        labels = labels_of(schema, piece.file)
        first = piece.first
        for group in range(piece.start, piece.stop):
            batches = file.iter_batches(batch_size=rows, row_groups=[group], columns=names, use_threads=False)
            in_group = 0
            while True:
                try:
                    batch = next(batches, None)
                except (pa.ArrowException, OSError) as error:
                    raise FormatError(
                        f"{piece.file}, row group {group}: is damaged ({first_line(error)}); copy or write it again"
                    ) from None
                if batch is None:
                    break
                yield from_arrow(batch, first, _row_names(piece.file, group, in_group), labels)
                in_group, first = in_group + len(batch), first + len(batch)


def _row_names(file: str, group: int, first: int) -> Callable[[int], str]:
    return lambda number: f"{file}, row group {group}, row {first + number}"


def _line_names(file: str, first: int) -> Callable[[int], str]:
    return lambda number: f"{file}, line {first + number + 1}"


def _read_lines(piece: Piece, rows: int, own: bool) -> Iterator[Rows]:
    decoder = msgspec.json.Decoder(Line)
    row, first = piece.row, piece.first
    with storage.open_file(piece.file) as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0 if packed else piece.start)
        rest = b""
        for block in _blocks(raw, packed, _CHUNK, piece.file, None if packed else piece.stop - piece.start):
            cut = block.rfind(b"\n") + 1
            lines, rest = (rest + block[:cut], block[cut:]) if cut else (b"", rest + block)
            for some in _cut(lines, rows):
                yield from_lines(_decode(decoder, some, piece.file, row), first, _line_names(piece.file, row), own)
                count = some.count(b"\n") + (not some.endswith(b"\n"))
                row, first = row + count, first + count
        if rest.strip():
            yield from_lines(_decode(decoder, rest, piece.file, row), first, _line_names(piece.file, row), own)


_CHUNK = 8 * 2**20
"""Bytes of lines that are decoded at once."""


def _cut(lines: bytes, rows: int) -> Iterator[bytes]:
    """Cut lines so that no part has more of them than wanted."""
    if lines.count(b"\n") <= rows:
        if lines:
            yield lines
        return
    split = lines.removesuffix(b"\n").split(b"\n")  # a line may hold other ends of lines between its words
    for start in range(0, len(split), rows):
        yield b"\n".join(split[start : start + rows]) + b"\n"


def _decode(decoder: msgspec.json.Decoder[Line], lines: bytes, file: str, row: int) -> list[Line]:
    try:
        found = decoder.decode_lines(lines)
    except FAULTS:
        found = []
    if len(found) == lines.count(b"\n") + (not lines.endswith(b"\n")):
        return found
    for number, line in enumerate(lines.removesuffix(b"\n").split(b"\n")):  # one of them is wrong or empty: which?
        where = f"line {row + number + 1}"
        try:
            decoder.decode(line)
        except msgspec.ValidationError as error:
            raise FormatError(wrong_type(str(error), where=where, episode=None, expected=EXPECTED).of(file)) from None
        except FAULTS:
            what = "is empty" if not line.strip() else "is not JSON"
            raise FormatError(f"{file}, {where}: {what}; expected {EXPECTED}") from None
    return found
