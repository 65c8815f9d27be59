"""Rewards for training: one number per transition and one at the end, for a batch of environments.

    reward = FidelityReward(references=[R1, R2], distance=graph)
    reward.start([R1[0], R2[0]])
    rewards = reward.step(["b", "f"])     # for moving there
    rewards = reward.stop()               # for stopping here

Every step costs O(|R|), however long the query (the agent's trajectory) already is. A reward function is two functions
of `Progress`; `REWARDS` has the paper's two and those of published agents.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.distances.base import Distance, Euclidean, Floats
from wayscore.errors import OptionError, PathError, check_threshold, did_you_mean, shortened
from wayscore.warping.running import RunningBatch

ENTRY_POINTS = "wayscore.rewards"
"""The entry-point group in which installed packages offer reward functions."""


@dataclass(slots=True, eq=False)
class Progress:
    """The progress of agents, one number each, in the units of the distance."""

    to_goal: Floats  # d(q_t, goal)
    dtw: Floats  # DTW(R, q_1..t)
    reference_count: NDArray[np.int64]  # |R|
    walked: Floats  # PL(q_1..t)
    optimal: Floats  # d(q_1, goal)
    threshold: float
    known_ndtw: Floats | None = None  # where it has been computed already

    @property
    def ndtw(self) -> Floats:
        """nDTW(R, q_1..t)."""
        if self.known_ndtw is None:
            self.known_ndtw = np.exp(-self.dtw / (self.reference_count * self.threshold))
        return self.known_ndtw


@dataclass(frozen=True, slots=True)
class RewardFunction:
    """The reward of a transition, from the progress before and after it, and of the end of an episode."""

    name: str
    about: str  # who uses it, and its formula
    move: Callable[[Progress, Progress], Floats]
    stop: Callable[[Progress], Floats]


def _approach(before: Progress, after: Progress) -> Floats:
    """Return the decrease of the distance to the goal."""
    return before.to_goal - after.to_goal


def _fidelity(before: Progress, after: Progress) -> Floats:
    """Return the gain in nDTW."""
    return after.ndtw - before.ndtw


def _hamt(before: Progress, after: Progress) -> Floats:
    """Return the sign of the approach plus the gain in nDTW; leaving a goal nearer than a metre costs up to 2 more."""
    leaving = (before.to_goal <= 1) & (after.to_goal > before.to_goal)
    penalty = np.where(leaving, 2 * (1 - np.minimum(before.to_goal, 1)), 0.0)
    return np.sign(_approach(before, after)) + _fidelity(before, after) - penalty


def _etp_r1(at: Progress) -> Floats:
    """Return nDTW + SDTW + SPL + 1 - d / 6, where success is within half the threshold."""
    success = at.to_goal <= at.threshold / 2
    longer = np.maximum(np.maximum(at.walked, at.optimal), 1e-12)
    return at.ndtw + success * (at.ndtw + at.optimal / longer) + 1 - at.to_goal / (2 * at.threshold)


def _won_or_lost(at: Progress) -> Floats:
    return np.where(at.to_goal <= at.threshold, 1.0, -1.0)


def _nothing(*progress: Progress) -> Floats:
    return np.zeros(len(progress[0].to_goal))


_FUNCTIONS = (
    RewardFunction(
        "goal",
        "the paper's goal-oriented agent: metres gained towards the goal; at the end +1 for a success, else -1",
        _approach,
        _won_or_lost,
    ),
    RewardFunction(
        "goal-per-threshold",
        "the goal-oriented reward with distances in units of d_th, so that success weighs more: "
        "metres gained / d_th; at the end +1 for a success, else -1",
        lambda before, after: _approach(before, after) / after.threshold,
        _won_or_lost,
    ),
    RewardFunction(
        "fidelity",
        "the paper's fidelity-oriented agent: gain in nDTW; at the end 1 - d / d_th for a success, else 0",
        _fidelity,
        lambda at: np.maximum(1 - at.to_goal / at.threshold, 0.0),
    ),
    RewardFunction(
        "envdrop",
        "R2R-EnvDrop: sign of the metres gained; at the end +2 within the threshold, else -2",
        lambda before, after: np.sign(_approach(before, after)),
        lambda at: np.where(at.to_goal < at.threshold, 2.0, -2.0),
    ),
    RewardFunction(
        "hamt",
        "Recurrent-VLN-BERT, HAMT, EnvEdit: sign of the metres gained plus gain in nDTW, with a penalty for "
        "leaving the goal; at the end 2 + 2 nDTW within the threshold, else -2",
        _hamt,
        lambda at: np.where(at.to_goal < at.threshold, 2 + 2 * at.ndtw, -2.0),
    ),
    RewardFunction(
        "valan",
        "VALAN's default: metres gained, limited to [-1, 1]; at the end +4 exactly at the goal, else -4",
        lambda before, after: np.clip(_approach(before, after), -1, 1),
        lambda at: np.where(at.to_goal == 0, 4.0, -4.0),
    ),
    RewardFunction(
        "valan-dtw",
        "VALAN's dense_dtw: decrease of DTW; nothing at the end",
        lambda before, after: before.dtw - after.dtw,
        _nothing,
    ),
    RewardFunction(
        "etp-r1",
        "ETP-R1: only at the end: nDTW + SDTW + SPL + 1 - d / 6, with success within half the threshold",
        _nothing,
        _etp_r1,
    ),
)
REWARDS: Mapping[str, RewardFunction] = MappingProxyType({function.name: function for function in _FUNCTIONS})
"""The reward functions that come with wayscore, by name."""


def find_reward(name: str | RewardFunction) -> RewardFunction:
    """Return a reward function by name: one of wayscore, or of an installed package.

    >>> find_reward("fidelity").name
    'fidelity'
    """
    if isinstance(name, RewardFunction):
        return name
    if name in REWARDS:
        return REWARDS[name]
    from importlib.metadata import entry_points

    others = {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}
    if name not in others:
        known = [*REWARDS, *others]
        raise OptionError(f"there is no reward {name!r}{did_you_mean(name, known)} (known are {', '.join(known)})")
    found: RewardFunction = others[name].load()
    return found


def check_finite(name: str, value: Any) -> None:
    """Refuse a setting that is no finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise OptionError(f"{name} must be a finite number, got {shortened(value)}")


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
        dtw = self._running.step(nodes)
        self._here = list(nodes)
        to_goal = self._between(self._here, self._goals, np.arange(len(self)))
        self._progress = Progress(to_goal, dtw, self._counts, np.zeros(len(self)), to_goal, self.threshold)

    def reset(self, environment: int, node: Any, reference: Any = None, distance: Distance | None = None) -> None:
        """Restart one environment at a node or point, with its reference or a new one (and its distance, if new)."""
        before = self._now()
        self._running.reset(environment, reference, distance)
        if reference is not None:
            self._goals[environment], self._counts[environment] = reference[-1], len(reference)
        self._here[environment] = node
        dtw = self._running.step(self._here, np.arange(len(self)) == environment)
        to_goal, walked, optimal = before.to_goal.copy(), before.walked.copy(), before.optimal.copy()
        to_goal[environment] = optimal[environment] = self._between(self._here, self._goals, np.array([environment]))[0]
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
        dtw = self._running.step(nodes, active)
        to_goal, walked = before.to_goal.copy(), before.walked.copy()
        to_goal[moving] = self._between(nodes, self._goals, moving)
        walked[moving] += self._between(self._here, nodes, moving)
        for environment in moving.tolist():
            self._here[environment] = nodes[environment]
        self._progress = Progress(to_goal, dtw, self._counts, walked, before.optimal, self.threshold)
        gained = self.function.move(before, self._progress)
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
        apart: Floats = np.empty(len(chosen))
        if len(chosen) and all(isinstance(distance, Euclidean) for distance in self._running.distances):
            one, other = (np.array([ends[number] for number in chosen], dtype=np.float64) for ends in (a, b))
            np.sqrt(((one - other) ** 2).reshape(len(chosen), -1).sum(axis=1), out=apart)
            return apart
        for row, number in enumerate(chosen.tolist()):
            distance = self._running.distances[number]
            if distance.index is not None and distance.table is not None:
                # Both are known: the running batch has already looked them up.
                apart[row] = distance.table[distance.index[a[number]], distance.index[b[number]]]
            else:
                ends = distance.encode([[a[number], b[number]]], role=lambda _: "a move, or the distance to the goal")
                apart[row] = distance.pairs(ends.places[:1], ends.places[1:])[0]
        return apart


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
