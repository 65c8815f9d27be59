"""Scorer: references and distances, encoded once for all runs; it finds the reference of every answer of a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from wayscore import kernels
from wayscore.convention.applied import distance_by
from wayscore.convention.choices import Convention
from wayscore.distances.base import Distance, Euclidean, as_distance
from wayscore.distances.graph import Graph
from wayscore.errors import FormatError, OptionError, PathError, did_you_mean
from wayscore.evaluation.groups import choose_cluster, path_labels
from wayscore.evaluation.measure import stretches
from wayscore.evaluation.policies import HINTED, Problem, alike
from wayscore.formats.episodes import BatchPaths, CodedPaths, EpisodeBatch, Reference, References
from wayscore.paths import Offsets, PathBatch, concatenated, offsets_of
from wayscore.statistics.bootstrap import join_clusters, number_labels

if TYPE_CHECKING:
    from wayscore.evaluation.goals import Geodesics

Distances: TypeAlias = Distance | Mapping[str, Distance] | None
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


class EncodedReferences(Struct, frozen=True, eq=False):
    """References, those of one scene side by side.

    Attributes:
        paths: encoded each in its scene.
        scene_names: also where distances do not differ by scene.
        numbers: name of the episode -> number.
        order: where each stands in the file.
        facts: what the dataset says beside the paths (`goals`, `start_distance`, ...), by name; None where it does not.
        dense: finely sampled paths, where all have one.
        clusters: the number of the cluster that the bootstrap draws each one with (see `join_clusters`).
    """

    name: str
    fingerprint: str
    paths: PathBatch
    scenes: NDArray[np.int32]
    scene_names: NDArray[np.object_]
    episodes: NDArray[np.object_]
    numbers: Mapping[str, int]
    order: Offsets
    path_ids: NDArray[np.object_]
    facts: Mapping[str, list[Any]]
    up_axis: int | None
    dense: PathBatch | None
    clusters: NDArray[np.int64]


class Matched(Struct, frozen=True, eq=False):
    """Answers beside their references, by scene; those to unknown episodes are left out.

    Attributes:
        order: the row of the batch that each is.
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


class Scorer:
    """What the answers of runs are scored against.

    Args:
        references: the ground-truth paths; None where rows carry their references.
        distances: scene -> distance, or one for all scenes; None is Euclidean.
        convention: how distances count, and how many instructions per path.
        cluster: what is resampled together: "auto", "none", "path" or "scan".
        several: whether an episode may have several answers that all count.
        geodesics: where distances to the goal come from that a run does not record.

    Attributes:
        cluster: what is resampled together, where that was "auto".
        scenes: names of the scenes; one without a name where distances do not differ by scene.
        spaces: the distance of each.
        graphs: the graph of each whose edges moves follow; None where there is none.
        references: those that rows name; None where rows carry their own.
    """

    def __init__(
        self,
        references: References | None,
        distances: Distances,
        convention: Convention,
        cluster: str = "none",
        several: bool = False,
        geodesics: Geodesics | None = None,
    ) -> None:
        measured = distance_by(distances, convention)
        counted: References | None = None
        listed: list[Reference] = []
        if references is not None:
            if references.withheld:
                raise FormatError(
                    f"{references.name}: this split holds starts only (its ground truth is withheld), so nothing can "
                    "be scored; `wayscore validate` checks a run against it"
                )
            counted = references
            if convention.instructions:
                counted = references.first_instructions(convention.instructions)
            listed = list(counted.episodes.values())
        self.cluster = choose_cluster(cluster, counted, several)
        self.distances = distances
        given: list[Any] = [distances]
        self.scenes: list[str] = [""]
        self.spaces: list[Distance] = [Euclidean() if measured is None else measured]
        if isinstance(distances, Mapping):
            self.scenes = list(distances if references is None else dict.fromkeys(one.scene for one in listed))
            for scene in self.scenes:
                if scene not in measured:
                    name = next(one.episode for one in listed if one.scene == scene)
                    hint = did_you_mean(scene, measured)
                    raise PathError(
                        f"{'' if references is None else references.name}, episode {name}: there is no graph of scene "
                        f"{scene!r}{hint or ';'} give graphs that have it with <<graphs=FOLDER>>"
                    )
            given = [distances[scene] for scene in self.scenes]
            self.spaces = [as_distance(measured[scene]) for scene in self.scenes]
        self.graphs: list[Graph | None] = [one if isinstance(one, Graph) else None for one in given]
        self.geodesics = geodesics
        self.references = None if references is None else self._encoded(references, listed)
        self._numbers = {scene: number for number, scene in enumerate(self.scenes)}
        self._codes: dict[int, tuple[Any, dict[Any, int], dict[int, NDArray[np.int32]]]] = {}
        self._edges: dict[int, NDArray[np.bool_]] = {}
        self._names: Any = None
        for space in self.spaces:  # so that workers need not
            _ = space.fingerprint, space.table

    def _encoded(self, references: References, listed: Sequence[Reference]) -> EncodedReferences:
        number_of = {scene: number for number, scene in enumerate(self.scenes)}
        numbers = np.array([number_of.get(one.scene, 0) for one in listed], dtype=np.int32)
        order = np.argsort(numbers, kind="stable").astype(np.int64)
        scenes, ordered = numbers[order], [listed[place] for place in order.tolist()]
        dense, name = [one.dense for one in ordered], lambda number: f"episode {ordered[number].episode}, reference"
        named = dict.fromkeys(name for one in ordered for name in one.facts)
        facts: dict[str, list[Any]] = {name: [one.facts.get(name) for one in ordered] for name in named}
        facts["goals"] = [one.goals or None for one in ordered]
        facts["start_distance"] = [one.start_distance for one in ordered]
        labels = [one.scene for one in listed]
        if self.cluster == "path":
            labels = path_labels(labels, [one.path_id for one in listed])
        clusters = np.arange(len(listed)) if self.cluster == "none" else number_labels(labels)
        return EncodedReferences(
            name=references.name,
            fingerprint=references.fingerprint,
            paths=self._in_spaces([one.path for one in ordered], scenes, name),
            scenes=scenes,
            scene_names=np.array([one.scene for one in ordered], dtype=object),
            episodes=np.array([one.episode for one in ordered], dtype=object),
            numbers={one.episode: number for number, one in enumerate(ordered)},
            order=order,
            path_ids=np.array([one.path_id for one in ordered], dtype=object),
            facts={name: values for name, values in facts.items() if any(value is not None for value in values)},
            up_axis=references.up_axis,
            dense=None if any(walk is None for walk in dense) else self._in_spaces(dense, scenes, name),
            clusters=join_clusters(clusters[order]),
        )

    def _in_spaces(self, paths: Sequence[Any], scenes: NDArray[np.int32], name: Callable[[int], str]) -> PathBatch:
        """Let each scene's distance encode its paths, which lie side by side."""
        found = []
        for scene, start, stop in stretches(scenes):
            role = partial(lambda first, number: name(first + number), start)
            found.append(self.spaces[scene].encode(paths[start:stop], role=role))
        return concatenated(found)

    def __getstate__(self) -> dict[str, Any]:  # without what other processes do not need
        return {**self.__dict__, "distances": None, "_codes": {}, "_edges": {}, "_names": None}

    def match(self, batch: EpisodeBatch) -> Matched:
        """Find the reference of every answer, and mark what is wrong with it."""
        known, own = self.references, None
        unknown = np.empty(0, dtype=np.int64)
        if known is not None and batch.episodes is not None:
            pairs = self._looked_up(batch.episodes, known.numbers)
            unknown = np.flatnonzero(pairs < 0)
            # References of a scene are side by side; queries of one reference make the kernels' branches predictable.
            # NumPy sorts numbers of 16 bits by their digits, which takes less time.
            small = (pairs + 1).astype(np.uint16) if len(known.episodes) < 2**16 - 1 else pairs
            order = np.argsort(small, kind="stable")[len(unknown) :]
            pairs = pairs[order]
            scenes = known.scenes[pairs]
            queries, problems = self._encode(batch.queries, order, scenes, batch)
            starts = known.paths.places[known.paths.offsets[:-1]][pairs]
        elif batch.references is not None:
            if isinstance(batch.references, list):
                for row, path in enumerate(batch.references):
                    if path is None:
                        raise _no_reference(batch, row)
            pairs, numbers = None, self._scenes_of(batch)
            order = np.argsort(numbers, kind="stable")
            scenes = numbers[order].astype(np.int32)
            queries, problems = self._encode(batch.queries, order, scenes, batch)
            own, wrong = self._encode(batch.references, order, scenes, batch)
            if wrong["node"].any():
                row = int(order[np.flatnonzero(wrong["node"])[0]])
                raise FormatError(f"{batch.named(row)}: its reference visits a node that its scene does not have")
            starts = own.places[own.offsets[:-1]]
        elif known is not None:
            raise FormatError(f"{batch.where(0)}: has no episode, which names its reference")
        else:
            raise _no_reference(batch, 0)
        begins = queries.places[queries.offsets[:-1]]
        if begins.ndim == 1:
            problems["start"] = begins != starts
        elif len(order) and begins.shape[1] != starts.shape[1]:
            raise FormatError(
                f"{batch.named(int(order[0]))}: its path has points of {begins.shape[1]} coordinates, but references "
                f"have {starts.shape[1]}; both need the same"
            )
        else:
            problems["start"] = np.linalg.norm(begins - starts, axis=1) > START_TOLERANCE
        return Matched(order, scenes, queries, pairs, own, unknown, problems)

    def describe(self, kind: str, batch: EpisodeBatch, matched: Matched, which: Any) -> Iterator[Problem]:
        """Describe one kind of problem of some answers, given as places in `matched` (unknown ones: as rows)."""
        known = self.references
        for place in which.tolist():
            row = place if kind == "unknown" else int(matched.order[place])
            name = batch.episode(row)
            what = ""
            if kind == "unknown":
                assert known is not None
                if name in known.facts.get("episode_id", ()):
                    what = "an episode_id, but these references are named by instruction_id: use "
                    what += "<<reader=names=episode_id>>"
                elif len(known.numbers) < HINTED and (near := alike(name, known.numbers)):
                    what = f"did you mean {near[-1]!r}?"
                yield Problem(batch.first + row, name, what)
                continue
            scene, path = int(matched.scenes[place]), batch.path(row)
            graph, space = self.graphs[scene], self.spaces[scene]
            if kind == "start":
                paths, number = matched.references, place
                if known is not None and matched.pairs is not None:
                    paths, number = known.paths, int(matched.pairs[place])
                assert paths is not None
                wanted = space.decode(paths[number][:1])[0]
                what = f"begins at {_shown(path[0])}, its reference at {_shown(wanted)}"
            elif kind == "move" and graph is not None:
                steps = enumerate(pairwise(path), 1)
                step, (a, b) = next((n, (a, b)) for n, (a, b) in steps if a != b and not graph.has_edge(a, b))
                what = f"step {step}, from {_shown(a)} to {_shown(b)}"
            elif kind == "node" and space.index is not None:
                step, node = next((n, node) for n, node in enumerate(path) if node not in space.index)
                what = f"step {step}, {_shown(node)}{did_you_mean(node, space.index)}"
            yield Problem(batch.first + row, name, what)

    def _looked_up(self, names: Any, numbers: Mapping[str, int]) -> NDArray[np.int64]:
        """Return the number of each name, -1 where there is none; each different name is looked up once."""
        if isinstance(names, list):
            return np.fromiter((numbers.get(name, UNKNOWN) for name in names), dtype=np.int64, count=len(names))
        import pyarrow as pa
        import pyarrow.compute as pc

        if names.null_count:
            names = names.cast(pa.string()).fill_null("")
        if not pa.types.is_dictionary(names.type):
            names = names.dictionary_encode()
        if self._names is None or self._names[0] is not numbers:  # the names as an Arrow array
            self._names = (numbers, pa.array(list(numbers), pa.string()))
        found = pc.index_in(names.dictionary.cast(pa.string()), value_set=self._names[1]).fill_null(UNKNOWN)
        indices = names.indices.to_numpy()
        return np.asarray(found, dtype=np.int64)[indices] if len(found) else np.full(len(indices), UNKNOWN)

    def _scenes_of(self, batch: EpisodeBatch) -> NDArray[np.int64]:
        if self.scenes == [""]:
            return np.zeros(len(batch), dtype=np.int64)
        if batch.scenes is None:
            raise FormatError(f"{batch.where(0)}: has no scene, which rows need that carry their reference")
        numbers = self._looked_up(batch.scenes, self._numbers)
        if len(bad := np.flatnonzero(numbers < 0)):
            row = int(bad[0])
            scene = getattr(batch.scenes[row], "as_py", lambda: batch.scenes[row])()
            if scene is None:
                raise FormatError(f"{batch.named(row)}: has no scene, which rows need that carry their reference")
            raise FormatError(
                f"{batch.named(row)}: there is no scene {scene!r} among the {len(self.scenes)} of the graphs"
                f"{did_you_mean(scene, self.scenes)}"
            )
        return numbers

    def _encode(
        self, paths: BatchPaths, order: Offsets, scenes: NDArray[np.int32], batch: EpisodeBatch
    ) -> tuple[PathBatch, dict[str, NDArray[np.bool_]]]:
        """Return paths in this order, encoded, and which of them visit unknown nodes or take a step that is no edge."""
        problems = {kind: np.zeros(len(order), dtype=bool) for kind in ("start", "move", "node")}
        if self.spaces[0].index is None:
            return self._encode_freely(paths, order, scenes, batch), problems
        if isinstance(paths, PathBatch):
            raise FormatError(f"{batch.named(int(order.min()) if len(order) else 0)}: {POINTS}")
        if isinstance(paths, CodedPaths):
            found = PathBatch(paths.codes, paths.offsets).take(order)
            for scene, start, stop in stretches(scenes):
                codes = found.places[int(found.offsets[start]) : int(found.offsets[stop])]
                codes[:] = self._codes_of(paths, scene, batch)[codes]
        else:
            rows = order.tolist()
            some = [paths[row] for row in rows]
            offsets = offsets_of(some, role=lambda number: f"{batch.named(rows[number])}: its path")
            codes = np.empty(int(offsets[-1]), dtype=np.int32)
            indexes: list[Any] = [self.spaces[scene].index for scene in scenes.tolist()]
            try:
                unknown = kernels.encode(indexes, some, codes) >= 0
            except TypeError:
                bad = min((row for row, path in zip(rows, some, strict=True) if not _is_labels(path)), default=rows[0])
                raise FormatError(f"{batch.named(bad)}: {POINTS}") from None
            if unknown:
                strange: dict[Any, int] = {}
                labels = ((label, index) for path, index in zip(some, indexes, strict=True) for label in path)
                coded = (index.get(one, strange.setdefault(one, UNKNOWN - len(strange))) for one, index in labels)
                codes = np.fromiter(coded, dtype=np.int32, count=len(codes))
            found = PathBatch(codes, offsets)
        codes, offsets = found.places, found.offsets
        inside = codes >= 0
        known = np.where(inside, codes, 0)
        leaps = codes[1:] != codes[:-1]
        for scene, start, stop in stretches(scenes):
            first, last = int(offsets[start]), int(offsets[stop])
            a, b, graph = known[first : last - 1], known[first + 1 : last], self.graphs[scene]
            if graph is None:
                leaps[first : last - 1] = False
            elif graph.table is None:  # too large for a table of edges too
                leaps[first : last - 1] &= ~graph.has_edges(a, b)
            else:
                if scene not in self._edges:
                    edges = np.zeros(graph.table.shape, dtype=bool)
                    edges[graph.sources, graph.targets] = True
                    self._edges[scene] = edges  # whole: other threads look at it
                leaps[first : last - 1] &= ~self._edges[scene][a, b]
        outside = np.flatnonzero(~inside)
        if len(outside):  # a step to an unknown node, or from it, is no edge
            steps = np.concatenate((outside[outside > 0] - 1, outside[outside < len(codes) - 1]))
            rows = np.searchsorted(offsets, steps, side="right") - 1
            graphs = np.array([graph is not None for graph in self.graphs])[scenes[rows]]
            leaps[steps] = graphs & (codes[steps] != codes[steps + 1])
        leaps[offsets[1:-1] - 1] = False  # from one query to the next
        for kind, places in (("node", outside), ("move", np.flatnonzero(leaps))):
            problems[kind][np.searchsorted(offsets, places, side="right") - 1] = True
        return found, problems

    def _encode_freely(
        self, paths: BatchPaths, order: Offsets, scenes: NDArray[np.int32], batch: EpisodeBatch
    ) -> PathBatch:
        """Let distances encode paths by themselves: coordinates, or labels of functions."""
        straight = self.spaces[0].is_straight
        if straight and isinstance(paths, PathBatch):
            in_order = len(order) == len(paths) and bool((order[1:] >= order[:-1]).all())
            return paths if in_order else paths.take(order)
        rows = order.tolist()
        listed = [paths.path(row) if isinstance(paths, CodedPaths) else paths[row] for row in rows]
        if straight and (bad := [row for row, path in zip(rows, listed, strict=True) if _is_labels(path)]):
            other = "" if self.references is None else ", and references whose paths are labels too"
            raise FormatError(
                f"{batch.named(min(bad))}: its path holds labels, so distances need the graphs; give them with "
                f"<<graphs=FOLDER>>{other}"
            )
        if not rows:
            points = self.references.paths.places if self.references is not None else np.empty((0, 0))
            return PathBatch(np.empty((0, points.shape[1] if points.ndim == 2 else 0)), np.zeros(1, dtype=np.int64))
        return self._in_spaces(listed, scenes, lambda number: f"{batch.named(rows[number])}, query")

    def _codes_of(self, paths: CodedPaths, scene: int, batch: EpisodeBatch) -> NDArray[np.int32]:
        """Return the scene's code of each of the file's, a negative one of its own where the scene has no such node."""
        if (made := self._codes.get(id(paths.labels))) is None:
            if len(self._codes) > 8:  # dictionaries of single batches
                self._codes.clear()
            made = (paths.labels, {label: code for code, label in enumerate(paths.labels)}, {})
            self._codes[id(paths.labels)] = made  # kept alive, so that no other gets its id
        _, known, found = made
        if scene not in found:
            index = self.spaces[scene].index
            assert index is not None
            if known and index.keys().isdisjoint(known) and isinstance(paths.labels[0], int):
                raise FormatError(
                    f"{batch.where(0)}: paths hold numbers, and no node of the scene {self.scenes[scene]} is "
                    "one; write the names of nodes"
                )
            codes = np.arange(UNKNOWN, UNKNOWN - len(known), -1, dtype=np.int32)
            for label, number in index.items():  # a scene has fewer nodes than a run has labels
                if (code := known.get(label)) is not None:
                    codes[code] = number
            found[scene] = codes
        return found[scene]


def _shown(place: Any) -> str:
    return repr(place) if isinstance(place, str | int) else str(np.round(place, 2).tolist())


def _no_reference(batch: EpisodeBatch, row: int) -> NoReferencesError:
    return NoReferencesError(
        f"{batch.where(row)}: has no reference of its own; give the references with <<references=FILE>>"
    )


def _is_labels(path: Any) -> bool:
    return not (isinstance(path, np.ndarray) and path.ndim == 2) and not any(isinstance(step, list) for step in path)
