"""A town for tests: three generated worlds, their references, and runs of a few hundred answers."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import wayscore as ws
from wayscore.worlds.files import Course, course_files, node_name

EPISODES, WALKS = 120, 600
ALL: dict[str, Any] = {"duplicate": "all", "missing": "skip"}
"""Policies of random walks: an episode may have several, or none."""
SAMPLES = 50
"""Resamples are few, since nothing here depends on their number."""


@dataclass(frozen=True, eq=False)
class Town:
    """References and walks in three worlds, whose episodes come in no order."""

    folder: Path  # of the files references.json and connectivity/
    references: ws.References  # every episode has two goals, and the dataset's distance
    graphs: Mapping[str, ws.Graph]
    walks: pa.Table  # random walks, several of an episode: episode, scene, path (text), stopped
    answers: pa.Table  # one noisy walk for each episode in the references' order

    @property
    def files(self) -> list[str]:
        """The words of a command line that say where the references and graphs are."""
        return ["-r", str(self.folder / "references.json"), "-g", str(self.folder / "connectivity")]


def make_town(folder: Path) -> Town:
    """Write and return a town."""
    course = Course(seed=3, episodes=EPISODES, scans=3)
    files = course_files(course, ())
    records = json.loads(files["references.json"])
    random.Random(0).shuffle(records)
    files["references.json"] = json.dumps(records).encode()
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    references = ws.load_references(folder / "references.json")
    graphs = ws.load_graphs(folder / "connectivity")
    goals = {
        name: replace(one, goals=(one.path[-1], one.path[-2]), start_distance=float(len(one.path)))
        for name, one in references.episodes.items()
    }
    walked = course.walk("noisy")
    answers = {name: [node_name(node) for node in walked[name]] for name in references.episodes}
    references = replace(references, episodes=goals)
    walks = list(_walks(references, graphs))
    return Town(folder, references, graphs, table_of(walks, references), table_of(answers.items(), references))


def _walks(references: ws.References, graphs: Mapping[str, ws.Graph]) -> Any:
    draw = random.Random(1)
    episodes = list(references.episodes.values())
    for _ in range(WALKS):
        one = draw.choice(episodes)
        path = [one.path[0]]
        while len(path) < draw.randint(1, 8):
            path.append(draw.choice(sorted(graphs[one.scene].neighbors(path[-1]))))
        yield one.episode, path


def table_of(walks: Any, references: ws.References, stopped: list[bool | None] | None = None) -> pa.Table:
    """Return pairs of episode and walk as a table."""
    listed = list(walks)
    scenes = [references.episodes[name].scene if name in references.episodes else "?" for name, _ in listed]
    return pa.table(
        {
            "episode": [name for name, _ in listed],
            "scene": scenes,
            "path": [np.asarray(walk).tolist() for _, walk in listed],
            "stopped": pa.array(stopped or [None] * len(listed), pa.bool_()),
        }
    )


def in_dictionaries(walks: pa.Table) -> pa.Table:
    """Return a table whose texts, in paths too, are dictionary-encoded."""
    paths = walks["path"].combine_chunks()
    coded = pa.ListArray.from_arrays(paths.offsets, paths.values.dictionary_encode())
    return put(walks, path=coded, episode=walks["episode"].combine_chunks().dictionary_encode())


def in_type(walks: pa.Table, text: Any) -> pa.Table:
    """Return a table whose texts have another type, and whose lists are large."""
    kinds = {"episode": text, "scene": text, "path": pa.large_list(text), "stopped": pa.bool_()}
    return walks.cast(pa.schema([(name, kinds[name]) for name in walks.column_names]))


@cache
def by_number(town: Town) -> tuple[pa.Table, ws.References, dict[str, ws.Graph]]:
    """Return the walks, the references and the graphs with integers for labels."""

    def number(label: Any) -> int:
        return int(label[1:3]) * 100 + int(label[4:6])

    graphs = {}
    for scene, graph in town.graphs.items():
        lengths = graph.pairs(*np.array(graph.edges, dtype=np.int32).T)
        numbers = [number(node) for node in graph.nodes]
        graphs[scene] = ws.Graph.from_edges([(numbers[a], numbers[b]) for a, b in graph.edges], lengths, nodes=numbers)
    episodes = {
        name: replace(one, path=[number(label) for label in one.path], goals=())
        for name, one in town.references.episodes.items()
    }
    paths = pa.array([[number(label) for label in path] for path in town.walks["path"].to_pylist()])
    return put(town.walks, path=paths), replace(town.references, episodes=episodes), graphs


@cache
def in_points(town: Town) -> tuple[pa.Table, ws.References]:
    """Return the answers and references as points in metres, as VLN-CE has them: dense walks, and some never stop."""
    rng = np.random.default_rng(1)
    places = {scene: dict(zip(graph.nodes, graph.positions, strict=True)) for scene, graph in town.graphs.items()}
    episodes, walks = {}, {}
    for row in town.answers.to_pylist():
        one = town.references.episodes[row["episode"]]
        path = np.array([places[one.scene][label] for label in one.path])
        dense = np.concatenate([*(np.linspace(a, b, 5)[:-1] for a, b in pairwise(path)), path[-1:]])
        episodes[one.episode] = replace(one, path=path, goals=(), dense=dense)
        walk = np.array([places[one.scene][label] for label in row["path"]])
        walk[1:] += rng.normal(0, 0.3, walk[1:].shape)
        walks[one.episode] = np.repeat(walk, rng.integers(1, 3, len(walk)), axis=0)
    references = replace(town.references, episodes=episodes)
    stopped: list[bool | None] = [[None, True, False][n % 3] for n in range(len(walks))]
    return table_of(walks.items(), references, stopped), references


@cache
def carried(town: Town) -> pa.Table:
    """Return the walks with their references in every row."""
    paths = [town.references.episodes[name].path for name in town.walks["episode"].to_pylist()]
    return town.walks.append_column("reference", pa.array(paths))


def put(table: pa.Table, **columns: Any) -> pa.Table:
    """Return a table with other columns in place of some."""
    for name, column in columns.items():
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def changed(table: pa.Table, row: int, **cells: Any) -> pa.Table:
    """Return a table with other cells in a row."""
    rows = table.to_pylist()
    rows[row].update(cells)
    return pa.Table.from_pylist(rows, table.schema)


def write_array(path: Path, table: pa.Table) -> Path:
    """Write a table as a JSON array."""
    path.write_text(json.dumps(table.to_pylist()))
    return path


def write_lines(path: Path, table: pa.Table) -> Path:
    """Write a table as JSON lines, gzipped where the name says so."""
    lines = "".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode()
    path.write_bytes(gzip.compress(lines, mtime=0) if path.suffix == ".gz" else lines)
    return path


def write_parquet(path: Path, table: pa.Table, rows: int = 50) -> Path:
    """Write a table in small row groups with checksums."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, row_group_size=rows, write_page_checksum=True)
    return path


def write_files(folder: Path, table: pa.Table, files: int) -> Path:
    """Write a table as several files in a folder."""
    folder.mkdir()
    rows = -(-len(table) // files)
    for number in range(files):
        write_parquet(folder / f"rows-{number:03d}.parquet", table.slice(number * rows, rows))
    return folder


def read_scores(path: str | Path) -> pa.Table:
    """Read a table of scores, its names as plain text, its metadata left out."""
    found = pq.read_table(path)
    names = ("episode", "scene", "path_id")
    return found.cast(pa.schema([(one.name, pa.string() if one.name in names else one.type) for one in found.schema]))


def evaluated(run: Any, town: Town, **options: Any) -> ws.Result:
    """Evaluate a run of a town."""
    given = {"references": town.references, "graphs": town.graphs, **ALL, "resamples": SAMPLES, **options}
    return ws.evaluate(run, **given)
