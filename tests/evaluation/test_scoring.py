"""score() over batches, and the table it returns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import wayscore as ws
from tests.oracles import paper
from wayscore.evaluation import measure

LINE = ws.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d")], [1.0, 2.0, 4.0], nodes="abcdz")
TRIANGLE = ws.Graph.from_edges([("x", "y"), ("y", "z"), ("z", "x")], [1.0, 1.0, 1.0])


def random_labels(seed: int, count: int, nodes: str = "abcd") -> list[list[str]]:
    rng = np.random.default_rng(seed)
    return [rng.choice(list(nodes), rng.integers(1, 12)).tolist() for _ in range(count)]


@pytest.mark.parametrize("threads", [None, 1, 3])
def test_batches_of_any_size_and_any_number_of_threads(threads: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "EPISODES_AT_ONCE", 16)
    monkeypatch.setattr(measure, "CELLS_AT_ONCE", 300)
    references, queries = random_labels(1, 131), random_labels(2, 131)
    table = ws.score(references=references, queries=queries, distance=LINE, threads=threads)
    for number, (R, Q) in enumerate(zip(references, queries, strict=True)):
        for metric, value in paper.metrics(R, Q, LINE.distance, 3.0).items():
            assert table[metric][number] == pytest.approx(value, rel=1e-12), (number, metric)


def test_every_distance_gives_the_same_scores() -> None:
    references, queries = random_labels(3, 40, "abcdz"), random_labels(4, 40, "abcdz")
    expected = ws.score(references=references, queries=queries, distance=LINE)
    for distance in (ws.Table(LINE.table, LINE.nodes), ws.Function(LINE.distance)):
        table = ws.score(references=references, queries=queries, distance=distance)
        for metric in expected.metrics:
            assert table[metric].tolist() == expected[metric].tolist(), metric


def test_points_alone_and_long() -> None:
    rng = np.random.default_rng(5)
    references = [rng.normal(size=(n, 3)).cumsum(axis=0) for n in (1, 7, 90, 200, 3)]
    queries = [rng.normal(size=(n, 3)).cumsum(axis=0) for n in (150, 6, 80, 1, 3)]
    queries[4] = references[4]
    table = ws.score(references=references, queries=queries)
    for number, (R, Q) in enumerate(zip(references, queries, strict=True)):
        for metric, value in paper.metrics(list(map(tuple, R)), list(map(tuple, Q)), math.dist, 3.0).items():
            assert table[metric][number] == pytest.approx(value, rel=1e-10), (number, metric)
        assert table["DTW"][number] == ws.dtw(reference=R, query=Q)


@pytest.mark.parametrize("nodes", ["abcd", "abcdz"])
def test_one_episode_alone_has_the_bits_of_a_batch(nodes: str) -> None:
    references, queries = random_labels(8, 300, nodes), random_labels(9, 300, nodes)
    references[:3], queries[:3] = [["a"], ["a"], ["a", "z"]], [["a"], ["a", "a"], ["z", "a"]]
    together = ws.score(references=references, queries=queries, distance=LINE, threshold=2.0)
    for number, (R, Q) in enumerate(zip(references, queries, strict=True)):
        alone = ws.score(references=[R], queries=[Q], distance=LINE, threshold=2.0)
        assert {metric: alone[metric].tolist() for metric in alone.metrics} == {
            metric: [together[metric][number]] for metric in together.metrics
        }
        assert alone.settings == together.settings


def test_only_what_is_needed_is_measured() -> None:
    everything = ws.score(references=["abcd", "ab"], queries=["abd", "cd"], distance=LINE)
    for metric in everything.metrics:
        alone = ws.score(references=["abcd", "ab"], queries=["abd", "cd"], distance=LINE, metrics=metric)
        assert alone[metric].tolist() == everything[metric].tolist()
    facts = {"name": "Mine", "direction": "down", "bounds": (0, math.inf), "unit": "m", "formula": "min d(q, goal)"}
    mine = ws.Metric(symbol="mine", compute=lambda m: m.closest, **facts)
    call = {"references": ["abcd", "ab"], "queries": ["abd", "cd"], "distance": LINE}
    assert ws.score(**call, metrics=[mine])["mine"].tolist() == everything["ONE"].tolist()
    unsaid = ws.Metric(symbol="mine", compute=lambda m: m.closest, needs=frozenset({"warping"}), **facts)
    with pytest.raises(ws.OptionError, match="list the costly measurements that it looks at in needs="):
        ws.score(**call, metrics=[unsaid])


def test_queries_that_share_a_reference() -> None:
    references, queries = random_labels(6, 5), random_labels(7, 60)
    pairing = np.random.default_rng(0).integers(0, 5, 60)
    shared = ws.score(references=references, queries=queries, pairing=pairing, distance=LINE)
    apart = ws.score(references=[references[i] for i in pairing], queries=queries, distance=LINE)
    for metric in shared.metrics:
        assert shared[metric].tolist() == apart[metric].tolist()


def test_scenes() -> None:
    graphs = {"line": LINE, "triangle": TRIANGLE}
    references, queries = [["a", "b"], ["x", "y"], ["c"]], [["a"], ["z"], ["c", "d"]]
    table = ws.score(references=references, queries=queries, distance=graphs, scenes=["line", "triangle", "line"])
    assert table["NE"].tolist() == [1.0, 1.0, 4.0]
    assert table.scenes == ["line", "triangle", "line"]
    assert table.settings["distance"] == sorted(graph.fingerprint for graph in graphs.values())
    paired = ws.score(
        references=references,
        queries=queries[::-1],
        pairing=[2, 1, 0],
        distance=graphs,
        scenes=["line", "triangle", "line"],
    )
    assert paired["NE"].tolist() == [4.0, 1.0, 1.0]


def test_undefined_values_leave_the_mean_and_are_counted() -> None:
    table = ws.score(references=["ab", "ab", "zz"], queries=["ab", "az", "ab"], distance=LINE)
    assert table.undefined() == {"PL": 1, "NE": 2, "ONE": 1, "AD": 2, "MD": 2, "DTW": 2}
    assert table.means()["NE"] == 0.0
    assert table.means()["SR"] == pytest.approx(1 / 3)
    nowhere = ws.score(references=["z"], queries=["a"], distance=LINE, metrics="NE")
    assert nowhere.means() == {"NE": None}
    assert nowhere.undefined() == {"NE": 1}


BOTH = {"distance": {"line": LINE, "triangle": TRIANGLE}, "scenes": ["line", "triangle"], "episodes": ["one", "two"]}
SCENE = {"distance": {"line": LINE}, "scenes": ["line"]}
TUPLES = ws.Table(np.zeros((3, 3)), [("a", "b"), "a", "b"])
POINT, FAR, NOWHERE, DEEP = [[0.0, 0.0]], [[0.0, 1e151]], [[math.nan, 0.0]], [[0.0, 0.0, 0.0]]
POINTS = {"references": [POINT], "queries": [POINT], "distance": None}
TWO = {"references": [POINT, POINT], "queries": [POINT, POINT], "distance": None}
WRONG: list[tuple[type[ws.WayscoreError], str, dict[str, Any]]] = [
    # What is given beside or in place of one episode, from a to a on a line.
    (ws.UnknownNodeError, "episode 0, query, step 1: node 'q' is not among the 5 nodes of the gr", {"queries": ["aq"]}),
    (ws.UnknownNodeError, "episode 7_1, query, step 1: node 'q'", {"queries": ["aq"], "episodes": ["7_1"]}),
    (ws.UnknownNodeError, "episode two, query, step 0: node 'a'", {"references": "ax", "queries": "aa", **BOTH}),
    (ws.UnknownNodeError, "episode two, reference, step 0: node 'a'", {"references": "aa", "queries": "ax", **BOTH}),
    (ws.PathError, "episode 0, query is empty", {"queries": [[]]}),
    (ws.PathError, "episode 1, reference is empty", {"references": ["ab", ""], "queries": "aa"}),
    (ws.PathError, "reference 1 is empty", {"references": ["ab", ""], "pairing": [0]}),
    (ws.PathError, "step 0: coordinates must be", {**POINTS, "queries": [FAR]}),
    (ws.PathError, "episode 1", {**TWO, "queries": [POINT, NOWHERE]}),
    (ws.PathError, "episode 1", {**TWO, "references": [POINT, NOWHERE]}),
    (ws.PathError, "references have 2-dimensional points and queries 3-dimensional", {**POINTS, "queries": [DEEP]}),
    (ws.PathError, "episode 0, goals: points of 3 coordinates, but the query has 2", {**POINTS, "goals": [DEEP]}),
    (ws.PathError, "this is a single path", {"references": [("a", "b")], "queries": [("a", "b")], "distance": TUPLES}),
    (ws.PathError, "a batch of codes belongs to one scene", {**SCENE, "references": LINE.encode(["a"])}),
    (ws.PathError, "2 references but 1 queries; give one query for each", {"references": "aa"}),
    (ws.PathError, "2 queries but 1 values of episodes", {"references": "aa", "queries": "aa", "episodes": ["x"]}),
    (ws.PathError, "1 queries but 2 values of goals", {"goals": ["a", "a"]}),
    (ws.PathError, "1 queries but 2 values of stopped", {"stopped": [True, True]}),
    (ws.PathError, "2 queries but a pairing of shape", {"queries": "aa", "pairing": [0]}),
    (ws.PathError, "names reference 3, but there are 1", {"queries": "aa", "pairing": [0, 3]}),
    (ws.OptionError, "say with scenes=", {"distance": {"line": LINE}}),
    (ws.PathError, "1 queries but 2 values of scenes", {**SCENE, "scenes": ["line", "line"]}),
    (ws.PathError, "there is no scene 'lien'; did you mean 'line'", {**SCENE, "scenes": ["lien"]}),
    (ws.OptionError, "threshold must be a positive distance", {"threshold": -1}),
    (ws.OptionError, "threads must be a whole number", {"threads": 0}),
    (ws.OptionError, "did you mean 'paper'", {"convention": "papre"}),
    (ws.OptionError, "metrics must be symbols", {"metrics": 5}),
]


@pytest.mark.parametrize(("error", "message", "given"), WRONG)
def test_what_is_wrong_is_named(error: type[ws.WayscoreError], message: str, given: dict[str, Any]) -> None:
    call = {"references": "a", "queries": "a", "distance": LINE, **given}
    lists = {name: list(call[name]) for name in ("references", "queries") if isinstance(call[name], str)}
    with pytest.raises(error, match=message):
        ws.score(**{**call, **lists})


@pytest.mark.parametrize("distance", ["graph", 3, LINE.table, {"line": "graph"}])
def test_what_is_no_distance(distance: object) -> None:
    scenes = ["line"] if isinstance(distance, dict) else None
    with pytest.raises(ws.OptionError, match="distance must be a Graph, Euclidean, Grid, Table, Function, NavMesh"):
        ws.score(references=["a"], queries=["a"], distance=distance, scenes=scenes)  # type: ignore[arg-type]
    if not isinstance(distance, dict):
        for call in (ws.dtw, ws.align, ws.fast_dtw):
            with pytest.raises(ws.OptionError, match="distance must be"):
                call(reference="a", query="a", distance=distance)
        with pytest.raises(ws.OptionError, match="distance must be"):
            ws.RunningDTW(reference="a", distance=distance)  # type: ignore[arg-type]
        with pytest.raises(ws.OptionError, match="distance must be"):
            ws.RunningBatch(references=["a"], distance=[distance])  # type: ignore[list-item]


def test_arguments_of_the_wrong_kind() -> None:
    with pytest.raises(ws.DistanceError, match="must be pairs of node labels, got None"):
        ws.Graph.from_edges(None)  # type: ignore[arg-type]
    with pytest.raises(ws.DistanceError, match="a table needs a list of names"):
        ws.Table([[0]], [["a"]])  # type: ignore[list-item]


@pytest.fixture
def table() -> ws.ScoreTable:
    return ws.score(
        references=["ab", "zb"],
        queries=["abc", "az"],
        distance={"line": LINE},
        scenes=["line"] * 2,
        episodes=["1_0", "1_1"],
    )


def test_frames(table: ws.ScoreTable) -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    assert table.to_arrow().column_names == ["episode", "scene", *table.metrics]
    frame = table.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["nDTW"].tolist() == table["nDTW"].tolist()
    assert table.to_polars().filter(polars.col("episode") == "1_0")["SR"].to_list() == [1.0]
    assert "2 episodes" in repr(table)


def test_a_metric_that_a_table_does_not_have(table: ws.ScoreTable) -> None:
    with pytest.raises(ws.OptionError, match=r"no metric 'NDTW'; did you mean 'nDTW'\? It has: PL"):
        table["NDTW"]


def test_names_of_several_kinds_become_strings() -> None:
    table = ws.score(references=["a", "a"], queries=["a", "a"], distance=LINE, episodes=[1, "x"])
    assert table.to_arrow()["episode"].to_pylist() == ["1", "x"]


def test_snapping_is_reported() -> None:
    grid = ws.Grid(np.ones((4, 4)), cell=1.0)
    table = ws.score(references=[[[0, 0], [2, 0]]], queries=[[[0, 0.25], [2, 0]]], distance=grid)
    assert table.settings["largest snap"] == 0.25
    assert table["DTW"].tolist() == [0.0]


class Taxi:
    """A distance of somebody's own that works on points."""

    fingerprint = "taxi"

    def encode(self, paths: Any, *, role: Any = "path") -> ws.PathBatch:
        return ws.PathBatch.from_points(paths, role=role)

    def between(self, a: Any, b: Any) -> Any:
        return np.abs(a[:, None] - b[None]).sum(axis=2)

    def pairs(self, a: Any, b: Any) -> Any:
        return np.abs(a - b).sum(axis=1)


def test_a_distance_of_ones_own_on_points() -> None:
    R, Q = [[0.0, 0.0], [2.0, 0.0], [2.0, 2.0]], [[0.0, 0.0], [2.0, 0.0], [3.0, 1.0]]
    table = ws.score(references=[R], queries=[Q], distance=Taxi(), threshold=3.0)
    assert (table["PL"][0], table["NE"][0], table["DTW"][0]) == (4.0, 2.0, 2.0)
    assert table["SED"][0] == pytest.approx(1 - 1 / 2)


@pytest.mark.parametrize(
    ("paths", "distance"),
    [
        (np.zeros((3, 2)), None),
        (np.zeros(3), None),
        ([[0, 0], [1, 0]], None),
        ([np.zeros(2), np.ones(2)], None),
        ([0.0, 1.0], None),
        (np.zeros((3, 2), dtype=int), LINE),
        ([0, 1], ws.Function(lambda a, b: abs(a - b))),
        ([(0, 0), (0, 1)], ws.Graph.from_edges([((0, 0), (0, 1))])),
        (["hall", "attic"], ws.Graph.from_edges([("hall", "attic")])),
        (np.array(["hall", "attic"]), ws.Graph.from_edges([("hall", "attic")])),
    ],
)
def test_one_bare_path_is_refused(paths: Any, distance: Any) -> None:
    with pytest.raises(ws.PathError, match=r"must be a list of paths, but this is a single path.*wrap it in a list"):
        ws.score(references=paths, queries=paths, distance=distance)
    wrapped = ws.score(references=[[[0.0, 0.0]]], queries=[[[0.0, 0.0]]]) if distance is None else None
    assert wrapped is None or len(wrapped) == 1


def test_lists_of_paths_of_any_kind_are_taken() -> None:
    assert len(ws.score(references=np.zeros((3, 2, 2)), queries=np.zeros((3, 2, 2)))) == 3
    assert len(ws.score(references=np.array([["a", "b"]]), queries=(("a", "b"),), distance=LINE)) == 1
    assert len(ws.score(references=[[0, 3]], queries=[range(2)], distance=ws.Function(lambda a, b: abs(a - b)))) == 1
    corner = ws.Graph.from_edges([((0, 0), (0, 1))])
    assert len(ws.score(references=[((0, 0), (0, 1))], queries=[[(0, 0)]], distance=corner)) == 1
    assert set(ws.score(references=[], queries=[], distance=LINE).means().values()) == {None}
    assert len(ws.score(references=[], queries=[])) == 0


def test_what_is_no_list_of_paths_is_quoted_briefly() -> None:
    class Loaded:
        episodes: dict = {}  # noqa: RUF012

    with pytest.raises(ws.OptionError, match=r"references is a Loaded, .* ws\.evaluate\(run, references, graphs\)"):
        ws.score(references=Loaded(), queries=[])  # type: ignore[arg-type]
    for wrong in (None, 3, "abc", {"1": ["a"]}, iter(())):
        with pytest.raises(ws.PathError, match="references must be a list of paths or a PathBatch, got"):
            ws.score(references=wrong, queries=[])  # type: ignore[arg-type]
    with pytest.raises(ws.PathError) as caught:
        ws.score(references=np.zeros((10**5, 2)), queries=[])
    assert len(str(caught.value)) < 300
    with pytest.raises(ws.OptionError) as refused:
        ws.score(references=["a"], queries=["a"], distance=LINE, metrics=["x" * 10**5])
    assert len(str(refused.value)) < 700
