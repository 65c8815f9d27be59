"""VLN-CE: continuous walks in Habitat's frame (x, y up, z; metres). Episodes are named by `episode_id`."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal, TypeAlias

import msgspec
import numpy as np

from wayscore.episodes.batch import EpisodeBatch
from wayscore.episodes.references import Query, Reference, References
from wayscore.errors import FormatError
from wayscore.formats.base import REFERENCES, RUN, Kind, make_batch, make_references
from wayscore.formats.beginning import Beginning
from wayscore.formats.decoding import decode_mapping, decode_object
from wayscore.formats.files import Source, read
from wayscore.formats.trajectories import Name, read_trajectories

EXPECTED = (
    'VLN-CE episodes: {"episodes": [{"episode_id": ..., "scene_id": ..., "start_position": [x, y, z], '
    '"reference_path": [[x, y, z], ...]}, ...]}'
)
EXPECTED_DENSE = 'VLN-CE ground truth: {episode_id: {"locations": [[x, y, z], ...]}}'
EXPECTED_RUN = (
    'a VLN-CE run: {episode_id: [{"position": [x, y, z], "stop": ...}, ...]} or {episode_id: [[x, y, z], ...]}'
)
Point: TypeAlias = tuple[float, float, float]
UP_AXIS = 1
"""Habitat's frame: the second coordinate points up."""


class Words(msgspec.Struct, gc=False):
    """An instruction."""

    instruction_text: str = ""


class Info(msgspec.Struct, gc=False):
    """What the simulator said of an episode."""

    geodesic_distance: float | None = None


class Episode(msgspec.Struct, gc=False):
    """One episode; a test split has no reference path."""

    episode_id: Name
    scene_id: str
    start_position: Point
    reference_path: list[Point] | None = None
    trajectory_id: Name | None = None
    instruction: Words | None = None
    info: Info | None = None


class Episodes(msgspec.Struct, gc=False):
    """A reference file."""

    episodes: list[Episode]


class Walk(msgspec.Struct, gc=False):
    """A finely sampled reference."""

    locations: list[Point]


class Pose(msgspec.Struct, gc=False):
    """One step of a run."""

    position: Point
    stop: bool | None = None
    goal_distance: float | Literal["inf"] | None = None
    heading: float | None = None


@dataclass(frozen=True, slots=True)
class VLNCE:
    """VLN-CE episodes with their ground truth walks, and runs of positions."""

    name: str = "vlnce"
    title: str = "VLN-CE"

    def sniff(self, beginning: Beginning) -> Collection[Kind]:
        """Recognise episodes by their first field, and runs by lists of points or positions."""
        if beginning.has("episode_id") and beginning.has_any("path", "trajectory") and not beginning.has("scene_id"):
            return RUN
        if beginning.layout not in ("object", "lines") or beginning.has("path"):
            return ()
        if beginning.has_any("episodes", "instruction_vocab"):
            return REFERENCES
        walks = beginning.opens.startswith("{[{") and "position" in beginning.inner
        return RUN if walks or beginning.opens == "{[[" else ()

    def references(self, source: Source, *, dense: str | os.PathLike[str] | bool = True) -> References:
        """Read episodes.

        Args:
            source: the file.
            dense: the file of ground truth walks; True takes `<name>_gt.json` or `<name>_gt.json.gz` beside the
                episodes where there is one, False none.
        """
        content = decode_object(source, Episodes, names=("episode_id",), expected=EXPECTED, items="episodes")
        walks = _walks(source, dense)
        made = make_references(source, self, (_reference(source, episode, walks) for episode in content.episodes))
        return replace(made, up_axis=UP_AXIS)

    def run(self, source: Source) -> EpisodeBatch:
        """Read a run: positions by episode, or records with `episode_id` or `instruction_id` and `path`."""
        if source.content.lstrip()[:1] == b"[":
            return read_trajectories(
                source, self.title, ids=("episode_id", "instruction_id"), walks=("path", "trajectory")
            )
        pairs = decode_mapping(source, list[Pose | Point], expected=EXPECTED_RUN)
        return make_batch(source, (_query(name, steps) for name, steps in pairs))


def _reference(source: Source, episode: Episode, walks: Mapping[str, Any]) -> Reference:
    path = [episode.start_position] if episode.reference_path is None else episode.reference_path
    name = str(episode.episode_id)
    if not path:
        raise FormatError(f"{source}, episode {name!r}, field 'reference_path': is empty; expected {EXPECTED}")
    return Reference(
        episode=name,
        scene=PurePosixPath(episode.scene_id).stem,
        path=np.array(path),
        path_id=name if episode.trajectory_id is None else str(episode.trajectory_id),
        instruction=episode.instruction.instruction_text if episode.instruction else "",
        start_distance=episode.info.geodesic_distance if episode.info else None,
        dense=walks.get(name),
    )


def _query(name: str, steps: list[Pose | Point]) -> Query:
    points = [step.position if isinstance(step, Pose) else step for step in steps]
    poses = [step for step in steps if isinstance(step, Pose)]
    recorded: dict[str, Any] = {}
    if poses and all(pose.goal_distance is not None for pose in poses):
        recorded["goal_distances"] = [float(pose.goal_distance or 0.0) for pose in poses]
    if poses and all(pose.heading is not None for pose in poses):
        recorded["headings"] = [pose.heading for pose in poses]
    return Query(name, np.array(points).reshape(-1, 3), poses[-1].stop if poses else None, recorded)


def _walks(source: Source, dense: str | os.PathLike[str] | bool) -> dict[str, Any]:
    if dense is False:
        return {}
    if dense is True:
        beside = [source.path.with_name(f"{source.stem}_gt{ending}") for ending in (".json.gz", ".json")]
        found = [] if source.member else [path for path in beside if path.is_file()]
        if not found:
            return {}
        dense = found[0]
    walks = read(Path(dense))
    return dict(_dense(walks))


def _dense(source: Source) -> Iterator[tuple[str, Any]]:
    for name, walk in decode_mapping(source, Walk, expected=EXPECTED_DENSE):
        if not walk.locations:
            raise FormatError(f"{source}, episode {name!r}, field 'locations': is empty; expected {EXPECTED_DENSE}")
        yield name, np.array(walk.locations)


VLNCE_FORMAT = VLNCE()
