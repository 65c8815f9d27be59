"""Runs of any size: random walks that answer real or generated references, written while they are drawn."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from wayscore.distances.graph import Graph
from wayscore.episodes import References
from wayscore.formats.columns import LABELS
from wayscore.navigation.baselines import random_walks

ROW_GROUP = 100_000
"""Walks that are drawn and written at a time."""


def write_walks(path: Path, references: References, graphs: Mapping[str, Graph], walks: int, seed: int = 0) -> None:
    """Write random walks to a file that ends in .parquet or .jsonl; each answers a reference drawn at random."""
    import msgspec
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = {scene: np.array(graphs[scene].nodes, dtype=object) for scene in _scenes(references)}
    labels = json.dumps({scene: nodes.tolist() for scene, nodes in names.items()})
    columns = {"episode": pa.string(), "scene": pa.string(), "path": pa.list_(pa.int32()), "stopped": pa.bool_()}
    schema = pa.schema(list(columns.items()), {LABELS: labels.encode()})
    tables = _tables(references, graphs, walks, np.random.default_rng(seed), schema)
    if path.suffix == ".parquet":
        with pq.ParquetWriter(path, schema, compression="lz4", write_page_checksum=True) as writer:
            for table in tables:
                writer.write_table(table)
        return
    with path.open("wb") as file:
        for table in tables:
            rows = zip(*(table.column(name).to_pylist() for name in ("episode", "scene", "path")), strict=True)
            lines = ({"episode": episode, "path": names[scene][codes].tolist()} for episode, scene, codes in rows)
            file.write(msgspec.json.Encoder().encode_lines(lines))


def _scenes(references: References) -> list[str]:
    return list(dict.fromkeys(reference.scene for reference in references.episodes.values()))


def _tables(
    references: References, graphs: Mapping[str, Graph], walks: int, rng: np.random.Generator, schema: Any
) -> Iterator[Any]:
    import pyarrow as pa

    episodes = list(references.episodes.values())
    scenes = _scenes(references)
    lengths = np.array([len(reference.path) for reference in episodes])
    scene_of = np.array([scenes.index(reference.scene) for reference in episodes], dtype=np.int32)
    starts = np.array([graphs[reference.scene].index[reference.path[0]] for reference in episodes], dtype=np.int32)
    for first in range(0, walks, ROW_GROUP):
        count = min(ROW_GROUP, walks - first)
        drawn = rng.integers(len(episodes), size=count)
        counts = rng.choice(lengths, size=count)
        offsets = np.concatenate(([0], np.cumsum(counts)))
        nodes = np.empty(int(offsets[-1]), dtype=np.int32)
        for number, scene in enumerate(scenes):
            rows = np.flatnonzero(scene_of[drawn] == number)
            if len(rows):
                some = random_walks(graphs[scene], starts[drawn[rows]], counts[rows], rng)
                shifts = np.repeat(offsets[rows] - some.offsets[:-1], counts[rows])
                nodes[shifts + np.arange(len(some.places))] = some.places
        columns = {
            "episode": pa.DictionaryArray.from_arrays(
                pa.array(drawn.astype(np.int32)), pa.array([reference.episode for reference in episodes])
            ),
            "scene": pa.DictionaryArray.from_arrays(pa.array(scene_of[drawn]), pa.array(scenes)),
            "path": pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), pa.array(nodes)),
            "stopped": pa.nulls(count, pa.bool_()),
        }
        yield pa.table(columns).cast(schema)
