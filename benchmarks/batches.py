"""Rows of many paths in one call: long pairs, threads, running batches."""

from __future__ import annotations

from copy import copy
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from benchmarks import data
from benchmarks.report import Outcome
from benchmarks.timing import Contestant, race
from wayscore import RunningBatch, kernels, score

if TYPE_CHECKING:
    from benchmarks.rows import Setting

CELLS = 12_000_000
"""Cells of all pairs of a row together."""


def long_pairs(setting: Setting, nodes: tuple[int, int], metrics: str | None = None) -> Outcome:
    """`score(threads=1)` of pairs of 3-D points; the peer calls the kernel that fills the strip, pair by pair."""
    n, m = nodes
    references, queries = _pairs(nodes, 2 if setting.quick else CELLS // (n * m))
    ours, theirs = race(
        lambda: score(references=references, queries=queries, metrics=metrics, threads=1),
        lambda: [kernels.warp(None, R, Q, None, None) for R, Q in zip(references, queries, strict=True)],
    )
    rates = [len(queries) * n * m / timing.seconds / 1e6 for timing in (ours, theirs)]
    ours.value = ours.value["nDTW"]
    theirs.value = np.exp(-np.array(theirs.value) / (n * 3.0))
    note = "{} pairs, {:,.0f} million cells per second, peer {:,.0f}".format(len(queries), *rates)
    return Outcome.compared(ours, theirs, note)


def threads(setting: Setting, nodes: tuple[int, int], count: int) -> Outcome:
    """`score(threads=2)` of pairs of 3-D points; the peer is `threads=1`; wall clock."""
    references, queries = _pairs(nodes, 2 if setting.quick else count)
    work = partial(score, references=references, queries=queries, metrics="nDTW")
    ours, theirs = race(lambda: work(threads=2)["nDTW"], lambda: work(threads=1)["nDTW"], clock=perf_counter)
    return Outcome.compared(ours, theirs, "wall clock; only an idle machine shows what is possible")


def _pairs(nodes: tuple[int, int], count: int) -> tuple[list[Any], list[Any]]:
    R, Q = (
        data.random_walk_points(n * count, seed).reshape(count, n, 3) for n, seed in zip(nodes, (1, 2), strict=True)
    )
    return list(R - R[:, :1]), list(Q - Q[:, :1])


def running_batch(setting: Setting, environments: int, order: Literal["C", "F"]) -> Outcome:
    """`RunningBatch.step` on graphs, given node names; the peer is vectorised NumPy, given node numbers."""
    inputs, steps = setting.inputs, 10
    chosen = [inputs.episodes[number % len(inputs.episodes)] for number in range(environments)]
    graphs = [inputs.graphs[scan] for scan, _, _ in chosen]
    references = [reference for _, reference, _ in chosen]
    random = np.random.default_rng(data.SEED)
    codes = (random.random((steps, environments)) * [len(graph) for graph in graphs]).astype(np.int64)
    labels = [[graph.nodes[code] for graph, code in zip(graphs, row, strict=True)] for row in codes.tolist()]
    batch, peer = RunningBatch(references=references, distance=graphs), NumpyBatch(graphs, references, order)
    ours, theirs = race(
        Contestant(lambda state: [state.step(nodes) for nodes in labels], prepare=batch.fork),
        Contestant(lambda state: [state.step(nodes) for nodes in codes], prepare=peer.fork),
        rounds=20,
    )
    each = 1e9 / steps / environments
    note = f"{ours.seconds * each:.0f} ns per environment and step, peer {theirs.seconds * each:.0f}"
    return Outcome.compared(ours, theirs, note)


class NumpyBatch:
    """DTW of many environments at once, as one writes it with NumPy, tables of distances and node numbers.

    Arrays are (environments, nodes); their memory is environment by environment ("C"), or node by node ("F").
    """

    def __init__(self, graphs: list[Any], references: list[list[str]], order: Literal["C", "F"]) -> None:
        lengths = [len(reference) for reference in references]
        unique = {id(graph): graph for graph in graphs}
        first = dict(zip(unique, np.cumsum([0, *(graph.table.size for graph in unique.values())]), strict=False))
        self.tables = np.concatenate([graph.table.ravel() for graph in unique.values()])
        self.rows = np.zeros((len(graphs), max(lengths)), np.int64, order)  # where the distances from r_i begin
        for number, (graph, reference) in enumerate(zip(graphs, references, strict=True)):
            starts = [first[id(graph)] + graph.index[node] * len(graph) for node in reference]
            self.rows[number, : len(starts)] = starts
        self.ends = np.arange(len(graphs)), np.array(lengths)
        self.C = np.full((len(graphs), max(lengths) + 1), np.inf, order=order)
        self.C[:, 0] = 0.0

    def fork(self) -> NumpyBatch:
        """Return a copy that has taken as many steps."""
        other = copy(self)
        other.C = self.C.copy(order="K")
        return other

    def step(self, codes: Any) -> Any:
        """Take the next node of every environment and return DTW so far."""
        costs = self.tables[self.rows + codes[:, None]]
        nearest = np.minimum(self.C[:, :-1], self.C[:, 1:])
        self.C[:, 0] = np.inf
        for i in range(costs.shape[1]):
            np.add(costs[:, i], np.minimum(nearest[:, i], self.C[:, i]), out=self.C[:, i + 1])
        return self.C[self.ends]
