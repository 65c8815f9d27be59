"""Exact sums of scores by unit, as whole numbers of 2^-72: in any order and any pieces, the same bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PLACES = 72
LIMB = 32
MASK = 2**LIMB - 1
AT_ONCE = 2**20
"""Episodes whose limbs sum to less than 2^53: exactly, in floating point."""
FULL = "an exact sum came to 2^54: the values are too large for so many of them"


def tally(values: Floats, units: Integers, sums: Integers, counts: Integers) -> None:
    """Add floor(value 2^72) of each finite value to its unit's sum and 1 to its count; skip values that are not.

    A sum is a signed number of 128 bits, as two int64: the lower 64 bits, then the upper 64. OverflowError says that
    one came to 2^126, for which 2^14 values of the largest size are needed and 2^41 below 8,192. Other errors come
    before anything is written.

    Args:
        values: (metrics, episodes); finite ones lie below 2^40 in size.
        units: the unit of each episode, from 0.
        sums: (units, metrics, 2).
        counts: (units, metrics).
    """
    if values.shape[1:] != units.shape or sums.shape != (*counts.shape, 2) or counts.shape[1:] != values.shape[:1]:
        raise ValueError("tally: values, units, sums and counts do not fit")
    if len(units) and not 0 <= units.min() <= units.max() < len(sums):
        raise ValueError(f"expected units from 0 to {len(sums) - 1}")
    size = np.abs(values)
    if ((size >= 2.0**40) & (size < np.inf)).any():
        raise ValueError("exact sums take values below 2^40, and one is as large")
    for first in range(0, len(units), AT_ONCE):
        part = slice(first, first + AT_ONCE)
        for j, row in enumerate(values[:, part]):
            finite = np.isfinite(row)
            unit = units[part][finite]
            counts[:, j] += np.bincount(unit, minlength=len(sums))
            add_wide(sums[:, j], _summed(np.floor(np.ldexp(row[finite], PLACES)), unit, len(sums)))


def add_wide(sums: Integers, more: Integers) -> None:
    """Add signed numbers of 128 bits, (..., 2), in place; OverflowError where one came to 2^126."""
    low = sums[..., 0].view(np.uint64) + more[..., 0].view(np.uint64)
    high = sums[..., 1] + more[..., 1] + (low < more[..., 0].view(np.uint64))
    sums[..., 0], sums[..., 1] = low.view(np.int64), high
    if ((high ^ high << 1) < 0).any():
        raise OverflowError(FULL)


def _summed(whole: Floats, unit: Integers, units: int) -> Integers:
    """Sum whole numbers by unit: in limbs of 32 bits that keep the sign of their number, then carry."""
    limbs = []
    for place in (3 * LIMB, 2 * LIMB, LIMB, 0):
        limb = np.trunc(np.ldexp(whole, -place))
        whole = whole - np.ldexp(limb, place)
        limbs.append(np.bincount(unit, weights=limb, minlength=units).astype(np.int64))
    d, c, b, a = limbs
    b += a >> LIMB
    c += b >> LIMB
    d += c >> LIMB
    if not ((d >= -(2**30)) & (d < 2**30)).all():
        raise OverflowError(FULL)
    return np.stack((a & MASK | b << LIMB, c & MASK | d << LIMB), axis=1)
