"""From files to scored runs: read, joined with one set of references, named apart, scored alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from wayscore.episodes import Joined, References, Run, join
from wayscore.errors import OptionError
from wayscore.formats import load_references, load_run
from wayscore.formats.ahead import Ahead
from wayscore.formats.graphs import distances_for
from wayscore.scoring import score_joined

if TYPE_CHECKING:
    from wayscore.scoring.table import ScoreTable

RunLike: TypeAlias = Run | str | Path
ReferencesLike: TypeAlias = References | str | Path
Progress: TypeAlias = Callable[[str], None]
"""Called with a few words before each piece of work."""


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """A run with its scores.

    Attributes:
        name: what to call it, different from all others.
        joined: what was scored.
        table: the scores, a row an episode.
    """

    name: str
    joined: Joined
    table: ScoreTable


def score_runs(
    runs: Sequence[RunLike],
    references: ReferencesLike,
    *,
    graphs: Mapping[str, Any] | str | Path | None = None,
    convention: Any = "paper",
    threshold: float | None = None,
    metrics: Any = None,
    policies: Mapping[str, Any] | None = None,
    shared: bool = False,
    progress: Progress | None = None,
) -> list[ScoredRun]:
    """Read, join and score several runs.

    Args:
        runs: result files, or runs that were read before.
        references: what was asked for.
        graphs: connectivity files, or scene -> graph; not needed for paths of coordinates.
        convention: the set of choices to score by.
        threshold: success threshold, in the units of the distance; the convention's by default.
        metrics: which metrics; the convention's by default.
        policies: what to do about each kind of problem (see `wayscore.episodes.POLICIES`).
        shared: score only the episodes that all runs share.
        progress: told of every piece of work: two for each run.
    """
    tell = progress or (lambda _: None)
    asked = references if isinstance(references, References) else load_references(references)
    found = Ahead(lambda: graphs if isinstance(graphs, Mapping) else distances_for(asked, graphs, convention))
    joined = []
    for run in runs:
        tell(f"reading {run.name if isinstance(run, Run) else Path(run).name}")
        done = run if isinstance(run, Run) else load_run(run)
        joined.append(join(done, asked, graphs=found.result(), convention=convention, **(policies or {})))
    names = names_apart([one.run for one in joined], runs)
    if shared:
        joined = _shared(joined, names)
    scored = []
    for name, one in zip(names, joined, strict=True):
        tell(f"scoring {name}")
        table = score_joined(one, distance=found.result(), convention=convention, threshold=threshold, metrics=metrics)
        scored.append(ScoredRun(name, one, table))
    return scored


def names_apart(names: Sequence[str], runs: Sequence[RunLike]) -> list[str]:
    """Return names that differ: those of files in several folders get their folder, others a number.

    >>> names_apart(["results", "results", "other"], ["a/results.json", "b/results.json", "other.json"])
    ['a/results', 'b/results', 'other']
    >>> names_apart(["results", "results"], ["results.json", "results.json"])
    ['results', 'results (2)']
    """
    homes = ["" if isinstance(run, Run) else Path(run).absolute().parent.name for run in runs]
    apart: list[str] = []
    for name, home in zip(names, homes, strict=True):
        several = len({other for other, same in zip(homes, names, strict=True) if same == name}) > 1
        wanted = f"{home}/{name}" if several and home else name
        number = 1
        while (unused := wanted if number == 1 else f"{wanted} ({number})") in apart:
            number += 1
        apart.append(unused)
    return apart


def _shared(joined: Sequence[Joined], names: Sequence[str]) -> list[Joined]:
    """Restrict runs to the episodes that are scored in all of them."""
    rows = [{*one.episodes, *(reference.episode for reference in one.worst)} for one in joined]
    common = frozenset.intersection(*map(frozenset, rows))
    if not common:
        counts = ", ".join(f"{name} {len(row)}" for name, row in zip(names, rows, strict=True))
        raise OptionError(f"the runs share no episode that can be scored (episodes of each: {counts})")
    return [
        replace(
            one,
            episodes=tuple(name for name in one.episodes if name in common),
            pairs=tuple(pair for pair in one.pairs if pair[0].episode in common),
            worst=tuple(reference for reference in one.worst if reference.episode in common),
        )
        for one in joined
    ]
