"""Train another library's agent in wayscore's environment: maskable PPO of sb3-contrib, on generated worlds.

pip install "wayscore[navigation]" sb3-contrib
python examples/maskable_ppo.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sb3_contrib import MaskablePPO

from wayscore.rewards.environment import NavigationEnv
from wayscore.rewards.tasks import WORLD_THRESHOLD, from_worlds


def train(steps: int = 20_000, episodes: int = 200, seed: int = 0) -> tuple[Any, float, float]:
    """Return the model, and its mean nDTW before and after training."""
    env = NavigationEnv(from_worlds(episodes, worlds=2, seed=seed), reward="fidelity", threshold=WORLD_THRESHOLD)
    model = MaskablePPO("MultiInputPolicy", env, n_steps=256, batch_size=64, seed=seed, device="cpu")
    before = mean_ndtw(model, env)
    model.learn(steps)
    return model, before, mean_ndtw(model, env)


def mean_ndtw(model: Any, env: NavigationEnv, episodes: int = 20) -> float:
    """Walk some episodes greedily."""
    scores = []
    for name in env.tasks.names[:episodes]:
        observation, _ = env.reset(options={"episode": name})
        over = False
        while not over:
            action, _ = model.predict(observation, action_masks=env.action_masks(), deterministic=True)
            observation, _, stopped, cut_off, info = env.step(action)
            over = stopped or cut_off
        scores.append(info["ndtw"])
    return float(np.mean(scores))


if __name__ == "__main__":
    _, before, after = train()
    print(f"mean nDTW {before:.3f} before training, {after:.3f} after")
