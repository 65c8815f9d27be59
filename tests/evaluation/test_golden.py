"""Seven scripted walkers on R2R and R4R, as other people's scorers score them, to 1e-9 relative."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import wayscore as ws
from tests.conftest import read_json

WALKERS = "stop shortest oracle random noisy detour turning".split()
AUTHORS = {"r4r_dtw": "DTW", "r4r_ndtw": "nDTW", "r4r_sdtw": "SDTW", "r4r_cls": "CLS"}


@pytest.fixture(scope="module")
def graphs(data: Path) -> Mapping[str, ws.Graph]:
    return ws.load_graphs(data / "connectivity.tar.gz")


@pytest.mark.parametrize("walker", WALKERS)
@pytest.mark.parametrize(("references", "rows"), [("r2r_val_seen", 1021), ("r4r_val_seen", 115)])
def test_walkers(references: str, rows: int, walker: str, data: Path, golden: Path, graphs: object) -> None:
    folder = golden / references
    source = data / "r2r/R2R_val_seen.json.gz" if references.startswith("r2r") else folder / "references.json.gz"
    episodes = {f"{item['path_id']}_{k}": item for item in read_json(source) for k in range(len(item["instructions"]))}
    run = {
        item["instr_id"]: [step[0] for step in item["trajectory"]]
        for item in read_json(folder / f"{walker}.predictions.json.gz")
    }
    with gzip.open(folder / f"{walker}.expected.csv.gz", "rt") as stream:
        expected = list(csv.DictReader(stream))
    names = [row["instr_id"] for row in expected]
    assert len(names) == rows
    table = ws.score(
        references=[episodes[name]["path"] for name in names],
        queries=[run[name] for name in names],
        distance=graphs,
        scenes=[episodes[name]["scan"] for name in names],
        episodes=names,
    )
    for column, metric in {**{metric.lower(): metric for metric in table.metrics}, **AUTHORS}.items():
        known = np.array([row[column] != "" for row in expected])
        values = np.array([float(row[column] or 0) for row in expected])
        np.testing.assert_allclose(table[metric][known], values[known], rtol=1e-9, atol=1e-13, err_msg=column)
        assert known.all() or column == "r4r_cls"  # empty where the authors' own code cannot answer
