"""Datasets whose paths are nodes of graphs (R2R, R4R, RxR, NDH, REVERIE, Touchdown, map2seq), and these graphs.

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
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from wayscore.convention.presets import find_convention
from wayscore.distances.graphs import load_graphs
from wayscore.errors import FormatError, OptionError, did_you_mean
from wayscore.formats.base import REFERENCES, RUN, Kind, Source, make_references, read
from wayscore.formats.decoding import decode_each, decode_mapping, place
from wayscore.formats.episodes import EpisodeBatch, Reference, References
from wayscore.formats.sniff import Beginning
from wayscore.formats.trajectories import Name, read_trajectories

STREET_SCENE = "manhattan"
"""The scene of all routes along streets."""
T = TypeVar("T")


class Shape(NamedTuple):
    """A file by the fields of its first record: it has all of `every`, one of each `one_of`, and none of `without`."""

    kinds: tuple[Kind, ...]
    every: str = ""
    one_of: tuple[str, ...] = ()
    without: str = ""
    points: bool = True
    """Whether its walks may be points."""


class Benchmark:
    """A dataset: how its files are recognised, and which fields its records and those of its runs have.

    Attributes:
        shapes: how its files begin; the first that fits counts.
        expected: what its reference files look like, for errors.
        ids: the fields of which one names the episode of a run's record; likewise `walks`, and `objects` if any.
    """

    name = title = expected = ""
    shapes: tuple[Shape, ...]
    ids: tuple[str, ...] = ("instr_id",)
    walks: tuple[str, ...] = ("trajectory",)
    objects: tuple[str, ...] = ()

    def sniff(self, beginning: Beginning) -> Collection[Kind]:
        """Recognise a file by its fields."""
        for shape in self.shapes if beginning.json else ():
            if (
                beginning.keys.issuperset(shape.every.split())
                and beginning.keys.isdisjoint(shape.without.split())
                and not any(beginning.keys.isdisjoint(fields.split()) for fields in shape.one_of)
                and (shape.points or beginning.value(*self.walks) != "point")
            ):
                return shape.kinds
        return ()

    def run(self, source: Source) -> EpisodeBatch:
        """Read a run."""
        return read_trajectories(source, self.title, ids=self.ids, walks=self.walks, objects=self.objects)


class InstructedPath(msgspec.Struct, kw_only=True, gc=False):
    """A path with several instructions."""

    scan: str
    path: list[str]
    instructions: list[str]


class RoomPath(InstructedPath, kw_only=True, gc=False):
    """One of R2R or R4R; a test split has no distance, R4R also has the shortest one."""

    path_id: Name
    distance: float | None = None
    shortest_path_distance: float | None = None
    heading: float = 0.0


class R2R(Benchmark):
    """R2R."""

    name, title = "r2r", "R2R"
    expected = 'R2R references: [{"path_id": ..., "scan": ..., "path": [viewpoint, ...], "instructions": [...]}, ...]'
    shapes = (
        Shape(REFERENCES, "path_id scan path instructions", without="objId first_path_id shortest_path"),
        Shape((), "path_id scan path instructions", without="objId"),
        Shape(RUN, "instr_id trajectory", without="predObjId pred_objid"),
    )

    def references(self, source: Source) -> References:
        """Read a reference file.

        `start_distance` is the file's `distance`, or of R4R its `shortest_path_distance`: there, `distance` is
        the length of the joined path.
        """
        records = decode_each(source, RoomPath, names=("path_id",), expected=self.expected)
        episodes = (
            Reference(
                f"{one.path_id}_{number}",
                one.scan,
                one.path,
                str(one.path_id),
                text,
                start_distance=one.distance if one.shortest_path_distance is None else one.shortest_path_distance,
                heading=one.heading,
            )
            for _, one in records
            for number, text in enumerate(one.instructions)
        )
        return make_references(source, self, episodes)


class R4R(R2R):
    """R4R, whose paths are two of R2R joined."""

    name, title = "r4r", "R4R"
    expected = R2R.expected.replace("R2R", "R4R")
    shapes = (
        Shape(REFERENCES, "path_id scan path instructions", ("first_path_id shortest_path",), without="objId"),
        *R2R.shapes[1:],
    )


class ObjectPath(InstructedPath, kw_only=True, gc=False):
    """A path to an object."""

    id: Name
    path_id: Name | None = None
    objId: Name | None = None  # noqa: N815 - the file's name for it


class Box(msgspec.Struct, gc=False):
    """Where an object is seen from a viewpoint: the numbers of the views that show it."""

    visible_pos: list[int]


class Reverie(Benchmark):
    """REVERIE, and runs with `instr_id`, `trajectory` and the object that the agent named; others are read as R2R's."""

    name, title = "reverie", "REVERIE"
    expected = (
        'REVERIE references: [{"id": ..., "scan": ..., "path": [viewpoint, ...], "instructions": [...], "objId": ...}, '
        "...]"
    )
    shapes = (
        Shape(REFERENCES, "id scan path instructions"),
        Shape(RUN, "instr_id trajectory", ("predObjId pred_objid",)),
    )
    objects = ("predObjId", "pred_objid")

    def references(self, source: Source, *, objects: str | os.PathLike[str] | None = None) -> References:
        """Read a reference file; with `objects`, a file of boxes, `goals` are all viewpoints that see the object."""
        return make_references(source, self, self._references(source, objects))

    def _references(self, source: Source, objects: str | os.PathLike[str] | None) -> Iterator[Reference]:
        seen: dict[tuple[str, str], tuple[str, ...]] = {}
        if objects is not None:
            expected = 'REVERIE boxes: {scan: {viewpoint: {object: {"visible_pos": [...]}}}}'
            for scan, viewpoints in decode_mapping(read(objects), dict[str, dict[str, Box]], expected=expected):
                for viewpoint, boxes in viewpoints.items():
                    for thing in (name for name, box in boxes.items() if box.visible_pos):
                        seen[scan, thing] = (*seen.get((scan, thing), ()), viewpoint)
        for _, one in decode_each(source, ObjectPath, names=("id",), expected=self.expected):
            goals = seen.get((one.scan, str(one.objId)), ())
            facts = {} if one.objId is None else {"object": str(one.objId)}
            path_id = str(one.id if one.path_id is None else one.path_id)
            for number, text in enumerate(one.instructions):
                yield Reference(f"{one.id}_{number}", one.scan, one.path, path_id, text, goals=goals, facts=facts)


class Guide(msgspec.Struct, gc=False):
    """One guide annotation."""

    instruction_id: Name
    path_id: Name
    scan: str
    path: list[str]
    instruction: str = ""
    language: str = ""


class RxR(Benchmark):
    """RxR guide annotations, and runs as its challenge took them, or its human followers' walks."""

    name, title = "rxr", "RxR"
    expected = (
        'RxR guide annotations: {"instruction_id": ..., "path_id": ..., "scan": ..., "path": [viewpoint, ...], '
        '"instruction": ..., "language": ...} a line'
    )
    shapes = (
        Shape(REFERENCES, "instruction_id path scan"),
        Shape(RUN, "instr_id path", without="trajectory"),
        Shape(RUN, "instruction_id", ("path trajectory",), points=False),  # points are VLN-CE's
    )
    ids = ("instruction_id", "instr_id")
    walks = ("path", "trajectory")

    def references(self, source: Source, *, language: str | None = None) -> References:
        """Read guide annotations, all or those of a language: a tag (`en-US`) or its first part (`en`)."""
        records = [one for _, one in decode_each(source, Guide, names=self.ids, expected=self.expected)]
        if language is not None:
            records = in_language(source, records, language, lambda record: record.language)
        found = (Reference(str(g.instruction_id), g.scan, g.path, str(g.path_id), g.instruction) for g in records)
        return make_references(source, self, found)


def in_language(source: Source, records: Sequence[T], language: str, tag: Callable[[T], str]) -> list[T]:
    """Return the records whose tag is this language, or begins with it: `en` keeps `en-US` and `en-IN`."""
    kept = [record for record in records if f"{tag(record)}-".startswith(f"{language}-")]
    if not kept:
        tags = ", ".join(sorted({tag(record) for record in records} - {""}))
        raise OptionError(f"{source}: has no instructions in language {language!r}; it has {tags or 'no languages'}")
    return kept


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
        if kind != "trusted":
            return planner if kind == "planner" else player
        if not planner or not player:
            return None
        return player if planner[-1] in player[1:] else planner


class NDH(Benchmark):
    """NDH (navigation from dialog history, CVDN), and runs with `inst_idx` (or `instr_id`) and `trajectory`."""

    name, title = "ndh", "NDH"
    expected = (
        'NDH references: [{"inst_idx": ..., "scan": ..., "planner_path": [...], "player_path": [...], '
        '"end_panos": [...]}, ...]'
    )
    shapes = (Shape(REFERENCES, "inst_idx scan"), Shape(RUN, "inst_idx trajectory"))
    ids = ("inst_idx", "instr_id")
    paths = ("planner", "player", "trusted")

    def references(self, source: Source, *, path_type: str = "planner") -> References:
        """Read a reference file.

        `path_type` says which path is the reference, as in the official evaluator: the `planner`'s (the route the
        helper saw), the `player`'s (what the human then walked), or the `trusted` one (the player's where it comes past
        the planner's end after its first step, else the planner's).
        """
        if path_type not in self.paths:
            hint = did_you_mean(path_type, self.paths)
            raise OptionError(f"path_type must be one of {', '.join(self.paths)}, got {path_type!r}{hint}")
        return make_references(source, self, self._references(source, path_type))

    def _references(self, source: Source, path_type: str) -> Iterator[Reference]:
        records = [one for _, one in decode_each(source, Instance, names=self.ids, expected=self.expected)]
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


class Route(msgspec.Struct, gc=False):
    """One route."""

    route_panoids: list[str]
    route_id: Name | None = None
    id: Name | None = None
    navigation_text: str = ""


class Street(Benchmark):
    """Touchdown and map2seq routes, and runs with `route_id` or `id` and the panoramas passed."""

    name, title = "street", "Touchdown/map2seq"
    expected = (
        'street routes: {"route_id" or "id": ..., "route_panoids": [panorama, ...], "navigation_text": ...} a line'
    )
    shapes = (
        Shape(REFERENCES, "route_panoids"),
        Shape(RUN, one_of=("route_id id", "path trajectory agent_pano_path"), without="scan"),
    )
    ids = ("route_id", "id")
    walks = ("path", "trajectory", "agent_pano_path")

    def references(self, source: Source) -> References:
        """Read routes."""
        return make_references(source, self, self._references(source))

    def _references(self, source: Source) -> Iterator[Reference]:
        for number, record in decode_each(source, Route, names=self.ids, expected=self.expected):
            name = record.id if record.route_id is None else record.route_id
            if name is None:
                raise FormatError(
                    f"{source}, {place(number, source)}: the fields 'route_id' and 'id' are missing; expected "
                    f"{self.expected}"
                )
            yield Reference(str(name), STREET_SCENE, record.route_panoids, str(name), record.navigation_text)


def distances_for(references: References | None, graphs: Any, convention: Any = "paper") -> Any:
    """Take graphs in any form: a folder or a tar becomes scene -> graph; distances in memory are taken as they are.

    Paths of coordinates need no graphs: None (Euclidean). Links of streets lead both ways, unless the convention counts
    directed ones.
    """
    if graphs is not None and not isinstance(graphs, str | os.PathLike):
        return graphs
    if references is None:
        return None if graphs is None else load_graphs(Path(graphs))
    first = next(iter(references.episodes.values()), None)
    if first is None or not isinstance(first.path, list):
        return None
    if graphs is None:
        raise OptionError(
            f"{references.name}: paths are node names, so distances need the graphs; give the connectivity files (a "
            "folder or a tar) with <<graphs=FOLDER>>"
        )
    if references.format == "street":
        files = []
        for name in ("nodes.txt", "links.txt"):
            found = [path for path in (Path(graphs) / name, Path(graphs) / f"{name}.gz") if path.is_file()]
            if not found:
                raise FormatError(f"{graphs}: has no {name} or {name}.gz; street routes need both files of their graph")
            files.append(found[0])
        from wayscore.formats.graphs import load_street_graph

        directed = find_convention(convention).distance == "directed hops"
        return {STREET_SCENE: load_street_graph(*files, directed=directed)}
    try:
        return load_graphs(Path(graphs))
    except FormatError as error:
        what = str(error.args[0]).partition("; expected")[0]
        raise FormatError(
            f"{what}; give the folder or tar of the dataset's connectivity files with <<graphs=FOLDER>>"
        ) from None


R2R_FORMAT, R4R_FORMAT, REVERIE_FORMAT, RXR_FORMAT = R2R(), R4R(), Reverie(), RxR()
NDH_FORMAT, STREET_FORMAT = NDH(), Street()
