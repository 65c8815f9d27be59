"""DTW one step at a time: each new place of the query costs one row of C, whatever came before.

This is what makes nDTW a reward: the score of every prefix, exactly, in O(|R|) a step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wayscore import kernels
from wayscore.distances.base import Distance, Floats, check_distance
from wayscore.distances.euclidean import Euclidean
from wayscore.distances.labels import scene_name, unknown_node
from wayscore.errors import OptionError, PathError, UnknownNodeError
from wayscore.warping.alignment import check_threshold, is_plain_points

_Panel: TypeAlias = tuple[dict[Any, int], Floats]


def _panel(distance: Distance, reference: Any) -> _Panel | None:
    """One row for each node the query may visit, with its distances to the whole reference side by side."""
    table = getattr(distance, "table", None)
    return None if table is None else (distance.index, np.ascontiguousarray(table[reference].T))  # type: ignore[attr-defined]


_view: Any = memoryview if kernels.name == "native" else np.asarray
"""What a kernel is handed at every step: native ones take a view of memory faster than an array."""


def _unknown(place: Any, where: str, index: dict[Any, int], distance: Distance) -> UnknownNodeError:
    return unknown_node(place, where, index, scene_name(distance))


class RunningDTW:
    """DTW(R, q_1..t), updated by each `step`; after every step it equals `dtw` of the prefix to the bit.

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
    """How many places the query has had."""

    def __init__(self, *, reference: Any, distance: Distance | None = None) -> None:
        self._distance = Euclidean() if distance is None else distance
        if is_plain_points(reference, self._distance):
            self._reference = reference.copy()
        else:
            check_distance(self._distance)
            self._reference = self._distance.encode([reference], role=lambda _: "the reference").places
        self._points = isinstance(self._distance, Euclidean)
        self._panel = None if self._points else _panel(self._distance, self._reference)
        self._row = np.empty(len(self._reference) + 1)
        self._row.fill(np.inf)
        self._row[0] = 0.0
        self._reference_view, self._row_view = _view(self._reference), _view(self._row)
        self.dtw = math.inf
        self.steps = 0

    def step(self, place: Any) -> float:
        """Take the query's next place and return DTW so far."""
        if self._panel is not None:
            index, panel = self._panel
            try:
                code = index[place]
            except (KeyError, TypeError):
                raise _unknown(place, f"query step {self.steps}", index, self._distance) from None
            value = kernels.advance_cost(panel[code], self._row)
        elif self._points:
            try:  # as it is where it is an array of doubles, which spares a conversion longer than the step
                found = kernels.advance_point(self._reference_view, self._row_view, place)
            except (TypeError, ValueError):
                found = self._step_converted(place)
            if found is None:
                raise self._refused(place)
            value = found
        else:
            encoded = self._distance.encode([[place]], role=lambda _: "the query").places
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

    def _step_converted(self, place: Any) -> float | None:
        try:
            point = np.ascontiguousarray(place, dtype=np.float64).reshape(-1)
        except (TypeError, ValueError):
            return None
        return kernels.advance_point(self._reference_view, self._row_view, point)

    def _refused(self, place: Any) -> PathError:
        dimension = self._reference.shape[1]
        return PathError(f"query step {self.steps} must be {dimension} finite coordinates, got {place!r}")


class RunningBatch:
    """`RunningDTW` for many environments at once: one call a step, whatever their references' lengths.

    Args:
        references: one path a slot.
        distance: one for all slots, or a sequence with one for each (environments in different scenes).

    >>> batch = RunningBatch(references=[[[0.0], [1.0]], [[5.0]]])
    >>> batch.step([[0.0], [4.0]])
    array([1., 1.])
    """

    def __init__(self, *, references: Sequence[Any], distance: Distance | Sequence[Distance] | None = None) -> None:
        if not len(references):
            raise PathError("a running batch needs at least one reference")
        if isinstance(distance, Sequence):
            if len(distance) != len(references):
                raise PathError(f"{len(references)} references but {len(distance)} distances; give one for each slot")
            self._distances: list[Distance] = list(distance)
        else:
            self._distances = [Euclidean() if distance is None else distance] * len(references)
        self._places: list[Any] = [None] * len(references)
        self._lengths = np.zeros(len(references), dtype=np.int64)
        self._rows = np.full((len(references), 1), np.inf)
        self.steps = np.zeros(len(references), dtype=np.int64)
        self._padded: Any = None
        self._panels: list[_Panel | None] = [None] * len(references)
        for slot, reference in enumerate(references):
            self.reset(slot, reference)

    def __len__(self) -> int:
        return len(self._places)

    def reset(self, slot: int, reference: Any = None, distance: Distance | None = None) -> None:
        """Start one slot again: with its reference, or with a new one (and, in a new scene, its distance)."""
        if not 0 <= slot < len(self):
            raise OptionError(f"slot {slot} is not one of the {len(self)} slots, 0 to {len(self) - 1}")
        if distance is not None:
            self._distances[slot] = distance
        if reference is not None:
            check_distance(self._distances[slot])
            places = self._distances[slot].encode([reference], role=lambda _: f"the reference of slot {slot}").places
            self._check_dimension(slot, places)
            self._places[slot] = places
            self._panels[slot] = _panel(self._distances[slot], places)
            self._lengths[slot] = len(places)
            self._padded = None
            missing = len(places) + 1 - self._rows.shape[1]
            if missing > 0:
                self._rows = np.pad(self._rows, ((0, 0), (0, missing)), constant_values=np.inf)
        self._rows[slot] = np.inf
        self._rows[slot, 0] = 0.0
        self.steps[slot] = 0

    def step(self, places: Sequence[Any] | NDArray[Any], active: Any = None) -> Floats:
        """Take each slot's next place and return DTW so far, (slots,).

        Args:
            places: one place a slot.
            active: which slots move, as booleans; the others keep their value and their place is not looked at.
        """
        if len(places) != len(self):
            raise PathError(f"{len(self)} slots but {len(places)} places; give one for each slot")
        mask = None if active is None else np.ascontiguousarray(active, dtype=bool).view(np.uint8)
        if mask is not None and len(mask) != len(self):
            raise PathError(f"{len(self)} slots but {len(mask)} active flags; give one for each slot")
        moving = np.arange(len(self)) if mask is None else np.flatnonzero(mask)
        if all(isinstance(distance, Euclidean) for distance in self._distances):
            self._step_points(places, moving, mask)
        else:
            self._step_places(places, moving, mask)
        self.steps[moving] += 1
        return self.dtw

    @property
    def dtw(self) -> Floats:
        """DTW so far of every slot; infinite before its first step."""
        values: Floats = self._rows[np.arange(len(self)), self._lengths]
        return values

    def ndtw(self, threshold: float = 3.0) -> Floats:
        """Return nDTW so far of every slot; 0 before its first step."""
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

    def _step_points(self, places: Any, moving: NDArray[np.int64], mask: NDArray[np.uint8] | None) -> None:
        width = self._rows.shape[1] - 1
        if self._padded is None or self._padded.shape[1] != width:
            self._padded = np.zeros((len(self), width, self._places[0].shape[1]))
            for slot, reference in enumerate(self._places):
                self._padded[slot, : len(reference)] = reference
        try:
            points = np.ascontiguousarray(places, dtype=np.float64).reshape(len(self), -1)
        except (TypeError, ValueError):
            raise PathError("places must be coordinates, the same number for each slot") from None
        if points.shape[1] != self._padded.shape[2] or not kernels.all_finite(points[moving]):
            raise PathError(f"places must be {self._padded.shape[2]} finite coordinates for each slot")
        kernels.advance_points(self._padded, self._lengths, self._rows, points, mask)

    def _step_places(self, places: Any, moving: NDArray[np.int64], mask: NDArray[np.uint8] | None) -> None:
        costs = np.zeros((len(self), self._rows.shape[1] - 1))
        for slot in moving.tolist():
            place, distance, panel = places[slot], self._distances[slot], self._panels[slot]
            if panel is not None:
                try:
                    costs[slot, : self._lengths[slot]] = panel[1][panel[0][place]]
                except (KeyError, TypeError):
                    raise _unknown(place, f"the place of slot {slot}", panel[0], distance) from None
            else:
                encoded = distance.encode([[place]], role=lambda _: f"slot {slot}").places  # noqa: B023
                costs[slot, : self._lengths[slot]] = distance.between(self._places[slot], encoded)[:, 0]
        kernels.advance_block(costs, self._lengths, self._rows, mask)

    def _check_dimension(self, slot: int, places: Any) -> None:
        others = [reference for reference in self._places if reference is not None and reference.ndim == 2]
        if places.ndim == 2 and others and places.shape[1] != others[0].shape[1]:
            raise PathError(
                f"the reference of slot {slot} has {places.shape[1]}-dimensional points, the others "
                f"{others[0].shape[1]}-dimensional ones"
            )
