"""Bootstrap intervals of means, and of mean differences between two agents on the same episodes.

What is drawn with replacement is a cluster: one episode, or all episodes with one label (a path, a scan). Where there
are very many clusters, some of them are joined. A resample needs only the sums over each cluster.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wayscore import kernels
from wayscore.errors import OptionError, check_count

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Values: TypeAlias = ArrayLike
Columns: TypeAlias = Mapping[str, Values]
Rng: TypeAlias = "np.random.Generator"  # in quotes: `numpy.random` is loaded only when it is used
Labels: TypeAlias = Iterable[Hashable] | NDArray[Any] | None

MOST_CLUSTERS = 10_000  # more are joined, which moves an interval by less than the chance of 10,000 resamples
MOST_RESAMPLES = 1_000_000  # more would take gigabytes, and change an interval by less than it means
ROUNDING = 1e-12  # sums that should be equal differ by less than this, relatively
EQUAL = 1e-9  # values that differ by no more than this, absolutely or relatively, are equal but for rounding
SINGLE_THREAD = 10**6  # draws that are finished before a second thread has started


class Sums(NamedTuple):
    """What resamples need to know of some metrics."""

    sums: Floats  # (clusters, metrics), of the defined values, each less its origin
    counts: Floats  # (clusters, metrics), how many values these are
    origin: Floats  # the least value of each metric: no sum is negative, and those of whole numbers are exact


class Interval(NamedTuple):
    """A mean with its confidence interval; low <= mean <= high, or all None where no value is defined."""

    mean: float | None
    low: float | None
    high: float | None


class Difference(NamedTuple):
    """A mean difference a - b, its confidence interval and two-sided p-value; None where nothing is defined in both."""

    mean: float | None
    low: float | None
    high: float | None
    p: float | None


def bootstrap(
    values: Values, *, rng: Rng, resamples: int = 10_000, level: float = 0.95, clusters: Labels = None
) -> Interval:
    """Return the mean of one value per episode, with its percentile bootstrap interval.

    low and high are the (1 - level) / 2 and (1 + level) / 2 quantiles of the means of resamples drawn with
    replacement. With `clusters` whole clusters are drawn, and a resample's mean is a ratio of sums: right where
    episodes of one path or scan resemble each other. With fewer than about 30 clusters intervals are too narrow.

    Args:
        values: one value per episode; infinite ones are undefined and are left out of the mean.
        rng: the random generator.
        resamples: how many resamples to draw.
        level: the confidence level, between 0 and 1.
        clusters: a label for each episode, such as its path or scan.

    >>> bootstrap([2.0, 2.0, np.inf], rng=np.random.default_rng(0))
    Interval(mean=2.0, low=2.0, high=2.0)
    >>> mean, low, high = bootstrap(np.arange(100), rng=np.random.default_rng(0))
    >>> mean, round(low), round(high)
    (49.5, 44, 55)
    """
    return bootstrap_table({"values": values}, rng=rng, resamples=resamples, level=level, clusters=clusters)["values"]


def bootstrap_table(
    columns: Columns, *, rng: Rng, resamples: int = 10_000, level: float = 0.95, clusters: Labels = None
) -> dict[str, Interval]:
    """Return what `bootstrap` does for several metrics of the same episodes, in little more time than for one.

    Every metric sees the same resamples; `columns` are such as those of a `ScoreTable`.

    >>> bootstrap_table({"SR": [1, 1], "NE": [np.inf, np.inf]}, rng=np.random.default_rng(0))
    {'SR': Interval(mean=1.0, low=1.0, high=1.0), 'NE': Interval(mean=None, low=None, high=None)}
    """
    check_resampling(rng, resamples, level)
    arrays = as_columns(columns)
    means = _means_of_resamples(list(arrays.values()), clusters, rng, resamples)
    return {
        name: interval(mean_of(values), found, level)
        for (name, values), found in zip(arrays.items(), means, strict=True)
    }


def paired_bootstrap(
    a: Values, b: Values, *, rng: Rng, resamples: int = 10_000, level: float = 0.95, clusters: Labels = None
) -> Difference:
    """Return the mean difference a - b over the same episodes, with its interval and p-value.

    Episodes where either is undefined are left out; the settings are those of `bootstrap`. p inverts the interval,
    falling below 1 - level where the interval excludes 0: p = min(1, 2 (1 + min(#[D* <= 0], #[D* >= 0])) / (1 + B)),
    D* being the means of B resamples. Too small for fewer than about 30 episodes: there, use `randomization_test`.

    >>> paired_bootstrap([0.5, 0.7, np.inf], [0.5, 0.7, 0.2], rng=np.random.default_rng(0))
    Difference(mean=0.0, low=0.0, high=0.0, p=1.0)
    """
    one, other = {"values": a}, {"values": b}
    return paired_bootstrap_table(one, other, rng=rng, resamples=resamples, level=level, clusters=clusters)["values"]


def paired_bootstrap_table(
    a: Columns, b: Columns, *, rng: Rng, resamples: int = 10_000, level: float = 0.95, clusters: Labels = None
) -> dict[str, Difference]:
    """Return what `paired_bootstrap` does for each metric that both tables have, in little more time than for one.

    >>> a, b = {"SR": [1] * 40 + [0] * 10}, {"SR": [0] * 40 + [1] * 10}
    >>> paired_bootstrap_table(a, b, rng=np.random.default_rng(0), resamples=999)["SR"].p
    0.002
    """
    check_resampling(rng, resamples, level)
    columns = as_columns({name: differences(a[name], b[name]) for name in a if name in b})
    means = _means_of_resamples(list(columns.values()), clusters, rng, resamples)
    return {
        name: Difference(*interval(mean_of(values), found, level), tail(values, found))
        for (name, values), found in zip(columns.items(), means, strict=True)
    }


def check_resampling(rng: object, resamples: object, level: object = 0.95) -> None:
    """Refuse settings with which nothing can be resampled."""
    if not isinstance(rng, np.random.Generator):
        raise OptionError(f"rng is a numpy.random.Generator, such as numpy.random.default_rng(0), not {rng!r}")
    check_count("resamples", resamples, most=MOST_RESAMPLES)
    if not (isinstance(level, int | float | np.floating) and 0 < level < 1):
        raise OptionError(f"level lies between 0 and 1, such as 0.95, not {level!r}")


def join_clusters(numbers: Integers) -> Integers:
    """Return clusters that are numbered from 0 as clusters below MOST_CLUSTERS.

    The first keep their numbers; later ones join them by a hash of their number (SplitMix64's mixing).

    >>> join_clusters(np.array([0, 1, 9_999, 10_000, 10_001])).tolist()
    [0, 1, 9999, 8794, 333]
    """
    word = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in (30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB):
        word = (word ^ word >> np.uint64(shift)) * np.uint64(factor)
    word = (word ^ word >> np.uint64(31)) % np.uint64(MOST_CLUSTERS)
    return np.where(numbers < MOST_CLUSTERS, numbers, word.astype(np.int64))


def number_clusters(labels: Labels, episodes: int) -> Integers:
    """Return the cluster of each episode, joined; without labels every episode is a cluster of its own."""
    if labels is None:
        return join_clusters(np.arange(episodes))
    try:
        labels = list(labels)
        numbers = number_labels(labels)
    except TypeError:
        raise OptionError("clusters is a label for each episode: strings or numbers, one-dimensional") from None
    if len(labels) != episodes:
        raise OptionError(f"clusters has {len(labels)} labels for {episodes} episodes; give one for each")
    if any(label != label for label in labels):
        raise OptionError("clusters has NaN among its labels; name or drop those episodes")
    return join_clusters(numbers)


def sums_of(columns: Sequence[Floats], clusters: Integers) -> Sums:
    """Return what resamples need to know of columns of values; infinite ones are undefined."""
    held = np.bincount(clusters) > 0  # np.unique would load masked arrays
    codes, count = (np.cumsum(held) - 1)[clusters], int(np.count_nonzero(held))
    sums, counts, origin = np.empty((count, len(columns))), np.empty((count, len(columns))), np.zeros(len(columns))
    for number, column in enumerate(columns):
        defined = np.isfinite(column)
        origin[number] = np.min(column, where=defined, initial=np.inf) if defined.any() else 0.0
        sums[:, number] = np.bincount(codes, np.where(defined, column - origin[number], 0.0), minlength=count)
        counts[:, number] = np.bincount(codes, defined, minlength=count)
    return Sums(sums, counts, origin)


def _means_of_resamples(columns: Sequence[Floats], clusters: Labels, rng: Rng, resamples: int) -> Floats:
    table = sums_of(columns, number_clusters(clusters, len(columns[0])))
    return resampled_means([table], int(rng.integers(2**63)), resamples)[0]


def first_word(seed: int) -> int:
    """Return the number below 2^63 that a seed, a whole number of any size, stands for.

    It is what `numpy.random.default_rng(seed).integers(2**63)` returns, but `numpy.random` takes longer to load than
    all resampling: NumPy's SeedSequence spreads the seed over a pool of four words, from which the state of a PCG64
    generator is made (O'Neill).

    >>> first_word(7) == int(np.random.default_rng(7).integers(2**63))
    True
    """
    low, pool, words, constant = 2**32 - 1, [0] * 4, [], 0x43B0D7E5
    halves = [seed >> 32 * place & low for place in range(max(4, -(-seed.bit_length() // 32)))]
    turns = [(place, halves[place], False) for place in range(4)]
    turns += [(place, source, True) for source in range(len(halves)) for place in range(4) if place != source]
    for place, value, joins in turns:  # of what joins the pool its own words come first, then the seed's beyond them
        if joins:
            value = pool[value] if value < 4 else halves[value]
        mixed, constant = value ^ constant, constant * 0x931E8875 & low
        mixed = mixed * constant & low
        mixed ^= mixed >> 16
        if joins:
            mixed = 0xCA01F9DD * pool[place] - 0x4973F715 * mixed & low
            mixed ^= mixed >> 16
        pool[place] = mixed
    constant = 0x8B51F9DD
    for value in pool + pool:
        mixed, constant = value ^ constant, constant * 0x58F38DED & low
        mixed = mixed * constant & low
        words.append(mixed ^ mixed >> 16)
    a, b, c, d = (lower | upper << 32 for lower, upper in zip(words[::2], words[1::2], strict=True))
    step = (c << 64 | d) << 1 | 1
    state = (a << 64 | b) + step  # one step from 0 on, and the seed
    for _ in range(2):
        state = (state * 0x2360ED051FC65DA44385DF649FCCF645 + step) % 2**128
    folded, turn = (state >> 64 ^ state) % 2**64, state >> 122
    return (folded >> turn | folded << 64 - turn) % 2**64 >> 1


def resampled_means(tables: Sequence[Sums], word: int, resamples: int) -> list[Floats]:
    """Return for each table the means of its metrics in each resample (rows: metrics).

    They are infinite where a resample has no defined value. Tables of equally many clusters see the same resamples,
    which are drawn only once. The random `word`, below 2^63, decides which.

    Sums are rounded to whole multiples of a power of two that make every total less than 2^53: additions are exact
    then, and totals the same bits whatever multiplies and in whichever order. It costs a mean about 1e-12 of the
    largest cluster, and nothing where values are whole numbers of halves, quarters, ...
    """
    found = [np.full((table.sums.shape[1], resamples), np.inf) for table in tables]
    for clusters in {len(table.sums) for table in tables} - {0}:
        alike = [number for number, table in enumerate(tables) if len(table.sums) == clusters]
        kinds = {column.tobytes(): column for number in alike for column in tables[number].counts.T}
        sums = np.column_stack((*kinds.values(), *(tables[number].sums for number in alike)))
        exponents = np.frexp(sums.max(axis=0))[1] + clusters.bit_length() - 52
        whole = np.rint(np.ldexp(sums, -exponents))
        drawn = np.full((resamples, len(exponents)), np.nan)
        half = resamples // 2 if resamples * clusters > SINGLE_THREAD and kernels.name == "native" else 0
        helper = threading.Thread(target=kernels.resample, args=(word, 0, whole, drawn[:half]))
        helper.start()
        kernels.resample(word, half, whole, drawn[half:])
        helper.join()
        if np.isnan(drawn[0, 0]):
            raise MemoryError("there is no memory for the resamples of a second thread")
        totals = iter(np.ldexp(drawn.T, exponents[:, None], order="C"))
        counts = {kind: next(totals) for kind in kinds}
        for number in alike:
            for column, row in zip(tables[number].counts.T, found[number], strict=True):
                count = counts[column.tobytes()]
                np.divide(next(totals), count, out=row, where=count > 0)
            found[number] += tables[number].origin[:, None]
    return found


def interval(mean: float | None, means: Floats, level: float) -> Interval:
    """Return a mean with the quantiles of its resamples; infinite ones, without any defined value, are left out.

    The quantiles are those of np.quantile, whose first call takes longer than all resampling: it loads masked arrays.
    """
    if mean is None:
        return Interval(None, None, None)
    bounds, means = [mean, mean], means[np.isfinite(means)]
    if len(means):
        positions = [(1 - level) / 2 * (len(means) - 1), (1 + level) / 2 * (len(means) - 1)]
        around = [rounded(position) for position in positions for rounded in (math.floor, math.ceil)]
        a, b, c, d = np.partition(means, around)[around].tolist()
        bounds = [a + (b - a) * (positions[0] % 1), c + (d - c) * (positions[1] % 1)]
    return Interval(mean, min(mean, bounds[0]), max(mean, bounds[1]))  # not outside by a rounding error


def mean_of(values: Floats) -> float | None:
    """Return the mean of the values that are defined, rounded once; None where none is."""
    values = values[np.isfinite(values)]
    return math.fsum(values) / len(values) if len(values) else None


def tail(values: Floats, means: Floats) -> float | None:
    """Return the two-sided p-value of a mean difference from its values and the means of its resamples."""
    values, means = values[np.isfinite(values)], means[np.isfinite(means)]
    if not len(values):
        return None
    zero = ROUNDING * np.abs(values).max()
    beyond = min(np.count_nonzero(means <= zero), np.count_nonzero(means >= -zero))
    return min(1.0, 2 * (1 + int(beyond)) / (1 + len(means)))


def as_column(values: Values, name: str) -> Floats:
    """Return values as an array of one number per episode; NaN is refused."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(f"{name}: expected numbers, one per episode") from None
    if numbers.ndim != 1:
        raise OptionError(f"{name}: expected one number per episode, not an array of shape {numbers.shape}")
    if np.isnan(numbers).any():
        raise OptionError(f"{name}: value {np.isnan(numbers).argmax()} is NaN; give infinity for undefined values")
    return numbers


def as_columns(given: Columns) -> dict[str, Floats]:
    """Return columns of equal length."""
    arrays = {name: as_column(values, name) for name, values in given.items()}
    if not arrays:
        raise OptionError("there is no metric to resample; give at least one column")
    lengths = {name: len(values) for name, values in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise OptionError(f"expected one value of each for every episode, but their numbers differ: {lengths}")
    return arrays


def as_pair(a: Values, b: Values) -> tuple[Floats, Floats]:
    """Return two columns of equal length."""
    first, second = as_columns({"the first values": a, "the second values": b}).values()
    return first, second


def number_labels(labels: Iterable[Hashable]) -> Integers:
    """Number labels in the order in which they first appear."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)


def differences(a: Values, b: Values) -> Floats:
    """Return a - b: infinite where either is undefined, 0 where they are equal but for rounding."""
    a, b = as_pair(a, b)
    d: Floats = np.subtract(a, b, out=np.full(len(a), np.inf), where=np.isfinite(a) & np.isfinite(b))
    d[equal(a, b) & np.isfinite(d)] = 0.0
    return d


def equal(a: Floats, b: Floats) -> NDArray[np.bool_]:
    """Return where values are equal but for rounding; infinite ones where both are."""
    return np.isclose(a, b, rtol=EQUAL, atol=EQUAL)
