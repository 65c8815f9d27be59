"""Distances by the nearest of fixed points: by hand, against literal loops, and against a simulator's on real data."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import wayscore as ws
from benchmarks import geodesics
from tests.navmeshes import L_POLYGONS, L_VERTICES, mesh_of

CORNERS = [[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]]
ALONG = [[0, 3, 7], [3, 0, 4], [7, 4, 0]]


@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(5))
def test_a_point_has_the_distances_of_its_nearest(seed: int, dimension: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 4, (30, dimension)) + rng.normal(scale=0.01, size=(30, dimension))
    table = rng.random((30, 30)) * 9
    np.fill_diagonal(table, 0)
    space = ws.Snapped(points, table)
    walk = rng.uniform(-1, 5, (20, dimension))
    nearest = [min(range(30), key=lambda n: np.linalg.norm(points[n] - place)) for place in walk]
    encoded = space.encode([walk])
    assert encoded.places.tolist() == nearest
    assert encoded.moved.tolist() == pytest.approx(np.linalg.norm(walk - points[nearest], axis=1).tolist())
    assert space.decode(encoded.places).tolist() == points[nearest].tolist()
    block = space.between(encoded.places, encoded.places)
    assert block.tolist() == [[table[a, b] for b in nearest] for a in nearest]
    assert space.pairs(encoded.places[:-1], encoded.places[1:]).tolist() == [table[a, b] for a, b in pairwise(nearest)]
    assert space.distances(walk, walk[3]).tolist() == [table[a, nearest[3]] for a in nearest]
    assert space.distance(walk[0], walk[1]) == table[nearest[0], nearest[1]]


def test_distances_of_a_space_a_graph_or_a_mesh() -> None:
    grid = [[x, y] for x in range(4) for y in range(4)]
    space = ws.Snapped(grid, ws.Euclidean())
    assert space.encode([[[0.5, 0.5], [1.5, 2.5], [3.0, 1.5]]]).places.tolist() == [0, 6, 13]  # of equals the first
    graph = ws.Graph.from_edges([("a", "b"), ("b", "c")], [3.0, 4.0])
    assert ws.Snapped(CORNERS, graph).table.tolist() == ALONG
    mesh = mesh_of(L_VERTICES, L_POLYGONS)
    places = np.array([[1.0, 0.0, 1.0], [7.0, 0.0, 3.0], [3.0, 0.0, 7.0]])
    space = ws.Snapped(places, mesh)
    assert space.table.tolist() == mesh.between(places, places).tolist()
    assert space.distance([6.9, 0.1, 3.2], [3.0, 0.0, 6.8]) == pytest.approx(2 * np.sqrt(10), rel=1e-6)


def test_scores_and_rewards_in_it() -> None:
    space = ws.Snapped(CORNERS, ALONG)
    reference, query = [[0.1, 0.0], [3.1, 0.1], [3.0, 3.9]], [[0.0, 0.2], [2.9, 0.0]]
    table = ws.score(references=[reference], queries=[query], distance=space, threshold=5.0)
    assert table["NE"].tolist() == [4.0]
    assert table["PL"].tolist() == [3.0]
    assert table["SR"].tolist() == [1.0]
    assert table.settings["largest snap"] == pytest.approx(0.2)
    assert table.settings["distance"] == [space.fingerprint]
    assert ws.dtw(reference=reference, query=query, distance=space) == 4.0
    running = ws.RunningDTW(reference=reference, distance=space)
    assert [running.step(point) for point in query][-1] == 4.0
    reward = ws.GoalReward(references=[reference], distance=space, threshold=5.0)
    reward.start([query[0]])
    assert reward.step([query[1]]).tolist() == [3.0]


def literal_graph(walks: list[Any], nodes: Any, edges: Any, reach: float) -> nx.Graph:
    places = [tuple(node) for node in nodes] + [tuple(point) for walk in walks for point in walk]
    joined = [(places[a], places[b]) for a, b in edges]
    joined += [(tuple(a), tuple(b)) for walk in walks for a, b in pairwise(walk)]
    joined += [(a, b) for a, b in combinations(places, 2) if math.dist(a, b) <= reach]
    graph = nx.empty_graph(places)
    graph.add_weighted_edges_from((a, b, math.dist(a, b)) for a, b in joined)
    return graph


@pytest.mark.parametrize("seed", range(6))
def test_walks_are_a_graph(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dimension = 2 + seed % 2
    walks = [
        np.cumsum(rng.normal(scale=0.5, size=(n, dimension)), axis=0) + rng.normal(size=dimension) for n in (9, 1, 14)
    ]
    nodes, edges = rng.normal(scale=3, size=(6, dimension)), [(0, 1), (1, 2), (4, 5), (3, 3)]
    space = ws.Snapped.from_walks(walks, nodes=nodes, edges=edges, reach=0.6, cell=1e-6)
    wanted = literal_graph(walks, nodes, edges, 0.6)
    lengths = dict(nx.all_pairs_dijkstra_path_length(wanted))
    places = list(wanted)
    for goal in places[::4]:  # one search for one goal; later all pairs are known
        assert space.distances(places, goal).tolist() == pytest.approx([lengths[a].get(goal, np.inf) for a in places])
    codes = space.encode([places]).places
    block = [[lengths[a].get(b, np.inf) for b in places] for a in places]
    assert space.between(codes, codes).tolist() == [pytest.approx(row) for row in block]
    assert space.distances(places, places[0]).tolist() == pytest.approx(block[0])


def test_points_of_one_cube_are_one_and_walks_may_never_meet() -> None:
    space = ws.Snapped.from_walks([[[0.01, 0.01], [0.02, 0.08], [1.0, 0.0]], [[0.05, 0.05], [0.0, 1.0]]], cell=0.1)
    assert space.points.tolist() == [[0.01, 0.01], [0.0, 1.0], [1.0, 0.0]]
    assert space.distance([1, 0], [0, 1]) == pytest.approx(np.hypot(0.99, 0.01) + np.hypot(0.01, 0.99))
    assert repr(space) == "<Snapped to 3 points of dimension 2>"
    space = ws.Snapped.from_walks([[[0.0, 0.0], [1.0, 0.0]], [[5.0, 0.0]]])
    assert space.distances([[0.0, 0.0], [1.0, 0.1]], [5.0, 0.1]).tolist() == [np.inf, np.inf]
    assert ws.ndtw(reference=[[0.0, 0.0]], query=[[5.0, 0.0]], distance=space) == 0.0


def test_it_travels_and_is_named() -> None:
    walks = [[[0.0, 0.0], [0.3, 0.0], [1.0, 0.0]]]
    space = ws.Snapped.from_walks(walks)
    other = pickle.loads(pickle.dumps(space))
    assert other.fingerprint == space.fingerprint == ws.Snapped.from_walks(walks).fingerprint
    assert other.distance([0, 0], [1, 0]) == 1.0
    assert space.fingerprint.startswith("snapped#")
    assert ws.Snapped.from_walks(walks, reach=0.2).fingerprint != ws.Snapped.from_walks(walks, reach=1.1).fingerprint
    assert ws.Snapped(CORNERS, ALONG).fingerprint != ws.Snapped(CORNERS, np.array(ALONG) * 2).fingerprint


def from_walks(**choices: Any) -> ws.Snapped:
    return ws.Snapped.from_walks(**{"walks": [[[0.0, 0.0], [1.0, 0.0]]], **choices})


@pytest.mark.parametrize(
    ("make", "words", "given"),
    [
        (ws.Snapped, r"points must be an \(n, k\) array", {"points": [0.0, 1.0], "distance": [[0, 1], [1, 0]]}),
        (ws.Snapped, r"points must be an \(n, k\) array", {"points": [], "distance": []}),
        (ws.Snapped, "finite", {"points": [[0.0], [np.nan]], "distance": [[0, 1], [1, 0]]}),
        (ws.Snapped, "points must be numbers", {"points": [[0.0], ["here"]], "distance": [[0, 1], [1, 0]]}),
        (ws.Snapped, "3 x 3 matrix", {"points": CORNERS, "distance": [[0, 1], [1, 0]]}),
        (ws.Snapped, "3 x 3 matrix", {"points": CORNERS, "distance": ws.Graph.from_edges([("a", "b")])}),
        (ws.Snapped, "negative", {"points": CORNERS, "distance": [[0, -1, 2], [1, 0, 2], [1, 2, 0]]}),
        (ws.Snapped, "not a number", {"points": CORNERS, "distance": [[0, np.nan, 2], [1, 0, 2], [1, 2, 0]]}),
        (from_walks, "both empty", {"walks": []}),
        (from_walks, "walk 1 is empty", {"walks": [[[0.0, 0.0]], []]}),
        (from_walks, "reach must be a length above 0", {"reach": 0.0}),
        (from_walks, "reach must be a length above 0", {"reach": np.nan}),
        (from_walks, "cell must be a length above 0", {"cell": -1}),
        (from_walks, "cell must be a length above 0", {"cell": "small"}),
        (from_walks, "nodes have 3 coordinates", {"nodes": [[0.0, 0.0, 0.0]]}),
        (from_walks, "edges must be", {"nodes": [[0.0, 0.0]], "edges": [[0, 1]]}),
        (from_walks, "edges must be", {"nodes": [[0.0, 0.0]], "edges": [0.5]}),
        (
            ws.Snapped(CORNERS, ALONG).encode,
            "the points of query 0 have 3 coordinates, and the fixed points 2",
            {"paths": [[[1.0, 2.0, 3.0]]], "role": "query"},
        ),
    ],
)
def test_what_does_not_fit_is_named(make: Callable[..., Any], words: str, given: dict[str, Any]) -> None:
    with pytest.raises((ws.DistanceError, ws.PathError), match=words):
        make(**given)


def test_the_simulators_distances_from_walks_of_others(data: Path) -> None:
    """The start distances of VLN-CE's val_seen; `python -m benchmarks.geodesics` prints those of both splits."""
    references = ws.load_references(data / "vlnce/R2R_VLNCE_v1-3/val_seen/val_seen.json.gz")
    line, found = geodesics.straight(references), geodesics.snapped(references, geodesics.scenes_of(data))
    assert (len(line.errors), len(found.errors), found.unreachable) == (778, 775, 3)
    assert [np.median(np.abs(line.errors)), np.percentile(np.abs(line.errors), 90)] == pytest.approx(
        [0.94, 3.33], abs=0.01
    )
    assert np.median(np.abs(found.errors)) < 0.5
    assert np.percentile(np.abs(found.errors), 90) < 1.5
    assert np.mean(found.errors < -0.3) < 0.02  # paths that lead through a wall are rare
