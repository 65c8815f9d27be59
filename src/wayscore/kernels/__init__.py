"""The hot loops, twice: native C where it was built, NumPy (`plain`) everywhere; chosen here, at import.

`WAYSCORE_KERNELS=numpy` or `native` makes the choice; unset, native is taken when present. Results are the same
bits either way (exponentials: within 1e-15). Nothing outside this package imports `plain` or `_native`:
what has no native twin (`fast_warp`, `fill`, `carry`) and the constants that both twins share are here as well.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from wayscore.errors import OptionError
from wayscore.kernels.plain.fast import fast_warp
from wayscore.kernels.plain.place import ASTRAY, LEAPING
from wayscore.kernels.plain.tally import FRACTION_BITS, LIMB_BITS, carry
from wayscore.kernels.plain.warp import fill


def _choose() -> str:
    wish = os.environ.get("WAYSCORE_KERNELS", "")
    if wish not in ("", "numpy", "native"):
        raise OptionError(f"WAYSCORE_KERNELS must be 'numpy' or 'native', got {wish!r}; unset it for the default")
    if wish == "numpy":
        return "numpy"
    try:
        from wayscore.kernels import _native  # noqa: F401
    except ImportError:
        if wish == "native":
            raise OptionError(
                "WAYSCORE_KERNELS=native, but the native kernels were not built; reinstall wayscore with a C "
                "compiler on PATH, or unset the variable to use NumPy"
            ) from None
        return "numpy"
    return "native"


name: str = _choose()
"""Which kernels run: "native" or "numpy"."""

lanes = "numpy"
if TYPE_CHECKING or name == "numpy":
    from wayscore.kernels.plain import (
        advance_block,
        advance_cost,
        advance_point,
        advance_points,
        all_finite,
        all_pairs,
        dijkstra,
        encode,
        euclidean_block,
        fast_points,
        fast_table,
        march,
        measure_block,
        measure_points,
        measure_table,
        place,
        pruned_points,
        resample,
        tally,
        trace_block,
        warp_block,
        warp_points,
    )
else:
    from wayscore.kernels._native import *  # noqa: F403  # the same names, and `lanes`

description: str = f"native, {lanes}" if name == "native" else "numpy"
"""For people: the kernels and, where native, the instruction set."""

__all__ = [
    "ASTRAY",
    "FRACTION_BITS",
    "LEAPING",
    "LIMB_BITS",
    "advance_block",
    "advance_cost",
    "advance_point",
    "advance_points",
    "all_finite",
    "all_pairs",
    "carry",
    "description",
    "dijkstra",
    "encode",
    "euclidean_block",
    "fast_points",
    "fast_table",
    "fast_warp",
    "fill",
    "march",
    "measure_block",
    "measure_points",
    "measure_table",
    "name",
    "place",
    "pruned_points",
    "resample",
    "tally",
    "trace_block",
    "warp_block",
    "warp_points",
]
