"""Gymnasium environments: one agent, or many at once, that follow instructions through navigation graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.errors import MissingPackageError, OptionError, did_you_mean
from wayscore.rewards.nodes import FEATURE_COUNT, VISITED
from wayscore.rewards.rewards import RewardFunction
from wayscore.rewards.tasks import WORLD_THRESHOLD, Tasks, from_references, from_worlds
from wayscore.rewards.walking import Walkers

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
    - `candidates`: a row of features for stopping and for each neighbour (`wayscore.rewards.walking.FEATURES`).
    - `mask`: 1 for the actions that are possible.

    ## Rewards
    By name: `fidelity` is the gain in nDTW at every move and, for a success, 1 - d / d_th at the end; `goal` is the
    metres gained towards the goal and +1 or -1 at the end; `wayscore.rewards.rewards.REWARDS` has others.

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
        self._walkers = _walkers(1, tasks, references, graphs, reward, threshold, max_episode_steps)
        self.tasks, self.threshold = self._walkers.tasks, self._walkers.threshold
        self.render_mode = render_mode
        self._draws = _Draws(len(self.tasks))
        self._action, self._outcome = np.zeros(1, dtype=np.int64), np.zeros((3, 1), dtype=bool)
        self.observation_space = _observations(self._walkers)
        self.action_space = spaces.Discrete(self._walkers.candidates)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode: a random one, or the one that `options["episode"]` names."""
        super().reset(seed=seed)
        name = (options or {}).get("episode")
        if name is None:
            row = int(self._draws.take(1, self.np_random, seed)[0])
        elif name in self.tasks.row_of:
            row = self.tasks.row_of[name]
        else:
            raise OptionError(f"there is no episode {name!r}{did_you_mean(name, self.tasks.row_of)}")
        self._walkers.begin(row, 0)
        self._name, self._instruction = self.tasks.names[row], self.tasks.tokens[row]
        return self._observation(), {"name": self._name}

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Go to a neighbour, or stop."""
        walkers = self._walkers
        before = walkers.progress()
        self._action[0] = action
        ended = walkers.walk(self._action, self._outcome)
        now = walkers.progress()
        (moved,), (stopped,), (cut_off,) = self._outcome.tolist()
        reward = walkers.reward.move(before, now).item() if moved else 0.0
        info: dict[str, Any] = {"name": self._name}
        if ended:
            reward += walkers.reward.stop(now).item()
            info |= {"ndtw": now.ndtw[0], "success": now.to_goal[0] <= self.threshold, "path": walkers.paths()[0]}
        return self._observation(), reward, stopped, cut_off, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which actions are possible, for libraries with masked policies."""
        possible: NDArray[np.bool_] = self._walkers.mask()[0]
        return possible

    def render(self) -> str | None:
        """Return the agent's path so far as text."""
        return " -> ".join(self._walkers.paths()[0]) if self.render_mode == "ansi" else None

    def _observation(self) -> Observation:
        """Return what `_observe` does for one agent; rows are looked up faster than arrays of rows."""
        walkers, terrain, pose = self._walkers, self._walkers.terrain, self._walkers.pose.item()
        candidates = terrain.features[pose].copy()
        candidates[1:, VISITED] = walkers.visited[0].take(terrain.near[pose])
        return {
            "instruction": self._instruction.copy(),
            "position": terrain.position[pose].copy(),
            "heading": terrain.heading[pose].copy(),
            "candidates": candidates,
            "mask": terrain.mask[pose].copy(),
        }


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
        self.metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}
        self.num_envs = num_envs
        self._walkers = _walkers(num_envs, tasks, references, graphs, reward, threshold, max_episode_steps)
        self.tasks = self._walkers.tasks
        self.single_observation_space = _observations(self._walkers)
        self.single_action_space = spaces.Discrete(self._walkers.candidates)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._draws = _Draws(len(self.tasks))
        self._ended = np.empty(0, dtype=np.int64)

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> tuple[Observation, dict[str, Any]]:
        """Start a random episode in every environment."""
        super().reset(seed=seed)  # type: ignore[arg-type]
        self._walkers.begin(self._draws.take(self.num_envs, self.np_random, seed))
        self._ended = self._ended[:0]
        return _observe(self._walkers), {}

    def step(self, actions: NDArray[np.int64]) -> tuple[Observation, Any, Any, Any, dict[str, Any]]:
        """Take every agent's action; environments whose episode has ended start a new one instead."""
        walkers, begun = self._walkers, self._ended
        rewards, stopped, cut_off, ended = walkers.act(actions)
        info: dict[str, Any] = {}
        self._ended = np.flatnonzero(ended)
        if len(self._ended):
            now = walkers.progress()
            info = {
                "ndtw": now.ndtw.copy(),
                "_ndtw": ended,
                "success": now.to_goal <= walkers.threshold,
                "_success": ended,
            }
        if len(begun):
            walkers.begin(self._draws.take(len(begun), self.np_random), begun)
        return _observe(walkers), rewards, stopped, cut_off, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which actions are possible, (num_envs, actions)."""
        return self._walkers.mask()


class _Draws:
    """Random episodes, drawn in advance: to draw one takes as long as to draw many."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._left = np.empty(0, dtype=np.int64)

    def take(self, count: int, rng: np.random.Generator, seed: Any = None) -> NDArray[np.int64]:
        """Return the next episodes; with a seed, those that a new generator draws."""
        if seed is not None:
            self._left = self._left[:0]
        if len(self._left) < count:
            self._left = np.concatenate((self._left, rng.integers(self.count, size=max(256, count))))
        taken, self._left = self._left[:count], self._left[count:]
        return taken


def _walkers(
    num_envs: int,
    tasks: Tasks | None,
    references: str | None,
    graphs: str | None,
    reward: str | RewardFunction,
    threshold: float | None,
    max_episode_steps: int,
) -> Walkers:
    """Return the agents of an environment; only generated worlds have a threshold of their own."""
    usual = WORLD_THRESHOLD if tasks is None and references is None else 3.0
    return Walkers(
        load_tasks(references, graphs) if tasks is None else tasks,
        num_envs,
        reward=reward,
        threshold=usual if threshold is None else threshold,
        max_episode_steps=max_episode_steps,
    )


def _observations(walkers: Walkers) -> spaces.Dict:
    """Return the space of observations; the bounds of positions and features allow for rounding."""
    tasks, terrain = walkers.tasks, walkers.terrain
    most = np.abs(terrain.features).max() + 1.0
    return spaces.Dict(
        {
            "instruction": spaces.Box(0, len(tasks.vocabulary) - 1, (tasks.tokens.shape[1],), np.int32),
            "position": spaces.Box(terrain.position.min(axis=0) - 1, terrain.position.max(axis=0) + 1),
            "heading": spaces.Box(-7.0, 7.0, (1,), np.float32),
            "candidates": spaces.Box(-most, most, (terrain.candidates, FEATURE_COUNT), np.float32),
            "mask": spaces.Box(0, 1, (terrain.candidates,), np.int8),
        }
    )


def _observe(walkers: Walkers) -> Observation:
    """Return what the agents observe, in arrays of their own."""
    terrain, pose = walkers.terrain, walkers.pose
    return {
        "instruction": walkers.tasks.tokens.take(walkers.episode, axis=0),
        "position": terrain.position.take(pose, axis=0),
        "heading": terrain.heading.take(pose, axis=0),
        "candidates": walkers.features(),
        "mask": terrain.mask.take(pose, axis=0),
    }


def register() -> None:
    """Make the environments known to `gymnasium.make`: wayscore/Worlds-v0 and wayscore/Files-v0."""
    for name in ("wayscore/Worlds-v0", "wayscore/Files-v0"):
        gym.register(
            name,
            entry_point="wayscore.rewards.environment:NavigationEnv",
            vector_entry_point="wayscore.rewards.environment:NavigationVectorEnv",
        )


register()
