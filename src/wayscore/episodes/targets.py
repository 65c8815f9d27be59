"""A course: what the walks of a stream are scored against. Distances and references, encoded once, shared by workers.

Its arrays stand side by side in one block of bytes. Processes of one machine map the same file, so that they share one
copy; a cluster sends the block once to every worker.
"""

from __future__ import annotations

import mmap
import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.convention import Convention
from wayscore.convention.applied import distance_by
from wayscore.distances.base import Distance
from wayscore.distances.euclidean import Euclidean
from wayscore.distances.graph import HOPS, Graph
from wayscore.episodes import References
from wayscore.errors import FormatError, PathError, did_you_mean
from wayscore.evaluation.groups import clusters_of
from wayscore.paths import PathBatch

ALIGNED = 64
"""Arrays begin at multiples of so many bytes."""


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """References, those of a scene side by side.

    Attributes:
        name: of the file, for signatures.
        paths: encoded each in its scene.
        scenes: the number of each one's scene.
        episodes: their names.
        numbers: name -> number.
        goals: places any of which ends a walk rightly; None where no reference names any.
        start_distances: as the dataset has them.
        dense: finely sampled paths, where all have one.
        units: the number of what is resampled with each one's walks: its cluster, or its place in the references' file,
            where each is answered once; None where every walk is resampled by itself.
    """

    name: str
    paths: PathBatch
    scenes: NDArray[np.int32]
    episodes: tuple[str, ...]
    numbers: Mapping[str, int]
    goals: list[tuple[str, ...]] | None
    start_distances: list[float | None]
    dense: PathBatch | None
    units: NDArray[np.int64] | None


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """What walks are scored against.

    Attributes:
        scenes: names of the scenes; one without a name for coordinates.
        spaces: the distance of each.
        graphs: the graph of each, whose edges moves follow; none for coordinates.
        asked: the references that rows name; None where rows carry their own.
    """

    scenes: tuple[str, ...]
    spaces: list[Distance]
    graphs: list[Graph]
    asked: Asked | None = None

    @property
    def is_flat(self) -> bool:
        """Whether places are coordinates, and scenes do not matter."""
        return isinstance(self.spaces[0], Euclidean)

    def described(self, scenes: Iterable[int]) -> dict[str, Any]:
        """Return what the settings of a table say of the distances of some scenes."""
        spaces = [self.spaces[scene] for scene in scenes]
        told: dict[str, Any] = {"distance": sorted({space.fingerprint for space in spaces})}
        return told | ({"unit": HOPS} if {getattr(space, "unit", "m") for space in spaces} == {HOPS} else {})

    def to_bytes(self) -> bytes:
        """Return the course as one block, arrays side by side after their description."""
        arrays: list[pickle.PickleBuffer] = []
        described = pickle.dumps(self, protocol=5, buffer_callback=arrays.append)
        block = bytearray()
        places = []
        for array in arrays:
            block += bytes(-len(block) % ALIGNED)
            raw = array.raw()
            places.append((len(block), raw.nbytes))
            block += raw
        head = pickle.dumps((described, places))
        start = len(head).to_bytes(8, "little") + head
        return start + bytes(-len(start) % ALIGNED) + bytes(block)

    @classmethod
    def from_bytes(cls, block: Any) -> Course:
        """Read a block; its arrays are not copied."""
        view = memoryview(block)
        size = int.from_bytes(view[:8], "little")
        described, places = pickle.loads(view[8 : 8 + size])
        first = 8 + size + -(8 + size) % ALIGNED
        arrays = [view[first + start : first + start + length] for start, length in places]
        course = pickle.loads(described, buffers=arrays)
        assert isinstance(course, cls)
        return course


def lay_out(
    references: References | None,
    graphs: Mapping[str, Any] | None,
    rules: Convention,
    cluster: str = "none",
    once: bool = False,
) -> Course:
    """Return the course of some references, or (without them) of all scenes.

    Args:
        references: what was asked for; None where rows carry their references.
        graphs: scene -> distance; None for coordinates.
        rules: the convention: how distances count, and how many instructions of a path.
        cluster: what is resampled together.
        once: whether every reference is answered once; intervals then do not depend on the order of the answers.
    """
    distance = distance_by(graphs, rules)
    if references is None:
        if distance is None:
            return Course(("",), [Euclidean()], [])
        assert graphs is not None
        return _measured(Course(tuple(graphs), [distance[scene] for scene in graphs], list(graphs.values())))
    if references.withheld:
        raise FormatError(f"{references.name}: this split holds starts only, so nothing can be scored")
    asked = list(references.first_instructions(rules.instructions).episodes.values())
    partition = clusters_of(asked, cluster)  # in the references' order, as tables in memory number clusters
    scenes: tuple[str, ...] = ("",)
    spaces: list[Distance] = [Euclidean()]
    numbers = np.zeros(len(asked), dtype=np.int32)
    order = np.arange(len(asked), dtype=np.int64)
    if distance is not None:
        scenes = tuple(dict.fromkeys(reference.scene for reference in asked))
        if lacking := [scene for scene in scenes if scene not in distance]:
            raise PathError(f"{references.name}: there is no scene {lacking[0]!r}{did_you_mean(lacking[0], distance)}")
        spaces = [distance[scene] for scene in scenes]
        number_of = {scene: number for number, scene in enumerate(scenes)}
        numbers = np.array([number_of[reference.scene] for reference in asked], dtype=np.int32)
        order = np.argsort(numbers, kind="stable").astype(np.int64)
        asked = [asked[place] for place in order.tolist()]
        numbers = numbers[order]
    units = None
    if partition is not None:
        number_of = {label: number for number, label in enumerate(dict.fromkeys(partition.labels.values()))}
        units = np.array([number_of[partition.labels[reference.episode]] for reference in asked], dtype=np.int64)
    elif once:
        units = order
    dense = [reference.dense for reference in asked]
    return _measured(
        Course(
            scenes,
            spaces,
            [] if graphs is None else [graphs[scene] for scene in scenes],
            Asked(
                references.name,
                _encode([reference.path for reference in asked], spaces, numbers, asked),
                numbers,
                tuple(reference.episode for reference in asked),
                {reference.episode: number for number, reference in enumerate(asked)},
                [reference.goals for reference in asked] if any(reference.goals for reference in asked) else None,
                [reference.start_distance for reference in asked],
                None if any(walk is None for walk in dense) else PathBatch.from_points(dense),
                units,
            ),
        )
    )


def _encode(paths: Sequence[Any], spaces: Sequence[Distance], numbers: NDArray[np.int32], asked: Any) -> PathBatch:
    batches = []
    for number, space in enumerate(spaces):
        some = np.flatnonzero(numbers == number).tolist()
        if some:
            role = _role([asked[place].episode for place in some])
            batches.append(space.encode([paths[place] for place in some], role=role))
    return joined(batches)


def _role(names: list[str]) -> Any:
    return lambda number: f"episode {names[number]}, reference"


def joined(batches: Sequence[PathBatch]) -> PathBatch:
    """Return several batches as one."""
    lengths = np.concatenate([batch.lengths for batch in batches])
    places = np.concatenate([batch.places[batch.offsets[0] : batch.offsets[-1]] for batch in batches])
    return PathBatch(places, np.concatenate(([0], np.cumsum(lengths))).astype(np.int64))


def _measured(course: Course) -> Course:
    """Compute all tables and fingerprints here, so that workers need not."""
    for space in course.spaces:
        _ = space.fingerprint, getattr(space, "table", None)
    return course


@lru_cache(maxsize=4)
def open_course(path: str) -> Course:
    """Map a course that was written to a file; once in a process."""
    with Path(path).open("rb") as file:
        return Course.from_bytes(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
