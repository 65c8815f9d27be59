"""A file to be converted: how it begins, what it is, and how its content is reached without holding all of it."""

from __future__ import annotations

import gzip
import hashlib
import io
import mmap
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from wayscore.episodes import References
from wayscore.errors import FormatError, first_line
from wayscore.formats import FORMATS, load_references, storage
from wayscore.formats.base import Format, Kind, choose
from wayscore.formats.beginning import HEAD, PARQUET_MAGIC, look
from wayscore.formats.files import GZIP_MAGIC, TAR_MAGIC, Source, read

MARK = b"\xef\xbb\xbf"
"""What some editors put before UTF-8."""


@dataclass(frozen=True, slots=True)
class Input:
    """A file to be converted.

    Attributes:
        address: where it is.
        source: how it begins, enough to tell its format; of Parquet, its columns without rows.
        whole: the source holds all of it, since it cannot be read piece by piece: a member of a tar, or a pipe.
        packed: it is gzipped.
    """

    address: str
    source: Source
    whole: bool = False
    packed: bool = False

    @classmethod
    def begin(cls, address: str) -> Input:
        """Look at the beginning of a file."""
        if not (storage.is_remote(address) or os.path.isfile(address)):
            return cls(address, read(address), whole=True)
        with _stream(address) as (stream, _, packed):
            head = stream.read(HEAD + len(MARK) + 1)
        place, magic = TAR_MAGIC
        if head[place : place + len(magic)] == magic or (packed and head.startswith(PARQUET_MAGIC)):
            return cls(address, _all(address), whole=True)
        if head.startswith(PARQUET_MAGIC):
            with storage.damage(address), storage.parquet_file(storage.open_file(address)) as file:
                head = parquet_bytes(file.schema_arrow.empty_table())
        return cls(address, Source(Path(address), head.removeprefix(MARK)), packed=packed)

    @property
    def stamp(self) -> str:
        """What changes when the file does."""
        return hashlib.sha256(self.source.content).hexdigest() if self.whole else storage.stamp(self.address)

    def recognise(self, kind: Kind | None) -> tuple[Format, Kind]:
        """Return the format, and what the file is read as where that is not given.

        Rows of a table that have a scene could be both: they are a run if they say whether the agent stopped, and
        references otherwise.
        """
        if kind is not None:
            return choose(self.source, kind, None, FORMATS), kind
        try:
            form = choose(self.source, "references", None, FORMATS)
        except FormatError:
            return choose(self.source, "run", None, FORMATS), "run"
        beginning = look(self.source.content)
        return form, "run" if "run" in form.sniff(beginning) and beginning.has("stopped") else "references"

    def everything(self) -> Source:
        """Return all of the file, decompressed."""
        return self.source if self.whole else _all(self.address)

    @contextmanager
    def opened(self) -> Iterator[tuple[IO[bytes], Callable[[], float]]]:
        """Open the file to be read once, decompressed; give a function that says how much of it has been read too."""
        if self.whole:
            yield io.BytesIO(self.source.content), lambda: 1.0
            return
        with _stream(self.address) as (stream, share, _):
            if stream.read(len(MARK)) != MARK:
                stream.seek(0)
            yield stream, share

    @contextmanager
    def opened_parquet(self) -> Iterator[Any]:
        """Open the file as Parquet; errors while it is read name it."""
        import pyarrow as pa

        content = pa.BufferReader(self.source.content) if self.whole else storage.open_file(self.address)
        with storage.damage(self.address), storage.parquet_file(content) as file:
            yield file

    def mapped(self) -> Any:
        """Return the file as bytes, or a view of a map of it where it can be mapped into memory."""
        if self.whole or self.packed or storage.is_remote(self.address):
            return self.everything().content
        with open(self.address, "rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)  # closed when its last view is gone
        return memoryview(mapped)[len(MARK) if mapped[: len(MARK)] == MARK else 0 :]


def scenes_of(references: str | os.PathLike[str] | References) -> Mapping[str, str]:
    """Return the scene of every episode; of Parquet, nothing else is read."""
    if not isinstance(references, References):
        address = os.fspath(references)
        given = Input.begin(address)
        beginning = look(given.source.content)
        if beginning.layout == "parquet" and beginning.has("episode", "scene"):
            with given.opened_parquet() as file:
                table = file.read(columns=["episode", "scene"])
            return dict(zip(*(map(str, table.column(name).to_pylist()) for name in ("episode", "scene")), strict=True))
        references = load_references(address)
    return {name: reference.scene for name, reference in references.episodes.items()}


def parquet_bytes(table: Any) -> bytes:
    """Return a table as a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="none")
    return bytes(sink.getvalue())


def _all(address: str) -> Source:
    if not storage.is_remote(address):
        return read(address)
    with _stream(address) as (stream, _, _):
        return Source(Path(address), stream.read().removeprefix(MARK))


@contextmanager
def _stream(address: str) -> Iterator[tuple[IO[bytes], Callable[[], float], bool]]:
    """Open what a file holds when decompressed; give how much of it has been read, and whether it is gzipped."""
    try:
        with storage.open_file(address) as file:
            size, raw = file.size() or 1, io.BufferedReader(file, 2**20)
            packed = raw.peek(2)[:2] == GZIP_MAGIC
            stream: Any = gzip.GzipFile(fileobj=raw) if packed else raw
            yield stream, lambda: raw.tell() / size, packed
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FormatError(f"{address}: is damaged gzip ({first_line(error)}); copy or download it again") from None
    except OSError as error:
        raise FormatError(f"{address}: cannot be read: {first_line(error)}") from None
