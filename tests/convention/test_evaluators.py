"""Evaluators by hand: an episode that shows what is peculiar to each, and every known disagreement with both numbers.

D1 to D13 are the numbers under which the documentation lists the disagreements.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from rapidfuzz.distance import OSA, Levenshtein

import wayscore as ws
from wayscore.convention import PAPER
from wayscore.convention.applied import apply_path_step
from wayscore.episodes import Query, Reference, References, Run
from wayscore.metrics.evaluators.rooms import between_waypoints
from wayscore.metrics.evaluators.streets import edit_distance

LINE = ws.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")], [1.0, 2.0, 3.0, 4.0])
RING = ws.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")], directed=True)
APART = ws.Graph.from_edges([("a", "b"), ("x", "y")], [1.0, 1.0])
"""From a and b no way leads to x and y."""
SQUARE = ws.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")], [1.0, 2.0, 3.0, 4.0])
"""From a to d it is 4 m direct and 6 m around."""


def score(reference: Any, query: Any, convention: Any, **options: Any) -> dict[str, float]:
    """Score one episode; the values by metric."""
    for name in ("start_distances", "stopped", "dense", "goals", "goal_distances"):
        if name in options:
            options[name] = [options[name]]
    table = ws.score(references=[reference], queries=[query], convention=convention, **options)
    return {symbol: float(values[0]) for symbol, values in table.columns.items()}


def test_touchdown_vlnt() -> None:
    # Two neighbours swapped on the way: one edit of four places, and two hops of warping.
    found = score("abcd", "acbd", "touchdown-vlnt", distance=LINE)
    assert found["SED"] == 1 - 1 / 4
    assert found["DTW"] == 2.0
    assert found["nDTW"] == pytest.approx(math.exp(-2 / (2 * math.sqrt(4))))
    assert found["CLS"] == 1.0
    # A neighbour of the goal is a success, two hops off is not.
    assert [score("abc", query, "touchdown-vlnt", distance=LINE)["SR"] for query in ("abc", "ab", "a")] == [1, 1, 0]
    # Coverage decays over one hop, and lengths are numbers of places.
    coverage = (1 + math.exp(-1) + math.exp(-2)) / 3
    expected = 3 * coverage
    found = score("abc", "a", "touchdown-vlnt", distance=LINE)
    assert found["CLS"] == pytest.approx(coverage * expected / (expected + abs(expected - 1)))


def test_touchdown_valan() -> None:
    # One hop short of the goal along the links: one edit of 3 x 2.
    found = score("abc", "ab", "touchdown-valan", distance=RING)
    assert (found["NE"], found["SR"], found["DTW"]) == (1.0, 1.0, 1 / 3)  # what it prints as dtw is divided by |R|
    assert found["SED"] == 1 - 1 / 6
    assert found["nDTW"] == pytest.approx(math.exp(-1 / (3 * 2)))
    # One link past the goal it is three hops back, the way the links lead; both ways it is one.
    past = score("ab", "abc", "touchdown-valan", distance=RING)
    assert (past["NE"], past["SR"], past["DTW"]) == (3.0, 0.0, 3 / 2)
    assert score("ab", "abc", "touchdown-vlnt", distance=RING)["NE"] == 1.0


def test_internnav_pe() -> None:
    asked = [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0]]
    halfway = score(asked, [[0.0, 0.0, 5.0], [2.0, 0.0, 9.0]], "internnav-pe", start_distances=5.0)
    assert halfway["NE"] == 2.0
    assert halfway["PL"] == 2.0
    assert (halfway["SR"], halfway["SPL"]) == (1.0, 1.0)
    assert halfway["proximity"] == pytest.approx((1 + math.exp(-4 / 18)) / 2)
    # An agent that never moves has no SPL, even near the goal.
    assert score(asked, [[2.0, 0.0, 9.0]], "internnav-pe", start_distances=5.0)["SPL"] == 0.0
    # A start at the goal is not looked at; nor are positions of actions that did not finish.
    assert score(asked, [[4.0, 0.0, 0.0], [0.0, 0.0, 0.0]], "internnav-pe", start_distances=4.0)["OSR"] == 0.0
    walk = [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    recorded = {"finished": [[False, False, True]]}
    assert score(asked, walk, "internnav-pe", start_distances=4.0)["OSR"] == 1.0
    assert score(asked, walk, "internnav-pe", start_distances=4.0, recorded=recorded)["OSR"] == 0.0


def test_the_plane_is_what_is_left_without_the_axis_that_points_up() -> None:
    asked, done = [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0]], [[0.0, 9.0, 0.0], [4.0, 9.0, 2.0]]
    by_axis = [score(asked, done, "citynav", up_axis=axis, metrics="NE")["NE"] for axis in (0, 1, 2)]
    assert by_axis == [pytest.approx(math.hypot(9, 2)), 2.0, 9.0]
    with pytest.raises(ws.OptionError, match="up_axis must be 0, 1 or 2"):
        score(asked, done, "citynav", up_axis=3)


def test_habitat() -> None:
    # Three of four metres nearer by a walk of four: success is soft.
    found = score([[0.0], [4.0]], [[0.0], [3.5], [3.0]], "habitat-pointnav", start_distances=4.0)
    assert found == {"NE": 1.0, "SR": 0.0, "SPL": 0.0, "SoftSPL": pytest.approx(0.75)}


def test_the_nearest_of_several_goals_and_view_points() -> None:
    asked, done = [[0.0], [9.0]], [[0.0], [3.9]]
    found = score(asked, done, "habitat-pointnav", goals=[[9.0], [4.0]], metrics="NE,SR")
    assert found == {"NE": pytest.approx(0.1), "SR": 1.0}
    options: dict[str, Any] = {"references": [asked], "queries": [done], "metrics": "NE,SR"}
    options["convention"] = "habitat-objectnav"
    table = ws.score(**options, views=[[[[9.0]], [[3.5], [3.95]]]])
    assert (table["NE"][0], table["SR"][0]) == (pytest.approx(0.05), 1.0)
    assert ws.score(**options)["SR"].tolist() == [0.0]


def test_the_simulators_distances() -> None:
    # Three metres through the wall, five on foot: only lengths and warping are Euclid's.
    asked, done = [[0.0], [8.0]], [[0.0], [5.0]]
    options: dict[str, Any] = {"dense": asked, "metrics": "NE,ONE,SR,OSR,SPL,PL,nDTW", "stopped": True}
    found = score(asked, done, "vlnce", goal_distances=[10.0, 2.5], **options)
    assert (found["NE"], found["SR"], found["SPL"], found["PL"]) == (2.5, 1.0, 1.0, 5.0)
    assert found["nDTW"] == pytest.approx(math.exp(-3 / (2 * 3)))
    unreachable = score(asked, done, "vlnce", goal_distances=[math.inf, math.inf], **options)
    assert (unreachable["NE"], unreachable["ONE"], unreachable["SR"], unreachable["SPL"]) == (math.inf, math.inf, 0, 0)
    with pytest.raises(ws.PathError, match="1 distances but 2 positions"):
        score(asked, done, "vlnce", goal_distances=[1.0], **options)
    with pytest.raises(ws.PathError, match="must not be negative or NaN"):
        score(asked, done, "vlnce", goal_distances=[1.0, math.nan], **options)


def test_what_was_not_recorded_is_counted_and_said() -> None:
    straight = ws.score(
        references=[[[0.0], [8.0]]] * 2,
        queries=[[[0.0], [5.0]]] * 2,
        start_distances=[8.0, 8.0],
        stopped=[True, None],
        convention="streamvln",
    )
    assert straight.settings["unrecorded"] == {"goal_distances": 2, "stopped": 1}
    assert [warning.partition(":")[0] for warning in straight.warnings] == [
        "2 of 2 episodes have no `goal_distances`",
        "1 of 2 episodes have no `stopped`",
    ]
    objects = ws.score(
        references=["ab"] * 3,
        queries=["ab"] * 3,
        distance=LINE,
        goals=["b"] * 3,
        objects=[("7", "7"), ("7", ""), ("7", None)],
        convention="reverie",
    )
    assert objects["RGS"].tolist() == [1.0, 0.0, math.inf]
    assert objects.warnings == ["1 of 3 episodes have no `predicted_object`: RGS and RGSPL are undefined there"]


def test_aerialvln() -> None:
    # Thirty metres above the goal is at the goal, and 30 m off the path.
    asked, done = [[0.0, 0.0, 0.0], [40.0, 0.0, 0.0]], [[0.0, 0.0, 0.0], [40.0, 0.0, 30.0]]
    found = score(asked, done, "aerialvln")
    assert (found["NE"], found["SR"], found["OSR"], found["PL"], found["steps"]) == (0.0, 1.0, 1.0, 50.0, 1.0)
    # Less than a metre further the error is not taken again.
    assert score(asked, [*done, [40.0, 0.9, 30.0]], "aerialvln")["NE"] == 0.0
    assert score(asked, [*done, [40.0, 1.1, 30.0]], "aerialvln")["NE"] == pytest.approx(1.1)
    assert found["nDTW"] == found["SDTW"] == pytest.approx(math.exp(-30 / (2 * 20)))


def test_openfly() -> None:
    # Fifteen metres short of a goal 40 m away: SPL is greater than 1.
    asked = [[0.0, 0.0, 0.0], [40.0, 0.0, 0.0]]
    assert score(asked, [[0.0, 0.0, 0.0], [25.0, 0.0, 0.0]], "openfly")["SPL"] == pytest.approx(40 / 25.001)
    assert score(asked, [[40.0, 0.0, 0.0], [0.0, 0.0, 0.0]], "openfly")["OSR"] == 0.0
    assert score(asked, [[40.0, 0.0, 0.0]], "openfly")["OSR"] == 1.0


def test_citynav() -> None:
    # Exactly 20 m away in the plane, with 30 m of height: within the threshold, and the way there has no height.
    asked, done = [[0.0, 0.0, 0.0], [40.0, 0.0, 0.0]], [[0.0, 0.0, 30.0], [20.0, 0.0, 0.0]]
    found = score(asked, done, "citynav", metrics="NE,SR,PL,SPL")
    assert found == {"NE": 20.0, "SR": 1.0, "PL": 20.0, "SPL": 1.0}
    assert score(asked, done, "aerialvln")["PL"] == pytest.approx(math.sqrt(20**2 + 30**2))


def continuous(query: Any, convention: str, *, stopped: bool = True, start_distance: float = 1.0) -> ws.Result:
    """Score a run of one episode, whose reference leads a metre straight ahead, with a dense path of five points."""
    path = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    reference = Reference("1", "S", path, "1", start_distance=start_distance, dense=np.linspace(path[0], path[1], 5))
    run = Run("agent", "vlnce", {"1": Query("1", np.asarray(query, dtype=np.float64), stopped)})
    asked = References("val.json", "vlnce", {"1": reference})
    return ws.evaluate(run, asked, convention=convention, start="keep", resamples=1)


def test_cwp() -> None:
    straight = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    found = {name: -15 * math.log(continuous(straight, name)["nDTW"][0]) for name in ("etpnav", "cwp", "cwp-waypoints")}
    # 0.25 + 0.5 + 0.25 to the nearer end; none where waypoints are sampled.
    assert found == {"etpnav": pytest.approx(1.0), "cwp": pytest.approx(1.0), "cwp-waypoints": pytest.approx(0.0)}
    late = [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0]]
    assert continuous(late, "cwp", stopped=False)["SR"].tolist() == [0.0]
    assert continuous(late, "etpnav", stopped=False)["SR"].tolist() == [1.0]
    assert continuous([[4.0, 0, 0]], "cwp")["SR"].tolist() == [1.0]
    assert continuous([[4.0, 0, 0]], "vlnce")["SR"].tolist() == [0.0]


def test_vlnce_takes_the_datasets_start_distance() -> None:
    # Five metres by the navmesh, six walked: the straight line of one metre does not matter.
    table = continuous([[0, 0, 0], [0, 0, 2.5], [1, 0, 0]], "vlnce", start_distance=5.0)
    walked = 2.5 + math.sqrt(1 + 2.5**2)
    assert table["SPL"][0] == pytest.approx(5.0 / max(5.0, walked))
    with pytest.raises(ws.PathError, match="there is no distance from start to goal"):
        score([[0.0]], [[0.0]], "vlnce", dense=[[0.0]])
    with pytest.raises(ws.PathError, match="warps to dense references, and none are given"):
        score([[0.0]], [[0.0]], "vlnce", start_distances=1.0)
    assert score([[0.0]], [[0.0]], "vlnce", metrics="SR") == {"SR": 1.0}


def test_reverie_duet() -> None:
    options = {"distance": SQUARE, "goals": "d"}
    assert score("abcd", "abcd", "reverie-duet", **options)["SPL"] == 1.0
    assert score("abcd", "abcd", "reverie", **options)["SPL"] == pytest.approx(4 / 6)


def test_d1_hops_in_place_of_metres() -> None:
    metres, hops = (score("abcd", "ab", name, distance=LINE)["nDTW"] for name in ("r4r", "r4r-hops"))
    assert metres == pytest.approx(math.exp(-(2 + 5) / (4 * 3)))
    assert hops == pytest.approx(math.exp(-(1 + 2) / (4 * 3)))


def test_d2_spl_by_the_shortest_way_or_by_the_reference() -> None:
    spl = {name: score("abcd", "abcd", name, distance=SQUARE)["SPL"] for name in ("paper", "envdrop", "duet")}
    assert spl == {"paper": pytest.approx(4 / 6), "envdrop": pytest.approx(4 / 6), "duet": 1.0}
    assert score("abcd", "ad", "duet", distance=SQUARE)["SPL"] == 1.0


def test_d3_the_square_root_of_the_length() -> None:
    options: dict[str, Any] = {"distance": LINE, "threshold": 3.0}
    assert score("abcd", "ab", "paper", **options)["nDTW"] == pytest.approx(math.exp(-7 / (4 * 3)))
    root = score("abcd", "ab", "paper", metrics="nDTW:touchdown-vlnt", **options)
    assert root["nDTW"] == pytest.approx(math.exp(-7 / (2 * 3)))


def test_d4_proximity_knows_neither_order_nor_coverage() -> None:
    # The reference backwards: every place lies on it.
    found = score([[0.0], [3.0], [6.0]], [[6.0], [3.0], [0.0]], "paper", metrics="nDTW,proximity")
    assert found["proximity"] == 1.0
    assert found["nDTW"] == pytest.approx(math.exp(-12 / 9))


def test_d5_density_of_sampling() -> None:
    sparse = [[0.0, 0.0], [2.0, 0.0], [4.0, 0.0]]
    beside = [[0.0, 0.5], [2.0, 0.5], [4.0, 0.5]]
    dense = apply_path_step([beside], 0.25)[0]
    assert len(dense) == 17
    as_given = score(sparse, beside, "paper")["nDTW"]
    assert as_given == pytest.approx(math.exp(-3 * 0.5 / (3 * 3)))
    denser = score(sparse, dense, "paper")["nDTW"]
    assert denser < 0.4 < as_given  # the same way, walked in smaller steps
    even = replace(PAPER, name="even", path_step=0.25)
    assert score(sparse, dense, even)["nDTW"] == pytest.approx(score(sparse, beside, even)["nDTW"])
    assert score(sparse, dense, even)["NE"] == score(sparse, dense, "paper")["NE"]


def test_d6_fast_warping_is_not_exact() -> None:
    rng = np.random.default_rng(3)
    R, Q = (rng.normal(size=(400, 3)).cumsum(axis=0) for _ in range(2))
    exact, fast = (score(R, Q, name, dense=R, metrics="DTW")["DTW"] for name in ("vlnce-exact", "vlnce"))
    assert exact == pytest.approx(ws.dtw(reference=R, query=Q))
    assert fast == ws.fast_dtw(reference=R, query=Q, radius=1).cost > 1.01 * exact


def test_d7_fast_warping_depends_on_how_ties_are_broken() -> None:
    # Steps on a grid tie often. Walked backwards, ties fall the other way: the exact cost stays, the fast one does not.
    rng = np.random.default_rng(46)
    R, Q = (rng.integers(-1, 2, size=(200, 2)).cumsum(axis=0).astype(float) for _ in range(2))
    forth, back = (ws.fast_dtw(reference=R[::way], query=Q[::way]).cost for way in (1, -1))
    assert back > 1.04 * forth
    assert ws.dtw(reference=R, query=Q) == pytest.approx(ws.dtw(reference=R[::-1], query=Q[::-1]))
    assert min(forth, back) >= ws.dtw(reference=R, query=Q)
    # The package's two builds break them differently too.
    builds = [replace(PAPER, name=warping, warping=warping) for warping in ("fast", "fast-compiled")]  # type: ignore[arg-type]
    found = [score(R, Q, build, metrics="DTW")["DTW"] for build in builds]
    assert found == [forth, ws.fast_dtw(reference=R, query=Q, build="compiled").cost]
    assert found[0] != found[1]


def test_d8_warping_is_not_divided_by_both_lengths() -> None:
    # Old versions of a package returned DTW / (|R| + |Q|); two paths 1 m apart cost 1 m a place.
    R, Q = [[0.0, 0.0], [5.0, 0.0]], [[0.0, 1.0], [5.0, 1.0]]
    found = score(R, Q, "paper")
    assert found["DTW"] == 2.0
    assert found["nDTW"] == pytest.approx(math.exp(-2 / 6))
    assert found["nDTW"] != pytest.approx(math.exp(-(2 / 4) / 6))


def test_d9_at_exactly_the_threshold() -> None:
    found = [score("ab", "a", name, distance=LINE, threshold=1.0)["SDTW"] for name in ("r4r", "duet")]
    assert found == [pytest.approx(math.exp(-1 / 2)), 0.0]


def test_d10_straight_or_along_the_graph() -> None:
    # Two sides of a wall: 2 m apart in space, 6 m along the corridor.
    places = {"near": (0.0, 0.0), "door": (3.0, 1.0), "far": (0.0, 2.0)}
    graph = ws.Graph.from_edges([("near", "door"), ("door", "far")], [3.0, 3.0], positions=places)
    along = score(["near", "door", "far"], ["near"], "paper", distance=graph)
    straight = score([places[name] for name in ("near", "door", "far")], [places["near"]], "paper")
    assert (along["NE"], along["SR"]) == (6.0, 0.0)
    assert (straight["NE"], straight["SR"]) == (2.0, 1.0)


def test_d11_who_must_stop() -> None:
    found = [score([[0.0]], [[1.0]], name, stopped=False, metrics="SR")["SR"] for name in ("vlnce", "etpnav")]
    assert found == [0.0, 1.0]


def test_d12_what_no_way_exists_for() -> None:
    options: dict[str, Any] = {"references": ["ab", "ax"], "queries": ["a", "a"], "distance": APART}
    options["dense"] = options["references"]
    dropped = ws.score(**options, convention="internnav-h", metrics="NE,nDTW")
    zeroed = ws.score(**options, convention="navid", metrics="NE,nDTW")
    assert dropped.means()["NE"] == 1.0
    assert dropped.undefined() == {"NE": 1}
    assert zeroed.means()["NE"] == 0.5  # the episode without a way improves the error
    assert zeroed.settings["zeroed"] == {"NE": 1}
    assert dropped["nDTW"].tolist() == zeroed["nDTW"].tolist()


def test_what_became_zero_is_signed() -> None:
    asked = References("r.json", "r2r", {name: Reference(name, "s", ["a", name], name) for name in ("b", "x")})
    run = Run("agent", "r2r", {name: Query(name, ["a"]) for name in ("b", "x")})
    result = ws.evaluate(run, asked, graphs={"s": APART}, convention="navid", metrics="NE", threshold=1.0, resamples=10)
    assert "|undefined:zero-1" in str(result.signature)


def test_d13_repeated_places() -> None:
    kept, dropped = (
        score("abc", "abbbc", rules, distance=LINE, metrics="DTW,SED")
        for rules in ("duet", replace(PAPER, name="once", repeats="drop"))
    )
    assert (kept["DTW"], dropped["DTW"]) == (0.0, 0.0)
    assert (kept["SED"], dropped["SED"]) == (1 - 2 / 4, 1.0)
    thrice, once = (
        score("ab", "acccb", rules, distance=LINE, metrics="DTW")["DTW"]
        for rules in ("duet", replace(PAPER, name="once", repeats="drop"))
    )
    assert (thrice, once) == (6.0, 2.0)


@pytest.mark.parametrize("seed", range(20))
def test_edit_distances_against_a_library(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = ("".join(rng.choice(list("abcd"), size=rng.integers(0, 12))) for _ in range(2))
    assert edit_distance(a, b) == Levenshtein.distance(a, b)
    assert edit_distance(a, b, swaps=True) == OSA.distance(a, b)


def test_the_first_time_within_the_threshold() -> None:
    # Past the goal and away: an oracle would have stopped after 4 of the 8 metres.
    found = score(
        [[0.0], [4.0]], [[0.0], [2.0], [4.0], [8.0]], "paper", threshold=1.0, metrics="SPL,OSPL,SoftSPL,LS,PC"
    )
    assert (found["SPL"], found["OSPL"], found["SoftSPL"]) == (0.0, 1.0, 0.0)
    assert (found["PC"], found["LS"]) == (1.0, pytest.approx(4 / 8))
    assert score([[0.0], [4.0]], [[0.0], [9.0]], "paper", threshold=1.0, metrics="OSPL")["OSPL"] == 0.0
    still = score([[0.0], [0.0]], [[0.0]], "paper", metrics="SPL,OSPL,SoftSPL")
    assert set(still.values()) == {1.0}
    left = score([[0.0], [0.0]], [[0.0], [1.0]], "paper", metrics="SPL,OSPL,SoftSPL")
    assert left == {"SPL": 0.0, "OSPL": 1.0, "SoftSPL": 0.0}


def test_no_way_is_never_nan_in_extra_metrics() -> None:
    for reference, query in (("ax", "a"), ("ax", "b"), ("xa", "a"), ("aa", "x"), ("ax", "xa")):
        for convention in ("paper", "duet", "valan"):
            found = score(
                reference, query, convention, distance=APART, metrics="SPL,OSPL,SoftSPL,PC,LS,CLS,proximity,GP,SED,SDTW"
            )
            assert not any(map(math.isnan, found.values())), (reference, query, found)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ([[0.0], [1.0]], [[0.0], [0.5], [1.0]]),
        ([[0.0], [0.1], [0.2], [1.0]], [[0.0], [0.5], [1.0]]),
        ([[0.0], [0.0]], [[0.0]]),
        ([[5.0]], [[5.0]]),
    ],
)
def test_a_path_step(path: Any, expected: Any) -> None:
    np.testing.assert_allclose(apply_path_step([np.array(path)], 0.5)[0], expected, atol=1e-12)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ([[0.0, 0.0], [0.75, 0.0]], [[0.0, 0.0], [0.25, 0.0], [0.5, 0.0], [0.75, 0.0]]),
        ([[0.0, 0.0], [0.4, 0.0]], [[0.0, 0.0], [0.4, 0.0]]),
        ([[0.0, 0.0], [0.6, 0.0]], [[0.0, 0.0], [0.25, 0.0], [0.6, 0.0]]),
        ([[5.0, 5.0]], [[5.0, 5.0]]),
        ([[0.0, 0.0, 0.0], [0.5, 1.0, 0.0]], [[0, 0, 0], [0.25, 0.5, 0], [0.5, 1.0, 0]]),
        ([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0, 0, 0], [0, 1.0, 0]]),
    ],
)
def test_points_between_waypoints(path: Any, expected: Any) -> None:
    np.testing.assert_allclose(between_waypoints(np.array(path), 1), expected, atol=1e-12)


def test_what_cannot_be_resampled_or_flattened() -> None:
    even = replace(PAPER, name="even", path_step=0.25)
    with pytest.raises(ws.OptionError, match=r"a path step of 0.25 m needs paths of coordinates"):
        score("ab", "a", even, distance=LINE)
    with pytest.raises(ws.OptionError, match="measures in the plane, which needs coordinates"):
        score("ab", "a", "citynav", distance=LINE)
    with pytest.raises(ws.OptionError, match="the path step must be a length above 0"):
        apply_path_step([[[0.0]]], 0.0)


TINY = ws.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")], [0.005, 2.0, 3.0, 4.0])
LONG = np.random.default_rng(3).normal(size=(2, 400, 3)).cumsum(axis=1)
LONG[:, -1] = [[0.0, 0.0, 0.0], [3.0, 0.0, 0.0]]
PRINTED: dict[str, tuple[list[tuple[Any, Any]], dict[str, Any], dict[str, list[float]]]] = {
    # name: episodes (reference, query), circumstances, what comes out by hand
    "paper": ([("ab", "a")], {"distance": LINE, "threshold": 1.0}, {"SR": [1.0], "SPL": [1.0], "AD": [0.0]}),
    "r4r": ([("abc", "ab")], {"distance": LINE}, {"DTW": [2.0], "nDTW": [math.exp(-2 / 9)]}),
    "r4r-hops": ([("abc", "ab")], {"distance": LINE}, {"DTW": [1.0], "nDTW": [math.exp(-1 / 9)]}),
    "r2r": ([("ab", "a")], {"distance": LINE, "threshold": 1.0}, {"NE": [1.0], "SR": [0.0], "SPL": [0.0]}),
    "envdrop": ([("abab", "ab")], {"distance": TINY}, {"SPL": [0.005 / 0.01]}),
    "duet": ([("abcd", "abcd")], {"distance": TINY}, {"SPL": [1.0]}),
    "valan": (
        [("abab", "ab"), ("abab", "abab"), ("ab", "a")],
        {"distance": TINY, "threshold": 0.005},
        {"SR": [1.0, 1.0, 0.0], "SPL": [1.0, 1 / 3, 0.0]},
    ),
    "cvdn": ([("abc", "ab")], {"distance": LINE, "goals": ["ce"]}, {"GP": [1.0], "NE": [2.0], "SR": [1.0]}),
    "cvdn-hamt": ([("abc", "abcd")], {"distance": LINE, "goals": ["de"]}, {"SR": [1.0], "SPL": [1.0], "GP": [6.0]}),
    "reverie": ([("abcd", "abcbc")], {"distance": SQUARE, "goals": ["c"]}, {"SR": [1.0], "SPL": [4 / 7]}),
    "vlnce": (
        [(LONG[0], LONG[1])],
        {"start_distances": [5.0], "dense": [LONG[0]]},
        {"SR": [0.0], "nDTW": [math.exp(-ws.fast_dtw(reference=LONG[0], query=LONG[1]).cost / (400 * 3))]},
    ),
    "vlnce-exact": (
        [(LONG[0], LONG[1])],
        {"start_distances": [5.0], "dense": [LONG[0]]},
        {"nDTW": [math.exp(-ws.dtw(reference=LONG[0], query=LONG[1]) / (400 * 3))]},
    ),
    "etpnav": (
        [([[0.0], [2.0]], [[0.0], [5.0]])],
        {"dense": [[[0.0], [1.0], [2.0]]], "start_distances": [5.0]},
        {"NE": [3.0], "SR": [1.0], "SPL": [1.0], "nDTW": [math.exp(-4 / 9)]},
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_what_this_evaluator_prints(name: str) -> None:
    episodes, options, expected = PRINTED[name]
    references, queries = zip(*episodes, strict=True)
    table = ws.score(references=references, queries=queries, convention=name, **options)
    for symbol, values in expected.items():
        assert table[symbol].tolist() == pytest.approx(values), symbol
