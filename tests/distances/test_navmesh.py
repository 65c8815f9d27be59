"""Geodesics on navigation meshes: by hand, by property, in scores; `test_navmesh_golden.py` has Detour's answers."""

from __future__ import annotations

import gzip
import os
import pickle
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wayscore as ws
from tests.navmeshes import L_POLYGONS, L_VERTICES, l_shape, mesh_of, random_floor, random_points, search, two_tiles
from wayscore import kernels
from wayscore.distances.navmesh_build import build
from wayscore.distances.navmesh_file import parse


@pytest.fixture
def house() -> ws.NavMesh:
    """The L."""
    return mesh_of(L_VERTICES, L_POLYGONS)


def test_around_a_corner(house: ws.NavMesh) -> None:
    start, end = [7.0, 0.0, 3.0], [3.0, 0.0, 7.0]
    backwards = mesh_of(L_VERTICES, [polygon[::-1] for polygon in L_POLYGONS])  # either direction of corners
    for mesh in (house, backwards):
        assert mesh.distance(start, end) == pytest.approx(np.sqrt(10) + np.sqrt(10), rel=1e-6)
        assert mesh.path(start, end).tolist() == [start, [4.0, 0.0, 4.0], end]
        assert mesh.distance([1.0, 0.0, 1.0], [3.0, 0.0, 2.0]) == pytest.approx(np.sqrt(5), rel=1e-6)


def test_heights_above_the_floor_count(house: ws.NavMesh) -> None:
    assert house.distance([1, 0, 1], [4, 0, 1]) == 3.0
    assert house.distance([1, 0, 1], [4, 4, 1]) == 5.0
    assert house.distance([1, 1, 1], [1, 3, 1]) == 0.0  # the same point of the floor: nothing is measured


def test_beside_the_floor_a_point_is_moved_to_it(house: ws.NavMesh) -> None:
    assert house.distance([-1.5, 0, 1], [3, 0, 1]) == 3.0
    snapped, moved = house.snap([[-1.5, 0, 1], [1, 2, 1], [-2.5, 0, 1]])
    assert snapped.tolist() == [[0, 0, 1], [1, 0, 1], [-2.5, 0, 1]]
    assert moved.tolist() == [1.5, 2.0, np.inf]


def test_what_is_not_on_the_mesh_is_infinitely_far(house: ws.NavMesh) -> None:
    for away in ([30, 0, 1], [1, 0, -9], [1e12, 0, 0], [0, 1e300, 0]):
        assert house.distance(away, [1, 0, 1]) == np.inf
        assert house.distance([1, 0, 1], away) == np.inf
        assert house.path([1, 0, 1], away).shape == (0, 3)


def test_islands() -> None:
    squares = [[0, 0, 0], [1, 0, 0], [1, 0, 1], [0, 0, 1], [5, 0, 0], [6, 0, 0], [6, 0, 1], [5, 0, 1]]
    mesh = mesh_of(squares, [[0, 1, 2, 3], [4, 5, 6, 7]])
    assert mesh.islands == 2
    assert mesh.distance([0.5, 0, 0.5], [5.5, 0, 0.5]) == np.inf
    assert mesh.distances([[0.5, 0, 0.5], [5.25, 0, 0.5]], [5.5, 0, 0.5]).tolist() == [np.inf, 0.25]
    assert repr(mesh) == "<NavMesh of 2 polygons, 2 islands>"


def test_two_floors_above_each_other() -> None:
    floor = [[0, 0, 0], [4, 0, 0], [4, 0, 4], [0, 0, 4]]
    mesh = mesh_of([*floor, *([x, 3, z] for x, _, z in floor)], [[0, 1, 2, 3], [4, 5, 6, 7]])
    assert mesh.snap([[1, 1.4, 1], [1, 1.6, 1], [1, 2.9, 1]])[0][:, 1].tolist() == [0, 3, 3]


@pytest.mark.parametrize(("gap", "step", "wanted"), [(0, 0, 6), (0.009, 0, 6), (0.05, 0, np.inf), (0, 3, np.inf)])
def test_tiles_are_joined_where_their_borders_meet(gap: float, step: float, wanted: float) -> None:
    mesh = ws.NavMesh(two_tiles(gap, step))
    assert mesh.islands == (1 if wanted < np.inf else 2)
    found = mesh.distance([1, 0, 2], [7, step, 2])
    assert found == wanted == mesh.distance([7, step, 2], [1, 0, 2])


def test_points_are_the_same_by_the_rule_of_the_version() -> None:
    far = np.array([[28, 0, 0], [32, 0, 0], [32, 0, 4], [28, 0, 4]])
    a, b = [30.0, 0.0, 0.5], [30.0004, 0.0, 0.5]
    assert mesh_of(far, [[0, 1, 2, 3]]).distance(a, b) == 0.0
    older = mesh_of(far, [[0, 1, 2, 3]], habitat="0.1.7")
    assert older.distance(a, b) == pytest.approx(0.0004, rel=1e-2)
    assert older.fingerprint.startswith("navmesh-0.1.7#")


def test_several_goals_take_the_nearest(house: ws.NavMesh) -> None:
    goals = [[7, 0, 1], [1, 0, 3], [1, 0, 6]]
    assert house.distances([[1, 0, 1], [1, 0, 6.5], [7, 0, 1]], goals).tolist() == [2.0, 0.5, 0.0]
    assert house.distances([[50, 0, 1]], goals).tolist() == [np.inf]
    off_the_mesh = [[100.0, 0, 0], [1, 0, 3]]
    for version, distance in (("0.2.4", 2.0), ("0.2.3", np.inf)):
        assert ws.NavMesh(l_shape(), habitat=version).distance([1, 0, 1], off_the_mesh) == distance


def test_an_agent_that_turns_is_not_measured_again(house: ws.NavMesh, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    searched = kernels.navmesh_search
    monkeypatch.setattr(kernels, "navmesh_search", lambda *given: calls.append(len(given[2])) or searched(*given))
    walk = [[1, 0, 1], [1, 0, 1], [1, 0, 1], [2, 0, 1], [1, 0, 1], [1, 0, 1]]
    assert house.distances(walk, [4, 0, 1]).tolist() == [3, 3, 3, 2, 3, 3]
    assert calls == [3]


@pytest.mark.parametrize("seed", range(24))
def test_paths_stay_on_the_floor(seed: int) -> None:
    rng = np.random.default_rng(seed)
    vertices, polygons = random_floor(rng)
    mesh = mesh_of(vertices, polygons)
    cells = [vertices[polygon][:, [0, 2]] for polygon in polygons]
    on_floor = np.array([vertices[polygon].mean(axis=0) for polygon in polygons])
    found = 0
    for start, end in on_floor[rng.integers(0, len(on_floor), (20, 2))]:
        length, path = mesh.distance(start, end), mesh.path(start, end)
        assert np.isfinite(length) == (len(path) > 0)
        if not len(path):
            continue
        found += 1
        assert length == pytest.approx(np.sqrt((np.diff(path, axis=0) ** 2).sum(axis=1)).sum(), rel=1e-5)
        assert length >= np.sqrt(((start - end) ** 2).sum()) * (1 - 1e-5) - 1e-4
        for a, b in pairwise(path[:, [0, 2]]):
            places = a + (b - a) * np.linspace(0, 1, 23)[:, None]
            assert (np.max([depths(cell, places) for cell in cells], axis=0) > -1e-4).all()
    assert found


def depths(cell: np.ndarray, places: np.ndarray) -> np.ndarray:
    """How far inside a convex polygon points are; negative outside."""
    edges = np.roll(cell, -1, axis=0) - cell
    normals = np.column_stack((-edges[:, 1], edges[:, 0])) / np.hypot(*edges.T)[:, None]
    around = cell[:, 0] @ np.roll(cell[:, 1], -1) - cell[:, 1] @ np.roll(cell[:, 0], -1)
    return (((places[:, None] - cell) * normals).sum(axis=2) * np.sign(around)).min(axis=1)


@pytest.mark.parametrize("seed", range(30))
def test_many_pairs_are_single_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    vertices, polygons = random_floor(rng)
    mesh = mesh_of(vertices, polygons)
    points = random_points(rng, vertices, 12).astype(np.float64)
    points = points[np.isfinite(points).all(axis=1)]
    a, b = points[: len(points) // 2], points[len(points) // 2 :]
    block = mesh.between(a, b)
    assert block.shape == (len(a), len(b))
    for i, goal in enumerate(a):  # from b to a: from the agent to the reference
        assert mesh.distances(b, goal).tolist() == block[i].tolist() == [mesh.distance(start, goal) for start in b]
    assert mesh.pairs(a, b[: len(a)]).tolist() == [mesh.distance(x, y) for x, y in zip(a, b, strict=False)]
    assert (block >= 0).all()
    assert mesh.between(a[:0], b).shape == (0, len(b))
    assert mesh.between(a, b[:0]).shape == (len(a), 0)


def test_scores_in_its_distance(house: ws.NavMesh) -> None:
    reference = [[7.0, 0.0, 3.0], [4.0, 0.0, 3.5], [3.0, 0.0, 7.0]]
    query = [[7.0, 0.0, 3.0], [5.0, 0.0, 2.0], [1.0, 0.0, 1.0]]
    table = ws.score(references=[reference], queries=[query], distance=house, threshold=3.0)
    assert table["NE"][0] == house.distance(query[-1], reference[-1])
    assert table["ONE"][0] == house.distances(query, reference[-1]).min()
    assert table["PL"][0] == pytest.approx(sum(house.distance(a, b) for a, b in pairwise(query)))
    assert table.settings["distance"] == [house.fingerprint]
    cost = ws.dtw(reference=reference, query=query, distance=house)
    running = ws.RunningDTW(reference=reference, distance=house)
    assert [running.step(point) for point in query][-1] == cost
    assert table["nDTW"][0] == pytest.approx(np.exp(-cost / 9))
    by_scene = ws.score(references=[reference], queries=[query], distance={"L": house}, scenes=["L"], threshold=3.0)
    assert by_scene["NE"].tolist() == table["NE"].tolist()


def test_many_threads_share_a_mesh() -> None:
    rng = np.random.default_rng(3)
    vertices, polygons = random_floor(rng, side=10)
    mesh = mesh_of(vertices, polygons)
    points = rng.uniform(vertices.min(axis=0), vertices.max(axis=0), (40, 3))
    wanted = mesh.between(points, points)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: mesh.between(points, points), range(16)):
            assert found.tolist() == wanted.tolist()


def test_fingerprints_tell_meshes_apart(house: ws.NavMesh) -> None:
    other = pickle.loads(pickle.dumps(house))
    assert other.distance([1, 0, 1], [7, 0, 3]) == house.distance([1, 0, 1], [7, 0, 3])
    assert house.fingerprint == other.fingerprint == ws.NavMesh(l_shape()).fingerprint
    assert house.fingerprint.startswith("navmesh-0.3.4#")
    moved = np.array(L_VERTICES) + np.array([0, 0.5, 0])
    assert mesh_of(moved, L_POLYGONS).fingerprint != house.fingerprint


def test_the_agent_that_a_mesh_is_for() -> None:
    mesh = mesh_of(L_VERTICES, L_POLYGONS, (0.88, 0.18, 0.2))
    assert (mesh.agent_height, mesh.agent_radius, mesh.agent_climb) == (0.88, 0.18, 0.2)
    assert mesh.agent_warning(height=0.88, radius=0.18) == ""
    words = "height 0.88 m and radius 0.18 m.* 1.5 m and 0.1 m.*save_nav_mesh"
    assert re.search(words, mesh.agent_warning(height=1.5, radius=0.1))


def test_meshes_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "one/empty").mkdir(parents=True)
    (tmp_path / "one/one.navmesh").write_bytes(l_shape())
    (tmp_path / "one/other.navmesh").write_bytes(b"of another name: not this scene's")
    (tmp_path / "two.navmesh.gz").write_bytes(gzip.compress(l_shape()))
    (tmp_path / "three.navmesh").write_bytes(b"read only when it is used")
    meshes = ws.load_navmeshes(tmp_path, habitat="0.1.7")
    assert sorted(meshes) == ["one", "three", "two"]
    assert repr(meshes) == f"<3 navigation meshes of {tmp_path.name}>"
    assert meshes["one"] is meshes["one"]
    assert meshes["one"].fingerprint == meshes["two"].fingerprint
    assert meshes["two"].habitat == "0.1.7"
    with pytest.raises(ws.FormatError, match=r"three\.navmesh: is not a navigation mesh"):
        meshes["three"]
    with pytest.raises(ws.UnknownSceneError, match=r"has no navigation mesh of scene 'twos'; did you mean 'two'\?"):
        meshes["twos"]
    (tmp_path / "two.navmesh").write_bytes(l_shape())
    for folder, message in (
        (".", "has two navigation meshes of scene 'two'"),
        ("one/empty", r"holds no file named SCENE\.navmesh"),
        ("nowhere", "is not a folder"),
    ):
        with pytest.raises(ws.FormatError, match=message):
            ws.load_navmeshes(tmp_path / folder)


@pytest.mark.parametrize("bad", [[np.nan, 0, 0], [0, np.inf, 0], [1, 2], "here", [[1, 0, 1], [2, 0, 1]], None, []])
def test_points_that_are_none(house: ws.NavMesh, bad: Any) -> None:
    for call in (lambda: house.distance(bad, [1, 0, 1]), lambda: house.path([1, 0, 1], bad)):
        with pytest.raises(ws.PathError):
            call()


def test_goals_and_paths_that_are_none(house: ws.NavMesh) -> None:
    with pytest.raises(ws.PathError, match="goal must be one or more points"):
        house.distances([[1, 0, 1]], [])
    assert house.distances([], [1, 0, 1]).tolist() == []
    with pytest.raises(ws.PathError, match=r"a NavMesh needs points in space, .* of query 0 have dimension 2"):
        house.encode([[[1.0, 2.0]]], role="query")


@pytest.mark.parametrize("version", ["", "3", "v0.1.7", 0.3, None, "0.1"])
def test_versions_that_are_none(version: Any) -> None:
    with pytest.raises(ws.OptionError, match=r"habitat must be a version of habitat-sim"):
        ws.NavMesh(l_shape(), habitat=version)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda mesh: mesh._replace(links=np.full_like(mesh.links, 99)),
        lambda mesh: mesh._replace(links=np.full_like(mesh.links, -1)),
        lambda mesh: mesh._replace(links=mesh.links[:1]),
        lambda mesh: mesh._replace(nodes=np.full_like(mesh.nodes, 99)),
        lambda mesh: mesh._replace(points=mesh.points[:2]),
        lambda mesh: mesh._replace(triangles=mesh.triangles[:1]),
        lambda mesh: mesh._replace(tiles=mesh.tiles + 99),
        lambda mesh: mesh._replace(polygons=mesh.polygons * 0),
        lambda mesh: mesh._replace(boxes=mesh.boxes * np.float32(np.nan)),
        lambda mesh: mesh._replace(boxes=mesh.boxes * 1e9),
        lambda mesh: mesh._replace(points=mesh.points.astype(np.float64)),
        lambda mesh: mesh._replace(frame=mesh.frame[:2]),
        lambda mesh: tuple(mesh)[:5],
    ],
)
def test_the_kernel_refuses_meshes_that_lead_nowhere(spoil: Any) -> None:
    native = pytest.importorskip("wayscore.kernels._native", reason="the native kernels were not built")
    mesh = build(parse(l_shape(), "L"), rounds=True, where="L")[0]
    points = np.ones((2, 3), dtype=np.float32)
    search(native, mesh, points, np.array([[0, 1]]))
    with pytest.raises((ValueError, TypeError, AttributeError)):
        search(native, spoil(mesh), points, np.array([[0, 1]]))
    for pairs in ([[0, 2]], [[-1, 0]], [[0, 1, 1]]):
        with pytest.raises(ValueError, match="do not fit each other"):
            search(native, mesh, points, np.array(pairs))


def test_without_native_kernels(tmp_path: Path) -> None:
    (tmp_path / "L.navmesh").write_bytes(l_shape())
    code = "import sys, wayscore as ws; ws.NavMesh.load(sys.argv[1]).distance([1, 0, 1], [2, 0, 1])"
    command = [sys.executable, "-c", code, str(tmp_path / "L.navmesh")]
    found = subprocess.run(command, env={**os.environ, "WAYSCORE_KERNELS": "numpy"}, capture_output=True, text=True)
    assert "MissingPackageError: navigation meshes need the native kernels" in found.stderr.splitlines()[-1]
