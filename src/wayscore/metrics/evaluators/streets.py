"""Columns of evaluators of street walks: VLN-Transformer and VALAN on Touchdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from wayscore.distances.base import Floats, Places
from wayscore.metrics.base import Measured, Measurements, Metric
from wayscore.metrics.episode import Episode
from wayscore.metrics.evaluators.column import KNOWN, variant
from wayscore.metrics.paper import WARPING, length_score


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


COLUMNS: dict[str, Metric] = {
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
