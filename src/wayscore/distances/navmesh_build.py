"""From the content of a `.navmesh` file to the arrays that the kernels search, with Habitat's preparations.

Habitat finds the islands of a mesh, and then switches polygons off that have no area.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wayscore import kernels
from wayscore.distances.navmesh_file import MeshFile, Tile, triangles_of
from wayscore.distances.navmesh_links import WHOLE, Links, find_links

WALKABLE = 1
"""The bit of a polygon's flags that Habitat looks at."""
LEAST_AREA = 1e-5
"""Square metres: smaller polygons are switched off."""
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


def build(file: MeshFile, *, rounds: bool, where: str) -> tuple[kernels.Mesh, int]:
    """Return the mesh of a file, and how many islands it has.

    Args:
        file: its content.
        rounds: see `find_links`.
        where: names the file in errors.
    """
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
    node_ends = _ends(tile.nodes for tile in tiles)
    mesh = kernels.Mesh(
        frame=file.frame,
        boxes=np.array([_box(tiles[n]) for n in order], dtype=np.float32),
        tiles=np.array([[*tiles[n].place, *node_ends[n : n + 2]] for n in order], dtype=np.int32),
        nodes=np.concatenate([_nodes(tile, first) for tile, first in zip(tiles, firsts[:-1], strict=True)]),
        points=points.astype(np.float32),
        polygons=np.column_stack((*polygons, triangle_ends[1:])).astype(np.int32),
        links=np.column_stack((links.targets, links.kinds)).astype(np.int32),
        portals=_portals(links, vertices, corners, counts),
        triangles=triangles.astype(np.int32),
    )
    return mesh, int(islands.max()) + 1


def _ends(blocks: object) -> Ints:
    """Return where each of several blocks, laid end to end, begins, and the end of the last."""
    return np.cumsum([0, *map(len, blocks)])  # type: ignore[call-overload]


def _box(tile: Tile) -> list[float]:
    header = tile.header
    return [*header["low"], *header["high"], header["steps"], header["climb"]]


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
    """Return whose each triangle is, and its corners and flags as `kernels.Mesh` has them."""
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
