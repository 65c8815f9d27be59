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
from wayscore.episodes.batch import Coded, Rows, Walks, Where
from wayscore.episodes.problems import START_TOLERANCE
from wayscore.episodes.targets import Course
from wayscore.errors import FormatError, did_you_mean
from wayscore.kernels.plain.place import ASTRAY, LEAPING
from wayscore.paths import Offsets, PathBatch, offsets_of

UNKNOWN = -1
"""The number of a reference that there is none of, and the code of a place that its scene does not have, or less."""


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """Rows by scene; those that answer no reference are left out.

    Attributes:
        order: the row that each is.
        scenes: the number of each one's scene, rising.
        walks: encoded, with a negative code for each place that the scene does not have.
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
        self._codes: dict[int, tuple[Any, dict[int, NDArray[np.int32]]]] = {}
        self._edges: dict[int, NDArray[np.uint8]] = {}
        self._names: tuple[Any, Any] | None = None

    def place(self, rows: Rows) -> Placed:
        """Put rows in their places."""
        asked = self.course.asked
        if rows.references is None:
            if asked is None:
                raise FormatError(f"{rows.where(0)}: rows carry no reference; give the references with --references")
            pairs = self._looked_up(rows.episodes, asked.numbers)
            unknown = np.flatnonzero(pairs < 0)
            # References of a scene are side by side; walks of one reference make the kernels' branches foreseeable.
            order = _sorted(pairs, len(asked.episodes))[len(unknown) :]
            pairs = pairs[order]
            scenes = asked.scenes[pairs]
        else:
            pairs, unknown = None, np.empty(0, dtype=np.int64)
            numbers = self._scenes_of(rows)
            order = _sorted(numbers, len(self.course.scenes))
            scenes = numbers[order].astype(np.int32)
        walks, flags = self._encode(rows.walks, order, scenes, rows.where)
        references = None
        if rows.references is not None:
            references, wrong = self._encode(rows.references, order, scenes, rows.where)
            if wrong is not None and len(bad := np.flatnonzero(wrong & ASTRAY)):
                row = int(order[bad[0]])
                raise FormatError(f"{rows.where(row)}: its reference visits a place that its scene does not have")
        others = references if asked is None or references is not None else asked.paths
        if self.course.is_flat and others is not None and walks.places.shape[1] != others.places.shape[1]:
            raise FormatError(
                f"{rows.where(0)}: paths have points of {walks.places.shape[1]} coordinates, but references of "
                f"{others.places.shape[1]}; both need the same"
            )
        problems = self._problems(walks, flags, pairs, references)
        return Placed(order, scenes, walks, pairs, references, unknown, problems)

    def _looked_up(self, names: Any, numbers: Any) -> NDArray[np.int64]:
        """Return the number of each name, -1 where there is none; each different name is looked up once."""
        if isinstance(names, list):
            return np.fromiter((numbers.get(name, UNKNOWN) for name in names), dtype=np.int64, count=len(names))
        import pyarrow as pa
        import pyarrow.compute as pc

        if names.null_count:
            names = names.cast(pa.string()).fill_null("")
        if not pa.types.is_dictionary(names.type):
            names = names.dictionary_encode()
        found = pc.index_in(names.dictionary.cast(pa.string()), value_set=self._listed(numbers)).fill_null(UNKNOWN)
        return (
            np.asarray(found, dtype=np.int64)[names.indices.to_numpy()] if len(found) else np.empty(0, dtype=np.int64)
        )

    def _listed(self, numbers: Any) -> Any:
        """Return names in the order of their numbers, as an Arrow array."""
        import pyarrow as pa

        if self._names is None or self._names[0] is not numbers:
            self._names = (numbers, pa.array(list(numbers), pa.string()))
        return self._names[1]

    def _scenes_of(self, rows: Rows) -> NDArray[np.int64]:
        if self.course.is_flat:
            return np.zeros(len(rows), dtype=np.int64)
        if rows.scenes is None:
            raise FormatError(f"{rows.where(0)}: has no scene, which rows need that carry their reference")
        numbers = self._looked_up(rows.scenes, self._scenes)
        if len(bad := np.flatnonzero(numbers < 0)):
            row = int(bad[0])
            scene = str(rows.scenes[row])
            raise FormatError(
                f"{rows.where(row)}: there is no scene {scene!r} among the {len(self._scenes)} of the graphs"
                f"{did_you_mean(scene, self._scenes)}"
            )
        return numbers

    def _encode(self, walks: Walks, order: Offsets, scenes: NDArray[np.int32], where: Where) -> tuple[PathBatch, Any]:
        """Return walks in this order, encoded, and of labels their flags."""
        if isinstance(walks, PathBatch):
            if not self.course.is_flat:
                raise FormatError(f"{where(0)}: paths hold points, but scenes know nodes by their labels")
            in_order = len(order) == len(walks) and bool((order[1:] >= order[:-1]).all())
            return walks if in_order else walks.take(order), None
        if self.course.is_flat:
            raise FormatError(f"{where(0)}: paths hold labels, so distances need the graphs; give them with --graphs")
        rows = order
        if isinstance(walks, list):
            walks = self._encode_lists([walks[row] for row in order.tolist()], order, scenes, where)
            rows = np.arange(len(order))
        out = np.empty(len(walks.codes), dtype=np.int32)
        offsets = np.zeros(len(order) + 1, dtype=np.int64)
        flags = np.empty(len(order), dtype=np.uint8)
        for scene, start, stop in _stretches(scenes):
            first = int(offsets[start])
            ends = offsets[start + 1 : stop + 1]
            known = self._codes_of(walks, scene, where) if walks.labels else None
            table = self._edge_table(scene)
            bad = kernels.place(
                walks.codes, walks.offsets, rows[start:stop], known, table, out[first:], ends, flags[start:stop]
            )
            if bad >= 0:
                row = int(np.searchsorted(walks.offsets, bad, side="right")) - 1
                raise FormatError(
                    f"{where(row)}: code {walks.codes[bad]} stands for no label; the file lists "
                    f"{0 if known is None else len(known)} of the scene {self.course.scenes[scene]}"
                )
            ends += first
            if table is None:
                flags[start:stop] |= self._leaps(scene, out[first : int(ends[-1])], offsets[start : stop + 1] - first)
        return PathBatch(out[: int(offsets[-1])], offsets), flags

    def _codes_of(self, walks: Coded, scene: int, where: Where) -> NDArray[np.int32]:
        """Return the graph's code of each of the file's, a negative one of its own where the graph lacks it."""
        key = id(walks.labels)
        if key not in self._codes:
            if len(self._codes) > 8:  # dictionaries of single batches
                self._codes.clear()
            self._codes[key] = (walks.labels, {})  # kept alive, so that no other gets its id
        found = self._codes[key][1]
        if scene not in found:
            labels = walks.labels.get(self.course.scenes[scene], walks.labels.get("", ()))
            index = self.course.graphs[scene].index
            if labels and index.keys().isdisjoint(labels) and isinstance(labels[0], int):
                raise FormatError(
                    f"{where(0)}: paths hold numbers, and no node of the scene {self.course.scenes[scene]} is one; a "
                    "converted file says in its metadata what its numbers stand for, and other programs may drop that"
                )
            codes = [index.get(label, UNKNOWN - number) for number, label in enumerate(labels)]
            found[scene] = np.array(codes, dtype=np.int32)
        return found[scene]

    def _encode_lists(self, paths: list[Any], order: Offsets, scenes: NDArray[np.int32], where: Where) -> Coded:
        rows = order.tolist()
        offsets = offsets_of(paths, role=lambda number: where(rows[number]))
        codes = np.empty(int(offsets[-1]), dtype=np.int32)
        indexes = [self.course.graphs[scene].index for scene in scenes.tolist()]
        try:
            known = kernels.encode(indexes, paths, codes) < 0
        except TypeError:
            bad = next((row for row, path in zip(rows, paths, strict=True) if list in map(type, path)), rows[0])
            raise FormatError(f"{where(bad)}: a path holds points, but scenes know nodes by their labels") from None
        if not known:
            strange: dict[Any, int] = {}
            labels = ((label, index) for path, index in zip(paths, indexes, strict=True) for label in path)
            found = [index.get(label, strange.setdefault(label, UNKNOWN - len(strange))) for label, index in labels]
            codes = np.array(found, dtype=np.int32)
        return Coded(codes, offsets, {})

    def _problems(
        self, walks: PathBatch, flags: Any, pairs: Offsets | None, references: PathBatch | None
    ) -> dict[str, NDArray[np.bool_]]:
        starts = walks.places[walks.offsets[:-1]]
        if references is not None:
            asked = references.places[references.offsets[:-1]]
        else:
            assert self.course.asked is not None
            assert pairs is not None
            paths = self.course.asked.paths
            asked = paths.places[paths.offsets[:-1]][pairs]
        if flags is not None:
            return {"start": starts != asked, "move": (flags & LEAPING) > 0, "node": (flags & ASTRAY) > 0}
        none = np.zeros(len(walks), dtype=bool)
        same = starts.shape == asked.shape
        apart = np.linalg.norm(starts - asked, axis=1) > START_TOLERANCE if same else none
        return {"start": apart, "move": none, "node": none}

    def _edge_table(self, scene: int) -> NDArray[np.uint8] | None:
        """Return which moves of a scene follow an edge; None where it is too large for a table of them."""
        graph = self.course.graphs[scene]
        if getattr(graph, "table", None) is None:
            return None
        if scene not in self._edges:
            edges = np.zeros((len(graph), len(graph)), dtype=np.uint8)
            starts, targets = graph.adjacency
            edges[np.repeat(np.arange(len(graph)), np.diff(starts)), targets] = 1
            self._edges[scene] = edges
        return self._edges[scene]

    def _leaps(self, scene: int, steps: NDArray[np.int32], offsets: Offsets) -> NDArray[np.uint8]:
        """Flag walks with a step that is no edge."""
        a, b = steps[:-1], steps[1:]
        wrong = (a != b) & ~self.course.graphs[scene].has_edges(a, b)
        wrong[offsets[1:-1] - 1] = False  # from one walk to the next
        flags = np.zeros(len(offsets) - 1, dtype=np.uint8)
        flags[np.searchsorted(offsets, np.flatnonzero(wrong), side="right") - 1] = LEAPING
        return flags


def _sorted(numbers: NDArray[np.int64], limit: int) -> Offsets:
    """Return the order of numbers from -1 to below a limit; where they fit 16 bits NumPy sorts them by their digits."""
    small = (numbers + 1).astype(np.uint16) if limit < 2**16 - 1 else numbers
    return np.asarray(np.argsort(small, kind="stable"), dtype=np.int64)


def _stretches(scenes: NDArray[np.int32]) -> Iterator[tuple[int, int, int]]:
    """Go through the scenes of sorted rows, each with its first row and the one after its last."""
    changes = np.flatnonzero(np.diff(scenes)) + 1
    for start, stop in pairwise([0, *changes.tolist(), len(scenes)]):
        if start < stop:
            yield int(scenes[start]), start, stop
