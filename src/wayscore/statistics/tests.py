"""Tests of a difference between two agents on the same episodes, and how large the difference is."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Literal, TypeAlias, TypeVar, overload

import numpy as np

from wayscore.errors import OptionError, check_count
from wayscore.statistics.bootstrap import (
    ROUNDING,
    Floats,
    Integers,
    Labels,
    Rng,
    Values,
    as_column,
    as_pair,
    check_resampling,
    differences,
    equal,
    number_clusters,
)

Direction: TypeAlias = Literal["up", "down"]
Key = TypeVar("Key", bound=Hashable)
BITS_AT_ONCE = 2**18
"""Random signs that are numbers at a time: few enough that memory stays small and BLAS on one thread."""


def randomization_test(
    a: Values, b: Values, *, rng: Rng, resamples: int = 10_000, clusters: Labels = None
) -> float | None:
    """Return the two-sided p-value of the paired randomization test; None where no episode is defined in both.

    If both agents were equally good, a and b could be swapped in any episode: the sum of the differences is compared
    with B = resamples sums under random signs s, p = (1 + #[|sum s d| >= |sum d|]) / (1 + B). With `clusters` all
    episodes of a cluster are swapped together. Episodes where either is undefined are left out.

    >>> randomization_test([1, 2, 3], [1, 2, 3], rng=np.random.default_rng(0))
    1.0
    >>> randomization_test([1.0] * 20, [0.0] * 20, rng=np.random.default_rng(0), resamples=999)
    0.001
    """
    check_resampling(rng, resamples)
    d = differences(a, b)
    return randomization_tests([d], number_clusters(clusters, len(d)), rng=rng, resamples=resamples)[0]


def randomization_tests(
    columns: Sequence[Floats], clusters: Integers, *, rng: Rng, resamples: int
) -> list[float | None]:
    """Return the p-values of `randomization_test` for several columns of differences over the same episodes.

    All of them see the same random signs. Sums over clusters are rounded to whole multiples of a power of two that make
    every total less than 2^52: additions are exact then, whatever adds and in whichever order.
    """
    defined = [np.isfinite(column) for column in columns]
    pairs = zip(columns, defined, strict=True)
    sums = np.stack([np.bincount(clusters, np.where(own, column, 0.0)) for column, own in pairs])
    exponents = np.frexp(np.abs(sums).sum(axis=1))[1] - 51
    whole = np.rint(np.ldexp(sums, -exponents[:, None]))
    kept = [column[own != 0] for column, own in zip(whole, sums, strict=True)]  # the others' signs change nothing
    widths = [4 * -(-len(column) // 32) for column in kept]  # bytes, in whole words
    noise = np.frombuffer(rng.bytes(resamples * max(widths)), dtype=np.uint8)
    found: list[float | None] = [None] * len(columns)
    for width in set(widths):
        alike = [number for number, own in enumerate(widths) if own == width and defined[number].any()]
        values = np.zeros((8 * width, len(alike)))
        for place, number in enumerate(alike):
            values[: len(kept[number]), place] = kept[number]
        positive = np.empty((resamples, len(alike)))
        rows = max(1, BITS_AT_ONCE // max(1, len(values)))
        signs = noise[: resamples * width].reshape(resamples, width)
        for start in range(0, resamples, rows):  # the totals of the values whose bit is set
            bits = np.unpackbits(signs[start : start + rows], axis=1)
            np.matmul(bits.astype(np.float64), values, out=positive[start : start + rows])
        total = values.sum(axis=0)
        least = np.abs(total) - ROUNDING * np.abs(values).sum(axis=0)
        extreme = np.count_nonzero(np.abs(2 * positive - total) >= least, axis=0)
        for number, count in zip(alike, extreme.tolist(), strict=True):
            found[number] = (1 + count) / (1 + resamples)
    return found


def sign_test(positive: int, negative: int) -> float:
    """Return the two-sided p-value of the sign test, ties discarded.

    p = P(|K - n/2| >= |positive - n/2|), K ~ Binomial(n, 1/2), n = positive + negative; 1 where n is 0. This gives
    the p-values of the paper's Table 1 from its counts, except under AD: there 254/12 gives 3.6e-60, and the
    printed 6.9e-60 belongs to 253/12, a slip of the paper.

    >>> f"{sign_test(242, 17):.1e}"
    '4.1e-52'
    """
    counts = check_count("positive", positive, least=0), check_count("negative", negative, least=0)
    return float(sign_tests(*(np.array([count]) for count in counts))[0])


def sign_tests(positive: Integers, negative: Integers) -> Floats:
    """Return what `sign_test` does, for many counts at once.

    Since both tails are alike, p = 2 P(K <= min(positive, negative)), a regularized incomplete beta function.

    >>> sign_tests(np.array([242, 3, 0]), np.array([17, 3, 0]))
    array([4.05120835e-52, 1.00000000e+00, 1.00000000e+00])
    """
    from scipy.special import betainc

    fewer, more = np.minimum(positive, negative), np.maximum(positive, negative)
    tail = betainc(np.maximum(more, 1), fewer + 1, 0.5)
    p: Floats = np.where(more > 0, np.minimum(1.0, 2 * tail), 1.0)
    return p


@overload
def holm(p_values: Mapping[Key, float]) -> dict[Key, float]: ...
@overload
def holm(p_values: Sequence[float] | Floats) -> list[float]: ...
def holm(p_values: Mapping[Key, float] | Sequence[float] | Floats) -> dict[Key, float] | list[float]:
    """Return p-values adjusted for multiple tests by Holm's step-down method, in the order given.

    With p_(1) <= ... <= p_(m): adjusted p_(i) = max over j <= i of min(1, (m - j + 1) p_(j)). Rejecting where the
    adjusted value is below alpha keeps the probability of any false rejection below alpha.

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
    return [float(value) for value in holm_rows(p[None])[0]]


def holm_rows(p: Floats) -> Floats:
    """Return the adjusted p-values of each row, as `holm` does."""
    order = np.argsort(p, axis=1, kind="stable")
    factors = np.arange(p.shape[1], 0, -1)
    adjusted = np.empty_like(p)
    ascending = np.minimum(1.0, factors * np.take_along_axis(p, order, axis=1))
    np.put_along_axis(adjusted, order, np.maximum.accumulate(ascending, axis=1), axis=1)
    return adjusted


def win_tie_loss(a: Values, b: Values, direction: Direction) -> tuple[int, int, int]:
    """Return in how many episodes a is better than, equal to and worse than b.

    An undefined (infinite) value loses against a defined one, and two undefined ones are a tie. So are values that
    differ by rounding only: by 1e-9 or less, absolutely or relatively.

    `direction` is "up" if higher is better, "down" if lower is, as in `Metric.direction`.

    >>> win_tie_loss([1.0, 2.0 + 1e-12, np.inf], [2.0, 2.0, 3.0], "down")
    (1, 1, 1)
    """
    if direction not in ("up", "down"):
        raise OptionError(f"direction is 'up' or 'down', not {direction!r}: neither value is better otherwise")
    sign = 1.0 if direction == "up" else -1.0
    x, y = (np.where(np.isfinite(values), sign * values, -np.inf) for values in as_pair(a, b))
    ties = equal(x, y)
    wins = int(np.count_nonzero((x > y) & ~ties))
    tied = int(np.count_nonzero(ties))
    return wins, tied, len(x) - wins - tied


def probability_of_superiority(a: Values, b: Values, direction: Direction) -> float | None:
    """Return (wins + ties / 2) / episodes, from `win_tie_loss`: how likely a is better; None without episodes.

    >>> probability_of_superiority([1, 1, 0, 1], [0, 0, 0, 1], "up")
    0.75
    """
    wins, ties, losses = win_tie_loss(a, b, direction)
    count = wins + ties + losses
    return (wins + ties / 2) / count if count else None


def effect_size(a: Values, b: Values) -> float | None:
    """Return d_z, the mean of the differences a - b over their standard deviation (n - 1 in its denominator).

    0 where there is no difference; infinite, with its sign, where all differ by the same amount; None where no
    episode is defined in both.

    >>> effect_size([1.0, 2.0, 6.0], [0.0, 0.0, 3.0])
    2.0
    """
    return effect_size_of(differences(a, b))


def effect_size_of(d: Floats) -> float | None:
    """Return what `effect_size` does from the differences, infinite where either value is undefined."""
    d = d[np.isfinite(d)]
    if not d.any():
        return 0.0 if len(d) else None
    mean = math.fsum(d) / len(d)
    deviation = float(np.std(d, ddof=1)) if len(d) > 1 else 0.0
    return mean / deviation if deviation > ROUNDING * np.abs(d).max() else math.copysign(math.inf, mean)
