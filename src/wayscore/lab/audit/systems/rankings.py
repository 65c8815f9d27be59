"""Rankings of systems: how far metrics agree about them, and how stable they are under other paths and scans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from wayscore.lab.audit.systems.scoreboard import Scoreboard
from wayscore.statistics import kendall
from wayscore.statistics.bootstrap import first_word, resampled_means, sums_of
from wayscore.statistics.correlations import row_correlations
from wayscore.statistics.values import Floats

Matrix = Mapping[str, Mapping[str, float]]
"""A number for every two metrics, by symbol."""
LEAST = 0.025
"""The quantile of tau that says how bad a resample can be."""


@dataclass(frozen=True, slots=True)
class Stability:
    """How stable the ranking by one metric is if the clusters of episodes are drawn again.

    Attributes:
        metric: its symbol.
        cluster: what is drawn: "path" or "scan".
        tau: mean Kendall's tau between the ranking of a resample and that of all episodes.
        low: the 2.5 % quantile of tau.
        same_first: the share of resamples in which the same system is first.
    """

    metric: str
    cluster: str
    tau: float
    low: float
    same_first: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def agreement(board: Scoreboard) -> Matrix:
    """Return Kendall's tau-b between the rankings of systems by every two metrics."""
    means = board.means()
    return {
        a.symbol: {b.symbol: kendall(means[i], means[j]) for j, b in enumerate(board.metrics)}
        for i, a in enumerate(board.metrics)
    }


def stability(board: Scoreboard, *, resamples: int = 1_000, seed: int = 0) -> tuple[Stability, ...]:
    """Resample paths, and scans where there are several, and rank the systems again."""
    found = []
    for cluster, numbers in (("path", board.paths), ("scan", board.scans)):
        if numbers.max(initial=0) < 1:
            continue
        columns = list(board.scores.reshape(-1, board.episodes))
        drawn = resampled_means([sums_of(columns, numbers)], first_word(seed), resamples)[0]
        by_metric = drawn.reshape(len(board.metrics), len(board.names), resamples)
        for metric, means, whole in zip(board.metrics, by_metric, board.means(), strict=True):
            found.append(_stability(metric.symbol, cluster, means.T, whole))
    return tuple(found)


def _stability(symbol: str, cluster: str, drawn: Floats, whole: Floats) -> Stability:
    """Compare the means of each resample, (resamples, systems), with those of all episodes."""
    taus = row_correlations(drawn, np.broadcast_to(whole, drawn.shape).copy(), "kendall")
    same = np.count_nonzero(drawn.argmax(axis=1) == whole.argmax()) / len(drawn)
    return Stability(symbol, cluster, float(taus.mean()), float(np.quantile(taus, LEAST)), float(same))
