"""Intervals and tests by hand, against SciPy, by property, and by what they promise in the long run."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import example, given, strategies as st

import wayscore as ws
from wayscore.statistics import (
    Difference,
    Interval,
    bootstrap,
    bootstrap_table,
    effect_size,
    holm,
    kendall,
    paired_bootstrap,
    paired_bootstrap_table,
    pearson,
    probability_of_superiority,
    randomization_test,
    sign_test,
    spearman,
    win_tie_loss,
)
from wayscore.statistics.bootstrap import differences, first_word, interval, number_clusters, resampled_means, sums_of
from wayscore.statistics.correlations import row_correlations
from wayscore.statistics.tests import holm_rows, randomization_tests, sign_tests

INF = math.inf
values = st.floats(-1e6, 1e6)
columns = st.lists(values, min_size=1, max_size=40)
pairs = st.lists(st.tuples(values, values), min_size=1, max_size=40)
THEIRS = {pearson: scipy.stats.pearsonr, spearman: scipy.stats.spearmanr, kendall: scipy.stats.kendalltau}
small = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=2, max_size=30)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def near_rate(hits: int, trials: int, rate: float) -> bool:
    """Whether so many hits are what chance makes of this rate, once in a thousand not."""
    return bool(scipy.stats.binomtest(hits, trials, rate).pvalue > 0.001)


@pytest.mark.parametrize(
    ("positive", "negative", "printed"),
    [
        (242, 17, "4.1e-52"),
        (254, 9, "2.0e-63"),
        (255, 9, "1.0e-63"),
        (162, 46, "2.4e-16"),
        (253, 12, "6.9e-60"),
        (219, 16, "9.6e-47"),
        (220, 14, "8.8e-49"),
        (219, 17, "6.7e-46"),
        (213, 26, "1.1e-37"),
        (254, 12, "3.6e-60"),  # AD, where the paper prints 253/12's
    ],
)
def test_the_papers_sign_tests(positive: int, negative: int, printed: str) -> None:
    assert f"{sign_test(positive, negative):.1e}" == printed
    assert sign_test(negative, positive) == pytest.approx(sign_test(positive, negative), rel=1e-9)


@given(st.integers(0, 300), st.integers(0, 300))
def test_sign_test_against_exact_sums(positive: int, negative: int) -> None:
    n = positive + negative
    tail = sum(math.comb(n, k) for k in range(min(positive, negative) + 1))
    assert sign_test(positive, negative) == pytest.approx(min(1.0, 2 * tail / 2**n), rel=1e-9)
    many = sign_tests(np.array([positive, 3]), np.array([negative, 3]))
    assert many.tolist() == [sign_test(positive, negative), 1.0]


@pytest.mark.parametrize(
    ("sample", "level", "expected"),
    [([0.0, 1.0, 5.0], 0.8, 2), ([0.0, 6.0, INF, INF], 0.6, 3)],
    ids=["all defined", "the denominator is resampled"],
)
def test_bootstrap_by_enumeration(sample: list[float], level: float, expected: float) -> None:
    """Of all resamples: the mean of what is defined, where anything is."""
    means = [
        sum(finite) / len(finite)
        for drawn in itertools.product(sample, repeat=len(sample))
        if (finite := [value for value in drawn if value < INF])
    ]
    mean, low, high = bootstrap(sample, rng=rng(), resamples=20_000, level=level)
    assert mean == expected
    assert (low, high) == pytest.approx(tuple(np.quantile(means, [(1 - level) / 2, (1 + level) / 2])))


def test_cluster_bootstrap_is_a_ratio_of_sums() -> None:
    clusters = ["a", "b", "a", "c", "a"]
    sums, sizes = {"a": 3.0, "b": 10.0, "c": 2.0}, {"a": 3, "b": 1, "c": 1}
    ratios = [
        sum(sums[c] for c in drawn) / sum(sizes[c] for c in drawn) for drawn in itertools.product("abc", repeat=3)
    ]
    mean, low, high = bootstrap([1.0, 10.0, 2.0, 2.0, 0.0], rng=rng(), level=0.6, clusters=clusters)
    assert mean == 3
    assert (low, high) == pytest.approx(tuple(np.quantile(ratios, [0.2, 0.8])))
    sample = rng(1).random(30)
    assert bootstrap(sample, rng=rng(), clusters=range(30)) == bootstrap(sample, rng=rng())
    assert bootstrap(sample, rng=rng(), clusters=np.repeat("one", 30)) == pytest.approx((np.mean(sample),) * 3)


def test_undefined_values() -> None:
    assert bootstrap([INF, -INF], rng=rng()) == Interval(None, None, None)
    assert bootstrap([], rng=rng()) == bootstrap([], rng=rng(), clusters=[]) == Interval(None, None, None)
    assert bootstrap([INF, 2.0, INF], rng=rng()) == Interval(2.0, 2.0, 2.0)
    assert bootstrap([INF] * 99 + [2.0], rng=rng(), resamples=1) == Interval(2.0, 2.0, 2.0)
    for a, b in (([INF, 1.0], [INF, INF]), ([], [])):
        assert paired_bootstrap(a, b, rng=rng()) == Difference(None, None, None, None)
        assert randomization_test(a, b, rng=rng()) is effect_size(a, b) is None
    assert paired_bootstrap([INF, 1.0], [5.0, 0.0], rng=rng()).mean == 1
    assert randomization_test([INF, 3.0, 1.0], [5.0, 3.0, 1.0], rng=rng()) == 1
    assert effect_size([INF, 1.0], [5.0, INF]) is None
    assert win_tie_loss([], [], "up") == (0, 0, 0)
    assert probability_of_superiority([], [], "up") is None


@pytest.mark.parametrize("value", [0.1, 0.11, -0.22, 1 / 3, 3.0, -7.7e5])
def test_a_constant_is_certain(value: float) -> None:
    mean, low, high = bootstrap([value] * 49, rng=rng(), resamples=100)
    assert low <= mean <= high
    assert (low, high) == pytest.approx((value, value), rel=1e-15)


def test_table_is_its_columns() -> None:
    table = {"SR": rng(1).integers(0, 2, 200), "NE": rng(2).exponential(size=200), "CLS": rng(3).random(200)}
    table["NE"][:20] = INF
    got = bootstrap_table(table, rng=rng(), resamples=500)
    assert {metric: found.mean for metric, found in got.items()} == ws.ScoreTable(table, {}).means()
    for metric, column in table.items():
        assert got[metric] == pytest.approx(bootstrap(column, rng=rng(), resamples=500), rel=1e-12)
    other = {"CLS": rng(4).random(200), "SR": rng(5).integers(0, 2, 200)}
    both = paired_bootstrap_table(table, other, rng=rng(), resamples=500)
    assert [*got, *both] == [*table, "SR", "CLS"]
    for metric, column in other.items():
        alone = paired_bootstrap(table[metric], column, rng=rng(), resamples=500)
        assert both[metric] == pytest.approx(alone, rel=1e-12)


def undefined_here_and_there(count: int = 77) -> tuple[np.ndarray, ...]:
    columns = rng(1).normal(size=(4, count))
    columns[1, ::3] = 0.0
    columns[2, ::5] = INF
    columns[3] = np.rint(columns[3])
    return tuple(columns)


@pytest.mark.parametrize("clusters", [None, "ab" * 38 + "c", list(range(70)) + [3] * 7])
def test_what_is_drawn_together_is_as_drawn_alone(clusters: Any) -> None:
    columns = undefined_here_and_there()
    numbers = number_clusters(clusters, 77)
    zeros = np.zeros(77)
    alone = [randomization_test(one, zeros, rng=rng(), resamples=500, clusters=clusters) for one in columns]
    d = [differences(one, zeros) for one in columns]
    assert randomization_tests(d, numbers, rng=rng(), resamples=500) == alone
    tables = [sums_of([one], numbers) for one in columns] + [sums_of(columns[:2], number_clusters(None, 77))]
    word = int(rng().integers(2**63))
    for table, means in zip(tables, resampled_means(tables, word, 200), strict=True):
        assert np.array_equal(means, resampled_means([table], word, 200)[0])


def test_randomization_test_literally() -> None:
    """Signs are the bits of the generator's bytes, 32 at a time, one for each difference that is not 0."""
    for d in undefined_here_and_there():
        left = [value for value in d if value != 0 and value < INF]
        words = -(-len(left) // 32)
        generator, extreme = rng(5), 0
        for _ in range(200):
            noise = generator.bytes(4 * words)
            signs = [1 if noise[n // 8] >> (7 - n % 8) & 1 else -1 for n in range(len(left))]
            total = math.fsum(sign * value for sign, value in zip(signs, left, strict=True))
            extreme += abs(total) >= abs(math.fsum(left)) - 1e-12
        assert randomization_test(d, np.zeros(77), rng=rng(5), resamples=200) == (1 + extreme) / 201


@given(st.integers(0, 2**400))
@example(2**32 - 1)
@example(2**32)
@example(2**128 - 1)
@example(2**128)
@example(2**160 + 3)
def test_first_words_are_those_of_numpy(seed: int) -> None:
    assert first_word(seed) == rng(seed).integers(2**63)


def test_very_many_episodes_are_grouped() -> None:
    sample = np.sort(rng(1).exponential(size=60_000))  # neighbours are alike, but groups are drawn at random
    sample[::3] = INF
    mean, low, high = bootstrap(sample, rng=rng(), resamples=2_000)
    defined = sample[np.isfinite(sample)]
    error = 1.96 * np.std(defined) / math.sqrt(len(defined))
    assert mean == pytest.approx(np.mean(defined))
    assert (mean - low, high - mean) == pytest.approx((error, error), rel=0.1)
    shifted = sample + rng(2).normal(0.02, 1, size=len(sample))
    exact = scipy.stats.ttest_rel(shifted[np.isfinite(sample)], defined).pvalue
    assert randomization_test(shifted, sample, rng=rng()) == pytest.approx(exact, abs=0.005)
    many = rng(3).permutation(60_000) // 4
    assert bootstrap(sample, rng=rng(), resamples=2_000, clusters=many) == pytest.approx((mean, low, high), rel=0.005)


@given(columns, st.integers(0, 2**32))
def test_interval_properties(sample: list[float], seed: int) -> None:
    def drawn(shift: float = 0.0, level: float = 0.95) -> Any:
        return bootstrap(np.array(sample) + shift, rng=rng(seed), resamples=50, level=level)

    got, wider, scale = drawn(), drawn(level=0.99), max(map(abs, sample))
    assert min(sample) - 1e-9 * scale <= got.low <= got.mean <= got.high <= max(sample) + 1e-9 * scale
    assert got == drawn()
    assert wider.low <= got.low <= got.high <= wider.high
    assert drawn(1000) == pytest.approx([value + 1000 for value in got], abs=1e-9 * (scale + 1000))


def covered(make: Callable[[np.random.Generator], np.ndarray], truth: float, trials: int, **options: Any) -> int:
    """How many of so many 95 % intervals contain the truth."""
    hits = 0
    for seed in range(trials):
        generator = rng(seed)
        _, low, high = bootstrap(make(generator), rng=generator, resamples=1_000, **options)
        hits += low <= truth <= high
    return hits


@pytest.mark.parametrize(
    ("make", "truth"),
    [
        (lambda generator: generator.normal(3, 2, size=200), 3.0),
        (lambda generator: generator.random(200) < 0.4, 0.4),
        (lambda generator: np.where(generator.random(200) < 0.1, INF, generator.gamma(2, size=200)), 2.0),
    ],
    ids=["normal", "success", "skewed, a tenth undefined"],
)
@pytest.mark.soak
def test_intervals_cover(make: Callable[[np.random.Generator], np.ndarray], truth: float) -> None:
    assert near_rate(covered(make, truth, 400), 400, 0.95)


def test_intervals_cover_clusters() -> None:
    # 80 scans of 1 to 5 episodes that are alike; drawing episodes one by one knows too much.
    clusters = np.repeat(np.arange(80), np.arange(80) % 5 + 1)

    def make(generator: np.random.Generator) -> np.ndarray:
        return generator.normal(size=80)[clusters] + 0.3 * generator.normal(size=len(clusters))

    assert near_rate(covered(make, 0.0, 400, clusters=clusters), 400, 0.95)
    assert covered(make, 0.0, 400) < 0.85 * 400


def test_p_agrees_with_the_interval() -> None:
    for seed in range(40):
        generator = rng(seed)
        difference = generator.normal(0.2, 1, size=100)
        _, low, high, p = paired_bootstrap(difference, np.zeros(100), rng=generator, resamples=2_000)
        if abs(p - 0.05) > 0.003:
            assert (p < 0.05) == (low > 0 or high < 0)


def test_randomization_test_by_hand() -> None:
    d, zeros = np.array([0.1, 0.2, 0.3, -0.1]), [0] * 4
    sums = [abs(np.dot(signs, d)) for signs in itertools.product([-1, 1], repeat=4)]
    exact = np.mean(np.array(sums) >= 0.5 - 1e-9)
    assert randomization_test(d, zeros, rng=rng(), resamples=20_000) == pytest.approx(exact, abs=0.01)
    # The episodes of a cluster trade places together: two clusters leave but four ways, two of them as far out.
    assert randomization_test(d, zeros, rng=rng(), resamples=20_000, clusters="aabb") == pytest.approx(0.5, abs=0.02)
    # The +1 keeps p above 0.
    assert randomization_test([1.0] * 60, [0.0] * 60, rng=rng(), resamples=99) == 0.01


def test_paired_bootstrap_by_hand() -> None:
    a, b = rng(1).random(60), rng(2).random(60)
    assert paired_bootstrap(a, b, rng=rng(), clusters=range(60))[:3] == bootstrap(a - b, rng=rng())
    better = paired_bootstrap(a + 1, b, rng=rng(), resamples=999)
    assert better.low > 0
    assert better.p == 0.002
    assert paired_bootstrap(a, a, rng=rng()) == Difference(0.0, 0.0, 0.0, 1.0)


@given(pairs, st.integers(0, 2**32))
def test_paired_tests_are_antisymmetric(sample: list[tuple[float, float]], seed: int) -> None:
    a, b = zip(*sample, strict=True)
    forth, back = (paired_bootstrap(*order, rng=rng(seed), resamples=50) for order in ((a, b), (b, a)))
    mirrored = -forth.mean, -forth.high, -forth.low
    assert back[:3] == pytest.approx(mirrored, abs=1e-9 * max(map(abs, a + b)))
    assert back.p == pytest.approx(forth.p)
    assert 0 < forth.p <= 1
    p, *others = (randomization_test(*order, rng=rng(seed), resamples=50) for order in ((a, b), (a, b), (b, a)))
    assert 0 < p <= 1
    assert others == [p, p]


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.soak
def test_false_positives(clustered: bool) -> None:
    """Runs of two agents who trade places at random differ only by chance."""
    trials = 400
    clusters = np.arange(200) // 2 if clustered else None
    p_values = []
    for seed in range(trials):
        generator = rng(seed)
        runs = generator.gamma(2, size=(2, 200)) + generator.gamma(1, size=200)  # alike where an episode is hard
        swap = generator.random(200) < 0.5
        if clusters is not None:
            runs, swap = runs[:, clusters], swap[clusters]  # each episode twice
        a, b = np.where(swap, runs[::-1], runs)
        options: dict[str, Any] = {"rng": generator, "resamples": 999, "clusters": clusters}
        p_values.append((randomization_test(a, b, **options), paired_bootstrap(a, b, **options).p))
    for found in zip(*p_values, strict=True):
        assert near_rate(sum(p <= 0.05 for p in found), trials, 0.05)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm({"SR": 0.9, "NE": 0.6}) == {"SR": 1.0, "NE": 1.0}


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_properties(p: list[float]) -> None:
    adjusted = holm(p)
    assert all(raw <= new <= min(1.0, len(p) * max(p)) for raw, new in zip(p, adjusted, strict=True))
    assert np.all(np.diff(np.array(adjusted)[np.argsort(p, kind="stable")]) >= 0)
    assert list(holm(dict(enumerate(p))).values()) == adjusted
    assert holm(p[::-1]) == adjusted[::-1]
    assert holm_rows(np.array([p, p[::-1]])).tolist() == [adjusted, adjusted[::-1]]


def test_win_tie_loss() -> None:
    assert win_tie_loss([1, 2, 3, 4], [4, 2, 1, 1], "up") == (2, 1, 1)
    assert win_tie_loss([1, 2, 3, 4], [4, 2, 1, 1], "down") == (1, 1, 2)
    for direction in ("up", "down"):
        assert win_tie_loss([INF, INF, 1, -INF, 2], [1, INF, -INF, INF, -INF], direction) == (2, 2, 1)


@pytest.mark.parametrize(("size", "ties"), [(0.0, 3), (1e-12, 3), (1e-9, 3), (1e-8, 2), (1e-3, 2)])
def test_what_differs_by_rounding_is_a_tie(size: float, ties: int) -> None:
    a, b = [0.5, 1.0 + size, 1e6], [0.5, 1.0, 1e6 + 1e-4]
    assert win_tie_loss(a, b, "up") == win_tie_loss(b, a, "down") == (3 - ties, ties, 0)


def test_rounding_is_no_difference() -> None:
    """Values that are equal but for rounding have no effect, however often they differ the same way."""
    a = rng().random(200)
    b = a - 1e-15
    assert (a > b).all()
    assert randomization_test(a, b, rng=rng()) == 1
    assert paired_bootstrap(a, b, rng=rng()) == (0, 0, 0, 1)
    assert effect_size(a, b) == 0
    assert win_tie_loss(a, b, "up") == (0, 200, 0)


@given(small, st.sampled_from(["up", "down"]))
def test_win_tie_loss_properties(sample: list[tuple[int, int]], direction: Any) -> None:
    a, b = zip(*sample, strict=True)
    wins, ties, losses = win_tie_loss(a, b, direction)
    assert wins + ties + losses == len(a)
    assert win_tie_loss(b, a, direction) == (losses, ties, wins)
    chance = probability_of_superiority(a, b, direction)
    assert chance + probability_of_superiority(b, a, direction) == pytest.approx(1)
    assert probability_of_superiority(a, a, direction) == 0.5
    assert effect_size(a, b) == -effect_size(b, a)


def test_effect_size() -> None:
    assert effect_size([1, 2, 6], [0, 0, 3]) == 2
    assert effect_size([1, 2], [1, 2]) == 0
    assert effect_size([0.3, 0.3], [0.1, 0.3]) == pytest.approx(0.5 * math.sqrt(2))
    assert effect_size([1, 2], [2, 1]) == 0
    assert effect_size([1.1, 2.1, 3.1], [1, 2, 3]) == INF
    assert effect_size([1], [3]) == -INF
    a, b = rng(1).random((2, 50))
    assert effect_size(a, b) * math.sqrt(50) == pytest.approx(scipy.stats.ttest_rel(a, b).statistic)


@given(small)
def test_correlations_against_scipy(sample: list[tuple[int, int]]) -> None:
    x, y = zip(*sample, strict=True)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert pearson(x, y) == spearman(x, y) == kendall(x, y) == 0
    else:
        for ours, theirs in THEIRS.items():
            assert ours(x, y) == pytest.approx(theirs(x, y).statistic, abs=1e-12)


@given(st.lists(st.tuples(st.floats(allow_nan=False), st.floats(allow_nan=False)), min_size=1, max_size=20))
def test_correlations_stay_in_bounds(sample: list[tuple[float, float]]) -> None:
    x, y = zip(*sample, strict=True)
    for correlation in THEIRS if np.isfinite(sample).all() else (spearman, kendall):
        assert -1 <= correlation(x, y) <= 1
        assert correlation(x, y) == pytest.approx(correlation(y, x), abs=1e-12)


def test_correlations_by_hand() -> None:
    # Humans rank five queries; the metric ties two of them.
    ranking, metric = [1, 2, 3, 4, 5], [0.9, 0.7, 0.7, 0.2, 0.1]
    assert spearman(ranking, metric) == pytest.approx(-9.5 / math.sqrt(10 * 9.5))
    assert kendall(ranking, metric) == pytest.approx(-9 / math.sqrt(10 * 9))
    assert spearman([1, 2, 3], [0, 1, INF]) == kendall([1, 2, 3], [0, 1, INF]) == 1
    assert pearson([1e308, -1e308, 0], [1, -1, 0]) == pytest.approx(1)
    assert pearson([1e-320, 0], [0, 1]) == pytest.approx(-1)
    assert pearson([5], [5]) == spearman([5], [5]) == kendall([5], [5]) == 0
    x, y = rng(1).integers(0, 300, 5_000), rng(2).normal(size=5_000).round(2)  # a long series
    for ours, theirs in THEIRS.items():
        assert ours(x, y) == pytest.approx(theirs(x, y).statistic, abs=1e-14)


def test_infinite_distances_are_ranked_and_not_averaged() -> None:
    x, y = np.array([[1.0, 2, np.inf, np.inf]]), np.array([[1.0, 2, 3, 3]])
    assert row_correlations(x, y, "spearman")[0] == pytest.approx(1)
    with pytest.raises(ws.OptionError, match="pearson needs finite values"):
        row_correlations(x, y, "pearson")


@pytest.mark.parametrize("size", [2, 5, 40])
@pytest.mark.parametrize("correlation", THEIRS)
def test_each_row_is_correlated_alone(size: int, correlation: Callable[..., float]) -> None:
    x, y = rng(1).integers(0, 6, (2, 30, size)).astype(np.float64)
    alone = [correlation(a, b) for a, b in zip(x, y, strict=True)]
    assert row_correlations(x, y, correlation.__name__).tolist() == alone  # type: ignore[arg-type]


COLUMNS: dict[str, Callable[..., object]] = {
    "bootstrap": lambda x: bootstrap(x, rng=rng()),
    "bootstrap_table": lambda x: bootstrap_table({"NE": x}, rng=rng()),
    "holm": holm,
    "paired_bootstrap": lambda a, b: paired_bootstrap(a, b, rng=rng()),
    "paired_bootstrap_table": lambda a, b: paired_bootstrap_table({"NE": a}, {"NE": b}, rng=rng()),
    "randomization_test": lambda a, b: randomization_test(a, b, rng=rng()),
    "win_tie_loss": lambda a, b: win_tie_loss(a, b, "up"),
    "probability_of_superiority": lambda a, b: probability_of_superiority(a, b, "up"),
    "effect_size": effect_size,
    "pearson": pearson,
    "spearman": spearman,
    "kendall": kendall,
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (0.5, "shape"),
        ([[0.1], [0.2]], "shape"),
        ([0.1, math.nan], "value 1 is NaN"),
        (["a", "b"], "expected numbers"),
        (None, "NaN|shape"),
    ],
)
def test_bad_columns(name: str, bad: Any, message: str) -> None:
    one = name in ("bootstrap", "bootstrap_table", "holm")
    for arguments in [(bad,)] if one else [(bad, [0.1, 0.2]), ([0.1, 0.2], bad)]:
        with pytest.raises(ws.OptionError, match=message):
            COLUMNS[name](*arguments)
    if not one:
        with pytest.raises(ws.OptionError, match=r"numbers differ: .*first values': 2, .*second values': 3"):
            COLUMNS[name]([1, 2], [1, 2, 3])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resamples": 0}, "resamples must be a whole number, 1 to 1,000,000, not 0"),
        ({"resamples": 1e4}, "resamples must be a whole number"),
        ({"level": 0}, "level lies between 0 and 1"),
        ({"level": 95}, "level lies between 0 and 1, such as 0.95, not 95"),
        ({"level": math.nan}, "level lies between 0 and 1"),
        ({"level": "0.95"}, "level lies between 0 and 1"),
        ({"rng": 7}, "rng is a numpy.random.Generator"),
        ({"clusters": ["a"]}, "clusters has 1 labels for 2 episodes"),
        ({"clusters": [["a"], ["b"]]}, "clusters is a label for each episode"),
        ({"clusters": 3}, "clusters is a label for each episode"),
        ({"clusters": [1.0, math.nan]}, "clusters has NaN"),
    ],
)
def test_bad_settings(options: dict[str, Any], message: str) -> None:
    settings = {"rng": rng(), **options}
    calls: list[tuple[Callable[..., object], int]] = [(bootstrap, 1), (paired_bootstrap, 2)]
    for call, columns in calls + ([] if "level" in options else [(randomization_test, 2)]):
        with pytest.raises(ws.OptionError, match=message):
            call(*[[1, 2]] * columns, **settings)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bootstrap_table({}, rng=rng()), "no metric"),
        (lambda: paired_bootstrap_table({"SR": [1]}, {"NE": [1]}, rng=rng()), "no metric"),
        (lambda: bootstrap_table({"SR": [1], "NE": [1, 2]}, rng=rng()), "differ: {'SR': 1, 'NE': 2}"),
        (lambda: sign_test(-1, 3), "positive must be a whole number, 0 or more, not -1"),
        (lambda: sign_test(1, 2.5), "negative must be a whole number, 0 or more, not 2.5"),  # type: ignore[arg-type]
        (lambda: holm([0.5, 1.5]), "between 0 and 1"),
        (lambda: holm({"SR": -0.1}), "between 0 and 1"),
        (lambda: win_tie_loss([1], [2], None), "direction is 'up' or 'down', not None"),  # type: ignore[arg-type]
        (lambda: probability_of_superiority([1], [2], "left"), "'left'"),  # type: ignore[arg-type]
        (lambda: pearson([1, INF], [1, 2]), "finite"),
        (lambda: kendall([], []), "at least one value"),
    ],
)
def test_bad_calls(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ws.OptionError, match=message):
        call()


def test_scipy_waits_until_it_is_needed() -> None:
    code = "import sys, wayscore.statistics; print('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@given(columns, st.floats(0, 1))
def test_bounds_are_the_quantiles_of_numpy(sample: list[float], level: float) -> None:
    expected = np.quantile(sample, [0.5, (1 - level) / 2, (1 + level) / 2])
    scale = max(map(abs, sample))
    assert interval(expected[0], np.array(sample), level) == pytest.approx(expected, rel=1e-12, abs=1e-12 * scale)
