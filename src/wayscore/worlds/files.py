"""Generated worlds as files: connectivity, references and runs that any program for R2R can read.

The same course always gives the same bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from wayscore.errors import OptionError
from wayscore.worlds.instructions import bearing, instruct
from wayscore.worlds.walkers import WALKERS
from wayscore.worlds.world import THRESHOLD_IN_EDGES, Node, World, check_whole
from wayscore.writing import unwritable, write_whole

MARK = ".made-by-wayscore-demo"  # a file in a folder of a demo that lists which files of the folder may be overwritten
CAMERA_HEIGHT = 1.5  # metres above the floor, for the connectivity files


@dataclass(frozen=True, slots=True)
class Task:
    """A path and its instructions."""

    path_id: int
    scan: str  # the name of its world
    path: tuple[Node, ...]
    heading: float  # where the agent looks at the start, radians clockwise from north
    instructions: tuple[str, ...]  # several descriptions of the path; each is one episode


@dataclass(frozen=True)
class Course:
    """Tasks in several generated worlds; the same settings always give the same course.

    Attributes:
        seed: random seed of the worlds, the paths, the instructions and the mistakes of walkers.
        episodes: the number of instructions.
        scans: the number of worlds that they are spread over.
        instructions: how many instructions describe the same path.

    >>> course = Course(episodes=5)
    >>> [(task.path_id, task.scan, len(task.instructions)) for task in course.tasks]
    [(1, 'world1', 2), (2, 'world2', 2), (3, 'world3', 1)]
    >>> course.threshold
    1.41
    """

    seed: int = 0
    episodes: int = 200
    scans: int = 4
    instructions: int = 2

    def __post_init__(self) -> None:
        check_whole("seed", self.seed, least=0)
        for name in ("episodes", "scans", "instructions"):
            check_whole(name, getattr(self, name), least=1)

    @cached_property
    def worlds(self) -> dict[str, World]:
        """Scan -> world; courses with different seeds have no world in common."""
        return {f"world{n + 1}": World.paper(self.scans * self.seed + n) for n in range(self.scans)}

    @cached_property
    def threshold(self) -> float:
        """d_th = 1.33 x the mean edge length of all worlds, in metres, to the centimetre."""
        lengths = np.concatenate([world.lengths for world in self.worlds.values()])
        return round(THRESHOLD_IN_EDGES * math.fsum(lengths) / len(lengths), 2)

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks, world after world."""
        rng = np.random.default_rng([self.seed, *b"tasks"])
        count = -(-self.episodes // self.instructions)
        tasks = []
        for number in range(count):
            scan = f"world{1 + number * self.scans // count}"
            path = self.worlds[scan].sample_path(rng)
            heading = round(rng.uniform(0, 2 * math.pi), 3)
            wanted = min(self.instructions, self.episodes - number * self.instructions)
            words = tuple(instruct(self.worlds[scan], path, seed=rng) for _ in range(wanted))
            tasks.append(Task(number + 1, scan, tuple(path), heading, words))
        return tuple(tasks)

    def walk(self, walker: str) -> dict[str, list[Node]]:
        """Let one of `WALKERS` walk every episode; return its queries (trajectories) by episode.

        Each walker has its own random numbers, so its paths do not depend on the other walkers.
        """
        rng = np.random.default_rng([self.seed, *walker.encode()])
        return {
            f"{task.path_id}_{number}": WALKERS[walker](self.worlds[task.scan], task.path, rng)
            for task in self.tasks
            for number in range(len(task.instructions))
        }


def course_files(course: Course, walkers: Iterable[str] = tuple(WALKERS)) -> dict[str, bytes]:
    """Return the files of a course: name -> content.

    `references.json` and `runs/<walker>.json` have the formats of R2R's annotations and result files, and
    `connectivity/<scan>_connectivity.json` has the format of Matterport3D.
    """
    references = [
        {
            "path_id": task.path_id,
            "scan": task.scan,
            "heading": task.heading,
            "distance": round(course.worlds[task.scan].graph.distance(task.path[0], task.path[-1]), 2),
            "path": [node_name(node) for node in task.path],
            "instructions": list(task.instructions),
        }
        for task in course.tasks
    ]
    files = {"references.json": _records(references)}
    files |= {f"connectivity/{scan}_connectivity.json": _connectivity(world) for scan, world in course.worlds.items()}
    tasks = [task for task in course.tasks for _ in task.instructions]
    for walker in walkers:
        queries = zip(tasks, course.walk(walker).items(), strict=True)
        files[f"runs/{walker}.json"] = _records(
            {"instr_id": episode, "trajectory": _trajectory(course.worlds[task.scan], task.heading, path)}
            for task, (episode, path) in queries
        )
    return files


def write_files(folder: FilePath, files: Mapping[str, bytes], *, others: Sequence[str] = ()) -> None:
    """Write files into a folder; only files that this function wrote before are overwritten.

    Args:
        folder: created if it does not exist; the file `MARK` in it lists which files were written here.
        files: name -> content.
        others: names of files that the caller will write.

    Raises:
        OptionError: a file of this name exists and was not written here; then nothing is overwritten.
        OutputError: the folder cannot be written.
    """
    mark = folder / MARK
    names = [*files, *others]
    try:
        ours = mark.read_text(encoding="utf-8", errors="replace").splitlines() if mark.exists() else []
    except OSError as error:
        raise unwritable(folder, error) from None
    if taken := [name for name in names if name not in ours and (folder / name).exists()]:
        raise OptionError(
            f"{folder / taken[0]} exists already and was not made by a demo, so it is not overwritten; choose "
            "another folder with --out"
        )
    listed = "".join(f"{name}\n" for name in dict.fromkeys([*ours, *names]))
    for name, content in {MARK: listed.encode(), **files}.items():
        write_whole(folder / name, content, folders=True)


def node_name(node: Node) -> str:
    """Return the name of a node in files.

    >>> node_name((4, 12))
    'x04y12'
    """
    return f"x{node[0]:02}y{node[1]:02}"


def _trajectory(world: World, heading: float, path: Sequence[Node]) -> list[tuple[str, float, float]]:
    """Return viewpoint, heading (where the last step led) and elevation of every node."""
    points = world.positions[[world.graph.index[node] for node in path]]
    headings = [heading, *(round(math.radians(bearing(b - a) % 360), 3) for a, b in pairwise(points))]
    return [(node_name(node), heading, 0.0) for node, heading in zip(path, headings, strict=True)]


def _connectivity(world: World) -> bytes:
    nodes: Any = world.graph.nodes
    joined = np.zeros((len(nodes), len(nodes)), dtype=bool)
    a, b = np.array(world.graph.edges, dtype=np.int64).reshape(-1, 2).T
    joined[a, b] = joined[b, a] = True
    return _records(
        {
            "image_id": node_name(node),
            "pose": [1, 0, 0, x, 0, 1, 0, y, 0, 0, 1, CAMERA_HEIGHT, 0, 0, 0, 1],
            "included": True,
            "unobstructed": row,
            "height": CAMERA_HEIGHT,
        }
        for node, (x, y), row in zip(nodes, world.positions.tolist(), joined.tolist(), strict=True)
    )


def _records(records: Iterable[Any]) -> bytes:
    """Return a JSON list, one record per line."""
    lines = ",\n".join(json.dumps(record, allow_nan=False) for record in records)
    return f"[\n{lines}\n]\n".encode()
