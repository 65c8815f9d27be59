"""Exact sums of scores by unit, as whole numbers of 2^-72: in any order and any pieces, the same numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FRACTION_BITS = 72
"""Sums are whole numbers of 2^-72."""
LIMB_BITS = 52
"""The low and the high part of a sum hold so many bits each."""
HALF = LIMB_BITS // 2
AT_ONCE = 2**20
"""Episodes whose half limbs sum to less than 2^53: exactly, in floating point."""


def tally(
    values: Floats, units: Integers, sums: Integers, large: Integers, lacking: Integers, sizes: Integers, least: Floats
) -> None:
    """Add floor(value 2^72) of each finite value to its unit's sum, and count and skip the others.

    A sum is low 2^-72 + high 2^-20 + large 2^32. The same sum has many forms, in which low and high are below 2^62 in
    size (native code carries only now and then); `carry` leaves one. No sum can be too large: that takes 2^54 values.
    An error leaves all numbers as they were.

    Args:
        values: (metrics, episodes); finite ones lie below 2^40 in size.
        units: the unit of each episode, from 0.
        sums: (units, 2, metrics), the low and the high part of each sum.
        large: (units, metrics), the rest of each sum.
        lacking: (units, metrics), how many values were not finite.
        sizes: (units,), how many episodes were added.
        least: (metrics,), the least finite value.
    """
    cells = (len(sums), len(values))
    shapes = [array.shape for array in (units, sums, large, lacking, sizes, least)]
    if shapes != [values.shape[1:], (cells[0], 2, cells[1]), cells, cells, cells[:1], cells[1:]]:
        raise ValueError("tally: values, units and sums do not fit")
    if len(units) and not 0 <= units.min() <= units.max() < len(sums):
        raise ValueError(f"expected units from 0 to {len(sums) - 1}")
    size = np.abs(values)
    if ((size >= 2.0**40) & (size < np.inf)).any():
        raise ValueError("exact sums take values below 2^40, and one is as large")
    for first in range(0, len(units), AT_ONCE):
        part = slice(first, first + AT_ONCE)
        inside = np.bincount(units[part], minlength=len(sums))
        sizes += inside
        for j, row in enumerate(values[:, part]):
            finite = np.isfinite(row)
            unit, row = units[part][finite], row[finite]
            lacking[:, j] += inside - np.bincount(unit, minlength=len(sums))
            least[j] = row.min(initial=least[j])
            a, b, c, d, e = _summed(np.floor(np.ldexp(row, FRACTION_BITS)), unit, len(sums))
            sums[:, 0, j] += a + ((b & 2**HALF - 1) << HALF)
            sums[:, 1, j] += (b >> HALF) + c + ((d & 2**HALF - 1) << HALF)
            large[:, j] += (d >> HALF) + e
        carry(sums, large)


def carry(sums: Integers, large: Integers) -> None:
    """Leave 52 bits, and no sign, in the low and the high part of each sum; carry what is above."""
    sums[:, 1] += sums[:, 0] >> LIMB_BITS
    large += sums[:, 1] >> LIMB_BITS
    sums &= 2**LIMB_BITS - 1


def _summed(whole: Floats, unit: Integers, units: int) -> list[Integers]:
    """Sum whole numbers by unit: in half limbs, the least first, that keep the sign of their number."""
    sums = []
    for place in (4 * HALF, 3 * HALF, 2 * HALF, HALF, 0):
        limb = np.trunc(np.ldexp(whole, -place))
        whole = whole - np.ldexp(limb, place)
        sums.append(np.bincount(unit, weights=limb, minlength=units).astype(np.int64))
    return sums[::-1]
