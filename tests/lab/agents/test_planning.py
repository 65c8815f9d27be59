"""Planned walks are those of a literal beam search, in a batch as alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="install wayscore[navigation] to run these tests")

from tests.lab.agents.test_training import SMALL, made  # noqa: E402
from wayscore.lab.agents.agent import Agent, likeliest  # noqa: E402
from wayscore.lab.agents.policy import Look, Policy, State  # noqa: E402
from wayscore.lab.agents.rollout import observe, started  # noqa: E402
from wayscore.rewards.batch import AgentBatch  # noqa: E402
from wayscore.rewards.tasks import Tasks, from_worlds  # noqa: E402

SHORT = replace(SMALL, max_test_steps=4)


@pytest.fixture(scope="module")
def tasks() -> Tasks:
    return from_worlds(40, worlds=2, seed=3, stages=1)


@pytest.mark.parametrize(("count", "beam"), [(1, 1), (1, 3), (2, 4)])
@pytest.mark.soak
def test_the_plan_is_that_of_a_literal_beam_search(tasks: Tasks, count: int, beam: int) -> None:
    policies = [made(len(tasks.vocabulary), seed) for seed in range(count)]
    for row in range(5):
        one = tasks.some([row])
        planned = Agent(tuple(policies), SHORT, tasks.vocabulary, 120, None).paths(one, beam=beam)
        assert planned == [literal(policies, one, beam)]


@torch.no_grad()
def literal(policies: list[Policy], task: Tasks, beam: int) -> list[str]:
    """Return the likeliest walk, by a search that keeps lists of actions and walks each of them from the start."""
    walks: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    ended = []
    for _ in range(SHORT.max_test_steps):
        longer: dict[int, tuple[tuple[int, ...], float]] = {}
        for actions, likely in walks:
            walkers, votes = after(policies, task, actions)
            ended.append((likely + votes[0], walkers.paths()[0]))
            for action in range(1, len(votes)):
                if votes[action] > -1e8:
                    node = int(task.nodes.neighbors[walkers.here[0], action - 1])
                    if node not in longer or longer[node][1] < likely + votes[action]:
                        longer[node] = (*actions, action), likely + votes[action]
        walks = sorted(longer.values(), key=lambda walk: -walk[1])[:beam]
    ended += [(likely, after(policies, task, actions)[0].paths()[0]) for actions, likely in walks]
    return list(max(ended)[1])


def after(policies: list[Policy], task: Tasks, actions: tuple[int, ...]) -> tuple[AgentBatch, Any]:
    """Return the walker after some actions, and the votes on its next one."""
    walkers = next(started(task, SHORT))
    tokens = torch.from_numpy(task.tokens)
    read = [policy.read(tokens) for policy in policies]
    readings, states = [reading for reading, _ in read], [state for _, state in read]
    for action in [*actions, None]:
        if walkers.over[0]:
            return walkers, None
        row, features, mask, _ = observe(walkers, np.arange(1), task.tokens, SHORT)
        votes = []
        for number, (policy, reading) in enumerate(zip(policies, readings, strict=True)):
            state, candidates = policy.advance(reading.keep[row], states[number], features, mask)
            look = Look(row, torch.zeros_like(row), state.hidden, candidates, mask, None)
            votes.append(policy.judge(reading, look)[0].log_softmax(dim=1))
            if action is not None:
                states[number] = State(state.hidden, state.cell, candidates[:, action])
        if action is not None:
            walkers.act(np.array([action]))
    return walkers, torch.stack(votes).mean(dim=0).log_softmax(dim=1)[0].numpy()


def test_planned_walks_of_many_are_those_of_each(tasks: Tasks) -> None:
    agent = Agent((made(len(tasks.vocabulary), 4),), SMALL, tasks.vocabulary, 120, None)
    together = agent.paths(tasks, beam=4)
    assert together == [path for row in range(len(tasks)) for path in agent.paths(tasks.some([row]), beam=4)]
    assert together != agent.paths(tasks)
    assert all(len(path) <= SMALL.max_test_steps + 1 for path in together)


def test_copied_walkers_have_walked_the_same(tasks: Tasks) -> None:
    walkers = AgentBatch(tasks, 4, threshold=1.4, max_episode_steps=6)
    walkers.begin(np.array([0, 0, 5, 5]))
    for action in (1, 2):
        walkers.act(np.array([action, 1, 1, action]))
    alike = AgentBatch(tasks, 2, threshold=1.4, max_episode_steps=6)
    alike.begin(np.array([0, 5]))
    for action in (1, 2):
        alike.act(np.array([action, action]))
    walkers.copy(np.array([0, 3]), np.array([1, 2]))
    assert walkers.over.tolist() == [True, False, False, True]
    walkers.act(np.array([0, 1, 1, 0]))
    alike.act(np.array([1, 1]))
    kept = walkers.progress()
    for name in ("to_goal", "dtw", "walked", "ndtw"):
        assert getattr(kept, name)[1:3].tolist() == getattr(alike.progress(), name).tolist()
    assert walkers.paths()[1:3] == alike.paths()
    assert (walkers.features()[1:3] == alike.features()).all()
    assert (walkers.faithful()[1:3] == alike.faithful()).all()


def test_nothing_is_kept_of_nothing() -> None:
    none = np.empty(0, dtype=np.int64)
    kept, places = likeliest(none, none, np.empty(0), 3)
    assert (len(kept), len(places)) == (0, 0)
