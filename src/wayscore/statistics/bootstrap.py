"""Units of resampling: what the bootstrap and the randomization test draw, from the sums over each.

A unit is an episode, a cluster, or where these are very many some of them together.
"""

from __future__ import annotations

import math
import threading
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wayscore import kernels
from wayscore.statistics.values import Floats

Rng: TypeAlias = np.random.Generator

UNITS_AT_MOST = 10_000
"""More are joined into this many (`units_of`), which moves an interval less than 10,000 resamples leave to chance."""
PRODUCT_AT_ONCE = 2**18
"""Multiplications in one matrix product: few enough that memory stays small and BLAS on one thread."""
ALONE = 10**6
"""Draws that are made sooner than a second thread starts."""
ROUNDING = 1e-12
"""Sums that should be equal differ by less than this, relatively."""


class Interval(NamedTuple):
    """A mean with its confidence interval, in the units of the values; low <= mean <= high."""

    mean: float
    low: float
    high: float


def units_of(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the unit of resampling, below UNITS_AT_MOST, of episodes or clusters that are numbered from 0.

    The first are units of their own; later ones join by a hash of their number (SplitMix64's mixing), the same
    however many follow: a stream gives each its unit without knowing its end.

    >>> units_of(np.array([0, 1, 9_999, 10_000, 10_001])).tolist()
    [0, 1, 9999, 8794, 333]
    """
    word = rows.astype(np.uint64)
    word *= np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in (30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB):
        word ^= word >> np.uint64(shift)
        word *= np.uint64(factor)
    word ^= word >> np.uint64(31)
    word %= np.uint64(UNITS_AT_MOST)
    joined = word.view(np.int64)
    first = rows < UNITS_AT_MOST
    if first.any():
        joined[first] = rows[first]
    return joined


def resampled_means(sums: Floats, counts: Floats, origin: Floats, rng: Rng, resamples: int) -> Floats:
    """Return the mean of each metric in each resample (rows: metrics), infinite where the resample defines none.

    `sums` (units, metrics) are of as many values as `counts` says, less the metric's `origin` each: the least of all
    its values, so that no sum is negative, and that of constants and whole numbers exact.
    """
    kinds = {column.tobytes(): column for column in counts.T}  # most metrics are defined in the same episodes
    totals = _resampled_totals(np.column_stack((sums, *kinds.values())), rng, resamples)
    drawn = dict(zip(kinds, totals[sums.shape[1] :], strict=True))
    means = np.full((sums.shape[1], resamples), np.inf)
    for total, column, row in zip(totals, counts.T, means, strict=False):
        count = drawn[column.tobytes()]
        np.divide(total, count, out=row, where=count > 0)
    means += origin[:, None]
    return means


def interval(mean: float, means: Floats, level: float) -> Interval:
    """Return a mean with the quantiles of its resamples; those that define none are infinite, and left out."""
    means = means[np.isfinite(means)]
    low, high = (_quantile(means, share) if len(means) else mean for share in ((1 - level) / 2, (1 + level) / 2))
    return Interval(mean, min(mean, low), max(mean, high))  # not outside by a rounding error


def randomization_of_units(units: Floats, rng: Rng, resamples: int) -> float:
    """Return what `randomization_test` does, from the sums of differences over the units that trade places."""
    units = units[units != 0]  # their sign changes nothing
    total = float(units.sum())
    least = abs(total) - ROUNDING * float(np.abs(units).sum())
    width = 4 * -(-len(units) // 32)  # bytes, in whole words: the stream does not depend on the chunks
    rows = max(1, PRODUCT_AT_ONCE // max(1, len(units)))
    extreme = 0
    for first in range(0, resamples, rows):
        count = min(rows, resamples - first)
        noise = np.frombuffer(rng.bytes(count * width), dtype=np.uint8).reshape(count, width)
        positive = np.unpackbits(noise, axis=1, count=len(units)).astype(np.float64)
        extreme += int(np.count_nonzero(np.abs(2 * (positive @ units) - total) >= least))
    return (1 + extreme) / (1 + resamples)


def _resampled_totals(sums: Floats, rng: Rng, resamples: int) -> Floats:
    """Return the total of each column in each resample (rows: columns).

    Units are rounded to whole multiples of a power of two that make every total less than 2^53: additions are exact
    then, and totals the same bits whatever multiplies and in whichever order. It costs a mean some 1e-12 of the
    largest unit, and nothing where values are whole numbers of halves, quarters, ...
    """
    units, columns = sums.shape
    places = np.frexp(sums.max(axis=0))[1] + units.bit_length() - 52
    whole = np.rint(np.ldexp(sums, -places))
    seed = int(rng.integers(2**63))
    totals = np.empty((resamples, columns))
    half = resamples // 2 if resamples * units > ALONE and kernels.name == "native" else 0
    done = []

    def work(first: int, stop: int) -> None:
        kernels.resample(seed, first, whole, totals[first:stop])
        done.append(stop - first)

    helper = threading.Thread(target=work, args=(0, half))
    helper.start()
    work(half, resamples)
    helper.join()
    if sum(done) != resamples:
        raise MemoryError("there is no memory for the resamples of a second thread")
    found: Floats = np.ldexp(totals.T, places[:, None], order="C")
    return found


def _quantile(values: Floats, share: float) -> float:
    """Return what np.quantile does, whose first call takes longer than all resampling: it loads masked arrays."""
    place = share * (len(values) - 1)
    before = math.floor(place)
    a, b = np.partition(values, (before, math.ceil(place)))[[before, math.ceil(place)]].tolist()
    return float(a + (b - a) * (place - before))
