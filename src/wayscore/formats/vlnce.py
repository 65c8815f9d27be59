"""VLN-CE: continuous walks in Habitat's frame (x, y up, z; metres), and runs as agents in continuous worlds write them.

Episodes are named by `episode_id`, those of RxR-Habitat by `instruction_id`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal, TypeAlias

import msgspec
import numpy as np
from msgspec import structs

from wayscore.errors import FormatError, OptionError, did_you_mean
from wayscore.formats.arrow import as_distances
from wayscore.formats.base import REFERENCES, RUN, Kind, Source, make_batch, make_references, read
from wayscore.formats.benchmarks import in_language
from wayscore.formats.decoding import decode_each, decode_mapping, decode_object
from wayscore.formats.episodes import EpisodeBatch, Query, Reference, References
from wayscore.formats.sniff import LIST, Beginning, look
from wayscore.formats.trajectories import Name, named_walks

EXPECTED = (
    'VLN-CE episodes: {"episodes": [{"episode_id": ..., "scene_id": ..., "start_position": [x, y, z], '
    '"reference_path": [[x, y, z], ...]}, ...]}'
)
EXPECTED_DENSE = 'VLN-CE ground truth: {episode_id: {"locations": [[x, y, z], ...]}}'
EPISODE = "start_position"
"""The field of an episode that no record of a run has."""
SCORES = ("success", "spl", "ne", "distance_to_goal")
"""Fields of records that hold scores and no paths."""
UP_AXIS = 1
"""Habitat's frame: the second coordinate points up."""
AGENT, RXR_AGENT = (1.5, 0.1), (0.88, 0.18)
"""Height and radius of the simulated agents of R2R-CE and RxR-CE, metres."""
IDS = ("episode_id", "instruction_id")
"""The fields that may name a record's episode; the first present counts."""
WALKS = ("path", "trajectory", "positions", "locations")
"""The fields that may hold its walk, likewise."""
EXPECTED_RUN = 'a VLN-CE run: {episode_id: [[x, y, z], ...]}, or [{"episode_id": ..., "path": [[x, y, z], ...]}, ...]'
Point: TypeAlias = tuple[float, float, float]
Metres: TypeAlias = float | Literal["inf"] | None


class Words(msgspec.Struct, gc=False):
    """An instruction; those of RxR have a name and a language."""

    instruction_text: str = ""
    instruction_id: Name | None = None
    language: str | None = None


class Info(msgspec.Struct, gc=False):
    """What the simulator computed of an episode."""

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
    collided: bool | None = None


Steps: TypeAlias = list[Pose | Point]


class Record(msgspec.Struct, kw_only=True, gc=False):
    """One episode of a run; what is known of every step may stand here, or in the poses."""

    episode_id: Name | None = None
    instruction_id: Name | None = None
    path: Steps | None = None
    trajectory: Steps | None = None
    positions: Steps | None = None
    locations: Steps | None = None
    stopped: bool | None = None
    stop: bool | None = None
    goal_distances: list[Metres] | None = None
    headings: list[float] | None = None


class Summary(msgspec.Struct, gc=False):
    """A file that lists its records beside their means."""

    episodes: msgspec.Raw


class VLNCE:
    """VLN-CE episodes with their ground truth walks, and runs of positions."""

    name = "vlnce"
    title = "VLN-CE"

    def sniff(self, beginning: Beginning) -> Collection[Kind]:
        """Recognise episodes by the field that lists them, and runs by lists of points or positions."""
        if EPISODE not in beginning.listed:
            if _is_run(beginning):
                return RUN
            if not beginning.listed.isdisjoint(SCORES):
                return ()
        one = beginning.layout in ("object", "lines") and not beginning.has("path")
        return REFERENCES if one and beginning.has_any(LIST, "instruction_vocab") else ()

    def references(
        self,
        source: Source,
        *,
        dense: str | os.PathLike[str] | bool = True,
        language: str | None = None,
        names: str | None = None,
    ) -> References:
        """Read episodes, all or those of a language: a tag (`en-US`) or its first part (`en`).

        `dense` is the file of ground truth walks; True takes `<name>_gt.json` or `<name>_gt.json.gz` beside the
        episodes where there is one. `names` says what names an episode: `episode_id` or `instruction_id`; by default
        the latter where every instruction has one (RxR), since its runs use it.
        """
        episodes = decode_object(source, Episodes, names=("episode_id",), expected=EXPECTED).episodes
        if language is not None:
            episodes = in_language(source, episodes, language, lambda one: _words(one).language or "")
        if names not in (None, *IDS):
            raise OptionError(f"names must be {' or '.join(IDS)}, got {names!r}{did_you_mean(names, IDS)}")
        unnamed = next((one for one in episodes if _words(one).instruction_id is None), None)
        if names == "instruction_id" and unnamed is not None:
            raise FormatError(
                f"{source}, episode '{unnamed.episode_id}': its instruction has no 'instruction_id', by which episodes "
                "are to be named; leave names=instruction_id out"
            )
        by_instruction = names == "instruction_id" or (names is None and unnamed is None)
        walks = _walks(source, dense)
        made = make_references(source, self, (_reference(source, one, by_instruction, walks) for one in episodes))
        rxr = any(_words(one).language is not None for one in episodes[:1])
        return replace(made, up_axis=UP_AXIS, agent=RXR_AGENT if rxr else AGENT)

    def run(self, source: Source) -> EpisodeBatch:
        """Read a run of positions in metres, in any of its forms.

        By episode, as records (a list or JSON lines), or as such a list in the field `episodes` of a summary. A step
        is `[x, y, z]` or a pose, which may say more.
        """
        beginning = look(source.content)
        if beginning.layout == "object" and LIST in beginning.keys:
            whole = decode_object(source, Summary, expected=EXPECTED_RUN)
            source = structs.replace(source, content=bytes(whole.episodes))
            beginning = look(source.content)
        if beginning.layout == "object" and not beginning.has_any(*IDS, *WALKS):
            pairs = decode_mapping(source, Steps, expected=EXPECTED_RUN)
            return make_batch(source, (_query(name, Record(path=steps), steps) for name, steps in pairs))
        records = decode_each(source, Record, names=IDS, expected=EXPECTED_RUN)
        walks = named_walks(source, records, IDS, WALKS, EXPECTED_RUN)
        return make_batch(source, (_query(name, record, steps) for _, record, name, steps in walks))


def _words(episode: Episode) -> Words:
    return episode.instruction or Words()


def _reference(source: Source, episode: Episode, by_instruction: bool, walks: Mapping[str, Any]) -> Reference:
    path = [episode.start_position] if episode.reference_path is None else episode.reference_path
    number, words = str(episode.episode_id), _words(episode)
    name = str(words.instruction_id) if by_instruction else number
    if not path:
        raise FormatError(f"{source}, episode {name!r}, field 'reference_path': is empty; expected {EXPECTED}")
    return Reference(
        episode=name,
        scene=PurePosixPath(episode.scene_id).stem,
        path=np.array(path),
        path_id=name if episode.trajectory_id is None else str(episode.trajectory_id),
        instruction=words.instruction_text,
        start_distance=episode.info.geodesic_distance if episode.info else None,
        dense=walks.get(number),
        facts={"episode_id": number} if by_instruction else {},
    )


def _walks(source: Source, dense: str | os.PathLike[str] | bool) -> dict[str, Any]:
    if isinstance(dense, bool):
        beside = [source.path.with_name(f"{source.stem}_gt{ending}") for ending in (".json.gz", ".json") if dense]
        found = next((path for path in beside if path.is_file() and not source.member), None)
        if found is None:
            return {}
        dense = found
    file = read(Path(dense))
    walks = dict(decode_mapping(file, Walk, expected=EXPECTED_DENSE))
    empty = next((name for name, walk in walks.items() if not walk.locations), None)
    if empty is not None:
        raise FormatError(f"{file}, episode {empty!r}, field 'locations': is empty; expected {EXPECTED_DENSE}")
    return {name: np.array(walk.locations) for name, walk in walks.items()}


def _is_run(beginning: Beginning) -> bool:
    """Say whether a file begins like a run of positions."""
    if not beginning.json:
        return False
    if beginning.has_any(*IDS) and beginning.has_any(*WALKS):
        return beginning.value(*WALKS) != "text" or "position" in beginning.inner
    if beginning.layout != "object" or beginning.has_any(*WALKS, "query", "reference"):
        return False
    if LIST in beginning.keys:
        return not beginning.listed.isdisjoint(WALKS)
    if beginning.opens.startswith("{[{"):
        return "position" in beginning.inner
    return beginning.opens == "{[[" and "point" in beginning.values.values()


def _query(name: str, record: Record, steps: Steps) -> Query:
    poses = [step for step in steps if isinstance(step, Pose)]
    points = [step.position if isinstance(step, Pose) else step for step in steps]
    of_steps: dict[str, list[Any]] = {
        "goal_distances": [pose.goal_distance for pose in poses],
        "headings": [pose.heading for pose in poses],
        "collided": [pose.collided for pose in poses[1:]],  # of every move
    }
    recorded: dict[str, Any] = {field: found for field, found in of_steps.items() if found and None not in found}
    if record.headings is not None:
        recorded["headings"] = record.headings
    away = recorded.get("goal_distances") if record.goal_distances is None else record.goal_distances
    if away is not None:
        recorded["goal_distances"] = as_distances(away)
    stopped = (record.stopped, record.stop, poses[-1].stop if poses else None)
    flag = next((one for one in stopped if one is not None), None)
    return Query(name, np.array(points).reshape(-1, 3), flag, recorded)


VLNCE_FORMAT = VLNCE()
