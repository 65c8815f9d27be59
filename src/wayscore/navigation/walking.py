"""Many agents walking at once: the environment's state and its rules, as arrays, with no library around it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wayscore import kernels
from wayscore.distances.base import Floats
from wayscore.errors import OptionError
from wayscore.navigation.places import LOOK_AHEAD, Codes
from wayscore.navigation.rewards import Progress, Rule, find_rule
from wayscore.navigation.tasks import Tasks

FEATURES = (
    "stop",
    *(f"{wave} {times}h" for times in (1, 2, 3) for wave in ("cos", "sin")),
    "climb",
    "metres",
    "came from",
    "visited",
    *LOOK_AHEAD,
)
"""What is told of each candidate; h is its heading relative to the agent's."""
FEATURE_COUNT = len(FEATURES)
WAVES = np.array([1.0, 2.0, 3.0])
_TURN = slice(1, 7)
_CLIMB, _METRES, _CAME_FROM, _VISITED = (FEATURES.index(name) for name in ("climb", "metres", "came from", "visited"))
STOP = 0
"""The action that ends an episode; action k > 0 goes to the k-th neighbour."""


class Outcome(NamedTuple):
    """What came of one step, a value a slot.

    Attributes:
        rewards: for moving, and for stopping or being cut off.
        stopped: the agent ended its episode.
        cut_off: the episode ended because it was too long.
    """

    rewards: Floats
    stopped: NDArray[np.bool_]
    cut_off: NDArray[np.bool_]


class Walkers:
    """Agents in slots, each in an episode of its own.

    Args:
        tasks: the episodes.
        slots: how many agents.
        reward: the rule by name, or as a value.
        threshold: d_th, metres.
        most_steps: after so many moves an episode is cut off.
    """

    def __init__(
        self,
        tasks: Tasks,
        slots: int,
        *,
        reward: str | Rule = "fidelity",
        threshold: float = 3.0,
        most_steps: int = 20,
    ) -> None:
        if slots < 1 or most_steps < 1:
            raise OptionError(f"slots and most_steps must be 1 or more, got {slots} and {most_steps}")
        self.tasks, self.places = tasks, tasks.places
        self.rule, self.threshold, self.most_steps = find_rule(reward), float(threshold), most_steps
        self.candidates = self.places.neighbors.shape[1] + 1
        longest = tasks.paths.shape[1]
        self.episode = np.zeros(slots, dtype=np.int64)
        self.here = np.zeros(slots, dtype=np.int64)
        self.heading = np.zeros(slots)
        self.steps = np.zeros(slots, dtype=np.int64)
        self.walked = np.zeros(slots)
        self.optimal = np.zeros(slots)
        self.over = np.ones(slots, dtype=bool)
        self.trail = np.full((slots, most_steps + 1), -1, dtype=np.int64)
        self.reached = np.zeros(slots, dtype=np.int64)
        """How far along its reference each agent has come, in places."""
        self._reference = np.zeros((slots, longest), dtype=np.int64)
        self._counts = np.ones(slots, dtype=np.int64)
        self._rows = np.full((slots, longest + 1), np.inf)
        self._all = np.arange(slots)
        self._ways, self.told = self._describe()
        """What is told of the ways from every place, whoever walks them."""

    def __len__(self) -> int:
        return len(self.here)

    def _describe(self) -> tuple[NDArray[np.complex64], NDArray[np.float32]]:
        """Return the headings of all ways as complex numbers, and what is told of them whoever walks."""
        places = self.places
        real = places.neighbors >= 0
        ways = np.exp(1j * places.headings[..., None] * WAVES) * real[..., None]
        told = np.zeros((len(places), self.candidates, FEATURE_COUNT), dtype=np.float32)
        told[:, STOP, 0] = 1.0
        told[:, 1:, _CLIMB] = places.climbs
        told[:, 1:, _METRES] = np.where(real, places.lengths, 0.0) / 10.0
        told[:, 1:, _VISITED + 1 :] = places.beyond
        return ways.astype(np.complex64), told

    def begin(self, episodes: Codes, slots: Codes | None = None) -> None:
        """Put agents at the starts of episodes; all slots by default."""
        where = self._all if slots is None else slots
        tasks = self.tasks
        self.episode[where] = episodes
        paths, counts = tasks.paths[episodes], tasks.lengths[episodes]
        start = paths[:, 0]
        self._reference[where] = np.where(paths < 0, start[:, None], paths)
        self._counts[where] = counts
        self.here[where] = start
        self.heading[where] = tasks.headings[episodes]
        self.steps[where] = 0
        self.walked[where] = 0.0
        self.over[where] = False
        self.reached[where] = 1
        self.trail[where] = -1
        self.trail[where, 0] = start
        self._rows[where] = np.inf
        self._rows[where, 0] = 0.0
        began = np.zeros(len(self), dtype=bool)
        began[where] = True
        self._advance(began)
        self.optimal[where] = self.places.distance(start, paths[np.arange(len(paths)), counts - 1])

    @property
    def goal(self) -> Codes:
        """The last place of every reference."""
        goals: Codes = self._reference[self._all, self._counts - 1]
        return goals

    def progress(self) -> Progress:
        """Return where the agents stand."""
        return Progress(
            self.places.distance(self.here, self.goal),
            self._rows[self._all, self._counts],
            self._counts,
            self.walked.copy(),
            self.optimal,
            self.threshold,
        )

    def mask(self) -> NDArray[np.bool_]:
        """Return which actions are possible, (slots, candidates); stopping always is."""
        possible: NDArray[np.bool_] = np.arange(self.candidates) <= self.places.degree[self.here][:, None]
        return possible

    def features(self) -> NDArray[np.float32]:
        """Return what is told of every candidate, (slots, candidates, features); see `FEATURES`."""
        told = self.told[self.here]
        # Turning by the agent's heading is a product of complex numbers: cosine and sine of 1, 2 and 3 times the angle.
        turned = np.exp(-1j * self.heading[:, None] * WAVES).astype(np.complex64)[:, None, :] * self._ways[self.here]
        told[:, 1:, _TURN] = turned.view(np.float32)
        near = self.places.neighbors[self.here]
        before = self.trail[self._all, np.maximum(self.steps - 1, 0)]
        told[:, 1:, _CAME_FROM] = (near == before[:, None]) & (self.steps > 0)[:, None]
        told[:, 1:, _VISITED] = (near[:, :, None] == self._seen()[:, None, :]).any(axis=2)
        return told

    def _seen(self) -> Codes:
        """Return the places of all trails so far; what is not yet walked is a place that no neighbour is."""
        walked: Codes = np.where(self.trail < 0, -2, self.trail)[:, : int(self.steps.max()) + 1]
        return walked

    def act(self, actions: Codes) -> Outcome:
        """Take every running agent's action: 0 stops, k goes to the k-th neighbour; one that is none stays.

        The last move that is allowed ends the episode where it leads, and is worth what stopping there is.
        """
        running = ~self.over
        possible = (actions >= 0) & (actions <= self.places.degree[self.here])
        stopped = running & (actions == STOP)
        moving = running & possible & ~stopped
        before = self.progress()
        way = np.where(moving, actions - 1, 0)
        there = np.where(moving, self.places.neighbors[self.here, way], self.here)
        self.walked += np.where(moving, self.places.lengths[self.here, way], 0.0)
        self.heading = np.where(moving, self.places.headings[self.here, way], self.heading)
        self.here = there
        self.steps += running & ~stopped
        took = np.flatnonzero(running & ~stopped)
        self.trail[took, self.steps[took]] = there[took]
        self._advance(moving)
        after = self.progress()
        cut_off = running & ~stopped & (self.steps >= self.most_steps)
        rewards = np.where(moving, self.rule.move(before, after), 0.0)
        ended = stopped | cut_off
        if ended.any():
            rewards += np.where(ended, self.rule.stop(after), 0.0)
        self.over |= ended
        return Outcome(rewards, stopped, cut_off)

    def shortest(self) -> Codes:
        """Return the action that a shortest way to the goal begins with; stopping at the goal."""
        return np.where(self.here == self.goal, STOP, self.places.next_hop(self.here, self.goal) + 1)

    def faithful(self) -> Codes:
        """Return the action that leads to the next place of the reference by a shortest way; stopping after the last.

        How far along the reference an agent has come is counted in places met in their order.
        """
        done = self.reached >= self._counts
        target = self._reference[self._all, np.minimum(self.reached, self._counts - 1)]
        lost = ~done & (target == self.here)  # a reference that stays where it is
        return np.where(done | lost, STOP, self.places.next_hop(self.here, target) + 1)

    def paths(self) -> list[list[str]]:
        """Return the labels of the places each agent has been to, without those where it stayed."""
        names = self.places.names
        found = []
        for trail, steps in zip(self.trail.tolist(), self.steps.tolist(), strict=True):
            walk = trail[: steps + 1]
            found.append([names[place] for at, place in enumerate(walk) if at == 0 or place != walk[at - 1]])
        return found

    def _advance(self, moving: NDArray[np.bool_]) -> None:
        """Carry DTW on to the agents' places, where they moved."""
        costs = self.places.distance(self.here[:, None], self._reference)
        kernels.advance_block(costs, self._counts, self._rows, np.ascontiguousarray(moving).view(np.uint8))
        nexts = self._reference[self._all, np.minimum(self.reached, self._counts - 1)]
        self.reached += moving & (self.reached < self._counts) & (nexts == self.here) & (self.steps > 0)
