"""Graphs, tables, functions and Euclidean distance (grids: test_grid.py)."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import math
import pickle
import tarfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, strategies as st

import wayscore as ws
from tests.house import connectivity
from wayscore.distances import graph as graph_module, graphs
from wayscore.distances.base import Reversed, as_distance


@given(st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_graph_distances_are_those_of_networkx_and_scipy(size: int, seed: int) -> None:
    from scipy.sparse.csgraph import dijkstra

    rng = np.random.default_rng(seed)
    directed = bool(rng.integers(2))
    other = nx.gnp_random_graph(size, 0.15, seed=seed % 1000, directed=directed)
    for a, b in other.edges:
        other.edges[a, b]["weight"] = float(rng.random() * 9)
    graph = ws.Graph.from_networkx(other)
    lengths = dict(nx.all_pairs_dijkstra_path_length(other))
    expected = np.array([[lengths[a].get(b, math.inf) for b in graph.nodes] for a in graph.nodes])
    np.testing.assert_allclose(graph.table, expected, rtol=1e-12)
    matrix = nx.to_scipy_sparse_array(other, nodelist=graph.nodes)
    matrix.indices, matrix.indptr = (part.astype(np.int32) for part in (matrix.indices, matrix.indptr))
    np.testing.assert_allclose(graph.table, dijkstra(matrix, directed=directed), rtol=1e-12)
    if not directed:
        assert np.array_equal(graph.table, graph.table.T)


def test_larger_tables_come_from_dijkstra_and_large_graphs_search_source_by_source(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    edges, weights = [*pairwise(range(51)), (3, 1)], [*np.arange(50) / 7, 0.01]
    small = ws.Graph.from_edges(edges, weights)
    monkeypatch.setattr(graph_module, "DENSE_NODES", 10)
    np.testing.assert_allclose(ws.Graph.from_edges(edges, weights).table, small.table, rtol=1e-12)
    monkeypatch.setattr(graph_module, "TABLE_NODES", 10)
    large = ws.Graph.from_edges(edges, weights, nodes=[*range(51), "apart"])
    assert large.table is None
    codes = np.arange(0, 51, 5, dtype=np.int32)
    np.testing.assert_allclose(large.between(codes, codes), small.between(codes, codes), rtol=1e-12)
    np.testing.assert_allclose(large.pairs(codes[:-1], codes[1:]), small.pairs(codes[:-1], codes[1:]), rtol=1e-12)
    assert large.distance(0, "apart") == math.inf
    references, queries = [[0, 1, 2, 3], [9, 8, 7]], [[0, 1, 1, 5], [9]]
    one, two = (ws.score(references=references, queries=queries, distance=graph) for graph in (small, large))
    for metric in one.metrics:
        np.testing.assert_allclose(one[metric], two[metric], rtol=1e-12)
    found = ws.fast_dtw(reference=references[0], query=queries[0], distance=large)
    assert found.cost == pytest.approx(ws.dtw(reference=references[0], query=queries[0], distance=small))


def test_graph_facts() -> None:
    graph = ws.Graph.from_edges(
        [("a", "b"), ("b", "a"), ("b", "c")], [5.0, 2.0, 1.0], positions={"a": (0, 0), "b": (2, 0), "c": (2, 1)}
    )
    assert graph.distance("a", "c") == 3.0  # the shorter of two parallel edges
    assert len(graph) == 3
    assert graph.nodes == ("a", "b", "c")
    assert graph.neighbors("b") == ["a", "a", "c"]
    assert graph.positions.tolist() == [[0, 0], [2, 0], [2, 1]]
    assert "3 nodes" in repr(graph)
    one_way = ws.Graph.from_edges([("a", "b")], directed=True)
    assert (one_way.distance("a", "b"), one_way.distance("b", "a")) == (1.0, math.inf)
    assert one_way.edges == [(0, 1)]
    assert ws.Graph.from_edges([], nodes=["alone"]).distance("alone", "alone") == 0.0


def test_fingerprints_tell_distances_apart() -> None:
    def prints(weight: float) -> str:
        return ws.Graph.from_edges([("a", "b")], [weight]).fingerprint

    assert prints(1.0).startswith("graph#")
    assert prints(1.0) == prints(1.0) != prints(2.0)
    assert ws.Euclidean().fingerprint == "euclidean"
    assert ws.Table([[0]], "a").fingerprint != ws.Table([[0]], "b").fingerprint
    assert ws.Function(math.dist).fingerprint == "function:dist"


def partly_weighted() -> nx.Graph:
    graph = nx.path_graph(3)
    graph.edges[0, 1]["weight"] = 2.0
    return graph


PAIR = [("a", "b")]
WRONG: list[tuple[Callable[..., Any], str, list[Any]]] = [
    (ws.Graph.from_edges, "has no nodes", [[]]),
    (ws.Graph.from_edges, "edge 0 of the graph must be a pair", [[("a",)]]),
    (ws.Graph.from_edges, "edge 0 of the graph must be a pair", [[(["a"], "b")]]),
    (ws.Graph.from_edges, "1 edges but 2 weights", [PAIR, [1.0, 2.0]]),
    (ws.Graph.from_edges, "edge 'a' - 'b' of the graph has length -1.0", [PAIR, [-1.0]]),
    (ws.Graph.from_edges, "has length nan", [PAIR, [math.nan]]),
    (ws.Graph.from_edges, "has length inf", [PAIR, [math.inf]]),
    (ws.Graph.from_edges, "must be numbers", [PAIR, ["far"]]),
    (lambda where: ws.Graph.from_edges(PAIR, positions=where), "no position for node 'b'", [{"a": (0, 0)}]),
    (ws.Graph.from_networkx, "edge 1 - 2 has no attribute 'weight', but other edges have", [partly_weighted()]),
    (ws.Table, "from 'a' to 'b', 1.0, differs from .* back; pass symmetric=False", [[[0, 1], [2, 0]], "ab"]),
    (ws.Table, "from 'a' to 'b', -1.0, is negative", [[[0, -1], [-1, 0]], "ab"]),
    (ws.Table, "is not a number; use infinity", [[[0, math.nan], [math.nan, 0]], "ab"]),
    (ws.Table, "from 'a' to 'a', 1.0, must be 0", [[[1, 1], [1, 0]], "ab"]),
    (ws.Table, "a 3 x 3 matrix, got shape", [[[0, 1], [1, 0]], "abc"]),
    (ws.Table, "the same name", [[[0, 1], [1, 0]], "aa"]),
    (ws.Table, "got shape", [[], []]),
    (ws.Table, "a square matrix of numbers", [[["x"]], "a"]),
    (ws.Function, "needs a function", [3]),
]


@pytest.mark.parametrize(("make", "message", "arguments"), WRONG)
def test_distances_that_make_no_sense(make: Callable[..., Any], message: str, arguments: list[Any]) -> None:
    with pytest.raises(ws.DistanceError, match=message):
        make(*arguments)


def test_nodes_that_are_not_there() -> None:
    graph = ws.Graph.from_edges([("kitchen", "hall")])
    with pytest.raises(
        ws.UnknownNodeError, match=r"node 'kitchn' is not among the 2 nodes of the graph; did you mean 'kitchen'\?"
    ):
        graph.distance("kitchn", "hall")
    with pytest.raises(ws.UnknownNodeError):
        graph.neighbors(["hall"])


def test_an_unweighted_networkx_graph_counts_hops() -> None:
    grid = ws.Graph.from_networkx(nx.grid_2d_graph(4, 3))
    reference, query = [(0, 0), (1, 0), (2, 1), (3, 2)], [(0, 0), (1, 0), (2, 0), (3, 0)]
    assert ws.dtw(reference=reference, query=query, distance=grid) == 3.0
    multi = nx.MultiGraph([("a", "b", {"weight": 3.0}), ("a", "b", {"weight": 1.0})])
    assert ws.Graph.from_networkx(multi).distance("a", "b") == 1.0
    for weight in (None, "metres"):
        assert ws.Graph.from_networkx(partly_weighted(), weight=weight).distance(0, 2) == 2.0


def test_tables_of_one_way() -> None:
    one_way = ws.Table([[0, 1], [math.inf, 0]], "ab", symmetric=False)
    assert ws.dtw(reference="a", query="b", distance=one_way) == 1.0
    with pytest.raises(ValueError, match="read-only"):
        one_way.table[0, 0] = 3


def test_a_function_is_called_once_for_each_pair() -> None:
    calls: list[frozenset] = []

    def distance(a: str, b: str) -> float:
        calls.append(frozenset((a, b)))
        return letters(a, b)

    function = ws.Function(distance)
    for _ in range(3):
        table = ws.score(references=["abca"], queries=["aabd"], distance=function)
    assert len(calls) == len(set(calls))
    assert table["DTW"][0] == ws.dtw(reference="abca", query="aabd", distance=ws.Function(letters, symmetric=False))
    R, Q = np.random.default_rng(0).normal(size=(2, 9, 3))
    by_function = ws.dtw(reference=R, query=Q.tolist(), distance=ws.Function(math.dist))
    assert by_function == pytest.approx(ws.dtw(reference=R, query=Q), rel=1e-14)


def test_bad_functions() -> None:
    with pytest.raises(ws.PathError, match=r"the query, step 1: .* is neither a label nor coordinates"):
        ws.dtw(reference="a", query=["a", {}], distance=ws.Function(lambda a, b: 0))
    for value in (-1.0, math.nan, None, "far", [1, 2]):
        odd = ws.Function(lambda a, b, value=value: value, name="odd")
        with pytest.raises(ws.DistanceError, match=r"odd\('a', 'b'\) returned .*; a distance must be a number that is"):
            ws.dtw(reference="a", query="b", distance=odd)


def test_matterport_in_every_wrapping(tmp_path: Path) -> None:
    content = json.dumps(connectivity("abcx", "ab bc cx", included="abc")).encode()
    folder = tmp_path / "connectivity"
    folder.mkdir()
    (folder / "S1_connectivity.json").write_bytes(content)
    (folder / "S2_connectivity.json.gz").write_bytes(gzip.compress(content))
    (folder / "scans.txt").write_text("S1\n")
    with tarfile.open(tmp_path / "all.tar.gz", "w:gz") as archive:
        archive.add(folder, arcname="connectivity")
    for ending in ("bz2", "xz"):
        with tarfile.open(tmp_path / f"all.tar.{ending}", f"w:{ending}") as archive:  # type: ignore[call-overload]
            archive.add(folder, arcname="connectivity")
    for source in (folder, *sorted(tmp_path.glob("all.tar.*"))):
        graphs = ws.load_graphs(source)
        assert sorted(graphs) == ["S1", "S2"]
        assert len(graphs) == 2
        assert "S3" not in graphs
        assert graphs["S1"].nodes == ("a", "b", "c")
        assert graphs["S2"].distance("a", "c") == 2.0
        assert graphs["S1"] is graphs["S1"]
        assert ws.Graph.from_matterport(source, "S1").distance("a", "c") == 2.0
        with pytest.raises(ws.UnknownSceneError, match="has no scan 'S3'"):
            graphs["S3"]
        assert graphs.get("S3") is None
    assert ws.Graph.from_matterport(folder / "S1_connectivity.json").name == "scan S1"
    with pytest.raises(ws.FormatError, match="has 2 scans; choose one with scan="):
        ws.Graph.from_matterport(folder)
    with pytest.raises(ws.FormatError, match=r"has no scan 'S12'; did you mean"):
        ws.Graph.from_matterport(folder, "S12")
    (folder / "S2_connectivity.json").write_bytes(content)
    with pytest.raises(ws.FormatError, match="has two files of scan 'S2'"):
        ws.load_graphs(folder)


def test_damaged_matterport_files(tmp_path: Path) -> None:
    good = connectivity("ab", "ab")
    file = tmp_path / "S_connectivity.json"

    def refused(content: bytes, match: str) -> None:
        file.write_bytes(content)
        with pytest.raises(ws.WayscoreError, match=match):
            ws.Graph.from_matterport(file)

    refused(b"not json", "not a connectivity file")
    refused(json.dumps(good).encode()[:-40], "not a connectivity file")
    refused(b"[]", "no viewpoint is included")
    refused(json.dumps([{**good[0], "pose": [1.0]}, good[1]]).encode(), "viewpoint 'a' has 1 pose values")
    refused(json.dumps([{**good[0], "unobstructed": []}, good[1]]).encode(), "0 unobstructed flags; expected 16 and 2")
    refused(json.dumps([{**good[0], "included": "yes"}, good[1]]).encode(), r"\$\[0\].included")
    with pytest.raises(ws.FormatError, match="no such file or directory"):
        ws.load_graphs(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ws.FormatError, match="holds no file named"):
        ws.load_graphs(tmp_path / "empty")
    (tmp_path / "bad.tar").write_bytes(b"not a tar")
    with pytest.raises(ws.FormatError, match="not a tar, or a damaged one"):
        ws.load_graphs(tmp_path / "bad.tar")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        archive.add(file, arcname="../../S_connectivity.json")  # read by name, never unpacked
    (tmp_path / "cut.tar.gz").write_bytes(buffer.getvalue()[:60])
    with pytest.raises(ws.FormatError, match="is damaged gzip"):
        ws.load_graphs(tmp_path / "cut.tar.gz")
    (tmp_path / "S_connectivity.json.gz").write_bytes(b"not gzip")
    with pytest.raises(ws.FormatError, match="not a connectivity file"):
        ws.Graph.from_matterport(tmp_path / "S_connectivity.json.gz")


def test_the_real_scans(data: Path) -> None:
    graphs = ws.load_graphs(data / "connectivity.tar.gz")
    assert len(graphs) == 90
    assert sum(len(graph) for graph in graphs.values()) == 10567
    assert sum(len(graph.edges) for graph in graphs.values()) == 21468


def test_a_shortest_path_past_edges_of_no_length() -> None:
    graph = ws.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("b", "x")], [0.0, 0.0, 1.0, 0.0])
    assert graph.shortest_path("a", "d") == ["a", "b", "c", "d"]
    assert graph.shortest_path("a", "a") == ["a"]
    with pytest.raises(ws.PathError, match="there is no path from 'a' to 'z' in the graph"):
        ws.Graph.from_edges([("a", "b")], nodes=["a", "b", "z"]).shortest_path("a", "z")


class Floors:
    """What users wrote for the first edition: three methods and a fingerprint."""

    fingerprint = "floors"

    def encode(self, paths: list, *, role: object = "path") -> ws.PathBatch:
        batch = ws.PathBatch.from_points(paths)
        return ws.PathBatch(batch.places[:, 0].astype(np.int32), batch.offsets)

    def between(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.abs(a[:, None] - b[None, :]).astype(float)

    def pairs(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.abs(a - b).astype(float)


def letters(a: str, b: str) -> float:
    return abs(ord(a) - ord(b))


def every_distance() -> dict[str, tuple[ws.Distance, list]]:
    """One distance of every kind, with a path of it."""
    line = ws.Graph.from_edges([("a", "b"), ("b", "c")], [1.0, 2.0])
    return {
        "graph": (line, ["a", "c", "a"]),
        "hops": (line.hops, ["a", "c", "a"]),
        "reversed": (Reversed(line), ["a", "c"]),
        "table": (ws.Table([[0, 1], [1, 0]], ["a", "b"]), ["a", "b", "b"]),
        "euclidean": (ws.Euclidean(), [[0.0, 1.0], [2.0, 3.0]]),
        "grid": (ws.Grid(np.ones((4, 4)), cell=1.0), [[0.0, 1.0], [2.0, 3.0]]),
        "function": (ws.Function(letters), ["x", "a"]),
        "adapted": (as_distance(Floors()), [0, 3]),
    }


@pytest.mark.parametrize("kind", every_distance())
def test_every_distance_says_what_it_has(kind: str) -> None:
    distance, path = every_distance()[kind]
    assert isinstance(distance, ws.Distance)
    assert as_distance(distance) is distance
    batch = distance.encode([path])
    decoded = distance.decode(batch.places)
    assert (decoded.tolist() if isinstance(decoded, np.ndarray) else decoded) == path
    assert distance.unit == ("hops" if kind == "hops" else "m")
    assert distance.is_straight == (kind == "euclidean")
    assert (distance.table is not None) == (kind in ("graph", "hops", "table"))
    assert (distance.index is not None) == (kind in ("graph", "hops", "table", "reversed"))
    assert isinstance(distance.name, str)
    block = distance.between(batch.places, batch.places)
    assert block.shape == (len(path), len(path))
    assert distance.pairs(batch.places, batch.places).tolist() == np.diag(block).tolist()
    assert len(repr(distance)) < 100
    again = pickle.loads(pickle.dumps(distance))  # to another process, also with what is encoded
    assert again.fingerprint == distance.fingerprint
    assert np.array_equal(again.between(batch.places, batch.places), block)
    assert np.array_equal(again.decode(batch.places), decoded)


def test_an_object_with_the_methods_is_a_distance() -> None:
    floors: Any = Floors()
    assert ws.dtw(reference=[0, 3], query=[0, 1, 3], distance=floors) == 1.0
    assert ws.RunningDTW(reference=[0, 3], distance=floors).step(0) == 3.0
    assert ws.RunningBatch(references=[[0, 3]], distance=[floors]).step([0]).tolist() == [3.0]
    table = ws.score(references=[[0, 3]], queries=[[0, 1]], distance={"s": floors}, scenes=["s"])
    assert table.settings["distance"] == ["floors"]
    assert table["NE"].tolist() == [2.0]
    adapted = as_distance(floors)
    assert adapted.fingerprint == "floors"
    floors.unit, floors.index, floors.table = "floors", {0: 0, 1: 1}, np.array([[0.0, 1.0], [1.0, 0.0]])
    assert as_distance(floors).unit == "floors"
    assert ws.score(references=[[0, 1]], queries=[[0]], distance=floors).settings["unit"] == "floors"


def test_archives_that_would_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "SCAN_LIMIT", 1000)
    for packer in (gzip, bz2, lzma):
        file = tmp_path / "S_connectivity.json"
        file.write_bytes(packer.compress(b" " * 10**6))
        with pytest.raises(ws.FormatError, match="more than 1,000 bytes when decompressed; split"):
            ws.Graph.from_matterport(file)
    monkeypatch.undo()
    file.write_bytes(gzip.compress(json.dumps(connectivity("ab", "ab")).encode()) + gzip.compress(b"  ") + bytes(512))
    assert len(ws.Graph.from_matterport(file)) == 2  # several streams, and padding


def test_distances_that_lack_something() -> None:
    class Nameless:
        encode, between, pairs = Floors.encode, Floors.between, Floors.pairs

    with pytest.raises(ws.OptionError, match="the Nameless has no fingerprint"):
        ws.score(references=[[0]], queries=[[0]], distance=Nameless())  # type: ignore[arg-type]

    class Lift(ws.Distance):
        fingerprint = "lift"

    for method, words in (("encode", ([],)), ("between", (None, None)), ("pairs", (None, None))):
        with pytest.raises(ws.OptionError, match=rf"the Lift does not define {method}\(\); see wayscore\.Distance"):
            getattr(Lift(), method)(*words)
