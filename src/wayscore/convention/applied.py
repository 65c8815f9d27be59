"""What a convention makes of distances, of what is known of episodes, and of undefined scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from wayscore.convention import Convention
from wayscore.distances.base import Distance, Floats
from wayscore.distances.euclidean import Euclidean
from wayscore.distances.graph import Graph
from wayscore.distances.hops import Reversed
from wayscore.errors import OptionError, PathError
from wayscore.metrics import Metric
from wayscore.paths import Paths


def start_lengths(given: Any, chosen: tuple[Metric, ...], rules: Convention, names: Sequence[Any]) -> Floats:
    """Return the dataset's distances from start to goal; all must be there where SPL asks for them."""
    asked = rules.spl_length == "dataset" and not {"SPL", "OSPL", "SoftSPL"}.isdisjoint(m.symbol for m in chosen)
    if not asked:
        return np.broadcast_to(0.0, len(names))
    lacking = [name for name, value in zip(names, given or [None] * len(names), strict=True) if value is None]
    if lacking:
        raise PathError(
            f"episode {lacking[0]}: there is no distance from start to goal, which SPL of the convention {rules.name} "
            "takes from the dataset (VLN-CE's info.geodesic_distance, a table's start_distance); leave SPL out with "
            '--metrics, or make a convention of your own with spl_length = "shortest"'
        )
    return np.array(given, dtype=np.float64)


def halted(stopped: Sequence[bool | None] | None, queries: Paths, rules: Convention) -> Floats:
    """Return 0 where the convention asks for a stop and the agent is known not to have said so, else 1."""
    if stopped is None or rules.stop == "any":
        return np.broadcast_to(1.0, len(queries))
    return np.array([flag is not False for flag in stopped], dtype=np.float64)


def without_undefined(columns: dict[str, Floats], rules: Convention, names: Sequence[Any]) -> dict[str, int]:
    """Deal with values that no way exists for as the convention does; return how many of each metric became 0."""
    if rules.undefined == "drop":  # the means do
        return {}
    undefined = {symbol: np.flatnonzero(~np.isfinite(values)) for symbol, values in columns.items()}
    undefined = {symbol: rows for symbol, rows in undefined.items() if rows.size}
    if undefined and rules.undefined == "error":
        symbol, rows = next(iter(undefined.items()))
        raise PathError(
            f"episode {names[rows[0]]}: {symbol} is infinite because no way exists ({rows.size} such episodes); the "
            f"evaluator that {rules.name} follows would print NaN, navid counts 0, internnav-h leaves them out"
        )
    for symbol, rows in undefined.items():
        columns[symbol][rows] = 0.0
    return {symbol: rows.size for symbol, rows in undefined.items()}


def distance_by(distance: Any, rules: Convention) -> Any:
    """Return the distance, or distances by scene, as the convention takes them; a list was taken so before."""
    if isinstance(distance, list):
        return distance
    if rules.plane != "none" and not (distance is None or isinstance(distance, Euclidean)):
        raise OptionError(
            f"the convention {rules.name} measures in the plane, which needs coordinates; got {distance!r}"
        )
    if rules.resample and (isinstance(distance, Mapping) or hasattr(distance, "index")):
        raise OptionError(
            f"sampling paths anew every {rules.resample:g} m needs coordinates; the nodes of a graph are where they are"
        )
    if rules.distance == "given":
        return distance
    if isinstance(distance, Mapping):
        return _Counted(distance, rules)
    return _counted(distance, rules)


def _counted(graph: Any, rules: Convention) -> Distance:
    if not isinstance(graph, Graph):
        raise OptionError(f"the convention {rules.name} counts hops, which needs a Graph; got {graph!r}")
    return Reversed(graph.hops) if rules.distance == "directed hops" else graph.both_ways.hops


class _Counted(Mapping[str, Distance]):
    """Scene -> graph in hops, counted when first asked for."""

    def __init__(self, graphs: Mapping[str, Any], rules: Convention) -> None:
        self._graphs = graphs
        self._rules = rules

    def __getitem__(self, scene: str) -> Distance:
        return _counted(self._graphs[scene], self._rules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._graphs)

    def __len__(self) -> int:
        return len(self._graphs)
