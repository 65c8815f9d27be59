"""The Gymnasium wrapper: exact nDTW in environments of others, what is added when, and what does not fit."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import wayscore as ws
from wayscore.rewards.rewards import REWARDS, RewardFunction

gymnasium = pytest.importorskip("gymnasium")

LAKE = ("SFFF", "FHFH", "FFFH", "HFFG")
WAY = [0, 4, 8, 9, 13, 14, 15]
LEFT, DOWN, RIGHT, UP = range(4)
FOLLOWING = [DOWN, DOWN, RIGHT, DOWN, RIGHT, RIGHT]


def lake_graph() -> ws.Graph:
    """Cells of the frozen lake that are not holes; all cells are nodes, since agents fall into holes."""
    edges = []
    for cell in range(16):
        row, column = divmod(cell, 4)
        edges += [(cell, cell + 1)] * (column < 3) + [(cell, cell + 4)] * (row < 3)
    lengths = [9.0 if "H" in (LAKE[a // 4][a % 4], LAKE[b // 4][b % 4]) else 1.0 for a, b in edges]
    return ws.Graph.from_edges(edges, lengths)


def newest(name: str) -> str:
    """Return an environment's id with its version, which Gymnasium raises now and then."""
    return max(known for known in gymnasium.registry if known.startswith(f"{name}-v"))


def cell_of(env: Any) -> int:
    return int(env.unwrapped.s)


def taxi(env: Any) -> list[int]:
    return list(env.unwrapped.decode(env.unwrapped.s))[:2]


def lake(**options: Any) -> ws.FidelityWrapper:
    settings = {"position": cell_of, "reference": WAY, "distance": lake_graph(), "threshold": 1.0, **options}
    return ws.FidelityWrapper(gymnasium.make("FrozenLake-v1", is_slippery=False), **settings)


def test_the_reward_by_hand() -> None:
    env = lake(weight=2.0, keep=10.0)
    _, info = env.reset(seed=0)
    before = math.exp(-(0 + 1 + 2 + 3 + 4 + 5 + 6) / 7)
    assert info["ndtw"] == pytest.approx(before)
    assert info["wayscore_reward"] == 0.0
    for number, action in enumerate(FOLLOWING):
        _, reward, terminated, truncated, info = env.step(action)
        left = len(FOLLOWING) - number - 1
        now = math.exp(-left * (left + 1) / 2 / 7)
        assert info["ndtw"] == pytest.approx(now)
        at_the_end = 1.0 if left == 0 else 0.0
        assert info["wayscore_reward"] == pytest.approx(now - before + at_the_end)
        assert reward == pytest.approx(2.0 * (now - before + at_the_end) + 10.0 * at_the_end)  # the lake pays 1 too
        before = now
    assert (terminated, truncated) == (True, False)


@pytest.mark.parametrize("name", REWARDS)
@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_reward_of_that_name_and_the_exact_score(name: str, seed: int) -> None:
    env = ws.FidelityWrapper(
        gymnasium.make(newest("Taxi")),
        position=taxi,
        reference=lambda env: [taxi(env), [0.0, 0.0], [4.0, 3.0]],
        reward=name,
        keep=0.0,
    )
    env.reset(seed=seed)
    query = [taxi(env)]
    reference = [query[0], [0.0, 0.0], [4.0, 3.0]]
    alone = ws.Reward(name, references=[reference])
    alone.start(query)
    for action in np.random.default_rng(seed).integers(4, size=30):
        _, reward, _, _, info = env.step(int(action))
        query.append(taxi(env))
        assert reward == info["wayscore_reward"] == pytest.approx(float(alone.step(query[-1:])[0]), abs=1e-12)
        assert info["ndtw"] == pytest.approx(ws.ndtw(reference=reference, query=query), abs=1e-12)


def test_stopping_is_rewarded_on_termination_and_not_on_truncation() -> None:
    paid = RewardFunction("paid", "5 at the end", lambda before, after: 0 * after.dtw, lambda at: 0 * at.dtw + 5)
    env = lake(reward=paid, keep=0.0)
    env.reset(seed=0)
    rewards = [env.step(action)[1] for action in FOLLOWING]
    assert rewards == [0.0] * 5 + [5.0]

    def wrap(env: Any) -> Any:
        return ws.FidelityWrapper(env, position=cell_of, reference=WAY, distance=lake_graph(), reward=paid, keep=0.0)

    def limit(env: Any) -> Any:
        return gymnasium.wrappers.TimeLimit(env, 3)

    for cut in (wrap(limit(env.unwrapped)), limit(wrap(env.unwrapped))):
        cut.reset(seed=0)
        steps = [cut.step(action) for action in FOLLOWING[:3]]
        assert [step[1] for step in steps] == [0.0] * 3
        assert [step[2:4] for step in steps] == [(False, False)] * 2 + [(False, True)]


class Reusing(gymnasium.Env):
    """Moves one and the same array, and a reference that it overwrites: what simulators do."""

    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.Box(-100.0, 100.0, (2,))
        self.action_space = gymnasium.spaces.Discrete(3)
        self.at = np.zeros(2)
        self.way = np.zeros((3, 2))

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.at[:] = 0.0
        self.way[:] = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]
        return self.at.astype(np.float32), {"own": 1}

    def step(self, action: int) -> Any:
        self.at += [0.0, 0.0] if action == 2 else [1.0, 0.0] if action else [0.0, 1.0]
        self.way[:] = 7.0
        return self.at.astype(np.float32), 0.0, False, False, {"own": 1}


def reusing(env: Any = None, **options: Any) -> ws.FidelityWrapper:
    return ws.FidelityWrapper(env or Reusing(), position=lambda env: env.unwrapped.at, **options)


def test_positions_and_references_are_copied() -> None:
    for name in ("fidelity", "etp-r1", "goal"):
        env = reusing(reference=lambda env: env.unwrapped.way, reward=name)
        alone = ws.Reward(name, references=[[[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]])
        alone.start([[0.0, 0.0]])
        env.reset()
        for action, to in ((1, [1.0, 0.0]), (0, [1.0, 1.0]), (1, [2.0, 1.0])):
            _, reward, *_, info = env.step(action)
            assert reward == pytest.approx(float(alone.step([to])[0]))
            assert info["own"] == 1
        assert info["ndtw"] == pytest.approx(float(alone.ndtw[0]))
        assert env._reward is not None
        assert env._reward.stop() == pytest.approx(alone.stop())  # of "etp-r1", by the length walked


def test_repeats() -> None:
    reference = [[0.0, 0.0], [2.0, 0.0]]

    def walked(repeats: str) -> tuple[float, list[float]]:
        env = reusing(reference=reference, repeats=repeats, keep=0.0)
        env.reset()
        steps = [env.step(action) for action in (1, 2, 2, 1)]
        return steps[-1][-1]["ndtw"], [step[1] for step in steps]

    kept, dropped = walked("keep"), walked("drop")
    assert dropped[0] == pytest.approx(ws.ndtw(reference=reference, query=[[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]))
    still = [[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [2.0, 0.0]]
    assert kept[0] == pytest.approx(ws.ndtw(reference=reference, query=still))
    assert dropped[1][1:3] == [0.0, 0.0]
    assert kept[1][1] < 0


def test_a_new_reference_and_scene_every_episode() -> None:
    scenes = {0: ws.Euclidean(), 1: ws.Grid(np.ones((5, 5), dtype=bool), cell=1.0)}

    class Alternating(Reusing):
        episode = 1

        def reset(self, **options: Any) -> Any:
            self.episode = 1 - self.episode
            return super().reset(**options)

    env = reusing(
        Alternating(),
        reference=lambda env: [[0.0, 0.0], [2.0, 1.0]] if env.unwrapped.episode else [[0.0, 0.0]],
        distance=lambda env: scenes[env.unwrapped.episode],
    )
    ends = {0: 1.0, 1: math.exp(-(1 + math.sqrt(2)) / 6)}  # by octile steps; a straight line is shorter
    for number in (0, 1, 0, 1):
        assert env.reset()[1]["ndtw"] == pytest.approx(ends[number])


@pytest.mark.parametrize(
    ("name", "width", "options"),
    [("FrozenLake", 4, {"is_slippery": True}), ("CliffWalking", 12, {}), ("FrozenLake8x8", 8, {})],
)
def test_gymnasiums_own_check_of_environments_that_are_not_ours(name: str, width: int, options: Any) -> None:
    from gymnasium.utils.env_checker import check_env

    inner = gymnasium.make(newest(name), **options)
    free = np.ones((inner.observation_space.n // width, width), dtype=bool)
    if name == "CliffWalking":
        free[3, 1:11] = False  # the cliff; who falls stands at the start again
    env = ws.FidelityWrapper(
        inner,
        position=lambda env: divmod(int(env.unwrapped.s), width),
        reference=[divmod(cell, width) for cell in range(width)],
        distance=ws.Grid(free, cell=1.0),
    )
    with pytest.warns(UserWarning, match="different from the unwrapped version"):
        check_env(env, skip_render_check=True)
    again = env.spec.make()  # a spec holds the wrapper and its options
    assert again.has_wrapper_attr("repeats")
    assert again.reset(seed=1)[1] == env.reset(seed=1)[1]


def test_many_at_once() -> None:
    for kind in (gymnasium.vector.SyncVectorEnv, gymnasium.vector.AsyncVectorEnv):
        many = kind([lake, lambda: lake(reward="goal")])
        one, other = lake(), lake(reward="goal")
        _, info = many.reset(seed=0)
        first = [one.reset(seed=0)[1]["ndtw"], other.reset(seed=0)[1]["ndtw"]]
        assert info["ndtw"].tolist() == first
        for action in FOLLOWING:
            _, rewards, terminated, _, info = many.step(np.array([action, RIGHT]))
            expected = [one.step(action), other.step(RIGHT)]
            assert rewards.tolist() == [step[1] for step in expected]
            assert info["ndtw"].tolist() == [step[-1]["ndtw"] for step in expected]
        assert terminated.tolist() == [True, False]
        _, rewards, *_, info = many.step(np.array([DOWN, LEFT]))  # the first begins again
        assert rewards[0] == 0.0
        assert info["ndtw"][0] == first[0]
        many.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"position": [0, 1]}, r"position must be a function of the environment"),
        ({"weight": math.inf}, "weight must be a finite number, got inf"),
        ({"keep": "1"}, "keep must be a finite number, got '1'"),
        ({"repeats": "skip"}, 'repeats must be "keep" or "drop", got \'skip\''),
        ({"threshold": 0.0}, "threshold"),
        ({"reward": "fidelty"}, "there is no reward 'fidelty'; did you mean 'fidelity'"),
        ({"reference": []}, r"reference must return the ground-truth path .* one node or point or more, got \[\]"),
        ({"reference": lambda _: None}, "reference must return the ground-truth path .* got None"),
        ({"reference": [0, 99]}, r"reference returned \[0, 99\], which does not fit: .*node 99 is not among the 16"),
        ({"position": lambda _: "x"}, "position returned 'x' at step 0, which does not fit the reference: .*node 'x'"),
        ({"distance": None, "reference": [[0.0, 0.0]]}, r"position returned 0 at step 0, .* 2 finite coordinates"),
        ({"distance": None, "reference": [[math.nan]]}, r"reference returned \[\[nan\]\], which does not fit"),
        ({"distance": lambda _: "far"}, "distance must be a Graph, .* got a str"),
        ({"distance": 3.0}, "distance must be a Graph, .* got a float"),
    ],
)
def test_what_makes_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ws.WayscoreError, match=message):
        lake(**options).reset(seed=0)


def test_a_position_that_fits_no_longer() -> None:
    where = iter([0, 1, None])
    env = lake(position=lambda _: next(where))
    with pytest.raises(ws.PathError, match=r"call reset\(\) before step\(\)"):
        env.step(RIGHT)
    env.reset(seed=0)
    env.step(RIGHT)
    with pytest.raises(ws.UnknownNodeError, match="position returned None at step 2"):
        env.step(RIGHT)


def test_it_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['gymnasium'] = None\n"
        "from wayscore import *\n"
        "try: FidelityWrapper(None, position=len, reference=[0])\n"
        "except MissingPackageError as error: print(error)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.startswith("FidelityWrapper needs Gymnasium, which is not installed: pip install")


def test_another_librarys_agent_learns_here() -> None:
    pytest.importorskip("stable_baselines3", reason="install stable-baselines3 to run this test")
    from examples.frozen_lake import make, train

    before, after = train(steps=256, seed=0)
    assert all(0.0 < score <= 1.0 for score in (before, after))
    env = make()
    env.reset(seed=0)
    right, down = 2, 1
    assert [env.step(action)[-1]["ndtw"] for action in (right, right, down, down, down, right)][-1] == 1.0
