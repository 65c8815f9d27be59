"""Discriminative power: which share of all pairs of systems a metric tells apart, and how many episodes that needs.

Every metric sees the same pairs, the same paths and the same test: the paired randomization test, which swaps two
systems in all episodes of a path at once, at the level 5 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from wayscore.lab.audit.battery.verdicts import scale_of
from wayscore.lab.audit.systems.scoreboard import Scoreboard
from wayscore.statistics.bootstrap import Rng
from wayscore.statistics.tests import randomization_tests
from wayscore.statistics.values import Floats

LEVEL = 0.05
CHANCE = 0.8
"""With so many episodes as `needed`, a difference is found with this probability."""
SIZES = (25, 50, 100, 200, 400, 800, 1_600)
"""Numbers of paths; all paths come last."""
SUBSETS = 8
"""Random subsets of each size, over which shares are averaged."""
RESAMPLES = 400
"""Of each test; p below 0.05 needs no more."""
DIFFERENCE = 0.02
"""The difference of which `needed` is computed, in units of the metric's scale."""


@dataclass(frozen=True, slots=True)
class Power:
    """How well one metric tells systems apart.

    Attributes:
        metric: its symbol.
        paths: numbers of paths.
        told_apart: for each of them the share of pairs with p < 0.05.
        difference: the difference that `needed` is about, in the metric's unit.
        needed: episodes (of whole paths) with which such a difference between two systems is found with a probability
            of 80 %: the median over all pairs; None where systems never differ.
        needed_median: the same for each pair's own difference: its median over pairs.
    """

    metric: str
    paths: tuple[int, ...]
    told_apart: tuple[float, ...]
    difference: float
    needed: float | None
    needed_median: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Power:
        """Read what `to_dict` returned."""
        return cls(**found | {name: tuple(found[name]) for name in ("paths", "told_apart")})


def power(
    board: Scoreboard, threshold: float, *, difference: float = DIFFERENCE, seed: int = 0, subsets: int = SUBSETS
) -> tuple[Power, ...]:
    """Return the power of every metric.

    Args:
        board: the scores.
        threshold: d_th, the scale of metrics in metres.
        difference: the difference of interest, in units of the metric's scale: 0.02 is two percentage points, or 2 %
            of d_th.
        seed: random seed of the subsets and the tests.
        subsets: random subsets of paths of each size.
    """
    paths = int(board.paths.max(initial=-1)) + 1
    sizes = (*(size for size in SIZES if size < paths), paths)
    rng = np.random.default_rng([seed, *b"power"])
    shares = [_told_apart(board, size, 1 if size == paths else subsets, rng) for size in sizes]
    found = []
    for number, metric in enumerate(board.metrics):
        wanted = difference * scale_of(metric, threshold)
        deviations, gaps = _spread(board, number)
        found.append(
            Power(
                metric.symbol,
                sizes,
                tuple(float(share[number]) for share in shares),
                wanted,
                _median([episodes_needed(sd, wanted) for sd in deviations]),
                _median([episodes_needed(sd, gap) for sd, gap in zip(deviations, gaps, strict=True)]),
            )
        )
    episodes = board.episodes / paths  # of a path, on average
    return tuple(_in_episodes(one, episodes) for one in found)


def episodes_needed(deviation: float, difference: float) -> float:
    """Return how many independent values find a mean difference: ((z_0.975 + z_0.8) sd / difference)^2.

    >>> round(episodes_needed(0.5, 0.05))
    785
    """
    z = _quantile(1 - LEVEL / 2) + _quantile(CHANCE)
    return (z * deviation / difference) ** 2 if difference > 0 else math.inf


def _told_apart(board: Scoreboard, size: int, subsets: int, rng: Rng) -> Floats:
    """Return for each metric the share of pairs that differ in so many paths, averaged over random subsets."""
    pairs = board.pairs()
    paths = int(board.paths.max()) + 1
    shares = np.zeros(len(board.metrics))
    for _ in range(subsets):
        chosen = np.zeros(paths, dtype=bool)
        chosen[rng.permutation(paths)[:size]] = True
        rows = chosen[board.paths]
        columns = [_apart(scores[:, rows], a, b) for scores in board.scores for a, b in pairs]
        _, clusters = np.unique(board.paths[rows], return_inverse=True)
        ps = randomization_tests(columns, clusters.astype(np.int64), rng=rng, resamples=RESAMPLES)
        apart = np.array([p is not None and p < LEVEL for p in ps]).reshape(len(board.metrics), len(pairs))
        shares += apart.mean(axis=1) / subsets
    return shares


def _apart(scores: Floats, a: int, b: int) -> Floats:
    defined = np.isfinite(scores[a])
    apart: Floats = np.subtract(scores[a], scores[b], out=np.full(scores.shape[1], np.inf), where=defined)
    return apart


def _spread(board: Scoreboard, metric: int) -> tuple[list[float], list[float]]:
    """Return for each pair the standard deviation of its mean difference in a path, and its difference over all."""
    scores = board.scores[metric]
    defined = np.isfinite(scores[0])
    counts = np.bincount(board.paths[defined])
    held = counts > 0
    sums = np.array([np.bincount(board.paths[defined], weights=row[defined])[held] for row in scores])
    means = sums / counts[held]
    deviations, gaps = [], []
    for a, b in board.pairs():
        apart = means[a] - means[b]
        deviations.append(float(np.std(apart, ddof=1)) if len(apart) > 1 else 0.0)
        gaps.append(abs(float(apart.mean())) if len(apart) else 0.0)
    return deviations, gaps


def _median(values: Sequence[float]) -> float | None:
    middle = float(np.median(values)) if values else math.inf
    return middle if math.isfinite(middle) else None


def _in_episodes(one: Power, episodes: float) -> Power:
    def scaled(paths: float | None) -> float | None:
        return None if paths is None else paths * episodes

    return replace(one, needed=scaled(one.needed), needed_median=scaled(one.needed_median))


def _quantile(share: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(share))
