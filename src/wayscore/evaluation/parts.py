"""Pieces of work: some episodes of one scene, encoded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from wayscore import kernels
from wayscore.convention.choices import Convention
from wayscore.distances.base import Distance, Floats, Places
from wayscore.errors import PathError
from wayscore.evaluation.recorded import Recorded
from wayscore.metrics.episode import Episode
from wayscore.paths import Offsets, PathBatch
from wayscore.warping.encoded import dtw_value, fast_cost

EPISODES_AT_ONCE = 10_000
"""Few enough that the measurements of a part stay in the cache, enough that threads rarely wait for each other."""
CELLS_AT_ONCE = 4_000_000
"""As many pairs of nodes: a few milliseconds, so that threads share long paths too."""


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

    def __len__(self) -> int:
        return len(self.paths.queries)

    @property
    def largest_snap(self) -> float:
        """How far a point was moved at most to fit its space."""
        moved = [batch.moved for batch in self.paths[:2] if batch.moved is not None]
        return max((float(distances.max()) for distances in moved if distances.size), default=0.0)

    def measure(self, compare: int, scale: float, reach: float, out: Floats, first: int) -> None:
        """Write the measurements to columns `first` and on of `out`, whatever kind of distance it is."""
        r, q = self.paths.references, self.paths.queries
        paths = (r.places, r.offsets, q.places, q.offsets)
        if self.space.is_straight:
            kernels.measure_points(*paths, self.pairing, compare, scale, reach, out, first)
        elif self.space.table is not None:
            kernels.measure_table(self.space.table, *paths, self.pairing, compare, scale, reach, out, first)
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
            self.space.between(reference, query).reshape(-1),
            np.zeros(1, dtype=np.int64),
            np.append(self.space.pairs(reference[:-1], reference[1:]), 0.0),
            np.append(self.space.pairs(query[:-1], query[1:]), 0.0),
            codes[: len(reference)],
            np.array([0, len(reference)]),
            codes[len(reference) :],
            np.array([0, len(query)]),
            None,
            compare,
            scale,
            reach,
            out,
            column,
        )


def cut(space: Distance, paths: PathSets, pairing: Offsets | None, rows: range | Offsets) -> Iterable[Part]:
    """Cut the encoded episodes of one scene into parts."""
    for r, q in (paths[:2], (paths.warped_references, paths.queries)):
        if r is not None and r.places.ndim == 2 and len(r) and len(q) and r.places.shape[1] != q.places.shape[1]:
            raise PathError(
                f"references have {r.places.shape[1]}-dimensional points and queries {q.places.shape[1]}-dimensional "
                "ones; both need the same dimension"
            )
    count, cells = len(paths.queries), _cells(paths, pairing)
    starts = [*range(0, count, EPISODES_AT_ONCE)]
    if cells is not None:
        starts = sorted({*starts, *(np.flatnonzero(np.diff(np.cumsum(cells) // CELLS_AT_ONCE)) + 1).tolist()})
    for start, stop in pairwise([*starts, count]):
        some = between(paths, start, stop) if pairing is None else between(paths, start, stop, references=slice(None))
        work = (stop - start) / EPISODES_AT_ONCE
        yield Part(
            space,
            some,
            None if pairing is None else pairing[start:stop],
            slice(rows.start + start, rows.start + stop) if isinstance(rows, range) else rows[start:stop],
            work if cells is None else max(work, float(cells[start:stop].sum()) / CELLS_AT_ONCE),
        )


def _cells(paths: PathSets, pairing: Offsets | None) -> Offsets | None:
    """Return |R| |Q| of each episode; None where paths are so short that the number of episodes says enough."""
    lengths, queries = paths.references.lengths, paths.queries
    nodes = len(queries.places)
    if not nodes or int(lengths.max()) * nodes / len(queries) <= CELLS_AT_ONCE / EPISODES_AT_ONCE:
        return None
    cells: Offsets = (lengths if pairing is None else lengths[pairing]) * queries.lengths
    return cells


def between(paths: PathSets, start: int, stop: int, *, references: slice | None = None) -> PathSets:
    """Return the paths of queries start to stop, with their references or another stretch of them."""
    which = slice(start, stop) if references is None else references

    def part(batch: PathBatch | None, some: slice) -> PathBatch | None:
        return batch if batch is None or some == slice(None) else batch.part(some.start, some.stop)

    own = slice(start, stop)
    return PathSets(
        part(paths.references, which),
        part(paths.queries, own),
        part(paths.warped_references, which),
        part(paths.warped_queries, own),
    )
