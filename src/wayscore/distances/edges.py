"""Checks of edges and their lengths."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


def checked_codes(
    sources: Any, targets: Any, weights: Any, count: int, name: str
) -> tuple[NDArray[np.int32], NDArray[np.int32], Floats]:
    """Return edges as node numbers, and their lengths, if they are those of a graph of `count` nodes."""
    a, b, lengths = (np.asarray(given) for given in (sources, targets, weights))
    if not (a.shape == b.shape == lengths.shape == (a.size,)):
        raise DistanceError(
            f"the edges of the {name} must be three lists of one length (sources, targets, weights), got shapes "
            f"{a.shape}, {b.shape} and {lengths.shape}"
        )
    if a.size and (a.dtype.kind not in "iu" or b.dtype.kind not in "iu"):
        raise DistanceError(f"the edges of the {name} must be numbers of nodes, got {a.dtype} and {b.dtype}")
    for ends in (a, b):
        if ends.size and not (ends.min() >= 0 and ends.max() < count):
            wrong = ends[(ends < 0) | (ends >= count)][0]
            raise DistanceError(
                f"an edge of the {name} leads to node {wrong}, but its {count} nodes are 0 to {count - 1}"
            )
    try:
        found: Floats = lengths.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise DistanceError(f"the weights of the {name} must be numbers, one for each edge") from None
    if found.size and not found.min() >= 0:  # which NaN is not either
        raise DistanceError(f"the {name} has an edge of length {found.min()}; lengths must be numbers, not negative")
    return a.astype(np.int32, copy=False), b.astype(np.int32, copy=False), found


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
