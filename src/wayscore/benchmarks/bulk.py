"""Streams beside the kernel in memory: episodes a second, memory, growth, and JSON lines beside their decoder.

`python benchmarks/bulk.py` writes random walks on R2R's graphs (generated ones without WAYSCORE_DATA) to a temporary
folder, up to ten million of them, and prints four tables. `--walks 1000000` makes it shorter.
"""

from __future__ import annotations

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

from wayscore.benchmarks import data
from wayscore.benchmarks.processes import kept_environment
from wayscore.benchmarks.walks import write_walks
from wayscore.episodes import Reference, References

WALKS = 10_000_000
ROUNDS = 3
KERNEL_WALKS = 1_000_000


def main(words: Sequence[str] | None = None) -> None:
    """Print the tables; or, as a child of itself, measure one stream."""
    given = list(sys.argv[1:] if words is None else words)
    if given[:1] == ["--child"]:
        print(json.dumps(_measured(**json.loads(given[1]))))
        return
    walks = int(given[1]) if given[:1] == ["--walks"] else WALKS
    inputs = data.load()
    references = _references(inputs)
    with TemporaryDirectory(prefix="wayscore-") as folder:
        sizes = [size for size in (10**4, 10**5, 10**6, 10**7) if size <= walks]
        files = {size: Path(folder) / f"walks-{size}.parquet" for size in sizes}
        for size, file in files.items():
            write_walks(file, references, inputs.graphs, size)
        print(f"{inputs.source}; {sizes[-1]:,} walks, 13 metrics, {os.cpu_count()} cores\n")
        kernel = _rates(inputs, files[sizes[-1]], sizes[-1])
        _growth(files, kernel)
        _lines(inputs, references, Path(folder))


def _references(inputs: data.Inputs) -> References:
    """Return the reference paths with three instructions each, as R2R has them."""
    episodes = {
        f"{number}_{k}": Reference(f"{number}_{k}", scan, path, str(number))
        for number, (scan, path) in enumerate(inputs.references)
        for k in range(3)
    }
    return References("walks", "r2r", episodes)


def _rates(inputs: data.Inputs, file: Path, size: int) -> float:
    """Print rates and memory; return the CPU seconds of an episode in memory."""
    by_reference = min(_in_memory(inputs, shuffled=False) for _ in range(ROUNDS))
    kernel = min(_in_memory(inputs, shuffled=True) for _ in range(ROUNDS))
    print("| work | wall s | CPU s | episodes/s | CPU of an episode, ns | rate a core, of the kernel's | memory MB |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, seconds in (("in memory, one thread, in any order", kernel), ("the same, by reference", by_reference)):
        rate = f"{1 / seconds:,.0f} | {1e9 * seconds:.0f} | {kernel / seconds:.2f}"
        print(f"| {name} | | {seconds * size:.1f} | {rate} | |")
    for name, options in (
        ("1 worker", {"workers": 1}),
        ("2 workers", {"workers": 2}),
        ("1 worker, writing a folder of episodes", {"workers": 1, "episodes": "scores"}),
        ("2 workers, writing a folder of episodes", {"workers": 2, "episodes": "scores"}),
        ("2 workers, writing one file of episodes", {"workers": 2, "episodes": "scores.parquet"}),
        ("Dask, 2 workers", {"workers": 2, "engine": "dask"}),
    ):
        best = min((_child(file, options) for _ in range(ROUNDS)), key=lambda found: float(found["cpu"]))
        share = kernel * size / best["cpu"]
        print(
            f"| {name} | {best['wall']:.1f} | {best['cpu']:.1f} | {size / best['wall']:,.0f} | "
            f"{1e9 * best['cpu'] / size:.0f} | {share:.2f} | {best['memory'] / 1e6:.0f} |",
            flush=True,
        )
    print()
    return kernel


def _in_memory(inputs: data.Inputs, shuffled: bool) -> float:
    """Return the CPU seconds of an episode whose codes are in memory, on one thread.

    Walks that answer one reference after the other are quicker than those that come in any order.
    """
    from wayscore.scoring import score

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
        score(
            references=some.references,
            queries=some.queries,
            pairing=some.pairing,
            distance=inputs.graphs[some.scan],
            threads=1,
        )
    return (process_time() - start) / KERNEL_WALKS


def _growth(files: dict[int, Path], kernel: float) -> None:
    print("| walks | ns an episode, start and intervals apart | of the kernel's rate | peak memory MB |")
    print("|---:|---:|---:|---:|")
    for size, file in files.items():
        found = [_child(file, {"workers": 1, "bare": True}) for _ in range(ROUNDS)]
        best = min(one["cpu"] for one in found)
        memory = min(one["memory"] for one in found)
        share = kernel * size / best
        print(f"| {size:,} | {1e9 * best / size:.0f} | {share:.2f} | {memory / 1e6:.0f} |", flush=True)
    print()


def _lines(inputs: data.Inputs, references: References, folder: Path) -> None:
    import msgspec

    from wayscore.episodes.batch import Line

    file = folder / "walks.jsonl"
    write_walks(file, references, inputs.graphs, KERNEL_WALKS)
    content = file.read_bytes()
    decoder = msgspec.json.Decoder(Line)
    times = []
    for _ in range(ROUNDS):
        start = process_time()
        decoder.decode_lines(content)
        times.append(process_time() - start)
    best = min((_child(file, {"workers": 1}) for _ in range(ROUNDS)), key=lambda found: float(found["cpu"]))
    print(f"{KERNEL_WALKS:,} JSON lines, {len(content) / 1e6:.0f} MB: msgspec decodes them in {min(times):.2f} s CPU;")
    print(f"scored from there, command and all, in {best['cpu']:.2f} s: {best['cpu'] / min(times):.2f} times that,")
    print(f"with {best['memory'] / 1e6:.0f} MB")


def _child(file: Path, options: dict[str, Any]) -> Any:
    settings = {"file": str(file), **options}
    if "episodes" in options:
        settings["episodes"] = str(file.parent / options["episodes"])
    command = [sys.executable, "-m", __name__, "--child", json.dumps(settings)]
    answer = subprocess.run(command, env=kept_environment(), capture_output=True, text=True, check=True)
    return json.loads(answer.stdout.splitlines()[-1])


def _measured(file: str, bare: bool = False, **options: Any) -> dict[str, float]:
    """Stream a file in this process and return seconds and the largest process's peak memory, in bytes.

    `bare` counts the pieces alone, after one of them was scored to warm up.
    """
    from wayscore.bulk import course, engines, pieces, streaming, tally, work
    from wayscore.convention.presets import find_convention
    from wayscore.metrics import find_metrics

    inputs = data.load()
    references = _references(inputs)
    graphs = {scan: inputs.graphs[scan] for scan in inputs.scans}
    watch = _Watch()
    start, began = _cpu(), perf_counter()
    if bare:
        rules = find_convention("paper")
        metrics = tuple(metric.symbol for metric in find_metrics(rules.metrics or None))
        policies = dict.fromkeys(work.POLICIES, "skip") | {"duplicate": "all", "move": "keep"}
        task = work.Task(rules, rules.threshold, metrics, policies, streaming.ROWS_AT_ONCE)
        laid_out = course.lay_out(references, graphs, rules)
        planned = pieces.plan(file)
        work.score_piece(planned[0], laid_out, task)
        start, began = _cpu(), perf_counter()
        done = work.Done(tally.Tally(metrics))
        for _, part in engines.engine_of("local", 1, None)(planned, laid_out, task):
            done.merge(part)
    else:
        policies = {"duplicate": "all", "missing": "skip"}
        streaming.score_stream(file, references, graphs=graphs, policies=policies, **options)
    return {"wall": perf_counter() - began, "cpu": _cpu() - start, "memory": watch.stop()}


def _cpu() -> float:
    """Return the CPU seconds of this process and of those that it waited for."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class _Watch(Thread):
    """Looks at the peak memory of this process and of all below it, as Linux tells it, ten times a second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._over = Event()
        self._peak = 0
        self.start()

    def run(self) -> None:
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
