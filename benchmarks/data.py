"""Inputs: R2R and its graphs below `WAYSCORE_DATA`, otherwise generated ones of the same size."""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.distances import Graph
from wayscore.distances.graphs import load_graphs
from wayscore.errors import FormatError
from wayscore.paths import PathBatch

VARIABLE = "WAYSCORE_DATA"
SEED = 20190919
Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Episode = tuple[str, list[str], list[str]]


@dataclass(frozen=True)
class Inputs:
    """Graphs by scan, and the reference paths of the evaluation split.

    Attributes:
        source: where they come from, for the report.
        graphs: every scan, 90 of them.
        references: (scan, path) of each reference path, 783 in 11 scans; each has three instructions.
        episodes: (scan, reference, query), 2,349 of them.
    """

    source: str
    graphs: dict[str, Graph]
    references: list[tuple[str, list[str]]]
    episodes: list[Episode]

    @property
    def scans(self) -> list[str]:
        """The scans that references are in, in order."""
        return sorted({scan for scan, _ in self.references})


@dataclass(frozen=True)
class Walks:
    """Random walks in one scan, grouped by the reference they answer."""

    scan: str
    references: PathBatch
    queries: PathBatch
    pairing: NDArray[np.int64]


def load() -> Inputs:
    """Read R2R val_unseen and the connectivity graphs below $WAYSCORE_DATA, or generate similar ones."""
    folder = os.environ.get(VARIABLE)
    return _generated() if not folder else _real(Path(folder))


def _real(folder: Path) -> Inputs:
    graphs = dict(load_graphs(folder / "connectivity.tar.gz"))
    file, run = folder / "r2r/R2R_val_unseen.json.gz", folder / "predictions/r2r/val_unseen_prevalent_add.json.gz"
    source = "R2R val_unseen on the Matterport3D connectivity graphs"
    try:
        paths = {str(item["path_id"]): (item["scan"], item["path"]) for item in _read(file)}
        references = list(paths.values())
        if not run.exists():
            return Inputs(f"{source}, generated queries", graphs, references, noisy_queries(graphs, references))
        file, episodes = run, []
        for item in _read(run):
            scan, path = paths[item["instr_id"].rpartition("_")[0]]
            episodes.append((scan, path, [step[0] for step in item["trajectory"]]))
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{file}: not R2R val_unseen ({error}); unset {VARIABLE} to use generated paths") from None
    return Inputs(f"{source}, queries of a PREVALENT agent", graphs, references, episodes)


def _read(file: Path) -> Any:
    return json.loads(gzip.decompress(file.read_bytes()))


def _generated() -> Inputs:
    random = np.random.default_rng(SEED)
    graphs = {f"scan{number:02d}": building(random, name=f"scan{number:02d}") for number in range(90)}
    references: list[tuple[str, list[str]]] = []
    for number, scan in enumerate(list(graphs)[:11]):
        paths: dict[tuple[str, ...], None] = {}  # a path is there once, as in R2R
        while len(paths) < (72 if number < 2 else 71):  # 783 in all, as in R2R val_unseen
            paths[tuple(_shortest_path(graphs[scan], random))] = None
        references += [(scan, list(path)) for path in paths]
    return Inputs("generated (seeded)", graphs, references, noisy_queries(graphs, references))


def building(random: np.random.Generator, columns: int = 13, rows: int = 9, name: str = "building") -> Graph:
    """Return a connected graph like a scan's: 117 nodes two metres apart with about four neighbours each."""
    i, j = (ends.reshape(-1) for ends in np.mgrid[:columns, :rows])
    jitter = random.uniform(-0.6, 0.6, (i.size, 3))
    positions = np.stack((2.2 * i, 2.2 * j, np.zeros(i.size)), axis=1) + jitter
    number = np.arange(i.size).reshape(columns, rows)
    straight = [(number[:-1], number[1:]), (number[:, :-1], number[:, 1:])]
    sources = np.concatenate([a.reshape(-1) for a, _ in straight])
    targets = np.concatenate([b.reshape(-1) for _, b in straight])
    more = random.random((columns - 1) * (rows - 1)) < 0.2  # a few diagonals
    sources = np.concatenate((sources, number[:-1, :-1].reshape(-1)[more])).astype(np.int32)
    targets = np.concatenate((targets, number[1:, 1:].reshape(-1)[more])).astype(np.int32)
    lengths = np.linalg.norm(positions[sources] - positions[targets], axis=1)
    nodes = [random.bytes(16).hex() for _ in range(i.size)]
    return Graph(nodes, sources, targets, lengths, positions=positions, name=name)


def _shortest_path(graph: Graph, random: np.random.Generator) -> list[str]:
    """Return a shortest path of four to seven nodes between two random ones."""
    while True:
        start, goal = random.integers(len(graph), size=2).tolist()
        path = graph.shortest_path(graph.nodes[start], graph.nodes[goal])
        if 4 <= len(path) <= 7:
            return [str(label) for label in path]


def edge_arrays(graph: Graph) -> tuple[Codes, Codes, Floats]:
    """Return the edges of a graph with positions, once each, as node numbers and straight-line lengths."""
    sources, targets = np.array(graph.edges, dtype=np.int32).reshape(-1, 2).T
    assert graph.positions is not None
    x, y, z = (graph.positions[sources] - graph.positions[targets]).T
    return sources.copy(), targets.copy(), np.sqrt(x * x + y * y + z * z)


def noisy_queries(graphs: dict[str, Graph], references: list[tuple[str, list[str]]], seed: int = 1) -> list[Episode]:
    """Return (scan, reference, query), three per reference: each step follows it or goes to a random neighbour."""
    random = np.random.default_rng(SEED + seed)
    episodes = []
    for scan, reference in (reference for reference in references for _ in range(3)):
        graph, query, reached = graphs[scan], [reference[0]], 0
        for _ in range(max(1, len(reference) - 1 + int(random.integers(-1, 2)))):
            near: list[Any] = graph.neighbors(query[-1])
            if reached + 1 < len(reference) and reference[reached + 1] in near and random.random() < 0.7:
                reached += 1
                query.append(reference[reached])
            else:
                query.append(near[int(random.integers(len(near)))])
        episodes.append((scan, reference, query))
    return episodes


def random_walks(inputs: Inputs, count: int) -> list[Walks]:
    """Return `count` random walks from the starts of references, as many nodes as a random reference has.

    They are int32 codes, laid out reference by reference: like the random agent of the paper's Table 2.
    """
    from wayscore.lab.agents import baselines

    random = np.random.default_rng(SEED + 2)
    lengths = np.array([len(path) for _, path in inputs.references])
    shares = np.bincount(np.arange(count) % len(inputs.references), minlength=len(inputs.references))
    result = []
    for scan in inputs.scans:
        numbers = [number for number, (where, _) in enumerate(inputs.references) if where == scan]
        graph = inputs.graphs[scan]
        references = graph.encode([inputs.references[number][1] for number in numbers])
        pairing = np.repeat(np.arange(len(numbers)), shares[numbers])
        nodes = random.choice(lengths, size=len(pairing))
        starts = references.places[references.offsets[:-1]][pairing]
        walks = baselines.random_walks(graph, starts, nodes, random)
        result.append(Walks(scan, references, walks, pairing.astype(np.int64)))
    return result


def random_walk_points(count: int, seed: int) -> Floats:
    """Return a 3-D random walk of quarter-metre steps."""
    return np.cumsum(np.random.default_rng(SEED + seed).normal(0.0, 0.25, (count, 3)), axis=0)


def tracking_pair(count: int, seed: int = 0, noise: float = 0.15) -> tuple[Floats, Floats]:
    """Return a smooth path of quarter-metre steps, and the same path re-timed, with noise and one detour."""
    random = np.random.default_rng(SEED + 100 + seed)
    heading = np.cumsum(random.normal(0.0, 0.05, count))
    climb = 0.1 * np.sin(np.linspace(0.0, 40.0, count))
    steps = np.stack((np.cos(heading), np.sin(heading), climb), axis=1)
    reference = np.cumsum(0.25 * steps / np.linalg.norm(steps, axis=1, keepdims=True), axis=0)

    pace = np.cumsum(random.uniform(0.3, 1.7, count))
    times = (pace - pace[0]) / (pace[-1] - pace[0]) * (count - 1)
    query = np.stack([np.interp(times, np.arange(count), axis) for axis in reference.T], axis=1)
    query += random.normal(0.0, noise, query.shape)
    away = slice(count // 2, count // 2 + max(2, count // 200))
    query[away, 0] += 3.0 * np.sin(np.linspace(0.0, np.pi, away.stop - away.start))
    return np.ascontiguousarray(reference), np.ascontiguousarray(query)
