"""From encoded episodes to scores: kernels measure, metrics are formulas over measurements, threads share the work."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from wayscore import kernels
from wayscore.convention import Convention
from wayscore.distances.base import Distance, Floats
from wayscore.distances.euclidean import Euclidean
from wayscore.errors import PathError
from wayscore.metrics import Measurements, Metric
from wayscore.paths import Offsets, PathBatch, Role
from wayscore.scoring.one_by_one import Episode, asked_for
from wayscore.warping.alignment import fast_cost

MEASURED = [field.name for field in fields(Measurements)][:12]
"""What a kernel writes, row by row."""
UNMEASURED = np.empty(0)
"""In place of what no metric said that it needs."""
EPISODES_AT_ONCE = 10_000
"""Few enough that a chunk's measurements stay in the cache, enough that threads have little to say."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some episodes of one scene, encoded: a piece of work for one thread."""

    space: Distance
    references: PathBatch
    queries: PathBatch
    pairing: Offsets | None
    where: slice | Offsets
    """The rows of the table that they are."""

    @property
    def moved(self) -> float:
        """How far a place was moved at most to fit its space."""
        return max((float(b.moved.max()) for b in (self.references, self.queries) if b.moved is not None), default=0.0)

    def measure(self, scale: float, reach: float, out: Floats, first: int) -> None:
        """Write the measurements to columns `first` and on of `out`, whatever kind of distance it is."""
        r, q = self.references, self.queries
        paths = (r.places, r.offsets, q.places, q.offsets)
        table = getattr(self.space, "table", None)
        if isinstance(self.space, Euclidean):
            kernels.measure_points(*paths, self.pairing, scale, reach, out, first)
        elif table is not None:
            kernels.measure_table(table, *paths, self.pairing, scale, reach, out, first)
        else:
            for column, episode in enumerate(self.episodes(), start=first):
                self._measure_one(episode.reference, episode.query, scale, reach, out, column)

    def episodes(self) -> Iterable[Episode]:
        """Go through the episodes one by one."""
        for number, query in enumerate(self.queries):
            yield Episode(
                self.space, self.references[number if self.pairing is None else int(self.pairing[number])], query
            )

    def warp_fast(self, out: Floats, first: int) -> None:
        """Write FastDTW's costs in place of the exact ones."""
        for column, episode in enumerate(self.episodes(), start=first):
            out[column] = fast_cost(episode.reference, episode.query, self.space)

    def _measure_one(self, reference: Any, query: Any, scale: float, reach: float, out: Floats, column: int) -> None:
        """Measure an episode whose distances have to be asked for, one block of them."""
        codes = np.concatenate((reference, query))
        if codes.ndim == 2:  # a distance may work on points; edits are of places that are the same or not
            codes = np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int32)
        kernels.measure_block(
            self.space.between(reference, query).reshape(-1),
            np.zeros(1, dtype=np.int64),
            np.append(self.space.pairs(reference[:-1], reference[1:]), 0.0),
            np.append(self.space.pairs(query[:-1], query[1:]), 0.0),
            codes[: len(reference)],
            np.array([0, len(reference)]),
            codes[len(reference) :],
            np.array([0, len(query)]),
            None,
            scale,
            reach,
            out,
            column,
        )


@dataclass(frozen=True, slots=True)
class Given:
    """What is known of every query beside its path, by its row; None where nothing is.

    Attributes:
        goals: places any of which ends it rightly, as users name them.
        names: of the episodes, for errors.
        start_distance: from start to goal, as the dataset has it.
        stopped: 1 where the agent said that it stopped, or may have, else 0.
    """

    goals: Sequence[Sequence[Any]] | None
    names: Sequence[Any]
    start_distance: Floats
    stopped: Floats

    def to_goals(self, part: Part, out: list[Floats], first: int) -> None:
        """Write how near starts, ends and whole queries of a part are to their goals, where goals are named."""
        assert self.goals is not None
        rows = range(*part.where.indices(len(self.goals))) if isinstance(part.where, slice) else part.where.tolist()
        for column, (row, episode) in enumerate(zip(rows, part.episodes(), strict=True), start=first):
            if len(self.goals[row]):
                role = _always(f"episode {self.names[row]}, goals")
                goals = part.space.encode([list(self.goals[row])], role=role).places
                for distances, value in zip(out, episode.to_goals(goals), strict=True):
                    distances[column] = value


def cut(space: Distance, r: PathBatch, q: PathBatch, pairing: Offsets | None, rows: range | Offsets) -> Iterable[Part]:
    """Cut the episodes of one scene into pieces of work."""
    if r.places.ndim == 2 and len(r) and len(q) and r.places.shape[1] != q.places.shape[1]:
        raise PathError(
            f"references have {r.places.shape[1]}-dimensional points and queries {q.places.shape[1]}-dimensional ones; "
            "both need the same dimension"
        )
    for start in range(0, len(q), EPISODES_AT_ONCE):
        stop = min(start + EPISODES_AT_ONCE, len(q))
        yield Part(
            space,
            r.part(start, stop) if pairing is None else r,
            q.part(start, stop),
            None if pairing is None else pairing[start:stop],
            slice(rows.start + start, rows.start + stop) if isinstance(rows, range) else rows[start:stop],
        )


def run(
    parts: list[Part],
    metrics: tuple[Metric, ...],
    threshold: float,
    rules: Convention,
    given: Given,
    scores: Floats,
    threads: int | None,
) -> None:
    """Measure all parts and apply the metrics; small scenes go together, since a metric has a price a call."""
    needs = frozenset().union(*(metric.needs for metric in metrics))
    scale = (1.0 if rules.cls == "places" else threshold) if "coverage" in needs else 0.0
    reach = -1.0
    if "edits" in needs and rules.sed == "edges":  # only successes need edit distances, and only near ends can be those
        reach = threshold if rules.goal == "last" and rules.plane != "goal" else np.inf
    singly = asked_for(rules, needs, threshold)
    own = threading.local()  # a buffer for each thread, used again for every group

    def work(group: list[Part]) -> None:
        if not hasattr(own, "buffer"):
            own.buffer = np.empty((len(MEASURED), max(sum(len(part.queries) for part in some) for some in groups)))
        firsts = np.cumsum([0, *(len(part.queries) for part in group)]).tolist()
        rows: dict[str, Floats] = dict(zip(MEASURED, own.buffer[:, : firsts[-1]], strict=True))
        rows |= {name: np.empty(firsts[-1]) for name in ("reach", "proximity") if name in needs}
        for part, first in zip(group, firsts, strict=False):
            part.measure(scale, reach, own.buffer, first)
            if rules.warping == "fast":
                part.warp_fast(rows["warping"], first)
            for column, episode in enumerate(part.episodes() if singly else (), start=first):
                for names, measure in singly.items():
                    for name, value in zip(names, measure(episode), strict=True):
                        rows[name][column] = value
        to_goals = [rows[name] for name in ("start", "end", "closest")]
        if given.goals is not None:
            to_goals = [distances.copy() for distances in to_goals]
            for part, first in zip(group, firsts, strict=False):
                given.to_goals(part, to_goals, first)
        where = _rows_of(group)
        measurements = Measurements(
            **{"reach": UNMEASURED, "proximity": UNMEASURED, **rows},
            goal_start=to_goals[0],
            goal_end=to_goals[1],
            goal_closest=to_goals[2],
            given_start=given.start_distance[where],
            stopped=given.stopped[where],
            threshold=threshold,
            convention=rules,
        )
        for row, metric in zip(scores, metrics, strict=True):
            row[where] = metric.compute(measurements)

    groups: list[list[Part]] = []
    room = 0
    for part in parts:
        if len(part.queries) > room:
            groups.append([])
            room = EPISODES_AT_ONCE
        groups[-1].append(part)
        room -= len(part.queries)
    workers = min(len(groups), _cores() if threads is None else threads)
    if workers <= 1 or kernels.name != "native":
        for group in groups:
            work(group)
        return
    from concurrent.futures import ThreadPoolExecutor  # slow to import, and small batches do without

    with ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(work, groups):
            pass


def _rows_of(group: list[Part]) -> slice | Offsets:
    """Return the rows of several parts: a stretch of the table where they lie side by side."""
    first, last = group[0].where, group[-1].where
    if isinstance(first, slice) and isinstance(last, slice):  # all are, then, one after the other
        return slice(first.start, last.stop)
    return first if len(group) == 1 else np.concatenate([part.where for part in group])


def _always(name: str) -> Role:
    """Return the role of a path that has no number."""
    return lambda _: name


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
