"""Exact sums against fractions; streams cut in any way give the same bits, and the intervals of the table in memory."""

from __future__ import annotations

import importlib
import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wayscore as ws
from wayscore.bulk.tally import Tally
from wayscore.kernels import plain
from wayscore.statistics import Interval, bootstrap_table
from wayscore.units import UNITS_AT_MOST, units_of

INF = math.inf
LARGEST = math.nextafter(2.0**40, 0)
KERNELS = ["numpy", "native"]
values = (
    st.floats(-LARGEST, LARGEST)
    | st.floats(-1, 1)
    | st.sampled_from(
        [0.0, -0.0, 1.0, 0.1, LARGEST, -LARGEST, 5e-324, -5e-324, 2.0**-73, -(2.0**-73), INF, -INF, math.nan]
    )
)
episodes = st.lists(st.tuples(values, values, st.integers(0, 4)), max_size=40)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def kernels(name: str) -> Any:
    reason = "the native kernels were not built"
    return plain if name == "numpy" else pytest.importorskip("wayscore.kernels._native", reason=reason)


def empty(units: int, metrics: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((units, metrics, 2), dtype=np.int64), np.zeros((units, metrics), dtype=np.int64)


def number(words: np.ndarray) -> int:
    """The signed number of 128 bits."""
    return int(words[1]) * 2**64 + int(words[0]) % 2**64


def tally_of(sample: list[tuple[float, float, int]]) -> Tally:
    tally = Tally(["NE", "SR"])
    columns = np.array([[a, b] for a, b, _ in sample]).reshape(-1, 2).T
    tally.add(columns, np.array([unit for _, _, unit in sample], dtype=np.int64))
    return tally


# The kernel


@pytest.mark.parametrize("name", KERNELS)
@given(sample=episodes)
def test_sums_are_those_of_fractions(name: str, sample: list[tuple[float, float, int]]) -> None:
    sums, counts = empty(5, 2)
    expected = {(unit, j): [0, 0] for unit in range(5) for j in range(2)}
    for a, b, unit in sample:
        for j, value in enumerate((a, b)):
            if math.isfinite(value):
                expected[unit, j][0] += math.floor(Fraction(value) * 2**72)
                expected[unit, j][1] += 1
    columns = np.ascontiguousarray(np.array([[a, b] for a, b, _ in sample]).reshape(-1, 2).T)
    kernels(name).tally(columns, np.array([unit for *_, unit in sample], dtype=np.int64), sums, counts)
    assert {place: [number(sums[place]), counts[place]] for place in expected} == expected


@pytest.mark.parametrize("name", KERNELS)
def test_values_by_hand(name: str) -> None:
    sums, counts = empty(2, 1)
    for value, floor in [(1.0, 2**72), (-(2.0**-72), -1), (-5e-324, -1), (5e-324, 0), (-1.5 * 2.0**-72, -2)]:
        before = number(sums[1, 0])
        kernels(name).tally(np.array([[value]]), np.array([1]), sums, counts)
        assert number(sums[1, 0]) - before == floor
    assert counts.tolist() == [[0], [5]]
    assert not sums[0].any()


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(
    ("columns", "units", "message"),
    [
        ([[0.5, 2.0**40]], [0, 1], "values below 2.40"),
        ([[0.5, -1e300]], [0, 1], "values below 2.40"),
        ([[0.5, 0.5]], [0, 2], "units from 0 to 1"),
        ([[0.5, 0.5]], [0, -1], "units from 0 to 1"),
        ([[0.5, 0.5]], [0], "do not fit"),
        ([[0.5, 0.5], [0.5, 0.5]], [0, 1], "do not fit"),
    ],
)
def test_errors_come_before_anything_is_written(
    name: str, columns: list[list[float]], units: list[int], message: str
) -> None:
    sums, counts = empty(2, 1)
    with pytest.raises(ValueError, match=message):
        kernels(name).tally(np.array(columns), np.array(units), sums, counts)
    assert not sums.any()
    assert not counts.any()


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_sum_that_is_full_says_so(name: str, sign: int) -> None:
    sums, counts = empty(1, 1)
    most = 2**14
    kernels(name).tally(np.full((1, most), sign * LARGEST), np.zeros(most, dtype=np.int64), sums, counts)
    assert number(sums[0, 0]) == sign * most * int(Fraction(LARGEST) * 2**72)
    with pytest.raises(OverflowError, match="too large for so many"):
        kernels(name).tally(np.full((1, 2), sign * LARGEST), np.zeros(2, dtype=np.int64), sums, counts)
    with pytest.raises(OverflowError, match="too large for so many"):
        kernels(name).tally(np.full((1, 2**16), sign * LARGEST), np.zeros(2**16, dtype=np.int64), *empty(1, 1))


def test_long_calls_of_the_plain_kernel_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    columns, units = rng().normal(size=(3, 100)), rng(1).integers(0, 7, 100)
    sums, counts = empty(7, 3)
    plain.tally(columns, units, sums, counts)
    monkeypatch.setattr(importlib.import_module("wayscore.kernels.plain.tally"), "AT_ONCE", 9)
    again, counts_again = empty(7, 3)
    plain.tally(columns, units, again, counts_again)
    assert np.array_equal(sums, again)
    assert np.array_equal(counts, counts_again)


# Streams


@given(episodes, st.randoms(use_true_random=False))
def test_no_order_and_no_cut_changes_a_bit(sample: list[tuple[float, float, int]], random: Any) -> None:
    whole = tally_of(sample)
    shuffled = random.sample(sample, len(sample))
    cuts = sorted(random.choices(range(len(sample) + 1), k=random.randrange(4)))
    pieces = [shuffled[a:b] for a, b in zip([0, *cuts], [*cuts, len(sample)], strict=True)]
    added, merged = Tally(["NE", "SR"]), Tally(["NE", "SR"])
    for piece in pieces:
        added.add(np.array([[a, b] for a, b, _ in piece]).reshape(-1, 2).T, np.array([u for *_, u in piece], dtype=int))
    for tally in random.sample([tally_of(piece) for piece in pieces], len(pieces)):
        merged.merge(Tally.from_bytes(tally.to_bytes()))
    assert added == merged == whole
    assert repr(added.means()) == repr(merged.means()) == repr(whole.means())
    intervals = [repr(tally.intervals(rng(), resamples=20)) for tally in (added, merged, whole)]
    assert len(set(intervals)) == 1
    assert added.rows == len(sample)


@given(st.lists(st.floats(-1e6, 1e6).filter(lambda v: v == 0 or abs(v) >= 2**-20) | st.just(INF), min_size=1))
def test_means_are_those_of_the_score_table(sample: list[float]) -> None:
    table = ws.ScoreTable({"NE": np.array(sample)}, {})
    tally = Tally(["NE"])
    tally.add(np.array([sample]), np.arange(len(sample)))
    assert tally.means() == table.means()
    assert tally.undefined() == table.undefined()


def table_of(count: int) -> dict[str, np.ndarray]:
    one = rng(count)
    columns = {
        "SR": one.integers(0, 2, count).astype(float),
        "NE": one.exponential(5, size=count),
        "difference": one.normal(-3, 1, size=count),
        "constant": np.full(count, 0.1),
        "never": np.full(count, INF),
    }
    columns["NE"][one.random(count) < 0.2] = INF
    return columns


@pytest.mark.parametrize("count", [1, 2, 49, 1_000, 12_345, 50_000])
def test_intervals_are_those_of_the_table_in_memory(count: int) -> None:
    columns = table_of(count)
    tally = Tally(columns)
    values = np.stack(list(columns.values()))
    for first in range(0, count, 7_001):
        rows = np.arange(first, min(first + 7_001, count))
        tally.add(values[:, rows], units_of(rows))
    got = tally.intervals(rng(5), resamples=300, level=0.9)
    expected = bootstrap_table(columns, rng=rng(5), resamples=300, level=0.9)
    assert list(got) == list(expected)
    for metric, found in expected.items():
        assert got[metric] == pytest.approx(found, rel=1e-11, abs=1e-11)
    assert got["SR"] == expected["SR"]
    assert got["never"] == Interval(0.0, 0.0, 0.0)


@pytest.mark.parametrize("value", [0.1, 0.11, -0.22, 1 / 3, 3.0, -7.7e5, 1e-30, -5e-324])
@pytest.mark.parametrize("count", [1, 3, 49, 777])
def test_a_constant_is_certain(value: float, count: int) -> None:
    tally = Tally(["NE"])
    tally.add(np.full((1, count), value), np.arange(count))
    mean, low, high = tally.intervals(rng(), resamples=50)["NE"]
    assert low == mean == high
    assert mean == pytest.approx(value, rel=1e-15, abs=2**-72)


def test_an_episode_with_nothing_defined_is_drawn_too() -> None:
    columns = {"NE": np.array([0.0, 6.0, INF, INF])}
    tally = Tally(columns)
    tally.add(columns["NE"][None], np.array([4, 99, 5_000, 7]))  # the units need not be the first
    got = tally.intervals(rng(), resamples=20_000, level=0.6)["NE"]
    expected = bootstrap_table(columns, rng=rng(), resamples=20_000, level=0.6)["NE"]
    assert got == pytest.approx(expected, abs=1e-9)
    assert tally.undefined() == {"NE": 2}


def test_nothing_added_is_nothing_known() -> None:
    tally = Tally(["SR", "NE"])
    assert tally.rows == 0
    assert tally.means() == {"SR": 0.0, "NE": 0.0}
    assert tally.undefined() == {}
    assert tally.intervals(rng()) == {"SR": Interval(0.0, 0.0, 0.0), "NE": Interval(0.0, 0.0, 0.0)}
    tally.add(np.empty((2, 0)), np.empty(0, dtype=np.int64))
    assert tally == Tally(["SR", "NE"])
    assert tally != Tally(["SR", "nDTW"])
    assert tally != "SR NE"


def test_pickles_are_small_and_whole() -> None:
    tally = Tally(["SR", "NE"])
    tally.add(rng().normal(size=(2, 30)), np.arange(30) * 300)
    content = pickle.dumps(tally)
    assert len(content) < 30 * 100
    assert pickle.loads(content) == tally
    tally.merge(tally)
    assert pickle.loads(content) != tally
    assert tally.rows == 60
    assert tally.means() == pickle.loads(content).means()


@pytest.mark.parametrize(
    ("columns", "units", "message"),
    [
        (np.zeros((1, 3)), [0, 1, 2], "a row for each of 2 metrics"),
        (np.zeros((2, 3)), [0, 1], r"shape \(2, 3\) and units of shape \(2,\)"),
        (np.zeros((2, 1)), [UNITS_AT_MOST], "units from 0 to 9999"),
        (np.full((2, 1), 2.0**40), [0], "values below 2.40"),
    ],
)
def test_what_makes_no_sense_is_refused_and_leaves_no_trace(
    columns: np.ndarray, units: list[int], message: str
) -> None:
    tally = Tally(["SR", "NE"])
    with pytest.raises(ws.OptionError, match=message):
        tally.add(columns, np.array(units))
    assert tally == Tally(["SR", "NE"])


def test_other_refusals() -> None:
    tally = Tally(["SR"])
    with pytest.raises(ws.OptionError, match="same metrics"):
        tally.merge(Tally(["NE"]))
    with pytest.raises(ws.OptionError, match="level lies between"):
        tally.intervals(rng(), level=95)
    tally.add(np.full((1, 2**14), LARGEST), np.zeros(2**14, dtype=np.int64))
    with pytest.raises(ws.OptionError, match="too large for so many"):
        Tally.from_bytes(tally.to_bytes()).add(np.full((1, 2), LARGEST), np.zeros(2, dtype=np.int64))
    with pytest.raises(ws.OptionError, match="too large for so many"):
        tally.merge(tally)


# Units


def test_units_are_those_of_splitmix() -> None:
    def unit(row: int) -> int:
        word = row * 0x9E3779B97F4A7C15 % 2**64
        for shift, factor in (30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB):
            word = (word ^ word >> shift) * factor % 2**64
        return (word ^ word >> 31) % 10_000

    rows = np.concatenate((np.arange(9_990, 10_050), rng().integers(10_000, 2**62, 500)))
    assert units_of(rows).tolist() == [row if row < 10_000 else unit(row) for row in rows.tolist()]
    assert units_of(rows[7:9]).tolist() == units_of(rows)[7:9].tolist()


def test_units_fill_evenly() -> None:
    sizes = np.bincount(units_of(np.arange(10_000, 1_010_000)), minlength=UNITS_AT_MOST)
    assert len(sizes) == UNITS_AT_MOST
    chi_square = float(((sizes - 100.0) ** 2 / 100).sum())
    assert abs(chi_square - 9_999) < 5 * math.sqrt(2 * 9_999)
