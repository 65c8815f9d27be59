"""Rows on points: exact DTW, FastDTW, and the score of every step."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import data
from benchmarks.calls import THRESHOLD, points_as
from benchmarks.report import TOLERANCE, Outcome, difference
from benchmarks.timing import Contestant, need, race
from wayscore import RunningDTW, dtw, fast_dtw, ndtw

if TYPE_CHECKING:
    from benchmarks.rows import Setting

SAMPLED_STEPS = 50
"""How many steps of a long episode the slow peer is timed on."""


def euclidean(a: Any, b: Any) -> float:
    """The distance function of VLN-CE's nDTW measure, conversions and all."""
    return np.linalg.norm(np.array(b) - np.array(a), ord=2)  # type: ignore[return-value]  # a NumPy scalar, there


def dtaidistance() -> Any:
    """Return dtaidistance's module for points; without its C it would compute in Python: another contest."""
    need("dtaidistance.dtw_cc")
    return need("dtaidistance.dtw_ndim")


def exact(_: Setting, count: int) -> Outcome:
    """`dtw` of two random walks; the peer is in C."""
    peer = dtaidistance()
    R, Q = data.random_walk_points(count, 1), data.random_walk_points(count, 2)
    ours, theirs = race(
        lambda: dtw(reference=R, query=Q), lambda: peer.distance(R, Q, inner_dist="euclidean", use_c=True)
    )
    return Outcome.compared(ours, theirs)


def approximate(_: Setting, count: int) -> Outcome:
    """`fast_dtw` of two random walks with radius 1, the warping included; both must return the same cost."""
    fastdtw = need("fastdtw").fastdtw
    R, Q = data.random_walk_points(count, 1), data.random_walk_points(count, 2)
    ours, theirs = race(
        lambda: fast_dtw(reference=R, query=Q, radius=1).cost, lambda: fastdtw(Q, R, radius=1, dist=euclidean)[0]
    )
    return Outcome.compared(ours, theirs)


def every_step(_: Setting, nodes: int, steps: int, given: str = "float64") -> Outcome:
    """An episode: `RunningDTW(...)`, then `step` and `ndtw` for each point; the peer calls fastdtw on each prefix."""
    fastdtw = need("fastdtw").fastdtw
    R, Q = (
        data.random_walk_points(count, seed).astype(np.float32).astype(np.float64)
        for count, seed in ((nodes, 3), (steps, 4))
    )
    points = list(points_as(given, Q))

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
            cost = fastdtw(walked[: step + 1], instructed, dist=euclidean)[0]  # its default radius is 1
            scores.append(math.exp(-cost / (len(R) * THRESHOLD)))
        return scores

    ours, theirs = race(run, recompute)
    exact = [ndtw(reference=R, query=Q[: step + 1], threshold=THRESHOLD) for step in range(steps)]
    error = max(abs(exact[step] - score) for step, score in zip(sampled, theirs.value, strict=True))
    note = f"{ours.seconds / steps * 1e6:.2f} us per step, exact for each prefix; fastdtw's nDTW is off by {error:.2g}"
    same = difference(ours.value, exact) <= TOLERANCE
    return Outcome(ours.seconds, theirs.seconds * steps / len(sampled), same, note)


def flat_in_time(setting: Setting, nodes: int, late: int) -> Outcome:
    """100 steps of a `RunningDTW` after very many, over its first 100."""
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
    early, later = race(
        Contestant(lambda state: walk(state, first), prepare=fresh.fork),
        Contestant(lambda state: walk(state, last), prepare=old.fork),
        rounds=20 if setting.quick else 200,
    )
    return Outcome(later.seconds, early.seconds, later.value == dtw(reference=R, query=Q))
