"""CPU time of one thread, best of several rounds, the contestants taking turns."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from time import process_time
from typing import Any

from wayscore.errors import MissingPackageError

ROUNDS = 5
LONG = 5.0
"""Seconds: what takes longer is run only once or twice."""
SHORT = 0.02
"""Seconds: what takes less is repeated within a round until it takes as long as this."""


@dataclass(slots=True)
class Timing:
    """The best CPU time of one call, what the call returned, and how often it was timed."""

    seconds: float
    value: Any
    rounds: int


@dataclass(frozen=True, slots=True)
class Contestant:
    """Something to time.

    Attributes:
        call: what is timed; it is handed what `prepare` returned, if there is one.
        prepare: makes a fresh input before each call, untimed.
        rounds: how often to time it, where that should differ from the rest.
    """

    call: Callable[..., Any]
    prepare: Callable[[], Any] | None = None
    rounds: int | None = None


def race(*contestants: Contestant | Callable[[], Any], rounds: int = ROUNDS) -> list[Timing]:
    """Time calls in turns, so that a busy neighbour slows all of them alike, and keep the best of each.

    The first call of each is a warm-up that counts only if it is long.
    """
    field = [item if isinstance(item, Contestant) else Contestant(item) for item in contestants]
    timings, loops = [], []
    for contestant in field:
        seconds, value = _time(contestant, 1)
        loops.append(1 if contestant.prepare else max(1, math.ceil(SHORT / max(seconds, 1e-7))))
        long = seconds >= LONG
        timings.append(Timing(seconds if long else math.inf, value, int(long)))
    for _ in range(rounds):
        for contestant, timing, count in zip(field, timings, loops, strict=True):
            wanted = contestant.rounds if contestant.rounds is not None else rounds
            if timing.rounds >= (1 if LONG <= timing.seconds < math.inf else wanted):
                continue
            seconds, _value = _time(contestant, count)
            timing.seconds = min(timing.seconds, seconds)
            timing.rounds += 1
    return timings


def _time(contestant: Contestant, loops: int) -> tuple[float, Any]:
    """Return the CPU seconds of one of `loops` calls, and the last value."""
    call, value = contestant.call, None
    arguments: Sequence[Any] = () if contestant.prepare is None else (contestant.prepare(),)
    collecting = gc.isenabled()
    gc.disable()  # as timeit does: a collection is rarely about the garbage of the one that it interrupts
    try:
        start = process_time()
        for _ in range(loops):
            value = call(*arguments)
        return (process_time() - start) / loops, value
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
