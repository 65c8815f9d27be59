"""Several runs of one agent as one result, and several results over the episodes and metrics that all of them share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from wayscore.errors import OptionError
from wayscore.evaluation.groups import few_clusters
from wayscore.evaluation.policies import Problems
from wayscore.evaluation.result import Result, signature_differences
from wayscore.evaluation.table import Floats, ScoreTable
from wayscore.metrics import Metric, find_metrics
from wayscore.statistics.bootstrap import (
    Integers,
    Sums,
    interval,
    join_clusters,
    number_clusters,
    number_labels,
    resampled_means,
)

LEVEL = 0.95


def pool(results: Sequence[Result], name: str) -> Result:
    """Return runs of one agent as one result.

    Its mean is the mean over runs of their means. Its interval comes from resampling clusters of episodes and runs
    together (see `resample_runs`). Every row of its table says in the column `run` which run it is of, from 0.
    """
    if len(results) == 1:
        return results[0].renamed(name)
    first = results[0]
    if len({tuple(one.symbols) for one in results}) > 1:
        raise OptionError(f"{name}: its runs have different metrics; score them alike, with <<metrics>>")
    tables = [one.table for one in results]
    facts: dict[str, Any] = {
        fact: np.concatenate([table.facts[fact] for table in tables])
        if fact == "reference_nodes"
        else [value for table in tables for value in table.facts[fact]]
        for fact in tables[0].facts
        if all(fact in table.facts for table in tables)
    }
    facts["run"] = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    columns = {symbol: np.concatenate([table[symbol] for table in tables]) for symbol in first.symbols}
    problems = Problems()
    warnings = []
    for one in results:
        problems.merge(one.problems)
        apart = signature_differences([first, one]) if one is not first else []
        warnings += [*one.warnings, *(sentence for sentence in apart if " differ in episodes " not in sentence)]
    for kind in problems.counts:  # as of one run: the most that any has
        problems.counts[kind] = max(one.problems.counts.get(kind, 0) for one in results)
    pooled = replace(
        first,
        name=name,
        episodes_scored=sum(one.episodes_scored for one in results),
        problems=problems,
        warnings=tuple(dict.fromkeys(warnings)),
        table=ScoreTable(columns, facts=facts),
        runs=len(results),
    )
    return _summarized(pooled)


def recluster(result: Result, cluster: str) -> Result:
    """Return a result whose intervals resample other clusters; the rest stays as it is."""
    if cluster in ("auto", result.bootstrap["cluster"]):
        return result
    if missing := {"scan": {"scene"}, "path": {"scene", "path_id"}}.get(cluster, set()) - set(result.table.facts):
        raise OptionError(
            f"{result.name}: its rows have no {min(missing)}, so <<cluster={cluster}>> has nothing to draw"
        )
    changed = _reclustered(replace(result, bootstrap={**result.bootstrap, "cluster": cluster}))
    kept = [warning for warning in result.warnings if not warning.startswith("intervals resample only ")]
    return replace(changed, warnings=(*kept, *few_clusters(cluster, changed.bootstrap["clusters"])))


def _reclustered(result: Result) -> Result:
    """Return a changed result with its clusters numbered again, and new intervals."""
    clusters = number_clusters(result.cluster_labels(), len(result.table))
    bootstrap = {**result.bootstrap, "clusters": int(clusters.max(initial=-1)) + 1}
    result = replace(result, bootstrap=bootstrap, clusters=clusters, known=None)
    return _summarized(result) if result.runs > 1 else result


def _summarized(pooled: Result) -> Result:
    """Return a result of several runs with its means and intervals."""
    ((means, drawn),) = resample_runs([pooled], pooled.symbols)
    found = zip(pooled.metrics, means, drawn, strict=True)
    known = {m.symbol: interval(mean, np.clip(row, *m.bounds), LEVEL) for m, mean, row in found}
    return replace(pooled, known=known)


def _run_numbers(table: ScoreTable) -> Integers:
    """Return the number of every row's run."""
    return np.asarray(table.facts["run"]) if "run" in table.facts else np.zeros(len(table), dtype=np.int64)


def run_means(result: Result) -> dict[str, list[float | None]]:
    """Return by metric the mean of each run; None where a run defines none."""
    runs = _run_numbers(result.table)
    found: dict[str, list[float | None]] = {}
    for symbol in result.symbols:
        values = [result.table[symbol][runs == run] for run in range(result.runs)]
        finite = [some[np.isfinite(some)] for some in values]
        found[symbol] = [float(some.mean()) if len(some) else None for some in finite]
    return found


def resample_runs(agents: Sequence[Result], symbols: Sequence[str]) -> list[tuple[list[float | None], Floats]]:
    """Return for each agent its means, and those of every resample (metrics, resamples); infinite where undefined.

    Every resample draws clusters of episodes (the same for all agents), and for each agent as many of its runs as it
    has, both with replacement: m* = mean_r m_r + sqrt(k / (k - 1)) (mean over drawn runs - mean_r m_r), m_r being the
    mean of run r over the drawn clusters and k the number of runs; the factor makes up for drawing from k runs only.
    """
    codes = join_clusters(number_labels(chain.from_iterable(agent.cluster_labels() for agent in agents)))
    count = int(codes.max(initial=-1)) + 1
    sums, counts, origins = [], [], []
    start = 0
    for agent in agents:
        own = codes[start : start + len(agent.table)]
        start += len(agent.table)
        runs = _run_numbers(agent.table)
        for run in range(agent.runs):
            rows = runs == run
            for symbol in symbols:
                values = agent.table[symbol][rows]
                defined = np.isfinite(values)
                origin = float(values[defined].min()) if defined.any() else 0.0
                sums.append(np.bincount(own[rows], np.where(defined, values - origin, 0.0), minlength=count))
                counts.append(np.bincount(own[rows], defined, minlength=count))
                origins.append(origin)
    seed, resamples = agents[0].bootstrap["seed"], agents[0].bootstrap["resamples"]
    rng = np.random.default_rng(seed)
    together = Sums(np.column_stack(sums), np.column_stack(counts), np.array(origins))
    drawn = resampled_means([together], int(rng.integers(2**63)), resamples)[0]
    found = []
    for agent in agents:
        k = agent.runs
        of_runs, drawn = drawn[: k * len(symbols)].reshape(k, len(symbols), resamples), drawn[k * len(symbols) :]
        mean = of_runs.mean(axis=0)
        if k > 1:
            picks = rng.integers(k, size=(k, resamples))
            picked = np.take_along_axis(of_runs, np.broadcast_to(picks[:, None, :], of_runs.shape), axis=0).mean(axis=0)
            with np.errstate(invalid="ignore"):  # undefined means stay undefined
                mean = np.where(np.isfinite(mean), mean + np.sqrt(k / (k - 1)) * (picked - mean), np.inf)
        by_run = run_means(agent)
        known = [[value for value in by_run[symbol] if value is not None] for symbol in symbols]
        found.append(([sum(some) / k if len(some) == k else None for some in known], mean))
    return found


def share_episodes(results: Sequence[Result], wanted: Any = None) -> tuple[list[Result], int]:
    """Restrict results to the episodes and metrics that all have, in the first one's order.

    Returns:
        The results with the metrics `wanted` (all by default), and how many episodes are left out.
    """
    symbols = results[0].symbols if wanted is None else [metric.symbol for metric in find_metrics(wanted)]
    known = {metric.symbol: metric for metric in results[0].metrics}
    metrics = tuple(known[symbol] for symbol in symbols if all(symbol in other.symbols for other in results))
    if not metrics:
        listed = "; ".join(f"{result.name}: {', '.join(result.symbols)}" for result in results)
        raise OptionError(f"the runs share no metric ({listed})")
    references = ((one, (one.settings.get("references") or {}).get("episodes")) for one in results)
    total = max(int(known) if known else one.episodes_scored // one.runs for one, known in references)
    first = list(results[0].episodes)
    if all(one.runs == 1 and list(one.episodes) == first for one in results):
        every = np.arange(len(first))
        return [_restricted(one, every, metrics) for one in results], total - len(first)
    keys = [_row_of_each(result) for result in results]
    common = set.intersection(*(set(rows) for some in keys for rows in some))
    if not common:
        counts = ", ".join(f"{result.name} {len(result)}" for result in results)
        raise OptionError(f"the runs share no episode (episodes of each: {counts})")
    order = [key for key in keys[0][0] if key in common]
    kept = [np.array([rows[key] for rows in some for key in order], dtype=np.int64) for some in keys]
    return [_restricted(one, rows, metrics) for one, rows in zip(results, kept, strict=True)], total - len(order)


def _row_of_each(result: Result) -> list[dict[tuple[str, int], int]]:
    """Return for each run the row of every episode; of one with several answers, of the first, second, ..."""
    found: list[dict[tuple[str, int], int]] = [{} for _ in range(result.runs)]
    seen: Counter[tuple[int, str]] = Counter()
    for row, key in enumerate(zip(_run_numbers(result.table).tolist(), result.episodes, strict=True)):
        run, episode = key
        found[run][episode, seen[key]] = row
        seen[key] += 1
    return found


def _restricted(result: Result, rows: Integers, metrics: tuple[Metric, ...]) -> Result:
    symbols = [metric.symbol for metric in metrics]
    if symbols == result.symbols and np.array_equal(rows, np.arange(len(result.table))):
        return result
    table = result.table.select(symbols).take(rows)
    settings = {key: value for key, value in result.settings.items() if key != "undefined"}
    return _reclustered(replace(result, metrics=metrics, settings=settings, episodes_scored=len(rows), table=table))


def per_episode(result: Result) -> ScoreTable:
    """Return the table of a shared result with one row per episode: of several runs, their mean."""
    table = result.table
    if result.runs == 1:
        return table
    count = len(table) // result.runs
    facts = {name: values[:count] for name, values in table.facts.items() if name != "run"}
    columns = {symbol: table[symbol].reshape(result.runs, count).mean(axis=0) for symbol in result.symbols}
    return ScoreTable(columns, facts=facts)
