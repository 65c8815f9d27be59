"""Gymnasium environments: one agent, or many at once, that follow instructions through navigation graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.errors import MissingPackageError, OptionError, did_you_mean
from wayscore.rewards.batch import FEATURE_COUNT, VISITED, AgentBatch
from wayscore.rewards.rewards import RewardFunction
from wayscore.rewards.tasks import WORLD_THRESHOLD, Tasks, from_references, from_worlds

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


def _agents(
    num_envs: int,
    tasks: Tasks | None = None,
    *,
    references: str | None = None,
    graphs: str | None = None,
    threshold: float | None = None,
    **options: Any,
) -> AgentBatch:
    """Return the agents of an environment; only generated worlds have a threshold of their own."""
    usual = 3.0
    if tasks is None and references is None:
        tasks, usual = from_worlds(2_000), WORLD_THRESHOLD
    elif tasks is None:
        from wayscore.formats import load_references
        from wayscore.formats.benchmarks import distances_for

        loaded = load_references(references)  # type: ignore[arg-type]
        tasks = from_references(loaded, distances_for(loaded, graphs))
    return AgentBatch(tasks, num_envs, threshold=usual if threshold is None else threshold, **options)


def _observations(agents: AgentBatch) -> spaces.Dict:
    """Return the space of observations; the bounds of positions and features allow for rounding."""
    tasks, tables = agents.tasks, agents.tables
    most = np.abs(tables.features).max() + 1.0
    return spaces.Dict(
        {
            "instruction": spaces.Box(0, len(tasks.vocabulary) - 1, (tasks.tokens.shape[1],), np.int32),
            "position": spaces.Box(tables.position.min(axis=0) - 1, tables.position.max(axis=0) + 1),
            "heading": spaces.Box(-7.0, 7.0, (1,), np.float32),
            "candidates": spaces.Box(-most, most, (tables.candidates, FEATURE_COUNT), np.float32),
            "mask": spaces.Box(0, 1, (tables.candidates,), np.int8),
        }
    )


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
    - `candidates`: a row of features for stopping and for each neighbour (`wayscore.rewards.batch.FEATURES`).
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
        options: dict[str, Any] = {"reward": reward, "max_episode_steps": max_episode_steps}
        self._batch = _agents(1, tasks, references=references, graphs=graphs, threshold=threshold, **options)
        self.tasks, self.threshold, self.render_mode = self._batch.tasks, self._batch.threshold, render_mode
        self._action, self._outcome = np.zeros(1, dtype=np.int64), np.zeros((3, 1), dtype=bool)
        self.observation_space = _observations(self._batch)
        self.action_space = spaces.Discrete(self._batch.candidates)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode: a random one, or the one that `options["episode"]` names."""
        super().reset(seed=seed)
        name = (options or {}).get("episode")
        if name is not None and name not in self.tasks.row_of:
            raise OptionError(f"there is no episode {name!r}{did_you_mean(name, self.tasks.row_of)}")
        row = int(self.np_random.integers(len(self.tasks))) if name is None else self.tasks.row_of[name]
        self._batch.begin(row, 0)
        self._name, self._instruction = self.tasks.names[row], self.tasks.tokens[row]
        return self._observation(), {"name": self._name}

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Go to a neighbour, or stop."""
        batch = self._batch
        before = batch.progress()
        self._action[0] = action
        ended = batch.walk(self._action, self._outcome)
        now = batch.progress()
        (moved,), (stopped,), (cut_off,) = self._outcome.tolist()
        reward = batch.reward.move(before, now).item() if moved else 0.0
        info: dict[str, Any] = {"name": self._name}
        if ended:
            reward += batch.reward.stop(now).item()
            info |= {"ndtw": now.ndtw[0], "success": now.to_goal[0] <= self.threshold, "path": batch.paths()[0]}
        return self._observation(), reward, stopped, cut_off, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which actions are possible, for libraries with masked policies."""
        possible: NDArray[np.bool_] = self._batch.mask()[0]
        return possible

    def render(self) -> str | None:
        """Return the agent's path so far as text."""
        return " -> ".join(self._batch.paths()[0]) if self.render_mode == "ansi" else None

    def _observation(self) -> Observation:
        """Return what the agent observes; rows are looked up faster than the arrays of rows of many agents."""
        tables, pose = self._batch.tables, self._batch.pose.item()
        candidates = tables.features[pose].copy()
        candidates[1:, VISITED] = self._batch.visited[0].take(tables.near[pose])
        return {
            "instruction": self._instruction.copy(),
            "position": tables.position[pose].copy(),
            "heading": tables.heading[pose].copy(),
            "candidates": candidates,
            "mask": tables.mask[pose].copy(),
        }


class NavigationVectorEnv(VectorEnv[Observation, NDArray[np.int64], NDArray[np.float64]]):
    """The same for many agents at once; an environment whose episode has ended starts a new one at the next step.

    Besides `num_envs`, it takes the arguments of `NavigationEnv`.
    """

    def __init__(self, num_envs: int = 1, tasks: Tasks | None = None, **options: Any) -> None:
        self.metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}
        self.num_envs = num_envs
        self._batch = _agents(num_envs, tasks, **options)
        self.tasks = self._batch.tasks
        self.single_observation_space = _observations(self._batch)
        self.single_action_space = spaces.Discrete(self._batch.candidates)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._ended = self._drawn = np.empty(0, dtype=np.int64)

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> tuple[Observation, dict[str, Any]]:
        """Start a random episode in every environment."""
        super().reset(seed=seed)  # type: ignore[arg-type]
        self._ended = self._ended[:0]
        self._drawn = self._drawn if seed is None else self._drawn[:0]
        self._batch.begin(self._draw(self.num_envs))
        return self._observation(), {}

    def step(self, actions: NDArray[np.int64]) -> tuple[Observation, Any, Any, Any, dict[str, Any]]:
        """Take every agent's action; environments whose episode has ended start a new one instead."""
        batch, begun = self._batch, self._ended
        rewards, stopped, cut_off, ended = batch.act(actions)
        info: dict[str, Any] = {}
        self._ended = np.flatnonzero(ended)
        if len(self._ended):
            now = batch.progress()
            scores = {"ndtw": now.ndtw.copy(), "success": now.to_goal <= batch.threshold}
            info = {**scores, "_ndtw": ended, "_success": ended}
        if len(begun):
            batch.begin(self._draw(len(begun)), begun)
        return self._observation(), rewards, stopped, cut_off, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which actions are possible, (num_envs, actions)."""
        return self._batch.mask()

    def _draw(self, count: int) -> NDArray[np.int64]:
        """Return random episodes, drawn in advance: to draw one takes as long as to draw many."""
        if len(self._drawn) < count:
            self._drawn = self.np_random.integers(len(self.tasks), size=256 + count)
        taken, self._drawn = self._drawn[:count], self._drawn[count:]
        return taken

    def _observation(self) -> Observation:
        """Return what the agents observe, in arrays of their own."""
        tables, pose = self._batch.tables, self._batch.pose
        return {
            "instruction": self.tasks.tokens.take(self._batch.episode, axis=0),
            "position": tables.position.take(pose, axis=0),
            "heading": tables.heading.take(pose, axis=0),
            "candidates": self._batch.features(),
            "mask": tables.mask.take(pose, axis=0),
        }


for _name in ("wayscore/Worlds-v0", "wayscore/Files-v0"):  # what `gymnasium.make` knows them by
    gym.register(
        _name,
        entry_point="wayscore.rewards.environment:NavigationEnv",
        vector_entry_point="wayscore.rewards.environment:NavigationVectorEnv",
    )
