"""Generated worlds as in the paper, scripted walkers with known faults, and instructions in words."""

from wayscore.worlds.instructions import instruct
from wayscore.worlds.walkers import (
    WALKERS,
    Walker,
    detour,
    early_stop,
    noisy,
    overshoot,
    perfect,
    random_walk,
    reversed_walk,
    shortest,
)
from wayscore.worlds.world import STAGES, THRESHOLD_IN_EDGES, Node, Path, Rng, World

__all__ = [
    "STAGES",
    "THRESHOLD_IN_EDGES",
    "WALKERS",
    "Node",
    "Path",
    "Rng",
    "Walker",
    "World",
    "detour",
    "early_stop",
    "instruct",
    "noisy",
    "overshoot",
    "perfect",
    "random_walk",
    "reversed_walk",
    "shortest",
]
