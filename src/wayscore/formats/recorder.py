"""Logs of the recorder (`wayscore-recorder`): JSON lines, one finished episode each.

`docs/schema/episode-1.json` describes a line. Lines may carry their references; then a log needs no others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from msgspec.structs import replace

from wayscore.episodes import EpisodeBatch, Reference, References
from wayscore.errors import FormatError
from wayscore.formats.base import REFERENCES, RUN, Fault, Kind, Source, make_references
from wayscore.formats.columns import Places
from wayscore.formats.decoding import decode_each, loosely, place
from wayscore.formats.sniff import Beginning
from wayscore.formats.table import Kept, Prediction, batch_of, kept_of
from wayscore.formats.trajectories import Name

MARK = "wayscore_episode"
"""The first field of every line; its value is the version of the schema."""
VERSION = 1
EXPECTED = f'a log of the recorder: {{"{MARK}": {VERSION}, "episode": ..., "path": [[x, y, z], ...], ...}} per line'


class Line(Prediction, kw_only=True, gc=False):
    """One episode."""

    wayscore_episode: int
    episode: Name
    path: Places
    agent: str | None = None
    threshold: float | None = None
    collided: list[bool] | None = None
    recorded: dict[str, Any] | None = None


class Recorder:
    """Logs of the recorder."""

    name = title = "recorder"

    def sniff(self, beginning: Beginning) -> Collection[Kind]:
        """Recognise the mark of every line."""
        if not (beginning.json and beginning.has(MARK)):
            return ()
        return (*REFERENCES, *RUN) if beginning.has("reference") else RUN

    def references(self, source: Source) -> References:
        """Read the references that lines carry."""
        return make_references(source, self, self._references(source))

    def _references(self, source: Source) -> Iterator[Reference]:
        for where, line, _, reference in _lines(source):
            if reference is None:
                raise FormatError(
                    f"{source}, {place(where, source)} (episode '{line.episode}'): has no reference; take references "
                    "from the dataset"
                )
            yield Reference(str(line.episode), str(line.scene or ""), reference, str(line.episode))

    def run(self, source: Source) -> EpisodeBatch:
        """Read the answers of a run, and the references that lines carry."""
        found = _lines(source)
        lines = [line for _, line, _, _ in found]
        return batch_of(
            source,
            found,
            collided=[line.collided for line in lines],
            collisions=[None if line.collided is None else sum(line.collided) for line in lines],
            threshold=[line.threshold for line in lines],
            agent=[line.agent for line in lines],
        )


def _lines(source: Source) -> list[Kept]:
    """Return the lines that are right, each with where it is, its path and its reference."""
    before, _, last = source.content.rpartition(b"\n")
    if last.strip() and loosely(last) is None:  # a crash left it incomplete
        number = source.lines_before + source.content.count(b"\n") + 1
        what = "is incomplete, because the program that wrote it was stopped there"
        source.refuse(Fault(f"{what}; `python -m wayscore_recorder {source}` removes it", f"line {number}"))
        source = replace(source, content=before)
    return kept_of(source, decode_each(source, Line, names=("episode",), expected=EXPECTED), _fault_of)


def _fault_of(line: Line) -> Fault | None:
    """Return what is wrong with a line."""
    if line.wayscore_episode != VERSION:
        return Fault(
            f"is version {line.wayscore_episode}, and this wayscore reads version {VERSION}; install a later wayscore"
        )
    if line.reference == []:
        return Fault("is empty; leave it out if there is none", field="field 'reference'")
    for field, values, count in (
        ("headings", line.headings, len(line.path)),
        ("goal_distances", line.goal_distances, len(line.path)),
        ("collided", line.collided, len(line.path) - 1),
    ):
        if values is not None and line.path and len(values) != count:
            each = "move" if field == "collided" else "position"
            return Fault(f"has {len(values)} values for {count} {each}s", field=f"field {field!r}", expected=EXPECTED)
    return None


RECORDER_FORMAT = Recorder()
