"""The scores of several systems on the episodes that they share, as arrays: what all tests on real runs work on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from wayscore.errors import OptionError
from wayscore.evaluation.groups import path_labels
from wayscore.evaluation.result import Result
from wayscore.evaluation.shared import per_episode, share_episodes
from wayscore.metrics import Metric
from wayscore.statistics.bootstrap import number_clusters
from wayscore.statistics.values import Floats, Integers


@dataclass(frozen=True, slots=True, eq=False)
class Scoreboard:
    """Scores by metric, system and episode; higher is better in all of them.

    An episode in which a metric is undefined for one system is left out of that metric for all: means over different
    episodes do not compare.

    Attributes:
        names: of the systems.
        metrics: those with a better direction, and with a value in some episode.
        scores: (metrics, systems, episodes); negated where lower is better, infinite where left out.
        paths: the number of each episode's path.
        scans: the number of each episode's scan; all 0 where scans are not known.
        left_out: how many episodes are not shared by all systems.
    """

    names: tuple[str, ...]
    metrics: tuple[Metric, ...]
    scores: Floats
    paths: Integers
    scans: Integers
    left_out: int = 0

    @classmethod
    def of(cls, results: Sequence[Result]) -> Scoreboard:
        """Take the results of two systems or more."""
        if len(results) < 2:
            got = f"only {results[0].name}" if results else "none"
            raise OptionError(f"rankings need the runs of two systems or more, got {got}; give further runs")
        shared, left_out = share_episodes(results)
        tables = [per_episode(one) for one in shared]
        columns = {m.symbol: np.array([table[m.symbol] for table in tables]) for m in shared[0].metrics}
        known = {symbol: np.isfinite(rows).all(axis=0) for symbol, rows in columns.items()}
        metrics = tuple(m for m in shared[0].metrics if m.direction is not None and known[m.symbol].any())
        if not metrics:
            raise OptionError(
                "none of these metrics says which of two systems is better; name one with a direction, such as nDTW"
            )
        scores = np.array([columns[metric.symbol] for metric in metrics])
        defined = np.array([known[metric.symbol] for metric in metrics])[:, None]
        signs = np.array([1.0 if metric.direction == "up" else -1.0 for metric in metrics])
        scores = np.where(defined, signs[:, None, None] * scores, np.inf)
        first, count = tables[0], len(tables[0])
        scenes = [str(scene) for scene in first.fact("scene")]
        paths = list(first.episodes)
        if "path_id" in first.facts:
            paths = path_labels(scenes, list(first.fact("path_id")))
        names = tuple(one.name for one in shared)
        numbers = number_clusters(paths, count), number_clusters(scenes, count)
        return cls(names, metrics, scores, *numbers, left_out)

    @property
    def symbols(self) -> list[str]:
        """The metrics' symbols."""
        return [metric.symbol for metric in self.metrics]

    @property
    def episodes(self) -> int:
        """How many episodes all systems share."""
        return len(self.paths)

    def means(self) -> Floats:
        """Return the mean of each metric and system, (metrics, systems)."""
        defined = np.isfinite(self.scores)
        found: Floats = np.where(defined, self.scores, 0.0).sum(axis=2) / defined.sum(axis=2)
        return found

    def pairs(self) -> list[tuple[int, int]]:
        """Return all pairs of systems, by number."""
        return list(combinations(range(len(self.names)), 2))


def ranks(means: Floats) -> list[int]:
    """Return the rank of each system by one metric, 1 for the best; equal systems share the better rank.

    >>> ranks(np.array([0.5, 0.7, 0.5]))
    [2, 1, 2]
    """
    return [1 + int(np.count_nonzero(means > mean)) for mean in means]
