"""Episodes as files tell them: references (what was asked for), runs (what an agent did), and the two joined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from wayscore.convention import Convention
from wayscore.convention.presets import find_convention
from wayscore.episodes.problems import describe, find_problems
from wayscore.errors import FormatError, OptionError, did_you_mean

if TYPE_CHECKING:
    from wayscore.distances.graph import Graph

__all__ = [
    "POLICIES",
    "Joined",
    "Policy",
    "Query",
    "Reference",
    "References",
    "Run",
    "describe",
    "find_problems",
    "join",
]


@dataclass(frozen=True, slots=True)
class Reference:
    """One instructed path.

    Attributes:
        episode: its name, by which a run's query is found ("4332_1": the second instruction of path 4332).
        scene: the scan, building or map that it lies in.
        path: node labels, or an (n, k) float64 array of coordinates in metres.
        path_id: shared by the episodes that instruct one path in several words.
        instruction: the words.
        goals: nodes any of which ends the walk rightly, where the dataset names more than the last one.
        start_distance: the dataset's own distance from start to goal, metres, where it gives one.
        dense: a finely sampled version of the path, (n, 3), where the dataset has one.
        heading: where the agent looks at the start, radians clockwise from +y; 0 where the dataset does not tell.
    """

    episode: str
    scene: str
    path: Any
    path_id: str
    instruction: str = ""
    goals: tuple[str, ...] = ()
    start_distance: float | None = None
    dense: Any = None
    heading: float = 0.0


@dataclass(frozen=True, slots=True)
class Query:
    """What an agent did in one episode.

    Attributes:
        episode: the name of the reference that it answers.
        path: node labels, or an (n, k) float64 array of coordinates in metres.
        stopped: whether the agent said that it stopped; None where the file does not tell.
    """

    episode: str
    path: Any
    stopped: bool | None = None


@dataclass(frozen=True, slots=True)
class References:
    """The references of one file.

    Attributes:
        name: the file's name, for tables.
        format: which reader read it.
        episodes: by episode name, in the file's order.
        withheld: the file is a test split: paths hold the start only, so nothing can be scored.
    """

    name: str
    format: str
    episodes: Mapping[str, Reference]
    withheld: bool = False

    def first_instructions(self, count: int) -> References:
        """Return the same with at most `count` episodes a path, the first of each; 0 for all of them."""
        if not count:
            return self
        seen: dict[tuple[str, str], int] = {}
        kept = {}
        for name, reference in self.episodes.items():
            path = (reference.scene, reference.path_id)
            seen[path] = seen.get(path, 0) + 1
            if seen[path] <= count:
                kept[name] = reference
        return replace(self, episodes=kept)


@dataclass(frozen=True, slots=True)
class Run:
    """The queries of one agent.

    Attributes:
        name: the file's name without its endings, for tables.
        format: which reader read it.
        queries: by episode name, in the file's order; of several for one episode, the first.
        duplicates: names of episodes that the file answers more than once.
    """

    name: str
    format: str
    queries: Mapping[str, Query]
    duplicates: tuple[str, ...] = field(default=())


Policy: TypeAlias = Literal["error", "keep", "skip", "zero"]

POLICIES: dict[str, tuple[Policy, ...]] = {
    "missing": ("error", "skip", "zero"),
    "unknown": ("error", "skip"),
    "duplicate": ("error", "keep"),
    "start": ("error", "keep", "skip", "zero"),
    "move": ("keep", "error", "skip", "zero"),
    "node": ("error", "skip", "zero"),
}
"""What can be wrong between a run and its references, and what may be done about it; the first is the default.

- missing: a reference that the run does not answer.
- unknown: an answer to an episode that the references do not have.
- duplicate: an episode answered twice; "keep" scores the first answer.
- start: a query that begins elsewhere than its reference.
- move: a query with a step that is not an edge of its graph; kept ones are charged the shortest way.
- node: a query that visits a place which its scene does not have.

"error" refuses the run, "keep" scores what is there, "skip" leaves the episode out, "zero" gives it the worst scores.
"""


@dataclass(frozen=True, slots=True)
class Joined:
    """A run beside its references, ready to be scored.

    Attributes:
        run: the run's name.
        references: the references' name.
        episodes: names of the episodes to score, in the references' order.
        pairs: reference and query of each.
        worst: names of the episodes that get the worst scores instead.
        problems: names of the episodes that each kind of problem concerns.
        policies: what was done about each kind.
        order: where each reference stands in its file.
    """

    run: str
    references: str
    episodes: tuple[str, ...]
    pairs: tuple[tuple[Reference, Query], ...]
    worst: tuple[Reference, ...]
    problems: Mapping[str, tuple[str, ...]]
    policies: Mapping[str, Policy]
    order: Mapping[str, int]


def join(
    run: Run,
    references: References,
    *,
    graphs: Mapping[str, Graph] | None = None,
    convention: str | Path | Convention = "paper",
    **policies: Policy | None,
) -> Joined:
    """Find the query of every reference, and deal with what does not fit as the policies say.

    Args:
        run: what the agent did.
        references: what was asked for.
        graphs: scene -> graph; with them moves that are not edges are found.
        convention: says how many instructions of a path count, and what is done where no policy is given.
        **policies: by kind of problem (see `POLICIES`), for example `missing="zero"`.
    """
    rules = find_convention(convention)
    references = references.first_instructions(rules.instructions)
    chosen = _policies(policies, rules)
    if references.withheld:
        raise FormatError(
            f"{references.name}: this split holds starts only (its ground truth is withheld), so nothing can be "
            "scored; `wayscore validate` checks a run against it"
        )
    problems = find_problems(run, references, graphs)
    for kind, concerned in problems.items():
        if concerned and chosen[kind] == "error":
            others = " or ".join(policy for policy in POLICIES[kind] if policy != "error")
            raise FormatError(
                f"{run.name}: {describe(kind, concerned, references, run=run, graphs=graphs)}; see {kind}={others}"
                + ("; `wayscore score --duplicate all` scores every answer" if kind == "duplicate" else "")
            )
    left_out = {name for kind, some in problems.items() if chosen[kind] in ("skip", "zero") for name in some}
    worst = {name for kind, some in problems.items() if chosen[kind] == "zero" for name in some}
    names = [name for name in references.episodes if name in run.queries and name not in left_out]
    return Joined(
        run.name,
        references.name,
        tuple(names),
        tuple((references.episodes[name], run.queries[name]) for name in names),
        tuple(reference for name, reference in references.episodes.items() if name in worst),
        problems,
        chosen,
        {name: place for place, name in enumerate(references.episodes)},
    )


def _policies(given: Mapping[str, Policy | None], rules: Convention) -> dict[str, Policy]:
    chosen: dict[str, Policy] = {kind: getattr(rules, kind, allowed[0]) for kind, allowed in POLICIES.items()}
    for kind, policy in given.items():
        if kind not in POLICIES:
            raise OptionError(
                f"there is no policy for {kind!r}{did_you_mean(kind, POLICIES)} Known: {', '.join(POLICIES)}"
            )
        if policy is None:
            continue
        if policy not in POLICIES[kind]:
            raise OptionError(f"{kind} episodes may be {', '.join(POLICIES[kind])}; got {policy!r}")
        chosen[kind] = policy
    return chosen
