"""compare_streams: runs of any size, episode by episode, in bounded memory.

Every run is streamed to a table of scores; then the tables are read side by side. The runs must have the same episodes
in the same order, since nothing is kept of those that went by but sums.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.episodes import References
from wayscore.errors import OptionError
from wayscore.evaluation.comparison import (
    Comparison,
    Contrast,
    Example,
    baseline_place,
    check_comparison,
    leading_metric,
    rank_examples,
)
from wayscore.evaluation.groups import clusters_of, few_clusters
from wayscore.evaluation.parts import read_batches
from wayscore.evaluation.runs import names_apart
from wayscore.evaluation.streaming import name_of, score_stream
from wayscore.evaluation.summary import differences
from wayscore.formats.storage import find_files
from wayscore.metrics import Metric, find_metrics
from wayscore.statistics import holm, win_tie_loss
from wayscore.statistics.bootstrap import ROUNDING, Interval, randomization_of_units, units_of
from wayscore.statistics.tally import Tally

SQUARED = "²"
"""Added to a metric's symbol: its squared differences."""
SAME = "runs that are streamed must have the same episodes in the same order (sort both by episode)"


def compare_streams(
    runs: Sequence[str],
    references: References | None = None,
    *,
    metrics: Any = None,
    baseline: str | int | None = None,
    cluster: str = "none",
    top: int = 5,
    seed: int = 0,
    resamples: int = 10_000,
    progress: Callable[[str, int, int], None] | None = None,
    **options: Any,
) -> Comparison:
    """Stream runs and test each against the baseline, as `wayscore.report.compare_runs` does in memory.

    Args:
        runs: files, folders, patterns or addresses, two or more; with the same episodes in the same order.
        references: what was asked for; None where rows carry their references.
        metrics: which metrics; the first ranks the episodes that differ (nDTW by default).
        baseline: the run that the others are tested against: its name, its file or its number from 1 on.
        cluster: what is resampled together: "none", "path" or "scan".
        top: how many episodes that differ most to keep, each way.
        seed: of all resampling.
        resamples: of the bootstrap and of the randomization test.
        progress: told what is going on, how many rows are done, and of how many.
        **options: further ones of `score_stream`: graphs, convention, threshold, policies, workers, engine, ...
    """
    check_comparison(runs, cluster, top, seed)
    names = names_apart([name_of(run) for run in runs], runs)
    place = baseline_place(baseline, names, runs)
    partition = None if references is None else clusters_of(references.episodes.values(), cluster)
    with tempfile.TemporaryDirectory(prefix="wayscore-") as folder:
        tables = [str(Path(folder) / f"run-{number}") for number in range(len(runs))]
        summaries = [
            score_stream(
                run,
                references,
                metrics=metrics,
                cluster=cluster,
                episodes=table,
                seed=seed,
                resamples=resamples,
                name=name,
                progress=progress,
                **options,
            )
            for run, table, name in zip(runs, tables, names, strict=True)
        ]
        symbols = list(summaries[0].metrics)
        leading = leading_metric(metrics, symbols)
        others = [number for number in range(len(runs)) if number != place]
        paired = {number: _Pair(names[number], find_metrics(symbols), leading, top) for number in others}
        numbers = _numbers(references, cluster, options.get("policies") or {})
        row = 0
        for batches in _side_by_side(tables, names):
            base = batches[place]
            episodes = base.column("episode").to_pylist() if "episode" in base.schema.names else None
            rows = row + np.arange(len(base))
            if numbers and episodes is not None:
                rows = np.array([numbers[name] for name in episodes], dtype=np.int64)
            for number, pair in paired.items():
                pair.add(batches[number], base, units_of(rows), episodes or range(row, row + len(base)))
            row += len(base)
            if progress is not None:
                progress("testing", row, summaries[0].episodes)
    contrasts = [contrast for pair in paired.values() for contrast in pair.contrasts(seed, resamples)]
    adjusted = holm([contrast.p for contrast in contrasts])
    labels = None if partition is None else list(partition.names)
    return Comparison(
        "rows" if references is None else references.name,
        row,
        0 if references is None else summaries[place].missing,
        names[place],
        tuple(summaries),
        tuple(replace(contrast, p_holm=p) for contrast, p in zip(contrasts, adjusted, strict=True)),
        leading.symbol,
        {pair.name: tuple(pair.better) for pair in paired.values()},
        {pair.name: tuple(pair.worse) for pair in paired.values()},
        cluster,
        seed,
        resamples,
        (*differences(summaries), *few_clusters(cluster, labels)),
    )


def _numbers(references: References | None, cluster: str, policies: Mapping[str, Any]) -> dict[str, int]:
    """Return what is resampled with each episode: its cluster, or its place where each comes once; else nothing."""
    if references is None:
        return {}
    partition = clusters_of(references.episodes.values(), cluster)
    if partition is not None:
        number_of = {label: number for number, label in enumerate(dict.fromkeys(partition.labels.values()))}
        return {episode: number_of[label] for episode, label in partition.labels.items()}
    return {} if policies.get("duplicate") == "all" else {name: n for n, name in enumerate(references.episodes)}


@dataclass(slots=True)
class _Pair:
    """A run beside the baseline, as far as they were read."""

    name: str
    metrics: Sequence[Metric]
    leading: Metric
    top: int
    outcomes: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    better: Sequence[Example] = ()
    worse: Sequence[Example] = ()
    tally: Tally = field(init=False)

    def __post_init__(self) -> None:
        symbols = [metric.symbol for metric in self.metrics]
        self.tally = Tally([*symbols, *(symbol + SQUARED for symbol in symbols)])

    def add(self, one: Any, base: Any, units: NDArray[np.int64], episodes: Sequence[Any]) -> None:
        """Add episodes."""
        apart = []
        for metric in self.metrics:
            x, y = (np.asarray(table.column(metric.symbol)) for table in (one, base))
            both = np.isfinite(x) & np.isfinite(y)
            apart.append(np.subtract(x, y, out=np.full(len(x), np.inf), where=both))
            if metric.direction:
                before = self.outcomes.get(metric.symbol, (0, 0, 0))
                now = win_tie_loss(x, y, metric.direction)
                self.outcomes[metric.symbol] = (before[0] + now[0], before[1] + now[1], before[2] + now[2])
            if metric == self.leading:
                self._rank(x, y, episodes, base)
        self.tally.add(np.array([*apart, *(values**2 for values in apart)]), units)

    def _rank(self, x: Any, y: Any, episodes: Sequence[Any], base: Any) -> None:
        named = base.column("scene").to_pylist() if "scene" in base.schema.names else [""] * len(y)
        better, worse = rank_examples(x, y, episodes, named, self.leading, self.top)
        kept = [*self.better, *self.worse, *better, *worse]
        kept_x, kept_y = (np.array([getattr(one, side) for one in kept]) for side in ("run", "baseline"))
        names, scenes = [one.episode for one in kept], [one.scene for one in kept]
        self.better, self.worse = rank_examples(kept_x, kept_y, names, scenes, self.leading, self.top)

    def contrasts(self, seed: int, resamples: int) -> Iterator[Contrast]:
        """Go through the tests of all metrics."""
        means = self.tally.intervals(np.random.default_rng(seed), resamples)
        counts = dict(zip(self.tally.symbols, self.tally.counts.sum(axis=0).tolist(), strict=True))
        totals, sums = self.tally.totals(), self.tally.unit_sums()
        for metric in self.metrics:
            symbol = metric.symbol
            p = randomization_of_units(sums[symbol], np.random.default_rng(seed), resamples)
            won = self.outcomes.get(symbol)
            yield Contrast(
                run=self.name,
                metric=symbol,
                episodes=counts[symbol],
                difference=Interval(*means[symbol][:3]),
                p=p,
                p_holm=p,
                outcomes=won,
                superiority=None if won is None else (won[0] + won[1] / 2) / sum(won),
                effect_size=_effect_size(totals[symbol], totals[symbol + SQUARED], counts[symbol]),
            )


def _effect_size(total: Fraction, squares: Fraction, count: int) -> float:
    """Return the mean difference in standard deviations of the differences, from their exact sums."""
    if not squares:
        return 0.0
    mean = float(total) / count
    deviation = math.sqrt(max(0.0, float((squares - total * total / count) / max(1, count - 1))))
    return mean / deviation if deviation > ROUNDING * math.sqrt(float(squares)) else math.copysign(math.inf, mean)


def _side_by_side(tables: Sequence[str], names: Sequence[str]) -> Iterator[list[Any]]:
    """Read tables of scores together, as many rows at a time as all of them have at hand."""
    streams = [(batch for file in find_files(table) for batch in read_batches(file)) for table in tables]
    pending: list[Any] = [None] * len(streams)
    while True:
        for number, stream in enumerate(streams):
            while pending[number] is None or not len(pending[number]):
                pending[number] = next(stream, None)
                if pending[number] is None:
                    break
        over = [name for name, batch in zip(names, pending, strict=True) if batch is None]
        if len(over) == len(streams):
            return
        if over:
            raise OptionError(f"{over[0]} has fewer episodes than the others; {SAME}")
        count = min(len(batch) for batch in pending)
        batches = [batch.slice(0, count) for batch in pending]
        pending = [batch.slice(count) for batch in pending]
        if "episode" in batches[0].schema.names:
            first, *rest = (batch.column("episode").cast("string") for batch in batches)
            for name, episodes in zip(names[1:], rest, strict=True):
                if not first.equals(episodes):
                    raise OptionError(f"{names[0]} and {name} have other episodes, or in another order; {SAME}")
        yield batches
