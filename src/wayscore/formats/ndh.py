"""NDH (navigation from dialog history, CVDN): three paths an instance, and several goals.

An episode is named by its `inst_idx`. Which path is the reference is an option, as in the official evaluator:
the planner's (the route the helper saw), the player's (what the human then walked), or the trusted one (the
player's where it comes past the planner's end after its first step, else the planner's).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import msgspec

from wayscore.episodes.batch import EpisodeBatch
from wayscore.episodes.references import Reference, References
from wayscore.errors import FormatError, OptionError, did_you_mean
from wayscore.formats.base import REFERENCES, RUN, Kind, make_references
from wayscore.formats.decoding import decode_records
from wayscore.formats.files import Source
from wayscore.formats.sniff import Beginning
from wayscore.formats.trajectories import Name, read_trajectories

EXPECTED = (
    'NDH references: [{"inst_idx": ..., "scan": ..., "planner_path": [...], "player_path": [...], '
    '"end_panos": [...]}, ...]'
)
PATH_TYPES = ("planner", "player", "trusted")


class Pano(msgspec.Struct, gc=False):
    """Where an instance starts."""

    pano: str


class Turn(msgspec.Struct, gc=False):
    """One message of the dialog."""

    role: str = ""
    message: str = ""


class Instance(msgspec.Struct, gc=False):
    """One record of a reference file; a test split has neither paths nor goals."""

    inst_idx: Name
    scan: str
    start_pano: Pano | None = None
    planner_path: list[str] | None = None
    player_path: list[str] | None = None
    end_panos: list[str] = []
    game_idx: Name | None = None
    target: str | None = None
    dialog_history: list[Turn] = []


class NDH:
    """NDH, and runs with `inst_idx` and `trajectory`."""

    name = "ndh"
    title = "NDH"

    def sniff(self, beginning: Beginning) -> Collection[Kind]:
        """Recognise both by `inst_idx`, and references by their scan."""
        if not beginning.json or not beginning.has("inst_idx"):
            return ()
        return REFERENCES if beginning.has("scan") else RUN if beginning.has("trajectory") else ()

    def references(self, source: Source, *, path_type: str = "planner") -> References:
        """Read a reference file; `path_type` is `planner`, `player` or `trusted`."""
        if path_type not in PATH_TYPES:
            hint = did_you_mean(path_type, PATH_TYPES)
            raise OptionError(f"path_type must be one of {', '.join(PATH_TYPES)}, got {path_type!r}{hint}")
        records = decode_records(source, Instance, names=("inst_idx",), expected=EXPECTED)
        return make_references(source, self, _references(source, records, path_type))

    def run(self, source: Source) -> EpisodeBatch:
        """Read a run; `instr_id` is taken for `inst_idx` where an agent writes that."""
        return read_trajectories(source, self.title, ids=("inst_idx", "instr_id"), walks=("trajectory",))


def _references(source: Source, records: list[Instance], path_type: str) -> Iterator[Reference]:
    withheld = not any(record.planner_path or record.player_path or record.end_panos for record in records)
    for number, record in enumerate(records):
        path = ([record.start_pano.pano] if record.start_pano else None) if withheld else _path(record, path_type)
        if not path:
            absent = "start_pano" if withheld else "planner_path" if record.planner_path is None else "player_path"
            raise FormatError(
                f"{source}, record {number} (episode '{record.inst_idx}'): the field {absent!r} is missing or empty; "
                f"expected {EXPECTED}"
            )
        yield Reference(
            episode=str(record.inst_idx),
            scene=record.scan,
            path=path,
            path_id=str(record.inst_idx if record.game_idx is None else record.game_idx),
            instruction="\n".join(f"{turn.role}: {turn.message}" for turn in record.dialog_history)
            or (record.target or ""),
            goals=tuple(record.end_panos),
            facts={"planner": record.planner_path} if record.planner_path else {},
        )


def _path(record: Instance, path_type: str) -> list[str] | None:
    planner, player = record.planner_path, record.player_path
    if path_type == "planner":
        return planner
    if path_type == "player":
        return player
    if not planner or not player:
        return None
    return player if planner[-1] in player[1:] else planner


NDH_FORMAT = NDH()
