"""The paper's formulas as literal loops: slow, obvious, and sharing no code with the package."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

Distance = Callable[[Any, Any], float]


def dtw(R: Sequence[Any], Q: Sequence[Any], d: Distance) -> float:
    """Algorithm 1, without the final exponential."""
    C = {(i, j): math.inf for i in range(len(R) + 1) for j in range(len(Q) + 1)}
    C[0, 0] = 0.0
    for i in range(1, len(R) + 1):
        for j in range(1, len(Q) + 1):
            C[i, j] = d(R[i - 1], Q[j - 1]) + min(C[i - 1, j], C[i, j - 1], C[i - 1, j - 1])
    return C[len(R), len(Q)]


def levenshtein(a: Sequence[Any], b: Sequence[Any]) -> int:
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            row.append(min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (x != y)))
        previous = row
    return previous[-1]


def length(P: Sequence[Any], d: Distance) -> float:
    return sum(d(a, b) for a, b in pairwise(P))


def metrics(R: Sequence[Any], Q: Sequence[Any], d: Distance, d_th: float) -> dict[str, float]:
    """Every metric of the paper's table, with DESIGN's meanings where the paper is silent."""
    goal = R[-1]
    PL = length(Q, d)
    NE = d(Q[-1], goal)
    ONE = min(d(q, goal) for q in Q)
    SR = 1.0 if NE <= d_th else 0.0
    deviations = [min(d(q, r) for r in R) for q in Q]

    shortest = d(Q[0], goal)
    if shortest == 0:
        by_length = 1.0 if PL == 0 else 0.0
    elif math.isinf(shortest):
        by_length = 0.0
    else:
        by_length = shortest / max(PL, shortest)

    A_R, A_Q = list(pairwise(R)), list(pairwise(Q))
    longest = max(len(A_R), len(A_Q))
    by_edits = 1.0 if longest == 0 else 1 - levenshtein(A_R, A_Q) / longest

    PC = sum(math.exp(-min(d(r, q) for q in Q) / d_th) for r in R) / len(R)
    PL_R = length(R, d)
    if math.isinf(PL_R):
        LS = 0.0
    else:
        expected = PC * PL_R
        LS = 1.0 if expected == PL == 0 else expected / (expected + abs(expected - PL))

    DTW = dtw(R, Q, d)
    nDTW = math.exp(-DTW / (len(R) * d_th))
    return {
        "PL": PL,
        "NE": NE,
        "ONE": ONE,
        "SR": SR,
        "OSR": 1.0 if ONE <= d_th else 0.0,
        "AD": sum(deviations) / len(Q),
        "MD": max(deviations),
        "SPL": SR * by_length,
        "SED": SR * by_edits,
        "CLS": PC * LS,
        "DTW": DTW,
        "nDTW": nDTW,
        "SDTW": SR * nDTW,
    }
