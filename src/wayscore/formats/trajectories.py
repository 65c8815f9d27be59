"""Runs as lists of records, each a name and a walk: the results format of R2R and its descendants.

A walk is a list of steps, and agents write a step in four ways: `[viewpoint, heading, elevation]`, a plain
viewpoint, a list of viewpoints (all that the agent passed on its way to the next decision), or `[x, y, z]`.
Every way may occur in one file. Only places are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

import msgspec
import numpy as np
from msgspec import structs

from wayscore.errors import FormatError
from wayscore.formats.base import Fault, Source, make_batch
from wayscore.formats.decoding import decode_each, place
from wayscore.formats.episodes import EpisodeBatch, Query

Name: TypeAlias = str | int
Loose: TypeAlias = list[str | list[str | float | None]]


class Step(msgspec.Struct, array_like=True, gc=False):
    """`[viewpoint, heading, elevation]`, by far the commonest."""

    viewpoint: str
    heading: float | None = None
    elevation: float | None = None


def read_trajectories(
    source: Source, title: str, *, ids: tuple[str, ...], walks: tuple[str, ...], objects: tuple[str, ...] = ()
) -> EpisodeBatch:
    """Read a run: a JSON array or JSON lines.

    The first field of `ids` that a record has names its episode, the first of `walks` holds its walk, and one of
    `objects` may name the object that the agent found (null for none).
    """
    expected = f'{title} results: [{{"{ids[0]}": ..., "{walks[0]}": [[viewpoint, heading, elevation], ...]}}, ...]'
    read: Callable[[Any], Any] = flatten
    try:
        strict = structs.replace(source, faults=None)
        records = list(decode_each(strict, _record(ids, walks, objects, list[Step]), names=ids, expected=expected))
        read = _viewpoints
    except FormatError:  # most often another way to write steps; what is wrong will be wrong again
        records = list(decode_each(source, _record(ids, walks, objects, Loose), names=ids, expected=expected))
    if read is _viewpoints and len(ids) == len(walks) == 1 and not objects:
        paths = [[step.viewpoint for step in getattr(record, walks[0])] for _, record in records]
        if all(paths):  # by far the commonest, in columns at once
            episodes = [str(getattr(record, ids[0])) for _, record in records]
            return EpisodeBatch(paths, episodes, where=lambda row: f"{source}, episode {episodes[row]!r}")
    return make_batch(source, _queries(source, named_walks(source, records, ids, walks, expected), objects, read))


def named_walks(
    source: Source, records: Iterable[tuple[int | str, Any]], ids: Sequence[str], walks: Sequence[str], expected: str
) -> Iterator[tuple[int | str, Any, str, Any]]:
    """Go through records that have a name and a walk, with both; others are refused."""
    for number, record in records:
        name, steps = (
            next((value for field in fields if (value := getattr(record, field)) is not None), None)
            for fields in (ids, walks)
        )
        if name is not None and steps is not None:
            yield number, record, str(name), steps
            continue
        missing = f"the field {(ids if name is None else walks)[0]!r} is missing"
        named = None if name is None else str(name)
        source.refuse(Fault(missing, place(number, source), named, expected=expected))


def encode_run(paths: Mapping[str, Sequence[Any]]) -> bytes:
    """Return a result file: the nodes of each episode's path, with a heading and an elevation of 0.

    >>> encode_run({"4332_1": ["a", "b"]})
    b'[{"instr_id":"4332_1","trajectory":[["a",0,0],["b",0,0]]}]'
    """
    run = [{"instr_id": name, "trajectory": [[str(node), 0, 0] for node in path]} for name, path in paths.items()]
    return msgspec.json.encode(run)


def flatten(steps: Loose) -> Any:
    """Return the places of a walk, however its steps are written: a list of labels, or an (n, k) array.

    >>> flatten([["a", 0.5, 0.0], "b", ["c", "d"]])
    ['a', 'b', 'c', 'd']
    >>> flatten([[0, 1, 2], [0, 1, 3]]).shape
    (2, 3)

    Raises:
        ValueError: a step is none of the four; the message says which and why.
    """
    labels: list[str] = []
    points: list[Any] = []
    for number, step in enumerate(steps):
        if isinstance(step, str):
            labels.append(step)
        elif not step or all(isinstance(part, str) for part in step):
            labels.extend(step)  # type: ignore[arg-type]
        elif isinstance(step[0], str) and not any(isinstance(part, str) for part in step[1:]):
            labels.append(step[0])
        elif all(isinstance(part, int | float) for part in step):
            points.append(step)
        else:
            raise ValueError(
                f"step {number} must be a viewpoint, [viewpoint, heading, elevation] or [x, y, z], got {step}"
            )
        if points and labels:
            raise ValueError(f"step {number} mixes viewpoints and coordinates; write one kind")
        if points and len(points[-1]) != len(points[0]):
            raise ValueError(f"step {number} has {len(points[-1])} coordinates but step 0 has {len(points[0])}")
    return np.array(points, dtype=np.float64) if points else labels


@cache
def _record(ids: tuple[str, ...], walks: tuple[str, ...], objects: tuple[str, ...], steps: Any) -> type[Any]:
    """Return a Struct with these fields: required where there is no choice, else each may be absent."""
    fields: list[Any] = []
    for names, kind in ((ids, Name), (walks, steps)):
        fields += [(names[0], kind)] if len(names) == 1 else [(name, kind, None) for name in names]
    fields += [(name, Name | None | msgspec.UnsetType, msgspec.UNSET) for name in objects]
    return msgspec.defstruct("Result", fields, kw_only=True, gc=False)


def _viewpoints(steps: list[Step]) -> list[str]:
    return [step.viewpoint for step in steps]


def _queries(
    source: Source, walks: Iterable[tuple[int | str, Any, str, Any]], objects: Sequence[str], read: Callable[[Any], Any]
) -> Iterator[Query]:
    for number, record, name, steps in walks:
        try:
            walk = read(steps)
        except ValueError as error:
            source.refuse(Fault(str(error), place(number, source), name))
            continue
        if not len(walk):
            nothing = "its walk has no steps; an agent that never moves has its start"
            source.refuse(Fault(nothing, place(number, source), name))
            continue
        nested = all(isinstance(step, list) and all(isinstance(part, str) for part in step) for step in steps)
        recorded: dict[str, Any] = {"actions": len(steps) - 1} if nested else {}  # a step is a decision
        for found in (getattr(record, field) for field in reversed(objects)):
            if found is not msgspec.UNSET:
                recorded["predicted_object"] = "" if found is None else str(found)
        yield Query(name, walk, recorded=recorded)
