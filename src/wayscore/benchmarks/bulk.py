"""Streams beside the kernel in memory: episodes a second, memory, growth, and JSON lines beside their decoder.

`python benchmarks/bulk.py` writes random walks on R2R's graphs (generated ones without WAYSCORE_DATA) to a temporary
folder, up to ten million of them, and prints four tables. `--walks 1000000` makes it shorter.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

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
    kernel = min(_in_memory(inputs) for _ in range(ROUNDS))
    print("| work | wall s | CPU s | episodes/s | CPU of an episode, ns | rate a core, of the kernel's | memory MB |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    print(f"| in memory, one thread | | {kernel * size:.1f} | {1 / kernel:,.0f} | {1e9 * kernel:.0f} | 1.00 | |")
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


def _in_memory(inputs: data.Inputs) -> float:
    """Return the CPU seconds of an episode whose codes are in memory, on one thread."""
    from wayscore.scoring import score

    walks = data.random_walks(inputs, KERNEL_WALKS)
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

    from wayscore.bulk.rows import Line

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
    from wayscore.metrics import find_metrics
    from wayscore.presets import find_convention

    inputs = data.load()
    references = _references(inputs)
    graphs = {scan: inputs.graphs[scan] for scan in inputs.scans}
    start, began = os.times(), perf_counter()
    if bare:
        rules = find_convention("paper")
        metrics = tuple(metric.symbol for metric in find_metrics(rules.metrics or None))
        policies = dict.fromkeys(work.POLICIES, "skip") | {"duplicate": "all", "move": "keep"}
        task = work.Task(rules, rules.threshold, metrics, policies, streaming.ROWS_AT_ONCE)
        laid_out = course.lay_out(references, graphs, rules)
        planned = pieces.plan(file)
        work.score_piece(planned[0], laid_out, task)
        start, began = os.times(), perf_counter()
        done = work.Done(tally.Tally(metrics))
        for _, part in engines.engine_of("local", 1, None)(planned, laid_out, task):
            done.merge(part)
    else:
        policies = {"duplicate": "all", "missing": "skip"}
        streaming.score_stream(file, references, graphs=graphs, policies=policies, **options)
    stop = os.times()
    return {
        "wall": perf_counter() - began,
        "cpu": sum(stop[:4]) - sum(start[:4]),
        "memory": _peak(),
    }


def _peak() -> float:
    import resource

    usages = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return 1024.0 * max(usages)


if __name__ == "__main__":
    main()
