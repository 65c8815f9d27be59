"""A study as one JSON file: the same study gives the same bytes, and everything is checked when it is read."""

from __future__ import annotations

import gzip
import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from wayscore.errors import FormatError, did_you_mean
from wayscore.formats.base import read
from wayscore.lab.study.model import FORMAT, QUERIES, ComparisonSet, SceneMap, Study
from wayscore.writing import write_whole


def study_bytes(study: Study) -> bytes:
    """Return the content of a study's file, with one line per set and per assignment."""
    encode = msgspec.json.encode

    def listed(value: object) -> bytes:
        """Return JSON, with a line for each entry of a list or an object."""
        if isinstance(value, list) and value:
            return b"[\n" + b",\n".join(map(encode, value)) + b"\n]"
        if isinstance(value, dict) and value:
            return b"{\n" + b",\n".join(encode(key) + b":" + encode(one) for key, one in value.items()) + b"\n}"
        return encode(value)

    names = sorted(Study.__struct_fields__, key=lambda name: name != "format")  # the format first
    return b"{" + b",\n".join(encode(name) + b":" + listed(getattr(study, name)) for name in names) + b"}\n"


def write_study(path: str | os.PathLike[str], study: Study) -> None:
    """Write a study; a name that ends in .gz is gzipped."""
    write_bytes(Path(path), study_bytes(study))


def read_study(path: str | os.PathLike[str]) -> Study:
    """Read a study.

    Raises:
        FormatError: the file is missing, damaged, not a study, or names sets or nodes that it does not contain.
    """
    source = read(path)
    try:
        study = msgspec.json.decode(source.content, type=Study)
    except msgspec.ValidationError as error:
        raise FormatError(
            f"{source}: is not a study ({str(error).rstrip('.')}); create one with wayscore study create"
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(f"{source}: is damaged JSON ({str(error).rstrip('.')}); copy or create it again") from None
    for fault in _faults(study):
        raise FormatError(f"{source}: {fault} (was the file edited by hand? copy or create it again)")
    return study


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file completely or not at all; a name that ends in .gz is gzipped."""
    write_whole(path, gzip.compress(content, mtime=0) if path.suffix == ".gz" else content, folders=True)


def _faults(study: Study) -> Iterator[str]:
    """Yield what is wrong with a study."""
    if study.format != FORMAT:
        yield f"its format is {study.format!r}, but this version of wayscore reads {FORMAT!r}"
    if not (math.isfinite(study.threshold) and study.threshold > 0):
        yield f"its threshold must be a number of metres above 0, not {study.threshold}"
    for scene, found in study.scenes.items():
        count = len(found.positions)
        if any(not math.isfinite(x) for point in found.positions.values() for x in point):
            yield f"scene {scene!r} has a position that is not finite"
        if any(not (0 <= a < count and 0 <= b < count) for a, b in found.edges):
            yield f"scene {scene!r} has an edge to a node that does not exist"
        if len(found.lengths) != len(found.edges):
            yield f"scene {scene!r} has {len(found.edges)} edges and {len(found.lengths)} lengths"
        if any(not (math.isfinite(length) and length >= 0) for length in found.lengths):
            yield f"scene {scene!r} has a length that is negative or not finite"
    yield from (f"two sets are named {name!r}" for name in _twice(one.name for one in study.sets))
    plain = {one.name: one for one in study.sets if one.kind == "plain"}
    for one in study.sets:
        yield from (f"set {one.name!r} {fault}" for fault in _set_faults(one, study.scenes, plain))
    yield from (f"rater {rater} has two assignments" for rater in _twice(one.rater for one in study.assignments))
    known = {one.name for one in study.sets}
    for hand in study.assignments:
        rater = f"rater {hand.rater}"
        yield from (f"{rater} has set {name!r} twice" for name in _twice(item.set for item in hand.items))
        for item in hand.items:
            if item.set not in known:
                yield f"{rater} has a set {item.set!r} that does not exist"
            if sorted(item.order) != list(range(QUERIES)):
                yield f"{rater}, set {item.set!r}: the order must list 0 to 4 once, not {item.order}"


def _set_faults(one: ComparisonSet, scenes: dict[str, SceneMap], plain: dict[str, ComparisonSet]) -> Iterator[str]:
    if one.scene not in scenes:
        yield f"is in scene {one.scene!r}, which does not exist{did_you_mean(one.scene, scenes)}"
        return
    if len(one.queries) != QUERIES:
        yield f"must have {QUERIES} queries, not {len(one.queries)}"
    for path in (one.reference, *one.queries):
        if not path:
            yield "has an empty path"
        for node in path:
            if node not in scenes[one.scene].positions:
                yield f"visits a node {node!r} that scene {one.scene!r} does not have"
    if one.kind == "repeat":
        first = plain.get(one.of)
        if first is None or (first.reference, first.queries) != (one.reference, one.queries):
            yield f"repeats {one.of!r}, which is not a plain set with the same paths"
    elif one.of:
        yield f"is not a repeat, but names a set that it repeats, {one.of!r}"
    if one.kind == "check" and not (0 <= one.best < QUERIES and 0 <= one.worst < QUERIES and one.best != one.worst):
        yield "is a check, but does not say which query is best and which is worst"
    if one.sources and len(one.sources) != QUERIES:
        yield f"has {len(one.sources)} sources for {QUERIES} queries"


def _twice(names: Iterable[Any]) -> list[Any]:
    return [name for name, count in Counter(names).items() if count > 1]
