"""CPU time of one thread, best of several rounds, the contestants taking turns."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from time import process_time
from typing import Any

from wayscore.errors import MissingPackageError

ROUNDS = 5
LITTLE, ENOUGH = 0.5, 5.0
"""Seconds: what has been timed for less gets up to four times as many rounds; for more, none."""
SHORT = 0.02
"""Seconds: what takes less is repeated within a round until it takes as long as this."""


@dataclass(slots=True)
class Timing:
    """The best time of one call, what the call returned, and how often it was timed."""

    seconds: float
    value: Any
    rounds: int


@dataclass(frozen=True, slots=True)
class Contestant:
    """Something to time.

    Attributes:
        call: what is timed; it is given what `prepare` returned, if there is one.
        prepare: makes a fresh input before each call, untimed.
    """

    call: Callable[..., Any]
    prepare: Callable[[], Any] | None = None


def race(
    *contestants: Contestant | Callable[[], Any], rounds: int = ROUNDS, clock: Callable[[], float] = process_time
) -> list[Timing]:
    """Time calls in turns, so that a busy neighbour slows all of them alike, and keep the best of each."""
    field = [item if isinstance(item, Contestant) else Contestant(item) for item in contestants]
    timings, loops, spent = [], [], []
    for contestant in field:
        seconds, value = _time(contestant, 1, clock)
        if seconds < ENOUGH:  # the first call only warms up: it may compile, load and allocate
            seconds, value = _time(contestant, 1, clock)
        loops.append(1 if contestant.prepare else max(1, math.ceil(SHORT / max(seconds, 1e-7))))
        timings.append(Timing(seconds, value, 1) if loops[-1] == 1 else Timing(math.inf, value, 0))
        spent.append(seconds)
    for _ in range(4 * rounds):
        for number, (contestant, timing) in enumerate(zip(field, timings, strict=True)):
            if spent[number] > (ENOUGH if timing.rounds < rounds else LITTLE):
                continue
            seconds, _value = _time(contestant, loops[number], clock)
            spent[number] += seconds * loops[number]
            timing.seconds = min(timing.seconds, seconds)
            timing.rounds += 1
    return timings


def _time(contestant: Contestant, loops: int, clock: Callable[[], float]) -> tuple[float, Any]:
    """Return the seconds of one of `loops` calls, and the last value."""
    call, value = contestant.call, None
    arguments = () if contestant.prepare is None else (contestant.prepare(),)
    collecting = gc.isenabled()
    gc.disable()  # as timeit does: a collection is rarely about the garbage of the call that it interrupts
    try:
        start = clock()
        for _ in range(loops):
            value = call(*arguments)
        return (clock() - start) / loops, value
    finally:
        if collecting:
            gc.enable()


def need(package: str) -> Any:
    """Import a peer, or say that it is not installed."""
    try:
        return import_module(package)
    except ImportError:
        name = package.partition(".")[0]
        raise MissingPackageError(f"{name} is not installed: pip install {name}") from None
