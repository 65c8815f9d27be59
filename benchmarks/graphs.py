"""Rows on graphs: twelve metrics from node names, a million random walks, all pairs of distances."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import data, literal
from benchmarks.report import TOLERANCE, Outcome, difference
from benchmarks.timing import Contestant, need, race
from wayscore.distances import Graph
from wayscore.evaluation.score import score
from wayscore.evaluation.table import ScoreTable
from wayscore.metrics import METRICS

if TYPE_CHECKING:
    from benchmarks.rows import Setting

INTERESTING = ("SR", "SPL", "SED", "CLS", "nDTW", "SDTW")

Scorer = Callable[..., dict[str, float]]
Episode = tuple[Sequence[str], Sequence[str], literal.Distances]
STYLES: dict[str, Scorer] = {"literal": literal.score_literally, "released": literal.score_as_released}


def node_names(setting: Setting, style: str) -> Outcome:
    """One `score(threads=1)` of all episodes, given node names; distances are known beforehand on both sides."""
    need("rapidfuzz")
    inputs = setting.inputs
    episodes = inputs.episodes[: 200 if setting.quick else None]
    scenes, references, queries = (list(column) for column in zip(*episodes, strict=True))
    graphs = {scan: inputs.graphs[scan] for scan in inputs.scans}
    walked = [(reference, query, setting.distances(scan)) for scan, reference, query in episodes]
    ours, theirs = race(
        lambda: score(references=references, queries=queries, distance=graphs, scenes=scenes, threads=1),
        lambda: _score_each(walked, STYLES[style]),
    )
    same = largest_difference(ours.value, theirs.value) <= TOLERANCE
    each = 1e6 / len(episodes)
    note = f"{len(episodes):,} episodes, {ours.seconds * each:.2f} us each, peer {theirs.seconds * each:.0f} us"
    return Outcome(ours.seconds, theirs.seconds, same, note)


def random_walks(setting: Setting, style: str) -> Outcome:
    """One `score(threads=1, pairing=...)` per scene, given node numbers grouped by reference; the peer does 2,000."""
    need("rapidfuzz")
    inputs, count = setting.inputs, 20_000 if setting.quick else 1_000_000
    walks = data.random_walks(inputs, count)
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
    same = largest_difference({symbol: values[sample] for symbol, values in columns.items()}, theirs.value) <= TOLERANCE
    means = ", ".join(f"{symbol} {100 * np.mean(columns[symbol]):.2f}" for symbol in INTERESTING)
    note = f"{ours.seconds / count * 1e9:.0f} ns each; peer timed on {size:,} of them; {means}"
    return Outcome(ours.seconds, theirs.seconds * count / size, same, note)


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
    """`Graph.table` of freshly built graphs; parsing and building them is not counted on either side."""
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
    same = True
    for graph, table, found in zip(graphs, ours.value, theirs.value, strict=True):
        matrix = _matrix(graph, found) if isinstance(found, Mapping) else found
        reachable = np.isfinite(table)
        same &= np.array_equal(reachable, np.isfinite(matrix))  # or only one of them finds a path
        same &= difference(table[reachable], matrix[reachable]) <= TOLERANCE
    note = f"{len(graphs)} graphs, {sum(len(graph) for graph in graphs):,} nodes"
    return Outcome(ours.seconds, theirs.seconds, bool(same), note)


def _matrix(graph: Graph, found: Mapping[Any, Mapping[Any, float]]) -> Any:
    matrix = np.full((len(graph), len(graph)), np.inf)
    for a, row in found.items():
        for b, length in row.items():
            matrix[graph.index[a], graph.index[b]] = length
    return matrix


def _score_each(episodes: Sequence[Episode], scorer: Scorer) -> list[dict[str, float]]:
    return [scorer(reference, query, distances) for reference, query, distances in episodes]


def largest_difference(ours: Any, theirs: Sequence[Mapping[str, float]]) -> float:
    """Return the largest relative difference of any score."""
    return max(difference(ours[symbol], [scores[symbol] for scores in theirs]) for symbol in METRICS)
