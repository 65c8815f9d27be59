"""Distances to the goal that a run does not record: by navigation meshes, or along what others have walked."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from wayscore.distances.base import Floats
from wayscore.errors import OptionError, WayscoreError
from wayscore.formats.episodes import References

NAVMESH, WALKABLE = "navmesh", "walkable"


class Geodesics(Struct, frozen=True):
    """Where distances to the goal come from: for each scene the first source that has it.

    Attributes:
        sources: by name, scene -> an object with `distances(points, goal)` and a `fingerprint`.
    """

    sources: Mapping[str, Mapping[str, Any]]

    def measure(self, scene: str, query: Floats, goals: Floats, episode: str) -> tuple[str, list[float]] | None:
        """Return what signatures call the source, and how far every point of a query is from the nearest goal, metres.

        None where no source has the scene.
        """
        for source, spaces in self.sources.items():
            if scene in spaces:
                kind, _, digits = spaces[scene].fingerprint.partition("#")
                name = source if source == WALKABLE else kind
                try:
                    distances = spaces[scene].distances(query, goals if len(goals) > 1 else goals[0])
                except WayscoreError as error:
                    raise type(error)(f"episode {episode}, distances to the goal by the {name}: {error}") from error
                return f"{name}#{digits}", distances.tolist()
        return None


def find_geodesics(navmesh: Any, walkable: bool, references: References | None) -> Geodesics:
    """Take sources in any form.

    Args:
        navmesh: a folder of .navmesh files, or scene -> `NavMesh`.
        walkable: also take what the references' dense walks make walkable, in scenes without a mesh.
        references: the ground-truth paths.
    """
    sources: dict[str, Mapping[str, Any]] = {}
    if isinstance(navmesh, str | os.PathLike):
        from wayscore.distances.navmesh import load_navmeshes

        sources[NAVMESH] = load_navmeshes(navmesh)
    elif isinstance(navmesh, Mapping):
        sources[NAVMESH] = navmesh
    elif navmesh is not None:
        raise OptionError(
            "<<navmesh>> must be a folder of .navmesh files or a mapping from scene to NavMesh, not a "
            f"{type(navmesh).__name__}"
        )
    if walkable:
        from wayscore.distances.table import Snapped

        walks: dict[str, list[Any]] = {}
        for one in [] if references is None else references.episodes.values():
            if isinstance(one.path, np.ndarray):
                walks.setdefault(one.scene, []).append(one.path if one.dense is None else one.dense)
        if not walks:
            raise OptionError(
                "<<walkable>> joins the walks of the references, which must be points in space (VLN-CE's, with the _gt "
                "file beside them); these have none"
            )
        sources[WALKABLE] = {scene: Snapped.from_walks(some) for scene, some in walks.items()}
    return Geodesics(sources)


def geodesic_warnings(geodesics: Geodesics, references: References | None, counts: Mapping[str, int]) -> list[str]:
    """Return what a reader must know of measured distances to the goal.

    Args:
        geodesics: the sources.
        references: the ground-truth paths; a mesh should be built for the agent that they are for.
        counts: by source, how many queries it measured.
    """
    found = []
    if walked := sum(count for source, count in counts.items() if source.startswith(WALKABLE)):
        found.append(
            f"{walked:,} episodes have no `goal_distances`: NE, ONE and success use distances along the references' "
            "walks, where a point off these walks counts as its nearest point on them; give <<navmesh>>, or record "
            "`goal_distances` in the run"
        )
    meshes = geodesics.sources.get(NAVMESH, {})
    if references is not None and references.agent is not None and meshes:
        height, radius = references.agent
        scenes = [
            scene for scene in dict.fromkeys(one.scene for one in references.episodes.values()) if scene in meshes
        ]
        sizes = (meshes[scene].agent_warning(height=height, radius=radius) for scene in scenes)
        found += [sentence for sentence in sizes if sentence][:1]
    return found


def signed_sources(counts: Mapping[str, int], recorded: int, straight: bool) -> str:
    """Return what signatures say of where distances to the goal come from, in the order of preference.

    Args:
        counts: by source, how many queries it measured.
        recorded: how many queries have distances from the simulator.
        straight: whether straight lines stand in for others.

    >>> signed_sources({"navmesh-0.3.4#12345678": 3}, recorded=2, straight=False)
    'recorded+navmesh-0.3.4#12345678'
    """
    digits: dict[str, list[str]] = {}
    for source in counts:
        kind, _, own = source.partition("#")
        digits.setdefault(kind, []).append(own)
    joined = [
        f"{kind}#{some[0] if len(some) == 1 else hashlib.sha256(' '.join(sorted(some)).encode()).hexdigest()[:8]}"
        for kind, some in sorted(digits.items())
    ]
    return "+".join([*(["recorded"] if recorded else []), *joined, *(["straight"] if straight else [])])
