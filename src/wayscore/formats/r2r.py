"""R2R and R4R: lists of paths with several instructions each, and the results format that others inherit.

An episode is one instruction, named `<path_id>_<k>`, for every instruction k that the file has.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from wayscore.episodes.batch import EpisodeBatch
from wayscore.episodes.references import Reference, References
from wayscore.formats.base import REFERENCES, RUN, Kind, make_references
from wayscore.formats.decoding import decode_records
from wayscore.formats.files import Source
from wayscore.formats.sniff import Beginning
from wayscore.formats.trajectories import Name, read_trajectories

EXPECTED = '[{"path_id": ..., "scan": ..., "path": [viewpoint, ...], "instructions": [...]}, ...]'


class InstructedPath(msgspec.Struct, gc=False):
    """One record of a reference file; a test split has no distance, R4R has the shortest one besides."""

    path_id: Name
    scan: str
    path: list[str]
    instructions: list[str]
    distance: float | None = None
    shortest_path_distance: float | None = None
    heading: float = 0.0


class R2R:
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
        return (
            RUN if beginning.has("instr_id", "trajectory") and not beginning.has_any("predObjId", "pred_objid") else ()
        )

    def references(self, source: Source) -> References:
        """Read a reference file.

        `start_distance` is the file's `distance`, or of R4R its `shortest_path_distance`: there, `distance` is
        the length of the joined path.
        """
        expected = f"{self.title} references: {EXPECTED}"
        records = decode_records(source, InstructedPath, names=("path_id",), expected=expected)
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

    def run(self, source: Source) -> EpisodeBatch:
        """Read a results file."""
        return read_trajectories(source, self.title, ids=("instr_id",), walks=("trajectory",))


R2R_FORMAT = R2R("r2r", "R2R")
R4R_FORMAT = R2R("r4r", "R4R")


def encode_run(paths: Mapping[str, Sequence[Any]]) -> bytes:
    """Return a result file: the nodes of each episode's path, with a heading and an elevation of 0.

    >>> encode_run({"4332_1": ["a", "b"]})
    b'[{"instr_id":"4332_1","trajectory":[["a",0,0],["b",0,0]]}]'
    """
    run = [{"instr_id": name, "trajectory": [[str(node), 0, 0] for node in path]} for name, path in paths.items()]
    return msgspec.json.encode(run)
