"""One value per episode, from whatever users give: checked, and as arrays."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wayscore.errors import OptionError

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Values: TypeAlias = ArrayLike
Columns: TypeAlias = Mapping[str, Values]

ROUNDING = 1e-12
"""Sums that should be equal differ by less than this, relatively."""
EQUAL = 1e-9
"""Values that differ by no more than this, absolutely or relatively, are equal: rounding makes such differences."""


def as_column(values: Values, name: str) -> Floats:
    """Return values as an array of one number per episode; NaN is refused."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(f"{name}: expected numbers, one per episode") from None
    if numbers.ndim != 1:
        raise OptionError(f"{name}: expected one number per episode, not an array of shape {numbers.shape}")
    if np.isnan(numbers).any():
        raise OptionError(f"{name}: value {np.isnan(numbers).argmax()} is NaN; give infinity for undefined values")
    return numbers


def as_columns(given: Columns) -> dict[str, Floats]:
    """Return columns of equal length."""
    arrays = {name: as_column(values, name) for name, values in given.items()}
    if not arrays:
        raise OptionError("there is no metric to resample; give at least one column")
    lengths = {name: len(values) for name, values in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise OptionError(f"expected one value of each for every episode, but their numbers differ: {lengths}")
    return arrays


def as_pair(a: Values, b: Values) -> tuple[Floats, Floats]:
    """Return two columns of equal length."""
    first, second = as_columns({"the first values": a, "the second values": b}).values()
    return first, second


def number_labels(labels: Iterable[Hashable]) -> Integers:
    """Number labels in the order in which they first appear."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)


def differences(a: Values, b: Values) -> Floats:
    """Return a - b: infinite where either is undefined, 0 where they are equal but for rounding."""
    a, b = as_pair(a, b)
    d: Floats = np.subtract(a, b, out=np.full(len(a), np.inf), where=np.isfinite(a) & np.isfinite(b))
    d[equal(a, b) & np.isfinite(d)] = 0.0
    return d


def equal(a: Floats, b: Floats) -> NDArray[np.bool_]:
    """Return where values are equal but for rounding (see `EQUAL`); infinite ones where both are."""
    return np.isclose(a, b, rtol=EQUAL, atol=EQUAL)
