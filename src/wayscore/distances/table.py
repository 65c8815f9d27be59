"""Precomputed distances: between named nodes, and between fixed points, which stand for the points around them."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wayscore import kernels
from wayscore.distances.base import Distance, Floats, Places, as_points, nearest_points
from wayscore.errors import DistanceError, PathError, shortened
from wayscore.paths import PathBatch, Paths, Role, path_name

REACH, CELL = 0.5, 0.1
"""Metres; see `Snapped.from_walks`."""
Csr = tuple[NDArray[np.int64], NDArray[np.int32], Floats]


class Table(Distance):
    """A square matrix of distances between named nodes.

    Entries are not negative, infinity for "unreachable", 0 on the diagonal. The matrix must be symmetric unless
    `symmetric=False`.

    >>> table = Table([[0, 1], [1, 0]], ["a", "b"])
    >>> table.between(np.array([0]), np.array([0, 1]))
    array([[0., 1.]])
    """

    name = "table"
    table: Floats

    def __init__(self, matrix: Any, nodes: Iterable[Hashable], *, symmetric: bool = True) -> None:
        try:
            self.nodes = tuple(nodes)
            self.index: dict[Any, int] = {node: code for code, node in enumerate(self.nodes)}
        except TypeError:
            raise DistanceError("a table needs a list of names that are hashable, such as strings or tuples") from None
        try:
            table = np.array(matrix, dtype=np.float64, order="C")
        except (TypeError, ValueError):
            raise DistanceError("a table must be a square matrix of numbers") from None
        count = len(self.nodes)
        if len(self.index) != count:
            raise DistanceError("two nodes of the table have the same name; names must differ")
        if table.shape != (count, count) or not count:
            raise DistanceError(f"a table of {count} nodes must be a {count} x {count} matrix, got shape {table.shape}")
        self._refuse(table, np.isnan(table), "is not a number; use infinity for unreachable nodes")
        self._refuse(table, table < 0, "is negative; distances must be 0 or more")
        self._refuse(table, np.eye(count, dtype=bool) & (table != 0), "must be 0, because it is from a node to itself")
        if symmetric:
            self._refuse(
                table, table != table.T, "differs from the distance back; pass symmetric=False if that is intended"
            )
        table.flags.writeable = False
        self.table = table

    def _refuse(self, table: Floats, wrong: Any, why: str) -> None:
        if wrong.any():
            i, j = np.argwhere(wrong)[0]
            a, b = shortened(self.nodes[i]), shortened(self.nodes[j])
            raise DistanceError(f"the distance from {a} to {b}, {table[i, j]}, {why}")

    def __repr__(self) -> str:
        return f"<Table of {len(self.nodes)} nodes>"

    @cached_property
    def fingerprint(self) -> str:  # type: ignore[override]
        """`table#` and eight digits, a hash of all names and entries."""
        digest = hashlib.sha256(repr(self.nodes).encode() + self.table.tobytes())
        return f"table#{digest.hexdigest()[:8]}"

    def decode(self, places: Places) -> list[Any]:
        """Turn row numbers into labels."""
        return [self.nodes[code] for code in places.tolist()]


class Snapped(Distance):
    """Distances between fixed points, known in advance; every other point has the distances of its nearest fixed point.

    This is how the paper measures in continuous worlds where obstacles are in the way. The error is at most the way
    from both points to their fixed ones; `encode` reports how far these are. Points may have any dimension.

    Args:
        points: (n, k), the fixed points.
        distance: (n, n) distances between them; or a distance to compute them with once, such as a `NavMesh`, or a
            `Graph` whose nodes are these points, in this order.

    >>> corners = Snapped([[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]], [[0, 3, 7], [3, 0, 4], [7, 4, 0]])
    >>> corners.distance([0.1, -0.2], [2.9, 4.1])
    7.0
    """

    name = "snapped points"

    def __init__(self, points: ArrayLike, distance: ArrayLike | Distance) -> None:
        self.points = _checked_points(points)
        self._graph: Csr | None = None
        if isinstance(distance, Distance):
            table = distance.table
            if table is None:
                places = distance.encode([self.points], role=lambda _: "points").places
                table = distance.between(places, places)
        else:
            table = distance  # type: ignore[assignment]
        self.table = Table(table, range(len(self.points)), symmetric=False).table

    @classmethod
    def from_walks(
        cls,
        walks: Sequence[ArrayLike],
        *,
        nodes: ArrayLike | None = None,
        edges: ArrayLike | None = None,
        reach: float = REACH,
        cell: float = CELL,
    ) -> Snapped:
        """Build a walkable graph of what others have walked, such as ground-truth walks of other episodes of a scene.

        Consecutive points of a walk are joined, and so are any two points that are near each other. A distance is the
        length of the shortest path in that graph.

        Args:
            walks: (n, k) points each, metres.
            nodes: (m, k) points of a navigation graph, if there is one.
            edges: (e, 2) numbers of joined nodes.
            reach: points that are no farther apart than this are joined, metres. A larger reach shortens zigzags; one
                that is wider than a wall with the agent's radius on both sides of it leads through walls.
            cell: of points in the same cube of this side one is kept, metres.

        >>> loop = Snapped.from_walks([[[0.0, 0.0], [0.0, 2.0], [2.0, 2.0]], [[2.1, 2.3], [4.0, 2.0]]])
        >>> round(loop.distance([0.0, 0.0], [4.0, 2.1]), 2)
        6.24
        """
        batch = PathBatch.from_points(list(walks), role="walk")
        joined = np.arange(len(batch.places) - 1) if len(batch.places) else np.empty(0, dtype=np.int64)
        joined = np.setdiff1d(joined, batch.offsets[1:-1] - 1)
        links = np.column_stack((joined, joined + 1))
        points = batch.places
        if nodes is not None:
            extra = _checked_points(nodes)
            if len(points) and extra.shape[1] != points.shape[1]:
                raise DistanceError(
                    f"nodes have {extra.shape[1]} coordinates and the points of walks {points.shape[1]}; give both the "
                    "same"
                )
            links = np.concatenate((_checked_edges(edges, len(extra)), links + len(extra)))
            points = np.concatenate((extra, points)) if len(points) else extra
        for name, length in (("reach", reach), ("cell", cell)):
            if isinstance(length, bool) or not isinstance(length, int | float) or not 0 < length < np.inf:
                raise DistanceError(f"{name} must be a length above 0 in metres, got {shortened(length)}")
        if not len(points):
            raise DistanceError("walks and nodes are both empty; give at least one point")
        cubes = np.floor(points / float(cell))
        _, kept, number = np.unique(cubes, axis=0, return_index=True, return_inverse=True)
        made = cls.__new__(cls)
        made.points = np.ascontiguousarray(points[kept])
        count = len(kept)
        near = made._tree.query_pairs(float(reach), output_type="ndarray").astype(np.int64)
        a, b = np.concatenate((number.reshape(-1)[links], near)).T
        keys = np.unique(np.concatenate((a * count + b, b * count + a)))
        sources, targets = np.divmod(keys[keys % (count + 1) != 0], count)  # without those from a point to itself
        lengths = np.sqrt(((made.points[sources] - made.points[targets]) ** 2).sum(axis=1))
        starts = np.searchsorted(sources, np.arange(count + 1)).astype(np.int64)
        made._graph = starts, targets.astype(np.int32), lengths
        return made

    def __repr__(self) -> str:
        count, dimension = self.points.shape
        return f"<Snapped to {count} points of dimension {dimension}>"

    @cached_property
    def table(self) -> Floats:  # type: ignore[override]
        """(n, n) distances between the fixed points, metres; those of walks are computed when first used."""
        assert self._graph is not None
        table = np.empty((len(self.points), len(self.points)))
        for number, row in enumerate(table):
            kernels.dijkstra(*self._graph, number, -1, row)
        table.flags.writeable = False
        return table

    @cached_property
    def fingerprint(self) -> str:  # type: ignore[override]
        """`snapped#` and eight digits, a hash of all points and of the distances, or the links, between them."""
        digest = hashlib.sha256(repr(self.points.shape).encode() + self.points.tobytes())
        for array in (self.table,) if self._graph is None else self._graph:
            digest.update(array.tobytes())
        return f"snapped#{digest.hexdigest()[:8]}"

    def encode(self, paths: Paths, *, role: Role = "path") -> PathBatch:
        """Find the nearest fixed point of each point; `moved` says how far away it is, metres."""
        paths = as_points(paths, role)
        if not len(paths):
            return PathBatch(np.empty(0, dtype=np.int32), paths.offsets, np.empty(0))
        if paths.places.shape[1] != self.points.shape[1]:
            raise PathError(
                f"the points of {path_name(role, 0)} have {paths.places.shape[1]} coordinates, and the fixed points "
                f"{self.points.shape[1]}"
            )
        paths.check_finite(role=role)
        codes, moved = nearest_points(self._tree, paths.places)
        return PathBatch(codes.astype(np.int32), paths.offsets, moved)

    def decode(self, places: Places) -> Floats:
        """Return the fixed points that points were moved to."""
        return self.points[places]

    def distance(self, start: ArrayLike, end: ArrayLike) -> float:
        """Return the distance from a point to another, metres."""
        one: Any = [start]
        return float(self.distances(one, end)[0])

    def distances(self, points: ArrayLike, goal: ArrayLike) -> Floats:
        """Return the distance from each of (n, k) points to the goal, one point, metres."""
        starts = self.encode([points], role=lambda _: "points").places
        end = int(self.encode([[goal]], role=lambda _: "goal").places[0])
        if self._graph is None or "table" in self.__dict__:
            return np.asarray(self.table[starts, end])
        field = np.empty(len(self.points))  # one goal needs one search, and walks lead both ways
        kernels.dijkstra(*self._graph, end, -1, field)
        return np.asarray(field[starts])

    @cached_property
    def _tree(self) -> Any:
        from scipy.spatial import cKDTree  # SciPy is slow to import

        return cKDTree(self.points)


def _checked_points(points: ArrayLike) -> Floats:
    try:
        array = np.array(points, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise DistanceError(f"points must be numbers, an (n, k) array, got {shortened(points)}") from None
    if array.ndim != 2 or not array.size or not np.isfinite(array).all():
        raise DistanceError(f"points must be an (n, k) array of finite numbers, got shape {array.shape}")
    array.flags.writeable = False
    return array


def _checked_edges(edges: ArrayLike | None, count: int) -> NDArray[np.int64]:
    array = np.asarray(() if edges is None else edges)
    if array.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    pairs = array.ndim == 2 and array.shape[1] == 2 and array.dtype.kind in "iu"
    if not pairs or not 0 <= array.min() <= array.max() < count:
        raise DistanceError(f"edges must be an (e, 2) array of numbers of the {count} nodes, got {shortened(edges)}")
    return array.astype(np.int64)
