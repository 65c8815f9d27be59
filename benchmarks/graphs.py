"""Rows on graphs: twelve metrics from node names, a million random walks, all pairs of distances."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import data, literal
from benchmarks.report import Outcome
from benchmarks.timing import Contestant, need, race
from wayscore.distances import Graph
from wayscore.metrics import METRICS
from wayscore.scoring import score
from wayscore.scoring.table import ScoreTable

if TYPE_CHECKING:
    from benchmarks.rows import Setting

TOLERANCE = 1e-9
INTERESTING = ("SR", "SPL", "SED", "CLS", "nDTW", "SDTW")

Scorer = Callable[..., dict[str, float]]
Episode = tuple[Sequence[str], Sequence[str], literal.Distances]
STYLES: dict[str, Scorer] = {"literal": literal.score_literally, "released": literal.score_as_released}


def node_names(setting: Setting, style: str) -> Outcome:
    """Score R2R-like episodes from lists of node names; distances are known beforehand on both sides."""
    need("rapidfuzz")
    inputs = setting.inputs
    episodes = list(data.noisy_queries(inputs, limit=200 if setting.quick else None))
    scenes, references, queries = (list(column) for column in zip(*episodes, strict=True))
    graphs = {scan: inputs.graphs[scan] for scan in inputs.scans}
    for graph in graphs.values():
        graph.table  # noqa: B018  # the distances, not counted
    walked = [(reference, query, setting.distances(scan)) for scan, reference, query in episodes]

    ours, theirs = race(
        lambda: score(references=references, queries=queries, distance=graphs, scenes=scenes, threads=1),
        lambda: _score_each(walked, STYLES[style]),
    )
    difference = largest_difference(ours.value, theirs.value)
    each = 1e6 / len(episodes)
    return Outcome(
        ours.seconds,
        theirs.seconds,
        difference <= TOLERANCE,
        difference,
        f"{len(episodes):,} episodes; {ours.seconds * each:.2f} us each, peer {theirs.seconds * each:.0f} us",
        _means(ours.value.columns),
    )


def random_walks(setting: Setting, style: str) -> Outcome:
    """Score random walks given as codes, grouped by reference; the peer is timed on a sample."""
    need("rapidfuzz")
    inputs, count = setting.inputs, 20_000 if setting.quick else 1_000_000
    walks = data.random_walks(inputs, count)
    for walk in walks:
        inputs.graphs[walk.scan].table  # noqa: B018  # the distances, not counted
    size = 200 if setting.quick else 2_000
    sample = np.sort(np.random.default_rng(data.SEED).choice(count, size=size, replace=False))

    def score_all() -> list[ScoreTable]:
        return [
            score(
                references=walk.references,
                queries=walk.queries,
                pairing=walk.pairing,
                distance=inputs.graphs[walk.scan],
                threads=1,
            )
            for walk in walks
        ]

    episodes = _named(setting, walks, sample)
    ours, theirs = race(score_all, lambda: _score_each(episodes, STYLES[style]))
    columns = {symbol: np.concatenate([table[symbol] for table in ours.value]) for symbol in METRICS}
    sampled = {symbol: values[sample] for symbol, values in columns.items()}
    difference = largest_difference(sampled, theirs.value)
    scaled = theirs.seconds * count / len(sample)
    means = _means(columns)
    printed = ", ".join(f"{symbol} {100 * means[symbol]:.2f}" for symbol in INTERESTING)
    return Outcome(
        ours.seconds,
        scaled,
        difference <= TOLERANCE,
        difference,
        f"{ours.seconds / count * 1e6:.3f} us each; peer timed on {len(sample):,} of them; {printed}",
        means,
    )


def _named(setting: Setting, walks: Sequence[data.Walks], sample: Any) -> list[Episode]:
    """Return the sampled episodes with labels in place of codes, for the peer."""
    episodes: list[Episode] = []
    first = 0
    for walk in walks:
        labels = [str(node) for node in setting.inputs.graphs[walk.scan].nodes]
        distances = setting.distances(walk.scan)
        for number in (sample[(sample >= first) & (sample < first + len(walk.queries))] - first).tolist():
            reference = walk.references[int(walk.pairing[number])]
            query = walk.queries[number]
            episodes.append(([labels[c] for c in reference], [labels[c] for c in query], distances))
        first += len(walk.queries)
    return episodes


def all_pairs(setting: Setting, peer: str) -> Outcome:
    """Find all pairs of distances in every scan; graphs are built and parsed before the clock starts."""
    graphs = list(setting.inputs.graphs.values())[: 6 if setting.quick else None]
    edges = [data.edge_arrays(graph) for graph in graphs]

    def fresh() -> list[Graph]:
        return [Graph(graph.nodes, *columns) for graph, columns in zip(graphs, edges, strict=True)]

    def tables(built: list[Graph]) -> list[Any]:
        return [graph.table for graph in built]

    theirs_call: Callable[[], list[Any]]
    if peer == "networkx":
        networkx = need("networkx")
        built = [literal.networkx_graph(graph) for graph in graphs]

        def theirs_call() -> list[Any]:
            return [dict(networkx.all_pairs_dijkstra_path_length(graph)) for graph in built]
    else:
        sparse, csgraph = need("scipy.sparse"), need("scipy.sparse.csgraph")
        matrices = [
            sparse.csr_matrix((weights, (sources, targets)), shape=(len(graph), len(graph)))
            for graph, (sources, targets, weights) in zip(graphs, edges, strict=True)
        ]

        def theirs_call() -> list[Any]:
            return [csgraph.dijkstra(matrix, directed=False) for matrix in matrices]

    ours, theirs = race(Contestant(tables, prepare=fresh), theirs_call)
    difference = 0.0
    for graph, table, found in zip(graphs, ours.value, theirs.value, strict=True):
        matrix = _matrix(graph, found) if isinstance(found, Mapping) else found
        reachable = np.isfinite(table)
        if not np.array_equal(reachable, np.isfinite(matrix)):
            difference = float("1e300")  # a path that only one of them finds
            break
        difference = max(difference, float(np.abs(table[reachable] - matrix[reachable]).max()))
    nodes = sum(len(graph) for graph in graphs)
    note = f"{len(graphs)} graphs, {nodes:,} nodes; differ by {difference:.1g} m at most"
    return Outcome(ours.seconds, theirs.seconds, difference <= TOLERANCE, difference, note)


def _matrix(graph: Graph, found: Mapping[Any, Mapping[Any, float]]) -> Any:
    matrix = np.full((len(graph), len(graph)), np.inf)
    for a, row in found.items():
        for b, length in row.items():
            matrix[graph.index[a], graph.index[b]] = length
    return matrix


def _score_each(episodes: Sequence[Episode], scorer: Scorer) -> list[dict[str, float]]:
    return [scorer(reference, query, distances) for reference, query, distances in episodes]


def largest_difference(ours: Any, theirs: Sequence[Mapping[str, float]]) -> float:
    """Return the largest difference of any score, relative to the peer's where that is more than 1."""
    worst = 0.0
    for symbol in METRICS:
        expected = np.array([scores[symbol] for scores in theirs])
        worst = max(worst, float((np.abs(ours[symbol] - expected) / np.maximum(1.0, np.abs(expected))).max()))
    return worst


def _means(columns: Mapping[str, Any]) -> dict[str, float]:
    return {symbol: float(np.mean(values)) for symbol, values in columns.items()}
