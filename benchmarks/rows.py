"""The table: what is measured, against which peer, the bars to reach; and the run that measures it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from benchmarks import batches, bulk, calls, command, data, environment, graphs, lengths, literal, processes, warping
from benchmarks.report import Measure, Outcome, Report, Row, describe_machine
from wayscore.errors import MissingPackageError, OptionError

Progress = Callable[[int, int, str], None]
"""Called before each row, and at the end, with: rows measured, rows in all, the next row."""


@dataclass
class Setting:
    """What the rows of one run share; inputs are loaded when a row first uses them.

    Attributes:
        quick: smaller sizes, for a smoke test of seconds.
        aeon: a Python that has the package aeon.
        before: a Python that has an older wayscore.
    """

    quick: bool = False
    aeon: str | None = None
    before: str | None = None
    _distances: dict[str, literal.Distances] = field(default_factory=dict)

    @cached_property
    def inputs(self) -> data.Inputs:
        """The graphs, reference paths and queries."""
        return data.load()

    def distances(self, scan: str) -> literal.Distances:
        """Return the peer's distances in one scan, from networkx."""
        if scan not in self._distances:
            self._distances[scan] = literal.distances_of(self.inputs.graphs[scan])
        return self._distances[scan]


@dataclass(frozen=True, slots=True)
class Spec:
    """One row before it is measured.

    Attributes:
        work: what is measured; `--only` looks here, and in the peer's name.
        peer: against whom, "" where a figure stands for itself.
        run: measures it; its docstring explains the row.
        bar: the least (of ratios) or most (of the rest) that is good enough.
        stretch: what would be better still.
        measure: what kind of figure it is.
    """

    work: str
    peer: str
    run: Callable[[Setting], Outcome]
    bar: float | None = None
    stretch: float | None = None
    measure: Measure = "ratio"

    @property
    def about(self) -> str:
        """What exactly is measured, in a line."""
        function = self.run.func if isinstance(self.run, partial) else self.run
        return (function.__doc__ or "").strip()


KEPT = 0.9
"""Of what was reached before and must be kept: runs differ by as much as a tenth."""
PYTHON, NUMBA, NUMPY = "Python loop", "numba loop, float64 arrays", "`import numpy`"
TUNED = "tuned Python: bare loops over lists, rapidfuzz"
RELEASED = "literal Python, as released evaluators write it"
EVALUATOR = "literal evaluator script, 8 metrics, no intervals"


def specs(quick: bool = False) -> list[Spec]:
    """Return every row; a quick run has smaller sizes and no bars."""
    rows = [*_calls(), *_running(quick), *_commands(), *_batches(quick), *_pairs(quick), *_costs(quick)]
    return [replace(row, bar=None, stretch=None) for row in rows] if quick else rows


def _calls() -> list[Spec]:
    rows = [Spec("`ndtw`, node names", PYTHON, calls.names, 8, 20)]
    for given, count, bar, stretch in (
        ("lists", 5, 0.5, 1),
        ("lists", 10, 0.5, 1),
        ("float32", 5, 0.5, 1),
        ("float32", 10, 0.5, 1),
        ("float64", 5, 0.8, 1.2),
        ("float64", 10, 1, 1.5),
        ("float64", 50, 3, 4),
    ):
        run = partial(calls.points, count=count, given=given)
        rows.append(Spec(f"`ndtw`, points, {given}, n = {count}", NUMBA, run, bar, stretch))
    rows.append(Spec("`score` of one episode, 12 metrics", TUNED, calls.episode, 3, 8))
    for count, bar, stretch in ((50, 1, 1.2), (500, 1, 1.5), (3_000, 1.8, 2)):
        rows.append(
            Spec(
                f"`dtw`, node names, n = {count:,}",
                "numba loop, node numbers",
                partial(calls.table, count=count),
                bar,
                stretch,
            )
        )
    for count, bar, stretch in ((5, 0.5, 1), (50, 1.5, 3), (500, 2, 4), (2_000, 3, 5)):
        run = partial(calls.warping, count=count)
        rows.append(Spec(f"`align`, points, n = {count:,}", "numba loop with path", run, bar, stretch))
    return rows


def _running(quick: bool) -> list[Spec]:
    rows = []
    for nodes, steps, given, bar, stretch in (
        (7, 10, "lists", 250, 300),
        (7, 10, "float32", 250, 300),
        (7, 10, "float64", None, None),
        (50, 100, "float64", None, None),
    )[: 3 if quick else None]:
        run = partial(warping.every_step, nodes=nodes, steps=steps, given=given)
        work = f"`RunningDTW`, {given}, |R| = {nodes}, {steps} steps"
        rows.append(Spec(work, "fastdtw of each prefix, as VLN-CE calls it", run, bar, stretch))
    late = 1_000 if quick else 10_000
    flat = partial(warping.flat_in_time, nodes=100, late=late)
    rows.append(Spec(f"`RunningDTW`, a step after {late:,} steps", "steps 1 to 100", flat, 1.3, None, "growth"))
    many = 64 if quick else 1_024
    batch = partial(batches.running_batch, environments=many)
    work, peer = f"`RunningBatch`, graphs, {many:,} environments", "NumPy, node numbers, one row per"
    rows.append(Spec(work, f"{peer} environment", partial(batch, order="C"), 1.5, 3))
    rows.append(Spec(work, f"{peer} node", partial(batch, order="F")))
    for name, peer, num_envs, least in (
        ("`NavigationEnv`", "Gymnasium's CartPole-v1", 1, 0.5),
        ("`NavigationVectorEnv`, 64 environments", "Gymnasium's CartPole-v1, 64 as vectors", 64, 0.6),
    ):
        rows.append(Spec(name, peer, partial(environment.steps, num_envs=num_envs), least, 1))
    return rows


def _commands() -> list[Spec]:
    rows = []
    for packed, files in ((False, "plain files"), (True, "gzipped files, graphs in a tar")):
        run = partial(command.whole, packed=packed)
        rows.append(Spec(f"`wayscore score`, cold, {files}", EVALUATOR, run, 3.5, 5))
    return [
        *rows,
        Spec("`wayscore --version`", f"python -c {NUMPY}", command.version, 0.4, 0.3, "growth"),
        Spec("`wayscore compare` of 5 runs", "version 0.1.0", command.compare, 2, 3),
        Spec("bootstrap intervals of 13 metrics", "", command.intervals, 500, 100, "ms"),
    ]


def _batches(quick: bool) -> list[Spec]:
    rows = []
    for nodes, metrics, bar, stretch in (
        ((37, 60), "nDTW", 0.85, 0.95),
        ((300, 300), "nDTW", 0.85, 0.95),
        ((1_000, 1_000), "nDTW", 0.85, 0.95),
        ((300, 300), None, None, None),
    ):
        run = partial(batches.long_pairs, nodes=nodes, metrics=metrics)
        work = "`score` of point pairs, {}, {:,} x {:,}".format(metrics or "12 metrics", *nodes)
        rows.append(Spec(work, "the kernel alone", run, bar, stretch))
    two = partial(batches.threads, nodes=(1_000, 1_000), count=200)
    rows.append(Spec("two threads, 200 pairs of 1,000 x 1,000", "one thread", two, 1.8, 1.95))
    walks, scans = ("20,000", 6) if quick else ("1,000,000", 90)
    works = {
        f"{walks} random walks, 12 metrics": (graphs.random_walks, 800, 2_000),
        "12 metrics from node names": (graphs.node_names, 130, 150),
    }
    for work, (function, bar, stretch) in works.items():
        rows.append(Spec(work, RELEASED, partial(function, style="released"), bar, stretch))
        rows.append(Spec(work, TUNED, partial(function, style="literal")))
    rows.append(Spec("streaming Parquet, one worker, per episode", "the kernel in memory", bulk.stream, 0.35, 0.5))
    for peer, least in (("networkx", 106.0), ("SciPy", 5.8)):
        run = partial(graphs.all_pairs, peer=peer.casefold())
        rows.append(Spec(f"all pairs of {scans} scans", peer, run, least * KEPT))
    return rows


def _pairs(quick: bool) -> list[Spec]:
    rows = []
    for count, bar, stretch in ((50, 6, 8), (500, 8, 10), (5_000, 8, 10), (50_000, 9, 10))[: 2 if quick else None]:
        run = partial(warping.exact, count=count)
        rows.append(Spec(f"exact 3-D DTW, n = {count:,}", "dtaidistance (C, Euclidean)", run, bar * KEPT, stretch))
    middle = 500 if quick else 5_000
    fast = partial(warping.approximate, count=middle)
    rows.append(Spec(f"`fast_dtw`, radius 1, n = {middle:,}", "fastdtw package, radius 1", fast, 200))
    return rows


def _costs(quick: bool) -> list[Spec]:
    long, rows = 2_000 if quick else 50_000, []
    for name, work, most in (("value", "value", 6), ("warping", "warping", 66)):
        run = partial(processes.memory, work=work, count=long)
        rows.append(Spec(f"memory at {long:,} x {long:,}, {name}", "", run, most / KEPT, None, "MB"))
    imports = partial(processes.imports, statement="import wayscore")
    rows.append(Spec("`import wayscore`", f"over {NUMPY}", imports, 10, None, "ms"))
    return rows


def run(setting: Setting, only: Iterable[str] | None = None, progress: Progress | None = None) -> Report:
    """Measure every row and the ratios over length, and return them.

    Args:
        setting: the sizes, and where peers are.
        only: keep the rows whose work or peer contains any of these texts; "lengths" are the ratios over length.
        progress: called before each row.
    """
    wanted = [text.casefold() for text in only or ()]
    chosen = [
        spec
        for spec in specs(setting.quick)
        if not wanted or any(text in f"{spec.work} {spec.peer}".casefold() for text in wanted)
    ]
    curves = not wanted or "lengths" in wanted
    if not chosen and not curves:
        known = "; ".join(dict.fromkeys(spec.work for spec in specs(setting.quick)))
        raise OptionError(f"no row matches {', '.join(wanted)}. Known: lengths; {known}")
    rows, total = [], len(chosen) + curves
    report = progress or (lambda *_: None)
    for number, spec in enumerate(chosen):
        report(number, total, f"{spec.work} {spec.peer}".strip())
        rows.append(measure(spec, setting))
    if curves:
        report(len(chosen), total, "lengths")
    found = tuple(lengths.measure(setting)) if curves else ()
    report(total, total, "finished")
    used = [f"graphs and node paths: {setting.inputs.source}"] if "inputs" in setting.__dict__ else []
    return Report(
        tuple(rows), "; ".join([*used, "points: generated (seeded)"]), setting.quick, describe_machine(), found
    )


def measure(spec: Spec, setting: Setting) -> Row:
    """Measure one row; where its peer is not installed, the row says so."""
    try:
        outcome, problem = spec.run(setting), ""
    except MissingPackageError as error:
        outcome, problem = None, str(error)
    return Row(spec.work, spec.peer, spec.measure, spec.bar, spec.stretch, outcome, problem)
