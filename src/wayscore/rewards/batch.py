"""Many agents at once: the nodes of their scenes, what their steps look up, and their state, as arrays.

An agent's pose is a node and a heading. It is at the start of an episode, or has come along an edge and looks in its
direction; so there are few poses, and what an agent observes in each is computed once. Headings are in radians
clockwise from +y, as in R2R; z points up.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wayscore import kernels
from wayscore.distances.base import Floats
from wayscore.distances.graph import Graph
from wayscore.errors import OptionError
from wayscore.rewards.rewards import Progress, RewardFunction, find_reward

if TYPE_CHECKING:
    from wayscore.rewards.tasks import Tasks

Codes = NDArray[np.int64]
STAIRS = 0.5
"""An edge that rises or falls by more than this, metres, counts as going up or down."""
LOOK_AHEAD = ("degree", "ahead", "right", "back", "left", "up", "down")
"""What an agent knows about the nodes behind a neighbour, relative to the edge that leads to it."""
WAVES = tuple(f"{wave} {times}h" for times in (1, 2, 3) for wave in ("cos", "sin"))
FEATURES = ("stop", *WAVES, "climb", "metres", "came from", "visited", *LOOK_AHEAD)
"""What an agent observes of each candidate; h is its heading relative to the agent's."""
FEATURE_COUNT = len(FEATURES)
VISITED = FEATURES.index("visited")
STOP = 0
"""The action that ends an episode; action k > 0 goes to the k-th neighbour."""
HELD = ("_lookup", "_progress", "_views", "episode", "pose", "steps")
"""Views of other attributes of an `AgentBatch`, which are created again in a copy."""


class Nodes:
    """All nodes of several graphs under one numbering, and their edges as arrays of (nodes, neighbours)."""

    def __init__(self, graphs: Mapping[str, Graph]) -> None:
        if not graphs:
            raise OptionError("an environment needs at least one scene")
        self.scenes = list(graphs)
        self.names: list[str] = []  # the labels of all nodes
        sizes, tables, positions, edges = [], [], [], []
        for scene, graph in graphs.items():
            if graph.positions is None or graph.table is None:
                raise OptionError(
                    f"scene {scene!r}: an environment needs a graph with positions and at most 4,096 nodes"
                )
            edges.append(np.stack((graph.sources, graph.targets)) + len(self.names))
            self.names += [str(node) for node in graph.nodes]
            sizes.append(len(graph))
            tables.append(graph.table.reshape(-1))
            flat = np.zeros((len(graph), 3))
            flat[:, : graph.positions.shape[1]] = graph.positions[:, :3]
            positions.append(flat)
        self._index = {scene: graph.index for scene, graph in graphs.items()}
        self._first = np.cumsum([0, *sizes])
        self.scene = np.repeat(np.arange(len(sizes)), sizes)  # the number of each node's scene
        self.local: Codes = np.arange(len(self.names)) - self._first[self.scene]  # its number within the scene
        starts = np.cumsum([0, *(size**2 for size in sizes)])
        self._table: Floats = np.concatenate(tables)
        self._row = starts[self.scene] + self.local * np.array(sizes)[self.scene]  # where a node's distances begin
        self.tables = [
            self._table[start : start + size**2].reshape(size, size) for start, size in zip(starts, sizes, strict=False)
        ]
        self.positions: Floats = np.concatenate(positions)  # metres

        sources, targets = np.concatenate(edges, axis=1)
        self.degree = np.bincount(sources, minlength=len(self))
        column = np.arange(len(sources)) - (np.cumsum(self.degree) - self.degree)[sources]
        away = self.positions[targets] - self.positions[sources]
        heading = np.arctan2(away[:, 0], away[:, 1])
        shape = (len(self), int(self.degree.max(initial=1)))
        self.neighbors: Codes = np.full(shape, -1, dtype=np.int64)  # -1 where a node has fewer
        # Of the edge to each neighbour: the direction, the sine of the slope, and the length (or infinity).
        self.headings, self.climbs, self.lengths = np.zeros(shape), np.zeros(shape), np.full(shape, np.inf)
        self.neighbors[sources, column] = targets
        self.headings[sources, column] = heading
        self.climbs[sources, column] = np.sin(np.arctan2(away[:, 2], np.hypot(away[:, 0], away[:, 1])))
        self.lengths[sources, column] = self.distance(sources, targets)
        self.beyond = np.zeros((*shape, len(LOOK_AHEAD)))  # in tens of metres or eighths
        self.beyond[sources, column] = self._look_ahead(sources, targets, heading)

    def __len__(self) -> int:
        return len(self.names)

    def numbers(self, scene: str, labels: list[str]) -> Codes:
        """Return the numbers of nodes by their labels."""
        index, first = self._index[scene], self._first[self.scenes.index(scene)]
        found: Codes = np.array([index[label] for label in labels], dtype=np.int64) + first
        return found

    def distance(self, a: Codes, b: Codes) -> Floats:
        """Return d(a, b) of nodes in the same scene; the two arrays broadcast."""
        found: Floats = self._table[self._row[a] + self.local[b]]
        return found

    def next_hop(self, here: Codes, goal: Codes) -> Codes:
        """Return the index of the neighbour that is next on a shortest path from each node to a goal."""
        near = self.neighbors[here]
        rest = self.distance(np.where(near < 0, here[:, None], near), goal[:, None])
        hop: Codes = np.argmin(self.lengths[here] + rest, axis=1)
        return hop

    def _look_ahead(self, sources: Codes, targets: Codes, heading: Floats) -> Floats:
        """Describe the edges that leave the end of each edge, except the one that leads back."""
        near = self.neighbors[targets]
        onward = (near >= 0) & (near != sources[:, None])
        turn = (self.headings[targets] - heading[:, None] + np.pi / 4) % (2 * np.pi)
        metres = np.where(onward & np.isfinite(self.lengths[targets]), self.lengths[targets], 0.0)
        rise = self.climbs[targets] * metres
        columns = [self.degree[targets] / 8.0]
        columns += [np.where(turn // (np.pi / 2) == side, metres, 0.0).sum(axis=1) / 10.0 for side in range(4)]
        return np.column_stack((*columns, (rise > STAIRS).any(axis=1), (rise < -STAIRS).any(axis=1)))


class StepTables:
    """What the steps of agents look up in some tasks and do not change: of each pose, and of each episode."""

    def __init__(self, tasks: Tasks) -> None:
        nodes, count = tasks.nodes, len(tasks)
        start, real = tasks.paths[:, 0], nodes.neighbors >= 0
        sources, ways = np.nonzero(real)
        starts, first = np.unique(np.stack((start, tasks.headings), axis=1), axis=0, return_inverse=True)
        headings: Any = np.concatenate((nodes.headings[sources, ways], starts[:, 1]))
        self.candidates = nodes.neighbors.shape[1] + 1  # actions, impossible ones included
        self.node: Codes = np.concatenate((nodes.neighbors[sources, ways], starts[:, 0].astype(np.int64)))
        self.heading = headings[:, None].astype(np.float32)
        self.mask = (np.arange(self.candidates) <= nodes.degree[self.node, None]).view(np.int8)
        self.position = nodes.positions[self.node].astype(np.float32)
        self.largest = int(nodes.local.max()) + 1  # nodes of the largest scene; in `near`, no neighbour
        self.near: Codes = np.where(real, nodes.local[nodes.neighbors], self.largest)[self.node]
        self.first: Codes = len(sources) + first.reshape(-1)  # the pose at the start of each episode
        self.goal: Codes = tasks.paths[np.arange(count), tasks.lengths - 1]
        self.optimal = nodes.distance(start, self.goal)

        still = np.zeros((len(nodes), self.candidates, FEATURE_COUNT), dtype=np.float32)
        still[:, STOP, 0] = 1.0
        still[:, 1:, FEATURES.index("climb")] = nodes.climbs
        still[:, 1:, FEATURES.index("metres")] = np.where(real, nodes.lengths, 0.0) / 10.0
        still[:, 1:, VISITED + 1 :] = nodes.beyond
        self.features = still[self.node]  # without the flags of nodes that were visited
        # Turning by the agent's heading is a product of complex numbers: cosine and sine of 1, 2 and 3 times the angle.
        times = np.array([1.0, 2.0, 3.0])
        edges = (np.exp(1j * nodes.headings[..., None] * times) * real[..., None]).astype(np.complex64)
        turned = np.exp(-1j * headings[:, None] * times).astype(np.complex64)[:, None, :] * edges[self.node]
        self.features[:, 1:, 1 : 1 + len(WAVES)] = turned.view(np.float32)
        came_from = np.concatenate((sources, np.full(len(starts), -2)))
        self.features[:, 1:, FEATURES.index("came from")] = nodes.neighbors[self.node] == came_from[:, None]

        metres = np.concatenate((nodes.lengths[sources, ways], np.zeros(len(starts))))
        after = np.full((len(nodes), self.candidates), -1, dtype=np.int32)
        after[sources, ways + 1] = np.arange(len(sources))
        paths = np.where(tasks.paths < 0, 0, nodes.local[tasks.paths]).astype(np.int32)
        scene = nodes.scene[start]
        # What `kernels.walk` looks up, but for the distances.
        self.lookup = (scene, paths, tasks.lengths, after[self.node], nodes.local[self.node], metres)
        # The first column of C, whose query is at the reference's first node, and DTW after that node.
        self.rows = np.full((count, paths.shape[1] + 1), np.inf)
        self.rows[:, 0] = 0.0
        self.dtw = np.empty(count)
        state = (paths, tasks.lengths, self.rows, None, self.dtw)
        kernels.advance_table(*state, nodes.local[start], scene, nodes.tables)


class Outcome(NamedTuple):
    """The outcome of one step, one value per environment."""

    rewards: Floats  # for moving, and for stopping or being cut off
    stopped: NDArray[np.bool_]  # by the agent
    cut_off: NDArray[np.bool_]  # by the largest number of moves
    ended: NDArray[np.bool_]  # one or the other


class AgentBatch:
    """Several environments, each with one agent in an episode of its own."""

    def __init__(
        self,
        tasks: Tasks,
        num_envs: int,
        *,
        reward: str | RewardFunction = "fidelity",
        threshold: float = 3.0,
        max_episode_steps: int = 20,
    ) -> None:
        if num_envs < 1 or max_episode_steps < 1:
            given = f"{num_envs} and {max_episode_steps}"
            raise OptionError(f"num_envs and max_episode_steps must be 1 or more, got {given}")
        self.tasks, self.nodes, self.tables = tasks, tasks.nodes, tasks.tables
        self.reward, self.threshold, self.max_episode_steps = find_reward(reward), float(threshold), max_episode_steps
        tables, rows = self.tables, np.arange(len(tasks))
        self._state = np.zeros((3, num_envs), dtype=np.int64)
        self.over = np.ones(num_envs, dtype=bool)
        self._counts, self._optimal = np.ones(num_envs, dtype=np.int64), np.zeros(num_envs)
        self._gains = np.zeros((4, num_envs)), np.zeros((4, num_envs))
        """Metres walked, distance to the goal, DTW and nDTW: before the last step, and now."""
        self._now = 0
        self._rows = np.zeros((num_envs, tasks.paths.shape[1] + 1))
        self._trail = np.zeros((num_envs, max_episode_steps + 1), dtype=np.int64)
        self._reached, self._followed = np.zeros((2, num_envs), dtype=np.int64)
        """How many nodes of its reference each agent reached in order, and how many of its steps were looked at."""
        self.visited = np.zeros((num_envs, tables.largest + 1), dtype=bool)
        """Which nodes of its scene each agent was at; the last column stays False."""
        self._in_visited = np.arange(num_envs)[:, None] * self.visited.shape[1]
        self._first_state = np.stack((rows, tables.first, 0 * rows))
        first_ndtw = np.exp(-tables.dtw / (tasks.lengths * self.threshold))
        self._first_gains = np.stack((0.0 * tables.dtw, tables.optimal, tables.dtw, first_ndtw))
        self.__setstate__({})

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in HELD}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take a copied state, and keep views of what every step looks up and changes."""
        self.__dict__.update(state)
        view = kernels.view
        self.episode, self.pose, self.steps = self._state
        self._lookup = (*map(view, self.tables.lookup), [*map(view, self.nodes.tables)], self.threshold)
        changed = (self._state, self.over, self._rows, self._trail, self.visited)
        self._views = [*map(view, changed)], [*map(view, self._gains)]
        self._progress = [
            Progress(to_goal, dtw, self._counts, walked, self._optimal, self.threshold, ndtw)
            for walked, to_goal, dtw, ndtw in self._gains
        ]

    def __len__(self) -> int:
        return len(self.pose)

    @property
    def here(self) -> Codes:
        """The node where every agent is."""
        return self.tables.node[self.pose]

    def begin(self, episodes: Codes | int, environments: Codes | int | None = None) -> None:
        """Put agents at the starts of episodes; in all environments by default."""
        where = np.arange(len(self)) if environments is None else environments
        self._state[:, where] = state = self._first_state.take(episodes, axis=1)
        self._gains[self._now][:, where] = self._first_gains.take(episodes, axis=1)
        self._rows[where] = self.tables.rows.take(episodes, axis=0)
        self._counts[where] = self.tasks.lengths[episodes]
        self._optimal[where] = self.tables.optimal[episodes]
        self._trail[where, 0] = state[1]
        self._reached[where] = self._followed[where] = 0
        self.over[where] = False
        self.visited[where] = False
        self.visited[where, self.nodes.local[self.tables.node[state[1]]]] = True

    def copy(self, agents: Codes, to: Codes) -> None:
        """Put agents into other environments of the same episodes, with all that they have walked; all others end."""
        changed = (self._rows, self._trail, self._reached, self._followed, self.visited)
        for array in (*changed, *self._state, *self._gains[self._now]):
            array[to] = array[agents]
        self.over[:] = True
        self.over[to] = False

    def progress(self) -> Progress:
        """Return the progress of the agents; the arrays are used again after the next step."""
        return self._progress[self._now]

    def mask(self) -> NDArray[np.bool_]:
        """Return which actions are possible, (num_envs, candidates); stopping always is."""
        return self.tables.mask.take(self.pose, axis=0).view(np.bool_)

    def features(self) -> NDArray[np.float32]:
        """Return the features of every candidate, (num_envs, candidates, features); see `FEATURES`."""
        features = self.tables.features.take(self.pose, axis=0)
        near = self.tables.near.take(self.pose, axis=0)
        near += self._in_visited
        features[:, 1:, VISITED] = self.visited.reshape(-1)[near]
        return features

    def walk(self, actions: Any, outcome: Any) -> int:
        """Take every running agent's action (int64) and return how many episodes end.

        0 stops, k goes to the k-th neighbour, an impossible action does nothing. `outcome`, (3, num_envs) of bool,
        receives which agents moved, stopped, and were cut off.
        """
        before, self._now = self._now, 1 - self._now
        self._gains[self._now][...] = self._gains[before]
        changed, gains = self._views
        arguments: list[Any] = [*changed, gains[self._now], outcome, actions, *self._lookup]
        return kernels.walk(*arguments)

    def act(self, actions: Codes) -> Outcome:
        """Take every running agent's action, as `walk` does, and return the rewards.

        The last allowed move ends the episode, with the reward of stopping there.
        """
        before = self.progress()
        outcome = np.empty((3, len(self)), dtype=bool)
        some_end = self.walk(np.ascontiguousarray(actions, dtype=np.int64), outcome)
        now = self.progress()
        moved, stopped, cut_off = outcome
        rewards = np.where(moved, self.reward.move(before, now), 0.0)
        ended = stopped | cut_off
        if some_end:
            rewards += np.where(ended, self.reward.stop(now), 0.0)
        return Outcome(rewards, stopped, cut_off, ended)

    def shortest(self) -> Codes:
        """Return the first action of a shortest path to the goal; at the goal, stopping."""
        goal = self.tables.goal[self.episode]
        return np.where(self.here == goal, STOP, self.nodes.next_hop(self.here, goal) + 1)

    def faithful(self) -> Codes:
        """Return the first action of a shortest path to the next node of the reference; after the last node, stopping.

        An agent's progress along the reference is the number of its nodes that the agent reached in order.
        """
        each, paths, last = np.arange(len(self)), self.tasks.paths[self.episode], self.tasks.lengths[self.episode] - 1
        reached, trail, most = self._reached, self.tables.node[self._trail], int(self.steps.max())
        for step in range(1 + int(self._followed[~self.over].min(initial=most)), 1 + most):
            came = (self._followed < step) & (step <= self.steps) & (trail[:, step] != trail[:, step - 1])
            reached += came & (reached < last) & (paths[each, np.minimum(reached + 1, last)] == trail[:, step])
        self._followed[:] = self.steps
        target = paths[each, np.minimum(reached + 1, last)]
        finished = (reached == last) | (target == self.here)  # or a reference that stays where it is
        return np.where(finished, STOP, self.nodes.next_hop(self.here, target) + 1)

    def paths(self) -> list[list[str]]:
        """Return the labels of the nodes that each agent visited, without repeats."""
        trails = zip(self.tables.node[self._trail].tolist(), self.steps.tolist(), strict=True)
        walks = [trail[: steps + 1] for trail, steps in trails]
        return [[self.nodes.names[node] for node, _ in groupby(walk)] for walk in walks]
