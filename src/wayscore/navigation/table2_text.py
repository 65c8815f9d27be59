"""Table 2 as text and as LaTeX: our rows above those of the paper, with intervals over seeds."""

from __future__ import annotations

from collections.abc import Callable

from wayscore.navigation.table2 import METRICS, PAPER, Cell, Table2
from wayscore.report.latex import latex_table
from wayscore.report.terminal import TextTable

TITLES = {"r2r": "R2R val_unseen", "r4r": "R4R val_unseen", "worlds": "generated worlds"}
AGENTS = {
    "random": "random",
    "imitation": "imitation",
    "continued": "longer imitation",
    "goal": "goal-oriented",
    "fidelity": "fidelity-oriented",
}


def text(table: Table2) -> str:
    """Lay the table out for a terminal, percent.

    >>> print(text({("worlds", "goal"): dict.fromkeys(METRICS, Cell(41.0, 1.5))}))
    generated worlds         SR        SPL        SED        CLS       nDTW       SDTW
    ──────────────────────────────────────────────────────────────────────────────────
    goal-oriented      41.0±1.5   41.0±1.5   41.0±1.5   41.0±1.5   41.0±1.5   41.0±1.5
    <BLANKLINE>
    """
    parts = []
    for dataset in dict.fromkeys(dataset for dataset, _ in table):
        part = TextTable([TITLES[dataset], *METRICS])
        part.rows.extend(_rows(table, dataset, "  the paper", lambda _, __, cell: _shown(cell)))
        parts.append("\n".join(part.lines()) + "\n")
    return "\n".join(parts)


def latex(table: Table2) -> str:
    """Return a booktabs table, percent; the better of goal- and fidelity-oriented in bold."""
    lines: list[str] = []
    for dataset in dict.fromkeys(dataset for dataset, _ in table):
        trained = [table[dataset, agent] for agent in ("goal", "fidelity") if (dataset, agent) in table]
        best = {metric: max((cells[metric].mean for cells in trained), default=0.0) for metric in METRICS}

        def shown(agent: str, metric: str, cell: Cell, best: dict[str, float] = best) -> str:
            return _latex(cell, agent in ("goal", "fidelity") and cell.mean == best[metric])

        rows = _rows(table, dataset, r"\quad Ilharco et al.", shown)
        part = latex_table([TITLES[dataset].replace("_", " "), *METRICS], rows)
        lines = [*lines[:-2], r"\midrule", *part[2:]] if lines else part
    return "\n".join([*lines, ""])


def _rows(table: Table2, dataset: str, paper: str, shown: Callable[[str, str, Cell], str]) -> list[list[str]]:
    """Return the rows of one dataset: each agent's, and below it the paper's."""
    rows = []
    for agent, name in AGENTS.items():
        if (dataset, agent) in table:
            cells = table[dataset, agent]
            rows.append([name, *(shown(agent, metric, cells[metric]) for metric in METRICS)])
        if (dataset, agent) in PAPER:
            rows.append([paper, *(f"{value:.1f}" for value in PAPER[dataset, agent])])
    return rows


def _shown(cell: Cell) -> str:
    return f"{cell.mean:.1f}±{cell.margin:.1f}" if cell.margin else f"{cell.mean:.1f}"


def _latex(cell: Cell, bold: bool) -> str:
    mean = f"\\mathbf{{{cell.mean:.1f}}}" if bold else f"{cell.mean:.1f}"
    return f"${mean} \\pm {cell.margin:.1f}$" if cell.margin else f"${mean}$"
