"""Walks of one scene out of many: put end to end, translated to the scene's codes, their moves looked at."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ASTRAY, LEAPING = 1, 2
"""What a walk is flagged with: it visits a place that the scene does not have; it takes a step that is no edge."""


def place(
    codes: NDArray[np.int32],
    offsets: NDArray[np.int64],
    rows: NDArray[np.int64],
    known: NDArray[np.int32] | None,
    edges: NDArray[np.uint8] | None,
    out: NDArray[np.int32],
    ends: NDArray[np.int64],
    flags: NDArray[np.uint8],
) -> int:
    """Write some walks one after the other; return the position of the first code that `known` lacks, or -1.

    Args:
        codes: places of many walks, end to end.
        offsets: where each walk begins, and where the last ends.
        rows: the walks that are wanted, in this order.
        known: the scene's code of each of the file's, negative for places that it does not have; None: the same.
        edges: (n, n), 1 where an edge leads from a place to another; None: moves are not looked at.
        out: room for the places.
        ends: where each walk ends in `out`.
        flags: `ASTRAY` and `LEAPING` of each walk.
    """
    wrong = ValueError("place: codes, rows, edges and places for the result do not fit")
    size = np.iinfo(np.int32).max if edges is None else len(edges)
    if ends.shape != rows.shape or flags.shape != rows.shape or (edges is not None and edges.shape != (size, size)):
        raise wrong
    if (known is not None and (known >= size).any()) or ((rows < 0) | (rows >= len(offsets) - 1)).any():
        raise wrong
    starts, stops = offsets[rows], offsets[rows + 1]
    if ((starts < 0) | (stops < starts) | (stops > len(codes))).any():
        raise wrong
    lengths = stops - starts
    np.cumsum(lengths, out=ends)
    total = int(lengths.sum())
    if total > len(out):
        raise wrong
    where = np.repeat(starts - ends + lengths, lengths) + np.arange(total)
    found = codes[where]
    if known is not None:
        if len(lacking := np.flatnonzero((found < 0) | (found >= len(known)))):
            return int(where[lacking[0]])
        found = known[found]
    elif (found >= size).any():
        raise wrong
    out[:total] = found
    walk = np.repeat(np.arange(len(rows)), lengths)
    flags[:] = 0
    flags[walk[found < 0]] |= ASTRAY
    if edges is not None and total:
        a, b = found[:-1], found[1:]
        beyond = (a < 0) | (b < 0)
        linked = edges[np.where(beyond, 0, a), np.where(beyond, 0, b)].astype(bool) & ~beyond
        flags[walk[1:][(walk[1:] == walk[:-1]) & (a != b) & ~linked]] |= LEAPING
    return -1
