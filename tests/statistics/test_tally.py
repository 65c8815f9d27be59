"""Exact sums against fractions; streams cut in any way give the same bits, and the intervals of the table in memory."""

from __future__ import annotations

import importlib
import math
import pickle
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, strategies as st

import wayscore as ws
from wayscore.kernels import plain
from wayscore.kernels.plain.tally import carry
from wayscore.statistics import Interval, bootstrap_table
from wayscore.statistics.bootstrap import MOST_CLUSTERS, join_clusters
from wayscore.statistics.tally import Tally

INF = math.inf
LARGEST = math.nextafter(2.0**40, 0)
KERNELS = ["numpy", "native"]
NEARLY = [sign * (math.nextafter(2.0**31, 0) - 2.0**-21) for sign in (1, -1)]
"""Both of its lower parts are nearly as large as those of any value."""
FLOORS = {
    1.0: 2**72,
    -0.0: 0,
    5e-324: 0,
    -5e-324: -1,
    -(2.0**-72): -1,
    -1.5 * 2.0**-72: -2,
    2.0**-73: 0,
    2.0**-21: 2**51,
    -(2.0**-21) - 2.0**-73: -(2**51) - 1,
    2.0**31: 2**103,
    -(2.0**31): -(2**103),
    2.0**32 + 2.0**-20: 2**104 + 2**52,
    LARGEST: 2**112 - 2**59,
    -LARGEST: 2**59 - 2**112,
}
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


class Kept(NamedTuple):
    """What the kernel writes."""

    sums: np.ndarray
    large: np.ndarray
    lacking: np.ndarray
    sizes: np.ndarray
    least: np.ndarray

    def number(self, unit: int, metric: int) -> int:
        low, high = self.sums[unit, :, metric].tolist()
        return low + high * 2**52 + int(self.large[unit, metric]) * 2**104

    def numbers(self) -> list[list[int]]:
        return [[self.number(unit, j) for j in range(len(self.least))] for unit in range(len(self.sizes))]


def empty(units: int, metrics: int) -> Kept:
    sums, *cells = (np.zeros((units, *shape), dtype=np.int64) for shape in ((2, metrics), (metrics,), (metrics,), ()))
    return Kept(sums, *cells, least=np.full(metrics, INF))


def tally_of(sample: list[tuple[float, float, int]]) -> Tally:
    tally = Tally(["NE", "SR"])
    columns = np.array([[a, b] for a, b, _ in sample]).reshape(-1, 2).T
    tally.add(columns, np.array([unit for _, _, unit in sample], dtype=np.int64))
    return tally


# The kernel


@pytest.mark.parametrize("name", KERNELS)
@given(sample=episodes, times=st.sampled_from([1, 32, 45]))
def test_sums_are_those_of_fractions(name: str, sample: list[tuple[float, float, int]], times: int) -> None:
    sample = sample * times  # native code takes 32 usual values together
    kept = empty(5, 2)
    numbers, lacking, least = [[0, 0] for _ in range(5)], [[0, 0] for _ in range(5)], [INF, INF]
    for a, b, unit in sample:
        for j, value in enumerate((a, b)):
            if math.isfinite(value):
                numbers[unit][j] += math.floor(Fraction(value) * 2**72)
                least[j] = min(least[j], value)
            else:
                lacking[unit][j] += 1
    columns = np.ascontiguousarray(np.array([[a, b] for a, b, _ in sample]).reshape(-1, 2).T)
    units = np.array([unit for *_, unit in sample], dtype=np.int64)
    kernels(name).tally(columns, units, *kept)
    assert kept.numbers() == numbers
    assert kept.lacking.tolist() == lacking
    assert kept.sizes.tolist() == np.bincount(units, minlength=5).tolist()
    assert kept.least.tolist() == least


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("count", [1, 32, 70])
def test_values_by_hand(name: str, count: int) -> None:
    kept = empty(2, 1)
    for value, floor in FLOORS.items():
        before = kept.number(1, 0)
        kernels(name).tally(np.full((1, count), value), np.ones(count, dtype=np.int64), *kept)
        assert kept.number(1, 0) - before == count * floor
    assert kept.sizes.tolist() == [0, len(FLOORS) * count]
    assert kept.least.tolist() == [-LARGEST]
    assert kept.number(0, 0) == 0
    assert not kept.lacking.any()


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("value", [LARGEST, -LARGEST, 2.0**31, *NEARLY])
def test_no_sum_is_too_large(name: str, value: float) -> None:
    count = 2**16
    kept = empty(2, 3)
    kernels(name).tally(np.full((3, count), value), np.zeros(count, dtype=np.int64), *kept)
    assert kept.numbers() == [[count * math.floor(Fraction(value) * 2**72)] * 3, [0] * 3]


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
def test_errors_leave_no_trace(name: str, columns: list[list[float]], units: list[int], message: str) -> None:
    kept = empty(2, 1)
    with pytest.raises(ValueError, match=message):
        kernels(name).tally(np.array(columns), np.array(units), *kept)
    assert not any(array.any() for array in kept[:4])
    assert kept.least.tolist() == [INF]


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("position", range(5))
def test_arrays_that_do_not_fit_are_refused(name: str, position: int) -> None:
    kept = list(empty(2, 1))
    kept[position] = np.concatenate((kept[position], kept[position]))
    with pytest.raises(ValueError, match="do not fit"):
        kernels(name).tally(np.array([[0.5, 0.5]]), np.array([0, 1]), *kept)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("place", [0, 31, 32, 4_990, 4_999])
@pytest.mark.parametrize("metric", [0, 2])
def test_an_error_late_in_a_call_leaves_no_trace(name: str, place: int, metric: int) -> None:
    columns, units = rng().normal(size=(3, 5_000)), rng(1).integers(0, 3, 5_000)
    columns[:, ::7] = 2.0**35
    columns[1, ::11] = INF
    kept, before = empty(3, 3), empty(3, 3)
    for each in (kept, before):
        kernels(name).tally(columns, units, *each)
    columns[metric, place] = 2.0**40
    columns[metric, place:] *= -1
    with pytest.raises(ValueError, match="values below"):
        kernels(name).tally(columns, units, *kept)
    assert kept.numbers() == before.numbers()
    assert all(np.array_equal(a, b) for a, b in zip(kept[2:], before[2:], strict=True))


def test_long_calls_of_the_plain_kernel_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    columns, units = rng().normal(size=(3, 100)), rng(1).integers(0, 7, 100)
    kept, again = empty(7, 3), empty(7, 3)
    plain.tally(columns, units, *kept)
    monkeypatch.setattr(importlib.import_module("wayscore.kernels.plain.tally"), "AT_ONCE", 9)
    plain.tally(columns, units, *again)
    assert all(np.array_equal(a, b) for a, b in zip(kept, again, strict=True))


def test_carried_sums_have_one_form() -> None:
    kept = empty(3, 2)
    kept.sums[:] = rng().integers(-(2**62), 2**62, kept.sums.shape)
    kept.large[:] = rng().integers(-(2**40), 2**40, kept.large.shape)
    before = kept.numbers()
    carry(kept.sums, kept.large)
    assert kept.numbers() == before
    assert ((kept.sums >= 0) & (kept.sums < 2**52)).all()


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
        tally.add(values[:, rows], join_clusters(rows))
    got = tally.intervals(rng(5), resamples=300, level=0.9)
    expected = bootstrap_table(columns, rng=rng(5), resamples=300, level=0.9)
    assert list(got) == list(expected)
    assert got.pop("never") == expected.pop("never") == Interval(None, None, None)
    for metric, found in expected.items():
        assert got[metric] == pytest.approx(found, rel=1e-11, abs=1e-11)
    assert got["SR"] == expected["SR"]


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
    tally.add(columns["NE"][None], np.array([4, 99, 5_000, 7]))  # the clusters need not be the first
    got = tally.intervals(rng(), resamples=20_000, level=0.6)["NE"]
    expected = bootstrap_table(columns, rng=rng(), resamples=20_000, level=0.6)["NE"]
    assert got == pytest.approx(expected, abs=1e-9)
    assert tally.undefined() == {"NE": 2}


def test_nothing_added_is_nothing_known() -> None:
    tally = Tally(["SR", "NE"])
    assert tally.rows == 0
    assert tally.means() == {"SR": None, "NE": None}
    assert tally.undefined() == {}
    assert tally.intervals(rng()) == dict.fromkeys(("SR", "NE"), Interval(None, None, None))
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
        (np.zeros((2, 3)), [0, 1], r"shape \(2, 3\) and clusters of shape \(2,\)"),
        (np.zeros((2, 1)), [MOST_CLUSTERS], "units from 0 to 9999"),
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


# Units


def test_joined_clusters_are_those_of_splitmix() -> None:
    def unit(row: int) -> int:
        word = row * 0x9E3779B97F4A7C15 % 2**64
        for shift, factor in (30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB):
            word = (word ^ word >> shift) * factor % 2**64
        return (word ^ word >> 31) % 10_000

    rows = np.concatenate((np.arange(9_990, 10_050), rng().integers(10_000, 2**62, 500)))
    assert join_clusters(rows).tolist() == [row if row < 10_000 else unit(row) for row in rows.tolist()]
    assert join_clusters(rows[7:9]).tolist() == join_clusters(rows)[7:9].tolist()


def test_joined_clusters_fill_evenly() -> None:
    sizes = np.bincount(join_clusters(np.arange(10_000, 1_010_000)), minlength=MOST_CLUSTERS)
    assert len(sizes) == MOST_CLUSTERS
    chi_square = float(((sizes - 100.0) ** 2 / 100).sum())
    assert abs(chi_square - 9_999) < 5 * math.sqrt(2 * 9_999)
