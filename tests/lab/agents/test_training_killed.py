"""Training that is killed, by the signal that no process can catch, and resumed: as if it had never stopped.

Nothing here depends on who is quicker: the process kills itself when it is about to give a file its name. A training
writes its curve, then its checkpoint, each time.
"""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="install wayscore[navigation] to run the training's tests")

from tests.house import command as invoke  # noqa: E402
from wayscore.lab.agents.checkpoints import load_checkpoint  # noqa: E402
from wayscore.worlds.files import Course, course_files, write_files  # noqa: E402

pytestmark = [pytest.mark.soak, pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the signal is POSIX's")]
EVERY, TOTAL = 4, 12
PROGRAM = """
import os, signal, sys

left, replace = [None] * int(sys.argv.pop(1)), os.replace

def killed(*names):
    left.pop()
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(*names)

os.replace = killed

from wayscore.cli.app import main
main()
"""
"""The command, which is killed at its n-th file, when all of it is written and it has no name yet."""


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
    killed(4, course, tmp_path)  # at its second checkpoint
    assert len(unfinished(tmp_path)) == 1
    assert updates(tmp_path) == EVERY
    killed(3, course, tmp_path, "--resume")  # after that checkpoint
    assert updates(tmp_path) == 2 * EVERY
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
    killed(2, course, tmp_path, *once)
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


def words(course: Path, out: Path) -> list[str]:
    lengths = ["--imitation", "6", "--reinforcement", str(TOTAL - 6), "--every", str(EVERY), "--max-episode-steps", "8"]
    return ["train", str(out), *files(course), "--held-out", "1", "--seed", "5", *lengths]


def trained(course: Path, out: Path, *further: str) -> str:
    """Train to the end, and return what was printed."""
    return str(invoke(*words(course, out), *further, status=0).stdout)


def killed(number: int, course: Path, out: Path, *further: str) -> None:
    """Train in a process of its own, which is killed at its n-th file."""
    program = [sys.executable, "-c", PROGRAM, str(number), *words(course, out), *further]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # the only files are those of the training
    done = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr


def walks(course: Path, agent: Path) -> bytes:
    """Return the result file of an agent's walks."""
    invoke("rollout", agent, *files(course), "-o", agent / "run.json", status=0)
    return (agent / "run.json").read_bytes()
