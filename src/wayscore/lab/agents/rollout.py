"""Rollouts of a policy: the steps of a batch, and whole episodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wayscore.lab.agents.checkpoints import Recipe
from wayscore.lab.agents.data import Sight
from wayscore.lab.agents.policy import Look, Policy, Reading, State
from wayscore.rewards.batch import FEATURES, STOP, AgentBatch
from wayscore.rewards.tasks import PADDING, UNKNOWN, Tasks, Vocabulary

Choice = Literal["teacher", "sample", "best"]
Row = dict[str, float | int | str]
SINES = [FEATURES.index(f"sin {times}h") for times in (1, 2, 3)]
LEFT, RIGHT = FEATURES.index("left"), FEATURES.index("right")
MIRRORED = {"left": "right", "lefthand": "righthand", "leftmost": "rightmost", "east": "west"}
WORDS = "words"
EVALUATED_AT_ONCE = 256


@dataclass(frozen=True)
class Step:
    """One step of the agents that are still walking, one row per agent."""

    look: Look
    actions: Tensor
    teacher: Tensor | None
    """The actions of the teacher, unless the policy's best actions are taken."""
    rewards: NDArray[np.float64]


def roll(
    policy: Policy,
    walkers: AgentBatch,
    reading: Reading,
    state: State,
    choice: Choice,
    recipe: Recipe,
    *,
    mirror: bool = False,
    sight: Sight | None = None,
) -> Iterator[Step]:
    """Let all agents walk until the last one has stopped or is cut off, and yield every step.

    Gradients flow through the states. Choosing an action needs no gradient; losses judge all steps again, at once.
    """
    tokens = walkers.tasks.tokens[walkers.episode][:, : reading.words.shape[1]]
    agents = np.arange(len(walkers))
    number = 0
    while len(agents):
        row, features, mask, seen = observe(walkers, agents, tokens, recipe, mirror=mirror, sight=sight)
        state, candidates = policy.advance(reading.keep[row], state, features, mask)
        look = Look(row, torch.full_like(row, number), state.hidden, candidates, mask, seen)
        teacher = None
        if choice != "best":
            right = walkers.faithful() if recipe.teacher == "faithful" else walkers.shortest()
            teacher = torch.from_numpy(right[agents])
        actions = teacher if choice == "teacher" and teacher is not None else _chosen(policy, reading, look, choice)
        every = np.full(len(walkers), STOP)
        every[agents] = actions.numpy()
        outcome = walkers.act(every)
        yield Step(look, actions, teacher, outcome.rewards[agents])
        walking = ~walkers.over[agents]
        still = torch.from_numpy(np.flatnonzero(walking))
        state = State(state.hidden, state.cell, candidates[torch.arange(len(actions)), actions]).of(still)
        agents = agents[walking]
        number += 1


class Observation(NamedTuple):
    """What the agents that are still walking observe, one row per agent."""

    row: Tensor
    """The environment of each agent."""
    features: Tensor
    """(agents, candidates, features)."""
    mask: Tensor
    """(agents, candidates): which candidates are possible."""
    seen: Tensor | None
    """(agents, candidates, words): see `Look`."""


def observe(
    walkers: AgentBatch,
    agents: NDArray[np.int64],
    tokens: NDArray[np.int32],
    recipe: Recipe,
    *,
    mirror: bool = False,
    sight: Sight | None = None,
) -> Observation:
    """Return what some agents observe where they are.

    Args:
        walkers: all agents.
        agents: the rows of those that are still walking.
        tokens: the instructions of all agents.
        recipe: names the features that are hidden.
        mirror: whether left and right are exchanged.
        sight: the words that are seen in the scenes.
    """
    possible = walkers.mask()[agents]
    width = int(possible.sum(axis=1).max())  # possible candidates come first; few nodes have many neighbours
    features = walkers.features()[agents, :width]
    features[..., [FEATURES.index(name) for name in recipe.without if name != WORDS]] = 0.0
    if mirror:
        features[..., SINES] *= -1
        features[..., [LEFT, RIGHT]] = features[..., [RIGHT, LEFT]]
    seen = None if sight is None else torch.from_numpy(sight.matches(walkers.here[agents], tokens[agents], width))
    row, mask = torch.from_numpy(agents), torch.from_numpy(possible[:, :width])
    return Observation(row, torch.from_numpy(features), mask, seen)


@torch.no_grad()
def _chosen(policy: Policy, reading: Reading, look: Look, choice: Choice) -> Tensor:
    logits, _ = policy.judge(reading, look._replace(step=torch.zeros_like(look.step)))
    return logits.argmax(dim=1) if choice == "best" else torch.multinomial(logits.softmax(dim=1), 1).squeeze(1)


def heard(tokens: NDArray[Any], recipe: Recipe) -> Tensor:
    """Return the instructions that the agent reads: the words, or as many unknown words."""
    return torch.from_numpy(np.where(tokens == PADDING, PADDING, UNKNOWN) if WORDS in recipe.without else tokens)


def mirrored_words(vocabulary: Vocabulary) -> NDArray[np.int64]:
    """Return the number of each word's mirror image, which for most is the word itself."""
    numbers = np.arange(len(vocabulary))
    for one, other in MIRRORED.items():
        if one in vocabulary.numbers and other in vocabulary.numbers:
            a, b = vocabulary.numbers[one], vocabulary.numbers[other]
            numbers[a], numbers[b] = b, a
    return numbers


def evaluate(policy: Policy, tasks: Tasks, recipe: Recipe, sight: Sight | None = None) -> Row:
    """Roll the policy out greedily on every task and return its means (see `means_of`)."""
    return means_of(greedy(policy, tasks, recipe, sight), recipe.threshold)


def means_of(walked: Iterable[AgentBatch], threshold: float) -> Row:
    """Return SR, nDTW, SDTW and the mean path length of agents that have walked."""
    success, ndtw, lengths = [], [], []
    for walkers in walked:
        progress = walkers.progress()
        success.append(progress.to_goal <= threshold)
        ndtw.append(progress.ndtw)
        lengths.append(progress.walked)
    met, faithful = np.concatenate(success), np.concatenate(ndtw)
    return {
        "SR": float(met.mean()),
        "nDTW": float(faithful.mean()),
        "SDTW": float((met * faithful).mean()),
        "PL": float(np.concatenate(lengths).mean()),
    }


def started(tasks: Tasks, recipe: Recipe) -> Iterator[AgentBatch]:
    """Yield agents at the start of every task, some at a time."""
    for start in range(0, len(tasks), EVALUATED_AT_ONCE):
        episodes = np.arange(start, min(start + EVALUATED_AT_ONCE, len(tasks)))
        walkers = AgentBatch(tasks, len(episodes), threshold=recipe.threshold, max_episode_steps=recipe.max_test_steps)
        walkers.begin(episodes)
        yield walkers


@torch.no_grad()
def greedy(policy: Policy, tasks: Tasks, recipe: Recipe, sight: Sight | None = None) -> Iterator[AgentBatch]:
    """Roll the policy out greedily; yield the agents when they have walked, some at a time."""
    was_training = policy.training
    policy.eval()
    for walkers in started(tasks, recipe):
        reading, state = policy.read(heard(tasks.tokens[walkers.episode], recipe))
        for _ in roll(policy, walkers, reading, state, "best", recipe, sight=sight):
            pass
        yield walkers
    policy.train(was_training)
