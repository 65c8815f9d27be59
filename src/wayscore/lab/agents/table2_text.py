"""Table 2 as text and as LaTeX: our rows above those of the paper, with intervals over seeds."""

from __future__ import annotations

from collections.abc import Callable

from wayscore.lab.agents.table2 import METRICS
from wayscore.lab.agents.table2_results import PAPER, STOPPING, Cell, Table2
from wayscore.report.latex import latex_table
from wayscore.report.terminal import TextTable

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


def text(table: Table2) -> str:
    """Lay the tables out for a terminal, percent.

    >>> print(text(Table2({("worlds", "goal"): dict.fromkeys(METRICS, Cell(41.0, 1.5))})))
    generated worlds         SR        SPL        SED        CLS       nDTW       SDTW
    ──────────────────────────────────────────────────────────────────────────────────
    goal-oriented      41.0±1.5   41.0±1.5   41.0±1.5   41.0±1.5   41.0±1.5   41.0±1.5
    <BLANKLINE>
    """
    parts = []
    for dataset in table.datasets:
        part = TextTable([TITLES[dataset], *METRICS])
        part.rows.extend(_rows(table, dataset, "  the paper", lambda _, __, cell: _shown(cell)))
        parts += [part, *_gaps(table, dataset), *_windings(table, dataset), *_caps(table, dataset)]
    return "\n".join("\n".join(part.lines()) + "\n" for part in parts)


def _gaps(table: Table2, dataset: str) -> list[TextTable]:
    """Lay out the differences: over seeds, and below them the intervals over seeds and clusters of episodes."""
    part = TextTable([f"{TITLES[dataset]}, differences", *METRICS])
    for (of, one, other), gaps in table.gaps.items():
        if of == dataset:
            part.rows.append(
                [f"{AGENTS[one]} less {AGENTS[other]}", *(_ahead(gaps[metric].seeds) for metric in METRICS)]
            )
            for cluster, title in (("path", "  paths resampled"), ("scan", "  houses resampled")):
                bounds = [gaps[metric].intervals.get(cluster) for metric in METRICS]
                part.rows.append([title, *(f"[{b[0]:+.1f}, {b[1]:+.1f}]" if b else "–" for b in bounds)])
    return [part] if part.rows else []


def _windings(table: Table2, dataset: str) -> list[TextTable]:
    """Lay out how far fidelity is ahead of goal, by how many times its shortest path a reference is long."""
    part = TextTable([f"{TITLES[dataset]}, fidelity less goal by winding", "episodes", *METRICS])
    for (low, high), (count, cells) in table.windings.get(dataset, {}).items():
        part.rows.append([f"{low:g} to {high:g}", f"{count:,}", *(_ahead(cells[metric]) for metric in METRICS)])
    return [part] if part.rows else []


def _caps(table: Table2, dataset: str) -> list[TextTable]:
    """Lay out the scores by the largest number of moves, with the share of walks that it cut off."""
    part = TextTable([f"{TITLES[dataset]}, by cap", "moves", *METRICS, STOPPING])
    for (of, agent), caps in table.caps.items():
        if of == dataset:
            for cap, cells in caps.items():
                part.rows.append([AGENTS[agent], cap, *(f"{cells[name].mean:.1f}" for name in (*METRICS, STOPPING))])
    return [part] if part.rows else []


def latex(table: Table2) -> str:
    """Return a booktabs table, percent; the better of goal- and fidelity-oriented in bold."""
    lines: list[str] = []
    for dataset in table.datasets:
        trained = [table.rows[dataset, agent] for agent in ("goal", "fidelity") if (dataset, agent) in table.rows]
        best = {metric: max((cells[metric].mean for cells in trained), default=0.0) for metric in METRICS}

        def shown(agent: str, metric: str, cell: Cell, best: dict[str, float] = best) -> str:
            return _latex(cell, agent in ("goal", "fidelity") and cell.mean == best[metric])

        rows = _rows(table, dataset, r"\quad Ilharco et al.", shown)
        rows = [[row[0].replace("d_th", r"$d_{th}$"), *row[1:]] for row in rows]
        part = latex_table([TITLES[dataset].replace("_", " "), *METRICS], rows)
        lines = [*lines[:-2], r"\midrule", *part[2:]] if lines else part
    return "\n".join([*lines, ""])


def _rows(table: Table2, dataset: str, paper: str, shown: Callable[[str, str, Cell], str]) -> list[list[str]]:
    """Return the rows of one dataset: each agent's, and below it the paper's."""
    rows = []
    for agent, name in AGENTS.items():
        if (dataset, agent) in table.rows:
            cells = table.rows[dataset, agent]
            rows.append([name, *(shown(agent, metric, cells[metric]) for metric in METRICS)])
        if (dataset, agent) in PAPER:
            rows.append([paper, *(f"{value:.1f}" for value in PAPER[dataset, agent])])
    return rows


def _shown(cell: Cell) -> str:
    return f"{cell.mean:.1f}±{cell.margin:.1f}" if cell.margin else f"{cell.mean:.1f}"


def _ahead(cell: Cell) -> str:
    return f"{cell.mean:+.1f}±{cell.margin:.1f}" if cell.margin else f"{cell.mean:+.1f}"


def _latex(cell: Cell, bold: bool) -> str:
    mean = f"\\mathbf{{{cell.mean:.1f}}}" if bold else f"{cell.mean:.1f}"
    return f"${mean} \\pm {cell.margin:.1f}$" if cell.margin else f"${mean}$"
