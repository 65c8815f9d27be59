"""Random signs: the total of each column over the units that come out positive."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BITS_AT_ONCE = 2**18
"""Bits that are numbers at a time: few enough that memory stays small and BLAS on one thread."""


def flip(noise: NDArray[np.uint8], values: Floats, totals: Floats) -> None:
    """Write for each row of `noise` the totals of the values whose bit is set in it.

    The bits of a row stand for the units (rows of `values`, eight for each byte), the highest bit of a byte for the
    first of its units. Values are whole numbers, small enough that every total is exact: the order of additions is
    left open.
    """
    if (len(totals), 8 * noise.shape[1], values.shape[1]) != (len(noise), len(values), totals.shape[1]):
        raise ValueError("flip: noise, values and totals do not fit")
    rows = max(1, BITS_AT_ONCE // max(1, len(values)))
    for start in range(0, len(noise), rows):
        bits = np.unpackbits(noise[start : start + rows], axis=1)
        np.matmul(bits.astype(np.float64), values, out=totals[start : start + rows])
