"""Many agents at once: the state of the environments and their transitions as arrays, with NumPy only."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wayscore import kernels
from wayscore.distances.base import Floats
from wayscore.errors import OptionError
from wayscore.rewards.nodes import STOP, VISITED, Codes
from wayscore.rewards.rewards import Progress, RewardFunction, find_reward
from wayscore.rewards.tasks import Tasks

HELD = ("_progress", "_views", "episode", "pose", "steps")
"""Views of other attributes, which a copy makes again."""


class Outcome(NamedTuple):
    """The outcome of one step, one value per environment.

    Attributes:
        rewards: for moving, and for stopping or being cut off.
        stopped: whether the agent stopped.
        cut_off: whether the episode ended because it reached the largest number of moves.
        ended: one or the other.
    """

    rewards: Floats
    stopped: NDArray[np.bool_]
    cut_off: NDArray[np.bool_]
    ended: NDArray[np.bool_]


class Walkers:
    """Several environments, each with one agent in an episode of its own.

    Args:
        tasks: the episodes.
        num_envs: how many environments.
        reward: the reward function by name, or as a value.
        threshold: d_th, metres.
        max_episode_steps: largest number of moves per episode.
    """

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
            raise OptionError(
                f"num_envs and max_episode_steps must be 1 or more, got {num_envs} and {max_episode_steps}"
            )
        self.tasks, self.nodes, self.terrain = tasks, tasks.nodes, tasks.terrain
        self.reward, self.threshold, self.max_episode_steps = find_reward(reward), float(threshold), max_episode_steps
        self.candidates = self.terrain.candidates
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
        self.visited = np.zeros((num_envs, self.terrain.largest + 1), dtype=bool)
        """Which nodes of its scene each agent was at; the last column stays False."""
        self._in_visited = np.arange(num_envs)[:, None] * self.visited.shape[1]
        self._hold()
        terrain, rows = self.terrain, np.arange(len(tasks))
        self._first_state = np.stack((rows, terrain.first, 0 * rows))
        first_ndtw = np.exp(-terrain.dtw / (tasks.lengths * self.threshold))
        self._first_gains = np.stack((0.0 * terrain.dtw, terrain.optimal, terrain.dtw, first_ndtw))

    def _hold(self) -> None:
        """Keep views of the arrays that every step changes."""
        self.episode, self.pose, self.steps = self._state
        changed = (self._state, self.over, self._rows, self._trail, self.visited)
        self._views: Any = [kernels.view(array) for array in changed], [kernels.view(gains) for gains in self._gains]
        self._progress = [
            Progress(to_goal, dtw, self._counts, walked, self._optimal, self.threshold, ndtw)
            for walked, to_goal, dtw, ndtw in self._gains
        ]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in HELD}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._hold()

    def __len__(self) -> int:
        return len(self.pose)

    @property
    def here(self) -> Codes:
        """The node where every agent is."""
        return self.terrain.node[self.pose]

    @property
    def goal(self) -> Codes:
        """The last node of every reference."""
        return self.terrain.goal[self.episode]

    def begin(self, episodes: Codes | int, environments: Codes | int | None = None) -> None:
        """Put agents at the starts of episodes; in all environments by default."""
        where = np.arange(len(self)) if environments is None else environments
        terrain, tasks = self.terrain, self.tasks
        self._state[:, where] = state = self._first_state.take(episodes, axis=1)
        self._gains[self._now][:, where] = self._first_gains.take(episodes, axis=1)
        self._rows[where] = terrain.rows.take(episodes, axis=0)
        self._counts[where] = tasks.lengths[episodes]
        self._optimal[where] = terrain.optimal[episodes]
        self._trail[where, 0] = state[1]
        self._reached[where] = self._followed[where] = 0
        self.over[where] = False
        self.visited[where] = False
        self.visited[where, self.nodes.local[terrain.node[state[1]]]] = True

    def copy(self, agents: Codes, to: Codes) -> None:
        """Put agents into other environments of the same episodes, with all that they have walked; all others end."""
        changed = (self._rows, self._trail, self._reached, self._followed, self.visited)
        for array in (*changed, *(part for table in (self._state, self._gains[self._now]) for part in table)):
            array[to] = array[agents]
        self.over[:] = True
        self.over[to] = False

    def progress(self) -> Progress:
        """Return the progress of the agents; the arrays are used again after the next step."""
        return self._progress[self._now]

    def mask(self) -> NDArray[np.bool_]:
        """Return which actions are possible, (num_envs, candidates); stopping always is."""
        possible: NDArray[np.bool_] = self.terrain.mask.take(self.pose, axis=0).view(np.bool_)
        return possible

    def features(self) -> NDArray[np.float32]:
        """Return the features of every candidate, (num_envs, candidates, features); see `FEATURES`."""
        features = self.terrain.features.take(self.pose, axis=0)
        near = self.terrain.near.take(self.pose, axis=0)
        near += self._in_visited
        features[:, 1:, VISITED] = self.visited.reshape(-1)[near]
        return features

    def walk(self, actions: Any, outcome: Any) -> int:
        """Take every running agent's action: 0 stops, k goes to the k-th neighbour, an impossible action does nothing.

        Args:
            actions: (num_envs,) of int64, or a view of it.
            outcome: (3, num_envs) of bool, or a view: receives which agents moved, stopped, and were cut off.

        Returns:
            How many episodes end.
        """
        before, self._now = self._now, 1 - self._now
        self._gains[self._now][...] = self._gains[before]
        changed, gains = self._views
        arguments: list[Any] = [*changed, gains[self._now], outcome, actions, *self.terrain.lookup, self.threshold]
        return kernels.walk(*arguments)

    def act(self, actions: Codes) -> Outcome:
        """Take every running agent's action, as `walk` does, and return the rewards.

        The last allowed move ends the episode, with the reward of stopping there.
        """
        before = self.progress()
        outcome = np.empty((3, len(self)), dtype=bool)
        some_end = self.walk(np.ascontiguousarray(actions, dtype=np.int64), outcome)
        now = self.progress()
        rewards = np.where(outcome[0], self.reward.move(before, now), 0.0)
        stopped, cut_off = outcome[1], outcome[2]
        ended = stopped | cut_off
        if some_end:
            rewards += np.where(ended, self.reward.stop(now), 0.0)
        return Outcome(rewards, stopped, cut_off, ended)

    def shortest(self) -> Codes:
        """Return the first action of a shortest path to the goal; at the goal, stopping."""
        return np.where(self.here == self.goal, STOP, self.nodes.next_hop(self.here, self.goal) + 1)

    def faithful(self) -> Codes:
        """Return the first action of a shortest path to the next node of the reference; after the last node, stopping.

        An agent's progress along the reference is the number of its nodes that the agent reached in order.
        """
        each, paths, last = np.arange(len(self)), self.tasks.paths[self.episode], self.tasks.lengths[self.episode] - 1
        reached, trail, most = self._reached, self.terrain.node[self._trail], int(self.steps.max())
        for step in range(1 + int(self._followed[~self.over].min(initial=most)), 1 + most):
            came = (self._followed < step) & (step <= self.steps) & (trail[:, step] != trail[:, step - 1])
            reached += came & (reached < last) & (paths[each, np.minimum(reached + 1, last)] == trail[:, step])
        self._followed[:] = self.steps
        target = paths[each, np.minimum(reached + 1, last)]
        finished = (reached == last) | (target == self.here)  # or a reference that stays where it is
        return np.where(finished, STOP, self.nodes.next_hop(self.here, target) + 1)

    def paths(self) -> list[list[str]]:
        """Return the labels of the nodes that each agent visited, without repeats."""
        trails = zip(self.terrain.node[self._trail].tolist(), self.steps.tolist(), strict=True)
        return [self.nodes.labels(trail[: steps + 1]) for trail, steps in trails]
