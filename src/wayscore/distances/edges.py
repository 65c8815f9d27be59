"""Checks of edges and their lengths."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from wayscore.distances.base import Floats
from wayscore.errors import DistanceError, shortened


def checked_edge(edge: Any, number: int, name: str) -> tuple[Hashable, Hashable]:
    """Return an edge if it is a pair of labels; `name` is the name of the graph in errors."""
    try:
        a, b = edge
        hash((a, b))
    except (TypeError, ValueError):
        raise DistanceError(
            f"edge {number} of the {name} must be a pair of node labels, got {shortened(edge)}"
        ) from None
    return a, b


def checked_lengths(weights: Iterable[float] | None, pairs: list[tuple[Hashable, Hashable]], name: str) -> Floats:
    """Return one length per edge, or 1 for all if none are given; lengths must be finite and not negative."""
    if weights is None:
        return np.ones(len(pairs))
    try:
        lengths = np.array(list(weights), dtype=np.float64)
    except (TypeError, ValueError):
        raise DistanceError(f"the weights of the {name} must be numbers, one for each edge") from None
    if lengths.shape != (len(pairs),):
        raise DistanceError(f"the {name} has {len(pairs)} edges but {lengths.size} weights; give one for each edge")
    wrong = np.flatnonzero(~(np.isfinite(lengths) & (lengths >= 0)))
    if wrong.size:
        a, b = pairs[wrong[0]]
        raise DistanceError(
            f"edge {shortened(a)} - {shortened(b)} of the {name} has length {lengths[wrong[0]]}; lengths must be "
            "finite and not negative"
        )
    return lengths
