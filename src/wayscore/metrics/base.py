"""A metric is a frozen value: its facts, and a function from measurements to one number an episode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wayscore.convention import Convention

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Measurements:
    """What kernels measure, one number an episode each; metrics are formulas over these.

    Distances are in the units of the distance (metres in practice); infinite where no way exists.
    """

    query_length: Floats
    """PL(Q) = sum of d(q_i, q_i+1)."""
    reference_length: Floats
    """PL(R)."""
    end: Floats
    """d(q_|Q|, r_|R|)."""
    closest: Floats
    """min over q of d(q, r_|R|)."""
    start: Floats
    """d(q_1, r_|R|)."""
    mean_deviation: Floats
    """sum over q of d(q, R) / |Q|."""
    max_deviation: Floats
    """max over q of d(q, R)."""
    coverage: Floats
    """PC(R, Q) = mean over r of exp(-d(r, Q) / d_th)."""
    edits: Floats
    """Edit distance of the edges, or of the places where the convention counts those; where the query ends beyond
    d_th, the number of edges of the longer path, the worst."""
    warping: Floats
    """DTW(R, Q)."""
    reference_count: Floats
    """|R|."""
    query_count: Floats
    """|Q|."""
    goal_start: Floats
    """min over goals g of d(q_1, g); one goal, r_|R|, where an episode names no others."""
    goal_end: Floats
    """min over goals g of d(q_|Q|, g)."""
    goal_closest: Floats
    """min over q and goals g of d(q, g)."""
    given_start: Floats
    """The distance from start to goal that the dataset gives; 0 where none is given."""
    reach: Floats
    """The length walked when the query first met the threshold, infinite where it never did; only if needed."""
    proximity: Floats
    """mean over q of exp(-d(q, R)^2 / (2 d_th^2)); only if needed."""
    stopped: Floats
    """1 where the agent said that it stopped, or the file does not tell; else 0."""
    threshold: float
    """d_th."""
    convention: Convention
    """The choices that formulas look at."""

    def within(self, distances: Floats) -> Floats:
        """1 where a distance meets the threshold, as the convention compares, else 0."""
        met = distances < self.threshold if self.convention.comparison == "<" else distances <= self.threshold
        return met.astype(np.float64)

    def reached(self, last: Floats, goals: Floats) -> Floats:
        """1 where the convention's kind of goal was reached, given the distances to the last place and to the goals."""
        return (goals == 0).astype(np.float64) if self.convention.goal == "set" else self.within(last)

    @cached_property
    def optimal_length(self) -> Floats:
        """The length that the convention's SPL compares with."""
        return {
            "shortest": self.start,
            "reference": self.reference_length,
            "goals": self.goal_start,
            "dataset": self.given_start,
        }[self.convention.spl_length]

    @cached_property
    def success(self) -> Floats:
        """SR = 1[NE <= d_th], which several metrics are weighted by."""
        met = self.reached(self.end, self.goal_end)
        return met * self.stopped if self.convention.stop == "required" else met

    @cached_property
    def similarity(self) -> Floats:
        """Normalized warping, nDTW = exp(-DTW / (|R| d_th))."""
        places = self.reference_count if self.convention.normalizer == "R" else np.sqrt(self.reference_count)
        result: Floats = np.exp(-self.warping / (places * self.threshold))
        return result


def ratio(numerator: Floats, denominator: Floats, both_zero: float) -> Floats:
    """Divide; 0/0 is `both_zero`, and what infinities leave undefined is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient: Floats = numerator / denominator
    undefined = np.isnan(quotient)
    if undefined.any():
        quotient[undefined] = np.where((numerator == 0) & (denominator == 0), both_zero, 0.0)[undefined]
    return quotient


@dataclass(frozen=True, slots=True)
class Metric:
    """One score with its facts; tables, plots, help and tests read them from here.

    Attributes:
        symbol: the paper's symbol, used as key everywhere.
        name: the name in words.
        direction: "up" if higher is better, "down" if lower is, None if neither.
        bounds: the least and the greatest value it can have.
        unit: "m" for distances, "" for pure numbers.
        formula: the definition, as printed.
        compute: from measurements to one value an episode.
        needs: costly measurements it looks at ("coverage", "edits", "reach", "proximity").
    """

    symbol: str
    name: str
    direction: Literal["up", "down"] | None
    bounds: tuple[float, float]
    unit: str
    formula: str
    compute: Callable[[Measurements], Floats]
    needs: frozenset[str] = frozenset()

    @property
    def worst(self) -> float:
        """The value of an episode that was not answered."""
        return self.bounds[0] if self.direction == "up" else self.bounds[1]

    def __str__(self) -> str:
        return self.symbol
