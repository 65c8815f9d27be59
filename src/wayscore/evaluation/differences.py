"""Agents against a baseline, metric by metric: differences with their intervals, p-values and sizes.

All tests start from one seed, so none depends on which others are made; random numbers are drawn once for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wayscore.evaluation.repeated_runs import LEVEL, per_episode, resample_runs
from wayscore.evaluation.result import Result
from wayscore.evaluation.table import ScoreTable
from wayscore.statistics.bootstrap import (
    Interval,
    differences,
    first_word,
    interval,
    mean_of,
    number_clusters,
    resampled_means,
    sums_of,
    tail,
)
from wayscore.statistics.tests import effect_size_of, holm, randomization_tests, win_tie_loss


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """One metric of one agent against the baseline; differences are agent - baseline.

    Attributes:
        run: the agent.
        metric: the metric's symbol.
        episodes: in how many episodes it is defined for both.
        difference: mean difference with its 95 % bootstrap interval; fractions and metres, None where undefined.
        p: two-sided p-value: of the paired randomization test, or with several runs of the bootstrap.
        p_holm: the same after Holm's correction over all metrics and agents of the comparison.
        outcomes: in how many episodes the agent wins, ties and loses; None where a metric has no better direction.
        superiority: the chance that the agent does better in an episode, ties counting half; None as above.
        effect_size: d_z, the mean difference in standard deviations of the differences; may be infinite.
    """

    run: str
    metric: str
    episodes: int
    difference: Interval
    p: float | None
    p_holm: float | None
    outcomes: tuple[int, int, int] | None
    superiority: float | None
    effect_size: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, None for what is infinite or has no meaning."""
        outcomes = self.outcomes or (None, None, None)
        return {
            "run": self.run,
            "metric": self.metric,
            "episodes": self.episodes,
            "difference": self.difference._asdict(),
            "p": self.p,
            "p_holm": self.p_holm,
            **dict(zip(("wins", "ties", "losses"), outcomes, strict=True)),
            "superiority": self.superiority,
            "effect_size": finite(self.effect_size),
        }


def finite(value: float | None) -> float | None:
    """Return a number, None for what is infinite."""
    return value if value is not None and math.isfinite(value) else None


def paired_differences(results: Sequence[Result], base: Result) -> tuple[list[Result], list[PairedDifference]]:
    """Test results over the same episodes and metrics against one of them.

    Returns:
        The results with their intervals, and a test for each other agent and metric.
    """
    seed, resamples = base.bootstrap["seed"], base.bootstrap["resamples"]
    others = [one for one in results if one is not base]
    single = [one for one in others if one.runs == base.runs == 1]
    table = per_episode(base)
    tables = {one.name: per_episode(one) for one in others}
    apart = {name: [differences(own[symbol], table[symbol]) for symbol in base.symbols] for name, own in tables.items()}
    labels = base.cluster_labels() if single and base.bootstrap["cluster"] != "none" else None
    clusters = number_clusters(labels, len(table))
    rng = np.random.default_rng(seed)
    columns = [column for one in single for column in apart[one.name]]
    ps = iter(randomization_tests(columns, clusters, rng=rng, resamples=resamples) if columns else [])
    # Intervals of results that are not known yet are drawn with the differences, if they are drawn as the baseline's.
    unknown = [one for one in results if one.known is None and _seeded(one) == _seeded(base)]
    sums = [sums_of(list(one.table.columns.values()), one.clusters) for one in unknown if one.clusters is not None]
    sums += [sums_of(apart[one.name], clusters) for one in single]
    drawn = iter(resampled_means(sums, first_word(seed), resamples))
    known = {one.name: one.intervals_of(next(drawn)) for one in unknown}
    found: list[PairedDifference] = []
    for one in others:
        if one in single:
            means = zip(apart[one.name], next(drawn), strict=True)
            tests = [(interval(mean_of(column), row, LEVEL), next(ps)) for column, row in means]
        else:
            tests = _over_runs(one, base)
        for metric, column, (difference, p) in zip(base.metrics, apart[one.name], tests, strict=True):
            values = tables[one.name][metric.symbol], table[metric.symbol]
            outcomes = win_tie_loss(*values, metric.direction) if metric.direction else None
            superiority = (outcomes[0] + outcomes[1] / 2) / sum(outcomes) if outcomes and sum(outcomes) else None
            defined = int(np.count_nonzero(np.isfinite(column)))
            sizes = outcomes, superiority, effect_size_of(column)
            found.append(PairedDifference(one.name, metric.symbol, defined, difference, p, p, *sizes))
    tested = [one.p for one in found if one.p is not None]
    adjusted = iter(holm(tested) if tested else [])
    found = [one if one.p is None else replace(one, p_holm=next(adjusted)) for one in found]
    return [replace(one, known=known[one.name]) if one.name in known else one for one in results], found


def _seeded(result: Result) -> tuple[Any, Any]:
    return result.bootstrap["seed"], result.bootstrap["resamples"]


def _over_runs(one: Result, base: Result) -> list[tuple[Interval, float | None]]:
    """Return differences of agents with several runs, and their p-values, from resampling runs and clusters."""
    # Values count as undefined wherever a run of either has none: means over other episodes do not compare.
    a, b = per_episode(one), per_episode(base)
    defined = {symbol: np.isfinite(a[symbol]) & np.isfinite(b[symbol]) for symbol in base.symbols}
    pair = []
    for result in (one, base):
        table = result.table
        columns = {s: np.where(np.tile(both, result.runs), table[s], np.inf) for s, both in defined.items()}
        pair.append(replace(result, table=ScoreTable(columns, facts=table.facts)))
    (means, drawn), (base_means, base_drawn) = resample_runs(pair, base.symbols)
    found: list[tuple[Interval, float | None]] = []
    for mean, row, base_mean, base_row in zip(means, drawn, base_means, base_drawn, strict=True):
        if mean is None or base_mean is None:
            found.append((Interval(None, None, None), None))
            continue
        both = np.isfinite(row) & np.isfinite(base_row)
        apart = row[both] - base_row[both]
        found.append((interval(mean - base_mean, apart, LEVEL), tail(np.array([mean - base_mean]), apart)))
    return found
