"""Typed decoding of JSON: one call for a whole file.

Only when that fails is the file cut into the records that can still be told apart, and these are decoded one by one, to
say in words what is wrong: with the first, or with all of them where the source collects its faults.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, structs

from wayscore.errors import FormatError
from wayscore.formats.base import Fault, Source

LINE_LIMIT = 64 * 2**20
"""Bytes that one JSON line may have."""
NAMED_LIMIT = 256 * 2**20
"""Bytes up to which a damaged file is decoded once more to name the record; above, the byte is named."""
FAULTS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What decoding raises."""
REAL_VALUE = "its real value, or the episode left out"
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
_KINDS = {"array": "a list", "object": "an object", "str": "text", "int": "an integer", "float": "a number"}
_KINDS |= {"null": "null", "bool": "true or false"}
_BLANK = re.compile(r"[ \t\r\n]*")
_ESCAPED = "surrogateescape"
_CLOSING = {"[": "]", "{": "}"}
T = TypeVar("T")


def decode_each(
    source: Source, record: type[T], *, names: Sequence[str], expected: str
) -> Iterable[tuple[int | str, T]]:
    """Decode a JSON array of records, or JSON lines of them; each comes with what `place` takes to say where it is.

    Where the source collects its faults, records that are wrong are noted there and left out; else the first is an
    error. `names` are the fields that name a record's episode, `expected` says what the file should look like.
    """
    content = source.content
    lines = content.lstrip()[:1] == b"{"
    try:
        if lines:
            start, number = 0, source.lines_before + 1
            while len(content) - start > LINE_LIMIT:
                end = content.find(b"\n", start, start + LINE_LIMIT + 1)
                if end < 0:
                    raise FormatError(
                        f"{source}: line {number} has more than {LINE_LIMIT:,} bytes; write one record a line"
                    )
                start, number = end + 1, number + 1
            records: list[T] = msgspec.json.Decoder(record).decode_lines(content)
        else:
            records = msgspec.json.decode(content, type=list[record])  # type: ignore[valid-type]
    except FAULTS as error:
        return [(part.where, found) for part, found in _one_by_one(source, record, names, expected, error)]
    if not records:
        raise FormatError(f"{source}: holds no records; expected {expected}")
    if lines and source.faults is not None:  # many lines may be needed, and finding one means counting all before it
        return zip((part.where for part in cut_lines(content, source.lines_before)), records, strict=True)
    return enumerate(records)


def decode_object(source: Source, kind: type[T], *, names: Sequence[str] = (), expected: str) -> T:
    """Decode one JSON object, which may list records in one of its fields."""
    try:
        return msgspec.json.decode(source.content, type=kind)
    except FAULTS as error:
        raise FormatError(damage_of(error, source.content, names=names, expected=expected).of(source)) from None


def decode_mapping(source: Source, value: Any, *, expected: str) -> list[tuple[str, Any]]:
    """Decode a JSON object from episode to value, keeping every entry of a name that comes twice.

    Where the source collects its faults, entries that are wrong are noted there and left out.
    """
    try:
        pairs = msgspec.json.decode(source.content, type=dict[_Key, value], dec_hook=lambda kind, key: kind(key))
    except FAULTS as error:
        return [(str(part.episode), item) for part, item in _one_by_one(source, value, None, expected, error)]
    if not pairs:
        raise FormatError(f"{source}: holds no episodes; expected {expected}")
    return [(str(key), item) for key, item in pairs.items()]


def place(number: int | str, source: Source) -> str:
    """Return what errors call a record of `decode_each`: its line where the file is JSON lines, else its index."""
    if isinstance(number, str):
        return number
    lines = source.content.lstrip()[:1] == b"{"
    return cut_lines(source.content, source.lines_before)[number].where if lines else f"record {number}"


class _Key(str):
    """A key equal to itself alone, so that a dict keeps all entries of one name."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


def _one_by_one(
    source: Source, kind: Any, names: Sequence[str] | None, expected: str, error: Exception
) -> list[tuple[Record, Any]]:
    """Decode a file record by record that does not decode as a whole, and refuse what is wrong.

    `error` says why it does not decode; without `names`, it is one object by episode.
    """
    lines = names is not None and source.content.lstrip()[:1] == b"{"
    parts, whole = (cut_lines(source.content, source.lines_before), True) if lines else cut_json(source.content)
    names = names or ()
    found: list[tuple[Record, Any]] = []
    decoder = msgspec.json.Decoder(kind)
    for part in parts:
        try:
            found.append((part, decoder.decode(part.content)))
        except FAULTS as fault:
            known = (part.where, part.episode)
            source.refuse(damage_of(fault, part.content, *known, names=names, expected=expected))
    if not (whole and len(found) < len(parts)):  # what is wrong is not in a record, or not only
        damage = damage_of(error, source.content, names=names, expected=expected)
        if not parts:
            raise FormatError(damage.of(source))
        rest = f"(before that, {len(found):,} record{'' if len(found) == 1 else 's'} can be read)"
        source.refuse(damage if source.faults is None else structs.replace(damage, what=f"{damage.what} {rest}"))
    return found


# A damaged file, cut into records


class Record(Struct, frozen=True):
    """The bytes of one record: a line, an item of an array, or the entry of an object with this episode as its key."""

    content: bytes
    where: str = ""
    episode: str | None = None


def cut_lines(content: bytes, before: int = 0) -> list[Record]:
    """Cut JSON lines; `before` says how many lines of the file come before these."""
    lines = enumerate(content.split(b"\n"), start=before + 1)
    return [Record(line, f"line {number}") for number, line in lines if line.strip()]


def cut_json(content: bytes) -> tuple[list[Record], bool]:
    """Cut a JSON array into its items or a JSON object into its entries; say whether they are all of the file.

    NaN and Infinity are no reason to stop, nor is text that is not UTF-8: decoding the record will say so.

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


# What is wrong, in words


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


def damage_of(
    error: Exception,
    content: bytes,
    where: str = "",
    episode: str | None = None,
    *,
    names: Sequence[str] = (),
    expected: str,
) -> Fault:
    """Say why a file, or one record of it, does not decode.

    `where` and `episode` say which record `content` is, if known; a whole file has neither.
    """
    whole = not where and episode is None
    if isinstance(error, msgspec.ValidationError):
        message = str(error)
        at = re.search(r"at `\$(?:\.(\w+))?\[(\d+)\]", message) if whole else None
        if at is not None:
            message, where = message.replace(at[0], "at `$"), f"record {at[2]}"
            listed = loosely(content) if at[1] else None  # None where the file is damaged further on as well
            episode = None if listed is None else name_of(listed[at[1]][int(at[2])], names)
        elif where and episode is None:
            episode = name_of(loosely(content), names)
        what, _, place = message.partition(" - at ")
        inside = [f"field {name!r}" if name else f"item {index}" for name, index in _STEP.findall(place.strip("`"))]
        return Fault(in_words(what), where, episode, ", ".join(inside), expected)
    if isinstance(error, RecursionError):
        return Fault("is nested too deeply to be a file of episodes", where, episode, expected=expected)
    if isinstance(error, UnicodeDecodeError):
        return Fault(f"holds text that is not UTF-8 ({error.reason}); save it as UTF-8", where, episode)
    if not content.strip():
        return Fault("is empty", where, episode, expected=expected)
    if "truncated" in str(error):
        return Fault("ends in the middle of a record; copy or write it again in full", where, episode)
    value = loosely(content)  # Python reads NaN and Infinity, which are not JSON, so that they can be found
    if (infinite := _not_finite(value)) is not None:
        number, steps = infinite
        record = value
        if whole and steps:  # else the file is one number
            listed = isinstance(steps[0], str) and names and len(steps) > 1  # its first field lists the records
            for step in steps[: 2 if listed else 1]:
                record, known, steps = record[step], step, steps[1:]
            where, episode = ("", known) if isinstance(known, str) else (f"record {known}", None)
        episode = name_of(record, names) if episode is None else episode
        return structs.replace(not_finite(number, steps), where=where, episode=episode)
    byte = int(found[1]) if (found := re.search(r"\(byte (\d+)\)", str(error))) else 0
    lines = content.count(b"\n", 0, byte) + 1
    field = f"line {lines}, byte {byte}" if whole else f"byte {byte}"
    near = content[max(0, byte - 10) : byte + 20].decode(errors="replace")
    return Fault(f"is not JSON near {near!r}", where, episode, field, expected)


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


def _not_finite(value: Any) -> tuple[float, tuple[Any, ...]] | None:
    """Return the first number that is not finite, and the indices and keys that lead to it."""
    if isinstance(value, float) and not math.isfinite(value):
        return value, ()
    inside = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    found = ((step, inner) for step, item in inside if (inner := _not_finite(item)) is not None)
    return next(((number, (step, *steps)) for step, (number, steps) in found), None)


def not_finite(value: float, steps: Sequence[Any]) -> Fault:
    """Say that a number is not finite; `steps` are the fields and items that lead to it.

    >>> str(not_finite(math.nan, ("path", 2, 0)))
    "field 'path', item 2, item 0: NaN is not a finite number; expected its real value, or the episode left out"
    """
    text = {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    field = ", ".join(f"field {step!r}" if isinstance(step, str) else f"item {step}" for step in steps)
    return Fault(f"{text} is not a finite number", field=field, expected=REAL_VALUE)
