"""Navigation meshes made by hand and at random, and files of them that are damaged in one place."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from wayscore.distances.navmesh_file import DETAIL, HEADER, MAGIC, NODE, POLYGON, START, TILE_START
from wayscore.distances.navmesh_writer import write

AGENT = (1.5, 0.1, 0.2)
TILE = START.size + TILE_START.size
"""Where the first tile begins in a file of version 1."""
# An L of three squares of 4 m: from one end to the other the way bends around the corner at (4, 0, 4).
L_VERTICES = [[0, 0, 0], [4, 0, 0], [8, 0, 0], [0, 0, 4], [4, 0, 4], [8, 0, 4], [0, 0, 8], [4, 0, 8]]
L_POLYGONS = [[0, 1, 4, 3], [1, 2, 5, 4], [3, 4, 7, 6]]


def l_shape() -> bytes:
    """The L as a file."""
    return write(L_VERTICES, L_POLYGONS, AGENT)


def random_floor(rng: np.random.Generator, side: int = 6) -> tuple[np.ndarray, list[list[int]]]:
    """Vertices and polygons of a floor of squares, triangles and bent rectangles, with holes and steps."""
    size = float(rng.choice([0.3, 1.0, 2.5]))
    grid = np.stack(np.meshgrid(np.arange(side + 1), np.arange(side + 1), indexing="ij"), axis=-1).reshape(-1, 2)
    flat = rng.random() < 0.5
    heights = np.zeros(len(grid)) if flat else np.round(rng.normal(scale=0.3, size=len(grid)), 2)
    shift = rng.uniform(-20, 20, 3).round(2)
    wobble = np.zeros(grid.shape) if rng.random() < 0.5 else rng.uniform(-0.2, 0.2, grid.shape)
    plane = (grid + wobble) * size
    vertices = np.column_stack((plane[:, 0], heights, plane[:, 1])) + shift
    polygons = []
    for i in range(side):
        for j in range(side):
            a, b = i * (side + 1) + j, (i + 1) * (side + 1) + j
            if rng.random() < 0.2:
                continue
            if rng.random() < 0.4:
                polygons += [[a, a + 1, b + 1], [a, b + 1, b]]
            else:
                polygons.append([a, a + 1, b + 1, b])
    return vertices, polygons or [[0, 1, side + 2]]


def random_points(rng: np.random.Generator, vertices: np.ndarray, count: int) -> np.ndarray:
    """Points on, near, far above and beside a floor, some at its vertices and some the same."""
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    points = rng.uniform(low, high + 1e-9, (count, 3))
    points += rng.normal(size=(count, 3)) * rng.choice([0.0, 0.1, 3.0], (count, 1))
    at = rng.random(count) < 0.3
    points[at] = vertices[rng.integers(0, len(vertices), int(at.sum()))]
    odd = rng.random(count)
    points[odd < 0.05] = rng.choice([1e12, -np.inf, 5e8])
    again = odd > 0.9
    points[again] = points[0] + rng.normal(size=(int(again.sum()), 3)) * rng.choice([0.0, 1e-6, 1e-4])
    with np.errstate(over="ignore"):
        return points.astype(np.float32)


def flipped(rng: np.random.Generator, content: bytes, count: int) -> bytes:
    """The same with some random bytes."""
    damaged = bytearray(content)
    for at in rng.integers(0, len(damaged), count).tolist():
        damaged[at] = int(rng.choice([0, 1, 127, 128, 255, rng.integers(256)]))
    return bytes(damaged)


def patched(content: bytes, field: str, value: object, number: int = 0, part: int | None = None) -> bytes:
    """A file of one tile with one number changed: `header.polygons`, `polygons.count`, `vertices`, ..."""
    damaged = bytearray(content)
    header = np.frombuffer(content, HEADER, 1, TILE)[0]
    block, _, name = field.partition(".")
    kinds = {"header": HEADER, "polygons": POLYGON, "details": DETAIL, "nodes": NODE}
    at = TILE
    for one, size in (
        ("header", 0),
        ("vertices", HEADER.itemsize),
        ("polygons", 12 * int(header["vertices"])),
        ("links", 32 * int(header["polygons"])),
        ("details", 12 * int(header["links"])),
        ("triangles", 12 * int(header["details"])),
        ("nodes", 4 * int(header["triangles"])),
    ):
        at += size
        if one == block:
            break
    kind = kinds.get(block, np.dtype("<f4") if block == "vertices" else np.dtype("u1"))
    records = np.frombuffer(damaged, kind, offset=at, count=number + 1)
    target = records[name] if name else records
    if part is None:
        target[number] = value
    else:
        target[number, part] = value
    return bytes(damaged)


def two_tiles(gap: float = 0.0, step: float = 0.0, *, places: tuple[int, int] = (0, 1)) -> bytes:
    """Two rooms of 4 m x 4 m side by side, each a tile, that share a border at x = 4.

    Args:
        gap: between them, metres.
        step: how much higher the second one is, metres.
        places: x of the tiles in the grid.
    """
    rooms = []
    for number, (x, y) in enumerate(((0.0, 0.0), (4.0 + gap, step))):
        content = write([[x, y, 0], [x + 4, y, 0], [x + 4, y, 4], [x, y, 4]], [[0, 1, 2, 3]], AGENT)
        corners = np.frombuffer(content, POLYGON, 1, TILE + HEADER.itemsize + 48)["corners"][0][:4]
        wanted = {(1, 2), (2, 1)} if number == 0 else {(0, 3), (3, 0)}
        ends = list(zip(corners.tolist(), [*corners[1:].tolist(), corners[0].item()], strict=True))
        side = next(edge for edge, pair in enumerate(ends) if pair in wanted)
        content = patched(content, "polygons.neighbours", 0x8000 | 4 * number, part=side)
        rooms.append(patched(content, "header.x", places[number])[TILE:])
    start = START.pack(MAGIC, 1, 2, 0.0, 0.0, 0.0, 4.0, 4.0, 2, 1)
    return start + b"".join(TILE_START.pack(2 + n, len(room)) + room for n, room in enumerate(rooms))


def search(module: ModuleType, mesh: Any, points: np.ndarray, pairs: np.ndarray, by_component: int = 1) -> list[Any]:
    """All that the kernel returns: snapped points, their polygons, lengths, outcomes and paths."""
    count, many = len(points), len(pairs)
    found = [
        np.zeros((count, 3), dtype=np.float32),
        np.zeros(count, dtype=np.int32),
        np.zeros(many),
        np.zeros((many, 3), dtype=np.int32),
        np.zeros((many, 256, 3), dtype=np.float32),
    ]
    module.navmesh_search(mesh, points, pairs.astype(np.int32), by_component, *found)
    return found
