"""One step at a time is the same as all at once."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

import wayscore as ws

LINE = ws.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d")], [1.0, 2.5, 1.25], nodes="abcdz")
DISTANCES = {"graph": LINE, "table": ws.Table(LINE.table, LINE.nodes), "function": ws.Function(LINE.distance)}
labels = st.lists(st.sampled_from("abcdz"), min_size=1, max_size=15)
points = st.lists(st.tuples(*[st.floats(-9, 9)] * 3), min_size=1, max_size=15)


@pytest.mark.parametrize("kind", DISTANCES)
@given(R=labels, Q=labels)
def test_prefixes_of_labels(kind: str, R: list[str], Q: list[str]) -> None:
    running = ws.RunningDTW(reference=R, distance=DISTANCES[kind])
    assert (running.dtw, running.ndtw()) == (math.inf, 0.0)
    for t, place in enumerate(Q, 1):
        value = running.step(place)
        assert value == ws.dtw(reference=R, query=Q[:t], distance=LINE) == running.dtw
        assert running.ndtw(2.0) == ws.ndtw(reference=R, query=Q[:t], distance=LINE, threshold=2.0)
        assert running.steps == t


@given(points, points)
@example(*(np.random.default_rng(1).normal(size=(n, 3)).cumsum(axis=0).tolist() for n in (120, 100)))
def test_prefixes_of_points(R: list[tuple], Q: list[tuple]) -> None:
    running = ws.RunningDTW(reference=R)
    for t, place in enumerate(Q, 1):
        assert running.step(place) == ws.dtw(reference=R, query=Q[:t])


def test_points_in_every_form() -> None:
    rng = np.random.default_rng(3)
    R, Q = rng.integers(-9, 9, (6, 3)).astype(float), rng.integers(-9, 9, (8, 3)).astype(float)
    wide = np.repeat(Q, 2, axis=1)
    forms = [Q, Q.tolist(), [tuple(q) for q in Q.tolist()], Q.astype(np.float32), wide[:, ::2], Q.astype(int).tolist()]
    forms += [Q.astype(int), [memoryview(q) for q in Q], [list(map(np.float32, q)) for q in Q], Q[:, None, :]]
    for reference in (R, R.tolist(), R.astype(np.float32), np.asfortranarray(R), [tuple(r) for r in R.tolist()]):
        for form in forms:
            running = ws.RunningDTW(reference=reference)
            assert [running.step(q) for q in form] == [ws.dtw(reference=R, query=Q[:t]) for t in range(1, 9)]
            assert running.ndtw(2) == ws.ndtw(reference=R, query=Q, threshold=2.0)
    one = ws.RunningDTW(reference=[0, 1, 2])
    assert [one.step(0.0), one.step([2])] == [3.0, 1.0]
    many = rng.normal(size=(4, 40))  # more coordinates than anyone has
    assert ws.RunningDTW(reference=many).step(many[0]) == ws.dtw(reference=many, query=many[:1])


def test_labels_in_every_form() -> None:
    expected = [ws.dtw(reference=list("abcd"), query=list("adb")[:t], distance=LINE) for t in (1, 2, 3)]
    for reference in ("abcd", tuple("abcd"), list("abcd"), np.array(list("abcd")), np.array(list("abcd"), object)):
        running = ws.RunningDTW(reference=reference, distance=LINE)
        assert [running.step(node) for node in "adb"] == expected
        assert [running.step(node) for node in np.array(["d"])] == [
            ws.dtw(reference="abcd", query="adbd", distance=LINE)
        ]

    class Sideways(ws.Table):
        """A table that is laid out the other way round."""

    sideways = Sideways(LINE.table, LINE.nodes)
    sideways.table = np.asfortranarray(LINE.table)
    running = ws.RunningDTW(reference=list("abcd"), distance=sideways)
    assert [running.step(node) for node in "adb"] == expected


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


def test_codes_are_labels_that_were_looked_up() -> None:
    other = ws.Graph.from_edges([("x", "y"), ("y", "z")], [7.0, 1.0])
    labels, codes = (ws.RunningBatch(references=["abcd", "xz"], distance=[LINE, other]) for _ in range(2))
    for pair in (("b", "y"), ("d", "z"), ("z", "x")):
        now = [LINE.index[pair[0]], other.index[pair[1]]]
        for dtype in (np.int64, np.int32, np.uint8):
            assert codes.fork().step(np.array(now, dtype=dtype)).tolist() == labels.fork().step(pair).tolist()
        assert codes.step(np.array(now)).tolist() == labels.step(np.array(pair)).tolist()
    with pytest.raises(ws.UnknownNodeError, match="the node of environment 1: node 3 is not among the 3 nodes"):
        codes.step(np.array([4, 3]))
    with pytest.raises(ws.UnknownNodeError, match="the node of environment 0: node -1 is not among the 5 nodes"):
        codes.step(np.array([-1, 0]))
    assert codes.step(np.array([-1, 0]), [False, True]).tolist() == labels.step(["?", "x"], [False, True]).tolist()
    assert codes.steps.tolist() == [3, 4]


def test_labels_that_are_numbers_are_labels() -> None:
    table = ws.Table([[0, 1, 5], [1, 0, 2], [5, 2, 0]], [2, 0, 1])
    batch = ws.RunningBatch(references=[[2, 0]], distance=table)
    assert batch.fork().step([1]).tolist() == batch.fork().step(np.array([1])).tolist() == [7.0]


def test_scenes_come_and_go() -> None:
    def house(number: int) -> ws.Graph:
        return ws.Graph.from_edges([("a", "b"), ("b", "c")], [1.0 + number, 2.0], nodes="abc")

    batch = ws.RunningBatch(references=["abc", "abc"], distance=[house(0), house(1)])
    for number in range(40):
        batch.reset(number % 2, "ac" if number % 3 else "abca", house(number))
        fork = batch.fork()
        alone = ws.RunningDTW(reference="ac" if number % 3 else "abca", distance=house(number))
        fork.reset(1 - number % 2, "cb", house(number))
        assert batch.step(["b", "b"])[number % 2] == alone.step("b") == fork.step(["b", "b"])[number % 2]
        assert len(batch._tables) <= 6
    batch.reset(0, [[0.0, 0.0], [3.0, 4.0]], ws.Euclidean())  # one in space, one on a graph
    assert batch.step([[3.0, 4.0], "b"])[0] == 5.0


def test_copies_are_independent() -> None:
    running = ws.RunningDTW(reference="abcd", distance=LINE)
    batch = ws.RunningBatch(references=["abcd", "ab"], distance=LINE)
    running.step("b")
    batch.step("bc")
    assert [copy.copy(running).step("d"), copy.deepcopy(running).step("d")] == [running.fork().step("d")] * 2
    for again in (copy.deepcopy(batch), pickle.loads(pickle.dumps(batch))):
        assert again.step("da").tolist() == batch.fork().step("da").tolist()
        assert (again.steps.tolist(), batch.steps.tolist()) == ([2, 2], [1, 1])


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


@pytest.mark.parametrize(
    ("references", "distance", "match"),
    [
        ([], None, "at least one reference"),
        ([["a"], ["a"]], [LINE], "2 references but 1 distances"),
        ([["a"], []], LINE, "the reference of environment 1 is empty"),
        ([np.zeros((1, 2)), np.zeros((1, 3))], None, "environment 1 has 3-dimensional points, the others 2"),
    ],
)
def test_bad_references(references: list, distance: object, match: str) -> None:
    with pytest.raises(ws.PathError, match=match):
        ws.RunningBatch(references=references, distance=distance)  # type: ignore[arg-type]


def test_bad_batches() -> None:
    batch = ws.RunningBatch(references=[["a"], ["b"]], distance=LINE)
    other = ws.Graph.from_edges([("a", "b")])
    for call, error, match in (
        (lambda: batch.step(["a"]), ws.PathError, "2 environments but 1 nodes"),
        (lambda: batch.step(["a", "b"], [True] * 3), ws.PathError, "2 environments but 3 active flags"),
        (lambda: batch.step(["a", "q"]), ws.UnknownNodeError, "the node of environment 1: node 'q'"),
        (lambda: batch.reset(2), ws.OptionError, "there is no environment 2; environments are 0 to 1"),
        (lambda: batch.reset(1, distance=other), ws.OptionError, "environment 1 has a new distance, so it needs"),
        (lambda: batch.reset(1, ["q"]), ws.UnknownNodeError, "the reference of environment 1, step 0: node 'q'"),
    ):
        with pytest.raises(error, match=match):
            call()
    batch.reset(1, distance=LINE)
    assert batch.step(["a", "b"]).tolist() == [0.0, 0.0]
    on_points = ws.RunningBatch(references=[np.zeros((1, 2))])
    for wrong in ([[0.0]], [[math.inf, 0.0]], [["a", "b"]], [[1e200, 0.0]]):
        with pytest.raises(ws.PathError, match="coordinates"):
            on_points.step(wrong)
