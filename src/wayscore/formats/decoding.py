"""Typed decoding of JSON: one call for a whole file.

Only when that fails are the records decoded one by one, to name those that are wrong: the first, or all of them
where the source collects its faults.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import structs

from wayscore.errors import FormatError
from wayscore.formats.damaged import Record, cut_json, cut_lines
from wayscore.formats.faults import FAULTS, loosely, name_of, not_json, wrong_type
from wayscore.formats.files import Source

LINE_LIMIT = 64 * 2**20
"""Bytes that one JSON line may have."""
T = TypeVar("T")


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
    return [found for _, found in decode_each(source, record, names=names, expected=expected)]


def decode_each(
    source: Source, record: type[T], *, names: Sequence[str], expected: str
) -> Iterable[tuple[int | str, T]]:
    """Decode like `decode_records`, each record with what `place` takes to say where it is.

    Where the source collects its faults, records that are wrong are told there and left out.
    """
    content = source.content
    lines = content.lstrip()[:1] == b"{"
    try:
        if lines:
            _check_lines(source)
            records: list[T] = _decoder(record).decode_lines(content)
        else:
            records = _decoder(list[record]).decode(content)  # type: ignore[valid-type]
    except FAULTS as error:
        parts, whole = (cut_lines(content, source.lines_before), True) if lines else cut_json(content)
        return [
            (part.where, found) for part, found in _one_by_one(source, parts, whole, record, names, expected, error)
        ]
    if not records:
        raise FormatError(f"{source}: holds no records; expected {expected}")
    if lines and source.faults is not None:  # many may be asked for, and finding a line means counting lines
        return zip((part.where for part in cut_lines(content, source.lines_before)), records, strict=True)
    return enumerate(records)


def decode_object(source: Source, kind: type[T], *, names: Sequence[str], expected: str, items: str) -> T:
    """Decode one JSON object; `items` is the field that lists its records, for errors."""
    try:
        found: T = _decoder(kind).decode(source.content)
    except msgspec.ValidationError as error:
        at = re.search(rf"at `\$\.{items}\[(\d+)\]", str(error))
        if at is None:
            raise FormatError(wrong_type(str(error), where="", episode=None, expected=expected).of(source)) from None
        message = str(error).replace(at[0], "at `$")
        whole = loosely(source.content)  # None where the file is damaged further on as well
        episode = None if whole is None else name_of(whole[items][int(at[1])], names)
        fault = wrong_type(message, where=f"record {at[1]}", episode=episode, expected=expected)
        raise FormatError(fault.of(source)) from None
    except FAULTS as error:
        raise FormatError(not_json(source.content, error, names, expected=expected).of(source)) from None
    return found


def decode_mapping(source: Source, value: Any, *, expected: str) -> list[tuple[str, Any]]:
    """Decode a JSON object from episode to value, keeping every entry of a name that comes twice.

    Where the source collects its faults, entries that are wrong are told there and left out.
    """
    try:
        pairs = _decoder(dict[_Key, value]).decode(source.content)
    except FAULTS as error:
        parts, whole = cut_json(source.content)
        found = _one_by_one(source, parts, whole, value, (), expected, error)
        return [(str(part.episode), item) for part, item in found]
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


_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}


def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    if kind not in _DECODERS:
        _DECODERS[kind] = msgspec.json.Decoder(kind, dec_hook=lambda wanted, found: wanted(found))
    return _DECODERS[kind]


def _check_lines(source: Source) -> None:
    content, start, number = source.content, 0, source.lines_before + 1
    while len(content) - start > LINE_LIMIT:
        end = content.find(b"\n", start, start + LINE_LIMIT + 1)
        if end < 0:
            raise FormatError(f"{source}: line {number} has more than {LINE_LIMIT:,} bytes; write one record a line")
        start, number = end + 1, number + 1


def _one_by_one(
    source: Source,
    parts: Sequence[Record],
    whole: bool,
    kind: Any,
    names: Sequence[str],
    expected: str,
    error: Exception,
) -> list[tuple[Record, Any]]:
    """Decode a file record by record that does not decode as a whole, and refuse what is wrong.

    `whole` says that the parts are all of the file, `error` why it does not decode.
    """
    found: list[tuple[Record, Any]] = []
    for part in parts:
        try:
            found.append((part, _decoder(kind).decode(part.content)))
        except msgspec.ValidationError as fault:
            episode = name_of(loosely(part.content), names) if part.episode is None else part.episode
            source.refuse(wrong_type(str(fault), where=part.where, episode=episode, expected=expected))
        except FAULTS as fault:
            where, episode = part.where, part.episode
            source.refuse(not_json(part.content, fault, names, where=where, episode=episode, expected=expected))
    if not (whole and len(found) < len(parts)):  # what is wrong is not in a record, or not only
        if isinstance(error, msgspec.ValidationError):
            at = re.search(r"at `\$\[(\d+)\]", str(error))
            message = str(error).replace(at[0], "at `$") if at else str(error)
            where = f"record {at[1]}" if at else ""
            damage = wrong_type(message, where=where, episode=None, expected=expected)
        else:
            damage = not_json(source.content, error, names, expected=expected)
        if not parts:
            raise FormatError(damage.of(source))
        rest = f"(before that, {len(found):,} record{'' if len(found) == 1 else 's'} can be read)"
        source.refuse(damage if source.faults is None else structs.replace(damage, what=f"{damage.what} {rest}"))
    return found
