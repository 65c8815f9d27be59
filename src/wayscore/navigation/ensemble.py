"""Agents that decide together: each reads, looks and remembers by itself, and they take the action they find likeliest.

An agent can vote twice, the second time on the mirror image of what it reads and sees: agents are trained with mirror
images too, and err differently there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from wayscore.navigation.policy import Look, Policy, State
from wayscore.navigation.recipe import Recipe
from wayscore.navigation.rollout import heard, mirrored_words, observe, started
from wayscore.navigation.sight import Sight
from wayscore.navigation.tasks import Tasks
from wayscore.navigation.terrain import STOP
from wayscore.navigation.walking import Walkers


@torch.no_grad()
def greedy_together(
    policies: Sequence[Policy], tasks: Tasks, recipe: Recipe, sight: Sight | None = None, *, mirror: bool = False
) -> Iterator[Walkers]:
    """Roll several policies out as one, greedily; yield the agents when they have walked, some at a time.

    Args:
        policies: trained with the vocabulary of the tasks.
        tasks: the episodes.
        recipe: the settings of the rollout.
        sight: the words that are seen in the scenes.
        mirror: whether each policy also votes on the mirror image.
    """
    voters = [(policy.eval(), mirrored) for policy in policies for mirrored in ((False, True) if mirror else (False,))]
    for walkers in started(tasks, recipe):
        _walk(voters, walkers, recipe, sight)
        yield walkers


def _walk(voters: list[tuple[Policy, bool]], walkers: Walkers, recipe: Recipe, sight: Sight | None) -> None:
    tokens = walkers.tasks.tokens[walkers.episode]
    turned = mirrored_words(walkers.tasks.vocabulary)[tokens]
    read = [policy.read(heard(turned if mirror else tokens, recipe)) for policy, mirror in voters]
    readings, states = [reading for reading, _ in read], [state for _, state in read]
    tokens = tokens[:, : readings[0].words.shape[1]]
    agents = np.arange(len(walkers))
    while len(agents):
        seen_as = {m: observe(walkers, agents, tokens, recipe, mirror=m, sight=sight) for m in {m for _, m in voters}}
        votes, looks = [], []
        for (policy, mirror), reading, state in zip(voters, readings, states, strict=True):
            row, features, mask, seen = seen_as[mirror]
            after, candidates = policy.advance(reading.keep[row], state, features, mask)
            look = Look(row, torch.zeros_like(row), after.hidden, candidates, mask, seen)
            votes.append(policy.judge(reading, look)[0].log_softmax(dim=1))
            looks.append((after, candidates))
        actions = torch.stack(votes).sum(dim=0).argmax(dim=1)
        every = np.full(len(walkers), STOP)
        every[agents] = actions.numpy()
        walkers.act(every)
        walking = ~walkers.over[agents]
        still, rows = torch.from_numpy(np.flatnonzero(walking)), torch.arange(len(actions))
        states = [State(after.hidden, after.cell, seen[rows, actions]).of(still) for after, seen in looks]
        agents = agents[walking]
