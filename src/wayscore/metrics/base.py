"""A metric is a frozen value: its facts, and a function of one episode or of the measurements of many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wayscore.convention.choices import Convention
from wayscore.errors import OptionError, shortened
from wayscore.metrics.episode import Episode

Floats = NDArray[np.float64]
Facts: TypeAlias = tuple[Literal["up", "down"] | None, tuple[float, float], str]
"""Direction, bounds and unit of a metric."""
SCORE: Facts = ("up", (0, 1), "")
ERROR: Facts = ("down", (0, inf), "m")
LENGTH: Facts = (None, (0, inf), "m")


@dataclass(frozen=True, eq=False, repr=False)
class Measurements:
    """What kernels measure, one number per episode each; metrics are formulas over these.

    Distances are in the units of the distance (metres in practice); infinite where the goal is unreachable.
    """

    query_length: Floats
    """PL(Q) = sum of d(q_i, q_i+1)."""
    reference_length: Floats
    """PL(R)."""
    end: Floats
    """How far the end of the query is from the goal: d(q_|Q|, r_|R|), or to the nearest goal where the convention takes
    that; as the simulator recorded it, where it did."""
    closest: Floats
    """The same of the query's nearest node; only if needed, as the deviations are."""
    start: Floats
    """The same of the query's first node."""
    mean_deviation: Floats
    """sum over q of d(q, R) / |Q|."""
    max_deviation: Floats
    """max over q of d(q, R)."""
    coverage: Floats
    """PC(R, Q) = mean over r of exp(-d(r, Q) / d_th); only if needed."""
    edits: Floats
    """Edit distance of the edges; where the query ends beyond d_th, the number of edges of the longer path, the worst.
    Only if needed."""
    warping: Floats
    """DTW(R, Q), of the dense or resampled paths where the convention warps those. Only if needed."""
    reference_count: Floats
    """|R|."""
    query_count: Floats
    """|Q|."""
    warped_count: Floats
    """|R| of the path that DTW warps to."""
    recorded_count: Floats
    """|Q| as it was recorded, before repeats are dropped."""
    goal_start: Floats
    """min over goals g of d(q_1, g); one goal, r_|R|, where an episode names no others."""
    goal_end: Floats
    """min over goals g of d(q_|Q|, g)."""
    goal_closest: Floats
    """min over q and goals g of d(q, g)."""
    shortest: Floats
    """The shortest length from start to goal: `start`, or the dataset's where the simulator's is not recorded."""
    reach: Floats
    """The length walked when the query first met the threshold, infinite where it never did; only if needed."""
    stopped: Floats
    """0 where the convention requires a stop and the agent did not stop; else 1."""
    threshold: float
    """d_th."""
    convention: Convention
    """The choices that formulas look at."""

    def reached(self, distances: Floats, to_set: Floats | None = None) -> Floats:
        """1 where a distance meets the threshold or, if the convention's goal is a set, `to_set` is 0; else 0."""
        if to_set is not None and self.convention.goal == "set":
            met: NDArray[np.bool_] = to_set == 0
        else:
            met = distances < self.threshold if self.convention.comparison == "<" else distances <= self.threshold
        return met.astype(np.float64)

    @cached_property
    def optimal_length(self) -> Floats:
        """The length that the convention's SPL compares with."""
        return self.reference_length if self.convention.spl_length == "reference" else self.shortest

    @cached_property
    def success(self) -> Floats:
        """SR = 1[NE <= d_th], which several metrics are weighted by."""
        met = self.reached(self.end, self.goal_end)
        return met * self.stopped if self.convention.stop == "required" else met

    @cached_property
    def similarity(self) -> Floats:
        """Normalized warping, nDTW = exp(-DTW / (|R| d_th))."""
        result: Floats = np.exp(self.warping / (self.warped_count * -self.threshold))  # one pass less
        return result


def ratio(numerator: Floats, denominator: Floats, both_zero: float) -> Floats:
    """Divide; 0/0 is `both_zero`, and infinity / infinity is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient: Floats = numerator / denominator
    undefined = np.isnan(quotient)
    if undefined.any():
        quotient[undefined] = np.where((numerator == 0) & (denominator == 0), both_zero, 0.0)[undefined]
    return quotient


@dataclass(frozen=True, slots=True)
class Measured:
    """A measurement as it is, by name; unlike a lambda it equals its copy in another process."""

    name: str

    def __call__(self, m: Measurements) -> Floats:
        """Return the measurement."""
        values: Floats = getattr(m, self.name)
        return values


@dataclass(frozen=True, slots=True)
class Metric:
    """One score with its facts; tables, plots, help and tests read them from here.

    Give one of `measure` and `compute`. `measure` is a function of one `Episode` that returns a number: the way to
    write a metric of your own. `compute` is a function of the `Measurements` of many episodes, arrays with one number
    per episode, that returns such an array: faster, and limited to what kernels measure.

    Attributes:
        symbol: the paper's symbol, used as key everywhere.
        name: the full name.
        direction: "up" if higher is better, "down" if lower is, None if neither.
        bounds: the least and the greatest value it can have.
        unit: "m" for distances, "" for pure numbers.
        formula: the definition, as printed.
        compute: from measurements to one value per episode.
        needs: what `compute` looks at beside the cheap measurements, which is measured only then: "coverage", "edits",
            "goals", "nearest" (`closest`, `goal_closest` and the deviations), "optimal_length", "reach", "warping". A
            metric of one episode may need "points" (paths of coordinates) or "warping" (the paths that the convention
            warps).
        measure: from one episode to its value; infinity where it is undefined.
        records: what it takes from `Episode.recorded`, by name, so that results can report where that is missing.

    >>> def farthest(episode):
    ...     return episode.matrix().max()
    >>> Metric(symbol="far", name="Farthest", direction="down", bounds=(0, float("inf")), unit="m",
    ...        formula="max_r max_q d(r, q)", measure=farthest).worst
    inf
    """

    symbol: str
    name: str
    direction: Literal["up", "down"] | None
    bounds: tuple[float, float]
    unit: str
    formula: str
    compute: Callable[[Measurements], Floats] | None = None
    needs: frozenset[str] = frozenset({"nearest"})
    measure: Callable[[Episode], float] | None = None
    records: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        wrong = ""
        if (self.compute is None) == (self.measure is None):
            wrong = "give either measure= (a function of one episode) or compute= (a function of measurements); got "
            wrong += "neither" if self.compute is None else "both"
        elif not callable(self.compute or self.measure):
            wrong = "measure= or compute= must be a function"
        elif self.direction not in ("up", "down", None):
            wrong = f'direction must be "up", "down" or None, got {shortened(self.direction)}'
        elif not self.bounds[0] <= self.bounds[1]:
            wrong = f"bounds must be (least, greatest), got {self.bounds}"
        if wrong:
            raise OptionError(f"metric {shortened(self.symbol)}: {wrong}")

    @property
    def worst(self) -> float:
        """The value of an episode that was not answered."""
        return self.bounds[0] if self.direction == "up" else self.bounds[1]

    def __str__(self) -> str:
        return self.symbol

    def __repr__(self) -> str:
        return f"<Metric {self.symbol}: {self.name} = {self.formula}>"
