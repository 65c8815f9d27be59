"""DTW one position at a time: each new position costs one row of C, however long the agent's path already is."""

from math import exp, inf, isnan, sqrt
from typing import Any, Callable, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

Point = Tuple[float, ...]
Distance = Union[Callable[[Any, Any], float], Mapping[Any, Mapping[Any, float]]]

LARGEST = 1e150
"""The largest coordinate: squares of larger ones, or of their differences, overflow."""
LONG = 64
"""From so many points on, NumPy computes their distances faster than plain Python."""


class RecorderError(ValueError):
    """What was given to the recorder makes no sense."""


def as_point(position: Any) -> Point:
    """Return a position as plain floats: from a list, an array, a tensor or a simulator's vector."""
    try:
        point = tuple(map(float, position.tolist() if hasattr(position, "tolist") else position))
    except (TypeError, ValueError):
        point = ()
    if not point:
        raise RecorderError(f"a position must be a list of numbers, got {position!r:.80}")
    return point


def check_finite(point: Point) -> None:
    """Refuse a coordinate that is NaN, infinite or too large for its square."""
    if not all(-LARGEST <= coordinate <= LARGEST for coordinate in point):
        raise RecorderError(f"coordinates must be finite, and below {LARGEST:g}, got {list(point)}")


def as_points(path: Any) -> List[Point]:
    """Return the reference as plain floats, all points of one dimension."""
    points: List[Point] = []
    for number, position in enumerate(path):
        try:
            points.append(as_point(position))
            check_finite(points[-1])
        except RecorderError as error:
            raise RecorderError(f"point {number} of the reference: {error}") from None
        if len(points[-1]) != len(points[0]):
            raise RecorderError(
                f"point {number} of the reference: it has {len(points[-1])} coordinates, the first point has "
                f"{len(points[0])}"
            )
    if not points:
        raise RecorderError("the reference is empty; a path has at least one point")
    return points


class RunningDTW:
    """DTW(R, q_1..t), updated by each `step`; the same bits as `wayscore.RunningDTW`.

    Args:
        reference: R, the ground-truth path: points, or with `distance` also names of nodes.
        distance: d as a function of a node of the reference and a node of the agent, or as a mapping of mappings,
            `distance[a][b]`; straight lines by default.

    >>> running = RunningDTW(reference=[[0.0], [1.0], [2.0]])
    >>> [running.step(q) for q in ([0.0], [2.0])]
    [3.0, 1.0]
    >>> round(running.ndtw(3.0), 3)
    0.895
    """

    def __init__(self, *, reference: Any, distance: Optional[Distance] = None) -> None:
        self._costs: Optional[Callable[[Any], List[float]]] = None
        self._axes: Any = None
        self._points: List[Point] = []
        if distance is not None:
            nodes = list(reference)
            self._costs = _costs_to(nodes, distance)
            self._row = [inf] * len(nodes)
        else:
            self._points = as_points(reference)
            self._row = [inf] * len(self._points)
            if len(self._points) >= LONG or len(self._points[0]) not in (2, 3):
                self._axes = np.ascontiguousarray(np.array(self._points).T)
        self._corner = 0.0
        self.dtw = inf
        """DTW so far; infinite before the first step."""
        self.steps = 0
        """How many positions the agent's path has so far."""

    def __repr__(self) -> str:
        return f"<RunningDTW to {len(self._row)} nodes, step {self.steps}: {self.dtw:g}>"

    def step(self, position: Any) -> float:
        """Take the agent's next point (coordinates) or node (a name) and return DTW so far."""
        if self._costs is not None:
            row = _advance(self._corner, self._row, self._costs(position))
        else:
            row = self._row_of(position if type(position) is tuple else as_point(position))
        self._corner, self._row, self.dtw = inf, row, row[-1]
        self.steps += 1
        return self.dtw

    def ndtw(self, threshold: float = 3.0) -> float:
        """Return nDTW so far, exp(-DTW / (|R| d_th)); 0 before the first step."""
        return exp(-self.dtw / (len(self._row) * threshold))

    def _row_of(self, point: Point) -> List[float]:
        points = self._points
        if len(point) != len(points[0]):
            raise RecorderError(f"it has {len(point)} coordinates, points of the reference have {len(points[0])}")
        if self._axes is not None:
            check_finite(point)
            squares: Any = 0.0
            for axis, coordinate in zip(self._axes, point):
                difference = axis - coordinate
                squares = squares + difference * difference
            return _advance(self._corner, self._row, np.sqrt(squares).tolist())
        row = (_advance_3d if len(point) == 3 else _advance_2d)(self._corner, self._row, points, point)
        if not row[-1] < inf:  # infinite or NaN: so is a coordinate
            check_finite(point)
        return row


def _costs_to(nodes: List[Any], distance: Distance) -> Callable[[Any], List[float]]:
    """Return a function from a node of the agent to its distances from all nodes of the reference."""
    if not nodes:
        raise RecorderError("the reference is empty; a path has at least one node")
    if not callable(distance) and not hasattr(distance, "__getitem__"):
        raise RecorderError(f"distance must be a function of two nodes or a mapping of mappings, got {distance!r:.80}")

    def costs(node: Any) -> List[float]:
        found = []
        for other in nodes:
            try:
                cost = float(distance(other, node) if callable(distance) else distance[other][node])
            except (KeyError, IndexError, TypeError) as error:
                raise RecorderError(
                    f"there is no distance from {other!r} to {node!r} ({type(error).__name__}: {error}); if the node "
                    "is unreachable, its distance is infinite"
                ) from error
            if isnan(cost) or cost < 0:
                raise RecorderError(f"the distance from {other!r} to {node!r} must not be negative or NaN, got {cost}")
            found.append(cost)
        return found

    return costs


def _advance(diagonal: float, old: Sequence[float], costs: Sequence[float]) -> List[float]:
    """Return the next row of C: C[j] = cost[j] + min(C'[j], C'[j-1], C[j-1]); `diagonal` is the border before C'."""
    row = []
    west = inf
    for cost, north in zip(costs, old):
        if north < diagonal:
            diagonal = north
        west = cost + (diagonal if diagonal < west else west)
        row.append(west)
        diagonal = north
    return row


def _advance_2d(diagonal: float, old: Sequence[float], points: Any, point: Any) -> List[float]:
    """`_advance` by straight lines in the plane: distances and row in one loop, which is quicker for short paths."""
    x, y = point
    row = []
    west = inf
    for (a, b), north in zip(points, old):
        a -= x
        b -= y
        if north < diagonal:
            diagonal = north
        west = sqrt(a * a + b * b) + (diagonal if diagonal < west else west)
        row.append(west)
        diagonal = north
    return row


def _advance_3d(diagonal: float, old: Sequence[float], points: Any, point: Any) -> List[float]:
    """`_advance` by straight lines in space."""
    x, y, z = point
    row = []
    west = inf
    for (a, b, c), north in zip(points, old):
        a -= x
        b -= y
        c -= z
        if north < diagonal:
            diagonal = north
        west = sqrt(a * a + b * b + c * c) + (diagonal if diagonal < west else west)
        row.append(west)
        diagonal = north
    return row
