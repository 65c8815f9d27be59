"""A run beside its references: `validate` lists everything that is wrong with it, `join` finds its pairs."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, structs

from wayscore.convention.choices import Convention
from wayscore.convention.presets import find_convention
from wayscore.distances.base import Distance
from wayscore.distances.function import Function
from wayscore.errors import Sentence, in_command
from wayscore.escaping import escape
from wayscore.evaluation.inputs import find_references, find_run
from wayscore.evaluation.policies import (
    POLICIES,
    Problem,
    Problems,
    apply_policies,
    check_coverage,
    choose_policies,
    first_answers,
    summary,
)
from wayscore.evaluation.scorer import Scorer
from wayscore.evaluation.warnings import WARPED, Seen, other_split
from wayscore.formats import Fault
from wayscore.formats.benchmarks import distances_for
from wayscore.formats.episodes import EpisodeBatch, Query, Reference, References, Run

SHOWN = 20
"""Problems of one kind that are listed, unless all are wanted."""


@dataclass(frozen=True, slots=True)
class Findings(Sequence[str]):
    """All that is wrong with a run: as a list, one sentence per problem.

    Attributes:
        run: its name.
        references: the references' name.
        answers: how many answers could be read.
        episodes: how many episodes there are to answer.
        counts: how many problems there are of each kind that there is; records that cannot be read are "damaged".
        summaries: a phrase for each kind.
        problems: the first of each kind, as objects with the episode and details.
        warnings: what is valid, but would mislead in a score.
    """

    run: str
    references: str
    answers: int
    episodes: int
    counts: Mapping[str, int]
    summaries: Mapping[str, str]
    problems: Mapping[str, Sequence[Mapping[str, Any]]]
    warnings: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--format json` prints."""
        return {
            "run": self.run,
            "references": self.references,
            "answers": self.answers,
            "episodes": self.episodes,
            "counts": dict(self.counts),
            "problems": {kind: list(problems) for kind, problems in self.problems.items()},
            "warnings": list(self.warnings),
        }

    def lines(self) -> Iterator[str]:
        """Describe all of it, line by line; none of them commands a terminal."""
        return map(escape, self._lines())

    def _lines(self) -> Iterator[str]:
        for kind, problems in self.problems.items():
            left = self.counts[kind] - len(problems)
            more = f" and {left:,} more; --all lists them" if left else ""
            if kind != "damaged" and not any(problem["what"] for problem in problems):
                yield f"{self.summaries[kind]}: {', '.join(problem['episode'] for problem in problems)}{more}"
                continue
            yield f"{self.summaries[kind]}:"
            if kind == "damaged":  # what most of them should have been stands at the end, once
                faults = [Fault(**problem) for problem in problems]
                expected = Counter(fault.expected for fault in faults if fault.expected)
                common = expected.most_common(1)[0][0] if expected else ""
                for fault in faults:
                    yield f"  {structs.replace(fault, expected='') if fault.expected == common else fault}"
                if common:
                    yield f"  expected {common}"
            else:
                yield from (f"  {problem['episode']}: {problem['what']}" for problem in problems)
            if more:
                yield f" {more}"
        yield from (f"warning: {in_command(warning)}" for warning in self.warnings)
        scope = f"{self.answers:,} answers to {self.episodes:,} episodes of {self.references}"
        if self.counts:
            total = sum(self.counts.values())
            yield f"{self.run}: {total:,} problem{'' if total == 1 else 's'} in {scope}"
        else:
            yield f"{self.run}: {scope}, no problem found"

    def __len__(self) -> int:
        return sum(map(len, self.problems.values()))

    def __getitem__(self, number: Any) -> Any:
        found = [str(Fault(**problem)) for problem in self.problems.get("damaged", ())]
        for kind, problems in self.problems.items():
            if kind != "damaged":
                details = (f"{_ONE[kind]} ({one['what']})" if one["what"] else _ONE[kind] for one in problems)
                found += [f"episode {one['episode']}: {what}" for one, what in zip(problems, details, strict=True)]
        return [escape(sentence) for sentence in found][number]

    def __repr__(self) -> str:
        return f"<Findings: {list(self.lines())[-1]}>"


_ONE = {
    "missing": "has no answer",
    "unknown": "is not in the references",
    "duplicate": "is answered more than once",
    "start": "its query does not begin where its reference does",
    "move": "its query takes a step that is not an edge",
    "node": "its query visits a node that its scene does not have",
}
"""What is wrong with one episode, by kind."""


def validate(
    run: Any,
    references: References | str | os.PathLike[str],
    graphs: Any = None,
    *,
    most: int | None = SHOWN,
    run_format: str | None = None,
    reader: Mapping[str, Any] | None = None,
) -> Findings:
    """Check a run against its references and list every problem.

    Args:
        run: result files in any form that `ws.evaluate` takes.
        references: the ground-truth paths; test splits too, whose paths are withheld.
        graphs: connectivity files, or scene -> graph; with them unknown nodes and impossible moves are found.
        most: how many problems of each kind to list; None for all.
        run_format: how the run is written, where its beginning does not tell.
        reader: settings of the references' reader.
    """
    known = find_references(references, reader)
    assert known is not None
    convention = find_convention("paper")
    distances = names_only(known) if graphs is None else distances_for(known, graphs, convention)
    given = find_run(run, run_format)
    faults: list[Fault] = []
    # A test split can be checked though it cannot be scored.
    scorer = Scorer(replace(known, withheld=False), distances, convention)
    targets = scorer.references
    assert targets is not None
    episodes = targets.episodes
    problems = Problems(most)
    counts = np.zeros(len(episodes), dtype=np.int64)
    answers, seen = 0, Seen()
    policies = {kind: allowed[0] for kind, allowed in POLICIES.items()}
    for batch in given.batches(faults):
        matched = scorer.match(batch)
        first_answers(batch, matched, counts)
        apply_policies(matched, batch, scorer, policies, problems, None)
        seen.look(matched.queries, targets.paths if targets.dense is None else targets.dense, matched.pairs)
        answers += len(batch)
    # Readers find wrong types first, and then what they mean; what concerns the whole file comes before all.
    faults.sort(key=lambda fault: int(found[0]) if (found := re.search(r"\d+", fault.where)) else -1)
    damaged = {fault.episode for fault in faults}  # these are answered, if badly
    for kind, which in (("missing", counts == 0), ("duplicate", counts > 1)):
        numbers = [n for n in np.flatnonzero(which).tolist() if kind != "missing" or episodes[n] not in damaged]
        problems.add(kind, len(numbers), (Problem(int(targets.order[n]), episodes[n], "") for n in numbers))
    totals, summaries = {}, {}
    listed: dict[str, Any] = {}
    if faults:
        totals["damaged"] = len(faults)
        summaries["damaged"] = f"{len(faults):,} record{'' if len(faults) == 1 else 's'} cannot be read"
        listed["damaged"] = [structs.asdict(fault) for fault in faults[:most]]
    for kind in POLICIES:
        if count := problems.counts.get(kind, 0):
            totals[kind] = count
            summaries[kind] = summary(kind, count, known.name, len(episodes))
            listed[kind] = [{"episode": one.episode, "what": one.what} for one in problems.first[kind]]
    unknown = totals.get("unknown", 0)
    if answers and unknown > answers / 2:
        summaries["unknown"] = (
            f"no answer is to an episode of {known.name}: wrong split?"
            if unknown == answers
            else f"{unknown:,} of the {answers:,} answers are to episodes that {known.name} does not have: wrong split?"
        )
    warnings = tuple(map(Sentence, [*seen.warnings(convention, WARPED), *other_split(given.name, known.name)]))
    return Findings(given.name, known.name, answers, len(episodes), totals, summaries, listed, warnings)


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
    scorer = Scorer(references, graphs or names_only(references), chosen)
    known = scorer.references
    assert known is not None
    batch = EpisodeBatch.from_queries(run.answers)
    problems, counts = Problems(), np.zeros(len(known.episodes), dtype=np.int64)
    matched = scorer.match(batch)
    first = first_answers(batch, matched, counts)
    kept, worst, matched = apply_policies(matched, batch, scorer, rules, problems, first)
    numbers = check_coverage(problems, rules, run.name, known, counts, len(batch))
    assert matched.pairs is not None
    listed = list(references.first_instructions(chosen.instructions).episodes.values())
    references_of = known.order[matched.pairs]
    found = sorted(zip(references_of[kept].tolist(), matched.order[kept].tolist(), strict=True))
    zeroed = {*references_of[worst].tolist(), *known.order[numbers].tolist()}
    pairs = tuple((listed[number], run.answers[row]) for number, row in found)
    return Joined(pairs, tuple(listed[number] for number in sorted(zeroed)), problems)


def names_only(references: References) -> Distance | None:
    """Return a distance that only tells nodes apart, where paths are labels and there are no graphs."""
    first = next(iter(references.episodes.values()), None)
    return Function(lambda a, b: float(a != b), name="names") if first and isinstance(first.path, list) else None
