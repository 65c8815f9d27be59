"""The base class of distances, how other objects become one, those of many scenes, and labels of nodes as codes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from wayscore import kernels
from wayscore.errors import OptionError, PathError, UnknownNodeError, UnknownSceneError, did_you_mean, shortened
from wayscore.paths import PathBatch, Paths, Role, offsets_of, path_name

D = TypeVar("D", bound="Distance")

Floats = NDArray[np.float64]
Places = NDArray[Any]
"""Encoded nodes, int32 codes of shape (n,), or points, float64 of shape (n, k)."""
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

    def encode(self, paths: Paths, *, role: Role = "path") -> PathBatch:  # noqa: ARG002
        """Check the paths and return them as a batch of codes or points; `role` names them in errors."""
        raise self._undefined("encode")

    def decode(self, places: Places) -> Any:
        """Return encoded nodes as a list of labels, or points as an (n, k) array."""
        return places if places.ndim == 2 else places.tolist()

    def between(self, a: Places, b: Places) -> Floats:  # noqa: ARG002
        """Return the (len(a), len(b)) distances from each node or point of `a` to each of `b`."""
        raise self._undefined("between")

    def pairs(self, a: Places, b: Places) -> Floats:  # noqa: ARG002
        """Return the (len(a),) distances from each node or point of `a` to its partner in `b`."""
        raise self._undefined("pairs")

    def _undefined(self, method: str) -> OptionError:
        return OptionError(f"distance: the {type(self).__name__} does not define {method}(); see wayscore.Distance")


class _Adapted(Distance):
    """An object that is not a `Distance` but has its methods; its other attributes are copied."""

    def __init__(self, given: Any) -> None:
        self.given = given
        self.encode = given.encode  # type: ignore[method-assign]
        self.between = given.between  # type: ignore[method-assign]
        self.pairs = given.pairs  # type: ignore[method-assign]
        if hasattr(given, "decode"):
            self.decode = given.decode  # type: ignore[method-assign]
        for fact in ("unit", "name", "table", "index", "is_straight"):
            if hasattr(given, fact):
                setattr(self, fact, getattr(given, fact))

    def __repr__(self) -> str:
        return repr(self.given)

    def __reduce__(self) -> tuple[Any, ...]:
        return as_distance, (self.given,)

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
            "methods; got a "
            f"{type(given).__name__}"
        )
    # Only check that it exists: computing it may be slow.
    if not hasattr(type(given), "fingerprint") and "fingerprint" not in getattr(given, "__dict__", {}):
        raise OptionError(
            f"distance: the {type(given).__name__} has no fingerprint; give it a short text that names it in "
            'signatures, such as fingerprint = "lift"'
        )
    return _Adapted(given)


class Reversed(Distance):
    """d'(a, b) = d(b, a) between two paths; along one path, d itself. No single table holds both, so it has none.

    >>> from wayscore import Graph
    >>> street = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "a")], directed=True)
    >>> codes = street.encode(["ab"]).places
    >>> Reversed(street).between(codes[:1], codes[1:]), street.between(codes[:1], codes[1:])
    (array([[2.]]), array([[1.]]))
    """

    def __init__(self, distance: Distance) -> None:
        self.distance = distance
        self.unit = distance.unit
        self.name = distance.name
        self.index = distance.index

    def __repr__(self) -> str:
        return f"{self.distance!r}, reversed"

    @property
    def fingerprint(self) -> str:  # type: ignore[override]
        """The fingerprint of the distance, with a prefix."""
        return f"reversed-{self.distance.fingerprint}"

    def encode(self, paths: Paths, *, role: Role = "path") -> PathBatch:
        """Encode as the distance does."""
        return self.distance.encode(paths, role=role)

    def decode(self, places: Places) -> Any:
        """Decode as the distance does."""
        return self.distance.decode(places)

    def between(self, a: Places, b: Places) -> Floats:
        """Return d(b_j, a_i) for all i and j."""
        return self.distance.between(b, a).T.copy()

    def pairs(self, a: Places, b: Places) -> Floats:
        """Return d(a_i, b_i), the lengths of steps along a path."""
        return self.distance.pairs(a, b)


class ByScene(Mapping[str, D]):
    """Scene -> distance; each is made when it is first used, and kept.

    Args:
        source: the folder or tar that they come from.
        scenes: their names.
        load: makes the distance of a scene.
        what: what errors and `repr` call one of them, and several.
    """

    def __init__(self, source: Path, scenes: Collection[str], load: Callable[[str], D], what: tuple[str, str]) -> None:
        self._source, self._scenes, self._load, self._what = source, scenes, load, what
        self._made: dict[str, D] = {}

    def __getitem__(self, scene: str) -> D:
        if scene not in self._made:
            if scene not in self._scenes:
                hint = did_you_mean(scene, self._scenes)
                raise UnknownSceneError(f"{self._source}: has no {self._what[0]} {shortened(scene)}{hint}")
            self._made[scene] = self._load(scene)
        return self._made[scene]

    def __contains__(self, scene: object) -> bool:
        return scene in self._scenes

    def __iter__(self) -> Iterator[str]:
        return iter(self._scenes)

    def __len__(self) -> int:
        return len(self._scenes)

    def __repr__(self) -> str:
        return f"<{len(self)} {self._what[1]} of {self._source.name}>"


def encode_labels(paths: Paths, index: dict[Any, int], *, role: Role, scene: str) -> PathBatch:
    """Return paths of labels as codes by `index`; an unknown label is an error that names path, step and label.

    >>> encode_labels([["a", "b"], ["b"]], {"a": 0, "b": 1}, role="query", scene="graph").places.tolist()
    [0, 1, 1]
    """
    if isinstance(paths, PathBatch):
        codes = paths.places
        if codes.ndim > 1:
            raise PathError(f"paths hold points, but the {scene} knows nodes by their labels")
        if codes.size and not (0 <= codes.min() and codes.max() < len(index)):
            raise PathError(
                f"paths hold codes from {codes.min()} to {codes.max()}, but the {scene} has {len(index)} nodes"
            )
        return paths
    paths = paths if isinstance(paths, list) else list(paths)
    offsets = offsets_of(paths, role=role)
    codes = np.empty(int(offsets[-1]), dtype=np.int32)
    try:
        unknown = kernels.encode(index, paths, codes)
    except TypeError:
        raise _unhashable(paths, role) from None
    if unknown >= 0:
        number = int(np.searchsorted(offsets, unknown, side="right")) - 1
        step = unknown - int(offsets[number])
        raise unknown_node(paths[number][step], f"{path_name(role, number)}, step {step}", index, scene)
    return PathBatch(codes, offsets)


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
