"""One step of agents that walk along the edges of graphs, each in an environment and an episode of its own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.kernels.plain.running import advance_table

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]


def walk(
    state: Numbers,
    over: Flags,
    rows: Floats,
    trail: Numbers,
    visited: Flags,
    progress: Floats,
    outcome: Flags,
    actions: Numbers,
    scene: Numbers,
    paths: Codes,
    lengths: Numbers,
    after: Codes,
    node: Numbers,
    metres: Floats,
    tables: list[Any],
    threshold: float,
) -> int:
    """Take every running agent's action; return how many episodes end.

    Action 0 stops, action k goes along the k-th edge, and one that is not possible leaves the agent where it is and
    costs a step. There are as many steps as `trail` has columns behind the first; the last one ends the episode.

    Of each environment: `state` is its episode, the agent's pose and its steps; `over` whether the episode is;
    `progress` the metres walked, the distance to the goal, DTW and nDTW; `rows` the column of C over the reference;
    `trail` the poses so far; `visited` the nodes; `outcome` receives whether the agent moved, stopped, was cut off.
    Of each episode: its scene, whose distances stand in `tables[scene]`; the reference, and how many nodes it has.
    Of each pose: the pose after each action, or -1; its node; the length of the edge that led to it.
    """
    episode, pose, steps = state
    running = ~over.astype(bool)
    going = running & (actions != 0)
    exists = going & (actions > 0) & (actions < after.shape[1])
    there = np.where(exists, after[pose, np.where(exists, actions, 0)], -1)
    moved = np.flatnonzero(there >= 0)
    steps += going
    outcome[0], outcome[1], outcome[2] = there >= 0, running & ~going, going & (steps == trail.shape[1] - 1)
    over |= outcome[1] | outcome[2]
    pose[moved] = there[moved]
    trail[going, steps[going]] = pose[going]
    here, tasks = node[pose], (paths[episode], lengths[episode], scene[episode])
    visited[moved, here[moved]] = True
    advance_table(*tasks[:2], rows, (there >= 0).view(np.uint8), progress[2], here, tasks[2], tables)
    progress[0, moved] += metres[pose[moved]]
    for e in moved.tolist():
        path, length, number = (of[e] for of in tasks)
        progress[1, e] = np.asarray(tables[number])[here[e], path[length - 1]]
        progress[3, e] = math.exp(-progress[2, e] / (length * threshold))
    return int(outcome[1:].sum())
