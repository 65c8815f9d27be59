"""DTW one step at a time: each new node of the query costs one row of C, however long the query already is.

So nDTW can be used as a reward: the exact score of every prefix, in O(|R|) per step. `RunningDTW` follows one agent,
`RunningBatch` those of many environments at once, as vectorised reinforcement learning has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore import kernels
from wayscore.distances.base import EUCLIDEAN, Distance, Euclidean, Floats, as_distance, unknown_node
from wayscore.errors import OptionError, PathError, UnknownNodeError, check_threshold, shortened

Mask = NDArray[np.uint8] | None


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

    __copy__ = fork

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
        if not isinstance(distance, Sequence):
            distance = [EUCLIDEAN if distance is None else as_distance(distance)] * len(references)
        _check_count(distance, len(references), "distances", "references")
        self.distances = [as_distance(one) for one in distance]
        self._paths: list[Any] = []  # the references as their distances encode them
        for number, (reference, space) in enumerate(zip(references, self.distances, strict=True)):
            self._paths.append(self._encode(number, reference, space))
        self.steps = np.zeros(len(references), dtype=np.int64)
        self._values = np.full(len(references), np.inf)
        self._rows = np.zeros((len(references), 1))
        self._lay_out()

    def __len__(self) -> int:
        return len(self._paths)

    def __repr__(self) -> str:
        return f"<RunningBatch of {len(self)} environments>"

    def reset(self, environment: int, reference: Any = None, distance: Distance | None = None) -> None:
        """Restart one environment with its reference, or with a new one (and the distance of a new scene)."""
        if not 0 <= environment < len(self):
            raise OptionError(f"there is no environment {environment}; environments are 0 to {len(self) - 1}")
        space = self.distances[environment] if distance is None else as_distance(distance)
        if reference is not None:
            self._paths[environment] = self._encode(environment, reference, space)
            self.distances[environment] = space
            fits = len(self._paths[environment]) < self._rows.shape[1] and _kind(space) == self._kind
            if fits and len(self._spaces) <= 2 * len(self):  # scenes that were left are forgotten now and then
                self._enter(environment)
            else:
                self._lay_out()
        elif space is not self.distances[environment]:
            raise OptionError(f"environment {environment} has a new distance, so it needs a reference there; give both")
        self._rows[environment] = np.inf
        self._rows[environment, 0] = 0.0
        self._values[environment] = np.inf
        self.steps[environment] = 0

    def step(self, nodes: Sequence[Any] | NDArray[Any], active: Any = None) -> Floats:
        """Take each environment's next node or point and return DTW so far, (environments,).

        Args:
            nodes: one per environment: points, or labels. For a `Graph` or `Table`, an array of whole numbers holds
                codes (positions in `nodes` of the graph), which are faster; if its labels are whole numbers, they are
                meant.
            active: which environments move, as booleans; the others keep their value, and their node is ignored.
        """
        _check_count(nodes, len(self), "nodes")
        mask = None if active is None else np.ascontiguousarray(active, dtype=bool).view(np.uint8)
        if mask is not None:
            _check_count(mask, len(self), "active flags")
        if self._kind == "points":
            self._step_points(nodes, mask)
        elif self._kind == "codes":
            self._step_codes(nodes, mask)
        else:
            self._step_others(nodes, mask)
        self.steps += 1 if mask is None else mask
        return self._values.copy()

    @property
    def dtw(self) -> Floats:
        """DTW so far of every environment; infinite before its first step."""
        return self._values.copy()

    def ndtw(self, threshold: float = 3.0) -> Floats:
        """Return nDTW so far of every environment; 0 before its first step."""
        check_threshold(threshold)
        return np.asarray(np.exp(-self._values / (self._lengths * threshold)))

    def fork(self) -> RunningBatch:
        """Return an independent copy, to try steps without taking them."""
        copy = object.__new__(RunningBatch)
        for name, value in self.__dict__.items():
            setattr(copy, name, value.copy() if isinstance(value, np.ndarray | list | dict) else value)
        copy._hold()
        return copy

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in ("distances", "_paths", "_rows", "_values", "steps")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lay_out()

    def _encode(self, environment: int, reference: Any, space: Distance) -> Any:
        """Check a reference and return it as codes or points."""
        if space.index is not None and isinstance(reference, list | tuple) and reference:
            try:  # directly: a batch of one path takes longer than all steps of an episode
                return np.array([space.index[label] for label in reference], dtype=np.int32)
            except (KeyError, TypeError):
                pass  # which `encode` says in words
        name = f"the reference of environment {environment}"
        path = space.encode([reference], role=lambda _: name).places
        other = next((other for other in self._paths if other.ndim == 2), path)
        if path.ndim == 2 and path.shape[1] != other.shape[1]:
            raise PathError(
                f"{name} has {path.shape[1]}-dimensional points, the others {other.shape[1]}-dimensional ones"
            )
        return path

    def _lay_out(self) -> None:
        """Arrange all references for the kernels, in arrays that have room for the longest."""
        kinds = {_kind(space) for space in self.distances}
        self._kind = kinds.pop() if len(kinds) == 1 else "others"
        self._lengths = np.array([len(path) for path in self._paths])
        width = max(int(self._lengths.max()), self._rows.shape[1] - 1)
        self._rows = np.pad(self._rows, ((0, 0), (0, width + 1 - self._rows.shape[1])), constant_values=np.inf)
        if self._kind == "points":
            self._references: Any = np.zeros((len(self), self._paths[0].shape[1], width))
        else:
            self._references = np.zeros((len(self), width), dtype=np.int32)
        self._scenes = np.zeros(len(self), dtype=np.int64)
        self._spaces: list[Distance] = []
        self._tables: list[Any] = []
        self._indexes: list[dict[Any, int]] = []
        self._scene_of: dict[int, int] = {}
        self._numbered = False  # whether labels are whole numbers, which are then not taken for codes
        for environment in range(len(self)):
            self._enter(environment)
        self._hold()

    def _hold(self) -> None:
        """Keep views of the arrays, which are the same at every step."""
        view = kernels.view
        self._state: tuple[Any, Any, Any] = (view(self._references), view(self._lengths), view(self._rows))
        self._values_view, self._scenes_view = view(self._values), view(self._scenes)

    def _enter(self, environment: int) -> None:
        """Write one environment's reference, and the distance of its scene, where the kernels read them."""
        path, space = self._paths[environment], self.distances[environment]
        self._lengths[environment] = len(path)
        if self._kind == "points":
            self._references[environment, :, : len(path)] = path.T
        elif self._kind == "codes" and space.index is not None:
            self._references[environment, : len(path)] = path
            self._references[environment, len(path) :] = 0  # what stood here may not be in this scene
            if id(space) not in self._scene_of:
                self._scene_of[id(space)] = len(self._spaces)
                self._spaces.append(space)
                self._tables.append(kernels.view(np.ascontiguousarray(space.table, dtype=np.float64)))
                self._indexes.append(space.index)
                self._numbered |= isinstance(next(iter(space.index)), int | np.integer)
            self._scenes[environment] = self._scene_of[id(space)]

    def _step_points(self, nodes: Any, mask: Mask) -> None:
        dimension = self._references.shape[1]
        try:
            points = np.ascontiguousarray(nodes, dtype=np.float64).reshape(len(self), -1)
        except (TypeError, ValueError):
            raise PathError("points must be coordinates, the same number for each environment") from None
        if points.shape[1] != dimension or kernels.advance_points(*self._state, mask, self._values_view, points) >= 0:
            raise PathError(f"points must be {dimension} finite coordinates for each environment")

    def _step_codes(self, nodes: Any, mask: Mask) -> None:
        if isinstance(nodes, np.ndarray) and nodes.dtype.kind in "iu" and nodes.ndim == 1 and not self._numbered:
            codes = np.ascontiguousarray(nodes, dtype=np.int64)
        else:
            nodes = nodes.tolist() if isinstance(nodes, np.ndarray) else nodes if type(nodes) is list else list(nodes)
            codes = np.empty(len(self), dtype=np.int64)
            wrong = kernels.look_up(nodes, mask, codes, self._scenes_view, self._indexes)
            if wrong >= 0:
                raise self._unknown(nodes[wrong], wrong)
        wrong = kernels.advance_table(*self._state, mask, self._values_view, codes, self._scenes_view, self._tables)
        if wrong >= 0:
            raise self._unknown(int(codes[wrong]), wrong)

    def _step_others(self, nodes: Any, mask: Mask) -> None:
        """Ask each environment's distance."""
        costs = np.zeros(self._references.shape)
        for number in range(len(self)) if mask is None else np.flatnonzero(mask).tolist():
            node, space, path = nodes[number], self.distances[number], self._paths[number]
            if space.index is not None and not is_known(node, space.index):
                raise self._unknown(node, number)
            encoded = space.encode([[node]], role=lambda _: f"environment {number}").places  # noqa: B023
            costs[number, : len(path)] = space.between(path, encoded)[:, 0]
        kernels.advance_block(costs, self._lengths, self._rows, mask, self._values)

    def _unknown(self, node: Any, environment: int) -> UnknownNodeError:
        space = self.distances[environment]
        return unknown_node(node, f"the node of environment {environment}", space.index or {}, space.name)


def _check_count(given: Any, count: int, kind: str, of: str = "environments") -> None:
    if len(given) != count:
        raise PathError(f"{count} {of} but {len(given)} {kind}; give one for each environment")


def _kind(space: Distance) -> str:
    """Return how environments with this distance are stepped: by points, by codes of a table, or by asking it."""
    if type(space) is Euclidean:
        return "points"
    return "others" if space.table is None or space.index is None else "codes"


def is_known(node: Any, index: dict[Any, int]) -> bool:
    """Return whether a node is in an index; what cannot be hashed is not."""
    try:
        return node in index
    except TypeError:
        return False
