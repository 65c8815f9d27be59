"""Geodesic distance among the obstacles of an occupancy grid."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wayscore import kernels
from wayscore.distances.base import Distance, Floats, Places, as_points, nearest_points
from wayscore.errors import DistanceError, OptionError, PathError, check_count, did_you_mean, shortened
from wayscore.paths import PathBatch, Paths, Role, path_name

METRICS = ("octile", "eikonal")
# In ascending order of their codes, so that each row of the graph is sorted.
_STEPS = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]


class Grid(Distance):
    """The shortest path through the free cells of a grid, in metres; infinity if there is none.

    Axis 0 of the array is the first coordinate: the centre of cell [i, j] is at
    (origin[0] + i * cell, origin[1] + j * cell). Transpose an image, whose rows are y and columns x:
    `Grid(image.T)`. Points are moved to the nearest free cell; `encode` reports how far.

    There are two metrics. Neither passes between two obstacles that touch at a corner:

    - `octile`: the exact shortest path of steps to the 8 neighbours, of length 1 and sqrt 2 cells; a diagonal
      step needs both cells next to it free. Without obstacles, up to 8 % longer than a straight line.
    - `eikonal`: the arrival time of a front of unit speed, |grad T| = 1, by fast marching. Without obstacles,
      within 0.2 % of the straight line and never shorter; never longer than `octile`. Not quite symmetric:
      between rooms the distance back may differ by 5 %, over a few cells of dense clutter by more.

    Distances are measured from the first argument of `between` and `pairs`, with one search for each distinct source;
    the last results are cached. With few references and many queries, give the references first.

    Args:
        free: (h, w) array; nonzero (or True) for free cells.
        cell: side of a cell, metres.
        origin: coordinates of the centre of cell [0, 0], metres.
        metric: `octile` or `eikonal`.
        cache_bytes: the most memory for cached results; 0 caches nothing.

    >>> wall = np.array([[1, 1, 1], [1, 0, 1], [1, 0, 1]])
    >>> grid = Grid(wall, cell=0.5)
    >>> path = grid.encode([[[1.0, 0.1], [1.0, 1.0]]])
    >>> path.places.tolist(), path.moved.round(3).tolist()
    ([6, 8], [0.1, 0.0])
    >>> grid.pairs(path.places[:1], path.places[1:])
    array([3.])
    """

    name = "grid"

    def __init__(
        self,
        free: ArrayLike,
        cell: float = 0.1,
        origin: Sequence[float] = (0.0, 0.0),
        metric: str = "octile",
        cache_bytes: int = 256 * 2**20,
    ) -> None:
        self.free = _checked_occupancy(free)
        side, corner = _numbers([cell]), _numbers(origin)
        if len(side) != 1 or side[0] <= 0.0:
            raise DistanceError(
                f"cell must be the side of a cell, a finite length above 0 in metres, got {shortened(cell)}"
            )
        if len(corner) != 2:
            raise DistanceError(
                f"origin must be two finite numbers, the centre of cell [0, 0], got {shortened(origin)}"
            )
        self.cell, self.origin = side[0], (corner[0], corner[1])
        if metric not in METRICS:
            raise OptionError(
                f"metric must be one of {', '.join(METRICS)}, got {shortened(metric)}{did_you_mean(metric, METRICS)}"
            )
        self.metric = metric
        self.cache_bytes = check_count("cache_bytes", cache_bytes, least=0)
        # Fields (distances from one cell) hold free cells only; a node is a free cell's number among them.
        self._cells = np.flatnonzero(self.free)
        self._nodes = np.full(self.free.size, -1, dtype=np.int32)
        self._nodes[self._cells] = np.arange(len(self._cells))
        self._fields: OrderedDict[int, Floats] = OrderedDict()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        height, width = self.free.shape
        return f"<Grid {height} x {width}, {self.cell:g} m cells, {self.metric}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # A lock cannot be pickled, and computing fields again is cheaper than sending them.
        return Grid, (self.free, self.cell, self.origin, self.metric, self.cache_bytes)

    @cached_property
    def fingerprint(self) -> str:  # type: ignore[override]
        """The metric and a hash of the free cells, their size and their origin: `grid-octile#1a2b3c4d`."""
        digest = hashlib.sha256(np.array(self.free.shape, dtype="<i8").tobytes())
        digest.update(np.packbits(self.free).tobytes())
        digest.update(np.array([self.cell, *self.origin], dtype="<f8").tobytes())
        return f"grid-{self.metric}#{digest.hexdigest()[:8]}"

    def encode(self, paths: Paths, *, role: Role = "path") -> PathBatch:
        """Snap paths of (n, 2) points in metres to cells, i * w + j; `moved` says how far away each cell is, metres."""
        paths = as_points(paths, role)
        if not len(paths):
            return PathBatch(np.empty(0, dtype=np.int32), paths.offsets, np.empty(0))
        if paths.places.ndim != 2 or paths.places.shape[1] != 2:
            dimension = paths.places.shape[1] if paths.places.ndim == 2 else 1
            raise PathError(
                f"a Grid needs 2-dimensional points, but those of {path_name(role, 0)} have dimension {dimension}; "
                "leave out the height, for example points[:, [0, 2]] if y points up"
            )
        paths.check_finite(role=role)
        codes, moved = self._snap(paths.places)
        return PathBatch(codes, paths.offsets, moved)

    def snap(self, points: ArrayLike) -> tuple[NDArray[np.int32], Floats]:
        """Return the codes of the free cells with the nearest centres to (n, 2) points, and how far away these are.

        Of equally near cells it is the one with the lowest code.

        >>> cells, errors = Grid([[1, 0, 1]], cell=1.0).snap([[0.0, 1.0], [0.0, 1.5]])
        >>> cells.tolist(), errors.tolist()
        ([0, 2], [1.0, 0.5])
        """
        try:
            array = np.asarray(points, dtype=np.float64)
        except (TypeError, ValueError):
            raise PathError(f"points must be numbers, an (n, 2) array, got {type(points).__name__}") from None
        if array.ndim != 2 or array.shape[1] != 2:
            raise PathError(f"points must be an (n, 2) array, got shape {array.shape}")
        if not np.isfinite(array).all():
            row = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
            raise PathError(f"point {row}: coordinates must be finite, got {array[row].tolist()}")
        return self._snap(array)

    def distance(self, a: Sequence[float], b: Sequence[float]) -> float:
        """Return the distance between two points, metres, each moved to its nearest free cell.

        >>> round(Grid(np.ones((5, 5)), cell=1.0).distance((0, 0), (3, 4)), 6)
        5.242641
        """
        (start, goal), _ = self.snap([a, b])
        return float(self.pairs(np.array([start]), np.array([goal]))[0])

    def decode(self, places: Places) -> Floats:
        """Return the (n, 2) centres of the cells that points were moved to, metres."""
        return self.centres(places)

    def centres(self, codes: Places) -> Floats:
        """Return the (n, 2) coordinates of cells' centres, metres."""
        return np.column_stack(np.divmod(codes, self.free.shape[1])) * self.cell + self.origin

    def between(self, a: Places, b: Places) -> Floats:
        """Return every distance from cells `a` (n,) to cells `b` (m,), metres."""
        sources, rows = np.unique(self._nodes_of(a), return_inverse=True)
        targets = self._nodes_of(b)
        block = np.empty((len(sources), len(targets)))
        for row, source in zip(block, sources.tolist(), strict=True):
            row[:] = self._field(source)[targets]
        return block[rows]

    def pairs(self, a: Places, b: Places) -> Floats:
        """Return the distance from each cell of `a` to its partner in `b`, metres."""
        keys = self._nodes_of(a) * np.int64(len(self._cells)) + self._nodes_of(b)
        keys, back = np.unique(keys, return_inverse=True)
        sources, targets = np.divmod(keys, len(self._cells))
        edges = np.flatnonzero(np.diff(sources, prepend=-1, append=-1))
        distances = np.empty(len(keys))
        for start, stop in pairwise(edges.tolist()):
            source, goals = int(sources[start]), targets[start:stop]
            if len(goals) == 1 and goals[0] == source:
                distances[start] = 0.0
            elif len(goals) == 1 and source not in self._fields:
                # Steps of a path are short, and a search that stops at its goal settles few cells.
                distances[start] = self._search(source, int(goals[0]))[goals[0]]
            else:
                distances[start:stop] = self._field(source)[goals]
        return distances[back]

    def _snap(self, points: Floats) -> tuple[NDArray[np.int32], Floats]:
        with np.errstate(over="ignore"):  # points absurdly far away are near the border all the same
            cell = np.clip((points - self.origin) / self.cell, -1e9, 1e9)
            nearest = np.ceil(cell - 0.5)  # a tie goes to the lower code
            inside: NDArray[np.bool_] = np.all((nearest >= 0) & (nearest < self.free.shape), axis=1)
            i, j = np.where(inside[:, None], nearest, 0).astype(np.int64).T
            codes = i * self.free.shape[1] + j
            astray = ~inside | (self._nodes[codes] < 0)
            if astray.any():
                codes[astray] = self._cells[nearest_points(self._tree, cell[astray])[0]]
            moved = np.hypot(*(points - self.centres(codes)).T)
        return codes.astype(np.int32), moved

    @cached_property
    def _tree(self) -> Any:
        from scipy.spatial import cKDTree  # SciPy is slow to import, and few points are astray

        return cKDTree(np.column_stack(np.divmod(self._cells, self.free.shape[1])).astype(np.float64))

    @cached_property
    def _graph(self) -> tuple[NDArray[np.int64], NDArray[np.int32], Floats]:
        """The 8-neighbour graph of the free cells in CSR form: indptr, indices, weights in cells."""
        height, width = self.free.shape
        framed = np.full((height + 2, width + 2), -1, dtype=np.int32)
        framed[1:-1, 1:-1] = self._nodes.reshape(height, width)
        i, j = np.divmod(self._cells, width)
        beside = {step: framed[i + 1 + step[0], j + 1 + step[1]] for step in _STEPS}
        reached = np.column_stack([beside[step] for step in _STEPS])
        allowed = reached >= 0
        for column, (down, right) in enumerate(_STEPS):
            if down and right:
                allowed[:, column] &= (beside[down, 0] >= 0) & (beside[0, right] >= 0)
        lengths = np.sqrt([float(down * down + right * right) for down, right in _STEPS])
        indptr = np.zeros(len(self._cells) + 1, dtype=np.int64)
        np.cumsum(allowed.sum(axis=1), out=indptr[1:])
        return indptr, reached[allowed], np.broadcast_to(lengths, allowed.shape)[allowed]

    def _nodes_of(self, codes: Places) -> NDArray[np.int32]:
        if len(codes) and not 0 <= codes.min() <= codes.max() < self.free.size:
            raise DistanceError(f"cells are 0 to {self.free.size - 1} here; encode the paths with this grid")
        nodes = self._nodes[codes]
        if len(codes) and nodes.min() < 0:
            code = int(codes[int(np.argmin(nodes))])
            raise DistanceError(f"cell {code} is not free; encode the paths with this grid")
        return nodes

    def _field(self, source: int) -> Floats:
        """Return the distances from a node to every node, cached."""
        with self._lock:
            if source in self._fields:
                self._fields.move_to_end(source)
                return self._fields[source]
        field = self._search(source, -1)
        with self._lock:
            self._fields[source] = field
            while len(self._fields) * field.nbytes > self.cache_bytes:
                self._fields.popitem(last=False)
        return field

    def _search(self, source: int, target: int) -> Floats:
        """Return the distances from a node to all nodes that are found before the target (-1: to all nodes), metres."""
        if self.metric == "octile":
            found = np.empty(len(self._cells))
            kernels.dijkstra(*self._graph, source, target, found)
        else:
            field = np.empty(self.free.shape)
            goal = -1 if target < 0 else int(self._cells[target])
            kernels.march(self.free.view(np.uint8), int(self._cells[source]), goal, field)
            found = field.ravel()[self._cells]
        return found * self.cell


def _checked_occupancy(free: ArrayLike) -> NDArray[np.bool_]:
    """Return a read-only copy, True where free."""
    try:
        array = np.asarray(free)
    except ValueError:
        raise DistanceError("free must be a 2-dimensional array, got rows of different lengths") from None
    if array.dtype.kind not in "biuf":
        raise DistanceError(f"free must hold booleans or numbers (nonzero = free), got {array.dtype}")
    if array.ndim != 2:
        raise DistanceError(f"free must be a 2-dimensional array, got shape {array.shape}")
    if (array.shape[0] + 2) * (array.shape[1] + 2) >= 2**31:
        raise DistanceError(f"free must have fewer than 2**31 cells, got shape {array.shape}; use larger cells")
    if np.isnan(array).any():
        raise DistanceError("free must not hold NaN; mark every cell as free or not, for example with free == 1")
    cells = np.array(array != 0, order="C")
    if not cells.any():
        raise DistanceError(f"free has no free cell (shape {array.shape}); nonzero means free, not occupied")
    cells.flags.writeable = False
    return cells


def _numbers(values: Sequence[float]) -> list[float]:
    """Return finite numbers (-0.0 becomes 0.0), or an empty list if a value is not a finite number."""
    try:
        numbers = [float(value) + 0.0 for value in values]
    except (TypeError, ValueError):
        return []
    return numbers if np.isfinite(numbers).all() else []
