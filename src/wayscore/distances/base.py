"""What all distances share: their base class, the straight line, distances by scene, and checks of nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from wayscore import kernels
from wayscore.errors import OptionError, PathError, UnknownNodeError, UnknownSceneError, did_you_mean, shortened
from wayscore.paths import PathBatch, Paths, Role, offsets_of, path_name

D = TypeVar("D", bound="Distance")

Floats = NDArray[np.float64]
Places = NDArray[Any]  # encoded nodes, int32 codes of shape (n,), or points, float64 of shape (n, k)
METHODS = ("encode", "between", "pairs")
"""The methods that an object needs to be used as a distance, besides its `fingerprint`."""


class Distance:
    """The base class of all distances d between two nodes or points.

    `encode` turns paths of labels or coordinates into arrays once; the other methods take these arrays.
    Distances are not negative and never NaN; infinity means unreachable. Your own distance defines
    `fingerprint`, `encode`, `between` and `pairs`; everything else has defaults.

    Attributes:
        fingerprint: a short text for signatures: equal for equal distances, and the same on every machine.
        unit: the unit of distances: "m", "hops".
        name: its name in errors: "node 'x' is not among the 12 nodes of the {name}".
        table: all pairs as a square float64 array, or None. With it the fastest kernels are used.
        index: label -> code, if all nodes are known in advance; else None.
        is_straight: True if encoded paths are points and d is the straight line between two of them.
    """

    fingerprint: str
    unit: str = "m"
    name: str = "distance"
    table: Floats | None = None
    index: dict[Any, int] | None = None
    is_straight: bool = False

    def encode(self, paths: Paths, *, role: Role = "path") -> PathBatch:
        """Check the paths and return them as a batch of codes or points; `role` names them in errors."""
        if self.index is None:
            raise self._undefined("encode")
        if isinstance(paths, PathBatch):
            codes = paths.places
            if codes.ndim > 1:
                raise PathError(f"paths hold points, but the {self.name} knows nodes by their labels")
            if codes.size and not (0 <= codes.min() and codes.max() < len(self.index)):
                raise PathError(
                    f"paths hold codes from {codes.min()} to {codes.max()}, but the {self.name} has "
                    f"{len(self.index)} nodes"
                )
            return paths
        paths = paths if isinstance(paths, list) else list(paths)
        offsets = offsets_of(paths, role=role)
        codes = np.empty(int(offsets[-1]), dtype=np.int32)
        try:
            unknown = kernels.encode(self.index, paths, codes)
        except TypeError:
            raise _unhashable(paths, role) from None
        if unknown >= 0:
            number = int(np.searchsorted(offsets, unknown, side="right")) - 1
            step = unknown - int(offsets[number])
            raise unknown_node(paths[number][step], f"{path_name(role, number)}, step {step}", self.index, self.name)
        return PathBatch(codes, offsets)

    def decode(self, places: Places) -> Any:
        """Return encoded nodes as a list of labels, or points as an (n, k) array."""
        return places if places.ndim == 2 else places.tolist()

    def between(self, a: Places, b: Places) -> Floats:
        """Return the (len(a), len(b)) distances from each node or point of `a` to each of `b`."""
        if self.table is None:
            raise self._undefined("between")
        return np.ascontiguousarray(self.table[a[:, None], b[None, :]])

    def pairs(self, a: Places, b: Places) -> Floats:
        """Return the (len(a),) distances from each node or point of `a` to its partner in `b`."""
        if self.table is None:
            raise self._undefined("pairs")
        return self.table[a, b]

    def _undefined(self, method: str) -> OptionError:
        return OptionError(f"distance: the {type(self).__name__} does not define {method}(); see wayscore.Distance")


class _Adapted(Distance):
    """An object that is not a `Distance` but has its methods; its other attributes are copied."""

    copied: tuple[str, ...] = (*METHODS, "decode", "unit", "name", "table", "index", "is_straight")

    def __init__(self, given: Any) -> None:
        self.given = given
        for attribute in self.copied:
            if hasattr(given, attribute):
                setattr(self, attribute, getattr(given, attribute))

    def __repr__(self) -> str:
        return repr(self.given)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.given,)

    @property
    def fingerprint(self) -> str:  # type: ignore[override]
        """The fingerprint of the object, computed when it is needed: hashing a large table is slow."""
        return str(self.given.fingerprint)


def as_distance(given: Any) -> Distance:
    """Return a distance unchanged, or make one from an object that has the methods of a distance.

    >>> class Floors:
    ...     fingerprint = "floors"
    ...     def encode(self, paths, *, role="path"): ...
    ...     def between(self, a, b): ...
    ...     def pairs(self, a, b): ...
    >>> as_distance(Floors()).unit
    'm'
    """
    if isinstance(given, Distance):
        return given
    if not all(callable(getattr(given, method, None)) for method in METHODS) or isinstance(given, type):
        raise OptionError(
            "distance must be a Graph, Euclidean, Grid, Table, Function, NavMesh or Snapped, or an object with their "
            f"methods; got a {type(given).__name__}"
        )
    # Only check that it exists: computing it may be slow.
    if not hasattr(type(given), "fingerprint") and "fingerprint" not in getattr(given, "__dict__", {}):
        raise OptionError(
            f"distance: the {type(given).__name__} has no fingerprint; give it a short text that names it in "
            'signatures, such as fingerprint = "lift"'
        )
    return _Adapted(given)


class Reversed(_Adapted):
    """d'(a, b) = d(b, a) between two paths; along one path, d itself. No single table holds both, so it has none.

    >>> from wayscore import Graph
    >>> street = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "a")], directed=True)
    >>> codes = street.encode(["ab"]).places
    >>> Reversed(street).between(codes[:1], codes[1:]), street.between(codes[:1], codes[1:])
    (array([[2.]]), array([[1.]]))
    """

    copied = ("encode", "decode", "pairs", "unit", "name", "index")

    def __repr__(self) -> str:
        return f"{self.given!r}, reversed"

    @property
    def fingerprint(self) -> str:  # type: ignore[override]
        """The fingerprint of the distance, with a prefix."""
        return f"reversed-{self.given.fingerprint}"

    def between(self, a: Places, b: Places) -> Floats:
        """Return d(b_j, a_i) for all i and j."""
        reverse: Floats = self.given.between(b, a)
        return reverse.T.copy()


@dataclass(frozen=True)
class Euclidean(Distance):
    """The straight line, d(a, b) = sqrt(sum_c (a_c - b_c)^2), in the unit of the coordinates.

    >>> Euclidean().between(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([[5., 1.]])
    """

    fingerprint: ClassVar[str] = "euclidean"  # type: ignore[misc]
    name: ClassVar[str] = "space"  # type: ignore[misc]
    is_straight: ClassVar[bool] = True  # type: ignore[misc]

    def encode(self, paths: Paths, *, role: Role = "path") -> PathBatch:
        """Check coordinates and return them as one batch."""
        if isinstance(paths, PathBatch):
            if not isinstance(paths.places, np.ndarray) or paths.places.ndim != 2:
                raise PathError("paths hold labels, but Euclidean distance needs coordinates; give a Graph or a Table")
            return paths
        return PathBatch.from_points(paths, role=role)

    def between(self, a: Places, b: Places) -> Floats:
        """Return every distance from `a` (n, k) to `b` (m, k)."""
        block = np.empty((len(a), len(b)))
        kernels.euclidean_block(a, b, block)
        return block

    def pairs(self, a: Places, b: Places) -> Floats:
        """Return the distance of each point of `a` to its partner in `b`."""
        squares = np.zeros(len(a))
        with np.errstate(over="ignore"):  # squares that overflow are infinite, which is checked later
            for axis in range(a.shape[1]):
                difference = a[:, axis] - b[:, axis]
                squares += difference * difference
        return np.sqrt(squares)


EUCLIDEAN = Euclidean()  # the default, `distance=None`


@dataclass(repr=False, eq=False)
class ByScene(Mapping[str, D]):
    """Scene -> distance, each loaded when it is first used, and kept.

    Attributes:
        _source: the folder or tar that they come from.
        _loaders: scene -> a function that loads its distance.
        _what: what errors and `repr` call one of them, and several.
    """

    _source: Path
    _loaders: Mapping[str, Callable[[], D]]
    _what: tuple[str, str]
    _loaded: dict[str, D] = field(default_factory=dict)

    def __getitem__(self, scene: str) -> D:
        if scene not in self._loaded:
            if scene not in self._loaders:
                hint = did_you_mean(scene, self._loaders)
                raise UnknownSceneError(f"{self._source}: has no {self._what[0]} {shortened(scene)}{hint}")
            self._loaded[scene] = self._loaders[scene]()
        return self._loaded[scene]

    def __contains__(self, scene: object) -> bool:
        return scene in self._loaders

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaders)

    def __len__(self) -> int:
        return len(self._loaders)

    def __repr__(self) -> str:
        return f"<{len(self)} {self._what[1]} of {self._source.name}>"


def as_points(paths: Paths, role: Role) -> PathBatch:
    """Return paths of coordinates as one batch."""
    if isinstance(paths, PathBatch) and getattr(paths.places, "dtype", None) == np.float64:
        return paths
    return PathBatch.from_points(list(paths), role=role)


def nearest_points(tree: Any, points: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return the number of the point of a SciPy tree that is nearest to each point, and how far away it is.

    Of equally near points the tree returns any; here it is the first.
    """
    away, found = tree.query(points, k=[1, 2])
    numbers = found[:, 0]
    for row in np.flatnonzero(away[:, 0] == away[:, 1]).tolist():
        circle = tree.query_ball_point(points[row], away[row, 0] * (1 + 1e-9), return_sorted=True)
        numbers[row] = circle[int(np.argmin(((tree.data[circle] - points[row]) ** 2).sum(axis=1)))]
    return numbers, away[:, 0]


def unknown_node(label: Any, where: str, index: dict[Any, int], scene: str) -> UnknownNodeError:
    """Return the error that a scene has no such node, with the name of a node that is spelled similarly."""
    return UnknownNodeError(
        f"{where}: node {shortened(label)} is not among the {len(index)} nodes of the {scene}"
        f"{did_you_mean(label, index)}"
    )


def _unhashable(paths: list[Any], role: Role) -> PathError:
    for number, path in enumerate(paths):
        for step, label in enumerate(path):
            try:
                hash(label)
            except TypeError:
                return PathError(
                    f"{path_name(role, number)}, step {step}: a node is a hashable label such as a string or a "
                    f"tuple, got {shortened(label)}"
                )
    return PathError("paths must be sequences of node labels")
