"""The value of a warping, the warping itself, and the approximation."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import wayscore as ws
from tests.oracles import fast, paper
from wayscore import kernels
from wayscore.warping import encoded

GRID = ws.Graph.from_edges(
    [((x, y), (x + 1, y)) for x in range(3) for y in range(3)]
    + [((x, y), (x, y + 1)) for x in range(4) for y in range(2)]
)
REFERENCE = [(0, 0), (1, 0), (2, 1), (3, 2)]
QUERY = [(0, 0), (1, 0), (2, 0), (3, 0)]


def walks(seed: int, n: int, m: int | None = None, dimension: int = 3) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(count, dimension)).cumsum(axis=0) for count in (n, m or n)]


def grid_walks(seed: int, n: int, m: int) -> list[np.ndarray]:
    """Walks by whole steps, where many warpings cost the same."""
    rng = np.random.default_rng(seed)
    return [rng.integers(-1, 2, (count, 2)).cumsum(axis=0).astype(float) for count in (n, m)]


def tracking(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """A smooth walk, and the same walk re-timed with noise."""
    rng = np.random.default_rng(seed)
    heading = rng.normal(size=(n, 3)).cumsum(axis=0)
    R = (heading / np.linalg.norm(heading, axis=1, keepdims=True) * 0.25).cumsum(axis=0)
    return R, R[np.sort(rng.integers(0, n, n))] + rng.normal(size=(n, 3)) * 0.15


def check_warping(pairs: np.ndarray, n: int, m: int) -> None:
    assert pairs[0].tolist() == [0, 0]
    assert pairs[-1].tolist() == [n - 1, m - 1]
    assert set(map(tuple, np.diff(pairs, axis=0).tolist())) <= {(1, 1), (1, 0), (0, 1)}


def test_the_four_node_example() -> None:
    paths: dict[str, Any] = {"reference": REFERENCE, "query": QUERY, "distance": GRID}
    assert ws.dtw(**paths) == 3.0
    assert ws.ndtw(**paths, threshold=3.0) == ws.sdtw(**paths, threshold=3.0) == 0.7788007830714049
    assert ws.sdtw(**paths, threshold=1.5) == 0.0
    got = ws.align(**paths)
    assert got.cost == got.matrix()[-1, -1] == 3.0
    assert got.pairs.tolist() == [[0, 0], [1, 1], [2, 2], [3, 3]]
    assert got.distances().tolist() == [[GRID.distance(r, q) for q in QUERY] for r in REFERENCE]


def test_where_no_way_exists() -> None:
    islands = ws.Graph.from_edges([("a", "b")], nodes="abc")
    paths: dict[str, Any] = {"reference": "aab", "query": "cab", "distance": islands}
    assert ws.dtw(**paths) == math.inf
    assert ws.ndtw(**paths) == ws.sdtw(**paths) == 0.0
    for found in (ws.align(**paths), *(ws.fast_dtw(**paths, build=build) for build in ("python", "compiled"))):
        assert found.cost == math.inf
        check_warping(found.pairs, 3, 3)


paths = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40)


@given(paths, paths)
def test_value_and_warping_against_the_literal_loop(R: list[tuple[int, int]], Q: list[tuple[int, int]]) -> None:
    expected = paper.dtw(R, Q, math.dist)
    assert ws.dtw(reference=R, query=Q) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    found = ws.align(reference=R, query=Q)
    assert found.cost == ws.dtw(reference=R, query=Q)
    assert found.cost == found.matrix()[-1, -1]
    check_warping(found.pairs, len(R), len(Q))
    assert len(found) == len(found.pairs)


@pytest.mark.parametrize("dimension", [1, 2, 3, 4, 7])
def test_any_dimension(dimension: int) -> None:
    R, Q = walks(dimension, 45, 37, dimension)
    assert ws.dtw(reference=R, query=Q) == pytest.approx(paper.dtw(R.tolist(), Q.tolist(), math.dist), rel=1e-12)


def test_long_pairs_are_tiled_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    R, Q = walks(3, 230, 190)
    whole = ws.align(reference=R, query=Q)
    table = ws.Table(ws.Euclidean().between(R, R), range(len(R)))
    on_nodes = ws.dtw(reference=range(230), query=range(189, -1, -1), distance=table)
    monkeypatch.setattr(encoded, "BLOCK_CELLS", 64)  # several levels of tiles within tiles
    tiled = ws.align(reference=R, query=Q)
    assert tiled.cost == whole.cost == ws.dtw(reference=R, query=Q)
    assert tiled.pairs.tolist() == whole.pairs.tolist()
    assert ws.dtw(reference=range(230), query=range(189, -1, -1), distance=table) == on_nodes


def test_a_long_warping_takes_linear_memory() -> None:
    R, Q = tracking(5, 6000)
    tracemalloc.start()
    try:
        found = ws.align(reference=R, query=Q)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 64e6  # the whole of C would take 288 MB
    assert found.cost == ws.dtw(reference=R, query=Q)
    check_warping(found.pairs, 6000, 6000)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 31, 64, 200])
@pytest.mark.parametrize("radius", [1, 2, 5])
@pytest.mark.parametrize("build", ["python", "compiled"])
def test_fast_dtw_reproduces_both_builds_of_the_fastdtw_package(n: int, radius: int, build: str) -> None:
    for R, Q in (walks(n, n, max(1, n - 7)), grid_walks(n, n, max(1, n - 7))):  # the query first, as evaluators call it
        if build == "python":
            fastdtw = pytest.importorskip("fastdtw.fastdtw").fastdtw  # the pure Python one, compiled or not
            cost, path = fastdtw(Q, R, radius=radius, dist=fast.length)
        else:
            cost, path = fast.compiled(Q.tolist(), R.tolist(), radius)
        found = ws.fast_dtw(reference=R, query=Q, radius=radius, build=build)
        assert found.cost == cost
        assert found.pairs.tolist() == [[i, j] for j, i in path]


def test_the_builds_of_fastdtw_and_the_order_of_paths_make_a_difference() -> None:
    apart = swapped = 0
    for seed in range(50):
        R, Q = grid_walks(seed, 60, 45)
        python, compiled = (ws.fast_dtw(reference=R, query=Q, build=build).cost for build in ("python", "compiled"))
        apart += python != compiled
        swapped += compiled != ws.fast_dtw(reference=Q, query=R, build="compiled").cost
        assert min(python, compiled) >= ws.dtw(reference=R, query=Q) * (1 - 1e-12)
    assert apart > 3
    assert swapped > 3


@pytest.mark.parametrize("build", ["python", "compiled"])
def test_fast_dtw_where_ways_there_and_back_differ(build: str) -> None:
    rng = np.random.default_rng(2)
    there = rng.integers(1, 9, (20, 20)).astype(float)
    np.fill_diagonal(there, 0)
    one_way = ws.Table(there, range(20), symmetric=False)
    R, Q = (rng.integers(0, 20, count).tolist() for count in (33, 26))
    found = ws.fast_dtw(reference=R, query=Q, distance=one_way, build=build)
    called = ws.Function(lambda a, b: there[a, b], symmetric=False)
    by_function = ws.fast_dtw(reference=R, query=Q, distance=called, build=build)
    assert found.cost == by_function.cost == sum(there[R[i], Q[j]] for i, j in found.pairs)
    assert found.pairs.tolist() == by_function.pairs.tolist()
    check_warping(found.pairs, 33, 26)


def test_fast_dtw_is_nearly_exact() -> None:
    exact = 0
    for seed in range(100):
        R, Q = walks(seed, 500)
        best = ws.dtw(reference=R, query=Q)
        found = ws.fast_dtw(reference=R, query=Q, radius=30)
        assert found.cost >= best
        check_warping(found.pairs, 500, 500)
        exact += found.cost == best
    if kernels.name == "native":
        assert exact >= 98


def test_fast_dtw_with_every_kind_of_distance() -> None:
    rng = np.random.default_rng(0)
    nodes = list(GRID.nodes)
    R, Q = ([nodes[i] for i in rng.integers(0, len(nodes), count)] for count in (60, 47))
    asked = set()

    def hops(a: tuple[int, int], b: tuple[int, int]) -> float:
        asked.update((a, b))
        return GRID.distance(a, b)

    on_graph = ws.fast_dtw(reference=R, query=Q, distance=GRID, radius=1)
    by_function = ws.fast_dtw(reference=R, query=Q, distance=ws.Function(hops), radius=1)
    assert on_graph.cost == by_function.cost >= ws.dtw(reference=R, query=Q, distance=GRID)
    assert on_graph.pairs.tolist() == by_function.pairs.tolist()
    assert asked <= set(nodes)  # sampled, never averaged: only real nodes are compared
    wide = ws.fast_dtw(reference=R, query=Q, distance=GRID, radius=10**9)
    assert wide.cost == ws.dtw(reference=R, query=Q, distance=GRID)


def test_fast_dtw_looks_at_few_cells() -> None:
    counts = []
    for n in (200, 400, 800):
        calls: list[int] = []
        line = ws.Function(lambda a, b, calls=calls: calls.append(1) or abs(a - b))
        ws.fast_dtw(reference=range(n), query=[x + 0.5 for x in range(n)], distance=line, radius=1)
        counts.append(len(calls))
    assert counts[2] - counts[1] < 2.2 * (counts[1] - counts[0])
    assert counts[2] < 32 * 800


@pytest.mark.parametrize(("n", "m"), [(3, 5), (7, 7), (9, 2), (17, 33)])
def test_fast_dtw_radius_zero_and_odd_lengths(n: int, m: int) -> None:
    found = ws.fast_dtw(**dict(zip(("reference", "query"), walks(n, n, m), strict=True)), radius=0)
    check_warping(found.pairs, n, m)
    assert math.isfinite(found.cost)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        *(({"radius": radius}, "radius must be a whole number") for radius in (-1, 1.5, "1", None, True)),
        *(
            ({"build": build}, 'build must be "python" or "compiled", got')
            for build in ("Python", "", None, 1, ["python"])
        ),
        ({"radius": 0, "build": "compiled"}, 'build "compiled" needs a radius of 1 or more'),
    ],
)
def test_options_of_fast_dtw(options: dict[str, Any], match: str) -> None:
    with pytest.raises(ws.OptionError, match=match):
        ws.fast_dtw(reference=[[0.0]], query=[[0.0]], **options)


@pytest.mark.parametrize("threshold", [0, -3.0, math.nan, math.inf, "3", None, True])
@pytest.mark.parametrize("function", [ws.ndtw, ws.sdtw])
def test_a_threshold_is_a_positive_number(function: object, threshold: object) -> None:
    with pytest.raises(ws.OptionError, match="threshold must be a positive distance"):
        function(reference=[[0.0]], query=[[0.0]], threshold=threshold)  # type: ignore[operator]


@pytest.mark.parametrize("function", [ws.dtw, ws.align, ws.fast_dtw])
@pytest.mark.parametrize(
    ("reference", "query", "match"),
    [
        ([[0.0, 0.0]], [], "the query is empty"),
        (np.empty((0, 2)), np.zeros((1, 2)), "the reference is empty"),
        (np.zeros((2, 2)), np.array([[0, 0], [0, np.nan]]), "the query, step 1: coordinates must be finite"),
        ([[math.inf]], [[0.0]], "the reference, step 0: coordinates must be finite"),
        (np.zeros((2, 2)), np.zeros((2, 3)), "reference has 2-dimensional points and the query 3-dimensional"),
        ([[0, 0], [1]], [[0, 0]], "must hold coordinates of one dimension"),
        (["a", "b"], ["a"], "for node labels give a distance"),
        ([(0, 0)], [(0, 0), (9, 9)], r"the query, step 1: node \(9, 9\) is not among the 12 nodes"),
    ],
)
def test_paths_that_make_no_sense(function: Any, reference: Any, query: Any, match: str) -> None:
    distance = GRID if "12 nodes" in match else None
    with pytest.raises((ws.PathError, ws.UnknownNodeError), match=match):
        function(reference=reference, query=query, distance=distance)


def test_a_matrix_too_large_is_refused() -> None:
    pairs, path = np.zeros((1, 2), dtype=np.int64), np.zeros((40_000, 1))
    with pytest.raises(ws.OptionError, match="more than 2 GiB"):
        ws.Alignment(0.0, pairs, path, path, ws.Euclidean()).matrix()


@pytest.mark.parametrize("name", ["dtw", "ndtw", "sdtw", "align", "fast_dtw"])
def test_paths_go_by_name(name: str) -> None:
    match = f"{name} takes reference= and query= by name, because their order differs in the literature"
    point = [[0.0]]
    for args, paths in (((point, point), {}), ((point,), {"query": point}), ((), {"reference": point}), ((), {})):
        with pytest.raises(ws.OptionError, match=match):
            getattr(ws, name)(*args, **paths)


@pytest.mark.parametrize("kind", [list, np.array])
@pytest.mark.parametrize("function", [ws.dtw, ws.ndtw, ws.sdtw, ws.align, ws.fast_dtw])
def test_coordinates_whose_squares_overflow(function: Any, kind: Any) -> None:
    paths = {"reference": kind([[0.0, 0.0]]), "query": kind([[0.0, 0.0]])}
    for role in paths:
        with pytest.raises(ws.PathError, match=rf"the {role}.*1e\+150"):
            function(**{**paths, role: kind([[1e200, 0.0]])})


def test_a_notebook_shows_the_warping() -> None:
    corner = ws.Graph.from_edges([("<b>", "b"), ("b", "c")])
    found = ws.align(reference=["<b>", "b", "c"], query=["<b>", "c"], distance=corner)
    shown = found._repr_html_()
    assert shown.count("<line ") == len(found) + 2
    assert "&lt;b&gt;" in shown
    assert "<b>b" not in shown
    assert "<script" not in shown
    assert "http" not in shown.replace("http://www.w3.org/2000/svg", "")
    R, Q = walks(1, 300, 400)
    long = ws.align(reference=R, query=Q)
    assert long._repr_html_().count("<tr>") == 51
    assert "(first 50 shown)" in long._repr_html_()
    assert len(repr(long)) < 100
    assert ws.align(reference=[[0.0]], query=[[1.0]])._repr_html_().count("<circle") == 2


@pytest.mark.parametrize("count", [1, 4, 15, 40])
def test_one_pair_in_every_form(count: int) -> None:
    rng = np.random.default_rng(count)
    R, Q = (rng.normal(size=(count + extra, 3)).cumsum(axis=0) for extra in (0, 3))
    expected = ws.align(reference=R, query=Q).cost
    wide = np.repeat(Q, 2, axis=1)
    for query in (Q, Q.tolist(), tuple(map(tuple, Q.tolist())), wide[:, ::2], np.asfortranarray(Q), list(Q)):
        assert ws.dtw(reference=R, query=query) == pytest.approx(expected, rel=1e-14)
    short = Q.astype(np.float32)
    assert ws.dtw(reference=R, query=short) == ws.dtw(reference=R, query=short.astype(np.float64))
    assert ws.dtw(reference=R[::-1], query=Q[::-1]) == pytest.approx(expected, rel=1e-12)
    assert ws.ndtw(reference=R.tolist(), query=Q, threshold=2) == pytest.approx(np.exp(-expected / (count * 2)))


def test_labels_in_every_form() -> None:
    graph = ws.Graph.from_edges([("a", "b"), ("b", "c")], [1.5, 2.5])
    assert ws.dtw(reference=("a", "b", "c"), query=["a", "c"], distance=graph) == 1.5
    assert ws.dtw(reference="abc", query="ac", distance=graph) == 1.5  # a text is a path of its letters
    assert ws.sdtw(reference=["a", "b", "c"], query=["a", "b"], distance=graph, threshold=2.5) == np.exp(-2.5 / 7.5)
    assert ws.sdtw(reference=["a", "b", "c"], query=["a"], distance=graph, threshold=2.5) == 0.0
