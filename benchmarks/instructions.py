"""`python -m benchmarks.instructions`: instructions per call of the hot paths, the same on a busy machine.

One process under callgrind makes some calls of every path; only these are counted, the interpreter's work included.
valgrind hides AVX-512, so the kernels of AVX2 are counted on every machine that has it.
"""

from __future__ import annotations

import argparse
import gc
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import wayscore as ws
from benchmarks import data
from benchmarks.processes import child_environment
from wayscore.report.document import Document, Table

SWITCH = "_PyEval_CallTracing"
"""The C function behind `sys.call_tracing`, which nothing else calls: callgrind counts while it runs."""
Call = Callable[[], Any]


def names() -> Call:
    """Return `ndtw` of one pair of node names."""
    graph, R, Q = _episode()
    return lambda: ws.ndtw(reference=R, query=Q, distance=graph, threshold=3.0)


def points(count: int, lists: bool = False) -> Call:
    """Return `ndtw` of one pair of points."""
    R, Q = (data.random_walk_points(count, seed) for seed in (1, 2))
    A, B = (R.tolist(), Q.tolist()) if lists else (R, Q)
    return lambda: ws.ndtw(reference=A, query=B, threshold=3.0)


def step(lists: bool) -> Call:
    """Return `RunningDTW.step` with one point, to a reference of seven."""
    running, (point,) = ws.RunningDTW(reference=data.random_walk_points(7, 1)), data.random_walk_points(1, 2)
    given = point.tolist() if lists else point
    return lambda: running.step(given)


def batch_step(environments: int) -> Call:
    """Return `RunningBatch.step` of many environments on a graph, given node names."""
    graph, _, _ = _episode()
    codes = np.random.default_rng(data.SEED).integers(len(graph), size=(environments, 7))
    nodes = [[graph.nodes[code] for code in row] for row in codes.tolist()]
    batch, last = ws.RunningBatch(references=[row[:6] for row in nodes], distance=graph), [row[6] for row in nodes]
    return lambda: batch.step(last)


def episode() -> Call:
    """Return `score` of one episode of node names, all metrics."""
    graph, R, Q = _episode()
    return lambda: ws.score(references=[R], queries=[Q], distance=graph)


def walks(count: int) -> Call:
    """Return one `score` of random walks, given node numbers."""
    graph, R, _ = _episode()
    (some,) = data.random_walks(data.Inputs("", {"": graph}, [("", R)], []), count)
    given = {"references": some.references, "queries": some.queries, "pairing": some.pairing, "distance": graph}
    return lambda: ws.score(**given, threads=1)


def _episode() -> tuple[Any, list[Any], list[Any]]:
    """Return a generated graph, a path of six nodes and another one that turns back."""
    graph = data.building(np.random.default_rng(data.SEED))
    R = next(path for node in graph.nodes if len(path := graph.shortest_path(graph.nodes[0], node)) == 6)
    return graph, R, [*R[:4], R[2], R[1]]


PATHS: dict[str, tuple[Callable[[], Call], int, int]] = {  # what makes the call, how many calls, episodes of a call
    "ndtw, node names, 6 x 6": (names, 200, 1),
    "ndtw, lists, n = 10": (lambda: points(10, lists=True), 200, 1),
    **{f"ndtw, float64 arrays, n = {n}": (partial(points, n), 200, 1) for n in (5, 10, 50)},
    "RunningDTW.step, list": (lambda: step(lists=True), 200, 1),
    "RunningDTW.step, float64 array": (lambda: step(lists=False), 200, 1),
    "RunningBatch.step, node names, per environment": (lambda: batch_step(1024), 3, 1024),
    "score of one episode, 12 metrics": (episode, 200, 1),
    "score of random walks, 12 metrics, per episode": (lambda: walks(10_000), 3, 10_000),
}


def count(paths: Sequence[str]) -> list[float]:
    """Return the instructions of one call of each path (of one episode, where a call scores many)."""
    with TemporaryDirectory(prefix="wayscore-") as folder:
        file = Path(folder) / "counts"
        command = ["valgrind", "--tool=callgrind", f"--toggle-collect={SWITCH}", f"--dump-after={SWITCH}"]
        command += [f"--callgrind-out-file={file}", sys.executable, "-m", "benchmarks.instructions", "--child", *paths]
        environment = {**child_environment(), "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
        subprocess.run(command, env=environment, stderr=subprocess.DEVNULL, check=True)
        dumps = [file.with_name(f"{file.name}.{number}").read_text() for number in range(1, len(paths) + 1)]
    totals = [int(re.findall(r"^totals: (\d+)", dump, re.MULTILINE)[-1]) for dump in dumps]
    return [total / PATHS[path][1] / PATHS[path][2] for path, total in zip(paths, totals, strict=True)]


def main(words: Sequence[str] | None = None) -> None:
    """Print the table; or, as a child of itself, make the calls."""
    parser = argparse.ArgumentParser("python -m benchmarks.instructions", description=__doc__)
    parser.add_argument("--only", default="", help="only paths whose name contains this")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if given.child:
        gc.disable()  # a collection would be counted where it happens to fall
        for path in given.child:
            make, times, _ = PATHS[path]
            call = make()
            call()  # the first call loads and allocates
            sys.call_tracing(lambda: [call() for _ in range(times)], ())  # noqa: B023
        return
    if shutil.which("valgrind") is None:
        parser.error("valgrind is not installed; install it with the system's package manager")
    paths = [path for path in PATHS if given.only in path]
    if not paths:
        parser.error(f"no path contains {given.only!r}; there are {'; '.join(PATHS)}")
    rows = [[path, f"{found:,.0f}"] for path, found in zip(paths, count(paths), strict=True)]
    print(Document([Table(["path", "instructions per call"], rows)]).render("markdown"), end="")


if __name__ == "__main__":
    main()
