"""Commands that are killed at random moments and started again: they must write what an undisturbed one writes.

python -m tests.kills [stream] [training] [--kills 50] [--seed 0]
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.town import make_town, write_files

WAYSCORE = [sys.executable, "-c", "from wayscore.cli.app import main; main()"]
PIECES = 60


class Case(NamedTuple):
    """A command that can be resumed."""

    words: Callable[[Path], list[str]]
    """The command, given the folder that it writes to."""
    written: Callable[[Path], Any]
    """What it has written there, to be compared."""
    printed: Callable[[bytes], bytes]
    """What is to be compared of its standard output."""


def stream(home: Path) -> Case:
    """Return an evaluation of a run in many files, whose table is written part by part."""
    town = make_town(home)
    run = write_files(home / "walks", town.walks, PIECES)

    def words(out: Path) -> list[str]:
        policies = ["--duplicate", "all", "--missing", "skip", "--resamples", "50", "--format", "json", "--resume"]
        return ["score", str(run), *town.files, *policies, "--episodes", str(out / "scores.parquet")]

    def written(out: Path) -> Any:
        import pyarrow.parquet as pq

        return sorted(path.name for path in out.iterdir()), pq.read_table(out / "scores.parquet").to_pydict()

    return Case(words, written, lambda text: text)


def training(home: Path) -> Case:
    """Return a training in generated worlds, with a checkpoint after every second update."""

    def words(out: Path) -> list[str]:
        lengths = ["--imitation", "10", "--reinforcement", "10", "--every", "2", "--max-episode-steps", "6"]
        return ["train", str(out), "--worlds", *lengths, *(["--resume"] * (out / "checkpoint.pt").exists())]

    def written(out: Path) -> Any:
        from wayscore.lab.agents.checkpoints import load_checkpoint

        state = load_checkpoint(out)
        kept = {name: str(state[name]) for name in state.keys() - {"policy", "optimizer", "seconds"}}
        policy = {name: value.numpy().tobytes() for name, value in state["policy"].items()}
        return sorted(path.name for path in out.iterdir()), (out / "curve.csv").read_bytes(), policy, kept

    return Case(words, written, lambda _: b"")  # it names its folder


CASES = {"stream": stream, "training": training}


def run(case: Case, home: Path, kills: int, rng: random.Random) -> tuple[int, int]:
    """Kill a command so often; return how many runs were finished, and how many of them wrote something else."""
    (home / "undisturbed").mkdir()
    started = time.monotonic()
    undisturbed = _start(case.words(home / "undisturbed")).communicate()[0]
    takes, expected = time.monotonic() - started, case.written(home / "undisturbed")
    finished = changed = killed = 0
    while not finished or killed < kills:
        out = home / f"killed-{finished}"
        out.mkdir()
        while True:
            process = _start(case.words(out))
            if killed < kills:
                try:
                    process.wait(rng.uniform(0.1, 1.0) * takes)
                except subprocess.TimeoutExpired:
                    process.kill()
            printed = process.communicate()[0]
            if process.returncode != -signal.SIGKILL:
                break
            killed += 1
        finished += 1
        if process.returncode or case.written(out) != expected or case.printed(printed) != case.printed(undisturbed):
            changed += 1
            print(f"{out.name}: exit status {process.returncode}, {sorted(path.name for path in out.iterdir())}")
    return finished, changed


def _start(words: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen([*WAYSCORE, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def main() -> None:
    """Kill what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help=", ".join(CASES))
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    bad = 0
    for name in given.cases or CASES:
        with tempfile.TemporaryDirectory() as folder:
            case = CASES[name](Path(folder))
            finished, changed = run(case, Path(folder), given.kills, random.Random(given.seed))
        bad += changed
        print(f"{name}: killed {given.kills} times, {finished} runs finished, {changed} of them wrote something else")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
