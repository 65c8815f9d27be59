"""Metrics that evaluators print beside the paper's, and measures of trajectories from outside navigation.

All are printed only by name. The authors of Fréchet, Hausdorff, LCSS and EDR compare points axis by axis; here nodes
or points are compared by the distance d, so that they also work on graphs, among obstacles and with your own distances.
"""

from __future__ import annotations

from math import inf

import numpy as np

from wayscore.metrics.base import ERROR, SCORE, Floats, Measured, Measurements, Metric, ratio
from wayscore.metrics.episode import Episode
from wayscore.metrics.paper import CHEAP, COVERAGE, OPTIMAL, efficiency, length_score, success_by_length


def goal_progress(m: Measurements) -> Floats:
    """GP = min_g d(q_1, g) - min_g d(q_|Q|, g): how much nearer the agent came, infinite if unreachable."""
    with np.errstate(invalid="ignore"):
        progress = m.goal_start - m.goal_end
    progress[np.isnan(progress)] = inf
    return progress


def oracle_success_by_length(m: Measurements) -> Floats:
    """OSPL: SPL of the same walk, had it stopped where it first met the threshold.

    Where a stop is required, only the end of the walk can be one: it equals SPL.
    """
    if m.convention.stop == "required":
        return success_by_length(m)
    met = np.isfinite(m.reach)
    return np.where(met, efficiency(m, np.where(met, m.reach, 0.0)), 0.0)


def soft_success_by_length(m: Measurements) -> Floats:
    """SoftSPL = max(0, 1 - d(q_|Q|, goal) / L) L / max(PL, L): the share of the way in place of success."""
    with np.errstate(invalid="ignore"):
        nearer = np.maximum(0.0, 1 - ratio(m.end, m.optimal_length, both_zero=0.0))
        return nearer * efficiency(m, m.query_length)


def length_ratio(m: Measurements) -> Floats:
    """L / max(PL, L): SPL without the success."""
    return efficiency(m, m.query_length)


def covered_length(m: Measurements) -> Floats:
    """LS for the expected length e = PC PL(R)."""
    return length_score(m.coverage * m.reference_length, m.query_length)


def moves(m: Measurements) -> Floats:
    """|Q| - 1, repeats counted."""
    return m.recorded_count - 1


def gaussian_proximity(episode: Episode) -> float:
    """Mean over q of exp(-d(q, R)^2 / (2 d_th^2))."""
    nearest = episode.matrix().min(axis=0)
    return float(np.exp(-(nearest**2) / (2 * episode.threshold**2)).mean())


def grounding(episode: Episode) -> float:
    """RGS: 1 where the agent named the right object, wherever its walk ends."""
    right, named = episode.recorded.get("object"), episode.recorded.get("predicted_object")
    return inf if right is None or named is None else float(str(right) == str(named))


def grounding_by_length(episode: Episode) -> float:
    """RGSPL = RGS L / max(PL, L)."""
    if (right := grounding(episode)) == inf:
        return inf
    by_reference = episode.convention.spl_length == "reference"
    length = episode.reference_length() if by_reference else float(episode.goal_distances()[0])
    longest = max(episode.length(), length, episode.convention.spl_floor)
    return right * (length / longest if longest else 1.0) if length < inf else 0.0


def decisions(episode: Episode) -> float:
    """How many decisions the agent took, as the run recorded it."""
    return float(episode.recorded.get("actions", inf))


OBJECTS, ACTIONS = ("object", "predicted_object"), ("actions",)
GOALS = frozenset({"goals"})
_EXTRAS = (
    Metric("GP", "Goal Progress", "up", (-inf, inf), "m", "min_g d(q_1, g) - min_g d(q_|Q|, g)", goal_progress, GOALS),
    Metric("steps", "Moves", None, (0, inf), "moves", "|Q| - 1, repeats counted", moves, CHEAP),
    Metric("actions", "Decisions", None, (0, inf), "decisions", "as recorded", measure=decisions, records=ACTIONS),
    Metric("efficiency", "Length ratio", *SCORE, "L / max(PL, L)", length_ratio, OPTIMAL),
    Metric(
        "OSPL",
        "Oracle SPL",
        *SCORE,
        "max_i 1[d(q_i, r_|R|) <= d_th] L / max(PL(q_1..i), L)",
        oracle_success_by_length,
        OPTIMAL | {"reach"},
    ),
    Metric(
        "SoftSPL",
        "Soft success weighted by Path Length",
        *SCORE,
        "max(0, 1 - NE / L) L / max(PL, L)",
        soft_success_by_length,
        OPTIMAL,
    ),
    Metric("PC", "Path Coverage", *SCORE, "mean_r exp(-d(r, Q) / d_th)", Measured("coverage"), COVERAGE),
    Metric("LS", "Length Score", *SCORE, "PC PL(R) / (PC PL(R) + |PC PL(R) - PL(Q)|)", covered_length, COVERAGE),
    Metric("RGS", "Remote Grounding Success", *SCORE, "1[right object]", measure=grounding, records=OBJECTS),
    Metric(
        "RGSPL",
        "RGS weighted by Path Length",
        *SCORE,
        "RGS L / max(PL, L)",
        measure=grounding_by_length,
        records=OBJECTS,
    ),
    Metric(
        "proximity", "Gaussian proximity", *SCORE, "mean_q exp(-d(q, R)^2 / (2 d_th^2))", measure=gaussian_proximity
    ),
)
EXTRA: dict[str, Metric] = {metric.symbol: metric for metric in _EXTRAS}
"""Symbol -> metric; printed only where a convention or a user names them."""


def frechet(episode: Episode) -> float:
    """Discrete Fréchet distance: the longest link of the best warping, min_W max_(i,j) d(r_i, q_j).

    A warping's steps are those of DTW; where DTW adds the links up, this takes the longest: the shortest leash with
    which both paths can be walked forwards (Eiter and Mannila, 1994).

    >>> frechet(Episode.of(reference=[[0, 0], [4, 0]], query=[[0, 1], [2, 1], [4, 3]]))
    3.0
    """
    above = [0.0] + [inf] * len(episode.encoded_query)
    for distances in episode.matrix().tolist():
        row = [inf]
        for j, distance in enumerate(distances):
            row.append(max(distance, min(above[j], above[j + 1], row[j])))
        above = row
    return above[-1]


def hausdorff_to_reference(episode: Episode) -> float:
    """Directed Hausdorff distance from the query: max_q min_r d(r, q), how far the agent strayed. It equals MD.

    >>> hausdorff_to_reference(Episode.of(reference=[[0, 0], [4, 0]], query=[[0, 1]]))
    1.0
    """
    return float(episode.matrix().min(axis=0).max())


def hausdorff_to_query(episode: Episode) -> float:
    """Directed Hausdorff distance from the reference: max_r min_q d(r, q), the worst that was missed.

    >>> hausdorff_to_query(Episode.of(reference=[[0, 0], [4, 0]], query=[[0, 0]]))
    4.0
    """
    return float(episode.matrix().min(axis=1).max())


def hausdorff(episode: Episode) -> float:
    """Hausdorff distance: the larger of the two directed ones. It does not look at the order of nodes.

    >>> hausdorff(Episode.of(reference=[[0, 0], [4, 0]], query=[[4, 0], [0, 0]]))
    0.0
    """
    return max(hausdorff_to_reference(episode), hausdorff_to_query(episode))


def lcss(episode: Episode) -> float:
    """LCSS(R, Q) / min(|R|, |Q|): the share of the shorter path that is matched within d_th, in order.

    The longest common subsequence (Vlachos et al., 2002, without its limit on the shift in time).

    >>> lcss(Episode.of(reference=[[0, 0], [4, 0], [8, 0]], query=[[0, 1], [8, 9]]))
    0.5
    """
    matches = episode.within(episode.matrix())
    row = np.zeros(matches.shape[1] + 1, dtype=np.int64)
    for matched in matches:  # row[j] = max(above[j], above[j - 1] + matched[j], row[j - 1])
        row[1:] = np.maximum.accumulate(np.maximum(row[1:], row[:-1] + matched))
    return float(row[-1] / min(matches.shape))


def edr(episode: Episode) -> float:
    """EDR(R, Q) / max(|R|, |Q|): the share of nodes to insert, delete or replace; within d_th nodes are the same.

    The edit distance on real sequences (Chen et al., 2005), divided by the most that it can be.

    >>> edr(Episode.of(reference=[[0, 0], [4, 0], [8, 0]], query=[[0, 1], [8, 9]]))
    0.6666666666666666
    """
    differs = ~episode.within(episode.matrix())
    ramp = np.arange(differs.shape[1] + 1)
    row = ramp
    for i, different in enumerate(differs, start=1):  # as usual; row[j - 1] + 1 is a running minimum of row[j] - j
        edited = np.minimum(row[1:] + 1, row[:-1] + different)
        row = np.minimum.accumulate(np.append(i, edited) - ramp) + ramp
    return float(row[-1] / max(differs.shape))


_TRAJECTORIES = (
    Metric("Frechet", "Discrete Fréchet distance", *ERROR, "min_W max_(i,j) d(r_i, q_j)", measure=frechet),
    Metric("Hausdorff", "Hausdorff distance", *ERROR, "max(HausdorffQR, HausdorffRQ)", measure=hausdorff),
    Metric(
        "HausdorffQR",
        "Directed Hausdorff distance, query to reference",
        *ERROR,
        "max_q min_r d(r, q)",
        measure=hausdorff_to_reference,
    ),
    Metric(
        "HausdorffRQ",
        "Directed Hausdorff distance, reference to query",
        *ERROR,
        "max_r min_q d(r, q)",
        measure=hausdorff_to_query,
    ),
    Metric("LCSS", "Longest Common Subsequence", *SCORE, "LCSS(R, Q) / min(|R|, |Q|)", measure=lcss),
    Metric("EDR", "Edit Distance on Real sequences", "down", (0, 1), "", "EDR(R, Q) / max(|R|, |Q|)", measure=edr),
)
TRAJECTORY: dict[str, Metric] = {metric.symbol: metric for metric in _TRAJECTORIES}
"""Symbol -> metric; printed only where a user names them."""
