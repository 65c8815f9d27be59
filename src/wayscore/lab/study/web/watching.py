"""The content of the administrator's page: progress, attention, and agreement on sets with several answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from wayscore.lab.study.agreement import Care, agree, care_of, mean_consistency
from wayscore.lab.study.model import Study
from wayscore.lab.study.rankings import Ranking
from wayscore.lab.study.store import Store, rater_name
from wayscore.lab.study.web.security import Signer

MOST_PAIRS = 5_000
"""The most pairs of answers that the page compares; for more, use `wayscore study analyze`."""


@dataclass(frozen=True)
class WatchedRater:
    """A row of the administrator's table.

    Attributes:
        number: the rater.
        state: "" once the rater agreed to take part, before that "not started", or "erased".
        answered: how many sets have an answer.
        total: how many sets the rater was given.
        changes: how many answers were replaced.
        checks: how many attention checks were passed, as text.
        last: when the last answer came.
        code: the completion code, if the rater has answered everything.
    """

    number: int
    state: str
    answered: int
    total: int
    changes: int
    checks: str
    last: str
    code: str


@dataclass(frozen=True)
class Fact:
    """A number with its name and a note."""

    name: str
    value: str
    note: str


@dataclass(frozen=True)
class Watched:
    """The administrator's page: rows, their sums, and the agreement of raters."""

    raters: list[WatchedRater]
    answered: int
    total: int
    facts: list[Fact]


def watch(study: Study, store: Store, signer: Signer) -> Watched:
    """Return the progress of a study."""
    items = {one.rater: len(one.items) for one in study.assignments}
    rankings = store.rankings()
    care = care_of(study, rankings)
    rows = [
        WatchedRater(
            one.rater,
            "" if one.consented else "erased" if one.erased else "not started",
            one.answered,
            items[one.rater],
            one.changes,
            _checks(care.get(rater_name(one.rater, simulated=store.simulated))),
            one.last,
            signer.code(one.rater) if one.answered == items[one.rater] else "",
        )
        for one in store.progress()
    ]
    return Watched(
        rows,
        sum(row.answered for row in rows),
        sum(row.total for row in rows),
        [*_agreement(study, rankings), *_care(care)],
    )


def _checks(care: Care | None) -> str:
    return f"{care.passed} of {care.checks}" if care and care.checks else ""


def _agreement(study: Study, rankings: Sequence[Ranking]) -> list[Fact]:
    answers = Counter(ranking.set for ranking in rankings)
    if sum(count * (count - 1) // 2 for count in answers.values()) > MOST_PAIRS:
        return [Fact("Agreement between raters", "–", "too many answers for this page; use wayscore study analyze")]
    found = agree(study, rankings)
    if found.w is None or found.spearman is None:
        return []
    note = f"mean over {found.sets} set{'s' if found.sets != 1 else ''} with {found.raters:.1f} raters each"
    facts = [
        Fact("Kendall's W", f"{found.w:.2f}", note),
        Fact("Spearman's rho of two raters", f"{found.spearman:.2f}", note),
    ]
    if found.alpha is not None:
        facts.append(Fact("Krippendorff's alpha", f"{found.alpha:.2f}", "of the ranks, ordinal"))
    return facts


def _care(care: dict[str, Care]) -> list[Fact]:
    facts = []
    consistency = mean_consistency(care)
    if consistency is not None:
        repeats = sum(one.repeats for one in care.values())
        facts.append(Fact("Consistency", f"{consistency:.2f}", f"Spearman's rho, {repeats} sets answered twice"))
    seen = sum(one.checks for one in care.values())
    if seen:
        facts.append(Fact("Attention checks", f"{sum(one.passed for one in care.values())} of {seen}", "passed"))
    return facts
