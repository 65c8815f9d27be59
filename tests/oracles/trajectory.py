"""Measures of trajectories as their authors define them: literal recursions that share no code with the package."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

Distance = Callable[[Any, Any], float]


def frechet(R: Sequence[Any], Q: Sequence[Any], d: Distance) -> float:
    """Eiter and Mannila (1994), Table 1: the coupling distance."""

    @cache
    def c(i: int, j: int) -> float:
        here = d(R[i], Q[j])
        if i == 0 and j == 0:
            return here
        if j == 0:
            return max(c(i - 1, 0), here)
        if i == 0:
            return max(c(0, j - 1), here)
        return max(min(c(i - 1, j), c(i - 1, j - 1), c(i, j - 1)), here)

    return c(len(R) - 1, len(Q) - 1)


def directed_hausdorff(A: Sequence[Any], B: Sequence[Any], d: Distance) -> float:
    """The largest distance from a node of A to the nearest one of B."""
    return max(min(d(a, b) for b in B) for a in A)


def lcss(R: Sequence[Any], Q: Sequence[Any], d: Distance, within: float) -> float:
    """Vlachos et al. (2002), Definition 1 (without delta) and S1: matched nodes over those of the shorter path."""

    @cache
    def common(n: int, m: int) -> int:
        if n == 0 or m == 0:
            return 0
        if d(R[n - 1], Q[m - 1]) <= within:
            return 1 + common(n - 1, m - 1)
        return max(common(n - 1, m), common(n, m - 1))

    return common(len(R), len(Q)) / min(len(R), len(Q))


def edr(R: Sequence[Any], Q: Sequence[Any], d: Distance, within: float) -> float:
    """Chen et al. (2005), Definition 2: edits, over the nodes of the longer path."""

    @cache
    def edits(n: int, m: int) -> int:
        if n == 0 or m == 0:
            return n + m
        subcost = 0 if d(R[n - 1], Q[m - 1]) <= within else 1
        return min(edits(n - 1, m - 1) + subcost, edits(n - 1, m) + 1, edits(n, m - 1) + 1)

    return edits(len(R), len(Q)) / max(len(R), len(Q))


def measures(R: Sequence[Any], Q: Sequence[Any], d: Distance, within: float) -> dict[str, float]:
    there, back = directed_hausdorff(Q, R, d), directed_hausdorff(R, Q, d)
    return {
        "Frechet": frechet(R, Q, d),
        "Hausdorff": max(there, back),
        "HausdorffQR": there,
        "HausdorffRQ": back,
        "LCSS": lcss(R, Q, d, within),
        "EDR": edr(R, Q, d, within),
    }
