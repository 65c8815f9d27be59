"""Agents against a baseline, metric by metric: differences with their intervals, p-values and sizes.

Everything starts from one seed, so what a test finds does not depend on which others are made beside it; and what is
random is drawn only once for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wayscore.evaluation.agents import LEVEL, resample_agents
from wayscore.evaluation.result import Result
from wayscore.evaluation.shared import per_episode
from wayscore.evaluation.table import ScoreTable
from wayscore.statistics.bootstrap import (
    Floats,
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
from wayscore.statistics.tests import effect_size_of, randomization_tests, win_tie_loss


@dataclass(frozen=True, slots=True)
class Contrast:
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


class _Pair:
    """An agent and the baseline on the same episodes.

    Attributes:
        apart: by symbol, the differences in each episode; infinite where either is undefined.
    """

    def __init__(self, one: Result, base: Result) -> None:
        self.one = one
        self.base = base
        self._tables = per_episode(one), per_episode(base)
        shared = [metric for metric in base.metrics if metric.symbol in one.symbols]
        self._directions = {metric.symbol: metric.direction for metric in shared}
        self.apart = {symbol: differences(*self._values(symbol)) for symbol in self._directions}

    def _values(self, symbol: str) -> tuple[Floats, Floats]:
        a, b = self._tables
        return a[symbol], b[symbol]

    def contrasts(self, intervals: Mapping[str, Interval], ps: Mapping[str, float | None]) -> Iterator[Contrast]:
        """Put together what was found for each metric."""
        for symbol, direction in self._directions.items():
            outcomes = win_tie_loss(*self._values(symbol), direction) if direction else None
            yield Contrast(
                run=self.one.name,
                metric=symbol,
                episodes=int(np.count_nonzero(np.isfinite(self.apart[symbol]))),
                difference=intervals[symbol],
                p=ps[symbol],
                p_holm=ps[symbol],
                outcomes=outcomes,
                superiority=(outcomes[0] + outcomes[1] / 2) / sum(outcomes) if outcomes and sum(outcomes) else None,
                effect_size=effect_size_of(self.apart[symbol]),
            )


def contrast(results: Sequence[Result], place: int) -> tuple[list[Result], list[Contrast]]:
    """Test results over the same episodes against the one at a place.

    Returns:
        The results with their intervals, and a test for each other agent and metric.
    """
    base = results[place]
    pairs = [_Pair(one, base) for one in results if one is not base]
    single = [pair for pair in pairs if pair.one.runs == base.runs == 1]
    seed, resamples = base.bootstrap["seed"], base.bootstrap["resamples"]
    labels = base.cluster_labels() if single and base.bootstrap["cluster"] != "none" else None
    clusters = number_clusters(labels, len(per_episode(base)))
    columns = [column for pair in single for column in pair.apart.values()]
    rng = np.random.default_rng(seed)
    ps = iter(randomization_tests(columns, clusters, rng=rng, resamples=resamples) if columns else [])
    unknown = [one for one in results if _is_open(one, base)]
    tables = [one.sums() for one in unknown] + [sums_of(list(p.apart.values()), clusters) for p in single]
    drawn = iter(resampled_means(tables, first_word(seed), resamples))
    known = {id(one): one.intervals_of(next(drawn)) for one in unknown}
    found: list[Contrast] = []
    for pair in pairs:
        if pair in single:
            means = zip(pair.apart.items(), next(drawn), strict=True)
            intervals = {symbol: interval(mean_of(column), row, LEVEL) for (symbol, column), row in means}
            found += pair.contrasts(intervals, {symbol: next(ps) for symbol in pair.apart})
        else:
            found += pair.contrasts(*_over_runs(pair.one, base, list(pair.apart)))
    return [replace(one, known=known[id(one)]) if id(one) in known else one for one in results], found


def _is_open(one: Result, base: Result) -> bool:
    """Say whether the intervals of a result are to be drawn, and as those of the baseline are."""
    alike = all(one.bootstrap[fact] == base.bootstrap[fact] for fact in ("seed", "resamples"))
    return one.known is None and alike


def _over_runs(
    one: Result, base: Result, symbols: Sequence[str]
) -> tuple[dict[str, Interval], dict[str, float | None]]:
    """Return differences of agents with several runs, and their p-values, from resampling runs and clusters."""
    (means, drawn), (base_means, base_drawn) = resample_agents(_defined_in_both(one, base, symbols), symbols)
    intervals: dict[str, Interval] = {}
    ps: dict[str, float | None] = {}
    for number, symbol in enumerate(symbols):
        a, b = means[number], base_means[number]
        if a is None or b is None:
            intervals[symbol], ps[symbol] = Interval(None, None, None), None
            continue
        both = np.isfinite(drawn[number]) & np.isfinite(base_drawn[number])
        apart = drawn[number][both] - base_drawn[number][both]
        intervals[symbol] = interval(a - b, apart, LEVEL)
        ps[symbol] = tail(np.array([a - b]), apart)
    return intervals, ps


def _defined_in_both(one: Result, base: Result, symbols: Sequence[str]) -> list[Result]:
    """Return both with values undefined wherever a run of either has none: means over other episodes do not compare."""
    a, b = per_episode(one), per_episode(base)
    defined = {symbol: np.isfinite(a[symbol]) & np.isfinite(b[symbol]) for symbol in symbols}
    found = []
    for result in (one, base):
        table = result.table
        columns = {s: np.where(np.tile(defined[s], result.runs), table[s], np.inf) for s in symbols}
        found.append(replace(result, table=ScoreTable(columns, facts=table.facts)))
    return found
