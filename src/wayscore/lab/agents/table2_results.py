"""What the trainings of Table 2 came to: means over seeds, paired differences, and scores by cap."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wayscore.lab.agents.checkpoints import CURVE, SHOWN, read_curve
from wayscore.lab.agents.table2 import FOLLOWING, METRICS, Plan, random_row, trials, validation_data

PAPER: dict[tuple[str, str], tuple[float, ...]] = {
    ("r2r", "random"): (5.1, 3.3, 5.8, 29.0, 27.9, 3.6),
    ("r2r", "goal"): (43.7, 38.4, 31.9, 53.5, 54.4, 36.1),
    ("r2r", "fidelity"): (44.4, 41.4, 33.9, 57.5, 58.3, 38.3),
    ("r4r", "random"): (13.7, 2.2, 16.5, 22.3, 18.5, 4.1),
    ("r4r", "goal"): (28.7, 15.0, 9.6, 33.4, 26.9, 11.4),
    ("r4r", "fidelity"): (28.5, 21.4, 9.4, 35.4, 30.4, 12.6),
}
"""Dataset and agent -> the paper's numbers, percent, in the order of `METRICS`."""
PAIRS = (
    ("fidelity", "goal"),
    ("fidelity", "goal-per-threshold"),
    ("fidelity", "continued"),
    ("goal", "continued"),
    ("fidelity-planned", "goal-planned"),
    ("goal-planned", "continued-planned"),
)
"""What is tested: the first agent less the second."""
STOPPING = "never stopped"
WINDINGS = ((1.0, 1.2), (1.2, 2.0), (2.0, 5.0), (5.0, math.inf))
"""From and to how many times the shortest path between its ends a reference is long."""


@dataclass(frozen=True)
class Cell:
    """A mean over seeds, percent, and half the width of its 95 % interval (0 with one seed, never NaN)."""

    mean: float
    margin: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Cell:
        """Return the mean of shares over seeds, with Student's interval.

        >>> Cell.of([0.40, 0.42])
        Cell(mean=41.0, margin=12.7)
        """
        count = len(values)
        mean = 100 * math.fsum(values) / count
        if count < 2:
            return cls(round(mean, 4), 0.0)
        from scipy.special import stdtrit  # the quantile of Student's t; scipy.stats takes a second to import

        spread = math.sqrt(math.fsum((100 * value - mean) ** 2 for value in values) / (count - 1))
        return cls(round(mean, 4), round(float(stdtrit(count - 1, 0.975)) * spread / math.sqrt(count), 1))


@dataclass(frozen=True)
class Gap:
    """How far one agent is ahead of another in one metric, percent.

    Attributes:
        seeds: the mean over seeds of the difference in each, with Student's interval.
        wins: in how many seeds the difference is positive.
        intervals: cluster ("path", "scan") -> the bounds of the 95 % bootstrap interval that resamples seeds and
            clusters of episodes.
    """

    seeds: Cell
    wins: int
    intervals: Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class Table2:
    """All results.

    Attributes:
        rows: dataset and agent -> metric -> mean over seeds.
        gaps: dataset, agent and the agent it is compared with -> metric -> how far it is ahead.
        caps: dataset and agent -> largest number of moves -> metric, or `STOPPING` (share of walks) -> mean over seeds.
        windings: dataset -> range of `WINDINGS` -> how many episodes, and fidelity less goal by metric.
        trainings: what every training wrote, by its name.
    """

    rows: Mapping[tuple[str, str], Mapping[str, Cell]]
    gaps: Mapping[tuple[str, str, str], Mapping[str, Gap]] = field(default_factory=dict)
    caps: Mapping[tuple[str, str], Mapping[str, Mapping[str, Cell]]] = field(default_factory=dict)
    windings: Mapping[str, Mapping[tuple[float, float], tuple[int, Mapping[str, Cell]]]] = field(default_factory=dict)
    trainings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def datasets(self) -> list[str]:
        """The datasets that there are results of."""
        return list(dict.fromkeys(dataset for dataset, _ in self.rows))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for a JSON file; percent."""
        return {
            "metrics": list(METRICS),
            "rows": [
                {"dataset": dataset, "agent": agent, **{metric: vars(cell) for metric, cell in cells.items()}}
                for (dataset, agent), cells in self.rows.items()
            ],
            "differences": [
                {
                    "dataset": dataset,
                    "agent": one,
                    "less": other,
                    **{m: {**vars(g.seeds), "seeds_ahead": g.wins, **g.intervals} for m, g in gaps.items()},
                }
                for (dataset, one, other), gaps in self.gaps.items()
            ],
            "by_cap": [
                {"dataset": dataset, "agent": agent, "cap": int(cap), **{name: vars(c) for name, c in cells.items()}}
                for (dataset, agent), caps in self.caps.items()
                for cap, cells in caps.items()
            ],
            "by_winding": [
                {
                    "dataset": dataset,
                    "from": low,
                    "to": high if math.isfinite(high) else None,
                    "episodes": count,
                    **{metric: vars(cell) for metric, cell in cells.items()},
                }
                for dataset, ranges in self.windings.items()
                for (low, high), (count, cells) in ranges.items()
            ],
            "trainings": dict(self.trainings),
        }


def gather(plan: Plan) -> Table2:
    """Return the results of all finished trainings."""
    rows: dict[tuple[str, str], dict[str, Cell]] = {}
    caps: dict[tuple[str, str], dict[str, dict[str, Cell]]] = {}
    trainings: dict[str, Any] = {}
    gaps, windings = {}, {}
    for dataset in plan.datasets:
        rows[dataset, "random"] = {metric: Cell.of([mean]) for metric, mean in random_row(plan, dataset).items()}
        tested = {agent: plan.folders(dataset, agent) for agent in ("imitation", *FOLLOWING)}
        for trial in (trial for trial in trials(plan) if trial.dataset == dataset):
            agent = trial.name.removeprefix(f"{dataset}-").rstrip("-0123456789")
            tested.setdefault(agent, []).append(plan.out / trial.name)
        for agent, every in tested.items():
            folders = [folder for folder in every if (folder / "scores.json").exists()]
            saved = [json.loads((folder / "scores.json").read_text()) for folder in folders]
            if not saved:
                continue
            trainings |= {folder.name: one | _curve(folder) for folder, one in zip(folders, saved, strict=True)}
            rows[dataset, agent] = {metric: Cell.of([one["means"][metric] for one in saved]) for metric in METRICS}
            caps[dataset, agent] = {
                cap: {name: Cell.of([one["caps"][cap][name] for one in saved]) for name in (*METRICS, STOPPING)}
                for cap in saved[0]["caps"]
            }
        for one, other in PAIRS:
            found = _gaps(plan, dataset, one, other)
            if found:
                gaps[dataset, one, other] = found
        if (dataset, *PAIRS[0]) in gaps:
            windings[dataset] = _by_winding(plan, dataset, *PAIRS[0])
    return Table2(rows, gaps, caps, windings, trainings)


def _curve(folder: Path) -> dict[str, Any]:
    """Return how an agent learned, in held-out houses; agents that decide together learned apart."""
    if not (folder / CURVE).exists():
        return {}
    return {"curve": {name: column for name, column in read_curve(folder).items() if name in ("update", *SHOWN)}}


def _finished(plan: Plan, dataset: str, one: str, other: str) -> list[tuple[Path, Path]]:
    """Return the folders of two agents, for the seeds that both have finished."""
    pairs = zip(plan.folders(dataset, one), plan.folders(dataset, other), strict=True)
    return [pair for pair in pairs if all((folder / "scores.json").exists() for folder in pair)]


def _gaps(plan: Plan, dataset: str, one: str, other: str) -> dict[str, Gap]:
    """Compare two agents over the seeds that both have finished."""
    from wayscore.evaluation import compare

    folders = _finished(plan, dataset, one, other)
    if not folders:
        return {}
    means = [[json.loads((folder / "scores.json").read_text())["means"] for folder in pair] for pair in folders]
    apart = {metric: [a[metric] - b[metric] for a, b in means] for metric in METRICS}
    files = [pair[side] / "episodes.parquet" for side in (1, 0) for pair in folders]
    names = [other] * len(folders) + [one] * len(folders)
    intervals: dict[str, dict[str, tuple[float, float]]] = {metric: {} for metric in METRICS}
    for cluster in ("path", "scan"):
        tests = compare(files, names=names, metrics=METRICS, cluster=cluster).of(one)
        for metric, test in tests.items():
            if test.difference.low is not None and test.difference.high is not None:
                intervals[metric][cluster] = (100 * test.difference.low, 100 * test.difference.high)
    return {m: Gap(Cell.of(d), sum(value > 0 for value in d), intervals[m]) for m, d in apart.items()}


def _by_winding(
    plan: Plan, dataset: str, one: str, other: str
) -> dict[tuple[float, float], tuple[int, dict[str, Cell]]]:
    """Compare two agents in episodes whose references wind alike."""
    import numpy as np

    from wayscore.evaluation import evaluate, load_result

    references, graphs = validation_data(plan, dataset)
    # The SPL of a reference itself is the length of the shortest path between its ends, over its own.
    own = {name: reference.path for name, reference in references.episodes.items()}
    straight = evaluate(own, references, graphs, metrics="SPL")
    winding = dict(zip(own, 1 / np.maximum(straight["SPL"], 1e-9), strict=True))
    apart: dict[str, list[Any]] = {metric: [] for metric in METRICS}
    for pair in _finished(plan, dataset, one, other):
        a, b = (load_result(folder / "episodes.parquet") for folder in pair)
        for metric in METRICS:
            apart[metric].append(a[metric] - b[metric])
    winds = np.array([winding[name] for name in a.to_arrow()["episode"].to_pylist()])
    found = {}
    for low, high in WINDINGS:
        inside = (low - 1e-9 <= winds) & (winds < high - 1e-9)
        if inside.any():
            cells = {metric: Cell.of([float(seed[inside].mean()) for seed in seeds]) for metric, seeds in apart.items()}
            found[low, high] = int(inside.sum()), cells
    return found
