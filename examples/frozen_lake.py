"""Add an nDTW reward to an environment of Gymnasium, and train PPO of Stable-Baselines3 to follow a path.

Several ways across the frozen lake are equally short. The environment rewards them all alike; nDTW rewards one of them.

pip install "wayscore[navigation]" stable-baselines3
python examples/frozen_lake.py
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from stable_baselines3 import PPO

import wayscore as ws

REFERENCE = [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (3, 2), (3, 3)]
"""Row and column of each cell; holes are at (1, 1), (1, 3), (2, 3) and (3, 0)."""


def make(weight: float = 1.0) -> ws.FidelityWrapper:
    """Return the lake without wind, with the fidelity reward added."""
    return ws.FidelityWrapper(
        gym.make("FrozenLake-v1", is_slippery=False),
        position=lambda env: divmod(int(env.unwrapped.s), 4),
        reference=REFERENCE,
        threshold=1.0,
        weight=weight,
    )


def train(steps: int = 6_144, weight: float = 1.0, seed: int = 0) -> tuple[float, float]:
    """Return the nDTW of the greedy policy before and after training."""
    model = PPO("MlpPolicy", make(weight), n_steps=256, n_epochs=4, learning_rate=2e-3, seed=seed, device="cpu")
    before = final_ndtw(model)
    model.learn(steps)
    return before, final_ndtw(model)


def final_ndtw(model: Any) -> float:
    """Walk one episode greedily."""
    env = make()
    observation, info = env.reset(seed=0)
    over = False
    while not over:
        action, _ = model.predict(observation, deterministic=True)
        observation, _, terminated, truncated, info = env.step(int(action))
        over = terminated or truncated
    return float(info["ndtw"])


if __name__ == "__main__":
    for weight in (0.0, 1.0):
        before, after = train(weight=weight)
        print(f"nDTW {before:.3f} before training, {after:.3f} after, with weight={weight:g}")
