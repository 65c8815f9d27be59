"""REVERIE: paths to objects. Episodes are named `<id>_<k>`, as the official evaluator and its users name them.

The `id` of a known object is `<path_id>_<objId>`; of a test split, whose objects are withheld, a number.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping

import msgspec

from wayscore.episodes.batch import EpisodeBatch
from wayscore.episodes.references import Reference, References
from wayscore.formats.base import REFERENCES, RUN, Kind, make_references
from wayscore.formats.decoding import decode_mapping, decode_records
from wayscore.formats.files import Source, read
from wayscore.formats.sniff import Beginning
from wayscore.formats.trajectories import Name, read_trajectories

EXPECTED = (
    'REVERIE references: [{"id": ..., "scan": ..., "path": [viewpoint, ...], "instructions": [...], "objId": ...}, ...]'
)
PREDICTED = ("predObjId", "pred_objid")
EXPECTED_OBJECTS = 'REVERIE boxes: {scan: {viewpoint: {object: {"visible_pos": [...]}}}}'


class ObjectPath(msgspec.Struct, gc=False):
    """One record of a reference file."""

    id: Name
    scan: str
    path: list[str]
    instructions: list[str]
    objId: Name | None = None  # noqa: N815 - the file's name for it
    path_id: Name | None = None


class Box(msgspec.Struct, gc=False):
    """Where an object is seen from a viewpoint: the numbers of the views that show it."""

    visible_pos: list[int]


class Reverie:
    """REVERIE, and runs with `instr_id`, `trajectory` and perhaps `predObjId`."""

    name = "reverie"
    title = "REVERIE"

    def sniff(self, beginning: Beginning) -> Collection[Kind]:
        """Recognise references by `id`, and runs by the object that they name; others read as R2R's, which they are."""
        if not beginning.json:
            return ()
        if beginning.has("id", "scan", "path", "instructions"):
            return REFERENCES
        return RUN if beginning.has("instr_id", "trajectory") and beginning.has_any(*PREDICTED) else ()

    def references(self, source: Source, *, objects: str | os.PathLike[str] | None = None) -> References:
        """Read a reference file.

        Args:
            source: the file.
            objects: a file of the objects' boxes by scan and viewpoint; with it, `goals` are all viewpoints that
                see the object.
        """
        records = decode_records(source, ObjectPath, names=("id",), expected=EXPECTED)
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

    def run(self, source: Source) -> EpisodeBatch:
        """Read a run; the object that the agent named is `predObjId` or `pred_objid`."""
        return read_trajectories(source, self.title, ids=("instr_id",), walks=("trajectory",), objects=PREDICTED)


def _seen_from(path: str | os.PathLike[str]) -> Mapping[tuple[str, str], tuple[str, ...]]:
    scans = decode_mapping(read(path), dict[str, dict[str, Box]], expected=EXPECTED_OBJECTS)
    seen: dict[tuple[str, str], tuple[str, ...]] = {}
    for scan, viewpoints in scans:
        for viewpoint, boxes in viewpoints.items():
            for thing, box in boxes.items():
                if box.visible_pos:
                    seen[scan, thing] = (*seen.get((scan, thing), ()), viewpoint)
    return seen


REVERIE_FORMAT = Reverie()
