"""Links between the polygons of a `.navmesh` file: built as Detour builds them when it adds the tiles of a file.

Their order is that in which a search follows them: first links over borders of tiles, the last one added first, then
those inside the tile, by edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wayscore.distances.navmesh_file import OUTSIDE, Tile
from wayscore.errors import FormatError

AROUND = ((1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1))
"""Where the neighbour on each side of a tile is, x and z."""
REACH = np.float32(0.01)
"""Metres: how far the border edges of two tiles may be apart, and by how much they must overlap at each end."""
MOST_LINKS = 4
"""Polygons that an edge leads to at most."""
WHOLE = (0, 255)
"""The part of an edge that can be passed, in bytes."""
MOST_TRIALS = 10**8
"""Pairs of border edges that are compared at most: far more than any mesh needs, and seconds of work."""
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


class Links(NamedTuple):
    """Links, polygon by polygon.

    Attributes:
        sources: the polygon that a link leads out of; polygons are numbered tile by tile, in the order of the file.
        edges: the edge of that polygon, 0 to 5.
        targets: the polygon that it leads to.
        kinds: the number of the search's node for the target: 0, or by the side of the tile that is crossed.
        parts: (l, 2), which part of the edge can be passed, from 0 to 255.
    """

    sources: Ints
    edges: Ints
    targets: Ints
    kinds: Ints
    parts: Ints


def find_links(tiles: Sequence[Tile], firsts: Sequence[int], *, rounds: bool, where: str) -> Links:
    """Find all links.

    Args:
        tiles: of a file.
        firsts: the number of each tile's first polygon.
        rounds: whether parts of edges are rounded to bytes (habitat-sim 0.3.4) or cut off (before).
        where: names the file in errors.
    """
    inner = [_inner(tile, first) for tile, first in zip(tiles, firsts, strict=True)]
    links = np.concatenate(inner)
    if len(tiles) > 1:
        room = [int(tile.header["links"]) - len(found) for tile, found in zip(tiles, inner, strict=True)]
        crossing = _Crossing(tiles, firsts, room, rounds, where).find()
        links = np.concatenate((crossing, links))
        links = links[np.argsort(links[:, 0], kind="stable")]
    return Links(links[:, 0], links[:, 1], links[:, 2], links[:, 3], links[:, 4:])


def _inner(tile: Tile, first: int) -> Ints:
    """Return the links inside a tile: source, edge, target, kind and part."""
    neighbours = tile.polygons["neighbours"].astype(np.int64)
    sources, edges = np.nonzero(tile.edges & (neighbours > 0) & (neighbours & OUTSIDE == 0))
    targets = neighbours[sources, edges] - 1 + first
    none = np.zeros(len(sources), dtype=np.int64)
    return np.column_stack((sources + first, edges, targets, none, none + WHOLE[0], none + WHOLE[1]))


@dataclass(slots=True, eq=False)
class _Border:
    """The edges of a tile on its borders, polygon by polygon.

    Attributes:
        polygons: of the tile.
        edges: of these polygons.
        sides: 0 and 4 where the border is at an x, 2 and 6 where it is at a z.
        across: that x or z.
        ends: (n, 2), the other of the two where the edge begins and ends.
        along: (n, 2), the same, the smaller first.
        heights: (n, 2), y there.
    """

    polygons: Ints
    edges: Ints
    sides: Ints
    across: Floats
    ends: Floats
    along: Floats
    heights: Floats

    @classmethod
    def of(cls, tile: Tile) -> _Border:
        """Find the edges of a tile."""
        neighbours = tile.polygons["neighbours"].astype(np.int64)
        on_border = tile.edges & (neighbours & OUTSIDE > 0) & np.isin(neighbours & 0xFF, (0, 2, 4, 6))
        polygons, edges = np.nonzero(on_border)
        sides = neighbours[polygons, edges] & 0xFF
        following = (edges + 1) % tile.polygons["count"][polygons]
        corners = tile.polygons["corners"][polygons[:, None], np.column_stack((edges, following))]
        points = tile.vertices[corners]
        at_x = (sides % 4 == 0)[:, None]
        ends = np.where(at_x, points[:, :, 2], points[:, :, 0])
        order = np.where((ends[:, 0] < ends[:, 1])[:, None], (0, 1), (1, 0))
        return cls(
            polygons,
            edges,
            sides,
            np.where(at_x, points[:, :, 0], points[:, :, 2])[:, 0],
            ends,
            np.take_along_axis(ends, order, axis=1),
            np.take_along_axis(points[:, :, 1], order, axis=1),
        )


class _Crossing:
    """Finds the links over borders: each tile, when it is added, is joined with those that are there already."""

    def __init__(self, tiles: Sequence[Tile], firsts: Sequence[int], room: list[int], rounds: bool, where: str) -> None:
        self.tiles, self.firsts, self.room, self.rounds, self.where = tiles, firsts, room, rounds, where
        self.borders = [_Border.of(tile) for tile in tiles]
        self.found: list[tuple[int, ...]] = []
        self.trials = 0

    def find(self) -> Ints:
        """Return all of them, the last one added first."""
        there: dict[tuple[int, int], list[int]] = {}  # place -> tiles, the last one added first
        for new, tile in enumerate(self.tiles):
            x, z = tile.place
            beside = [(old, -1) for old in there.get((x, z), ())]
            for side, (dx, dz) in enumerate(AROUND):
                beside += [(old, side) for old in there.get((x + dx, z + dz), ())]
            for old, side in beside:
                self.connect(new, old, side)
                self.connect(old, new, side if side < 0 else (side + 4) % 8)
            there.setdefault((x, z), []).insert(0, new)
        return np.array(self.found[::-1], dtype=np.int64).reshape(-1, 6)

    def connect(self, a: int, b: int, side: int) -> None:
        """Add the links from tile `a` over one of its sides (-1: all of them) to tile `b`."""
        mine, theirs = self.borders[a], self.borders[b]
        climb = self.tiles[b].header["climb"]
        for edge in np.flatnonzero((mine.sides == side) | (side < 0)).tolist():
            others = np.flatnonzero(theirs.sides == (mine.sides[edge] + 4) % 8)
            self.trials += len(others)
            if self.trials > MOST_TRIALS:
                raise FormatError(f"{self.where}: has more edges on borders of tiles than any real navigation mesh")
            touching = others[_touch(mine, edge, theirs, others, climb)]
            _, nearest = np.unique(theirs.polygons[touching], return_index=True)  # one edge of each polygon
            for other in touching[nearest[:MOST_LINKS]].tolist():
                if self.room[a]:
                    self.room[a] -= 1
                    self.found.append(
                        (
                            int(mine.polygons[edge]) + self.firsts[a],
                            int(mine.edges[edge]),
                            int(theirs.polygons[other]) + self.firsts[b],
                            int(mine.sides[edge]) >> 1,
                            *self.part(mine, edge, theirs, other),
                        )
                    )

    def part(self, mine: _Border, edge: int, theirs: _Border, other: int) -> tuple[int, int]:
        """Return the part of an edge that an edge of another tile covers."""
        start, end = mine.ends[edge]
        low = max(mine.along[edge, 0], theirs.along[other, 0])
        high = min(mine.along[edge, 1], theirs.along[other, 1])
        shares = sorted(((low - start) / (end - start), (high - start) / (end - start)))
        steps = [float(min(max(share, np.float32(0)), np.float32(1)) * np.float32(255)) for share in shares]
        least, most = (int(step + 0.5 if self.rounds else step) for step in steps)
        return least, most


def _touch(mine: _Border, edge: int, theirs: _Border, others: Ints, climb: np.float32) -> NDArray[np.bool_]:
    """Return which edges of another tile an edge meets: beside each other, overlapping, and of a like height."""
    low, high = mine.along[edge]
    from_, to = theirs.along[others].T
    first, last = np.maximum(low + REACH, from_ + REACH), np.minimum(high - REACH, to - REACH)
    with np.errstate(all="ignore"):  # edges that are points do not overlap anyway
        mine_y, theirs_y = mine.heights[edge], theirs.heights[others].T
        slope, their_slope = (mine_y[1] - mine_y[0]) / (high - low), (theirs_y[1] - theirs_y[0]) / (to - from_)
        base, their_base = mine_y[0] - slope * low, theirs_y[0] - their_slope * from_
        at_first = their_slope * first + their_base - (slope * first + base)
        at_last = their_slope * last + their_base - (slope * last + base)
        limit = (climb * np.float32(2)) * (climb * np.float32(2))
        level = (at_first * at_last < 0) | (at_first * at_first <= limit) | (at_last * at_last <= limit)
    beside = np.abs(mine.across[edge] - theirs.across[others]) <= REACH
    return np.asarray(beside & (first <= last) & level)
