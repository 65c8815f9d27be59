"""What a convention's choices do to the numbers of a run, together and one at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from wayscore.convention.choices import Convention
from wayscore.evaluation.evaluator import evaluate
from wayscore.evaluation.inputs import find_distances, find_references
from wayscore.metrics import METRICS, Metric, find_metrics
from wayscore.metrics.registry import KNOWN


@dataclass(frozen=True, slots=True)
class Effects:
    """The means of one run by two conventions, and by the second with one choice of the first at a time.

    Attributes:
        names: of the conventions.
        first: means by the first convention.
        second: means by the second.
        choices: by choice in which they differ, the means by the second with that choice made as the first makes it.
        metrics: what the means are of.
    """

    names: tuple[str, str]
    first: Mapping[str, float | None]
    second: Mapping[str, float | None]
    choices: Mapping[str, Mapping[str, float | None]]
    metrics: tuple[Metric, ...]

    def rows(self) -> list[tuple[str, Mapping[str, float | None]]]:
        """Return the lines of a table: both conventions, and the second with one choice of the first at a time."""
        first, second = self.names
        changed = ((f"{second}, but {choice} as {first}", means) for choice, means in self.choices.items())
        return [(first, self.first), (second, self.second), *changed]

    def changing(self) -> Effects:
        """Return the same with only the choices that change a mean, and the metrics whose means change."""
        kept = {
            choice: means
            for choice, means in self.choices.items()
            if any(_rounded(means[one.symbol]) != _rounded(self.second[one.symbol]) for one in self.metrics)
        }
        rows = (self.first, self.second, *kept.values())
        metrics = (one for one in self.metrics if len({_rounded(means[one.symbol]) for means in rows}) > 1)
        return replace(self, choices=kept, metrics=tuple(metrics))


def _rounded(mean: float | None) -> float | None:
    return None if mean is None else round(mean, 9)  # rounding errors are no change


def effects(
    run: Any, references: Any, first: Convention, second: Convention, *, graphs: Any = None, metrics: Any = None
) -> Effects:
    """Score a run by both conventions, and by every single choice in which they differ.

    Columns that one of them computes in its own way count as one choice, "columns".
    """
    if metrics is None:
        one, other = ({metric.symbol for metric in find_metrics(None, convention)} for convention in (first, second))
        metrics = [symbol for symbol in KNOWN if symbol in (one | other if symbol in METRICS else one & other)]
    known = find_references(references)
    distances = find_distances(graphs, known, first if first.distance == "directed hops" else second)

    def means(convention: Convention) -> dict[str, float | None]:
        return evaluate(run, known, distances, convention=convention, metrics=metrics).means()

    def own(convention: Convention) -> set[str]:
        return {key for key in convention.metrics if ":" in key}

    changed = {choice: choice for choice in first.differences(second) if choice != "metrics"}
    changed |= {"columns": "metrics"} if own(first) != own(second) else {}
    by_choice = {name: means(replace(second, **{choice: getattr(first, choice)})) for name, choice in changed.items()}
    return Effects((first.name, second.name), means(first), means(second), by_choice, find_metrics(metrics, first))
