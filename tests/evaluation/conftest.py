"""What tests of evaluations share: the walks of a town, evaluated in one piece, and a cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

import wayscore as ws
from tests.evaluation.gates import started, wait_for
from tests.town import Town, evaluated, write_parquet


@pytest.fixture(scope="session")
def whole(town: Town, tmp_path_factory: pytest.TempPathFactory) -> ws.Result:
    """The walks of the town in one file and one piece."""
    run = write_parquet(tmp_path_factory.mktemp("whole") / "walks.parquet", town.walks, rows=len(town.walks))
    result = evaluated(run, town)
    assert result.episodes_scored == len(town.walks) == len(result["nDTW"])
    return result


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
