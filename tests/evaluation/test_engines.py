"""Who does the work: workers that are killed by the signal that no process can catch, clusters, and own metrics."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import wayscore as ws
from tests.evaluation.gates import PATIENCE, Gate, started, stopped_at, wait_for
from tests.house import command
from tests.town import SAMPLES, Town, evaluated, read_scores, write_files, write_parquet
from wayscore.evaluation import engines, evaluator
from wayscore.formats import chunks

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills processes as POSIX does")
PIECES = 12


@pytest.fixture
def run(town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The walks of a town, in many pieces."""
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 50)
    path = write_parquet(tmp_path / "walks.parquet", town.walks)
    assert len(chunks.plan_run(path).chunks) == PIECES
    return path


@pytest.fixture
def gate(town: Town, tmp_path: Path) -> Gate:
    """Where the fifth piece is worked on."""
    names = town.walks["episode"].to_pylist()
    return Gate(str(tmp_path), next(name for name in names[200:250] if name not in names[:200]))


def assert_undisturbed(found: ws.Result, town: Town, gate: Gate) -> None:
    wanted = evaluated(town.walks, town, metrics=gate.metrics)
    assert found.intervals() == wanted.intervals()
    assert str(found.signature) == str(wanted.signature)
    assert found.problems == wanted.problems
    assert found.to_arrow().equals(wanted.to_arrow())


# Processes


def test_results_come_in_order(run: Path) -> None:
    pieces = chunks.plan_run(run).chunks
    last = threading.Event()
    begun: list[int] = []

    def work(piece: Any) -> int:
        number = pieces.index(piece)
        begun.append(number)
        if number == 2:
            last.set()
        assert last.wait(PATIENCE)  # so that the first two end after the third
        return number

    with ThreadPoolExecutor(3) as pool:
        found = engines._in_order(pieces, lambda piece: pool.submit(work, piece), ahead=3)
        assert next(found) == 0
        assert len(begun) <= 4  # no more are under way than there is room for
        assert list(found) == list(range(1, PIECES))


@pytest.mark.soak
def test_a_worker_is_killed(town: Town, run: Path, gate: Gate) -> None:
    with stopped_at(gate, lambda: evaluated(run, town, metrics=gate.metrics, workers=2)) as (worker, future):
        assert worker != os.getpid()
        os.kill(worker, signal.SIGKILL)
        gate.file.unlink()
        assert_undisturbed(future.result(PATIENCE), town, gate)


class Deadly:
    """What ends the process that it is sent to."""

    def __reduce__(self) -> Any:
        return os._exit, (1,)


@pytest.mark.soak
def test_workers_that_keep_dying(
    town: Town, run: Path, gate: Gate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluator, "score_chunk", Deadly())
    monkeypatch.setattr(engines, "RETRIES", 1)
    with pytest.raises(ws.WayscoreError, match=r"workers died 2 times.*use fewer workers") as raised:
        evaluated(run, town, metrics=gate.metrics, episodes=tmp_path / "scores.parquet", workers=2)
    assert "use fewer --workers" in raised.value.as_command()
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "scores.parquet").exists()


# Clusters


@pytest.fixture(scope="session")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Dask scheduler without workers; one that gives up what killed two workers."""
    pytest.importorskip("distributed", reason="install wayscore[cluster] to run the tests of clusters")
    told = tmp_path_factory.mktemp("cluster") / "scheduler.json"
    words = ["--host", "127.0.0.1", "--port", "0", "--dashboard-address", ":0", "--scheduler-file", str(told)]
    strict = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}
    with started("distributed.cli.dask_scheduler", *words, **strict) as process:
        wait_for(lambda: told.exists() and told.stat().st_size, lambda: process.poll() is None)
        yield json.loads(told.read_text())["address"]


@pytest.fixture(scope="session")
def cluster(scheduler: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The same address, now with two workers, which come again when they are killed."""
    home = str(tmp_path_factory.mktemp("workers"))
    words = ["--nworkers", "2", "--nthreads", "1", "--no-dashboard", "--local-directory", home]
    with started("distributed.cli.dask_worker", scheduler, *words):
        yield scheduler


@pytest.mark.soak
def test_no_cluster_at_an_address(town: Town, run: Path) -> None:
    pytest.importorskip("distributed")
    import dask

    quickly = dask.config.set({"distributed.comm.timeouts.connect": "0.2s"})
    with quickly, pytest.raises(ws.OptionError, match=r"no Dask scheduler answers at tcp://127") as raised:
        evaluated(run, town, engine="dask", scheduler="tcp://127.0.0.1:9")
    assert "\n" not in str(raised.value)


@pytest.mark.soak
def test_a_cluster_without_workers(town: Town, run: Path, scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "WAIT", 0.1)
    words = ["score", run, *town.files, "--engine", "dask", "--scheduler", scheduler]
    found = command(*words, status=2)
    assert found.stderr == f"wayscore: the Dask scheduler at {scheduler} has no workers; start some\n"


@pytest.mark.soak
def test_the_address_of_a_cluster(
    town: Town, run: Path, tmp_path: Path, cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["score", run.name, *town.files, "--duplicate", "all", "--missing", "skip", "--resamples", SAMPLES]
    printed = [
        command(*words, "--episodes", f"{number}.parquet", "-f", "json", *more)
        for number, more in enumerate(([], ["--engine", "dask", "--scheduler", cluster]))
    ]
    assert [found.exit_code for found in printed] == [0, 0], printed[1].stderr
    assert printed[0].stdout == printed[1].stdout
    assert json.loads(printed[0].stdout)["episodes"] == 600
    assert read_scores("0.parquet").equals(read_scores("1.parquet"))


@pytest.mark.soak
def test_workers_of_a_cluster_are_killed(town: Town, run: Path, gate: Gate, cluster: str) -> None:
    def work() -> ws.Result:
        return evaluated(run, town, metrics=gate.metrics, engine="dask", scheduler=cluster)

    with stopped_at(gate, work) as (worker, future):
        os.kill(worker, signal.SIGKILL)
        gate.file.unlink()
        assert_undisturbed(future.result(PATIENCE), town, gate)
    with stopped_at(gate, work) as (worker, future):
        os.kill(worker, signal.SIGKILL)
        (other,) = wait_for(lambda: set(gate.waiting()) - {worker}, lambda: not future.done() or future.result())
        os.kill(other, signal.SIGKILL)
        with pytest.raises(ws.WayscoreError, match="workers died several times"):
            future.result(PATIENCE)


def test_dask_is_not_installed(town: Town, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ws.MissingPackageError, match=r'engine="dask" needs Dask: pip install \'wayscore\[cluster\]\''):
        evaluated(run, town, engine="dask")


# Metrics of one's own, in a script as a user writes it

SCRIPT = '''
import json
import sys

import wayscore as ws


def backtracking(episode):
    """How many steps lead back to where the agent came from."""
    path = episode.query
    return float(sum(a == c for a, c in zip(path, path[2:])))


farthest = ws.Metric(symbol="far", name="Farthest", direction="down", bounds=(0, float("inf")), unit="m",
                     formula="max d", measure=lambda episode: float(episode.matrix().max()))
BACK = ws.Metric(symbol="back", name="Backtracking", direction="down", bounds=(0, 1e9), unit="", formula="n",
                 measure=backtracking)

if __name__ == "__main__":
    run, folder, scheduler = sys.argv[1:]
    given = {"duplicate": "all", "missing": "skip", "resamples": 50}
    files = f"{folder}/references.json", f"{folder}/connectivity"
    for engine in ({}, {"workers": 2}, {"engine": "dask", "scheduler": scheduler}):
        metrics = ["nDTW", BACK] if engine.get("workers") else ["nDTW", BACK, farthest]  # processes take no lambda
        result = ws.evaluate(run, *files, metrics=metrics, **given, **engine)
        print(json.dumps({"back": result["back"].tolist(), "intervals": result.intervals()["back"]}))
    try:
        ws.evaluate(run, *files, metrics=[farthest], **given, workers=2)
    except ws.WayscoreError as error:
        print(json.dumps(str(error)))
'''


@pytest.mark.soak
def test_metrics_of_a_script(town: Town, tmp_path: Path, cluster: str) -> None:
    run = write_files(tmp_path / "walks", town.walks, 3)
    (tmp_path / "mine.py").write_text(SCRIPT)
    words = [sys.executable, str(tmp_path / "mine.py"), str(run), str(town.folder), cluster]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    *found, refused = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == 3
    assert found[0] == found[1] == found[2]
    paths = town.walks["path"].to_pylist()
    assert found[0]["back"] == [sum(a == c for a, c in zip(path, path[2:], strict=False)) for path in paths]
    assert refused == (
        "metric 'far': other processes cannot get its function; write it with `def` at the top of a module, or leave "
        "workers out"
    )
