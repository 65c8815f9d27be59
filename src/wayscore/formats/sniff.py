"""What a file is, by its beginning: its layout, the format that reads it, and what to do if none does.

Only the beginning is looked at, so a file that is damaged further on is still recognised, and its reader can
say what is wrong with it.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from wayscore.errors import FormatError, OptionError, did_you_mean
from wayscore.formats.base import Format, Kind, Source, read
from wayscore.formats.episodes import References

ENTRY_POINTS = "wayscore.formats"
HEAD = 2**16
"""Bytes looked at."""
PARQUET_MAGIC = b"PAR1"
DELIMITERS = (",", ";", "\t")
"""What stands between the cells of a table; spreadsheets write semicolons where a comma is the decimal point."""
LIST = "episodes"
"""The field in which one JSON object lists its records, beside a summary of them."""
Layout: TypeAlias = Literal["array", "object", "lines", "csv", "parquet", "text", "empty"]
Value: TypeAlias = Literal["text", "point", "other"]

NAMES: dict[str, tuple[str, ...]] = {
    "episode": ("episode", "episode_id", "instr_id", "instruction_id", "id"),
    "scene": ("scene", "scene_id", "scan"),
    "path": ("path", "trajectory", "nodes", "viewpoints", "positions"),
}
"""What a column may be called; of several that a table has, the first counts."""
_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*(:?)|([{}\[\]])|[^\s,:"{}\[\]]+')


class Beginning(Struct, frozen=True):
    """The beginning of a file.

    Attributes:
        layout: a JSON array, one JSON object, JSON lines, CSV with a header, Parquet, other text, or nothing.
        keys: the first record's fields, or the columns; of one JSON object, its own fields as far as seen.
        opens: the brackets before the first plain value: `{[[` for `{"7": [[1.5, ...`.
        inner: the fields of the first object inside the first record.
        json: it is JSON of any kind.
        cut: the file ends before its first record does.
        listed: the fields of the first record in the list `episodes` of one JSON object.
        values: what the first plain value in each of the first record's fields is: text, part of a point (a number in
            a list of lists, or of poses), or something else.

    >>> look(b'[{"instr_id": "1_0", "trajectory": [["a", 0, 0]]}]').keys == {"instr_id", "trajectory"}
    True
    >>> walks = look(b'{"7": [{"position": [1, 2, 3]}]}')
    >>> walks.layout, walks.opens, walks.inner
    ('object', '{[{[', frozenset({'position'}))
    >>> walks.values
    {'7': 'point'}
    """

    layout: Layout
    keys: frozenset[str] = frozenset()
    opens: str = ""
    inner: frozenset[str] = frozenset()
    json: bool = False
    cut: bool = False
    listed: frozenset[str] = frozenset()
    values: Mapping[str, Value] = {}

    def has(self, *fields: str) -> bool:
        """Whether the first record has all these fields."""
        return self.keys.issuperset(fields)

    def has_any(self, *fields: str) -> bool:
        """Whether the first record has one of these fields."""
        return not self.keys.isdisjoint(fields)

    def value(self, *fields: str) -> Value | None:
        """What the first of these fields that the first record has begins with; None where it is empty."""
        return next((self.values.get(name) for name in fields if name in self.keys), None)

    def __str__(self) -> str:
        if self.opens == "[":
            return "a JSON array without records"
        what = {"array": "a JSON array", "object": "a JSON object", "lines": "JSON lines", "csv": "CSV"}
        names = ", ".join(repr(key[:30]) for key in sorted(self.keys)[:6]) + (", ..." if len(self.keys) > 6 else "")
        if self.layout == "text" and len(self.keys) > 2 and all(len(key) < 40 for key in self.keys):
            return f"a table without a column of paths (its columns: {names})"
        if self.layout == "text" or not self.keys:
            return "neither JSON records nor a table with a header"
        return f"{what.get(self.layout, 'Parquet')} whose first fields are {names}"


def look(content: bytes) -> Beginning:
    """Look at the beginning of a file's content."""
    if content.startswith(PARQUET_MAGIC):
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return Beginning("parquet", frozenset(pq.ParquetFile(pa.BufferReader(content)).schema_arrow.names))
        except (pa.ArrowException, OSError, ValueError):  # the last of names that are not UTF-8
            return Beginning("parquet")  # its reader will say what is wrong
    head = content[:HEAD].lstrip()
    if not head:
        return Beginning("empty" if len(content) <= HEAD else "text")
    if head[:1] not in b"[{":
        _, columns = header(content)
        table = len(columns) > 1 and ("query" in columns or "path" in own_names(columns))
        return Beginning("csv" if table else "text", frozenset(columns))
    opens = ""
    leading = True  # no plain value has come yet
    stack: list[set[str] | None] = []  # the fields of the objects that are open; None stands for an array
    objects: list[set[str]] = []
    listed: set[str] = set()
    values: dict[str, Value] = {}
    name = ""  # the field of the first record that is being read
    end = 0
    for token in _TOKEN.finditer(head):
        text, colon, bracket = token.groups()
        if bracket is None:
            if colon and stack and (fields := stack[-1]) is not None and text is not None:
                fields.add(text.decode(errors="replace"))
                name = text.decode(errors="replace") if fields is objects[0] else name
            elif not colon:
                leading = False
                if name:
                    deep = len(stack) > (3 if head[:1] == b"[" else 2)
                    point = deep and token[0][:1] in b"-0123456789"
                    values.setdefault(name, "text" if text is not None else "point" if point else "other")
        elif bracket in (b"{", b"["):
            opens += bracket.decode() if leading else ""
            stack.append(set() if bracket == b"{" else None)
            if (fields := stack[-1]) is not None:
                objects.append(fields)
                if len(stack) == 3 and stack[0] is not None and name == LIST:
                    listed = listed or fields
        else:
            leading = False
            closed = stack.pop()
            if not stack or (closed is not None and closed is objects[0]):
                end = token.end()
                break
    keys, inner = (frozenset(objects[n]) if len(objects) > n else frozenset[str]() for n in (0, 1))
    cut = not end and len(content) <= HEAD
    if head[:1] == b"[":
        record = opens.startswith("[{")
        keys, values = (keys, values) if record else (frozenset(), {})
        return Beginning("array", keys, opens, inner, True, cut, values=values)
    lines = end and head[end:].lstrip()[:1] == b"{"
    return Beginning("lines" if lines else "object", keys, opens, inner, True, cut, frozenset(listed), values)


def header(content: bytes) -> tuple[str, list[str]]:
    """Return what parts the cells of a table, and the names of its columns.

    >>> header(b"instr_id;nodes")
    (';', ['instr_id', 'nodes'])
    """
    line = content[:HEAD].lstrip().split(b"\n", 1)[0].decode(errors="replace").strip()
    delimiter = max(DELIMITERS, key=line.count)
    return delimiter, [name.strip().strip('"') for name in line.split(delimiter)]


def own_names(columns: Collection[str]) -> dict[str, str]:
    """Return what a table calls the columns that have several names; a `query` is a path already.

    >>> own_names(["instr_id", "nodes", "scan"])
    {'episode': 'instr_id', 'scene': 'scan', 'path': 'nodes'}
    """
    found = {}
    for name, others in NAMES.items():
        own = next((other for other in others if other in columns), None)
        if own is not None and not (name == "path" and own != name and "query" in columns):
            found[name] = own
    return found


class _Formats(Mapping[str, Format]):
    """Formats in the order in which they are tried; each is imported when it is tried."""

    names = ("r2r", "r4r", "rxr", "ndh", "reverie", "vlnce", "street", "recorder", "table")

    def __getitem__(self, name: str) -> Format:
        if name not in self.names:
            raise KeyError(name)
        home = {"vlnce": "vlnce", "recorder": "table", "table": "table"}.get(name, "benchmarks")
        found: Format = getattr(import_module(f"wayscore.formats.{home}"), f"{name.upper()}_FORMAT")
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


FORMATS: Mapping[str, Format] = _Formats()


def choose(source: Source, kind: Kind, name: str | None = None) -> Format:
    """Return the format to read a file with: the one named, or the one that recognises it; plug-ins come last."""
    if name is not None:
        formats = FORMATS if name in FORMATS else {**FORMATS, **_installed()}
        if name not in formats:
            raise OptionError(f"there is no format {name!r}{did_you_mean(name, formats)} Known: {', '.join(formats)}")
        return formats[name]
    beginning = look(source.content)
    for find in (FORMATS.values, lambda: _installed().values()):
        for candidate in find():
            if kind in candidate.sniff(beginning):
                return candidate
    raise FormatError(f"{source}: {refusal(source.content, beginning, kind)}")


def load_references(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - what every reader calls it
    *,
    member: str | None = None,
    **options: Any,
) -> References:
    """Read the references of a file.

    Args:
        path: the file, gzipped or not; `archive.tar.gz::name` reads one member of a tar.
        format: how it is written (`r2r`, `r4r`, `rxr`, `ndh`, `reverie`, `vlnce`, `street`, `table`, or a
            plug-in's name); by default it is recognised by the file's beginning.
        member: the member of a tar to read, instead of `::name`.
        **options: what the format offers: `language` of rxr and vlnce, `path_type` of ndh, `objects` of reverie,
            `dense` and `names` of vlnce, `up_axis` of table.

    Raises:
        FormatError: the file is missing, damaged, too large, or of another kind.
        OptionError: the format or the option is unknown.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "mine.jsonl")
    ...     with open(file, "w") as stream:
    ...         _ = stream.write('{"episode": "e1", "scene": "s", "path": ["a", "b"]}')
    ...     load_references(file).episodes["e1"].path
    ['a', 'b']
    """
    source = read(path, member)
    form = choose(source, "references", format)
    takes = [name for name, p in inspect.signature(form.references).parameters.items() if p.kind is p.KEYWORD_ONLY]
    for option in options:
        if option not in takes:
            others = f"they have {', '.join(takes)}" if takes else "they have none, so leave it out"
            raise OptionError(f"{form.title} references have no option {option!r}; {others}")
    try:
        references = form.references(source, **options)
    except FormatError as error:
        raise reader_error(error, source, form, "references") from None
    if not options:
        return references
    # Options change numbers, so they go into the name that signatures print; files by name only.
    given = (f"{name}={Path(v).name if isinstance(v, os.PathLike | str) else v}" for name, v in options.items())
    return replace(references, name=f"{references.name}({','.join(given)})")


def reader_error(error: FormatError, source: Source, form: Format, kind: Kind) -> FormatError:
    """Return the error of a reader, with what the file looks like where that is another kind of file."""
    beginning = look(source.content)
    likely, *_ = looks_like(beginning)
    other = likely and kind not in form.sniff(beginning)
    return FormatError(f"{error.args[0]}; the file looks like {likely}") if other else error


def _installed() -> dict[str, Format]:
    from importlib.metadata import entry_points

    return {entry.name: entry.load() for entry in entry_points(group=ENTRY_POINTS)}


EXAMPLES = {
    "references": '{"path_id": 4332, "scan": ..., "path": [viewpoint, ...], "instructions": [...]}',
    "run": '{"instr_id": "4332_0", "trajectory": [viewpoint, ...]}',
}
MAGIC: dict[bytes, str] = {
    b"<!doctype html": "a web page (a download that failed or needs a login); download the file itself",
    b"<html": "a web page (a download that failed or needs a login); download the file itself",
    b"<?xml": "XML; write JSON, CSV or Parquet",
    b"version https://git-lfs": "a pointer of Git LFS; fetch the file itself with `git lfs pull`",
    b"pk\x03\x04": "a zip archive or a checkpoint of PyTorch; give a file of JSON, CSV or Parquet, unzipped",
    b"\x93numpy": "an array of NumPy; write one record per episode as JSON, CSV or Parquet",
    b"\x89hdf": "HDF5; write one record per episode as JSON, CSV or Parquet",
    b"\xff\xfe": "text in UTF-16; save it as UTF-8",
    b"\xfe\xff": "text in UTF-16; save it as UTF-8",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; decompress it, or compress it by gzip",
}
"""How files begin that hold no records, in small letters; and what they are."""
CONTROL = frozenset({*range(9), *range(14, 27)})
"""Bytes that no text has."""
PICKLES = tuple(b"\x80" + bytes([protocol]) for protocol in range(2, 6))
SCORES = "; give the agent's trajectories (`wayscore compare` and ws.load_result take scores)"
TRUTH = "; give the dataset's file of ground-truth paths, such as R2R_val_unseen.json"
_OTHERS: dict[tuple[str, str], Callable[[Beginning], bool]] = {
    (
        "VLN-CE ground truth walks",
        "; give the file of the episodes beside it (without _gt), which finds these walks by itself",
    ): lambda b: "locations" in b.inner,
    ("scores of single episodes, which hold no paths", SCORES): lambda b: (
        not (b.inner | b.listed).isdisjoint(("spl", "success", "nav_error"))
    ),
    ("a table of scores, which holds no paths", SCORES): lambda b: b.has_any("nDTW", "spl", "success_rate", "success"),
    ("a connectivity graph", "; give its folder with <<graphs=FOLDER>>"): lambda b: b.has("image_id", "unobstructed"),
}


def looks_like(beginning: Beginning) -> tuple[str, Kind | None, str]:
    """Say what a file looks like ("R2R references"), what it can be read as, and what to do with it; or nothing."""
    for form in FORMATS.values():
        for kind in form.sniff(beginning):
            what = f"{form.title} references" if kind == "references" else f"a run in the {form.title} format"
            return what, kind, ""
    return next(((what, None, remedy) for (what, remedy), test in _OTHERS.items() if test(beginning)), ("", None, ""))


def refusal(content: bytes, beginning: Beginning, kind: Kind) -> str:
    """Say why no format reads a file, and what to do."""
    wanted = "references" if kind == "references" else "a run"
    if beginning.layout == "empty":
        return f"is empty; expected {wanted}, so write or copy it again"
    if beginning.layout == "text":  # or no text at all
        start = content[:1024].lstrip()
        strange = next((what for magic, what in MAGIC.items() if start.lower().startswith(magic)), "")
        if start.startswith(PICKLES):
            strange = "a pickle of Python; write its records as JSON, CSV or Parquet"
        elif not strange and not CONTROL.isdisjoint(start):
            strange = "binary data (a checkpoint?); give a file of JSON, CSV or Parquet"
        if strange:
            return f"is {strange.replace('; ', f', not {wanted}; ', 1)}"
    likely, other, remedy = looks_like(beginning)
    if likely:
        if other == "references":
            remedy = "; give it with <<references=FILE>>, and your agent's result file as the run"
        elif other == "run":
            remedy = "; give it as the run, and the ground-truth paths with <<references=FILE>>"
        elif kind == "references" and remedy == SCORES:
            remedy = TRUTH
        return f"looks like {likely}, not {wanted}{remedy}"
    if beginning.cut:
        return "ends in the middle of its first record; copy or write it again in full"
    name = "<<run_format=NAME>>" if kind == "run" else "format=NAME (on the command line: --reader format=NAME)"
    return (
        f"is {beginning}, which no known format of {'references' if kind == 'references' else 'runs'} begins with; "
        f"expected records such as {EXAMPLES[kind]}; if it is one of {', '.join(FORMATS)}, say which with {name}"
    )
