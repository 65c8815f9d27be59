"""What audits of metrics against people say."""

from __future__ import annotations

from wayscore.lab.audit.people.people import ALPHA, PeopleAudit
from wayscore.lab.study.analysis import FEW
from wayscore.lab.study.report import bounds, signed
from wayscore.lab.study.table1 import p_text
from wayscore.report.document import Cell, Document, Line, Row, Table
from wayscore.report.layout import counted

NAMES = {"spearman": "Spearman's rho", "kendall": "Kendall's tau-b"}


def document(audit: PeopleAudit) -> Document:
    """Return correlations, and the differences between metrics that are more than chance."""
    correlations: list[Row] = []
    for one in audit.correlations:
        cells = (Cell(signed(found.mean), "", bounds(found)) for found in (one.spearman, one.kendall))
        correlations.append([one.metric, *cells, p_text(one.p)])
    clear = [
        [f"{gap.metric} above {gap.other}", signed(gap.difference.mean), bounds(gap.difference), p_text(gap.p_holm)]
        for gap in audit.gaps
        if gap.clear
    ]
    simulated = [Line("SIMULATED raters: no person gave these judgements.", "bold")] if audit.simulated else []
    return Document(
        [
            *simulated,
            f"{audit.name}, {audit.rating}: {audit.meaning}.",
            scope(audit),
            *recorded(audit),
            Table(["metric", "rho, 95 %", "tau-b, 95 %", "p (Holm)"], correlations),
            *differences(audit),
            *warnings(audit),
            *([Table([f"difference of {NAMES[audit.method]}", "", "95 %", "p (Holm)"], clear)] if clear else []),
            *(Line(note, "dim") for note in (*audit.notes, *method_notes(audit))),
        ]
    )


def scope(audit: PeopleAudit) -> str:
    """Return what was correlated, in a sentence."""
    spread = ", ".join(f"{level}: {count}" for level, count in audit.levels.items())
    ratings = f" (ratings {spread})" if spread else ""
    inside = f", correlated inside each {audit.within} ({audit.groups} of them)" if audit.within and spread else ""
    return (
        f"{counted(audit.judgements, audit.unit)}{ratings}{inside}; intervals resample "
        f"{counted(audit.clusters, audit.cluster)}; d_th = {audit.threshold:.2f} m."
    )


def recorded(audit: PeopleAudit) -> list[str]:
    """Return how far the file's own values are reproduced, and what was left out, in sentences."""
    lines = []
    if audit.recorded:
        equal = audit.walks - len(audit.different)
        others = f"; not in {'; '.join(audit.different[:3])}" if audit.different else ""
        lines.append(
            f"The file's own {', '.join(audit.recorded)} are reproduced to 1e-6 in {equal:,} of {audit.walks:,} "
            f"walks{others}."
        )
    if audit.left_out:
        lines.append(f"Left out, since it has no rating: {'; '.join(audit.left_out[:3])}.")
    return lines


def differences(audit: PeopleAudit) -> list[str]:
    """Return how many differences between metrics are more than chance, in a sentence."""
    clear = sum(gap.clear for gap in audit.gaps)
    return [
        f"{clear} of {counted(len(audit.gaps), 'difference')} between two metrics {'is' if clear == 1 else 'are'} more "
        f"than chance (p < {ALPHA}, corrected for all pairs by Holm's method)."
    ]


def method_notes(audit: PeopleAudit) -> list[str]:
    """Return how the numbers were computed."""
    return [
        "All metrics are used so that higher is better; PL as minus its distance from the reference's length. p-values "
        f"invert the bootstrap interval of {NAMES[audit.method]}; {audit.resamples:,} resamples, seed {audit.seed}."
    ]


def warnings(audit: PeopleAudit) -> list[str]:
    """Return what makes these numbers less sure than they look, or cannot be seen in them, in sentences."""
    lines = []
    least = 2 * len(audit.gaps) / (audit.resamples + 1)
    if least >= ALPHA:
        pairs = counted(len(audit.gaps), "difference")
        lines.append(f"{audit.resamples:,} resamples are too few to find any of {pairs}; take more resamples.")
    if audit.clusters < FEW:
        few = counted(audit.clusters, audit.cluster)
        lines.append(
            f"With {few} (fewer than {FEW}) intervals are too narrow and p-values too small: do not rely on them."
        )
    return lines
