"""Table 2: our rows above those of the paper, with intervals over seeds."""

from __future__ import annotations

from wayscore.lab.agents.table2 import METRICS
from wayscore.lab.agents.table2_results import PAPER, STOPPING, Cell, Table2
from wayscore.report.document import Cell as TableCell, Document, Row, Table

TITLES = {
    "r2r": "R2R val_unseen",
    "r4r": "R4R val_unseen",
    "sparse": "R2R val_unseen, 1,200 instructions learned",
    "worlds": "generated worlds",
}
AGENTS = {
    "random": "random",
    "imitation": "imitation",
    "continued": "longer imitation",
    "goal": "goal-oriented",
    "goal-per-threshold": "goal-oriented, d / d_th",
    "fidelity": "fidelity-oriented",
    "goal-together": "goal-oriented, seeds together",
    "fidelity-together": "fidelity-oriented, seeds together",
    "imitation-planned": "imitation, planning",
    "continued-planned": "longer imitation, planning",
    "goal-planned": "goal-oriented, planning",
    "goal-per-threshold-planned": "goal-oriented, d / d_th, planning",
    "fidelity-planned": "fidelity-oriented, planning",
    "goal-together-planned": "goal-oriented, seeds together, planning",
    "fidelity-together-planned": "fidelity-oriented, seeds together, planning",
}


def document(table: Table2, *, details: bool = True) -> Document:
    """Return the tables, percent: scores, and in detail differences, by winding, and by the largest number of moves.

    >>> print(document(Table2({("worlds", "goal"): dict.fromkeys(METRICS, Cell(41.0, 1.5))})))
    generated worlds  SR        SPL       SED       CLS       nDTW      SDTW
    ────────────────────────────────────────────────────────────────────────────
    goal-oriented     41.0±1.5  41.0±1.5  41.0±1.5  41.0±1.5  41.0±1.5  41.0±1.5
    """
    parts = []
    for dataset in table.datasets:
        parts.append(_scores(table, dataset))
        if details:
            tables = (_gaps(table, dataset), _windings(table, dataset), _caps(table, dataset))
            parts += [found for found in tables if found.rows]
    return Document(parts)


def _scores(table: Table2, dataset: str) -> Table:
    """Return each agent's row, and below it the paper's; the better of goal- and fidelity-oriented in bold."""
    trained = [table.rows[dataset, agent] for agent in ("goal", "fidelity") if (dataset, agent) in table.rows]
    best = {metric: max((cells[metric].mean for cells in trained), default=0.0) for metric in METRICS}
    rows: list[Row] = []
    for agent, name in AGENTS.items():
        if cells := table.rows.get((dataset, agent)):
            bold = {m: agent in ("goal", "fidelity") and cells[m].mean == best[m] for m in METRICS}
            rows.append([name, *(_shown(cells[metric], bold=bold[metric]) for metric in METRICS)])
        if (dataset, agent) in PAPER:
            rows.append(["  Ilharco et al.", *(f"{value:.1f}" for value in PAPER[dataset, agent])])
    return Table([TITLES[dataset], *METRICS], rows)


def _gaps(table: Table2, dataset: str) -> Table:
    """Return the differences: over seeds, and below them the intervals over seeds and clusters of episodes."""
    rows: list[Row] = []
    for (of, one, other), gaps in table.gaps.items():
        if of == dataset:
            ahead = (_shown(gaps[metric].seeds, "+") for metric in METRICS)
            rows.append([f"{AGENTS[one]} less {AGENTS[other]}", *ahead])
            for cluster, title in (("path", "  paths resampled"), ("scan", "  houses resampled")):
                bounds = [gaps[metric].intervals.get(cluster) for metric in METRICS]
                rows.append([title, *(f"[{b[0]:+.1f}, {b[1]:+.1f}]" if b else "–" for b in bounds)])
    return Table([f"{TITLES[dataset]}, differences", *METRICS], rows)


def _windings(table: Table2, dataset: str) -> Table:
    """Return how far fidelity is ahead of goal, by how many times its shortest path a reference is long."""
    rows: list[Row] = [
        [f"{low:g} to {high:g}", f"{count:,}", *(_shown(cells[metric], "+") for metric in METRICS)]
        for (low, high), (count, cells) in table.windings.get(dataset, {}).items()
    ]
    return Table([f"{TITLES[dataset]}, fidelity less goal by winding", "episodes", *METRICS], rows)


def _caps(table: Table2, dataset: str) -> Table:
    """Return the scores by the largest number of moves, with the share of walks that it cut off."""
    rows = [
        [AGENTS[agent], cap, *(f"{cells[name].mean:.1f}" for name in (*METRICS, STOPPING))]
        for (of, agent), caps in table.caps.items()
        for cap, cells in caps.items()
        if of == dataset
    ]
    return Table([f"{TITLES[dataset]}, by cap", "moves", *METRICS, STOPPING], rows)


def _shown(cell: Cell, sign: str = "", bold: bool = False) -> TableCell:
    return TableCell(f"{cell.mean:{sign}.1f}", f"±{cell.margin:.1f}" if cell.margin else "", bold=bold)
