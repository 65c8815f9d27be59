"""How columns of evaluators are made: a known metric with another function, or a new one with its facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Literal

import numpy as np

from wayscore import kernels
from wayscore.distances.base import Floats
from wayscore.metrics.base import Metric
from wayscore.metrics.episode import Episode
from wayscore.metrics.extra import EXTRA
from wayscore.metrics.paper import METRICS

KNOWN = {**METRICS, **EXTRA}


POINTS = frozenset({"points"})
"""The needs of a metric of paths of coordinates."""


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
    formula: str,
    measure: Callable[[Episode], float],
    records: tuple[str, ...] = (),
    *,
    direction: Literal["up", "down"] | None = None,
    unit: str = "",
    bounds: tuple[float, float] = (0, inf),
    needs: frozenset[str] = frozenset(),
) -> Metric:
    """Return a metric that only some evaluators have."""
    return Metric(symbol, name, direction, bounds, unit, formula, None, needs, measure, records)


def goal_columns(name: str, distances: Callable[[Episode], Floats], words: str, **facts: Any) -> dict[str, Metric]:
    """Return NE, ONE, SR and OSR of an evaluator that measures distances to the goal in its own way.

    Args:
        name: of the convention.
        distances: how far from the goal the nodes are that it looks at; none where it looks at none.
        words: what is peculiar about them.
        **facts: what the columns take from the run (`records`), and their `needs`.
    """
    return {
        f"NE:{name}": variant("NE", f"the last distance to the goal; {words}", Last(distances), **facts),
        f"ONE:{name}": variant("ONE", f"the least distance to the goal; {words}", Least(distances), **facts),
        f"SR:{name}": variant("SR", f"the last distance to the goal meets d_th; {words}", LastMet(distances), **facts),
        f"OSR:{name}": variant(
            "OSR", f"the least distance to the goal meets d_th; {words}", AnyMet(distances), **facts
        ),
    }


@dataclass(frozen=True, slots=True)
class Last:
    """The last distance; undefined where there is none."""

    distances: Callable[[Episode], Floats]

    def __call__(self, episode: Episode) -> float:
        """Look at one episode."""
        found = self.distances(episode)
        return float(found[-1]) if len(found) else inf


@dataclass(frozen=True, slots=True)
class Least:
    """The least distance; undefined where there is none."""

    distances: Callable[[Episode], Floats]

    def __call__(self, episode: Episode) -> float:
        """Look at one episode."""
        return float(np.min(self.distances(episode), initial=inf))


@dataclass(frozen=True, slots=True)
class LastMet:
    """1 where the last distance meets the threshold, else 0; undefined where there is none."""

    distances: Callable[[Episode], Floats]

    def __call__(self, episode: Episode) -> float:
        """Look at one episode."""
        found = self.distances(episode)
        return float(episode.within(found[-1:])[0]) if len(found) else inf


@dataclass(frozen=True, slots=True)
class AnyMet:
    """1 where any distance meets the threshold, else 0; undefined where there is none."""

    distances: Callable[[Episode], Floats]

    def __call__(self, episode: Episode) -> float:
        """Look at one episode."""
        found = self.distances(episode)
        return float(episode.within(found).any()) if len(found) else inf


def share(length: float, walked: float, floor: float = 0.0) -> float:
    """L / max(PL, L, floor): 1 where all are 0, and 0 where something is unreachable."""
    longer = max(walked, length, floor)
    return 1.0 if not longer else length / longer if longer < inf else 0.0


def fast_cost_by(pairs: Callable[[Floats, Floats], Floats], reference: Floats, query: Floats) -> float:
    """Return the cost of FastDTW of radius 1 between points whose distance is another than Euclid's."""
    cells = np.empty((len(reference) + len(query), 2), dtype=np.int64)
    return float(kernels.fast_warp(reference, query, pairs, 1, 0, cells)[0])
