"""How sure a number is: bootstrap intervals, paired tests, the sign test, rank correlations.

Pure functions over one value an episode; the random generator is always an argument. Infinite values are
undefined, as in a `ScoreTable`: they leave the mean of every resample, so that its denominator varies too.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from wayscore.errors import OptionError
from wayscore.statistics.bootstrap import ROUNDING, Rng, interval, randomization_of_units, resampled_means, units_of
from wayscore.statistics.bootstrap import Interval as Interval
from wayscore.statistics.correlations import kendall as kendall
from wayscore.statistics.correlations import pearson as pearson
from wayscore.statistics.correlations import spearman as spearman
from wayscore.statistics.values import Columns, Floats, Values, as_column, as_columns, as_pair

Labels: TypeAlias = Iterable[Hashable] | NDArray[Any] | None
Direction: TypeAlias = Literal["up", "down"]
Key = TypeVar("Key", bound=Hashable)


class Difference(NamedTuple):
    """A mean difference a - b with its confidence interval and its two-sided p-value."""

    mean: float
    low: float
    high: float
    p: float


def bootstrap(
    values: Values, *, rng: Rng, resamples: int = 10_000, level: float = 0.95, clusters: Labels = None
) -> Interval:
    """Return the mean of one value an episode, with its percentile bootstrap interval.

    low and high are the (1 - level) / 2 and (1 + level) / 2 quantiles of the means of resamples drawn with
    replacement. With `clusters` whole clusters are drawn, and a resample's mean is a ratio of sums: right where
    episodes of one path or scan resemble each other. Fewer than some 30 clusters make intervals too narrow.

    Args:
        values: one value an episode; infinite ones are undefined and leave the mean.
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
    {'SR': Interval(mean=1.0, low=1.0, high=1.0), 'NE': Interval(mean=0.0, low=0.0, high=0.0)}
    """
    check_resampling(rng, resamples, level)
    arrays = as_columns(columns)
    means = _resampled_means(list(arrays.values()), clusters, rng, resamples)
    return {
        name: interval(_mean(values), found, level) for (name, values), found in zip(arrays.items(), means, strict=True)
    }


def paired_bootstrap(
    a: Values, b: Values, *, rng: Rng, resamples: int = 10_000, level: float = 0.95, clusters: Labels = None
) -> Difference:
    """Return the mean difference a - b over the same episodes, with its interval and p-value.

    Episodes where either is undefined are left out; the settings are those of `bootstrap`. p inverts the interval,
    falling below 1 - level where the interval leaves 0: p = min(1, 2 (1 + min(#[D* <= 0], #[D* >= 0])) / (1 + B)),
    D* being the means of B resamples. Too bold for fewer than some 30 episodes: there, use `randomization_test`.

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
    differences = as_columns({name: _differences(a[name], b[name]) for name in a if name in b})
    means = _resampled_means(list(differences.values()), clusters, rng, resamples)
    return {
        name: Difference(*interval(_mean(values), found, level), _tail(values, found))
        for (name, values), found in zip(differences.items(), means, strict=True)
    }


def randomization_test(a: Values, b: Values, *, rng: Rng, resamples: int = 10_000, clusters: Labels = None) -> float:
    """Return the two-sided p-value of the paired randomization test.

    If both agents were alike, a and b could trade places in any episode: the sum of the differences is compared
    with B = resamples sums under random signs s, p = (1 + #[|sum s d| >= |sum d|]) / (1 + B). With `clusters` all
    episodes of a cluster trade places together. Episodes where either is undefined are left out.

    >>> randomization_test([1, 2, 3], [1, 2, 3], rng=np.random.default_rng(0))
    1.0
    >>> randomization_test([1.0] * 20, [0.0] * 20, rng=np.random.default_rng(0), resamples=999)
    0.001
    """
    check_resampling(rng, resamples)
    d = _differences(a, b)
    return randomization_of_units(
        _unit_sums([np.where(np.isfinite(d), d, 0.0)], len(d), clusters)[:, 0], rng, resamples
    )


def sign_test(positive: int, negative: int) -> float:
    """Return the two-sided p-value of the sign test, ties discarded.

    p = P(|K - n/2| >= |positive - n/2|), K ~ Binomial(n, 1/2), n = positive + negative; 1 where n is 0. This gives
    the p-values of the paper's Table 1 from its counts, except under AD: there 254/12 gives 3.6e-60, and the
    printed 6.9e-60 belongs to 253/12, a slip of the paper.

    >>> f"{sign_test(242, 17):.1e}"
    '4.1e-52'
    """
    counts = _whole("positive", positive, 0), _whole("negative", negative, 0)
    if not any(counts):
        return 1.0
    from scipy.stats import binomtest

    return float(binomtest(counts[0], sum(counts), 0.5).pvalue)


@overload
def holm(p_values: Mapping[Key, float]) -> dict[Key, float]: ...
@overload
def holm(p_values: Sequence[float] | Floats) -> list[float]: ...
def holm(p_values: Mapping[Key, float] | Sequence[float] | Floats) -> dict[Key, float] | list[float]:
    """Return p-values adjusted for being several, by Holm's step-down method, in the order given.

    With p_(1) <= ... <= p_(m): adjusted p_(i) = max over j <= i of min(1, (m - j + 1) p_(j)). Rejecting where the
    adjusted value is below alpha keeps the chance of any false rejection below alpha.

    >>> holm([0.5, 0.01, 0.02])
    [0.5, 0.03, 0.04]
    >>> holm({"SR": 0.5, "nDTW": 0.01})
    {'SR': 0.5, 'nDTW': 0.02}
    """
    if isinstance(p_values, Mapping):
        return dict(zip(p_values, holm(list(p_values.values())), strict=True))
    p = as_column(p_values, "p_values")
    if not ((p >= 0) & (p <= 1)).all():
        raise OptionError("p-values lie between 0 and 1")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, np.arange(len(p), 0, -1) * p[order]))
    return [float(value) for value in adjusted]


def win_tie_loss(a: Values, b: Values, direction: Direction) -> tuple[int, int, int]:
    """Return in how many episodes a is better than, equal to and worse than b; infinite values are the worst.

    `direction` is "up" if higher is better, "down" if lower is, as in `Metric.direction`.

    >>> win_tie_loss([1.0, 2.0, np.inf], [2.0, 2.0, 3.0], "down")
    (1, 1, 1)
    """
    if direction not in ("up", "down"):
        raise OptionError(f"direction is 'up' or 'down', not {direction!r}: neither value is better otherwise")
    sign = 1.0 if direction == "up" else -1.0
    x, y = (np.where(np.isfinite(values), sign * values, -np.inf) for values in as_pair(a, b))
    wins, losses = int(np.count_nonzero(x > y)), int(np.count_nonzero(x < y))
    return wins, len(x) - wins - losses, losses


def probability_of_superiority(a: Values, b: Values, direction: Direction) -> float:
    """Return the chance that a does better than b in an episode: (wins + ties / 2) / episodes, from `win_tie_loss`.

    >>> probability_of_superiority([1, 1, 0, 1], [0, 0, 0, 1], "up")
    0.75
    """
    wins, ties, losses = win_tie_loss(a, b, direction)
    return (wins + ties / 2) / (wins + ties + losses)


def effect_size(a: Values, b: Values) -> float:
    """Return d_z, the mean of the differences a - b in their own standard deviations (n - 1 in its denominator).

    0 where there is no difference or nothing is defined in both; infinite, with its sign, where all differ by the
    same amount.

    >>> effect_size([1.0, 2.0, 6.0], [0.0, 0.0, 3.0])
    2.0
    """
    d = _differences(a, b)
    d = d[np.isfinite(d)]
    if not d.any():
        return 0.0
    mean = math.fsum(d) / len(d)
    deviation = float(np.std(d, ddof=1)) if len(d) > 1 else 0.0
    return mean / deviation if deviation > ROUNDING * np.abs(d).max() else math.copysign(math.inf, mean)


def check_resampling(rng: object, resamples: object, level: object = 0.95) -> None:
    """Refuse settings with which nothing can be resampled."""
    if not isinstance(rng, np.random.Generator):
        raise OptionError(f"rng is a numpy.random.Generator, such as numpy.random.default_rng(0), not {rng!r}")
    _whole("resamples", resamples, 1)
    if not (isinstance(level, int | float | np.floating) and 0 < level < 1):
        raise OptionError(f"level lies between 0 and 1, such as 0.95, not {level!r}")


def _resampled_means(columns: Sequence[Floats], clusters: Labels, rng: Rng, resamples: int) -> Floats:
    finite = [np.isfinite(column) for column in columns]
    origins = [np.min(column[defined], initial=np.inf) for column, defined in zip(columns, finite, strict=True)]
    origin = np.where(np.isfinite(origins), origins, 0.0)
    parts = [np.where(d, c - o, 0.0) for c, d, o in zip(columns, finite, origin, strict=True)]
    kinds = {defined.tobytes(): defined for defined in finite}
    sums = _unit_sums([*parts, *kinds.values()], len(columns[0]), clusters)
    place = {kind: len(columns) + number for number, kind in enumerate(kinds)}
    counts = sums[:, [place[defined.tobytes()] for defined in finite]]
    return resampled_means(sums[:, : len(columns)], counts, origin, rng, resamples)


def _unit_sums(columns: Iterable[NDArray[Any]], episodes: int, clusters: Labels) -> Floats:
    """Sum columns over each unit of resampling: an episode, a cluster, or where these are very many a group."""
    unit = units_of(np.arange(episodes) if clusters is None else _codes(clusters, episodes))
    return np.stack([np.bincount(unit, weights=column) for column in columns], axis=1)


def _codes(clusters: Iterable[Hashable], count: int) -> NDArray[np.int64]:
    """Number the labels in the order in which they first appear."""
    numbers: dict[Hashable, int] = {}
    try:
        codes = [numbers.setdefault(label, len(numbers)) for label in clusters]
    except TypeError:
        raise OptionError("clusters is a label for each episode: strings or numbers, one-dimensional") from None
    if len(codes) != count:
        raise OptionError(f"clusters has {len(codes)} labels for {count} episodes; give one for each")
    if any(label != label for label in numbers):
        raise OptionError("clusters has NaN among its labels; name or drop those episodes")
    return np.array(codes, dtype=np.int64)


def _mean(values: Floats) -> float:
    values = values[np.isfinite(values)]
    return math.fsum(values) / len(values) if len(values) else 0.0


def _tail(values: Floats, means: Floats) -> float:
    values, means = values[np.isfinite(values)], means[np.isfinite(means)]
    zero = ROUNDING * np.abs(values).max(initial=0.0)
    beyond = min(np.count_nonzero(means <= zero), np.count_nonzero(means >= -zero))
    return min(1.0, 2 * (1 + int(beyond)) / (1 + len(means)))


def _differences(a: Values, b: Values) -> Floats:
    """Return a - b, infinite where either is undefined."""
    a, b = as_pair(a, b)
    d: Floats = np.subtract(a, b, out=np.full(len(a), np.inf), where=np.isfinite(a) & np.isfinite(b))
    return d


def _whole(name: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise OptionError(f"{name} is a whole number, {least} or more, not {value!r}")
    return number
