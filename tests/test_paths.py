"""Ragged paths as one array and its offsets."""

from __future__ import annotations

import numpy as np
import pytest

import wayscore as ws

GRAPH = ws.Graph.from_edges([("a", "b"), ("b", "c")])


def test_points() -> None:
    points = ws.PathBatch.from_points([np.zeros((2, 3)), np.ones((1, 3))])
    assert points[-1].tolist() == [[1.0, 1.0, 1.0]]
    assert np.shares_memory(points[0], points.places)
    with pytest.raises(IndexError):
        points[2]
    assert len(ws.PathBatch.from_points([])) == 0
    assert ws.PathBatch.from_points([[1, 2, 3]]).places.shape == (3, 1)


def test_a_part_shares_memory() -> None:
    batch = ws.PathBatch.from_points([[[float(i)]] * (i + 1) for i in range(5)])
    part = batch.part(1, 4)
    assert [path.tolist() for path in part] == [path.tolist() for path in list(batch)[1:4]]
    assert np.shares_memory(part.places, batch.places)


def test_batches_of_codes() -> None:
    codes = ws.PathBatch(np.array([0, 2], dtype=np.int32), np.array([0, 2]))
    assert GRAPH.encode(codes) is codes
    with pytest.raises(ws.PathError, match="codes from 0 to 3, but the graph has 3 nodes"):
        GRAPH.encode(ws.PathBatch(np.array([0, 3], dtype=np.int32), np.array([0, 2])))
    with pytest.raises(ws.PathError, match="hold points, but the graph knows nodes"):
        GRAPH.encode(ws.PathBatch.from_points([[[0.0, 1.0]]]))
    with pytest.raises(ws.PathError, match="hold labels, but Euclidean"):
        ws.Euclidean().encode(codes)


def test_bad_paths() -> None:
    with pytest.raises(ws.PathError, match="path 1 is empty; a path has at least one node"):
        ws.PathBatch.from_points([[[0, 0]], []])
    with pytest.raises(ws.PathError, match="path 1 has 3-dimensional points but path 0 has 2-dimensional"):
        ws.PathBatch.from_points([[[0, 0]], [[0, 0, 0]]])
    with pytest.raises(ws.PathError, match="path 0 must be a sequence of nodes or points, got 3"):
        ws.PathBatch.from_points([3])
    with pytest.raises(ws.PathError, match=r"must be an \(n, k\) array of coordinates, got shape \(1, 1, 1\)"):
        ws.PathBatch.from_points([[[[0]]]])
    with pytest.raises(ws.PathError, match="path 0, step 1: a node is a hashable label"):
        GRAPH.encode([["a", ["b"]]])


def test_large_batches_are_shown_briefly() -> None:
    assert repr(ws.PathBatch.from_points([np.zeros((900, 3))] * 900)) == "<PathBatch of 900 paths, 810000 points>"
    assert repr(GRAPH.encode(["ab", "c"])) == "<PathBatch of 2 paths, 3 nodes>"


def test_coordinates_that_are_too_large() -> None:
    for wrong in (1e151, -1e151, np.inf, -np.inf, np.nan):
        with pytest.raises(ws.PathError, match=r"path 1, step 1: coordinates must be finite, and below 1e\+150"):
            ws.PathBatch.from_points([[[0.0]], [[0.0], [wrong]]])
