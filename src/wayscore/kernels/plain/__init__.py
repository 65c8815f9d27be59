"""The kernels in NumPy: the readable specification, the fallback without a compiler, the tests' yardstick."""

from wayscore.kernels.plain.encode import encode
from wayscore.kernels.plain.fast import fast_points, fast_table, fast_warp
from wayscore.kernels.plain.march import march
from wayscore.kernels.plain.measure import measure_block, measure_points, measure_table
from wayscore.kernels.plain.pair import pair
from wayscore.kernels.plain.place import ASTRAY, LEAPING, place
from wayscore.kernels.plain.resample import resample
from wayscore.kernels.plain.running import Running, running
from wayscore.kernels.plain.running_batch import advance_block, advance_points, advance_table, look_up
from wayscore.kernels.plain.shortest import all_pairs, dijkstra
from wayscore.kernels.plain.tally import FRACTION_BITS, LIMB_BITS, carry, tally
from wayscore.kernels.plain.walk import walk
from wayscore.kernels.plain.warp import (
    all_finite,
    euclidean_block,
    fill,
    pruned_points,
    trace_block,
    warp_block,
    warp_points,
)

__all__ = [
    "ASTRAY",
    "FRACTION_BITS",
    "LEAPING",
    "LIMB_BITS",
    "Running",
    "advance_block",
    "advance_points",
    "advance_table",
    "all_finite",
    "all_pairs",
    "carry",
    "dijkstra",
    "encode",
    "euclidean_block",
    "fast_points",
    "fast_table",
    "fast_warp",
    "fill",
    "look_up",
    "march",
    "measure_block",
    "measure_points",
    "measure_table",
    "pair",
    "place",
    "pruned_points",
    "resample",
    "running",
    "tally",
    "trace_block",
    "walk",
    "warp_block",
    "warp_points",
]
