"""Episode: what a metric sees that looks at one episode at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.convention.choices import PAPER, Convention
from wayscore.distances.base import Distance, Floats, Places
from wayscore.errors import PathError
from wayscore.paths import in_plane
from wayscore.warping.alignment import encode_pair
from wayscore.warping.encoded import dtw_value, fast_cost


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
        recorded: what is known besides the paths, by name: what the run recorded (`stopped`, `goal_distances`,
            `headings`, ...) and what the references hold (`goals`, `start_distance`, ...); only what there is.
        up_axis: which coordinate of points in space points up.
        warped: the encoded reference and query that DTW warps, where those are others (dense, resampled).

    >>> episode = Episode.of(reference=[[0, 0], [4, 0]], query=[[0, 0], [4, 3]], stopped=True)
    >>> episode.matrix()
    array([[0., 5.],
           [4., 3.]])
    >>> episode.goal_distances(), episode.length(), episode.success(), episode.recorded["stopped"]
    (array([4., 3.]), 5.0, True, True)
    """

    distance: Distance
    encoded_reference: Places
    encoded_query: Places
    threshold: float = 3.0
    convention: Convention = PAPER
    name: Any = 0
    scene: str | int | None = None
    recorded: Mapping[str, Any] = field(default_factory=dict)
    up_axis: int | None = None
    warped: tuple[Places, Places] | None = None

    @classmethod
    def of(
        cls,
        *,
        reference: Any,
        query: Any,
        distance: Distance | None = None,
        threshold: float = 3.0,
        convention: Convention = PAPER,
        **recorded: Any,
    ) -> Episode:
        """Return an episode of two paths, to try a metric on.

        Args:
            reference: R, labels or coordinates.
            query: Q.
            distance: d; None is Euclidean.
            threshold: d_th.
            convention: every choice that changes a number.
            **recorded: what is known besides the paths.
        """
        R, Q, space = encode_pair(reference, query, distance)
        return cls(space, R, Q, threshold, convention, recorded=recorded)

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

    @property
    def goals(self) -> Sequence[Any]:
        """Nodes or points any of which is a right end; empty where the reference's end is the only one."""
        known: Sequence[Any] = self.recorded.get("goals", ())
        return known

    @property
    def stopped(self) -> bool | None:
        """Whether the agent stopped by itself; None where that was not recorded."""
        return self.recorded.get("stopped")

    @property
    def start_distance(self) -> float | None:
        """The dataset's own distance from start to goal, where it was given."""
        return self.recorded.get("start_distance")

    def matrix(self) -> Floats:
        """Return d(r_i, q_j) for all i and j, (|R|, |Q|); computed once, so do not change it."""
        return self._matrix

    def goal_distances(self) -> Floats:
        """Return how far each node is from the goal that success is judged by, (|Q|,); computed once.

        As the simulator recorded it; else to the nearest goal where the convention takes that; else d(q_j, r_|R|).
        """
        return self._goal_distances

    def distances_to(self, places: Any, what: str = "goals") -> Floats:
        """Return d(place, q_j) for nodes or points as users write them, (len(places), |Q|)."""
        where = f"episode {self.name}, {what}"
        encoded, query = self.distance.encode([list(places)], role=lambda _: where).places, self.encoded_query
        if encoded.ndim == 2 and self.convention.plane == "all":
            encoded = in_plane(encoded, self.up_axis)
        if encoded.shape[1:] != query.shape[1:]:
            raise PathError(
                f"{where}: points of {encoded.shape[1]} coordinates, but the query has {query.shape[1]}; both need "
                "the same"
            )
        return self.distance.between(encoded, query)

    def within(self, distances: Floats) -> NDArray[np.bool_]:
        """Return which distances meet the threshold, compared as the convention does."""
        return distances < self.threshold if self.convention.comparison == "<" else distances <= self.threshold

    def success(self) -> bool:
        """Return whether the query ends at the goal, and stopped there where the convention requires that."""
        if self.convention.stop == "required" and self.stopped is False:
            return False
        if self.convention.goal == "set":
            return bool(self.distances_to(self.goals)[:, -1].min() == 0)
        return bool(self.within(self.goal_distances()[-1:])[0])

    def length(self) -> float:
        """Return PL(Q)."""
        return self.length_of(self.encoded_query)

    def reference_length(self) -> float:
        """Return PL(R)."""
        return self.length_of(self.encoded_reference)

    def length_of(self, path: Places) -> float:
        """Return the length of an encoded path."""
        return float(self.distance.pairs(path[:-1], path[1:]).sum())

    def dtw(self) -> float:
        """Return DTW as the convention computes it, of the paths that it warps."""
        reference, query = self.warped or (self.encoded_reference, self.encoded_query)
        if self.convention.warping == "exact":
            return dtw_value(reference, query, self.distance)
        return fast_cost(reference, query, self.distance, compiled=self.convention.warping == "fast-compiled")

    def ndtw(self) -> float:
        """Return nDTW as the convention computes it."""
        count = len(self.warped[0] if self.warped else self.encoded_reference)
        return float(np.exp(-self.dtw() / (count * self.threshold)))

    @cached_property
    def _matrix(self) -> Floats:
        return _fixed(self.distance.between(self.encoded_reference, self.encoded_query))

    @cached_property
    def _goal_distances(self) -> Floats:
        if (recorded := self.recorded.get("goal_distances")) is not None:
            return _fixed(np.array(recorded, dtype=np.float64))
        if self.convention.goal == "nearest" and len(self.goals):
            return _fixed(self.distances_to(self.goals).min(axis=0))
        return _fixed(self.distance.between(self.encoded_reference[-1:], self.encoded_query)[0])


def _fixed(values: Floats) -> Floats:
    """Return an array that several metrics share and none can change."""
    values.flags.writeable = False
    return values
