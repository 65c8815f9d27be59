"""Exact sums of scores by cluster, which merge in any order, and the means and intervals they give."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from wayscore import kernels
from wayscore.errors import OptionError
from wayscore.kernels import FRACTION_BITS, LIMB_BITS, carry
from wayscore.statistics.bootstrap import (
    MOST_CLUSTERS,
    Interval,
    Rng,
    Sums,
    check_resampling,
    interval,
    resampled_means,
)
from wayscore.statistics.values import Floats, Integers

if TYPE_CHECKING:
    from fractions import Fraction

LIMB_MASK = 2**LIMB_BITS - 1
HALF_BITS = LIMB_BITS // 2
HALF_MASK = 2**HALF_BITS - 1


class Tally:
    """The sums of several metrics over each cluster: exact, so that neither order nor batch size changes a bit.

    A sum is a whole number of 2^-72, and a value counts as the nearest such number at or below it: doubles from 2^-20
    on are kept as they are, smaller ones to 2e-22. Values that are not finite are undefined, as in a `ScoreTable`.

    Attributes:
        symbols: the metrics, in the order of the columns.
        sizes: episodes in each cluster.
        sums: for each cluster and metric the lower parts of a sum, whole numbers of 2^-72 and of 2^-20.
        large: the upper part, a whole number of 2^32.
        undefined_counts: how many of its values are undefined.
        least: the least finite value of each metric, infinite where there is none.

    >>> first, second = Tally(["SR", "NE"]), Tally(["SR", "NE"])
    >>> first.add(np.array([[1.0, 0.0], [0.5, np.inf]]), clusters=np.array([0, 1]))
    >>> second.add(np.array([[1.0], [2.5]]), clusters=np.array([2]))
    >>> first.merge(second)
    >>> first.rows, first.means(), first.undefined()
    (3, {'SR': 0.6666666666666666, 'NE': 1.5}, {'NE': 1})
    """

    def __init__(self, symbols: Iterable[str]) -> None:
        self.symbols = tuple(symbols)
        self.sizes: Integers = np.zeros(0, dtype=np.int64)
        self.sums: Integers = np.zeros((0, 2, len(self.symbols)), dtype=np.int64)
        self.large: Integers = np.zeros((0, len(self.symbols)), dtype=np.int64)
        self.undefined_counts: Integers = np.zeros((0, len(self.symbols)), dtype=np.int64)
        self.least: Floats = np.full(len(self.symbols), np.inf)

    @property
    def rows(self) -> int:
        """How many episodes were added."""
        return int(self.sizes.sum())

    @property
    def clusters(self) -> int:
        """How many clusters they are in."""
        return int(np.count_nonzero(self.sizes))

    @property
    def counts(self) -> Integers:
        """Over how many values each sum is."""
        counts: Integers = self.sizes[:, None] - self.undefined_counts
        return counts

    def add(self, columns: Floats, clusters: Integers) -> None:
        """Add episodes: a row of values for each metric, and the cluster of each episode (see `join_clusters`).

        Raises OptionError, and adds nothing, where a finite value is 2^40 or more in size.
        """
        columns = np.ascontiguousarray(columns, dtype=np.float64)
        clusters = np.ascontiguousarray(clusters, dtype=np.int64)
        if columns.shape != (len(self.symbols), *clusters.shape):
            raise OptionError(
                f"expected a row for each of {len(self.symbols)} metrics and a cluster for each column, got values of "
                f"shape {columns.shape} and clusters of shape {clusters.shape}"
            )
        self._make_room(int(clusters.max(initial=-1)) + 1)
        try:
            kernels.tally(columns, clusters, self.sums, self.large, self.undefined_counts, self.sizes, self.least)
        except ValueError as error:
            raise OptionError(str(error)) from None

    def merge(self, other: Tally) -> None:
        """Add the episodes of another tally of the same metrics."""
        if self.symbols != other.symbols:
            raise OptionError(f"only tallies of the same metrics merge, not {self.symbols} with {other.symbols}")
        self._make_room(len(other.sizes))
        for mine, others in zip(self._arrays()[:4], other._arrays()[:4], strict=True):
            mine[: len(others)] += others
        np.minimum(self.least, other.least, out=self.least)

    def means(self) -> dict[str, float | None]:
        """Return the mean of each metric: its exact total, rounded once, over its count; None where that is 0."""
        counts = self.counts.sum(axis=0).tolist()
        return {
            symbol: total / 2**FRACTION_BITS / count if count else None
            for symbol, total, count in zip(self.symbols, self._totals(), counts, strict=True)
        }

    def totals(self) -> dict[str, Fraction]:
        """Return the exact total of each metric."""
        from fractions import Fraction

        totals = (Fraction(total, 2**FRACTION_BITS) for total in self._totals())
        return dict(zip(self.symbols, totals, strict=True))

    def undefined(self) -> dict[str, int]:
        """Return how many episodes are left out of the mean of each metric, for metrics where any are."""
        left = self.undefined_counts.sum(axis=0).tolist()
        return {symbol: count for symbol, count in zip(self.symbols, left, strict=True) if count}

    def intervals(self, rng: Rng, resamples: int = 10_000, level: float = 0.95) -> dict[str, Interval]:
        """Return what `statistics.bootstrap_table` does of the same episodes, from their sums.

        >>> tally = Tally(["SR"])
        >>> tally.add(np.ones((1, 50)), clusters=np.arange(50))
        >>> tally.intervals(np.random.default_rng(0))
        {'SR': Interval(mean=1.0, low=1.0, high=1.0)}
        """
        check_resampling(rng, resamples, level)
        return self.intervals_of(resampled_means([self.to_sums()], int(rng.integers(2**63)), resamples)[0], level)

    def to_sums(self) -> Sums:
        """Return what resamples need to know of the episodes."""
        origin = np.where(np.isfinite(self.least), self.least, 0.0)
        sums = self._sums_above(origin)
        constants = [mean or 0.0 for mean in self.means().values()]
        origin = np.where(sums.any(axis=0), origin, constants)  # a constant's mean may be rounded
        return Sums(sums, self.counts[self.sizes > 0].astype(np.float64), origin)

    def intervals_of(self, resampled: Floats, level: float = 0.95) -> dict[str, Interval]:
        """Return the mean of each metric with its interval, from the means of resamples (metrics, resamples)."""
        pairs = zip(self.means().items(), resampled, strict=True)
        return {symbol: interval(mean, row, level) for (symbol, mean), row in pairs}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally) or self.symbols != other.symbols:
            return False
        for tally in (self, other):
            tally._make_room(MOST_CLUSTERS)
        return all(np.array_equal(a, b) for a, b in zip(self._arrays(), other._arrays(), strict=True))

    def to_bytes(self) -> bytes:
        """Return it as bytes, few where few clusters hold an episode."""
        held = np.flatnonzero(self.sizes).astype(np.int64)
        parts = (held, *(array[held] for array in self._arrays()[:4]), self.least)
        return msgspec.msgpack.encode((self.symbols, *(part.tobytes() for part in parts)))

    @classmethod
    def from_bytes(cls, content: bytes) -> Tally:
        """Read what `to_bytes` wrote.

        >>> Tally.from_bytes(Tally(["SR"]).to_bytes()) == Tally(["SR"])
        True
        """
        symbols, held, *parts, least = msgspec.msgpack.decode(content)
        tally = cls(symbols)
        clusters = np.frombuffer(held, dtype=np.int64)
        tally._make_room(int(clusters.max(initial=-1)) + 1)
        for array, part in zip(tally._arrays(), parts, strict=False):
            array[clusters] = np.frombuffer(part, dtype=np.int64).reshape(len(clusters), *array.shape[1:])
        tally.least[:] = np.frombuffer(least, dtype=np.float64)
        return tally

    def __reduce__(self) -> tuple[Any, ...]:
        return Tally.from_bytes, (self.to_bytes(),)

    def _make_room(self, clusters: int) -> None:
        """Let arrays hold so many clusters, and some more, but never more than there can be."""
        held = len(self.sizes)
        if clusters > held:
            more = min(max(clusters, 2 * held), MOST_CLUSTERS) - held
            sizes, sums, large, undefined, _ = self._arrays()
            self.sizes, self.sums, self.large, self.undefined_counts = (
                np.concatenate((array, np.zeros((more, *array.shape[1:]), dtype=np.int64)))
                for array in (sizes, sums, large, undefined)
            )

    def _arrays(self) -> tuple[Integers, Integers, Integers, Integers, Floats]:
        """Return all arrays, in the one form that equal sums have."""
        carry(self.sums, self.large)
        return self.sizes, self.sums, self.large, self.undefined_counts, self.least

    def _totals(self) -> list[int]:
        """Return the total of each metric, a whole number of 2^-72, in Python's own numbers of any length."""
        carry(self.sums, self.large)
        halves = (part for limb in self.sums.transpose(1, 0, 2) for part in (limb & HALF_MASK, limb >> HALF_BITS))
        parts = [part.sum(axis=0).tolist() for part in (*halves, self.large)]
        return [sum(part << HALF_BITS * n for n, part in enumerate(column)) for column in zip(*parts, strict=True)]

    def _sums_above(self, origin: Floats) -> Floats:
        """Return the sums over each cluster that holds an episode of values less their origin, each rounded once."""
        carry(self.sums, self.large)
        held = self.sizes > 0
        sums, large, counts = self.sums[held], self.large[held], self.counts[held]
        floors = [math.floor(math.ldexp(value, FRACTION_BITS)) for value in origin.tolist()]
        *limbs, top = np.array(
            [(f & LIMB_MASK, f >> LIMB_BITS & LIMB_MASK, f >> 2 * LIMB_BITS) for f in floors], np.int64
        ).T
        for place, limb in enumerate(limbs):
            small, great = counts * (limb & HALF_MASK), counts * (limb >> HALF_BITS)  # fit for 2^37 episodes
            sums[:, place] -= (small & LIMB_MASK) + ((great & HALF_MASK) << HALF_BITS)
            above = sums[:, 1] if place == 0 else large
            above -= (small >> LIMB_BITS) + (great >> HALF_BITS)
        large -= counts * top
        carry(sums, large)
        low, high = sums.transpose(1, 0, 2).astype(np.float64)
        found: Floats = np.ldexp(low, -FRACTION_BITS) + np.ldexp(high, LIMB_BITS - FRACTION_BITS)
        for cluster, metric in np.argwhere(large).tolist():  # negative, or 2^32 and more
            parts = (*sums[cluster, :, metric].tolist(), int(large[cluster, metric]))
            found[cluster, metric] = sum(part << LIMB_BITS * n for n, part in enumerate(parts)) / 2**FRACTION_BITS
        return found
