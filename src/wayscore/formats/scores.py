"""Score files of other evaluators: numbers per episode, without paths.

Habitat, CWP and NaviLLM write `{episode: {"success": ..., "spl": ...}}`; InternNav, StreamVLN and NaVid JSON lines of
`success`, `spl`, `os`, `ne`; others lists or CSV. Their names of metrics become the paper's; what cannot be a metric
(steps, actions, texts) is left out.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from wayscore.errors import FormatError, OptionError, first_line
from wayscore.escaping import from_cell
from wayscore.formats.base import Source, read
from wayscore.formats.sniff import look
from wayscore.metrics import Metric, find_metrics

EPISODE_NAMES = ("episode_id", "episode", "instr_id", "instruction_id", "id", "trajectory_id")
"""The fields that may name an episode; the first present counts."""
SCENE_NAMES = ("scene_id", "scene", "scan")
TELLING = frozenset("success spl ne os ndtw sdtw nav_error distance_to_goal oracle_success navigation_error".split())
"""Fields by which a file of scores is recognised."""
PATHS = frozenset({"path", "trajectory", "positions", "reference_path", "path_id", "instructions"})
"""Fields of files that hold paths."""


class ScoreFile(Struct, frozen=True):
    """Scores of single episodes.

    Attributes:
        episodes: their names.
        columns: by symbol, one value per episode; infinite where it is undefined.
        not_numbers: by symbol, how many values were NaN or infinite, and whether they are undefined or the worst.
        scenes: where the episodes lie, if the file says so.
    """

    episodes: list[str]
    columns: dict[str, NDArray[np.float64]]
    not_numbers: dict[str, tuple[int, bool]]
    scenes: list[str] | None = None


def is_score_file(path: Any) -> bool:
    """Say whether a file holds scores of single episodes rather than paths."""
    if not isinstance(path, str | os.PathLike) or not os.path.isfile(path):
        return False
    try:
        beginning = look(read(path).content)
    except FormatError:
        return False  # its reader will say what is wrong
    keys = {key.lower() for key in beginning.keys}
    inner = {key.lower() for key in beginning.inner}
    if beginning.layout in ("parquet", "empty") or keys & PATHS or inner & PATHS:
        return False
    return bool((keys | inner) & TELLING)


def read_scores(path: str | os.PathLike[str]) -> ScoreFile:
    """Read a file of scores; one without scores is an error, and so is a value that is not a number."""
    source = read(path)
    records = list(_records(source))
    if not records:
        raise FormatError(f"{source}: holds no scores; expected numbers per episode, such as success and spl")
    known: dict[str, Metric | None] = {}  # a name is looked up once, since that asks every installed package
    for _, record in records:
        for name, value in record.items():
            if name not in known and isinstance(value, int | float | str):
                try:
                    known[name] = find_metrics([name])[0]
                except OptionError:
                    known[name] = None
    metrics = {name: metric for name, metric in known.items() if metric is not None}
    if not metrics:
        names = ", ".join(list(records[0][1])[:8])
        raise FormatError(f"{source}: none of its fields is a known metric: {names}; expected success, spl, ndtw, ...")
    columns: dict[str, NDArray[np.float64]] = {}
    bad: dict[str, tuple[int, bool]] = {}
    for name, metric in metrics.items():
        if metric.symbol in columns:  # some write one metric under two names
            continue
        values = np.array([_number(source, episode, name, record.get(name)) for episode, record in records])
        wrong = ~np.isfinite(values)
        undefined = not all(map(math.isfinite, metric.bounds))
        if wrong.any():
            bad[metric.symbol] = (int(np.count_nonzero(wrong)), undefined)
            values[wrong] = np.inf if undefined else metric.worst
        columns[metric.symbol] = values
    places = [next((one[name] for name in SCENE_NAMES if one.get(name) is not None), None) for _, one in records]
    scenes = [None if place is None else str(place).rsplit("/", 1)[-1].removesuffix(".glb") for place in places]
    episodes = [name for name, _ in records]
    if len({*episodes}) < len(episodes):  # several scenes use one name
        pairs = zip(episodes, scenes, strict=True)
        episodes = [name if scene is None else f"{scene}/{name}" for name, scene in pairs]
        twice = next((name for name, count in Counter(episodes).items() if count > 1), None)
        if twice is not None:
            raise FormatError(f"{source}: episode {twice!r} comes twice; keep one of its records")
    return ScoreFile(episodes, columns, bad, None if None in scenes else [str(scene) for scene in scenes])


def _records(source: Source) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """Go through the episodes of a file, each with its name."""
    import csv
    import io
    import json

    text = source.content.decode(errors="replace")
    if text.lstrip()[:1] not in "[{":
        try:
            heads, *rows = [[*map(from_cell, row)] for row in csv.reader(io.StringIO(text, newline="")) if row] or [[]]
        except csv.Error as error:
            raise FormatError(f"{source}: is not a table ({first_line(error)}); write one row per episode") from None
        yield from _named(source, (dict(zip(heads, row, strict=False)) for row in rows))
        return
    try:
        found = json.loads(text)
    except ValueError:  # JSON lines
        found = []
        for number, line in enumerate(text.split("\n"), start=1):
            try:
                found += [json.loads(line)] if line.strip() else []
            except ValueError:
                raise FormatError(f"{source}, line {number}: is not JSON; expected the scores of an episode") from None
    if isinstance(found, dict) and isinstance(found.get("episodes"), list):
        found = found["episodes"]
    if isinstance(found, dict) and all(isinstance(value, dict) for value in found.values()):
        yield from ((str(name), record) for name, record in found.items())
    else:
        yield from _named(source, found if isinstance(found, list) else [found])


def _named(source: Source, rows: Iterable[Any]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise FormatError(f"{source}, record {number}: must be an object with the scores of an episode")
        name = next((row[field] for field in EPISODE_NAMES if row.get(field) is not None), None)
        if name is None:
            named = [f"'{field}'" for field in EPISODE_NAMES[:3]]
            raise FormatError(f"{source}, record {number}: names no episode; expected the field {' or '.join(named)}")
        yield str(name), row


def _number(source: Source, episode: str, name: str, value: Any) -> float:
    if value is None or value == "":
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        raise FormatError(
            f"{source}, episode {episode!r}, field {name!r}: must be a number, got {value!r:.60}"
        ) from None
