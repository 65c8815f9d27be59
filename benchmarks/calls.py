"""Rows of one call, as users make it: one pair, one episode."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import data, literal, loops
from benchmarks.report import TOLERANCE, Outcome, difference
from benchmarks.timing import need, race
from wayscore import align, dtw, ndtw, score
from wayscore.metrics import METRICS

if TYPE_CHECKING:
    from benchmarks.rows import Setting

THRESHOLD = 3.0


def names(setting: Setting) -> Outcome:
    """`ndtw` of one episode after the other, given node names; the peer is an 8-line loop over dictionaries."""
    graphs = setting.inputs.graphs
    episodes = [
        (graphs[scan], setting.distances(scan), R, Q)
        for scan, R, Q in setting.inputs.episodes[: 60 if setting.quick else 600]
    ]
    ours, theirs = race(
        lambda: [ndtw(reference=R, query=Q, distance=graph, threshold=THRESHOLD) for graph, _, R, Q in episodes],
        lambda: [exp(-loops.warp_names(R, Q, d) / (len(R) * THRESHOLD)) for _, d, R, Q in episodes],
    )
    each = 1e6 / len(episodes)
    note = f"{len(episodes)} episodes, {ours.seconds * each:.2f} us each, peer {theirs.seconds * each:.1f} us"
    return Outcome.compared(ours, theirs, note)


def points(_: Setting, count: int, given: str) -> Outcome:
    """`ndtw` of 3-D points, given as lists or arrays; the peer is a numba loop, given float64 arrays."""
    loop = loops.compiled(loops.warp_points)
    R, Q = (data.random_walk_points(count, seed).astype(np.float32).astype(np.float64) for seed in (1, 2))
    A, B = (points_as(given, path) for path in (R, Q))
    ours, theirs = race(lambda: ndtw(reference=A, query=B, threshold=THRESHOLD), lambda: loop(R, Q, THRESHOLD))
    return Outcome.compared(ours, theirs)


def points_as(given: str, path: Any) -> Any:
    """Return points as "lists" or as an array of the type `given`."""
    return path.tolist() if given == "lists" else path.astype(given)


def episode(setting: Setting) -> Outcome:
    """`score` of one episode after the other, all metrics, given node names; the peer is tuned Python loops."""
    need("rapidfuzz")
    graphs = setting.inputs.graphs
    episodes = [
        (graphs[scan], setting.distances(scan), R, Q)
        for scan, R, Q in setting.inputs.episodes[: 20 if setting.quick else 200]
    ]

    ours, theirs = race(
        lambda: [score(references=[R], queries=[Q], distance=graph) for graph, _, R, Q in episodes],
        lambda: [literal.score_literally(R, Q, d) for _, d, R, Q in episodes],
    )
    found = [[table[symbol][0] for symbol in METRICS] for table in ours.value]
    same = difference(found, [[scores[symbol] for symbol in METRICS] for scores in theirs.value]) <= TOLERANCE
    each = 1e6 / len(episodes)
    note = f"{len(episodes)} episodes, {ours.seconds * each:.1f} us each, peer {theirs.seconds * each:.1f} us"
    return Outcome(ours.seconds, theirs.seconds, same, note)


def table(setting: Setting, count: int) -> Outcome:
    """`dtw` of random node names of one graph; the peer is a numba loop, given node numbers and the table."""
    loop = loops.compiled(loops.warp_codes)
    graph, codes = node_pair(setting, count)
    R, Q = ([graph.nodes[code] for code in path] for path in codes)
    ours, theirs = race(lambda: dtw(reference=R, query=Q, distance=graph), lambda: loop(graph.table, *codes))
    return Outcome.compared(ours, theirs)


def node_pair(setting: Setting, count: int) -> tuple[Any, list[Any]]:
    """Return the graph of the first scan and two random sequences of its node numbers."""
    graph = setting.inputs.graphs[setting.inputs.scans[0]]
    random = np.random.default_rng(data.SEED)
    return graph, [random.integers(len(graph), size=count) for _ in range(2)]


def warping(_: Setting, count: int) -> Outcome:
    """`align` of 3-D points in float64 arrays; the peer is a numba loop that returns the warping, too."""
    loop = loops.compiled(loops.align_points)
    R, Q = data.random_walk_points(count, 1), data.random_walk_points(count, 2)
    ours, theirs = race(lambda: align(reference=R, query=Q), lambda: loop(R, Q))
    cost, pairs = theirs.value
    same = difference(ours.value.cost, cost) <= TOLERANCE and np.array_equal(ours.value.pairs, pairs)
    return Outcome(ours.seconds, theirs.seconds, same)
