"""The first random word of a seed, without `numpy.random`, which takes longer to load than all resampling does.

It is what `numpy.random.default_rng(seed).integers(2**63)` returns: NumPy's SeedSequence spreads the seed over a pool
of four words, from which the state of a PCG64 generator is made (O'Neill).
"""

from __future__ import annotations

from collections.abc import Callable

POOL = 4
HALF, WORD, STATE = 2**32 - 1, 2**64 - 1, 2**128 - 1
"""All bits of the numbers that are hashed, of a word, and of a generator's state."""
MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645


def first_word(seed: int) -> int:
    """Return a number below 2^63 that a seed, a whole number of any size, stands for.

    >>> import numpy as np
    >>> first_word(7) == int(np.random.default_rng(7).integers(2**63))
    True
    """
    halves = [seed >> 32 * place & HALF for place in range(max(1, -(-seed.bit_length() // 32)))]
    mix = _hash(0x43B0D7E5, 0x931E8875)
    pool = [mix(half) for half in (halves + [0] * POOL)[:POOL]]
    for source in range(POOL):
        for place in range(POOL):
            if place != source:
                pool[place] = _joined(pool[place], mix(pool[source]))
    for half in halves[POOL:]:
        pool = [_joined(one, mix(half)) for one in pool]
    draw = _hash(0x8B51F9DD, 0x58F38DED)
    words = [draw(pool[place % POOL]) for place in range(2 * POOL)]
    a, b, c, d = (low | high << 32 for low, high in zip(words[::2], words[1::2], strict=True))
    step = (c << 64 | d) << 1 | 1
    state = (a << 64 | b) + step  # one step from 0 on, and the seed
    for _ in range(2):
        state = (state * MULTIPLIER + step) & STATE
    folded, turn = (state >> 64 ^ state) & WORD, state >> 122
    return ((folded >> turn | folded << 64 - turn) & WORD) >> 1


def _hash(constant: int, factor: int) -> Callable[[int], int]:
    """Return SeedSequence's hash, which changes with every call."""

    def mix(value: int) -> int:
        nonlocal constant
        value ^= constant
        constant = constant * factor & HALF
        value = value * constant & HALF
        return value ^ value >> 16

    return mix


def _joined(x: int, y: int) -> int:
    value = (0xCA01F9DD * x - 0x4973F715 * y) & HALF
    return value ^ value >> 16
