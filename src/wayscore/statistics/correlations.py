"""Correlations of two series: of values, and of their ranks."""

from __future__ import annotations

import math

import numpy as np

from wayscore.errors import OptionError
from wayscore.statistics.values import Floats, Values, as_pair


def pearson(x: Values, y: Values) -> float:
    """Return the linear correlation cov(x, y) / (sd(x) sd(y)) of finite values; 0 where either is constant.

    >>> pearson([1, 2, 3], [2, 4, 6])
    1.0
    """
    x, y = as_pair(x, y)
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise OptionError("a linear correlation needs finite values; spearman and kendall also rank infinite ones")
    return float(np.clip(_direction(x) @ _direction(y), -1.0, 1.0))


def spearman(x: Values, y: Values) -> float:
    """Return Spearman's rho: `pearson` of the ranks, ties at their mean rank; 0 where either is constant.

    >>> spearman([1, 2, 3, 4], [1, 10, 100, np.inf])
    1.0
    """
    return pearson(*map(_ranks, as_pair(x, y)))


def kendall(x: Values, y: Values) -> float:
    """Return Kendall's tau-b; 0 where either is constant.

    tau_b = sum sign(x_i - x_j) sign(y_i - y_j) / sqrt(sum sign(x_i - x_j)^2 sum sign(y_i - y_j)^2), over i < j.

    >>> round(kendall([1, 2, 3, 4], [1, 2, 4, 3]), 4)
    0.6667
    """
    x, y = map(_ranks, as_pair(x, y))
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0
    from scipy.stats import kendalltau

    return float(kendalltau(x, y).statistic)


def _ranks(values: Floats) -> Floats:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.take(np.cumsum(counts) - (counts - 1) / 2, place)


def _direction(values: Floats) -> Floats:
    """Return the deviations from the mean at length 1, whatever the scale of the values; zeros if these are equal."""
    if (values == values[0]).all():
        return np.zeros_like(values)
    scaled = values / np.abs(values).max()
    deviations: Floats = scaled - scaled.mean()
    deviations /= np.abs(deviations).max()
    return deviations / math.sqrt(deviations @ deviations)
