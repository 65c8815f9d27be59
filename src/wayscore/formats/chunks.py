"""A run of any size as chunks: whole files, row groups of Parquet, bytes of JSON lines.

Any process can read a chunk, a batch of rows at a time; the plan holds no rows. `pyarrow.dataset` cuts Parquet too, but
names neither the row nor the row group of what it cannot read, and knows no JSON lines of ours.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct, structs

from wayscore import reading
from wayscore.errors import FormatError, first_line
from wayscore.formats import storage
from wayscore.formats.base import MARK, MEMBER_MARK, Fault, Source, read
from wayscore.formats.decoding import LINE_LIMIT
from wayscore.formats.episodes import EpisodeBatch, Run
from wayscore.formats.sniff import HEAD, PARQUET_MAGIC, choose, look, reader_error

CHUNK_BYTES = 8 * 2**20
"""Files up to this size are read whole; of larger JSON lines, this many bytes are decoded at once."""
CHUNK_ROWS = 400_000
"""Pieces of a file are joined up to this many rows, ..."""
CHUNKS = 4096
"""... or more, so that a run has about this many chunks at most."""
TABLES = (".parquet", ".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz", ".json", ".json.gz", ".csv", ".csv.gz")
"""Endings of the files in a folder that are answers of a run."""
HIDDEN = ("_", ".")
"""Names that begin so are notes of the programs that wrote a folder."""


class Chunk(Struct, frozen=True):
    """Some rows of a file.

    Attributes:
        file: where its rows are.
        kind: "whole", "parquet" or "lines".
        format: how the file is written.
        first: the number of its first row in the run.
        start: its first row group, or the byte at which it begins.
        stop: the row group or byte after its last; of lines, 0 for all of them.
        row: the number of its first row or line in the file.
        rows: how many it has; 0 where that is not known.
        source: the content, where it was read already.
    """

    file: str
    kind: str
    format: str
    first: int = 0
    start: int = 0
    stop: int = 0
    row: int = 0
    rows: int = 0
    source: Source | None = None


class RunPlan(Struct, frozen=True):
    """A run to be read; `rows` counts those that are known without decoding any."""

    name: str
    format: str
    chunks: Sequence[Chunk]
    rows: int

    def batches(self, faults: list[Fault] | None = None) -> Iterator[EpisodeBatch]:
        """Read all of the run."""
        for chunk in self.chunks:
            yield from read_chunk(chunk, faults=faults)


def plan_run(
    run: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    format: str | None = None,  # noqa: A002 - what every reader calls it
    progress: Callable[[str], None] | None = None,
) -> RunPlan:
    """Find the files of a run and cut them into chunks; `progress` is called with a few words before each file.

    `run` is a file, a folder of files, a pattern, an address that fsspec knows; or several, which are one run.
    """
    addresses = [os.fspath(run)] if isinstance(run, str | os.PathLike) else [os.fspath(one) for one in run]
    files = [file for address in addresses for file in find_files(address)]
    found: list[Chunk] = []
    for file in files:
        if progress is not None:
            progress(f"looking at {PurePosixPath(file).name}")
        found += _chunks_of(file, format, alone=len(files) == 1)
    if not found:
        raise FormatError(f"{addresses[0]}: holds no rows; expected episodes and paths")
    rows = sum(chunk.rows for chunk in found)
    chunks: list[Chunk] = []
    first = 0
    for chunk in found:
        if chunk.row and chunks[-1].rows + chunk.rows <= max(CHUNK_ROWS, rows // CHUNKS):  # not the first of its file
            chunks[-1] = structs.replace(chunks[-1], stop=chunk.stop, rows=chunks[-1].rows + chunk.rows)
        else:
            chunks.append(structs.replace(chunk, first=first))
        first += chunk.rows
    return RunPlan(name_of(addresses[0]), chunks[0].format, chunks, rows)


def find_files(address: str) -> list[str]:
    """Return the files that an address means, by name: itself, all that match a pattern, or all tables in a folder."""
    if os.path.isfile(address):
        return [address]
    if glob.has_magic(address) and not os.path.exists(address):
        if storage.is_remote(address):
            system, path = storage.system_of(address)
            found = sorted(map(system.unstrip_protocol, system.glob(path)))
        else:
            found = sorted(path for path in glob.glob(address, recursive=True) if os.path.isfile(path))
        if not found:
            raise FormatError(f"{address}: matches no file; check the folder and the pattern")
        return found
    if storage.is_remote(address):
        system, path = storage.system_of(address)
        with storage.readable(address):
            if system.info(path)["type"] != "directory":
                return [address]
            inside = [system.unstrip_protocol(file) for file in system.find(path)]
    elif os.path.isdir(address):
        inside = [os.path.join(folder, name) for folder, _, names in os.walk(address) for name in names]
    else:
        return [address]
    names = ((PurePosixPath(path.replace(os.sep, "/")).name, path) for path in inside)
    if found := sorted(path for name, path in names if name.endswith(TABLES) and not name.startswith(HIDDEN)):
        return found
    raise FormatError(
        f"{address}: this folder holds none of {', '.join(TABLES)}; name the folder of a run, or its file"
    )


def load_run(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
    *,
    member: str | None = None,
    faults: list[Fault] | None = None,
) -> Run:
    """Read the run of one agent.

    Args:
        path: the file, gzipped or not, a folder or a pattern; `archive.tar.gz::name` reads one member of a tar.
        format: how it is written; by default it is recognised by the file's beginning.
        member: the member of a tar to read, instead of `::name`.
        faults: a list that receives what is wrong with single records, which are left out then; without it, the first
            is an error.

    Raises:
        FormatError: the file is missing, damaged, too large, or of another kind.
        OptionError: the format is unknown.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "agent.json")
    ...     with open(file, "w") as stream:
    ...         _ = stream.write('[{"instr_id": "4332_1", "trajectory": [["a", 0.5, 0.0], ["b", 0.1, 0.0]]}]')
    ...     run = load_run(file)
    >>> run.name, run.format, run.queries["4332_1"].path
    ('agent', 'r2r', ['a', 'b'])
    """
    plan = plan_run(path if member is None else f"{os.fspath(path)}{MEMBER_MARK}{member}", format)
    return Run(plan.name, plan.format, [query for batch in plan.batches(faults) for query in batch.to_queries()])


def name_of(address: str) -> str:
    """Return what tables call a run.

    >>> name_of("runs/agent.json.gz"), name_of("runs/agent/"), name_of("runs/agent-*.jsonl")
    ('agent', 'agent', 'agent')
    """
    archive, _, member = address.partition("::")
    stem = Source(Path(archive.rstrip("/")), b"", member).stem
    return stem.replace("*", "").strip("-_.") or "run"


def _chunks_of(file: str, name: str | None, alone: bool) -> Sequence[Chunk]:
    """Look at a file and cut it; what is small or cannot be read from its middle is one chunk."""
    if os.path.getsize(file) > CHUNK_BYTES if os.path.isfile(file) else storage.is_remote(file):
        whole, parquet = None, is_parquet(file)
    else:  # small, or can be read only once: a pipe, a member of a tar
        whole = read(file)
        plain = os.path.isfile(file) and os.path.getsize(file) == len(whole.content)
        parquet = plain and whole.content.startswith(PARQUET_MAGIC)
    if parquet:
        with storage.parquet_file(file) as opened:
            notes = opened.schema_arrow.metadata or {}
            groups = [opened.metadata.row_group(number).num_rows for number in range(opened.num_row_groups)]
            if not {"path", "query"} & set(opened.schema_arrow.names):
                choose(head_of(file), "run", name)  # says what the file looks like instead
        noted = notes.get(storage.FORMAT, b"table").decode(errors="replace")
        return [
            Chunk(file, "parquet", noted, start=number, stop=number + 1, row=sum(groups[:number]), rows=rows)
            for number, rows in enumerate(groups)
            if rows
        ]
    head = whole or head_of(file)
    form = choose(head, "run", name).name
    if whole is None and look(head.content).layout == "lines":
        with storage.open_file(file) as raw:
            packed = raw.read(6).startswith(tuple(reading.UNPACKERS))
        chunks: list[Chunk] = []
        start = row = 0
        for lines in _lines(file):
            stop, rows = start + len(lines), _count(lines)
            chunks.append(Chunk(file, "lines", form, start=start, stop=stop, row=row, rows=rows))
            start, row = stop, row + rows
        return [Chunk(file, "lines", form, rows=row)] if packed and chunks else chunks
    chunk = Chunk(file, "whole", form, source=whole)
    if not alone:  # rows of later files are numbered after these
        chunk = structs.replace(chunk, rows=sum(map(len, read_chunk(chunk))))
    return [chunk]


def is_parquet(file: str) -> bool:
    """Say whether a file is Parquet."""
    with storage.open_file(file) as stream:
        return bool(stream.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC)


def head_of(file: str) -> Source:
    """Return the beginning of a file, decompressed; of Parquet, its columns without rows."""
    if is_parquet(file):
        import pyarrow as pa
        import pyarrow.parquet as pq

        sink = pa.BufferOutputStream()
        with storage.parquet_file(file, coded=True) as opened:
            pq.write_table(opened.schema_arrow.empty_table(), sink, compression="none")
        return Source(Path(file), bytes(sink.getvalue()))
    with storage.open_file(file) as raw:
        return Source(Path(file), reading.BoundedFile(raw, file, None).read(HEAD + 1).removeprefix(MARK))


def read_chunk(
    chunk: Chunk, rows: int = storage.ROWS_AT_ONCE, faults: list[Fault] | None = None, leave: Collection[str] = ()
) -> Iterator[EpisodeBatch]:
    """Go through the rows of a chunk, at most `rows` of Parquet at a time.

    `faults` receives what is wrong with single records, which are left out then; without it, the first is an error.
    `leave` names columns of Parquet that are not needed where rows name their references.
    """
    if chunk.kind == "parquet":
        yield from _read_parquet(chunk, rows, faults, leave)
        return
    source = chunk.source or Source(Path(chunk.file), b"")
    form = choose(source, "run", chunk.format)
    if chunk.kind == "lines":
        first, line = chunk.first, chunk.row
        for lines in _lines(chunk.file, chunk.start, chunk.stop):
            if not lines.isspace():
                content = lines if line else lines.removeprefix(MARK)
                source = Source(Path(chunk.file), content, faults=faults, lines_before=line)
                yield structs.replace(form.run(source), first=first)
            first, line = first + _count(lines), line + _count(lines)
        return
    if chunk.source is None and not storage.is_remote(chunk.file):
        source = read(chunk.file)
    elif chunk.source is None:
        with storage.open_file(chunk.file) as raw:
            content = reading.BoundedFile(raw, chunk.file, reading.size_limit()).read()
        source = Source(Path(chunk.file), content.removeprefix(MARK))
    source = structs.replace(source, faults=faults)
    try:
        found = form.run(source)
    except FormatError as error:
        raise reader_error(error, source, form, "run") from None
    yield structs.replace(found, first=chunk.first)


def _read_parquet(
    chunk: Chunk, rows: int, faults: list[Fault] | None, leave: Collection[str]
) -> Iterator[EpisodeBatch]:
    import pyarrow as pa

    from wayscore.formats.arrow import COLUMNS, from_arrow

    source = Source(Path(chunk.file), b"", faults=faults)
    with storage.parquet_file(chunk.file, coded=True) as file:
        names = [name for name in COLUMNS if name in file.schema_arrow.names]
        if "episode" in names and "path" in names and "reference" not in names:
            names = [name for name in names if name not in leave]
        first, row = chunk.first, chunk.row
        for group in range(chunk.start, chunk.stop):
            try:
                for batch in file.iter_batches(rows, row_groups=[group], columns=names, use_threads=False):
                    batch.validate(full=True)  # codes of names beyond their list, offsets beyond their values
                    yield from_arrow(batch, source, first=first, row=row)
                    first, row = first + len(batch), row + len(batch)
            except (pa.ArrowException, OSError) as error:
                raise FormatError(
                    f"{chunk.file}, row group {group}: is damaged ({first_line(error)}); copy or write it again"
                ) from None


def _lines(file: str, start: int = 0, stop: int = 0) -> Iterator[bytes]:
    """Go through the lines of a file, decompressed, or those from byte to byte, many whole lines at a time."""
    with storage.open_file(file) as raw:
        raw.seek(start)
        stream = raw if stop else reading.BoundedFile(raw, file, None)
        rest = b""
        while lines := stream.read(min(CHUNK_BYTES, stop - start) if stop else CHUNK_BYTES):
            start += len(lines)
            cut = lines.rfind(b"\n") + 1
            if cut:
                yield rest + lines[:cut]
            rest = lines[cut:] if cut else rest + lines
            if len(rest) > LINE_LIMIT:
                raise FormatError(f"{file}: a line has more than {LINE_LIMIT:,} bytes; write one record per line")
        if rest.strip():
            yield rest


def _count(lines: bytes) -> int:
    return lines.count(b"\n") + (not lines.endswith(b"\n"))
