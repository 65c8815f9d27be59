"""Reward functions by name: the paper's two, and those of published agents; each is two functions of `Progress`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.distances.base import Floats
from wayscore.errors import OptionError, did_you_mean

ENTRY_POINTS = "wayscore.rewards"
"""The entry-point group in which installed packages offer reward functions."""


@dataclass(slots=True, eq=False)
class Progress:
    """The progress of agents, one number each.

    Attributes:
        to_goal: d(q_t, goal), in the units of the distance.
        dtw: DTW(R, q_1..t).
        reference_count: |R|.
        walked: PL(q_1..t).
        optimal: d(q_1, goal).
        threshold: d_th.
        known_ndtw: nDTW(R, q_1..t), where it has been computed.
    """

    to_goal: Floats
    dtw: Floats
    reference_count: NDArray[np.int64]
    walked: Floats
    optimal: Floats
    threshold: float
    known_ndtw: Floats | None = None

    @property
    def ndtw(self) -> Floats:
        """nDTW(R, q_1..t)."""
        if self.known_ndtw is None:
            self.known_ndtw = np.exp(-self.dtw / (self.reference_count * self.threshold))
        return self.known_ndtw


@dataclass(frozen=True, slots=True)
class RewardFunction:
    """The reward of a transition and of the end of an episode.

    Attributes:
        name: its name.
        about: who uses it, and its formula.
        move: takes the progress before and after a move, returns the reward of the move.
        stop: takes the progress at the end, returns the reward of stopping.
    """

    name: str
    about: str
    move: Callable[[Progress, Progress], Floats]
    stop: Callable[[Progress], Floats]


def _approach(before: Progress, after: Progress) -> Floats:
    """The decrease of the distance to the goal."""
    return before.to_goal - after.to_goal


def _fidelity(before: Progress, after: Progress) -> Floats:
    """The gain in nDTW."""
    return after.ndtw - before.ndtw


def _success(at: Progress) -> Any:
    return at.to_goal <= at.threshold


def _signed_approach(before: Progress, after: Progress) -> Floats:
    return np.sign(_approach(before, after))


def _signed_with_fidelity(before: Progress, after: Progress) -> Floats:
    """The sign of the approach and the gain in nDTW; leaving a goal that is nearer than a metre costs up to 2 more."""
    leaving = (before.to_goal <= 1) & (after.to_goal > before.to_goal)
    penalty = np.where(leaving, 2 * (1 - np.minimum(before.to_goal, 1)), 0.0)
    return np.sign(_approach(before, after)) + _fidelity(before, after) - penalty


def _group_relative(at: Progress) -> Floats:
    """NDTW + SDTW + SPL + 1 - d / 6, where success is within half the threshold."""
    success = at.to_goal <= at.threshold / 2
    longer = np.maximum(np.maximum(at.walked, at.optimal), 1e-12)
    return at.ndtw + success * (at.ndtw + at.optimal / longer) + 1 - at.to_goal / (2 * at.threshold)


def _nothing(*progress: Progress) -> Floats:
    return np.zeros(len(progress[0].to_goal))


REWARDS: Mapping[str, RewardFunction] = MappingProxyType(
    {
        function.name: function
        for function in (
            RewardFunction(
                "goal",
                "the paper's goal-oriented agent: metres gained towards the goal; at the end +1 for a success, else -1",
                _approach,
                lambda at: np.where(_success(at), 1.0, -1.0),
            ),
            RewardFunction(
                "goal-per-threshold",
                "the goal-oriented reward with distances in units of d_th, so that success weighs more: "
                "metres gained / d_th; at the end +1 for a success, else -1",
                lambda before, after: _approach(before, after) / after.threshold,
                lambda at: np.where(_success(at), 1.0, -1.0),
            ),
            RewardFunction(
                "fidelity",
                "the paper's fidelity-oriented agent: gain in nDTW; at the end 1 - d / d_th for a success, else 0",
                _fidelity,
                lambda at: np.maximum(1 - at.to_goal / at.threshold, 0.0),
            ),
            RewardFunction(
                "envdrop",
                "R2R-EnvDrop: sign of the metres gained; at the end +2 within the threshold, else -2",
                _signed_approach,
                lambda at: np.where(at.to_goal < at.threshold, 2.0, -2.0),
            ),
            RewardFunction(
                "hamt",
                "Recurrent-VLN-BERT, HAMT, EnvEdit: sign of the metres gained plus gain in nDTW, with a penalty for "
                "leaving the goal; at the end 2 + 2 nDTW within the threshold, else -2",
                _signed_with_fidelity,
                lambda at: np.where(at.to_goal < at.threshold, 2 + 2 * at.ndtw, -2.0),
            ),
            RewardFunction(
                "valan",
                "VALAN's default: metres gained, limited to [-1, 1]; at the end +4 exactly at the goal, else -4",
                lambda before, after: np.clip(_approach(before, after), -1, 1),
                lambda at: np.where(at.to_goal == 0, 4.0, -4.0),
            ),
            RewardFunction(
                "valan-dtw",
                "VALAN's dense_dtw: decrease of DTW; nothing at the end",
                lambda before, after: before.dtw - after.dtw,
                _nothing,
            ),
            RewardFunction(
                "etp-r1",
                "ETP-R1: only at the end: nDTW + SDTW + SPL + 1 - d / 6, with success within half the threshold",
                _nothing,
                _group_relative,
            ),
        )
    }
)
"""The reward functions that come with wayscore, by name."""


def find_reward(name: str | RewardFunction) -> RewardFunction:
    """Return a reward function by name: one of wayscore, or of an installed package.

    >>> find_reward("fidelity").name
    'fidelity'
    """
    if isinstance(name, RewardFunction):
        return name
    if name in REWARDS:
        return REWARDS[name]
    from importlib.metadata import entry_points

    others = {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}
    if name not in others:
        known = [*REWARDS, *others]
        raise OptionError(f"there is no reward {name!r}{did_you_mean(name, known)} (known are {', '.join(known)})")
    found: RewardFunction = others[name].load()
    return found
