"""A damaged JSON file, cut into the records that can still be told apart."""

from __future__ import annotations

import re

from msgspec import Struct

from wayscore.formats.faults import NAMED_LIMIT

_BLANK = re.compile(r"[ \t\r\n]*")
_ESCAPED = "surrogateescape"
_CLOSING = {"[": "]", "{": "}"}


class Record(Struct, frozen=True):
    """One record as it stands in the file.

    Attributes:
        content: its bytes.
        where: what errors call it: a line or a record; "" for an entry of an object.
        episode: the key of an entry of an object.
    """

    content: bytes
    where: str = ""
    episode: str | None = None


def cut_lines(content: bytes, before: int = 0) -> list[Record]:
    """Cut JSON lines; `before` says how many lines of the file come before these."""
    lines = enumerate(content.split(b"\n"), start=before + 1)
    return [Record(line, f"line {number}") for number, line in lines if line.strip()]


def cut_json(content: bytes) -> tuple[list[Record], bool]:
    """Cut a JSON array into its items or a JSON object into its entries, as far as they can be told apart.

    Returns:
        The records, and whether they are all of the file. NaN and Infinity are no reason to stop, nor is text that is
        not UTF-8: whoever decodes a record will say so.

    >>> [record.content for record in cut_json(b'[{"a": NaN}, 5, {"b": [1')[0]]
    [b'{"a": NaN}', b'5']
    """
    import json

    text = content.decode(errors=_ESCAPED) if len(content) <= NAMED_LIMIT else ""
    scan = json.JSONDecoder().raw_decode
    records: list[Record] = []
    at = _after_blank(text, 0)
    opening = text[at : at + 1]
    if opening not in _CLOSING or not opening:
        return records, False
    closing, at = _CLOSING[opening], _after_blank(text, at + 1)
    try:
        while text[at : at + 1] != closing:
            episode = None
            if opening == "{":
                episode, at = scan(text, at)
                at = _after_blank(text, at)
                if not isinstance(episode, str) or text[at : at + 1] != ":":
                    return records, False
                at = _after_blank(text, at + 1)
            _, end = scan(text, at)
            where = "" if opening == "{" else f"record {len(records)}"
            records.append(Record(text[at:end].encode(errors=_ESCAPED), where, episode))
            at = _after_blank(text, end)
            if text[at : at + 1] == ",":
                at = _after_blank(text, at + 1)
            elif text[at : at + 1] != closing:
                return records, False
    except (ValueError, RecursionError):
        return records, False
    return records, not text[at + 1 :].strip()


def _after_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    assert found is not None  # it may be empty
    return found.end()
