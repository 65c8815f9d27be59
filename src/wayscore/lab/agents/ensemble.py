"""Agents that decide together: each reads, looks and remembers by itself, and they take the action they find likeliest.

An agent can vote twice, the second time on the mirror image of what it reads and sees: agents are trained with mirror
images too, and err differently there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from wayscore.lab.agents.policy import Look, Policy, State
from wayscore.lab.agents.recipe import Recipe
from wayscore.lab.agents.rollout import heard, mirrored_words, observe, started
from wayscore.lab.agents.sight import Sight
from wayscore.rewards.batch import STOP, AgentBatch as Walkers, Codes
from wayscore.rewards.tasks import Tasks

Memories = list[State]
"""What each voter remembers of some walkers, one row per walker."""


class Voters:
    """Policies that decide about the same walkers.

    Args:
        policies: trained with the vocabulary of the tasks.
        tasks: the episodes.
        recipe: the settings of the rollout.
        sight: the words that are seen in the scenes.
        mirror: whether each policy also votes on the mirror image.
    """

    def __init__(
        self, policies: Sequence[Policy], tasks: Tasks, recipe: Recipe, sight: Sight | None, *, mirror: bool = False
    ) -> None:
        self.tasks, self.recipe, self.sight = tasks, recipe, sight
        self.voters = [(policy.eval(), turned) for policy in policies for turned in ((False, True)[: 1 + mirror])]

    def read(self, episodes: Codes, copies: int = 1) -> Memories:
        """Read the instructions of some episodes; return the memories at their starts.

        Args:
            episodes: rows of the tasks.
            copies: how many walkers in a row each episode has.
        """
        tokens = self.tasks.tokens[episodes]
        turned = mirrored_words(self.tasks.vocabulary)[tokens]
        read = [policy.read(heard(turned if mirror else tokens, self.recipe)) for policy, mirror in self.voters]
        self._readings, self._copies = [reading for reading, _ in read], copies
        self._tokens = np.repeat(tokens[:, : self._readings[0].words.shape[1]], copies, axis=0)
        return [state for _, state in read]

    def vote(self, walkers: Walkers, agents: Codes, memories: Memories) -> tuple[Tensor, list[tuple[State, Tensor]]]:
        """Return the logarithms of the actions' probabilities, (agents, candidates), and what each voter has seen.

        Args:
            walkers: all walkers.
            agents: the rows of those that are decided about.
            memories: of these.
        """
        seen_as = {
            mirror: observe(walkers, agents, self._tokens, self.recipe, mirror=mirror, sight=self.sight)
            for mirror in {mirror for _, mirror in self.voters}
        }
        votes, seen = [], []
        for (policy, mirror), reading, state in zip(self.voters, self._readings, memories, strict=True):
            at, features, mask, matches = seen_as[mirror]
            row, copy = at // self._copies, at % self._copies
            after, candidates = policy.advance(reading.keep[row], state, features, mask)
            look = Look(row, copy, after.hidden, candidates, mask, matches)
            votes.append(policy.judge(reading, look)[0].log_softmax(dim=1))
            seen.append((after, candidates))
        return torch.stack(votes).mean(dim=0).log_softmax(dim=1), seen


def remember(seen: list[tuple[State, Tensor]], rows: Codes, actions: Codes) -> Memories:
    """Return what each voter remembers when some of the agents it has seen take their actions."""
    which, taken = torch.from_numpy(rows), torch.from_numpy(actions)
    return [State(after.hidden[which], after.cell[which], there[which, taken]) for after, there in seen]


@torch.no_grad()
def greedy_together(voters: Voters) -> Iterator[Walkers]:
    """Take the likeliest action at every step; yield walkers when they have walked, some at a time."""
    for walkers in started(voters.tasks, voters.recipe):
        memories, agents = voters.read(walkers.episode), np.arange(len(walkers))
        while len(agents):
            votes, seen = voters.vote(walkers, agents, memories)
            actions = votes.argmax(dim=1).numpy()
            every = np.full(len(walkers), STOP)
            every[agents] = actions
            walkers.act(every)
            still = np.flatnonzero(~walkers.over[agents])
            memories = remember(seen, still, actions[still])
            agents = agents[still]
        yield walkers
