"""A run of any size as pieces of work: whole files, row groups of Parquet, stretches of JSON lines.

A piece is read by itself, a batch of rows at a time, by whoever gets it; the plan holds no rows. `pyarrow.dataset`
cuts Parquet too, but names neither the row nor the row group of what it cannot read, and knows no JSON lines of ours.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from msgspec import Struct, structs

from wayscore import reading
from wayscore.episodes import EpisodeBatch
from wayscore.errors import FormatError
from wayscore.formats import storage
from wayscore.formats.arrow import FORMAT
from wayscore.formats.decoding import LINE_LIMIT
from wayscore.formats.files import MARK, Fault, Source, read
from wayscore.formats.pieces import BLOCK, Piece, blocks, open_parquet, read_piece
from wayscore.formats.sniff import FORMATS, HEAD, PARQUET_MAGIC, choose, look

Cut: TypeAlias = tuple[int, int, int]
"""Where some rows begin and end, and how many they are."""
ROWS = 400_000
"""Row groups go together until a piece has so many rows ..."""
PIECES = 4096
"""... or there are so many pieces."""


class RunPlan(Struct, frozen=True):
    """A run to be read.

    Attributes:
        name: what tables call it.
        format: how it is written.
        pieces: its rows.
        rows: how many there are, as far as that is known without decoding.
    """

    name: str
    format: str
    pieces: Sequence[Piece]

    @property
    def rows(self) -> int:
        """How many rows there are, as far as that is known without decoding them."""
        return sum(piece.rows for piece in self.pieces)

    def batches(self, faults: list[Fault] | None = None) -> Iterator[EpisodeBatch]:
        """Read all of the run."""
        for piece in self.pieces:
            yield from read_piece(piece, faults=faults)


def plan_run(
    run: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    format: str | None = None,  # noqa: A002 - what every reader calls it
    progress: Callable[[str], None] | None = None,
) -> RunPlan:
    """Find the files of a run and cut them into pieces.

    Args:
        run: a file, a folder of files, a pattern, an address that fsspec knows; or several, which are one run.
        format: how the files are written; by default their beginning says.
        progress: called with a few words before a file is looked at.
    """
    addresses = [os.fspath(run)] if isinstance(run, str | os.PathLike) else [os.fspath(one) for one in run]
    files = [file for address in addresses for file in storage.find_files(address)]
    found: list[list[Piece]] = []
    for file in files:
        if progress is not None:
            progress(f"looking at {PurePosixPath(file).name}")
        found.append(_pieces_of(file, format, alone=len(files) == 1))
    total = sum(piece.rows for pieces in found for piece in pieces)
    if not any(found):
        raise FormatError(f"{addresses[0]}: holds no rows; expected episodes and paths")
    pieces: list[Piece] = []
    first = 0
    for some in found:
        for piece in _together(some, max(ROWS, total // PIECES)):
            pieces.append(structs.replace(piece, number=len(pieces), first=first))
            first += piece.rows
    return RunPlan(name_of(addresses[0]), pieces[0].format, pieces)


def name_of(address: str) -> str:
    """Return what tables call a run.

    >>> name_of("runs/agent.json.gz"), name_of("runs/agent/"), name_of("runs/agent-*.jsonl")
    ('agent', 'agent', 'agent')
    """
    archive, _, member = address.partition("::")
    stem = Source(Path(archive.rstrip("/")), b"", member).stem
    return stem.replace("*", "").strip("-_.") or "run"


def _pieces_of(file: str, name: str | None, alone: bool) -> list[Piece]:
    """Look at a file and cut it; what is small or cannot be read from its middle is one piece."""
    whole = _whole_source(file)
    if whole is None and _starts_with(file, PARQUET_MAGIC):
        return _parquet_pieces(file, name)
    head = whole or head_of(file)
    form = choose(head, "run", name, FORMATS)
    if whole is None and look(head.content).layout == "lines":
        cuts = list(_stretches(file))
        return [
            Piece(0, file, "lines", form.name, start=start, stop=stop, row=row, rows=rows)
            for (start, stop, rows), row in zip(cuts, _befores(cuts), strict=True)
        ]
    piece = Piece(0, file, "whole", form.name, source=whole)
    if not alone:  # rows of later files are numbered after these
        piece = structs.replace(piece, rows=sum(map(len, read_piece(piece))))
    return [piece]


def _whole_source(file: str) -> Source | None:
    """Read a file that is small, or that can be read only once: a pipe, a member of a tar."""
    if storage.is_remote(file):
        return None
    if os.path.isfile(file) and (os.path.getsize(file) > BLOCK or _starts_with(file, PARQUET_MAGIC)):
        return None
    return read(file)


def head_of(file: str) -> Source:
    """Return the beginning of a file, decompressed; of Parquet, its columns without rows."""
    if _starts_with(file, PARQUET_MAGIC):
        with open_parquet(file) as opened:
            return Source(Path(file), storage.parquet_bytes(opened.schema_arrow.empty_table()))
    return Source(Path(file), _head(file))


def _head(file: str) -> bytes:
    with storage.open_file(file) as raw:
        return next(blocks(raw, HEAD + 1, file), b"").removeprefix(MARK)


def _starts_with(file: str, magic: bytes) -> bool:
    with storage.open_file(file) as stream:
        return bool(stream.read(len(magic)) == magic)


def _together(pieces: Sequence[Piece], most: int) -> Iterator[Piece]:
    """Join neighbouring pieces of a file up to so many rows."""
    joined: Piece | None = None
    for piece in pieces:
        if joined is None:
            joined = piece
        elif joined.rows + piece.rows > most:
            yield joined
            joined = piece
        else:
            joined = structs.replace(joined, stop=piece.stop, rows=joined.rows + piece.rows)
    if joined is not None:
        yield joined


def _befores(cuts: Iterable[Cut]) -> Iterator[int]:
    before = 0
    for _, _, rows in cuts:
        yield before
        before += rows


def _parquet_pieces(file: str, name: str | None) -> list[Piece]:
    with open_parquet(file) as opened:
        notes = opened.schema_arrow.metadata or {}
        groups = [opened.metadata.row_group(number).num_rows for number in range(opened.num_row_groups)]
        if not {"path", "query"} & set(opened.schema_arrow.names):
            choose(head_of(file), "run", name, FORMATS)  # says what the file looks like instead
    cuts = [(number, number + 1, rows) for number, rows in enumerate(groups) if rows]
    form = notes.get(FORMAT, b"table").decode(errors="replace")
    return [
        Piece(0, file, "parquet", form, start=start, stop=stop, row=row, rows=rows)
        for (start, stop, rows), row in zip(cuts, _befores(cuts), strict=True)
    ]


def _stretches(file: str) -> Iterator[Cut]:
    """Cut JSON lines at line ends; compressed ones are one piece, since nothing can be read from their middle."""
    with storage.open_file(file) as raw:
        packed = reading.is_packed(raw)
        lines = at = start = 0
        rest = b""
        for block in blocks(raw, BLOCK, file):
            cut = block.rfind(b"\n") + 1
            lines += block.count(b"\n")
            if cut and not packed:
                yield start, at + cut, lines
                start, lines = at + cut, 0
            rest = block[cut:] if cut else rest + block
            if len(rest) > LINE_LIMIT:
                raise FormatError(f"{file}: a line has more than {LINE_LIMIT:,} bytes; write one record per line")
            at += len(block)
        lines += bool(rest.strip())
        if lines:
            yield start, at, lines
