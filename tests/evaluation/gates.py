"""Processes that wait where a test wants them: nothing in a test depends on who is quicker."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import wayscore as ws

PATIENCE = 120.0
"""Seconds until what is waited for is given up."""


@dataclass(frozen=True)
class Gate:
    """A measure of episodes that waits at one of them, as long as a file in its folder says that the gate is shut."""

    folder: str
    episode: str

    def __call__(self, episode: ws.Episode) -> float:
        """Return how many nodes the query has."""
        if episode.name == self.episode and self.file.exists():
            Path(self.folder, f"waiting-{os.getpid()}").touch()
            while self.file.exists():
                time.sleep(0.01)
        return float(len(episode.query))

    @property
    def file(self) -> Path:
        """What shuts the gate."""
        return Path(self.folder, "shut")

    @property
    def metrics(self) -> list[str | ws.Metric]:
        """What to evaluate, to come to the gate."""
        own = ws.Metric(
            symbol="nodes", name="Nodes", direction=None, bounds=(0, 1e9), unit="", formula="|Q|", measure=self
        )
        return ["SR", "nDTW", own]

    def shut(self) -> None:
        """Let the next one wait."""
        for name in Path(self.folder).glob("waiting-*"):
            name.unlink()
        self.file.touch()

    def waiting(self) -> list[int]:
        """Return the processes that have come to it."""
        return [int(name.name.partition("-")[2]) for name in Path(self.folder).glob("waiting-*")]


def wait_for(condition: Callable[[], Any], going_on: Callable[[], Any] = lambda: True) -> Any:
    """Wait until a condition is met, as long as something is going on that can meet it."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert going_on(), "it ended before what was waited for came"
        assert time.monotonic() < deadline, "what was waited for never came"
        time.sleep(0.02)
    return found


@contextmanager
def stopped_at(gate: Gate, work: Callable[[], Any]) -> Iterator[tuple[int, Future[Any]]]:
    """Do some work beside this, until it comes to a gate; give the process that waits there."""
    gate.shut()
    with ThreadPoolExecutor(1) as beside:
        future = beside.submit(work)
        try:
            (waiting,) = wait_for(gate.waiting, lambda: not future.done() or future.result())
            yield waiting, future
        finally:
            gate.file.unlink(missing_ok=True)


@contextmanager
def started(*words: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a module of Python beside the test."""
    env = {**os.environ, **environment}
    process = subprocess.Popen([sys.executable, "-m", *words], stderr=subprocess.DEVNULL, env=env)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE)
