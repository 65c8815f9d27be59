"""How a convention is applied to distances, to paths, to what files record of episodes, and to undefined scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from wayscore.convention.choices import Convention
from wayscore.distances.base import Distance, Floats, as_distance
from wayscore.distances.graph import Graph
from wayscore.distances.hops import Reversed
from wayscore.errors import OptionError, PathError, shortened
from wayscore.paths import PathBatch, Paths


def distance_by(distance: Any, convention: Convention) -> Any:
    """Return the distance, or the distances by scene, as the convention measures them.

    A list holds distances to which this was applied before, one per scene; None (Euclidean) stays None.
    """
    if isinstance(distance, list):
        return [as_distance(one) for one in distance]
    by_scene = isinstance(distance, Mapping)
    given = None if distance is None or by_scene else as_distance(distance)
    if convention.plane != "none" and (by_scene or (given is not None and not given.is_straight)):
        raise OptionError(
            f"the convention {convention.name} measures in the plane, which needs coordinates; got "
            f"{shortened(distance)}"
        )
    if convention.path_step and (by_scene or (given is not None and given.index is not None)):
        raise OptionError(
            f"a path step of {convention.path_step:g} m needs paths of coordinates; the nodes of a graph cannot be "
            "resampled"
        )
    if convention.distance == "given":
        return _ByScene(distance, as_distance) if by_scene else given
    if by_scene:
        return _ByScene(distance, lambda graph: _in_hops(graph, convention))
    return _in_hops(given, convention)


def _in_hops(graph: Any, convention: Convention) -> Distance:
    if not isinstance(graph, Graph):
        raise OptionError(f"the convention {convention.name} counts hops, which needs a Graph; got {shortened(graph)}")
    return Reversed(graph.hops) if convention.distance == "directed hops" else graph.both_ways.hops


class _ByScene(Mapping[str, Distance]):
    """Scene -> distance, made of the given one when it is first used."""

    def __init__(self, given: Mapping[str, Any], made: Callable[[Any], Distance]) -> None:
        self._given = given
        self._made = made

    def __getitem__(self, scene: str) -> Distance:
        return self._made(self._given[scene])

    def __contains__(self, scene: object) -> bool:
        return scene in self._given

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)


def flatten(paths: Paths) -> PathBatch:
    """Return paths of coordinates with the first two only, for conventions that measure in the plane."""
    batch = paths if isinstance(paths, PathBatch) else PathBatch.from_points(paths)
    return PathBatch(np.ascontiguousarray(batch.places[:, :2]), batch.offsets)


def start_lengths(
    given: Sequence[float | None] | None, *, needed: bool, convention: Convention, names: Sequence[Any]
) -> Floats:
    """Return the dataset's distances from start to goal; where they are needed, every episode must have one."""
    if not needed or convention.spl_length != "dataset":
        return np.broadcast_to(0.0, len(names))
    known = [None] * len(names) if given is None else given
    missing = next((name for name, length in zip(names, known, strict=True) if length is None), None)
    if missing is not None:
        raise PathError(
            f"episode {missing}: there is no distance from start to goal, which SPL of the convention "
            f"{convention.name} takes from the dataset (VLN-CE's info.geodesic_distance, a table's start_distance); "
            'leave SPL out of <<metrics>>, or use a convention of your own with spl_length = "shortest"'
        )
    return np.array(known, dtype=np.float64)


def stop_flags(stopped: Sequence[bool | None] | None, count: int, convention: Convention) -> Floats:
    """Return 0 where the convention requires a stop and the agent is known not to have stopped, else 1."""
    if stopped is None or convention.stop == "any":
        return np.broadcast_to(1.0, count)
    return np.array([flag is not False for flag in stopped], dtype=np.float64)


def apply_undefined(columns: Mapping[str, Floats], convention: Convention, names: Sequence[Any]) -> dict[str, int]:
    """Treat the scores of unreachable episodes as the convention does; return how many of each metric became 0."""
    if convention.undefined == "drop":  # which the means do
        return {}
    undefined = {symbol: np.flatnonzero(~np.isfinite(values)) for symbol, values in columns.items()}
    undefined = {symbol: rows for symbol, rows in undefined.items() if rows.size}
    if undefined and convention.undefined == "error":
        symbol, rows = next(iter(undefined.items()))
        raise PathError(
            f"episode {names[rows[0]]}: {symbol} is infinite because the goal is unreachable ({rows.size} such "
            f"episodes); the evaluator that {convention.name} follows would print NaN, navid counts 0, internnav-h "
            "leaves them out"
        )
    for symbol, rows in undefined.items():
        columns[symbol][rows] = 0.0
    return {symbol: rows.size for symbol, rows in undefined.items()}
