"""Runs of millions of episodes beside the kernel in memory: time, rate and memory.

`python -m benchmarks.bulk` writes random walks on R2R's graphs (generated ones without WAYSCORE_DATA) to a temporary
folder, ten million of them unless `--walks` says otherwise, and prints a table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

import wayscore as ws
from benchmarks import data
from benchmarks.processes import child_environment, children_cpu, children_peak, peak_memory
from benchmarks.report import TOLERANCE, Outcome, difference
from benchmarks.timing import race
from benchmarks.walks import load_walks, references_of, write_walks
from wayscore.report.document import Document, Table

if TYPE_CHECKING:
    from benchmarks.rows import Setting

ROUNDS = 3
SMALL = 1_000
"""Walks of a file whose cost, start and intervals alone, is subtracted from that of larger ones."""
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "Parquet, 1 worker": (".parquet", {"workers": 1}),
    "Parquet, 2 workers": (".parquet", {"workers": 2}),
    "Parquet, 2 workers, writing one file of episodes": (".parquet", {"workers": 2, "episodes": "scores.parquet"}),
    "Parquet, 2 workers of Dask": (".parquet", {"workers": 2, "engine": "dask"}),
    "JSON lines, 1 worker": (".jsonl", {"workers": 1}),
}


def stream(setting: Setting) -> Outcome:
    """`evaluate` of a Parquet file, one worker, start and intervals subtracted; the peer is `score` of its arrays."""
    count = 200_000 if setting.quick else 2_000_000
    with TemporaryDirectory(prefix="wayscore-") as folder:
        small, large = (Path(folder) / f"{size}.parquet" for size in (SMALL, count))
        write_walks(small, setting.inputs, SMALL)
        write_walks(large, setting.inputs, count)
        scenes = load_walks(large, setting.inputs)
        rounds = 1 if setting.quick else ROUNDS
        start, whole = (evaluated(file, {"workers": 1}, rounds) for file in (small, large))
    (kernel,) = race(lambda: [ws.score(**scene, threads=1)["nDTW"].sum() for scene in scenes])
    same = difference(whole["nDTW"], sum(kernel.value) / count) <= TOLERANCE
    ours = max(whole["cpu"] - start["cpu"], 1e-3) / (count - SMALL)
    note = f"{1e9 * ours:.0f} ns per episode, kernel {1e9 * kernel.seconds / count:.0f}; start {start['cpu']:.2f} s"
    return Outcome(ours, kernel.seconds / count, same, note)


def evaluated(file: Path, options: dict[str, Any], rounds: int = ROUNDS) -> dict[str, float]:
    """Evaluate a file several times, each in a process of its own, and return the round of the least CPU time."""
    settings = {"file": str(file), **options}
    if "episodes" in options:
        settings["episodes"] = str(file.parent / options["episodes"])
    command = [sys.executable, "-m", "benchmarks.bulk", "--child", json.dumps(settings)]
    found = []
    for _ in range(rounds):
        answer = subprocess.run(command, env=child_environment(), capture_output=True, text=True, check=True)
        found.append(json.loads(answer.stdout.splitlines()[-1]))
    return min(found, key=lambda one: float(one["cpu"]))


def _measured(file: str, **options: Any) -> dict[str, float]:
    """Evaluate a file in this process and return seconds, the largest process's peak memory in bytes, and nDTW."""
    inputs = data.load()
    graphs = {scan: inputs.graphs[scan] for scan in inputs.scans}
    references = references_of(inputs)
    start, began = process_time() + children_cpu(), perf_counter()
    result = ws.evaluate(file, references, graphs=graphs, duplicate="all", missing="skip", **options)
    used = {"wall": perf_counter() - began, "cpu": process_time() + children_cpu() - start}
    return {**used, "memory": max(peak_memory(), children_peak()), "nDTW": float(result.means()["nDTW"] or 0.0)}


def main(words: Sequence[str] | None = None) -> None:
    """Print the table; or, as a child of itself, measure one evaluation."""
    parser = argparse.ArgumentParser("python -m benchmarks.bulk", description=__doc__)
    parser.add_argument("--walks", type=int, default=10_000_000, help="how many episodes")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if given.child is not None:
        print(json.dumps(_measured(**json.loads(given.child))))
        return
    inputs, rows = data.load(), []
    with TemporaryDirectory(prefix="wayscore-") as folder:
        files = {ending: Path(folder) / f"walks{ending}" for ending in (".parquet", ".jsonl")}
        for file in files.values():
            write_walks(file, inputs, given.walks)
        for name, (ending, options) in WAYS.items():
            best = evaluated(files[ending], options, rounds=1)
            rate = [f"{given.walks / best['wall']:,.0f}", f"{1e9 * best['cpu'] / given.walks:.0f}"]
            rows.append([name, f"{best['wall']:.1f}", f"{best['cpu']:.1f}", *rate, f"{best['memory'] / 1e6:.0f}"])
    print(f"{inputs.source}; {given.walks:,} walks, 13 metrics, {os.cpu_count()} cores\n")
    heads = ["run", "wall s", "CPU s", "episodes per second", "CPU ns per episode", "memory of a process, MB"]
    print(Document([Table(heads, rows)]).render("markdown"), end="")


if __name__ == "__main__":
    main()
