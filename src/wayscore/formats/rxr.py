"""RxR: JSON lines, one instruction each; runs as its challenge took them, and its human followers' walks.

An episode is named by its `instruction_id`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

import msgspec

from wayscore.episodes.batch import EpisodeBatch
from wayscore.episodes.references import Reference, References
from wayscore.errors import OptionError
from wayscore.formats.base import REFERENCES, RUN, Kind, make_references
from wayscore.formats.decoding import decode_records
from wayscore.formats.files import Source
from wayscore.formats.sniff import Beginning
from wayscore.formats.trajectories import Name, read_trajectories

EXPECTED = (
    'RxR guide annotations: {"instruction_id": ..., "path_id": ..., "scan": ..., "path": [viewpoint, ...], '
    '"instruction": ..., "language": ...} a line'
)
T = TypeVar("T")


class Guide(msgspec.Struct, gc=False):
    """One guide annotation."""

    instruction_id: Name
    path_id: Name
    scan: str
    path: list[str]
    instruction: str = ""
    language: str = ""


class RxR:
    """RxR guide annotations, and runs with `instruction_id` and `path`."""

    name = "rxr"
    title = "RxR"

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
        records = decode_records(source, Guide, names=("instruction_id",), expected=EXPECTED)
        if language is not None:
            records = in_language(source, records, language, lambda record: record.language)
        return make_references(
            source,
            self,
            (
                Reference(
                    episode=str(record.instruction_id),
                    scene=record.scan,
                    path=record.path,
                    path_id=str(record.path_id),
                    instruction=record.instruction,
                )
                for record in records
            ),
        )

    def run(self, source: Source) -> EpisodeBatch:
        """Read a run: `instruction_id` or `instr_id`, and `path` or `trajectory`."""
        return read_trajectories(source, self.title, ids=("instruction_id", "instr_id"), walks=("path", "trajectory"))


def in_language(source: Source, records: Sequence[T], language: str, tag: Callable[[T], str]) -> list[T]:
    """Return the records whose tag is this language, or begins with it: `en` keeps `en-US` and `en-IN`."""
    kept = [record for record in records if f"{tag(record)}-".startswith(f"{language}-")]
    if not kept:
        tags = ", ".join(sorted({tag(record) for record in records} - {""}))
        raise OptionError(f"{source}: has no instructions in language {language!r}; it has {tags or 'no languages'}")
    return kept


RXR_FORMAT = RxR()
