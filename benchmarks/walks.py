"""Runs of any size: random walks that answer real or generated references, written while they are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import Inputs
from wayscore.formats.episodes import Reference, References
from wayscore.lab.agents.baselines import random_walks
from wayscore.paths import PathBatch

ROW_GROUP = 100_000
"""Walks that are drawn and written at a time."""


def references_of(inputs: Inputs) -> References:
    """Return the reference paths with three instructions each, as R2R has them."""
    episodes = {
        f"{number}_{k}": Reference(f"{number}_{k}", scan, path, str(number))
        for number, (scan, path) in enumerate(inputs.references)
        for k in range(3)
    }
    return References("walks", "r2r", episodes)


def write_walks(path: Path, inputs: Inputs, walks: int, seed: int = 0) -> None:
    """Write random walks to a file that ends in .parquet or .jsonl; each answers a reference drawn at random."""
    import msgspec
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {"episode": pa.string(), "scene": pa.string(), "path": pa.list_(pa.string()), "stopped": pa.bool_()}
    schema = pa.schema(list(columns.items()))
    tables = _tables(inputs, walks, np.random.default_rng(seed), schema)
    if path.suffix == ".parquet":
        with pq.ParquetWriter(path, schema, compression="lz4", write_page_checksum=True) as writer:
            for table in tables:
                writer.write_table(table)
        return
    with path.open("wb") as file:
        for table in tables:
            file.write(msgspec.json.Encoder().encode_lines(table.select(["episode", "path"]).to_pylist()))


def load_walks(path: Path, inputs: Inputs) -> list[dict[str, Any]]:
    """Return what `score` takes of each scene of a Parquet file, as arrays in the order of the file."""
    import pyarrow.parquet as pq

    table = pq.read_table(path).combine_chunks()
    scenes = np.array(table["scene"].to_pylist())
    answered = np.array([int(name.partition("_")[0]) for name in table["episode"].to_pylist()])
    lists = table["path"].chunk(0)
    labels = lists.values.dictionary_encode()
    named, offsets = labels.dictionary.to_pylist(), lists.offsets.to_numpy().astype(np.int64)
    found = []
    for scan in inputs.scans:
        numbers = [number for number, (where, _) in enumerate(inputs.references) if where == scan]
        graph, rows = inputs.graphs[scan], np.flatnonzero(scenes == scan)
        codes = np.array([graph.index.get(label, -1) for label in named], dtype=np.int32)
        walks = PathBatch(codes[labels.indices.to_numpy()], offsets)
        found.append(
            {
                "references": graph.encode([inputs.references[number][1] for number in numbers]),
                "queries": walks.take(rows),
                "pairing": np.searchsorted(numbers, answered[rows]),
                "distance": graph,
            }
        )
    return found


def _tables(inputs: Inputs, walks: int, rng: np.random.Generator, schema: Any) -> Iterator[Any]:
    import pyarrow as pa

    graphs, scenes = inputs.graphs, inputs.scans
    episodes = list(references_of(inputs).episodes.values())
    lengths = np.array([len(reference.path) for reference in episodes])
    names = [name for scene in scenes for name in graphs[scene].nodes]
    before = np.cumsum([0, *(len(graphs[scene].nodes) for scene in scenes)], dtype=np.int32)
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
                nodes[shifts + np.arange(len(some.places))] = some.places + before[number]
        columns = {
            "episode": pa.DictionaryArray.from_arrays(
                pa.array(drawn.astype(np.int32)), pa.array([reference.episode for reference in episodes])
            ),
            "scene": pa.DictionaryArray.from_arrays(pa.array(scene_of[drawn]), pa.array(scenes)),
            "path": pa.ListArray.from_arrays(
                pa.array(offsets.astype(np.int32)), pa.DictionaryArray.from_arrays(pa.array(nodes), pa.array(names))
            ),
            "stopped": pa.nulls(count, pa.bool_()),
        }
        yield pa.table(columns).cast(schema)
