"""Gymnasium environments: one agent, or many at once, that follow instructions through navigation graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.errors import MissingPackageError
from wayscore.navigation.reward_functions import RewardFunction
from wayscore.navigation.tasks import WORLD_THRESHOLD, Tasks, from_references, from_worlds
from wayscore.navigation.walking import FEATURE_COUNT, Walkers

try:
    import gymnasium as gym
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError:
    raise MissingPackageError(
        "the environment needs Gymnasium, which is not installed: pip install 'wayscore[navigation]'"
    ) from None

Observation = dict[str, Any]


def load_tasks(references: str | None, graphs: str | None, *, episodes: int = 2_000, worlds: int = 8) -> Tasks:
    """Read tasks from files, or generate them if no files are given."""
    if references is None:
        return from_worlds(episodes, worlds=worlds)
    from wayscore.formats import load_references
    from wayscore.formats.graphs import distances_for

    loaded = load_references(references)
    return from_references(loaded, distances_for(loaded, graphs))


class NavigationEnv(gym.Env[Observation, np.int64]):
    """Follow an instruction through a navigation graph.

    ## Description
    An agent stands at a node and is given an instruction. At every step it goes to a neighbour or stops. Its path is
    scored against the instructed one, the reference.

    ## Action Space
    `Discrete(n)`: 0 stops; k goes to the k-th neighbour. Actions that `mask` (or `action_masks()`) forbids leave the
    agent where it is and cost a step.

    ## Observation Space
    A `Dict`:
    - `instruction`: word numbers, 0 is padding; `env.unwrapped.tasks.vocabulary` has the words.
    - `position`: x, y, z in metres.
    - `heading`: radians, clockwise from +y; after a move, the direction of that move.
    - `candidates`: a row of features for stopping and for each neighbour (`wayscore.navigation.walking.FEATURES`).
    - `mask`: 1 for the actions that are possible.

    ## Rewards
    By name: `fidelity` is the gain in nDTW at every move and, for a success, 1 - d / d_th at the end; `goal` is the
    metres gained towards the goal and +1 or -1 at the end; `wayscore.navigation.reward_functions.REWARDS` has others.

    ## Starting State
    A random episode; `reset(options={"episode": name})` selects one by name.

    ## Episode End
    Terminated when the agent stops. Truncated after `max_episode_steps` moves, with the reward of stopping there.

    ## Information
    `name` of the episode, and at the end `path` (node labels), `ndtw` and `success`.

    ## Arguments
    - `tasks`: a `Tasks` value; or `references` and `graphs`, files to read; or neither, for generated worlds.
    - `reward`: the reward function, "fidelity" by default.
    - `threshold`: d_th, metres; 3 for files, 1.4 for generated worlds.
    - `max_episode_steps`: 20 by default. `gymnasium.make` uses an argument of this name for its own TimeLimit, which
      truncates without the final reward; to set it, construct the environment directly.

    ## Version History
    - v0: first.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        tasks: Tasks | None = None,
        *,
        references: str | None = None,
        graphs: str | None = None,
        reward: str | RewardFunction = "fidelity",
        threshold: float | None = None,
        max_episode_steps: int = 20,
        render_mode: str | None = None,
    ) -> None:
        generated = tasks is None and references is None
        self.tasks = load_tasks(references, graphs) if tasks is None else tasks
        self.threshold = threshold if threshold is not None else WORLD_THRESHOLD if generated else 3.0
        self.render_mode = render_mode
        self._walkers = Walkers(
            self.tasks, 1, reward=reward, threshold=self.threshold, max_episode_steps=max_episode_steps
        )
        self.observation_space = _observations(self._walkers)
        self.action_space = spaces.Discrete(self._walkers.candidates)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode: a random one, or the one that `options["episode"]` names."""
        super().reset(seed=seed)
        wanted = (options or {}).get("episode")
        row = int(self.np_random.integers(len(self.tasks))) if wanted is None else self.tasks.names.index(wanted)
        self._walkers.begin(np.array([row]))
        return self._observation(), {"name": self.tasks.names[row]}

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Go to a neighbour, or stop."""
        outcome = self._walkers.act(np.array([int(action)]))
        stopped, cut_off = bool(outcome.stopped[0]), bool(outcome.cut_off[0])
        info: dict[str, Any] = {"name": self.tasks.names[int(self._walkers.episode[0])]}
        if stopped or cut_off:
            info |= {name: values[0] for name, values in _final(self._walkers).items()}
            info["path"] = self._walkers.paths()[0]
        return self._observation(), float(outcome.rewards[0]), stopped, cut_off, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which actions are possible, for libraries with masked policies."""
        possible: NDArray[np.bool_] = self._walkers.mask()[0]
        return possible

    def render(self) -> str | None:
        """Return the agent's path so far as text."""
        return " -> ".join(self._walkers.paths()[0]) if self.render_mode == "ansi" else None

    def _observation(self) -> Observation:
        return {name: values[0] for name, values in _observe(self._walkers).items()}


class NavigationVectorEnv(VectorEnv[Observation, NDArray[np.int64], NDArray[np.float64]]):
    """The same for many agents at once; an environment whose episode has ended starts a new one at the next step.

    Args:
        num_envs: how many agents.
        tasks: the episodes; as for `NavigationEnv`.
        references: as for `NavigationEnv`.
        graphs: as for `NavigationEnv`.
        reward: as for `NavigationEnv`.
        threshold: as for `NavigationEnv`.
        max_episode_steps: as for `NavigationEnv`.
    """

    def __init__(
        self,
        num_envs: int = 1,
        tasks: Tasks | None = None,
        *,
        references: str | None = None,
        graphs: str | None = None,
        reward: str | RewardFunction = "fidelity",
        threshold: float | None = None,
        max_episode_steps: int = 20,
    ) -> None:
        generated = tasks is None and references is None
        self.metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}
        self.num_envs = num_envs
        self.tasks = load_tasks(references, graphs) if tasks is None else tasks
        d_th = threshold if threshold is not None else WORLD_THRESHOLD if generated else 3.0
        self._walkers = Walkers(
            self.tasks, num_envs, reward=reward, threshold=d_th, max_episode_steps=max_episode_steps
        )
        self.single_observation_space = _observations(self._walkers)
        self.single_action_space = spaces.Discrete(self._walkers.candidates)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> tuple[Observation, dict[str, Any]]:
        """Start a random episode in every environment."""
        super().reset(seed=seed)  # type: ignore[arg-type]
        self._walkers.begin(self.np_random.integers(len(self.tasks), size=self.num_envs))
        return _observe(self._walkers), {}

    def step(self, actions: NDArray[np.int64]) -> tuple[Observation, Any, Any, Any, dict[str, Any]]:
        """Take every agent's action; environments whose episode has ended start a new one instead."""
        fresh = np.flatnonzero(self._walkers.over)
        outcome = self._walkers.act(np.asarray(actions, dtype=np.int64))
        if len(fresh):
            self._walkers.begin(self.np_random.integers(len(self.tasks), size=len(fresh)), fresh)
        info: dict[str, Any] = {}
        ended = outcome.stopped | outcome.cut_off
        if ended.any():
            for name, values in _final(self._walkers).items():
                info[name], info[f"_{name}"] = values, ended
        return _observe(self._walkers), outcome.rewards, outcome.stopped, outcome.cut_off, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which actions are possible, (num_envs, actions)."""
        return self._walkers.mask()


def _observations(walkers: Walkers) -> spaces.Dict:
    """Return the space of observations; the bounds of positions and features allow for rounding."""
    tasks, candidates, positions = walkers.tasks, walkers.candidates, walkers.nodes.positions
    most = np.abs(walkers.edge_features).max() + 1.0
    return spaces.Dict(
        {
            "instruction": spaces.Box(0, len(tasks.vocabulary) - 1, (tasks.tokens.shape[1],), np.int32),
            "position": spaces.Box(
                (positions.min(axis=0) - 1).astype(np.float32), (positions.max(axis=0) + 1).astype(np.float32)
            ),
            "heading": spaces.Box(-7.0, 7.0, (1,), np.float32),
            "candidates": spaces.Box(-most, most, (candidates, FEATURE_COUNT), np.float32),
            "mask": spaces.Box(0, 1, (candidates,), np.int8),
        }
    )


def _observe(walkers: Walkers) -> Observation:
    return {
        "instruction": walkers.tasks.tokens[walkers.episode],
        "position": walkers.nodes.positions[walkers.here].astype(np.float32),
        "heading": walkers.heading[:, None].astype(np.float32),
        "candidates": walkers.features(),
        "mask": walkers.mask().view(np.int8),
    }


def _final(walkers: Walkers) -> dict[str, Any]:
    progress = walkers.progress()
    return {"ndtw": progress.ndtw, "success": progress.to_goal <= walkers.threshold}


def register() -> None:
    """Make the environments known to `gymnasium.make`: wayscore/Worlds-v0 and wayscore/Files-v0."""
    for name in ("wayscore/Worlds-v0", "wayscore/Files-v0"):
        gym.register(
            name,
            entry_point="wayscore.navigation.environment:NavigationEnv",
            vector_entry_point="wayscore.navigation.environment:NavigationVectorEnv",
        )


register()
