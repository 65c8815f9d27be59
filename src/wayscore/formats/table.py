"""Plain tables of episodes, for your own agents (JSON lines, a JSON array, CSV or Parquet), and the recorder's logs.

Columns of references: `episode`, `scene`, `path`, and optionally `path_id`, `instruction`, `goals`, `start_distance`,
`heading`, `dense`, `facts`. Columns of a run: `episode` and `path` (or `query`), optionally `stopped`, `goal_distances`
(one per step; null where the goal is unreachable), `headings` and `recorded`; rows that carry their own `scene` and
`reference` need no episode. `facts` and `recorded` are objects with whatever else an evaluator takes. A path is a list
of labels (text or integers) or of points; in CSV it is written as JSON, or as labels separated by spaces, and columns
may have the names that others give them (`sniff.NAMES`). A run may also be one JSON object `{episode: [label, ...]}`.
Parquet files that `wayscore convert` wrote say which format they came from.

A log of the recorder (`wayscore-recorder`) has one finished episode per line, which `docs/schema/episode-1.json`
describes. Lines may carry their references; then a log needs no others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import msgspec
import numpy as np
from msgspec import structs

from wayscore.errors import FormatError, OptionError, shortened
from wayscore.formats.arrow import COLUMNS, EXPECTED as EXPECTED_RUN, as_distances, from_arrow
from wayscore.formats.base import EMPTY_PATH, REFERENCES, RUN, Fault, Kind, Source, make_batch, make_references
from wayscore.formats.columns import Places, Points, decode_rows
from wayscore.formats.decoding import decode_each, decode_mapping, loosely, place
from wayscore.formats.episodes import EpisodeBatch, Query, Reference, References
from wayscore.formats.sniff import NAMES, PARQUET_MAGIC, Beginning, look, own_names
from wayscore.formats.storage import FORMAT, OPTIONS, UP_AXIS, parquet_file, parquet_table
from wayscore.formats.trajectories import Loose, Name, flatten, read_trajectories

EXPECTED = 'a table of episodes: {"episode": ..., "scene": ..., "path": [label, ...] or [[x, y, z], ...]} per row'
MIXED = "mixes points of several dimensions, or points and labels"
EXPECTED_MAPPING = "paths by episode: {episode: [label, ...], ...}"


LOG_MARK = "wayscore_episode"
"""The first field of every line of a log; its value is the version of the schema."""
VERSION = 1
EXPECTED_LOG = (
    f'a log of the recorder: {{"{LOG_MARK}": {VERSION}, "episode": ..., "path": [[x, y, z], ...], ...}} per line'
)


class ReferenceRow(msgspec.Struct, kw_only=True, gc=False):
    """One reference."""

    episode: Name
    scene: Name
    path: Places
    path_id: Name | None = None
    instruction: str | None = None
    goals: list[str | int | list[float]] | None = None
    start_distance: float | None = None
    heading: float | None = None
    dense: Points | None = None
    facts: dict[str, Any] | str | None = None


class Prediction(msgspec.Struct, kw_only=True, gc=False):
    """One path of an agent, as tables and logs of the recorder have it."""

    episode: Name | None = None
    path: Places | None = None
    stopped: bool | None = None
    goal_distances: list[float | Literal["inf"] | None] | None = None
    headings: list[float | list[float]] | None = None
    recorded: dict[str, Any] | str | None = None
    scene: Name | None = None
    reference: Places | None = None


class PredictionRow(Prediction, kw_only=True, gc=False):
    """One row of a table."""

    query: Places | None = None


class Line(Prediction, kw_only=True, gc=False):
    """One line of a log."""

    wayscore_episode: int
    episode: Name
    path: Places
    agent: str | None = None
    threshold: float | None = None
    collided: list[bool] | None = None
    recorded: dict[str, Any] | None = None


Kept: TypeAlias = tuple[int | str, Any, Any, Any]
"""Where a prediction is, itself, its path and its reference."""


class Table:
    """Plain tables."""

    name = "table"
    title = "table"

    def sniff(self, beginning: Beginning) -> Collection[Kind]:
        """Recognise the columns `episode` and `path` by any of their names; with a `scene`, rows can be references."""
        columns = own_names(beginning.keys) if beginning.layout == "csv" else {name: name for name in beginning.keys}
        if "episode" in columns and "path" in columns:
            return (*REFERENCES, *RUN) if "scene" in columns else RUN
        named = beginning.has_any("path", "query") and beginning.has_any("episode", "reference")
        return RUN if named or _is_mapping(beginning) or _is_listed(beginning) else ()

    def references(self, source: Source, *, up_axis: str | int | None = None) -> References:
        """Read references; `up_axis` says which coordinate of points points up: x, y or z."""
        made = make_references(source, self, self._references(source))
        notes = {}
        if source.content.startswith(PARQUET_MAGIC):
            found = parquet_file(str(source), source.content).schema_arrow.metadata or {}
            notes = {name: note.decode(errors="replace") for name, note in found.items()}
        axis, axes = notes.get(UP_AXIS) if up_axis is None else str(up_axis), ("x", "y", "z", "0", "1", "2")
        if axis not in (None, *axes):
            raise OptionError(
                f"up_axis must be x, y or z: which coordinate points up, got {shortened(up_axis or axis)}"
            )
        return replace(
            made,
            name=made.name + notes.get(OPTIONS, ""),
            format=notes.get(FORMAT, self.name),
            up_axis=None if axis is None else axes.index(axis) % 3,
        )

    def _references(self, source: Source) -> Iterator[Reference]:
        for where, row in _rows(source, ReferenceRow, EXPECTED):
            path, dense = _even(row.path), _even(row.dense)
            wrong = {} if path is not None else {"path": MIXED}
            if row.dense is not None and not (isinstance(dense, np.ndarray) and len(dense)):
                wrong["dense"] = "must be a list of points of one dimension; leave it out where there is none"
            for field, what in wrong.items():
                source.refuse(Fault(what, place(where, source), str(row.episode), f"field {field!r}", EXPECTED))
            facts = _object(row.facts)
            goals = row.goals or facts.get("goals", ())  # converted files have points among their facts
            yield Reference(
                episode=str(row.episode),
                scene=str(row.scene),
                path=path,
                path_id=str(row.episode if row.path_id is None else row.path_id),
                instruction=row.instruction or "",
                goals=tuple(tuple(goal) if isinstance(goal, list) else goal for goal in goals),
                start_distance=row.start_distance,
                dense=dense,
                heading=row.heading or 0.0,
                facts={name: fact for name, fact in facts.items() if name != "goals"},
            )

    def run(self, source: Source) -> EpisodeBatch:
        """Read the answers of a run."""
        beginning = look(source.content)
        if beginning.layout == "parquet":
            return from_arrow(parquet_table(str(source), source.content), source)
        if _is_mapping(beginning):
            return make_batch(source, self._by_episode(source))
        if _is_listed(beginning):
            return read_trajectories(source, self.title, ids=NAMES["episode"], walks=NAMES["path"])
        rows = list(_rows(source, PredictionRow, EXPECTED_RUN))
        carried = any(row.reference is not None for _, row in rows)
        named = not carried or any(row.episode is not None for _, row in rows)
        needed = [field for field, need in (("episode", named), ("path", True), ("reference", carried)) if need]
        for _, row in rows:
            row.path = row.query if row.path is None else row.path

        def fault_of(row: PredictionRow) -> Fault | None:
            missing = [field for field in needed if getattr(row, field) is None]
            return Fault(f"the field {missing[0]!r} is missing", expected=EXPECTED_RUN) if missing else None

        return _batch_of(source, _kept_of(source, rows, fault_of, EXPECTED_RUN), named)

    def _by_episode(self, source: Source) -> Iterator[Query]:
        for name, steps in decode_mapping(source, Loose, expected=EXPECTED_MAPPING):
            try:
                yield Query(name, flatten(steps))
            except ValueError as error:
                source.refuse(Fault(str(error), episode=name))


class Recorder:
    """Logs of the recorder."""

    name = title = "recorder"

    def sniff(self, beginning: Beginning) -> Collection[Kind]:
        """Recognise the mark of every line."""
        if not (beginning.json and beginning.has(LOG_MARK)):
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
        return _batch_of(
            source,
            found,
            collided=[line.collided for line in lines],
            collisions=[None if line.collided is None else sum(line.collided) for line in lines],
            threshold=[line.threshold for line in lines],
            agent=[line.agent for line in lines],
        )


def _is_mapping(beginning: Beginning) -> bool:
    """Say whether a file begins like one JSON object of labels by episode."""
    labels = beginning.opens in ("{[", "{[[") and "text" in beginning.values.values()
    return beginning.layout == "object" and labels and not (own_names(beginning.keys) or beginning.has_any(*COLUMNS))


def _is_listed(beginning: Beginning) -> bool:
    """Say whether a file begins like JSON records with other names for `episode` or `path`, and no references."""
    names = own_names(beginning.keys)
    others = beginning.has_any("scan", "instruction", "instructions", "reference") or beginning.has("episode", "path")
    return beginning.json and "episode" in names and "path" in names and not others


def _kept_of(
    source: Source, rows: Iterable[tuple[int | str, Any]], fault_of: Callable[[Any], Fault | None], expected: str = ""
) -> list[Kept]:
    """Return the predictions that have nothing wrong by `fault_of`, and a path of one kind of places; refuse others."""
    kept: list[Kept] = []
    for where, row in rows:
        fault = fault_of(row)
        if fault is None and not len(row.path):
            fault = Fault(EMPTY_PATH)
        path, reference = _even(row.path), _even(row.reference)
        for field, given, places in (("path", row.path, path), ("reference", row.reference, reference)):
            if fault is None and given is not None and places is None:
                fault = Fault(MIXED, field=f"field {field!r}", expected=expected)
        if fault is None:
            kept.append((where, row, path, reference))
        else:
            episode = None if row.episode is None else str(row.episode)
            source.refuse(structs.replace(fault, where=place(where, source), episode=episode))
    return kept


def _batch_of(source: Source, kept: Sequence[Kept], named: bool = True, **more: list[Any]) -> EpisodeBatch:
    """Put predictions into columns; `more` is what else they record, by name."""
    rows = [row for _, row, _, _ in kept]
    references = [reference for _, _, _, reference in kept]
    scenes = [None if row.scene is None else str(row.scene) for row in rows]
    others = [_object(row.recorded) for row in rows]
    found = {name: [other.get(name) for other in others] for name in dict.fromkeys(n for o in others for n in o)}
    found |= {
        "stopped": [row.stopped for row in rows],
        "goal_distances": [as_distances(row.goal_distances) for row in rows],
        "headings": [row.headings for row in rows],
        **more,
    }
    return EpisodeBatch(
        [path for _, _, path, _ in kept],
        [str(row.episode) for row in rows] if named else None,
        scenes if any(scene is not None for scene in scenes) else None,
        references if any(reference is not None for reference in references) else None,
        {name: values for name, values in found.items() if any(value is not None for value in values)},
        where=lambda number: f"{source}, {place(kept[number][0], source)}",
    )


def _object(cell: dict[str, Any] | str | None) -> dict[str, Any]:
    """Return a cell with an object: as it is, or as JSON in files that have no objects."""
    return msgspec.json.decode(cell, type=dict[str, Any]) if isinstance(cell, str) else cell or {}


def _rows(source: Source, kind: Any, expected: str) -> Iterable[tuple[int | str, Any]]:
    """Return every row with what `place` takes to say where it is."""
    if look(source.content).layout in ("csv", "text", "parquet"):
        return decode_rows(source, kind, expected)
    return decode_each(source, kind, names=("episode",), expected=expected)


def _even(places: Any) -> Any:
    """Return labels as they are, and points as an array; None for a mixture."""
    if places is None or isinstance(places, np.ndarray) or list not in map(type, places):
        return places
    lengths = {len(step) if isinstance(step, list) else 0 for step in places}
    return np.array(places, dtype=np.float64) if len(lengths) == 1 and 0 not in lengths else None


def _lines(source: Source) -> list[Kept]:
    """Return the lines that are right, each with where it is, its path and its reference."""
    before, _, last = source.content.rpartition(b"\n")
    if last.strip() and loosely(last) is None:  # a crash left it incomplete
        number = source.lines_before + source.content.count(b"\n") + 1
        what = "is incomplete, because the program that wrote it was stopped there"
        source.refuse(Fault(f"{what}; `python -m wayscore_recorder {source}` removes it", f"line {number}"))
        source = structs.replace(source, content=before)
    return _kept_of(source, decode_each(source, Line, names=("episode",), expected=EXPECTED_LOG), _fault_of)


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
            return Fault(
                f"has {len(values)} values for {count} {each}s", field=f"field {field!r}", expected=EXPECTED_LOG
            )
    return None


TABLE_FORMAT, RECORDER_FORMAT = Table(), Recorder()
