"""Episode: what a metric sees that looks at one episode at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.convention.choices import PAPER, Convention
from wayscore.distances.base import Distance, Floats, Places
from wayscore.warping.alignment import encode_pair


@dataclass(frozen=True, eq=False, repr=False)
class Episode:
    """One reference and one query, as the convention scores them (repeats dropped, in the plane), and their distance.

    Attributes:
        distance: d; its `between` and `pairs` take encoded paths.
        encoded_reference: R as `distance` encodes it, codes (n,) or points (n, k).
        encoded_query: Q, the agent's trajectory, encoded likewise.
        threshold: d_th, in the units of the distance.
        convention: every choice that changes a number.
        name: what the episode is called.
        scene: where it takes place, where scenes were given.
        stopped: whether the agent stopped by itself; None where that was not recorded.
        goals: nodes or points any of which is a right end; empty where the reference's end is the only one.
        start_distance: the dataset's own distance from start to goal, where it was given.

    >>> episode = Episode.of(reference=[[0, 0], [4, 0]], query=[[0, 0], [4, 3]])
    >>> episode.matrix()
    array([[0., 5.],
           [4., 3.]])
    >>> episode.goal_distances(), episode.query
    (array([4., 3.]), array([[0., 0.],
           [4., 3.]]))
    """

    distance: Distance
    encoded_reference: Places
    encoded_query: Places
    threshold: float = 3.0
    convention: Convention = PAPER
    name: Any = 0
    scene: str | int | None = None
    stopped: bool | None = None
    goals: Sequence[Any] = ()
    start_distance: float | None = None

    @classmethod
    def of(cls, *, reference: Any, query: Any, distance: Distance | None = None, **facts: Any) -> Episode:
        """Return an episode of two paths, to try a metric on.

        Args:
            reference: R, labels or coordinates.
            query: Q.
            distance: d; None is Euclidean.
            **facts: any of the other attributes.
        """
        R, Q, space = encode_pair(reference, query, distance)
        return cls(space, R, Q, **facts)

    def __repr__(self) -> str:
        return f"<Episode {self.name}: {len(self.encoded_reference)} x {len(self.encoded_query)} nodes>"

    @cached_property
    def reference(self) -> Any:
        """R, the ground-truth path: a list of labels, or an (n, k) array of points."""
        return self.distance.decode(self.encoded_reference)

    @cached_property
    def query(self) -> Any:
        """Q, the agent's trajectory: a list of labels, or an (n, k) array of points."""
        return self.distance.decode(self.encoded_query)

    def matrix(self) -> Floats:
        """Return d(r_i, q_j) for all i and j, (|R|, |Q|); computed once, so do not change it."""
        return self._matrix

    def goal_distances(self) -> Floats:
        """Return d(q_j, r_|R|) for all j, (|Q|,): how far each node is from the reference's end; computed once."""
        return self._goal_distances

    def within(self, distances: Floats) -> NDArray[np.bool_]:
        """Return which distances meet the threshold, compared as the convention does."""
        met: NDArray[np.bool_]
        met = distances < self.threshold if self.convention.comparison == "<" else distances <= self.threshold
        return met

    @cached_property
    def _matrix(self) -> Floats:
        return _fixed(self.distance.between(self.encoded_reference, self.encoded_query))

    @cached_property
    def _goal_distances(self) -> Floats:
        goal, query = self.encoded_reference[-1:], self.encoded_query
        if self.convention.plane == "goal":
            goal, query = np.ascontiguousarray(goal[:, :2]), np.ascontiguousarray(query[:, :2])
        return _fixed(self.distance.between(goal, query)[0])


def _fixed(values: Floats) -> Floats:
    """Return an array that several metrics share and none can change."""
    values.flags.writeable = False
    return values
