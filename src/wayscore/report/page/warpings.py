"""Warpings in few characters: which way each step goes, and how far apart the nodes or points of each pair are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from wayscore.convention.applied import align_by, distance_by
from wayscore.distances.euclidean import Euclidean
from wayscore.warping.alignment import Alignment

if TYPE_CHECKING:
    from wayscore.convention import Convention
    from wayscore.distances.base import Distance

GAP_STEPS = 100
"""Distances of matched pairs are whole numbers of these parts."""
BLOCK_CELLS = 1 << 20
"""Up to this many cells the distances of two paths are computed in one block, as for the scores."""
MOVES = "?210"
"""A warping's step as one character, by 2 x (along the reference) + (along the query): 0 is both."""
Key: TypeAlias = tuple[str, int, int]
"""A scene and the numbers of a reference and a query."""


class Warpings:
    """Each warping once, by the convention's distance; episodes that share both paths share their warping."""

    def __init__(self, distance: Distance | Mapping[str, Distance] | None, convention: Convention) -> None:
        self.packed: list[list[Any]] = []
        self._distance = distance_by(distance, convention)
        self._measure = align_by(convention)
        self._numbers: dict[Key, int] = {}

    def number(self, key: Key, reference: Any, query: Any) -> int:
        """Return the number of a warping, -1 where none is finite."""
        if key not in self._numbers:
            space = self._distance[key[0]] if isinstance(self._distance, Mapping) else self._distance
            found = pack(self._measure(reference=reference, query=query, distance=space or Euclidean()))
            self._numbers[key] = -1 if found is None else len(self.packed)
            self.packed += [] if found is None else [found]
        return self._numbers[key]


def pack(warping: Alignment) -> list[Any] | None:
    """Return a warping's moves and the distance of each of its pairs; None where some are unreachable.

    >>> from wayscore import align
    >>> pack(align(reference=[[0.0], [1.0], [2.0]], query=[[0.0], [2.0]]))
    ['10', [0, 100, 0]]
    """
    i, j = warping.pairs.T
    if warping.distance.table is None and len(warping.reference) * len(warping.query) <= BLOCK_CELLS:
        gaps = warping.distances()[i, j].tolist()
    else:
        gaps = warping.distance.pairs(warping.reference[i], warping.query[j]).tolist()
    if not all(map(math.isfinite, gaps)):
        return None
    moves = (MOVES[2 * (c - a) + d - b] for (a, b), (c, d) in pairwise(warping.pairs.tolist()))
    return ["".join(moves), [round(gap * GAP_STEPS) for gap in gaps]]
