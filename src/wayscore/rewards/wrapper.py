"""A Gymnasium wrapper that adds an nDTW reward to any environment.

    env = FidelityWrapper(env, position=lambda env: env.unwrapped.agent_xy, reference=lambda env: env.unwrapped.path)
    env.reset()
    observation, reward, terminated, truncated, info = env.step(action)
    info["ndtw"]     # exact, of all positions so far

Each step costs O(|R|), however long the query (the agent's trajectory) already is.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np

from wayscore.distances.base import METHODS, Distance, as_distance
from wayscore.errors import (
    MissingPackageError,
    OptionError,
    PathError,
    WayscoreError,
    check_threshold,
    first_line,
    shortened,
)
from wayscore.rewards.rewards import Reward, RewardFunction, check_finite, find_reward

if TYPE_CHECKING:
    from gymnasium import Env, Wrapper
    from gymnasium.utils import RecordConstructorArgs

    _Base = Wrapper[Any, Any, Any, Any]
else:
    try:
        from gymnasium import Wrapper as _Base
        from gymnasium.utils import RecordConstructorArgs
    except ImportError:  # the public names of wayscore can be imported without Gymnasium; this one cannot be used

        class RecordConstructorArgs:
            """Says what is missing to whoever makes a wrapper."""

            def __init__(self, **_: Any) -> None:
                raise MissingPackageError(
                    "FidelityWrapper needs Gymnasium, which is not installed: pip install 'wayscore[navigation]'"
                )

        class _Base:
            """Stands for Gymnasium's Wrapper."""


class FidelityWrapper(_Base, RecordConstructorArgs):
    """Adds a reward for following a reference path to the rewards of any Gymnasium environment.

    At every step, reward = keep * (the environment's reward) + weight * (the reward of the move). The reward of
    stopping is part of the last one when the episode terminates. It is not when the episode is truncated: the agent did
    not stop there, learners estimate what would have followed, and it must not matter whether a time limit is inside or
    outside of this wrapper.

    `info["ndtw"]` is the exact nDTW of the positions so far, also after `reset`; `info["wayscore_reward"]` is the
    reward of this step before `weight`.

    Args:
        env: the environment.
        position: a function of `env` that returns the agent's node or point now. It is called after `reset` and after
            every step, and what it returns is copied.
        reference: a function of `env` that returns the ground-truth path of this episode, called after `reset`; or the
            path itself, if all episodes have the same.
        distance: d between two nodes or points; None is Euclidean. A function of `env` that returns it, called after
            `reset`, if it depends on the episode's scene.
        threshold: d_th, in the units of the distance.
        reward: the reward function, by name (see `wayscore.rewards.rewards.REWARDS`) or as a value.
        weight: the factor of this reward.
        keep: the factor of the environment's own reward.
        repeats: "keep" counts the position after every step. "drop" leaves out those that are equal to the one before:
            for environments in which agents turn on the spot, where each turn would lower nDTW.

    >>> import gymnasium as gym
    >>> cells = [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (3, 2), (3, 3)]
    >>> env = FidelityWrapper(
    ...     gym.make("FrozenLake-v1", is_slippery=False),
    ...     position=lambda env: divmod(int(env.unwrapped.s), 4),
    ...     reference=cells,
    ...     threshold=1.0,
    ... )
    >>> _, info = env.reset(seed=0)
    >>> *_, moved = env.step(2)
    >>> round(info["ndtw"], 3), round(moved["ndtw"], 3), round(moved["wayscore_reward"], 3)
    (0.103, 0.196, 0.093)
    """

    def __init__(
        self,
        env: Env[Any, Any],
        *,
        position: Callable[[Any], Any],
        reference: Any,
        distance: Distance | Callable[[Any], Distance] | None = None,
        threshold: float = 3.0,
        reward: str | RewardFunction = "fidelity",
        weight: float = 1.0,
        keep: float = 1.0,
        repeats: str = "keep",
    ) -> None:
        given: dict[str, Any] = {"position": position, "reference": reference, "distance": distance, "reward": reward}
        given |= {"threshold": threshold, "weight": weight, "keep": keep, "repeats": repeats}
        RecordConstructorArgs.__init__(self, _disable_deepcopy=True, **given)  # a distance may be large
        _Base.__init__(self, env)
        if not callable(position):
            raise OptionError(
                "FidelityWrapper: position must be a function of the environment, such as "
                f"lambda env: env.unwrapped.agent_xy, got {shortened(position)}"
            )
        check_threshold(threshold)
        for name, factor in (("weight", weight), ("keep", keep)):
            check_finite(f"FidelityWrapper: {name}", factor)
        if repeats not in ("keep", "drop"):
            raise OptionError(f'FidelityWrapper: repeats must be "keep" or "drop", got {shortened(repeats)}')
        self.function = find_reward(reward)
        self.threshold = float(threshold)
        self.weight, self.keep, self.repeats = float(weight), float(keep), repeats
        self._position, self._reference, self._distance = position, reference, distance
        self._reward: Reward | None = None
        self._here: Any = None
        self._steps = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset the environment, and take the episode's reference and the agent's first position."""
        self._reward, self._steps = None, 0
        observation, info = self.env.reset(seed=seed, options=options)
        given: Any = self._distance
        if callable(given) and not all(hasattr(given, method) for method in METHODS):
            given = given(self.env)
        distance = None if given is None else as_distance(given)
        found = self._reference(self.env) if callable(self._reference) else self._reference
        if not hasattr(found, "__len__") or not len(found):
            raise PathError(
                "FidelityWrapper: reference must return the ground-truth path of the episode, one node or point or "
                f"more, got {shortened(found)}"
            )
        references = [deepcopy(found)]  # environments reuse their arrays
        try:
            reward = Reward(self.function, references=references, distance=distance, threshold=self.threshold)
        except WayscoreError as error:
            raise type(error)(
                f"FidelityWrapper: reference returned {shortened(found)}, which does not fit: {first_line(error)}"
            ) from None
        self._here = self._take(reward.start)[0]
        self._reward = reward
        return observation, {**info, "ndtw": float(reward.ndtw[0]), "wayscore_reward": 0.0}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Step the environment, and add the reward of the move, and of stopping if the episode terminates."""
        if self._reward is None:
            raise PathError("FidelityWrapper: call reset() before step()")
        observation, own, terminated, truncated, info = self.env.step(action)
        self._steps += 1
        self._here, gained = self._take(self._reward.step)
        added = 0.0 if gained is None else float(gained[0])
        if terminated:
            added += float(self._reward.stop()[0])
        total = self.keep * float(own) + self.weight * added
        scores = {"ndtw": float(self._reward.ndtw[0]), "wayscore_reward": added}
        return observation, total, terminated, truncated, {**info, **scores}

    def _take(self, use: Callable[[list[Any]], Any]) -> tuple[Any, Any]:
        """Return the agent's position now, and what `use` makes of it: None if it is a repeat that is dropped."""
        here = deepcopy(self._position(self.env))
        if self._steps and self.repeats == "drop" and np.array_equal(here, self._here):
            return here, None
        try:
            return here, use([here])
        except WayscoreError as error:
            raise type(error)(
                f"FidelityWrapper: position returned {shortened(here)} at step {self._steps}, which does not fit the "
                f"reference: {first_line(error)}"
            ) from None
