"""How metrics respond to changed episodes, and how these responses are classified.

A curve has one mean change per size, against the first size, with its 95 % interval; steps are the changes from each
size to the next. Changes are in units of the metric's scale: the width of its bounds, d_th for metres, else 1.

- invariant: no episode changes at any size, but for rounding (1e-9).
- indifferent: at every size the interval of the mean change lies within +-TOLERANCE.
- falls, rises: some change or step is certain (its interval excludes 0) and larger than TOLERANCE, and all such go in
  this direction.
- jumps down, jumps up: it falls or rises, the experiment is graded and has three sizes or more, and one step makes up
  JUMP or more of the whole change.
- mixed: such changes or steps go in both directions.
- unclear: none of these; more episodes are needed.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from wayscore.convention.choices import PAPER, Convention
from wayscore.distances.base import Floats
from wayscore.evaluation.score import score
from wayscore.lab.audit.battery.cases import Case, Cases
from wayscore.lab.audit.battery.experiments import Experiment
from wayscore.metrics import Metric
from wayscore.statistics import Interval, bootstrap_table
from wayscore.statistics.bootstrap import differences

Word: TypeAlias = Literal[
    "invariant", "indifferent", "falls", "rises", "jumps down", "jumps up", "mixed", "unclear", "undefined"
]
WORDS: tuple[Word, ...] = get_args(Word)
TOLERANCE = 0.01
"""Changes up to this share of the metric's scale do not matter."""
JUMP = 0.8
"""The share of the whole change that makes one step a jump."""


class Verdict(NamedTuple):
    """What a curve amounts to."""

    word: Word  # see above; "undefined" where no episode has a value at every size
    at: int | None = None  # the number of the size that it jumps at; None where it does not


def scale_of(metric: Metric, threshold: float) -> float:
    """Return what changes of a metric are compared with.

    >>> from wayscore import METRICS
    >>> scale_of(METRICS["nDTW"], 3.0), scale_of(METRICS["NE"], 3.0)
    (1, 3.0)
    """
    low, high = metric.bounds
    return high - low if np.isfinite(high - low) and high > low else threshold if metric.unit == "m" else 1.0


def classify(
    changes: Sequence[Interval], steps: Sequence[Interval], *, same: bool, scale: float, graded: bool = True
) -> Verdict:
    """Return the verdict on a curve: the changes against the first size, and the steps from each size to the next.

    `same` says that no episode changes at any size, and `graded` that sizes begin small, so that a metric can jump.

    >>> fall = Interval(-0.5, -0.6, -0.4)
    >>> classify([fall], [fall], same=False, scale=1.0)
    Verdict(word='falls', at=None)
    """
    if same:
        return Verdict("invariant")
    if any(one.mean is None for one in (*changes, *steps)):
        return Verdict("undefined")
    band = TOLERANCE * scale
    mean, low, high = np.array([*changes, *steps], dtype=np.float64).T
    count = len(changes)
    if (low[:count] >= -band).all() and (high[:count] <= band).all():
        return Verdict("indifferent")
    up, down = bool(((mean > band) & (low > 0)).any()), bool(((mean < -band) & (high < 0)).any())
    if up == down:
        return Verdict("mixed" if up else "unclear")
    largest = int(np.argmax(np.abs(mean[count:])))
    whole = np.ptp([0.0, *mean[:count]])
    if graded and count > 1 and abs(mean[count + largest]) >= JUMP * whole:
        return Verdict("jumps up" if up else "jumps down", largest + 1)
    return Verdict("rises" if up else "falls")


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

    The seed is that of the changes and of the bootstrap, which draws clusters of cases. What one experiment finds does
    not depend on the others.
    """
    changed = changed_cases(experiment, cases, seed)
    if not changed:
        return ()
    places = range(len(experiment.sizes))
    by_size = [scores_of([row[place] for row in changed], metrics, convention) for place in places]
    columns: dict[str, Floats] = {}
    for number, rows in enumerate(np.stack(by_size, axis=1)):
        rows = np.where(np.isfinite(rows).all(axis=0), rows, np.inf)  # the same episodes at every size
        for place, row in enumerate(rows):
            columns[f"{number} value {place}"] = row
            if place:
                columns[f"{number} change {place}"] = differences(row, rows[0])
                columns[f"{number} step {place}"] = differences(row, rows[place - 1])
    clusters = [row[0].cluster for row in changed]
    found = bootstrap_table(columns, rng=np.random.default_rng(seed), resamples=resamples, clusters=clusters)
    responses = []
    for number, metric in enumerate(metrics):
        values = tuple(found[f"{number} value {place}"] for place in places)
        changes, steps = (
            tuple(found[f"{number} {what} {place}"] for place in places[1:]) for what in ("change", "step")
        )
        moved = np.stack([columns[f"{number} change {place}"] for place in places[1:]])
        defined = np.isfinite(moved[0])
        same = bool(defined.any() and not moved[:, defined].any())
        scale = scale_of(metric, cases.threshold)
        verdict = classify(changes, steps, same=same, scale=scale, graded=experiment.graded)
        episodes = int(np.count_nonzero(defined))
        responses.append(Response(experiment.name, metric.symbol, episodes, values, changes, verdict))
    return tuple(responses)


def changed_cases(experiment: Experiment, cases: Cases, seed: int = 0) -> list[list[Case]]:
    """Return the changed cases, one per size, of each case that can be changed at every size."""
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
    """Return the scores, (metrics, cases); cases of one experiment and size share their threshold.

    Metrics that need points see the positions of nodes.
    """
    columns: dict[str, Floats] = {}
    for points in (False, True):
        some = [metric for metric in metrics if ("points" in metric.needs) == points]
        if not some:
            continue
        seen = [case.in_space() or case for case in cases] if points else cases
        places: dict[str, Any] = {}
        if seen[0].graph is not None:
            places["distance"] = {case.scene: case.distance for case in seen}
            places["scenes"] = [case.scene for case in seen]
        table = score(
            references=[case.reference for case in seen],
            queries=[case.query for case in seen],
            threshold=seen[0].threshold,
            metrics=some,
            convention=convention,
            episodes=[case.name for case in seen],
            **places,
        )
        columns |= table.columns
    return np.array([columns[metric.symbol] for metric in metrics])
