"""Results over the episodes that all of them share, row by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.errors import OptionError
from wayscore.evaluation.result import Result
from wayscore.evaluation.table import ScoreTable
from wayscore.metrics import Metric, find_metrics
from wayscore.statistics.bootstrap import number_clusters

Key = tuple[str, int]
"""An episode, and which of a run's answers to it this is."""


def share_episodes(results: Sequence[Result], wanted: Any = None) -> tuple[list[Result], int]:
    """Restrict results to the episodes and metrics that all have, in the first one's order.

    Args:
        results: what was found.
        wanted: which metrics, in this order; all by default.

    Returns:
        The results, and how many episodes are left out.
    """
    symbols = results[0].symbols if wanted is None else [metric.symbol for metric in find_metrics(wanted)]
    known = {metric.symbol: metric for metric in results[0].metrics}
    metrics = tuple(known[symbol] for symbol in symbols if all(symbol in other.symbols for other in results))
    if not metrics:
        listed = "; ".join(f"{result.name}: {', '.join(result.symbols)}" for result in results)
        raise OptionError(f"the runs share no metric ({listed})")
    if all(one.runs == 1 for one in results) and _alike([one.table.episodes for one in results]):
        rows = np.arange(len(results[0]))
        return [_restricted(one, rows, metrics) for one in results], max(map(_total, results)) - len(rows)
    keys = [_keys(result) for result in results]
    common = set(keys[0][0])
    for one in (one for some in keys for one in some):
        common &= one.keys()
    if not common:
        counts = ", ".join(f"{result.name} {len(result)}" for result in results)
        raise OptionError(f"the runs share no episode (episodes of each: {counts})")
    order = [key for key in keys[0][0] if key in common]
    total = max(_total(result) for result in results)
    kept = [np.array([some[key] for some in found for key in order], dtype=np.int64) for found in keys]
    return [_restricted(one, rows, metrics) for one, rows in zip(results, kept, strict=True)], total - len(order)


def _alike(names: Sequence[Sequence[str]]) -> bool:
    """Say whether rows stand side by side as they are."""
    first = list(names[0])
    return all(len(other) == len(first) and list(other) == first for other in names[1:])


def per_episode(result: Result) -> ScoreTable:
    """Return the table of a shared result with one row per episode: of several runs, their mean."""
    table = result.table
    if result.runs == 1:
        return table
    count = len(table) // result.runs
    facts = {name: values[:count] for name, values in table.facts.items() if name != "run"}
    columns = {symbol: table[symbol].reshape(result.runs, count).mean(axis=0) for symbol in result.symbols}
    return ScoreTable(columns, facts=facts)


def _keys(result: Result) -> list[dict[Key, int]]:
    """Return for each run of a result where each of its answers stands."""
    table = result.table
    runs = table.facts["run"].tolist() if "run" in table.facts else [0] * len(table)
    found: list[dict[Key, int]] = [{} for _ in range(result.runs)]
    seen: Counter[tuple[int, str]] = Counter()
    for row, (run, episode) in enumerate(zip(runs, table.episodes, strict=True)):
        found[run][episode, seen[run, episode]] = row
        seen[run, episode] += 1
    return found


def _total(result: Result) -> int:
    known = (result.settings.get("references") or {}).get("episodes")
    return int(known) if known else result.episodes_scored // result.runs


def _restricted(result: Result, rows: NDArray[np.int64], metrics: tuple[Metric, ...]) -> Result:
    table = result.table
    same = len(rows) == len(table) and bool((rows == np.arange(len(rows))).all())
    symbols = [metric.symbol for metric in metrics]
    if same and symbols == result.symbols:
        return result
    kept = (table if same else table.take(rows)).select(symbols)
    settings = {key: value for key, value in result.settings.items() if key != "undefined"}
    cut = replace(result, metrics=metrics, settings=settings, episodes_scored=len(rows), table=kept, known=None)
    labels = cut.cluster_labels()
    bootstrap = {**result.bootstrap, "clusters": len(set(labels))}
    cut = replace(cut, bootstrap=bootstrap, clusters=number_clusters(labels, len(rows)))
    if result.runs > 1:
        from wayscore.evaluation.agents import summarize

        return summarize(cut)
    return cut
