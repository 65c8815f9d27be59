"""A trained agent: one policy, or several that decide together; it takes the likeliest step, or plans ahead.

A policy can vote twice, the second time on the mirror image of what it reads and sees: agents are trained with mirror
images too, and err differently there. What a planning agent imagines is looked up in the graph and the views of the
house: it knows the house before it walks, which the paper's agents did not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from wayscore.distances.base import Floats
from wayscore.errors import OptionError
from wayscore.lab.agents.checkpoints import LONGEST, Recipe, load_checkpoint, reading_checkpoint
from wayscore.lab.agents.data import Sight, WordWeights
from wayscore.lab.agents.policy import Look, Policy, Shape, State
from wayscore.lab.agents.rollout import Row, heard, means_of, mirrored_words, observe, started
from wayscore.rewards.batch import STOP, AgentBatch, Codes
from wayscore.rewards.tasks import Tasks, Vocabulary

Memories = list[State]
"""What each voter remembers of some walkers, one row per walker."""
Seen = list[tuple[State, Tensor]]
"""The next state of each voter, and the candidates as it sees them."""


class Voters:
    """Policies that decide about the same walkers; with `mirror`, each also votes on the mirror image."""

    def __init__(
        self, policies: Sequence[Policy], tasks: Tasks, recipe: Recipe, sight: Sight | None, *, mirror: bool = False
    ) -> None:
        self.tasks, self.recipe, self.sight = tasks, recipe, sight
        self.voters = [(policy.eval(), turned) for policy in policies for turned in ((False, True)[: 1 + mirror])]

    def read(self, episodes: Codes, copies: int = 1) -> Memories:
        """Read the instructions of some episodes, each for several walkers in a row; return the first memories."""
        tokens = self.tasks.tokens[episodes]
        turned = mirrored_words(self.tasks.vocabulary)[tokens]
        read = [policy.read(heard(turned if mirror else tokens, self.recipe)) for policy, mirror in self.voters]
        self._readings, self._copies = [reading for reading, _ in read], copies
        self._tokens = np.repeat(tokens[:, : self._readings[0].words.shape[1]], copies, axis=0)
        return [state for _, state in read]

    def vote(self, walkers: AgentBatch, agents: Codes, memories: Memories) -> tuple[list[Tensor], Seen]:
        """Return the logits of each voter, (agents, candidates), and what it has seen.

        `agents` are the rows of the walkers that are decided about, and `memories` are theirs.
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
            votes.append(policy.judge(reading, look)[0])
            seen.append((after, candidates))
        return votes, seen


def agreed(votes: list[Tensor]) -> Tensor:
    """Return the logarithms of the actions' probabilities that several voters agree on."""
    return torch.stack([vote.log_softmax(dim=1) for vote in votes]).mean(dim=0).log_softmax(dim=1)


def remember(seen: Seen, rows: Codes, actions: Codes) -> Memories:
    """Return what each voter remembers when some of the agents it has seen take their actions."""
    which, taken = torch.from_numpy(rows), torch.from_numpy(actions)
    return [State(after.hidden[which], after.cell[which], there[which, taken]) for after, there in seen]


@torch.no_grad()
def greedy(voters: Voters) -> Iterator[AgentBatch]:
    """Take the likeliest action at every step; yield walkers when they have walked, some at a time."""
    for walkers in started(voters.tasks, voters.recipe):
        memories, agents = voters.read(walkers.episode), np.arange(len(walkers))
        while len(agents):
            votes, seen = voters.vote(walkers, agents, memories)
            likely = votes[0] if len(votes) == 1 else agreed(votes)
            actions = likely.argmax(dim=1).numpy()
            every = np.full(len(walkers), STOP)
            every[agents] = actions
            walkers.act(every)
            still = np.flatnonzero(~walkers.over[agents])
            memories = remember(seen, still, actions[still])
            agents = agents[still]
        yield walkers


def planned(voters: Voters, beam: int) -> Iterator[AgentBatch]:
    """Walk the likeliest of all imagined walks; yield walkers when they have walked, some at a time.

    A walk is as likely as the product of the probabilities of its steps, stopping included. `beam` walks of an episode
    are imagined at once, after each move at most one to a node.
    """
    for walkers in started(voters.tasks, voters.recipe):
        for actions in _plans(voters, walkers.episode, beam).T:
            walkers.act(actions)
        yield walkers


@torch.no_grad()
def _plans(voters: Voters, episodes: Codes, beam: int) -> Codes:
    """Return the actions of the likeliest walks, (episodes, moves); after the last move, they stop."""
    tasks, recipe = voters.tasks, voters.recipe
    most, threshold = recipe.max_test_steps, recipe.threshold
    imagined = AgentBatch(tasks, len(episodes) * beam, threshold=threshold, max_episode_steps=most)
    imagined.begin(np.repeat(episodes, beam))
    ways = np.full((len(imagined), most), STOP)
    plans, best = np.full((len(episodes), most), STOP), np.full(len(episodes), -np.inf)
    agents, so_far = np.arange(len(episodes)) * beam, np.zeros(len(episodes))
    memories = voters.read(episodes, beam)

    def end(likely: Floats) -> None:
        """Make walks that end where they are the plans, where they are likelier than the plans so far."""
        order = np.argsort(likely, kind="stable")  # of several for one episode, the last and likeliest is kept
        better = order[likely[order] > best[agents[order] // beam]]
        plans[agents[better] // beam], best[agents[better] // beam] = ways[agents[better]], likely[better]

    for move in range(most):
        votes, seen = voters.vote(imagined, agents, memories)
        likely = so_far[:, None] + agreed(votes).numpy().astype(np.float64)
        end(likely[:, STOP])
        parent, action = np.nonzero(likely > best[agents // beam][:, None])  # no further step makes a walk likelier
        parent, action = parent[action != STOP], action[action != STOP]
        episode, node = agents[parent] // beam, tasks.nodes.neighbors[imagined.here[agents[parent]], action - 1]
        kept, place = likeliest(episode, node, likely[parent, action], beam)
        parent, action = parent[kept], action[kept]
        to = episode[kept] * beam + place
        imagined.copy(agents[parent], to)
        ways[to] = ways[agents[parent]]
        ways[to, move] = action
        every = np.full(len(imagined), STOP)
        every[to] = action
        imagined.act(every)
        agents, so_far, memories = to, likely[parent, action], remember(seen, parent, action)
        if not len(agents):
            break
    end(so_far)
    return plans


def likeliest(episode: Codes, node: Codes, likely: Floats, most: int) -> tuple[Codes, Codes]:
    """Return which walks are kept, in each episode the likeliest to each node, and the place of each in its episode.

    >>> rows, places = likeliest(np.array([0, 0, 0, 1]), np.array([7, 7, 8, 7]), np.array([-3.0, -1.0, -2.0, -5.0]), 2)
    >>> rows.tolist(), places.tolist()
    ([1, 2, 3], [0, 1, 0])
    """
    order = np.lexsort((-likely, node, episode))
    same = (episode[order][1:] == episode[order][:-1]) & (node[order][1:] == node[order][:-1])
    order = order[np.concatenate((np.ones(len(order[:1]), dtype=bool), ~same))]
    order = order[np.lexsort((-likely[order], episode[order]))]
    place = np.arange(len(order)) - np.searchsorted(episode[order], episode[order])
    return order[place < most], place[place < most]


@dataclass(frozen=True)
class Agent:
    """A trained agent: one policy, or several that decide together, and the settings of its training."""

    policies: tuple[Policy, ...]
    recipe: Recipe
    vocabulary: Vocabulary
    words: int  # how many words of an instruction it reads
    weights: WordWeights | None  # how informative seen words are, as it learned them; None if it sees none

    def walk(
        self, tasks: Tasks, sight: Sight | None = None, *, beam: int | None = None, mirror: bool = False
    ) -> Iterator[AgentBatch]:
        """Yield walkers when they have walked, some at a time.

        Tasks are in the words of the agent's vocabulary. With `beam`, the agent plans ahead with this number of
        imagined walks (see `planned`); with `mirror`, policies also vote on the mirror image.
        """
        voters = Voters(self.policies, tasks, self.recipe, sight, mirror=mirror)
        return greedy(voters) if beam is None else planned(voters, beam)

    def paths(
        self, tasks: Tasks, sight: Sight | None = None, *, beam: int | None = None, mirror: bool = False
    ) -> list[list[str]]:
        """Return the path of every episode; see `walk`."""
        walked = self.walk(tasks, sight, beam=beam, mirror=mirror)
        return [path for walkers in walked for path in walkers.paths()]


def evaluate(policy: Policy, tasks: Tasks, recipe: Recipe, sight: Sight | None = None) -> Row:
    """Let a policy take its likeliest steps in every task and return the means (see `means_of`)."""
    return means_of(greedy(Voters([policy], tasks, recipe, sight)), recipe.threshold)


def load_agent(*folders: Path) -> Agent:
    """Return the agent of a checkpoint, or of several that decide together; they must read the same words."""
    agents = []
    for folder in folders:
        with reading_checkpoint(folder):
            state = load_checkpoint(folder)
            policy = Policy(Shape(**state["shape"]))
            policy.load_state_dict(state["policy"])
            recipe = replace(Recipe(), **state["recipe"])
            if not 0 < (words := int(state["words"])) <= LONGEST:
                raise ValueError(f"it reads {words} words")
            agents.append(
                Agent((policy.eval(),), recipe, Vocabulary(state["vocabulary"]), words, state["word_weights"])
            )
    first = agents[0]
    for folder, agent in zip(folders, agents, strict=True):
        if (agent.vocabulary.known, agent.words, agent.weights) != (first.vocabulary.known, first.words, first.weights):
            raise OptionError(
                f"{folder}: reads other words than {folders[0]}; give agents that were trained on one file"
            )
    return replace(first, policies=tuple(policy for agent in agents for policy in agent.policies))
