"""A log: a file of finished episodes, one JSON line each, with one writer, whose lines survive a crash.

A line is written and synced to the disk before its episode counts as finished. So only the last line can be incomplete;
it is removed when the log is opened the next time.
"""

import glob
import json
import os
import sys
import warnings
from itertools import count
from typing import Any, Dict, Iterator, List, Union

from wayscore_recorder.running import RecorderError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

VERSION = 1
"""Of the lines, which docs/schema/episode-1.json describes."""
MARK = "wayscore_episode"
"""The first field of every line; its value is the version."""
BEGINNING = f'{{"{MARK}": '.encode()
LOCKED_BYTE = 1 << 40
"""Windows locks bytes; one far behind the end of every log leaves the log readable."""
PathLike = Union[str, "os.PathLike[str]"]
Record = Dict[str, Any]


class LockedError(RecorderError):
    """Another program is writing to the log."""


class LogFile:
    """A log that is open for writing.

    Attributes:
        path: where it is.
    """

    def __init__(self, path: PathLike) -> None:
        self.path = os.fspath(path)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        created = not os.path.exists(self.path)
        try:
            self._file = os.open(self.path, flags, 0o666)
        except OSError as error:
            raise RecorderError(f"{self.path}: cannot be opened for writing ({error.strerror})") from error
        try:
            _lock(self._file, self.path)
            self._process = os.getpid()
            self._repair()
            if created:
                _sync_folder(self.path)
        except BaseException:
            os.close(self._file)
            raise
        self.closed = False

    def append(self, record: Record) -> None:
        """Write a line and sync it; if that fails, the log stays as it was."""
        if self.closed:
            raise RecorderError(f"{self.path}: the log is closed; open it again to go on")
        if os.getpid() != self._process:
            raise RecorderError(f"{self.path}: was opened in another process; open a log of its own in each process")
        known = {name: value for name, value in record.items() if value not in (None, [], {})}
        try:
            line = json.dumps({MARK: VERSION, **known}, allow_nan=False).encode() + b"\n"
        except (TypeError, ValueError) as error:
            raise RecorderError(f"episode {record['episode']!r}: cannot be written as JSON ({error})") from error
        end = os.fstat(self._file).st_size
        try:
            left = memoryview(line)
            while left:
                left = left[os.write(self._file, left) :]
            os.fsync(self._file)
        except BaseException as error:
            os.ftruncate(self._file, end)
            if isinstance(error, OSError):
                raise RecorderError(
                    f"{self.path}: cannot be written ({error.strerror}); the episode is not in the log"
                ) from error
            raise

    def close(self) -> None:
        """Close the log; another program may go on with it."""
        if not self.closed:
            self.closed = True
            os.close(self._file)

    def _repair(self) -> None:
        """Remove a last line that a crash left incomplete, or end it if nothing but its end is missing."""
        last, start = b"", 0
        with open(self.path, "rb") as file:
            for line in file:
                last, start = line, start + len(last)
        if not last or last.endswith(b"\n"):
            return
        if _is_episode(last):
            os.write(self._file, b"\n")
        elif _is_incomplete(last):
            os.ftruncate(self._file, start)
            warnings.warn(
                f"{self.path}: its last line was incomplete, since the program that wrote it was stopped, and has been "
                "removed; the finished episodes before it are kept",
                stacklevel=4,
            )
        os.fsync(self._file)


def read_log(path: PathLike) -> Iterator[Record]:
    """Go through the finished episodes of a log."""
    with open(os.fspath(path), "rb") as file:
        for number, line in enumerate(file, start=1):
            if _is_episode(line):
                yield _decoded(line)
            elif line.endswith(b"\n") or not _is_incomplete(line):
                raise RecorderError(
                    f"{os.fspath(path)}, line {number}: expected an episode of version {VERSION}, got {line[:60]!r}"
                    "; is it a file of another program?"
                )


def finished(*logs: PathLike) -> List[str]:
    """Return the names of the episodes that are finished in some logs; a log may be a pattern, `run*.jsonl`."""
    paths = [path for log in logs for path in sorted(glob.glob(os.fspath(log)))]
    return list({str(record["episode"]): None for path in paths for record in read_log(path)})


def names_of_logs(path: PathLike) -> Iterator[str]:
    """Go through the names of the logs that several processes write: run.jsonl, run-1.jsonl, run-2.jsonl, ..."""
    yield os.fspath(path)
    stem, ending = os.path.splitext(os.fspath(path))
    yield from (f"{stem}-{number}{ending}" for number in count(1))


def _decoded(line: bytes) -> Any:
    try:
        return json.loads(line.decode())
    except ValueError:
        return None


def _is_episode(line: bytes) -> bool:
    record = _decoded(line)
    return isinstance(record, dict) and record.get(MARK) == VERSION and "episode" in record


def _is_incomplete(line: bytes) -> bool:
    """Say whether this is the beginning of an episode; a disk may leave zeros behind it."""
    line = line.rstrip(b"\0")
    return _decoded(line) is None and (line.startswith(BEGINNING) or BEGINNING.startswith(line))


def _lock(file: int, path: str) -> None:
    """Lock a file, or say that another program has locked it."""
    try:
        if sys.platform == "win32":
            os.lseek(file, LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if sys.platform == "win32" or isinstance(error, (BlockingIOError, PermissionError)):
            raise LockedError(
                f"{path}: another program is writing to it, and two would mix episodes; give each a log of its own"
            ) from error
        warnings.warn(
            f"{path}: this file system has no locks ({error.strerror}); make sure that no other program writes to it",
            stacklevel=4,
        )


def _sync_folder(path: str) -> None:
    """Make sure that the name of a new file is on the disk too."""
    if sys.platform == "win32":  # has no such call
        return
    folder = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
