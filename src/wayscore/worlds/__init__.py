"""Generated worlds as in the paper, scripted walkers with known faults, and instructions in words."""

from wayscore.worlds.instructions import instruct as instruct
from wayscore.worlds.walkers import (
    WALKERS as WALKERS,
    Walker as Walker,
    detour as detour,
    early_stop as early_stop,
    noisy as noisy,
    overshoot as overshoot,
    perfect as perfect,
    random_walk as random_walk,
    reversed_walk as reversed_walk,
    shortest as shortest,
)
from wayscore.worlds.world import (
    STAGES as STAGES,
    THRESHOLD_IN_EDGES as THRESHOLD_IN_EDGES,
    Node as Node,
    Path as Path,
    Rng as Rng,
    World as World,
)
