"""Rewards: the paper's by hand, what they sum to, and those of others."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import wayscore as ws
from wayscore.rewards.rewards import REWARDS, Progress, RewardFunction, find_reward

LINE = ws.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")], [1.0, 2.0, 3.0, 4.0])


def test_the_goal_reward_by_hand() -> None:
    reward = ws.GoalReward(references=["abcd", "abcd"], distance=LINE, threshold=3.0)
    reward.start("aa")
    assert reward.step("bb").tolist() == [1.0, 1.0]
    assert reward.step("ca").tolist() == [2.0, -1.0]
    assert reward.stop().tolist() == [1.0, -1.0]  # c is at exactly 3 m of d, a is 6 m away
    assert reward.stop([True, False]).tolist() == [1.0, 0.0]


def test_the_fidelity_reward_by_hand() -> None:
    reward = ws.FidelityReward(references=["abc"], distance=LINE, threshold=3.0)
    reward.start("a")
    before = math.exp(-(0 + 1 + 3) / 9)  # all of a, b, c warped to a
    after = math.exp(-(0 + 0 + 2) / 9)
    assert reward.step("b") == pytest.approx([after - before])
    assert reward.stop() == pytest.approx([1 - 2 / 3])  # b is 2 m from c
    assert reward.step("c") == pytest.approx([1 - after])
    assert reward.stop() == pytest.approx([1.0])
    reward.start("a")
    assert reward.stop() == pytest.approx([0.0])  # exactly at the threshold: a success worth nothing
    assert ws.Reward("fidelity", references=["abcde"], distance=LINE).function is REWARDS["fidelity"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from("abcde"), min_size=1, max_size=12), st.lists(st.sampled_from("abcde"), min_size=1))
def test_fidelity_sums_to_the_final_score(query: list[str], reference: list[str]) -> None:
    reward = ws.FidelityReward(references=[reference], distance=LINE, threshold=3.0)
    reward.start(query[:1])
    gained = math.fsum(float(reward.step([place])[0]) for place in query[1:])
    first, last = (ws.ndtw(reference=reference, query=part, distance=LINE) for part in (query[:1], query))
    assert gained == pytest.approx(last - first, abs=1e-12)
    assert reward.ndtw[0] == pytest.approx(last, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 6), st.integers(0, 2**31))
def test_a_batch_is_its_slots_one_by_one(slots: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    references = [rng.normal(size=(rng.integers(1, 6), 2)) for _ in range(slots)]
    walks = rng.normal(size=(5, slots, 2))
    for name in REWARDS:
        batch = ws.Reward(name, references=references)
        batch.start(walks[0])
        single = [ws.Reward(name, references=[reference]) for reference in references]
        for slot, one in enumerate(single):
            one.start(walks[0, slot : slot + 1])
        for places in walks[1:]:
            active = rng.random(slots) < 0.7
            found = batch.step(places, active)
            expected = [
                one.step(places[slot : slot + 1])[0] if active[slot] else 0.0 for slot, one in enumerate(single)
            ]
            np.testing.assert_allclose(found, expected, atol=1e-12)
        np.testing.assert_allclose(batch.stop(), [one.stop()[0] for one in single], atol=1e-12)


def progress(to_goal: float, dtw: float = 3.0, walked: float = 4.0, optimal: float = 4.0) -> Progress:
    values = (np.array([value]) for value in (to_goal, dtw))
    return Progress(*values, np.array([3]), np.array([walked]), np.array([optimal]), 3.0)


@pytest.mark.parametrize(
    ("name", "before", "after", "expected"),
    [
        ("goal", progress(5.0), progress(3.5), 1.5),
        ("fidelity", progress(5.0, dtw=9.0), progress(3.5, dtw=0.0), 1 - math.exp(-1)),
        ("envdrop", progress(5.0), progress(3.5), 1.0),
        ("envdrop", progress(3.5), progress(5.0), -1.0),
        ("hamt", progress(5.0, dtw=9.0), progress(3.5, dtw=0.0), 1 + 1 - math.exp(-1)),
        ("hamt", progress(0.25, dtw=9.0), progress(2.0, dtw=9.0), -1 - 2 * 0.75),
        ("valan", progress(5.0), progress(3.5), 1.0),
        ("valan", progress(5.0), progress(5.5), -0.5),
        ("valan-dtw", progress(5.0, dtw=9.0), progress(5.0, dtw=7.0), 2.0),
        ("etp-r1", progress(5.0), progress(3.5), 0.0),
    ],
)
def test_a_move(name: str, before: Progress, after: Progress, expected: float) -> None:
    assert find_reward(name).move(before, after) == pytest.approx([expected])


@pytest.mark.parametrize(
    ("name", "at", "expected"),
    [
        ("goal", progress(3.0), 1.0),
        ("goal", progress(3.1), -1.0),
        ("fidelity", progress(1.5), 0.5),
        ("fidelity", progress(3.1), 0.0),
        ("fidelity", progress(math.inf), 0.0),
        ("envdrop", progress(3.0), -2.0),
        ("envdrop", progress(2.9), 2.0),
        ("hamt", progress(2.9, dtw=9.0), 2 + 2 * math.exp(-1)),
        ("hamt", progress(3.0), -2.0),
        ("valan", progress(0.0), 4.0),
        ("valan", progress(0.1), -4.0),
        ("valan-dtw", progress(0.0), 0.0),
        ("etp-r1", progress(1.5, dtw=9.0, walked=8.0, optimal=4.0), 2 * math.exp(-1) + 0.5 + 1 - 1.5 / 6),
        ("etp-r1", progress(3.0, dtw=9.0), math.exp(-1) + 1 - 3 / 6),
    ],
)
def test_a_stop(name: str, at: Progress, expected: float) -> None:
    assert find_reward(name).stop(at) == pytest.approx([expected])


def test_a_slot_begun_again() -> None:
    other = ws.Graph.from_edges([("x", "y")], [5.0])
    reward = ws.GoalReward(references=["abc", "abc"], distance=[LINE, LINE])
    reward.start("aa")
    reward.step("bb")
    reward.reset(1, "x", "xy", other)
    assert reward.step("cy").tolist() == [2.0, 5.0]
    assert reward.stop().tolist() == [1.0, 1.0]
    reward.reset(0, "b")
    assert reward.step("cy", [True, False]).tolist() == [2.0, 0.0]
    assert reward.ndtw[0] == pytest.approx(ws.ndtw(reference="abc", query="bc", distance=LINE))


def test_mistakes() -> None:
    with pytest.raises(ws.OptionError, match=r"there is no reward 'fidelty'; did you mean 'fidelity'\?"):
        ws.Reward("fidelty", references=["a"], distance=LINE)
    with pytest.raises(ws.PathError, match=r"call start\(\)"):
        ws.GoalReward(references=["a"], distance=LINE).step("b")
    with pytest.raises(ws.UnknownNodeError, match="node 'z'"):
        ws.GoalReward(references=["a"], distance=LINE).start("z")
    with pytest.raises(ws.OptionError, match="threshold"):
        ws.GoalReward(references=["a"], distance=LINE, threshold=0.0)
    own = RewardFunction("own", "mine", lambda before, after: before.dtw * 0 + 7, lambda at: at.dtw * 0)
    reward = ws.Reward(own, references=["ab"], distance=LINE)
    reward.start("a")
    assert reward.step("b").tolist() == [7.0]
