"""From encoded episodes to scores: kernels measure, and metrics are formulas over measurements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wayscore import kernels
from wayscore.convention.choices import Convention
from wayscore.distances.base import Distance, Floats, Places
from wayscore.errors import OptionError, PathError, WayscoreError, first_line, shortened
from wayscore.evaluation.recorded import Recorded
from wayscore.metrics.base import Measurements, Metric
from wayscore.metrics.episode import Episode
from wayscore.paths import Offsets, PathBatch
from wayscore.warping.encoded import dtw_value, fast_cost

EPISODES_AT_ONCE = 10_000
"""Few enough that the measurements of a part stay in the cache, enough that threads rarely wait for each other."""
CELLS_AT_ONCE = 4_000_000
"""As many pairs of nodes: a few milliseconds, so that threads share long paths too."""
MEASURED = [field.name for field in fields(Measurements)][:12]
"""What a kernel writes, row by row."""
UNMEASURED = np.empty(0)
"""In place of what no metric needs."""


class PathSets(NamedTuple):
    """The paths of all episodes, as given or encoded.

    Attributes:
        references: R of each, or of several episodes with a pairing.
        queries: Q of each.
        warped_references: what DTW warps to instead of `references`, in step with them; None for those themselves.
        warped_queries: what DTW warps instead of `queries`; None for those themselves.
    """

    references: Any
    queries: Any
    warped_references: Any = None
    warped_queries: Any = None

    def warped(self) -> tuple[Any, Any]:
        """Return the references and queries that DTW warps."""
        r, q = self.warped_references, self.warped_queries
        return self.references if r is None else r, self.queries if q is None else q


@dataclass(frozen=True, slots=True)
class Part:
    """Some episodes of one scene: work for one thread.

    Attributes:
        space: their distance.
        paths: encoded.
        pairing: the number of the reference of each query, or None where they go in step.
        rows: the rows of the table that they are.
        work: their share of the work that is done at once; a part of more than one episode has 1 at most.
    """

    space: Distance
    paths: PathSets
    pairing: Offsets | None
    rows: slice
    work: float

    def measure(self, compare: int, scale: float, reach: float, out: Floats, first: int) -> None:
        """Write the measurements to columns `first` and on of `out`, whatever kind of distance it is."""
        r, q = self.paths.references, self.paths.queries
        paths = (r.places, q.places, r.offsets, q.offsets)
        if self.space.is_straight or self.space.table is not None:
            table = None if self.space.is_straight else self.space.table
            kernels.measure(table, *paths, self.pairing, compare, scale, reach, out, first)
            return
        for column, (reference, query) in enumerate(self.pairs(r, q), start=first):  # a block of distances for each
            codes = np.concatenate((reference, query))
            if codes.ndim == 2:  # a distance may work on points; edits are of nodes that are the same or not
                codes = np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int32)
            kernels.measure_block(
                np.ascontiguousarray(self.space.between(reference, query)),
                np.append(self.space.pairs(reference[:-1], reference[1:]), 0.0),
                np.append(self.space.pairs(query[:-1], query[1:]), 0.0),
                codes[: len(reference)],
                codes[len(reference) :],
                compare,
                scale,
                reach,
                out,
                column,
            )

    def warp(self, how: str, warping: Floats, counts: Floats, first: int) -> None:
        """Write DTW of the paths that the convention warps, computed as it says, and how many nodes it warps to."""
        for column, (reference, query) in enumerate(self.pairs(*self.paths.warped()), start=first):
            if how == "exact":
                warping[column] = dtw_value(reference, query, self.space)
            else:
                warping[column] = fast_cost(reference, query, self.space, compiled=how == "fast-compiled")
            counts[column] = len(reference)

    def pairs(self, references: PathBatch, queries: PathBatch) -> Iterable[tuple[Places, Places]]:
        """Go through references and queries one by one."""
        for number, query in enumerate(queries):
            yield references[number if self.pairing is None else int(self.pairing[number])], query


def parts_of(
    paths: PathSets,
    pairing: Offsets | None,
    spaces: Sequence[Distance],
    scenes: NDArray[np.integer[Any]],
    first: int = 0,
) -> list[Part]:
    """Cut encoded episodes into parts, scene by scene.

    Args:
        paths: encoded each in its scene, and those of one scene side by side.
        pairing: the number of the reference of each query, or None where they go in step.
        spaces: the distance of each scene.
        scenes: the number of the scene of each query.
        first: the row of the table that the first query is.
    """
    queries = paths.queries
    for r in (paths.references, paths.warped_references):
        if r is not None and r.places.ndim == 2 and len(r) and len(queries):
            led, walked = r.places.shape[1], queries.places.shape[1]
            if led != walked:
                raise PathError(
                    f"references have {led}-dimensional points and queries {walked}-dimensional ones; both need the "
                    "same dimension"
                )
    lengths = paths.references.lengths if pairing is None else paths.references.lengths[pairing]
    cells = lengths * queries.lengths
    parts: list[Part] = []
    for scene, start, stop in stretches(scenes):
        starts = [*range(start, stop, EPISODES_AT_ONCE)]
        done = np.cumsum(cells[start:stop]) // CELLS_AT_ONCE
        if done[-1]:  # long paths
            starts = sorted({*starts, *(np.flatnonzero(np.diff(done)) + 1 + start).tolist()})
        for begin, end in pairwise([*starts, stop]):
            some = None if pairing is None else pairing[begin:end]
            own = (begin, end) if some is None else (int(some.min()), int(some.max()) + 1)
            bounded = zip(paths, (own, (begin, end), own, (begin, end)), strict=True)
            parts.append(
                Part(
                    spaces[scene],
                    PathSets(*(None if every is None else every.part(*of) for every, of in bounded)),
                    None if some is None else some - own[0],
                    slice(first + begin, first + end),
                    max((end - begin) / EPISODES_AT_ONCE, float(cells[begin:end].sum()) / CELLS_AT_ONCE),
                )
            )
    return parts


def stretches(scenes: NDArray[np.integer[Any]]) -> Iterator[tuple[int, int, int]]:
    """Go through the scenes of sorted rows, each with its first row and the one after its last."""
    changes = np.flatnonzero(np.diff(scenes)) + 1
    for start, stop in pairwise([0, *changes.tolist(), len(scenes)]):
        if start < stop:
            yield int(scenes[start]), start, stop


class Scoring:
    """How episodes are scored: one value that all threads share.

    Attributes:
        needs: the costly measurements that some metric looks at.
        compare: those among them that take all pairs of nodes, as flags for kernels.
        other_warping: whether DTW is another one than kernels measure along with the rest: FastDTW, or that of dense
            or resampled paths.
        known: which rows have recorded distances to the goal.
        to_goal: of these rows the first, the last and the least distance.
        start_distances: from start to goal, as the dataset has them, where those count.
        stopped: 0 where the convention requires a stop and the agent did not stop, else 1.
    """

    def __init__(
        self,
        metrics: tuple[Metric, ...],
        threshold: float,
        convention: Convention,
        recorded: Recorded,
        up_axis: int | None,
        other_paths: bool,
    ) -> None:
        self.metrics, self.threshold, self.convention = metrics, threshold, convention
        self.recorded, self.up_axis = recorded, up_axis
        self.needs: frozenset[str] = frozenset().union(*(metric.needs for metric in metrics if metric.compute))
        self.other_warping = other_paths or convention.warping != "exact"
        count = len(recorded.names)
        self.known, self.to_goal = np.zeros(count, dtype=bool), np.empty((3, 0))
        if "goal_distances" in recorded.facts:
            self.known, self.to_goal = recorded.goal_distances()
        self.stopped = np.broadcast_to(1.0, count)
        if convention.stop == "required" and "stopped" in recorded.facts:
            self.stopped = np.array([flag is not False for flag in recorded.facts["stopped"]], dtype=np.float64)
        self.start_distances: Floats | None = None
        shortest = convention.goal_distance == "simulator" and convention.spl_length == "shortest"
        if shortest and "optimal_length" in self.needs and not self.known.all():
            self.start_distances = recorded.start_distances(convention, self.known)
        near = not self.needs.isdisjoint({"nearest", "coverage"}) or self.known.any() or "goals" in recorded.facts
        warping = "warping" in self.needs and not self.other_warping
        self.compare = (kernels.COMPARE_NEAREST if near else 0) | (kernels.COMPARE_WARPING if warping else 0)

    def score(self, group: list[Part], scores: Floats) -> None:
        """Score some parts, one after the other, and write their columns of the scores."""
        where = slice(group[0].rows.start, group[-1].rows.stop)
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

    def measure(self, group: list[Part], where: slice) -> Measurements:
        """Measure the episodes of some parts."""
        needs, recorded = self.needs, self.recorded
        limit = -1.0  # only successes need an edit distance: queries that end farther from the goal are given none
        if "edits" in needs:
            by_kernel = self.convention.goal == "last" and not self.known.any()
            limit = self.threshold if by_kernel else np.inf
        count = where.stop - where.start
        measured = np.empty((len(MEASURED), count))
        rows: dict[str, Floats] = dict(zip(MEASURED, measured, strict=True))
        rows["warped_count"] = rows["reference_count"]
        if not self.compare & kernels.COMPARE_NEAREST:
            rows |= dict.fromkeys(("closest", "mean_deviation", "max_deviation", "coverage"), UNMEASURED)
        if not self.compare & kernels.COMPARE_WARPING:
            rows |= {
                name: np.empty(count) if "warping" in needs else UNMEASURED for name in ("warping", "warped_count")
            }
        for part in group:
            first = part.rows.start - where.start
            part.measure(self.compare, self.threshold if "coverage" in needs else 0.0, limit, measured, first)
            if self.other_warping and "warping" in needs:
                part.warp(self.convention.warping, rows["warping"], rows["warped_count"], first)
        rows["reach"] = UNMEASURED
        if "reach" in needs:
            rows["reach"] = np.array([reach(episode) for episode in self.episodes(group)])
        # Distances to the nearest goal: to the reference's end, where an episode names no goals.
        ends = ("start", "end", "closest")
        found = {name: rows[name] for name in ends}
        if recorded.facts.get("goals") is not None:
            found = {name: values.copy() for name, values in found.items()}
            for column, episode in enumerate(self.episodes(group)):
                if len(episode.goals):
                    near = episode.distances_to(episode.goals).min(axis=0)
                    for name, value in zip(ends, (near[0], near[-1], near.min()), strict=True):
                        found[name][column] = value
            if self.convention.goal == "nearest":
                rows |= found
        rows |= {f"goal_{name}": distances for name, distances in found.items()}
        known = self.known[where]
        if known.any():
            for name, distances in zip(ends, self.to_goal[:, where], strict=True):
                for kind in (name, f"goal_{name}"):
                    rows[kind] = np.where(known, distances, rows[kind])
        given = self.start_distances
        rows["shortest"] = rows["start"] if given is None else np.where(known, rows["start"], given[where])
        return Measurements(
            **rows,
            recorded_count=rows["query_count"] if recorded.counts is None else recorded.counts[where],
            stopped=self.stopped[where],
            threshold=self.threshold,
            convention=self.convention,
        )

    def episodes(self, group: list[Part]) -> Iterator[Episode]:
        """Yield the episodes of some parts one by one."""
        scenes = self.recorded.scenes
        for part in group:
            rows = range(part.rows.start, part.rows.stop)
            pairs = part.pairs(part.paths.references, part.paths.queries)
            warped = part.pairs(*part.paths.warped())
            for row, (reference, query), others in zip(rows, pairs, warped, strict=True):
                yield Episode(
                    part.space,
                    reference,
                    query,
                    self.threshold,
                    self.convention,
                    self.recorded.names[row],
                    None if scenes is None else scenes[row],
                    self.recorded.of(row),
                    self.up_axis,
                    others,
                )


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
