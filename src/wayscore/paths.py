"""PathBatch: many paths of different lengths as one flat array and its offsets (Arrow's list layout).

Users hand in lists of lists; a distance encodes them once, and from there on every kernel reads two arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wayscore import kernels
from wayscore.errors import PathError, shortened

Offsets: TypeAlias = NDArray[np.int64]
Role: TypeAlias = str | Callable[[int], str]
"""What errors call path number i: "query" (it becomes "query i"), or a function of i."""
UP_AXIS = 2
"""The coordinate that points up, unless a format says otherwise."""


@dataclass(frozen=True, slots=True, eq=False)
class PathBatch:
    """Paths end to end in `places`; path i is `places[offsets[i]:offsets[i + 1]]`.

    Attributes:
        places: the nodes or points of all paths: int32 codes (n,), float64 points (n, k), or labels (an object array
            or an Arrow array).
        offsets: int64, one more than there are paths.
        moved: how far each point was moved to a free one, metres, where a distance does that.

    >>> batch = PathBatch.from_points([[[0, 0], [1, 0]], [[2, 2]]])
    >>> len(batch), batch.lengths.tolist(), batch[1].tolist()
    (2, [2, 1], [[2.0, 2.0]])
    """

    places: Any
    offsets: Offsets
    moved: NDArray[np.float64] | None = None

    @classmethod
    def from_points(cls, paths: Sequence[Any], *, role: Role = "path") -> PathBatch:
        """Lay out paths of coordinates; each path is (n, k) with the same k, or (n,) numbers for k = 1."""
        offsets = offsets_of(paths, role=role)
        if not len(paths):
            return cls(np.empty((0, 0)), offsets)
        places = None
        if set(map(type, paths)) == {np.ndarray}:
            with suppress(TypeError, ValueError):
                places = np.ascontiguousarray(np.concatenate(paths))
        if places is None or places.dtype != np.float64 or places.ndim != 2 or not places.size:  # anything unusual
            arrays = [_points(path, path_name(role, number)) for number, path in enumerate(paths)]
            dimension = arrays[0].shape[1]
            for number, array in enumerate(arrays):
                if array.shape[1] != dimension:
                    raise PathError(
                        f"{path_name(role, number)} has {array.shape[1]}-dimensional points but {path_name(role, 0)} "
                        f"has {dimension}-dimensional ones; all paths of a batch share one dimension"
                    )
            places = np.ascontiguousarray(np.concatenate(arrays))
        batch = cls(places, offsets)
        batch.check_finite(role=role)
        return batch

    def __repr__(self) -> str:
        kind = {1: "nodes", 2: "points"}[self.places.ndim]
        return f"<PathBatch of {len(self)} paths, {int(self.offsets[-1] - self.offsets[0])} {kind}>"

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, number: int) -> Any:
        """Return the nodes or points of one path, without copying."""
        if not -len(self) <= number < len(self):
            raise IndexError(f"path {number} of {len(self)}")
        number %= len(self)
        return self.places[int(self.offsets[number]) : int(self.offsets[number + 1])]

    def __iter__(self) -> Iterator[Any]:
        return (self[number] for number in range(len(self)))

    @property
    def lengths(self) -> Offsets:
        """How many nodes or points each path has."""
        return np.diff(self.offsets)

    def part(self, start: int, stop: int) -> PathBatch:
        """Return paths start to stop as a batch of their own, sharing the memory."""
        first, last = int(self.offsets[start]), int(self.offsets[stop])
        moved = None if self.moved is None else self.moved[first:last]
        return PathBatch(self.places[first:last], self.offsets[start : stop + 1] - first, moved)

    def take(self, numbers: Offsets) -> PathBatch:
        """Return some paths, in this order, as a batch of their own.

        >>> PathBatch.from_points([[[0], [1]], [[2]], [[3]]]).take(np.array([2, 0])).places.ravel().tolist()
        [3.0, 0.0, 1.0]
        """
        lengths = self.lengths[numbers]
        offsets = np.zeros(len(numbers) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        where = np.repeat(self.offsets[numbers] - offsets[:-1], lengths)
        where += np.arange(len(where))
        return PathBatch(self.places[where], offsets, None if self.moved is None else self.moved[where])

    def check_finite(self, *, role: Role) -> None:
        """Raise a PathError that names the first point with a coordinate that is NaN, infinite or too large."""
        if kernels.all_within(self.places, kernels.LARGEST):
            return
        point = int(np.flatnonzero(~(np.abs(self.places) <= kernels.LARGEST).all(axis=1))[0])
        number = int(np.searchsorted(self.offsets, point, side="right")) - 1
        raise PathError(
            f"{path_name(role, number)}, step {point - int(self.offsets[number])}: coordinates must be finite, and "
            f"below {kernels.LARGEST:g} so that their squares are too, got {shortened(self.places[point].tolist())}"
        )


Paths: TypeAlias = PathBatch | Sequence[Any]


def concatenated(batches: Sequence[PathBatch]) -> PathBatch:
    """Return several batches as one.

    >>> concatenated([PathBatch.from_points([[[0.0], [1.0]]]), PathBatch.from_points([[[2.0]]])]).offsets.tolist()
    [0, 2, 3]
    """
    if len(batches) == 1:
        return batches[0]
    lengths = np.concatenate([batch.lengths for batch in batches])
    used = [slice(batch.offsets[0], batch.offsets[-1]) for batch in batches]
    moved = [batch.moved[part] for batch, part in zip(batches, used, strict=True) if batch.moved is not None]
    return PathBatch(
        np.concatenate([batch.places[part] for batch, part in zip(batches, used, strict=True)]),
        np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        np.concatenate(moved) if moved else None,
    )


def as_lists(paths: Paths) -> Sequence[Any]:
    """Return paths one by one, as users write them: lists of labels, or arrays of coordinates."""
    if not isinstance(paths, PathBatch):
        return paths
    if paths.places.ndim == 1:
        raise PathError("a batch of codes belongs to one scene; where distances differ by scene give labels")
    return list(paths)


def in_plane(points: NDArray[np.float64], up_axis: int | None = None) -> NDArray[np.float64]:
    """Return points in space without the coordinate that points up (by default z); points in the plane as they are.

    >>> in_plane(np.array([[1.0, 2.0, 3.0]]), up_axis=1).tolist()
    [[1.0, 3.0]]
    """
    up = UP_AXIS if up_axis is None else up_axis
    return points if points.shape[1] < 3 else np.ascontiguousarray(np.delete(points, up, axis=1))


def axis_name(up_axis: int | None) -> str:
    """Return what signatures call the coordinate that points up.

    >>> axis_name(None), axis_name(1)
    ('z', 'y')
    """
    return "xyz"[UP_AXIS if up_axis is None else up_axis]


def without_repeats(paths: Paths) -> Paths:
    """Return paths without the nodes or points that repeat the one before them.

    >>> without_repeats([["a", "a", "b", "a"], ["a"]])
    [['a', 'b', 'a'], ['a']]
    """
    if isinstance(paths, PathBatch):
        kept = np.ones(len(paths.places), dtype=bool)
        kept[1:] = _differ(paths.places[1:], paths.places[:-1])
        kept[paths.offsets[:-1]] = True
        before = np.concatenate(([0], np.cumsum(kept)))
        return PathBatch(paths.places[kept], before[paths.offsets], None if paths.moved is None else paths.moved[kept])
    return [
        path[changes(path)]
        if isinstance(path, np.ndarray) and path.ndim == 2
        else [node for node, kept in zip(path, changes(path).tolist(), strict=True) if kept]
        for path in paths
    ]


def changes(path: Any) -> NDArray[np.bool_]:
    """Return which nodes or points of a path differ from the one before; the first does.

    >>> changes(["a", "a", "b"]).tolist()
    [True, False, True]
    """
    if isinstance(path, np.ndarray) and path.ndim == 2:
        return np.append(True, _differ(path[1:], path[:-1]))[: len(path)]
    return np.array([step == 0 or not np.all(node == path[step - 1]) for step, node in enumerate(path)], dtype=bool)


def _differ(a: Any, b: Any) -> Any:
    return (a != b).any(axis=1) if a.ndim == 2 else a != b


def path_name(role: Role, number: int) -> str:
    """Return what errors call a path.

    >>> path_name("query", 3)
    'query 3'
    """
    return role(number) if callable(role) else f"{role} {number}"


def offsets_of(paths: Sequence[Any], *, role: Role) -> Offsets:
    """Return the offsets of paths laid end to end, refusing empty ones."""
    try:
        lengths = np.fromiter(map(len, paths), dtype=np.int64, count=len(paths))
    except TypeError:
        number, path = next((n, p) for n, p in enumerate(paths) if not hasattr(p, "__len__"))
        raise PathError(
            f"{path_name(role, number)} must be a sequence of nodes or points, got {shortened(path)}; a single path is "
            "wrapped in a list: [path]"
        ) from None
    if not lengths.all():
        name = path_name(role, int(np.flatnonzero(lengths == 0)[0]))
        raise PathError(
            f"{name} is empty; a path has at least one node or point (an agent that never moves has its start)"
        )
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _points(path: Any, name: str) -> NDArray[np.float64]:
    try:
        array = np.asarray(path, dtype=np.float64)
    except (TypeError, ValueError):
        raise PathError(
            f"{name} must hold coordinates of one dimension (an (n, k) array of numbers), got {shortened(path)}; for "
            "node labels give a distance such as Graph"
        ) from None
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    if array.ndim != 2 or array.shape[1] == 0:
        raise PathError(f"{name} must be an (n, k) array of coordinates, got shape {array.shape}")
    return array
