"""Any run or reference file to Parquet, once, for bulk work: a chunk at a time, so that files may be of any size.

Each chunk becomes a part beside the result, which gets its name when all parts are there; work that was stopped can go
on from the parts that are finished.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from wayscore import __version__
from wayscore.episodes import References
from wayscore.errors import FormatError, OptionError, OutputError, did_you_mean
from wayscore.evaluation.parts import Parts
from wayscore.formats import storage
from wayscore.formats.base import Kind
from wayscore.formats.beginning import PARQUET_MAGIC, look
from wayscore.formats.columns import notes_of
from wayscore.formats.cutting import can_cut, cut, read_chunk, read_whole
from wayscore.formats.inputs import Input, scenes_of
from wayscore.formats.layout import CHECKSUM, FORMAT, OPTIONS, Labels, Layout, checksum_of, dimension_of, labels_of
from wayscore.formats.storage import damage, parquet_file

ROWS = 100_000
"""Records of a part."""
Progress: TypeAlias = Callable[[float, int], None]
"""Told the share of the file that has been read and the number of rows, after every part."""
Batch: TypeAlias = tuple[float, Callable[[], list[Any]]]
"""The share of a file that has been read after some of its records, and a function that reads them."""


@dataclass(frozen=True, slots=True)
class Converted:
    """A file that was converted, or checked.

    Attributes:
        file: where it is.
        rows: how many it has.
        checksum: of its content (SHA-256, hexadecimal), however it was cut.
        kind: "references" or "run".
        read: bytes of the file that it was made from.
        written: bytes that it has.
        kept: how many of its parts were there already.
    """

    file: str
    rows: int
    checksum: str
    kind: Kind
    read: int
    written: int
    kept: int = 0


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    references: str | os.PathLike[str] | References | None = None,
    kind: Kind | None = None,
    rows: int = ROWS,
    resume: bool = False,
    progress: Progress | None = None,
    **reader_options: Any,
) -> Converted:
    """Convert a run or a reference file to Parquet, which `load_run` and `load_references` read as the original.

    Of several answers to one episode all are kept. Stopped work leaves its parts in a folder named as the target with
    `.parts` at its end.

    Args:
        source: the file, in any format that wayscore reads.
        target: the file to write, which ends in .parquet.
        references: what a run answers: each row gets its scene, and labels are numbered scene by scene.
        kind: "run" or "references" where a file could be both: a table with a scene is references, unless it has a
            column `stopped` or `references` are given.
        rows: records in memory at a time.
        resume: keep the parts that were finished before, if the file and the settings are still the same.
        progress: called after every part.
        **reader_options: settings of the references' reader; with them, a file is read as a whole.

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
    _check(address, wanted, rows, kind)
    given = Input.begin(address)
    form, kind = given.recognise("run" if kind is None and references is not None else kind)
    if kind == "references" and references is not None:
        raise OptionError(f"{address}: references need no references; those belong to a run")
    scenes = None if references is None else scenes_of(references)
    notes = notes_of(given.source)
    notes.setdefault(FORMAT, form.name)
    apart = can_cut(form, kind, reader_options)
    if apart:
        batches: Iterable[Batch] = (
            (chunk.share, partial(read_chunk, given, chunk, form, kind)) for chunk in cut(given, form, rows)
        )
        dense = kind == "references" and look(given.source.content).has("dense")
    else:
        items, told = read_whole(given, form, kind, reader_options)
        notes |= {OPTIONS: told} if told else {}
        batches = _slices(items, rows)
        dense = kind == "references" and any(item.dense is not None for item in items)
    work = _Work(address, kind, scenes, dense, {name: note.encode() for name, note in notes.items()})
    settings = [
        __version__,
        address,
        given.stamp,
        form.name,
        kind,
        rows,
        dense,
        sorted(notes.values()),
        _digest(scenes),
    ]
    parts = Parts(wanted)
    if not resume:
        parts.remove()
    kept = count = 0
    for number, (share, make) in enumerate(batches):
        made_from = json.dumps([*settings, number])
        if resume and apart and parts.is_finished(count, made_from):
            work.take(parts, count)
            kept += 1
        elif not work.write(make(), parts, count, made_from):
            continue  # blank lines
        count += 1
        if progress is not None:
            progress(share, work.rows)
    if work.layout is None:
        raise FormatError(f"{address}: holds no episodes; expected at least one")
    schema = work.layout.schema(work.labels)
    with damage(f"{parts.folder} (convert without --resume to make it anew)"):
        checksum = checksum_of(schema, (batch for number in range(count) for batch in _rows(parts.path(number))))
    parts.assemble(count, {**schema.metadata, CHECKSUM: checksum.encode()})
    size = len(given.source.content) if given.whole else _size(address)
    return Converted(wanted, work.rows, checksum, kind, size, _size(wanted), kept)


def check(file: str | os.PathLike[str]) -> Converted:
    """Read all of a converted file and compare it with the checksums that it carries.

    Raises:
        FormatError: it was not written by `convert`, or is not what was written.
    """
    address = os.fspath(file)
    with damage(address), storage.open_file(address) as stream:
        if stream.read(len(PARQUET_MAGIC)) != PARQUET_MAGIC:
            raise FormatError(f"{address}: is not Parquet; `wayscore convert` makes it so")
        opened = parquet_file(stream)
        schema = opened.schema_arrow
        said = (schema.metadata or {}).get(CHECKSUM)
        if said is None:
            raise FormatError(f"{address}: carries no checksum; `wayscore convert` writes files that do")
        rows = opened.metadata.num_rows
        try:
            found = checksum_of(schema, opened.iter_batches())
        except FormatError as error:
            raise FormatError(f"{address}: is not what was written: {error}") from None
    if found.encode() != said:
        raise FormatError(
            f"{address}: is not what was written: its checksum is {found}, and it should be "
            f"{said.decode(errors='replace')}; copy or convert it again"
        )
    size = _size(address)
    return Converted(address, rows, found, "run" if "stopped" in schema.names else "references", size, size)


@dataclass(slots=True)
class _Work:
    """What the parts so far have settled: the columns, the codes of labels, and the names of references."""

    address: str
    kind: Kind
    scenes: Mapping[str, str] | None
    dense: bool
    notes: Mapping[bytes, bytes]
    layout: Layout | None = None
    labels: Labels = field(default_factory=Labels)
    names: set[str] = field(default_factory=set)
    rows: int = 0

    def write(self, items: list[Any], parts: Parts, number: int, made_from: str) -> bool:
        """Make a part of some records, if there are any."""
        if not items:
            return False
        table = self._table(items)
        with parts.writing(number, table.schema, made_from) as add:
            add(table)
        return True

    def _table(self, items: list[Any]) -> Any:
        if self.layout is None:
            self._begin(dimension_of(items[0].path))
        assert self.layout is not None
        if self.kind == "references":
            self._add_names([item.episode for item in items])
        scenes = None if self.scenes is None else [self._scene(item.episode, self.scenes) for item in items]
        try:
            table = self.layout.table(items, self.labels, scenes)
        except FormatError as error:
            raise FormatError(f"{self.address}, {error}") from None
        self.rows += len(items)
        return table

    def take(self, parts: Parts, number: int) -> None:
        """Go on after a part that is there already."""
        with damage(parts.path(number)), storage.open_file(parts.path(number)) as stream:
            file = parquet_file(stream)
            schema = file.schema_arrow
            self.rows += file.metadata.num_rows
            if self.kind == "references":
                self._add_names(file.read(columns=["episode"]).column("episode").to_pylist())
        known = labels_of(schema, parts.path(number))
        self.labels = Labels(known)
        if self.layout is None:
            self._begin(None if known is not None else schema.field("path").type.value_type.list_size)

    def _begin(self, dimension: int | None) -> None:
        self.layout = Layout(self.kind, dimension, self.scenes is not None, self.dense, self.notes)

    def _add_names(self, names: list[str]) -> None:
        if not self.names.isdisjoint(names):
            twice = next(name for name in names if name in self.names)
            raise FormatError(
                f"{self.address}: episode {twice!r} comes twice; a run could mean either, so keep one of them"
            )
        self.names.update(names)

    def _scene(self, episode: str, scenes: Mapping[str, str]) -> str:
        if episode not in scenes:
            hint = did_you_mean(episode, scenes) if len(scenes) < 10_000 else ""
            raise FormatError(
                f"{self.address}: episode {episode!r} is none of the {len(scenes):,} of the references{hint or ';'} "
                "give those that this run answers"
            )
        return scenes[episode]


def _check(source: str, target: str, rows: int, kind: str | None) -> None:
    if rows < 1:
        raise OptionError(f"a part has at least one row, got {rows}")
    if kind not in (None, "run", "references"):
        raise OptionError(f"a file is a run or references, got {kind!r}")
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
        raise OptionError(f"{target}: would take the place of the file that is converted; choose another name")


def _slices(items: list[Any], rows: int) -> Iterator[Batch]:
    for start in range(0, len(items), rows):
        yield min(1.0, (start + rows) / len(items)), partial(items.__getitem__, slice(start, start + rows))


def _rows(address: str) -> Iterator[Any]:
    with parquet_file(storage.open_file(address)) as file:
        yield from file.iter_batches()


def _digest(scenes: Mapping[str, str] | None) -> str:
    return "" if scenes is None else hashlib.sha256(json.dumps(scenes).encode()).hexdigest()


def _size(address: str) -> int:
    system, path = storage.system_of(address)
    return int(system.get_file_info(path).size)
