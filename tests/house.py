"""Houses made by hand: two scans on a line, a few references, and runs whose scores can be counted on fingers."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

import wayscore as ws
from wayscore.cli.app import app

GRAPHS = {
    "S": ws.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d")], [1.0, 2.0, 4.0], name="scan S"),
    "T": ws.Graph.from_edges([("x", "y")], [5.0], name="scan T"),
}
SEPARATE = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}
"""What keeps standard error apart before click 8.2."""
PRESENTATION = ("COLUMNS", "FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE")
"""What would make the output look otherwise on the machine of a test."""


def references(**paths: str) -> ws.References:
    """References by name; each letter of a path is a node."""
    episodes = {
        name: ws.Reference(name, "T" if path[0] in "xy" else "S", list(path), name.split("_")[0])
        for name, path in paths.items()
    }
    return ws.References("refs.json", "r2r", episodes)


def run(again: tuple[str, ...] = (), **paths: str) -> ws.Run:
    """A run; the episodes of `again` are answered twice."""
    answers = [ws.Query(name, list(path)) for name, path in paths.items()]
    return ws.Run("agent", "r2r", [*answers, *(ws.Query(name, list(paths[name])) for name in again)])


ASKED = references(e1="abc", e2="xy", e3="ab")


def command(*words: object, columns: int = 140, status: int | None = None, say: str | None = None) -> Result:
    """Run `wayscore` in this process, and check its exit status if one is given."""
    environment = {**dict.fromkeys(PRESENTATION), "COLUMNS": str(columns)}
    arguments = [str(word) for word in words]
    result = CliRunner(**SEPARATE).invoke(app, arguments, prog_name="wayscore", env=environment, input=say)
    assert status in (None, result.exit_code), result.output
    return result


def connectivity(names: str, edges: str, included: str | None = None) -> list[dict[str, Any]]:
    """The connectivity file of viewpoints on a line, one metre apart."""
    pairs = {frozenset(edge) for edge in edges.split()}
    return [
        {
            "image_id": name,
            "pose": [1, 0, 0, float(x), 0, 1, 0, 0.0, 0, 0, 1, 0.0, 0, 0, 0, 1],
            "included": included is None or name in included,
            "unobstructed": [frozenset((name, other)) in pairs for other in names],
            "visible": [],
            "height": 1.5,
        }
        for x, name in enumerate(names)
    ]


def write_house(folder: Path, walks: list[tuple[str, str, int]]) -> list[str]:
    """Write references and the graphs of the scans S (a to h) and T (x to z); return the words that name them."""
    graphs = folder / "connectivity"
    graphs.mkdir()
    (graphs / "S_connectivity.json").write_text(json.dumps(connectivity("abcdefgh", "ab bc cd de ef fg gh")))
    (graphs / "T_connectivity.json").write_text(json.dumps(connectivity("xyz", "xy yz")))
    write_references(folder / "references.json", walks)
    return ["--references", str(folder / "references.json"), "--graphs", str(graphs)]


def write_references(path: Path, walks: list[tuple[str, str, int]]) -> None:
    """Write R2R references; each walk is a scan, its nodes and how many instructions it has."""
    records = [
        {
            "scan": scan,
            "path_id": number,
            "path": list(nodes),
            "distance": len(nodes) - 1.0,
            "heading": 0.0,
            "instructions": ["Go."] * count,
        }
        for number, (scan, nodes, count) in enumerate(walks, start=1)
    ]
    path.write_text(json.dumps(records))


def write_run(path: Path, walks: dict[str, str]) -> Path:
    """Write a run as R2R's results."""
    rows = [{"instr_id": name, "trajectory": [[node, 0.0, 0.0] for node in walk]} for name, walk in walks.items()]
    path.write_text(json.dumps(rows))
    return path
