"""Walks that are planned: an agent imagines many walks at once and takes the likeliest as a whole (beam search).

What is imagined is looked up in the graph and the views of the house: an agent that plans knows the house before it
walks, which the paper's agents did not.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from wayscore.distances.base import Floats
from wayscore.lab.agents.ensemble import Voters, remember
from wayscore.lab.agents.rollout import started
from wayscore.rewards.batch import STOP, AgentBatch as Walkers, Codes


def planned(voters: Voters, beam: int) -> Iterator[Walkers]:
    """Walk the likeliest of all imagined walks; yield walkers when they have walked, some at a time.

    Args:
        voters: they find walks likely or not: the product of the probabilities of all steps, stopping included.
        beam: how many walks of an episode are imagined at once, after each move at most one to a node.
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
    imagined = Walkers(tasks, len(episodes) * beam, threshold=threshold, max_episode_steps=most)
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
        likely = so_far[:, None] + votes.numpy().astype(np.float64)
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
