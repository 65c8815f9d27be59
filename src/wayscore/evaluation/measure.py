"""From encoded episodes to scores: kernels measure, and metrics are formulas over measurements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    """Some episodes of one scene: a piece of work for one thread.

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
    rows: slice | Offsets
    work: float

    def measure(self, compare: int, scale: float, reach: float, out: Floats, first: int) -> None:
        """Write the measurements to columns `first` and on of `out`, whatever kind of distance it is."""
        r, q = self.paths.references, self.paths.queries
        paths = (r.places, q.places, r.offsets, q.offsets)
        if self.space.is_straight or self.space.table is not None:
            table = None if self.space.is_straight else self.space.table
            kernels.measure(table, *paths, self.pairing, compare, scale, reach, out, first)
        else:
            for column, (reference, query) in enumerate(self._pairs(r, q), start=first):
                self._measure_one(reference, query, compare, scale, reach, out, column)

    def warp(self, how: str, warping: Floats, counts: Floats, first: int) -> None:
        """Write DTW of the paths that the convention warps, computed as it says, and how many nodes it warps to."""
        for column, (reference, query) in enumerate(self._pairs(*self.paths.warped()), start=first):
            if how == "exact":
                warping[column] = dtw_value(reference, query, self.space)
            else:
                warping[column] = fast_cost(reference, query, self.space, compiled=how == "fast-compiled")
            counts[column] = len(reference)

    def episodes(
        self, recorded: Recorded, threshold: float, convention: Convention, up_axis: int | None
    ) -> Iterable[Episode]:
        """Yield the episodes one by one."""
        rows = range(*self.rows.indices(len(recorded.names))) if isinstance(self.rows, slice) else self.rows.tolist()
        pairs = self._pairs(self.paths.references, self.paths.queries)
        warped = self._pairs(*self.paths.warped())
        for row, (reference, query), others in zip(rows, pairs, warped, strict=True):
            yield Episode(
                self.space,
                reference,
                query,
                threshold,
                convention,
                recorded.names[row],
                recorded.scene(row),
                recorded.of(row),
                up_axis,
                others,
            )

    def _pairs(self, references: PathBatch, queries: PathBatch) -> Iterable[tuple[Places, Places]]:
        for number, query in enumerate(queries):
            yield references[number if self.pairing is None else int(self.pairing[number])], query

    def _measure_one(
        self, reference: Any, query: Any, compare: int, scale: float, reach: float, out: Floats, column: int
    ) -> None:
        """Measure an episode whose distances are not in a table: compute a block of them."""
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


def cut(
    space: Distance,
    paths: PathSets,
    pairing: Offsets | None,
    rows: range | Offsets,
    start: int = 0,
    stop: int | None = None,
) -> Iterable[Part]:
    """Cut encoded episodes of one scene into parts: those of queries `start` to `stop`."""
    queries = paths.queries
    for r in (paths.references, paths.warped_references):
        if r is not None and r.places.ndim == 2 and len(r) and len(queries):
            asked, walked = r.places.shape[1], queries.places.shape[1]
            if asked != walked:
                raise PathError(
                    f"references have {asked}-dimensional points and queries {walked}-dimensional ones; both need the "
                    "same dimension"
                )
    stop = len(queries) if stop is None else stop
    nodes = int(queries.offsets[stop] - queries.offsets[start])
    lengths = paths.references.lengths
    lengths = lengths[start:stop] if pairing is None else lengths[pairing[start:stop]]
    starts, cells = [*range(start, stop, EPISODES_AT_ONCE)], None
    if nodes and int(lengths.max()) * nodes / (stop - start) > CELLS_AT_ONCE / EPISODES_AT_ONCE:  # long paths
        cells = lengths * queries.lengths[start:stop]
        longs = np.flatnonzero(np.diff(np.cumsum(cells) // CELLS_AT_ONCE)) + 1 + start
        starts = sorted({*starts, *longs.tolist()})
    for first, last in pairwise([*starts, stop]):
        work = (last - first) / EPISODES_AT_ONCE
        some = None if pairing is None else pairing[first:last]
        own = (first, last) if some is None else (int(some.min()), int(some.max()) + 1)
        bounds = (own, (first, last), own, (first, last))
        yield Part(
            space,
            PathSets(*(None if every is None else every.part(*of) for every, of in zip(paths, bounds, strict=True))),
            None if some is None else some - own[0],
            slice(rows.start + first, rows.start + last) if isinstance(rows, range) else rows[first:last],
            work if cells is None else max(work, float(cells[first - start : last - start].sum()) / CELLS_AT_ONCE),
        )


def parts_by_scene(
    paths: PathSets, pairs: Offsets | None, spaces: Sequence[Distance], scenes: NDArray[np.integer[Any]]
) -> list[Part]:
    """Cut encoded episodes of several scenes into parts.

    Args:
        paths: encoded each in its scene, and those of one scene side by side.
        pairs: the number of the reference of each query, or None where they go in step.
        spaces: the distance of each scene.
        scenes: the number of the scene of each query.
    """
    parts: list[Part] = []
    bounds = np.searchsorted(scenes, np.arange(len(spaces) + 1)).tolist()
    for space, (start, stop) in zip(spaces, pairwise(bounds), strict=True):
        if start < stop:
            parts += cut(space, paths, pairs, range(len(scenes)), start, stop)
    return parts


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
        count = len(recorded.names)
        known, to_goal, stopped = np.zeros(count, dtype=bool), np.empty((3, 0)), np.broadcast_to(1.0, count)
        if "goal_distances" in recorded.facts:
            known, to_goal = recorded.goal_distances()
        if convention.stop == "required" and "stopped" in recorded.facts:
            stopped = np.array([flag is not False for flag in recorded.facts["stopped"]], dtype=np.float64)
        start_distances = None
        shortest = convention.goal_distance == "simulator" and convention.spl_length == "shortest"
        if shortest and "optimal_length" in needs and not known.all():
            start_distances = recorded.start_distances(convention, known)
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
            start_distances,
            stopped,
        )

    def score(self, group: list[Part], scores: Floats) -> None:
        """Score some parts and write their columns of the scores."""
        first, last = group[0].rows, group[-1].rows
        where: slice | Offsets
        if isinstance(first, slice) and isinstance(last, slice):  # all are, then, one after the other
            where = slice(first.start, last.stop)
        else:
            where = np.concatenate([part.rows for part in group])
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
        counts = [len(part.paths.queries) for part in group]
        count = sum(counts)
        measured = np.empty((len(MEASURED), count))
        rows: dict[str, Floats] = dict(zip(MEASURED, measured, strict=True))
        rows["warped_count"] = rows["reference_count"]
        if not self.compare & kernels.COMPARE_NEAREST:
            rows |= dict.fromkeys(("closest", "mean_deviation", "max_deviation", "coverage"), UNMEASURED)
        if not self.compare & kernels.COMPARE_WARPING:
            rows |= {
                name: np.empty(count) if "warping" in needs else UNMEASURED for name in ("warping", "warped_count")
            }
        first = 0
        for part, size in zip(group, counts, strict=True):
            part.measure(self.compare, self.threshold if "coverage" in needs else 0.0, limit, measured, first)
            if self.other_warping and "warping" in needs:
                part.warp(convention.warping, rows["warping"], rows["warped_count"], first)
            first += size
        rows["reach"] = UNMEASURED
        if "reach" in needs:
            rows["reach"] = np.array([reach(episode) for episode in self.episodes(group)])
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
