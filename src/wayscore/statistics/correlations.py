"""Correlations of two series, of values and of ranks; of many pairs at once, one per row; and in resampled clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wayscore.errors import OptionError
from wayscore.statistics.bootstrap import Floats, Integers, Rng, Values, as_pair

Method: TypeAlias = Literal["spearman", "kendall", "pearson"]
RankMethod: TypeAlias = Literal["spearman", "kendall"]
BLOCK = 250  # resamples, or rows of pairs, that are in memory at once


def pearson(x: Values, y: Values) -> float:
    """Return the linear correlation cov(x, y) / (sd(x) sd(y)) of finite values; 0 where either is constant.

    >>> pearson([1, 2, 3], [2, 4, 6])
    1.0
    """
    return _one(x, y, "pearson")


def spearman(x: Values, y: Values) -> float:
    """Return Spearman's rho: `pearson` of the ranks, ties at their mean rank; 0 where either is constant.

    >>> spearman([1, 2, 3, 4], [1, 10, 100, np.inf])
    1.0
    """
    return _one(x, y, "spearman")


def kendall(x: Values, y: Values) -> float:
    """Return Kendall's tau-b; 0 where either is constant.

    tau_b = sum sign(x_i - x_j) sign(y_i - y_j) / sqrt(sum sign(x_i - x_j)^2 sum sign(y_i - y_j)^2), over i < j.

    >>> round(kendall([1, 2, 3, 4], [1, 2, 4, 3]), 4)
    0.6667
    """
    return _one(x, y, "kendall")


def _one(x: Values, y: Values, method: Method) -> float:
    x, y = as_pair(x, y)
    if not len(x):
        raise OptionError("a correlation needs at least one value of each series, not an array of shape (0,)")
    return float(row_correlations(x[None], y[None], method)[0])


def row_correlations(x: Floats, y: Floats, method: Method = "spearman") -> Floats:
    """Correlate each row of x with the same row of y; 0 where either is constant.

    >>> row_correlations(np.array([[1.0, 2.0, 3.0, 3.0]]), np.array([[1.0, 2.0, 3.0, 4.0]]))
    array([0.9486833])
    """
    if method == "kendall":
        return _row_kendall(_dense_ranks(x), _dense_ranks(y))
    if method == "spearman":
        x, y = _mean_ranks(x), _mean_ranks(y)
    elif not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise OptionError("pearson needs finite values, and some are infinite (unreachable); use spearman or kendall")
    x, y = _deviations(x), _deviations(y)
    return _ratios((x * y).sum(axis=1), (x * x).sum(axis=1) * (y * y).sum(axis=1))


def _ratios(products: Floats, squares: Floats) -> Floats:
    """Return products / sqrt(squares), 0 where that is 0 / 0."""
    found: Floats = np.divide(products, np.sqrt(squares), out=np.zeros(len(products)), where=squares > 0)
    return np.clip(found, -1.0, 1.0)


def _deviations(values: Floats) -> Floats:
    """Return deviations from each row's mean, zeros in constant rows, in powers of two that keep squares in range."""
    constant = (values == values[:, :1]).all(axis=1, keepdims=True)
    scaled = _scaled(values)
    return _scaled(np.where(constant, 0.0, scaled - scaled.mean(axis=1, keepdims=True)))


def _scaled(values: Floats) -> Floats:
    """Multiply each row by the power of two that makes its largest value about 1, which rounds nothing."""
    scaled: Floats = np.ldexp(values, -np.frexp(np.abs(values).max(axis=1, keepdims=True))[1])
    return scaled


def _dense_ranks(values: NDArray[Any]) -> Integers:
    """Return how many different values of its row are smaller than each value."""
    order = np.argsort(values, axis=1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=1)
    larger = np.zeros(values.shape, dtype=np.int64)
    larger[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    ranks = np.empty(values.shape, dtype=np.int64)
    np.put_along_axis(ranks, order, np.cumsum(larger, axis=1), axis=1)
    return ranks


def _frequencies(ranks: Integers) -> Integers:
    """Return how often each dense rank occurs in its row."""
    rows, size = ranks.shape
    return np.bincount((ranks + size * np.arange(rows)[:, None]).ravel(), minlength=ranks.size).reshape(rows, size)


def _mean_ranks(values: Floats) -> Floats:
    """Return the rank of each value in its row, from 1; equal values share the mean of their ranks."""
    ranks = _dense_ranks(values)
    equal = _frequencies(ranks)
    found: Floats = np.take_along_axis(np.cumsum(equal, axis=1) - (equal - 1) / 2, ranks, axis=1)
    return found


def _row_kendall(x: Integers, y: Integers) -> Floats:
    """Return tau-b of dense ranks: (n0 - n1 - n2 + n3 - 2 discordant) / sqrt((n0 - n1) (n0 - n2)).

    n0 are all pairs, n1, n2 and n3 those that are tied in x, in y and in both.
    """
    count = x.shape[1]
    pairs = count * (count - 1) / 2
    tied = [_frequencies(ranks) for ranks in (x, y, _dense_ranks(x * count + y))]
    in_x, in_y, in_both = ((equal * (equal - 1) / 2).sum(axis=1) for equal in tied)
    order = np.lexsort((y, x), axis=1)
    surplus = pairs - in_x - in_y + in_both - 2 * _inversions(np.take_along_axis(y, order, axis=1))
    return _ratios(surplus, (pairs - in_x) * (pairs - in_y))


def _inversions(codes: Integers) -> Floats:
    """Return how many pairs of each row stand in descending order, in O(n log^2 n).

    Two codes differ first in one bit: at each bit, from the highest, those that agree in all higher bits stand
    together in their old order, and every 1 before a 0 is one inversion.
    """
    numbers = np.arange(codes.shape[1])
    found = np.zeros(len(codes))
    for bit in reversed(range(int(codes.max(initial=0)).bit_length())):
        codes = np.take_along_axis(codes, np.argsort(codes >> (bit + 1), axis=1, kind="stable"), axis=1)
        higher, ones = codes >> (bit + 1), (codes >> bit) & 1
        begins = np.ones(codes.shape, dtype=bool)
        begins[:, 1:] = higher[:, 1:] != higher[:, :-1]
        before = np.cumsum(ones, axis=1) - ones
        at_begin = np.take_along_axis(before, np.maximum.accumulate(np.where(begins, numbers, 0), axis=1), axis=1)
        found += np.where(ones == 0, before - at_begin, 0).sum(axis=1)
    return found


def draw_counts(clusters: int, resamples: int, rng: Rng) -> Floats:
    """Return how often each cluster is drawn in each resample, (resamples, clusters); each row adds up to `clusters`.

    >>> draw_counts(3, 4, np.random.default_rng(0)).sum(axis=1)
    array([3., 3., 3., 3.])
    """
    return rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=resamples).astype(np.float64)


def weighted_correlations(
    columns: Sequence[Floats], outcome: Floats, clusters: Integers, counts: Floats, method: RankMethod
) -> Floats:
    """Return the correlation of each column with the outcome in each resample, (columns, resamples).

    `clusters` numbers the cluster of each observation; `counts`, (resamples, clusters), says how often each is drawn.
    Correlations are exactly what `spearman` and `kendall` give where each observation is repeated as often as its
    cluster is drawn. Nothing is sorted again:

    - The mean rank of a value in a resample is the sum of the counts of smaller values plus half the count of equal
      ones (the constant 1/2 does not matter).
    - With counts c, Kendall's tau-b is c'Ac / sqrt(c'Bc c'Cc), where A, B and C hold the sums over pairs of clusters of
      sign(x_i - x_j) sign(y_i - y_j), of sign(x_i - x_j)^2 and of sign(y_i - y_j)^2.

    It is infinite, that is undefined, where a column or the outcome is constant in a resample.

    >>> x, y = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 2.0, 4.0, 3.0])
    >>> weighted_correlations([x], y, np.arange(4), np.ones((1, 4)), "spearman")
    array([[0.8]])
    """
    *codes, of_outcome = _dense_ranks(np.array([*columns, outcome]))
    found = np.full((len(columns), len(counts)), np.inf)
    if method == "kendall":
        of_y = _pair_sums(of_outcome, of_outcome, clusters, counts)
        for row, column in zip(found, codes, strict=True):
            square = _pair_sums(column, column, clusters, counts) * of_y
            np.divide(_pair_sums(column, of_outcome, clusters, counts), np.sqrt(square), out=row, where=square > 0)
        return found
    for block in (slice(first, first + BLOCK) for first in range(0, len(counts), BLOCK)):
        weights = counts[block, clusters]
        y, of_y = _rank_deviations(of_outcome, weights)
        weighted = weights * y
        for row, column in zip(found, codes, strict=True):
            x, of_x = _rank_deviations(column, weights)
            square = of_x * of_y
            np.divide(np.einsum("bi,bi->b", weighted, x), np.sqrt(square), out=row[block], where=square > 0)
    return found


def _rank_deviations(codes: Integers, weights: Floats) -> tuple[Floats, Floats]:
    """Return the mean rank of each observation less the mean of all, and the sum of squares, in each resample."""
    order = np.argsort(codes, kind="stable")
    equal = np.add.reduceat(weights[:, order], np.flatnonzero(np.diff(codes[order], prepend=-1)), axis=1)
    deviations = np.cumsum(equal, axis=1) - equal / 2 - equal.sum(axis=1, keepdims=True) / 2
    return deviations[:, codes], np.einsum("bg,bg->b", equal, deviations**2)


def _pair_sums(x: Integers, y: Integers, clusters: Integers, counts: Floats) -> Floats:
    """Return the sum of sign(x_i - x_j) sign(y_i - y_j) over all pairs in each resample."""
    count = int(clusters.max()) + 1
    sums = np.zeros((count, count))
    member = np.zeros((len(x), count))
    member[np.arange(len(x)), clusters] = 1.0
    for first in range(0, len(x), BLOCK):
        rows = slice(first, first + BLOCK)
        signs = np.sign(x[rows, None] - x[None]) * np.sign(y[rows, None] - y[None])
        sums += member[rows].T @ (signs @ member)
    products: Floats = np.einsum("bk,bk->b", counts @ sums, counts)
    return products
