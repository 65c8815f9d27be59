"""The paper's twelve metrics and DTW, in the order of its table.

Where the paper is silent: a start at the goal gives SPL 1 to an agent that stayed and 0 to one that left; zero
expected and zero actual length give CLS's length score 1; two paths without edges give SED's factor 1; where an
infinite distance makes a bounded score undefined it takes its worst value, 0.
"""

from __future__ import annotations

from math import inf

import numpy as np

from wayscore.metrics.base import Floats, Measurements, Metric


def _ratio(numerator: Floats, denominator: Floats, both_zero: float) -> Floats:
    """Divide; 0/0 is `both_zero`, and what infinities leave undefined is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = numerator / denominator
    undefined = np.isnan(ratio)
    if undefined.any():
        ratio[undefined] = np.where((numerator == 0) & (denominator == 0), both_zero, 0.0)[undefined]
    return ratio


def oracle_success(m: Measurements) -> Floats:
    """OSR = 1[ONE <= d_th]."""
    return m.reached(m.closest, m.goal_closest)


def success_by_length(m: Measurements) -> Floats:
    """SPL = SR L / max(PL, L), L = d(q_1, goal); conventions may take the reference's length, or floor the divisor."""
    rules = m.convention
    length = {"shortest": m.start, "reference": m.reference_length, "goals": m.goal_start}[rules.spl_length]
    longest = np.maximum(m.query_length, length)
    if rules.spl_floor:
        longest = np.maximum(longest, rules.spl_floor)
    return m.success * _ratio(length, longest, both_zero=1.0 if rules.spl_at_goal == "still" else 0.0)


def success_by_edits(m: Measurements) -> Floats:
    """SED = SR (1 - ED(A_R, A_Q) / max(|A_R|, |A_Q|))."""
    edges = np.maximum(m.reference_count, m.query_count) - 1
    return m.success * (1 - _ratio(m.edits, edges, both_zero=0.0))


def coverage_by_length(m: Measurements) -> Floats:
    """CLS = PC LS, with LS = e / (e + |e - PL(Q)|) for the expected length e = PC PL(R)."""
    with np.errstate(invalid="ignore"):
        expected = m.coverage * m.reference_length
        return m.coverage * _ratio(expected, expected + np.abs(expected - m.query_length), both_zero=1.0)


def success_by_warping(m: Measurements) -> Floats:
    """SDTW = SR nDTW."""
    return m.success * m.similarity


EDITS, COVERAGE = frozenset({"edits"}), frozenset({"coverage"})

METRICS: dict[str, Metric] = {
    metric.symbol: metric
    for metric in (
        Metric("PL", "Path Length", None, (0, inf), "m", "sum d(q_i, q_i+1)", lambda m: m.query_length),
        Metric("NE", "Navigation Error", "down", (0, inf), "m", "d(q_|Q|, r_|R|)", lambda m: m.end),
        Metric("ONE", "Oracle Navigation Error", "down", (0, inf), "m", "min_q d(q, r_|R|)", lambda m: m.closest),
        Metric("SR", "Success Rate", "up", (0, 1), "", "1[NE <= d_th]", lambda m: m.success),
        Metric("OSR", "Oracle Success Rate", "up", (0, 1), "", "1[ONE <= d_th]", oracle_success),
        Metric(
            "AD",
            "Average Deviation",
            "down",
            (0, inf),
            "m",
            "sum_q d(q, R) / |Q|",
            lambda m: m.mean_deviation,
        ),
        Metric("MD", "Max Deviation", "down", (0, inf), "m", "max_q d(q, R)", lambda m: m.max_deviation),
        Metric(
            "SPL",
            "Success weighted by Path Length",
            "up",
            (0, 1),
            "",
            "SR * d(q_1, r_|R|) / max(PL, d(q_1, r_|R|))",
            success_by_length,
        ),
        Metric(
            "SED",
            "Success weighted by Edit Distance",
            "up",
            (0, 1),
            "",
            "SR * (1 - ED(A_R, A_Q) / max(|A_R|, |A_Q|))",
            success_by_edits,
            EDITS,
        ),
        Metric(
            "CLS",
            "Coverage weighted by Length Score",
            "up",
            (0, 1),
            "",
            "PC * LS",
            coverage_by_length,
            COVERAGE,
        ),
        Metric(
            "DTW",
            "Dynamic Time Warping",
            "down",
            (0, inf),
            "m",
            "min_W sum_(i,j) d(r_i, q_j)",
            lambda m: m.warping,
        ),
        Metric(
            "nDTW",
            "Normalized Dynamic Time Warping",
            "up",
            (0, 1),
            "",
            "exp(-DTW / (|R| d_th))",
            lambda m: m.similarity,
        ),
        Metric(
            "SDTW",
            "Success weighted by nDTW",
            "up",
            (0, 1),
            "",
            "SR * nDTW",
            success_by_warping,
        ),
    )
}
"""Symbol -> metric: PL NE ONE SR OSR AD MD SPL SED CLS DTW nDTW SDTW."""
