"""Many agents at once: the state of the environments and their transitions as arrays, with NumPy only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wayscore import kernels
from wayscore.distances.base import Floats
from wayscore.errors import OptionError
from wayscore.navigation.nodes import LOOK_AHEAD, Codes
from wayscore.navigation.reward_functions import Progress, RewardFunction, find_reward
from wayscore.navigation.tasks import Tasks

FEATURES = (
    "stop",
    *(f"{wave} {times}h" for times in (1, 2, 3) for wave in ("cos", "sin")),
    "climb",
    "metres",
    "came from",
    "visited",
    *LOOK_AHEAD,
)
"""What an agent observes of each candidate; h is its heading relative to the agent's."""
FEATURE_COUNT = len(FEATURES)
WAVES = np.array([1.0, 2.0, 3.0])
_TURN = slice(1, 7)
_CLIMB, _METRES, _CAME_FROM, _VISITED = (FEATURES.index(name) for name in ("climb", "metres", "came from", "visited"))
STOP = 0
"""The action that ends an episode; action k > 0 goes to the k-th neighbour."""


class Outcome(NamedTuple):
    """The outcome of one step, one value per environment.

    Attributes:
        rewards: for moving, and for stopping or being cut off.
        stopped: whether the agent stopped.
        cut_off: whether the episode ended because it reached the largest number of moves.
    """

    rewards: Floats
    stopped: NDArray[np.bool_]
    cut_off: NDArray[np.bool_]


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
        self.tasks, self.nodes = tasks, tasks.nodes
        self.reward, self.threshold, self.max_episode_steps = find_reward(reward), float(threshold), max_episode_steps
        self.candidates = self.nodes.neighbors.shape[1] + 1
        longest = tasks.paths.shape[1]
        self.episode = np.zeros(num_envs, dtype=np.int64)
        self.here = np.zeros(num_envs, dtype=np.int64)
        self.heading = np.zeros(num_envs)
        self.steps = np.zeros(num_envs, dtype=np.int64)
        self.walked = np.zeros(num_envs)
        self.optimal = np.zeros(num_envs)
        self.over = np.ones(num_envs, dtype=bool)
        self.trail = np.full((num_envs, max_episode_steps + 1), -1, dtype=np.int64)
        self.reached = np.zeros(num_envs, dtype=np.int64)
        """How many nodes of its reference each agent has reached, in order."""
        self._reference = np.zeros((num_envs, longest), dtype=np.int64)
        self._counts = np.ones(num_envs, dtype=np.int64)
        self._rows = np.full((num_envs, longest + 1), np.inf)
        self._all = np.arange(num_envs)
        self._edges, self.edge_features = self._describe()
        """Features of the edges of every node that do not depend on the agent."""

    def __len__(self) -> int:
        return len(self.here)

    def _describe(self) -> tuple[NDArray[np.complex64], NDArray[np.float32]]:
        """Return the headings of all edges as complex numbers, and their features that do not depend on the agent."""
        nodes = self.nodes
        real = nodes.neighbors >= 0
        ways = np.exp(1j * nodes.headings[..., None] * WAVES) * real[..., None]
        features = np.zeros((len(nodes), self.candidates, FEATURE_COUNT), dtype=np.float32)
        features[:, STOP, 0] = 1.0
        features[:, 1:, _CLIMB] = nodes.climbs
        features[:, 1:, _METRES] = np.where(real, nodes.lengths, 0.0) / 10.0
        features[:, 1:, _VISITED + 1 :] = nodes.beyond
        return ways.astype(np.complex64), features

    def begin(self, episodes: Codes, environments: Codes | None = None) -> None:
        """Put agents at the starts of episodes; in all environments by default."""
        where = self._all if environments is None else environments
        tasks = self.tasks
        self.episode[where] = episodes
        paths, counts = tasks.paths[episodes], tasks.lengths[episodes]
        start = paths[:, 0]
        self._reference[where] = np.where(paths < 0, start[:, None], paths)
        self._counts[where] = counts
        self.here[where] = start
        self.heading[where] = tasks.headings[episodes]
        self.steps[where] = 0
        self.walked[where] = 0.0
        self.over[where] = False
        self.reached[where] = 1
        self.trail[where] = -1
        self.trail[where, 0] = start
        self._rows[where] = np.inf
        self._rows[where, 0] = 0.0
        began = np.zeros(len(self), dtype=bool)
        began[where] = True
        self._advance(began)
        self.optimal[where] = self.nodes.distance(start, paths[np.arange(len(paths)), counts - 1])

    @property
    def goal(self) -> Codes:
        """The last node of every reference."""
        goals: Codes = self._reference[self._all, self._counts - 1]
        return goals

    def progress(self) -> Progress:
        """Return the progress of the agents."""
        return Progress(
            self.nodes.distance(self.here, self.goal),
            self._rows[self._all, self._counts],
            self._counts,
            self.walked.copy(),
            self.optimal,
            self.threshold,
        )

    def mask(self) -> NDArray[np.bool_]:
        """Return which actions are possible, (num_envs, candidates); stopping always is."""
        possible: NDArray[np.bool_] = np.arange(self.candidates) <= self.nodes.degree[self.here][:, None]
        return possible

    def features(self) -> NDArray[np.float32]:
        """Return the features of every candidate, (num_envs, candidates, features); see `FEATURES`."""
        features = self.edge_features[self.here]
        # Turning by the agent's heading is a product of complex numbers: cosine and sine of 1, 2 and 3 times the angle.
        turned = np.exp(-1j * self.heading[:, None] * WAVES).astype(np.complex64)[:, None, :] * self._edges[self.here]
        features[:, 1:, _TURN] = turned.view(np.float32)
        near = self.nodes.neighbors[self.here]
        before = self.trail[self._all, np.maximum(self.steps - 1, 0)]
        features[:, 1:, _CAME_FROM] = (near == before[:, None]) & (self.steps > 0)[:, None]
        features[:, 1:, _VISITED] = (near[:, :, None] == self._seen()[:, None, :]).any(axis=2)
        return features

    def _seen(self) -> Codes:
        """Return the nodes of all trails so far, filled up with a number that is not a node."""
        walked: Codes = np.where(self.trail < 0, -2, self.trail)[:, : int(self.steps.max()) + 1]
        return walked

    def act(self, actions: Codes) -> Outcome:
        """Take every running agent's action: 0 stops, k goes to the k-th neighbour, an impossible action does nothing.

        The last allowed move ends the episode, with the reward of stopping there.
        """
        running = ~self.over
        possible = (actions >= 0) & (actions <= self.nodes.degree[self.here])
        stopped = running & (actions == STOP)
        moving = running & possible & ~stopped
        before = self.progress()
        way = np.where(moving, actions - 1, 0)
        there = np.where(moving, self.nodes.neighbors[self.here, way], self.here)
        self.walked += np.where(moving, self.nodes.lengths[self.here, way], 0.0)
        self.heading = np.where(moving, self.nodes.headings[self.here, way], self.heading)
        self.here = there
        self.steps += running & ~stopped
        took = np.flatnonzero(running & ~stopped)
        self.trail[took, self.steps[took]] = there[took]
        self._advance(moving)
        after = self.progress()
        cut_off = running & ~stopped & (self.steps >= self.max_episode_steps)
        rewards = np.where(moving, self.reward.move(before, after), 0.0)
        ended = stopped | cut_off
        if ended.any():
            rewards += np.where(ended, self.reward.stop(after), 0.0)
        self.over |= ended
        return Outcome(rewards, stopped, cut_off)

    def shortest(self) -> Codes:
        """Return the first action of a shortest path to the goal; at the goal, stopping."""
        return np.where(self.here == self.goal, STOP, self.nodes.next_hop(self.here, self.goal) + 1)

    def faithful(self) -> Codes:
        """Return the first action of a shortest path to the next node of the reference; after the last node, stopping.

        An agent's progress along the reference is the number of its nodes that the agent reached in order.
        """
        finished = self.reached >= self._counts
        target = self._reference[self._all, np.minimum(self.reached, self._counts - 1)]
        lost = ~finished & (target == self.here)  # a reference that stays where it is
        return np.where(finished | lost, STOP, self.nodes.next_hop(self.here, target) + 1)

    def paths(self) -> list[list[str]]:
        """Return the labels of the nodes that each agent visited, without repeats."""
        names = self.nodes.names
        found = []
        for trail, steps in zip(self.trail.tolist(), self.steps.tolist(), strict=True):
            walk = trail[: steps + 1]
            found.append([names[node] for at, node in enumerate(walk) if at == 0 or node != walk[at - 1]])
        return found

    def _advance(self, moving: NDArray[np.bool_]) -> None:
        """Update DTW where agents moved."""
        costs = self.nodes.distance(self.here[:, None], self._reference)
        kernels.advance_block(costs, self._counts, self._rows, np.ascontiguousarray(moving).view(np.uint8))
        nexts = self._reference[self._all, np.minimum(self.reached, self._counts - 1)]
        self.reached += moving & (self.reached < self._counts) & (nexts == self.here) & (self.steps > 0)
