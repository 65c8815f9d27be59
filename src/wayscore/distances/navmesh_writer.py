"""Writes `.navmesh` files of flat polygons: what Habitat would write of them, one tile, format version 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wayscore.distances.navmesh_file import (
    DETAIL,
    HEADER,
    LARGEST,
    MAGIC,
    NODE,
    POLYGON,
    START,
    TILE_MAGIC,
    TILE_START,
    TILE_VERSION,
)
from wayscore.errors import DistanceError, shortened

MOST_POLYGONS = 0x7FFF
"""Neighbours are numbered in 15 bits."""
CELL = 0.05
"""Metres: the steps of the tree of boxes in all but huge meshes."""
MOST_STEPS = 60_000
WALK = 1
"""The flags of a polygon that can be walked on."""
Floats = NDArray[np.float64]


def write(vertices: ArrayLike, polygons: Sequence[Sequence[int]], agent: tuple[float, float, float]) -> bytes:
    """Return the content of a file; `agent` is height, radius and climb. See `NavMesh.from_polygons`."""
    points = _checked_vertices(vertices)
    corners = [_checked_polygon(points, number, polygon) for number, polygon in enumerate(polygons)]
    if not 0 < len(corners) <= MOST_POLYGONS:
        raise DistanceError(f"polygons must be 1 to {MOST_POLYGONS}, got {len(corners)}")
    sizes = np.array(agent, dtype=np.float64)
    if sizes.shape != (3,) or not ((sizes >= 0) & (sizes <= LARGEST)).all():
        raise DistanceError(f"the agent's height, radius and climb must be lengths in metres, got {shortened(agent)}")
    neighbours = _neighbours(corners)
    records = np.zeros(len(corners), dtype=POLYGON)
    details = np.zeros(len(corners), dtype=DETAIL)
    triangles: list[tuple[int, int, int, int]] = []
    for record, detail, polygon, beside in zip(records, details, corners, neighbours, strict=True):
        count = len(polygon)
        record["corners"][:count], record["neighbours"][:count] = polygon, beside
        record["flags"], record["count"] = WALK, count
        detail["triangle"], detail["triangles"] = len(triangles), count - 2
        # A fan; two bits for each edge say whether it is on the border.
        triangles += [(0, last - 1, last, (last == 2) | 4 | (last == count - 1) << 4) for last in range(2, count)]
    low, high = points.min(axis=0), points.max(axis=0)
    steps = min(1 / CELL, MOST_STEPS / float((high - low).max()))
    nodes = _tree(points, corners, low, steps)
    header = np.zeros(1, dtype=HEADER)
    header["magic"], header["version"] = TILE_MAGIC, TILE_VERSION
    header["polygons"] = header["details"] = header["connection"] = len(corners)
    header["vertices"], header["triangles"], header["nodes"] = len(points), len(triangles), len(nodes)
    header["links"] = max(1, sum(len(polygon) for polygon in corners))
    header["height"], header["radius"], header["climb"] = agent
    header["low"], header["high"], header["steps"] = low, high, steps
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


def _checked_vertices(vertices: ArrayLike) -> Floats:
    try:
        points = np.asarray(vertices, dtype=np.float64)
    except (TypeError, ValueError):
        raise DistanceError(f"vertices must be numbers, an (n, 3) array, got {shortened(vertices)}") from None
    if points.ndim != 2 or points.shape[1] != 3 or not 3 <= len(points) <= 0xFFFF:
        raise DistanceError(f"vertices must be 3 to {0xFFFF} points (x, y up, z), got shape {points.shape}")
    if not (np.abs(points) <= LARGEST).all():
        raise DistanceError(f"vertices must be finite, and below {LARGEST:g} m")
    return points.astype(np.float32).astype(np.float64)


def _checked_polygon(points: Floats, number: int, polygon: Sequence[int]) -> list[int]:
    """Return the corners of a polygon in Detour's order."""
    corners = [int(corner) for corner in polygon]
    if not 3 <= len(set(corners)) == len(corners) <= 6 or not 0 <= min(corners) <= max(corners) < len(points):
        raise DistanceError(
            f"polygon {number} must have 3 to 6 different corners, numbers of the {len(points)} vertices, got "
            f"{shortened(polygon)}"
        )
    x, _, z = points[corners].T
    edges = np.column_stack((np.roll(x, -1) - x, np.roll(z, -1) - z))
    turns = edges[:, 0] * np.roll(edges, -1, axis=0)[:, 1] - edges[:, 1] * np.roll(edges, -1, axis=0)[:, 0]
    turned = (
        np.angle((np.roll(edges, -1, axis=0) @ (1, 1j)) / (edges @ (1, 1j))).sum() if edges.any(axis=1).all() else 0
    )
    if not ((turns >= 0).all() or (turns <= 0).all()) or not turns.any() or abs(abs(turned) - 2 * np.pi) > 1e-6:
        raise DistanceError(f"polygon {number} must be convex, seen from above; split it")
    return corners if turns.sum() < 0 else corners[::-1]


def _neighbours(polygons: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return for each edge of each polygon the polygon behind it, counted from 1; 0 is a wall."""
    owners: dict[tuple[int, int], int] = {}
    for number, polygon in enumerate(polygons):
        for edge in _edges(polygon):
            if edge in owners:
                raise DistanceError(
                    f"polygons {owners[edge]} and {number} are on the same side of the edge between vertices "
                    f"{edge[0]} and {edge[1]}; polygons must not overlap"
                )
            owners[edge] = number
    return [[owners.get((b, a), -1) + 1 for a, b in _edges(polygon)] for polygon in polygons]


def _edges(polygon: Sequence[int]) -> list[tuple[int, int]]:
    return list(zip(polygon, [*polygon[1:], polygon[0]], strict=True))


def _tree(points: Floats, polygons: Sequence[Sequence[int]], low: Floats, steps: float) -> NDArray[np.void]:
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
