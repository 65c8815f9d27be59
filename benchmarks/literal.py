"""The peer: the paper's metrics as loops over Python's own values, one episode at a time.

`score_literally` is what a careful researcher would write from the paper's formulas: distances in the
dictionary of dictionaries that networkx returns, the double loop of Algorithm 1, rapidfuzz for the edit
distance, each quantity computed once. `score_as_released` is the same in the style of the evaluators that the
field has released: NumPy calls (`np.min`, `np.mean`, `np.exp`) on short lists, and C as a NumPy matrix
indexed row by row. Both return the same numbers; the second is the slower.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from math import exp, inf
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from benchmarks.timing import need

if TYPE_CHECKING:
    from wayscore.distances.graph import Graph

Distances: TypeAlias = Mapping[str, Mapping[str, float]]
"""d[a][b], as `dict(networkx.all_pairs_dijkstra_path_length(g))`."""


def distances_of(graph: Graph) -> Distances:
    """Return all pairs of a graph from networkx."""
    networkx = need("networkx")
    return dict(networkx.all_pairs_dijkstra_path_length(networkx_graph(graph)))


def networkx_graph(graph: Graph) -> object:
    """Return a networkx graph with the nodes, edges and straight-line lengths of `graph`."""
    from benchmarks.data import edge_arrays

    result = need("networkx").Graph()
    result.add_nodes_from(graph.nodes)
    sources, targets, weights = (column.tolist() for column in edge_arrays(graph))
    for a, b, weight in zip(sources, targets, weights, strict=True):
        result.add_edge(graph.nodes[a], graph.nodes[b], weight=weight)
    return result


def score_literally(
    reference: Sequence[str], query: Sequence[str], d: Distances, threshold: float = 3.0
) -> dict[str, float]:
    """Return the paper's twelve metrics and DTW of one episode, with plain loops."""
    goal = reference[-1]
    length = sum(d[a][b] for a, b in pairwise(query))
    error = d[query[-1]][goal]
    oracle_error = min(d[q][goal] for q in query)
    success = float(error <= threshold)
    deviations = [min(d[q][r] for r in reference) for q in query]
    coverage = sum(exp(-min(d[r][q] for q in query) / threshold) for r in reference) / len(reference)
    expected = coverage * sum(d[a][b] for a, b in pairwise(reference))
    warping = warp_literally(reference, query, d)
    ndtw = exp(-warping / (len(reference) * threshold))
    return {
        "PL": length,
        "NE": error,
        "ONE": oracle_error,
        "SR": success,
        "OSR": float(oracle_error <= threshold),
        "AD": sum(deviations) / len(query),
        "MD": max(deviations),
        "SPL": success * _ratio(d[query[0]][goal], max(length, d[query[0]][goal]), 1.0),
        "SED": success * _edge_agreement(reference, query),
        "CLS": coverage * _ratio(expected, expected + abs(expected - length), 1.0),
        "DTW": warping,
        "nDTW": ndtw,
        "SDTW": success * ndtw,
    }


def warp_literally(reference: Sequence[str], query: Sequence[str], d: Distances) -> float:
    """Return DTW(R, Q) by Algorithm 1."""
    C = [[inf] * (len(query) + 1) for _ in range(len(reference) + 1)]
    C[0][0] = 0.0
    for i in range(1, len(reference) + 1):
        for j in range(1, len(query) + 1):
            C[i][j] = d[reference[i - 1]][query[j - 1]] + min(C[i - 1][j], C[i][j - 1], C[i - 1][j - 1])
    return C[-1][-1]


def score_as_released(
    reference: Sequence[str], query: Sequence[str], d: Distances, threshold: float = 3.0
) -> dict[str, float]:
    """Return the same as `score_literally`, in the style of the field's released evaluators."""
    goal = reference[-1]
    length = np.sum([d[a][b] for a, b in pairwise(query)])
    to_goal = [d[q][goal] for q in query]
    oracle_error = np.min(to_goal)
    success = float(to_goal[-1] <= threshold)
    deviations = [np.min([d[q][r] for r in reference]) for q in query]
    coverage = np.mean([np.exp(-np.min([d[r][q] for q in query]) / threshold) for r in reference])
    expected = coverage * np.sum([d[a][b] for a, b in pairwise(reference)])

    C = np.inf * np.ones((len(reference) + 1, len(query) + 1))
    C[0][0] = 0
    for i in range(1, len(reference) + 1):
        for j in range(1, len(query) + 1):
            nearest = min(C[i - 1][j], C[i][j - 1], C[i - 1][j - 1])
            C[i][j] = d[reference[i - 1]][query[j - 1]] + nearest
    ndtw = np.exp(-C[-1][-1] / (len(reference) * threshold))
    return {
        "PL": float(length),
        "NE": to_goal[-1],
        "ONE": float(oracle_error),
        "SR": success,
        "OSR": float(oracle_error <= threshold),
        "AD": float(np.mean(deviations)),
        "MD": float(np.max(deviations)),
        "SPL": success * _ratio(to_goal[0], max(float(length), to_goal[0]), 1.0),
        "SED": success * _edge_agreement(reference, query),
        "CLS": float(coverage * _ratio(expected, expected + np.abs(expected - length), 1.0)),
        "DTW": float(C[-1][-1]),
        "nDTW": float(ndtw),
        "SDTW": float(success * ndtw),
    }


def _edge_agreement(reference: Sequence[str], query: Sequence[str]) -> float:
    """1 - ED(A_R, A_Q) / max(|A_R|, |A_Q|), where A is the sequence of edges."""
    wanted, taken = list(pairwise(reference)), list(pairwise(query))
    return 1.0 - _ratio(_levenshtein()(wanted, taken), max(len(wanted), len(taken)), 0.0)


def _ratio(numerator: float, denominator: float, both_zero: float) -> float:
    return numerator / denominator if denominator else both_zero


@cache
def _levenshtein() -> Callable[..., int]:
    found: Callable[..., int] = need("rapidfuzz.distance.Levenshtein").distance
    return found
