"""Where tests find real data: `WAYSCORE_DATA` (and `golden` beside it); without it they skip and say so."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import wayscore as ws
from tests.oracles.navmesh_search import navmesh_search
from tests.town import Town, evaluated, make_town, write_parquet
from wayscore import kernels

if kernels.name == "numpy":  # which search no meshes
    kernels.navmesh_search = navmesh_search

settings.register_profile("wayscore", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("wayscore")
FAMILIES = {"paper", "cvdn", "reverie", "vlnce", "aerialvln", "touchdown-vlnt"}
CONVENTIONS = [name if name in FAMILIES else pytest.param(name, marks=pytest.mark.soak) for name in ws.conventions()]
"""All conventions; in the quick suite one of each family."""


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real datasets."""
    folder = os.environ.get("WAYSCORE_DATA")
    if not folder:
        pytest.skip("set WAYSCORE_DATA to the folder of real datasets to run this test")
    if not Path(folder).is_dir():
        pytest.fail(f"WAYSCORE_DATA={folder} is not a folder")
    return Path(folder)


@pytest.fixture(scope="session")
def golden(data: Path) -> Path:
    """The folder of other scorers' values, beside the data."""
    folder = data.parent / "golden"
    if not folder.is_dir():
        pytest.skip("no golden values beside WAYSCORE_DATA")
    return folder


@pytest.fixture(scope="session")
def town(tmp_path_factory: pytest.TempPathFactory) -> Town:
    """Generated worlds with references and runs."""
    return make_town(tmp_path_factory.mktemp("town"))


@pytest.fixture(scope="session")
def whole(town: Town, tmp_path_factory: pytest.TempPathFactory) -> ws.Result:
    """The walks of the town in one file and one piece."""
    run = write_parquet(tmp_path_factory.mktemp("whole") / "walks.parquet", town.walks, rows=len(town.walks))
    result = evaluated(run, town)
    assert result.episodes_scored == len(town.walks) == len(result["nDTW"])
    return result


def read_json(path: Path) -> Any:
    """Read a gzipped JSON file."""
    with gzip.open(path) as stream:
        return json.load(stream)
