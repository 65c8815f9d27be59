"""Datasets whose paths are nodes of graphs: R2R, R4R, RxR, NDH, REVERIE, Touchdown and map2seq.

| format | an episode is | its name |
|---|---|---|
| R2R, R4R | one instruction of a path, for every instruction k that the file has | `<path_id>_<k>` |
| REVERIE | likewise; the `id` of a known object is `<path_id>_<objId>`, of a test split a number | `<id>_<k>` |
| RxR | a line with one instruction | `instruction_id` |
| NDH | an instance with three paths and several goals | `inst_idx` |
| street | a route of Touchdown or map2seq along Manhattan's street graph; all lie in one scene | `route_id` or `id` |

Runs have the results format of R2R (`trajectories.py`), each with its own names for the episode and the walk.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from wayscore.episodes import EpisodeBatch, Reference, References
from wayscore.errors import FormatError, OptionError, did_you_mean
from wayscore.formats.base import REFERENCES, RUN, Kind, make_references
from wayscore.formats.decoding import decode_mapping, decode_records, place
from wayscore.formats.files import Source, read
from wayscore.formats.graphs import STREET_SCENE
from wayscore.formats.sniff import Beginning
from wayscore.formats.trajectories import Name, read_trajectories

T = TypeVar("T")


class _Nodes:
    """What the formats share: a run is a list of records, each with one of `ids` and one of `walks`."""

    name = title = ""
    ids: tuple[str, ...] = ("instr_id",)
    walks: tuple[str, ...] = ("trajectory",)
    objects: tuple[str, ...] = ()

    def run(self, source: Source) -> EpisodeBatch:
        """Read a run."""
        return read_trajectories(source, self.title, ids=self.ids, walks=self.walks, objects=self.objects)


class InstructedPath(msgspec.Struct, kw_only=True, gc=False):
    """A path with several instructions."""

    scan: str
    path: list[str]
    instructions: list[str]


class RoomPath(InstructedPath, kw_only=True, gc=False):
    """One of R2R or R4R; a test split has no distance, R4R has the shortest one besides."""

    path_id: Name
    distance: float | None = None
    shortest_path_distance: float | None = None
    heading: float = 0.0


class R2R(_Nodes):
    """R2R, and R4R, whose paths are two of R2R joined."""

    def __init__(self, name: str, title: str) -> None:
        self.name = name
        self.title = title

    def sniff(self, beginning: Beginning) -> Collection[Kind]:
        """Recognise paths with instructions, or results named by `instr_id`."""
        if not beginning.json:
            return ()
        if beginning.has("path_id", "scan", "path", "instructions") and not beginning.has("objId"):
            joined = beginning.has_any("first_path_id", "shortest_path")
            return REFERENCES if joined == (self.name == "r4r") else ()
        return RUN if beginning.has("instr_id", "trajectory") and not beginning.has_any(*Reverie.objects) else ()

    def references(self, source: Source) -> References:
        """Read a reference file.

        `start_distance` is the file's `distance`, or of R4R its `shortest_path_distance`: there, `distance` is
        the length of the joined path.
        """
        expected = (
            f'{self.title} references: [{{"path_id": ..., "scan": ..., "path": [viewpoint, ...], '
            '"instructions": [...]}, ...]'
        )
        records = decode_records(source, RoomPath, names=("path_id",), expected=expected)
        return make_references(
            source,
            self,
            (
                Reference(
                    episode=f"{record.path_id}_{number}",
                    scene=record.scan,
                    path=record.path,
                    path_id=str(record.path_id),
                    instruction=instruction,
                    start_distance=record.distance
                    if record.shortest_path_distance is None
                    else record.shortest_path_distance,
                    heading=record.heading,
                )
                for record in records
                for number, instruction in enumerate(record.instructions)
            ),
        )


R2R_FORMAT, R4R_FORMAT = R2R("r2r", "R2R"), R2R("r4r", "R4R")


class ObjectPath(InstructedPath, kw_only=True, gc=False):
    """A path to an object."""

    id: Name
    path_id: Name | None = None
    objId: Name | None = None  # noqa: N815 - the file's name for it


class Box(msgspec.Struct, gc=False):
    """Where an object is seen from a viewpoint: the numbers of the views that show it."""

    visible_pos: list[int]


class Reverie(_Nodes):
    """REVERIE, and runs with `instr_id`, `trajectory` and perhaps the object that the agent named."""

    name = "reverie"
    title = "REVERIE"
    objects = ("predObjId", "pred_objid")
    expected = (
        'REVERIE references: [{"id": ..., "scan": ..., "path": [viewpoint, ...], "instructions": [...], "objId": ...}, '
        "...]"
    )

    def sniff(self, beginning: Beginning) -> Collection[Kind]:
        """Recognise references by `id`, and runs by the object that they name; others read as R2R's, which they are."""
        if not beginning.json:
            return ()
        if beginning.has("id", "scan", "path", "instructions"):
            return REFERENCES
        return RUN if beginning.has("instr_id", "trajectory") and beginning.has_any(*self.objects) else ()

    def references(self, source: Source, *, objects: str | os.PathLike[str] | None = None) -> References:
        """Read a reference file.

        Args:
            source: the file.
            objects: a file of the objects' boxes by scan and viewpoint; with it, `goals` are all viewpoints that
                see the object.
        """
        records = decode_records(source, ObjectPath, names=("id",), expected=self.expected)
        seen = _seen_from(objects) if objects is not None else {}
        return make_references(
            source,
            self,
            (
                Reference(
                    episode=f"{record.id}_{number}",
                    scene=record.scan,
                    path=record.path,
                    path_id=str(record.id if record.path_id is None else record.path_id),
                    instruction=instruction,
                    goals=seen.get((record.scan, str(record.objId)), ()),
                    facts={} if record.objId is None else {"object": str(record.objId)},
                )
                for record in records
                for number, instruction in enumerate(record.instructions)
            ),
        )


def _seen_from(path: str | os.PathLike[str]) -> Mapping[tuple[str, str], tuple[str, ...]]:
    expected = 'REVERIE boxes: {scan: {viewpoint: {object: {"visible_pos": [...]}}}}'
    seen: dict[tuple[str, str], tuple[str, ...]] = {}
    for scan, viewpoints in decode_mapping(read(path), dict[str, dict[str, Box]], expected=expected):
        for viewpoint, boxes in viewpoints.items():
            for thing, box in boxes.items():
                if box.visible_pos:
                    seen[scan, thing] = (*seen.get((scan, thing), ()), viewpoint)
    return seen


REVERIE_FORMAT = Reverie()


class Guide(msgspec.Struct, gc=False):
    """One guide annotation."""

    instruction_id: Name
    path_id: Name
    scan: str
    path: list[str]
    instruction: str = ""
    language: str = ""


class RxR(_Nodes):
    """RxR guide annotations, and runs as its challenge took them, or its human followers' walks."""

    name = "rxr"
    title = "RxR"
    ids = ("instruction_id", "instr_id")
    walks = ("path", "trajectory")
    expected = (
        'RxR guide annotations: {"instruction_id": ..., "path_id": ..., "scan": ..., "path": [viewpoint, ...], '
        '"instruction": ..., "language": ...} a line'
    )

    def sniff(self, beginning: Beginning) -> Collection[Kind]:
        """Recognise guide annotations by their scan, and runs (followers too) by its absence; points are VLN-CE's."""
        if not beginning.json:
            return ()
        if beginning.has("instruction_id", "path", "scan"):
            return REFERENCES
        if beginning.has("instr_id", "path") and not beginning.has("trajectory"):
            return RUN
        walked = beginning.has("instruction_id") and beginning.has_any("path", "trajectory")
        return RUN if walked and beginning.value("path", "trajectory") != "point" else ()

    def references(self, source: Source, *, language: str | None = None) -> References:
        """Read guide annotations.

        Args:
            source: the file.
            language: keep those of one language: a tag as the file has it (`en-US`) or its first part (`en`).
        """
        records = decode_records(source, Guide, names=("instruction_id",), expected=self.expected)
        if language is not None:
            records = in_language(source, records, language, lambda record: record.language)
        return make_references(
            source,
            self,
            (
                Reference(str(one.instruction_id), one.scan, one.path, str(one.path_id), one.instruction)
                for one in records
            ),
        )


def in_language(source: Source, records: Sequence[T], language: str, tag: Callable[[T], str]) -> list[T]:
    """Return the records whose tag is this language, or begins with it: `en` keeps `en-US` and `en-IN`."""
    kept = [record for record in records if f"{tag(record)}-".startswith(f"{language}-")]
    if not kept:
        tags = ", ".join(sorted({tag(record) for record in records} - {""}))
        raise OptionError(f"{source}: has no instructions in language {language!r}; it has {tags or 'no languages'}")
    return kept


RXR_FORMAT = RxR()


class Pano(msgspec.Struct, gc=False):
    """Where an instance starts."""

    pano: str


class Turn(msgspec.Struct, gc=False):
    """One message of the dialog."""

    role: str = ""
    message: str = ""


class Instance(msgspec.Struct, gc=False):
    """One instance; a test split has neither paths nor goals."""

    inst_idx: Name
    scan: str
    start_pano: Pano | None = None
    planner_path: list[str] | None = None
    player_path: list[str] | None = None
    end_panos: list[str] = []
    game_idx: Name | None = None
    target: str | None = None
    dialog_history: list[Turn] = []

    def path(self, kind: str) -> list[str] | None:
        """Return one of the three paths."""
        planner, player = self.planner_path, self.player_path
        if kind == "planner":
            return planner
        if kind == "player":
            return player
        if not planner or not player:
            return None
        return player if planner[-1] in player[1:] else planner


class NDH(_Nodes):
    """NDH (navigation from dialog history, CVDN), and runs with `inst_idx` (or `instr_id`) and `trajectory`."""

    name = "ndh"
    title = "NDH"
    ids = ("inst_idx", "instr_id")
    paths = ("planner", "player", "trusted")
    expected = (
        'NDH references: [{"inst_idx": ..., "scan": ..., "planner_path": [...], "player_path": [...], '
        '"end_panos": [...]}, ...]'
    )

    def sniff(self, beginning: Beginning) -> Collection[Kind]:
        """Recognise both by `inst_idx`, and references by their scan."""
        if not beginning.json or not beginning.has("inst_idx"):
            return ()
        return REFERENCES if beginning.has("scan") else RUN if beginning.has("trajectory") else ()

    def references(self, source: Source, *, path_type: str = "planner") -> References:
        """Read a reference file.

        Args:
            source: the file.
            path_type: which path is the reference, as in the official evaluator: the `planner`'s (the route the helper
                saw), the `player`'s (what the human then walked), or the `trusted` one (the player's where it comes
                past the planner's end after its first step, else the planner's).
        """
        if path_type not in self.paths:
            hint = did_you_mean(path_type, self.paths)
            raise OptionError(f"path_type must be one of {', '.join(self.paths)}, got {path_type!r}{hint}")
        records = decode_records(source, Instance, names=("inst_idx",), expected=self.expected)
        return make_references(source, self, self._references(source, records, path_type))

    def _references(self, source: Source, records: list[Instance], path_type: str) -> Iterator[Reference]:
        withheld = not any(record.planner_path or record.player_path or record.end_panos for record in records)
        for number, record in enumerate(records):
            path = ([record.start_pano.pano] if record.start_pano else None) if withheld else record.path(path_type)
            if not path:
                absent = "start_pano" if withheld else "planner_path" if record.planner_path is None else "player_path"
                raise FormatError(
                    f"{source}, record {number} (episode '{record.inst_idx}'): the field {absent!r} is missing or "
                    f"empty; expected {self.expected}"
                )
            dialog = "\n".join(f"{turn.role}: {turn.message}" for turn in record.dialog_history)
            yield Reference(
                episode=str(record.inst_idx),
                scene=record.scan,
                path=path,
                path_id=str(record.inst_idx if record.game_idx is None else record.game_idx),
                instruction=dialog or (record.target or ""),
                goals=tuple(record.end_panos),
                facts={"planner": record.planner_path} if record.planner_path else {},
            )


NDH_FORMAT = NDH()


class Route(msgspec.Struct, gc=False):
    """One route."""

    route_panoids: list[str]
    route_id: Name | None = None
    id: Name | None = None
    navigation_text: str = ""


class Street(_Nodes):
    """Touchdown and map2seq routes, and runs with `route_id` or `id` and the panoramas passed."""

    name = "street"
    title = "Touchdown/map2seq"
    ids = ("route_id", "id")
    walks = ("path", "trajectory", "agent_pano_path")
    expected = (
        'street routes: {"route_id" or "id": ..., "route_panoids": [panorama, ...], "navigation_text": ...} a line'
    )

    def sniff(self, beginning: Beginning) -> Collection[Kind]:
        """Recognise routes by `route_panoids`."""
        if not beginning.json:
            return ()
        if beginning.has("route_panoids"):
            return REFERENCES
        named = beginning.has_any("route_id", "id") and not beginning.has("scan")
        return RUN if named and beginning.has_any(*self.walks) else ()

    def references(self, source: Source) -> References:
        """Read routes."""
        records = decode_records(source, Route, names=("route_id", "id"), expected=self.expected)
        return make_references(source, self, self._references(source, records))

    def _references(self, source: Source, records: list[Route]) -> Iterator[Reference]:
        for number, record in enumerate(records):
            name = record.id if record.route_id is None else record.route_id
            if name is None:
                raise FormatError(
                    f"{source}, {place(number, source)}: the fields 'route_id' and 'id' are missing; expected "
                    f"{self.expected}"
                )
            yield Reference(str(name), STREET_SCENE, record.route_panoids, str(name), record.navigation_text)


STREET_FORMAT = Street()
