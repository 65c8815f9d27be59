"""Rank correlations of several columns with one outcome, when whole clusters of observations are drawn again.

A resample gives each cluster a count c, and each observation the count w of its cluster. Nothing is sorted again:

- Spearman's rho is the linear correlation of mean ranks, and the mean rank of a value in a resample is the sum of the
  counts of smaller values plus half the count of equal ones (the constant 1/2 does not matter).
- Kendall's tau-b is c'Ac / sqrt(c'Bc c'Cc), where A, B and C hold the sums over pairs of clusters of
  sign(x_i - x_j) sign(y_i - y_j), of sign(x_i - x_j)^2 and of sign(y_i - y_j)^2.

Both are exactly what `spearman` and `kendall` give for the observations repeated w times.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from wayscore.statistics.bootstrap import Rng
from wayscore.statistics.values import Floats, Integers

RankMethod: TypeAlias = Literal["spearman", "kendall"]
BLOCK = 250
"""Resamples, or rows of pairs, that are in memory at once."""


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

    It is infinite, that is undefined, where a column or the outcome is constant in a resample.

    Args:
        columns: one value per observation each.
        outcome: one value per observation.
        clusters: the number of the cluster of each observation, from 0.
        counts: how often each cluster is drawn, (resamples, clusters); a row of ones gives the correlations themselves.
        method: "spearman", or "kendall" (tau-b).

    >>> x, y = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 2.0, 4.0, 3.0])
    >>> weighted_correlations([x], y, np.arange(4), np.ones((1, 4)), "spearman")
    array([[0.8]])
    """
    codes = [_codes(column) for column in columns]
    correlate = _spearman if method == "spearman" else _kendall
    return correlate(codes, _codes(outcome), clusters, counts)


def _codes(values: Floats) -> Integers:
    """Return how many different values are smaller than each value."""
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _spearman(columns: Sequence[Integers], outcome: Integers, clusters: Integers, counts: Floats) -> Floats:
    found = np.full((len(columns), len(counts)), np.inf)
    for first in range(0, len(counts), BLOCK):
        weights = counts[first : first + BLOCK, clusters]
        y, of_y = _rank_deviations(outcome, weights)
        weighted = weights * y
        for row, column in zip(found, columns, strict=True):
            x, of_x = _rank_deviations(column, weights)
            square = of_x * of_y
            np.divide(
                np.einsum("bi,bi->b", weighted, x), np.sqrt(square), out=row[first : first + BLOCK], where=square > 0
            )
    return found


def _rank_deviations(codes: Integers, weights: Floats) -> tuple[Floats, Floats]:
    """Return the mean rank of each observation less the mean of all, and the sum of squares, in each resample."""
    equal = np.zeros((len(weights), int(codes.max()) + 1))
    order = np.argsort(codes, kind="stable")
    begins = np.flatnonzero(np.diff(codes[order], prepend=-1))
    equal[:] = np.add.reduceat(weights[:, order], begins, axis=1)
    deviations = np.cumsum(equal, axis=1) - equal / 2 - equal.sum(axis=1, keepdims=True) / 2
    return deviations[:, codes], np.einsum("bg,bg->b", equal, deviations**2)


def _kendall(columns: Sequence[Integers], outcome: Integers, clusters: Integers, counts: Floats) -> Floats:
    found = np.full((len(columns), len(counts)), np.inf)
    of_y = _drawn(_pair_sums(outcome, outcome, clusters), counts)
    for row, column in zip(found, columns, strict=True):
        square = _drawn(_pair_sums(column, column, clusters), counts) * of_y
        np.divide(_drawn(_pair_sums(column, outcome, clusters), counts), np.sqrt(square), out=row, where=square > 0)
    return found


def _pair_sums(x: Integers, y: Integers, clusters: Integers) -> Floats:
    """Return the sums of sign(x_i - x_j) sign(y_i - y_j) over the pairs of each two clusters."""
    count = int(clusters.max()) + 1
    sums = np.zeros((count, count))
    member = np.zeros((len(x), count))
    member[np.arange(len(x)), clusters] = 1.0
    for first in range(0, len(x), BLOCK):
        rows = slice(first, first + BLOCK)
        signs = np.sign(x[rows, None] - x[None]) * np.sign(y[rows, None] - y[None])
        sums += member[rows].T @ (signs @ member)
    return sums


def _drawn(sums: Floats, counts: Floats) -> Floats:
    products: Floats = np.einsum("bk,bk->b", counts @ sums, counts)
    return products
