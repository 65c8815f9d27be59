"""Typed decoding of JSON, and its errors in words: file, record, episode, field, expected, got, what to do.

Decoding is one call for a whole file. Only when it fails are the records decoded one by one, to find the first
that is wrong and what it is called.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, TypeVar

import msgspec

from wayscore.errors import FormatError
from wayscore.formats.files import Source

LINE_LIMIT = 64 * 2**20
"""Bytes that one JSON line may have."""
NAMED_LIMIT = 256 * 2**20
"""Bytes up to which a damaged file is decoded once more to name the record; above, the byte is named."""
T = TypeVar("T")
_FAULTS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
_KINDS = {"array": "a list", "object": "an object", "str": "text", "int": "an integer", "float": "a number"}
_KINDS |= {"null": "null", "bool": "true or false"}


def decode_records(source: Source, record: type[T], *, names: Sequence[str], expected: str) -> list[T]:
    """Decode a JSON array of records, or JSON lines of them.

    Args:
        source: the file.
        record: a msgspec Struct.
        names: fields that name a record's episode, for errors.
        expected: a phrase that says what the file should look like, for errors.

    Raises:
        FormatError: naming the first record that is wrong, or the byte where the file is no longer JSON.
    """
    content = source.content
    lines = content.lstrip()[:1] == b"{"
    try:
        if lines:
            _check_lines(source)
            records: list[T] = _decoder(record).decode_lines(content)
        else:
            records = _decoder(list[record]).decode(content)  # type: ignore[valid-type]
    except _FAULTS as error:
        _explain(source, _raw_lines(content) if lines else _raw_items(content), record, names, expected, error)
    if not records:
        raise FormatError(f"{source}: holds no records; expected {expected}")
    return records


def decode_object(source: Source, kind: type[T], *, names: Sequence[str], expected: str, items: str) -> T:
    """Decode one JSON object; `items` is the field that lists its records, for errors."""
    try:
        found: T = _decoder(kind).decode(source.content)
    except _FAULTS as error:
        at = re.search(rf"at `\$\.{items}\[(\d+)\]", str(error))
        if at is None:
            _explain(source, iter(()), kind, names, expected, error)
        message = str(error).replace(at[0], "at `$")
        record = _part(source.content, items, int(at[1]))
        raise _fault(source, f"record {at[1]}", record, names, message, expected) from None
    return found


def decode_mapping(source: Source, value: Any, *, expected: str) -> list[tuple[str, Any]]:
    """Decode a JSON object from episode to value, keeping every entry of a name that comes twice."""
    try:
        pairs = _decoder(dict[_Key, value]).decode(source.content)
    except _FAULTS as error:
        _explain(source, _raw_values(source.content), value, (), expected, error)
    if not pairs:
        raise FormatError(f"{source}: holds no episodes; expected {expected}")
    return [(str(key), item) for key, item in pairs.items()]


def place(number: int, source: Source) -> str:
    """Return what errors call record `number`: its line where the file is JSON lines, else its index."""
    if source.content.lstrip()[:1] != b"{":
        return f"record {number}"
    for counted, (where, _) in enumerate(_raw_lines(source.content)):
        if counted == number:
            return where
    return f"record {number}"  # pragma: no cover - the record was decoded from one of the lines


class _Key(str):
    """A key equal to itself alone, so that a dict keeps all entries of one name."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}


def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    if kind not in _DECODERS:
        _DECODERS[kind] = msgspec.json.Decoder(kind, dec_hook=lambda wanted, found: wanted(found))
    return _DECODERS[kind]


def _check_lines(source: Source) -> None:
    content, start, number = source.content, 0, 1
    while len(content) - start > LINE_LIMIT:
        end = content.find(b"\n", start, start + LINE_LIMIT + 1)
        if end < 0:
            raise FormatError(f"{source}: line {number} has more than {LINE_LIMIT:,} bytes; write one record a line")
        start, number = end + 1, number + 1


def _part(content: bytes, field: str, number: int) -> Any:
    whole = _loads(content)  # None where the file is damaged further on as well
    return whole[field][number] if whole is not None else None


def _raw_lines(content: bytes) -> Iterator[tuple[str, bytes]]:
    return ((f"line {n}", line) for n, line in enumerate(content.split(b"\n"), start=1) if line.strip())


def _raw_items(content: bytes) -> Iterator[tuple[str, Any]]:
    return _raw(content, list[msgspec.Raw], lambda items: ((f"record {n}", item) for n, item in enumerate(items)))


def _raw_values(content: bytes) -> Iterator[tuple[str, Any]]:
    return _raw(
        content, dict[_Key, msgspec.Raw], lambda items: ((f"episode {str(k)!r}", item) for k, item in items.items())
    )


def _raw(content: bytes, kind: Any, named: Callable[[Any], Iterator[tuple[str, Any]]]) -> Iterator[tuple[str, Any]]:
    try:
        return named(_decoder(kind).decode(content))
    except _FAULTS:
        return iter(())


def _explain(
    source: Source,
    records: Iterator[tuple[str, Any]],
    kind: Any,
    names: Sequence[str],
    expected: str,
    error: Exception,
) -> NoReturn:
    """Raise the FormatError of the first record that does not decode, or of the file as a whole."""
    for where, raw in records:
        try:
            _decoder(kind).decode(raw)
        except msgspec.ValidationError as fault:
            raise _fault(source, where, _loads(bytes(raw)), names, str(fault), expected) from None
        except _FAULTS as fault:
            raise _broken(source, where, bytes(raw), names, fault, expected) from None
    if isinstance(error, msgspec.ValidationError):
        at = re.search(r"at `\$\[(\d+)\]", str(error))
        message = str(error).replace(at[0], "at `$") if at else str(error)
        raise _fault(source, f"record {at[1]}" if at else "", None, names, message, expected) from None
    raise _broken(source, "", source.content, names, error, expected) from None


def _fault(source: Source, where: str, record: Any, names: Sequence[str], message: str, expected: str) -> FormatError:
    """Turn a msgspec message about a record into a sentence."""
    what, _, at = message.partition(" - at ")
    fields = [f"field {name!r}" if name else f"item {index}" for name, index in _STEP.findall(at.strip("`"))]
    episode = next((record[name] for name in names if name in record), None) if isinstance(record, dict) else None
    named = f"{where} (episode {str(episode)!r})" if episode is not None and where else where
    parts = [str(source), named, *fields]
    return FormatError(f"{', '.join(part for part in parts if part)}: {in_words(what)}; expected {expected}")


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


def _broken(
    source: Source, where: str, content: bytes, names: Sequence[str], error: Exception, expected: str
) -> FormatError:
    """Say where a file, or the record `where` of it, stops being JSON."""
    place = f"{source}, {where}" if where else str(source)
    if isinstance(error, RecursionError):
        return FormatError(f"{place}: is nested too deeply to be a file of episodes; expected {expected}")
    if isinstance(error, UnicodeDecodeError):
        return FormatError(f"{place}: holds text that is not UTF-8 ({error.reason}); save it as UTF-8")
    if not content.strip():
        return FormatError(f"{place}: is empty; expected {expected}")
    if "truncated" in str(error):
        return FormatError(f"{place}: ends in the middle of a record; copy or write it again in full")
    value = _loads(content)  # Python reads NaN and Infinity, which are not JSON, so that they can be found
    if (steps := _not_finite(value)) is not None:
        return _name_not_finite(source, where, value, steps, names)
    byte = int(found[1]) if (found := re.search(r"\(byte (\d+)\)", str(error))) else 0
    lines = content.count(b"\n", 0, byte) + 1
    line = "" if where else f", line {lines}"
    near = content[max(0, byte - 10) : byte + 20].decode(errors="replace")
    return FormatError(f"{place}{line}, byte {byte}: is not JSON near {near!r}; expected {expected}")


def _loads(content: bytes) -> Any:
    """Decode loosely, to name what is wrong; not what is so large that it would fill the memory."""
    try:
        return json.loads(content) if len(content) <= NAMED_LIMIT else None
    except (ValueError, RecursionError):
        return None


def _not_finite(value: Any) -> tuple[Any, ...] | None:
    """Return the indices and keys that lead to the first number that is not finite."""
    if isinstance(value, float) and not math.isfinite(value):
        return ()
    inside = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    return next(((step, *rest) for step, item in inside if (rest := _not_finite(item)) is not None), None)


def _name_not_finite(
    source: Source, where: str, value: Any, steps: tuple[Any, ...], names: Sequence[str]
) -> FormatError:
    bad = value
    for step in steps:
        bad = bad[step]
    record = value
    if not where:
        known, record, steps = steps[0], value[steps[0]], steps[1:]
        if isinstance(known, str) and names and steps:  # the field that lists the records
            known, record, steps = steps[0], record[steps[0]], steps[1:]
        where = f"episode {known!r}" if isinstance(known, str) else f"record {known}"
    at = "".join(f".{step}" if isinstance(step, str) else f"[{step}]" for step in steps)
    text = {math.inf: "Infinity", -math.inf: "-Infinity"}.get(bad, "NaN")
    message = f"{text} is not a finite number - at `${at}`"
    return _fault(source, where, record, names, message, "its real value, or the episode left out")
