"""DTW one step at a time: each new node of the query costs one row of C, however long the query already is.

So nDTW can be used as a reward: the exact score of every prefix, in O(|R|) per step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wayscore import kernels
from wayscore.distances.base import EUCLIDEAN, Distance, Euclidean, Floats, as_distance, unknown_node
from wayscore.errors import PathError, check_threshold, shortened


class RunningDTW:
    """DTW(R, q_1..t), updated by each `step`; after every step it is equal to `dtw` of the prefix, bit for bit.

    Args:
        reference: R, the ground-truth path: labels for a `Graph` or `Table`, else an (n, k) array of coordinates.
        distance: d between two nodes or points; None means Euclidean.

    >>> running = RunningDTW(reference=[[0.0], [1.0], [2.0]])
    >>> [running.step(q) for q in ([0.0], [2.0])]
    [3.0, 1.0]
    >>> round(running.ndtw(3.0), 3)
    0.895
    """

    __slots__ = ("_distance", "_reference", "_state")

    _reference: Any
    """The reference as the distance encodes it; None if the state knows all distances by itself."""

    def __init__(self, *, reference: Any, distance: Distance | None = None) -> None:
        space = self._distance = EUCLIDEAN if distance is None else as_distance(distance)
        self._reference = None
        state = _state(reference, space, space.table)
        if state is None:  # the reference is not a plain list or array
            encoded = np.ascontiguousarray(space.encode([reference], role=lambda _: "the reference").places)
            table = None if space.table is None else np.ascontiguousarray(space.table, dtype=np.float64)
            state = _state(encoded if table is None else encoded.astype(np.int32), space, table)
        if state is None:
            self._reference = encoded
            state = kernels.running(len(encoded), None, None)
            assert state is not None  # a path is not empty
        self._state: kernels.Running = state

    def __repr__(self) -> str:
        return f"<RunningDTW to {self._state.count} nodes, step {self.steps}: {self.dtw:g}>"

    @property
    def dtw(self) -> float:
        """DTW so far; infinite before the first step."""
        return self._state.dtw

    @property
    def steps(self) -> int:
        """The number of nodes that the query (the agent's trajectory) has so far."""
        return self._state.steps

    def step(self, node: Any) -> float:
        """Take the query's next node (a label) or point (coordinates) and return DTW so far."""
        value = self._state.step(node)
        return self._step_unusual(node) if value is None else value

    def ndtw(self, threshold: float = 3.0) -> float:
        """Return nDTW so far, exp(-DTW / (|R| d_th)); 0 before the first step."""
        value = self._state.ndtw(threshold)
        if value is None:
            check_threshold(threshold)
            value = self._state.ndtw(float(threshold))
            assert value is not None  # it is positive and finite
        return value

    def fork(self) -> RunningDTW:
        """Return an independent copy, to try steps without taking them."""
        copy = object.__new__(RunningDTW)
        copy._distance, copy._state = self._distance, self._state.fork()
        copy._reference = self._reference
        return copy

    def __copy__(self) -> RunningDTW:
        return self.fork()

    def __deepcopy__(self, memo: dict[int, Any]) -> RunningDTW:
        return self.fork()

    def _step_unusual(self, node: Any) -> float:
        """Take a step to a node that is not a plain label, list or array; or say what is wrong with it."""
        space, where = self._distance, f"query step {self.steps}"
        if type(space) is Euclidean:
            try:
                value = self._state.step(np.array(node, dtype=np.float64).reshape(-1))
            except (TypeError, ValueError):
                value = None
            if value is None:
                raise PathError(
                    f"{where} must be {self._state.dimension} finite coordinates below {kernels.LARGEST:g}, got "
                    f"{shortened(node)}"
                )
            return value
        if space.index is not None and (self._reference is None or not is_known(node, space.index)):
            raise unknown_node(node, where, space.index, space.name)
        encoded = space.encode([[node]], role=lambda _: "the query").places
        return self._state.advance(np.ascontiguousarray(space.between(self._reference, encoded)[:, 0]))


def _state(reference: Any, space: Distance, table: Floats | None) -> kernels.Running | None:
    """Return the state before the first step, or None if the kernels cannot read the reference or know no distance."""
    if type(space) is Euclidean:
        return kernels.running(reference, None, None)
    return None if space.index is None or table is None else kernels.running(reference, space.index, table)


def is_known(node: Any, index: dict[Any, int]) -> bool:
    """Return whether a node is in an index; what cannot be hashed is not."""
    try:
        return node in index
    except TypeError:
        return False
