"""A Result: the scores of one run, or of several runs of one agent, with everything that made them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from wayscore.convention.signature import Signature
from wayscore.errors import Sentence
from wayscore.evaluation.groups import group_by, path_labels
from wayscore.evaluation.policies import Problems
from wayscore.evaluation.table import Floats, ScoreTable
from wayscore.metrics import Metric
from wayscore.statistics.bootstrap import Integers, Interval, first_word, interval, resampled_means, sums_of

if TYPE_CHECKING:
    from wayscore.evaluation.inputs import Inputs


class Group(Struct, frozen=True):
    """The means over some episodes of a result.

    Attributes:
        name: what the episodes have in common.
        episodes: how many they are.
        undefined: by metric, how many of them are left out of its mean.
        means: by symbol; fractions and metres, None where nothing is defined.
    """

    name: str
    episodes: int
    undefined: dict[str, int]
    means: dict[str, float | None]


@dataclass(frozen=True, eq=False)
class Result:
    """What one run scored.

    Attributes:
        name: what tables call the run.
        metrics: what was measured, as values.
        settings: plain values: convention, threshold, version, distance, unit, policies, references (name and
            fingerprint), format of the run.
        episodes_scored: how many rows the means are over.
        problems: how many episodes have each kind of problem, and the first of them.
        bootstrap: what the intervals depend on: resamples, seed, cluster, and how many clusters there are.
        warnings: what a reader must know before believing the numbers.
        table: one row per episode, in the order of the references.
        clusters: the cluster of every row, which the bootstrap draws; None where the intervals are known.
        known: means and intervals, where they are known.
        runs: how many runs of one agent these are.
        inputs: where the paths are, for pictures; None where the result was loaded.
    """

    name: str
    metrics: tuple[Metric, ...]
    settings: dict[str, Any]
    episodes_scored: int
    problems: Problems
    bootstrap: dict[str, Any]
    warnings: tuple[str, ...]
    table: ScoreTable = field(repr=False)
    clusters: Integers | None = field(default=None, repr=False)
    known: Mapping[str, Interval] | None = field(default=None, repr=False)
    runs: int = 1
    inputs: Inputs | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "warnings", tuple(map(Sentence, self.warnings)))

    def means(self) -> dict[str, float | None]:
        """Return the mean of each metric; None where it is defined in no episode."""
        if self.known is None:
            return self.table.means()
        return {symbol: found.mean for symbol, found in self.known.items()}

    def intervals(self) -> dict[str, Interval]:
        """Return the mean of each metric with its 95 % bootstrap interval."""
        return dict(self._intervals)

    @cached_property
    def _intervals(self) -> Mapping[str, Interval]:
        if self.known is not None:
            return self.known
        word, resamples = first_word(self.bootstrap["seed"]), self.bootstrap["resamples"]
        assert self.clusters is not None
        sums = sums_of(list(self.table.columns.values()), self.clusters)
        return self.intervals_of(resampled_means([sums], word, resamples)[0])

    def intervals_of(self, resampled: Floats) -> dict[str, Interval]:
        """Return the means with their intervals, from the means of resamples (metrics, resamples)."""
        means = zip(self.table.means().items(), resampled, strict=True)
        return {symbol: interval(mean, row, 0.95) for (symbol, mean), row in means}

    def __getitem__(self, symbol: str) -> Floats:
        """Return the scores of one metric, one per episode; infinite where it is undefined."""
        return self.table[symbol]

    def __len__(self) -> int:
        return self.episodes_scored

    @property
    def episodes(self) -> Sequence[str]:
        """The names of the episodes, in the order of the scores."""
        return self.table.episodes

    @property
    def symbols(self) -> list[str]:
        """The metrics' symbols."""
        return [metric.symbol for metric in self.metrics]

    @cached_property
    def undefined(self) -> dict[str, int]:
        """By metric, how many episodes are left out of its mean, for metrics where any are."""
        if "undefined" in self.settings:
            return dict(self.settings["undefined"])
        return self.table.undefined()

    @property
    def signature(self) -> Signature:
        """Everything that the numbers depend on."""
        settings = self.settings
        distances = settings.get("distance", [])
        if len(distances) > 1:  # many scenes: one hash of all their hashes
            kind = distances[0].partition("#")[0]
            distances = [f"{kind}#{hashlib.sha256(' '.join(distances).encode()).hexdigest()[:8]}"]
        references = settings.get("references") or {"name": "rows"}
        name = references["name"].replace(".gz", "").replace("|", "_").replace(":", "_")
        fields = {
            "version": settings["version"],
            "convention": settings["convention"],
            "threshold": repr(settings["threshold"]).removesuffix(".0") if "threshold" in settings else "unknown",
            **({"repeats": settings["repeats"]} if "repeats" in settings else {}),
            "distance": distances[0] if distances else "unknown",
            "references": f"{name}#{references['fingerprint']}" if references.get("fingerprint") else name,
            "episodes": str(self.episodes_scored // self.runs),
            **{kind: f"{settings['policies'][kind]}-{count}" for kind, count in self.problems.counts.items()},
        }
        if self.undefined:
            fields["undefined"] = str(max(self.undefined.values()))
        if zeroed := settings.get("zeroed"):
            fields["undefined"] = f"zero-{max(zeroed.values())}"
        # Where distances to the goal come from, unless the distance given is the only one in question.
        measured, missing = settings.get("goal", {}), dict(settings.get("unrecorded", {}))
        recorded = settings.get("recorded", {}).get("goal_distances", 0) - sum(measured.values())
        straight = bool(missing.get("goal_distances")) and settings.get("distance") == ["euclidean"]
        if measured or recorded or straight:
            from wayscore.evaluation.goals import signed_sources

            fields["goal"] = signed_sources(measured, recorded, straight)
        if "up" in settings:
            fields["up"] = settings["up"]
        if stops := missing.pop("stopped", 0):
            fields["stop"] = f"unknown-{stops}"
        if missing:
            fields["unrecorded"] = "+".join(f"{name}-{count}" for name, count in missing.items())
        if self.bootstrap["cluster"] != "none":
            fields["cluster"] = self.bootstrap["cluster"]
        if self.runs > 1:
            fields["runs"] = str(self.runs)
        return Signature(fields)

    def spread(self) -> dict[str, float | None]:
        """Return the standard deviation of each metric's mean over the runs of one agent; None for a single run."""
        from wayscore.evaluation.repeated_runs import run_means

        if self.runs < 2:
            return dict.fromkeys(self.symbols)
        known = {symbol: [mean for mean in means if mean is not None] for symbol, means in run_means(self).items()}
        return {
            symbol: float(np.std(means, ddof=1)) if len(means) == self.runs else None for symbol, means in known.items()
        }

    def groups(self, split_by: str) -> list[Group]:
        """Return the means of groups of episodes: by "scan", "length" of the reference, or "path"."""
        table = self.table
        lengths = [int(count or 0) for count in table.fact("reference_nodes")]
        found, names = group_by(split_by, list(table.fact("scene")), list(table.fact("path_id")), lengths)
        labels = np.array(found, dtype=object)
        own = table.select(self.symbols)
        tables = ((name, own.take(np.flatnonzero(labels == name))) for name in names)
        return [Group(name, len(some), some.undefined(), some.means()) for name, some in tables]

    def cluster_labels(self) -> list[str]:
        """Return the cluster of every row, as the bootstrap draws them."""
        table = self.table
        cluster = self.bootstrap["cluster"]
        if cluster == "scan":
            return list(table.fact("scene"))
        if cluster == "path" and "path_id" in table.facts:
            return path_labels(list(table.fact("scene")), list(table.fact("path_id")))
        return list(table.episodes)

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--format json` prints."""
        spread = self.spread() if self.runs > 1 else {}
        metrics = {
            symbol: {**found._asdict(), **({"spread": spread[symbol]} if spread else {})}
            for symbol, found in self._intervals.items()
        }
        return {
            "run": self.name,
            "signature": str(self.signature),
            "convention": self.settings["convention"],
            "threshold": self.settings.get("threshold"),
            "episodes": self.episodes_scored,
            "missing": self.problems.counts.get("missing", 0),
            "unknown": self.problems.counts.get("unknown", 0),
            "undefined": self.undefined,
            "warnings": list(self.warnings),
            "metrics": metrics,
            "bootstrap": self.bootstrap,
            **({"runs": self.runs} if self.runs > 1 else {}),
        }

    def to_json(self) -> str:
        """Return what `wayscore score --format json` prints: full precision, null where a mean is undefined."""
        return self._render("json")

    def to_markdown(self) -> str:
        """Return a Markdown table."""
        return self._render("markdown")

    def to_latex(self) -> str:
        """Return a LaTeX table (booktabs)."""
        return self._render("latex")

    def to_arrow(self) -> Any:
        """Return the episodes as a pyarrow Table: episode, scene, path_id, reference_nodes and the scores."""
        return self.table.to_arrow()

    def to_pandas(self) -> Any:
        """Return the episodes as a pandas DataFrame (pandas must be installed)."""
        return self.table.to_pandas()

    def to_polars(self) -> Any:
        """Return the episodes as a polars DataFrame (polars must be installed)."""
        return self.table.to_polars()

    def save(self, path: str | Path) -> None:
        """Write a Parquet file with the scores and everything that made them; `ws.load_result` reads it."""
        from wayscore.evaluation.saved import save

        save(self, path)

    def write_episodes(self, path: str | Path) -> None:
        """Write one row per episode: a .parquet, .csv or .jsonl file; what is undefined is empty or null."""
        from wayscore.evaluation.saved import write_episodes

        write_episodes(self, path)

    def write_page(self, path: str | Path, *, title: str | None = None) -> None:
        """Write a page for a browser: tables, figures, and every episode to look at."""
        from importlib import import_module

        import_module("wayscore.report.page").write_page(path, [self], title=title)

    def select(self, symbols: Sequence[str]) -> Result:
        """Return the same with some of its metrics."""
        table, known = self.table.select(symbols), self.intervals()
        undefined = {symbol: count for symbol, count in self.undefined.items() if symbol in table.columns}
        return replace(
            self,
            metrics=tuple(metric for symbol in symbols for metric in self.metrics if metric.symbol == symbol),
            settings={**self.settings, "undefined": undefined},
            table=table,
            known={symbol: known[symbol] for symbol in table.columns},
        )

    def renamed(self, name: str) -> Result:
        """Return the same under another name."""
        return replace(self, name=name)

    def __repr__(self) -> str:
        means = "  ".join(f"{s} {'–' if mean is None else f'{mean:.4g}'}" for s, mean in self.means().items())
        return f"<Result {self.name}: {self.episodes_scored:,} episodes: {means}>"

    def _repr_html_(self) -> str:
        return self._render("html")

    def _render(self, form: str) -> str:
        from importlib import import_module  # a result can show itself, though showing stands above it

        text: str = import_module("wayscore.report.results").render([self], form)
        return text


def signature_differences(results: Sequence[Result]) -> list[str]:
    """Return a sentence for every way in which the signatures of several runs differ."""
    first = results[0]
    return [
        f"{first.name} and {other.name} differ in {key} ({here or 'none'}, {there or 'none'})"
        for other in results[1:]
        for key, (here, there) in first.signature.differences(other.signature).items()
        if key != "runs"
    ]


def names_apart(names: Sequence[str], homes: Iterable[str]) -> list[str]:
    """Return names that differ: those of files in several folders get their folder, others a number.

    >>> names_apart(["results", "results", "other"], ["a", "b", "."])
    ['a/results', 'b/results', 'other']
    >>> names_apart(["results", "results"], ["", ""])
    ['results', 'results (2)']
    """
    folders = list(homes)
    apart: list[str] = []
    for name, home in zip(names, folders, strict=True):
        several = len({other for other, same in zip(folders, names, strict=True) if same == name}) > 1
        wanted = f"{home}/{name}" if several and home else name
        number = 1
        while (unused := wanted if number == 1 else f"{wanted} ({number})") in apart:
            number += 1
        apart.append(unused)
    return apart
