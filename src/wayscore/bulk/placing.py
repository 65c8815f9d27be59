"""Rows put in their places: scene by scene, labels looked up, each beside its reference, and what is wrong with them.

Rows of one scene go together from here on; `order` tells where they came from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore import kernels
from wayscore.bulk.course import Course
from wayscore.bulk.rows import Coded, Rows, Walks, Where
from wayscore.errors import FormatError, did_you_mean
from wayscore.paths import Offsets, PathBatch, offsets_of
from wayscore.problems import START_TOLERANCE

UNKNOWN = -1
"""The code of a place that its scene does not have, and the number of a reference that there is none of."""


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """Rows by scene; those that answer no reference are left out.

    Attributes:
        order: the row that each is.
        scenes: the number of each one's scene, rising.
        walks: encoded, -1 for places that the scene does not have.
        pairs: the number of each one's reference; None where rows carry their references.
        references: those that rows carry, in step with the walks.
        unknown: the rows that answer no reference.
        problems: by kind, which of the walks have it.
    """

    order: Offsets
    scenes: NDArray[np.int32]
    walks: PathBatch
    pairs: Offsets | None
    references: PathBatch | None
    unknown: Offsets
    problems: dict[str, NDArray[np.bool_]]


class Placer:
    """Looks rows up in a course; what was looked up once is kept."""

    def __init__(self, course: Course) -> None:
        self.course = course
        self._scenes = {scene: number for number, scene in enumerate(course.scenes)}
        self._codes: dict[tuple[int, int], tuple[Any, NDArray[np.int32]]] = {}
        self._edges: dict[int, NDArray[np.bool_]] = {}

    def place(self, rows: Rows) -> Placed:
        """Put rows in their places."""
        asked = self.course.asked
        if rows.references is None:
            if asked is None:
                raise FormatError(f"{rows.where(0)}: rows carry no reference; give the references with --references")
            pairs = _looked_up(rows.episodes, asked.numbers)
            unknown = np.flatnonzero(pairs < 0)
            scenes = np.where(pairs < 0, len(self.course.scenes), asked.scenes[pairs])
        else:
            pairs, unknown = None, np.empty(0, dtype=np.int64)
            scenes = self._scenes_of(rows)
        order = np.argsort(scenes, kind="stable")[: len(scenes) - len(unknown)]
        scenes = scenes[order].astype(np.int32)
        pairs = None if pairs is None else pairs[order]
        walks = self._encode(rows.walks, order, scenes, rows.where)
        references = None
        if rows.references is not None:
            references = self._encode(rows.references, order, scenes, rows.where)
            if not self.course.is_flat and len(bad := np.flatnonzero(references.places < 0)):
                row = int(order[_path_of(references.offsets, bad[:1])[0]])
                raise FormatError(f"{rows.where(row)}: its reference visits a place that its scene does not have")
        problems = self._problems(walks, scenes, pairs, references)
        return Placed(order, scenes, walks, pairs, references, unknown, problems)

    def _scenes_of(self, rows: Rows) -> NDArray[np.int64]:
        if self.course.is_flat:
            return np.zeros(len(rows), dtype=np.int64)
        if rows.scenes is None:
            raise FormatError(f"{rows.where(0)}: has no scene, which rows need that carry their reference")
        numbers = _looked_up(rows.scenes, self._scenes)
        if len(bad := np.flatnonzero(numbers < 0)):
            row = int(bad[0])
            scene = str(rows.scenes[row])
            raise FormatError(
                f"{rows.where(row)}: there is no scene {scene!r} among the {len(self._scenes)} of the graphs"
                f"{did_you_mean(scene, self._scenes)}"
            )
        return numbers

    def _encode(self, walks: Walks, order: Offsets, scenes: NDArray[np.int32], where: Where) -> PathBatch:
        in_place = len(order) == len(walks.offsets if isinstance(walks, Coded) else walks) - isinstance(walks, Coded)
        in_place = in_place and bool((order[1:] >= order[:-1]).all())
        if isinstance(walks, PathBatch):
            if not self.course.is_flat:
                raise FormatError(f"{where(0)}: paths hold points, but scenes know nodes by their labels")
            return walks if in_place else walks.take(order)
        if self.course.is_flat:
            raise FormatError(f"{where(0)}: paths hold labels, so distances need the graphs; give them with --graphs")
        if isinstance(walks, list):
            return self._encode_lists([walks[row] for row in order.tolist()], order, scenes, where)
        raw = PathBatch(walks.codes, walks.offsets)
        raw = raw if in_place else raw.take(order)
        codes = np.empty(len(raw.places), dtype=np.int32)
        for scene, start, stop in _stretches(scenes):
            first, last = int(raw.offsets[start]), int(raw.offsets[stop])
            given, known = raw.places[first:last], self._codes_of(walks, scene)
            if given.size and not (0 <= int(given.min()) and int(given.max()) < len(known)):
                bad = first + int(np.argmax((given < 0) | (given >= len(known))))
                row = int(order[_path_of(raw.offsets, np.array([bad]))[0]])
                raise FormatError(
                    f"{where(row)}: code {raw.places[bad]} stands for no label; the file lists {len(known)} of the "
                    f"scene {self.course.scenes[scene]}"
                )
            np.take(known, given, out=codes[first:last])
        return PathBatch(codes, raw.offsets)

    def _codes_of(self, walks: Coded, scene: int) -> NDArray[np.int32]:
        """Return the graph's code of each of the file's, -1 where the graph lacks it."""
        key = (id(walks.labels), scene)
        if key not in self._codes:
            labels = walks.labels.get(self.course.scenes[scene], walks.labels.get("", ()))
            index = self.course.graphs[scene].index
            found = np.array([index.get(label, UNKNOWN) for label in labels], dtype=np.int32)
            if len(self._codes) > 10_000:  # dictionaries of single batches
                self._codes.clear()
            self._codes[key] = (walks.labels, found)  # kept alive, so that no other gets its id
        return self._codes[key][1]

    def _encode_lists(self, paths: list[Any], order: Offsets, scenes: NDArray[np.int32], where: Where) -> PathBatch:
        rows = order.tolist()
        offsets = offsets_of(paths, role=lambda number: where(rows[number]))
        codes = np.empty(int(offsets[-1]), dtype=np.int32)
        indexes = [self.course.graphs[scene].index for scene in scenes.tolist()]
        try:
            known = kernels.encode(indexes, paths, codes) < 0
        except TypeError:
            raise FormatError(f"{where(rows[0])}: a path holds something that is no label") from None
        if not known:
            labels = ((label, index) for path, index in zip(paths, indexes, strict=True) for label in path)
            codes = np.array([index.get(label, UNKNOWN) for label, index in labels], dtype=np.int32)
        return PathBatch(codes, offsets)

    def _problems(
        self, walks: PathBatch, scenes: NDArray[np.int32], pairs: Offsets | None, references: PathBatch | None
    ) -> dict[str, NDArray[np.bool_]]:
        starts = walks.places[walks.offsets[:-1]]
        if references is not None:
            asked = references.places[references.offsets[:-1]]
        else:
            assert self.course.asked is not None
            assert pairs is not None
            paths = self.course.asked.paths
            asked = paths.places[paths.offsets[:-1]][pairs]
        count = len(walks)
        if self.course.is_flat:
            same = starts.shape == asked.shape
            apart = np.linalg.norm(starts - asked, axis=1) > START_TOLERANCE if same else np.zeros(count, dtype=bool)
            return {"start": apart, "move": np.zeros(count, dtype=bool), "node": np.zeros(count, dtype=bool)}
        astray = np.zeros(count, dtype=bool)
        if len(bad := np.flatnonzero(walks.places < 0)):
            astray[_path_of(walks.offsets, bad)] = True
        leaping = np.zeros(count, dtype=bool)
        for scene, start, stop in _stretches(scenes):
            ends = walks.offsets[start : stop + 1]
            steps = walks.places[ends[0] : ends[-1]]
            wrong = ~self._linked(scene, steps[:-1], steps[1:])
            wrong[ends[1:-1] - ends[0] - 1] = False  # from one walk to the next
            if len(at := np.flatnonzero(wrong)):
                leaping[_path_of(walks.offsets, at + ends[0])] = True
        return {"start": starts != asked, "move": leaping, "node": astray}

    def _linked(self, scene: int, a: NDArray[np.int32], b: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Say of each move whether it stays or follows an edge."""
        graph = self.course.graphs[scene]
        if getattr(graph, "table", None) is None:  # too large for a table of its edges
            return np.asarray((a == b) | graph.has_edges(a, b))
        size = len(graph) + 1  # the last row and column are those of unknown places, which nothing leads to
        if scene not in self._edges:
            edges = np.zeros((size, size), dtype=bool)
            starts, targets = graph.adjacency
            edges[np.repeat(np.arange(len(graph)), np.diff(starts)), targets] = True
            np.fill_diagonal(edges, True)
            self._edges[scene] = edges.reshape(-1)
        moves = a.astype(np.int64)
        moves *= size
        moves += b
        if min(a.min(initial=0), b.min(initial=0)) < 0:
            moves[(a < 0) | (b < 0)] = (size - 1) * size
        linked: NDArray[np.bool_] = self._edges[scene][moves]
        return linked


def _stretches(scenes: NDArray[np.int32]) -> Iterator[tuple[int, int, int]]:
    """Go through the scenes of sorted rows, each with its first row and the one after its last."""
    changes = np.flatnonzero(np.diff(scenes)) + 1
    for start, stop in pairwise([0, *changes.tolist(), len(scenes)]):
        if start < stop:
            yield int(scenes[start]), start, stop


def _path_of(offsets: Offsets, places: NDArray[Any]) -> Offsets:
    return np.asarray(np.searchsorted(offsets, places, side="right") - 1, dtype=np.int64)


def _looked_up(names: Any, numbers: Any) -> NDArray[np.int64]:
    """Return the number of each name, -1 where there is none; each different name is looked up once."""
    if isinstance(names, list):
        return np.fromiter((numbers.get(name, UNKNOWN) for name in names), dtype=np.int64, count=len(names))
    import pyarrow as pa

    if not pa.types.is_dictionary(names.type):
        names = names.dictionary_encode()
    if names.null_count:
        names = names.fill_null("")
    found = np.array([numbers.get(str(name), UNKNOWN) for name in names.dictionary.to_pylist()], dtype=np.int64)
    return found[names.indices.to_numpy()] if len(found) else np.empty(0, dtype=np.int64)
