"""Rollouts of a policy in training: what agents observe, the steps of a batch, and what walks score."""

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

Choice = Literal["teacher", "sample"]
Row = dict[str, float | int | str]
SINES = [FEATURES.index(f"sin {times}h") for times in (1, 2, 3)]
LEFT, RIGHT = FEATURES.index("left"), FEATURES.index("right")
MIRRORED = {"left": "right", "lefthand": "righthand", "leftmost": "rightmost", "east": "west"}
WORDS = "words"
EVALUATED_AT_ONCE = 256


class Observation(NamedTuple):
    """What the agents that are still walking observe, one row per agent."""

    row: Tensor  # the environment of each agent
    features: Tensor  # (agents, candidates, features)
    mask: Tensor  # (agents, candidates): which candidates are possible
    seen: Tensor | None  # (agents, candidates, words): see `Look`


def observe(
    walkers: AgentBatch,
    agents: NDArray[np.int64],
    tokens: NDArray[np.int32],
    recipe: Recipe,
    *,
    mirror: bool = False,
    sight: Sight | None = None,
) -> Observation:
    """Return what some agents observe where they are; with `mirror`, left and right are exchanged.

    `tokens` are the instructions of all agents.
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


@dataclass(frozen=True)
class Step:
    """One step of the agents that are still walking, one row per agent."""

    look: Look
    actions: Tensor
    teacher: Tensor  # the actions of the teacher
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
        right = walkers.faithful() if recipe.teacher == "faithful" else walkers.shortest()
        actions = teacher = torch.from_numpy(right[agents])
        if choice == "sample":
            with torch.no_grad():
                logits, _ = policy.judge(reading, look._replace(step=torch.zeros_like(row)))
                actions = torch.multinomial(logits.softmax(dim=1), 1).squeeze(1)
        every = np.full(len(walkers), STOP)
        every[agents] = actions.numpy()
        outcome = walkers.act(every)
        yield Step(look, actions, teacher, outcome.rewards[agents])
        walking = ~walkers.over[agents]
        still = torch.from_numpy(np.flatnonzero(walking))
        state = State(state.hidden, state.cell, candidates[torch.arange(len(actions)), actions]).of(still)
        agents = agents[walking]
        number += 1


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
