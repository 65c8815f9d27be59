"""The paper's Table 1: how often a metric agrees better with people than other metrics do, with sign tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from wayscore.errors import OptionError
from wayscore.lab.study.correlations import MAIN, RIVALS, Correlations
from wayscore.lab.study.model import Kind
from wayscore.report.document import Table
from wayscore.statistics import sign_test


@dataclass(frozen=True, slots=True)
class Contest:
    """How often the study's metric correlates better or worse with a ranking than another.

    >>> contest = Contest("PL", 242, 17)
    >>> f"{contest.p:.1e}", contest.counts
    ('4.1e-52', '242/17')
    """

    rival: str
    positive: int  # the number of rankings with which the study's metric correlates better
    negative: int
    ties: int = 0  # which the test discards; 0 if their number is not known

    @property
    def p(self) -> float:
        """The p-value of the two-sided sign test."""
        return sign_test(self.positive, self.negative)

    @property
    def counts(self) -> str:
        """The two counts as the paper prints them."""
        return f"{self.positive}/{self.negative}"


Table1: TypeAlias = Mapping[Kind, Sequence[Contest]]

PAPER: Table1 = {
    "UC": (
        Contest("PL", 242, 17),
        Contest("NE", 254, 9),
        Contest("ONE", 255, 9),
        Contest("CLS", 162, 46),
        Contest("AD", 254, 12),
        Contest("MD", 253, 12),
    ),
    "SC": (Contest("SR", 219, 16), Contest("OSR", 220, 14), Contest("SPL", 219, 17), Contest("SED", 213, 26)),
}
"""The counts that the paper prints."""
PAPER_P: dict[str, str] = dict(
    zip(
        (*RIVALS["UC"], *RIVALS["SC"]),
        "4.1e-52 2.0e-63 1.0e-63 2.4e-16 6.9e-60 6.9e-60 9.6e-47 8.8e-49 6.7e-46 1.1e-37".split(),
        strict=True,
    )
)
"""The p-values that the paper prints."""
SLIP = (
    "Under AD the paper prints 6.9e-60, which is the p-value of 253/12. Its counts, 254/12, give 3.6e-60 and add up to "
    "266 rankings of 265 sets."
)


def contests(correlations: Correlations) -> list[Contest]:
    """Count signs of the differences of correlations."""
    found = []
    for rival in correlations.metrics[1:]:
        signs = np.sign(correlations.differences(rival))
        found.append(Contest(rival, int((signs > 0).sum()), int((signs < 0).sum()), int((signs == 0).sum())))
    return found


def tables(table: Table1, *, above: str = "") -> list[Table]:
    """Return one table for each kind of study, with a line `above` its first head if there is one.

    >>> from wayscore.report.document import Document
    >>> print(Document(tables({"SC": PAPER["SC"]})))
    SC: SDTW vs       SR      OSR      SPL      SED
    ───────────────────────────────────────────────
    +/-           219/16   220/14   219/17   213/26
    sign test    9.6e-47  8.8e-49  6.7e-46  1.1e-37
    """
    if not table:
        raise OptionError("a table needs at least one study")
    return [
        Table(
            [f"{above}\n" * bool(above) + f"{kind}: {MAIN[kind]} vs", *(contest.rival for contest in found)],
            [["+/-", *(contest.counts for contest in found)], ["sign test", *(p_text(contest.p) for contest in found)]],
        )
        for kind, found in table.items()
    ]


def p_text(value: float | None) -> str:
    """Return a p-value as the paper prints it, or with two or three decimals if it is not small.

    >>> p_text(4.05e-52), p_text(0.034), p_text(0.6), p_text(None)
    ('4.1e-52', '0.034', '0.60', '–')
    """
    if value is None:
        return "–"
    if value >= 0.1:
        return f"{value:.2f}"
    return f"{value:.3f}" if value >= 0.001 else f"{value:.1e}"
