"""How metrics respond to one experiment: curves of means with intervals, and verdicts."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wayscore.convention.choices import PAPER, Convention
from wayscore.distances.base import Floats
from wayscore.evaluation.score import score
from wayscore.evaluation.table import ScoreTable
from wayscore.lab.audit.battery.cases import Case, Cases
from wayscore.lab.audit.battery.experiments import Experiment
from wayscore.lab.audit.battery.verdicts import Verdict, judge, scale_of
from wayscore.metrics import Metric
from wayscore.statistics import Interval, bootstrap_table
from wayscore.statistics.values import differences


@dataclass(frozen=True, slots=True)
class Response:
    """How one metric responds to one experiment.

    Attributes:
        experiment: its name.
        metric: the metric's symbol.
        episodes: how many episodes could be changed at every size and have a value at each.
        values: the mean at each size, with its 95 % interval.
        changes: the mean change at each size after the first, against the first.
        verdict: what the curve amounts to.
    """

    experiment: str
    metric: str
    episodes: int
    values: tuple[Interval, ...]
    changes: tuple[Interval, ...]
    verdict: Verdict

    @property
    def largest(self) -> float | None:
        """The change that is furthest from 0; None where none is defined."""
        return None if self.largest_at is None else self.changes[self.largest_at - 1].mean

    @property
    def largest_at(self) -> int | None:
        """The number of the size, from 0 on, at which the largest change is; None where none is defined."""
        known = {place: abs(one.mean) for place, one in enumerate(self.changes, start=1) if one.mean is not None}
        return max(known, key=lambda place: known[place]) if known else None

    def to_dict(self, sizes: Sequence[float]) -> dict[str, Any]:
        """Return plain values; `sizes` are those of the experiment."""
        at = self.verdict.at
        return {
            "experiment": self.experiment,
            "metric": self.metric,
            "episodes": self.episodes,
            "verdict": self.verdict.word,
            "jumps_at": None if at is None else sizes[at],
            "values": [{"size": size, **one._asdict()} for size, one in zip(sizes, self.values, strict=True)],
            "changes": [{"size": size, **one._asdict()} for size, one in zip(sizes[1:], self.changes, strict=True)],
        }


def respond(
    experiment: Experiment,
    cases: Cases,
    metrics: Sequence[Metric],
    *,
    convention: Convention = PAPER,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[Response, ...]:
    """Carry out one experiment; return the response of each metric, none where the experiment does not apply.

    Args:
        experiment: what is changed.
        cases: where.
        metrics: whose responses.
        convention: what episodes are scored by.
        resamples: of the bootstrap, which draws clusters of cases.
        seed: random seed of the changes and the bootstrap; what one experiment finds does not depend on the others.
    """
    changed = changed_cases(experiment, cases, seed)
    if not changed:
        return ()
    by_size = [
        scores_of([row[place] for row in changed], metrics, convention) for place in range(len(experiment.sizes))
    ]
    scores = np.stack(by_size, axis=1)  # metrics, sizes, cases
    clusters = [row[0].cluster for row in changed]
    columns: dict[str, Floats] = {}
    for number in range(len(metrics)):
        rows = scores[number]
        rows = np.where(np.isfinite(rows).all(axis=0), rows, np.inf)  # the same episodes at every size
        for place, row in enumerate(rows):
            columns[f"{number} value {place}"] = row
            if place:
                columns[f"{number} change {place}"] = differences(row, rows[0])
                columns[f"{number} step {place}"] = differences(row, rows[place - 1])
    found = bootstrap_table(columns, rng=np.random.default_rng(seed), resamples=resamples, clusters=clusters)
    places = range(1, len(experiment.sizes))
    responses = []
    for number, metric in enumerate(metrics):
        changes = tuple(found[f"{number} change {place}"] for place in places)
        steps = [found[f"{number} step {place}"] for place in places]
        moved = np.stack([columns[f"{number} change {place}"] for place in places])
        defined = np.isfinite(moved[0])
        same = bool(defined.any() and not moved[:, defined].any())
        responses.append(
            Response(
                experiment.name,
                metric.symbol,
                int(np.count_nonzero(defined)),
                tuple(found[f"{number} value {place}"] for place in range(len(experiment.sizes))),
                changes,
                judge(changes, steps, same=same, scale=scale_of(metric, cases.threshold), graded=experiment.graded),
            )
        )
    return tuple(responses)


def changed_cases(experiment: Experiment, cases: Cases, seed: int = 0) -> list[list[Case]]:
    """Return for each case that can be changed at every size the changed cases, one per size."""
    found = []
    word = zlib.crc32(experiment.name.encode())
    for number, case in enumerate(cases.perfect if experiment.base == "perfect" else cases.faulty):
        base = case.in_space() if experiment.on == "points" else case
        if base is None or (experiment.on == "nodes" and base.graph is None):
            continue
        row = []
        for size in experiment.sizes:
            changed = experiment.change(base, size, np.random.default_rng([seed, word, number]))
            if changed is None:
                break
            row.append(changed)
        else:
            found.append(row)
    return found


def scores_of(cases: Sequence[Case], metrics: Sequence[Metric], convention: Convention = PAPER) -> Floats:
    """Return (metrics, cases): one score each; cases of one experiment and size share their threshold.

    Metrics that need points see the positions of nodes.
    """
    in_space = [metric for metric in metrics if "points" in metric.needs]
    others = [metric for metric in metrics if metric not in in_space]
    columns: dict[str, Floats] = {}
    for some, seen in ((others, cases), (in_space, [case.in_space() or case for case in cases] if in_space else [])):
        if some:
            columns |= _table(seen, some, convention).columns
    return np.array([columns[metric.symbol] for metric in metrics])


def _table(cases: Sequence[Case], metrics: Sequence[Metric], convention: Convention) -> ScoreTable:
    settings: dict[str, Any] = {}
    if cases[0].graph is not None:
        settings = {"distance": {case.scene: case.distance for case in cases}, "scenes": [case.scene for case in cases]}
    return score(
        references=[case.reference for case in cases],
        queries=[case.query for case in cases],
        threshold=cases[0].threshold,
        metrics=metrics,
        convention=convention,
        episodes=[case.name for case in cases],
        **settings,
    )
