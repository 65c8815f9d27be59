"""The paper's whole protocol with simulated raters: both studies created, answered and analyzed, beside the paper's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from wayscore.lab.study import table1
from wayscore.lab.study.analysis import Analysis, analyze
from wayscore.lab.study.create import PAPER, create, write_study
from wayscore.lab.study.files import write_bytes
from wayscore.lab.study.model import QUERIES, Kind
from wayscore.lab.study.page import page
from wayscore.lab.study.rankings import write_rankings
from wayscore.lab.study.rater_models import IN_WORDS, Temper, simulate
from wayscore.lab.study.report import SIMULATED, document, tables
from wayscore.lab.study.sets import Sampler
from wayscore.lab.study.winners import Winner, find_winners, legend, table as winners_table
from wayscore.report.document import Document

KINDS: tuple[Kind, ...] = ("UC", "SC")
STEPS = 4 * len(KINDS) + 1
"""How often `reproduce` reports progress."""
SAMPLED: dict[Sampler, str] = {
    "independent": "Queries are drawn independently of the reference, as the paper describes it.",
    "start": "Queries are drawn by the paper's procedure, but from the reference's start, where an agent starts too.",
    "near": "Queries are drawn near the reference. This is not the paper's procedure: it is for studies with people, "
    "whose judgement counts most where paths resemble each other.",
}


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What the protocol gave.

    Attributes:
        analyses: of both studies.
        undirected: the same, but without changing the sign of metrics for which lower is better.
        winners: for both studies, the metric that agrees best with raters of each taste.
        sampler: how queries were drawn.
        taste: of the raters of the analyses.
    """

    analyses: list[Analysis]
    undirected: list[Analysis]
    winners: list[list[Winner]]
    sampler: Sampler
    taste: str

    def document(self) -> Document:
        """Return Table 1 of simulated raters, beside the paper's."""
        samples = sum(PAPER[kind]["sets"] for kind in KINDS) * QUERIES
        counts = ", ".join(f"{kind} {PAPER[kind]['sets']}" for kind in KINDS)
        return Document(
            [
                f"The paper's protocol: {samples:,} samples in {samples // QUERIES} sets of five ({counts}), nine "
                f"raters, one for each set. {SAMPLED[self.sampler]}",
                f"SIMULATED raters: no person gave these rankings. Their taste is {self.taste}: they like a "
                f"robot that {IN_WORDS[self.taste]}. The table below follows from this taste, and says nothing about "
                "people.",
                *table1.tables(tables(self.analyses), above=SIMULATED),
                "The outcome follows from the taste of the raters: the same sets, ranked by simulated raters of other "
                "tastes, have other winners. Mean correlation of each metric with them:",
                *map(winners_table, self.winners),
                legend(),
                "The paper does not say whether it changed the sign of metrics for which lower is better. The same "
                "rankings with PL, NE, ONE, AD and MD used as if higher were better:",
                *table1.tables(tables(self.undirected), above=f"{SIMULATED}, signs not changed"),
                "The paper's counts, from people:",
                *table1.tables(table1.PAPER, above="the paper's raters"),
                table1.SLIP,
            ]
        )


def reproduce(
    folder: str | Path,
    *,
    seed: int = 0,
    sampler: Sampler = "independent",
    temper: Temper | None = None,
    progress: Callable[[str], None] | None = None,
) -> Reproduction:
    """Carry out the paper's protocol with simulated raters, and write all files into a folder.

    The same seed gives the same files: two studies, their simulated answers, Table 1 as text and LaTeX, and the
    analyses as text, JSON and an HTML page.

    Args:
        folder: where to write.
        seed: random seed.
        sampler: how queries are drawn: "independent" of the reference, as the paper describes it; "near" it, so that
            the paths of a set resemble each other and are hard to order; or from its "start".
        temper: how simulated raters behave.
        progress: called with the name of every step.
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
    found = document(analyses)
    made = Reproduction(analyses, undirected, winners, sampler, temper.taste)
    for name, content in (
        ("table1-simulated.txt", made.document().render()),
        ("table1-simulated.tex", found.render("latex")),
        ("analysis-simulated.txt", found.render()),
        ("analysis-simulated.json", found.render("json")),
        ("analysis-simulated.html", page(analyses)),
    ):
        write_bytes(folder / name, content.encode())
    return made
