"""From encoded episodes to scores: kernels measure, metrics are formulas over measurements, threads share the work."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from wayscore import kernels
from wayscore.alignment import fast_cost
from wayscore.convention import Convention
from wayscore.distances.base import Distance, Floats
from wayscore.distances.euclidean import Euclidean
from wayscore.errors import PathError
from wayscore.metrics import Measurements, Metric
from wayscore.paths import Offsets, PathBatch

MEASURED = [field.name for field in fields(Measurements)][:12]
"""What a kernel writes, row by row."""
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
            for number in range(len(q)):
                reference = r[number if self.pairing is None else int(self.pairing[number])]
                self._measure_one(reference, q[number], scale, reach, out, first + number)

    def warp_fast(self, out: Floats, first: int) -> None:
        """Write FastDTW's costs in place of the exact ones."""
        for number, query in enumerate(self.queries):
            reference = self.references[number if self.pairing is None else int(self.pairing[number])]
            out[first + number] = fast_cost(reference, query, self.space)

    def _measure_one(self, reference: Any, query: Any, scale: float, reach: float, out: Floats, column: int) -> None:
        """Measure an episode whose distances have to be asked for, one block of them."""
        kernels.measure_block(
            self.space.between(reference, query).reshape(-1),
            np.zeros(1, dtype=np.int64),
            np.append(self.space.pairs(reference[:-1], reference[1:]), 0.0),
            np.append(self.space.pairs(query[:-1], query[1:]), 0.0),
            reference,
            np.array([0, len(reference)]),
            query,
            np.array([0, len(query)]),
            None,
            scale,
            reach,
            out,
            column,
        )


@dataclass(frozen=True, slots=True)
class Goals:
    """The goals of every query, as users name them."""

    goals: Sequence[Sequence[Any]]
    names: Sequence[Any]

    def measure(self, part: Part, out: list[Floats], first: int) -> None:
        """Write how near starts, ends and whole queries of a part are to their goals, where goals are named."""
        rows = range(*part.where.indices(len(self.goals))) if isinstance(part.where, slice) else part.where.tolist()
        for number, row in enumerate(rows):
            if len(self.goals[row]):
                name = self.names[row]
                goals = part.space.encode([list(self.goals[row])], role=lambda _: f"episode {name}, goals").places  # noqa: B023
                nearest = part.space.between(goals, part.queries[number]).min(axis=0)
                for distances, value in zip(out, (nearest[0], nearest[-1], nearest.min()), strict=True):
                    distances[first + number] = value


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
            slice(start, stop) if isinstance(rows, range) else rows[start:stop],
        )


def run(
    parts: list[Part],
    metrics: tuple[Metric, ...],
    threshold: float,
    rules: Convention,
    goals: Goals | None,
    stopped: Floats,
    scores: Floats,
    threads: int | None,
) -> None:
    """Measure all parts and apply the metrics; small scenes go together, since a metric has a price a call."""
    needs = frozenset().union(*(metric.needs for metric in metrics))
    scale = threshold if "coverage" in needs else 0.0
    reach = -1.0
    if "edits" in needs:  # only successes need edit distances, and only near ends can be successes
        reach = threshold if rules.goal == "last" else np.inf

    own = threading.local()  # a buffer for each thread, used again for every group

    def work(group: list[Part]) -> None:
        if not hasattr(own, "buffer"):
            own.buffer = np.empty((len(MEASURED), max(sum(len(part.queries) for part in some) for some in groups)))
        firsts = np.cumsum([0, *(len(part.queries) for part in group)]).tolist()
        for part, first in zip(group, firsts, strict=False):
            part.measure(scale, reach, own.buffer, first)
            if rules.warping == "fast":
                part.warp_fast(own.buffer[MEASURED.index("warping")], first)
        measured = own.buffer[:, : firsts[-1]]
        to_goals = [measured[MEASURED.index(name)] for name in ("start", "end", "closest")]
        if goals is not None:
            to_goals = [distances.copy() for distances in to_goals]
            for part, first in zip(group, firsts, strict=False):
                goals.measure(part, to_goals, first)
        where = group[0].where if len(group) == 1 else np.concatenate([part.where for part in group])
        measurements = Measurements(*measured, *to_goals, stopped[where], threshold, rules)  # type: ignore[call-arg]
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


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
