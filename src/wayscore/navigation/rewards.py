"""Rewards for training, one number a transition and one at the end: the paper's two, and by name those of others.

    reward = FidelityReward(references=[R1, R2], distance=graph)
    reward.start([R1[0], R2[0]])
    gained = reward.step(["b", "f"])     # for moving there
    gained = reward.stop()               # for stopping here

Every step costs O(|R|), whatever came before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.distances.base import Distance, Floats
from wayscore.distances.euclidean import Euclidean
from wayscore.errors import OptionError, PathError, did_you_mean
from wayscore.warping.alignment import check_threshold
from wayscore.warping.running import RunningBatch

ENTRY_POINTS = "wayscore.rewards"
"""The entry-point group in which installed packages offer rules."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where agents stand, one number each.

    Attributes:
        to_goal: d(q_t, goal), in the units of the distance.
        dtw: DTW(R, q_1..t).
        reference_count: |R|.
        walked: PL(q_1..t).
        optimal: d(q_1, goal).
        threshold: d_th.
    """

    to_goal: Floats
    dtw: Floats
    reference_count: NDArray[np.int64]
    walked: Floats
    optimal: Floats
    threshold: float

    @property
    def ndtw(self) -> Floats:
        """NDTW(R, q_1..t)."""
        found: Floats = np.exp(-self.dtw / (self.reference_count * self.threshold))
        return found


@dataclass(frozen=True, slots=True)
class Rule:
    """What a transition and an end are worth.

    Attributes:
        name: by which trainers ask for it.
        about: whose it is.
        move: from where agents stood and where they stand now to the reward of moving.
        stop: from where agents stand to the reward of stopping there.
    """

    name: str
    about: str
    move: Callable[[Progress, Progress], Floats]
    stop: Callable[[Progress], Floats]


def _approach(before: Progress, after: Progress) -> Floats:
    """How much nearer to the goal."""
    return before.to_goal - after.to_goal


def _fidelity(before: Progress, after: Progress) -> Floats:
    """How much more faithful."""
    return after.ndtw - before.ndtw


def _success(at: Progress) -> Any:
    return at.to_goal <= at.threshold


def _signed_approach(before: Progress, after: Progress) -> Floats:
    return np.sign(_approach(before, after))


def _signed_with_fidelity(before: Progress, after: Progress) -> Floats:
    """The sign of the approach and the gain in nDTW; who leaves a goal nearer than a metre loses up to 2 more."""
    leaving = (before.to_goal <= 1) & (after.to_goal > before.to_goal)
    penalty = np.where(leaving, 2 * (1 - np.minimum(before.to_goal, 1)), 0.0)
    return np.sign(_approach(before, after)) + _fidelity(before, after) - penalty


def _group_relative(at: Progress) -> Floats:
    """NDTW + SDTW + SPL + 1 - d / 6, where success is within half the threshold."""
    success = at.to_goal <= at.threshold / 2
    longer = np.maximum(np.maximum(at.walked, at.optimal), 1e-12)
    return at.ndtw + success * (at.ndtw + at.optimal / longer) + 1 - at.to_goal / (2 * at.threshold)


def _nothing(*places: Progress) -> Floats:
    return np.zeros(len(places[0].to_goal))


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        rule.name: rule
        for rule in (
            Rule(
                "goal",
                "the paper's goal-oriented agent: metres nearer; +1 for a success, -1 otherwise",
                _approach,
                lambda at: np.where(_success(at), 1.0, -1.0),
            ),
            Rule(
                "fidelity",
                "the paper's fidelity-oriented agent: gain in nDTW; 1 - d / d_th for a success",
                _fidelity,
                lambda at: np.where(_success(at), 1 - np.minimum(at.to_goal, at.threshold) / at.threshold, 0.0),
            ),
            Rule(
                "envdrop",
                "R2R-EnvDrop: the sign of the approach; +2 within the threshold, -2 beyond",
                _signed_approach,
                lambda at: np.where(at.to_goal < at.threshold, 2.0, -2.0),
            ),
            Rule(
                "hamt",
                "Recurrent-VLN-BERT, HAMT, EnvEdit: that and the gain in nDTW; 2 + 2 nDTW within the threshold, or -2",
                _signed_with_fidelity,
                lambda at: np.where(at.to_goal < at.threshold, 2 + 2 * at.ndtw, -2.0),
            ),
            Rule(
                "valan",
                "VALAN's default: metres nearer, cut to [-1, 1]; +4 at the very goal, -4 elsewhere",
                lambda before, after: np.clip(_approach(before, after), -1, 1),
                lambda at: np.where(at.to_goal == 0, 4.0, -4.0),
            ),
            Rule(
                "valan-dtw",
                "VALAN's dense_dtw: loss in DTW itself; nothing for stopping",
                lambda before, after: before.dtw - after.dtw,
                _nothing,
            ),
            Rule(
                "etp-r1",
                "ETP-R1: once, at the end: nDTW + SDTW + SPL + 1 - d / 6, success within half the threshold",
                _nothing,
                _group_relative,
            ),
        )
    }
)
"""The rules that come with wayscore, by name."""


def find_rule(name: str | Rule) -> Rule:
    """Return a rule by name, of wayscore's or an installed package's.

    >>> find_rule("fidelity").name
    'fidelity'
    """
    if isinstance(name, Rule):
        return name
    if name in RULES:
        return RULES[name]
    from importlib.metadata import entry_points

    others = {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}
    if name not in others:
        known = [*RULES, *others]
        raise OptionError(f"there is no reward {name!r}{did_you_mean(name, known)} Known: {', '.join(known)}")
    found: Rule = others[name].load()
    return found


class Reward:
    """A rule, kept up for a batch of environments, one slot each.

    Args:
        rule: by name (see `RULES`) or as a value.
        references: one path a slot.
        distance: one for all slots, or a sequence with one for each.
        threshold: d_th.

    >>> reward = Reward("goal", references=[[[0.0], [4.0]]])
    >>> reward.start([[0.0]])
    >>> reward.step([[3.0]]), reward.stop()
    (array([3.]), array([1.]))
    """

    def __init__(
        self,
        rule: str | Rule,
        *,
        references: Sequence[Any],
        distance: Distance | Sequence[Distance] | None = None,
        threshold: float = 3.0,
    ) -> None:
        check_threshold(threshold)
        self.rule = find_rule(rule)
        self.threshold = float(threshold)
        self._running = RunningBatch(references=references, distance=distance)
        self._distances: list[Distance] = (
            list(distance) if isinstance(distance, Sequence) else [distance or Euclidean()] * len(references)
        )
        self._goals = [reference[-1] for reference in references]
        self._counts = np.array([len(reference) for reference in references])
        self._here: list[Any] = [None] * len(references)
        self._progress: Progress | None = None

    def __len__(self) -> int:
        return len(self._running)

    def start(self, places: Sequence[Any]) -> None:
        """Take every slot's first place."""
        for slot in range(len(self)):
            self._running.reset(slot)
        dtw = self._running.step(places).copy()
        self._here = list(places)
        to_goal = self._between(self._here, self._goals, np.arange(len(self)))
        self._progress = Progress(to_goal, dtw, self._counts, np.zeros(len(self)), to_goal, self.threshold)

    def reset(self, slot: int, place: Any, reference: Any = None, distance: Distance | None = None) -> None:
        """Begin one slot again at a place, with its reference or a new one (and, in a new scene, its distance)."""
        before = self._now()
        self._running.reset(slot, reference, distance)
        if distance is not None:
            self._distances[slot] = distance
        if reference is not None:
            self._goals[slot] = reference[-1]
            self._counts[slot] = len(reference)
        self._here[slot] = place
        alone = np.array([slot])
        dtw = self._running.step(self._here, np.arange(len(self)) == slot).copy()
        to_goal, walked, optimal = before.to_goal.copy(), before.walked.copy(), before.optimal.copy()
        to_goal[slot] = optimal[slot] = self._between(self._here, self._goals, alone)[0]
        walked[slot] = 0.0
        self._progress = Progress(to_goal, dtw, self._counts, walked, optimal, self.threshold)

    def step(self, places: Sequence[Any], active: Any = None) -> Floats:
        """Take each slot's next place and return what moving there is worth.

        Args:
            places: one place a slot.
            active: which slots move, as booleans; the others get 0 and their place is not looked at.
        """
        before = self._now()
        moving = np.arange(len(self)) if active is None else np.flatnonzero(active)
        dtw = self._running.step(places, active).copy()
        to_goal, walked = before.to_goal.copy(), before.walked.copy()
        to_goal[moving] = self._between(places, self._goals, moving)
        walked[moving] += self._between(self._here, places, moving)
        for slot in moving.tolist():
            self._here[slot] = places[slot]
        after = Progress(to_goal, dtw, self._counts, walked, before.optimal, self.threshold)
        self._progress = after
        gained = self.rule.move(before, after)
        return gained if active is None else np.where(active, gained, 0.0)

    def stop(self, active: Any = None) -> Floats:
        """Return what stopping here is worth; 0 in slots that are not active."""
        gained = self.rule.stop(self._now())
        return gained if active is None else np.where(active, gained, 0.0)

    @property
    def ndtw(self) -> Floats:
        """NDTW of every slot so far."""
        return self._now().ndtw

    def _now(self) -> Progress:
        if self._progress is None:
            raise PathError("begin with start(places): rewards are for moving on from somewhere")
        return self._progress

    def _between(self, a: Any, b: Any, slots: NDArray[np.int64]) -> Floats:
        """Return d(a, b) of some slots."""
        if not len(slots):
            return np.empty(0)
        if all(isinstance(distance, Euclidean) for distance in self._distances):
            one, other = (np.array([places[slot] for slot in slots], dtype=np.float64) for places in (a, b))
            apart: Floats = np.sqrt(((one - other) ** 2).reshape(len(slots), -1).sum(axis=1))
            return apart
        return np.array([_between(self._distances[slot], a[slot], b[slot]) for slot in slots.tolist()])


def _between(distance: Any, a: Any, b: Any) -> float:
    if getattr(distance, "table", None) is not None:  # the running batch has looked both up before
        return float(distance.table[distance.index[a], distance.index[b]])
    codes = distance.encode([[a, b]], role=lambda _: "a place and the next, or the goal").places
    return float(distance.pairs(codes[:1], codes[1:])[0])


class GoalReward(Reward):
    """The paper's goal-oriented reward: d(q_i, g) - d(q_i+1, g) a transition; at the end +1 for a success, else -1.

    >>> reward = GoalReward(references=[[[0.0], [4.0]]], threshold=3.0)
    >>> reward.start([[0.0]])
    >>> reward.step([[0.5]]), reward.stop()
    (array([0.5]), array([-1.]))
    """

    def __init__(self, **options: Any) -> None:
        super().__init__("goal", **options)


class FidelityReward(Reward):
    """The paper's fidelity-oriented reward: nDTW(q_1..i+1, R) - nDTW(q_1..i, R) a transition; at the end
    1 - d(q_f, g) / d_th for a success, else 0.

    >>> reward = FidelityReward(references=[[[0.0], [3.0]]], threshold=3.0)
    >>> reward.start([[0.0]])
    >>> reward.step([[3.0]]).round(4), reward.stop()
    (array([0.3935]), array([1.]))
    """  # noqa: D205

    def __init__(self, **options: Any) -> None:
        super().__init__("fidelity", **options)
