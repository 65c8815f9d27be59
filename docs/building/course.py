"""The trajectories in all example files: one agent in generated worlds; and helpers that write such files.

A world's metre is stretched so that 3 m is 1.33 times the mean edge, as it is in Matterport3D.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.worlds.files import Course, Task, node_name

Floats = NDArray[np.float64]
Walks = dict[str, list[Any]]
"""By episode, the nodes that an agent walked."""

COURSE = Course(seed=0, episodes=240, instructions=3)
STRETCH = 3 / COURSE.threshold
HABITS = ("noisy", "noisy", "detour", "shortest", "overshoot")
"""How the agent of the examples walks, episode by episode."""


@cache
def walks() -> dict[str, Walks]:
    """Return the trajectories of the agent, and of one that always takes the shortest path."""
    by_habit = {habit: COURSE.walk(habit) for habit in dict.fromkeys((*HABITS, "shortest"))}
    names = list(by_habit["shortest"])
    mixed = {name: by_habit[HABITS[number % len(HABITS)]][name] for number, name in enumerate(names)}
    return {"agent": mixed, "shortest": by_habit["shortest"]}


def episodes() -> Iterable[tuple[str, Task, str]]:
    """Yield name, task and words of every episode."""
    for task in COURSE.tasks:
        for number, words in enumerate(task.instructions):
            yield f"{task.path_id}_{number}", task, words


def nodes(path: Sequence[Any]) -> list[str]:
    """Return the names of nodes."""
    return [node_name(node) for node in path]


def seen_from(task: Task) -> list[str]:
    """Return the nodes from which the object at the end of a path is seen."""
    return nodes([task.path[-1], *COURSE.worlds[task.scan].neighbors(task.path[-1])[:2]])


def points(scan: str, path: Sequence[Any]) -> Floats:
    """Return where nodes are, metres."""
    world = COURSE.worlds[scan]
    found: Floats = STRETCH * world.positions[[world.graph.index[node] for node in path]]
    return found


def way(scan: str, start: Any, end: Any) -> float:
    """Return how far it is between two nodes along the edges, metres."""
    return STRETCH * COURSE.worlds[scan].graph.distance(start, end)


def as_json(records: Iterable[Any]) -> bytes:
    """Return records as a JSON list."""
    return json.dumps(list(records)).encode()


def as_lines(records: Iterable[Any]) -> bytes:
    """Return records as JSON lines."""
    return "".join(json.dumps(record) + "\n" for record in records).encode()
