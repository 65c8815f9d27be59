"""A table for LaTeX (booktabs)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def latex_table(heads: Sequence[str], rows: Iterable[Iterable[str]], align: str = "r") -> list[str]:
    """Return the lines of a booktabs table, the first column flush left, the others flush right or as `align` says."""
    lines = [" & ".join(cells) + r" \\" for cells in (heads, *rows)]
    begin = r"\begin{tabular}{l" + align * (len(heads) - 1) + "}"
    return [begin, r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule", r"\end{tabular}"]
