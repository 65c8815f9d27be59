"""aeon's times, in an interpreter of its own: it needs older versions of numba and NumPy than the other peers.

It reads pairs of paths, `R0`, `Q0`, `R1`, ..., as an npz file from standard input, and prints for each pair the best
CPU seconds and the value of `dtw_distance` and of `dtw_alignment_path`. aeon adds squared distances: as much work, but
another quantity. It uses nothing of wayscore.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np


def best(call: Callable[[], Any]) -> float:
    """Return the best CPU seconds of a call, of five rounds of at least 20 ms."""
    call()
    start = process_time()
    call()
    loops = max(1, round(0.02 / max(process_time() - start, 1e-7)))
    rounds = []
    for _ in range(5):
        start = process_time()
        for _ in range(loops):
            call()
        rounds.append((process_time() - start) / loops)
    return min(rounds)


def main() -> None:
    """Print the times."""
    from aeon.distances import dtw_alignment_path, dtw_distance

    paths = np.load(io.BytesIO(sys.stdin.buffer.read()))
    found = []
    for number in range(len(paths) // 2):
        R, Q = (np.ascontiguousarray(paths[f"{name}{number}"].T) for name in "RQ")  # (dimensions, points)
        value, aligned = dtw_distance(R, Q), dtw_alignment_path(R, Q)[1]
        times = best(lambda: dtw_distance(R, Q)), best(lambda: dtw_alignment_path(R, Q))  # noqa: B023
        found.append({"dtw": times[0], "align": times[1], "values": [value, aligned]})
    print(json.dumps(found))


if __name__ == "__main__":
    main()
