"""Table 2 as text and as LaTeX: ours above the paper's, with intervals over seeds."""

from __future__ import annotations

from wayscore.navigation.table2 import METRICS, PAPER, Cell, Table2

TITLES = {"r2r": "R2R val_unseen", "r4r": "R4R val_unseen", "worlds": "generated worlds"}
AGENTS = ("random", "imitation", "continued", "goal", "fidelity")


def text(table: Table2) -> str:
    """Lay the table out for a terminal, percent.

    >>> print(text({("worlds", "goal"): dict.fromkeys(METRICS, Cell(41.0, 1.5))}))
    generated worlds                  SR        SPL        SED        CLS       nDTW       SDTW
    goal-oriented               41.0±1.5   41.0±1.5   41.0±1.5   41.0±1.5   41.0±1.5   41.0±1.5
    <BLANKLINE>
    """
    lines = []
    for dataset in dict.fromkeys(dataset for dataset, _ in table):
        lines.append(f"{TITLES[dataset]:24}" + "".join(f"{metric:>11}" for metric in METRICS))
        for agent in AGENTS:
            if (dataset, agent) in table:
                cells = table[dataset, agent]
                lines.append(f"{_name(agent):24}" + "".join(f"{_shown(cells[metric]):>11}" for metric in METRICS))
            if (dataset, agent) in PAPER:
                told = "".join(f"{value:>11.1f}" for value in PAPER[dataset, agent])
                lines.append(f"{'  the paper':24}{told}")
        lines.append("")
    return "\n".join(lines)


def latex(table: Table2) -> str:
    """Return a booktabs table, percent; the better of goal- and fidelity-oriented in bold."""
    lines = [r"\begin{tabular}{l" + "r" * len(METRICS) + "}", r"\toprule"]
    for dataset in dict.fromkeys(dataset for dataset, _ in table):
        lines += [f"{TITLES[dataset].replace('_', ' ')} & {' & '.join(METRICS)} \\\\", r"\midrule"]
        trained = [table[dataset, agent] for agent in ("goal", "fidelity") if (dataset, agent) in table]
        best = {metric: max((cells[metric].mean for cells in trained), default=0.0) for metric in METRICS}
        for agent in AGENTS:
            if (dataset, agent) in table:
                cells = table[dataset, agent]
                shown = [
                    _latex(cells[metric], agent in ("goal", "fidelity") and cells[metric].mean == best[metric])
                    for metric in METRICS
                ]
                lines.append(f"{_name(agent)} & {' & '.join(shown)} \\\\")
            if (dataset, agent) in PAPER:
                told = " & ".join(f"{value:.1f}" for value in PAPER[dataset, agent])
                lines.append(f"\\quad Ilharco et al. & {told} \\\\")
        lines.append(r"\midrule")
    lines[-1] = r"\bottomrule"
    return "\n".join([*lines, r"\end{tabular}", ""])


def _name(agent: str) -> str:
    names = {"goal": "goal-oriented", "fidelity": "fidelity-oriented", "continued": "imitation, longer"}
    return names.get(agent, agent)


def _shown(cell: Cell) -> str:
    return f"{cell.mean:.1f}±{cell.margin:.1f}" if cell.margin else f"{cell.mean:.1f}"


def _latex(cell: Cell, bold: bool) -> str:
    mean = f"\\mathbf{{{cell.mean:.1f}}}" if bold else f"{cell.mean:.1f}"
    return f"${mean} \\pm {cell.margin:.1f}$" if cell.margin else f"${mean}$"
