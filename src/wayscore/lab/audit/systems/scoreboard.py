"""Scores of several systems as arrays, and what they show: rankings, stability, power, redundancy, other settings.

For power, every metric sees the same pairs, the same paths and the same test: the paired randomization test, which
swaps two systems in all episodes of a path at once, at the level 5 %.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
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

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


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
            found.append(_stability(metric.symbol, cluster, means.T, whole))
    return tuple(found)


def _stability(symbol: str, cluster: str, drawn: Floats, whole: Floats) -> Stability:
    """Compare the means of each resample, (resamples, systems), with those of all episodes."""
    taus = row_correlations(drawn, np.broadcast_to(whole, drawn.shape).copy(), "kendall")
    same = np.count_nonzero(drawn.argmax(axis=1) == whole.argmax()) / len(drawn)
    return Stability(symbol, cluster, float(taus.mean()), float(np.quantile(taus, LEAST)), float(same))


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


def groups(matrix: Matrix, alike: float = ALIKE) -> list[list[str]]:
    """Return groups of metrics by average linkage: |rho| of two groups is at least `alike` on average.

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
    labels = fcluster(linkage(squareform(np.maximum(apart, 0.0), checks=False), "average"), 1 - alike, "distance")
    found: dict[int, list[str]] = {}
    for symbol, label in zip(symbols, labels.tolist(), strict=True):
        found.setdefault(label, []).append(symbol)
    return list(found.values())


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

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def thresholds(board: Scoreboard, threshold: float, evaluate: Evaluate) -> list[Alternative]:
    """Rank the systems with other thresholds."""
    found = []
    for factor in FACTORS:
        other = factor * threshold
        found += _compared(board, "threshold", other, evaluate(threshold=other))
    return found


def conventions(
    board: Scoreboard, convention: Convention, form: str, evaluate: Evaluate
) -> tuple[list[Alternative], dict[str, str]]:
    """Rank the systems by the other conventions that fit.

    Returns:
        What was found, and for each convention of the family that does not fit the reason.
    """
    found: list[Alternative] = []
    unfit: dict[str, str] = {}
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
            found += _compared(board, "convention", name, results)
    return found, unfit


def _compared(board: Scoreboard, setting: str, value: float | str, results: Sequence[Result]) -> list[Alternative]:
    other = Scoreboard.of(results)
    known = {metric.symbol: row for metric, row in zip(other.metrics, other.means(), strict=True)}
    found = []
    for metric, row in zip(board.metrics, board.means(), strict=True):
        if metric.symbol in known:
            sign = 1.0 if metric.direction == "up" else -1.0
            mean, usual = sign * float(known[metric.symbol].mean()), sign * float(row.mean())
            found.append(
                Alternative(setting, value, metric.symbol, kendall(row, known[metric.symbol]), mean, mean - usual)
            )
    return found
