"""Rows on points: exact DTW, FastDTW, pruning, and the score of every step."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import data
from benchmarks.report import Outcome
from benchmarks.timing import Contestant, need, race
from wayscore import kernels
from wayscore.warping.alignment import dtw, fast_dtw, ndtw
from wayscore.warping.running import RunningDTW

if TYPE_CHECKING:
    from benchmarks.rows import Setting

TOLERANCE = 1e-9
THRESHOLD = 3.0
SAMPLED_STEPS = 50
"""How many steps of a long episode the slow peer is timed on."""


def euclidean(a: Any, b: Any) -> float:
    """The distance that fastdtw is given: a NumPy norm, as in VLN-CE."""
    return float(np.linalg.norm(b - a, ord=2))


def euclidean_in_vlnce(a: Any, b: Any) -> float:
    """The distance function of VLN-CE's nDTW measure, conversions and all."""
    return np.linalg.norm(np.array(b) - np.array(a), ord=2)  # type: ignore[return-value]  # a NumPy scalar, there


def against_dtaidistance(_: Setting, count: int) -> Outcome:
    """Exact DTW of two random walks against dtaidistance's C."""
    warping = need("dtaidistance.dtw_ndim")
    need("dtaidistance.dtw_cc")  # without it, use_c falls back to Python: another contest
    R, Q = data.random_walk_points(count, 1), data.random_walk_points(count, 2)
    ours, theirs = race(
        lambda: dtw(reference=R, query=Q), lambda: warping.distance(R, Q, inner_dist="euclidean", use_c=True)
    )
    difference = abs(theirs.value - ours.value) / ours.value
    return Outcome(ours.seconds, theirs.seconds, difference <= TOLERANCE, difference, "random walks; both exact")


def exact_against_fastdtw(_: Setting, count: int) -> Outcome:
    """Exact DTW against the approximation of the fastdtw package, whose error is printed."""
    fastdtw = need("fastdtw").fastdtw
    R, Q = data.random_walk_points(count, 1), data.random_walk_points(count, 2)
    ours, theirs = race(lambda: dtw(reference=R, query=Q), lambda: fastdtw(R, Q, radius=1, dist=euclidean)[0])
    error = (theirs.value - ours.value) / ours.value
    note = f"random walks; fastdtw with VLN-CE's np.linalg.norm is {100 * error:.2g} % too high"
    return Outcome(ours.seconds, theirs.seconds, error >= -TOLERANCE, error, note)


def fast_against_fastdtw(_: Setting, count: int) -> Outcome:
    """Our FastDTW against the fastdtw package: the same approximation, the same cost."""
    fastdtw = need("fastdtw").fastdtw
    R, Q = data.random_walk_points(count, 1), data.random_walk_points(count, 2)
    ours, theirs = race(
        lambda: fast_dtw(reference=R, query=Q, radius=1).cost, lambda: fastdtw(R, Q, radius=1, dist=euclidean)[0]
    )
    difference = abs(theirs.value - ours.value) / ours.value
    return Outcome(ours.seconds, theirs.seconds, difference <= TOLERANCE, difference, "random walks; the same cost")


def pruned_against_full(_: Setting, count: int) -> Outcome:
    """`dtw` of pairs that track each other against the recurrence over every cell, bit for bit."""
    pairs = [data.tracking_pair(count, seed) for seed in range(2)]
    ours, theirs = race(
        lambda: [dtw(reference=R, query=Q) for R, Q in pairs],
        lambda: [kernels.warp_points(R, Q, None, None) for R, Q in pairs],
    )
    same = ours.value == theirs.value
    note = f"{len(pairs)} tracking pairs, 0.15 m noise and a detour; {'same bits' if same else 'DIFFERENT BITS'}"
    return Outcome(ours.seconds / len(pairs), theirs.seconds / len(pairs), same, 0.0 if same else 1.0, note)


def every_step(_: Setting, nodes: int, steps: int) -> Outcome:
    """Score an episode after each of its steps; the peer calls fastdtw on the prefix each time, as VLN-CE does.

    Our side includes creating the `RunningDTW`, the peer's the conversion of its lists of positions.
    """
    fastdtw = need("fastdtw").fastdtw
    R, Q = data.random_walk_points(nodes, 3), data.random_walk_points(steps, 4)
    points = list(Q)

    def run() -> list[float]:
        running, scores = RunningDTW(reference=R), []
        for point in points:
            running.step(point)
            scores.append(running.ndtw(THRESHOLD))
        return scores

    walked, instructed = Q.tolist(), R.tolist()  # VLN-CE keeps lists of positions
    stride = max(1, steps // SAMPLED_STEPS)
    sampled = list(range(stride // 2, steps, stride))

    def recompute() -> list[float]:
        scores = []
        for step in sampled:
            cost = fastdtw(walked[: step + 1], instructed, dist=euclidean_in_vlnce)[0]  # its default radius is 1
            scores.append(math.exp(-cost / (len(R) * THRESHOLD)))
        return scores

    ours, theirs = race(run, Contestant(recompute, rounds=3))
    exact = [ndtw(reference=R, query=Q[: step + 1], threshold=THRESHOLD) for step in range(steps)]
    difference = max(abs(a - b) for a, b in zip(ours.value, exact, strict=True))
    error = max(abs(ours.value[step] - score) for step, score in zip(sampled, theirs.value, strict=True))
    per_step = ours.seconds / steps * 1e6
    note = f"{per_step:.2f} us per step; exact for each prefix; fastdtw's nDTW is off by up to {error:.2g}"
    scaled = theirs.seconds * steps / len(sampled)
    return Outcome(ours.seconds, scaled, difference <= TOLERANCE, error, note)


def flat_in_time(setting: Setting, nodes: int, late: int) -> Outcome:
    """The cost of a step after `late` steps over that of the first steps."""
    R, Q = data.random_walk_points(nodes, 3), data.random_walk_points(late + 100, 4)
    first, last = list(Q[:100]), list(Q[late:])
    fresh, old = RunningDTW(reference=R), RunningDTW(reference=R)
    for point in Q[:late]:
        old.step(point)

    def walk(state: RunningDTW, points: list[Any]) -> float:
        for point in points:
            state.step(point)
            state.ndtw(THRESHOLD)
        return state.dtw

    # Many rounds of a millisecond: their best is steady even on a busy machine.
    rounds = 20 if setting.quick else 200
    early, later = race(
        Contestant(lambda state: walk(state, first), prepare=fresh.fork),
        Contestant(lambda state: walk(state, last), prepare=old.fork),
        rounds=rounds,
    )
    same = later.value == dtw(reference=R, query=Q)
    each, each_later = early.seconds * 1e4, later.seconds * 1e4  # microseconds, of 100 steps
    note = f"{each:.2f} us per step in steps 1-100, {each_later:.2f} us from step {late:,} on"
    return Outcome(later.seconds / early.seconds, None, same, None, note)
