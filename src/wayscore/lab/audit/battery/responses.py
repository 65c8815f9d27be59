"""How metrics respond to changed episodes: the experiments, the responses, and how they are classified.

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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from wayscore.convention.choices import PAPER, Convention
from wayscore.distances.base import Floats
from wayscore.errors import OptionError, did_you_mean
from wayscore.evaluation.score import score
from wayscore.evaluation.table import ScoreTable
from wayscore.lab.audit.battery import changes
from wayscore.lab.audit.battery.changes import Case, Cases, Change
from wayscore.metrics import Metric
from wayscore.statistics import Interval, bootstrap_table
from wayscore.statistics.bootstrap import differences

Word: TypeAlias = Literal[
    "invariant", "indifferent", "falls", "rises", "jumps down", "jumps up", "mixed", "unclear", "undefined"
]
WORDS: tuple[Word, ...] = Word.__args__  # type: ignore[attr-defined]
TOLERANCE = 0.01
"""Changes up to this share of the metric's scale do not matter."""
JUMP = 0.8
"""The share of the whole change that makes one step a jump."""


class Verdict(NamedTuple):
    """What a curve amounts to.

    Attributes:
        word: see above; "undefined" where no episode has a value at every size.
        at: the number of the size that it jumps at; None where it does not.
    """

    word: Word
    at: int | None = None


def scale_of(metric: Metric, threshold: float) -> float:
    """Return what changes of a metric are compared with.

    >>> from wayscore import METRICS
    >>> scale_of(METRICS["nDTW"], 3.0), scale_of(METRICS["NE"], 3.0)
    (1, 3.0)
    """
    low, high = metric.bounds
    return high - low if np.isfinite(high - low) and high > low else threshold if metric.unit == "m" else 1.0


def judge(
    changes: Sequence[Interval], steps: Sequence[Interval], *, same: bool, scale: float, graded: bool = True
) -> Verdict:
    """Return the verdict on a curve.

    Args:
        changes: at every size after the first, against the first.
        steps: at every size after the first, against the size before.
        same: no episode changes at any size.
        scale: of the metric, see `scale_of`.
        graded: whether it can jump: sizes begin small.

    >>> fall = Interval(-0.5, -0.6, -0.4)
    >>> judge([fall], [fall], same=False, scale=1.0)
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
class Experiment:
    """One change of episodes, in several sizes.

    Attributes:
        name: what tables and `--experiments` call it.
        about: what is changed, in words.
        sizes: from none (what the others are compared with) to the largest.
        unit: what the sizes are.
        change: the function that changes an episode.
        base: the walk that is changed: a "perfect" one, or a "faulty" one, where a perfect one would hide the change.
        on: "nodes" of a graph, "points" in space, or "any".
        graded: sizes begin small enough to see whether a metric jumps; doubling the density does not.
    """

    name: str
    about: str
    sizes: tuple[float, ...]
    unit: str
    change: Change
    base: Literal["perfect", "faulty"] = "perfect"
    on: Literal["nodes", "points", "any"] = "any"
    graded: bool = True


_POINTS: dict[str, Any] = {"base": "faulty", "on": "points", "graded": False}
_AWAY: dict[str, Any] = {"sizes": (0, 1, 2, 3, 4), "unit": "edges away", "on": "nodes"}
_SWITCH: dict[str, Any] = {"sizes": (0, 1), "unit": "", "graded": False}
_FACTORS: dict[str, Any] = {"sizes": (1, 2, 5, 10), "unit": "times", **_POINTS}
_PARTS: dict[str, Any] = {"sizes": (1, 2, 4, 8), "unit": "parts", **_POINTS}
EXPERIMENTS: dict[str, Experiment] = {
    one.name: one
    for one in (
        Experiment("scale", "both paths and d_th are multiplied", change=changes.scale, **_FACTORS),
        Experiment("scale-only", "both paths are multiplied; d_th stays", change=changes.magnify, **_FACTORS),
        Experiment(
            "translation", "both paths are moved together", (0, 1, 10, 100), "d_th", changes.translate, **_POINTS
        ),
        Experiment("query-density", "steps of the query are divided", change=changes.densify_query, **_PARTS),
        Experiment(
            "reference-density", "steps of the reference are divided", change=changes.densify_reference, **_PARTS
        ),
        Experiment("both-densities", "steps of both paths are divided", change=changes.densify_both, **_PARTS),
        Experiment(
            "repeats",
            "every node of the query is logged several times",
            (1, 2, 3, 5),
            "times",
            changes.repeat,
            "faulty",
            graded=False,
        ),
        Experiment("swap", "reference and query are exchanged", change=changes.swap, base="faulty", **_SWITCH),
        Experiment("reversed", "the reference is walked from its end", change=changes.reverse, **_SWITCH),
        Experiment(
            "shuffled",
            "inner nodes of the query are exchanged at random",
            (0, 0.25, 0.5, 1),
            "of the nodes",
            changes.shuffle,
        ),
        Experiment(
            "reversed-loop", "a loop is walked the other way around", change=changes.reverse_loop, on="nodes", **_SWITCH
        ),
        Experiment("retrace", "the query walks some edges back and forth", (0, 1, 2), "edges", changes.retrace),
        Experiment(
            "near-miss",
            "the whole query is moved aside",
            (0, 0.001, 0.01, 0.1, 0.5, 0.9, 1.1, 2),
            "d_th",
            changes.shift,
            on="points",
        ),
        Experiment(
            "misplaced-point",
            f"one point is {changes.MISPLACED} d_th off, at the middle or nearer to the end",
            (0.5, 0.75, 1),
            "of the query",
            changes.misplace,
            on="points",
        ),
        Experiment("detour", "the query leaves the reference and comes back", change=changes.detour, **_AWAY),
        Experiment(
            "stop-early",
            "the last edges are not walked",
            (0, 0.2, 0.4, 0.6, 0.8, 1),
            "of the edges",
            changes.stop_early,
        ),
        Experiment("stop-late", "the query goes on beyond the goal", change=changes.stop_late, **_AWAY),
        Experiment("overshoot", "the query passes the goal and comes back to it", change=changes.overshoot, **_AWAY),
        Experiment("start-elsewhere", "the query walks to the start first", change=changes.start_elsewhere, **_AWAY),
    )
}
"""Name -> experiment."""


def find_experiments(names: Iterable[str] | None = None) -> tuple[Experiment, ...]:
    """Return experiments by name; all of them by default.

    >>> [one.unit for one in find_experiments(["detour"])]
    ['edges away']
    """
    if names is None:
        return tuple(EXPERIMENTS.values())
    found = []
    for name in [names] if isinstance(names, str) else names:
        if name not in EXPERIMENTS:
            raise OptionError(
                f"there is no experiment {name!r}{did_you_mean(name, EXPERIMENTS) or '.'} "
                f"Known: {', '.join(EXPERIMENTS)}"
            )
        found.append(EXPERIMENTS[name])
    return tuple(dict.fromkeys(found))


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
