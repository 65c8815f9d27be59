"""A study as one JSON file: the same study gives the same bytes, and everything is checked when it is read."""

from __future__ import annotations

import gzip
import math
import os
from collections import Counter
from pathlib import Path

import msgspec

from wayscore.errors import FormatError, did_you_mean
from wayscore.formats.base import read
from wayscore.lab.study.model import FORMAT, QUERIES, ComparisonSet, SceneMap, Study
from wayscore.writing import write_whole


def study_bytes(study: Study) -> bytes:
    """Return the content of a study's file, with one line per set and per assignment."""
    lines = ",\n".join(f'"{name}":{_listed(value)}' for name, value in _fields(study))
    return f"{{{lines}}}\n".encode()


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
    fault = _fault(study)
    if fault:
        raise FormatError(f"{source}: {fault} (was the file edited by hand? copy or create it again)")
    return study


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file completely or not at all; a name that ends in .gz is gzipped."""
    write_whole(path, gzip.compress(content, mtime=0) if path.suffix == ".gz" else content, folders=True)


def _fields(study: Study) -> list[tuple[str, object]]:
    names = sorted(Study.__struct_fields__, key=lambda name: name != "format")  # the format first
    return [(name, getattr(study, name)) for name in names]


def _listed(value: object) -> str:
    """Return JSON, with a line for each entry of a list or an object."""
    encode = msgspec.json.encode
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(encode(one).decode() for one in value) + "\n]"
    if isinstance(value, dict) and value:
        return (
            "{\n" + ",\n".join(f"{encode(key).decode()}:{encode(one).decode()}" for key, one in value.items()) + "\n}"
        )
    return encode(value).decode()


def _fault(study: Study) -> str:
    """Return what is wrong with a study, or an empty text."""
    if study.format != FORMAT:
        return f"its format is {study.format!r}, but this version of wayscore reads {FORMAT!r}"
    if not (math.isfinite(study.threshold) and study.threshold > 0):
        return f"its threshold must be a number of metres above 0, not {study.threshold}"
    faults = [_scene_fault(name, scene) for name, scene in study.scenes.items()]
    twice = [name for name, count in Counter(one.name for one in study.sets).items() if count > 1]
    faults += [f"two sets are named {name!r}" for name in twice]
    plain = {one.name: one for one in study.sets if one.kind == "plain"}
    faults += [_set_fault(one, study.scenes, plain) for one in study.sets]
    raters = Counter(one.rater for one in study.assignments)
    faults += [f"rater {rater} has two assignments" for rater, count in raters.items() if count > 1]
    known = {one.name for one in study.sets}
    for one in study.assignments:
        names = Counter(item.set for item in one.items)
        faults += [f"rater {one.rater} has set {name!r} twice" for name, count in names.items() if count > 1]
        for item in one.items:
            if item.set not in known:
                faults.append(f"rater {one.rater} has a set {item.set!r} that does not exist")
            if sorted(item.order) != list(range(QUERIES)):
                faults.append(f"rater {one.rater}, set {item.set!r}: the order must list 0 to 4 once, not {item.order}")
    return next(filter(None, faults), "")


def _scene_fault(name: str, scene: SceneMap) -> str:
    count = len(scene.positions)
    if any(not math.isfinite(x) for point in scene.positions.values() for x in point):
        return f"scene {name!r} has a position that is not finite"
    if any(not (0 <= a < count and 0 <= b < count) for a, b in scene.edges):
        return f"scene {name!r} has an edge to a node that does not exist"
    if len(scene.lengths) != len(scene.edges):
        return f"scene {name!r} has {len(scene.edges)} edges and {len(scene.lengths)} lengths"
    if any(not (math.isfinite(length) and length >= 0) for length in scene.lengths):
        return f"scene {name!r} has a length that is negative or not finite"
    return ""


def _set_fault(one: ComparisonSet, scenes: dict[str, SceneMap], plain: dict[str, ComparisonSet]) -> str:
    where = f"set {one.name!r}"
    if one.scene not in scenes:
        return f"{where} is in scene {one.scene!r}, which does not exist{did_you_mean(one.scene, scenes)}"
    if len(one.queries) != QUERIES:
        return f"{where} must have {QUERIES} queries, not {len(one.queries)}"
    for path in (one.reference, *one.queries):
        if not path:
            return f"{where} has an empty path"
        for node in path:
            if node not in scenes[one.scene].positions:
                return f"{where} visits a node {node!r} that scene {one.scene!r} does not have"
    if one.kind == "repeat":
        first = plain.get(one.of)
        if first is None or (first.reference, first.queries) != (one.reference, one.queries):
            return f"{where} repeats {one.of!r}, which is not a plain set with the same paths"
    elif one.of:
        return f"{where} is not a repeat, but names a set that it repeats, {one.of!r}"
    if one.kind == "check" and not (0 <= one.best < QUERIES and 0 <= one.worst < QUERIES and one.best != one.worst):
        return f"{where} is a check, but does not say which query is best and which is worst"
    if one.sources and len(one.sources) != QUERIES:
        return f"{where} has {len(one.sources)} sources for {QUERIES} queries"
    return ""
