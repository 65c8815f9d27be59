"""Tastes of simulated raters: what each of them dislikes about a query, as lines on the map.

None of them is a metric of a study: they compare points along two drawn lines by straight distance, as an eye does, and
ask neither the graph nor a threshold of success. But each resembles some metrics more than others, so **the metric that
wins with simulated raters follows from their taste**; `wayscore.lab.study.winners` computes which.

A taste is a function of the points of reference and query (n, 2) that returns one or more parts of dislike. Distances
are divided by the threshold d_th afterwards; a rater's utility is minus the sum of the parts, each times a weight of
the rater's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from wayscore.errors import OptionError, did_you_mean

Floats: TypeAlias = NDArray[np.float64]
Parts: TypeAlias = "tuple[float, ...]"
Taste: TypeAlias = Callable[[Floats, Floats, float], Parts]

SAMPLES = 64
"""Points along each line at which the two are compared."""


def faithful(reference: Floats, query: Floats, d_th: float) -> Parts:
    """Follow the whole path, in order, to its end.

    The mean distance between the lines at the same share of their lengths; four times the share of pairs of the
    reference's nodes that the query passes in the wrong order; half the distance between the two ends.
    """
    gap = _apart(along(reference), along(query)).mean()
    near = _between(reference, along(query)).argmin(axis=1)
    before, after = np.triu_indices(len(reference), k=1)
    disorder = float(np.mean(near[before] > near[after])) if len(before) else 0.0
    return gap / d_th, 4.0 * disorder, 0.5 * _miss(reference, query) / d_th


def covering(reference: Floats, query: Floats, d_th: float) -> Parts:
    """Come by every point of the blue line, whatever else you do and in whichever order.

    The mean distance from points of the reference to the nearest point of the query.
    """
    return (float(_between(along(reference), along(query)).min(axis=1).mean()) / d_th,)


def arriving(reference: Floats, query: Floats, d_th: float) -> Parts:
    """Arrive, and soon: where the path leads matters, and a little how long it is.

    The distance between the two ends, and a twentieth of the query's length.
    """
    return _miss(reference, query) / d_th, 0.05 * _length(query) / d_th


def careful(reference: Floats, query: Floats, d_th: float) -> Parts:
    """Never stray: the worst moment counts.

    The largest distance from a point of the query to the nearest point of the reference.
    """
    return (float(_between(along(query), along(reference)).min(axis=1).max()) / d_th,)


def orderless(reference: Floats, query: Floats, d_th: float) -> Parts:
    """Stay on the line; its direction and order do not matter, nor how much of it is walked.

    The mean distance from points of the query to the nearest point of the reference.
    """
    return (float(_between(along(query), along(reference)).min(axis=1).mean()) / d_th,)


TASTES: dict[str, Taste] = {
    "faithful": faithful,
    "covering": covering,
    "arriving": arriving,
    "careful": careful,
    "orderless": orderless,
}
"""Name -> taste; the first is the default."""
IN_WORDS = {
    "faithful": "follows the whole path, in order, to its end",
    "covering": "covers the blue line",
    "arriving": "arrives, and soon",
    "careful": "never strays",
    "orderless": "stays on the line, blind to order",
}
"""Name -> what a rater of this taste likes, in words."""


def find_taste(name: str) -> Taste:
    """Return a taste by its name."""
    if name not in TASTES:
        raise OptionError(f"<<taste>> must be {' or '.join(TASTES)}, not {name!r}{did_you_mean(name, TASTES)}")
    return TASTES[name]


def along(path: Floats) -> Floats:
    """Return points at equal shares of a line's length."""
    steps = np.hypot(*np.diff(path, axis=0).T) if len(path) > 1 else np.zeros(0)
    walked = np.concatenate(([0.0], np.cumsum(steps)))
    at = np.linspace(0.0, walked[-1], SAMPLES)
    return np.column_stack([np.interp(at, walked, path[:, axis]) for axis in (0, 1)])


def _apart(a: Floats, b: Floats) -> Floats:
    apart: Floats = np.hypot(*(a - b).T)
    return apart


def _between(a: Floats, b: Floats) -> Floats:
    """Return the distance of each point of a from each point of b."""
    between: Floats = np.hypot(*(a[:, None] - b[None]).transpose(2, 0, 1))
    return between


def _miss(reference: Floats, query: Floats) -> float:
    return float(np.hypot(*(reference[-1] - query[-1])))


def _length(path: Floats) -> float:
    return float(np.hypot(*np.diff(path, axis=0).T).sum()) if len(path) > 1 else 0.0
