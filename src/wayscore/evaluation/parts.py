"""A table of episodes in parts: each is a Parquet file that appears when it is finished.

`pyarrow.dataset` writes folders too, but does not say which parts are finished, and of what. Ours do: a part says what
it was made from and what its rows come to, so that an interrupted evaluation goes on where it stopped.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from wayscore import writing
from wayscore.episodes.problems import Problem, Problems
from wayscore.errors import FormatError, OptionError, OutputError
from wayscore.evaluation.table import EpisodeTable
from wayscore.evaluation.warnings import Seen
from wayscore.evaluation.work import Partial, Task
from wayscore.foreign import shown
from wayscore.formats import storage
from wayscore.formats.pieces import Piece
from wayscore.reading import size_limit
from wayscore.statistics.tally import Tally

MADE_FROM = b"wayscore.made_from"
"""The key under which a part says what it was made from ..."""
PARTIAL = b"wayscore.partial"
"""... and what its rows come to."""
ENDINGS = (".parquet", ".csv", ".jsonl")
"""What a file of episodes may be."""


def folder_of(target: str) -> str:
    """Return where the parts are until the table is complete."""
    return target.rstrip("/") + storage.PARTS


def path_of(target: str, number: int) -> str:
    """Return where a part is."""
    return f"{folder_of(target)}/part-{number:06d}.parquet"


def write_part(target: str, number: int, made_from: str, tables: Iterable[EpisodeTable], done: Partial) -> None:
    """Write a part from tables; `done` is what they come to when all are written."""
    coming = iter(tables)
    first = next(coming, None)
    import pyarrow as pa

    table = pa.table({"episode": pa.array([], pa.string())}) if first is None else first.to_arrow(coded=True)
    with storage.writing_parquet(path_of(target, number), table.schema) as out:
        out.add(table)
        for more in coming:
            out.add(more.to_arrow(coded=True).cast(table.schema))
        out.describe({MADE_FROM: made_from.encode(), PARTIAL: _to_bytes(done)})


def finished(pieces: Sequence[Piece], task: Task, into: Partial) -> set[int]:
    """Return the pieces whose parts are there, and merge what they come to."""
    found = set()
    for piece in pieces:
        path = path_of(task.target, piece.number)
        if not storage.exists(path):
            continue
        try:
            with storage.damage(path), storage.parquet_at(path) as file:
                notes = file.schema_arrow.metadata or {}
            if notes.get(MADE_FROM) != task.stamp(piece).encode():
                continue
            into.merge(_from_bytes(notes[PARTIAL]))
        except (FormatError, KeyError, ValueError, msgspec.MsgspecError):  # torn by a machine that stopped
            continue
        found.add(piece.number)
    return found


def check_target(target: str, pieces: Sequence[Piece]) -> None:
    """Refuse a place for the table where it would replace something else."""
    writing.check_place(target)
    whole = target.rstrip("/")
    if any(f"{storage.absolute(piece.file)}/".startswith(f"{storage.absolute(whole)}/") for piece in pieces):
        raise OutputError(f"{target}: is the run itself; write the scores to another file")
    if os.path.splitext(whole)[1] not in (*ENDINGS, ""):
        raise OptionError(f"<<episodes>> {target}: the ending must be .parquet, .csv or .jsonl, or none for a folder")
    inside = storage.names_in(whole) if storage.is_folder(whole) else []
    if storage.is_folder(whole) and (whole.endswith(ENDINGS) or not all(name.startswith("part-") for name in inside)):
        raise OutputError(f"{target}: is a folder that holds other things; name another place for the scores")


def assemble(target: str, count: int, metadata: Mapping[bytes, bytes]) -> list[str]:
    """Put the parts together under the table's name; return the files that it is in."""
    parts = [path_of(target, number) for number in range(count)]
    kept = {path.rpartition("/")[2] for path in parts}
    for name in storage.names_in(folder_of(target)):
        if name not in kept:  # what others left who were interrupted
            storage.remove(f"{folder_of(target)}/{name}")
    if not target.endswith(ENDINGS):
        storage.move(folder_of(target), target.rstrip("/"))
        return [f"{target.rstrip('/')}/{path.rpartition('/')[2]}" for path in parts]
    storage.clear_unfinished(target)
    if target.endswith(".parquet"):
        _as_parquet(target, parts, metadata)
    else:
        write_rows(target, (batch for path in parts for batch in _batches(path)))
    storage.remove(folder_of(target))
    return [target] if target.endswith(".parquet") else []


def write_rows(target: str, batches: Iterable[Any]) -> None:
    """Write record batches as CSV or JSON lines; what is infinite is empty or null."""
    import json

    import pyarrow as pa
    from pyarrow import csv

    with storage.replacing(target) as stream:
        if target.endswith(".csv"):
            writer = None
            for batch in batches:
                plain = _without_formulas(_plain(batch))
                writer = writer or csv.CSVWriter(stream, plain.schema)
                writer.write(plain)
            if writer is not None:
                writer.close()
        else:
            for batch in batches:
                rows = pa.Table.from_batches([_plain(batch)]).to_pylist()
                stream.write("".join(json.dumps(row, allow_nan=False) + "\n" for row in rows).encode())


def _without_formulas(batch: Any) -> Any:
    """Return a batch whose names spreadsheets take for text; `from_cell` reads them back."""
    import pyarrow as pa

    columns = {
        shown(name, "csv"): column
        if not pa.types.is_string(column.type)
        else pa.array([None if cell is None else shown(cell, "csv") for cell in column.to_pylist()], pa.string())
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    }
    return pa.record_batch(columns)


def _plain(batch: Any) -> Any:
    """Return a batch without codes for names, and with nothing in place of infinity."""
    import pyarrow as pa

    columns = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_dictionary(column.type):
            columns[name] = column.dictionary_decode()
        elif pa.types.is_floating(column.type):
            values = column.to_numpy(zero_copy_only=False)
            columns[name] = pa.array(values, mask=~np.isfinite(values))
        else:
            columns[name] = column
    return pa.record_batch(columns)


def _as_parquet(target: str, parts: Sequence[str], metadata: Mapping[bytes, bytes]) -> None:
    import pyarrow as pa

    batches = (batch for path in parts for batch in _batches(path) if len(batch))
    first = next(batches, None)
    if first is None:
        first = pa.record_batch({"episode": pa.array([], pa.string())})
    schema = pa.schema([(name, _type(kind)) for name, kind in zip(first.schema.names, first.schema.types, strict=True)])
    with storage.writing_parquet(target, schema.with_metadata(dict(metadata))) as out:
        for batch in (first, *batches):
            if batch.schema.names != schema.names:
                raise FormatError(
                    f"{target}: some files of the run give the columns {', '.join(schema.names)}, others "
                    f"{', '.join(batch.schema.names)}; give all of them the same"
                )
            out.add(pa.Table.from_batches([batch.replace_schema_metadata(None)]).cast(schema))


def _type(kind: Any) -> Any:
    import pyarrow as pa

    return pa.string() if pa.types.is_dictionary(kind) else kind


def _batches(path: str) -> Iterable[Any]:
    with storage.damage(path), storage.parquet_at(path) as file:
        yield from file.iter_batches()


def _to_bytes(done: Partial) -> bytes:
    answers = None if done.answers is None else done.answers.tobytes()
    problems = (done.problems.counts, done.problems.first)
    content = (
        done.tally.to_bytes(),
        problems,
        answers,
        done.counts,
        done.rows,
        sorted(done.scenes),
        done.snap,
        done.seen.to_list(),
    )
    import base64
    import zlib

    return base64.b64encode(zlib.compress(msgspec.msgpack.encode(content), 1))


def _from_bytes(content: bytes) -> Partial:
    import base64
    import zlib

    try:
        unpacker = zlib.decompressobj()
        unpacked = unpacker.decompress(base64.b64decode(content), size_limit())
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if not unpacker.eof:
        raise ValueError("it is cut, or too large")
    tally, (found, first), answers, counts, rows, scenes, snap, seen = msgspec.msgpack.decode(unpacked)
    named = {kind: [Problem(*problem) for problem in some] for kind, some in first.items()}
    numbers = None if answers is None else np.frombuffer(answers, dtype=np.int64)
    problems = Problems(counts=found, first=named)
    return Partial(Tally.from_bytes(tally), problems, numbers, counts, Seen(*seen), rows, set(scenes), snap)
