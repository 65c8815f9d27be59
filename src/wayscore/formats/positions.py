"""Runs of positions in metres, as agents in continuous worlds write them.

By episode, as records (a list or JSON lines), or as such a list in the field `episodes` of a summary. A step is
`[x, y, z]` or a pose, which may say more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypeAlias

import msgspec
import numpy as np
from msgspec import structs

from wayscore.episodes.batch import EpisodeBatch
from wayscore.episodes.references import Query
from wayscore.formats.arrow import as_distances
from wayscore.formats.base import make_batch
from wayscore.formats.decoding import decode_each, decode_mapping, decode_object, place
from wayscore.formats.files import Fault, Source
from wayscore.formats.sniff import LIST, Beginning, look
from wayscore.formats.trajectories import Name

IDS = ("episode_id", "instruction_id")
"""The fields that may name a record's episode; the first present counts."""
WALKS = ("path", "trajectory", "positions", "locations")
"""The fields that may hold its walk, likewise."""
EXPECTED = 'a VLN-CE run: {episode_id: [[x, y, z], ...]}, or [{"episode_id": ..., "path": [[x, y, z], ...]}, ...]'
Point: TypeAlias = tuple[float, float, float]
Metres: TypeAlias = float | Literal["inf"] | None


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


def is_run(beginning: Beginning) -> bool:
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


def read_positions(source: Source) -> EpisodeBatch:
    """Read a run of positions in any of its forms."""
    beginning = look(source.content)
    if beginning.layout == "object" and LIST in beginning.keys:
        whole = decode_object(source, Summary, names=(), expected=EXPECTED, items=LIST)
        source = structs.replace(source, content=bytes(whole.episodes))
        beginning = look(source.content)
    if beginning.layout == "object" and not beginning.has_any(*IDS, *WALKS):
        pairs = decode_mapping(source, Steps, expected=EXPECTED)
        return make_batch(source, (_query(name, Record(path=steps), steps) for name, steps in pairs))
    records = decode_each(source, Record, names=IDS, expected=EXPECTED)
    return make_batch(source, _queries(source, records))


def _queries(source: Source, records: Iterable[tuple[int | str, Record]]) -> Iterator[Query]:
    for number, record in records:
        name, steps = _first(record, IDS), _first(record, WALKS)
        if name is None or steps is None:
            absent = IDS[0] if name is None else WALKS[0]
            named = None if name is None else str(name)
            source.refuse(Fault(f"the field {absent!r} is missing", place(number, source), named, expected=EXPECTED))
        else:
            yield _query(str(name), record, steps)


def _query(name: str, record: Record, steps: Steps) -> Query:
    points = [step.position if isinstance(step, Pose) else step for step in steps]
    poses = [step for step in steps if isinstance(step, Pose)]
    recorded: dict[str, Any] = {}
    if record.goal_distances is not None:
        recorded["goal_distances"] = as_distances(record.goal_distances)
    elif poses and all(pose.goal_distance is not None for pose in poses):
        recorded["goal_distances"] = [float(pose.goal_distance or 0.0) for pose in poses]
    if record.headings is not None:
        recorded["headings"] = record.headings
    elif poses and all(pose.heading is not None for pose in poses):
        recorded["headings"] = [pose.heading for pose in poses]
    if len(poses) > 1 and all(pose.collided is not None for pose in poses[1:]):
        recorded["collided"] = [pose.collided for pose in poses[1:]]  # of every move
    stopped = (record.stopped, record.stop, poses[-1].stop if poses else None)
    flag = next((said for said in stopped if said is not None), None)
    return Query(name, np.array(points).reshape(-1, 3), flag, recorded)


def _first(record: Record, fields: Iterable[str]) -> Any:
    return next((value for value in (getattr(record, field) for field in fields) if value is not None), None)
