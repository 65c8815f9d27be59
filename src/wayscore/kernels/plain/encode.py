"""Labels to codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def encode(index: Mapping[Any, int], paths: Sequence[Sequence[Any]], codes: NDArray[np.int32]) -> int:
    """Write the code of every label of every path; return the position of the first unknown one, or -1."""
    position = 0
    for path in paths:
        for label in path:
            if label not in index:
                return position
            codes[position] = index[label]
            position += 1
    return -1
