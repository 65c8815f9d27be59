"""Targets: what the queries of a run are scored against. Distances and references, encoded once, shared by workers.

Their arrays stand side by side in one block of bytes. Processes of one machine map the same file, so that they share
one copy; a cluster sends the block once to every worker.
"""

from __future__ import annotations

import mmap
import pickle
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from wayscore.convention.applied import distance_by
from wayscore.convention.choices import Convention
from wayscore.distances.base import Distance
from wayscore.distances.euclidean import Euclidean
from wayscore.distances.graph import Graph
from wayscore.episodes import Reference, References
from wayscore.errors import FormatError, PathError, did_you_mean
from wayscore.evaluation.goals import Geodesics
from wayscore.evaluation.groups import clusters_of
from wayscore.paths import Offsets, PathBatch, concatenated
from wayscore.statistics.bootstrap import join_clusters

ALIGNED = 64
"""Arrays begin at multiples of so many bytes."""


class EncodedReferences(Struct, frozen=True, eq=False):
    """References, those of one scene side by side.

    Attributes:
        name: of the file, for signatures.
        fingerprint: of their content.
        paths: encoded each in its scene.
        scenes: the number of each one's scene.
        scene_names: the name of each one's scene, also where distances do not differ by scene.
        episodes: their names.
        numbers: name -> number.
        order: where each stands in the file.
        path_ids: shared by episodes that describe one path.
        facts: what the dataset says beside the paths (`goals`, `start_distance`, ...), by name; None where it does not.
        up_axis: which coordinate points up, where the dataset says so.
        dense: finely sampled paths, where all have one.
        clusters: the number of the cluster that the bootstrap draws each one with (see `join_clusters`).
    """

    name: str
    fingerprint: str
    paths: PathBatch
    scenes: NDArray[np.int32]
    scene_names: tuple[str, ...]
    episodes: tuple[str, ...]
    numbers: Mapping[str, int]
    order: Offsets
    path_ids: tuple[str, ...]
    facts: Mapping[str, list[Any]]
    up_axis: int | None
    dense: PathBatch | None
    clusters: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.episodes)


class Targets(Struct, frozen=True, eq=False):
    """What queries are scored against.

    Attributes:
        scenes: names of the scenes; one without a name where distances do not differ by scene.
        spaces: the distance of each.
        graphs: the graph of each whose edges moves follow; None where there is none.
        references: those that rows name; None where rows carry their own.
        geodesics: where distances to the goal come from that a run does not record.
    """

    scenes: tuple[str, ...]
    spaces: list[Distance]
    graphs: list[Graph | None]
    references: EncodedReferences | None = None
    geodesics: Geodesics | None = None

    def described(self, scenes: Iterable[int]) -> dict[str, Any]:
        """Return what the settings of a result say of the distances of some scenes."""
        spaces = [self.spaces[scene] for scene in scenes]
        units = {space.unit for space in spaces}
        unit = {"unit": next(iter(units))} if len(units) == 1 and units != {"m"} else {}
        return {"distance": sorted({space.fingerprint for space in spaces}), **unit}

    def to_bytes(self) -> bytes:
        """Return the targets as one block, arrays side by side after their description."""
        arrays: list[pickle.PickleBuffer] = []
        described = pickle.dumps(self, protocol=5, buffer_callback=arrays.append)
        block = bytearray()
        bounds = []
        for array in arrays:
            block += bytes(-len(block) % ALIGNED)
            raw = array.raw()
            bounds.append((len(block), raw.nbytes))
            block += raw
        head = pickle.dumps((described, bounds))
        start = len(head).to_bytes(8, "little") + head
        return start + bytes(-len(start) % ALIGNED) + bytes(block)

    @classmethod
    def from_bytes(cls, block: Any) -> Targets:
        """Read a block; its arrays are not copied."""
        view = memoryview(block)
        size = int.from_bytes(view[:8], "little")
        described, bounds = pickle.loads(view[8 : 8 + size])
        first = 8 + size + -(8 + size) % ALIGNED
        arrays = [view[first + start : first + start + length] for start, length in bounds]
        targets = pickle.loads(described, buffers=arrays)
        assert isinstance(targets, cls)
        return targets

    @classmethod
    def mapped(cls, path: str) -> Targets:
        """Map targets that were written to a file."""
        with Path(path).open("rb") as file:
            return cls.from_bytes(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def make_targets(
    references: References | None,
    distances: Distance | Mapping[str, Distance] | None,
    convention: Convention,
    cluster: str = "none",
    geodesics: Geodesics | None = None,
) -> Targets:
    """Return the targets of some references, or (without them) of all scenes.

    Args:
        references: the ground-truth paths; None where rows carry their references.
        distances: scene -> distance, or one for all scenes; None is Euclidean.
        convention: how distances count, and how many instructions per path.
        cluster: what is resampled together: "none", "path" or "scan".
        geodesics: where distances to the goal come from that a run does not record.
    """
    measured = distance_by(distances, convention)
    by_scene = isinstance(distances, Mapping)
    if references is None:
        scenes = tuple(distances) if isinstance(distances, Mapping) else ("",)
        return _ready(Targets(scenes, *_spaces(scenes, distances, measured), geodesics=geodesics))
    if references.withheld:
        raise FormatError(
            f"{references.name}: this split holds starts only (its ground truth is withheld), so nothing can be "
            "scored; `wayscore validate` checks a run against it"
        )
    listed = list(references.first_instructions(convention.instructions).episodes.values())
    clusters = clusters_of(listed, cluster)
    scenes = tuple(dict.fromkeys(reference.scene for reference in listed)) if by_scene else ("",)
    for scene in scenes:
        if by_scene and scene not in measured:
            name = next(reference.episode for reference in listed if reference.scene == scene)
            hint = did_you_mean(scene, measured)
            raise PathError(
                f"{references.name}, episode {name}: there is no graph of scene {scene!r}{hint or ';'} give graphs "
                "that have it with <<graphs=FOLDER>>"
            )
    number_of = {scene: number for number, scene in enumerate(scenes)}
    numbers = np.array([number_of[one.scene] if by_scene else 0 for one in listed], dtype=np.int32)
    order = np.argsort(numbers, kind="stable").astype(np.int64)
    ordered = [listed[place] for place in order.tolist()]
    spaces, graphs = _spaces(scenes, distances, measured)
    dense = [reference.dense for reference in ordered]
    encoded = EncodedReferences(
        name=references.name,
        fingerprint=references.fingerprint,
        paths=_encode([one.path for one in ordered], ordered, spaces, numbers[order]),
        scenes=numbers[order],
        scene_names=tuple(reference.scene for reference in ordered),
        episodes=tuple(reference.episode for reference in ordered),
        numbers={reference.episode: number for number, reference in enumerate(ordered)},
        order=order,
        path_ids=tuple(reference.path_id for reference in ordered),
        facts=_facts(ordered),
        up_axis=references.up_axis,
        dense=None if any(walk is None for walk in dense) else _encode(dense, ordered, spaces, numbers[order]),
        clusters=join_clusters(
            order if clusters is None else clusters.numbers(reference.episode for reference in ordered)
        ),
    )
    return _ready(Targets(scenes, spaces, graphs, encoded, geodesics))


def _facts(references: Sequence[Reference]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for one in references for name in one.facts)
    found = {name: [one.facts.get(name) for one in references] for name in names}
    found |= {"goals": [one.goals or None for one in references]}
    found |= {"start_distance": [one.start_distance for one in references]}
    return {name: values for name, values in found.items() if any(value is not None for value in values)}


def _spaces(scenes: Sequence[str], distances: Any, measured: Any) -> tuple[list[Distance], list[Graph | None]]:
    """Return the distance of each scene as the convention takes it, and the graph that moves follow."""
    if not isinstance(distances, Mapping):
        given = [distances]
        spaces = [Euclidean() if measured is None else measured]
    else:
        given = [distances[scene] for scene in scenes]
        spaces = [measured[scene] for scene in scenes]
    return spaces, [one if isinstance(one, Graph) else None for one in given]


def _encode(
    paths: Sequence[Any], references: Sequence[Reference], spaces: Sequence[Distance], numbers: NDArray[np.int32]
) -> PathBatch:
    bounds = np.searchsorted(numbers, np.arange(len(spaces) + 1)).tolist()
    return concatenated(
        [
            space.encode(paths[start:stop], role=_role(references[start:stop]))
            for space, (start, stop) in zip(spaces, pairwise(bounds), strict=True)
            if start < stop
        ]
    )


def _role(references: Sequence[Reference]) -> Any:
    return lambda number: f"episode {references[number].episode}, reference"


def _ready(targets: Targets) -> Targets:
    """Compute all tables and fingerprints here, so that workers need not."""
    for space in targets.spaces:
        _ = space.fingerprint, space.table
    return targets
