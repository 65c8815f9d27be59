"""The one reader of files: decompresses what is compressed, and stops before a file fills the memory.

Every file comes through here: runs, references, graphs, meshes, conventions, studies, and the members of tars.
Nothing is ever unpacked to disk. A file that has more bytes than `SIZE_LIMIT` after decompression, or that is large and
swells more than `RATIO_LIMIT` times, is refused, and so is a tar of more than `MEMBER_LIMIT` members. Who has a real
file that is larger sets `WAYSCORE_SIZE_LIMIT` (bytes) or `WAYSCORE_MEMBER_LIMIT`.
"""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from wayscore.errors import FormatError, OptionError, did_you_mean, first_line, shortened

if TYPE_CHECKING:
    import tarfile

SIZE_LIMIT = 4 * 2**30
"""Bytes that a file may have after decompression; readers of small things have smaller limits."""
RATIO_LIMIT = 200
"""How many times larger a file may become by decompression (real files: 3 to 15) ..."""
RATIO_FLOOR = 256 * 2**20
"""... once it has more bytes than this."""
MEMBER_LIMIT = 50_000
"""Members that a tar may have; Matterport3D has 90 scans."""
SIZE_VARIABLE, MEMBER_VARIABLE = "WAYSCORE_SIZE_LIMIT", "WAYSCORE_MEMBER_LIMIT"
CHUNK = 2**20
DICTIONARY_LIMIT = 256 * 2**20
"""Bytes that decompressing xz may need besides."""
GZIP_MAGIC = b"\x1f\x8b"


def size_limit(most: int | None = None) -> int:
    """Return how many bytes a file may have: what the environment says, else `most`, else `SIZE_LIMIT`."""
    return _limit(SIZE_VARIABLE, SIZE_LIMIT if most is None else most)


def too_large(where: str, most: int, how: str = "") -> FormatError:
    """Return the error of a file that has more than `most` bytes."""
    return FormatError(
        f"{where}: has more than {most:,} bytes{how}; split it into smaller files, or set {SIZE_VARIABLE} to the bytes "
        "that a file may have"
    )


class BoundedFile:
    """An open file: gives its content, decompressed, and never more than it may have.

    Args:
        raw: the file, at its beginning.
        where: how errors call it.
        most: bytes that it may have; None where whoever reads it keeps only a part of it at a time.
    """

    def __init__(self, raw: IO[bytes], where: str, most: int | None) -> None:
        self._raw, self._where, self._most = raw, where, most
        self._next: bytes = raw.read(6)
        self._taken = len(self._next)
        self._kind, self._start = _unpacker_of(self._next)
        self._magic = self._next[:2]
        self._unpacker: Any = None
        self._ahead = b""
        self._given = 0

    def read(self, size: int = -1) -> bytes:
        """Return so many bytes, or all that are left; fewer only at the end."""
        parts, left = [], size
        if self._ahead:
            taken = self._ahead if size < 0 else self._ahead[:size]
            parts, left, self._ahead = [taken], size - len(taken), self._ahead[len(taken) :]
        while (left > 0 or size < 0) and (part := self._more(CHUNK if size < 0 else min(left, CHUNK))):
            parts.append(part)
            left -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def peek(self, size: int) -> bytes:
        """Return up to `size` bytes that the next read will give again."""
        if len(self._ahead) < size:
            ahead, self._ahead = self._ahead, b""
            self._ahead = ahead + self.read(size - len(ahead))
        return self._ahead[:size]

    def _more(self, size: int) -> bytes:
        part = self._plain(size) if self._start is None else self._unpacked(size, self._start)
        self._given += len(part)
        if self._most is not None:
            if self._given > self._most:
                raise too_large(self._where, self._most, " when decompressed" if self._kind else "")
            if self._kind and self._given > RATIO_FLOOR and self._given > RATIO_LIMIT * self._taken:
                raise FormatError(
                    f"{self._where}: swells more than {RATIO_LIMIT} times when decompressed, which no real file "
                    "of episodes does; decompress it yourself if you trust it"
                )
        return part

    def _plain(self, size: int) -> bytes:
        head, self._next = self._next[:size], self._next[size:]
        return head or bytes(self._raw.read(size))

    def _unpacked(self, size: int, start: Callable[[], Any]) -> bytes:
        """Return up to `size` bytes of the streams that the file is made of; b"" at the end of the last one."""
        try:
            while True:
                if self._unpacker is None or self._unpacker.eof:
                    if self._unpacker is not None:
                        self._next = self._unpacker.unused_data.lstrip(b"\0")  # padding, as tape archives have it
                        while not self._next and (more := self._feed()):
                            self._next = more.lstrip(b"\0")
                        if not self._next:
                            return b""
                        if self._next[:2] != self._magic[: len(self._next)]:
                            raise ValueError("something else follows its end")  # noqa: TRY301
                    self._unpacker = start()
                given = self._next or (self._feed() if self._unpacker.needs_input else b"")
                if not given and self._unpacker.needs_input:
                    raise EOFError("it ends too early")  # noqa: TRY301
                self._next = b""
                if part := self._unpacker.decompress(given, size):
                    return bytes(part)
        except (OSError, MemoryError):  # of the disk or the machine, not of the content; bz2 says OSError too
            if self._kind == "bz2":
                raise damaged(self._where, self._kind, OSError("invalid data stream")) from None
            raise
        except Exception as error:  # each library has its own
            raise damaged(self._where, self._kind, error) from None

    def _feed(self) -> bytes:
        more = bytes(self._raw.read(CHUNK // 8))
        self._taken += len(more)
        return more


def damaged(where: str, kind: str, error: BaseException) -> FormatError:
    """Return the error of a file that cannot be decompressed."""
    return FormatError(f"{where}: is damaged {kind} ({first_line(error).lower()}); copy or download it again")


@contextmanager
def opened(path: Path, most: int | None = None) -> Iterator[BoundedFile]:
    """Open a file of this machine that may have `most` bytes; by default `SIZE_LIMIT`."""
    check_file(path)
    try:
        with path.open("rb") as raw:
            yield BoundedFile(raw, str(path), size_limit(most))
    except OSError as error:
        raise unreadable(path, error) from None


def read_bytes(path: str | os.PathLike[str], most: int | None = None) -> bytes:
    """Return a file's content, decompressed, which may have `most` bytes; by default `SIZE_LIMIT`.

    Raises:
        FormatError: the file is missing, unreadable, a directory, damaged or too large.
    """
    with opened(Path(path), most) as file:
        return file.read()


def unpack(content: bytes, where: str, most: int | None = None) -> bytes:
    """Return content, decompressed if it is compressed."""
    if not content.startswith(tuple(UNPACKERS)):
        return content
    import io

    return BoundedFile(io.BytesIO(content), where, size_limit(most)).read()


def is_packed(raw: IO[bytes]) -> bool:
    """Say whether an open file is compressed; it is at its beginning afterwards."""
    start = raw.read(6)
    raw.seek(0)
    return start.startswith(tuple(UNPACKERS))


def members(file: Any, where: str, *, stream: bool = False) -> Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]:
    """Go through the files in a tar.

    Args:
        file: the open tar, decompressed.
        where: how errors call it.
        stream: whether it can only be read forwards; each member must be read before the next then.
    """
    import tarfile

    most = _limit(MEMBER_VARIABLE, MEMBER_LIMIT)
    try:
        with tarfile.open(fileobj=file, mode="r|" if stream else "r:") as archive:
            for number, entry in enumerate(archive):
                if number >= most:
                    raise FormatError(
                        f"{where}: is a tar of more than {most:,} members; leave out what is not needed, or set "
                        f"{MEMBER_VARIABLE} to the number that a tar may have"
                    )
                if entry.isreg() and not entry.issparse():  # a sparse file could claim any size
                    yield entry, archive
    except (tarfile.TarError, EOFError, ValueError, OverflowError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(
            f"{where}: not a tar, or a damaged one ({first_line(error).lower()}); copy or download it again"
        ) from None


def check_file(path: Path) -> None:
    """Refuse what is not a file before it is opened: a directory, a device, nothing at all."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise FormatError(f"{path}: no such file{did_you_mean(path.name, _names_beside(path))}") from None
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    if stat.S_ISDIR(mode):
        raise FormatError(f"{path}: is a directory, expected a file; name one of the files in it")
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
        raise FormatError(f"{path}: is a device, expected a file")


def unreadable(path: object, error: Exception) -> FormatError:
    """Return the error of a file that the system does not give."""
    said = getattr(error, "strerror", None)
    return FormatError(f"{path}: cannot be read: {str(said or first_line(error)).lower()}")


def _names_beside(path: Path) -> list[str]:
    try:
        return os.listdir(path.parent)
    except (OSError, ValueError):
        return []


def _limit(variable: str, usual: int) -> int:
    given = os.environ.get(variable)
    if not given:
        return usual
    if not given.isdecimal() or len(given) > 18 or int(given) < 1:
        raise OptionError(f"{variable} must be a whole number, 1 or more, not {shortened(given)}")
    return int(given)


def _unpacker_of(start: bytes) -> tuple[str, Callable[[], Any] | None]:
    return next((found for magic, found in UNPACKERS.items() if start.startswith(magic)), ("", None))


class _Gzip:
    """A decompressor of gzip with the attributes that those of bz2 and lzma have."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)

    def decompress(self, content: bytes, most: int) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + content, most)

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data


def _bz2() -> Any:
    import bz2  # few files need it

    return bz2.BZ2Decompressor()


def _lzma() -> Any:
    import lzma

    return lzma.LZMADecompressor(memlimit=DICTIONARY_LIMIT)


UNPACKERS: Mapping[bytes, tuple[str, Callable[[], Any]]] = {
    GZIP_MAGIC: ("gzip", _Gzip),
    b"BZh": ("bz2", _bz2),
    b"\xfd7zXZ": ("xz", _lzma),
}
"""The first bytes of a compressed file -> the name of its compression, and a decompressor of one stream."""
