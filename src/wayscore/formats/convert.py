"""convert: any run or reference file to Parquet, once, for work with many episodes.

A path of labels is a list of texts (or of integers), a path of points a list of fixed-size lists. Dictionaries and the
checksums of pages are Parquet's own; the metadata says only which format and settings the rows were read with.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from wayscore import writing
from wayscore.errors import FormatError, OptionError, OutputError, did_you_mean
from wayscore.formats import load_references, storage
from wayscore.formats.base import MEMBER_MARK, Kind, Source, read
from wayscore.formats.chunks import find_files, head_of, plan_run
from wayscore.formats.episodes import References
from wayscore.formats.sniff import choose, look
from wayscore.formats.storage import FORMAT, OPTIONS, UP_AXIS

ROWS = 100_000
"""Rows that are written at once."""


class Converted(Struct, frozen=True):
    """A file that was converted: how many rows of what it has, and the bytes that were `read` and `written`."""

    file: str
    rows: int
    kind: Kind
    read: int
    written: int


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    references: str | os.PathLike[str] | References | None = None,
    kind: Kind | None = None,
    progress: Callable[[int, int], None] | None = None,
    **reader_options: Any,
) -> Converted:
    """Convert a run or a reference file to Parquet, which is read wherever the original is.

    JSON lines and Parquet are read in batches, other files whole. Of several answers to one episode all are kept. The
    target appears when all of it is written.

    Args:
        source: the file, in any format that wayscore reads.
        target: the file to write, which ends in .parquet.
        references: what a run answers: each row gets its scene.
        kind: "run" or "references" where a file could be both: a table with a scene is references, unless it has a
            column `stopped` or `references` are given.
        progress: called after every batch with how many rows are done, and of how many (0 where that is not known).
        **reader_options: settings of the references' reader.

    >>> from tempfile import TemporaryDirectory
    >>> from wayscore.formats import load_run
    >>> with TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "agent.jsonl")
    ...     with open(file, "w") as stream:
    ...         _ = stream.write('{"episode": "e1", "path": ["a", "b"]}')
    ...     made = convert(file, os.path.join(folder, "agent.parquet"))
    ...     made.rows, load_run(made.file).queries["e1"].path
    (1, ['a', 'b'])
    """
    address, wanted = os.fspath(source), os.fspath(target)
    if kind not in (None, "run", "references"):
        raise OptionError(f"a file is a run or references, not {kind!r}")
    if not wanted.endswith(".parquet"):
        raise OptionError(f"{wanted}: the file to write must end in .parquet")
    writing.check_place(wanted)
    home = os.path.dirname(wanted)
    if home and not os.path.isdir(home):
        raise OutputError(f"{wanted}: cannot be written: there is no folder {home}")
    if os.path.isdir(wanted):
        raise OutputError(f"{wanted}: cannot be written: it is a folder")
    if os.path.exists(address) and os.path.exists(wanted) and os.path.samefile(address, wanted):
        raise OptionError(f"{wanted}: would replace the file that is converted; choose another name")
    kind = kind or ("run" if references is not None else _kind_of(address))
    if kind == "references":
        if references is not None:
            raise OptionError(f"{address}: references need no references; those belong to a run")
        found = load_references(address, **reader_options)
        listed = list(found.episodes.values())
        archive, _, member = address.partition(MEMBER_MARK)
        options = found.name.removeprefix(Source(Path(archive), b"", member).name)
        notes = {FORMAT: found.format, OPTIONS: options, UP_AXIS: "" if found.up_axis is None else str(found.up_axis)}
        schema = _schema(kind, listed[0], dense=any(reference.dense is not None for reference in listed))
        batches: Iterator[Sequence[Any]] = (listed[start : start + ROWS] for start in range(0, len(listed), ROWS))
        scenes, total = None, len(listed)
    else:
        if reader_options:
            raise OptionError(f"{address}: a run has no reader settings; those belong to references")
        plan = plan_run(address)
        read_in = (batch.to_queries() for batch in plan.batches())
        some = next(read_in, [])
        if not some:
            raise FormatError(f"{address}: holds no episodes; expected at least one")
        if references is not None and not isinstance(references, References):
            references = load_references(references)
        scenes = None if references is None else {one.episode: one.scene for one in references.episodes.values()}
        schema = _schema(kind, some[0], scene=scenes is not None)
        batches, total, notes = chain([some], read_in), plan.rows, {FORMAT: plan.format}
    schema = schema.with_metadata({name: note for name, note in notes.items() if note})
    rows = 0
    with storage.writing_parquet(wanted, schema) as out:
        for items in batches:
            try:
                out.write_table(_table(items, schema, scenes))
            except FormatError as error:
                raise FormatError(f"{address}{error.args[0]}") from None
            rows += len(items)
            if progress is not None:
                progress(rows, total)
    return Converted(wanted, rows, kind, _size(address), _size(wanted))


def _schema(kind: Kind, first: Any, scene: bool = False, dense: bool = False) -> Any:
    """Return the columns of a file whose first row is this one."""
    import pyarrow as pa

    place, text = _type_of(first.path) or pa.string(), pa.string()
    columns = {"episode": text, "scene": text, "path": pa.list_(place)}
    if kind == "run":
        columns |= {"stopped": pa.bool_(), "recorded": text}
        if not scene:
            del columns["scene"]
    else:
        columns |= {"path_id": text, "instruction": text, "goals": pa.list_(text)}
        columns |= {"start_distance": pa.float64(), "heading": pa.float64(), "facts": text}
        if dense:
            columns["dense"] = pa.list_(place if pa.types.is_nested(place) else pa.list_(pa.float64(), 3))
    return pa.schema(list(columns.items()))


def _table(items: Sequence[Any], schema: Any, scenes: Mapping[str, str] | None) -> Any:
    """Return queries or references as an Arrow table.

    Raises:
        FormatError: a path is of another kind than the file's, or an episode is none of the references.
    """
    import pyarrow as pa

    columns: dict[str, Any] = {}
    for name, kind in zip(schema.names, schema.types, strict=True):
        if name in ("path", "dense"):
            columns[name] = _paths(items, name, kind)
        elif name == "scene" and scenes is not None:
            unknown = next((item.episode for item in items if item.episode not in scenes), None)
            if unknown is not None:
                hint = did_you_mean(unknown, scenes) if len(scenes) < 10_000 else ""
                raise FormatError(
                    f": episode {unknown!r} is none of the {len(scenes):,} of the references{hint or ';'} "
                    "give those that this run answers"
                )
            columns[name] = [scenes[item.episode] for item in items]
        elif name == "goals":  # those that are points are facts
            named = [all(isinstance(goal, str) for goal in item.goals) for item in items]
            pairs = list(zip(items, named, strict=True))
            columns["goals"] = [item.goals if text else () for item, text in pairs]
            columns["facts"] = [
                _json(item.facts if text else {**item.facts, "goals": item.goals}) for item, text in pairs
            ]
        elif name == "recorded":
            columns[name] = [_json(item.recorded) for item in items]
        elif name not in columns:
            columns[name] = [getattr(item, name) for item in items]
    return pa.table(columns, schema=schema)


def _paths(items: Sequence[Any], field: str, kind: Any) -> Any:
    """Return the paths of all items as an Arrow array; a dense walk may be missing."""
    import pyarrow as pa

    paths = [getattr(item, field) for item in items]
    place = kind.value_type
    try:
        if not pa.types.is_nested(place):
            return pa.array(paths, kind)
        if all(path is None or _type_of(path) == place for path in paths):
            offsets = np.cumsum([0, *(0 if path is None else len(path) for path in paths)], dtype=np.int32)
            numbers = np.concatenate([*(path for path in paths if path is not None), np.empty((0, place.list_size))])
            points = pa.FixedSizeListArray.from_arrays(pa.array(numbers.ravel()), place.list_size)
            return pa.ListArray.from_arrays(pa.array(offsets), points, mask=pa.array([path is None for path in paths]))
    except (pa.ArrowException, TypeError, OverflowError):
        pass
    item, found = next((item, found) for item in items if (found := _type_of(getattr(item, field))) != place)
    if field == "dense":
        raise FormatError(f", episode {item.episode!r}: its dense walk has {_words(found)}, expected {_words(place)}")
    raise FormatError(
        f", episode {item.episode!r}: its path has {_words(found)}, but the file begins with {_words(place)}; Parquet "
        "holds one kind in a file, so convert them apart"
    )


def _type_of(path: Any) -> Any:
    """Return the Arrow type of a path's nodes or points; None where labels are of several kinds."""
    import pyarrow as pa

    if isinstance(path, np.ndarray):
        return pa.list_(pa.float64(), int(path.shape[1]))
    if path is None or all(isinstance(label, str) for label in path):
        return pa.string()
    return pa.int64() if all(isinstance(label, int) and -(2**63) <= label < 2**63 for label in path) else None


def _words(place: Any) -> str:
    if place is None:
        return "both text and integers, or integers of more than 64 bits"
    return {"string": "labels", "int64": "integers"}.get(str(place)) or f"points of {place.list_size} coordinates"


def _json(facts: Mapping[str, Any]) -> str | None:
    """Return facts as a JSON object; infinity, which JSON does not have, becomes null."""
    return msgspec.json.encode(facts).decode() if facts else None


def _kind_of(address: str) -> Kind:
    """Say what a file is: rows of a table that have a scene are a run if they say whether the agent stopped."""
    file = find_files(address)[0] if os.path.isdir(address) else address
    head = head_of(file) if storage.is_remote(file) or os.path.isfile(file) else read(file)
    try:
        form = choose(head, "references")
    except FormatError:
        return "run"
    beginning = look(head.content)
    return "run" if "run" in form.sniff(beginning) and beginning.has("stopped") else "references"


def _size(address: str) -> int:
    if not storage.is_remote(address):
        path = address if os.path.exists(address) else address.partition(MEMBER_MARK)[0]
        return os.path.getsize(path) if os.path.isfile(path) else 0
    system, path = storage.system_of(address)
    return int(system.size(path))
