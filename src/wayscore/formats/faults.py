"""What is wrong with a file, in words: where, of which episode, in which field, what came, what was expected."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct, structs

NAMED_LIMIT = 256 * 2**20
"""Bytes up to which a damaged file is decoded once more to name the record; above, the byte is named."""
FAULTS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What decoding raises."""
EMPTY_PATH = "its path is empty; an agent that never moves has its start"
REAL_VALUE = "its real value, or the episode left out"
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
_KINDS = {"array": "a list", "object": "an object", "str": "text", "int": "an integer", "float": "a number"}
_KINDS |= {"null": "null", "bool": "true or false"}


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
        told = f"{self.place}: {self.what}" if self.place else self.what
        return f"{told}; expected {self.expected}" if self.expected else told

    def of(self, file: object) -> str:
        """Return the same as a sentence about a file."""
        return f"{file}, {self}" if self.place else f"{file}: {self}"


def wrong_type(message: str, *, where: str, episode: str | None, expected: str) -> Fault:
    """Return what msgspec says of a record as a fault."""
    what, _, at = message.partition(" - at ")
    fields = [f"field {name!r}" if name else f"item {index}" for name, index in _STEP.findall(at.strip("`"))]
    return Fault(in_words(what), where, episode, ", ".join(fields), expected)


def in_words(what: str) -> str:
    """Say what msgspec says in plain words.

    >>> in_words("Expected `int | str`, got `null`")
    'must be an integer or text, got null'
    """
    if missing := re.fullmatch(r"Object missing required field `(.+)`", what):
        return f"the field {missing[1]!r} is missing"
    if length := re.fullmatch(r"Expected `array` of length (\d+)(?:, got (\d+))?", what):
        return f"must be a list of {length[1]}" + (f", got {length[2]}" if length[2] else "")
    if types := re.fullmatch(r"Expected `(.+)`, got `(.+)`", what):
        wanted = [_KINDS.get(kind, kind) for kind in types[1].split(" | ")]
        return f"must be {' or '.join(dict.fromkeys(wanted))}, got {_KINDS.get(types[2], types[2])}"
    return what if what.startswith(("NaN", "Infinity")) else what[:1].lower() + what[1:]


def not_json(
    content: bytes,
    error: Exception,
    names: Sequence[str],
    *,
    where: str = "",
    episode: str | None = None,
    expected: str,
) -> Fault:
    """Say why a file, or one record of it, does not decode at all.

    Args:
        content: the file, or the record.
        error: what decoding raised.
        names: fields that name a record's episode.
        where: the record; "" for the file as a whole.
        episode: the record's name, where that is known.
        expected: what should be there.
    """
    if isinstance(error, RecursionError):
        return Fault("is nested too deeply to be a file of episodes", where, episode, expected=expected)
    if isinstance(error, UnicodeDecodeError):
        return Fault(f"holds text that is not UTF-8 ({error.reason}); save it as UTF-8", where, episode)
    if not content.strip():
        return Fault("is empty", where, episode, expected=expected)
    if "truncated" in str(error):
        return Fault("ends in the middle of a record; copy or write it again in full", where, episode)
    value = loosely(content)  # Python reads NaN and Infinity, which are not JSON, so that they can be found
    if (steps := _not_finite(value)) is not None:
        return _name_not_finite(value, steps, names, where, episode)
    byte = int(found[1]) if (found := re.search(r"\(byte (\d+)\)", str(error))) else 0
    lines = content.count(b"\n", 0, byte) + 1
    line = "" if where or episode is not None else f"line {lines}, "
    near = content[max(0, byte - 10) : byte + 20].decode(errors="replace")
    return Fault(f"is not JSON near {near!r}", where, episode, f"{line}byte {byte}", expected)


def loosely(content: bytes) -> Any:
    """Decode loosely, to name what is wrong; not what is so large that it would fill the memory."""
    import json  # which whole files do without

    try:
        return json.loads(content) if len(content) <= NAMED_LIMIT else None
    except (ValueError, RecursionError):
        return None


def name_of(record: Any, names: Sequence[str]) -> str | None:
    """Return the episode that a record names."""
    found = next((record[name] for name in names if name in record), None) if isinstance(record, dict) else None
    return None if found is None else str(found)


def _not_finite(value: Any) -> tuple[Any, ...] | None:
    """Return the indices and keys that lead to the first number that is not finite."""
    if isinstance(value, float) and not math.isfinite(value):
        return ()
    inside = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    return next(((step, *rest) for step, item in inside if (rest := _not_finite(item)) is not None), None)


def _name_not_finite(
    value: Any, steps: tuple[Any, ...], names: Sequence[str], where: str, episode: str | None
) -> Fault:
    bad = value
    for step in steps:
        bad = bad[step]
    record = value
    if not where and episode is None and steps:  # else the file is one number
        known, record, steps = steps[0], value[steps[0]], steps[1:]
        if isinstance(known, str) and names and steps:  # the field that lists the records
            known, record, steps = steps[0], record[steps[0]], steps[1:]
        where, episode = ("", known) if isinstance(known, str) else (f"record {known}", None)
    fault = not_finite(bad, steps)
    return structs.replace(fault, where=where, episode=name_of(record, names) if episode is None else episode)


def not_finite(value: float, steps: Sequence[Any]) -> Fault:
    """Say that a number is not finite; `steps` are the fields and items that lead to it.

    >>> str(not_finite(math.nan, ("path", 2, 0)))
    "field 'path', item 2, item 0: NaN is not a finite number; expected its real value, or the episode left out"
    """
    text = {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    field = ", ".join(f"field {step!r}" if isinstance(step, str) else f"item {step}" for step in steps)
    return Fault(f"{text} is not a finite number", field=field, expected=REAL_VALUE)
