"""The page on agents: its tables, from what `wayscore reproduce table2` wrote."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from docs.building.tables import table
from wayscore.lab.agents.checkpoints import figure_of
from wayscore.lab.agents.table2 import FOLLOWING, METRICS
from wayscore.lab.agents.table2_results import AGENTS, PAPER, STOPPING

RESULTS = Path(__file__).parents[1] / "agents.json"


@cache
def results() -> dict[str, Any]:
    """Return the last results."""
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def agents(_: Path, what: str, dataset: str = "r2r") -> str:
    """Show one table of a dataset: rows or differences (planned or not), windings, caps, seeds, or the search."""
    tables: dict[str, Callable[[str], str]] = {
        "rows": _rows,
        "differences": _differences,
        "planned": partial(_rows, planned=True),
        "planned-differences": partial(_differences, planned=True),
        "windings": _windings,
        "caps": _caps,
        "seeds": _seeds,
        "search": _search,
    }
    return tables[what](dataset)


def curves_picture(dataset: str) -> Any:
    """Draw the learning curves of what follows imitation."""
    curves: dict[str, list[Any]] = {}
    for name, one in results()["trainings"].items():
        of, agent, _ = _parts(name)
        if of == dataset and agent in FOLLOWING and "curve" in one:
            curves.setdefault(AGENTS[agent], []).append(one["curve"])
    return figure_of(curves)


def _parts(name: str) -> tuple[str, str, str]:
    """Return the dataset, the agent and the seed of a training.

    >>> _parts("r2r-goal-per-threshold-3")
    ('r2r', 'goal-per-threshold', '3')
    >>> _parts("r2r-goal-together")
    ('r2r', 'goal-together', 'all')
    """
    dataset, _, rest = name.partition("-")
    agent, _, seed = rest.rpartition("-")
    return (dataset, agent, seed) if seed.isdigit() else (dataset, rest, "all")


def _of(dataset: str, part: str, *, planned: bool = False) -> list[dict[str, Any]]:
    """Return the results of agents that plan, or of those that do not."""
    rows = (row for row in results()[part] if row["dataset"] == dataset)
    return [row for row in rows if row.get("agent", "").endswith("-planned") == planned]


def _name(agent: str) -> str:
    """Return the name of an agent in a table of agents that plan, or of those that do not."""
    return AGENTS[agent].removesuffix(", planning")


def _cell(cell: dict[str, float], sign: str = "") -> str:
    return f"{cell['mean']:{sign}.1f}" + (f"\u00a0±\u00a0{cell['margin']:.1f}" if cell["margin"] else "")


def _rows(dataset: str, *, planned: bool = False) -> str:
    rows = []
    for row in _of(dataset, "rows", planned=planned):
        rows.append([_name(row["agent"]), *(_cell(row[metric]) for metric in METRICS)])
        if (dataset, row["agent"]) in PAPER:
            rows.append(["*the paper's*", *(f"*{value:.1f}*" for value in PAPER[dataset, row["agent"]])])
    return table(("agent", *METRICS), rows, right=METRICS)


def _differences(dataset: str, *, planned: bool = False) -> str:
    rows = []
    for row in _of(dataset, "differences", planned=planned):
        title = f"{_name(row['agent'])} less {_name(row['less'])}"
        rows.append([title, *(_cell(row[metric], "+") for metric in METRICS)])
        for cluster, words in (("path", "seeds and paths resampled"), ("scan", "seeds and houses resampled")):
            bounds = (row[metric].get(cluster) for metric in METRICS)
            rows.append([words, *(f"{b[0]:+.1f}\u00a0to\u00a0{b[1]:+.1f}" if b else "–" for b in bounds)])
    return table(("difference", *METRICS), rows, right=METRICS)


def _windings(dataset: str) -> str:
    rows = []
    for row in _of(dataset, "by_winding"):
        upper = "" if row["to"] is None else f"{row['to']:g}"
        winding = f"{row['from']:g} to {upper}" if upper else f"{row['from']:g} and more"
        rows.append([winding, f"{row['episodes']:,}", *(_cell(row[metric], "+") for metric in METRICS)])
    return table(("winding", "episodes", *METRICS), rows, right=("episodes", *METRICS))


def _caps(dataset: str) -> str:
    names = (*METRICS, STOPPING)
    rows = [
        [AGENTS[row["agent"]], str(row["cap"]), *(f"{row[name]['mean']:.1f}" for name in names)]
        for row in _of(dataset, "by_cap")
    ]
    return table(("agent", "moves", *names), rows, right=("moves", *names))


def _seeds(dataset: str) -> str:
    rows = []
    for name, one in results()["trainings"].items():
        of, agent, seed = _parts(name)
        if of == dataset:
            means = (f"{100 * one['means'][metric]:.2f}" for metric in METRICS)
            rows.append([AGENTS[agent], seed, *means, f"{one['training_cpu_seconds']:,.0f} s", one["run_sha256"][:12]])
    heads = ("agent", "seed", *METRICS, "training, CPU", "run file, SHA-256")
    return table(heads, rows, right=("seed", *METRICS, "training, CPU"))


def _search(_: str) -> str:
    rows = [
        [
            f"`{one['reward']}`",
            *(f"{one['setting'][name]:g}" for name in ("reinforcement_rate", "entropy", "guidance")),
            *(f"{100 * one[metric]:.1f}" for metric in ("SR", "nDTW", "SDTW")),
            "chosen" if one["chosen"] else "",
        ]
        for one in results()["search"]
    ]
    heads = ("reward", "learning rate", "entropy", "guidance", "SR", "nDTW", "SDTW", "")
    return table(heads, rows, right=heads[1:-1])
