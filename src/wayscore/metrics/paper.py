"""The paper's twelve metrics and DTW, in the order of its table.

Where the paper is silent: a start at the goal gives SPL 1 to an agent that stayed and 0 to one that left; zero
expected and zero actual length give CLS's length score 1; two paths without edges give SED's factor 1; where an
infinite distance makes a bounded score undefined it takes its worst value, 0.
"""

from __future__ import annotations

from math import inf

import numpy as np

from wayscore.metrics.base import ERROR, LENGTH, SCORE, Floats, Measured, Measurements, Metric, ratio


def oracle_success(m: Measurements) -> Floats:
    """OSR = 1[ONE <= d_th]."""
    return m.reached(m.closest, m.goal_closest)


def success_by_length(m: Measurements) -> Floats:
    """SPL = SR L / max(PL, L), L = d(q_1, goal)."""
    return m.success * efficiency(m, m.query_length)


def efficiency(m: Measurements, walked: Floats) -> Floats:
    """L / max(PL, L) for the length walked."""
    length = m.optimal_length
    longest = np.maximum(walked, length)
    if m.convention.spl_floor:
        np.maximum(longest, m.convention.spl_floor, out=longest)
    return ratio(length, longest, both_zero=1.0)


def success_by_edits(m: Measurements) -> Floats:
    """SED = SR (1 - ED(A_R, A_Q) / max(|A_R|, |A_Q|))."""
    most = np.maximum(m.reference_count, m.query_count) - 1
    return m.success * (1 - ratio(m.edits, most, both_zero=0.0))


def length_score(expected: Floats, walked: Floats) -> Floats:
    """LS = e / (e + |e - PL(Q)|), 1 where both are 0."""
    with np.errstate(invalid="ignore"):
        return ratio(expected, expected + np.abs(expected - walked), both_zero=1.0)


def coverage_by_length(m: Measurements) -> Floats:
    """CLS = PC LS for the expected length e = PC PL(R)."""
    return m.coverage * length_score(m.coverage * m.reference_length, m.query_length)


def success_by_warping(m: Measurements) -> Floats:
    """SDTW = SR nDTW."""
    return m.success * m.similarity


CHEAP: frozenset[str] = frozenset()
NEAREST, COVERAGE, WARPING = frozenset({"nearest"}), frozenset({"coverage"}), frozenset({"warping"})
EDITS, OPTIMAL = frozenset({"edits"}), frozenset({"optimal_length"})

PAPERS = (
    Metric("PL", "Path Length", *LENGTH, "sum d(q_i, q_i+1)", Measured("query_length"), CHEAP),
    Metric("NE", "Navigation Error", *ERROR, "d(q_|Q|, r_|R|)", Measured("end"), CHEAP),
    Metric("ONE", "Oracle Navigation Error", *ERROR, "min_q d(q, r_|R|)", Measured("closest")),
    Metric("SR", "Success Rate", *SCORE, "1[NE <= d_th]", Measured("success"), CHEAP),
    Metric("OSR", "Oracle Success Rate", *SCORE, "1[ONE <= d_th]", oracle_success),
    Metric("AD", "Average Deviation", *ERROR, "sum_q d(q, R) / |Q|", Measured("mean_deviation")),
    Metric("MD", "Max Deviation", *ERROR, "max_q d(q, R)", Measured("max_deviation")),
    Metric(
        "SPL",
        "Success weighted by Path Length",
        *SCORE,
        "SR * d(q_1, r_|R|) / max(PL, d(q_1, r_|R|))",
        success_by_length,
        OPTIMAL,
    ),
    Metric(
        "SED",
        "Success weighted by Edit Distance",
        *SCORE,
        "SR * (1 - ED(A_R, A_Q) / max(|A_R|, |A_Q|))",
        success_by_edits,
        EDITS,
    ),
    Metric("CLS", "Coverage weighted by Length Score", *SCORE, "PC * LS", coverage_by_length, COVERAGE),
    Metric("DTW", "Dynamic Time Warping", *ERROR, "min_W sum_(i,j) d(r_i, q_j)", Measured("warping"), WARPING),
    Metric(
        "nDTW", "Normalized Dynamic Time Warping", *SCORE, "exp(-DTW / (|R| d_th))", Measured("similarity"), WARPING
    ),
    Metric("SDTW", "Success weighted by nDTW", *SCORE, "SR * nDTW", success_by_warping, WARPING),
)
METRICS: dict[str, Metric] = {metric.symbol: metric for metric in PAPERS}
"""Symbol -> metric: PL NE ONE SR OSR AD MD SPL SED CLS DTW nDTW SDTW."""


def scores_of_one(measured: tuple[float, ...], threshold: float) -> tuple[float, ...]:
    """Return all of `METRICS` of one episode from what kernels measure of it; the same bits as for many.

    Args:
        measured: the first twelve fields of `Measurements`, of one episode.
        threshold: d_th.
    """
    walked, length, end, closest, start, mean_deviation, max_deviation, coverage, edits, warping, n, m = measured
    success = 1.0 if end <= threshold else 0.0
    longest = max(walked, start)
    efficient = 1.0 if longest == 0 else start / longest if longest < inf else 0.0
    edited = edits / (max(n, m) - 1) if n > 1 or m > 1 else 0.0
    expected = coverage * length
    total = expected + abs(expected - walked)
    length_scored = expected / total if total else 1.0
    similarity = float(np.exp(-warping / (n * threshold)))
    return (
        walked,
        end,
        closest,
        success,
        1.0 if closest <= threshold else 0.0,
        mean_deviation,
        max_deviation,
        success * efficient,
        success * (1 - edited),
        coverage * (length_scored if length_scored == length_scored else 0.0),
        warping,
        similarity,
        success * similarity,
    )
