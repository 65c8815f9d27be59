"""A path as legs: how to turn, and how far to go then, computed from the positions of nodes only."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from wayscore.distances.graph import Graph
from wayscore.errors import OptionError, PathError
from wayscore.worlds.world import World

STAIRS = 0.3
"""A step that rises or falls by more than this, metres, takes stairs; cameras on one floor differ by less."""
EQUALLY_STRAIGHT = 5.0
"""Edges whose angles differ by less than this, degrees, look equally straight."""
APART = 10.0
"""Edges at least this many degrees apart are distinguished by left and right, closer ones by near and far."""

COMPASS = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")
TURNS = ("straight", "slight right", "right", "sharp right", "behind", "sharp left", "left", "slight left")
"""Sectors of 45 degrees, clockwise; "behind" becomes sharp left or sharp right."""


@dataclass(frozen=True, slots=True)
class Way:
    """Which of several ways is meant, if the same words fit all of them.

    Attributes:
        position: its number, from 0.
        count: how many there are.
        order: "left" (from the left) or "near" (from the nearest).
    """

    position: int
    count: int
    order: str


@dataclass(frozen=True, slots=True)
class Leg:
    """A turn and the steps after it.

    Attributes:
        turn: a compass point on the first leg; then "back", "straight", "left", "slight left", "sharp left", ...
        steps: how many edges it has: the first by the turn, the others straight on ("back": retracing).
        metres: its length.
        climb: 1 up, -1 down, 0 level.
        way: which way, if the turn alone is ambiguous.
    """

    turn: str
    steps: int
    metres: float
    climb: int = 0
    way: Way | None = None


@dataclass(frozen=True, slots=True)
class _Option:
    """An edge out of a node.

    Attributes:
        node: where it leads.
        turn: the words for it.
        angle: degrees clockwise, from straight on or from the compass point; grows from left to right.
        climb: 1 up, -1 down, 0 level.
        metres: its length.
        bearing: degrees clockwise from north.
    """

    node: Hashable
    turn: str
    angle: float
    climb: int
    metres: float
    bearing: float


def find_legs(world: World | Graph, path: Sequence[Hashable]) -> list[Leg]:
    """Divide a path into legs.

    >>> world = World(size=4, jitter=0.0, reach=1.0)
    >>> [(leg.turn, leg.steps) for leg in find_legs(world, [(0, 0), (0, 1), (0, 2), (1, 2), (1, 1)])]
    [('north', 2), ('right', 1), ('right', 1)]

    Raises:
        PathError: the path is empty, or a step is not an edge.
        OptionError: the graph has no positions.
    """
    graph = world.graph if isinstance(world, World) else world
    if graph.positions is None or graph.positions.shape[1] < 2:
        raise OptionError(
            f"the {graph.name} has no positions, so turns cannot be computed; build it with positions=, (x, y) or "
            "(x, y, z) of each node"
        )
    nodes = _checked(graph, path)
    legs: list[Leg] = []
    heading: float | None = None
    pivot = 0
    for position, (here, there) in enumerate(pairwise(nodes)):
        came = nodes[position - 1] if position else None
        options = _options(graph, here, heading)
        taken = next(option for option in options if option.node == there)
        heading = taken.bearing
        last = legs[-1] if legs else None
        retraced = 2 * pivot - position - 1
        if last and last.turn == "back" and retraced >= 0 and nodes[retraced] == there:
            legs[-1] = replace(last, steps=last.steps + 1, metres=last.metres + taken.metres)
        elif position and there == came:
            pivot = position
            legs.append(Leg("back", 1, taken.metres))
        else:
            like = [o for o in options if o.node != came and (o.turn, o.climb) == (taken.turn, taken.climb)]
            way = _which(taken, like)
            straight = taken.turn == "straight" and way is None
            if last and straight and last.turn != "back" and last.climb == taken.climb:
                legs[-1] = replace(last, steps=last.steps + 1, metres=last.metres + taken.metres)
            else:
                legs.append(Leg(taken.turn, 1, taken.metres, taken.climb, way))
    return legs


def bearing(vector: NDArray[np.float64], heading: float | None = None) -> float:
    """Return the direction of a vector, degrees clockwise from north (+y); a vertical vector keeps the heading.

    >>> bearing(np.array([1.0, 0.0]))
    90.0
    """
    x, y = float(vector[0]), float(vector[1])
    if x == y == 0:
        return heading or 0.0
    return float(np.degrees(np.arctan2(x, y)))


def _checked(graph: Graph, path: Sequence[Hashable]) -> list[Hashable]:
    """Return the nodes of a path without direct repeats."""
    if not len(path):
        raise PathError("the path is empty; a path has at least one node")
    graph.encode([list(path)])  # raises an error for an unknown node
    nodes = [node for position, node in enumerate(path) if not position or node != path[position - 1]]
    for position, (a, b) in enumerate(pairwise(nodes)):
        if not graph.has_edge(a, b):
            raise PathError(f"step {position} of the path, from {a!r} to {b!r}, is not an edge of the {graph.name}")
    return nodes


def _options(graph: Graph, here: Hashable, heading: float | None) -> list[_Option]:
    assert graph.positions is not None  # find_legs() has looked
    origin = graph.positions[graph.index[here]]
    found = []
    for node in dict.fromkeys(graph.neighbors(here)):  # parallel edges are one way, loops are none
        if node == here:
            continue
        vector = graph.positions[graph.index[node]] - origin
        towards = bearing(vector, heading)
        if heading is None:
            sector = round(towards / 45) % 8
            turn, angle = COMPASS[sector], _wrapped(towards - 45 * sector)
        else:
            angle = _wrapped(towards - heading)
            turn = TURNS[round(angle / 45) % 8]
            if turn == "behind":
                turn = "sharp left" if angle < 0 else "sharp right"
        rise = float(vector[2]) if len(vector) > 2 else 0.0
        climb = (rise > STAIRS) - (rise < -STAIRS)
        found.append(_Option(node, turn, angle, climb, float(np.linalg.norm(vector)), towards))
    return found


def _wrapped(degrees: float) -> float:
    """Return an angle from -180 to 180; angles that differ only by rounding become equal."""
    return (round(degrees, 6) + 180) % 360 - 180


def _which(taken: _Option, like: Sequence[_Option]) -> Way | None:
    """Return which of several similar ways is taken; None if the turn alone is clear."""
    if taken.turn == "straight":
        limit = min(abs(option.angle) for option in like) + EQUALLY_STRAIGHT
        if taken is min((o for o in like if abs(o.angle) < limit), key=lambda option: option.metres):
            return None
    if len(like) == 1:
        return None
    gap = min(abs(option.angle - taken.angle) for option in like if option is not taken)
    if gap >= APART:
        ordered = sorted(like, key=lambda option: option.angle)
        return Way(ordered.index(taken), len(like), "left")
    return Way(sorted(like, key=lambda option: option.metres).index(taken), len(like), "near")
