"""The one reader of files: decompresses what is compressed, and stops before a file fills the memory.

Every file comes through here: runs, references, graphs, meshes, conventions, studies, and the members of tars.
Nothing is ever unpacked to disk. A file that has more bytes than `SIZE_LIMIT` after decompression, or that is large and
swells more than `RATIO_LIMIT` times, is refused, and so is a tar of more than `MEMBER_LIMIT` members. For larger
real files, set `WAYSCORE_SIZE_LIMIT` (bytes) or `WAYSCORE_MEMBER_LIMIT`.
"""

from __future__ import annotations

import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
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
CHUNK, PACKED_CHUNK = 2**20, 2**17
"""Bytes that are given, and taken from a compressed file, at a time."""
DICTIONARY_LIMIT = 256 * 2**20
"""Bytes that decompressing xz may need for its dictionary."""


def size_limit(most: int | None = None, variable: str = SIZE_VARIABLE) -> int:
    """Return how many bytes a file may have: what the environment says, else `most`, else `SIZE_LIMIT`."""
    given = os.environ.get(variable)
    if not given:
        return SIZE_LIMIT if most is None else most
    if not given.isdecimal() or len(given) > 18 or int(given) < 1:
        raise OptionError(f"{variable} must be a whole number, 1 or more, not {shortened(given)}")
    return int(given)


def too_large(where: str, most: int, how: str = "") -> FormatError:
    """Return the error of a file that has more than `most` bytes."""
    return FormatError(
        f"{where}: has more than {most:,} bytes{how}; split it into smaller files, or set {SIZE_VARIABLE} to the bytes "
        "that a file may have"
    )


class BoundedFile:
    """An open file that gives its content, decompressed, and never more than the `most` bytes that it may have.

    Without `most` there is no limit: for files of which only a part is in memory at a time.
    """

    def __init__(self, raw: IO[bytes], where: str, most: int | None) -> None:
        self._chunks = _contents(raw, where, most)
        self._chunk, self._at = b"", 0

    def read(self, size: int = -1) -> bytes:
        """Return `size` bytes, or all that are left; fewer only at the end."""
        parts, left = [], sys.maxsize if size < 0 else size
        while left > 0:
            if self._at == len(self._chunk):
                self._chunk, self._at = next(self._chunks, b""), 0
            if not self._chunk:
                break
            part = self._chunk[self._at : self._at + left]
            self._at += len(part)
            left -= len(part)
            parts.append(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def peek(self, size: int) -> bytes:
        """Return up to `size` bytes that the next read will give again."""
        ahead = self._chunk[self._at :]
        while len(ahead) < size and (more := next(self._chunks, b"")):
            ahead += more
        self._chunk, self._at = ahead, 0
        return ahead[:size]


def _contents(raw: IO[bytes], where: str, most: int | None) -> Iterator[bytes]:
    """Go through the content of a file, decompressed, a chunk at a time; it may be several streams, end to end."""
    packed = bytes(raw.read(6))
    kind, start = next((found for magic, found in UNPACKERS.items() if packed.startswith(magic)), ("", None))
    magic, taken, given = packed[:2], len(packed), 0
    unpacker: Any = None
    while True:
        try:
            chunk = b""
            if start is None:
                chunk, packed = packed + raw.read(CHUNK), b""
            while start is not None and not chunk:
                if unpacker is None or unpacker.eof:
                    if unpacker is not None:
                        packed = unpacker.unused_data.lstrip(b"\0")  # padding, as tape archives have it
                        while not packed and (more := raw.read(PACKED_CHUNK)):
                            packed, taken = more.lstrip(b"\0"), taken + len(more)
                        if not packed:
                            break
                        if packed[:2] != magic[: len(packed)]:
                            raise ValueError("something else follows its end")  # noqa: TRY301
                    unpacker = start()
                if not packed and getattr(unpacker, "needs_input", True):
                    packed = raw.read(PACKED_CHUNK)
                    taken += len(packed)
                    if not packed:
                        raise EOFError("it ends too early")  # noqa: TRY301
                chunk = unpacker.decompress(packed, CHUNK)
                packed = getattr(unpacker, "unconsumed_tail", b"")  # zlib leaves it to the caller, others keep it
        except (OSError, MemoryError):  # of the disk or the machine, not of the content; bz2 says OSError too
            if kind != "bz2":
                raise
            raise FormatError(f"{where}: is damaged bz2 (invalid data stream); copy or download it again") from None
        except Exception as error:  # each library has its own
            if not kind:
                raise
            what = first_line(error).lower()
            raise FormatError(f"{where}: is damaged {kind} ({what}); copy or download it again") from None
        if not chunk:
            return
        given += len(chunk)
        if most is not None and given > most:
            raise too_large(where, most, " when decompressed" if kind else "")
        if most is not None and kind and given > max(RATIO_FLOOR, RATIO_LIMIT * taken):
            raise FormatError(
                f"{where}: swells more than {RATIO_LIMIT} times when decompressed, which no real file "
                "of episodes does; decompress it yourself if you trust it"
            )
        yield chunk


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
    """Return a file's content, decompressed, which may have `most` bytes; by default `SIZE_LIMIT`."""
    with opened(Path(path), most) as file:
        return file.read()


def members(file: Any, where: str, *, stream: bool = False) -> Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]:
    """Go through the files in an open tar; of a `stream`, each member must be read before the next."""
    import tarfile

    most = size_limit(MEMBER_LIMIT, MEMBER_VARIABLE)
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
        beside = []
        with suppress(OSError, ValueError):
            beside = os.listdir(path.parent)
        raise FormatError(f"{path}: no such file{did_you_mean(path.name, beside)}") from None
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    if stat.S_ISDIR(mode):
        raise FormatError(f"{path}: is a directory, expected a file; name one of the files in it")
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
        raise FormatError(f"{path}: is a device, expected a file")


def unreadable(path: object, error: Exception) -> FormatError:
    """Return the error of a file that the system does not give."""
    return FormatError(f"{path}: cannot be read: {(getattr(error, 'strerror', None) or first_line(error)).lower()}")


UNPACKERS: Mapping[bytes, tuple[str, Callable[[], Any]]] = {
    b"\x1f\x8b": ("gzip", lambda: zlib.decompressobj(wbits=31)),
    b"BZh": ("bz2", lambda: import_module("bz2").BZ2Decompressor()),
    b"\xfd7zXZ": ("xz", lambda: import_module("lzma").LZMADecompressor(memlimit=DICTIONARY_LIMIT)),
}
"""The first bytes of a compressed file -> the name of its compression, and a decompressor of one stream."""
