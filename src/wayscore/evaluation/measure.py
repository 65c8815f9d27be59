"""From encoded episodes to scores: kernels measure, metrics are formulas over measurements, threads share the work."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, fields
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from wayscore import kernels
from wayscore.convention.choices import Convention
from wayscore.distances.base import Floats
from wayscore.errors import OptionError, WayscoreError, first_line, shortened
from wayscore.evaluation.parts import Part
from wayscore.evaluation.recorded import Recorded
from wayscore.metrics.base import Measurements, Metric
from wayscore.metrics.episode import Episode
from wayscore.paths import Offsets

MEASURED = [field.name for field in fields(Measurements)][:12]
"""What a kernel writes, row by row."""
UNMEASURED = np.empty(0)
"""In place of what no metric needs."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """How episodes are scored: one value that all threads share.

    Attributes:
        metrics: what is scored.
        threshold: d_th.
        convention: every choice that changes a number.
        recorded: what is known of the episodes beside their paths.
        up_axis: which coordinate points up.
        needs: the costly measurements that some metric looks at.
        compare: those among them that take all pairs of nodes, as flags for kernels.
        other_warping: whether DTW is another one than kernels measure along with the rest: FastDTW, or that of dense or
            resampled paths.
        known: which rows have recorded distances to the goal.
        to_goal: of these rows the first, the last and the least distance.
        start_distances: from start to goal, as the dataset has them, where those count.
        stopped: 0 where the convention requires a stop and the agent did not stop, else 1.
    """

    metrics: tuple[Metric, ...]
    threshold: float
    convention: Convention
    recorded: Recorded
    up_axis: int | None
    needs: frozenset[str]
    compare: int
    other_warping: bool
    known: NDArray[np.bool_]
    to_goal: Floats
    start_distances: Floats | None
    stopped: Floats

    @classmethod
    def plan(
        cls,
        metrics: tuple[Metric, ...],
        threshold: float,
        convention: Convention,
        recorded: Recorded,
        *,
        up_axis: int | None = None,
        other_paths: bool = False,
    ) -> Scoring:
        """Check that all that the metrics need is recorded; `other_paths`: DTW warps dense or resampled paths."""
        needs: frozenset[str] = frozenset().union(*(metric.needs for metric in metrics if metric.compute))
        known, to_goal = recorded.goal_distances()
        other_warping = other_paths or convention.warping != "exact"
        nearest = not needs.isdisjoint({"nearest", "coverage"}) or known.any() or "goals" in recorded.facts
        warping = "warping" in needs and not other_warping
        return cls(
            metrics,
            threshold,
            convention,
            recorded,
            up_axis,
            needs,
            (kernels.COMPARE_NEAREST if nearest else 0) | (kernels.COMPARE_WARPING if warping else 0),
            other_warping,
            known,
            to_goal,
            recorded.start_distances(convention, known) if "optimal_length" in needs else None,
            recorded.stop_flags(convention),
        )

    def score(self, group: list[Part], scores: Floats) -> None:
        """Score some parts and write their columns of the scores."""
        where = _rows_of(group)
        measurements = None
        single = []
        for row, metric in zip(scores, self.metrics, strict=True):
            if metric.compute is None:
                single.append((row, metric))
                continue
            if measurements is None:
                measurements = self.measure(group, where)
            try:
                row[where] = metric.compute(measurements)
            except WayscoreError:
                raise
            except ValueError as error:  # shapes that do not fit
                raise OptionError(
                    f"metric {metric.symbol}: {first_line(error)}; it must return one number for each of "
                    f"{len(measurements.end)} episodes, and list the costly measurements that it looks at in needs="
                ) from error
        if single:
            found = np.array([[_number(metric, one) for _, metric in single] for one in self.episodes(group)])
            for (row, _), values in zip(single, found.T, strict=True):
                row[where] = values

    def measure(self, group: list[Part], where: slice | Offsets) -> Measurements:
        """Measure the episodes of some parts."""
        convention, needs = self.convention, self.needs
        limit = -1.0  # only successes need an edit distance: queries that end farther from the goal are given none
        if "edits" in needs:
            by_kernel = convention.goal == "last" and not self.known.any()
            limit = self.threshold if by_kernel else np.inf
        count = sum(map(len, group))
        measured = np.empty((len(MEASURED), count))
        rows: dict[str, Floats] = dict(zip(MEASURED, measured, strict=True))
        rows["warped_count"] = rows["reference_count"]
        if not self.compare & kernels.COMPARE_NEAREST:
            rows |= dict.fromkeys(("closest", "mean_deviation", "max_deviation", "coverage"), UNMEASURED)
        if not self.compare & kernels.COMPARE_WARPING:
            rows["warping"], rows["warped_count"] = self._room("warping", count), self._room("warping", count)
        for part, first in zip(group, accumulate(map(len, group), initial=0)):  # noqa: B905  # one more start than parts
            part.measure(self.compare, self.threshold if "coverage" in needs else 0.0, limit, measured, first)
            if self.other_warping and "warping" in needs:
                part.warp(convention.warping, rows["warping"], rows["warped_count"], first)
        rows["reach"] = self._room("reach", count)
        if "reach" in needs:
            rows["reach"][:] = [reach(episode) for episode in self.episodes(group)]
        self._find_goals(group, rows, where)
        return Measurements(
            **rows,
            recorded_count=rows["query_count"] if self.recorded.counts is None else self.recorded.counts[where],
            stopped=self.stopped[where],
            threshold=self.threshold,
            convention=convention,
        )

    def episodes(self, group: list[Part]) -> Iterable[Episode]:
        """Yield the episodes of some parts one by one."""
        for part in group:
            yield from part.episodes(self.recorded, self.threshold, self.convention, self.up_axis)

    def _room(self, need: str, count: int) -> Floats:
        return np.empty(count) if need in self.needs else UNMEASURED

    def _find_goals(self, group: list[Part], rows: dict[str, Floats], where: slice | Offsets) -> None:
        """Add the distances to the nearest goal: to the reference's end, where an episode names no goals."""
        ends = ("start", "end", "closest")
        if self.recorded.facts.get("goals") is not None:
            found = {name: rows[name].copy() for name in ends}
            for column, episode in enumerate(self.episodes(group)):
                if len(episode.goals):
                    for name, value in zip(ends, to_goals(episode), strict=True):
                        found[name][column] = value
            if self.convention.goal == "nearest":
                rows |= found
            rows |= {f"goal_{name}": distances for name, distances in found.items()}
        else:
            rows |= {f"goal_{name}": rows[name] for name in ends}
        known = self.known[where]
        if known.any():
            for name, distances in zip(ends, self.to_goal[:, where], strict=True):
                for kind in (name, f"goal_{name}"):
                    rows[kind] = np.where(known, distances, rows[kind])
        given = self.start_distances
        rows["shortest"] = rows["start"] if given is None else np.where(known, rows["start"], given[where])


def to_goals(episode: Episode) -> tuple[float, float, float]:
    """Return how far the start, the end and the nearest node of the query are from the nearest goal."""
    nearest = episode.distances_to(episode.goals).min(axis=0)
    return float(nearest[0]), float(nearest[-1]), float(nearest.min())


def reach(episode: Episode) -> float:
    """Return the length walked when the query first met the threshold, infinite where it never did."""
    met = np.flatnonzero(episode.within(episode.goal_distances()))
    if not met.size:
        return np.inf
    walked = episode.encoded_query[: met[0] + 1]
    return float(episode.distance.pairs(walked[:-1], walked[1:]).sum())


def _number(metric: Metric, episode: Episode) -> float:
    """Return the value of a metric of one episode, if it is a number."""
    assert metric.measure is not None
    value = metric.measure(episode)
    if not isinstance(value, int | float | np.number | np.bool_) or value != value:
        raise OptionError(
            f"metric {metric.symbol}, episode {episode.name}: the function returned {shortened(value)}; it must return "
            "a number, infinity where it is undefined"
        )
    return float(value)


def grouped(parts: list[Part]) -> list[list[Part]]:
    """Put small parts together, up to the work of a large one."""
    groups: list[list[Part]] = []
    room = 0.0
    for part in parts:
        if part.work > room:
            groups.append([])
            room = 1.0
        groups[-1].append(part)
        room -= part.work
    return groups


def _rows_of(group: list[Part]) -> slice | Offsets:
    """Return the rows of several parts: a stretch of the table where they lie side by side."""
    first, last = group[0].rows, group[-1].rows
    if isinstance(first, slice) and isinstance(last, slice):  # all are, then, one after the other
        return slice(first.start, last.stop)
    return first if len(group) == 1 else np.concatenate([part.rows for part in group])


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
