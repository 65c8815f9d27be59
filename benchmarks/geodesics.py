"""`python -m benchmarks.geodesics`: how far distances without a simulator are from those of the simulator.

Below WAYSCORE_DATA: the start distances of VLN-CE's episodes (`info.geodesic_distance`) against the straight line and
against `Snapped.from_walks` of the scene's navigation graph and the ground-truth walks of other paths; and, where there
are golden values beside it, `NavMesh` against Detour's own answers.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import VARIABLE
from wayscore import NavMesh, References, Snapped, kernels, load_references

SPLITS = ("val_seen", "val_unseen")
GRAPHS = "vlnce/habitat_mp3d_connectivity_graphs.tar.gz"
REACHES = (0.3, 0.5, 0.6, 0.8)
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Scene:
    """A navigation graph: points, and numbers of joined ones."""

    nodes: Floats
    edges: NDArray[np.int64]


@dataclass(frozen=True)
class Errors:
    """Of distances in metres, with the CPU seconds that they took."""

    errors: Floats
    unreachable: int
    seconds: float

    def __str__(self) -> str:
        size = np.abs(self.errors)
        short = np.mean(self.errors < -0.3)
        return (
            f"median {np.median(size):.2f} m, ninetieth percentile {np.percentile(size, 90):.2f} m, "
            f"too short by more than 0.3 m: {short:.1%}, unreachable {self.unreachable}, "
            f"{1e3 * self.seconds / (len(size) + self.unreachable):.1f} ms each"
        )

    def __add__(self, other: Errors) -> Errors:
        errors = np.concatenate((self.errors, other.errors))
        return Errors(errors, self.unreachable + other.unreachable, self.seconds + other.seconds)


def scenes_of(data: Path) -> dict[str, Scene]:
    """Read VLN-CE's navigation graphs."""
    found = {}
    with tarfile.open(data / GRAPHS) as archive:
        for member in archive:
            if stream := archive.extractfile(member):
                content = json.load(stream)
                number = {name: n for n, name in enumerate(content["nodes"])}
                edges = [[number[end] for end in edge["nodes"]] for edge in content["edges"].values()]
                found[PurePosixPath(member.name).stem] = Scene(
                    np.array(list(content["nodes"].values())), np.array(edges)
                )
    return found


def straight(references: References) -> Errors:
    """Compare the straight line from start to goal."""
    started = process_time()
    wanted = np.array([one.start_distance for one in references.episodes.values()], dtype=np.float64)
    ends = np.array([[one.path[0], one.path[-1]] for one in references.episodes.values()])
    lengths = np.sqrt(((ends[:, 0] - ends[:, 1]) ** 2).sum(axis=1))
    return Errors(lengths - wanted, 0, process_time() - started)


def snapped(references: References, scenes: dict[str, Scene], **choices: float) -> Errors:
    """Compare snapped distances; the walks of an episode's own path, by any of its instructions, are left out."""
    started, errors, unreachable = process_time(), [], 0
    walks: dict[str, dict[str, Any]] = {}
    for one in references.episodes.values():
        walks.setdefault(one.scene, {}).setdefault(one.path_id, one.dense)
    known: dict[str, float] = {}
    for one in references.episodes.values():
        if one.path_id not in known:
            scene, mine = scenes[one.scene], walks[one.scene]
            others = [walk for path, walk in mine.items() if path != one.path_id]
            space = Snapped.from_walks(others, nodes=scene.nodes, edges=scene.edges, **choices)
            known[one.path_id] = space.distance(one.path[0], one.path[-1])
        unreachable += not np.isfinite(known[one.path_id])
        errors.append(known[one.path_id] - (one.start_distance or 0.0))
    found = np.array(errors)
    return Errors(found[np.isfinite(found)], unreachable, process_time() - started)


def golden_meshes(folder: Path) -> Iterator[str]:
    """Compare NavMesh with Detour's answers, mesh by mesh."""
    for file in sorted(folder.glob("*.navmesh")):
        mesh = NavMesh.load(file)
        with gzip.open(file.with_name(f"{file.stem}.pairs.json.gz")) as stream:
            pairs = json.load(stream)["pairs"]
        wanted = np.array([np.inf if pair["d"] is None else np.float32(pair["d"]) for pair in pairs])
        starts, ends = (np.array([pair[end] for pair in pairs]) for end in "se")
        started = process_time()
        lengths = mesh.pairs(starts, ends)
        each = (process_time() - started) / len(pairs)
        exact = int((lengths == wanted).sum())
        yield f"  {file.stem:<12} {exact:>4} of {len(pairs)} pairs equal to the bit, {1e6 * each:8.1f} us each"


def main() -> None:
    """Measure and print."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        sys.exit(f"set {VARIABLE} to the folder of real datasets")
    data = Path(folder)
    scenes = scenes_of(data)
    episodes = {split: load_references(data / f"vlnce/R2R_VLNCE_v1-3/{split}/{split}.json.gz") for split in SPLITS}
    for split, references in episodes.items():
        print(f"{split}, straight line: {straight(references)}")
        for reach in REACHES:
            print(f"{split}, reach {reach} m: {snapped(references, scenes, reach=reach)}", flush=True)
    both = [snapped(references, scenes) for references in episodes.values()]
    print(f"both, straight line: {straight(episodes[SPLITS[0]]) + straight(episodes[SPLITS[1]])}")
    print(f"both, Snapped.from_walks: {both[0] + both[1]}")
    print(f"NavMesh against Detour ({kernels.name}, {kernels.lanes}):")
    for line in golden_meshes(data.parent / "golden/navmesh"):
        print(line)


if __name__ == "__main__":
    main()
