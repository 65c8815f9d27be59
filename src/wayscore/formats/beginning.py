"""What the first bytes of a file tell: how it is laid out, and the fields of its first record.

Only the beginning is looked at, so a file that is damaged further on is still recognised, and its reader can
say what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from wayscore.formats.names import own_names

HEAD = 2**16
"""Bytes looked at."""
PARQUET_MAGIC = b"PAR1"
DELIMITERS = (",", ";", "\t")
"""What stands between the cells of a table; spreadsheets write semicolons where a comma is the decimal point."""
LIST = "episodes"
"""The field in which one JSON object lists its records, beside a summary of them."""
Layout: TypeAlias = Literal["array", "object", "lines", "csv", "parquet", "text", "empty"]
Value: TypeAlias = Literal["text", "point", "other"]

_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*(:?)|([{}\[\]])|[^\s,:"{}\[\]]+')


class Beginning(Struct, frozen=True):
    """The beginning of a file.

    Attributes:
        layout: a JSON array, one JSON object, JSON lines, CSV with a header, Parquet, other text, or nothing.
        keys: the first record's fields, or the columns; of one JSON object, its own fields as far as seen.
        opens: the brackets before the first plain value: `{[[` for `{"7": [[1.5, ...`.
        inner: the fields of the first object inside the first record.
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
    cut: bool = False
    listed: frozenset[str] = frozenset()
    values: Mapping[str, Value] = {}

    @property
    def json(self) -> bool:
        """Whether the file is JSON of any kind."""
        return self.layout in ("array", "object", "lines")

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
        return Beginning("parquet", _parquet_columns(content))
    head = content[:HEAD].lstrip()
    if not head:
        return Beginning("empty" if len(content) <= HEAD else "text")
    if head[:1] in b"[{":
        return _look_json(head, more=len(content) > HEAD)
    _, columns = header(content)
    table = len(columns) > 1 and ("query" in columns or "path" in own_names(columns))
    return Beginning("csv" if table else "text", frozenset(columns))


def header(content: bytes) -> tuple[str, list[str]]:
    """Return what parts the cells of a table, and the names of its columns.

    >>> header(b"instr_id;nodes")
    (';', ['instr_id', 'nodes'])
    """
    line = content[:HEAD].lstrip().split(b"\n", 1)[0].decode(errors="replace").strip()
    delimiter = max(DELIMITERS, key=line.count)
    return delimiter, [name.strip().strip('"') for name in line.split(delimiter)]


def _look_json(head: bytes, *, more: bool) -> Beginning:
    opens = ""
    leading = True  # no plain value has come yet
    stack: list[set[str] | None] = []  # the fields of the objects that are open; None stands for an array
    objects: list[set[str]] = []
    listed: set[str] | None = None
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
                    inside = len(stack) - (2 if head[:1] == b"[" else 1)
                    values.setdefault(name, "text" if text is not None else _kind(token[0], inside))
        elif bracket in (b"{", b"["):
            opens += bracket.decode() if leading else ""
            stack.append(set() if bracket == b"{" else None)
            if (fields := stack[-1]) is not None:
                objects.append(fields)
                if listed is None and len(stack) == 3 and stack[0] is not None and name == LIST:
                    listed = fields
        else:
            leading = False
            closed = stack.pop()
            if not stack or (closed is not None and closed is objects[0]):
                end = token.end()
                break
    keys, inner = (frozenset(objects[n]) if len(objects) > n else frozenset[str]() for n in (0, 1))
    cut = not end and not more
    if head[:1] == b"[":
        record = opens.startswith("[{")
        return Beginning("array", keys if record else frozenset(), opens, inner, cut, values=values if record else {})
    lines = end and head[end:].lstrip()[:1] == b"{"
    return Beginning("lines" if lines else "object", keys, opens, inner, cut, frozenset(listed or ()), values)


def _kind(token: bytes, inside: int) -> Value:
    return "point" if inside > 1 and token[:1] in b"-0123456789" else "other"


def _parquet_columns(content: bytes) -> frozenset[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return frozenset(pq.ParquetFile(pa.BufferReader(content)).schema_arrow.names)
    except (pa.ArrowException, OSError, ValueError):  # the last of names that are not UTF-8
        return frozenset()  # its reader will say what is wrong
