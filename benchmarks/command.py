"""Rows of whole commands, from a cold start to the end of the process: CPU time of all its threads, best of five."""

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

from benchmarks.data import Episode, noisy_queries
from benchmarks.processes import child_environment, children_cpu
from benchmarks.report import TOLERANCE, Outcome, difference
from benchmarks.timing import ROUNDS, need
from wayscore.errors import MissingPackageError

if TYPE_CHECKING:
    from benchmarks.data import Inputs
    from benchmarks.rows import Setting
    from wayscore.distances.graph import Graph

WAYSCORE = [sys.executable, "-m", "wayscore"]
IMPORT_NUMPY = [sys.executable, "-c", "import numpy"]
EVALUATOR = [sys.executable, str(Path(__file__).with_name("evaluator.py"))]


@dataclass(slots=True)
class Best:
    """The best of several rounds, in seconds; CPU time is of all threads, user and system."""

    wall: float = float("inf")
    cpu: float = float("inf")

    def __str__(self) -> str:
        return f"{1e3 * self.wall:.0f} ms wall"


def race_commands(ours: Sequence[str], theirs: Sequence[str], *, quick: bool) -> list[Best]:
    """Run two commands in turns, each in a process of its own, and return the best times of each."""
    found = [Best(), Best()]
    for _ in range(1 if quick else ROUNDS):
        for best, command in zip(found, (ours, theirs), strict=True):
            environment = child_environment()
            if command[0] != sys.executable:  # another interpreter, with packages of its own
                del environment["PYTHONPATH"]
            before, start = children_cpu(), perf_counter()
            subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
            best.wall = min(best.wall, perf_counter() - start)
            best.cpu = min(best.cpu, children_cpu() - before)
    return found


def whole(setting: Setting, packed: bool) -> Outcome:
    """`wayscore score`, 13 metrics with intervals; the peer is `evaluator.py`: networkx, 8 metrics, no intervals."""
    need("networkx")
    with TemporaryDirectory() as folder:
        files = write(setting.inputs, Path(folder), packed)
        ours, theirs = _score(files), [*EVALUATOR, *map(str, files)]
        found, expected = (_json([*ours, "--format", "json"]), _json(theirs))
        same = difference([found["metrics"][name]["mean"] for name in expected], [*expected.values()]) <= TOLERANCE
        best, other = race_commands(ours, theirs, quick=setting.quick)
    return Outcome(best.cpu, other.cpu, same, f"{found['episodes']:,} episodes; {best}, peer {other}")


def version(setting: Setting) -> Outcome:
    """`wayscore --version`; the peer is `python -c "import numpy"`."""
    best, other = race_commands([*WAYSCORE, "--version"], IMPORT_NUMPY, quick=setting.quick)
    return Outcome(best.cpu, other.cpu, note=f"{best}, peer {other}")


def compare(setting: Setting, runs: int = 5) -> Outcome:
    """`wayscore compare` of five runs, 13 metrics; the peer is the same command of an older version (--before)."""
    if setting.before is None:
        raise MissingPackageError("name a Python that has the older version: --before PYTHON")
    inputs = setting.inputs
    with TemporaryDirectory() as folder:
        first, references, graphs = write(inputs, Path(folder), packed=False)
        files = [first.with_name(f"run{number}.json") for number in range(runs)]
        for number, file in enumerate(files):
            file.write_bytes(_run(inputs, noisy_queries(inputs.graphs, inputs.references, seed=10 + number)))
        words = ["-m", "wayscore", "compare", *map(str, files), "-r", str(references), "-g", str(graphs)]
        best, other = race_commands([sys.executable, *words], [setting.before, *words], quick=setting.quick)
    return Outcome(best.cpu, other.cpu, note=f"{best}, before {other}")


def intervals(setting: Setting) -> Outcome:
    """Bootstrap intervals of 13 metrics of 2,349 episodes, 10,000 resamples: CPU time of all threads together."""
    import numpy as np

    from benchmarks.timing import race
    from wayscore.metrics import METRICS
    from wayscore.statistics import bootstrap_table

    episodes, resamples = (500, 1_000) if setting.quick else (2_349, 10_000)
    rng = np.random.default_rng(0)
    columns = {symbol: rng.random(episodes) for symbol in METRICS}
    (ours,) = race(lambda: bootstrap_table(columns, rng=np.random.default_rng(0), resamples=resamples))
    return Outcome(ours.seconds * 1e3, note=f"{resamples:,} resamples of {episodes:,} x {len(columns)}")


def _score(files: Sequence[Path]) -> list[str]:
    run, references, graphs = map(str, files)
    return [*WAYSCORE, "score", run, "--references", references, "--graphs", graphs]


def _json(command: Sequence[str]) -> Any:
    answer = subprocess.run(command, env=child_environment(), capture_output=True, text=True, check=True)
    return json.loads(answer.stdout)


def write(inputs: Inputs, folder: Path, packed: bool) -> tuple[Path, Path, Path]:
    """Write the run, the references and all graphs as R2R and Matterport3D do, gzipped and in a tar if `packed`."""
    ending = ".json.gz" if packed else ".json"
    run, references, graphs = folder / f"run{ending}", folder / f"references{ending}", folder / "connectivity"
    paths = [
        {"path_id": n, "scan": scan, "path": path, "instructions": ["Walk on."] * 3, "heading": 0.0, "distance": 9.0}
        for n, (scan, path) in enumerate(inputs.references)
    ]
    for path, content in ((run, _run(inputs, inputs.episodes)), (references, json.dumps(paths).encode())):
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


def _run(inputs: Inputs, episodes: Sequence[Episode]) -> bytes:
    """Return a result file of R2R: three trajectories per reference, in any order."""
    numbers = {(scan, *path): number for number, (scan, path) in enumerate(inputs.references)}
    answered = [0] * len(inputs.references)
    records = []
    for scan, reference, query in episodes:
        number = numbers[(scan, *reference)]
        trajectory = [[node, 0.1234567, -0.5] for node in query]
        records.append({"instr_id": f"{number}_{answered[number]}", "trajectory": trajectory})
        answered[number] += 1
    return json.dumps(records).encode()


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
