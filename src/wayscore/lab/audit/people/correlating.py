"""Correlations of a sample's metrics with its judgements, in the sample and in resamples of its clusters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from wayscore.errors import OptionError
from wayscore.lab.audit.people.sample import Sample
from wayscore.statistics.bootstrap import Interval, Rng, interval, tail
from wayscore.statistics.correlations import RankMethod, draw_counts, weighted_correlations
from wayscore.statistics.values import Floats, Integers, number_labels


class Correlated(Struct, frozen=True):
    """Correlations by one method.

    Attributes:
        numbers: metric -> its row.
        values: the correlation of each metric; infinite where it is undefined.
        drawn: the same in each resample, (metrics, resamples).
    """

    numbers: dict[str, int]
    values: Floats
    drawn: Floats

    def value(self, metric: str) -> float:
        """Return a correlation, infinite where it is undefined."""
        return float(self.values[self.numbers[metric]])

    def interval(self, metric: str, level: float) -> Interval:
        """Return a correlation with its percentile interval; None where it is undefined."""
        value = self.value(metric)
        return interval(value if np.isfinite(value) else None, self.drawn[self.numbers[metric]], level)

    def p_value(self, metric: str) -> float | None:
        """Return the two-sided p-value of no correlation, which inverts the interval; None where it is undefined."""
        number = self.numbers[metric]
        return tail(self.values[number : number + 1], self.drawn[number])

    def difference(self, one: str, other: str, level: float) -> tuple[Interval, float]:
        """Return the difference of two defined correlations with its interval and p-value, in the same resamples."""
        a, b = self.numbers[one], self.numbers[other]
        value = self.values[a : a + 1] - self.values[b : b + 1]
        both = np.isfinite(self.drawn[a]) & np.isfinite(self.drawn[b])
        drawn = self.drawn[a][both] - self.drawn[b][both]
        p = tail(value, drawn)
        assert p is not None  # both are defined
        return interval(float(value[0]), drawn, level), p


class AllCorrelated(Struct, frozen=True):
    """Correlations by several methods, and in how many groups units were correlated (0: all together)."""

    by_method: dict[RankMethod, Correlated]
    groups: int


def correlate_sample(sample: Sample, methods: Sequence[RankMethod], *, rng: Rng, resamples: int) -> AllCorrelated:
    """Correlate every metric with the judgements; all of them see the same resamples of clusters."""
    if len(np.unique(sample.outcome)) < 2:
        raise OptionError(f"{sample.name}: all judgements ({sample.rating}) are equal, so nothing can follow them")
    numbers = {metric: number for number, metric in enumerate(sample.columns)}
    columns = list(sample.columns.values())
    clusters = number_labels(sample.clusters)
    count = int(clusters.max()) + 1
    if count < 2:
        raise OptionError(
            f"{sample.name}: there is only one {sample.cluster}, so intervals cannot resample it; choose another "
            "<<cluster>>"
        )
    counts = draw_counts(count, resamples, rng)
    by_method: dict[RankMethod, Correlated] = {}
    groups = 0
    for method in methods:
        if sample.within:
            values, of_group = _within(columns, sample, method)
            groups = len(of_group)
            drawn = _means(values, clusters[of_group], counts)
            by_method[method] = Correlated(numbers, values.mean(axis=1), drawn)
        else:
            each = np.ones((1, count))
            value = weighted_correlations(columns, sample.outcome, clusters, each, method)[:, 0]
            drawn = weighted_correlations(columns, sample.outcome, clusters, counts, method)
            by_method[method] = Correlated(numbers, value, drawn)
    return AllCorrelated(by_method, groups)


def _within(columns: Sequence[Floats], sample: Sample, method: RankMethod) -> tuple[Floats, Integers]:
    """Return the correlations inside each group, (metrics, groups), and one unit of each group.

    Groups with equal judgements throughout are left out; a metric that ties all units of a group has 0 there.
    """
    groups = number_labels(sample.groups)
    order = np.argsort(groups, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
    parts = [part for part in parts if len(np.unique(sample.outcome[part])) > 1]
    found = np.zeros((len(columns), len(parts)))
    for number, part in enumerate(parts):
        one, each = np.zeros(len(part), dtype=np.int64), np.ones((1, 1))
        own = [column[part] for column in columns]
        found[:, number] = weighted_correlations(own, sample.outcome[part], one, each, method)[:, 0]
    return np.where(np.isfinite(found), found, 0.0), np.array([part[0] for part in parts])


def _means(values: Floats, clusters: Integers, counts: Floats) -> Floats:
    """Return the mean over groups in each resample, infinite where a resample has no group."""
    sums = np.zeros((counts.shape[1], len(values)))
    np.add.at(sums, clusters, values.T)
    sizes = counts @ np.bincount(clusters, minlength=counts.shape[1])
    totals = (counts @ sums).T
    means: Floats = np.divide(totals, sizes, out=np.full(totals.shape, np.inf), where=sizes > 0)
    return means
