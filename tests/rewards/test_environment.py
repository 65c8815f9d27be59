"""The environment: its rules by hand, Gymnasium's own check, and other people's libraries."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import wayscore as ws
from wayscore.formats.episodes import Reference
from wayscore.rewards.batch import FEATURES, LOOK_AHEAD, AgentBatch, Nodes
from wayscore.rewards.rewards import REWARDS
from wayscore.rewards.tasks import Tasks, from_references, from_worlds

#   d (0, 4)
#   |
#   b (0, 2) - c (2, 2, 1: up the stairs)
#   |
#   a (0, 0)
POSITIONS = {"a": (0, 0, 0), "b": (0, 2, 0), "c": (2, 2, 1), "d": (0, 4, 0)}
HOUSE = ws.Graph.from_edges([("a", "b"), ("b", "c"), ("b", "d")], [2.0, math.sqrt(5), 2.0], positions=POSITIONS)
OTHER = ws.Graph.from_edges([("x", "y")], [5.0], positions={"x": (0, 0, 0), "y": (5, 0, 0)})


def tasks(*paths: str, scene: str = "house") -> Tasks:
    references = [Reference(str(n), scene, list(path), str(n), f"go to {path[-1]}") for n, path in enumerate(paths)]
    return from_references(references, {"house": HOUSE, "other": OTHER})


def way(walkers: AgentBatch, label: str, slot: int = 0) -> int:
    """The action that leads to a neighbour."""
    near = walkers.nodes.neighbors[walkers.here[slot]].tolist()
    return 1 + near.index(walkers.nodes.names.index(label))


def walk(walkers: AgentBatch, path: str) -> list[float]:
    return [float(walkers.act(np.array([way(walkers, place)])).rewards[0]) for place in path]


def test_rewards_are_those_of_the_rules() -> None:
    for name in REWARDS:
        walkers = AgentBatch(tasks("abc"), 1, reward=name)
        walkers.begin(np.array([0]))
        reward = ws.Reward(name, references=["abc"], distance=HOUSE)
        reward.start("a")
        for place in "bdbc":
            assert walk(walkers, place) == pytest.approx(reward.step([place]).tolist())
        assert walkers.act(np.array([0])).rewards == pytest.approx(reward.stop())
        assert walkers.over.all()
        assert walkers.paths() == [list("abdbc")]


def test_several_scenes_in_one_numbering() -> None:
    places = Nodes({"house": HOUSE, "other": OTHER})
    assert places.names == ["a", "b", "c", "d", "x", "y"]
    assert places.distance(np.array([0, 4]), np.array([2, 5])) == pytest.approx([2 + math.sqrt(5), 5.0])
    assert places.numbers("other", ["y", "x"]).tolist() == [5, 4]
    assert places.degree.tolist() == [1, 3, 1, 1, 1, 1]
    assert places.next_hop(np.array([0, 3]), np.array([3, 0])).tolist() == [0, 0]


def test_what_is_told_of_a_candidate() -> None:
    walkers = AgentBatch(tasks("abc"), 1)
    walkers.begin(np.array([0]))
    told = dict(zip(FEATURES, walkers.features()[0, 1].tolist(), strict=True))
    assert told["stop"] == 0.0
    assert (told["sin 1h"], told["cos 1h"]) == pytest.approx((0.0, 1.0), abs=1e-6)  # b is straight north
    assert told["metres"] == pytest.approx(0.2)
    assert told["degree"] == pytest.approx(3 / 8)
    assert (told["ahead"], told["right"], told["up"]) == pytest.approx((0.2, math.sqrt(5) / 10, 1.0))
    assert (told["left"], told["back"], told["down"], told["visited"]) == (0.0, 0.0, 0.0, 0.0)
    assert walkers.features()[0, 0].tolist() == [1.0] + [0.0] * (len(FEATURES) - 1)
    assert (walkers.features()[0, 2:] == 0).all()  # a has one neighbour
    walk(walkers, "bc")
    back = dict(zip(FEATURES, walkers.features()[0, 1].tolist(), strict=True))
    assert (back["came from"], back["visited"]) == (1.0, 1.0)
    assert back["cos 1h"] == pytest.approx(-1.0)
    assert back["climb"] == pytest.approx(-1 / math.sqrt(5))
    assert set(LOOK_AHEAD) < set(FEATURES)


def test_masks_and_impossible_actions() -> None:
    walkers = AgentBatch(tasks("abc"), 1, max_episode_steps=3)
    walkers.begin(np.array([0]))
    assert walkers.mask().tolist() == [[True, True, False, False]]
    outcome = walkers.act(np.array([3]))
    assert outcome.rewards.tolist() == [0.0]
    assert walkers.paths() == [["a"]]
    assert walkers.steps.tolist() == [1]


def test_too_many_moves_end_an_episode() -> None:
    walkers = AgentBatch(tasks("abc"), 1, reward="goal", max_episode_steps=2)
    walkers.begin(np.array([0]))
    first = walkers.act(np.array([1]))
    last = walkers.act(np.array([way(walkers, "c")]))
    assert (first.cut_off.tolist(), last.cut_off.tolist()) == ([False], [True])
    assert last.rewards == pytest.approx([math.sqrt(5) + 1])  # the last move, and ending at the goal
    again = walkers.act(np.array([1]))
    assert again.rewards.tolist() == [0.0]
    assert walkers.paths() == [list("abc")]


def test_teachers() -> None:
    walkers = AgentBatch(tasks("abdbc", "abc"), 2, max_episode_steps=10)
    walkers.begin(np.array([0, 1]))
    while not walkers.over.all():
        walkers.act(walkers.faithful())
    assert walkers.paths() == [list("abdbc"), list("abc")]
    walkers.begin(np.array([0, 0]))
    while not walkers.over.all():
        walkers.act(walkers.shortest())
    assert walkers.paths() == [list("abc"), list("abc")]
    # Off the reference the faithful teacher leads to the next place of it.
    walkers.begin(np.array([0, 1]))
    walkers.act(np.array([1, 1]))
    walkers.act(np.array([way(walkers, "c", 0), way(walkers, "d", 1)]))
    assert walkers.faithful().tolist() == [way(walkers, "b", 0), way(walkers, "b", 1)]


def test_generated_tasks_can_be_made_again() -> None:
    first, again, other = from_worlds(20, seed=1), from_worlds(20, seed=1), from_worlds(20, seed=2)
    assert (first.tokens == again.tokens).all()
    assert (first.paths == again.paths).all()
    assert first.paths.shape != other.paths.shape or (first.paths != other.paths).any()
    assert (first.tokens[:, 0] > 0).all()


def test_mistakes() -> None:
    with pytest.raises(ws.OptionError, match="at least one episode"):
        from_references([], {})
    with pytest.raises(ws.OptionError, match="needs a graph with positions"):
        Nodes({"s": ws.Graph.from_edges([("a", "b")])})
    with pytest.raises(ws.OptionError, match="must be 1 or more"):
        AgentBatch(tasks("ab"), 0)


gymnasium = pytest.importorskip("gymnasium", reason="install wayscore[navigation] to run the environment's tests")


def make(**options: Any) -> Any:
    from wayscore.rewards.environment import NavigationEnv

    return NavigationEnv(tasks("abc", "dba"), **options)


@pytest.mark.soak
def test_gymnasiums_own_check() -> None:
    from gymnasium.utils.env_checker import check_env

    import wayscore.rewards.environment  # noqa: F401  registers it

    check_env(gymnasium.make("wayscore/Files-v0", tasks=tasks("abc", "dba")).unwrapped)
    check_env(gymnasium.make("wayscore/Worlds-v0").unwrapped)


def test_one_agent() -> None:
    env = make(reward="goal", render_mode="ansi")
    observation, info = env.reset(seed=3, options={"episode": "0"})
    assert info == {"name": "0"}
    assert env.observation_space.contains(observation)
    assert env.action_masks().tolist() == [True, True, False, False]
    _, reward, terminated, truncated, _ = env.step(1)
    assert (reward, terminated, truncated) == (pytest.approx(2.0), False, False)
    assert env.render() == "a -> b"
    _, reward, terminated, _, info = env.step(0)
    assert terminated
    assert info["path"] == ["a", "b"]
    assert info["success"]
    assert info["ndtw"] == pytest.approx(ws.ndtw(reference="abc", query="ab", distance=HOUSE))
    first, second = (make().reset(seed=5)[1]["name"] for _ in range(2))
    assert first == second
    named = gymnasium.make("wayscore.rewards.environment:wayscore/Files-v0", tasks=tasks("abc"))
    assert named.reset()[1] == {"name": "0"}


def test_many_agents_are_one_agent_many_times() -> None:
    from wayscore.rewards.environment import NavigationEnv, NavigationVectorEnv

    some = tasks("abc", "dba", "cbd")
    many = NavigationVectorEnv(4, some, max_episode_steps=4)
    rng = np.random.default_rng(0)
    observation, _ = many.reset(seed=0)
    assert many.observation_space.contains(observation)
    singles = [NavigationEnv(some, max_episode_steps=4) for _ in range(4)]
    for single, row in zip(singles, many._batch.episode, strict=True):
        single.reset(options={"episode": str(row)})
    over = np.zeros(4, dtype=bool)
    for _ in range(30):
        actions = (rng.random(observation["mask"].shape) * observation["mask"]).argmax(axis=1)
        observation, rewards, terminated, truncated, info = many.step(actions)
        for slot, single in enumerate(singles):
            if over[slot]:  # begun anew: the action was not looked at
                assert rewards[slot] == 0.0
                single.reset(options={"episode": str(many._batch.episode[slot])})
                continue
            mine, reward, stopped, cut_off, _ = single.step(actions[slot])
            assert (reward, stopped, cut_off) == (rewards[slot], terminated[slot], truncated[slot])
            for name, values in mine.items():
                np.testing.assert_array_equal(values, observation[name][slot])
        over = terminated | truncated
        if over.any():
            assert (info["_ndtw"] == over).all()
    assert gymnasium.make_vec("wayscore/Worlds-v0", num_envs=2).num_envs == 2


@pytest.mark.soak
def test_another_librarys_agent_learns_here() -> None:
    pytest.importorskip("sb3_contrib", reason="install sb3-contrib to run this test")
    from examples.maskable_ppo import train

    model, before, after = train(steps=512, episodes=40, seed=0)
    assert model.num_timesteps >= 512
    assert all(0.0 <= score <= 1.0 for score in (before, after))
