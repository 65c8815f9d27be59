"""Every metric by hand, against literal loops, by property, and where distances are infinite."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import wayscore as ws
from tests.oracles import paper, trajectory
from wayscore.convention import PAPER
from wayscore.metrics import ALIASES, Episode, Measurements, find_metric, find_metrics
from wayscore.metrics.extra import TRAJECTORY
from wayscore.metrics.registry import KNOWN

LINE = ws.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")], [1.0, 2.0, 1.0, 2.0], nodes="abcdef")
"""a -1- b -2- c -1- d -2- e, and f on its own."""


def scores(R: Any, Q: Any, threshold: float = 3.0, metrics: str | None = None, d: Any = LINE) -> dict[str, float]:
    """Score one episode; the values by metric."""
    table = ws.score(references=[R], queries=[Q], distance=d, threshold=threshold, metrics=metrics)
    return {symbol: float(values[0]) for symbol, values in table.columns.items()}


def test_the_symbols_are_the_papers() -> None:
    assert list(ws.METRICS) == "PL NE ONE SR OSR AD MD SPL SED CLS DTW nDTW SDTW".split()
    for metric in ws.METRICS.values():
        assert metric.bounds[0] == 0
        assert (metric.bounds[1] == 1) == (metric.unit == "")
        assert metric.direction == ("up" if metric.unit == "" else None if metric.symbol == "PL" else "down")


def test_by_hand() -> None:
    # Reference a b c d (1 + 2 + 1 m), query a b c b: ends 3 m from the goal d, came within 1 m of it.
    got = scores("abcd", "abcb")
    pc = (3 + math.exp(-1 / 3)) / 4
    expected_length = pc * 4
    ls = expected_length / (expected_length + abs(expected_length - 5))
    assert got == pytest.approx(
        {
            "PL": 5,
            "NE": 3,
            "ONE": 1,
            "SR": 1,
            "OSR": 1,
            "AD": 0,
            "MD": 0,
            "SPL": 4 / 5,
            "SED": 1 - 1 / 3,  # the last of three edges differs
            "CLS": pc * ls,
            "DTW": 3,  # a-a b-b c-c d-b
            "nDTW": math.exp(-3 / 12),
            "SDTW": math.exp(-3 / 12),
        },
        rel=1e-15,
    )


PC = (1 + math.exp(-1 / 3) + math.exp(-1)) / 3


@pytest.mark.parametrize(
    ("reference", "query", "threshold", "expected"),
    [
        ("abc", "abcde", 3.0, {"AD": 4 / 5, "MD": 3.0, "NE": 3.0, "ONE": 0.0, "DTW": 1.0 + 3.0}),
        ("abcd", "abcb", 3.0, {"SR": 1.0}),  # success includes the threshold itself
        ("abcd", "abcb", math.nextafter(3.0, 0), {"SR": 0.0}),
        ("aba", "a", 3.0, {"SPL": 1.0}),  # a start at the goal
        ("aba", "aba", 3.0, {"SPL": 0.0}),
        ("a", "a", 3.0, dict.fromkeys(("SR", "SPL", "SED", "CLS", "nDTW", "SDTW"), 1.0)),  # paths without edges
        ("b", "a", 3.0, {"SED": 1.0}),
        ("abc", "a", 3.0, {"CLS": PC / 2}),
        ("abc", "abbc", 3.0, {"SED": 1 - 1 / 3, "nDTW": 1.0}),  # repeated nodes are kept
        ("abc", "f", 3.0, dict.fromkeys(("NE", "ONE", "AD", "MD", "DTW"), math.inf)),  # no way to the goal
        ("abc", "f", 3.0, dict.fromkeys(("SR", "OSR", "SPL", "SED", "CLS", "nDTW", "SDTW"), 0.0)),
        ("ab", "f", 3.0, dict.fromkeys(("Frechet", "Hausdorff", "HausdorffQR", "HausdorffRQ"), math.inf)),
        ("ab", "f", 3.0, {"LCSS": 0.0, "EDR": 1.0}),
        # The best coupling pairs d, or c, with e, and the query's e is 2 m from d: links of 0, 0, 2 and 2 m.
        ("abcd", "abe", 1.0, {"Frechet": 2.0, "Hausdorff": 2.0, "HausdorffQR": 2.0, "HausdorffRQ": 2.0}),
        ("abcd", "abe", 1.0, {"LCSS": 2 / 3, "EDR": 2 / 4}),  # a and b match; replace one of c and d by e, delete one
    ],
)
def test_one_episode(reference: str, query: str, threshold: float, expected: dict[str, float]) -> None:
    assert scores(reference, query, threshold, ",".join(expected)) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(("reference", "query"), [("af", "af"), ("fa", "ab"), ("ab", "fab"), ("af", "fb"), ("a", "fa")])
def test_never_nan(reference: str, query: str) -> None:
    got = scores(reference, query)
    assert not any(math.isnan(value) for value in got.values())
    for symbol, value in got.items():
        low, high = ws.METRICS[symbol].bounds
        assert low <= value <= high
        if ws.METRICS[symbol].unit == "":
            assert value < math.inf


MEASURES = ",".join(TRAJECTORY)
paths = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=12)
points = st.lists(st.tuples(*[st.floats(-50, 50, width=32)] * 3), min_size=1, max_size=12)


@given(paths, paths, st.sampled_from([0.5, 1.0, 3.0, 20.0]))
def test_against_the_literal_loops_on_a_graph(R: list[str], Q: list[str], threshold: float) -> None:
    got = scores(R, Q, threshold)
    for metric, value in paper.metrics(R, Q, LINE.distance, threshold).items():
        assert got[metric] == pytest.approx(value, rel=1e-12, abs=1e-15), metric
    assert scores(R, Q, threshold, MEASURES) == trajectory.measures(R, Q, LINE.distance, threshold)


@given(points, points, st.sampled_from([0.5, 3.0, 20.0]))
def test_against_the_literal_loops_on_points(R: list[tuple], Q: list[tuple], threshold: float) -> None:
    def distance(a: tuple, b: tuple) -> float:
        return float(ws.Euclidean().between(np.array([a]), np.array([b]))[0, 0])

    got = scores(R, Q, threshold, d=None)
    expected = paper.metrics(R, Q, math.dist, threshold)
    on_threshold = any(abs(expected[error] - threshold) < 1e-9 for error in ("NE", "ONE"))
    for metric, value in expected.items():  # there the two roundings of one distance may differ
        if not (on_threshold and metric in ("SR", "OSR", "SPL", "SED", "SDTW")):
            assert got[metric] == pytest.approx(value, rel=1e-9, abs=1e-12), metric
    assert scores(R, Q, threshold, MEASURES, None) == trajectory.measures(R, Q, distance, threshold)


@given(paths)
def test_the_reference_itself_scores_one(R: list[str]) -> None:
    got = scores(R, R)
    if not math.isinf(got["PL"]):
        assert got["CLS"] == 1.0
    assert (got["nDTW"], got["SDTW"], got["SED"], got["SR"]) == (1.0, 1.0, 1.0, 1.0)
    assert (got["NE"], got["ONE"], got["AD"], got["MD"], got["DTW"]) == (0, 0, 0, 0, 0)
    measures = scores(R, R, metrics=MEASURES)
    assert measures.pop("LCSS") == 1.0
    assert set(measures.values()) == {0.0}


@given(paths, paths)
def test_order_of_the_scores(R: list[str], Q: list[str]) -> None:
    got = scores(R, Q) | scores(R, Q, metrics=MEASURES)
    assert 0 <= got["SDTW"] <= got["nDTW"] <= 1
    assert got["SED"] <= got["SR"]
    assert got["SPL"] <= got["SR"] <= got["OSR"]
    assert got["AD"] <= got["MD"]
    assert got["ONE"] <= got["NE"]
    assert got["HausdorffQR"] == got["MD"]
    assert got["Hausdorff"] == max(got["HausdorffQR"], got["HausdorffRQ"])
    assert got["Hausdorff"] <= got["Frechet"] <= got["DTW"]
    assert got["NE"] <= got["Frechet"]  # the ends are always linked
    matched = got["LCSS"] * min(len(R), len(Q))
    longer = max(len(R), len(Q))
    assert got["EDR"] * longer >= longer - matched - 1e-9  # an edit for every node that is not matched


@given(points, points, st.tuples(*[st.floats(-9, 9)] * 3))
def test_moving_the_world_changes_nothing(R: list[tuple], Q: list[tuple], by: tuple[float, float, float]) -> None:
    here = ws.score(references=[R], queries=[Q], metrics="PL,NE,AD,CLS,DTW,nDTW")
    there = ws.score(references=[np.array(R) + by], queries=[np.array(Q) + by], metrics="PL,NE,AD,CLS,DTW,nDTW")
    for metric in here.metrics:
        assert here[metric][0] == pytest.approx(there[metric][0], rel=1e-6, abs=1e-6)


@given(paths, paths)
def test_trajectory_measures_both_ways_and_bounds(R: list[str], Q: list[str]) -> None:
    there, back = scores(R, Q, metrics=MEASURES), scores(Q, R, metrics=MEASURES)
    back["HausdorffQR"], back["HausdorffRQ"] = back["HausdorffRQ"], back["HausdorffQR"]
    assert there == back
    for symbol, metric in TRAJECTORY.items():
        assert metric.bounds[0] <= there[symbol] <= metric.bounds[1]


def test_trajectory_measures_by_name_and_threshold() -> None:
    options: dict[str, Any] = {"references": ["a"], "queries": ["b"], "distance": LINE, "threshold": 1.0}
    assert not set(TRAJECTORY) & set(ws.score(**options).metrics)
    assert [metric.symbol for metric in find_metrics("frechet, lcss")] == ["Frechet", "LCSS"]
    found = [ws.score(**options, metrics="LCSS", convention=name)["LCSS"].tolist() for name in ("paper", "r2r")]
    assert found == [[1.0], [0.0]]  # the threshold is compared as the convention does


def test_metrics_by_name_and_of_ones_own() -> None:
    options: dict[str, Any] = {"references": [["a"]], "queries": [["a", "b"]], "distance": LINE}
    assert ws.score(**options, metrics="SDTW, nDTW").metrics == ["SDTW", "nDTW"]
    steps = ws.Metric("steps", "Steps", "down", (0, math.inf), "", "|Q| - 1", lambda m: m.query_count - 1)
    assert ws.score(**options, metrics=[steps, "NE"]).means() == {"steps": 1.0, "NE": 1.0}


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        (["nDTV"], r"no metric 'nDTV'; did you mean 'nDTW'\? Known: PL, NE"),
        ([], "at least one metric"),
        ([3], "a metric is a symbol such as 'nDTW' or a Metric, got 3"),
    ],
)
def test_metrics_that_are_not_known(metrics: Any, message: str) -> None:
    with pytest.raises(ws.OptionError, match=message):
        ws.score(references=[["a"]], queries=[["a"]], distance=LINE, metrics=metrics)


def measured(measure: Callable[[Episode], float], symbol: str = "mine") -> ws.Metric:
    return ws.Metric(
        symbol=symbol, name="Mine", direction="down", bounds=(0, math.inf), unit="m", formula="?", measure=measure
    )


def farthest(episode: Episode) -> float:
    return float(episode.goal_distances().max())


def test_a_metric_sees_one_episode() -> None:
    seen: list[Episode] = []
    table = ws.score(
        references=[list("abc"), list("ab")],
        queries=[list("abcde"), ["f"]],
        distance=LINE,
        threshold=2.0,
        metrics=[measured(lambda episode: seen.append(episode) or farthest(episode)), "NE"],
        convention=replace(PAPER, name="mine", stop="required"),
        stopped=[True, None],
        goals=[["c", "d"], []],
        start_distances=[3.0, None],
        episodes=["one", "two"],
    )
    assert table["mine"].tolist() == [3.0, math.inf]
    assert table.undefined() == {"mine": 1, "NE": 1}
    one, two = seen
    assert (one.reference, one.query) == (list("abc"), list("abcde"))
    assert (one.threshold, one.name, one.scene, one.stopped, one.goals) == (2.0, "one", None, True, ["c", "d"])
    assert (one.start_distance, two.start_distance, two.stopped) == (3.0, None, None)
    assert one.convention.stop == "required"
    assert one.matrix().shape == (3, 5)
    assert one.matrix() is one.matrix()
    assert one.matrix()[-1].tolist() == one.goal_distances().tolist()
    assert one.distance.pairs(one.encoded_query[:-1], one.encoded_query[1:]).tolist() == [1.0, 2.0, 1.0, 2.0]
    assert repr(one) == "<Episode one: 3 x 5 nodes>"
    with pytest.raises(ValueError, match="read-only"):
        one.matrix()[0, 0] = 1.0


@pytest.mark.parametrize("threads", [None, 1, 2])
@pytest.mark.parametrize("kind", ["graph", "table", "function", "points", "grid", "own"])
def test_a_metric_of_one_episode_works_for_every_distance(kind: str, threads: int | None) -> None:
    rng = np.random.default_rng(3)
    if kind in ("points", "grid"):
        paths = [rng.integers(0, 5, size=(n, 2)).astype(float) for n in (1, 4, 6, 3, 2, 5)]
    else:
        paths = [rng.choice(list("abcde"), n).tolist() for n in (1, 4, 6, 3, 2, 5)]

    class Own:
        fingerprint = "own"
        encode, between, pairs = LINE.encode, LINE.between, LINE.pairs

    distance = {
        "graph": LINE,
        "table": ws.Table(LINE.table, LINE.nodes),
        "function": ws.Function(LINE.distance),
        "points": None,
        "grid": ws.Grid(np.ones((6, 6)), cell=1.0),
        "own": Own(),
    }[kind]
    metrics = [
        measured(lambda e: e.goal_distances()[-1]),
        measured(lambda e: e.matrix().min(axis=0).max(), "far"),
        measured(lambda e: kind == "own" or float(np.array_equal(e.query, paths[e.name])), "decoded"),
    ]
    episodes: dict[str, Any] = {"references": paths[:3], "queries": paths, "pairing": [0, 0, 1, 2, 2, 1]}
    table = ws.score(**episodes, distance=distance, metrics=[*metrics, "NE", "MD"], threads=threads)
    assert table["mine"].tolist() == table["NE"].tolist()
    assert table["far"].tolist() == table["MD"].tolist()
    assert table["decoded"].all()


def test_a_metric_of_one_episode_in_several_scenes() -> None:
    other = ws.Graph.from_edges([("x", "y")], [7.0])
    metric = measured(lambda e: e.goal_distances()[0] + 100 * (e.scene == "s"))
    paths, graphs = [["a"], ["x", "y"], ["b", "c"]], {"r": LINE, "s": other}
    found = ws.score(references=paths, queries=paths, distance=graphs, scenes=["r", "s", "r"], metrics=[metric])
    assert found["mine"].tolist() == [0.0, 107.0, 2.0]


@pytest.mark.parametrize("value", [math.nan, None, "3", [1.0], np.zeros(2)])
def test_a_metric_that_returns_no_number(value: object) -> None:
    metric = measured(lambda e: value)  # type: ignore[arg-type, return-value]
    with pytest.raises(ws.OptionError, match=r"metric mine, episode 7_1: the function returned .*; it must"):
        ws.score(references=["ab"], queries=["ab"], distance=LINE, episodes=["7_1"], metrics=[metric])


@pytest.mark.parametrize(
    ("compute", "message"),
    [
        (lambda m: np.where(m.end > 0, np.nan, 0.0), "metric mine, episode 1: the function returned nan"),
        (lambda m: np.zeros(3), r"metric mine: .*it must return one number for each of 2 episodes"),
        (lambda m: m.reach, "in needs="),
    ],
)
def test_a_formula_that_returns_no_numbers(compute: Callable[[Measurements], Any], message: str) -> None:
    metric = ws.Metric("mine", "Mine", "down", (0, math.inf), "", "?", compute)
    with pytest.raises(ws.OptionError, match=message):
        ws.score(references=["ab"] * 2, queries=["ab", "a"], distance=LINE, metrics=[metric])


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({}, "give either measure= .* or compute= .*; got neither"),
        ({"measure": farthest, "compute": len}, "got both"),
        ({"measure": 3}, "must be a function"),
        ({"measure": farthest, "direction": "better"}, 'direction must be "up", "down" or None'),
        ({"measure": farthest, "bounds": (1, 0)}, "bounds must be"),
    ],
)
def test_metrics_that_make_no_sense(options: dict, match: str) -> None:
    facts = {"symbol": "x", "name": "X", "direction": "up", "bounds": (0, 1), "unit": "", "formula": "x"}
    with pytest.raises(ws.OptionError, match=f"metric 'x': .*{match}"):
        ws.Metric(**{**facts, **options})


def test_metrics_travel_between_processes() -> None:
    for metric in KNOWN.values():
        assert pickle.loads(pickle.dumps(metric)) == metric
    assert find_metrics([pickle.loads(pickle.dumps(KNOWN["NE"])), "NE"]) == (KNOWN["NE"],)
    assert pickle.loads(pickle.dumps(measured(farthest))).measure is farthest


NAMES = {
    "PL": ["TL", "trajectory_length"],
    "NE": ["nav_error"],
    "OSR": ["OS", "oracle success rate"],
    "SR": ["success"],
    "nDTW": ["ndtw", "NDTW"],
    "SDTW": ["sDTW"],
    "SoftSPL": ["softspl", "soft-spl"],
    "SPL": [" SPL "],
}


def test_the_fields_other_names() -> None:
    for symbol, names in NAMES.items():
        assert {metric.symbol for name in names for metric in find_metrics(name)} == {symbol}
    assert ws.score(references=["a"], queries=["a"], distance=LINE, metrics=["TL"]).metrics == ["PL"]
    assert set(ALIASES.values()) == set(KNOWN)


def test_metrics_of_ones_own_are_known_to_their_table_only() -> None:
    mine = measured(farthest)
    table = ws.score(references=["ab"], queries=["ab"], distance=LINE, metrics=[mine, "nDTW"])
    assert table.own_metrics == {"mine": mine}
    assert table.metric("mine") is mine
    assert table.metric("nDTW") is ws.METRICS["nDTW"]
    with pytest.raises(ws.OptionError, match=r"there is no metric 'mine'\. Known: PL"):
        find_metrics("mine")
    assert find_metric("mine").direction is None
    with pytest.raises(ws.OptionError, match="two different metrics have the symbol 'mine'"):
        find_metrics([mine, measured(len, "mine")])  # type: ignore[arg-type]
