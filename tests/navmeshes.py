"""Navigation meshes made by hand and at random, and files of them that are damaged in one place."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import wayscore as ws
from wayscore.distances.navmesh import HABITAT
from wayscore.distances.navmesh_file import (
    DETAIL,
    HEADER,
    MAGIC,
    NODE,
    POLYGON,
    START,
    TILE_MAGIC,
    TILE_START,
    TILE_VERSION,
)

AGENT = (1.5, 0.1, 0.2)
CELL = 0.05
"""Metres: the steps of the tree of boxes."""
TILE = START.size + TILE_START.size
"""Where the first tile begins in a file of version 1."""
# An L of three squares of 4 m: from one end to the other the way bends around the corner at (4, 0, 4).
L_VERTICES = [[0, 0, 0], [4, 0, 0], [8, 0, 0], [0, 0, 4], [4, 0, 4], [8, 0, 4], [0, 0, 8], [4, 0, 8]]
L_POLYGONS = [[0, 1, 4, 3], [1, 2, 5, 4], [3, 4, 7, 6]]


def mesh_of(
    vertices: ArrayLike,
    polygons: Sequence[Sequence[int]],
    agent: tuple[float, float, float] = AGENT,
    *,
    habitat: str = HABITAT,
) -> ws.NavMesh:
    """A mesh of flat polygons; see `write`."""
    return ws.NavMesh(write(vertices, polygons, agent), habitat=habitat)


def write(vertices: ArrayLike, polygons: Sequence[Sequence[int]], agent: tuple[float, float, float] = AGENT) -> bytes:
    """What Habitat would write of a floor: one tile, format version 1.

    Polygons are the numbers of 3 to 6 vertices each, convex seen from above, and joined where they share an edge;
    `agent` is height, radius and climb.
    """
    points = np.asarray(vertices, dtype=np.float32).astype(np.float64)
    corners = [_in_detours_order(points, list(polygon)) for polygon in polygons]
    neighbours = _neighbours(corners)
    records = np.zeros(len(corners), dtype=POLYGON)
    details = np.zeros(len(corners), dtype=DETAIL)
    triangles: list[tuple[int, int, int, int]] = []
    for record, detail, polygon, beside in zip(records, details, corners, neighbours, strict=True):
        count = len(polygon)
        record["corners"][:count], record["neighbours"][:count] = polygon, beside
        record["flags"], record["count"] = 1, count
        detail["triangle"], detail["triangles"] = len(triangles), count - 2
        # A fan; two bits for each edge say whether it is on the border.
        triangles += [(0, last - 1, last, (last == 2) | 4 | (last == count - 1) << 4) for last in range(2, count)]
    low, high = points.min(axis=0), points.max(axis=0)
    nodes = _tree(points, corners, low, 1 / CELL)
    header = np.zeros(1, dtype=HEADER)
    header["magic"], header["version"] = TILE_MAGIC, TILE_VERSION
    header["polygons"] = header["details"] = header["connection"] = len(corners)
    header["vertices"], header["triangles"], header["nodes"] = len(points), len(triangles), len(nodes)
    header["links"] = max(1, sum(len(polygon) for polygon in corners))
    header["height"], header["radius"], header["climb"] = agent
    header["low"], header["high"], header["steps"] = low, high, 1 / CELL
    tile = b"".join(
        (
            header.tobytes(),
            points.astype("<f4").tobytes(),
            records.tobytes(),
            bytes(12 * int(header["links"][0])),
            details.tobytes(),
            np.array(triangles, dtype=np.uint8).tobytes(),
            nodes.tobytes(),
        )
    )
    bits = (len(corners) - 1).bit_length()
    start = START.pack(MAGIC, 1, 1, *low, high[0] - low[0], high[2] - low[2], 1, len(corners))
    return start + TILE_START.pack(1 << bits, len(tile)) + tile


def _in_detours_order(points: np.ndarray, corners: list[int]) -> list[int]:
    x, _, z = points[corners].T
    return corners if (x * np.roll(z, -1) - z * np.roll(x, -1)).sum() < 0 else corners[::-1]


def _neighbours(polygons: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return for each edge of each polygon the polygon behind it, counted from 1; 0 is a wall."""
    owners: dict[tuple[int, int], int] = {}
    for number, polygon in enumerate(polygons):
        for edge in _edges(polygon):
            owners[edge] = number
    return [[owners.get((b, a), -1) + 1 for a, b in _edges(polygon)] for polygon in polygons]


def _edges(polygon: Sequence[int]) -> list[tuple[int, int]]:
    return list(zip(polygon, [*polygon[1:], polygon[0]], strict=True))


def _tree(points: np.ndarray, polygons: Sequence[Sequence[int]], low: np.ndarray, steps: float) -> np.ndarray:
    """Return the tree of boxes, each before those within it; like Detour's, it has an empty node at its end."""
    boxes = np.array([[points[list(p)].min(axis=0), points[list(p)].max(axis=0)] for p in polygons]) - low
    boxes = np.stack((np.floor(boxes[:, 0] * steps), np.ceil(boxes[:, 1] * steps)), axis=1)
    nodes = np.zeros(2 * len(polygons), dtype=NODE)
    waiting = [(0, np.arange(len(polygons)))]
    while waiting:
        at, some = waiting.pop()
        lowest, highest = boxes[some, 0].min(axis=0), boxes[some, 1].max(axis=0)
        nodes[at]["low"], nodes[at]["high"] = lowest, highest
        nodes[at]["value"] = some[0] if len(some) == 1 else 1 - 2 * len(some)
        if len(some) > 1:
            axis = int(np.argmax(highest - lowest))
            some = some[np.argsort(boxes[some, 0, axis], kind="stable")]
            half = len(some) // 2
            waiting += [(at + 1, some[:half]), (at + 2 * half, some[half:])]
    return nodes


def l_shape() -> bytes:
    """The L as a file."""
    return write(L_VERTICES, L_POLYGONS)


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
    wanted, _, name = field.partition(".")
    at = TILE
    for block, kind, count in (
        ("header", HEADER, 1),
        ("vertices", np.dtype("<f4"), 3 * header["vertices"]),
        ("polygons", POLYGON, header["polygons"]),
        ("links", np.dtype("V12"), header["links"]),
        ("details", DETAIL, header["details"]),
        ("triangles", np.dtype("u1"), 4 * header["triangles"]),
        ("nodes", NODE, header["nodes"]),
    ):
        if block == wanted:
            break
        at += kind.itemsize * int(count)
    records = np.frombuffer(damaged, kind, offset=at, count=number + 1)
    target = records[name] if name else records
    target[number if part is None else (number, part)] = value
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
        content = write([[x, y, 0], [x + 4, y, 0], [x + 4, y, 4], [x, y, 4]], [[0, 1, 2, 3]])
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
