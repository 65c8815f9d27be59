"""Bootstrap resamples: the total of each column over units drawn at random."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]

STEP = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)
LOWER = np.uint64(0xFFFFFFFF)
DRAWS_AT_ONCE = 2**15
"""Few enough that their arrays stay in the cache and are not asked of the system each time."""


def resample(seed: int, first: int, values: Floats, totals: Floats) -> None:
    """Draw as many units (rows of `values`) as there are, with replacement, and write the totals of their values.

    Row r of `totals` is resample `first` + r. Values are whole numbers, small enough that every total is exact: the
    order of additions is left open. A draw depends on the seed and its number alone, so that resamples can be made
    in any pieces.
    """
    rows = max(1, DRAWS_AT_ONCE // len(values))
    for start in range(0, len(totals), rows):
        part = totals[start : start + rows]
        np.matmul(draw(seed, first + start, len(part), len(values)), values, out=part)


def draw(seed: int, first: int, rows: int, units: int) -> Floats:
    """Return how often each unit (column) is drawn in each resample (row).

    Two draws share a word of SplitMix64: its upper half x stands for unit floor(x units / 2^32), then its lower one.
    Where 2^32 is no multiple of the units, the halves that would favour some of them draw again (Lemire).
    """
    words = (units + 1) // 2
    numbers = np.arange(first * words + 1, (first + rows) * words + 1, dtype=np.uint64).reshape(rows, words)
    word = _mixed(np.uint64(seed % 2**64) + STEP * numbers)
    both = np.stack((word, word << HALF | word >> HALF), axis=2).reshape(rows, -1)[:, :units]
    scaled = (both >> HALF) * np.uint64(units)
    while (again := (scaled & LOWER) < np.uint64(2**32 % units)).any():
        both[again] = _mixed(both[again] + STEP)
        scaled[again] = (both[again] >> HALF) * np.uint64(units)
    drawn = (scaled >> HALF).astype(np.int64) + units * np.arange(rows)[:, None]
    return np.bincount(drawn.ravel(), minlength=rows * units).reshape(rows, units).astype(np.float64)


def _mixed(word: Words) -> Words:
    word = (word ^ word >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ word >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return word ^ word >> np.uint64(31)
