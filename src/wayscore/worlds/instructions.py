"""Turn-by-turn instructions in words, from the geometry of a path alone.

A reader with the map can follow them, because each phrase has one meaning:

- "Head north-east" means the edge that leaves the start in this direction; x points east and y points north.
- A turn means an edge that leaves the node, relative to the last step: straight on (up to 22.5 degrees), slight (up to
  67.5), plain (up to 112.5) or sharp. It never means the edge back to the last node; "turn back" means that one.
- If the same words fit several edges, they are numbered: "by the left-hand of two ways", "by the second nearest of
  three ways". "Straight on" means the straightest edge; of equally straight ones, the shortest.
- A turn leads to the next node; "and walk three nodes" goes straight on for two more. Going back for three nodes
  retraces the last three steps.
- A step that rises or falls by more than 0.3 m goes "up the stairs" or "down the stairs"; all others are level.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from wayscore.distances.graph import Graph
from wayscore.errors import OptionError, PathError
from wayscore.worlds.world import World, check_whole

STAIRS = 0.3  # metres that a step on stairs rises or falls at least; cameras on one floor differ by less
EQUALLY_STRAIGHT = 5.0  # degrees: edges whose angles differ by less look equally straight
APART = 10.0  # degrees: edges this far apart are distinguished by left and right, closer ones by near and far
CLAUSES_AT_MOST = 3  # in one sentence
COMPASS = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")
RIGHT = ("straight", "slight right", "right", "sharp right", "sharp right")
TURNS = (*RIGHT, "sharp left", "sharp left", "left", "slight left")
"""Sectors of 45 degrees, clockwise from straight on; -1 to -4, from the end, are those to the left."""

Choose: TypeAlias = Callable[[Sequence[str]], str]  # chooses one of several phrases that mean the same

NUMBERS = "no one two three four five six seven eight nine ten eleven twelve".split()
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
STARTS = ("head {}", "walk {}", "go {}", "set off {}")
PLAIN = ("turn {}", "go {}", "take a {}")
PHRASES = {
    "slight": ("bear {}", "turn slightly {}", "take a slight {}"),
    "sharp": ("turn sharply {}", "make a sharp {}", "take a sharp {}"),
    "straight": ("go straight on", "keep straight on", "carry straight on"),
    "back": ("turn back the way you came", "go back the way you came", "turn around and retrace your steps"),
}
CLIMBS = {0: "", 1: " up the stairs", -1: " down the stairs"}
ON = ("walk", "keep on for", "continue for")


@dataclass(frozen=True, slots=True)
class Leg:
    """A turn and the steps after it."""

    turn: str  # a compass point on the first leg; then "back", "straight", "left", "slight left", "sharp left", ...
    steps: int  # the first by the turn, the others straight on ("back": retracing)
    metres: float
    climb: int = 0  # 1 up, -1 down, 0 level
    way: str = ""  # which way, if the turn alone is ambiguous: "the left-hand of two ways"


@dataclass(frozen=True, slots=True)
class _Option:
    """An edge out of a node."""

    node: Hashable  # where it leads
    turn: str  # the words for it
    angle: float  # degrees clockwise, from straight on or from the compass point; grows from left to right
    climb: int  # 1 up, -1 down, 0 level
    metres: float
    bearing: float  # degrees clockwise from north


def instruct(world: World | Graph, path: Sequence[Hashable], *, seed: int | np.random.Generator = 0) -> str:
    """Describe in words how to walk a path.

    Args:
        world: a world, or any graph whose nodes have positions (x, y) or (x, y, z), in metres.
        path: nodes joined by edges; a node that is repeated directly counts once.
        seed: random seed; chooses among phrases that mean the same.

    Raises:
        PathError: the path is empty, or a step is not an edge.
        OptionError: the graph has no positions.

    >>> world = World(size=4, jitter=0.0, reach=1.0)
    >>> instruct(world, [(0, 0), (0, 1), (0, 2), (1, 2), (1, 1)], seed=1)
    'Walk north for two nodes (2.0 m), take a right to the next node (1.0 m), and then turn right and stop at the next
    node.'
    """
    if not isinstance(seed, np.random.Generator):
        check_whole("seed", seed, least=0)
    rng = np.random.default_rng(seed)

    def choose(phrases: Sequence[str]) -> str:
        return phrases[int(rng.integers(len(phrases)))]

    legs = find_legs(world, path)
    if not legs:
        return choose(("Stay where you are.", "Stop where you are.", "You are there already."))
    sentences: list[str] = []
    clauses: list[str] = []
    measured = True  # how far the last leg goes
    for number, leg in enumerate(legs):
        clause = ("" if measured else "at the next node ") + _turn(leg, choose)
        extent = _extent(leg, measured, choose)
        measured = bool(extent)
        if last := number == len(legs) - 1:
            extent += choose((" and stop", " and stop there")) if measured else " and stop at the next node"
        clauses.append(clause + extent)
        if last or len(clauses) == CLAUSES_AT_MOST:
            then = choose((", then ", ", and then ")) if len(clauses) > 1 else ""
            text = ", ".join(clauses[:-1]) + then + clauses[-1]
            sentences.append(f"{text[0].upper()}{text[1:]}.")
            clauses = []
    return " ".join(sentences)


def _turn(leg: Leg, choose: Choose) -> str:
    *how, side = leg.turn.split()
    phrases = STARTS if leg.turn in COMPASS else PHRASES.get(how[0] if how else side, PLAIN)
    return choose(phrases).format(side) + (f" by {leg.way}" if leg.way else "") + CLIMBS[leg.climb]


def _extent(leg: Leg, fresh: bool, choose: Choose) -> str:
    """Say how far to go, or nothing if it is one step; if not `fresh`, the clause has already named the next node."""
    length = f" ({leg.metres:.1f} m)"
    if leg.steps == 1:
        return choose(("", "", f" for one node{length}", f" {'to the next' if fresh else 'for one'} node{length}"))
    many = f"{_count(leg.steps)} nodes{length}"
    past = f"past {_count(leg.steps - 1)} node{'s' if leg.steps > 2 else ''} to the {_ordinal(leg.steps)}{length}"
    if leg.turn not in (*COMPASS, "straight", "back"):
        return choose((*(f" and {words} {many}" for words in ON), f" and continue {past}"))
    return choose((f" for {many}", f" for {many}", f" for {many}" if leg.turn == "back" else f" {past}"))


def _count(number: int) -> str:
    return NUMBERS[number] if number < len(NUMBERS) else str(number)


def _ordinal(number: int) -> str:
    return ORDINALS[number - 1] if number <= len(ORDINALS) else f"{number}th"


def find_legs(world: World | Graph, path: Sequence[Hashable]) -> list[Leg]:
    """Divide a path into legs.

    >>> world = World(size=4, jitter=0.0, reach=1.0)
    >>> [(leg.turn, leg.steps) for leg in find_legs(world, [(0, 0), (0, 1), (0, 2), (1, 2), (1, 1)])]
    [('north', 2), ('right', 1), ('right', 1)]
    """
    graph = world.graph if isinstance(world, World) else world
    if graph.positions is None or graph.positions.shape[1] < 2:
        raise OptionError(
            f"the {graph.name} has no positions, so turns cannot be computed; build it with positions=, (x, y) or "
            "(x, y, z) of each node"
        )
    if not len(path):
        raise PathError("the path is empty; a path has at least one node")
    graph.encode([list(path)])  # raises an error for an unknown node
    nodes = [node for position, node in enumerate(path) if not position or node != path[position - 1]]
    for position, (a, b) in enumerate(pairwise(nodes)):
        if not graph.has_edge(a, b):
            raise PathError(f"step {position} of the path, from {a!r} to {b!r}, is not an edge of the {graph.name}")
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
            straight = taken.turn == "straight" and not way
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
            turn = TURNS[round(angle / 45)]
        rise = float(vector[2]) if len(vector) > 2 else 0.0
        climb = (rise > STAIRS) - (rise < -STAIRS)
        found.append(_Option(node, turn, angle, climb, float(np.linalg.norm(vector)), towards))
    return found


def _wrapped(degrees: float) -> float:
    """Return an angle from -180 to 180; angles that differ only by rounding become equal."""
    return (round(degrees, 6) + 180) % 360 - 180


def _which(taken: _Option, like: Sequence[_Option]) -> str:
    """Say which of several similar ways is taken; nothing if the turn alone is clear."""
    if taken.turn == "straight":
        limit = min(abs(option.angle) for option in like) + EQUALLY_STRAIGHT
        if taken is min((o for o in like if abs(o.angle) < limit), key=lambda option: option.metres):
            return ""
    if len(like) == 1:
        return ""
    if min(abs(option.angle - taken.angle) for option in like if option is not taken) >= APART:
        position = sorted(like, key=lambda option: option.angle).index(taken)
        first, last = ("left-hand", "right-hand") if len(like) == 2 else ("leftmost", "rightmost")
        between = "{} from the left"
    else:
        position = sorted(like, key=lambda option: option.metres).index(taken)
        first, last = ("nearer", "farther") if len(like) == 2 else ("nearest", "farthest")
        between = "{} nearest"
    which = {0: first, len(like) - 1: last}.get(position) or between.format(_ordinal(position + 1))
    return f"the {which} of {_count(len(like))} ways"
