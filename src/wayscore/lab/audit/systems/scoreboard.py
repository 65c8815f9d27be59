"""Scores of several systems as arrays, and what they show: rankings, stability, power, redundancy, other settings.

For power, every metric sees the same pairs, the same paths and the same test: the paired randomization test, which
swaps two systems in all episodes of a path at once, at the level 5 %.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from wayscore.convention.choices import Convention
from wayscore.convention.presets import graphs, objects, rooms
from wayscore.errors import OptionError, WayscoreError, listed
from wayscore.evaluation.groups import path_labels
from wayscore.evaluation.repeated_runs import per_episode, share_episodes
from wayscore.evaluation.result import Result
from wayscore.lab.audit.battery.responses import scale_of
from wayscore.metrics import Metric
from wayscore.statistics import kendall
from wayscore.statistics.bootstrap import Floats, Integers, Rng, first_word, number_clusters, resampled_means, sums_of
from wayscore.statistics.correlations import row_correlations
from wayscore.statistics.tests import randomization_tests


@dataclass(frozen=True, slots=True, eq=False)
class Scoreboard:
    """Scores by metric, system and episode; higher is better in all of them.

    An episode in which a metric is undefined for one system is left out of that metric for all: means over different
    episodes do not compare.
    """

    names: tuple[str, ...]
    metrics: tuple[Metric, ...]  # those with a better direction, and with a value in some episode
    scores: Floats  # (metrics, systems, episodes); negated where lower is better, infinite where left out
    paths: Integers
    scans: Integers  # the number of each episode's scan; all 0 where scans are not known
    left_out: int = 0  # how many episodes are not shared by all systems

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


Matrix = Mapping[str, Mapping[str, float]]
"""A number for every two metrics, by symbol."""
LEAST = 0.025
"""The quantile of tau that says how bad a resample can be."""


@dataclass(frozen=True, slots=True)
class Stability:
    """How stable the ranking by one metric is if the clusters of episodes are drawn again.

    Attributes:
        metric: its symbol.
        cluster: what is drawn: "path" or "scan".
        tau: mean Kendall's tau between the ranking of a resample and that of all episodes.
        low: the 2.5 % quantile of tau.
        same_first: the share of resamples in which the same system is first.
    """

    metric: str
    cluster: str
    tau: float
    low: float
    same_first: float


def agreement(board: Scoreboard) -> Matrix:
    """Return Kendall's tau-b between the rankings of systems by every two metrics."""
    means = board.means()
    return {
        a.symbol: {b.symbol: kendall(means[i], means[j]) for j, b in enumerate(board.metrics)}
        for i, a in enumerate(board.metrics)
    }


def stability(board: Scoreboard, *, resamples: int = 1_000, seed: int = 0) -> tuple[Stability, ...]:
    """Resample paths, and scans where there are several, and rank the systems again."""
    found = []
    for cluster, numbers in (("path", board.paths), ("scan", board.scans)):
        if numbers.max(initial=0) < 1:
            continue
        columns = list(board.scores.reshape(-1, board.episodes))
        drawn = resampled_means([sums_of(columns, numbers)], first_word(seed), resamples)[0]
        by_metric = drawn.reshape(len(board.metrics), len(board.names), resamples)
        for metric, means, whole in zip(board.metrics, by_metric, board.means(), strict=True):
            taus = row_correlations(means.T, np.broadcast_to(whole, means.T.shape).copy(), "kendall")
            same = float(np.count_nonzero(means.argmax(axis=0) == whole.argmax()) / resamples)
            low = float(np.quantile(taus, LEAST))
            found.append(Stability(metric.symbol, cluster, float(taus.mean()), low, same))
    return tuple(found)


ALIKE = 0.9
"""Metrics whose mean correlation is as large as this, on average, form a group."""


def correlations(board: Scoreboard) -> Matrix:
    """Return Spearman's rho between every two metrics over episodes, within each system, averaged over systems.

    Systems in which a metric has the same value in all episodes are left out of its averages; 0 where none is left.
    """
    found = {symbol: dict.fromkeys(board.symbols, 1.0) for symbol in board.symbols}
    for i, a in enumerate(board.symbols):
        for j, b in enumerate(board.symbols[:i]):
            found[a][b] = found[b][a] = _mean_rho(board.scores[i], board.scores[j])
    return found


def _mean_rho(x: Floats, y: Floats) -> float:
    both = np.isfinite(x[0]) & np.isfinite(y[0])
    if not both.any():
        return 0.0
    x, y = x[:, both], y[:, both]
    varies = (np.ptp(x, axis=1) > 0) & (np.ptp(y, axis=1) > 0)
    return float(row_correlations(x[varies], y[varies]).mean()) if varies.any() else 0.0


def groups(matrix: Matrix) -> list[list[str]]:
    """Return groups of metrics by average linkage: |rho| of two groups is at least `ALIKE` on average.

    >>> groups({"a": {"a": 1.0, "b": -0.95}, "b": {"a": -0.95, "b": 1.0}})
    [['a', 'b']]
    """
    symbols = list(matrix)
    if len(symbols) < 2:
        return [symbols]
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    apart = 1 - np.abs([[matrix[a][b] for b in symbols] for a in symbols])
    np.fill_diagonal(apart, 0.0)
    labels = fcluster(linkage(squareform(np.maximum(apart, 0.0), checks=False), "average"), 1 - ALIKE, "distance")
    found: dict[int, list[str]] = {}
    for symbol, label in zip(symbols, labels.tolist(), strict=True):
        found.setdefault(label, []).append(symbol)
    return list(found.values())


LEVEL = 0.05
CHANCE = 0.8
"""With `needed` episodes, a difference is found with this probability."""
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


def power(board: Scoreboard, threshold: float, *, difference: float = DIFFERENCE, seed: int = 0) -> tuple[Power, ...]:
    """Return the power of every metric.

    The difference of interest is in units of the metric's scale: 0.02 is two percentage points, or 2 % of d_th.
    """
    paths = int(board.paths.max(initial=-1)) + 1
    sizes = (*(size for size in SIZES if size < paths), paths)
    rng = np.random.default_rng([seed, *b"power"])
    shares = [_told_apart(board, size, 1 if size == paths else SUBSETS, rng) for size in sizes]

    def needed(values: Sequence[float]) -> float | None:
        middle = float(np.median(values)) if values else math.inf
        return middle * (board.episodes / paths) if math.isfinite(middle) else None

    found = []
    for number, metric in enumerate(board.metrics):
        wanted = difference * scale_of(metric, threshold)
        spread = _spread(board, number)
        found.append(
            Power(
                metric.symbol,
                sizes,
                tuple(float(share[number]) for share in shares),
                wanted,
                needed([episodes_needed(deviation, wanted) for deviation, _ in spread]),
                needed([episodes_needed(deviation, gap) for deviation, gap in spread]),
            )
        )
    return tuple(found)


def episodes_needed(deviation: float, difference: float) -> float:
    """Return how many independent values find a mean difference: ((z_0.975 + z_0.8) sd / difference)^2.

    >>> round(episodes_needed(0.5, 0.05))
    785
    """
    from scipy.special import ndtri

    z = float(ndtri(1 - LEVEL / 2)) + float(ndtri(CHANCE))
    return (z * deviation / difference) ** 2 if difference > 0 else math.inf


def _told_apart(board: Scoreboard, size: int, subsets: int, rng: Rng) -> Floats:
    """Return for each metric the share of pairs that differ in this number of paths, averaged over random subsets."""
    pairs = board.pairs()
    paths = int(board.paths.max()) + 1
    shares = np.zeros(len(board.metrics))
    for _ in range(subsets):
        chosen = np.zeros(paths, dtype=bool)
        chosen[rng.permutation(paths)[:size]] = True
        rows = chosen[board.paths]
        columns = []
        for scores in board.scores[:, :, rows]:
            for a, b in pairs:
                apart = np.full(scores.shape[1], np.inf)
                columns.append(np.subtract(scores[a], scores[b], out=apart, where=np.isfinite(scores[a])))
        _, clusters = np.unique(board.paths[rows], return_inverse=True)
        ps = randomization_tests(columns, clusters.astype(np.int64), rng=rng, resamples=RESAMPLES)
        certain = np.array([p is not None and p < LEVEL for p in ps]).reshape(len(board.metrics), len(pairs))
        shares += certain.mean(axis=1) / subsets
    return shares


def _spread(board: Scoreboard, metric: int) -> list[tuple[float, float]]:
    """Return for each pair the standard deviation of its mean difference in a path, and its difference over all."""
    scores = board.scores[metric]
    defined = np.isfinite(scores[0])
    counts = np.bincount(board.paths[defined])
    held = counts > 0
    sums = np.array([np.bincount(board.paths[defined], weights=row[defined])[held] for row in scores])
    means = sums / counts[held]
    found = []
    for a, b in board.pairs():
        apart = means[a] - means[b]
        deviation = float(np.std(apart, ddof=1)) if len(apart) > 1 else 0.0
        found.append((deviation, abs(float(apart.mean())) if len(apart) else 0.0))
    return found


FACTORS = (0.5, 0.75, 1.5, 2.0)
"""Other thresholds, in units of d_th."""
FAMILIES: Mapping[str, Any] = {
    **dict.fromkeys(("r2r", "r4r", "rxr"), graphs.WALKS),
    "ndh": graphs.DIALOGS,
    "reverie": objects.EVALUATORS,
    "vlnce": rooms.EVALUATORS,
    "street": graphs.STREETS,
}
"""Format of the references -> the conventions of the evaluators that read it."""
Evaluate = Callable[..., "list[Result]"]
"""Evaluates all runs again, with other settings."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """The ranking of systems by one metric under another setting.

    Attributes:
        setting: "threshold" or "convention".
        value: the threshold, or the name of the convention.
        metric: the metric's symbol.
        tau: Kendall's tau with the ranking under the setting of the audit.
        mean: the mean over systems.
        change: the mean over systems, less that under the setting of the audit.
    """

    setting: str
    value: float | str
    metric: str
    tau: float
    mean: float
    change: float


def alternatives(
    board: Scoreboard, convention: Convention, threshold: float, form: str, evaluate: Evaluate
) -> tuple[list[Alternative], dict[str, str]]:
    """Rank the systems with other thresholds, and by the other conventions that fit.

    Returns:
        What was found, and for each convention of the family that does not fit the reason.
    """
    found: list[Alternative] = []
    unfit: dict[str, str] = {}

    def compare(setting: str, value: float | str, results: Sequence[Result]) -> None:
        other = Scoreboard.of(results)
        known = {metric.symbol: row for metric, row in zip(other.metrics, other.means(), strict=True)}
        for metric, row in zip(board.metrics, board.means(), strict=True):
            if (changed := known.get(metric.symbol)) is not None:
                sign = 1.0 if metric.direction == "up" else -1.0
                mean, usual = sign * float(changed.mean()), sign * float(row.mean())
                found.append(Alternative(setting, value, metric.symbol, kendall(row, changed), mean, mean - usual))

    for factor in FACTORS:
        compare("threshold", factor * threshold, evaluate(threshold=factor * threshold))
    for one in FAMILIES.get(form, ()):
        name, printed = one.convention.name, {key.partition(":")[0] for key in one.convention.metrics}
        columns = [symbol for symbol in board.symbols if symbol in printed or not printed]
        if name == convention.name:
            continue
        if not columns:
            unfit[name] = "it prints none of these metrics"
            continue
        try:
            results = evaluate(convention=name, metrics=columns)
        except WayscoreError as error:
            unfit[name] = str(error)
            continue
        if missing := {fact for result in results for fact in result.settings.get("unrecorded", ())}:
            unfit[name] = f"it takes {listed(sorted(missing))}, which these runs do not record"
        else:
            compare("convention", name, results)
    return found, unfit
