"""Training that is killed, by the signal that no process can catch, and resumed: as if it had never stopped.

Nothing here depends on who is quicker: a training prints a row after each checkpoint, to a pipe that is full, and
waits; a named pipe in the place of a file that it is about to write makes it wait there.
"""

from __future__ import annotations

import csv
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="install wayscore[navigation] to run the training's tests")
pty = pytest.importorskip("pty", reason="terminals and named pipes to look through are POSIX's")

from wayscore.navigation.rollout import load_checkpoint  # noqa: E402

EVERY, TOTAL = 4, 12
PATIENCE = 300.0
"""Seconds until what is waited for is given up."""
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name not in ("TTY_COMPATIBLE", "TTY_INTERACTIVE")},
    "TERM": "xterm",
    "COLUMNS": "120",
}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generated worlds written as files of R2R, of many more episodes than a batch has."""
    from wayscore.worlds.files import Course, course_files, write_files

    folder = tmp_path_factory.mktemp("course")
    write_files(folder, course_files(Course(episodes=600, scans=4), []))
    return folder


@pytest.fixture(scope="module")
def whole(course: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training that nobody disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    assert trained(course, folder).count("nDTW") == TOTAL // EVERY
    return folder


def test_killed_again_and_again(course: Path, whole: Path, tmp_path: Path) -> None:
    next_one = tmp_path / "checkpoint.tmp"

    # While its second checkpoint is being written: a pipe holds a fraction of one, so it waits to write the rest.
    with Training(command(course, tmp_path)) as process:
        process.wait_for(lambda: updates(tmp_path) == EVERY)
        os.mkfifo(next_one)
        pipe = os.open(next_one, os.O_RDONLY | os.O_NONBLOCK)
        process.release()
        torn = b""

        def begun() -> bool:
            nonlocal torn
            torn = available(pipe)
            return bool(torn)

        process.wait_for(begun)
        process.kill()
    os.close(pipe)
    assert len(torn) < (tmp_path / "checkpoint.pt").stat().st_size / 2
    assert updates(tmp_path) == EVERY
    next_one.unlink()
    next_one.write_bytes(torn)  # what is left where it is a file that was being written

    # As soon as that checkpoint is there.
    with Training(command(course, tmp_path, "--resume")) as process:
        process.wait_for(lambda: updates(tmp_path) == 2 * EVERY)
        process.kill()

    # In the middle of updates after it, as the terminal shows; or, where they are over before a bar is shown, while the
    # next checkpoint is being written.
    screen, terminal = pty.openpty()
    os.set_blocking(screen, False)
    os.mkfifo(next_one)  # no other checkpoint can follow
    pipe = os.open(next_one, os.O_RDONLY | os.O_NONBLOCK)
    with Training(command(course, tmp_path, "--resume"), stderr=terminal) as process:
        shown = b""

        def beyond() -> bool:
            nonlocal shown
            shown += available(screen)
            numbers = re.findall(rb"update (\d+)\b", shown)
            return any(int(number) > 2 * EVERY for number in numbers) or bool(available(pipe))

        process.wait_for(beyond)
        process.kill()
    os.close(pipe)
    os.close(screen)
    os.close(terminal)
    next_one.unlink()
    (tmp_path / "curve.tmp").write_text("update,sta")  # what a kill while the curve is written leaves
    assert updates(tmp_path) == 2 * EVERY

    assert trained(course, tmp_path, "--resume").count("nDTW") == 1  # it did not begin anew
    assert (tmp_path / "curve.csv").read_bytes() == (whole / "curve.csv").read_bytes()
    mine, theirs = load_checkpoint(tmp_path), load_checkpoint(whole)
    assert mine.keys() == theirs.keys()
    for name in mine.keys() - {"seconds"}:  # of the processor
        assert same(mine[name], theirs[name]), name
    assert walks(course, tmp_path) == walks(course, whole)
    assert not list(tmp_path.glob("*.tmp"))


def test_killed_when_the_last_checkpoint_is_there(course: Path, whole: Path, tmp_path: Path) -> None:
    # Nothing is left to do after the last checkpoint: a curve that is written after it would be lost for good.
    once = ["--every", str(TOTAL)]
    os.mkfifo(tmp_path / "curve.csv")  # where a curve that is written in place gets no further
    with Training(command(course, tmp_path, *once)) as process:
        process.wait_for(lambda: updates(tmp_path) == TOTAL)
        process.kill()
    assert (tmp_path / "curve.csv").is_file(), "the curve was still to be written"
    assert "nDTW" not in trained(course, tmp_path, "--resume", *once)
    assert rows(tmp_path) == rows(whole)[-1:]
    assert same(load_checkpoint(tmp_path)["policy"], load_checkpoint(whole)["policy"])


def same(a: Any, b: Any) -> bool:
    """Return whether two parts of checkpoints are equal to the bit."""
    if isinstance(a, torch.Tensor):
        return bool(torch.equal(a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return bool(a == b)


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "curve.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def updates(folder: Path) -> int:
    return int(load_checkpoint(folder)["updates"]) if (folder / "checkpoint.pt").exists() else 0


def files(course: Path) -> list[str]:
    return ["-r", str(course / "references.json"), "-g", str(course / "connectivity")]


def command(course: Path, out: Path, *words: str) -> list[str]:
    program = [sys.executable, "-c", "from wayscore.cli.app import main; main()", "train", str(out), *files(course)]
    lengths = ["--imitation", "6", "--reinforcement", str(TOTAL - 6), "--every", str(EVERY), "--max-episode-steps", "8"]
    return [*program, "--held-out", "1", "--seed", "5", *lengths, *words]


def trained(course: Path, out: Path, *words: str) -> str:
    """Train to the end, in a process of its own, and return what was printed."""
    done = subprocess.run(
        command(course, out, *words), env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


class Training:
    """A process that trains, and waits after its first checkpoint until it is released.

    Args:
        words: the command.
        stderr: where it shows its progress.
    """

    def __init__(self, words: list[str], stderr: int = subprocess.DEVNULL) -> None:
        self._printed, writer = os.pipe()
        os.set_blocking(self._printed, False)
        fill(writer)
        self._process = subprocess.Popen(words, env=ENVIRONMENT, stdout=writer, stderr=stderr)
        os.close(writer)

    def __enter__(self) -> Training:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._printed)

    def wait_for(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert self._process.poll() is None, f"the training ended by itself, with {self._process.returncode}"
            assert time.monotonic() < deadline, "what was waited for never came"
            time.sleep(0.01)

    def release(self) -> None:
        while available(self._printed):
            pass

    def kill(self) -> None:
        os.kill(self._process.pid, signal.SIGKILL)
        assert self._process.wait(PATIENCE) == -signal.SIGKILL


def fill(pipe: int) -> None:
    """Write to a pipe until it holds no byte more."""
    os.set_blocking(pipe, False)
    for size in (4096, 1):
        with suppress(BlockingIOError):
            while True:
                os.write(pipe, bytes(size))
    os.set_blocking(pipe, True)


def available(pipe: int) -> bytes:
    try:
        return os.read(pipe, 65536)
    except BlockingIOError:
        return b""


def walks(course: Path, agent: Path) -> bytes:
    """Return the result file of an agent's walks."""
    from click.testing import CliRunner

    from wayscore.cli.app import app

    done = CliRunner().invoke(app, ["rollout", str(agent), *files(course), "-o", str(agent / "run.json")])
    assert done.exit_code == 0, done.stderr
    return (agent / "run.json").read_bytes()
