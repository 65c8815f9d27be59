"""From a cold start to the printed table: `wayscore score` beside reading the same files with Python's own modules.

`python -m benchmarks.end_to_end` prints wall and CPU times of both, best of several rounds in turns, once with plain
files and once with gzipped ones and graphs in a compressed tar. Three arguments (a run, its references, a folder or
tar of graphs) measure files of your own instead.
"""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

from benchmarks.processes import child_environment
from benchmarks.report import Outcome

if TYPE_CHECKING:
    from benchmarks.data import Inputs
    from benchmarks.rows import Setting
    from wayscore.distances import Graph

ROUNDS = 10
TURNS = 4
"""Records per node of a trajectory: agents that turn on the spot write one per turn."""
READ = """
import numpy, json, gzip, tarfile, os, sys
def load(path):
    with gzip.open(path) if path.endswith(".gz") else open(path) as stream:
        return json.load(stream)
run, references, graphs = sys.argv[1:]
answers, records = load(run), load(references)
wanted = {record["scan"] + "_connectivity.json" for record in records}
if os.path.isdir(graphs):
    found = [load(os.path.join(graphs, name)) for name in wanted]
else:
    with tarfile.open(graphs) as archive:
        found = [json.load(archive.extractfile(m)) for m in archive if os.path.basename(m.name) in wanted]
assert len(found) == len(wanted)
"""
"""Imports NumPy and decodes the run, the references and the graphs of their scans, no others."""


@dataclass(slots=True)
class Best:
    """The best of several rounds, in seconds; CPU time is of all threads, user and system."""

    wall: float = float("inf")
    cpu: float = float("inf")

    def __str__(self) -> str:
        return f"{1e3 * self.wall:.0f} ms wall, {1e3 * self.cpu:.0f} ms CPU"


def compare(files: Sequence[Path], rounds: int = ROUNDS) -> tuple[Best, Best]:
    """Return the times of `wayscore score` and of reading its files, in turns; each round is two new processes."""
    run, references, graphs = map(str, files)
    score = [sys.executable, "-m", "wayscore", "score", run, "--references", references, "--graphs", graphs]
    contestants = (Best(), score), (Best(), [sys.executable, "-c", READ, run, references, graphs])
    for _ in range(rounds):
        for best, command in contestants:
            before, start = _children(), perf_counter()
            subprocess.run(command, env=child_environment(), stdout=subprocess.DEVNULL, check=True)
            best.wall = min(best.wall, perf_counter() - start)
            best.cpu = min(best.cpu, _children() - before)
    return contestants[0][0], contestants[1][0]


def ratio(setting: Setting, packed: bool) -> Outcome:
    """Return how many times as long as reading its files `wayscore score` takes, wall clock."""
    with TemporaryDirectory() as folder:
        files = write(setting.inputs, Path(folder), packed)
        ours, theirs = compare(files, 2 if setting.quick else ROUNDS)
    return Outcome(ours.wall / theirs.wall, note=f"{ours}; reading them: {theirs}")


def write(inputs: Inputs, folder: Path, packed: bool) -> tuple[Path, Path, Path]:
    """Write a run of three trajectories per reference, the references and all graphs as R2R and Matterport3D do."""
    from benchmarks.data import noisy_queries

    ending = ".json.gz" if packed else ".json"
    run, references, graphs = folder / f"run{ending}", folder / f"references{ending}", folder / "connectivity"
    paths = [
        {"path_id": n, "scan": scan, "path": path, "instructions": ["Walk on."] * 3, "heading": 0.0, "distance": 9.0}
        for n, (scan, path) in enumerate(inputs.references)
    ]
    walks = [
        {
            "instr_id": f"{n // 3}_{n % 3}",
            "trajectory": [[p, 0.1234567 * turn, -0.5] for p in query for turn in range(TURNS)],
        }
        for n, (_, _, query) in enumerate(noisy_queries(inputs))
    ]
    for path, records in ((run, walks), (references, paths)):
        content = json.dumps(records).encode()
        path.write_bytes(gzip.compress(content) if packed else content)
    members = {f"{scan}_connectivity.json": _connectivity(graph) for scan, graph in inputs.graphs.items()}
    if not packed:
        graphs.mkdir()
        for name, content in members.items():
            (graphs / name).write_bytes(content)
        return run, references, graphs
    with tarfile.open(folder / "connectivity.tar.gz", "w:gz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(f"connectivity/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return run, references, folder / "connectivity.tar.gz"


def _connectivity(graph: Graph) -> bytes:
    assert graph.positions is not None
    near: list[set[Any]] = [{*graph.neighbors(node)} for node in graph.nodes]
    records = []
    for node, others, (x, y, z) in zip(graph.nodes, near, graph.positions.tolist(), strict=True):
        open_to = [other in others for other in graph.nodes]
        pose = [1.0, 0.0, 0.0, x, 0.0, 1.0, 0.0, y, 0.0, 0.0, 1.0, z, 0.0, 0.0, 0.0, 1.0]
        records.append(
            {"image_id": node, "pose": pose, "included": True, "visible": open_to, "unobstructed": open_to, "height": z}
        )
    return json.dumps(records).encode()


def intervals(setting: Setting) -> Outcome:
    """Return the CPU time of all metrics' bootstrap intervals, in milliseconds; threads count together."""
    import numpy as np

    from benchmarks.timing import race
    from wayscore.metrics import METRICS
    from wayscore.statistics import bootstrap_table

    episodes, resamples = (500, 1_000) if setting.quick else (2_349, 10_000)
    rng = np.random.default_rng(0)
    columns = {symbol: rng.random(episodes) for symbol in METRICS}
    (ours,) = race(lambda: bootstrap_table(columns, rng=np.random.default_rng(0), resamples=resamples))
    return Outcome(ours.seconds * 1e3, note=f"{resamples:,} resamples of {episodes:,} x {len(columns)}")


def _children() -> float:
    """Return the CPU time of all processes that have ended."""
    try:
        import resource
    except ImportError:  # pragma: no cover - not on Windows, which does not tell
        return 0.0
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Print the figures."""
    if len(sys.argv) == 4:
        _report("your files", [Path(word) for word in sys.argv[1:]])
        return
    from benchmarks.data import load

    inputs = load()
    print(f"{3 * len(inputs.references):,} episodes in {len(inputs.scans)} scans, {inputs.source}, best of {ROUNDS}:")
    for packed, what in ((False, "plain files, a folder of graphs"), (True, "gzipped files, graphs in a .tar.gz")):
        with TemporaryDirectory() as folder:
            _report(what, write(inputs, Path(folder), packed))


def _report(what: str, files: Sequence[Path]) -> None:
    ours, theirs = compare(files)
    print(
        f"{what}: wayscore score {ours}; import numpy and json.load {theirs}; "
        f"x{ours.wall / theirs.wall:.2f} wall, x{ours.cpu / max(theirs.cpu, 1e-9):.2f} CPU"
    )


if __name__ == "__main__":
    main()
