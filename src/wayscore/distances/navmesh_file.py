"""Habitat's `.navmesh` files, versions 1 and 2, read into plain arrays: a set of Detour tiles, little endian.

Every number of a file is checked before it is used: no index that is read here leads out of its array.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.errors import FormatError

MAGIC, VERSIONS = 0x4D534554, (1, 2)
TILE_MAGIC, TILE_VERSION = 0x444E4156, 7
START = struct.Struct("<3i3f2f2i")  # magic, version, number of tiles; origin, tile size, most tiles, most polygons
SETTINGS_BYTES = 56  # version 2 keeps the settings of the build after that; distances do not need them
TILE_START = struct.Struct("<Ii")  # the reference and the size of a tile
SIZE_LIMIT = 2**28  # bytes that a file may have after decompression; a large house has a million
LARGEST = 1e6
"""Metres: the largest coordinate. Products of three of them are far from overflowing."""
OUTSIDE = 0x8000  # the bit that marks an edge on the border of a tile; the lowest byte is the side
HEADER = np.dtype(
    [
        *((name, "<i4") for name in ("magic", "version", "x", "z", "layer", "user", "polygons", "vertices", "links")),
        *((name, "<i4") for name in ("details", "detail_vertices", "triangles", "nodes", "connections", "connection")),
        *((name, "<f4") for name in ("height", "radius", "climb")),
        *((name, "<f4", 3) for name in ("low", "high")),
        ("steps", "<f4"),
    ]
)
POLYGON = np.dtype(
    [
        ("link", "<u4"),
        ("corners", "<u2", 6),
        ("neighbours", "<u2", 6),
        ("flags", "<u2"),
        ("count", "u1"),
        ("area_and_type", "u1"),
    ]
)
DETAIL = np.dtype([("vertex", "<u4"), ("triangle", "<u4"), ("vertices", "u1"), ("triangles", "u1"), ("padding", "<u2")])
NODE = np.dtype([("low", "<u2", 3), ("high", "<u2", 3), ("value", "<i4")])
POINT, TRIANGLE = np.dtype(("<f4", 3)), np.dtype(("u1", 4))
BLOCKS = (
    ("vertices", POINT),
    ("polygons", POLYGON),
    ("links", np.dtype("V12")),  # built again when a mesh is loaded
    ("details", DETAIL),
    ("detail_vertices", POINT),
    ("triangles", TRIANGLE),
    ("nodes", NODE),
    ("connections", np.dtype("V36")),
)
"""What a tile holds after its header, in this order; the header has the counts by the same names."""
Array = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Tile:
    """One tile of a file; records have the types above."""

    slot: int  # the number by which Detour keeps it
    header: Any
    vertices: Array  # (v, 3), the corners of polygons
    polygons: Array
    details: Array  # one per polygon: its triangles, and their corners that are not the polygon's
    detail_vertices: Array  # (d, 3)
    triangles: Array  # (t, 4): three corners, and two bits for each edge
    nodes: Array  # the tree of boxes

    @property
    def place(self) -> tuple[int, int]:
        """Where it is in the grid of tiles: x, z."""
        return int(self.header["x"]), int(self.header["z"])

    @property
    def edges(self) -> NDArray[np.bool_]:
        """(p, 6): which of the six edges a polygon has."""
        return np.arange(6) < self.polygons["count"][:, None]


@dataclass(frozen=True, slots=True, eq=False)
class MeshFile:
    """The content of a file."""

    version: int
    frame: NDArray[np.float32]  # origin of the grid of tiles (x, y, z), size of a tile (x, z)
    tiles: tuple[Tile, ...]  # in the order of the file


def parse(content: bytes, where: str) -> MeshFile:
    """Read and check the content of a file; `where` names it in errors."""
    if len(content) < START.size or struct.unpack_from("<i", content)[0] != MAGIC:
        raise FormatError(
            f"{where}: is not a navigation mesh, which begins with the bytes TESM; expected a .navmesh file that "
            "habitat-sim wrote"
        )
    _, version, count, *frame, most_tiles, most_polygons = START.unpack_from(content)
    if version not in VERSIONS:
        raise FormatError(
            f"{where}: has version {version} of the format, and only 1 and 2 are known; save it again with habitat-sim "
            "0.3.4 or earlier"
        )
    if not np.isfinite(frame).all() or np.abs(frame).max() > 2 * LARGEST or min(frame[3:]) <= 0:
        raise _damaged(where, f"the origin and the size of tiles cannot be {frame}")
    tiles = tuple(_tiles(content, version, count, most_tiles, most_polygons, where))
    if not any(len(tile.polygons) for tile in tiles):
        raise FormatError(f"{where}: has no polygons, so nobody can walk on it; build the mesh again")
    layers: dict[tuple[int, int], set[int]] = {}
    for number, tile in enumerate(tiles):
        here = layers.setdefault(tile.place, set())
        if int(tile.header["layer"]) in here or len(here) == 32:
            raise _damaged(where, f"tile {number} is where another one is already, at {tile.place}")
        here.add(int(tile.header["layer"]))
    return MeshFile(version, np.array(frame, dtype=np.float32), tiles)


def _damaged(where: str, what: str) -> FormatError:
    return FormatError(f"{where}: {what}; the file is damaged: copy it again, or save it again from the simulator")


def _tiles(content: bytes, version: int, count: int, most_tiles: int, most_polygons: int, where: str) -> Iterator[Tile]:
    """Read tile by tile; as in Habitat, an empty one ends the list."""
    at = START.size + (SETTINGS_BYTES if version == 2 else 0)
    polygon_bits, tile_bits = (max(0, most - 1).bit_length() for most in (most_polygons, most_tiles))
    for number in range(count):
        if at + TILE_START.size > len(content):
            raise _damaged(where, f"ends before tile {number} of {count}")
        reference, size = TILE_START.unpack_from(content, at)
        if not reference or not size:
            return
        at += TILE_START.size
        if size < HEADER.itemsize or at + size > len(content):
            raise _damaged(f"{where}, tile {number}", f"has {size} bytes by its size, but {len(content) - at} follow")
        slot = reference >> polygon_bits & (1 << tile_bits) - 1
        yield _tile(memoryview(content)[at : at + size], slot, f"{where}, tile {number}")
        at += size


def _tile(content: memoryview, slot: int, where: str) -> Tile:
    header = np.frombuffer(content, HEADER, 1)[0]
    if header["magic"] != TILE_MAGIC or header["version"] != TILE_VERSION:
        raise _damaged(where, f"is not a Detour tile of version {TILE_VERSION}")
    counts = {name: int(header[name]) for name, _ in BLOCKS}
    needed = HEADER.itemsize + sum(max(0, counts[name]) * kind.itemsize for name, kind in BLOCKS)
    if min(counts.values()) < 0 or needed != len(content):
        raise _damaged(where, f"has {len(content)} bytes, but the counts in its header make {needed}")
    if counts["connections"]:
        raise FormatError(f"{where}: has off-mesh connections, which Habitat never writes and which are not supported")
    at, blocks = HEADER.itemsize, {}
    for name, kind in BLOCKS:
        base, shape = kind.subdtype or (kind, ())
        size = counts[name] * kind.itemsize
        blocks[name] = np.frombuffer(content[at : at + size], base).reshape(counts[name], *shape)
        at += size
    del blocks["links"], blocks["connections"]
    tile = Tile(slot, header, **blocks)
    _check_box(tile, where)
    _check_polygons(tile, where)
    _check_details(tile, where)
    return tile


def _check_box(tile: Tile, where: str) -> None:
    header, nodes = tile.header, tile.nodes
    sizes = [float(header[name]) for name in ("height", "radius", "climb")]
    if not (np.isfinite(sizes).all() and min(sizes) >= 0 and max(sizes) <= LARGEST):
        raise _damaged(where, f"an agent's height, radius and climb cannot be {sizes}")
    low, high = header["low"], header["high"]
    if not (np.abs(low) <= LARGEST).all() or not (np.abs(high) <= LARGEST).all() or (low > high).any():
        raise _damaged(where, f"its box cannot be from {low.tolist()} to {high.tolist()}")
    with np.errstate(all="ignore"):
        most = header["steps"] * (high - low) + np.float32(1)
    if not header["steps"] > 0 or not (most < 2**16).all():
        raise _damaged(where, f"its tree of boxes cannot have {header['steps']} steps per metre in a box of this size")
    for name in ("vertices", "detail_vertices"):
        wrong = ~(np.abs(getattr(tile, name)) <= LARGEST).all(axis=1)
        if wrong.any():
            point = getattr(tile, name)[wrong][0].tolist()
            raise _damaged(where, f"has a point {point}; coordinates must be finite and below {LARGEST:g} m")
    if len(tile.polygons) and not len(nodes):
        raise FormatError(f"{where}: has no tree of boxes, which Habitat always writes; save the mesh with habitat-sim")
    ends = np.where(nodes["value"] >= 0, 0, np.arange(len(nodes)) - nodes["value"].astype(np.int64))
    if (nodes["value"] >= len(tile.polygons)).any() or (ends > len(nodes)).any():
        raise _damaged(where, "its tree of boxes leads to a polygon or a node that is not there")


def _check_polygons(tile: Tile, where: str) -> None:
    polygons, edges = tile.polygons, tile.edges
    neighbours = polygons["neighbours"]
    if ((polygons["count"] < 3) | (polygons["count"] > 6)).any():
        raise _damaged(where, "has a polygon that has not 3 to 6 corners")
    if (polygons["area_and_type"] >> 6).any():
        raise _damaged(where, "has a polygon that is not ground, but no off-mesh connections")
    if (edges & (polygons["corners"] >= len(tile.vertices))).any():
        raise _damaged(where, f"has a polygon with a corner that is not among the {len(tile.vertices)} vertices")
    inner = edges & (neighbours & OUTSIDE == 0)
    if (inner & (neighbours > len(polygons))).any():
        raise _damaged(where, f"has a polygon with a neighbour that is not among the {len(polygons)} polygons")
    if np.count_nonzero(inner & (neighbours > 0)) > tile.header["links"]:
        raise _damaged(where, f"has more neighbours than the {tile.header['links']} links that its header allows")


def _check_details(tile: Tile, where: str) -> None:
    details, triangles = tile.details, tile.triangles
    if len(details) != len(tile.polygons):
        raise _damaged(where, f"has {len(tile.polygons)} polygons but triangles of {len(details)}")
    counts = details["triangles"].astype(np.int64)
    if (details["triangle"] + counts > len(triangles)).any() or counts.sum() > len(triangles):
        raise _damaged(where, f"has a polygon with triangles that are not among the {len(triangles)}")
    owners, numbers = triangles_of(tile)
    extra = triangles[numbers, :3].astype(np.int64) - tile.polygons["count"][owners, None]
    beyond = details["vertex"][owners, None].astype(np.int64) + extra >= len(tile.detail_vertices)
    if ((extra >= 0) & beyond).any():
        raise _damaged(where, "has a triangle with a corner that is not there")


def triangles_of(tile: Tile) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the triangles of all polygons, polygon by polygon: whose each is, and its number in the tile."""
    counts = tile.details["triangles"].astype(np.int64)
    owners = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    return owners, tile.details["triangle"][owners].astype(np.int64) + within
