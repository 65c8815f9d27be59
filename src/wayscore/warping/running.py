"""DTW one step at a time: each new node of the query costs one row of C, however long the query already is.

So nDTW can be used as a reward: the exact score of every prefix, in O(|R|) per step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wayscore import kernels
from wayscore.distances.base import Distance, Floats, as_distance
from wayscore.distances.euclidean import EUCLIDEAN
from wayscore.distances.labels import unknown_node
from wayscore.errors import OptionError, PathError, UnknownNodeError, shortened
from wayscore.paths import LARGEST
from wayscore.warping.alignment import check_threshold, is_plain_points

_Panel: TypeAlias = tuple[dict[Any, int], Floats]


def _panel(distance: Distance, reference: Any) -> _Panel | None:
    """Return one row for each node that the query may visit, with its distances to all nodes of the reference."""
    if distance.table is None or distance.index is None:
        return None
    return distance.index, np.ascontiguousarray(distance.table[reference].T)


_view: Any = memoryview if kernels.name == "native" else np.asarray
"""How arrays are passed to a kernel at every step: native kernels take a memoryview faster than an array."""


def _unknown(node: Any, where: str, index: dict[Any, int], distance: Distance) -> UnknownNodeError:
    return unknown_node(node, where, index, distance.name)


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

    __slots__ = ("_distance", "_panel", "_points", "_reference", "_reference_view", "_row", "_row_view", "dtw", "steps")

    dtw: float
    """DTW so far; infinite before the first step."""
    steps: int
    """The number of nodes that the query (the agent's trajectory) has so far."""

    def __init__(self, *, reference: Any, distance: Distance | None = None) -> None:
        self._distance = EUCLIDEAN if distance is None else as_distance(distance)
        if is_plain_points(reference, self._distance):
            self._reference = reference.copy()
        else:
            self._reference = self._distance.encode([reference], role=lambda _: "the reference").places
        self._points = self._distance.is_straight
        self._panel = None if self._points else _panel(self._distance, self._reference)
        self._row = np.empty(len(self._reference) + 1)
        self._row.fill(np.inf)
        self._row[0] = 0.0
        self._reference_view, self._row_view = _view(self._reference), _view(self._row)
        self.dtw = math.inf
        self.steps = 0

    def __repr__(self) -> str:
        return f"<RunningDTW to {len(self._reference)} nodes, step {self.steps}: {self.dtw:g}>"

    def step(self, node: Any) -> float:
        """Take the query's next node (a label) or point (coordinates) and return DTW so far."""
        if self._panel is not None:
            index, panel = self._panel
            try:
                code = index[node]
            except (KeyError, TypeError):
                raise _unknown(node, f"query step {self.steps}", index, self._distance) from None
            value = kernels.advance_cost(panel[code], self._row)
        elif self._points:
            try:  # directly, if it is an array of doubles: a conversion takes longer than the step
                found = kernels.advance_point(self._reference_view, self._row_view, node)
            except (TypeError, ValueError):
                found = self._step_converted(node)
            if found is None or found == math.inf:  # infinite only if squares overflow
                raise self._refused(node)
            value = found
        else:
            encoded = self._distance.encode([[node]], role=lambda _: "the query").places
            value = kernels.advance_cost(self._distance.between(self._reference, encoded)[:, 0].copy(), self._row)
        self.dtw = value
        self.steps += 1
        return value

    def ndtw(self, threshold: float = 3.0) -> float:
        """Return nDTW so far, exp(-DTW / (|R| d_th)); 0 before the first step."""
        if not (type(threshold) is float and 0.0 < threshold < math.inf):
            check_threshold(threshold)
        return math.exp(-self.dtw / ((len(self._row) - 1) * threshold))

    def fork(self) -> RunningDTW:
        """Return an independent copy, to try steps without taking them."""
        copy = object.__new__(RunningDTW)
        for name in RunningDTW.__slots__:
            setattr(copy, name, getattr(self, name))
        copy._row = self._row.copy()
        copy._row_view = _view(copy._row)
        return copy

    def _step_converted(self, node: Any) -> float | None:
        try:
            point = np.ascontiguousarray(node, dtype=np.float64).reshape(-1)
        except (TypeError, ValueError):
            return None
        return kernels.advance_point(self._reference_view, self._row_view, point)

    def _refused(self, node: Any) -> PathError:
        return PathError(
            f"query step {self.steps} must be {self._reference.shape[1]} finite coordinates below {LARGEST:g}, got "
            f"{shortened(node)}"
        )


class RunningBatch:
    """`RunningDTW` for many environments at once: one call per step, for references of any lengths.

    Args:
        references: one ground-truth path per environment.
        distance: one for all environments, or a sequence with one for each (environments in different scenes).

    >>> batch = RunningBatch(references=[[[0.0], [1.0]], [[5.0]]])
    >>> batch.step([[0.0], [4.0]])
    array([1., 1.])
    """

    def __init__(self, *, references: Sequence[Any], distance: Distance | Sequence[Distance] | None = None) -> None:
        if not len(references):
            raise PathError("a running batch needs at least one reference")
        if isinstance(distance, Sequence):
            if len(distance) != len(references):
                raise PathError(
                    f"{len(references)} references but {len(distance)} distances; give one for each environment"
                )
            self._distances = [as_distance(one) for one in distance]
        else:
            self._distances = [EUCLIDEAN if distance is None else as_distance(distance)] * len(references)
        self._places: list[Any] = [None] * len(references)
        self._lengths = np.zeros(len(references), dtype=np.int64)
        self._rows = np.full((len(references), 1), np.inf)
        self.steps = np.zeros(len(references), dtype=np.int64)
        self._padded: Any = None
        self._panels: list[_Panel | None] = [None] * len(references)
        for number, reference in enumerate(references):
            self.reset(number, reference)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"<RunningBatch of {len(self)} environments>"

    def reset(self, environment: int, reference: Any = None, distance: Distance | None = None) -> None:
        """Restart one environment with its reference, or with a new one (and the distance of a new scene)."""
        if not 0 <= environment < len(self):
            raise OptionError(f"there is no environment {environment}; environments are 0 to {len(self) - 1}")
        if distance is not None:
            self._distances[environment] = as_distance(distance)
        if reference is not None:
            name = f"the reference of environment {environment}"
            places = self._distances[environment].encode([reference], role=lambda _: name).places
            self._check_dimension(environment, places)
            self._places[environment] = places
            self._panels[environment] = _panel(self._distances[environment], places)
            self._lengths[environment] = len(places)
            self._padded = None
            missing = len(places) + 1 - self._rows.shape[1]
            if missing > 0:
                self._rows = np.pad(self._rows, ((0, 0), (0, missing)), constant_values=np.inf)
        self._rows[environment] = np.inf
        self._rows[environment, 0] = 0.0
        self.steps[environment] = 0

    def step(self, nodes: Sequence[Any] | NDArray[Any], active: Any = None) -> Floats:
        """Take each environment's next node or point and return DTW so far, (environments,).

        Args:
            nodes: one per environment.
            active: which environments move, as booleans; the others keep their value, and their node is ignored.
        """
        if len(nodes) != len(self):
            raise PathError(f"{len(self)} environments but {len(nodes)} nodes; give one for each environment")
        mask = None if active is None else np.ascontiguousarray(active, dtype=bool).view(np.uint8)
        if mask is not None and len(mask) != len(self):
            raise PathError(f"{len(self)} environments but {len(mask)} active flags; give one for each environment")
        moving = np.arange(len(self)) if mask is None else np.flatnonzero(mask)
        if all(distance.is_straight for distance in self._distances):
            self._step_points(nodes, moving, mask)
        else:
            self._step_nodes(nodes, moving, mask)
        self.steps[moving] += 1
        return self.dtw

    @property
    def dtw(self) -> Floats:
        """DTW so far of every environment; infinite before its first step."""
        values: Floats = self._rows[np.arange(len(self)), self._lengths]
        return values

    def ndtw(self, threshold: float = 3.0) -> Floats:
        """Return nDTW so far of every environment; 0 before its first step."""
        check_threshold(threshold)
        result: Floats = np.exp(-self.dtw / (self._lengths * threshold))
        return result

    def fork(self) -> RunningBatch:
        """Return an independent copy, to try steps without taking them."""
        copy = object.__new__(RunningBatch)
        copy.__dict__ = dict(self.__dict__)
        for name in ("_rows", "_lengths", "steps"):
            setattr(copy, name, getattr(self, name).copy())
        for name in ("_places", "_distances", "_panels"):
            setattr(copy, name, list(getattr(self, name)))
        return copy

    def _step_points(self, nodes: Any, moving: NDArray[np.int64], mask: NDArray[np.uint8] | None) -> None:
        width = self._rows.shape[1] - 1
        if self._padded is None or self._padded.shape[1] != width:
            self._padded = np.zeros((len(self), width, self._places[0].shape[1]))
            for number, reference in enumerate(self._places):
                self._padded[number, : len(reference)] = reference
        try:
            points = np.ascontiguousarray(nodes, dtype=np.float64).reshape(len(self), -1)
        except (TypeError, ValueError):
            raise PathError("points must be coordinates, the same number for each environment") from None
        if points.shape[1] != self._padded.shape[2] or not (np.abs(points[moving]) <= LARGEST).all():
            raise PathError(f"points must be {self._padded.shape[2]} finite coordinates for each environment")
        kernels.advance_points(self._padded, self._lengths, self._rows, points, mask)

    def _step_nodes(self, nodes: Any, moving: NDArray[np.int64], mask: NDArray[np.uint8] | None) -> None:
        costs = np.zeros((len(self), self._rows.shape[1] - 1))
        for number in moving.tolist():
            node, distance, panel = nodes[number], self._distances[number], self._panels[number]
            if panel is not None:
                try:
                    costs[number, : self._lengths[number]] = panel[1][panel[0][node]]
                except (KeyError, TypeError):
                    raise _unknown(node, f"the node of environment {number}", panel[0], distance) from None
            else:
                encoded = distance.encode([[node]], role=lambda _: f"environment {number}").places  # noqa: B023
                costs[number, : self._lengths[number]] = distance.between(self._places[number], encoded)[:, 0]
        kernels.advance_block(costs, self._lengths, self._rows, mask)

    def _check_dimension(self, number: int, places: Any) -> None:
        others = [reference for reference in self._places if reference is not None and reference.ndim == 2]
        if places.ndim == 2 and others and places.shape[1] != others[0].shape[1]:
            raise PathError(
                f"the reference of environment {number} has {places.shape[1]}-dimensional points, the others "
                f"{others[0].shape[1]}-dimensional ones"
            )
