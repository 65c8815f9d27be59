"""The end-to-end benchmark measures what it says: the same files, read by both sides, scored in full."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import data, end_to_end
from benchmarks.rows import Setting
from wayscore.formats import load_references, load_run


@pytest.fixture(scope="module")
def inputs() -> data.Inputs:
    whole = data._generated()
    scans = list(whole.graphs)[:12]
    references = [(scan, path) for scan, path in whole.references if scan in scans[:2]]
    return data.Inputs(whole.source, {scan: whole.graphs[scan] for scan in scans}, references)


@pytest.mark.parametrize("packed", [False, True])
def test_files_hold_what_is_scored(tmp_path: Path, inputs: data.Inputs, packed: bool) -> None:
    run, references, graphs = files = end_to_end.write(inputs, tmp_path, packed)
    assert (run.suffix == ".gz") == packed == graphs.is_file()
    assert [reference.path for reference in load_references(references).episodes.values()][::3] == [
        path for _, path in inputs.references
    ]
    assert len(load_run(run).queries) == 3 * len(inputs.references)
    command = [
        sys.executable,
        "-m",
        "wayscore",
        "score",
        str(run),
        "-r",
        str(references),
        "-g",
        str(graphs),
        "-f",
        "json",
    ]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert found["episodes"] == 3 * len(inputs.references)
    assert 0.3 < found["metrics"]["nDTW"]["mean"] < 1
    assert found["undefined"] == {}
    ours, theirs = end_to_end.compare(files, rounds=1)
    assert 0 < ours.wall < math.inf
    assert 0 < theirs.cpu < math.inf


def test_the_time_of_intervals_is_a_row() -> None:
    outcome = end_to_end.intervals(Setting(quick=True))
    assert outcome.ours > 0
    assert outcome.note == "1,000 resamples of 500 x 13"
