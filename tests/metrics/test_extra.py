"""Fréchet, Hausdorff, LCSS and EDR: by hand, against literal recursions, by property, and found by name only."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st

import wayscore as ws
from tests.oracles import trajectory as oracle
from wayscore.metrics import find_metrics
from wayscore.metrics.extra import TRAJECTORY

LINE = ws.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")], [1.0, 2.0, 1.0, 2.0], nodes="abcdef")
"""a -1- b -2- c -1- d -2- e, and f on its own."""
labels = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=9)
points = st.lists(st.tuples(*[st.floats(-50, 50, width=32)] * 2), min_size=1, max_size=9)


def scores(R: object, Q: object, distance: object = LINE, threshold: float = 3.0, also: str = "") -> dict[str, float]:
    """Score one pair by all of them."""
    table = ws.score(
        references=[R],  # type: ignore[list-item]
        queries=[Q],  # type: ignore[list-item]
        distance=distance,  # type: ignore[arg-type]
        threshold=threshold,
        metrics=",".join([*TRAJECTORY, *also.split()]),
    )
    return {symbol: float(values[0]) for symbol, values in table.columns.items()}


def expected(R: object, Q: object, d: object, threshold: float) -> dict[str, float]:
    """Return what the literal recursions give."""
    there, back = oracle.directed_hausdorff(Q, R, d), oracle.directed_hausdorff(R, Q, d)  # type: ignore[arg-type]
    return {
        "Frechet": oracle.frechet(R, Q, d),  # type: ignore[arg-type]
        "Hausdorff": max(there, back),
        "HausdorffQR": there,
        "HausdorffRQ": back,
        "LCSS": oracle.lcss(R, Q, d, threshold),  # type: ignore[arg-type]
        "EDR": oracle.edr(R, Q, d, threshold),  # type: ignore[arg-type]
    }


def test_by_hand() -> None:
    # a b c d against a b e: the best coupling pairs d, or c, with e; the query's e is 2 m from d.
    assert scores("abcd", "abe", threshold=1.0) == {
        "Frechet": 2.0,  # a-a b-b c-b d-e: links of 0, 0, 2 and 2 m
        "Hausdorff": 2.0,
        "HausdorffQR": 2.0,  # e is 2 m from d
        "HausdorffRQ": 2.0,  # c is 2 m from b, d 2 m from e
        "LCSS": 2 / 3,  # a and b; d is 2 m from e
        "EDR": 2 / 4,  # replace one of c and d by e, delete the other
    }


@given(labels, labels, st.sampled_from([0.5, 1.0, 3.0]))
def test_against_the_recursions_on_a_graph(R: list[str], Q: list[str], threshold: float) -> None:
    assert scores(R, Q, threshold=threshold) == expected(R, Q, LINE.distance, threshold)


@given(points, points, st.sampled_from([0.5, 3.0, 20.0]))
def test_against_the_recursions_on_points(R: list[tuple], Q: list[tuple], threshold: float) -> None:
    d = ws.Euclidean()

    def distance(a: tuple, b: tuple) -> float:
        return float(d.between(np.array([a]), np.array([b]))[0, 0])

    assert scores(R, Q, distance=None, threshold=threshold) == expected(R, Q, distance, threshold)


@given(labels, labels)
def test_order_of_the_distances(R: list[str], Q: list[str]) -> None:
    got = scores(R, Q, also="DTW NE MD")
    assert got["HausdorffQR"] == got["MD"]
    assert got["Hausdorff"] == max(got["HausdorffQR"], got["HausdorffRQ"])
    assert got["Hausdorff"] <= got["Frechet"] <= got["DTW"]
    assert got["NE"] <= got["Frechet"]  # the ends are always linked
    matched = got["LCSS"] * min(len(R), len(Q))
    longer = max(len(R), len(Q))
    assert got["EDR"] * longer >= longer - matched - 1e-9  # an edit for every node that is not matched


@given(labels, labels)
def test_both_ways_and_bounds(R: list[str], Q: list[str]) -> None:
    there, back = scores(R, Q), scores(Q, R)
    for symbol in ("Frechet", "Hausdorff", "LCSS", "EDR"):
        assert there[symbol] == back[symbol]
    assert there["HausdorffQR"] == back["HausdorffRQ"]
    for symbol, metric in TRAJECTORY.items():
        assert metric.bounds[0] <= there[symbol] <= metric.bounds[1]


@given(labels)
def test_a_path_against_itself(R: list[str]) -> None:
    got = scores(R, R)
    assert got.pop("LCSS") == 1.0
    assert set(got.values()) == {0.0}


def test_unreachable() -> None:
    got = scores("ab", "f")
    assert all(math.isinf(got[symbol]) for symbol in ("Frechet", "Hausdorff", "HausdorffQR", "HausdorffRQ"))
    assert (got["LCSS"], got["EDR"]) == (0.0, 1.0)


def test_the_threshold_is_compared_as_the_convention_does() -> None:
    options = {"references": ["a"], "queries": ["b"], "distance": LINE, "threshold": 1.0, "metrics": "LCSS"}
    assert ws.score(**options)["LCSS"].tolist() == [1.0]  # type: ignore[arg-type]
    assert ws.score(**options, convention="r2r")["LCSS"].tolist() == [0.0]  # type: ignore[arg-type]


def test_printed_by_name_only() -> None:
    assert not set(TRAJECTORY) & set(ws.score(references=["a"], queries=["a"], distance=LINE).metrics)
    assert [metric.symbol for metric in find_metrics("frechet, lcss")] == ["Frechet", "LCSS"]


@pytest.mark.parametrize("metric", TRAJECTORY.values(), ids=str)
def test_travels_between_processes(metric: ws.Metric) -> None:
    assert pickle.loads(pickle.dumps(metric)) == metric
