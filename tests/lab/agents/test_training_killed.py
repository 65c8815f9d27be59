"""Training that is killed, by the signal that no process can catch, and resumed: as if it had never stopped.

Nothing here depends on who is quicker: a training prints a row after each checkpoint, to a pipe that is full, and
waits; the system kills it in the middle of a file that grows beyond a limit.
"""

from __future__ import annotations

import csv
import os
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
resource = pytest.importorskip("resource", reason="limits of processes are POSIX's")
if not hasattr(resource, "prlimit"):
    pytest.skip("limits of other processes are Linux's", allow_module_level=True)

from tests.house import command as invoke  # noqa: E402
from wayscore.lab.agents.checkpoints import load_checkpoint  # noqa: E402
from wayscore.worlds.files import Course, course_files, write_files  # noqa: E402

pytestmark = pytest.mark.soak
EVERY, TOTAL = 4, 12
PATIENCE = 300.0
"""Seconds until what is waited for is given up."""
PROGRAM = """
import signal
from wayscore.cli.app import main

signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # which Python ignores
main()
"""
"""The command, which ends where a file grows too large."""
ENVIRONMENT = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # the only files are those of the training


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generated worlds written as files of R2R, of many more episodes than a batch has."""
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
    # While its second checkpoint is being written.
    half = (whole / "checkpoint.pt").stat().st_size // 2
    with Training(command(course, tmp_path)) as process:
        process.wait_for(lambda: updates(tmp_path) == EVERY)
        process.kill_in_a_file_of(half)
        process.release()
        process.wait_for_its_end()
    (torn,) = unfinished(tmp_path)
    assert torn.stat().st_size == half
    assert updates(tmp_path) == EVERY

    # As soon as that checkpoint is there.
    with Training(command(course, tmp_path, "--resume")) as process:
        process.wait_for(lambda: updates(tmp_path) == 2 * EVERY)
        process.kill()

    assert trained(course, tmp_path, "--resume").count("nDTW") == 1  # it did not begin again
    assert (tmp_path / "curve.csv").read_bytes() == (whole / "curve.csv").read_bytes()
    mine, theirs = load_checkpoint(tmp_path), load_checkpoint(whole)
    assert mine.keys() == theirs.keys()
    for name in mine.keys() - {"seconds"}:  # of the processor
        assert same(mine[name], theirs[name]), name
    assert walks(course, tmp_path) == walks(course, whole)
    assert not unfinished(tmp_path)


def test_the_curve_is_there_before_the_last_checkpoint(course: Path, whole: Path, tmp_path: Path) -> None:
    # Nothing is left to do after the last checkpoint: a curve that is written after it would be lost for good.
    once = ["--every", str(TOTAL)]
    with Training(command(course, tmp_path, *once)) as process:
        process.kill_in_a_file_of((whole / "checkpoint.pt").stat().st_size // 2)
        process.wait_for_its_end()
    assert updates(tmp_path) == 0
    assert rows(tmp_path) == rows(whole)[-1:]
    assert "nDTW" in trained(course, tmp_path, *once)
    assert "nDTW" not in trained(course, tmp_path, "--resume", *once)
    assert rows(tmp_path) == rows(whole)[-1:]
    assert same(load_checkpoint(tmp_path)["policy"], load_checkpoint(whole)["policy"])


def unfinished(folder: Path) -> list[Path]:
    return list(folder.glob(".*.unfinished"))


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
    program = [sys.executable, "-c", PROGRAM, "train", str(out), *files(course)]
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
    """A process that trains, and waits after its first checkpoint until it is released."""

    def __init__(self, words: list[str]) -> None:
        self._printed, writer = os.pipe()
        os.set_blocking(self._printed, False)
        fill(writer)
        self._process = subprocess.Popen(words, env=ENVIRONMENT, stdout=writer, stderr=subprocess.DEVNULL)
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

    def kill_in_a_file_of(self, size: int) -> None:
        """Have the system end the process when a file that it writes grows beyond a size."""
        resource.prlimit(self._process.pid, resource.RLIMIT_CORE, (0, 0))
        resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE, (size, size))

    def wait_for_its_end(self) -> None:
        assert self._process.wait(PATIENCE) == -signal.SIGXFSZ

    def release(self) -> None:
        with suppress(BlockingIOError):
            while os.read(self._printed, 65536):
                pass

    def kill(self) -> None:
        self._process.kill()
        assert self._process.wait(PATIENCE) == -signal.SIGKILL


def fill(pipe: int) -> None:
    """Write to a pipe until it holds no byte more."""
    os.set_blocking(pipe, False)
    for size in (4096, 1):
        with suppress(BlockingIOError):
            while True:
                os.write(pipe, bytes(size))
    os.set_blocking(pipe, True)


def walks(course: Path, agent: Path) -> bytes:
    """Return the result file of an agent's walks."""
    invoke("rollout", agent, *files(course), "-o", agent / "run.json", status=0)
    return (agent / "run.json").read_bytes()
