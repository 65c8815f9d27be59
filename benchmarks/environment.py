"""Steps a second of the vectorised environment, 64 agents on one core, the policy left out (random actions).

    python benchmarks/environment.py

Real R2R where WAYSCORE_DATA says that it is, else generated worlds.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

from wayscore.navigation.environment import NavigationVectorEnv

AGENTS, STEPS, ROUNDS = 64, 500, 5


def main() -> None:
    """Print the best of several rounds, by the processor's time."""
    folder = os.environ.get("WAYSCORE_DATA")
    files = {}
    if folder:
        files = {
            "references": str(Path(folder) / "r2r/R2R_val_unseen.json.gz"),
            "graphs": str(Path(folder) / "connectivity.tar.gz"),
        }
    for reward in ("fidelity", "goal"):
        env = NavigationVectorEnv(AGENTS, reward=reward, most_steps=10, **files)
        rng = np.random.default_rng(0)
        observation, _ = env.reset(seed=0)
        best = 0.0
        for _ in range(ROUNDS):
            # Actions are drawn beforehand, so that drawing is not measured; impossible ones stay, as in training.
            draws = rng.random((STEPS, AGENTS))
            began = time.process_time()
            for draw in draws:
                possible = observation["mask"].sum(axis=1)
                observation, *_ = env.step((draw * possible).astype(np.int64))
            best = max(best, AGENTS * STEPS / (time.process_time() - began))
        source = "R2R val_unseen" if folder else "generated worlds"
        print(f"{source}, {reward} reward, {AGENTS} agents: {best:,.0f} steps a second")


if __name__ == "__main__":
    main()
