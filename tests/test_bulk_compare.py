"""`compare_streams` finds what `compare_runs` does, however the runs are cut, and says when rows do not go together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner
from wayscore.evaluation.comparing import compare_streams

import wayscore as ws
from tests.test_compare import EPISODES, HALF, PERFECT, STAY, call, folder
from wayscore.cli.app import app
from wayscore.report import Comparison, compare_runs

__all__ = ["folder"]  # the fixture


@pytest.fixture
def tables(folder: Path) -> Path:
    """The runs of `folder` as JSON lines too."""
    for name, walks in (("stay", STAY), ("perfect", PERFECT), ("half", HALF)):
        write(folder / f"{name}.jsonl", walks)
    return folder


def write(path: Path, walks: dict[str, str]) -> None:
    rows = ({"episode": name, "path": list(walk)} for name, walk in walks.items())
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def streamed(folder: Path, *names: str, **options: Any) -> Comparison:
    settings = {"threshold": 2.0, "resamples": 999} | options
    asked = ws.load_references(folder / "references.json")
    runs = [str(folder / f"{name}.jsonl") for name in names]
    return compare_streams(runs, asked, graphs=folder / "connectivity", **settings)


@pytest.mark.parametrize("cluster", ["none", "path", "scan"])
def test_as_in_memory(tables: Path, cluster: str) -> None:
    files = [tables / f"{name}.json" for name in ("stay", "perfect", "half")]
    settings: dict[str, Any] = {"threshold": 2.0, "resamples": 999, "cluster": cluster, "baseline": 3, "top": 4}
    wanted = compare_runs(files, tables / "references.json", graphs=tables / "connectivity", **settings).to_dict()
    found = streamed(tables, "stay", "perfect", "half", **settings).to_dict()
    for run in found["runs"]:
        del run["bootstrap"]["units"]
    one, other = flat(found), flat(wanted)
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert value == (pytest.approx(other[name], rel=1e-9, abs=1e-9) if isinstance(value, float) else other[name])


def flat(value: Any, name: str = "") -> dict[str, Any]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = {key: inner for part, item in items for key, inner in flat(item, f"{name}.{part}").items()}
    return found or {name: value}


def test_same_however_cut(tables: Path) -> None:
    whole = streamed(tables, "stay", "half")
    assert whole.episodes == len(EPISODES)
    for rows in (1, 5):
        assert streamed(tables, "stay", "half", rows=rows) == whole


def test_rows_that_do_not_go_together(tables: Path) -> None:
    write(tables / "turned.jsonl", dict(reversed(HALF.items())))
    with pytest.raises(ws.OptionError, match="stay and turned have other episodes, or in another order; runs that"):
        streamed(tables, "stay", "turned")
    write(tables / "short.jsonl", dict(list(HALF.items())[:-1]))
    with pytest.raises(ws.OptionError, match="short has fewer episodes than the others"):
        streamed(tables, "stay", "short", policies={"missing": "skip"})


def test_command(tables: Path) -> None:
    where = ["-r", str(tables / "references.json"), "-g", str(tables / "connectivity"), "--resamples", "99"]
    runs = [str(tables / f"{name}.jsonl") for name in ("stay", "perfect")]
    found = CliRunner().invoke(app, ["compare", *runs, *where, "--workers", "1"])
    assert found.exit_code == 0
    assert found.stdout == call(tables).stdout
    assert CliRunner().invoke(app, ["compare", *runs, *where, "--workers", "1", "--html", "x.html"]).exit_code == 1
