"""Metrics of one's own as values, in a script as a user writes it: in this process, beside it, and on a cluster."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.town import Town, write_files

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
def test_a_script(town: Town, tmp_path: Path, cluster: str) -> None:
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
