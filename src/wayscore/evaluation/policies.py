"""What can be wrong between a run and its references, what may be done about it, and the sentences that say so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from heapq import nsmallest
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from wayscore.convention.choices import Convention
from wayscore.errors import LONGEST_GUESS, FormatError, check_choice
from wayscore.escaping import escape as visible
from wayscore.formats.episodes import EpisodeBatch
from wayscore.paths import Offsets

if TYPE_CHECKING:
    from wayscore.evaluation.scorer import EncodedReferences, Matched, Scorer

POLICIES: dict[str, tuple[str, ...]] = {
    "missing": ("error", "skip", "zero"),
    "unknown": ("error", "skip"),
    "duplicate": ("error", "keep", "all"),
    "start": ("error", "keep", "skip", "zero"),
    "move": ("keep", "error", "skip", "zero"),
    "node": ("error", "skip", "zero"),
}
"""The kinds of problems, and what may be done about each; the first is the default.

- missing: a reference that the run does not answer.
- unknown: an answer to an episode that the references do not have.
- duplicate: an episode answered twice; "keep" scores the first answer, "all" scores every one.
- start: a query that does not begin where its reference begins.
- move: a query with a step that is not an edge of its graph; kept ones are charged the shortest path.
- node: a query that visits a node which its scene does not have.

"error" refuses the run, "keep" scores what is there, "skip" leaves the episode out, "zero" gives it the worst scores.
"""
NEVER = np.iinfo(np.int64).max
"""The row of the first answer to a reference that has none."""
HINTED = 10_000
"""References up to which the nearest name is looked for."""
SHOWN = 3
"""Episodes that a sentence names."""
CARRIED = "the rows"
"""The name of references that the rows of a run carry."""


class Problem(NamedTuple):
    """One episode with a problem.

    Attributes:
        row: where it stands in the run, or in the references if it is missing.
        episode: its name.
        what: the details; "" where the name says all.
    """

    row: int
    episode: str
    what: str


class Problems(Struct):
    """How many episodes have each kind of problem, and the first of them; two merge into one.

    Attributes:
        most: how many of each kind are kept; None for all.
        counts: by kind.
        first: by kind, those that come first in the run.
    """

    most: int | None = SHOWN
    counts: dict[str, int] = {}
    first: dict[str, list[Problem]] = {}

    def add(self, kind: str, count: int, found: Iterable[Problem]) -> None:
        """Add episodes with one kind of problem: how many, and at least the first of them."""
        if count:
            self.counts[kind] = self.counts.get(kind, 0) + count
            known = [*self.first.get(kind, ()), *found]
            self.first[kind] = sorted(known) if self.most is None else nsmallest(self.most, known)

    def merge(self, other: Problems) -> None:
        """Add the problems of another part of the run."""
        for kind, count in other.counts.items():
            self.add(kind, count, other.first.get(kind, ()))

    def __bool__(self) -> bool:
        return bool(self.counts)

    def sentence(self, kind: str, references: str, episodes: int, shown: int = SHOWN) -> str:
        """Say how many episodes have a kind of problem, and name the first of them.

        Args:
            kind: one of `POLICIES`.
            references: their name.
            episodes: how many references there are.
            shown: how many episodes to name; the first is described in detail.
        """
        count, found = self.counts.get(kind, 0), self.first.get(kind, [])
        named = [visible(problem.episode) for problem in found[:shown]]
        if found and found[0].what:
            named[0] += f" ({found[0].what})"
        more = f" and {count - shown:,} more" if count > shown else ""
        return f"{summary(kind, count, references, episodes)}: {', '.join(named)}{more}"

    def refuse(self, policies: Mapping[str, str], run: str, references: str, episodes: int, answers: int) -> None:
        """Raise an error for the first kind of problem that the policies do not allow.

        Where most of a run does not fit, its references are another file's: that is said before all else.
        """
        unknown, start = self.counts.get("unknown", 0), self.counts.get("start", 0)
        give = "give the references that it answers with <<references=FILE>>"
        if answers and unknown == answers:
            first = self._named("unknown")
            raise FormatError(
                f"{run}: no episode of this run is in {references}: wrong split? Its first is {first}; {give}"
            )
        if unknown > SHOWN and policies["unknown"] == "error":
            raise FormatError(
                f"{run}: {unknown:,} of its {answers:,} answers are to episodes that {references} does not have: wrong "
                f"split or release? The first is {self._named('unknown')}; {give}, or use <<unknown=skip>>"
            )
        most = 2 * start > answers - unknown and start > 1 and references != CARRIED
        if most and policies["start"] == "error":
            raise FormatError(
                f"{run}: {start:,} of its {answers:,} queries do not begin where their references in {references} do: "
                f"wrong split, or paths without their start? The first is {self._named('start')}; {give}, or use "
                "<<start=keep>>"
            )
        for kind, allowed in POLICIES.items():
            if self.counts.get(kind) and policies[kind] == "error":
                others = " or ".join(f"<<{kind}={policy}>>" for policy in allowed if policy != "error")
                few = kind != "missing" or self.counts[kind] <= SHOWN
                why = "" if few else " (an unfinished run, or another release?)"
                raise FormatError(f"{run}: {self.sentence(kind, references, episodes)}{why}; use {others}")

    def _named(self, kind: str) -> str:
        """Name the first episode with a kind of problem, with its details."""
        first = self.first[kind][0]
        return f"{first.episode!r} ({first.what})" if first.what else repr(first.episode)


def summary(kind: str, count: int, references: str, episodes: int) -> str:
    """Say how many episodes have a kind of problem.

    >>> summary("missing", 2, "R2R_val_seen.json", 1021)
    '2 of the 1,021 episodes of R2R_val_seen.json have no answer'
    """
    one = count == 1
    its, query = ("its", "query") if one else ("their", "queries")
    sentences = {
        "missing": f"of the {episodes:,} episodes of {references} {'has' if one else 'have'} no answer",
        "unknown": f"{'answer is' if one else 'answers are'} to episodes that {references} does not have",
        "duplicate": f"{'episode is' if one else 'episodes are'} answered more than once",
        "start": f"{query} {'does' if one else 'do'} not begin where {its} reference does",
        "move": f"{query} {'takes' if one else 'take'} a step that is not an edge",
        "node": f"{query} {'visits' if one else 'visit'} a node that {its} scene does not have",
    }
    return f"{count:,} {sentences[kind]}"


def choose_policies(given: Mapping[str, str | None], convention: Convention) -> dict[str, str]:
    """Return what is done about each kind of problem: as given, else as the convention does, else the default."""
    chosen = {}
    for kind, allowed in POLICIES.items():
        wanted = given.get(kind)
        chosen[kind] = getattr(convention, kind, allowed[0]) if wanted is None else wanted
        check_choice(kind, chosen[kind], allowed)
    return chosen


def alike(episode: str, known: Iterable[str]) -> list[str]:
    """Return the names that an unknown one may stand for: its instructions, those of its path, or one spelled alike.

    Numbers that look alike mean nothing, so none is offered for another.

    >>> alike("4332", ["4332_0", "4332_1", "433_0"]), alike("4332_9", ["4332_0", "433_9"]), alike("17", ["177"])
    (['4332_0', '4332_1'], ['4332_0'], [])
    """
    names = list(known)
    for start in (f"{episode}_", f"{episode.rpartition('_')[0]}_"):
        found = [name for name in names if start != "_" and name.startswith(start)]
        if found:
            return found
    if len(names) >= HINTED or len(episode) > LONGEST_GUESS or not any(letter.isalpha() for letter in episode):
        return []
    spelled = {name.lower(): name for name in reversed(names) if len(name) <= LONGEST_GUESS}
    return [spelled[name] for name in get_close_matches(episode.lower(), spelled, n=1)]


def first_answers(batch: EpisodeBatch, matched: Matched, counts: NDArray[np.int64]) -> Offsets:
    """Return the row of a batch's first answer to each reference, and count the answers."""
    assert matched.pairs is not None
    first = np.full(len(counts), NEVER)
    np.minimum.at(first, matched.pairs, batch.first + matched.order)
    counts += np.bincount(matched.pairs, minlength=len(counts))
    return first


def apply_policies(
    matched: Matched,
    batch: EpisodeBatch,
    scorer: Scorer,
    policies: Mapping[str, str],
    problems: Problems,
    first: Offsets | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64], Matched]:
    """Note what is wrong with answers; return which are scored and which get the worst scores, and of what.

    Args:
        matched: answers beside their references.
        batch: the same as they were read.
        scorer: what matched them.
        policies: what is done about each kind; what is an error is left out, and refused when all is known.
        problems: receives what is wrong.
        first: the row of the first answer to each reference; None where every answer counts.
    """
    if first is not None and matched.pairs is not None and policies["duplicate"] != "all":
        again = first[matched.pairs] != batch.first + matched.order
        if again.any():
            matched = matched.take(np.flatnonzero(~again))
    found = {"unknown": matched.unknown, **{kind: np.flatnonzero(bad) for kind, bad in matched.problems.items()}}
    state = np.zeros(len(matched.order), dtype=np.int8)
    for kind, which in found.items():
        if not len(which):
            continue
        rows = which if kind == "unknown" else matched.order[which]
        shown = which[np.argsort(rows, kind="stable")[: problems.most]]
        problems.add(kind, len(which), scorer.describe(kind, batch, matched, shown))
        if kind != "unknown" and policies[kind] != "keep":
            state[which] = np.maximum(state[which], 2 if policies[kind] == "zero" else 1)
    return np.flatnonzero(state == 0), np.flatnonzero(state == 2), matched


def check_coverage(
    problems: Problems,
    policies: Mapping[str, str],
    run: str,
    references: EncodedReferences,
    counts: NDArray[np.int64],
    answers: int,
) -> NDArray[np.int64]:
    """Note references that have no answer or several, and refuse what the policies do not allow.

    Returns:
        The numbers of the references that get the worst scores because nothing answers them.
    """
    missing, several = np.flatnonzero(counts == 0), np.flatnonzero(counts > 1)
    for kind, which in (("missing", missing), ("duplicate", several)):
        in_file = which[np.argsort(references.order[which])]
        named = (Problem(int(references.order[one]), references.episodes[one], "") for one in in_file[: problems.most])
        if len(which):
            problems.add(kind, len(which), named)
    if problems.counts:
        problems.refuse(policies, run, references.name, len(references.episodes), answers)
    return missing if policies["missing"] == "zero" else missing[:0]
