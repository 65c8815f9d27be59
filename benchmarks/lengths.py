"""The peers' times over ours for one pair of 5 to 5,000 points or nodes: what the picture in docs/speed.md shows."""

from __future__ import annotations

import io
import json
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from math import dist
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks import data, loops
from benchmarks.calls import node_pair
from benchmarks.report import TOLERANCE, Curve, difference
from benchmarks.timing import need, race
from benchmarks.warping import dtaidistance, euclidean
from wayscore import Function, align, dtw
from wayscore.errors import MissingPackageError, WayscoreError

if TYPE_CHECKING:
    from benchmarks.rows import Setting

LENGTHS = (5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)
POINTS, LISTS, NAMES, ALIGN = "dtw, float64 arrays", "dtw, lists of points", "dtw, node names", "align, float64 arrays"
OURS = ""
SMALL = 50
"""Up to this length, peers that add squared distances are compared with our sum of the same."""
Seconds = dict[str, dict[str, dict[int, float]]]
"""By panel, by peer, by length."""


class Task(NamedTuple):
    """One call to time, and what its cost must be: our DTW, DTW of squared distances, or at least DTW."""

    panels: tuple[str, ...]
    peer: str
    call: Callable[[], Any]
    cost: Callable[[Any], float] = float
    kind: str = "same"


def measure(setting: Setting) -> list[Curve]:
    """Return a curve for every peer that is installed.

    Raises:
        WayscoreError: a peer's result is not what ours says that it must be.
    """
    seconds: Seconds = defaultdict(lambda: defaultdict(dict))
    pairs = {
        count: (data.random_walk_points(count, 1), data.random_walk_points(count, 2))
        for count in (LENGTHS[:4] if setting.quick else LENGTHS)
    }
    for count, (R, Q) in pairs.items():
        for tasks in (list(_points(R, Q)), list(_names(setting, count))):
            timings = race(*(task.call for task in tasks))
            true = timings[0].value
            for task, timing in zip(tasks, timings, strict=True):
                _check(task.peer or task.panels[0], task.kind, task.cost(timing.value), true, R, Q)
                for panel in task.panels:
                    seconds[panel][task.peer][count] = timing.seconds
    if setting.aeon is not None:
        for (count, (R, Q)), found in zip(pairs.items(), _ask_aeon(setting.aeon, list(pairs.values())), strict=True):
            for value in found["values"]:
                _check("aeon", "squared", value, 0.0, R, Q)
            seconds[POINTS]["aeon"][count] = seconds[LISTS]["aeon"][count] = found["dtw"]
            seconds[ALIGN]["aeon"][count] = found["align"]
    return [
        Curve(panel, peer, tuple(times), tuple(by_peer[OURS][count] for count in times), tuple(times.values()))
        for panel, by_peer in ((panel, seconds[panel]) for panel in (POINTS, LISTS, NAMES, ALIGN))
        for peer, times in by_peer.items()
        if peer != OURS
    ]


def _points(R: Any, Q: Any) -> Iterator[Task]:
    """Yield ours, then the peers that are installed; they are given what suits them best, beforehand."""
    A, B = R.tolist(), Q.tolist()
    both = (POINTS, LISTS)
    yield Task((POINTS,), OURS, lambda: dtw(reference=R, query=Q))
    yield Task((LISTS,), OURS, lambda: dtw(reference=A, query=B))
    yield Task((ALIGN,), OURS, lambda: align(reference=R, query=Q), lambda found: found.cost)
    yield Task(both, "Python loop", lambda: loops.warp_lists(A, B))
    yield Task((ALIGN,), "Python loop", lambda: loops.align_lists(A, B), lambda found: found[0])
    with suppress(MissingPackageError):
        warp, warp_with_path = loops.compiled(loops.warp_points), loops.compiled(loops.align_points)
        yield Task(both, "numba loop", lambda: warp(R, Q, 0.0))
        yield Task((ALIGN,), "numba loop", lambda: warp_with_path(R, Q), lambda found: found[0])
    with suppress(MissingPackageError):
        peer, path = dtaidistance(), need("dtaidistance.dtw").warping_path_fast
        yield Task(both, "dtaidistance", lambda: peer.distance(R, Q, inner_dist="euclidean", use_c=True))
        squared = (lambda: path(R, Q, include_distance=True), lambda found: found[1] ** 2, "squared")
        yield Task((ALIGN,), "dtaidistance", *squared)
    with suppress(MissingPackageError):
        fast = need("fastdtw").fastdtw
        yield Task((*both, ALIGN), "fastdtw", lambda: fast(R, Q, dist=euclidean), lambda found: found[0], "at least")


def _names(setting: Setting, count: int) -> Iterator[Task]:
    graph, codes = node_pair(setting, count)
    R, Q = ([graph.nodes[code] for code in path] for path in codes)
    distances = {
        a: dict(zip(graph.nodes, row, strict=True)) for a, row in zip(graph.nodes, graph.table.tolist(), strict=True)
    }
    yield Task((NAMES,), OURS, lambda: dtw(reference=R, query=Q, distance=graph))
    yield Task((NAMES,), "Python loop", lambda: loops.warp_names(R, Q, distances))
    with suppress(MissingPackageError):
        warp = loops.compiled(loops.warp_codes)
        yield Task((NAMES,), "numba loop", lambda: warp(graph.table, *codes))


def _ask_aeon(interpreter: str, pairs: list[tuple[Any, Any]]) -> Any:
    buffer = io.BytesIO()
    np.savez(buffer, **{f"{name}{n}": path for n, (R, Q) in enumerate(pairs) for name, path in (("R", R), ("Q", Q))})
    command = [interpreter, str(Path(__file__).with_name("aeon_peer.py"))]
    answer = subprocess.run(command, input=buffer.getvalue(), stdout=subprocess.PIPE, check=True)
    return json.loads(answer.stdout)


def _check(who: str, kind: str, cost: float, true: float, R: Any, Q: Any) -> None:
    if kind == "squared":
        if len(R) > SMALL:
            return
        true = dtw(reference=R, query=Q, distance=Function(lambda a, b: dist(a, b) ** 2))
    right = cost >= true * (1 - TOLERANCE) if kind == "at least" else difference(cost, true) <= TOLERANCE
    if not right:
        raise WayscoreError(f"{who}, n = {len(R)}: the cost must be {kind} as {true!r}, got {cost!r}")
