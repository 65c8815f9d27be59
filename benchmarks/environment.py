"""Rows on the Gymnasium environments: steps per second with random actions, beside CartPole's."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.data import VARIABLE
from benchmarks.report import Outcome
from benchmarks.timing import need, race

if TYPE_CHECKING:
    from benchmarks.rows import Setting

STEPS = 500


def steps(setting: Setting, num_envs: int, reward: str = "fidelity") -> Outcome:
    """Steps with actions drawn beforehand, resets included, 10 steps per episode at most; the peer is CartPole."""
    gym = need("gymnasium")
    from wayscore.rewards.environment import NavigationEnv, NavigationVectorEnv

    options: dict[str, Any] = {"reward": reward, "max_episode_steps": 10}
    if folder := os.environ.get(VARIABLE):
        data = Path(folder)
        options |= {"references": str(data / "r2r/R2R_val_unseen.json.gz"), "graphs": str(data / "connectivity.tar.gz")}
    count = STEPS // 10 if setting.quick else STEPS
    if num_envs == 1:
        ours, theirs = race(_single(NavigationEnv(**options), count), _single(gym.make("CartPole-v1").unwrapped, count))
    else:
        cart_poles = gym.make_vec("CartPole-v1", num_envs, vectorization_mode="vector_entry_point")
        ours, theirs = race(
            _several(NavigationVectorEnv(num_envs, **options), count, num_envs), _several(cart_poles, count, num_envs)
        )
    taken = num_envs * count
    where = "R2R val_unseen" if folder else "generated worlds"
    note = f"{where}, {reward} reward; {taken / ours.seconds:,.0f} steps per second, peer {taken / theirs.seconds:,.0f}"
    return Outcome(ours.seconds, theirs.seconds, note=note)


def _single(env: Any, count: int) -> Callable[[], None]:
    draws = np.random.default_rng(0).random(count).tolist()
    env.reset(seed=0)

    def walk() -> None:
        for draw in draws:
            _, _, terminated, truncated, _ = env.step(int(draw * env.action_space.n))
            if terminated or truncated:
                env.reset()

    return walk


def _several(env: Any, count: int, num_envs: int) -> Callable[[], None]:
    draws = np.random.default_rng(0).random((count, num_envs))
    actions = (draws * env.single_action_space.n).astype(np.int64)
    env.reset(seed=0)

    def walk() -> None:
        for some in actions:
            env.step(some)

    return walk
