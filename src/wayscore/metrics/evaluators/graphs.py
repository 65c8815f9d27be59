"""Columns of evaluators on graphs: the authors' CLS, VALAN, HAMT's R2R-Back, dialogs (NDH), streets (Touchdown)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np

from wayscore.distances.base import Floats, Places
from wayscore.distances.graph import Graph
from wayscore.metrics.base import ERROR, LENGTH, SCORE, Measured, Measurements, Metric, ratio
from wayscore.metrics.episode import Episode
from wayscore.metrics.evaluators.column import KNOWN, column, share, variant
from wayscore.metrics.paper import OPTIMAL, WARPING, length_score


def coverage_by_edges(episode: Episode) -> float:
    """CLS whose lengths add up edges at their own weights, even where a way round is shorter."""
    coverage = float(np.exp(-episode.matrix().min(axis=1) / episode.threshold).mean())
    expected = coverage * _edges(episode, episode.encoded_reference)
    walked = _edges(episode, episode.encoded_query)
    return coverage * float(length_score(np.array([expected]), np.array([walked]))[0])


def _edges(episode: Episode, path: Places) -> float:
    graph, before, after = episode.distance, path[:-1], path[1:]
    shortest = graph.pairs(before, after)
    if not isinstance(graph, Graph):
        return float(shortest.sum())
    own = graph.edge_lengths(before, after)
    return float(np.where(np.isfinite(own), own, shortest).sum())


def warping_by_length(m: Measurements) -> Floats:
    """DTW / PL(R), undefined where the reference has no length."""
    with np.errstate(divide="ignore", invalid="ignore"):
        divided = m.warping / m.reference_length
    return np.where(np.isfinite(divided), divided, inf)


def success_by_length(m: Measurements) -> Floats:
    """SPL, 0 where the start is the goal."""
    length = m.optimal_length
    return m.success * ratio(length, np.maximum(m.query_length, length), both_zero=0.0)


def back_success(episode: Episode) -> float:
    """1 where both the end and the middle stop ("" for none) are within d_th of where they should be."""
    right, named = episode.recorded.get("midstop"), episode.recorded.get("pred_midstop")
    if right is None or named is None:
        return inf
    if named == "" or not episode.success():
        return 0.0
    stops = episode.distance.encode([[right, named]], role=f"episode {episode.name}, midstop").places
    return float(episode.within(episode.distance.between(stops[:1], stops[1:])[0])[0])


def back_success_by_length(episode: Episode) -> float:
    """SPL of R2R-Back."""
    if (success := back_success(episode)) != 1:
        return success
    return share(episode.reference_length(), episode.length(), episode.convention.spl_floor)


def back_success_by_warping(episode: Episode) -> float:
    """SDTW of R2R-Back."""
    success = back_success(episode)
    return episode.ndtw() if success == 1 else success


def planner_error(episode: Episode) -> float:
    """Min over q of d(q, the end of the planner's path)."""
    path = episode.recorded.get("planner")
    return inf if not path else float(episode.distances_to(path[-1:], "planner").min())


def planner_success(episode: Episode) -> float:
    """1 where any node comes within d_th of the end of the planner's path."""
    path = episode.recorded.get("planner")
    return inf if not path else float(episode.within(episode.distances_to(path[-1:], "planner")).any())


def shortest_length(episode: Episode) -> float:
    """d(q_1, r_|R|)."""
    return float(episode.goal_distances()[0])


def nearest_success_by_length(episode: Episode) -> float:
    """SPL by the goal that is nearest to the start."""
    length = float(episode.distances_to(episode.goals)[:, 0].min())
    return episode.success() * share(length, episode.length(), 0.01)


def similarity_by_root(m: Measurements) -> Floats:
    """exp(-DTW / (sqrt |R| d_th))."""
    return np.exp(-m.warping / (np.sqrt(m.warped_count) * m.threshold))


def success_by_root(m: Measurements) -> Floats:
    """SR times that."""
    return m.success * similarity_by_root(m)


def warping_by_count(m: Measurements) -> Floats:
    """DTW / |R|."""
    return m.warping / m.warped_count


def success_by_swaps(episode: Episode) -> float:
    """SR (1 - edits / max(|R|, |Q|)) for edits of nodes, a swap of two neighbours being one."""
    edits = edit_distance(_keys(episode.encoded_reference), _keys(episode.encoded_query), swaps=True)
    return episode.success() * (1 - edits / max(len(episode.encoded_reference), len(episode.encoded_query)))


def success_by_product(episode: Episode) -> float:
    """SR (1 - edits / (|R| |Q|)) for edits of nodes."""
    edits = edit_distance(_keys(episode.encoded_reference), _keys(episode.encoded_query))
    return episode.success() * (1 - edits / episode.matrix().size)


def coverage_by_nodes(episode: Episode) -> float:
    """CLS with numbers of nodes for lengths, and a decay over one hop."""
    rows, columns = episode.matrix().shape
    coverage = float(np.exp(-episode.matrix().min(axis=1)).mean())
    return coverage * float(length_score(np.array([coverage * rows]), np.array([float(columns)]))[0])


def edit_distance(a: Sequence[Any], b: Sequence[Any], *, swaps: bool = False) -> int:
    """Return how many insertions, deletions and replacements, each 1, lead from `a` to `b`.

    With `swaps`, exchanging two neighbours is one edit as well, if neither is edited again (optimal string
    alignment).

    >>> edit_distance("abcd", "acbd"), edit_distance("abcd", "acbd", swaps=True)
    (2, 1)
    """
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, (last, node) in enumerate(pairwise([None, *a]), start=1):
        two_before, before, row = before, row, [i]
        for j, other in enumerate(b, start=1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (node != other))
            if swaps and i > 1 < j and node == b[j - 2] and last == other:
                best = min(best, two_before[j - 2] + 1)
            row.append(best)
    return row[-1]


def _keys(places: Places) -> list[Any]:
    """Return encoded nodes as values that can be compared: codes, or points as tuples."""
    return [tuple(point) for point in places.tolist()] if places.ndim == 2 else places.tolist()


BACK, STOPS, PLANNER = "r2r-back-hamt", ("pred_midstop", "midstop"), ("planner",)
COLUMNS: dict[str, Metric] = {
    "CLS:r4r": variant("CLS", "PC * LS, lengths adding up edges", coverage_by_edges),
    "DTW:valan": replace(KNOWN["DTW"], formula="DTW / PL(R)", unit="", compute=warping_by_length, needs=WARPING),
    "SPL:valan": replace(
        KNOWN["SPL"], formula="SR * L / max(PL, L), 0 where L = 0", compute=success_by_length, needs=OPTIMAL
    ),
    f"SR:{BACK}": variant("SR", "1[NE <= d_th and d(midstop, own midstop) <= d_th]", back_success, STOPS),
    f"SPL:{BACK}": variant("SPL", "SR * PL(R) / max(PL, PL(R), 0.01)", back_success_by_length, STOPS),
    f"SDTW:{BACK}": variant("SDTW", "SR * nDTW", back_success_by_warping, STOPS),
    "OPSR:cvdn": column(
        "OPSR", "Oracle Path Success Rate", SCORE, "1[min_q d(q, planner's end) < d_th]", planner_success, PLANNER
    ),
    "OPNE:cvdn-navillm": column(
        "OPNE", "Oracle error to the planner's end", ERROR, "min_q d(q, planner's end)", planner_error, PLANNER
    ),
    "L:cvdn-navillm": column("L", "Shortest length", LENGTH, "d(q_1, r_|R|)", shortest_length),
    "SPL:cvdn-hamt": variant("SPL", "SR * min_g d(q_1, g) / max(PL, min_g d(q_1, g), 0.01)", nearest_success_by_length),
    "SED:touchdown-vlnt": variant("SED", "SR * (1 - ED of nodes with swaps / max(|R|, |Q|))", success_by_swaps),
    "CLS:touchdown-vlnt": variant("CLS", "PC * LS over numbers of nodes, decay over 1", coverage_by_nodes),
    "nDTW:touchdown-vlnt": replace(
        KNOWN["nDTW"], formula="exp(-DTW / (sqrt |R| d_th))", compute=similarity_by_root, needs=WARPING
    ),
    "SDTW:touchdown-vlnt": replace(KNOWN["SDTW"], formula="SR * nDTW", compute=success_by_root, needs=WARPING),
    "steps:touchdown-valan": replace(
        KNOWN["steps"], formula="|Q|, repeats counted", compute=Measured("recorded_count")
    ),
    "DTW:touchdown-valan": replace(KNOWN["DTW"], formula="DTW / |R|", compute=warping_by_count, needs=WARPING),
    "SED:touchdown-valan": variant("SED", "SR * (1 - ED of nodes / (|R| |Q|))", success_by_product),
}
