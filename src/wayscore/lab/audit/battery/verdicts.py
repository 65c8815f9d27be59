"""Verdicts: what a response curve amounts to, in a word with one definition.

A curve has one mean change per size, against the first size, with its 95 % interval; steps are the changes from each
size to the next. Changes are in units of the metric's scale: the width of its bounds, d_th for metres, else 1.

- invariant: no episode changes at any size, but for rounding (1e-9).
- indifferent: at every size the interval of the mean change lies within +-TOLERANCE.
- falls, rises: some change or step is certain (its interval excludes 0) and larger than TOLERANCE, and all such go in
  this direction.
- jumps down, jumps up: it falls or rises, the experiment is graded and has three sizes or more, and one step makes up
  JUMP or more of the whole change.
- mixed: such changes or steps go in both directions.
- unclear: none of these; more episodes are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from wayscore.metrics import Metric
from wayscore.statistics import Interval

Word: TypeAlias = Literal[
    "invariant", "indifferent", "falls", "rises", "jumps down", "jumps up", "mixed", "unclear", "undefined"
]
WORDS: tuple[Word, ...] = Word.__args__  # type: ignore[attr-defined]
TOLERANCE = 0.01
"""Changes up to this share of the metric's scale do not matter."""
JUMP = 0.8
"""The share of the whole change that makes one step a jump."""


class Verdict(NamedTuple):
    """What a curve amounts to.

    Attributes:
        word: see above; "undefined" where no episode has a value at every size.
        at: the number of the size that it jumps at; None where it does not.
    """

    word: Word
    at: int | None = None


def scale_of(metric: Metric, threshold: float) -> float:
    """Return what changes of a metric are compared with.

    >>> from wayscore import METRICS
    >>> scale_of(METRICS["nDTW"], 3.0), scale_of(METRICS["NE"], 3.0)
    (1, 3.0)
    """
    low, high = metric.bounds
    return high - low if np.isfinite(high - low) and high > low else threshold if metric.unit == "m" else 1.0


def judge(
    changes: Sequence[Interval], steps: Sequence[Interval], *, same: bool, scale: float, graded: bool = True
) -> Verdict:
    """Return the verdict on a curve.

    Args:
        changes: at every size after the first, against the first.
        steps: at every size after the first, against the size before.
        same: no episode changes at any size.
        scale: of the metric, see `scale_of`.
        graded: whether it can jump: sizes begin small.

    >>> fall = Interval(-0.5, -0.6, -0.4)
    >>> judge([fall], [fall], same=False, scale=1.0)
    Verdict(word='falls', at=None)
    """
    if same:
        return Verdict("invariant")
    if any(one.mean is None for one in (*changes, *steps)):
        return Verdict("undefined")
    band = TOLERANCE * scale
    mean, low, high = np.array([*changes, *steps], dtype=np.float64).T
    count = len(changes)
    if (low[:count] >= -band).all() and (high[:count] <= band).all():
        return Verdict("indifferent")
    up, down = bool(((mean > band) & (low > 0)).any()), bool(((mean < -band) & (high < 0)).any())
    if up == down:
        return Verdict("mixed" if up else "unclear")
    largest = int(np.argmax(np.abs(mean[count:])))
    whole = np.ptp([0.0, *mean[:count]])
    if graded and count > 1 and abs(mean[count + largest]) >= JUMP * whole:
        return Verdict("jumps up" if up else "jumps down", largest + 1)
    return Verdict("rises" if up else "falls")
