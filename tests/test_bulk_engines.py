"""Streams whose workers, or who themselves, are killed by the signal that no process can catch: as if nothing had been.

Nothing here depends on who is quicker: a named pipe that is full, in the place of a file, makes its writer wait there.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner
from wayscore.evaluation.streaming import score_stream

import wayscore as ws
from tests.bulk_data import SAMPLES, Gate, Town, part, read_scores, streamed, write_files, write_parquet
from wayscore.cli.app import app
from wayscore.errors import WayscoreError
from wayscore.evaluation import engines
from wayscore.formats import plan as pieces

dask = pytest.importorskip("dask", reason="install wayscore[cluster] to run the tests of clusters")
pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks at processes through /proc")
PATIENCE = 120.0
"""Seconds until what is waited for is given up."""
PIECES = 15


@pytest.fixture
def run(town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The walks of a town, in many pieces."""
    monkeypatch.setattr(pieces, "ROWS", 250)
    path = write_parquet(tmp_path / "walks.parquet", town.walks)
    assert len(pieces.plan(str(path))) == PIECES
    return path


def wait_for(condition: Callable[[], Any], going_on: Callable[[], bool]) -> Any:
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert going_on(), "it ended before what was waited for came"
        assert time.monotonic() < deadline, "what was waited for never came"
        time.sleep(0.02)
    return found


@contextmanager
def stopped_at(number: int, folder: Path, work: Callable[[], Any]) -> Iterator[tuple[int, Future[Any]]]:
    """Do some work beside this, until it comes to a part; give the process that waits there."""
    gate = Gate(part(folder, number).with_suffix(".note.unfinished"))
    with ThreadPoolExecutor(1) as beside:
        future = beside.submit(work)
        try:
            (waiting,) = wait_for(gate.waiting, lambda: not future.done() or future.result())
            gate.remove()
            yield waiting, future
        finally:
            gate.close()


# Workers


@pytest.mark.parametrize("engine", engines.ENGINES)
def test_a_worker_is_killed(town: Town, run: Path, whole: Any, tmp_path: Path, engine: str) -> None:
    out = tmp_path / "scores.parquet"

    def work() -> Any:
        return streamed(run, town.references, town.graphs, out, workers=2, engine=engine, resume=True)

    with stopped_at(4, tmp_path, work) as (worker, future):
        assert worker != os.getpid()
        os.kill(worker, signal.SIGKILL)
        summary, scores = future.result(PATIENCE)
    assert summary.metrics == whole[0].metrics
    assert summary.signature == whole[0].signature
    assert scores.equals(whole[1])


class Deadly:
    """What ends the process that it is sent to."""

    def __reduce__(self) -> Any:
        return os._exit, (1,)


def test_workers_that_keep_dying(town: Town, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "score_piece", Deadly())
    monkeypatch.setattr(engines, "RETRIES", 1)
    with pytest.raises(WayscoreError, match=r"workers died 2 times.*fewer --workers") as raised:
        streamed(run, town.references, town.graphs, tmp_path / "scores.parquet", workers=2)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "scores.parquet").exists()


def test_a_cluster_whose_workers_keep_dying(
    town: Town, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "RETRIES", 1)
    options: dict[str, Any] = {"workers": 1, "engine": "dask", "resume": True}

    def work() -> Any:
        with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
            return streamed(run, town.references, town.graphs, tmp_path / "scores.parquet", **options)

    with stopped_at(2, tmp_path, work) as (worker, future):
        again = Gate(part(tmp_path, 2).with_suffix(".note.unfinished"))
        os.kill(worker, signal.SIGKILL)  # and with it the only copy of what walks are scored against
        (other,) = wait_for(again.waiting, lambda: not future.done() or future.result())
        again.remove()
        os.kill(other, signal.SIGKILL)
        with pytest.raises(WayscoreError, match="workers died 2 times") as raised:
            future.result(PATIENCE)
        again.close()
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "scores.parquet").exists()


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[str]:
    """The address of a Dask scheduler that has no workers yet."""
    told = tmp_path / "scheduler.json"
    words = ["--host", "127.0.0.1", "--port", "0", "--dashboard-address", ":0", "--scheduler-file", str(told)]
    with started("distributed.cli.dask_scheduler", *words) as process:
        wait_for(lambda: told.exists() and told.stat().st_size, lambda: process.poll() is None)
        yield json.loads(told.read_text())["address"]


@contextmanager
def started(module: str, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-m", module, *words], stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE)


def test_the_address_of_a_cluster(
    town: Town, run: Path, whole: Any, tmp_path: Path, scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "scores.parquet"
    words = ["score", str(run), *town.files, "--duplicate", "all", "--missing", "skip", "--episodes", str(out)]
    words += ["--resamples", str(SAMPLES), "--engine", "dask", "--scheduler", scheduler, "-f", "json"]
    monkeypatch.setattr(engines, "WAIT", 0.1)
    alone = CliRunner().invoke(app, words)
    assert alone.exit_code == 1
    assert alone.stderr == f"wayscore: the Dask scheduler at {scheduler} has no workers; start some\n"
    monkeypatch.setattr(engines, "WAIT", PATIENCE)
    with started("distributed.cli.dask_worker", scheduler, "--nthreads", "1", "--no-nanny", "--no-dashboard"):
        found = CliRunner().invoke(app, words)
        assert found.exit_code == 0, found.stderr
    told = json.loads(found.stdout)
    assert {symbol: tuple(values.values()) for symbol, values in told["metrics"].items()} == whole[0].metrics
    assert read_scores(out).equals(whole[1])


def test_no_cluster_at_an_address(town: Town, run: Path) -> None:
    quickly = dask.config.set({"distributed.comm.timeouts.connect": "0.2s"})
    with quickly, pytest.raises(ws.OptionError, match="no Dask scheduler answers at tcp://127") as raised:
        score_stream(run, town.references, graphs=town.graphs, engine="dask", scheduler="tcp://127.0.0.1:9")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "spark"}, "there is no engine 'spark'"),
        ({"workers": 0}, "1 or more, got 0"),
        ({"scheduler": "tcp://127.0.0.1:9"}, "needs --engine dask"),
        ({"resume": True}, "--resume goes on with the file that --episodes names"),
        ({"rows": 0}, "rows 1 or more"),
        ({"cluster": "house"}, "cannot cluster by 'house'"),
        ({"policies": {"duplicate": "keep"}}, "in a stream, duplicate episodes may be error, all"),
        ({"policies": {"missing": "keep"}}, "missing episodes may be error, skip, zero"),
        ({"policies": {"mising": "skip"}}, "there is no policy for 'mising'; did you mean 'missing'"),
        ({"episodes": "scores.csv"}, "scores.csv: .* .parquet"),
    ],
)
def test_options_that_make_no_sense(town: Town, run: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ws.OptionError, match=message):
        score_stream(run, town.references, graphs=town.graphs, **options)


# The stream itself


def test_the_stream_is_killed_and_resumed(town: Town, whole: Any, tmp_path: Path) -> None:
    out = tmp_path / "scores.parquet"
    run = write_files(tmp_path / "walks", town.walks, PIECES)
    words = ["score", str(run), *town.files, "--duplicate", "all", "--missing", "skip", "--episodes", str(out)]
    words += ["--resamples", str(SAMPLES), "--workers", "1", "--resume", "-f", "json"]

    def until(number: int) -> dict[str, tuple[int, int]]:
        """Stream until a part is nearly finished, and no further; return the parts that are there."""
        gate = Gate(part(tmp_path, number).with_suffix(".note.unfinished"))
        with subprocess.Popen([sys.executable, "-m", "wayscore", *words], stdout=subprocess.DEVNULL) as process:
            assert wait_for(gate.waiting, lambda: process.poll() is None) == [process.pid]
            os.kill(process.pid, signal.SIGKILL)
            assert process.wait(PATIENCE) == -signal.SIGKILL
        gate.close()
        assert not out.exists()
        parts = part(tmp_path, 0).parent.glob("*.parquet")
        return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in parts}

    first = until(5)
    assert sorted(first) == [part(tmp_path, number).name for number in range(5)]
    assert part(tmp_path, 5).with_suffix(".parquet.unfinished").exists()  # what the killed one left
    second = until(11)
    assert len(second) == 11
    assert {name: second[name] for name in first} == first  # not made again
    told: list[str] = []
    asked = ws.load_references(town.folder / "references.json")
    summary, scores = streamed(run, asked, town.graphs, out, resume=True, progress=lambda what, *_: told.append(what))
    assert told.count("scoring") == PIECES - len(second)
    assert scores.equals(whole[1])
    assert (summary.metrics, summary.signature) == (whole[0].metrics, whole[0].signature)


def test_workers_end_with_the_stream(town: Town, tmp_path: Path) -> None:
    run = write_files(tmp_path / "walks", town.walks, PIECES)
    words = ["score", str(run), *town.files, "--duplicate", "all", "--missing", "skip", "--workers", "2"]
    words += ["--episodes", str(tmp_path / "scores.parquet"), "--resume"]
    gate = Gate(part(tmp_path, 5).with_suffix(".note.unfinished"))
    with subprocess.Popen([sys.executable, "-m", "wayscore", *words], stdout=subprocess.DEVNULL) as process:
        wait_for(gate.waiting, lambda: process.poll() is None)
        workers = [child for child in children(process.pid) if b"spawn_main" in (child / "cmdline").read_bytes()]
        assert len(workers) == 2
        os.kill(process.pid, signal.SIGKILL)
    wait_for(lambda: not any(worker.exists() for worker in workers), lambda: True)
    gate.close()


def children(process: int) -> list[Path]:
    """Where /proc tells of the processes that a process started."""
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    return [Path("/proc", child) for task in tasks for child in task.read_text().split()]
