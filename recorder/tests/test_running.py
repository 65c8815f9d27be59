"""DTW, CLS and SED step by step: the bits of wayscore, literal loops, and what is refused."""

import json
import random
from math import exp, inf, nan, sqrt
from pathlib import Path

import numpy as np
import pytest

from wayscore_recorder import RecorderError, RunningDTW
from wayscore_recorder.path_scores import RunningCLS, RunningSED
from wayscore_recorder.running import LONG

CASES = json.loads((Path(__file__).parent / "cases.json").read_text())


def unreachable(table):
    """Return a table of distances with infinity for null."""
    return {a: {b: inf if away is None else away for b, away in row.items()} for a, row in table.items()}


@pytest.mark.parametrize("number", range(len(CASES)))
def test_the_bits_of_wayscore(number):
    case = CASES[number]
    table = unreachable(case["distance"]) if "distance" in case else None
    ways = [table] if table is None else [table, lambda a, b: table[a][b]]
    for distance in ways:
        running = RunningDTW(reference=case["reference"], distance=distance)
        for step, (place, dtw, ndtw) in enumerate(zip(case["query"], case["dtw"], case["ndtw"])):
            found = running.step(place)
            assert found == (inf if dtw is None else dtw)
            assert (running.dtw, running.steps) == (found, step + 1)
            assert running.ndtw(case["threshold"]) == exp(-found / (len(case["reference"]) * case["threshold"]))
            assert running.ndtw(case["threshold"]) == pytest.approx(ndtw, rel=1e-15, abs=0)


def literal(reference, query):
    """The paper's Alg. 1."""
    C = [[inf] * (len(query) + 1) for _ in range(len(reference) + 1)]
    C[0][0] = 0.0
    for i, r in enumerate(reference, start=1):
        for j, q in enumerate(query, start=1):
            d = sqrt(sum((a - b) ** 2 for a, b in zip(r, q)))
            C[i][j] = d + min(C[i - 1][j], C[i][j - 1], C[i - 1][j - 1])
    return C[-1][-1]


@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda p: np.array(p, dtype=np.float32), iter])
def test_any_kind_of_position(kind):
    rng = random.Random(1)
    reference = [[rng.randrange(9) / 4 for _ in range(3)] for _ in range(5)]
    query = [[rng.randrange(9) / 4 for _ in range(3)] for _ in range(6)]
    running = RunningDTW(reference=np.array(reference))
    found = [running.step(kind(point)) for point in query]
    assert found == [pytest.approx(literal(reference, query[: n + 1]), rel=1e-12) for n in range(6)]


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
@pytest.mark.parametrize("length", [1, 2, LONG - 1, LONG])
def test_against_the_literal_loop(dimension, length):
    rng = random.Random(length * 10 + dimension)
    reference = [[rng.gauss(0, 1) for _ in range(dimension)] for _ in range(length)]
    query = [[rng.gauss(0, 1) for _ in range(dimension)] for _ in range(5)]
    running = RunningDTW(reference=reference)
    for point in query:
        running.step(point)
    assert running.dtw == pytest.approx(literal(reference, query), rel=1e-12)


@pytest.mark.parametrize("length", [3, LONG])
@pytest.mark.parametrize(
    ("position", "match"),
    [
        ([0.0, nan], "coordinates must be finite"),
        ([0.0, inf], "coordinates must be finite"),
        ([0.0, 1e200], "coordinates must be finite"),
        ([0.0], "it has 1 coordinates, points of the reference have 2"),
        ([], "a position must be a list of numbers"),
        ("hall", "a position must be a list of numbers"),
        (None, "a position must be a list of numbers"),
    ],
)
def test_a_position_that_is_refused_changes_nothing(length, position, match):
    reference = [[float(n), 0.0] for n in range(length)]
    running, other = RunningDTW(reference=reference), RunningDTW(reference=reference)
    assert running.step([1.0, 1.0]) == other.step([1.0, 1.0])
    with pytest.raises(RecorderError, match=match):
        running.step(position)
    assert running.step([2.0, 1.0]) == other.step([2.0, 1.0])
    assert running.steps == 2


@pytest.mark.parametrize(
    ("reference", "match"),
    [
        ([], "the reference is empty"),
        ([[0.0, 1.0], [0.0]], "point 1 of the reference: it has 1 coordinates, the first point has 2"),
        ([[0.0, nan]], "point 0 of the reference: coordinates must be finite"),
        (["hall"], "must be a list of numbers"),
    ],
)
def test_references_that_are_refused(reference, match):
    with pytest.raises(RecorderError, match=match):
        RunningDTW(reference=reference)


@pytest.mark.parametrize(
    ("distance", "match"),
    [
        ({"a": {"a": 0.0}}, "there is no distance from 'a' to 'b'"),
        (lambda a, b: nan, "must not be negative or NaN, got nan"),
        (lambda a, b: -1.0, "must not be negative or NaN, got -1.0"),
        (7, "distance must be a function of two nodes or a mapping"),
    ],
)
def test_distances_that_are_refused(distance, match):
    with pytest.raises(RecorderError, match=match):
        RunningDTW(reference=["a"], distance=distance).step("b")


def test_a_function_of_points():
    running = RunningDTW(reference=[(0, 0), (2, 0)], distance=lambda r, q: abs(r[0] - q[0]) + abs(r[1] - q[1]))
    assert [running.step((0, 1)), running.step((2, 2))] == [4.0, 3.0]


def test_cls_by_hand():
    running = RunningCLS(reference=[[0.0, 0.0], [4.0, 0.0]], threshold=2.0)
    running.step([0.0, 0.0])
    half = (1 + exp(-2)) / 2
    assert running.value() == pytest.approx(half * 0.5)  # expected: 4 half metres; walked: none
    running.step([4.0, 2.0])
    coverage, walked = (1 + exp(-1)) / 2, sqrt(20)
    expected = coverage * 4
    assert running.value() == pytest.approx(coverage * expected / (expected + abs(expected - walked)))


def test_cls_of_a_single_point():
    running = RunningCLS(reference=[[1.0, 1.0]], threshold=3.0)
    running.step([1.0, 1.0])
    assert running.value() == 1.0
    running.step([2.0, 1.0])
    assert running.value() == 0.0


LINE = [[0.0, 0.0], [4.0, 0.0], [8.0, 0.0]]


@pytest.mark.parametrize(
    ("xs", "expected"),
    [
        ([0], 0.0),  # both moves are missing
        ([0, 1, 2.5, 4, 5, 7, 8], 1.0),
        ([0, 4, 8, 4], 1 - 1 / 3),  # one move too many
        ([0, 40, 8], 0.0),  # off the path, and back: two moves, both wrong
        ([0, 4, 40, 41], 0.5),  # places off the path are one place
        ([8, 4, 0], 0.0),
    ],
)
def test_sed_by_hand(xs, expected):
    running = RunningSED(reference=LINE, threshold=3.0)
    for x in xs:
        running.step([float(x), 0.0])
    assert running.value() == pytest.approx(expected)


def test_sed_of_a_path_that_returns():
    running = RunningSED(reference=[[0.0], [4.0], [0.0]], threshold=1.0)
    for x in (0.0, 4.0, 0.0):
        running.step([x])
    assert running.value() == 1.0
    assert RunningSED(reference=[[0.0]], threshold=1.0).value() == 1.0
