"""The kernels in NumPy: the readable specification, the fallback without a compiler, the tests' yardstick."""

from wayscore.kernels.plain.fast import fast, fast_warp
from wayscore.kernels.plain.march import march
from wayscore.kernels.plain.measure import COMPARE_NEAREST, COMPARE_WARPING, MEASURES, measure, measure_block
from wayscore.kernels.plain.pair import LARGEST, encode, pair_measures, pair_ndtw, pair_value, pair_warping
from wayscore.kernels.plain.resample import resample
from wayscore.kernels.plain.running import Running, advance_block, advance_points, advance_table, look_up, running
from wayscore.kernels.plain.shortest import all_pairs, dijkstra
from wayscore.kernels.plain.walk import walk
from wayscore.kernels.plain.warp import all_within, euclidean_block, fill, trace, warp

__all__ = [
    "COMPARE_NEAREST",
    "COMPARE_WARPING",
    "LARGEST",
    "MEASURES",
    "Running",
    "advance_block",
    "advance_points",
    "advance_table",
    "all_pairs",
    "all_within",
    "dijkstra",
    "encode",
    "euclidean_block",
    "fast",
    "fast_warp",
    "fill",
    "look_up",
    "march",
    "measure",
    "measure_block",
    "pair_measures",
    "pair_ndtw",
    "pair_value",
    "pair_warping",
    "resample",
    "running",
    "trace",
    "walk",
    "warp",
]
