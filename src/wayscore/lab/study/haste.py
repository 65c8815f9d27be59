"""Answers that came faster than a person can look at the pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from wayscore.lab.study.model import QUERIES
from wayscore.lab.study.rankings import Ranking

SECONDS_PER_PICTURE = 1.0
"""The least time to look at one picture and to place it, seconds."""


@dataclass(frozen=True, slots=True)
class Haste:
    """How many answers came too fast.

    Attributes:
        least: the least time for a set, seconds: that for a picture, times five.
        timed: how many answers of people have a time.
        fast: rater -> how many of their answers took less; only raters with such answers.
    """

    least: float
    timed: int
    fast: dict[str, int]

    @property
    def count(self) -> int:
        """How many answers came too fast."""
        return sum(self.fast.values())


def is_fast(ranking: Ranking, seconds_per_picture: float = SECONDS_PER_PICTURE) -> bool:
    """Whether an answer came too fast; programs and answers without a time are never too fast.

    >>> is_fast(Ranking("1", "uc-1", [[0], [1], [2], [3], [4]], seconds=4.9))
    True
    >>> is_fast(Ranking("1", "uc-1", [[0], [1], [2], [3], [4]], seconds=5.0))
    False
    """
    return _is_timed(ranking) and ranking.seconds < QUERIES * seconds_per_picture


def haste_of(rankings: Sequence[Ranking], seconds_per_picture: float = SECONDS_PER_PICTURE) -> Haste:
    """Count the answers that came too fast."""
    fast = Counter(one.rater for one in rankings if is_fast(one, seconds_per_picture))
    return Haste(QUERIES * seconds_per_picture, sum(map(_is_timed, rankings)), dict(fast))


def _is_timed(ranking: Ranking) -> bool:
    return not ranking.simulated and ranking.seconds > 0
