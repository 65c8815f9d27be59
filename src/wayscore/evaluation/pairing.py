"""A run beside its references: which answers are scored, as the policies say; and `join`, the same for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from wayscore.convention.choices import Convention
from wayscore.convention.presets import find_convention
from wayscore.distances.base import Distance
from wayscore.distances.function import Function
from wayscore.episodes import EpisodeBatch, Query, Reference, References, Run
from wayscore.evaluation.match import Matched, Matcher
from wayscore.evaluation.policies import Problem, Problems, choose_policies
from wayscore.evaluation.targets import EncodedReferences, make_targets
from wayscore.paths import Offsets

NEVER = np.iinfo(np.int64).max
"""The row of the first answer to a reference that has none."""


class Joined(Struct, frozen=True):
    """A run beside its references, in the references' order.

    Attributes:
        pairs: reference and query of each episode that is scored.
        worst: references that get the worst scores instead, as the policies say.
        problems: how many episodes have each kind of problem, and the first of them.

    `ws.score(**joined.paths(), distance=graphs)` scores the pairs.
    """

    pairs: tuple[tuple[Reference, Query], ...]
    worst: tuple[Reference, ...]
    problems: Problems

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        found = ", ".join(f"{count:,} {kind}" for kind, count in self.problems.counts.items()) or "no problems"
        return f"<Joined: {len(self):,} pairs of reference and query; {found}>"

    def paths(self) -> dict[str, list[Any]]:
        """Return references, queries, scenes and episode names, as `ws.score` takes them."""
        return {
            "references": [reference.path for reference, _ in self.pairs],
            "queries": [query.path for _, query in self.pairs],
            "scenes": [reference.scene for reference, _ in self.pairs],
            "episodes": [reference.episode for reference, _ in self.pairs],
        }


def join(
    run: Run | Mapping[str, Any],
    references: References,
    *,
    graphs: Distance | Mapping[str, Distance] | None = None,
    convention: str | Path | Convention = "paper",
    **policies: str | None,
) -> Joined:
    """Find the query of every reference, and treat what does not fit as the policies say.

    Args:
        run: the paths of the agent.
        references: the ground-truth paths.
        graphs: scene -> graph; with them unknown nodes and moves that are not edges are found.
        convention: how many instructions of a path count, and what is done where no policy is given.
        **policies: by kind of problem (see `wayscore.evaluation.policies.POLICIES`), for example `missing="zero"`.
    """
    run = run if isinstance(run, Run) else Run.from_paths(run)
    chosen = find_convention(convention)
    rules = choose_policies(policies, chosen)
    matcher = Matcher(make_targets(references, graphs or names_only(references), chosen))
    known = matcher.targets.references
    assert known is not None
    batch = EpisodeBatch.from_queries(run.answers)
    problems = Problems()
    matched = matcher.match(batch)
    counts = np.zeros(len(known), dtype=np.int64)
    first = first_answers([(batch, matched)], len(known), counts)
    kept, worst, matched = sort_out(matched, batch, matcher, rules, problems, first)
    numbers = finish(problems, rules, run.name, known, counts, len(batch))
    assert matched.pairs is not None
    listed = list(references.first_instructions(chosen.instructions).episodes.values())
    found = sorted((int(known.order[matched.pairs[place]]), int(matched.order[place])) for place in kept.tolist())
    zeroed = {int(known.order[matched.pairs[place]]) for place in worst.tolist()} | set(known.order[numbers].tolist())
    return Joined(
        tuple((listed[place], run.answers[row]) for place, row in found),
        tuple(listed[place] for place in sorted(zeroed)),
        problems,
    )


def names_only(references: References) -> Distance | None:
    """Return a distance that only tells nodes apart, where paths are labels and there are no graphs."""
    first = next(iter(references.episodes.values()), None)
    return Function(lambda a, b: float(a != b), name="names") if first and isinstance(first.path, list) else None


def first_answers(parts: Iterable[tuple[EpisodeBatch, Matched]], references: int, counts: NDArray[np.int64]) -> Offsets:
    """Return the row of the first answer to each reference, and count the answers."""
    first = np.full(references, NEVER)
    for batch, matched in parts:
        assert matched.pairs is not None
        np.minimum.at(first, matched.pairs, batch.first + matched.order)
        counts += np.bincount(matched.pairs, minlength=references)
    return first


def sort_out(
    matched: Matched,
    batch: EpisodeBatch,
    matcher: Matcher,
    policies: Mapping[str, str],
    problems: Problems,
    first: Offsets | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64], Matched]:
    """Note what is wrong with answers; return which are scored and which get the worst scores, and of what.

    Args:
        matched: answers beside their references.
        batch: the same as they were read.
        matcher: what matched them.
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
        problems.add(kind, len(which), matcher.describe(kind, batch, matched, shown))
        if kind != "unknown" and policies[kind] != "keep":
            state[which] = np.maximum(state[which], 2 if policies[kind] == "zero" else 1)
    return np.flatnonzero(state == 0), np.flatnonzero(state == 2), matched


def finish(
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
        problems.add(kind, len(which), named)
    problems.refuse(policies, run, references.name, len(references), answers)
    return missing if policies["missing"] == "zero" else missing[:0]
