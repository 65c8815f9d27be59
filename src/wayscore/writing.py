"""The one writer of files: a file has its name when all of it is on the disk, and not before.

What was there stays there until then. Nothing is left behind by a disk that is full, an error or Ctrl-C.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from wayscore.errors import OutputError, first_line

UNFINISHED = ".unfinished"
"""Ends the name of a file while it is written."""


def write_whole(path: str | os.PathLike[str], content: bytes, *, folders: bool = False) -> None:
    """Write a file, completely or not at all; `folders` makes the folders that are missing."""
    with replacing(path, folders=folders) as stream:
        stream.write(content)


@contextmanager
def replacing(path: str | os.PathLike[str], *, folders: bool = False) -> Iterator[IO[bytes]]:
    """Open a file to be written; it gets its name when it is complete, and leaves nothing behind when it fails.

    A link is followed, permissions are kept, and a pipe or device (`/dev/stdout`) is written directly.
    """
    check_place(path)
    try:
        target = _place_of(path)
        if target is None:
            with open(path, "wb") as stream:
                yield stream
            return
        folder, name = os.path.split(target)
        if folders:
            os.makedirs(folder, exist_ok=True)
        unfinished = os.path.join(folder, f".{name[:100]}.{os.urandom(4).hex()}{UNFINISHED}")
        try:
            with open(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666), "wb") as stream:
                yield stream
                stream.flush()
                with suppress(FileNotFoundError):
                    os.chmod(unfinished, stat.S_IMODE(os.stat(target).st_mode))
                os.fsync(stream.fileno())
            os.replace(unfinished, target)
            with suppress(OSError):  # have the disk keep the new name; some file systems have no such thing
                handle = os.open(folder, os.O_RDONLY)
                try:
                    os.fsync(handle)
                finally:
                    os.close(handle)
        finally:
            with suppress(OSError):  # it has its name now, was never made, or its disk is gone
                os.unlink(unfinished)
    except OSError as error:
        raise unwritable(path, error) from None


def check_place(path: str | os.PathLike[str]) -> None:
    """Refuse an address of another system, such as s3://bucket/scores.parquet; pathlib leaves one slash of it."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", os.fspath(path)):
        raise OutputError(
            f"{os.fspath(path)}: files are written on this machine only; write it here and upload it yourself"
        )


def clear_unfinished(path: str | os.PathLike[str]) -> None:
    """Remove what writers of a file left behind that were killed; nobody may be writing it."""
    folder, name = os.path.split(os.path.realpath(path))
    ours = re.compile(rf"\.{re.escape(name[:100])}\.[0-9a-f]{{8}}{re.escape(UNFINISHED)}")
    if os.path.isdir(folder):
        for found in os.listdir(folder):
            if ours.fullmatch(found):
                with suppress(FileNotFoundError):
                    os.unlink(os.path.join(folder, found))


def unwritable(path: str | os.PathLike[str], error: BaseException) -> OutputError:
    """Return the error of a file that cannot be written, in one sentence."""
    if isinstance(error, OutputError):
        return error
    return OutputError(f"{os.fspath(path)}: cannot be written: {in_few_words(error)}; choose another place")


def in_few_words(error: BaseException) -> str:
    """Return what the system says: Arrow puts the path and the number of the error around it."""
    if isinstance(error, FileExistsError):  # the only thing that is made and not replaced is a folder
        return "not a directory"
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()
    return first_line(error)


def _place_of(path: str | os.PathLike[str]) -> str | None:
    """Return where the file will be, links followed; None for a pipe or a device, which cannot be replaced."""
    try:
        target = os.path.realpath(path)
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return target
    except ValueError as error:  # a name with a zero byte
        raise unwritable(path, error) from None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if stat.S_ISREG(mode) and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return target if stat.S_ISREG(mode) else None
