"""Golden files of evaluators: what their own code said of episodes, and what wayscore says of the same.

`python -m tests.convention.golden FOLDER` prints one line per file; `--write` also writes it to `proof.json`.
"""

from __future__ import annotations

import gzip
import json
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import wayscore as ws
from wayscore.convention.evaluator import FILE, Evaluator
from wayscore.convention.presets import EVALUATORS

TOLERANCE = 1e-9
SAME = (
    "actions boxes class collided decisions fail_reason finished midstop object outcome people_hit planner "
    "pred_midstop query_episodes query_phases reference_episodes reference_headings reference_phases speeds step "
    "termination_reason waypoint_distances"
)
RECORDED = {
    **{name: name for name in SAME.split()},
    "query_headings": "headings",
    "pred_object": "predicted_object",
    "pred_goals": "predicted_goals",
    "pred_progress": "predicted_progress",
    "pred_heading": "predicted_heading",
    "pred_elevation": "predicted_elevation",
    "collision_count": "collisions",
    "unavoidable_collisions": "people_hit_by_reference",
}
"""Names in the golden files -> what wayscore calls them."""
PERCENT = {
    *("soon-duet det_sr", "soon-duet det_spl", "cvdn-navillm oracle path_success_rate"),
    *("traveluav SR", "traveluav OSR", "traveluav SPL"),
}
"""What is printed in percent though the files do not say so."""
ROUNDED = {"traveluav": 2, "uav-flow": 4}
"""How many decimals are printed, likewise."""
COMPILED = ", compiled fastdtw"
WITHOUT_PATHS = {
    "goat-bench": "measures subtasks, not ways: not reproduced",
    "lh-vln": "holds no paths, only steps of subtasks: not reproduced",
}
"""Golden files without a convention, and why."""


@dataclass(frozen=True)
class Golden:
    """One file, and the convention that reproduces it."""

    name: str
    content: dict[str, Any]
    evaluator: Evaluator

    @property
    def episodes(self) -> list[dict[str, Any]]:
        return list(self.content["episodes"])


@cache
def load(path: Path) -> Golden:
    """Read a file; its convention is the one that names it."""
    name = path.name.removesuffix(".json.gz")
    content = json.loads(gzip.decompress(path.read_bytes()))
    found = next(one for one in EVALUATORS.values() if name in one.golden)
    for episode in content["episodes"]:
        if "nested" in episode:
            episode["actions"] = len(episode["nested"]) - 1
        if "collisions" in episode:  # flags of moves, or a count of people
            ours = "collided" if isinstance(episode["collisions"], list) else "people_hit"
            episode[ours] = episode.pop("collisions")
        for fact in ("pred_object", "pred_midstop"):
            if fact in episode and episode[fact] is None:
                episode[fact] = ""  # the agent named none, which is not the same as not recorded
        if name == "law-vlnce":  # the ways that its notes give in place of the simulator's
            episode["waypoint_distances"] = [
                [float(value) for value in episode["goal_distance"]]
                if point == episode["reference"][-1]
                else [_way(point, at) for at in episode["query"]]
                for point in episode["reference"]
            ]
    return Golden(name, content, found)


def _way(a: list[float], b: list[float]) -> float:
    return sum(weight * abs(x - y) for weight, x, y in zip((1, 1.5, 1), a, b, strict=True))


@cache
def distances(path: Path) -> dict[str, ws.Graph]:
    """Return the graphs of a file, by scene; none where its paths are points."""
    scenes = load(path).content["scenes"]
    return {
        name: ws.Graph.from_edges(
            [edge[:2] for edge in scene["edges"]],
            [edge[2] for edge in scene["edges"]],
            scene["nodes"],
            directed=scene["directed"],
        )
        for name, scene in scenes.items()
        if scene["kind"] == "graph"
    }


def score(
    path: Path, episodes: list[dict[str, Any]], metrics: set[str], *, euclid: bool = False, compiled: bool = False
) -> ws.ScoreTable:
    """Score some episodes of a file, with all that it records of them."""
    gold = load(path)
    graphs = distances(path)
    place: Any = list if graphs else (lambda points: np.array(points, dtype=np.float64))
    convention = gold.evaluator.convention
    if compiled:
        convention = replace(convention, name="compiled", warping="fast-compiled")
    options: dict[str, Any] = {}

    def each(key: str) -> list[Any] | None:
        values = [episode.get(key) for episode in episodes]
        return None if all(value is None for value in values) else values

    if graphs:
        options |= {"distance": graphs, "scenes": each("scene")}
    axes = {scene.get("up_axis") for scene in gold.content["scenes"].values()} - {None}
    if len(axes) == 1:
        options["up_axis"] = axes.pop()
    for key in ("goals", "dense"):
        if (paths := each(key)) is not None:
            options[key] = [place(some) for some in paths]
    options["views"] = each("views")
    options["stopped"] = None if gold.name == "valan" else each("stopped")
    if (starts := each("start_distance")) is not None:
        options["start_distances"] = _straight_starts(episodes) if euclid else [float(value) for value in starts]
    if not euclid and (recorded := each("goal_distance")) is not None:
        options["goal_distances"] = [[float(value) for value in some] for some in recorded]
    known = {ours: values for theirs, ours in RECORDED.items() if (values := each(theirs)) is not None}
    if euclid:
        known.pop("waypoint_distances", None)
    options["headings"] = known.pop("headings", None)
    return ws.score(
        references=[place(episode["reference"]) for episode in episodes],
        queries=[place(episode["query"]) for episode in episodes],
        convention=convention,
        metrics=sorted(metrics),
        threshold=gold.content.get("settings", {}).get("threshold"),
        episodes=[episode["id"] for episode in episodes],
        recorded=known,
        **options,
    )


def _straight_starts(episodes: list[dict[str, Any]]) -> list[float]:
    """Return the straight lines from the starts to the nearest goals."""
    ends = [
        [view for views in one["views"] for view in views]
        if one.get("views")
        else one.get("goals") or one["reference"][-1:]
        for one in episodes
    ]
    return [min(math.dist(one["query"][0], goal) for goal in goals) for one, goals in zip(episodes, ends, strict=True)]


def symbols(gold: Golden) -> dict[str, str]:
    """Return the symbol of every column of a file that can be compared."""
    names = gold.evaluator.names
    found = {}
    for column, facts in gold.content["expected"].items():
        plain = column.removesuffix(COMPILED)
        symbol = names.get(plain) or facts["wayscore"]
        if symbol is not None and plain not in gold.evaluator.unmatched:
            found[column] = symbol
    return found


@dataclass
class Compared:
    """What comparing one column came to."""

    column: str
    symbol: str
    values: int = 0
    differ: int = 0
    worst: float = 0.0
    first: str = ""


def compare(path: Path) -> list[Compared]:
    """Compare every column of a file, in the episodes where the evaluator gives a number.

    Files with two distances are compared once more, with Euclid's in place of them.
    """
    gold = load(path)
    return [
        one
        for euclid, key in enumerate(("expected", "expected_euclidean"))
        if key in gold.content
        for one in _compare(path, gold.content[key], euclid=bool(euclid))
    ]


def _compare(path: Path, expected: dict[str, Any], *, euclid: bool) -> Iterator[Compared]:
    gold = load(path)
    wanted = {column: symbol for column, symbol in symbols(gold).items() if column in expected}
    scored = [episode for episode in gold.episodes if episode.get("query")]  # an empty path is an error
    rows = {episode["id"]: row for row, episode in enumerate(scored)}
    builds = {column.endswith(COMPILED) for column in wanted}
    tables = {build: score(path, scored, set(wanted.values()), euclid=euclid, compiled=build) for build in builds}
    for column, symbol in wanted.items():
        facts = expected[column]
        scale = 0.01 if facts["unit"] == "percent" else 1.0
        ours = tables[column.endswith(COMPILED)][symbol]
        one = Compared(column, symbol)
        for episode, theirs in zip(gold.episodes, facts["values"], strict=True):
            if theirs is None or episode["id"] not in rows:
                continue
            theirs, mine = theirs * scale, float(ours[rows[episode["id"]]])
            off = abs(theirs - mine) / max(1.0, abs(theirs))
            one.values += 1
            one.worst = max(one.worst, off)
            if not off <= TOLERANCE:
                one.differ += 1
                one.first = one.first or f"{episode['id']} ({episode.get('what')}): {theirs!r}, not {mine!r}"
        yield one


def aggregate(path: Path) -> Iterator[tuple[str, float, float | None]]:
    """Yield what the evaluator prints at the end, beside the mean of a table: name, theirs, ours."""
    gold = load(path)
    printed = gold.content["aggregate"].get("printed") or {}
    printed = next((printed[whole] for whole in ("full", "overall") if whole in printed), printed)
    columns = gold.content["aggregate"].get("columns") or {}
    over = set(gold.content["aggregate"].get("over") or ())
    names = gold.evaluator.names
    wanted = {key: names.get(key) or columns.get(key, {}).get("wayscore") for key in printed}
    wanted = {key: symbol for key, symbol in wanted.items() if symbol and not key.endswith(COMPILED)}
    if not wanted:
        return
    means = score(path, [one for one in gold.episodes if one["id"] in over], set(wanted.values())).means()
    for key, symbol in wanted.items():
        theirs, mean = float(printed[key]), means[symbol]
        percent = columns.get(key, {}).get("unit") == "percent" or (f"{gold.name} {key}" in PERCENT)
        yield key, theirs, None if mean is None else mean * (100.0 if percent else 1.0)


def precision(gold: Golden) -> float:
    """Return how exact what is printed at the end is."""
    decimals = gold.content["aggregate"].get("decimals") or ROUNDED.get(gold.name)
    return 0.51 * 10**-decimals if decimals else TOLERANCE


def main() -> None:
    """Print one line per file, and every column that differs; or write `proof.json`."""
    proofs = {}
    for path in sorted(Path(sys.argv[1]).glob("*.json.gz")):
        name = path.name.removesuffix(".json.gz")
        if name in WITHOUT_PATHS:
            print(f"{name:20} {WITHOUT_PATHS[name]}")
            continue
        found = compare(path)
        values, worst = sum(one.values for one in found), max(one.worst for one in found)
        proofs[name] = {"values": values, "worst": float(f"{worst:.1e}")}
        convention = load(path).evaluator.convention.name
        print(f"{name:20} {convention:18} {values:6} values, worst difference {worst:.1e}")
        for one in found:
            if one.differ:
                print(f"    {one.column} -> {one.symbol}: {one.differ} of {one.values}: {one.first}")
    if "--write" in sys.argv:
        FILE.write_text(json.dumps(proofs, indent=1) + "\n")


if __name__ == "__main__":
    main()
