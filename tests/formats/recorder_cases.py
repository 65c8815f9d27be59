"""Cases that wayscore and its recorder must agree on to the last bit.

`python -m tests.formats.recorder_cases` writes them to a file that the recorder's own tests read, on Pythons on which
wayscore does not run.
"""

from __future__ import annotations

import json
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

import wayscore as ws

FILE = Path(__file__).parents[2] / "recorder" / "tests" / "cases.json"
SHAPES = [(1, 1, 3), (2, 5, 3), (5, 9, 2), (7, 12, 3), (6, 8, 1), (9, 7, 4), (63, 6, 3), (64, 6, 3), (100, 5, 2)]
"""Points of the reference, positions of the agent, dimension; on both sides of where the recorder changes its loop."""


def cases() -> list[dict[str, Any]]:
    """Return every case: a reference, the steps of an agent, and DTW and nDTW after each."""
    rng = np.random.default_rng(0)
    found = []
    for n, m, k in SHAPES:
        walk = np.cumsum(rng.normal(size=(n, k)), axis=0)
        near = walk[np.sort(rng.integers(0, n, m))] + rng.normal(scale=0.5, size=(m, k))
        grid = rng.integers(0, 3, (n, k)).astype(float), rng.integers(0, 3, (m, k)).astype(float)  # ties, repeats
        for reference, query in ((walk, near), (walk.astype(np.float32), near.astype(np.float32)), grid):
            found.append(_case(reference.astype(float).tolist(), query.astype(float).tolist(), 3.0))
    found.append(_case([[1e149, -1e149], [1e-160, 0.0]], [[-1e149, 1e149], [0.0, 1e-170]], 1e149))
    found.append(_case([[0.1, 0.2, 0.3]] * 3, [[0.1, 0.2, 0.3], [0.30000000000000004, 0.2, 0.1]], 0.25))
    names = list("abcde")
    graph = ws.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "a"), ("d", "e")], [1.5, 0.1, 0.7, 2.0])
    table = {a: {b: graph.distance(a, b) for b in names} for a in names}
    found.append(_case(["a", "b", "c"], ["a", "c", "c", "b", "d", "a"], 3.0, graph, table))
    found.append(_case(["d", "e", "d"], ["d", "e"], 0.5, graph, table))
    return found


def _case(
    reference: list[Any], query: list[Any], threshold: float, distance: Any = None, table: Any = None
) -> dict[str, Any]:
    running = ws.RunningDTW(reference=reference, distance=distance)
    scores = [(running.step(place), running.ndtw(threshold)) for place in query]
    dtw, ndtw = map(list, zip(*scores, strict=True))
    case = {"reference": reference, "query": query, "threshold": threshold, "dtw": dtw, "ndtw": ndtw}
    return _finite(case if table is None else {**case, "distance": table})


def _finite(value: Any) -> Any:
    """Return a value with null for infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if value == inf else value


if __name__ == "__main__":
    FILE.write_text("[\n" + ",\n".join(map(json.dumps, cases())) + "\n]\n")
