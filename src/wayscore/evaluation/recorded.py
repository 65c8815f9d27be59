"""What is known of every query beside its path: what the run recorded, and what the references say."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.convention.choices import Convention
from wayscore.distances.base import Floats
from wayscore.errors import PathError, listed, shortened
from wayscore.metrics import Metric

STEPWISE = frozenset({"goal_distances", "headings"})
"""What is one value for each step of a query."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What is known, by row.

    Attributes:
        facts: by name, one value for each query, None where it is not known.
        counts: how many nodes each query was recorded with; None where that is how many are scored.
        kept: which of them are scored, where repeats are dropped and something is known of every step.
    """

    names: Sequence[Any] | NDArray[np.object_]
    scenes: Sequence[Any] | NDArray[np.object_] | None = None
    facts: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    counts: Floats | None = None
    kept: Sequence[NDArray[np.bool_]] | None = None

    def of(self, row: int) -> dict[str, Any]:
        """Return what is known of one row; what is known of every step, of the steps that are scored."""
        found = {name: values[row] for name, values in self.facts.items() if values[row] is not None}
        if self.kept is not None:
            for name in STEPWISE & found.keys():
                found[name] = np.asarray(found[name])[self.kept[row]]
        return found

    def has(self, name: str) -> NDArray[np.bool_]:
        """Return which rows something is known of."""
        values = self.facts.get(name)
        if values is None:
            return np.zeros(len(self.names), dtype=bool)
        return np.fromiter((value is not None for value in values), dtype=bool, count=len(self.names))

    def goal_distances(self) -> tuple[NDArray[np.bool_], Floats]:
        """Return which rows have distances to the goal, and of these the first, the last and the least, (3, rows)."""
        known, found = self.has("goal_distances"), np.zeros((3, len(self.names)))
        for row in np.flatnonzero(known).tolist():
            values = self._checked(row)
            found[:, row] = values[0], values[-1], values.min()
        return known, found

    def _checked(self, row: int) -> Floats:
        assert self.counts is not None
        given, count = self.facts["goal_distances"][row], int(self.counts[row])
        where = f"episode {self.names[row]}, goal_distances"
        try:
            values = np.array(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise PathError(f"{where}: expected metres, one number for each position, got {shortened(given)}") from None
        if values.shape != (count,):
            raise PathError(
                f"{where}: {values.size} distances but {count} positions; give one for each position of the query"
            )
        if not (values >= 0).all():
            raise PathError(f"{where}: must not be negative or NaN; infinity means unreachable, got {shortened(given)}")
        return values

    def start_distances(self, convention: Convention, known: NDArray[np.bool_]) -> Floats:
        """Return the dataset's distances from start to goal, for rows whose distances to the goal are not recorded."""
        given = self.facts.get("start_distance") or [None] * len(self.names)
        missing = next((row for row in np.flatnonzero(~known).tolist() if given[row] is None), None)
        if missing is not None:
            raise PathError(
                f"episode {self.names[missing]}: there is no distance from start to goal, which SPL of the convention "
                f"{convention.name} needs; give start_distances or goal_distances (VLN-CE's references have it as "
                "info.geodesic_distance, a table as start_distance), or leave SPL out of <<metrics>>"
            )
        return np.array([0.0 if value is None else value for value in given], dtype=np.float64)


def wanted_records(metrics: Collection[Metric], convention: Convention) -> frozenset[str] | None:
    """Return what has to be known of queries; None for all there is, which functions of one episode may look at."""
    if any(metric.measure is not None for metric in metrics):
        return None
    wanted = {"goal_distances"}
    if convention.goal != "last" or any("goals" in metric.needs for metric in metrics):
        wanted.add("goals")
    if convention.goal_distance == "simulator":
        wanted.add("start_distance")
    if convention.stop == "required":
        wanted.add("stopped")
    return frozenset(wanted)


STAND_INS = {
    "goal_distances": "NE, ONE and success use the distance given, not the simulator's, which sees walls; record "
    "`goal_distances` in the run",
    "stopped": "they count as stopped, and only a stop can succeed; record `stopped` in the run",
    "finished": "all positions count as ends of actions; record `finished` in the run",
    "decisions": "all positions count as decisions; record `decisions` in the run",
    "boxes": "the goal is the reference's end, though the object may be seen from elsewhere; give `boxes` with the "
    "references",
    "waypoint_distances": "WA uses straight lines, not the simulator's ways; record `waypoint_distances` in the run",
    "termination_reason": "none counts as broken off; record `termination_reason` in the run",
}
"""What is done where something was not recorded, for what it is not undefined then."""


def missing_warnings(unrecorded: Mapping[str, int], episodes: int, metrics: Collection[Metric]) -> list[str]:
    """Say what was not recorded, in how many episodes, and what that does.

    >>> from wayscore.metrics import find_metrics
    >>> missing_warnings({"predicted_object": 3}, 5, find_metrics("RGS,RGSPL"))
    ['3 of 5 episodes have no `predicted_object`: RGS and RGSPL are undefined there']
    """
    found = []
    for name, count in unrecorded.items():
        users = [metric.symbol for metric in metrics if name in metric.records]
        undefined = f"{listed(users)} {'is' if len(users) == 1 else 'are'} undefined there" if users else ""
        found.append(f"{count:,} of {episodes:,} episodes have no `{name}`: {STAND_INS.get(name, undefined)}")
    return found
