"""Which metric wins with which taste of simulated raters: the outcome follows from the taste.

The same sets are ranked once for each taste, and each metric's mean correlation with the rankings is computed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from wayscore.lab.study.correlations import correlate
from wayscore.lab.study.model import Kind, Study
from wayscore.lab.study.rater_models import IN_WORDS, TASTES, Temper, simulate
from wayscore.report.document import Table
from wayscore.statistics import Difference, paired_bootstrap

CERTAIN = 0.05
"""A lead with a larger p-value may be chance."""


@dataclass(frozen=True, slots=True)
class Winner:
    """The outcome of a study with one taste.

    Attributes:
        taste: of all raters.
        kind: "UC" or "SC".
        correlations: metric -> mean correlation with the raters.
        metric: the one with the largest.
        second: the next one.
        lead: how far the first is ahead of the second, with an interval that resamples sets.
    """

    taste: str
    kind: Kind
    correlations: dict[str, float]
    metric: str
    second: str
    lead: Difference


def find_winners(
    study: Study,
    *,
    tastes: Iterable[str] = TASTES,
    seed: int = 0,
    temper: Temper | None = None,
    resamples: int = 10_000,
) -> list[Winner]:
    """Let simulated raters of each taste rank a study's sets, and find the metric that agrees best with them."""
    found = []
    for taste in tastes:
        rankings = simulate(study, seed=seed, temper=replace(temper or Temper(), taste=taste))
        table = correlate(study, rankings)
        means = dict(zip(table.metrics, table.values.mean(axis=0).tolist(), strict=True))
        best, second = sorted(means, key=lambda metric: -means[metric])[:2]
        column = {metric: table.values[:, number] for number, metric in enumerate(table.metrics)}
        lead = paired_bootstrap(
            column[best], column[second], rng=np.random.default_rng(seed), resamples=resamples, clusters=table.sets
        )
        found.append(Winner(taste, study.kind, means, best, second, lead))
    return found


def table(winners: list[Winner]) -> Table:
    """Return the winners of one study: one row per taste, mean correlations, and the winner.

    >>> from wayscore.report.document import Document
    >>> lead = Difference(0.1, 0.0, 0.2, 0.04)
    >>> print(Document([table([Winner("careful", "UC", {"nDTW": 0.5, "MD": 0.6}, "MD", "nDTW", lead)])]))
    UC: taste of raters   nDTW     MD  winner  ahead of the second
    ──────────────────────────────────────────────────────────────
    careful              +0.50  +0.60      MD         nDTW by 0.10
    """
    first = winners[0]
    rows = []
    for one in winners:
        means = [f"{value:+.2f}" for value in one.correlations.values()]
        chance = "" if one.lead.p is not None and one.lead.p < CERTAIN else " (chance)"
        rows.append([one.taste, *means, one.metric, f"{one.second} by {one.lead.mean:.2f}{chance}"])
    return Table([f"{first.kind}: taste of raters", *first.correlations, "winner", "ahead of the second"], rows)


def legend() -> str:
    """Return what each taste likes, in a sentence."""
    return "Tastes: " + "; ".join(f"{name}: {words}" for name, words in IN_WORDS.items()) + "."
