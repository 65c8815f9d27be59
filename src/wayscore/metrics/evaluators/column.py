"""How columns of evaluators are made: a known metric with another function, or a new one with its facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from wayscore import kernels
from wayscore.distances.base import Floats
from wayscore.metrics.base import Facts, Metric
from wayscore.metrics.episode import Episode
from wayscore.metrics.extra import EXTRA
from wayscore.metrics.paper import METRICS

KNOWN = {**METRICS, **EXTRA}
POINTS = frozenset({"points"})
"""The needs of a metric of paths of coordinates."""
COUNT: Facts = ("down", (0, inf), "")
ANGLE: Facts = ("down", (0, inf), "rad")
CHANCE: Facts = ("down", (0, 1), "")


def variant(
    symbol: str,
    formula: str,
    measure: Callable[[Episode], float],
    records: tuple[str, ...] = (),
    needs: frozenset[str] = frozenset(),
) -> Metric:
    """Return a known metric as an evaluator computes it from one episode."""
    return replace(KNOWN[symbol], formula=formula, compute=None, needs=needs, measure=measure, records=records)


def column(
    symbol: str,
    name: str,
    facts: Facts,
    formula: str,
    measure: Callable[[Episode], float],
    records: tuple[str, ...] = (),
    needs: frozenset[str] = frozenset(),
) -> Metric:
    """Return a metric that only some evaluators have."""
    return Metric(symbol, name, *facts, formula, needs=needs, measure=measure, records=records)


def goal_columns(name: str, distances: Callable[[Episode], Floats], words: str, **facts: Any) -> dict[str, Metric]:
    """Return NE, ONE, SR and OSR of an evaluator that measures distances to the goal in its own way.

    `distances` returns the distances to the goal of the nodes that it looks at; `words` describe these nodes.
    """
    last, least = f"the last distance to the goal{{}}; {words}", f"the least distance to the goal{{}}; {words}"
    rows = ("NE", last, False), ("ONE", least, False), ("SR", last, True), ("OSR", least, True)
    return {
        f"{symbol}:{name}": variant(
            symbol, formula.format(" meets d_th" if met else ""), OfDistances(distances, formula is last, met), **facts
        )
        for symbol, formula, met in rows
    }


@dataclass(frozen=True, slots=True)
class OfDistances:
    """The last or the least distance, or whether it meets the threshold; a value that other processes can have."""

    distances: Callable[[Episode], Floats]
    last: bool
    met: bool

    def __call__(self, episode: Episode) -> float:
        """Look at one episode."""
        found = self.distances(episode)[-1 if self.last else None :]
        if not len(found):
            return inf
        return float(episode.within(found).any() if self.met else found.min())


def share(length: float, walked: float, floor: float = 0.0) -> float:
    """L / max(PL, L, floor): 1 where all are 0, and 0 where something is unreachable."""
    longer = max(walked, length, floor)
    return 1.0 if not longer else length / longer if longer < inf else 0.0


def fast_cost_by(pairs: Callable[[Floats, Floats], Floats], reference: Floats, query: Floats) -> float:
    """Return the cost of FastDTW of radius 1 between points, by a distance other than Euclid's."""
    cells = np.empty((len(reference) + len(query), 2), dtype=np.int64)
    return float(kernels.fast_warp(reference, query, pairs, 1, 0, cells)[0])
