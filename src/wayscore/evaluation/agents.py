"""Several runs of one agent as one result: their mean, their spread, and intervals that respect runs and paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wayscore.errors import OptionError
from wayscore.evaluation.groups import few_clusters
from wayscore.evaluation.policies import Problems
from wayscore.evaluation.result import Result, signature_differences
from wayscore.evaluation.table import Floats, ScoreTable
from wayscore.statistics.bootstrap import MOST_CLUSTERS, Sums, interval, join_clusters, number_clusters, resampled_means

LEVEL = 0.95


def pool(results: Sequence[Result], name: str) -> Result:
    """Return runs of one agent as one result.

    Its mean is the mean over runs of their means. Its interval comes from resampling clusters of episodes and runs
    together (see `resample_agents`). Every row of its table says in the column `run` which run it is of, from 0.
    """
    if len(results) == 1:
        return results[0].renamed(name)
    first = results[0]
    if len({tuple(one.symbols) for one in results}) > 1:
        raise OptionError(f"{name}: its runs have different metrics; score them alike, with <<metrics>>")
    tables = [one.table for one in results]
    shared = [fact for fact in tables[0].facts if all(fact in table.facts for table in tables)]
    facts: dict[str, Any] = {
        fact: np.concatenate([table.facts[fact] for table in tables])
        if fact == "reference_nodes"
        else [value for table in tables for value in table.facts[fact]]
        for fact in shared
    }
    facts["run"] = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    columns = {symbol: np.concatenate([table[symbol] for table in tables]) for symbol in first.symbols}
    problems = Problems()
    for one in results:
        problems.merge(one.problems)
    for kind in problems.counts:  # as of one run: the most that any has
        problems.counts[kind] = max(one.problems.counts.get(kind, 0) for one in results)
    pooled = replace(
        first,
        name=name,
        episodes_scored=sum(one.episodes_scored for one in results),
        problems=problems,
        warnings=tuple(dict.fromkeys(w for one in results for w in (*one.warnings, *_apart(first, one)))),
        table=ScoreTable(columns, facts=facts),
        runs=len(results),
    )
    return summarize(pooled)


def clustered(result: Result, cluster: str) -> Result:
    """Return a result whose intervals resample other clusters; the rest stays as it is."""
    if cluster in ("auto", result.bootstrap["cluster"]):
        return result
    table = result.table
    if missing := {"scan": {"scene"}, "path": {"scene", "path_id"}}.get(cluster, set()) - set(table.facts):
        raise OptionError(
            f"{result.name}: its rows have no {min(missing)}, so <<cluster={cluster}>> has nothing to draw"
        )
    changed = replace(result, bootstrap={**result.bootstrap, "cluster": cluster})
    codes = number_clusters(changed.cluster_labels(), len(table))
    count = len(set(codes.tolist()))
    kept = [warning for warning in result.warnings if not warning.startswith("intervals resample only ")]
    changed = replace(
        changed,
        bootstrap={**changed.bootstrap, "clusters": count},
        warnings=(*kept, *few_clusters(cluster, count)),
        clusters=codes,
        known=None,
    )
    return summarize(changed) if result.runs > 1 else changed


def summarize(pooled: Result) -> Result:
    """Return a result of several runs with its means and intervals."""
    means, drawn = resample_agents([pooled], pooled.symbols)[0]
    found = zip(pooled.metrics, means, drawn, strict=True)
    known = {m.symbol: interval(mean, np.clip(row, *m.bounds), LEVEL) for m, mean, row in found}
    return replace(pooled, known=known)


def _apart(first: Result, other: Result) -> list[str]:
    """Say in what two runs of one agent were scored differently."""
    found = signature_differences([first, other]) if other is not first else []
    return [sentence for sentence in found if " differ in episodes " not in sentence]


def run_means(result: Result) -> dict[str, list[float | None]]:
    """Return by metric the mean of each run; None where a run defines none."""
    table = result.table
    runs = np.asarray(table.facts["run"]) if "run" in table.facts else np.zeros(len(table), dtype=np.int64)
    found: dict[str, list[float | None]] = {}
    for symbol in result.symbols:
        values = [table[symbol][runs == run] for run in range(result.runs)]
        finite = [some[np.isfinite(some)] for some in values]
        found[symbol] = [float(some.mean()) if len(some) else None for some in finite]
    return found


def resample_agents(agents: Sequence[Result], symbols: Sequence[str]) -> list[tuple[list[float | None], Floats]]:
    """Return for each agent its means, and those of every resample (metrics, resamples); infinite where undefined.

    Every resample draws clusters of episodes (the same for all agents), and for each agent as many of its runs as it
    has, both with replacement: m* = mean_r m_r + sqrt(k / (k - 1)) (mean over drawn runs - mean_r m_r), m_r being the
    mean of run r over the drawn clusters and k the number of runs; the factor makes up for drawing from k runs only.
    """
    labels = [np.array(agent.cluster_labels(), dtype=object) for agent in agents]
    numbers: dict[Any, int] = {}
    for some in labels:
        for label in some.tolist():
            numbers.setdefault(label, len(numbers))
    count = min(len(numbers), MOST_CLUSTERS)
    sums, counts, origins = [], [], []
    for agent, some in zip(agents, labels, strict=True):
        table = agent.table
        codes = join_clusters(np.array([numbers[label] for label in some.tolist()], dtype=np.int64))
        runs = np.asarray(table.facts["run"]) if "run" in table.facts else np.zeros(len(table), dtype=np.int64)
        for run in range(agent.runs):
            rows = runs == run
            for symbol in symbols:
                values = table[symbol][rows]
                defined = np.isfinite(values)
                origin = float(values[defined].min()) if defined.any() else 0.0
                sums.append(np.bincount(codes[rows], np.where(defined, values - origin, 0.0), minlength=count))
                counts.append(np.bincount(codes[rows], defined, minlength=count))
                origins.append(origin)
    seed, resamples = agents[0].bootstrap["seed"], agents[0].bootstrap["resamples"]
    rng = np.random.default_rng(seed)
    together = Sums(np.column_stack(sums), np.column_stack(counts), np.array(origins))
    drawn = resampled_means([together], int(rng.integers(2**63)), resamples)[0]
    found = []
    at = 0
    for agent in agents:
        k = agent.runs
        of_runs = drawn[at : at + k * len(symbols)].reshape(k, len(symbols), resamples)
        at += k * len(symbols)
        mean = of_runs.mean(axis=0)
        if k > 1:
            picks = rng.integers(k, size=(k, resamples))
            picked = np.take_along_axis(of_runs, np.broadcast_to(picks[:, None, :], of_runs.shape), axis=0).mean(axis=0)
            with np.errstate(invalid="ignore"):  # what is undefined stays so
                mean = np.where(np.isfinite(mean), mean + np.sqrt(k / (k - 1)) * (picked - mean), np.inf)
        by_run = run_means(agent)
        means = [_mean(by_run[symbol]) for symbol in symbols]
        found.append((means, mean))
    return found


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None
