"""A Summary: the means of one run with their intervals, and the signature that says how they came about."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wayscore.convention.signature import Signature
from wayscore.episodes import Joined
from wayscore.errors import OptionError
from wayscore.scoring.table import ScoreTable
from wayscore.statistics import Interval, bootstrap_table

if TYPE_CHECKING:
    from wayscore.evaluation.groups import Partition


@dataclass(frozen=True, slots=True)
class Group:
    """The means over some episodes of a run.

    Attributes:
        name: what the episodes have in common.
        episodes: how many they are.
        undefined: by metric, how many of them left its mean because no way exists.
        means: by symbol; fractions and metres.
    """

    name: str
    episodes: int
    undefined: dict[str, int]
    means: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--format json` prints."""
        metrics = {symbol: {"mean": mean} for symbol, mean in self.means.items()}
        return {"episodes": self.episodes, "undefined": self.undefined, "metrics": metrics}


@dataclass(frozen=True, slots=True)
class Summary:
    """What one run scored.

    Attributes:
        run: its name.
        signature: everything the numbers depend on.
        episodes: how many episodes the means are over.
        missing: how many references the run does not answer.
        unknown: how many of its answers are to no reference.
        undefined: by metric, how many episodes left its mean because no way exists.
        metrics: by symbol, mean and interval; fractions and metres.
        settings: of the table, among them convention and threshold.
        split_by: what the groups are, "" without groups.
        groups: the same episodes in groups.
        bootstrap: what the intervals depend on besides: resamples, seed (None: a generator of the caller's) and
            cluster; None where they are of another kind.
    """

    run: str
    signature: Signature
    episodes: int
    missing: int
    unknown: int
    undefined: dict[str, int]
    metrics: dict[str, Interval]
    settings: dict[str, Any]
    split_by: str = ""
    groups: tuple[Group, ...] = ()
    bootstrap: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--format json` prints."""
        found = {
            "run": self.run,
            "signature": str(self.signature),
            "convention": self.settings["convention"],
            "threshold": self.settings["threshold"],
            "episodes": self.episodes,
            "missing": self.missing,
            "unknown": self.unknown,
            "undefined": self.undefined,
            "metrics": {symbol: interval._asdict() for symbol, interval in self.metrics.items()},
            "bootstrap": self.bootstrap,
        }
        if self.split_by:
            found["split_by"] = self.split_by
            found["groups"] = {group.name: group.to_dict() for group in self.groups}
        return found


def summarize(
    table: ScoreTable,
    joined: Joined,
    *,
    rng: np.random.Generator | int,
    resamples: int = 10_000,
    name: str | None = None,
    clusters: Partition | None = None,
    groups: Partition | None = None,
) -> Summary:
    """Return means, 95 % bootstrap intervals and the signature.

    Args:
        table: the scores.
        joined: what was scored.
        rng: the random generator of the bootstrap, or the seed of one.
        resamples: how many resamples it draws.
        name: what to call the run; its own name by default.
        clusters: what is drawn: all episodes of a cluster together; single episodes by default.
        groups: means are given for each of these too.
    """
    labels = None if clusters is None else clusters.of(table)
    seed = rng if isinstance(rng, int) else None
    if isinstance(rng, int):
        if rng < 0:
            raise OptionError(f"seed must be a whole number, 0 or more, got {rng}")
        rng = np.random.default_rng(rng)
    return Summary(
        joined.run if name is None else name,
        signature_of(table, joined, clusters),
        len(table),
        len(joined.problems["missing"]),
        len(joined.problems["unknown"]),
        table.undefined(),
        bootstrap_table(table.columns, rng=rng, resamples=resamples, clusters=labels),
        table.settings,
        "" if groups is None else groups.by,
        () if groups is None else _groups(table, groups),
        {"resamples": resamples, "seed": seed, "cluster": "none" if clusters is None else clusters.by},
    )


def summarize_sample(table: ScoreTable, name: str, references: str) -> Summary:
    """Return means of a sample so large that their intervals are the normal distribution's, and the signature.

    Args:
        table: the scores, a row a draw.
        name: what was drawn.
        references: the name of what it was scored against.
    """
    intervals = {}
    for symbol, mean in table.means().items():
        finite = table[symbol][np.isfinite(table[symbol])]
        margin = 1.96 * float(finite.std()) / len(finite) ** 0.5 if len(finite) else 0.0
        intervals[symbol] = Interval(mean, mean - margin, mean + margin)
    nothing_wrong = Joined(name, references, (), (), (), {}, {}, {})
    signature = signature_of(table, nothing_wrong)
    return Summary(name, signature, len(table), 0, 0, table.undefined(), intervals, table.settings)


def differences(summaries: Sequence[Summary]) -> list[str]:
    """Return a sentence for every way in which the signatures of several runs differ."""
    first = summaries[0]
    return [
        f"warning: {first.run} and {summary.run} differ in {key} ({here or 'none'}, {there or 'none'})"
        for summary in summaries[1:]
        for key, (here, there) in first.signature.differences(summary.signature).items()
    ]


def _groups(table: ScoreTable, groups: Partition) -> tuple[Group, ...]:
    labels = np.array(groups.of(table), dtype=object)
    found = []
    for name in groups.names:
        rows = np.flatnonzero(labels == name)
        if len(rows):
            part = ScoreTable({symbol: values[rows] for symbol, values in table.columns.items()}, {})
            found.append(Group(name, len(rows), part.undefined(), part.means()))
    return tuple(found)


def signature_of(table: ScoreTable, joined: Joined, clusters: Partition | None = None) -> Signature:
    """Return everything that the means of a table depend on."""
    return make_signature(
        table.settings,
        references=joined.references,
        episodes=len(table),
        problems={kind: f"{joined.policies[kind]}-{len(names)}" for kind, names in joined.problems.items() if names},
        undefined=max(table.undefined().values(), default=0),
        cluster="none" if clusters is None else clusters.by,
    )


def make_signature(
    settings: Mapping[str, Any],
    *,
    references: str,
    episodes: int,
    problems: Mapping[str, str],
    undefined: int,
    cluster: str,
) -> Signature:
    """Return a signature from its parts.

    Args:
        settings: of the table of scores.
        references: the name of what was asked for.
        episodes: how many were scored.
        problems: by kind, what was done about how many: "skip-3".
        undefined: how many values left a mean, at most.
        cluster: what was resampled together.
    """
    distances = settings["distance"]
    if len(distances) > 1:  # many scenes: one hash of all their hashes
        kind = distances[0].partition("#")[0]
        distances = [f"{kind}#{hashlib.sha256(' '.join(distances).encode()).hexdigest()[:8]}"]
    fields = {
        "version": settings["version"],
        "convention": settings["convention"],
        "threshold": repr(settings["threshold"]).removesuffix(".0"),
        "distance": distances[0] if distances else "none",
        "references": references.replace("|", "_").replace(":", "_"),
        "episodes": str(episodes),
        **problems,
    }
    if undefined:
        fields["undefined"] = str(undefined)
    if zeroed := settings.get("zeroed"):
        fields["undefined"] = f"zero-{max(zeroed.values())}"
    if cluster != "none":
        fields["cluster"] = cluster
    return Signature(fields)
