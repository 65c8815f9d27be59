"""A Summary: the means of one run with their intervals, and the signature that says how they came about."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wayscore.signature import Signature
from wayscore.statistics import Interval, bootstrap_table

if TYPE_CHECKING:
    import numpy as np

    from wayscore.episodes import Joined
    from wayscore.table import ScoreTable


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
    """

    run: str
    signature: Signature
    episodes: int
    missing: int
    unknown: int
    undefined: dict[str, int]
    metrics: dict[str, Interval]
    settings: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--format json` prints."""
        return {
            "run": self.run,
            "signature": str(self.signature),
            "convention": self.settings["convention"],
            "threshold": self.settings["threshold"],
            "episodes": self.episodes,
            "missing": self.missing,
            "unknown": self.unknown,
            "undefined": self.undefined,
            "metrics": {
                symbol: {"mean": found.mean, "low": found.low, "high": found.high}
                for symbol, found in self.metrics.items()
            },
        }


def summarize(table: ScoreTable, joined: Joined, *, rng: np.random.Generator, resamples: int = 10_000) -> Summary:
    """Return means, 95 % bootstrap intervals over episodes, and the signature."""
    return Summary(
        joined.run,
        _signature(table, joined),
        len(table),
        len(joined.problems["missing"]),
        len(joined.problems["unknown"]),
        table.undefined(),
        bootstrap_table(table.columns, rng=rng, resamples=resamples),
        table.settings,
    )


def _signature(table: ScoreTable, joined: Joined) -> Signature:
    settings = table.settings
    distances = settings["distance"]
    if len(distances) > 1:  # many scenes: one hash of all their hashes
        kind = distances[0].partition("#")[0]
        distances = [f"{kind}#{hashlib.sha256(' '.join(distances).encode()).hexdigest()[:8]}"]
    fields = {
        "version": settings["version"],
        "convention": settings["convention"],
        "threshold": f"{settings['threshold']:g}",
        "distance": distances[0] if distances else "none",
        "references": joined.references.replace("|", "_").replace(":", "_"),
        "episodes": str(len(table)),
    }
    for kind, names in joined.problems.items():
        if names:
            fields[kind] = f"{joined.policies[kind]}-{len(names)}"
    undefined = max(table.undefined().values(), default=0)
    if undefined:
        fields["undefined"] = str(undefined)
    return Signature(fields)
