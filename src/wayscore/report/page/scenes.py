"""Scenes from above: nodes and edges in one frame (east, north, height), their floors, and what lies near a goal."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wayscore.convention.applied import distance_by
from wayscore.distances.base import Floats
from wayscore.distances.graph import Graph

if TYPE_CHECKING:
    from wayscore.evaluation.inputs import Inputs

DIGITS = 4
"""Coordinates are kept in steps of a ten-thousandth of the scene's extent, or finer."""
WHOLE_GRAPH = 2_000
"""Of larger graphs only the nodes that paths visit are drawn, and those one edge away."""
FLOOR_APART = 1.5
"""Nodes or points whose heights differ by less are on one floor, metres."""
FLOOR_THICK = 0.6
"""Most points of a floor are this near to its height: cameras, door sills and single steps."""
FLOOR_SHARE = 0.04
"""A smaller share of a scene's points is no floor but a landing of its stairs."""


class Scene:
    """One scene as the page draws it: nodes where paths are labels, nothing but heights where they are points."""

    def __init__(
        self, name: str, inputs: Inputs, visited: Iterable[Any], points: Floats | None, *, y_up: bool, degrees: bool
    ) -> None:
        """Take the nodes that paths visit, or the points of paths of coordinates."""
        both: tuple[Any, Any] = (inputs.distances, distance_by(inputs.distances, inputs.convention))
        given, self.space = (found[name] if isinstance(found, Mapping) else found for found in both)
        self.name = name
        self.convention = inputs.convention
        self.graph = given if isinstance(given, Graph) else None
        self.y_up = y_up
        self.nodes: list[Hashable] = []
        if points is None:  # of a large graph the nodes that paths visit, and their neighbours
            self.nodes = list(dict.fromkeys(visited))
            if self.graph is not None and len(self.graph) > WHOLE_GRAPH:
                neighbors = (self.graph.neighbors(node) for node in self.nodes)
                self.nodes = list(dict.fromkeys(chain(self.nodes, *neighbors)))
            else:
                self.nodes = list(getattr(given, "nodes", self.nodes))
        self.index = {node: number for number, node in enumerate(self.nodes)}
        self.at: Floats | None = None
        if points is not None:
            self.at = from_above(points, y_up)
        elif self.graph is not None and self.graph.positions is not None:
            self.at = from_above(self.graph.positions[[self.graph.index[node] for node in self.nodes]])
            if degrees:  # of longitude, which are shorter than those of latitude
                self.at[:, 0] *= math.cos(math.radians(float(self.at[:, 1].mean())))
        self.scale = scale_of(self.at)

    def encode(self, path: Any) -> tuple[int, ...]:
        """Return a path as node numbers; points as steps of the frame, each from the one before."""
        if self.nodes:
            return tuple(self.index[node] for node in path)
        steps = np.rint(from_above(np.asarray(path, dtype=np.float64), self.y_up) * self.scale).astype(np.int64)
        return tuple(np.diff(steps, axis=0, prepend=np.zeros((1, 3), dtype=np.int64)).ravel().tolist())

    def near(self, goals: Iterable[int], threshold: float) -> dict[int, list[int]]:
        """Return by goal the nodes that count as reaching it; none where a graph is large or goals are sets."""
        if self.graph is None or self.convention.goal != "last" or len(self.graph) > WHOLE_GRAPH:
            return {}
        ends = np.array(sorted(goals))
        away = self.space.between(ends, np.arange(len(self.graph)))
        met = away < threshold if self.convention.comparison == "<" else away <= threshold
        return {goal: np.flatnonzero(row).tolist() for goal, row in zip(ends.tolist(), met, strict=True)}

    def _is_metric(self) -> bool:
        """Whether positions and distances have one unit, so that a circle on the map means something."""
        if self.graph is None or self.graph.positions is None:
            return not self.nodes
        edges = np.array(self.graph.edges, dtype=np.int64).reshape(-1, 2)
        if not len(edges):
            return True
        a, b = edges[:: max(1, len(edges) // 200)].T
        straight = np.linalg.norm(self.graph.positions[a] - self.graph.positions[b], axis=1)
        return bool(np.allclose(np.median(self.graph.pairs(a, b) - straight), 0.0, atol=0.05 * np.median(straight)))

    def drawn(self) -> dict[str, Any]:
        """Return what the page needs to draw the scene."""
        found: dict[str, Any] = {"name": self.name, "scale": self.scale, "floors": [], "metric": self._is_metric()}
        if self.at is not None:
            found["floors"] = np.rint(np.array(floors(self.at[:, 2])) * self.scale).astype(int).tolist()
        if self.nodes:
            found["nodes"] = [", ".join(map(str, one)) if isinstance(one, tuple) else str(one) for one in self.nodes]
            if self.at is not None:
                found["at"] = np.rint(self.at * self.scale).astype(int).ravel().tolist()
        if self.graph is not None:
            codes = {self.graph.index[node]: number for number, node in enumerate(self.nodes)}
            edges = ((codes[a], codes[b]) for a, b in self.graph.edges if a in codes and b in codes and a != b)
            found["edges"] = list(chain.from_iterable(edges))
        return found


def from_above(points: Floats, y_up: bool = False) -> Floats:
    """Return points as (east, north, height); where y is up, as in Habitat, north is -z.

    >>> from_above(np.array([[1.0, 2.0, 3.0]]), y_up=True)
    array([[ 1., -3.,  2.]])
    >>> from_above(np.array([[1.0, 2.0]]))
    array([[1., 2., 0.]])
    """
    count, size = points.shape
    framed = np.zeros((count, 3))
    framed[:, : min(size, 3)] = points[:, :3]
    if y_up and size >= 3:
        framed = framed[:, [0, 2, 1]] * (1.0, -1.0, 1.0)
    return framed


def scale_of(points: Floats | None) -> int:
    """Return how many steps make one unit, such that `DIGITS` digits distinguish points of the scene.

    >>> scale_of(np.array([[0.0, 0.0], [40.0, 3.0]]))
    1000
    """
    extent = 1.0 if points is None else max(float(np.ptp(points, axis=0).max()), 1e-6)
    return int(10 ** max(0, DIGITS - math.floor(math.log10(extent))))


def is_y_up(points: Floats) -> bool:
    """Guess which way is up: scenes are wider than they are high.

    >>> is_y_up(np.array([[0.0, 0.0, 0.0], [9.0, 1.0, 9.0]]))
    True
    """
    return points.shape[1] == 3 and bool(np.ptp(points[:, 1]) < np.ptp(points[:, 2]))


def floors(heights: Floats) -> list[float]:
    """Return the heights of a scene's floors, lowest first: each is where most of the points that are left lie.

    >>> floors(np.array([0.0, 0.1, 0.2, 1.4, 2.9, 3.0]))
    [0.1, 2.95]
    """
    left: NDArray[np.float64] = np.sort(heights)
    found: list[float] = []
    while len(left):
        low = np.searchsorted(left, left - FLOOR_THICK, side="left")
        high = np.searchsorted(left, left + FLOOR_THICK, side="right")
        fullest = int(np.argmax(high - low))
        if found and high[fullest] - low[fullest] < max(FLOOR_SHARE * len(heights), 2):
            break
        floor = float(np.median(left[low[fullest] : high[fullest]]))
        found.append(floor)
        left = left[np.abs(left - floor) > FLOOR_APART]
    return sorted(found)
