"""How well a metric's order of a set agrees with a rater's order: one correlation per ranking and metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from wayscore.errors import OptionError, check_choice
from wayscore.evaluation.score import score
from wayscore.lab.study.model import ComparisonSet, Kind, Study
from wayscore.lab.study.rankings import Ranking
from wayscore.metrics import find_metrics
from wayscore.statistics.bootstrap import Floats
from wayscore.statistics.correlations import Method, row_correlations

METHODS: tuple[Method, ...] = get_args(Method)
MAIN: dict[Kind, str] = {"UC": "nDTW", "SC": "SDTW"}
RIVALS: dict[Kind, tuple[str, ...]] = {"UC": ("PL", "NE", "ONE", "CLS", "AD", "MD"), "SC": ("SR", "OSR", "SPL", "SED")}
"""What the paper compares in each of its studies, in the order of its Table 1."""
DECIMALS = 9
"""Metrics and correlations that differ by less than a unit of this decimal are equal: sums of floats round."""


@dataclass(frozen=True, slots=True)
class Correlations:
    """Rank correlations of every metric with every ranking."""

    metrics: tuple[str, ...]  # the study's own first
    values: Floats  # one row per ranking, one column per metric
    raters: tuple[str, ...]  # who gave each ranking
    sets: tuple[str, ...]  # which set each ranking is of

    def differences(self, rival: str) -> Floats:
        """Return the study's metric minus another, one value per ranking."""
        difference: Floats = np.round(self.values[:, 0] - self.values[:, self.metrics.index(rival)], DECIMALS) + 0.0
        return difference


def goodness(study: Study, sets: Sequence[ComparisonSet], metrics: Sequence[str], *, directed: bool = True) -> Floats:
    """Score sets so that higher is better: (sets, 5, metrics).

    The sign of metrics for which lower is better is changed. PL has no direction; the paper calls it best if it equals
    that of the reference, so it becomes -|PL(Q) - PL(R)|. If `directed` is False, no metric is changed.
    """
    scenes = [one.scene for one in sets for _ in one.queries]
    columns = higher_is_better(
        metrics,
        references=[one.reference for one in sets for _ in one.queries],
        queries=[query for one in sets for query in one.queries],
        distance={scene: study.graph(scene) for scene in dict.fromkeys(scenes)},
        scenes=scenes,
        threshold=study.threshold,
        directed=directed,
    )
    scores: Floats = np.stack(list(columns.values()), axis=1).reshape((len(sets), -1, len(columns)))
    return scores


def higher_is_better(metrics: Sequence[str], *, directed: bool = True, **paths: Any) -> dict[str, Floats]:
    """Score paths, given as `wayscore.score` takes them, with the sign changed where lower is better; see `goodness`.

    >>> paths = {"references": [[[0, 0], [4, 0]]], "queries": [[[0, 0], [4, 1]]], "threshold": 3.0}
    >>> {metric: values.tolist() for metric, values in higher_is_better(["PL", "NE", "SR"], **paths).items()}
    {'PL': [-0.123105626], 'NE': [-1.0], 'SR': [1.0]}
    """
    table = score(metrics=list(metrics), **paths)
    columns = {}
    for metric in find_metrics(list(metrics)):
        values = table[metric.symbol]
        if directed and metric.symbol == "PL":
            whole = score(metrics=["PL"], **{**paths, "queries": paths["references"]})
            values = -np.abs(values - whole["PL"])
        elif directed:
            values = values if metric.direction == "up" else -values
        columns[metric.symbol] = values.round(DECIMALS)
    return columns


def correlate(
    study: Study, rankings: Sequence[Ranking], method: Method = "spearman", *, directed: bool = True
) -> Correlations:
    """Correlate metrics with the rankings of plain sets; repeats and checks are left out.

    Pearson's is the linear correlation of a metric's values with the rater's ranks. Ties share their mean rank. A
    correlation is 0 if a metric or a rater ties all queries. For `directed`, see `goodness`.
    """
    check_choice("method", method, METHODS)
    plain = study.of_kind("plain")
    number_of = {one.name: number for number, one in enumerate(plain)}
    answers = [ranking for ranking in rankings if ranking.set in number_of]
    if not answers:
        raise OptionError("the answers rank no plain set (repeats and checks do not count); collect answers first")
    metrics = (MAIN[study.kind], *RIVALS[study.kind])
    scores = goodness(study, plain, metrics, directed=directed)[[number_of[ranking.set] for ranking in answers]]
    wanted = -np.array([ranking.ranks() for ranking in answers])  # higher is better here too
    values = np.stack([row_correlations(scores[..., n], wanted, method) for n in range(len(metrics))], axis=1)
    return Correlations(
        metrics, values, tuple(ranking.rater for ranking in answers), tuple(ranking.set for ranking in answers)
    )
