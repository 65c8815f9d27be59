"""Opening files: gzip is recognised by content, tars are read by member name, and sizes are bounded.

Nothing is ever unpacked to disk. A file that would grow past `SIZE_LIMIT`, or that is large and swells more
than `RATIO_LIMIT` times while it is decompressed, is refused before it fills the memory.
"""

from __future__ import annotations

import gzip
import os
import stat
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from msgspec import Struct

from wayscore.errors import FormatError, did_you_mean
from wayscore.formats.faults import Fault

SIZE_LIMIT = 4 * 2**30
"""Bytes that a file may have after decompression."""
RATIO_LIMIT = 200
"""How many times larger a file may become by decompression (real files: 3 to 15) ..."""
RATIO_FLOOR = 256 * 2**20
"""... once it has more bytes than this."""
CHUNK = 2**20
MEMBER_MARK = "::"
GZIP_MAGIC = b"\x1f\x8b"
MARK = b"\xef\xbb\xbf"
"""What some editors put before UTF-8."""
TAR_MAGIC = (257, b"ustar")
ENDINGS = {".gz", ".json", ".jsonl", ".ndjson", ".csv", ".parquet", ".tar", ".tgz", ".txt"}


class Source(Struct, frozen=True):
    """A file's content and how errors and tables call it.

    Attributes:
        path: the file, or the tar that holds it.
        content: its bytes, decompressed.
        member: its name inside the tar, or empty.
        faults: where what is wrong with its records is collected; None: the first is an error.
        lines_before: how many lines of the file come before the content, where that is a part of it.

    >>> source = Source(Path("results/seq2seq.v2.json.gz"), b"[]")
    >>> source.name, source.stem
    ('seq2seq.v2.json.gz', 'seq2seq.v2')
    """

    path: Path
    content: bytes
    member: str = ""
    faults: list[Fault] | None = None
    lines_before: int = 0

    def __str__(self) -> str:
        return f"{self.path}{MEMBER_MARK}{self.member}" if self.member else str(self.path)

    def refuse(self, fault: Fault) -> None:
        """Raise an error that tells a fault; or note it, where faults are collected: the record is left out then."""
        if self.faults is None:
            raise FormatError(fault.of(self))
        self.faults.append(fault)

    @property
    def name(self) -> str:
        """The file's own name."""
        return PurePosixPath(self.member).name if self.member else self.path.name

    @property
    def stem(self) -> str:
        """The name without its endings."""
        stem = PurePosixPath(self.name)
        while stem.suffix.lower() in ENDINGS:
            stem = stem.with_suffix("")
        return str(stem)


def read(path: str | os.PathLike[str], member: str | None = None) -> Source:
    """Read a file, gzipped or not, or one member of a tar (compressed or not).

    Args:
        path: the file; `runs.tar.gz::agents/a.json` names a member of a tar.
        member: the member's name, where `path` is a tar of several files.

    Raises:
        FormatError: the file is missing, unreadable, a directory, damaged or too large.
    """
    path = Path(path)
    if member is None and MEMBER_MARK in str(path) and not path.exists():
        name, _, member = str(path).rpartition(MEMBER_MARK)
        path = Path(name)
    _check(path)
    with _opened(path) as stream:
        if not _is_tar(stream.peek(TAR_MAGIC[0] + 8)):
            if member:
                raise FormatError(f"{path}: is not a tar, so it has no member {member!r}; leave the member out")
            return Source(path, _without_mark(stream.read_all()))
    member = _find(path, member)
    with _members(path) as members:
        for entry, archive in members:
            if entry.name == member and entry.isfile():
                return Source(path, _without_mark(_read_entry(path, archive, entry)), member)
    raise FormatError(f"{path}: has no member {member!r}")  # pragma: no cover - _find() has seen it


class _Bounded:
    """A stream that decompresses what is gzipped and counts what it gives."""

    def __init__(self, raw: IO[bytes], where: str) -> None:
        start = _peek(raw, 2)
        self._where = where
        self._raw = raw
        self._packed = start == GZIP_MAGIC
        self._stream: Any = gzip.GzipFile(fileobj=raw) if self._packed else raw
        self._ahead = b""
        self._given = 0

    def peek(self, size: int) -> bytes:
        """Return up to `size` bytes that the next read will give again."""
        while len(self._ahead) < size and (more := self._stream.read(size - len(self._ahead))):
            self._ahead += more
        return self._ahead

    def read(self, size: int = CHUNK) -> bytes:
        """Return the next bytes; the name and the argument are what tarfile asks for."""
        if self._ahead:
            chunk, self._ahead = self._ahead[:size], self._ahead[size:]
        else:
            chunk = self._stream.read(min(size, CHUNK))
        self._given += len(chunk)
        if self._given > SIZE_LIMIT:
            raise FormatError(
                f"{self._where}: has more than {SIZE_LIMIT:,} bytes{' when decompressed' if self._packed else ''}; "
                "split it into smaller files"
            )
        if self._packed and self._given > RATIO_FLOOR and self._given > RATIO_LIMIT * self._raw.tell():
            raise FormatError(
                f"{self._where}: swells more than {RATIO_LIMIT} times when decompressed, which no real file "
                "of episodes does; decompress it yourself if you trust it"
            )
        return bytes(chunk)

    def read_all(self) -> bytes:
        """Return everything."""
        return b"".join(iter(self.read, b""))


@contextmanager
def _opened(path: Path) -> Iterator[_Bounded]:
    try:
        with path.open("rb") as raw:
            yield _Bounded(raw, str(path))
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FormatError(f"{path}: is damaged gzip ({_words(error)}); copy or download it again") from None
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {_words(error)}") from None


@contextmanager
def _members(path: Path) -> Iterator[Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]]:
    with _opened(path) as stream:
        try:
            with tarfile.open(fileobj=stream, mode="r|") as archive:  # type: ignore[call-overload]
                yield ((entry, archive) for entry in archive)
        except tarfile.TarError as error:
            raise FormatError(f"{path}: is a damaged tar ({_words(error)}); copy or download it again") from None


def _find(path: Path, member: str | None) -> str:
    """Return the member meant: the one named, or the only one."""
    with _members(path) as members:
        names = [entry.name for entry, _ in members if entry.isfile()]
    if member is None and len(names) == 1:
        return names[0]
    if member is None:
        examples = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        example = f"; name one, for example {path}{MEMBER_MARK}{names[0]}" if names else ""
        raise FormatError(f"{path}: is a tar of {len(names)} files ({examples}){example}")
    if member not in names:
        raise FormatError(f"{path}: has no file named {member!r} inside{did_you_mean(member, names)}")
    return member


def _read_entry(path: Path, archive: tarfile.TarFile, entry: tarfile.TarInfo) -> bytes:
    stream = archive.extractfile(entry)
    assert stream is not None  # only files come here
    where = f"{path}{MEMBER_MARK}{entry.name}"
    if entry.size > SIZE_LIMIT:
        raise FormatError(f"{where}: has more than {SIZE_LIMIT:,} bytes; split it into smaller files")
    content = stream.read()
    if content[:2] != GZIP_MAGIC:
        return content
    import io

    return _Bounded(io.BytesIO(content), where).read_all()


def _check(path: Path) -> None:
    """Refuse what is not a file before it is opened: a directory, a device, nothing at all."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        near = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        raise FormatError(f"{path}: no such file{did_you_mean(path.name, near)}") from None
    except (OSError, ValueError) as error:
        raise FormatError(f"{path}: cannot be read: {_words(error)}") from None
    if stat.S_ISDIR(mode):
        raise FormatError(f"{path}: is a directory, expected a file; name one of the files in it")
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
        raise FormatError(f"{path}: is a device, expected a file")


def _is_tar(start: bytes) -> bool:
    place, magic = TAR_MAGIC
    return start[place : place + len(magic)] == magic


def _peek(raw: IO[bytes], size: int) -> bytes:
    start: bytes = raw.peek(size)[:size] if hasattr(raw, "peek") else raw.read(size)
    if not hasattr(raw, "peek"):
        raw.seek(0)
    return start


def _without_mark(content: bytes) -> bytes:
    """Drop the byte order mark that some editors put before UTF-8."""
    return content.removeprefix(MARK)


def _words(error: BaseException) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(text).rstrip(".").lower()
