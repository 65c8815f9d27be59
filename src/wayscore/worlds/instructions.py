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
from typing import TypeAlias

import numpy as np

from wayscore.distances.graph import Graph
from wayscore.worlds.legs import COMPASS, Leg, Way, find_legs
from wayscore.worlds.world import World, check_whole

Choose: TypeAlias = Callable[[Sequence[str]], str]
"""Chooses one of several phrases that mean the same."""

NUMBERS = "no one two three four five six seven eight nine ten eleven twelve".split()
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
CLAUSES_AT_MOST = 3
"""The most clauses in one sentence."""

STARTS = ("head {}", "walk {}", "go {}", "set off {}")
PLAIN = ("turn {}", "go {}", "take a {}")
SLIGHT = ("bear {}", "turn slightly {}", "take a slight {}")
SHARP = ("turn sharply {}", "make a sharp {}", "take a sharp {}")
STRAIGHT = ("go straight on", "keep straight on", "carry straight on")
BACK = ("turn back the way you came", "go back the way you came", "turn around and retrace your steps")
CLIMBS = {0: "", 1: " up the stairs", -1: " down the stairs"}
ON = ("walk", "keep on for", "continue for")


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
    return describe(find_legs(world, path), lambda words: words[int(rng.integers(len(words)))])


def describe(legs: Sequence[Leg], choose: Choose) -> str:
    """Put legs into sentences."""
    if not legs:
        return choose(("Stay where you are.", "Stop where you are.", "You are there already."))
    sentences: list[str] = []
    clauses: list[str] = []
    measured = True  # how far the last leg goes
    for number, leg in enumerate(legs):
        clause = ("" if measured else "at the next node ") + _turn(leg, choose)
        extent = _extent(leg, measured, choose)
        measured = bool(extent)
        clauses.append(clause + extent)
        if number == len(legs) - 1:
            clauses[-1] += choose((" and stop", " and stop there")) if measured else " and stop at the next node"
        if len(clauses) == CLAUSES_AT_MOST or number == len(legs) - 1:
            sentences.append(_sentence(clauses, choose))
            clauses = []
    return " ".join(sentences)


def _turn(leg: Leg, choose: Choose) -> str:
    if leg.turn in COMPASS:
        words = choose(STARTS).format(leg.turn)
    elif leg.turn in ("straight", "back"):
        words = choose(STRAIGHT if leg.turn == "straight" else BACK)
    else:
        *how, side = leg.turn.split()
        words = choose({"slight": SLIGHT, "sharp": SHARP}[how[0]] if how else PLAIN).format(side)
    return words + (f" by {_way(leg.way)}" if leg.way else "") + CLIMBS[leg.climb]


def _extent(leg: Leg, fresh: bool, choose: Choose) -> str:
    """Say how far to go, or nothing if it is one step; if not `fresh`, the clause has already named the next node."""
    length = f" ({leg.metres:.1f} m)"
    if leg.steps == 1:
        return choose(("", "", f" for one node{length}", f" {'to the next' if fresh else 'for one'} node{length}"))
    many, turned = f"{_count(leg.steps)} nodes{length}", leg.turn not in (*COMPASS, "straight", "back")
    past = f"past {_count(leg.steps - 1)} node{'s' if leg.steps > 2 else ''} to the {_ordinal(leg.steps)}{length}"
    if turned:
        return choose((*(f" and {words} {many}" for words in ON), f" and continue {past}"))
    return choose((f" for {many}", f" for {many}", f" for {many}" if leg.turn == "back" else f" {past}"))


def _way(way: Way) -> str:
    """Say which of several ways is meant.

    >>> _way(Way(0, 2, "left")), _way(Way(1, 3, "near"))
    ('the left-hand of two ways', 'the second nearest of three ways')
    """
    first, last, between = {
        "left": ("leftmost", "rightmost", "{} from the left"),
        "near": ("nearest", "farthest", "{} nearest"),
    }[way.order]
    if way.count == 2:
        first, last = {"left": ("left-hand", "right-hand"), "near": ("nearer", "farther")}[way.order]
    if way.position in (0, way.count - 1):
        which = last if way.position else first
    else:
        which = between.format(_ordinal(way.position + 1))
    return f"the {which} of {_count(way.count)} ways"


def _sentence(clauses: Sequence[str], choose: Choose) -> str:
    *others, last = clauses
    text = ", ".join(others) + (choose((", then ", ", and then ")) if others else "") + last
    return f"{text[0].upper()}{text[1:]}."


def _count(number: int) -> str:
    return NUMBERS[number] if number < len(NUMBERS) else str(number)


def _ordinal(number: int) -> str:
    return ORDINALS[number - 1] if number <= len(ORDINALS) else f"{number}th"
