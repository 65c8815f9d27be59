"""What the trainings of Table 2 came to, as values and as tables: means over seeds, differences, scores by cap."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from wayscore.lab.agents.baselines import TABLE_2, score_random
from wayscore.lab.agents.checkpoints import CURVE, SHOWN, read_curve
from wayscore.lab.agents.table2 import (
    CHOSEN_BY,
    FOLLOWING,
    METRICS,
    REWARDS,
    SCORES,
    TRIED,
    USUAL,
    VARIANTS,
    Plan,
    trials,
    validation_data,
)
from wayscore.report.document import Cell, Document, Row, Table
from wayscore.rewards.tasks import WORLD_THRESHOLD

PAPER: dict[tuple[str, str], tuple[float, ...]] = {
    **{(dataset, "random"): tuple(row.values()) for dataset, row in TABLE_2.items()},
    ("r2r", "goal"): (43.7, 38.4, 31.9, 53.5, 54.4, 36.1),
    ("r2r", "fidelity"): (44.4, 41.4, 33.9, 57.5, 58.3, 38.3),
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
TITLES = {
    "r2r": "R2R val_unseen",
    "r4r": "R4R val_unseen",
    "sparse": "R2R val_unseen, 1,200 instructions learned",
    "worlds": "generated worlds",
}
_ALONE = {
    "random": "random",
    "imitation": "imitation",
    "continued": "longer imitation",
    "goal": "goal-oriented",
    "goal-per-threshold": "goal-oriented, d / d_th",
    "fidelity": "fidelity-oriented",
    "goal-together": "goal-oriented, seeds together",
    "fidelity-together": "fidelity-oriented, seeds together",
}
AGENTS = _ALONE | {f"{agent}-planned": f"{name}, planning" for agent, name in _ALONE.items() if agent != "random"}
Results: TypeAlias = dict[str, Any]
"""Names of tables -> their rows, and "trainings": what every training wrote, by its name."""


def mean_of(values: Sequence[float]) -> dict[str, float]:
    """Return the mean of shares over seeds, percent, and half the width of Student's 95 % interval (0 with one seed).

    >>> mean_of([0.40, 0.42])
    {'mean': 41.0, 'margin': 12.7}
    """
    count = len(values)
    mean, margin = 100 * math.fsum(values) / count, 0.0
    if count > 1:
        from scipy.special import stdtrit  # the quantile of Student's t; scipy.stats takes a second to import

        spread = math.sqrt(math.fsum((100 * value - mean) ** 2 for value in values) / (count - 1))
        margin = round(float(stdtrit(count - 1, 0.975)) * spread / math.sqrt(count), 1)
    return {"mean": round(mean, 4), "margin": margin}


def gather(plan: Plan) -> Results:
    """Return the results of all finished trainings, percent."""
    found: Results = {"metrics": list(METRICS)}
    found |= {"rows": [], "differences": [], "by_cap": [], "by_winding": [], "trainings": {}}
    for dataset in plan.datasets:
        threshold, walks = (WORLD_THRESHOLD, 100_000) if dataset == "worlds" else (3.0, 1_000_000)
        table = score_random(*validation_data(plan, dataset), walks=walks, threshold=threshold, metrics=list(METRICS))
        means = {metric: mean_of([mean]) for metric, mean in table.means().items() if mean is not None}
        found["rows"].append({"dataset": dataset, "agent": "random", **means})
        tested = {agent: plan.folders(dataset, agent) for agent in ("imitation", *FOLLOWING)}
        for trial in (trial for trial in trials(plan) if trial.dataset == dataset):
            agent = trial.name.removeprefix(f"{dataset}-").rstrip("-0123456789")
            tested.setdefault(agent, []).append(plan.out / trial.name)
        for agent, folders in tested.items():
            saved = {folder: scores for folder in folders if (scores := _scores(folder))}
            if not saved:
                continue
            every = list(saved.values())
            for folder, one in saved.items():
                curve = read_curve(folder) if (folder / CURVE).exists() else {}  # those that decide together have none
                shown = {name: column for name, column in curve.items() if name in ("update", *SHOWN)}
                found["trainings"][folder.name] = one | ({"curve": shown} if shown else {})
            means = {metric: mean_of([one["means"][metric] for one in every]) for metric in METRICS}
            found["rows"].append({"dataset": dataset, "agent": agent, **means})
            for cap in every[0]["caps"]:
                cells = {name: mean_of([one["caps"][cap][name] for one in every]) for name in (*METRICS, STOPPING)}
                found["by_cap"].append({"dataset": dataset, "agent": agent, "cap": int(cap), **cells})
        for one, other in PAIRS:
            seeds = zip(plan.folders(dataset, one), plan.folders(dataset, other), strict=True)
            pairs = [pair for pair in seeds if all(_scores(folder) for folder in pair)]
            if pairs:
                found["differences"].append(
                    {"dataset": dataset, "agent": one, "less": other, **_gaps(pairs, one, other)}
                )
            if pairs and (one, other) == PAIRS[0]:
                found["by_winding"] += _by_winding(plan, dataset, pairs)
    return found


def _scores(folder: Path) -> Any:
    """Return what a finished job has saved, else None."""
    file = folder / SCORES
    return json.loads(file.read_text()) if file.exists() else None


def _gaps(pairs: Sequence[tuple[Path, Path]], one: str, other: str) -> dict[str, Any]:
    """Return how far one agent is ahead of another by metric: over seeds, in how many, and bootstrap intervals.

    The intervals resample seeds and clusters of episodes ("path", "scan").
    """
    from wayscore.evaluation.comparison import compare

    means = [[_scores(folder)["means"] for folder in pair] for pair in pairs]
    apart = {metric: [a[metric] - b[metric] for a, b in means] for metric in METRICS}
    found: dict[str, Any] = {
        metric: {**mean_of(values), "seeds_ahead": sum(value > 0 for value in values)}
        for metric, values in apart.items()
    }
    files = [pair[side] / "episodes.parquet" for side in (1, 0) for pair in pairs]
    names = [other] * len(pairs) + [one] * len(pairs)
    for cluster in ("path", "scan"):
        for metric, test in compare(files, names=names, metrics=METRICS, cluster=cluster).of(one).items():
            if test.difference.low is not None and test.difference.high is not None:
                found[metric][cluster] = (100 * test.difference.low, 100 * test.difference.high)
    return found


def _by_winding(plan: Plan, dataset: str, pairs: Sequence[tuple[Path, Path]]) -> list[dict[str, Any]]:
    """Compare two agents in episodes whose references wind alike."""
    import numpy as np

    from wayscore.evaluation.evaluator import evaluate
    from wayscore.evaluation.saved import load_result

    references, graphs = validation_data(plan, dataset)
    # The SPL of a reference itself is the length of the shortest path between its ends, over its own.
    own = {name: reference.path for name, reference in references.episodes.items()}
    straight = evaluate(own, references, graphs, metrics="SPL")
    winding = dict(zip(own, 1 / np.maximum(straight["SPL"], 1e-9), strict=True))
    apart: dict[str, list[Any]] = {metric: [] for metric in METRICS}
    for pair in pairs:
        a, b = (load_result(folder / "episodes.parquet") for folder in pair)
        for metric in METRICS:
            apart[metric].append(a[metric] - b[metric])
    winds = np.array([winding[name] for name in a.to_arrow()["episode"].to_pylist()])
    found = []
    for low, high in WINDINGS:
        inside = (low - 1e-9 <= winds) & (winds < high - 1e-9)
        if inside.any():
            cells = {name: mean_of([float(seed[inside].mean()) for seed in seeds]) for name, seeds in apart.items()}
            to = high if math.isfinite(high) else None
            found.append({"dataset": dataset, "from": low, "to": to, "episodes": int(inside.sum()), **cells})
    return found


def document(results: Results, *, details: bool = True) -> Document:
    """Return the tables, percent: scores, and in detail differences, by winding, and by the largest number of moves.

    >>> cells = dict.fromkeys(METRICS, {"mean": 41.0, "margin": 1.5})
    >>> print(document({"rows": [{"dataset": "worlds", "agent": "goal", **cells}]}, details=False))
    generated worlds  SR        SPL       SED       CLS       nDTW      SDTW
    ────────────────────────────────────────────────────────────────────────────
    goal-oriented     41.0±1.5  41.0±1.5  41.0±1.5  41.0±1.5  41.0±1.5  41.0±1.5
    """
    parts: list[Table] = []
    for dataset in dict.fromkeys(row["dataset"] for row in results["rows"]):
        title = TITLES[dataset]
        tables = {name: [row for row in results.get(name, ()) if row["dataset"] == dataset] for name in TABLES}
        parts.append(Table([title, *METRICS], _means(dataset, tables["rows"])))
        if not details:
            continue
        gaps: list[Row] = []
        for row in tables["differences"]:
            gaps.append([f"{AGENTS[row['agent']]} less {AGENTS[row['less']]}", *_cells(row, "+")])
            for cluster, name in (("path", "  paths resampled"), ("scan", "  houses resampled")):
                bounds = [row[metric].get(cluster) for metric in METRICS]
                gaps.append([name, *(f"[{b[0]:+.1f}, {b[1]:+.1f}]" if b else "–" for b in bounds)])
        windings: list[Row] = [
            [f"{row['from']:g} to {row['to'] or math.inf:g}", f"{row['episodes']:,}", *_cells(row, "+")]
            for row in tables["by_winding"]
        ]
        caps = [
            [AGENTS[row["agent"]], str(row["cap"]), *(f"{row[name]['mean']:.1f}" for name in (*METRICS, STOPPING))]
            for row in tables["by_cap"]
        ]
        further = (
            Table([f"{title}, differences", *METRICS], gaps),
            Table([f"{title}, fidelity less goal by winding", "episodes", *METRICS], windings),
            Table([f"{title}, by cap", "moves", *METRICS, STOPPING], caps),
        )
        parts += [table for table in further if table.rows]
    return Document(parts)


TABLES = ("rows", "differences", "by_winding", "by_cap")


def _cells(row: Mapping[str, Any], sign: str = "", bold: Mapping[str, float] | None = None) -> list[str | Cell]:
    """Return the cells of all metrics; those that reach a mean in bold."""
    found: list[str | Cell] = []
    for metric in METRICS:
        mean, margin = row[metric]["mean"], row[metric]["margin"]
        best = bold is not None and mean == bold[metric]
        found.append(Cell(f"{mean:{sign}.1f}", f"±{margin:.1f}" if margin else "", bold=best))
    return found


def _means(dataset: str, found: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return each agent's row, and below it the paper's; the better of goal- and fidelity-oriented in bold."""
    rows = {row["agent"]: row for row in found}
    trained = [rows[agent] for agent in ("goal", "fidelity") if agent in rows]
    best = {metric: max((row[metric]["mean"] for row in trained), default=0.0) for metric in METRICS}
    shown: list[Row] = []
    for agent, name in AGENTS.items():
        if agent in rows:
            shown.append([name, *_cells(rows[agent], bold=best if agent in ("goal", "fidelity") else None)])
        if (dataset, agent) in PAPER:
            shown.append(["  Ilharco et al.", *(f"{value:.1f}" for value in PAPER[dataset, agent])])
    return shown


def searched(out: Path) -> list[dict[str, Any]]:
    """Return what every reward reached with every setting in held-out houses, and which were chosen."""
    found = []
    for reward in REWARDS:
        numbers = range(len(TRIED))
        scores = {n: saved for n in numbers if (saved := _scores(out / "search" / f"{reward}-{n}"))}
        best = max(scores, key=lambda number: (scores[number][CHOSEN_BY], -number), default=None)
        found += [{"reward": reward, "chosen": number == best, **one} for number, one in scores.items()]
    return found


def chosen(out: Path) -> dict[str, Mapping[str, float]]:
    """Return reward -> the best setting, from what the search has saved."""
    return {one["reward"]: one["setting"] for one in searched(out) if one["chosen"]}


def search_table(out: Path) -> Document:
    """Return what every setting reached in held-out houses, percent; the chosen ones have a star."""
    rows = []
    for one in searched(out):
        settings = (f"{one['setting'][name]:g}" for name in USUAL)
        scores = (f"{100 * one[metric]:.1f}" for metric in SHOWN)
        rows.append([one["reward"], *settings, *scores, "*" if one["chosen"] else ""])
    return Document([Table(["reward", "learning rate", "entropy", "guidance", *SHOWN, ""], rows)])


def ablation_table(plan: Plan) -> Document:
    """Return the scores of all variants that were trained, percent, means over seeds."""
    rows = []
    for name in VARIANTS:
        folders = (plan.out / f"{name.replace(' ', '-')}-{seed}" for seed in range(plan.seeds))
        scores = [saved for folder in folders if (saved := _scores(folder))]
        if scores:
            means = (100 * sum(one[metric] for one in scores) / len(scores) for metric in SHOWN)
            rows.append([name, *(f"{mean:.1f}" for mean in means)])
    return Document([Table(["imitation, held-out houses", *SHOWN], rows)])
