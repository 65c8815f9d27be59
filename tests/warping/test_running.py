"""One step at a time is the same as all at once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

import wayscore as ws

LINE = ws.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d")], [1.0, 2.5, 1.25], nodes="abcdz")
DISTANCES = {"graph": LINE, "table": ws.Table(LINE.table, LINE.nodes), "function": ws.Function(LINE.distance)}
labels = st.lists(st.sampled_from("abcdz"), min_size=1, max_size=15)
points = st.lists(st.tuples(*[st.floats(-9, 9)] * 3), min_size=1, max_size=15)


@pytest.mark.parametrize("kind", DISTANCES)
@given(R=labels, Q=labels)
def test_prefixes_of_labels(kind: str, R: list[str], Q: list[str]) -> None:
    running = ws.RunningDTW(reference=R, distance=DISTANCES[kind])
    for t, place in enumerate(Q, 1):
        value = running.step(place)
        assert value == ws.dtw(reference=R, query=Q[:t], distance=LINE) == running.dtw
        assert running.ndtw(2.0) == ws.ndtw(reference=R, query=Q[:t], distance=LINE, threshold=2.0)
        assert running.steps == t


@given(points, points)
def test_prefixes_of_points(R: list[tuple], Q: list[tuple]) -> None:
    running = ws.RunningDTW(reference=R)
    for t, place in enumerate(Q, 1):
        assert running.step(place) == ws.dtw(reference=R, query=Q[:t])


def test_long_prefixes_are_exact() -> None:
    rng = np.random.default_rng(1)
    R, Q = rng.normal(size=(120, 3)).cumsum(axis=0), rng.normal(size=(300, 3)).cumsum(axis=0)
    running = ws.RunningDTW(reference=R)
    for t in range(len(Q)):
        assert running.step(Q[t]) == ws.dtw(reference=R, query=Q[: t + 1])


def test_before_the_first_step() -> None:
    running = ws.RunningDTW(reference=["a"], distance=LINE)
    assert running.dtw == math.inf
    assert running.ndtw() == 0.0


def test_a_fork_looks_ahead_without_going() -> None:
    running = ws.RunningDTW(reference=["a", "b"], distance=LINE)
    running.step("a")
    ahead = running.fork()
    assert ahead.step("c") == 2.5
    assert running.dtw == 1.0
    assert running.step("b") == 0.0
    assert (ahead.dtw, ahead.steps, running.steps) == (2.5, 2, 2)


@pytest.mark.parametrize("kind", ["points", *DISTANCES])
def test_a_batch_is_many_runs(kind: str) -> None:
    rng = np.random.default_rng(2)
    if kind == "points":
        distance = None
        references = [rng.normal(size=(n, 2)) for n in (1, 4, 9)]
        places = rng.normal(size=(12, 3, 2))
    else:
        distance = DISTANCES[kind]
        references = [list("a"), list("abcd"), list("abcdcbazd")]
        places = rng.choice(list("abcdz"), size=(12, 3))
    batch = ws.RunningBatch(references=references, distance=distance)
    singles = [ws.RunningDTW(reference=reference, distance=distance) for reference in references]
    assert len(batch) == 3
    assert batch.dtw.tolist() == [math.inf] * 3
    for t, now in enumerate(places):
        active = None if t % 3 else np.array([True, t % 2 == 0, False])
        if t == 7:
            longer = references[2] if kind == "points" else list("abcdabcdabcd")
            batch.reset(0, longer)
            singles[0] = ws.RunningDTW(reference=longer, distance=distance)
        if t == 9:
            batch.reset(1)
            singles[1] = ws.RunningDTW(reference=references[1], distance=distance)
        values = batch.step(now, active)
        for slot, single in enumerate(singles):
            if active is None or active[slot]:
                single.step(now[slot])
        assert values.tolist() == [single.dtw for single in singles]
        assert batch.ndtw(2.0) == pytest.approx([single.ndtw(2.0) for single in singles], rel=1e-15)
        assert batch.steps.tolist() == [single.steps for single in singles]
    fork = batch.fork()
    before = batch.dtw.copy()
    fork.step(places[0])
    fork.reset(2)
    assert batch.dtw.tolist() == before.tolist()


def test_a_scene_for_each_slot() -> None:
    other = ws.Graph.from_edges([("x", "y")], [7.0])
    batch = ws.RunningBatch(references=[["a", "b"], ["x"]], distance=[LINE, other])
    assert batch.step(["b", "y"]).tolist() == [1.0, 7.0]
    batch.reset(0, ["y"], distance=other)
    assert batch.step(["x", "x"]).tolist() == [7.0, 7.0]


def test_bad_steps() -> None:
    running = ws.RunningDTW(reference=["a"], distance=LINE)
    running.step("a")
    with pytest.raises(ws.UnknownNodeError, match="query step 1: node 'q' is not among the 5 nodes"):
        running.step("q")
    on_points = ws.RunningDTW(reference=[[0.0, 0.0]])
    for wrong in ([0.0], [0.0, math.nan], "ab", None, [1e200, 0.0]):
        with pytest.raises(ws.PathError, match="query step 0 must be 2 finite coordinates"):
            on_points.step(wrong)
    with pytest.raises(ws.OptionError, match="threshold"):
        on_points.ndtw(0)
    assert on_points.steps == 0


def test_bad_batches() -> None:
    with pytest.raises(ws.PathError, match="at least one reference"):
        ws.RunningBatch(references=[])
    with pytest.raises(ws.PathError, match="2 references but 1 distances"):
        ws.RunningBatch(references=[["a"], ["a"]], distance=[LINE])
    with pytest.raises(ws.PathError, match="the reference of environment 1 is empty"):
        ws.RunningBatch(references=[["a"], []], distance=LINE)
    with pytest.raises(ws.PathError, match="environment 1 has 3-dimensional points, the others 2"):
        ws.RunningBatch(references=[np.zeros((1, 2)), np.zeros((1, 3))])
    batch = ws.RunningBatch(references=[["a"], ["b"]], distance=LINE)
    with pytest.raises(ws.PathError, match="2 environments but 1 nodes"):
        batch.step(["a"])
    with pytest.raises(ws.PathError, match="2 environments but 3 active flags"):
        batch.step(["a", "b"], [True] * 3)
    with pytest.raises(ws.UnknownNodeError, match="the node of environment 1: node 'q'"):
        batch.step(["a", "q"])
    with pytest.raises(ws.OptionError, match="there is no environment 2; environments are 0 to 1"):
        batch.reset(2)
    on_points = ws.RunningBatch(references=[np.zeros((1, 2))])
    for wrong in ([[0.0]], [[math.inf, 0.0]], [["a", "b"]], [[1e200, 0.0]]):
        with pytest.raises(ws.PathError, match="coordinates"):
            on_points.step(wrong)
