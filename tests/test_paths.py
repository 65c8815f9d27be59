"""Ragged paths as one array and its offsets."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import wayscore as ws

GRAPH = ws.Graph.from_edges([("a", "b"), ("b", "c")])


def test_labels_and_points() -> None:
    labels = ws.PathBatch.from_labels([[(0, 1), (1, 1)], ["a"]])
    assert labels.places.tolist() == [(0, 1), (1, 1), "a"]
    assert labels.lengths.tolist() == [2, 1]
    assert [path.tolist() for path in labels] == [[(0, 1), (1, 1)], ["a"]]
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


def test_arrow_points_are_not_copied() -> None:
    flat = np.arange(12.0)
    column = pa.ListArray.from_arrays([0, 1, 4], pa.FixedSizeListArray.from_arrays(pa.array(flat), 3))
    batch = ws.PathBatch.from_arrow(column)
    assert batch.places.shape == (4, 3)
    assert np.shares_memory(batch.places, np.asarray(column.values.flatten()))
    large = pa.LargeListArray.from_arrays(pa.array([0, 1, 4], pa.int64()), column.values)
    assert np.shares_memory(ws.PathBatch.from_arrow(large).offsets, np.asarray(large.offsets))
    table = ws.score(references=batch, queries=ws.PathBatch.from_arrow(large), metrics="nDTW")
    assert table["nDTW"].tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "kind",
    [pa.list_(pa.string()), pa.large_list(pa.string()), pa.list_(pa.dictionary(pa.int32(), pa.string()))],
)
def test_arrow_labels(kind: pa.DataType) -> None:
    column = pa.chunked_array([pa.array([["a", "b"]], kind), pa.array([["c"], ["b", "b"]], kind)])
    codes = GRAPH.encode(ws.PathBatch.from_arrow(column))
    assert codes.places.tolist() == [0, 1, 2, 1, 1]
    assert codes.offsets.tolist() == [0, 2, 3, 5]
    sliced = GRAPH.encode(ws.PathBatch.from_arrow(column.combine_chunks().slice(1)))
    assert [path.tolist() for path in sliced] == [[2], [1, 1]]


def test_batches_of_labels_and_codes() -> None:
    assert GRAPH.encode(ws.PathBatch.from_labels([["a", "c"]])).places.tolist() == [0, 2]
    codes = ws.PathBatch(np.array([0, 2], dtype=np.int32), np.array([0, 2]))
    assert GRAPH.encode(codes) is codes
    with pytest.raises(ws.PathError, match="codes from 0 to 3, but the graph has 3 nodes"):
        GRAPH.encode(ws.PathBatch(np.array([0, 3], dtype=np.int32), np.array([0, 2])))
    with pytest.raises(ws.PathError, match="hold points, but the graph knows nodes"):
        GRAPH.encode(ws.PathBatch.from_points([[[0.0, 1.0]]]))
    with pytest.raises(ws.PathError, match="hold labels, but Euclidean"):
        ws.Euclidean().encode(ws.PathBatch.from_labels([["a"]]))


def test_bad_arrow_columns() -> None:
    with pytest.raises(ws.PathError, match="must hold lists, got Arrow type int64"):
        ws.PathBatch.from_arrow(pa.array([1]))
    with pytest.raises(ws.PathError, match="path 1 is null"):
        ws.PathBatch.from_arrow(pa.array([["a"], None]))
    with pytest.raises(ws.PathError, match="path 1 is empty"):
        ws.PathBatch.from_arrow(pa.array([["a"], []]))
    with pytest.raises(ws.PathError, match="fixed-size lists inside"):
        ws.PathBatch.from_arrow(pa.array([[[0.0, 1.0]]]))
    with pytest.raises(ws.PathError, match="fixed-size lists of doubles inside"):
        ws.PathBatch.from_arrow(pa.array([[0.0, 1.0]]))
    unknown = pa.array([["a"], ["b", "zz"]])
    with pytest.raises(ws.UnknownNodeError, match="path 1, step 1: node 'zz'"):
        GRAPH.encode(ws.PathBatch.from_arrow(unknown))
    broken = pa.ListArray.from_arrays([0, 2], pa.FixedSizeListArray.from_arrays(pa.array([0.0, 1.0, np.nan, 0.0]), 2))
    with pytest.raises(ws.PathError, match="path 0, step 1: coordinates must be finite"):
        ws.PathBatch.from_arrow(broken)


def test_bad_paths() -> None:
    with pytest.raises(ws.PathError, match="path 1 is empty; a path has at least one node"):
        ws.PathBatch.from_points([[[0, 0]], []])
    with pytest.raises(ws.PathError, match="path 1 has 3-dimensional points but path 0 has 2-dimensional"):
        ws.PathBatch.from_points([[[0, 0]], [[0, 0, 0]]])
    with pytest.raises(ws.PathError, match="path 0 must be a sequence of nodes or points, got 3"):
        ws.PathBatch.from_labels([3])
    with pytest.raises(ws.PathError, match=r"must be an \(n, k\) array of coordinates, got shape \(1, 1, 1\)"):
        ws.PathBatch.from_points([[[[0]]]])
    with pytest.raises(ws.PathError, match="path 0, step 1: a node is a hashable label"):
        GRAPH.encode([["a", ["b"]]])


def test_large_batches_are_shown_briefly() -> None:
    assert repr(ws.PathBatch.from_points([np.zeros((900, 3))] * 900)) == "<PathBatch of 900 paths, 810000 points>"
    assert repr(ws.PathBatch.from_labels(["ab", "c"])) == "<PathBatch of 2 paths, 3 nodes>"
    assert repr(ws.PathBatch.from_arrow(pa.array([["a"]]))) == "<PathBatch of 1 paths, 1 nodes>"


def test_coordinates_that_are_too_large() -> None:
    for wrong in (1e151, -1e151, np.inf, -np.inf, np.nan):
        with pytest.raises(ws.PathError, match=r"path 1, step 1: coordinates must be finite, and below 1e\+150"):
            ws.PathBatch.from_points([[[0.0]], [[0.0], [wrong]]])
