"""One value an episode, from whatever users give: checked, and as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wayscore.errors import OptionError

Floats: TypeAlias = NDArray[np.float64]
Values: TypeAlias = ArrayLike
Columns: TypeAlias = Mapping[str, Values]


def as_column(values: Values, name: str) -> Floats:
    """Return values as an array of one number an episode; NaN is refused."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(f"{name}: expected numbers, one an episode") from None
    if numbers.ndim != 1 or not len(numbers):
        raise OptionError(f"{name}: expected one number an episode, not an array of shape {numbers.shape}")
    if np.isnan(numbers).any():
        raise OptionError(f"{name}: value {np.isnan(numbers).argmax()} is NaN; what is undefined is infinite instead")
    return numbers


def as_columns(given: Columns) -> dict[str, Floats]:
    """Return columns of as many values each."""
    arrays = {name: as_column(values, name) for name, values in given.items()}
    if not arrays:
        raise OptionError("there is no metric to resample; give at least one column")
    lengths = {name: len(values) for name, values in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise OptionError(f"expected one value of each for every episode, but their numbers differ: {lengths}")
    return arrays


def as_pair(a: Values, b: Values) -> tuple[Floats, Floats]:
    """Return two columns of as many values."""
    first, second = as_columns({"the first values": a, "the second values": b}).values()
    return first, second
