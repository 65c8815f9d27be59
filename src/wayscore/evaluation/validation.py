"""Everything that is wrong with a run: records that cannot be read, and what does not fit the references."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from wayscore.episodes import References, Run
from wayscore.episodes.problems import detail, find_problems, summary
from wayscore.formats import Fault
from wayscore.report.layout import counted


@dataclass(frozen=True, slots=True)
class Findings:
    """All that is wrong with a run.

    Attributes:
        run: its name.
        references: the references' name.
        answers: how many answers could be read.
        episodes: how many episodes there are to answer.
        counts: how many problems there are of each kind that there is; records that cannot be read are "damaged".
        summaries: the same in words.
        problems: the first of each kind, each as an object with the episode and what is known of the place.
    """

    run: str
    references: str
    answers: int
    episodes: int
    counts: Mapping[str, int]
    summaries: Mapping[str, str]
    problems: Mapping[str, Sequence[Mapping[str, Any]]]

    @classmethod
    def of(
        cls, run: Run, references: References, graphs: Mapping[str, Any] | None, faults: list[Fault], most: int | None
    ) -> Findings:
        """Find what does not fit the references, and tell at most so many problems of each kind."""
        kinds = find_problems(run, references, graphs)
        faults = sorted(faults, key=_number)  # readers find wrong types first, and then what they mean
        damaged = {fault.episode for fault in faults}  # these are answered, if badly
        kinds["missing"] = tuple(name for name in kinds["missing"] if name not in damaged)
        counts = {"damaged": len(faults)} | {kind: len(names) for kind, names in kinds.items()}
        summaries = {kind: summary(kind, len(names), references) for kind, names in kinds.items()}
        summaries["damaged"] = f"{counted(len(faults), 'record')} cannot be read"
        problems: dict[str, list[dict[str, Any]]] = {"damaged": [asdict(fault) for fault in faults[:most]]}
        for kind, names in kinds.items():
            problems[kind] = [
                {"episode": name, "what": detail(kind, name, run, references, graphs)} for name in names[:most]
            ]
        present = [kind for kind, count in counts.items() if count]
        return cls(
            run.name,
            references.name,
            len(run.queries),
            len(references.episodes),
            {kind: counts[kind] for kind in present},
            {kind: summaries[kind] for kind in present},
            {kind: problems[kind] for kind in present},
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--format json` prints."""
        return {
            "run": self.run,
            "references": self.references,
            "answers": self.answers,
            "episodes": self.episodes,
            "counts": dict(self.counts),
            "problems": {kind: list(problems) for kind, problems in self.problems.items()},
        }

    def lines(self) -> Iterator[str]:
        """Say all of it in words."""
        for kind, problems in self.problems.items():
            left = self.counts[kind] - len(problems)
            more = f" and {left:,} more; --all lists them" if left else ""
            if kind != "damaged" and not any(problem["what"] for problem in problems):
                yield f"{self.summaries[kind]}: {', '.join(problem['episode'] for problem in problems)}{more}"
                continue
            yield f"{self.summaries[kind]}:"
            if kind == "damaged":
                yield from _damaged([Fault(**problem) for problem in problems])
            else:
                yield from (f"  {problem['episode']}: {problem['what']}" for problem in problems)
            if more:
                yield f" {more}"
        scope = f"{self.answers:,} answers to {self.episodes:,} episodes of {self.references}"
        if self.counts:
            total = sum(self.counts.values())
            yield f"{self.run}: {total:,} problem{'' if total == 1 else 's'} in {scope}"
        else:
            yield f"{self.run}: {scope}, no problem found"


def _damaged(faults: Sequence[Fault]) -> Iterator[str]:
    """Tell faults, and what most of them miss only once."""
    told = Counter(fault.expected for fault in faults if fault.expected)
    common = told.most_common(1)[0][0] if told else ""
    for fault in faults:
        yield f"  {replace(fault, expected='') if fault.expected == common else fault}"
    if common:
        yield f"  expected {common}"


def _number(fault: Fault) -> int:
    """Return where a fault is, for sorting: what concerns the whole file comes first."""
    found = re.search(r"\d+", fault.where)
    return int(found[0]) if found else -1
