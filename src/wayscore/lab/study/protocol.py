"""The paper's whole protocol with simulated raters: both studies created, answered and analyzed, beside the paper's.

Which metric wins follows from the taste of the raters. So the same sets are also ranked once for each taste.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from wayscore.lab.study import table1
from wayscore.lab.study.analysis import analyze
from wayscore.lab.study.correlations import correlate
from wayscore.lab.study.create import PAPER, create
from wayscore.lab.study.files import write_bytes, write_study
from wayscore.lab.study.model import QUERIES, Kind, Study
from wayscore.lab.study.rankings import write_rankings
from wayscore.lab.study.rater_models import IN_WORDS, TASTES, Temper, simulate
from wayscore.lab.study.report import SIMULATED, document, page, tables
from wayscore.lab.study.sets import Sampler
from wayscore.report.document import Document, Table
from wayscore.statistics import Difference, paired_bootstrap

KINDS: tuple[Kind, ...] = ("UC", "SC")
STEPS = 4 * len(KINDS) + 1
"""How often `reproduce` reports progress."""
SAMPLED: dict[Sampler, str] = {
    "independent": "Queries are drawn independently of the reference, as the paper describes it.",
    "start": "Queries are drawn by the paper's procedure, but from the reference's start, where an agent starts too.",
    "near": "Queries are drawn near the reference. This is not the paper's procedure: it is for studies with people, "
    "whose judgement counts most where paths resemble each other.",
}
CERTAIN = 0.05
"""A lead with a larger p-value may be chance."""


@dataclass(frozen=True, slots=True)
class Winner:
    """The outcome of a study whose raters all have one taste."""

    taste: str
    kind: Kind
    correlations: dict[str, float]  # metric -> mean correlation with the raters
    metric: str  # the one with the largest
    second: str  # the next one
    lead: Difference  # how far the first is ahead of the second, with an interval that resamples sets


def find_winners(study: Study, *, seed: int = 0, temper: Temper | None = None, resamples: int = 10_000) -> list[Winner]:
    """Let simulated raters of each taste rank a study's sets, and find the metric that agrees best with them."""
    found = []
    for taste in TASTES:
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


def winners_table(winners: list[Winner]) -> Table:
    """Return the winners of one study: one row per taste, mean correlations, and the winner.

    >>> from wayscore.report.document import Document
    >>> lead = Difference(0.1, 0.0, 0.2, 0.04)
    >>> print(Document([winners_table([Winner("careful", "UC", {"nDTW": 0.5, "MD": 0.6}, "MD", "nDTW", lead)])]))
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


def reproduce(
    folder: str | Path,
    *,
    seed: int = 0,
    sampler: Sampler = "independent",
    temper: Temper | None = None,
    progress: Callable[[str], None] | None = None,
) -> Document:
    """Carry out the paper's protocol with simulated raters, write all files, and return Table 1 beside the paper's.

    The same seed gives the same files: two studies, their simulated answers, Table 1 as text and LaTeX, and the
    analyses as text, JSON and an HTML page. `progress` is called with the name of every step.
    """
    tell = progress or (lambda _: None)
    folder = Path(folder)
    temper = temper or Temper()
    analyses, undirected, winners = [], [], []
    for kind in KINDS:
        tell(f"{kind}: sets")
        study = create(
            kind, seed=seed, sampler=sampler, name=f"{kind}, the paper's protocol, seed {seed}", **PAPER[kind]
        )
        write_study(folder / f"{kind.lower()}.json", study)
        tell(f"{kind}: simulated raters")
        rankings = simulate(study, seed=seed, temper=temper)
        write_rankings(folder / f"{kind.lower()}-simulated.jsonl", rankings)
        tell(f"{kind}: analysis")
        analyses.append(analyze(study, rankings, seed=seed))
        undirected.append(analyze(study, rankings, seed=seed, directed=False))
        tell(f"{kind}: other tastes")
        winners.append(find_winners(study, seed=seed, temper=temper))
    tell("report")
    samples = sum(PAPER[kind]["sets"] for kind in KINDS) * QUERIES
    counts = ", ".join(f"{kind} {PAPER[kind]['sets']}" for kind in KINDS)
    summary = Document(
        [
            f"The paper's protocol: {samples:,} samples in {samples // QUERIES} sets of five ({counts}), nine raters, "
            f"one for each set. {SAMPLED[sampler]}",
            f"SIMULATED raters: no person gave these rankings. Their taste is {temper.taste}: they like a robot that "
            f"{IN_WORDS[temper.taste]}. The table below follows from this taste, and says nothing about people.",
            *table1.tables(tables(analyses), above=SIMULATED),
            "The outcome follows from the taste of the raters: the same sets, ranked by simulated raters of other "
            "tastes, have other winners. Mean correlation of each metric with them:",
            *map(winners_table, winners),
            "Tastes: " + "; ".join(f"{name}: {words}" for name, words in IN_WORDS.items()) + ".",
            "The paper does not say whether it changed the sign of metrics for which lower is better. The same "
            "rankings with PL, NE, ONE, AD and MD used as if higher were better:",
            *table1.tables(tables(undirected), above=f"{SIMULATED}, signs not changed"),
            "The paper's counts, from people:",
            *table1.tables(table1.PAPER, above="the paper's raters"),
            table1.SLIP,
        ]
    )
    found = document(analyses)
    for name, content in (
        ("table1-simulated.txt", summary.render()),
        ("table1-simulated.tex", found.render("latex")),
        ("analysis-simulated.txt", found.render()),
        ("analysis-simulated.json", found.render("json")),
        ("analysis-simulated.html", page(analyses)),
    ):
        write_bytes(folder / name, content.encode())
    return summary
