"""What a convention's choices do to the numbers of a run, together and one at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wayscore.convention import Convention
from wayscore.episodes import References, Run
from wayscore.evaluation.runs import ReferencesLike, RunLike, score_runs
from wayscore.formats import load_references
from wayscore.formats.graphs import distances_for
from wayscore.metrics import METRICS, Metric, find_metrics


@dataclass(frozen=True, slots=True)
class Effects:
    """The means of one run by two conventions, and by the second with one choice of the first at a time.

    Attributes:
        run: the run's name.
        first: means by the first convention.
        second: means by the second.
        choices: by choice in which they differ, the means by the second with that choice made as the first makes it.
        metrics: what the means are of.
    """

    run: str
    first: Mapping[str, float]
    second: Mapping[str, float]
    choices: Mapping[str, Mapping[str, float]]
    metrics: tuple[Metric, ...]


def effects(
    run: RunLike,
    references: ReferencesLike,
    first: Convention,
    second: Convention,
    *,
    graphs: Any = None,
    metrics: Any = None,
) -> Effects:
    """Score a run by both conventions, and by every single choice in which they differ."""
    if metrics is None and first.metrics and second.metrics:
        named = dict.fromkeys((*first.metrics, *second.metrics))
        metrics = [*(symbol for symbol in METRICS if symbol in named), *(s for s in named if s not in METRICS)]
    wanted = find_metrics(metrics)
    asked = references if isinstance(references, References) else load_references(references)
    directed = first if first.distance == "directed hops" else second
    distance = graphs if isinstance(graphs, Mapping) else distances_for(asked, graphs, directed)

    def means(convention: Convention) -> dict[str, float]:
        return score_runs([run], asked, graphs=distance, convention=convention, metrics=wanted)[0].table.means()

    changed = [choice for choice in first.differences(second) if choice != "metrics"]
    by_choice = {choice: means(replace(second, **{choice: getattr(first, choice)})) for choice in changed}
    name = run.name if isinstance(run, Run | Path) else str(run)
    return Effects(name, means(first), means(second), by_choice, wanted)


def rows(found: Effects, names: Sequence[str]) -> list[tuple[str, Mapping[str, float]]]:
    """Return the lines of a table: both conventions, and the second with one choice of the first at a time."""
    first, second = names
    return [
        (first, found.first),
        (second, found.second),
        *((f"{second}, but {choice} as {first}", means) for choice, means in found.choices.items()),
    ]
