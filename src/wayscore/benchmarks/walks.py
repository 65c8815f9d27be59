"""Runs of any size for benchmarks: random walks that answer real or generated references, written as they are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from wayscore.distances.graph import Graph
from wayscore.episodes import References
from wayscore.evaluation.parts import written
from wayscore.formats.layout import Labels, Layout
from wayscore.navigation.baselines import random_walks

ROW_GROUP = 100_000
"""Walks that are made, and written, at a time."""


def write_walks(path: Path, references: References, graphs: Mapping[str, Graph], walks: int, seed: int = 0) -> None:
    """Write random walks to a file that ends in .parquet or .jsonl; each answers a reference drawn at random."""
    labels = Labels({scene: list(graphs[scene].nodes) for scene in _scenes(references)})
    tables = _tables(references, graphs, walks, np.random.default_rng(seed), labels)
    if path.suffix == ".parquet":
        with written(str(path), Layout("run", None, scene=True).schema(labels)) as add:
            for table in tables:
                add(table)
        return
    names = {scene: np.array(graphs[scene].nodes, dtype=object) for scene in _scenes(references)}
    with path.open("wb") as file:
        for table in tables:
            rows = zip(*(table.column(name).to_pylist() for name in ("episode", "scene", "path")), strict=True)
            lines = ({"episode": episode, "path": names[scene][codes].tolist()} for episode, scene, codes in rows)
            file.write(msgspec.json.Encoder().encode_lines(lines))


def _scenes(references: References) -> list[str]:
    return list(dict.fromkeys(reference.scene for reference in references.episodes.values()))


def _tables(
    references: References, graphs: Mapping[str, Graph], walks: int, rng: np.random.Generator, labels: Labels
) -> Iterator[Any]:
    import pyarrow as pa

    asked = list(references.episodes.values())
    scenes = _scenes(references)
    lengths = np.array([len(reference.path) for reference in asked])
    scene_of = np.array([scenes.index(reference.scene) for reference in asked], dtype=np.int32)
    starts = np.array([graphs[reference.scene].index[reference.path[0]] for reference in asked], dtype=np.int32)
    schema = Layout("run", None, scene=True).schema(labels)
    for first in range(0, walks, ROW_GROUP):
        count = min(ROW_GROUP, walks - first)
        drawn = rng.integers(len(asked), size=count)
        counts = rng.choice(lengths, size=count)
        offsets = np.concatenate(([0], np.cumsum(counts)))
        places = np.empty(int(offsets[-1]), dtype=np.int32)
        for number, scene in enumerate(scenes):
            rows = np.flatnonzero(scene_of[drawn] == number)
            if len(rows):
                done = random_walks(graphs[scene], starts[drawn[rows]], counts[rows], rng)
                places[np.repeat(offsets[rows] - done.offsets[:-1], counts[rows]) + np.arange(len(done.places))] = (
                    done.places
                )
        columns = {
            "episode": pa.DictionaryArray.from_arrays(
                pa.array(drawn.astype(np.int32)), pa.array([reference.episode for reference in asked])
            ),
            "scene": pa.DictionaryArray.from_arrays(pa.array(scene_of[drawn]), pa.array(scenes)),
            "path": pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), pa.array(places)),
            "stopped": pa.nulls(count, pa.bool_()),
        }
        yield pa.table(columns).cast(schema)
