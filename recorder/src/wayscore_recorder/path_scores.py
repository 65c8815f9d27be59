"""CLS and SED one position at a time, for positions in continuous worlds."""

from math import exp, inf, sqrt
from typing import Any, List, Optional, Sequence

from wayscore_recorder.running import Point, as_point, as_points


class RunningCLS:
    """CLS of the paper (coverage weighted by length score), by straight lines, updated by each `step`.

    >>> running = RunningCLS(reference=[[0.0, 0.0], [4.0, 0.0]], threshold=3.0)
    >>> running.step([0.0, 0.0])
    >>> running.step([4.0, 0.0])
    >>> running.value()
    1.0
    """

    def __init__(self, *, reference: Any, threshold: float = 3.0) -> None:
        self._reference = as_points(reference)
        self._threshold = threshold
        self._length = sum(straight(a, b) for a, b in zip(self._reference, self._reference[1:]))
        self._nearest = [inf] * len(self._reference)
        self._walked = 0.0
        self._last: Sequence[float] = ()

    def step(self, position: Any) -> None:
        """Take the agent's next position."""
        point = as_point(position)
        self._nearest = [min(near, straight(point, other)) for near, other in zip(self._nearest, self._reference)]
        self._walked += straight(self._last, point) if self._last else 0.0
        self._last = point

    def value(self) -> float:
        """Return CLS so far: PC * LS."""
        coverage = sum(exp(-near / self._threshold) for near in self._nearest) / len(self._nearest)
        expected = coverage * self._length
        most = expected + abs(expected - self._walked)
        return coverage * (expected / most if most else 1.0)


class RunningSED:
    """SED without its factor of success, for positions: moves between points of the reference, updated by each `step`.

    The paper compares edges of a graph, which positions do not have. So a position counts as the nearest point of the
    reference within the threshold, or else as a place off the path; a move leads from one of these to another.

    >>> running = RunningSED(reference=[[0.0, 0.0], [4.0, 0.0], [8.0, 0.0]], threshold=3.0)
    >>> for x in (0.0, 1.0, 3.0, 4.0):
    ...     running.step([x, 0.0])
    >>> running.value()
    0.5
    """

    def __init__(self, *, reference: Any, threshold: float = 3.0) -> None:
        self._reference = as_points(reference)
        self._threshold = threshold
        ids = [self._reference.index(point) for point in self._reference]  # a point that comes twice is one place
        self._edges = list(zip(ids, ids[1:]))
        self._row = list(range(len(ids)))
        self._moves = 0
        self._last: Optional[int] = None

    def step(self, position: Any) -> None:
        """Take the agent's next position."""
        here = self._place(as_point(position))
        if self._last is not None and here != self._last:
            self._row = _edit((self._last, here), self._edges, self._row)
            self._moves += 1
        self._last = here

    def value(self) -> float:
        """Return 1 - ED / max(|A_R|, |A_Q|) so far; 1 where neither path has a move."""
        most = max(len(self._edges), self._moves)
        return 1.0 - self._row[-1] / most if most else 1.0

    def _place(self, point: Point) -> int:
        """Return the number of the nearest point of the reference, -1 for a place off the path."""
        distances = [straight(point, other) for other in self._reference]
        near = min(distances)
        return distances.index(near) if near <= self._threshold else -1


def straight(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the straight distance of two points."""
    return sqrt(sum((x - y) * (x - y) for x, y in zip(a, b)))


def _edit(move: Any, edges: Sequence[Any], old: Sequence[int]) -> List[int]:
    """Return the next row of the edit distance: one more move of the agent."""
    row = [old[0] + 1]
    for number, edge in enumerate(edges):
        changed = old[number] + (edge != move)
        row.append(min(changed, old[number + 1] + 1, row[-1] + 1))
    return row
