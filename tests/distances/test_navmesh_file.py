"""Damaged `.navmesh` files: one clear sentence or an answer, never a crash, and no memory for counts that are wrong."""

from __future__ import annotations

import gzip
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wayscore as ws
from tests.navmeshes import TILE, flipped, l_shape, patched, random_floor, random_points, two_tiles, write
from tests.oracles import navmesh_search
from wayscore import kernels
from wayscore.distances import navmesh, navmesh_build
from wayscore.distances.navmesh_file import START

HUGE = 2**31 - 1


def refused(content: bytes, words: str = ".") -> str:
    """The sentence with which a file is refused."""
    with pytest.raises(ws.FormatError, match=words) as error:
        ws.NavMesh(content, source="scene.navmesh")
    said = str(error.value)
    assert said.startswith("scene.navmesh")
    assert "\n" not in said
    assert len(said) < 400
    return said


@pytest.mark.parametrize(
    ("at", "layout", "value", "words"),
    [
        (4, "<i", 3, "has version 3 of the format"),
        (8, "<i", -4, "has no polygons"),
        (8, "<i", 0, "has no polygons"),
        (8, "<i", HUGE, "ends before tile 1 of"),
        (12, "<f", np.nan, "origin and the size of tiles"),
        (24, "<f", 0.0, "origin and the size of tiles"),
        (START.size, "<I", 0, "has no polygons"),
        (TILE - 4, "<i", HUGE, "bytes by its size"),
        (TILE - 4, "<i", -5, "has -5 bytes by its size"),
    ],
)
def test_beginnings(at: int, layout: str, value: float, words: str) -> None:
    content = bytearray(l_shape())
    struct.pack_into(layout, content, at, value)
    refused(bytes(content), words)


def test_truncated_and_other_files() -> None:
    content = l_shape()
    for length in range(len(content)):
        refused(content[:length])
    ws.NavMesh(content + b"more")  # which Habitat does not read either
    for other in (b"", b"TESM"):
        refused(other, "is not a navigation mesh")
    refused(b"GIF89a" * 30, "expected a .navmesh file that habitat-sim wrote")


@pytest.mark.parametrize(
    ("field", "value", "part", "words"),
    [
        ("header.magic", 1, None, "is not a Detour tile"),
        ("header.version", 6, None, "is not a Detour tile of version 7"),
        ("header.polygons", HUGE, None, "counts in its header make"),
        ("header.vertices", HUGE, None, "counts in its header make"),
        ("header.links", HUGE, None, "counts in its header make"),
        ("header.triangles", -1, None, "counts in its header make"),
        ("header.height", np.nan, None, "height, radius and climb cannot be"),
        ("header.radius", -1.0, None, "height, radius and climb cannot be"),
        ("header.climb", np.inf, None, "height, radius and climb cannot be"),
        ("header.low", np.inf, 1, "its box cannot be"),
        ("header.high", -50.0, 1, "its box cannot be"),
        ("header.steps", np.nan, None, "steps per metre"),
        ("header.steps", 0.0, None, "steps per metre"),
        ("header.steps", 1e9, None, "steps per metre"),
        ("vertices", np.nan, None, "coordinates must be finite"),
        ("vertices", np.float32(1e30), None, "coordinates must be finite"),
        ("polygons.count", 2, None, "3 to 6 corners"),
        ("polygons.count", 7, None, "3 to 6 corners"),
        ("polygons.corners", 8, 1, "a corner that is not among the 8 vertices"),
        ("polygons.neighbours", 4, 0, "a neighbour that is not among the 3 polygons"),
        ("polygons.area_and_type", 64, None, "not ground"),
        ("details.triangle", HUGE, None, "triangles that are not among the 6"),
        ("details.triangles", 200, None, "triangles that are not among the 6"),
        ("triangles", 9, None, "a triangle with a corner that is not there"),
        ("nodes.value", 3, None, "its tree of boxes leads to"),
        ("nodes.value", -HUGE - 1, None, "its tree of boxes leads to"),
    ],
)
def test_numbers_that_lead_nowhere(field: str, value: Any, part: int | None, words: str) -> None:
    damaged = patched(l_shape(), field, value, part=part)
    assert damaged != l_shape()
    assert "tile 0" in refused(damaged, words)


def test_links_on_disk_are_not_read() -> None:
    rng = np.random.default_rng(0)
    content = bytearray(l_shape())
    header = 100 + 12 * 8
    for polygon in range(3):  # the first link of each polygon
        content[TILE + header + 32 * polygon : TILE + header + 32 * polygon + 4] = rng.bytes(4)
    links = TILE + header + 32 * 3
    content[links : links + 12 * 12] = rng.bytes(12 * 12)
    assert ws.NavMesh(bytes(content)).fingerprint == ws.NavMesh(l_shape()).fingerprint


def test_version_2_has_settings() -> None:
    content = l_shape()
    second = content[:4] + struct.pack("<i", 2) + content[8 : START.size] + bytes(56) + content[START.size :]
    assert ws.NavMesh(second).fingerprint == ws.NavMesh(content).fingerprint


def test_polygons_that_cannot_be_walked_on() -> None:
    mesh = ws.NavMesh(patched(l_shape(), "polygons.flags", 2))
    assert mesh.distance([7, 0, 1], [1, 0, 7]) == np.inf
    assert mesh.distance([7, 0, 1], [5, 0, 1]) == 2.0
    nothing = l_shape()
    for polygon in range(3):
        nothing = patched(nothing, "polygons.flags", 4, number=polygon)
    assert ws.NavMesh(nothing).distance([1, 0, 1], [2, 0, 1]) == np.inf


@pytest.mark.parametrize(("width", "wanted"), [(1e-6, np.inf), (0.001, 6)])
def test_polygons_without_area_are_switched_off(width: float, wanted: float) -> None:
    end = 4 + width
    corners = [[0, 0, 0], [4, 0, 0], [4, 0, 4], [0, 0, 4], [end, 0, 4], [end, 0, 0], [8, 0, 4], [8, 0, 0]]
    mesh = ws.NavMesh(write(corners, [[0, 1, 2, 3], [1, 5, 4, 2], [5, 7, 6, 4]]))
    assert mesh.islands == 1  # islands are found before
    assert mesh.distance([1, 0, 1], [7, 0, 1]) == wanted


def test_tiles_that_are_not_beside_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    refused(two_tiles(places=(0, 0)), "tile 1 is where another one is already, at")
    assert ws.NavMesh(two_tiles(places=(0, 2))).islands == 2
    monkeypatch.setattr(navmesh_build, "MOST_TRIALS", 1)
    refused(two_tiles(), "more edges on borders of tiles")


def test_off_mesh_connections() -> None:
    content = patched(l_shape(), "header.connections", 1) + bytes(36)
    size = struct.unpack_from("<i", content, TILE - 4)[0] + 36
    refused(content[: TILE - 4] + struct.pack("<i", size) + content[TILE:], "has off-mesh connections")


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ws.FormatError, match=r"scene\.navmesh: no such file"):
        ws.NavMesh.load(tmp_path / "scene.navmesh")
    with pytest.raises(ws.FormatError, match="is a directory, expected a file"):
        ws.NavMesh.load(tmp_path)
    file = tmp_path / "scene.navmesh.gz"
    file.write_bytes(gzip.compress(l_shape()))
    assert ws.NavMesh.load(file).fingerprint == ws.NavMesh(l_shape()).fingerprint
    file.write_bytes(gzip.compress(l_shape())[:-20])
    with pytest.raises(ws.FormatError, match=r"scene\.navmesh\.gz: is damaged gzip \(it ends too early\)"):
        ws.NavMesh.load(file)
    file.write_bytes(b"\x1f\x8b\x08\x00" + bytes(50))
    with pytest.raises(ws.FormatError, match="is damaged gzip"):
        ws.NavMesh.load(file)
    monkeypatch.setattr(navmesh, "SIZE_LIMIT", 2**20)
    file.write_bytes(gzip.compress(bytes(2**24)))
    with pytest.raises(ws.FormatError, match="has more than 1,048,576 bytes"):
        ws.NavMesh.load(file)


def test_memory_is_that_of_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "scene.navmesh").write_bytes(l_shape())
    (tmp_path / "zeros.navmesh.gz").write_bytes(gzip.compress(bytes(2**24)))
    contents = [patched(l_shape(), f"header.{count}", HUGE) for count in ("polygons", "vertices", "nodes", "triangles")]
    tracemalloc.start()
    try:
        for content in contents:
            refused(content)
        assert tracemalloc.get_traced_memory()[1] < 2**20
        ws.NavMesh.load(tmp_path / "scene.navmesh")
        assert tracemalloc.get_traced_memory()[1] < 2**22
        with pytest.raises(ws.FormatError, match="is not a navigation mesh"):
            ws.NavMesh.load(tmp_path / "zeros.navmesh.gz")
        assert tracemalloc.get_traced_memory()[1] < 2**26
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("first", range(0, 600, 100))
@pytest.mark.soak
def test_random_damage(first: int) -> None:
    """Each file is refused with a sentence, or it is a mesh on which both kernels find the same."""
    survived = 0
    for seed in range(first, first + 100):
        rng = np.random.default_rng(seed)
        vertices, polygons = random_floor(rng, side=3)
        content = two_tiles() if rng.random() < 0.2 else write(vertices, polygons)
        damaged = flipped(rng, content, int(rng.choice([1, 2, 8])))
        try:
            mesh = ws.NavMesh(damaged)
        except ws.FormatError:
            refused(damaged)
            continue
        survived += 1
        points = random_points(rng, vertices, 4)
        pairs = np.array([[0, 1], [1, 2], [2, 3], [3, 0]], dtype=np.int32)
        found = []
        for module in (kernels, navmesh_search):
            results = (np.zeros((4, 3), np.float32), np.zeros(4, np.int32), np.zeros(4), np.zeros((4, 3), np.int32))
            module.navmesh_search(mesh._mesh, points, pairs, 1, *results, None)
            found.append([result.tolist() for result in results])
            assert (results[2] >= 0).all()
        assert found[0] == found[1]
    assert 10 < survived < 95
