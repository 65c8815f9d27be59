"""The table: what is measured, against which peer, the bars to reach; and the run that measures it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from benchmarks import data, end_to_end, environment, graphs, literal, processes, warping
from benchmarks.report import Measure, Outcome, Report, Row, describe_machine
from wayscore.errors import MissingPackageError, OptionError

Progress = Callable[[int, int, str], None]
"""Called before each row, and at the end, with: rows measured, rows in all, the next row."""


@dataclass
class Setting:
    """What the rows of one run share; inputs are loaded when a row first uses them."""

    quick: bool = False
    _distances: dict[str, literal.Distances] = field(default_factory=dict)

    @cached_property
    def inputs(self) -> data.Inputs:
        """The graphs and reference paths."""
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
        run: measures it.
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


LOOPS = "tuned Python: bare loops over lists, rapidfuzz"
RELEASED = "literal Python, as released evaluators write it"
DTAI = "dtaidistance (C, Euclidean)"
FAST = "fastdtw package, radius 1"


def specs(quick: bool = False) -> list[Spec]:
    """Return every row; a quick run has smaller sizes and no bars."""
    long = 2_000 if quick else 50_000
    walks = "20,000" if quick else "1,000,000"
    scans = "6" if quick else "90"
    rows = [
        Spec("12 metrics from node names", LOOPS, partial(graphs.node_names, style="literal")),
        Spec("12 metrics from node names", RELEASED, partial(graphs.node_names, style="released"), 60, 150),
        Spec(f"{walks} random walks, 12 metrics", LOOPS, partial(graphs.random_walks, style="literal")),
        Spec(f"{walks} random walks, 12 metrics", RELEASED, partial(graphs.random_walks, style="released"), 800, 2_000),
        Spec(f"all-pairs distances, {scans} scans", "networkx", partial(graphs.all_pairs, peer="networkx"), 60, 100),
        Spec(f"all-pairs distances, {scans} scans", "SciPy", partial(graphs.all_pairs, peer="scipy"), 4, 7),
    ]
    for count in (50, 500) if quick else (50, 500, 5_000, 50_000):
        run = partial(warping.against_dtaidistance, count=count)
        rows.append(Spec(f"exact 3-D DTW, n = {count:,}", DTAI, run, 7 if count >= 5_000 else 4, 8))
    for count, bar in ((50, 500), (500, 150)) if quick else ((50, 500), (500, 150), (5_000, 35)):
        run = partial(warping.exact_against_fastdtw, count=count)
        rows.append(Spec(f"exact 3-D DTW, no error, n = {count:,}", FAST, run, bar))
    for count in (500,) if quick else (500, 5_000):
        run = partial(warping.fast_against_fastdtw, count=count)
        rows.append(Spec(f"own fast_dtw, radius 1, n = {count:,}", FAST, run, 200, 1_000))
    pruned = partial(warping.pruned_against_full, count=long)
    rows.append(Spec(f"exact, pruned, n = {long:,}", "own full recurrence", pruned, 5, 14))
    for nodes, steps, bar in ((7, 10, 300), (50, 100, 5_000), (100, 500, 20_000))[: 1 if quick else None]:
        run = partial(warping.every_step, nodes=nodes, steps=steps)
        rows.append(
            Spec(
                f"nDTW at every step, |R| = {nodes}, T = {steps}",
                "fastdtw of each prefix, as VLN-CE calls it",
                run,
                bar,
            )
        )
    for name, peer, num_envs in (
        ("NavigationEnv, random steps", "Gymnasium's CartPole-v1", 1),
        ("NavigationVectorEnv, 64 environments, random steps", "Gymnasium's CartPole-v1, 64 as vectors", 64),
    ):
        rows.append(Spec(name, peer, partial(environment.steps, num_envs=num_envs)))
    late = 1_000 if quick else 10_000
    flat = partial(warping.flat_in_time, nodes=100, late=late)
    rows.append(Spec(f"cost of a step after {late:,} steps, |R| = 100", "steps 1-100", flat, 1.3, None, "growth"))
    for name, work, most in (
        ("value only, tracking pair", "value", 10),
        ("value only, full recurrence", "full", 10),
        ("with warping", "warping", 100),
    ):
        run = partial(processes.memory, work=work, count=long)
        rows.append(Spec(f"memory at {long:,} x {long:,}, {name}", "", run, most, None, "MB"))
    for statement, bar_ms, stretch_ms in (("import wayscore", 50, 10), ("from wayscore import score", None, None)):
        run = partial(processes.imports, statement=statement)
        rows.append(Spec(f"`{statement}`", "over `import numpy`", run, bar_ms, stretch_ms, "ms"))
    reading = "`import numpy` and json.load of its files"
    for packed, files in ((False, "plain files"), (True, "gzipped files, 90 scans in a tar")):
        run = partial(end_to_end.ratio, packed=packed)
        rows.append(Spec(f"`wayscore score`, cold start to table, {files}", reading, run, 3, 2, "growth"))
    rows.append(Spec("bootstrap intervals of 13 metrics", "", end_to_end.intervals, 500, 100, "ms"))
    return [replace(row, bar=None, stretch=None) for row in rows] if quick else rows


def run(quick: bool = False, only: Iterable[str] | None = None, progress: Progress | None = None) -> Report:
    """Measure every row and return them with their bars.

    Args:
        quick: smaller sizes, for a smoke test of seconds.
        only: keep the rows whose work or peer contains any of these texts.
        progress: called before each row.
    """
    wanted = [text.casefold() for text in only or ()]
    chosen = [
        spec
        for spec in specs(quick)
        if not wanted or any(text in f"{spec.work} {spec.peer}".casefold() for text in wanted)
    ]
    if not chosen:
        known = "; ".join(dict.fromkeys(spec.work for spec in specs(quick)))
        raise OptionError(f"no row matches {', '.join(wanted)}. Known: {known}")
    setting = Setting(quick)
    rows = []
    for number, spec in enumerate(chosen):
        if progress is not None:
            progress(number, len(chosen), f"{spec.work} {spec.peer}".strip())
        rows.append(measure(spec, setting))
    if progress is not None:
        progress(len(chosen), len(chosen), "finished")
    used = [f"graphs and node paths: {setting.inputs.source}"] if "inputs" in setting.__dict__ else []
    return Report(tuple(rows), "; ".join([*used, "points: generated (seeded)"]), quick, describe_machine())


def measure(spec: Spec, setting: Setting) -> Row:
    """Measure one row; where its peer is not installed, the row says so."""
    try:
        outcome, problem = spec.run(setting), ""
    except MissingPackageError as error:
        outcome, problem = None, str(error)
    return Row(spec.work, spec.peer, spec.measure, spec.bar, spec.stretch, outcome, problem)
