"""Rewards for training: one number per transition and one at the end, for a batch of environments.

    reward = FidelityReward(references=[R1, R2], distance=graph)
    reward.start([R1[0], R2[0]])
    rewards = reward.step(["b", "f"])     # for moving there
    rewards = reward.stop()               # for stopping here

Every step costs O(|R|), however long the query (the agent's trajectory) already is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.distances.base import Distance, Floats
from wayscore.distances.euclidean import Euclidean
from wayscore.errors import PathError
from wayscore.rewards.reward_functions import Progress, RewardFunction, find_reward
from wayscore.warping.alignment import check_threshold
from wayscore.warping.running_batch import RunningBatch


class Reward:
    """A reward function for a batch of environments.

    Args:
        function: the reward function, by name (see `REWARDS`) or as a value.
        references: one ground-truth path per environment.
        distance: one for all environments, or a sequence with one for each.
        threshold: d_th.

    >>> reward = Reward("goal", references=[[[0.0], [4.0]]])
    >>> reward.start([[0.0]])
    >>> reward.step([[3.0]]), reward.stop()
    (array([3.]), array([1.]))
    """

    def __init__(
        self,
        function: str | RewardFunction,
        *,
        references: Sequence[Any],
        distance: Distance | Sequence[Distance] | None = None,
        threshold: float = 3.0,
    ) -> None:
        check_threshold(threshold)
        self.function = find_reward(function)
        self.threshold = float(threshold)
        self._running = RunningBatch(references=references, distance=distance)
        self._distances: list[Distance] = (
            list(distance) if isinstance(distance, Sequence) else [distance or Euclidean()] * len(references)
        )
        self._goals = [reference[-1] for reference in references]
        self._counts = np.array([len(reference) for reference in references])
        self._here: list[Any] = [None] * len(references)
        self._progress: Progress | None = None

    def __len__(self) -> int:
        return len(self._running)

    def start(self, nodes: Sequence[Any]) -> None:
        """Take the first node or point of every environment."""
        for environment in range(len(self)):
            self._running.reset(environment)
        dtw = self._running.step(nodes).copy()
        self._here = list(nodes)
        to_goal = self._between(self._here, self._goals, np.arange(len(self)))
        self._progress = Progress(to_goal, dtw, self._counts, np.zeros(len(self)), to_goal, self.threshold)

    def reset(self, environment: int, node: Any, reference: Any = None, distance: Distance | None = None) -> None:
        """Restart one environment at a node or point, with its reference or a new one (and its distance, if new)."""
        before = self._now()
        self._running.reset(environment, reference, distance)
        if distance is not None:
            self._distances[environment] = distance
        if reference is not None:
            self._goals[environment] = reference[-1]
            self._counts[environment] = len(reference)
        self._here[environment] = node
        alone = np.array([environment])
        dtw = self._running.step(self._here, np.arange(len(self)) == environment).copy()
        to_goal, walked, optimal = before.to_goal.copy(), before.walked.copy(), before.optimal.copy()
        to_goal[environment] = optimal[environment] = self._between(self._here, self._goals, alone)[0]
        walked[environment] = 0.0
        self._progress = Progress(to_goal, dtw, self._counts, walked, optimal, self.threshold)

    def step(self, nodes: Sequence[Any], active: Any = None) -> Floats:
        """Take the next node or point of every environment and return the rewards of moving there.

        Args:
            nodes: one per environment.
            active: which environments move, as booleans; the others get 0 and their node is ignored.
        """
        before = self._now()
        moving = np.arange(len(self)) if active is None else np.flatnonzero(active)
        dtw = self._running.step(nodes, active).copy()
        to_goal, walked = before.to_goal.copy(), before.walked.copy()
        to_goal[moving] = self._between(nodes, self._goals, moving)
        walked[moving] += self._between(self._here, nodes, moving)
        for environment in moving.tolist():
            self._here[environment] = nodes[environment]
        after = Progress(to_goal, dtw, self._counts, walked, before.optimal, self.threshold)
        self._progress = after
        gained = self.function.move(before, after)
        return gained if active is None else np.where(active, gained, 0.0)

    def stop(self, active: Any = None) -> Floats:
        """Return the rewards of stopping here; 0 in environments that are not active."""
        gained = self.function.stop(self._now())
        return gained if active is None else np.where(active, gained, 0.0)

    @property
    def ndtw(self) -> Floats:
        """The nDTW of every environment so far."""
        return self._now().ndtw

    def _now(self) -> Progress:
        if self._progress is None:
            raise PathError("call start() with the first nodes or points before step() and stop()")
        return self._progress

    def _between(self, a: Any, b: Any, chosen: NDArray[np.int64]) -> Floats:
        """Return d(a, b) in some environments."""
        if not len(chosen):
            return np.empty(0)
        if all(isinstance(distance, Euclidean) for distance in self._distances):
            one, other = (np.array([ends[number] for number in chosen], dtype=np.float64) for ends in (a, b))
            apart: Floats = np.sqrt(((one - other) ** 2).reshape(len(chosen), -1).sum(axis=1))
            return apart
        return np.array([_between(self._distances[number], a[number], b[number]) for number in chosen.tolist()])


def _between(distance: Any, a: Any, b: Any) -> float:
    if getattr(distance, "index", None) is not None and getattr(distance, "table", None) is not None:
        # Both are known: the running batch has already looked them up.
        return float(distance.table[distance.index[a], distance.index[b]])
    codes = distance.encode([[a, b]], role=lambda _: "a move, or the distance to the goal").places
    return float(distance.pairs(codes[:1], codes[1:])[0])


class GoalReward(Reward):
    """The paper's goal-oriented reward: d(q_i, g) - d(q_i+1, g) per transition; at the end +1 for a success, else -1.

    >>> reward = GoalReward(references=[[[0.0], [4.0]]], threshold=3.0)
    >>> reward.start([[0.0]])
    >>> reward.step([[0.5]]), reward.stop()
    (array([0.5]), array([-1.]))
    """

    def __init__(self, **options: Any) -> None:
        super().__init__("goal", **options)


class FidelityReward(Reward):
    """The paper's fidelity-oriented reward: nDTW(q_1..i+1, R) - nDTW(q_1..i, R) per transition; at the end
    1 - d(q_f, g) / d_th for a success, else 0.

    >>> reward = FidelityReward(references=[[[0.0], [3.0]]], threshold=3.0)
    >>> reward.start([[0.0]])
    >>> reward.step([[3.0]]).round(4), reward.stop()
    (array([0.3935]), array([1.]))
    """  # noqa: D205

    def __init__(self, **options: Any) -> None:
        super().__init__("fidelity", **options)
