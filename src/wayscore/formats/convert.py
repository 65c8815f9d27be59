"""convert: any run or reference file to Parquet, once, for work with many episodes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import Struct

from wayscore.episodes.references import Query, Reference, References
from wayscore.errors import FormatError, OptionError, OutputError, did_you_mean
from wayscore.formats import load_references, storage
from wayscore.formats.base import Kind, choose
from wayscore.formats.beginning import PARQUET_MAGIC, look
from wayscore.formats.columns import FORMAT, OPTIONS, UP_AXIS
from wayscore.formats.files import MEMBER_MARK, Source, read
from wayscore.formats.layout import CHECKSUM, Checksum, Labels, Layout, checksum_of, dimension_of
from wayscore.formats.plan import head_of, plan_run
from wayscore.formats.registry import FORMATS

ROWS = 100_000
"""Rows that are written at once."""
Progress = Callable[[int, int], None]
"""Called with how many rows are done, and of how many (0 where that is not known)."""


class Converted(Struct, frozen=True):
    """A file that was converted, or checked.

    Attributes:
        file: where it is.
        rows: how many it has.
        checksum: of its content (SHA-256, hexadecimal), however its rows were grouped.
        kind: "references" or "run".
        read: bytes of the file that it was made from.
        written: bytes that it has.
    """

    file: str
    rows: int
    checksum: str
    kind: Kind
    read: int
    written: int


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    references: str | os.PathLike[str] | References | None = None,
    kind: Kind | None = None,
    progress: Progress | None = None,
    **reader_options: Any,
) -> Converted:
    """Convert a run or a reference file to Parquet, which is read wherever the original is.

    JSON lines and Parquet are read in batches, other files whole. Of several answers to one episode all are kept. The
    target appears when all of it is written.

    Args:
        source: the file, in any format that wayscore reads.
        target: the file to write, which ends in .parquet.
        references: what a run answers: each row gets its scene, and labels are numbered scene by scene.
        kind: "run" or "references" where a file could be both: a table with a scene is references, unless it has a
            column `stopped` or `references` are given.
        progress: called after every batch.
        **reader_options: settings of the references' reader.

    Raises:
        FormatError: naming the line, record or row that cannot be read.
        OutputError: the target cannot be written.

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
    _check(address, wanted, kind)
    kind = kind or ("run" if references is not None else _kind_of(address))
    if kind == "references":
        if references is not None:
            raise OptionError(f"{address}: references need no references; those belong to a run")
        found = load_references(address, **reader_options)
        listed = list(found.episodes.values())
        options = found.name.removeprefix(_source_name(address))
        notes = {FORMAT: found.format.encode(), **({OPTIONS: options.encode()} if options else {})}
        if found.up_axis is not None:
            notes[UP_AXIS] = str(found.up_axis).encode()
        layout = Layout("references", dimension_of(listed[0].path), dense=any(r.dense is not None for r in listed))
        batches: Iterator[Sequence[Any]] = _sliced(listed)
        scenes, total = None, len(listed)
    else:
        if reader_options:
            raise OptionError(f"{address}: a run has no reader settings; those belong to references")
        plan = plan_run(address)
        scenes = None if references is None else _scenes_of(references)
        read_in = (batch.to_queries() for batch in plan.batches())
        some = next(read_in, [])
        if not some:
            raise FormatError(f"{address}: holds no episodes; expected at least one")
        layout = Layout("run", dimension_of(some[0].path), scene=scenes is not None)
        batches, total, notes = chain([some], read_in), plan.rows, {FORMAT: plan.format.encode()}
    tell = progress or (lambda _done, _all: None)
    rows = _write(address, wanted, batches, layout, notes, scenes, lambda done: tell(done, total))
    return Converted(wanted, *rows, kind, _size(address), _size(wanted))


def check(file: str | os.PathLike[str]) -> Converted:
    """Read all of a converted file and compare it with the checksum that it carries.

    Raises:
        FormatError: it was not written by `convert`, or is not what was written.
    """
    address = os.fspath(file)
    with storage.damage(address), storage.open_native(address) as stream:
        if stream.read(len(PARQUET_MAGIC)) != PARQUET_MAGIC:
            raise FormatError(f"{address}: is not Parquet; `wayscore convert` makes it so")
        opened = storage.parquet_file(stream, address)
        schema = opened.schema_arrow
        said = (schema.metadata or {}).get(CHECKSUM)
        if said is None:
            raise FormatError(f"{address}: carries no checksum; `wayscore convert` writes files that do")
        rows = opened.metadata.num_rows
        found = checksum_of(schema, opened.iter_batches())
    if found.encode() != said:
        raise FormatError(
            f"{address}: is not what was written: its checksum is {found}, and it should be "
            f"{said.decode(errors='replace')}; copy or convert it again"
        )
    size = _size(address)
    return Converted(address, rows, found, "run" if "stopped" in schema.names else "references", size, size)


def _write(
    address: str,
    target: str,
    batches: Iterator[Sequence[Query | Reference]],
    layout: Layout,
    notes: Mapping[bytes, bytes],
    scenes: Mapping[str, str] | None,
    progress: Callable[[int], Any],
) -> tuple[int, str]:
    """Write rows; return how many, and their checksum."""
    labels, rows = Labels(), 0
    sums = Checksum()
    with storage.writing_parquet(target, layout.schema().with_metadata(dict(notes))) as out:
        for items in batches:
            where = None if scenes is None else [_scene(address, item.episode, scenes) for item in items]
            try:
                table = layout.table(items, labels, where)
            except FormatError as error:
                raise FormatError(f"{address}, {error.args[0]}") from None
            out.add(table.replace_schema_metadata(dict(notes)))
            sums.add(table)
            rows += len(items)
            progress(rows)
        described = {**notes, **layout.labels(labels)}
        schema = layout.schema().with_metadata(described)
        checksum = sums.of(schema)
        out.describe({**described, CHECKSUM: checksum.encode()})
    return rows, checksum


def _kind_of(address: str) -> Kind:
    """Say what a file is: rows of a table that have a scene are a run if they say whether the agent stopped."""
    head = _head(address)
    try:
        form = choose(head, "references", None, FORMATS)
    except FormatError:
        return "run"
    beginning = look(head.content)
    return "run" if "run" in form.sniff(beginning) and beginning.has("stopped") else "references"


def _head(address: str) -> Source:
    if storage.is_remote(address) or os.path.isfile(address):
        return head_of(address)
    return read(address) if not os.path.isdir(address) else head_of(storage.find_files(address)[0])


def _sliced(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), ROWS):
        yield items[start : start + ROWS]


def _scenes_of(references: str | os.PathLike[str] | References) -> Mapping[str, str]:
    known = references if isinstance(references, References) else load_references(references)
    return {name: reference.scene for name, reference in known.episodes.items()}


def _scene(address: str, episode: str, scenes: Mapping[str, str]) -> str:
    if episode not in scenes:
        hint = did_you_mean(episode, scenes) if len(scenes) < 10_000 else ""
        raise FormatError(
            f"{address}: episode {episode!r} is none of the {len(scenes):,} of the references{hint or ';'} "
            "give those that this run answers"
        )
    return scenes[episode]


def _source_name(address: str) -> str:
    archive, _, member = address.partition(MEMBER_MARK)
    return Source(Path(archive), b"", member).name


def _check(source: str, target: str, kind: str | None) -> None:
    if kind not in (None, "run", "references"):
        raise OptionError(f"a file is a run or references, not {kind!r}")
    if not target.endswith(".parquet"):
        raise OptionError(f"{target}: the file to write must end in .parquet")
    if storage.is_remote(target):
        return
    home = os.path.dirname(target)
    if home and not os.path.isdir(home):
        raise OutputError(f"{target}: cannot be written: there is no folder {home}")
    if os.path.isdir(target):
        raise OutputError(f"{target}: cannot be written: it is a folder")
    if os.path.exists(source) and os.path.exists(target) and os.path.samefile(source, target):
        raise OptionError(f"{target}: would replace the file that is converted; choose another name")


def _size(address: str) -> int:
    if not storage.is_remote(address):
        path = address if os.path.exists(address) else address.partition(MEMBER_MARK)[0]
        return os.path.getsize(path) if os.path.isfile(path) else 0
    system, path = storage.system_of(address)
    return int(system.get_file_info(path).size)
