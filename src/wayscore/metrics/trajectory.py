"""Measures of trajectories from outside navigation: Fréchet, Hausdorff, LCSS and EDR. Printed only by name.

Their authors compare points axis by axis; here two nodes or points are compared by the distance d, so that all of them
also work on graphs, among obstacles and with distances of your own.
"""

from __future__ import annotations

from math import inf

import numpy as np

from wayscore.metrics.base import Metric
from wayscore.metrics.episode import Episode


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


TRAJECTORY: dict[str, Metric] = {
    metric.symbol: metric
    for metric in (
        Metric(
            "Frechet",
            "Discrete Fréchet distance",
            "down",
            (0, inf),
            "m",
            "min_W max_(i,j) d(r_i, q_j)",
            measure=frechet,
        ),
        Metric(
            "Hausdorff", "Hausdorff distance", "down", (0, inf), "m", "max(HausdorffQR, HausdorffRQ)", measure=hausdorff
        ),
        Metric(
            "HausdorffQR",
            "Directed Hausdorff distance, query to reference",
            "down",
            (0, inf),
            "m",
            "max_q min_r d(r, q)",
            measure=hausdorff_to_reference,
        ),
        Metric(
            "HausdorffRQ",
            "Directed Hausdorff distance, reference to query",
            "down",
            (0, inf),
            "m",
            "max_r min_q d(r, q)",
            measure=hausdorff_to_query,
        ),
        Metric("LCSS", "Longest Common Subsequence", "up", (0, 1), "", "LCSS(R, Q) / min(|R|, |Q|)", measure=lcss),
        Metric("EDR", "Edit Distance on Real sequences", "down", (0, 1), "", "EDR(R, Q) / max(|R|, |Q|)", measure=edr),
    )
}
"""Symbol -> metric; printed only where a user names them."""
