"""Labels to codes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray


def encode(
    index: dict[Any, int] | list[dict[Any, int]], paths: Sequence[Sequence[Any]], codes: NDArray[np.int32]
) -> int:
    """Write the code of every label of every path; return the position of the first unknown one, or -1.

    `index` maps labels to codes, or is a list of such mappings, one a path.
    """
    position = 0
    indexes = index if isinstance(index, list) else repeat(index, len(paths))
    for path, known in zip(paths, indexes, strict=True):
        for label in path:
            if label not in known:
                return position
            codes[position] = known[label]
            position += 1
    return -1
