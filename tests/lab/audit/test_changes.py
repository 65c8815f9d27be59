"""Every experiment's change, checked by hand on tiny graphs and short paths of points."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from wayscore import Euclidean, Graph
from wayscore.lab.audit.battery import experiments as changes
from wayscore.lab.audit.battery.cases import Case
from wayscore.lab.audit.battery.experiments import EXPERIMENTS

HOUSE = Graph.from_edges(
    [("a", "b"), ("b", "c"), ("c", "d"), ("a", "p"), ("b", "x"), ("x", "y"), ("d", "z"), ("z", "w")],
    positions=dict(
        zip("abcdpxyzw", [(0, 0), (1, 0), (2, 0), (3, 0), (0, 1), (1, 1), (1, 2), (3, 1), (3, 2)], strict=True)
    ),
)
"""A corridor a-b-c-d with side rooms: p at a, x and y behind b, z and w behind d."""
SQUARE = Graph.from_edges([("s", "t"), ("t", "u"), ("u", "v"), ("v", "s")], [1.0, 1.0, 1.0, 1.5])
PATH = ["a", "b", "c", "d"]
WALK = Case("one", "house", "house", PATH, PATH, HOUSE, 3.0)
POINTS = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 2.0]])


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def in_space(query: Any = POINTS) -> Case:
    return Case("two", "field", "field", POINTS, np.asarray(query, dtype=float), Euclidean(), 3.0)


def walked(change: changes.Change, size: float, case: Case = WALK, seed: int = 0) -> Any:
    changed = change(case, size, rng(seed))
    return None if changed is None else changed.query


@pytest.mark.parametrize(
    ("change", "size", "expected"),
    [
        (changes.stop_late, 0, "abcd"),
        (changes.stop_late, 1, "abcdz"),
        (changes.stop_late, 2, "abcdzw"),
        (changes.stop_late, 3, "abcdcbx"),
        (changes.stop_late, 5, None),
        (changes.overshoot, 1, "abcdzd"),
        (changes.overshoot, 2, "abcdzwzd"),
        (changes.start_elsewhere, 1, "pabcd"),
        (changes.start_elsewhere, 2, "xbabcd"),
        (changes.retrace, 0, "abcd"),
        (changes.retrace, 1, "abcbcd"),
        (changes.retrace, 2, "abcbabcd"),
        (changes.retrace, 3, None),
        (changes.stop_early, 0, "abcd"),
        (changes.stop_early, 1 / 3, "abc"),
        (changes.stop_early, 1, "a"),
        (changes.reverse, 0, "abcd"),
        (changes.reverse, 1, "dcba"),
        (changes.repeat, 1, "abcd"),
        (changes.repeat, 3, "aaabbbcccddd"),
        (changes.shuffle, 0, "abcd"),
    ],
)
def test_walks_on_a_graph(change: changes.Change, size: float, expected: str | None) -> None:
    assert walked(change, size) == (None if expected is None else list(expected))


def test_the_way_back_follows_directed_edges() -> None:
    ring = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "a"), ("b", "x")], directed=True)
    case = Case("one", "s", "s", ["a", "b"], ["a", "b"], ring, 3.0)
    assert walked(changes.overshoot, 1, case, seed=0) in (None, list("abcab"))  # nothing leads back from x
    found = {"".join(walked(changes.overshoot, 1, case, seed) or "-") for seed in range(30)}
    assert found == {"abcab", "-"}


def test_a_detour_leaves_at_any_node_but_the_goal_and_comes_back() -> None:
    found = {"".join(walked(changes.detour, 1, seed=seed) or "-") for seed in range(60)}
    assert found == {"apabcd", "abxbcd", "-"}  # at c, no node off the path is one edge away


def test_shuffling_keeps_both_ends_and_all_nodes() -> None:
    long = Case("one", "s", "s", list("abcdefgh"), list("abcdefgh"), HOUSE, 3.0)
    found = {"".join(walked(changes.shuffle, 1, long, seed)) for seed in range(30)}
    assert len(found) > 20
    assert all(one[0] == "a" and one[-1] == "h" and sorted(one) == list("abcdefgh") for one in found)
    assert walked(changes.shuffle, 1, WALK.walked(["a", "b", "c"])) is None


def test_a_loop_is_walked_the_other_way_around() -> None:
    square = Case("one", "s", "s", ["s", "t", "u"], ["s", "t", "u"], SQUARE, 3.0)
    forward, backward = (changes.reverse_loop(square, size, rng()) for size in (0, 1))
    assert forward is not None
    assert backward is not None
    assert forward.reference == forward.query == backward.reference == ["s", "t", "u", "v", "s"]
    assert backward.query == ["s", "v", "u", "t", "s"]


def test_a_loop_that_is_the_same_both_ways_is_left_out() -> None:
    line = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d")])
    there = Case("one", "s", "s", ["a", "b"], ["a", "b"], line, 3.0)  # a, b, c, d, c, b, a
    assert changes.reverse_loop(there, 1, rng()) is None


def test_swap_exchanges_the_arguments() -> None:
    case = WALK.walked(["a", "p"])
    swapped = changes.swap(case, 1, rng())
    assert (swapped.reference, swapped.query) == (["a", "p"], PATH)
    assert changes.swap(case, 0, rng()) is case


def test_scaling() -> None:
    scaled, magnified = (change(in_space(), 2, rng()) for change in (changes.scale, changes.magnify))
    for case, threshold in ((scaled, 6.0), (magnified, 3.0)):
        assert case.reference.tolist() == case.query.tolist() == [[0, 0], [4, 0], [8, 4]]
        assert case.threshold == threshold


def test_densities() -> None:
    halves = [[0, 0], [1, 0], [2, 0], [3, 1], [4, 2]]
    query, reference, both = (
        change(in_space(), 2, rng())
        for change in (changes.densify_query, changes.densify_reference, changes.densify_both)
    )
    assert (query.reference.tolist(), query.query.tolist()) == (POINTS.tolist(), halves)
    assert (reference.reference.tolist(), reference.query.tolist()) == (halves, POINTS.tolist())
    assert both.reference.tolist() == both.query.tolist() == halves


def test_moves_in_space() -> None:
    aside = changes.shift(in_space(), 0.5, rng())
    apart = aside.query - POINTS
    assert np.allclose(np.linalg.norm(apart, axis=1), 1.5)
    assert np.allclose(apart, apart[0])
    assert aside.reference is POINTS
    together = changes.translate(in_space(), 10, rng())
    assert np.allclose(together.reference - POINTS, together.query - POINTS)
    assert np.allclose(np.linalg.norm(together.query[0]), 30.0)


@pytest.mark.parametrize(("size", "moved"), [(0.5, 1), (1.0, 2)])
def test_one_point_is_misplaced(size: float, moved: int) -> None:
    lengths = np.linalg.norm(changes.misplace(in_space(), size, rng()).query - POINTS, axis=1)
    assert np.allclose(lengths, [4.5 if number == moved else 0.0 for number in range(3)])


def test_positions_take_the_place_of_nodes() -> None:
    found = WALK.in_space()
    assert found is not None
    assert found.reference.tolist() == [[0, 0], [1, 0], [2, 0], [3, 0]]
    assert found.graph is None
    assert Case("one", "s", "s", ["s"], ["s"], SQUARE, 3.0).in_space() is None  # no positions


@given(seed=st.integers(0, 1000), name=st.sampled_from(sorted(EXPERIMENTS)))
def test_the_first_size_changes_nothing(seed: int, name: str) -> None:
    experiment = EXPERIMENTS[name]
    case = in_space() if experiment.on == "points" else WALK
    changed = experiment.change(case, experiment.sizes[0], rng(seed))
    if name == "misplaced-point":  # which compares the end of a path with its middle
        return
    assert changed is not None or name == "reversed-loop"
    if changed is not None and name != "reversed-loop":
        assert np.array_equal(changed.query, case.query)
        assert np.array_equal(changed.reference, case.reference)
        assert changed.threshold == case.threshold


@given(seed=st.integers(0, 1000), hops=st.integers(0, 3))
def test_walks_stay_on_edges(seed: int, hops: int) -> None:
    for change in (changes.detour, changes.stop_late, changes.overshoot, changes.start_elsewhere, changes.retrace):
        path = walked(change, hops, seed=seed)
        assert path is None or all(HOUSE.has_edge(a, b) for a, b in pairwise(path))
