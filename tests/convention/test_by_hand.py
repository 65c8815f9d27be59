"""Evaluators by hand: an episode that shows what is peculiar to each, and every known disagreement with both numbers.

D1 to D13 are the numbers under which the documentation lists the disagreements.
"""

from __future__ import annotations

import math
from dataclasses import replace
from math import exp, inf
from typing import Any

import numpy as np
import pytest
from rapidfuzz.distance import OSA, Levenshtein

import wayscore as ws
from wayscore.convention import PAPER, Convention
from wayscore.convention.applied import apply_path_step
from wayscore.formats.episodes import Query, Reference, References, Run
from wayscore.metrics.evaluators.graphs import edit_distance
from wayscore.metrics.evaluators.rooms import between_waypoints
from wayscore.paths import without_repeats

LINE = ws.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")], [1.0, 2.0, 3.0, 4.0])
RING = ws.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")], directed=True)
APART = ws.Graph.from_edges([("a", "b"), ("x", "y")], [1.0, 1.0])
"""From a and b no way leads to x and y."""
SQUARE = ws.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")], [1.0, 2.0, 3.0, 4.0])
"""From a to d it is 4 m direct and 6 m around."""
TINY = ws.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")], [0.005, 2.0, 3.0, 4.0])
PLACES = {"near": (0.0, 0.0), "door": (3.0, 1.0), "far": (0.0, 2.0)}
WALL = ws.Graph.from_edges([("near", "door"), ("door", "far")], [3.0, 3.0], positions=PLACES)
"""Two sides of a wall: 2 m apart in space, 6 m along the corridor."""
FOUR, FORTY = ([[0.0, 0.0, 0.0], [length, 0.0, 0.0]] for length in (4.0, 40.0))
METRE = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
AROUND = [METRE[0], [0.0, 0.0, 2.5], METRE[1]]
HIGH, DOWN = [[0.0, 0.0, 5.0], [2.0, 0.0, 9.0]], [[0.0, 0.0, 30.0], [20.0, 0.0, 0.0]]
ABOVE = [[0.0, 0.0, 0.0], [40.0, 0.0, 30.0]]
DENSE: dict[str, Any] = {"dense": np.linspace(*METRE, 5), "start_distances": 1.0}
EIGHT: dict[str, Any] = {"dense": [[0.0], [8.0]], "stopped": True}
NEAR = (1 + exp(-1) + exp(-2)) / 3
"""Coverage of three nodes in a line by the first of them, decaying over one hop."""


def x(*along: float) -> list[list[float]]:
    """Return points on a line."""
    return [[float(at)] for at in along]


def own(**choices: Any) -> Convention:
    return replace(PAPER, name="changed", **choices)


def score(reference: Any, query: Any, convention: Any, **options: Any) -> dict[str, float]:
    """Score one episode; the values by metric."""
    for name in ("start_distances", "stopped", "dense", "goals", "goal_distances", "views"):
        if name in options:
            options[name] = [options[name]]
    table = ws.score(references=[reference], queries=[query], convention=convention, **options)
    return {symbol: float(values[0]) for symbol, values in table.columns.items()}


def on(graph: ws.Graph, **options: Any) -> dict[str, Any]:
    return {"distance": graph, **options}


EPISODES: list[tuple[Any, Any, Any, dict[str, Any], dict[str, float]]] = [
    # convention, reference, query, circumstances, what comes out by hand
    ("paper", "ab", "a", on(LINE, threshold=1.0), {"SR": 1.0, "SPL": 1.0, "AD": 0.0}),
    # Two neighbours swapped on the way: one edit of four nodes, and two hops of warping.
    ("touchdown-vlnt", "abcd", "acbd", on(LINE), {"SED": 3 / 4, "DTW": 2.0, "nDTW": exp(-2 / 4), "CLS": 1.0}),
    # A neighbour of the goal is a success, two hops off is not; lengths are numbers of nodes.
    ("touchdown-vlnt", "abc", "ab", on(LINE), {"SR": 1.0}),
    ("touchdown-vlnt", "abc", "a", on(LINE), {"SR": 0.0, "CLS": NEAR * 3 * NEAR / (3 * NEAR + 3 * NEAR - 1)}),
    # One hop short of the goal along the links: one edit of 3 x 2; what it prints as dtw is divided by |R|.
    ("touchdown-valan", "abc", "ab", on(RING), {"NE": 1, "SR": 1, "DTW": 1 / 3, "SED": 5 / 6, "nDTW": exp(-1 / 6)}),
    # One link past the goal it is three hops back, the way the links lead; both ways it is one.
    ("touchdown-valan", "ab", "abc", on(RING), {"NE": 3.0, "SR": 0.0, "DTW": 3 / 2}),
    ("touchdown-vlnt", "ab", "abc", on(RING), {"NE": 1.0}),
    ("internnav-pe", FOUR, HIGH, {"start_distances": 5.0}, {"NE": 2.0, "PL": 2.0, "SR": 1.0, "SPL": 1.0}),
    ("internnav-pe", FOUR, HIGH, {}, {"proximity": (1 + exp(-4 / 18)) / 2}),
    # An agent that never moves has no SPL, even near the goal.
    ("internnav-pe", FOUR, [[2.0, 0.0, 9.0]], {"start_distances": 5.0}, {"SPL": 0.0}),
    # A start at the goal is not looked at; nor are positions of actions that did not finish.
    ("internnav-pe", FOUR, FOUR[::-1], {"start_distances": 4.0}, {"OSR": 0.0}),
    ("internnav-pe", FOUR, [*FOUR, FOUR[0]], {"start_distances": 4.0}, {"OSR": 1.0}),
    ("internnav-pe", FOUR, [*FOUR, FOUR[0]], {"recorded": {"finished": [[False, False, True]]}}, {"OSR": 0.0}),
    # The plane is what is left without the axis that points up.
    *(
        ("citynav", FOUR, [[0.0, 9.0, 0.0], [4.0, 9.0, 2.0]], {"up_axis": axis}, {"NE": error})
        for axis, error in enumerate((math.hypot(9, 2), 2.0, 9.0))
    ),
    # Three of four metres nearer by a walk of four: success is soft.
    ("habitat-pointnav", x(0, 4), x(0, 3.5, 3), {"start_distances": 4.0}, {"NE": 1.0, "SR": 0.0, "SoftSPL": 0.75}),
    ("habitat-pointnav", x(0, 4), x(0, 3.5, 3), {"start_distances": 4.0}, {"SPL": 0.0}),
    ("habitat-pointnav", x(0, 9), x(0, 3.9), {"goals": x(9, 4)}, {"NE": 0.1, "SR": 1.0}),
    ("habitat-objectnav", x(0, 9), x(0, 3.9), {"views": [x(9), [[3.5], [3.95]]]}, {"NE": 0.05, "SR": 1}),
    ("habitat-objectnav", x(0, 9), x(0, 3.9), {}, {"SR": 0.0}),
    # Three metres through the wall, two and a half on foot: only lengths and warping are Euclid's.
    ("vlnce", x(0, 8), x(0, 5), {**EIGHT, "goal_distances": [10.0, 2.5]}, {"NE": 2.5, "SR": 1, "SPL": 1, "PL": 5}),
    ("vlnce", x(0, 8), x(0, 5), {**EIGHT, "goal_distances": [10.0, 2.5]}, {"nDTW": exp(-3 / 6)}),
    ("vlnce", x(0, 8), x(0, 5), {**EIGHT, "goal_distances": [inf, inf]}, {"NE": inf, "ONE": inf, "OSR": 0, "SPL": 0}),
    # Five metres by the dataset, six walked: the straight line of one metre does not matter.
    ("vlnce", METRE, AROUND, {"start_distances": 5.0}, {"SPL": 5 / (2.5 + math.hypot(1, 2.5))}),
    ("vlnce", x(0), x(0), {}, {"SR": 1.0}),
    # 0.25 + 0.5 + 0.25 m from dense points to the nearer end; none where waypoints are sampled.
    ("etpnav", METRE, METRE, DENSE, {"nDTW": exp(-1 / 15)}),
    ("cwp", METRE, METRE, DENSE, {"nDTW": exp(-1 / 15)}),
    ("cwp-waypoints", METRE, METRE, DENSE, {"nDTW": 1.0}),
    # At exactly the threshold, stopped or not.
    ("cwp", METRE, FOUR, {"stopped": False}, {"SR": 0.0}),
    ("cwp", METRE, FOUR[1:], {"stopped": True}, {"SR": 1.0}),
    ("etpnav", METRE, FOUR, {"stopped": False}, {"SR": 1.0}),
    ("vlnce", METRE, FOUR[1:], {"stopped": True}, {"SR": 0.0}),
    ("etpnav", x(0, 2), x(0, 5), {"start_distances": 5.0}, {"NE": 3.0, "SR": 1.0, "SPL": 1.0}),
    ("etpnav", x(0, 2), x(0, 5), {"dense": x(0, 1, 2)}, {"nDTW": exp(-4 / 9)}),
    # Thirty metres above the goal is at the goal, and 30 m off the path.
    ("aerialvln", FORTY, ABOVE, {}, {"NE": 0.0, "SR": 1.0, "OSR": 1.0, "PL": 50.0, "steps": 1.0}),
    ("aerialvln", FORTY, ABOVE, {}, {"nDTW": exp(-30 / 40), "SDTW": exp(-30 / 40)}),
    # Less than a metre further the error is not taken again.
    ("aerialvln", FORTY, [*ABOVE, [40.0, 0.9, 30.0]], {}, {"NE": 0.0}),
    ("aerialvln", FORTY, [*ABOVE, [40.0, 1.1, 30.0]], {}, {"NE": 1.1}),
    # Fifteen metres short of a goal 40 m away: SPL is greater than 1.
    ("openfly", FORTY, [[0.0, 0.0, 0.0], [25.0, 0.0, 0.0]], {}, {"SPL": 40 / 25.001}),
    ("openfly", FORTY, FORTY[::-1], {}, {"OSR": 0.0}),
    ("openfly", FORTY, FORTY[1:], {}, {"OSR": 1.0}),
    # Exactly 20 m away in the plane, with 30 m of height: within the threshold, and the way there has no height.
    ("citynav", FORTY, [[0.0, 0.0, 30.0], [20.0, 0.0, 0.0]], {}, {"NE": 20.0, "SR": 1.0, "PL": 20.0, "SPL": 1.0}),
    ("aerialvln", FORTY, DOWN, {}, {"PL": math.hypot(20, 30)}),
    ("citynav", [[0.0, 0.0, 9.0]], [[0.0, 0.0, 5.0]], {"goals": [[3.0, 4.0, 1.0]]}, {"GP": 0.0, "NE": 0.0}),
    # Goals: the nearest counts for progress; the reference's end where none is named.
    ("paper", "abcd", "ab", on(SQUARE, goals="cd"), {"GP": 1.0, "NE": 5.0, "steps": 1.0}),
    ("paper", "abcd", "abcd", on(SQUARE, goals="d"), {"GP": 4.0, "NE": 0.0, "steps": 3.0, "PC": 1.0}),
    ("paper", "abcd", "ab", on(SQUARE, goals=""), {"GP": -1.0}),
    ("paper", "ab", "ab", on(APART, goals="x"), {"GP": inf}),
    ("paper", "ab", "xy", on(APART, goals="b"), {"GP": inf}),
    ("cvdn", "abc", "ab", on(LINE, goals="ce"), {"GP": 1.0, "NE": 2.0, "SR": 1.0}),
    ("cvdn-hamt", "abc", "abcd", on(LINE, goals="de"), {"SR": 1.0, "SPL": 1.0, "GP": 6.0}),
    ("reverie", "abcd", "abcbc", on(SQUARE, goals="c"), {"SR": 1.0, "SPL": 4 / 7}),
    ("reverie", "abcd", "abcd", on(SQUARE, goals="d"), {"SPL": 4 / 6}),
    ("reverie-duet", "abcd", "abcd", on(SQUARE, goals="d"), {"SPL": 1.0}),
    # b is a goal, 5 m from d: one of three edges was walked.
    ("reverie", "abcd", "ab", on(SQUARE, goals="b"), {"NE": 5.0, "SED": 1 / 3}),
    # Goals that must be reached themselves; from a it is 1 m to b, 3 m to c, 4 m to d. The reference ends at d.
    *(
        (name, "abcd", query, on(SQUARE, goals=goals), {"SR": success, "OSR": oracle, "SPL": spl[name]})
        for query, goals, success, oracle, *both in (
            ("ab", "bc", 1.0, 1.0, 1.0, 1.0),  # at a goal, the nearest one
            ("abc", "b", 0.0, 1.0, 0.0, 0.0),  # passed the goal and left it
            ("abc", "c", 1.0, 1.0, 1.0, 1.0),
            ("abcd", "d", 1.0, 1.0, 4 / 6, 4 / 6),  # the long way round
            ("abcba", "a", 1.0, 1.0, 0.0, 4 / 6),  # back at a start that is a goal
            ("ad", "b", 0.0, 0.0, 0.0, 0.0),  # one metre off is off
        )
        for spl in [dict(zip(("cvdn-hamt", "reverie"), both, strict=True))]
        for name in spl
    ),
    # A start at the goal, for an agent that stays and one that leaves and comes back.
    *(
        (name, "aba", query, on(SQUARE), {"SPL": spl})
        for name, stayed, left in (("paper", 1, 0), ("envdrop", 0, 0), ("valan", 0, 0), ("duet", 1, 1))
        for query, spl in (("a", stayed), ("aba", left))
    ),
    ("valan", "abab", "abab", on(TINY, threshold=0.006), {"SR": 1.0, "SPL": 1 / 3}),
    ("envdrop", "abab", "ab", on(TINY), {"SPL": 0.005 / 0.01}),
    # An oracle would have stopped after 4 of the 8 metres.
    ("paper", x(0, 4), x(0, 2, 4, 8), {"threshold": 1.0}, {"SPL": 0.0, "OSPL": 1.0, "SoftSPL": 0.0, "LS": 4 / 8}),
    ("paper", x(0, 4), x(0, 9), {"threshold": 1.0}, {"OSPL": 0.0}),
    ("paper", x(0, 0), x(0), {}, {"SPL": 1.0, "OSPL": 1.0, "SoftSPL": 1.0}),
    ("paper", x(0, 0), x(0, 1), {}, {"SPL": 0.0, "OSPL": 1.0, "SoftSPL": 0.0}),
    # D1: hops in place of metres.
    ("r4r", "abcd", "ab", on(LINE), {"DTW": 7.0, "nDTW": exp(-(2 + 5) / 12)}),
    ("r4r-hops", "abcd", "ab", on(LINE), {"DTW": 3.0, "nDTW": exp(-(1 + 2) / 12)}),
    # D2: SPL by the shortest way or by the reference.
    *(
        (name, "abcd", "abcd", on(SQUARE), {"SPL": spl})
        for name, spl in (("paper", 2 / 3), ("envdrop", 2 / 3), ("duet", 1))
    ),
    ("duet", "abcd", "ad", on(SQUARE), {"SPL": 1.0}),
    # D3: the square root of the length.
    ("paper", "abcd", "ab", on(LINE), {"nDTW": exp(-7 / 12)}),
    ("paper", "abcd", "ab", on(LINE), {"nDTW:touchdown-vlnt": exp(-7 / 6)}),
    # D4: proximity knows neither order nor coverage. The reference backwards: every point lies on it.
    ("paper", x(0, 3, 6), x(6, 3, 0), {}, {"proximity": 1.0, "nDTW": exp(-12 / 9)}),
    # D8: warping is not divided by both lengths, as old versions of a package did.
    ("paper", [[0.0, 0.0], [5.0, 0.0]], [[0.0, 1.0], [5.0, 1.0]], {}, {"DTW": 2.0, "nDTW": exp(-2 / 6)}),
    # D9: at exactly the threshold; b is 5 m from d.
    *(
        (name, "abcd", query, on(SQUARE, threshold=5.0), {"SR": success, **oracle})
        for name in ("paper", "r4r", "r2r", "envdrop", "duet", "valan")
        for success in [float(name in ("paper", "r4r"))]
        for query, oracle in (("ab", {}), ("abcdcb", {"OSR": 1.0}))
    ),
    ("r4r", "ab", "a", on(LINE, threshold=1.0), {"SDTW": exp(-1 / 2)}),
    ("duet", "ab", "a", on(LINE, threshold=1.0), {"SDTW": 0.0}),
    # D10: straight or along the graph.
    ("paper", [*PLACES], ["near"], on(WALL), {"NE": 6.0, "SR": 0.0}),
    ("paper", [*PLACES.values()], [PLACES["near"]], {}, {"NE": 2.0, "SR": 1.0}),
    # D11: who must stop; what is not recorded counts as stopped.
    ("vlnce", x(0), x(1), {"stopped": False}, {"SR": 0.0}),
    ("etpnav", x(0), x(1), {"stopped": False}, {"SR": 1.0}),
    ("paper", "ab", "ab", on(LINE, stopped=False), {"SR": 1.0}),
    (own(stop="required"), "ab", "ab", on(LINE, stopped=False), {"SR": 0.0, "SDTW": 0.0, "nDTW": 1.0}),
    (own(stop="required"), "ab", "ab", on(LINE, stopped=None), {"SR": 1.0, "SDTW": 1.0, "nDTW": 1.0}),
    # D13: repeated nodes. The off-path node stands three times in the query: each costs what it is away.
    ("duet", "abc", "abbbc", on(LINE), {"DTW": 0.0, "SED": 1 - 2 / 4}),
    (own(repeats="drop"), "abc", "abbbc", on(LINE), {"DTW": 0.0, "SED": 1.0}),
    ("duet", "ab", "acccb", on(LINE), {"DTW": 6.0, "PL": 5.0}),
    (own(repeats="drop"), "ab", "acccb", on(LINE), {"DTW": 2.0, "PL": 5.0}),
    (own(repeats="drop"), x(0), x(2, 2, 2), {}, {"DTW": 2.0}),
]


@pytest.mark.parametrize(("convention", "reference", "query", "options", "expected"), EPISODES)
def test_one_episode(convention: Any, reference: Any, query: Any, options: dict[str, Any], expected: Any) -> None:
    found = score(reference, query, convention, metrics=[*expected], **options)
    assert found == pytest.approx(
        {key.partition(":")[0]: value for key, value in expected.items()}, rel=1e-12, abs=1e-12
    )


@pytest.mark.parametrize(
    ("convention", "reference", "query", "options", "match"),
    [
        (3, "ab", "ab", on(LINE), r"convention must be a name, a \.toml file or a Convention, got 3"),
        ("citynav", FOUR, FOUR, {"up_axis": 3}, "up_axis must be 0, 1 or 2"),
        ("vlnce", x(0, 8), x(0, 5), {**EIGHT, "goal_distances": [1.0]}, "1 distances but 2 positions"),
        ("vlnce", x(0, 8), x(0, 5), {**EIGHT, "goal_distances": [1.0, math.nan]}, "must not be negative or"),
        ("vlnce", x(0), x(0), {"dense": x(0)}, "there is no distance from start to goal"),
        ("vlnce", x(0), x(0), {"start_distances": 1.0}, "warps to dense references, and none are given"),
        ("r4r-hops", x(0), x(0), {}, "counts hops, which needs a Graph"),
        ("reverie", "ab", "ab", on(LINE), "the convention reverie asks whether a query ends at one of its goals"),
        ("paper", "a", "a", on(LINE, goals="q", metrics="GP"), "episode 0, goals, step 0: node 'q'"),
        (own(path_step=0.25), "ab", "a", on(LINE), "a path step of 0.25 m needs paths of coordinates"),
        ("citynav", "ab", "a", on(LINE), "measures in the plane, which needs coordinates"),
    ],
)
def test_mistakes(convention: Any, reference: Any, query: Any, options: dict[str, Any], match: str) -> None:
    with pytest.raises(ws.WayscoreError, match=match):
        score(reference, query, convention, **options)


def test_objects_that_were_not_recorded_are_counted_and_said() -> None:
    objects = [("7", "7"), ("7", ""), ("7", None)]
    paths: dict[str, Any] = {"references": ["ab"] * 3, "queries": ["ab"] * 3, "goals": ["b"] * 3}
    table = ws.score(**paths, distance=LINE, objects=objects, convention="reverie")
    assert table["RGS"].tolist() == [1.0, 0.0, inf]
    assert table.settings["unrecorded"] == {"predicted_object": 1}
    assert table.warnings == ["1 of 3 episodes have no `predicted_object`: RGS and RGSPL are undefined there"]


def test_d5_density_of_sampling() -> None:
    sparse = [[0.0, 0.0], [2.0, 0.0], [4.0, 0.0]]
    beside = [[0.0, 0.5], [2.0, 0.5], [4.0, 0.5]]
    dense = apply_path_step([beside], 0.25)[0]
    assert len(dense) == 17
    as_given = score(sparse, beside, "paper")["nDTW"]
    assert as_given == pytest.approx(exp(-3 * 0.5 / (3 * 3)))
    assert score(sparse, dense, "paper")["nDTW"] < 0.4 < as_given  # the same way, walked in smaller steps
    even = own(path_step=0.25)
    assert score(sparse, dense, even)["nDTW"] == pytest.approx(score(sparse, beside, even)["nDTW"])
    assert score(sparse, dense, even)["NE"] == score(sparse, dense, "paper")["NE"]


def test_d6_fast_warping_is_not_exact() -> None:
    rng = np.random.default_rng(3)
    R, Q = (rng.normal(size=(400, 3)).cumsum(axis=0) for _ in range(2))
    exact, fast = (score(R, Q, name, dense=R, metrics="DTW,nDTW") for name in ("vlnce-exact", "vlnce"))
    assert exact["DTW"] == ws.dtw(reference=R, query=Q)
    assert fast["DTW"] == ws.fast_dtw(reference=R, query=Q, radius=1).cost > 1.01 * exact["DTW"]
    assert [one["nDTW"] for one in (exact, fast)] == pytest.approx([exp(-one["DTW"] / 1200) for one in (exact, fast)])
    on_graph = score("abcd", "ad", own(warping="fast"), distance=SQUARE, metrics="DTW")
    assert on_graph["DTW"] == ws.fast_dtw(reference="abcd", query="ad", distance=SQUARE).cost


def test_d7_fast_warping_depends_on_how_ties_are_broken() -> None:
    # Steps on a grid tie often. Walked backwards, ties fall the other way: the exact cost stays, the fast one does not.
    rng = np.random.default_rng(46)
    R, Q = (rng.integers(-1, 2, size=(200, 2)).cumsum(axis=0).astype(float) for _ in range(2))
    forth, back = (ws.fast_dtw(reference=R[::way], query=Q[::way]).cost for way in (1, -1))
    assert back > 1.04 * forth
    assert ws.dtw(reference=R, query=Q) == pytest.approx(ws.dtw(reference=R[::-1], query=Q[::-1]))
    assert min(forth, back) >= ws.dtw(reference=R, query=Q)
    # The package's two builds break them differently too.
    found = [score(R, Q, own(warping=build), metrics="DTW")["DTW"] for build in ("fast", "fast-compiled")]
    assert found == [forth, ws.fast_dtw(reference=R, query=Q, build="compiled").cost]
    assert found[0] != found[1]


def test_d12_scores_of_unreachable_episodes() -> None:
    options: dict[str, Any] = {"references": ["ab", "ax"], "queries": ["a", "a"], "distance": APART}
    options["dense"] = options["references"]
    dropped = ws.score(**options, convention="internnav-h", metrics="NE,nDTW")
    zeroed = ws.score(**options, convention="navid", metrics="NE,nDTW")
    assert dropped.means()["NE"] == 1.0
    assert dropped.undefined() == {"NE": 1}
    assert zeroed.means()["NE"] == 0.5  # the unreachable episode improves the error
    assert zeroed.settings["zeroed"] == {"NE": 1}
    assert dropped["nDTW"].tolist() == zeroed["nDTW"].tolist()
    asked = References("r.json", "r2r", {name: Reference(name, "s", ["a", name], name) for name in ("b", "x")})
    run = Run("agent", "r2r", {name: Query(name, ["a"]) for name in ("b", "x")})
    result = ws.evaluate(run, asked, graphs={"s": APART}, convention="navid", metrics="NE", threshold=1.0, resamples=10)
    assert "|undefined:zero-1" in str(result.signature)


@pytest.mark.parametrize("convention", ["paper", "duet", "valan"])
@pytest.mark.parametrize(("reference", "query"), [("ax", "a"), ("ax", "b"), ("xa", "a"), ("aa", "x"), ("ax", "xa")])
def test_unreachable_is_never_nan(reference: str, query: str, convention: str) -> None:
    metrics = "SPL,OSPL,SoftSPL,PC,LS,CLS,proximity,GP,SED,SDTW"
    assert not any(map(math.isnan, score(reference, query, convention, distance=APART, metrics=metrics).values()))


def test_repeats_are_dropped_from_batches_too() -> None:
    paths = ["aab", "b", "bba"]
    batch = SQUARE.encode(paths)
    options: dict[str, Any] = {"references": ["ab"] * 3, "distance": SQUARE, "convention": own(repeats="drop")}
    assert ws.score(queries=batch, **options)["DTW"].tolist() == ws.score(queries=paths, **options)["DTW"].tolist()
    assert SQUARE.encode(without_repeats(batch)).lengths.tolist() == [2, 1, 2]


@pytest.mark.parametrize("seed", range(20))
def test_edit_distances_against_a_library(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = ("".join(rng.choice(list("abcd"), size=rng.integers(0, 12))) for _ in range(2))
    assert edit_distance(a, b) == Levenshtein.distance(a, b)
    assert edit_distance(a, b, swaps=True) == OSA.distance(a, b)


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
    with pytest.raises(ws.OptionError, match="the path step must be a length above 0"):
        apply_path_step([path], 0.0)


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
