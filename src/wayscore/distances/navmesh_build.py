"""From the content of a `.navmesh` file to the arrays that the kernels search, with Habitat's preparations.

Habitat finds the islands of a mesh, and then switches polygons off that have no area. Links between polygons are built
as Detour builds them when it adds the tiles of a file. Their order is that in which a search follows them: first links
over borders of tiles, the last one added first, then those inside the tile, by edge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wayscore.distances.navmesh_file import OUTSIDE, MeshFile, Tile, triangles_of
from wayscore.errors import FormatError

WALKABLE = 1  # the bit of a polygon's flags that Habitat looks at
LEAST_AREA = 1e-5  # square metres: smaller polygons are switched off
AROUND = ((1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1))
"""Where the neighbour on each side of a tile is, x and z."""
REACH = np.float32(0.01)
"""Metres: how far the border edges of two tiles may be apart, and by how much they must overlap at each end."""
MOST_LINKS = 4  # polygons that an edge leads to at most
WHOLE = (0, 255)  # the part of an edge that can be passed, in bytes
MOST_TRIALS = 10**8
"""Pairs of border edges that are compared at most: far more than any mesh needs, and seconds of work."""
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


class Mesh(NamedTuple):
    """A mesh as the kernel reads it: t tiles, n nodes, v points, p polygons, l links and k triangles."""

    # (5,): origin of the grid of tiles (x, y, z), size of a tile (x, z).
    frame: Floats
    # (t, 8): lowest corner, highest corner, steps per metre of the nodes' boxes, and how high an agent climbs; in the
    # order in which Detour looks at tiles.
    boxes: Floats
    # (t, 4): place in the grid (x, z), first node, end of nodes.
    tiles: NDArray[np.int32]
    # (n, 7), the tree of boxes: lowest corner, highest corner, and the polygon of a leaf, or below 0 how many nodes to
    # skip if the box is missed.
    nodes: NDArray[np.int32]
    # (v, 3), the corners of polygons and triangles.
    points: Floats
    # (p, 12): six corners, how many of them count, island (-1: not walkable), first and end of its links, first and end
    # of its triangles.
    polygons: NDArray[np.int32]
    # (l, 2): the polygon behind a link, and the number of the search's node for it (0 to 3).
    links: NDArray[np.int32]
    # (l, 6): the left and the right end of the way through the first link to that polygon.
    portals: Floats
    # (k, 4): three corners, and flags of the edges that begin there.
    triangles: NDArray[np.int32]


def build(file: MeshFile, *, rounds: bool, where: str) -> tuple[Mesh, int]:
    """Return the mesh of a file and how many islands it has; for `rounds` see `find_links`."""
    tiles = file.tiles
    firsts = _ends(tile.polygons for tile in tiles)
    vertices = np.concatenate([tile.vertices for tile in tiles])
    corners = _corners(tiles)
    counts = np.concatenate([tile.polygons["count"] for tile in tiles]).astype(np.int64)
    links = find_links(tiles, firsts[:-1].tolist(), rounds=rounds, where=where)
    link_ends = np.searchsorted(links.sources, np.arange(len(counts) + 1))
    walkable = np.concatenate([tile.polygons["flags"] & WALKABLE for tile in tiles]) != 0
    by_slot = [np.arange(*firsts[n : n + 2]) for n in sorted(range(len(tiles)), key=lambda n: tiles[n].slot)]
    islands = _islands(np.concatenate(by_slot), link_ends, links.targets, walkable)
    points = np.concatenate((vertices, *(tile.detail_vertices for tile in tiles)))
    owners, triangles = _triangles(tiles, firsts, corners, len(vertices))
    triangle_ends = np.searchsorted(owners, np.arange(len(counts) + 1))
    usable = walkable & ~(_areas(points[triangles[:, :3]], owners, len(counts)) < LEAST_AREA)
    polygons = (corners, counts, np.where(usable, islands, -1), link_ends[:-1], link_ends[1:], triangle_ends[:-1])
    # Detour looks at tiles row by row, and of those in one place at the last one first.
    order = sorted(range(len(tiles)), key=lambda n: (*tiles[n].place[::-1], -n))
    headers = [tiles[n].header for n in order]
    node_ends = _ends(tile.nodes for tile in tiles)
    mesh = Mesh(
        frame=file.frame,
        boxes=np.array([[*h["low"], *h["high"], h["steps"], h["climb"]] for h in headers], dtype=np.float32),
        tiles=np.array([[*tiles[n].place, *node_ends[n : n + 2]] for n in order], dtype=np.int32),
        nodes=np.concatenate([_nodes(tile, first) for tile, first in zip(tiles, firsts[:-1], strict=True)]),
        points=points.astype(np.float32),
        polygons=np.column_stack((*polygons, triangle_ends[1:])).astype(np.int32),
        links=np.column_stack((links.targets, links.kinds)).astype(np.int32),
        portals=_portals(links, vertices, corners, counts),
        triangles=triangles.astype(np.int32),
    )
    return mesh, int(islands.max()) + 1


def _ends(blocks: Iterable[Sized]) -> Ints:
    """Return where each of several blocks, laid end to end, begins, and the end of the last."""
    return np.cumsum([0, *map(len, blocks)])


def _nodes(tile: Tile, first: int) -> NDArray[np.int32]:
    value = tile.nodes["value"].astype(np.int64)
    value[value >= 0] += first
    return np.column_stack((tile.nodes["low"], tile.nodes["high"], value)).astype(np.int32)


def _corners(tiles: Sequence[Tile]) -> Ints:
    """Return the six corners of each polygon; where it has fewer, the first one stands in."""
    found = []
    for tile, first in zip(tiles, _ends(tile.vertices for tile in tiles), strict=False):
        corners = tile.polygons["corners"].astype(np.int64)
        found.append(np.where(tile.edges, corners, corners[:, :1]) + first)
    return np.concatenate(found)


def _portals(links: Links, vertices: Floats, corners: Ints, counts: Ints) -> Floats:
    """Return the left and the right end of the first link to the same polygon: searches pass no other."""
    left = vertices[corners[links.sources, links.edges]]
    right = vertices[corners[links.sources, (links.edges + 1) % counts[links.sources]]]
    whole = (links.parts == WHOLE).all(axis=1, keepdims=True)
    shares = links.parts.astype(np.float32) * (np.float32(1) / np.float32(255))
    portals = np.hstack(
        [np.where(whole, end, left + (right - left) * shares[:, [n]]) for n, end in enumerate((left, right))]
    )
    _, first, same = np.unique(links.sources * len(counts) + links.targets, return_index=True, return_inverse=True)
    return np.ascontiguousarray(portals[first[same.reshape(-1)]], dtype=np.float32)


def _islands(order: Ints, link_ends: Ints, targets: Ints, walkable: NDArray[np.bool_]) -> Ints:
    """Number the islands; as in Habitat, the polygon that begins one need not be walkable."""
    islands, count = [-1] * len(order), 0
    ends, neighbours, allowed = link_ends.tolist(), targets.tolist(), walkable.tolist()
    for seed in order.tolist():
        if islands[seed] >= 0:
            continue
        islands[seed] = count
        waiting = [seed]
        while waiting:
            polygon = waiting.pop()
            for target in neighbours[ends[polygon] : ends[polygon + 1]]:
                if islands[target] < 0 and allowed[target]:
                    islands[target] = count
                    waiting.append(target)
        count += 1
    return np.array(islands, dtype=np.int64)


def _triangles(tiles: Sequence[Tile], firsts: Ints, corners: Ints, vertices: int) -> tuple[Ints, Ints]:
    """Return whose each triangle is, and its corners and flags as `Mesh` has them."""
    owners, found = [], []
    for tile, first, extra in zip(tiles, firsts, _ends(tile.detail_vertices for tile in tiles), strict=False):
        mine, numbers = triangles_of(tile)
        local = tile.triangles[numbers].astype(np.int64)
        counts = tile.polygons["count"][mine, None].astype(np.int64)
        own = corners[mine[:, None] + first, np.minimum(local[:, :3], 5)]
        others = vertices + extra + tile.details["vertex"][mine, None].astype(np.int64) + local[:, :3] - counts
        border = local[:, 3:] >> np.array((0, 2, 4)) & 1
        once = border | (local[:, :3] >= local[:, (1, 2, 0)])
        flags = (border << np.arange(3)).sum(axis=1) + (once << np.arange(3, 6)).sum(axis=1)
        owners.append(mine + first)
        found.append(np.column_stack((np.where(local[:, :3] < counts, own, others), flags)))
    return np.concatenate(owners), np.concatenate(found)


def _areas(corners: Floats, owners: Ints, count: int) -> Floats:
    """Return the area of each polygon: that of its triangles, added one by one in float32."""
    (ux, uy, uz), (vx, vy, vz) = ((corners[:, n + 1] - corners[:, n]).T for n in (0, 1))
    x, y, z = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    areas = np.zeros(count, dtype=np.float32)
    np.add.at(areas, owners, np.float32(0.5) * np.sqrt(x * x + y * y + z * z))
    return areas


class Links(NamedTuple):
    """Links, polygon by polygon; polygons are numbered tile by tile, in the order of the file."""

    sources: Ints  # the polygon that a link leads out of
    edges: Ints  # the edge of that polygon, 0 to 5
    targets: Ints  # the polygon that it leads to
    kinds: Ints  # the number of the search's node for the target: 0, or by the side of the tile that is crossed
    parts: Ints  # (l, 2), which part of the edge can be passed, from 0 to 255


def find_links(tiles: Sequence[Tile], firsts: Sequence[int], *, rounds: bool, where: str) -> Links:
    """Find all links; `firsts` has the number of each tile's first polygon.

    Parts of edges are rounded to bytes by habitat-sim 0.3.4 (`rounds`), and cut off before.
    """
    inner = []
    for tile, first in zip(tiles, firsts, strict=True):
        neighbours = tile.polygons["neighbours"].astype(np.int64)
        sources, edges = np.nonzero(tile.edges & (neighbours > 0) & (neighbours & OUTSIDE == 0))
        targets = neighbours[sources, edges] - 1 + first
        none = np.zeros(len(sources), dtype=np.int64)
        inner.append(np.column_stack((sources + first, edges, targets, none, none + WHOLE[0], none + WHOLE[1])))
    links = np.concatenate(inner)
    if len(tiles) > 1:
        room = [int(tile.header["links"]) - len(found) for tile, found in zip(tiles, inner, strict=True)]
        crossing = _links_over_borders(tiles, firsts, room, rounds, where)
        links = np.concatenate((crossing, links))
        links = links[np.argsort(links[:, 0], kind="stable")]
    return Links(links[:, 0], links[:, 1], links[:, 2], links[:, 3], links[:, 4:])


@dataclass(slots=True, eq=False)
class _Border:
    """The edges of a tile on its borders, polygon by polygon."""

    polygons: Ints
    edges: Ints  # of these polygons
    sides: Ints  # 0 and 4 where the border is at an x, 2 and 6 where it is at a z
    across: Floats  # that x or z
    ends: Floats  # (n, 2), the other of the two where the edge begins and ends
    along: Floats  # (n, 2), the same, the smaller first
    heights: Floats  # (n, 2), y there

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


def _links_over_borders(
    tiles: Sequence[Tile], firsts: Sequence[int], room: list[int], rounds: bool, where: str
) -> Ints:
    """Return the links between tiles as rows of `Links`, the last one added first; `room` is left in each tile."""
    borders = [_Border.of(tile) for tile in tiles]
    found: list[tuple[int, ...]] = []
    trials = 0
    for a, b, side in _beside(tiles):
        mine, theirs = borders[a], borders[b]
        for edge in np.flatnonzero((mine.sides == side) | (side < 0)).tolist():
            others = np.flatnonzero(theirs.sides == (mine.sides[edge] + 4) % 8)
            trials += len(others)
            if trials > MOST_TRIALS:
                raise FormatError(f"{where}: has more edges on borders of tiles than any real navigation mesh")
            touching = others[_touch(mine, edge, theirs, others, tiles[b].header["climb"])]
            _, nearest = np.unique(theirs.polygons[touching], return_index=True)  # one edge of each polygon
            for other in touching[nearest[:MOST_LINKS]][: room[a]].tolist():
                room[a] -= 1
                start, end = mine.ends[edge]
                low = max(mine.along[edge, 0], theirs.along[other, 0])
                high = min(mine.along[edge, 1], theirs.along[other, 1])
                shares = sorted(((low - start) / (end - start), (high - start) / (end - start)))
                steps = [float(min(max(share, np.float32(0)), np.float32(1)) * np.float32(255)) for share in shares]
                found.append(
                    (
                        int(mine.polygons[edge]) + firsts[a],
                        int(mine.edges[edge]),
                        int(theirs.polygons[other]) + firsts[b],
                        int(mine.sides[edge]) >> 1,
                        *(int(step + 0.5 if rounds else step) for step in steps),
                    )
                )
    return np.array(found[::-1], dtype=np.int64).reshape(-1, 6)


def _beside(tiles: Sequence[Tile]) -> Iterator[tuple[int, int, int]]:
    """Yield pairs of neighbouring tiles and the side between them (-1: the same place), in Detour's order."""
    there: dict[tuple[int, int], list[int]] = {}  # place -> tiles, the last one added first
    for new, tile in enumerate(tiles):
        x, z = tile.place
        beside = [(old, -1) for old in there.get((x, z), ())]
        for side, (dx, dz) in enumerate(AROUND):
            beside += [(old, side) for old in there.get((x + dx, z + dz), ())]
        for old, side in beside:
            yield new, old, side
            yield old, new, side if side < 0 else (side + 4) % 8
        there.setdefault((x, z), []).insert(0, new)


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
