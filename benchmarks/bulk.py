"""Runs of millions of episodes beside the kernel in memory: episodes per second, memory, growth, and JSON lines.

`python -m benchmarks.bulk` writes random walks on R2R's graphs (generated ones without WAYSCORE_DATA) to a temporary
folder, up to ten million of them, and prints four tables. `--walks 1000000` makes it shorter.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from time import perf_counter, process_time
from typing import Any

import numpy as np

import wayscore as ws
from benchmarks import data
from benchmarks.processes import child_environment
from benchmarks.walks import write_walks
from wayscore.episodes import Reference, References
from wayscore.report.markdown import markdown_table

WALKS = 10_000_000
ROUNDS = 3
KERNEL_WALKS = 1_000_000
SMALL = 1_000
"""Walks of a file whose cost, start and intervals alone, is subtracted from that of larger ones."""


def main(words: Sequence[str] | None = None) -> None:
    """Print the tables; or, as a child of itself, measure one evaluation."""
    parser = argparse.ArgumentParser("python -m benchmarks.bulk", description=__doc__)
    parser.add_argument("--walks", type=int, default=WALKS, help="the largest file has at most this many")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if given.child is not None:
        print(json.dumps(_measured(**json.loads(given.child))))
        return
    inputs = data.load()
    references = _references(inputs)
    with TemporaryDirectory(prefix="wayscore-") as folder:
        sizes = [size for size in (SMALL, 10**4, 10**5, 10**6, 10**7) if size <= max(given.walks, 10**4)]
        files = {size: Path(folder) / f"walks-{size}.parquet" for size in sizes}
        for size, file in files.items():
            write_walks(file, references, inputs.graphs, size)
        print(f"{inputs.source}; {sizes[-1]:,} walks, 13 metrics, {os.cpu_count()} cores\n")
        kernel = _print_rates(inputs, files[sizes[-1]], sizes[-1])
        _print_growth(files, kernel)
        _print_lines(inputs, references, Path(folder))


def _references(inputs: data.Inputs) -> References:
    """Return the reference paths with three instructions each, as R2R has them."""
    episodes = {
        f"{number}_{k}": Reference(f"{number}_{k}", scan, path, str(number))
        for number, (scan, path) in enumerate(inputs.references)
        for k in range(3)
    }
    return References("walks", "r2r", episodes)


def _print_rates(inputs: data.Inputs, file: Path, size: int) -> float:
    """Print rates and memory; return the CPU seconds of an episode in memory."""
    by_reference = min(_in_memory(inputs, shuffled=False) for _ in range(ROUNDS))
    kernel = min(_in_memory(inputs, shuffled=True) for _ in range(ROUNDS))
    rows = []
    for name, seconds in (("in memory, one thread, in any order", kernel), ("the same, by reference", by_reference)):
        rate = [f"{1 / seconds:,.0f}", f"{1e9 * seconds:.0f}", f"{kernel / seconds:.2f}"]
        rows.append([name, "", f"{seconds * size:.1f}", *rate, ""])
    for name, options in (
        ("1 worker", {"workers": 1}),
        ("2 workers", {"workers": 2}),
        ("1 worker, writing a folder of episodes", {"workers": 1, "episodes": "scores"}),
        ("2 workers, writing a folder of episodes", {"workers": 2, "episodes": "scores"}),
        ("2 workers, writing one file of episodes", {"workers": 2, "episodes": "scores.parquet"}),
        ("Dask, 2 workers", {"workers": 2, "engine": "dask"}),
    ):
        best = _best(file, options)
        rate = [f"{size / best['wall']:,.0f}", f"{1e9 * best['cpu'] / size:.0f}", f"{kernel * size / best['cpu']:.2f}"]
        rows.append([name, f"{best['wall']:.1f}", f"{best['cpu']:.1f}", *rate, f"{best['memory'] / 1e6:.0f}"])
    heads = ["work", "wall s", "CPU s", "episodes/s", "CPU ns per episode", "rate per core, kernel = 1", "memory MB"]
    print("\n".join(markdown_table(heads, rows)), end="\n\n", flush=True)
    return kernel


def _in_memory(inputs: data.Inputs, shuffled: bool) -> float:
    """Return the CPU seconds of an episode whose codes are in memory, on one thread.

    Walks sorted by reference are scored faster than walks in any order.
    """
    walks = data.random_walks(inputs, KERNEL_WALKS)
    if shuffled:
        rng = np.random.default_rng(data.SEED)
        orders = [rng.permutation(len(some.queries)) for some in walks]
        walks = [
            replace(some, queries=some.queries.take(order), pairing=some.pairing[order])
            for some, order in zip(walks, orders, strict=True)
        ]
    start = process_time()
    for some in walks:
        graph = inputs.graphs[some.scan]
        ws.score(references=some.references, queries=some.queries, pairing=some.pairing, distance=graph, threads=1)
    return (process_time() - start) / KERNEL_WALKS


def _print_growth(files: dict[int, Path], kernel: float) -> None:
    """Print what an episode costs in files of several sizes, less what a small file costs."""
    base = _best(files[SMALL], {"workers": 1})["cpu"]
    rows = []
    for size, file in files.items():
        if size > SMALL:
            best = _best(file, {"workers": 1})
            each = (best["cpu"] - base) / (size - SMALL)
            rows.append([f"{size:,}", f"{1e9 * each:.0f}", f"{kernel / each:.2f}", f"{best['memory'] / 1e6:.0f}"])
    heads = ["walks", "CPU ns per episode, without start and intervals", "kernel = 1", "peak memory MB"]
    print("\n".join(markdown_table(heads, rows, left=0)), end="\n\n", flush=True)


def _print_lines(inputs: data.Inputs, references: References, folder: Path) -> None:
    import msgspec

    class Line(msgspec.Struct):
        episode: str
        path: list[str]

    file = folder / "walks.jsonl"
    write_walks(file, references, inputs.graphs, KERNEL_WALKS)
    content = file.read_bytes()
    decoder = msgspec.json.Decoder(Line)
    times = []
    for _ in range(ROUNDS):
        start = process_time()
        decoder.decode_lines(content)
        times.append(process_time() - start)
    best = _best(file, {"workers": 1})
    print(f"{KERNEL_WALKS:,} JSON lines, {len(content) / 1e6:.0f} MB: msgspec decodes them in {min(times):.2f} s CPU;")
    print(
        f"evaluated in {best['cpu']:.2f} s ({best['cpu'] / min(times):.2f} times that), {best['memory'] / 1e6:.0f} MB"
    )


def _best(file: Path, options: dict[str, Any]) -> dict[str, float]:
    """Measure an evaluation several times, each in a process of its own, and return the one of the least CPU time."""
    settings = {"file": str(file), **options}
    if "episodes" in options:
        settings["episodes"] = str(file.parent / options["episodes"])
    command = [sys.executable, "-m", "benchmarks.bulk", "--child", json.dumps(settings)]
    found = []
    for _ in range(ROUNDS):
        answer = subprocess.run(command, env=child_environment(), capture_output=True, text=True, check=True)
        found.append(json.loads(answer.stdout.splitlines()[-1]))
    return min(found, key=lambda one: float(one["cpu"]))


def _measured(file: str, **options: Any) -> dict[str, float]:
    """Evaluate a file in this process and return seconds and the largest process's peak memory, in bytes."""
    inputs = data.load()
    references = _references(inputs)
    graphs = {scan: inputs.graphs[scan] for scan in inputs.scans}
    watch = _Watch()
    start, began = _cpu(), perf_counter()
    ws.evaluate(file, references, graphs=graphs, duplicate="all", missing="skip", **options)
    return {"wall": perf_counter() - began, "cpu": _cpu() - start, "memory": watch.stop()}


def _cpu() -> float:
    """Return the CPU seconds of this process and of those that it waited for."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class _Watch(Thread):
    """Reads the peak memory of this process and of all its children from Linux, ten times a second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._over = Event()
        self._peak = 0
        self.start()

    def run(self) -> None:
        """Look until `stop`."""
        while not self._over.wait(0.1):
            self._look()

    def _look(self) -> None:
        family, at = [os.getpid()], 0
        while at < len(family):
            with suppress(OSError):
                lists = Path(f"/proc/{family[at]}/task").glob("*/children")
                family += [int(pid) for some in lists for pid in some.read_text().split()]
                status = Path(f"/proc/{family[at]}/status").read_text()
                self._peak = max(self._peak, 1024 * int(status.partition("VmHWM:")[2].split()[0]))
            at += 1

    def stop(self) -> int:
        """Return the largest process's peak, in bytes."""
        self._look()
        self._over.set()
        return self._peak


if __name__ == "__main__":
    main()
