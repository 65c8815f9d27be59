"""Redundancy: which metrics say the same of single episodes."""

from __future__ import annotations

import numpy as np

from wayscore.lab.audit.systems.rankings import Matrix
from wayscore.lab.audit.systems.scoreboard import Scoreboard
from wayscore.statistics.correlations import row_correlations
from wayscore.statistics.values import Floats

ALIKE = 0.9
"""Metrics whose mean correlation is as large as this, on average, form a group."""


def correlations(board: Scoreboard) -> Matrix:
    """Return Spearman's rho between every two metrics over episodes, within each system, averaged over systems.

    Systems in which a metric has the same value in all episodes are left out of its averages; 0 where none is left.
    """
    found = {symbol: dict.fromkeys(board.symbols, 1.0) for symbol in board.symbols}
    for i, a in enumerate(board.symbols):
        for j, b in enumerate(board.symbols[:i]):
            found[a][b] = found[b][a] = _mean_rho(board.scores[i], board.scores[j])
    return found


def _mean_rho(x: Floats, y: Floats) -> float:
    both = np.isfinite(x[0]) & np.isfinite(y[0])
    if not both.any():
        return 0.0
    x, y = x[:, both], y[:, both]
    varies = (np.ptp(x, axis=1) > 0) & (np.ptp(y, axis=1) > 0)
    return float(row_correlations(x[varies], y[varies]).mean()) if varies.any() else 0.0


def groups(matrix: Matrix, alike: float = ALIKE) -> list[list[str]]:
    """Return groups of metrics by average linkage: |rho| of two groups is at least `alike` on average.

    >>> groups({"a": {"a": 1.0, "b": -0.95}, "b": {"a": -0.95, "b": 1.0}})
    [['a', 'b']]
    """
    symbols = list(matrix)
    if len(symbols) < 2:
        return [symbols]
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    apart = 1 - np.abs([[matrix[a][b] for b in symbols] for a in symbols])
    np.fill_diagonal(apart, 0.0)
    labels = fcluster(linkage(squareform(np.maximum(apart, 0.0), checks=False), "average"), 1 - alike, "distance")
    found: dict[int, list[str]] = {}
    for symbol, label in zip(symbols, labels.tolist(), strict=True):
        found.setdefault(label, []).append(symbol)
    return list(found.values())
