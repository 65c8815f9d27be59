"""What formats share: the file that they are given, what is wrong with it, their protocol, and how they gather records.

A format is any object with a `name`, a `title` and three methods. Those of other packages are found by entry
points of the group `wayscore.formats`, each naming an instance:

    [project.entry-points."wayscore.formats"]
    mine = "my_package.formats:MINE"
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from msgspec import Struct

from wayscore import reading
from wayscore.errors import FormatError, did_you_mean, shortened
from wayscore.formats.episodes import EpisodeBatch, Query, Reference, References

if TYPE_CHECKING:
    from wayscore.formats.sniff import Beginning

Kind: TypeAlias = Literal["references", "run"]
REFERENCES: tuple[Kind, ...] = ("references",)
RUN: tuple[Kind, ...] = ("run",)
MEMBER_MARK = "::"
MARK = b"\xef\xbb\xbf"
"""What some editors put before UTF-8."""
TAR_MAGIC = (257, b"ustar")
ENDINGS = {".gz", ".bz2", ".xz", ".json", ".jsonl", ".ndjson", ".csv", ".parquet", ".tar", ".tgz", ".txt"}
EMPTY_PATH = "its path is empty; an agent that never moves has its start"


class Fault(Struct, frozen=True):
    """One thing that is wrong with a file.

    Attributes:
        what: in words, such as "must be text, got an integer".
        where: the record, such as "line 4"; "" for the file as a whole.
        episode: its name, where the record tells one.
        field: the part of the record, such as "field 'trajectory', item 2".
        expected: what should be there.

    >>> str(Fault("must be text, got null", "record 3", "7_0", "field 'scan'", "R2R references"))
    "record 3 (episode '7_0'), field 'scan': must be text, got null; expected R2R references"
    """

    what: str
    where: str = ""
    episode: str | None = None
    field: str = ""
    expected: str = ""

    @property
    def place(self) -> str:
        """Where the fault is, in words."""
        named = "" if self.episode is None else f"episode {self.episode!r}"
        named = f"{self.where} ({named})" if self.where and named else self.where or named
        return ", ".join(part for part in (named, self.field) if part)

    def __str__(self) -> str:
        text = f"{self.place}: {self.what}" if self.place else self.what
        return f"{text}; expected {self.expected}" if self.expected else text

    def of(self, file: object) -> str:
        """Return the same as a sentence about a file."""
        return f"{file}, {self}" if self.place else f"{file}: {self}"


class Source(Struct, frozen=True):
    """A file's content, decompressed, and how errors and tables call it.

    Attributes:
        path: the file, or the tar that holds it as `member`.
        faults: receives what is wrong with single records; None: the first is an error.
        lines_before: how many lines of the file come before the content, where that is a part of it.

    >>> source = Source(Path("results/seq2seq.v2.json.gz"), b"[]")
    >>> source.name, source.stem
    ('seq2seq.v2.json.gz', 'seq2seq.v2')
    """

    path: Path
    content: bytes
    member: str = ""
    faults: list[Fault] | None = None
    lines_before: int = 0

    def __str__(self) -> str:
        return f"{self.path}{MEMBER_MARK}{self.member}" if self.member else str(self.path)

    def refuse(self, fault: Fault) -> None:
        """Raise a fault as an error; where faults are collected, note it, and its record is left out."""
        if self.faults is None:
            raise FormatError(fault.of(self))
        self.faults.append(fault)

    @property
    def name(self) -> str:
        """The file's own name."""
        return PurePosixPath(self.member).name if self.member else self.path.name

    @property
    def stem(self) -> str:
        """The name without its endings."""
        stem = PurePosixPath(self.name)
        while stem.suffix.lower() in ENDINGS:
            stem = stem.with_suffix("")
        return str(stem)


def read(path: str | os.PathLike[str], member: str | None = None) -> Source:
    """Read a file, compressed or not, or one member of a tar: `runs.tar.gz::agents/a.json`, or `member` of `path`."""
    path = Path(path)
    if member is None and MEMBER_MARK in str(path) and not path.exists():
        name, _, member = str(path).rpartition(MEMBER_MARK)
        path = Path(name)
    with reading.opened(path) as file:
        at, magic = TAR_MAGIC
        if file.peek(at + 8)[at : at + len(magic)] != magic:
            if member:
                raise FormatError(f"{path}: is not a tar, so it has no member {shortened(member)}; leave that out")
            return Source(path, file.read().removeprefix(MARK))
        names = [entry.name for entry, _ in reading.members(file, str(path), stream=True)]
    if member is None and len(names) != 1:
        examples = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        example = f"; name one, for example {path}{MEMBER_MARK}{names[0]}" if names else ""
        raise FormatError(f"{path}: is a tar of {len(names)} files ({examples}){example}")
    member = names[0] if member is None else member
    if member not in names:
        raise FormatError(f"{path}: has no file named {shortened(member)} inside{did_you_mean(member, names)}")
    if names.count(member) > 1:
        raise FormatError(f"{path}: has two files named {shortened(member)} inside; keep one of them")
    with reading.opened(path) as file:
        for entry, archive in reading.members(file, str(path), stream=True):
            if entry.name == member:
                stream = archive.extractfile(entry)
                assert stream is not None  # only files come here
                inner = reading.BoundedFile(stream, f"{path}{MEMBER_MARK}{entry.name}", reading.size_limit())
                return Source(path, inner.read().removeprefix(MARK), member)
    raise FormatError(f"{path}: has no member {member!r}")  # pragma: no cover - it was among the names


class Format(Protocol):
    """A way in which people write references and runs.

    Attributes:
        name: what `format=` takes.
        title: what sentences call it.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def title(self) -> str: ...  # noqa: D102

    def sniff(self, beginning: Beginning) -> Collection[Kind]:
        """Say what a file with this beginning can be read as: references, a run, both or (empty) neither."""

    def references(self, source: Source) -> References:
        """Read references; further keyword arguments are the format's options."""

    def run(self, source: Source) -> EpisodeBatch:
        """Read the answers of a run; further keyword arguments are the format's options.

        A record that is wrong goes to `source.refuse`, which raises an error, or notes it where `wayscore validate`
        lists them all. The content may be a part of the file: some of its lines.
        """


def make_references(source: Source, form: Format, episodes: Iterable[Reference]) -> References:
    """Gather references, refusing two of one name; note where a test split withholds its paths."""
    by_name: dict[str, Reference] = {}
    withheld = True
    for reference in episodes:
        if reference.episode in by_name:
            raise FormatError(
                f"{source}: episode {reference.episode!r} comes twice; a run could mean either, so keep one of them"
            )
        if not len(reference.path):
            raise FormatError(
                f"{source}, episode {reference.episode!r}: its path is empty; a path has at least one node or point"
            )
        by_name[reference.episode] = reference
        withheld = withheld and len(reference.path) == 1 and not reference.goals
    if not by_name:
        raise FormatError(f"{source}: holds no episodes; expected at least one instruction")
    return References(source.name, form.name, by_name, withheld)


def make_batch(source: Source, queries: Iterable[Query]) -> EpisodeBatch:
    """Gather answers, refusing those without a path."""
    answers = []
    for query in queries:
        if len(query.path):
            answers.append(query)
        else:
            source.refuse(Fault(EMPTY_PATH, episode=query.episode))
    return EpisodeBatch.from_queries(answers, where=lambda row: f"{source}, episode {answers[row].episode!r}")
