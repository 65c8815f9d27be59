"""Answers beside their references: scene by scene, labels looked up, and what is wrong with each marked.

Rows of one scene go together from here on; `order` says where they came from.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from wayscore import kernels
from wayscore.episodes import BatchPaths, CodedPaths, EpisodeBatch
from wayscore.errors import FormatError, OptionError, did_you_mean
from wayscore.evaluation.policies import Problem, describe_move, describe_node, describe_start, describe_unknown
from wayscore.evaluation.targets import Targets
from wayscore.paths import Offsets, PathBatch, Role, concatenated, offsets_of

UNKNOWN = -1
"""The number of a reference that does not exist; the code of a node that its scene does not have is this or less."""
START_TOLERANCE = 0.5
"""How far apart two starts given as coordinates may be, metres: simulators round, and some VLN-CE logs begin after the
first step of 0.25 m (of 420 walks of a real run, 402 begin at the start and 18 one step later)."""
POINTS = (
    "its path holds points, but scenes know nodes by their labels; give references whose paths are points, or write "
    "the agent's nodes"
)


class NoReferencesError(OptionError, FormatError):
    """Rows have no references of their own, and none were given: the call is wrong, or the rows are."""


class Matched(Struct, frozen=True, eq=False):
    """Answers by scene; those to unknown episodes are left out.

    Attributes:
        order: the row of the batch that each is.
        scenes: the number of each one's scene, rising.
        queries: encoded, with a negative code for each node that the scene does not have.
        pairs: the number of each one's reference; None where rows carry their references.
        references: those that rows carry, in step with the queries.
        unknown: the rows that answer no reference.
        problems: by kind, which of the queries have it.
    """

    order: Offsets
    scenes: NDArray[np.int32]
    queries: PathBatch
    pairs: Offsets | None
    references: PathBatch | None
    unknown: Offsets
    problems: dict[str, NDArray[np.bool_]]

    def take(self, kept: NDArray[Any]) -> Matched:
        """Return some of the answers."""
        if len(kept) == len(self.order):
            return self
        return Matched(
            self.order[kept],
            self.scenes[kept],
            self.queries.take(kept),
            None if self.pairs is None else self.pairs[kept],
            None if self.references is None else self.references.take(kept),
            self.unknown,
            {kind: mask[kept] for kind, mask in self.problems.items()},
        )


class Matcher:
    """Looks answers up in targets; what was looked up once is kept."""

    def __init__(self, targets: Targets) -> None:
        self.targets = targets
        self._scenes = {scene: number for number, scene in enumerate(targets.scenes)}
        self._codes: dict[int, tuple[Any, dict[Any, int], dict[int, NDArray[np.int32]]]] = {}
        self._edges: dict[int, NDArray[np.uint8]] = {}
        self._names: tuple[Any, Any] | None = None

    def match(self, batch: EpisodeBatch) -> Matched:
        """Find the reference of every answer."""
        known = self.targets.references
        if known is not None and batch.episodes is not None:
            pairs = self._looked_up(batch.episodes, known.numbers)
            unknown = np.flatnonzero(pairs < 0)
            # References of a scene are side by side; queries of one reference make the kernels' branches predictable.
            order = _sorted(pairs, len(known))[len(unknown) :]
            pairs = pairs[order]
            scenes = known.scenes[pairs]
        elif batch.references is not None:
            if isinstance(batch.references, list):
                _check_carried(batch, batch.references)
            pairs, unknown = None, np.empty(0, dtype=np.int64)
            numbers = self._scenes_of(batch)
            order = _sorted(numbers, len(self.targets.scenes))
            scenes = numbers[order].astype(np.int32)
        else:
            if known is not None:
                raise FormatError(f"{batch.where(0)}: has no episode, which names its reference")
            raise _no_reference(batch, 0)
        queries, flags = self._encode(batch.queries, order, scenes, batch)
        own = None
        if pairs is None:
            assert batch.references is not None
            own, wrong = self._encode(batch.references, order, scenes, batch)
            if wrong is not None and len(bad := np.flatnonzero(wrong & kernels.ASTRAY)):
                row = int(order[bad[0]])
                raise FormatError(f"{batch.named(row)}: its reference visits a node that its scene does not have")
        starts = self._starts(pairs, own)
        if len(order) and queries.places.ndim == 2 and queries.places.shape[1] != starts.shape[1]:
            raise FormatError(
                f"{batch.named(int(order[0]))}: its path has points of {queries.places.shape[1]} coordinates, but "
                f"references have {starts.shape[1]}; both need the same"
            )
        return Matched(order, scenes, queries, pairs, own, unknown, _problems(queries, flags, starts))

    def describe(self, kind: str, batch: EpisodeBatch, matched: Matched, which: Any) -> Iterator[Problem]:
        """Describe one kind of problem of some answers, given as places in `matched` (unknown ones: as rows)."""
        known = self.targets.references
        for place in which.tolist():
            row = place if kind == "unknown" else int(matched.order[place])
            name = batch.episode(row)
            what = ""
            if kind == "unknown":
                assert known is not None
                what = describe_unknown(name, known.numbers, known.facts.get("episode_id", ()))
            else:
                scene = int(matched.scenes[place])
                path = batch.path(row, self.targets.scenes[scene])
                graph, space = self.targets.graphs[scene], self.targets.spaces[scene]
                if kind == "start":
                    pairs = None if matched.pairs is None else matched.pairs[place : place + 1]
                    own = None if matched.references is None else matched.references.part(place, place + 1)
                    what = describe_start(path[0], space.decode(self._starts(pairs, own))[0])
                elif kind == "move" and graph is not None:
                    what = describe_move(path, graph)
                elif kind == "node" and space.index is not None:
                    what = describe_node(path, space.index)
            yield Problem(batch.first + row, name, what)

    def _starts(self, pairs: Offsets | None, own: PathBatch | None) -> Any:
        """Return where references begin."""
        if own is not None:
            return own.places[own.offsets[:-1]]
        assert self.targets.references is not None
        paths = self.targets.references.paths
        return paths.places[paths.offsets[:-1]][pairs]

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
        indices = names.indices.to_numpy()
        return np.asarray(found, dtype=np.int64)[indices] if len(found) else np.full(len(indices), UNKNOWN)

    def _listed(self, numbers: Any) -> Any:
        """Return names in the order of their numbers, as an Arrow array."""
        import pyarrow as pa

        if self._names is None or self._names[0] is not numbers:
            self._names = (numbers, pa.array(list(numbers), pa.string()))
        return self._names[1]

    def _scenes_of(self, batch: EpisodeBatch) -> NDArray[np.int64]:
        if self.targets.scenes == ("",):
            return np.zeros(len(batch), dtype=np.int64)
        if batch.scenes is None:
            raise FormatError(f"{batch.where(0)}: has no scene, which rows need that carry their reference")
        numbers = self._looked_up(batch.scenes, self._scenes)
        if len(bad := np.flatnonzero(numbers < 0)):
            row = int(bad[0])
            scene = getattr(batch.scenes[row], "as_py", lambda: batch.scenes[row])()
            if scene is None:
                raise FormatError(f"{batch.named(row)}: has no scene, which rows need that carry their reference")
            raise FormatError(
                f"{batch.named(row)}: there is no scene {scene!r} among the {len(self._scenes)} of the graphs"
                f"{did_you_mean(scene, self._scenes)}"
            )
        return numbers

    def _encode(
        self, paths: BatchPaths, order: Offsets, scenes: NDArray[np.int32], batch: EpisodeBatch
    ) -> tuple[PathBatch, NDArray[np.uint8] | None]:
        """Return paths in this order, encoded, and where distances have an index of labels their flags."""
        indexed = self.targets.spaces[0].index is not None
        if indexed and isinstance(paths, PathBatch):
            row = int(order.min()) if len(order) else 0
            raise FormatError(f"{batch.named(row)}: {POINTS}")
        if not indexed:
            return self._encode_freely(paths, order, scenes, batch), None
        rows = order
        if not isinstance(paths, CodedPaths):
            paths = self._encode_lists([paths[row] for row in order.tolist()], order, scenes, batch)
            rows = np.arange(len(order))
        out = np.empty(len(paths.codes), dtype=np.int32)
        offsets = np.zeros(len(order) + 1, dtype=np.int64)
        flags = np.empty(len(order), dtype=np.uint8)
        for scene, start, stop in _stretches(scenes):
            first = int(offsets[start])
            ends = offsets[start + 1 : stop + 1]
            codes = self._codes_of(paths, scene, batch) if paths.labels else None
            edges = self._edge_table(scene)
            bad = kernels.place(
                paths.codes, paths.offsets, rows[start:stop], codes, edges, out[first:], ends, flags[start:stop]
            )
            if bad >= 0:
                row = int(np.searchsorted(paths.offsets, bad, side="right")) - 1
                raise FormatError(
                    f"{batch.named(row)}: code {paths.codes[bad]} stands for no label; the file lists "
                    f"{0 if codes is None else len(codes)} of the scene {self.targets.scenes[scene]}"
                )
            ends += first
            if edges is None:
                flags[start:stop] |= self._leaps(scene, out[first : int(ends[-1])], offsets[start : stop + 1] - first)
        return PathBatch(out[: int(offsets[-1])], offsets), flags

    def _encode_freely(
        self, paths: BatchPaths, order: Offsets, scenes: NDArray[np.int32], batch: EpisodeBatch
    ) -> PathBatch:
        """Let distances encode paths by themselves: coordinates, or labels of functions."""
        straight = self.targets.spaces[0].is_straight
        if straight and isinstance(paths, PathBatch):
            in_order = len(order) == len(paths) and bool((order[1:] >= order[:-1]).all())
            return paths if in_order else paths.take(order)
        rows = order.tolist()
        listed = [paths.path(row) if isinstance(paths, CodedPaths) else paths[row] for row in rows]
        if straight and (bad := [row for row, path in zip(rows, listed, strict=True) if _is_labels(path)]):
            other = "" if self.targets.references is None else ", and references whose paths are labels too"
            raise FormatError(
                f"{batch.named(min(bad))}: its path holds labels, so distances need the graphs; give them with "
                f"<<graphs=FOLDER>>{other}"
            )
        if not rows:
            return PathBatch(np.empty((0, self._dimension())), np.zeros(1, dtype=np.int64))

        def role(start: int) -> Role:
            return lambda number: f"{batch.named(rows[start + number])}, query"

        return concatenated(
            [
                self.targets.spaces[scene].encode(listed[start:stop], role=role(start))
                for scene, start, stop in _stretches(scenes)
            ]
        )

    def _dimension(self) -> int:
        known = self.targets.references
        return known.paths.places.shape[1] if known is not None and known.paths.places.ndim == 2 else 0

    def _codes_of(self, paths: CodedPaths, scene: int, batch: EpisodeBatch) -> NDArray[np.int32]:
        """Return the scene's code of each of the file's, a negative one of its own where the scene has no such node."""
        key = id(paths.labels)
        if key not in self._codes:
            if len(self._codes) > 8:  # dictionaries of single batches
                self._codes.clear()
            known = {label: code for code, label in enumerate(paths.labels.get("", ()))}
            self._codes[key] = (paths.labels, known, {})  # kept alive, so that no other gets its id
        _, known, found = self._codes[key]
        if scene not in found:
            labels = paths.labels_of(self.targets.scenes[scene])
            index = self.targets.spaces[scene].index
            assert index is not None
            if labels and index.keys().isdisjoint(labels) and isinstance(labels[0], int):
                raise FormatError(
                    f"{batch.where(0)}: paths hold numbers, and no node of the scene {self.targets.scenes[scene]} is "
                    "one; write the names of nodes"
                )
            codes = np.arange(UNKNOWN, UNKNOWN - len(labels), -1, dtype=np.int32)
            for label, number in index.items():  # a scene has fewer nodes than a run has labels
                if (code := known.get(label)) is not None:
                    codes[code] = number
            found[scene] = codes
        return found[scene]

    def _encode_lists(
        self, paths: list[Any], order: Offsets, scenes: NDArray[np.int32], batch: EpisodeBatch
    ) -> CodedPaths:
        rows = order.tolist()
        offsets = offsets_of(paths, role=lambda number: f"{batch.named(rows[number])}: its path")
        codes = np.empty(int(offsets[-1]), dtype=np.int32)
        indexes: list[Any] = [self.targets.spaces[scene].index for scene in scenes.tolist()]
        try:
            known = kernels.encode(indexes, paths, codes) < 0
        except TypeError:
            bad = min((row for row, path in zip(rows, paths, strict=True) if not _is_labels(path)), default=rows[0])
            raise FormatError(f"{batch.named(bad)}: {POINTS}") from None
        if not known:
            strange: dict[Any, int] = {}
            labels = ((label, index) for path, index in zip(paths, indexes, strict=True) for label in path)
            found = [index.get(label, strange.setdefault(label, UNKNOWN - len(strange))) for label, index in labels]
            codes = np.array(found, dtype=np.int32)
        return CodedPaths(codes, offsets, {})

    def _edge_table(self, scene: int) -> NDArray[np.uint8] | None:
        """Return which moves of a scene follow an edge; None where it is too large for a table of them."""
        graph = self.targets.graphs[scene]
        if graph is None or graph.table is None:
            return None
        if scene not in self._edges:
            edges = np.zeros((len(graph), len(graph)), dtype=np.uint8)
            starts, ends = graph.adjacency
            edges[np.repeat(np.arange(len(graph)), np.diff(starts)), ends] = 1
            self._edges[scene] = edges
        return self._edges[scene]

    def _leaps(self, scene: int, steps: NDArray[np.int32], offsets: Offsets) -> NDArray[np.uint8]:
        """Flag queries with a step that is no edge."""
        flags = np.zeros(len(offsets) - 1, dtype=np.uint8)
        graph = self.targets.graphs[scene]
        if graph is not None:
            a, b = steps[:-1], steps[1:]
            wrong = (a != b) & ~graph.has_edges(a, b)
            wrong[offsets[1:-1] - 1] = False  # from one query to the next
            flags[np.searchsorted(offsets, np.flatnonzero(wrong), side="right") - 1] = kernels.LEAPING
        return flags


def _check_carried(batch: EpisodeBatch, references: list[Any]) -> None:
    """Refuse rows of which only some carry a reference."""
    missing = next((row for row, reference in enumerate(references) if reference is None), None)
    if missing is not None:
        raise _no_reference(batch, missing)


def _no_reference(batch: EpisodeBatch, row: int) -> NoReferencesError:
    return NoReferencesError(
        f"{batch.where(row)}: has no reference of its own; give the references with <<references=FILE>>"
    )


def _problems(queries: PathBatch, flags: Any, starts: Any) -> dict[str, NDArray[np.bool_]]:
    begins = queries.places[queries.offsets[:-1]]
    if flags is not None:
        astray, leaping = (flags & kernels.ASTRAY) > 0, (flags & kernels.LEAPING) > 0
        return {"start": begins != starts, "move": leaping, "node": astray}
    none = np.zeros(len(queries), dtype=bool)
    if begins.ndim == 2:
        return {"start": np.linalg.norm(begins - starts, axis=1) > START_TOLERANCE, "move": none, "node": none}
    return {"start": begins != starts, "move": none, "node": none}


def _is_labels(path: Any) -> bool:
    return not (isinstance(path, np.ndarray) and path.ndim == 2) and not any(isinstance(step, list) for step in path)


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
