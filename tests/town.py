"""A town for tests: three of the package's worlds, with references, and runs of a few thousand rows."""

from __future__ import annotations

import gzip
import json
import os
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import wayscore as ws

from benchmarks.walks import write_walks
from wayscore import Graph
from wayscore.distances.graphs import load_graphs
from wayscore.episodes import Query, References
from wayscore.formats import load_references
from wayscore.formats.columns import LABELS
from wayscore.formats.columns import labels_of as labels_in
from wayscore.formats.layout import Labels, Layout
from wayscore.worlds.files import Course, course_files, node_name

WALKS = 3000
ALL: dict[str, Any] = {"duplicate": "all", "missing": "skip"}
"""Policies of random walks: an episode may have several, or none."""
SAMPLES = 300
"""Resamples are few, since nothing here depends on their number."""


@dataclass(frozen=True, eq=False)
class Town:
    """What is asked for and walked in three worlds, whose episodes come in no order.

    Attributes:
        folder: of the files references.json and connectivity/.
        references: what was asked for; every episode has two goals, and the dataset's distance.
        graphs: scene -> graph.
        walks: random walks, several of an episode: episode, scene, path (text), stopped.
        answers: one noisy walk for each episode in the references' order.
    """

    folder: Path
    references: References
    graphs: Mapping[str, Graph]
    walks: pa.Table
    answers: pa.Table

    @property
    def files(self) -> list[str]:
        """The words of a command line that say where the references and graphs are."""
        return ["-r", str(self.folder / "references.json"), "-g", str(self.folder / "connectivity")]


def make_town(folder: Path) -> Town:
    """Write and return a town."""
    course = Course(seed=3, episodes=400, scans=3)
    files = course_files(course, ())
    asked = json.loads(files["references.json"])
    random.Random(0).shuffle(asked)
    files["references.json"] = json.dumps(asked).encode()
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    references = load_references(folder / "references.json")
    graphs = load_graphs(folder / "connectivity")
    write_walks(folder / "walks.parquet", references, graphs, WALKS)
    goals = {
        name: replace(one, goals=(one.path[-1], one.path[-2]), start_distance=float(len(one.path)))
        for name, one in references.episodes.items()
    }
    walked = course.walk("noisy")
    answers = table_of({name: [node_name(node) for node in walked[name]] for name in references.episodes}, references)
    walks = in_words(pq.read_table(folder / "walks.parquet"))
    return Town(folder, replace(references, episodes=goals), graphs, walks, answers)


def table_of(walks: Mapping[str, Any], references: References, stopped: list[bool | None] | None = None) -> pa.Table:
    """Return walks by episode as a table."""
    return pa.table(
        {
            "episode": list(walks),
            "scene": [references.episodes[name].scene if name in references.episodes else "?" for name in walks],
            "path": [np.asarray(walk).tolist() for walk in walks.values()],
            "stopped": pa.array(stopped or [None] * len(walks), pa.bool_()),
        }
    )


def in_words(coded: pa.Table) -> pa.Table:
    """Return a table of codes with labels in their place."""
    labels = labels_in(coded.schema)
    assert labels is not None
    paths = [
        [labels[scene][code] for code in path]
        for scene, path in zip(coded["scene"].to_pylist(), coded["path"].to_pylist(), strict=True)
    ]
    names = {name: coded[name].cast(pa.string()) for name in ("episode", "scene")}
    return pa.table({**names, "path": paths, "stopped": coded["stopped"]})


def in_codes(walks: pa.Table) -> pa.Table:
    """Return a table with codes in place of labels, as converted files have them."""
    queries = [Query(**row) for row in walks.select(["episode", "path", "stopped"]).to_pylist()]
    labels = Labels()
    table = Layout("run", None, scene=True).table(queries, labels, walks["scene"].to_pylist())
    return table.replace_schema_metadata({LABELS: labels.to_json()})


def in_dictionaries(walks: pa.Table) -> pa.Table:
    """Return a table whose texts, in paths too, are dictionary-encoded."""
    paths = walks["path"].combine_chunks()
    coded = pa.ListArray.from_arrays(paths.offsets, paths.values.dictionary_encode())
    changed = walks.set_column(walks.column_names.index("path"), "path", coded)
    return changed.set_column(0, "episode", walks["episode"].combine_chunks().dictionary_encode())


def by_number(town: Town) -> tuple[pa.Table, References, dict[str, Graph]]:
    """Return the walks, the references and the graphs with integers for labels."""

    def number(label: Any) -> int:
        return int(label[1:3]) * 100 + int(label[4:6])

    graphs = {}
    for scene, graph in town.graphs.items():
        starts, targets = graph.adjacency
        ends = [(int(a), int(b)) for a in range(len(graph)) for b in targets[starts[a] : starts[a + 1]] if a < b]
        lengths = graph.pairs(*np.array(ends, dtype=np.int32).T)
        numbers = [number(node) for node in graph.nodes]
        graphs[scene] = Graph.from_edges([(numbers[a], numbers[b]) for a, b in ends], lengths, nodes=numbers)
    episodes = {
        name: replace(one, path=[number(label) for label in one.path], goals=())
        for name, one in town.references.episodes.items()
    }
    paths = pa.array([[number(label) for label in path] for path in town.walks["path"].to_pylist()])
    return (
        town.walks.set_column(town.walks.column_names.index("path"), "path", paths),
        replace(town.references, episodes=episodes),
        graphs,
    )


def in_points(town: Town) -> tuple[pa.Table, References]:
    """Return the answers and references as points in metres, as VLN-CE has them: dense walks, and some never stop."""
    rng = np.random.default_rng(1)
    places = {scene: dict(zip(graph.nodes, graph.positions, strict=True)) for scene, graph in town.graphs.items()}
    asked, walks = {}, {}
    for row in town.answers.to_pylist():
        one = town.references.episodes[row["episode"]]
        path = np.array([places[one.scene][label] for label in one.path])
        dense = np.concatenate([*(np.linspace(a, b, 5)[:-1] for a, b in pairwise(path)), path[-1:]])
        asked[one.episode] = replace(one, path=path, goals=(), dense=dense)
        walk = np.array([places[one.scene][label] for label in row["path"]])
        walk[1:] += rng.normal(0, 0.3, walk[1:].shape)
        walks[one.episode] = np.repeat(walk, rng.integers(1, 3, len(walk)), axis=0)
    references = replace(town.references, episodes=asked)
    return table_of(walks, references, [[None, True, False][n % 3] for n in range(len(walks))]), references


def carried(town: Town) -> pa.Table:
    """Return the walks with their references in every row."""
    asked = [town.references.episodes[name].path for name in town.walks["episode"].to_pylist()]
    return town.walks.append_column("reference", pa.array(asked))


def write_lines(path: Path, table: pa.Table) -> Path:
    """Write a table as JSON lines, gzipped where the name says so."""
    lines = "".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode()
    path.write_bytes(gzip.compress(lines, mtime=0) if path.suffix == ".gz" else lines)
    return path


def write_parquet(path: Path, table: pa.Table, rows: int = 100) -> Path:
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
    names = ("episode", "scene")
    return found.cast(pa.schema([(one.name, pa.string() if one.name in names else one.type) for one in found.schema]))


def evaluated(run: Any, town: Town, out: Path, **options: Any) -> tuple[ws.Result, pa.Table]:
    """Evaluate a run of a town; return its result and the table of episodes that it wrote."""
    given = {"references": town.references, "graphs": town.graphs, **ALL, "resamples": SAMPLES, **options}
    result = ws.evaluate(run, episodes=out, **given)
    assert not Path(f"{out}.parts").exists()
    return result, read_scores(out)


def part(folder: Path, number: int) -> Path:
    """Return where a part of scores.parquet is while it is made."""
    return folder / "scores.parquet.parts" / f"part-{number:06d}.parquet"


class Gate:
    """A named pipe, full to the brim, in the place of a file: whoever is about to write that file waits there."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        os.mkfifo(path)
        self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        for size in (4096, 1):
            try:
                while True:
                    os.write(self._pipe, bytes(size))
            except BlockingIOError:
                pass

    def waiting(self) -> list[int]:
        """Return the processes that have come to it."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            if int(process.name) != os.getpid():
                try:
                    opened = [os.readlink(link) for link in (process / "fd").iterdir()]
                except OSError:  # it ended, or is another user's
                    continue
                if str(self.path) in opened:
                    found.append(int(process.name))
        return found

    def remove(self) -> None:
        """Let the next one pass; those who wait here wait on."""
        self.path.unlink()

    def close(self) -> None:
        """Forget it."""
        self.path.unlink(missing_ok=True)
        os.close(self._pipe)
