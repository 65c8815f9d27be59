"""R4R from R2R: two paths are joined if the second starts near the end of the first; so are their instructions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, pi
from typing import Any

import msgspec
import numpy as np

from wayscore.distances.graph import Graph
from wayscore.errors import OptionError, PathError
from wayscore.formats.base import read
from wayscore.formats.decoding import decode_each


class Annotation(msgspec.Struct):
    """One path of R2R, as in its file."""

    path_id: int
    scan: str
    heading: float
    path: list[str]
    instructions: list[str]
    distance: float


@dataclass(frozen=True, slots=True)
class Build:
    """The joined paths in R4R's format, and how many pairs were left out by distance and by heading."""

    paths: list[dict[str, Any]]
    too_far: int
    turned: int

    def summary(self) -> dict[str, float]:
        """Return counts and means, metres and nodes, named as in the public generator's summary."""

        def mean(values: Iterable[float]) -> float:
            return fsum(values) / len(self.paths) if self.paths else 0.0

        return {
            "instructions": sum(len(path["instructions"]) for path in self.paths),
            "paths": len(self.paths),
            "path distance": mean(path["distance"] for path in self.paths),
            "shortest path distance": mean(path["shortest_path_distance"] for path in self.paths),
            "path length": mean(len(path["path"]) for path in self.paths),
            "shortest path length": mean(len(path["shortest_path"]) for path in self.paths),
            "filtered by distance": self.too_far,
            "filtered by heading": self.turned,
        }


def read_annotations(path: Any) -> list[Annotation]:
    """Read R2R annotations, with the fields that joining needs."""
    expected = "R2R annotations with path_id, scan, path and instructions"
    return [one for _, one in decode_each(read(path), Annotation, names=("path_id",), expected=expected)]


def build(
    annotations: Sequence[Annotation],
    graphs: Mapping[str, Graph],
    *,
    distance: float = 3.0,
    heading: float | None = None,
) -> Build:
    """Join all pairs of paths of a scan whose second path starts near the end of the first.

    `distance` is the largest distance between the end and the start, metres along the graph; `heading` the largest
    change of heading from the first path to the second, radians. Paths are in the order of the released files.
    """
    if not distance >= 0:
        raise OptionError(f"<<distance>> must be 0 or more, in metres, not {distance!r}")
    by_scan: dict[str, list[Annotation]] = {}
    for annotation in annotations:
        by_scan.setdefault(annotation.scan, []).append(annotation)
    paths: list[dict[str, Any]] = []
    too_far = turned = 0
    for scan in _order_of_release(list(by_scan)):
        some, graph = by_scan[scan], graphs[scan]
        away = _ends_to_starts(some, graph)
        near = away <= distance
        too_far += int(np.count_nonzero(~near))
        if heading is not None:
            ahead = near & (_turns(some, graph) <= heading)
            turned += int(np.count_nonzero(near & ~ahead))
            near = ahead
        for first, second in np.argwhere(near).tolist():
            paths.append(_joined(some[first], some[second], graph, float(away[first, second]), len(paths)))
    return Build(paths, too_far, turned)


def _joined(first: Annotation, second: Annotation, graph: Graph, away: float, number: int) -> dict[str, Any]:
    start, goal = first.path[0], second.path[-1]
    return {
        "distance": first.distance + away + second.distance,
        "first_path_id": first.path_id,
        "heading": first.heading,
        "instructions": [a + b for a in first.instructions for b in second.instructions],
        "path": [*first.path[:-1], *graph.shortest_path(first.path[-1], second.path[0]), *second.path[1:]],
        "path_id": number,
        "scan": first.scan,
        "second_path_id": second.path_id,
        "shortest_path": graph.shortest_path(start, goal),
        "shortest_path_distance": graph.distance(start, goal),
    }


def _ends_to_starts(some: Sequence[Annotation], graph: Graph) -> Any:
    """Return the distance from the end of each path to the start of each path."""
    for annotation in some:
        if len(annotation.path) < 2:
            raise PathError(
                f"path {annotation.path_id}: has fewer than two nodes ({len(annotation.path)}); R4R needs whole paths, "
                "and test splits contain only their starts"
            )
    ends = graph.encode([path.path for path in some], role=lambda number: f"path {some[number].path_id}")
    return graph.between(ends.places[ends.offsets[1:] - 1], ends.places[ends.offsets[:-1]])


def _turns(some: Sequence[Annotation], graph: Graph) -> Any:
    """Return the change of heading from each first path to each second path, as the public generator measures it."""
    if graph.positions is None:
        raise OptionError(f"the {graph.name} has no positions, which <<heading>> needs")
    last = np.array([[graph.index[path.path[-2]], graph.index[path.path[-1]]] for path in some])
    x, y = (graph.positions[last[:, 1]] - graph.positions[last[:, 0]])[:, :2].T
    return np.abs(np.array([path.heading for path in some])[None, :] - (np.arctan2(y, x) % (2 * pi))[:, None])


def _order_of_release(scans: Sequence[str]) -> list[str]:
    """Return scans in the order of the released files, which is that of a hash table.

    They were written by Python 2, whose dictionaries do not keep the order of their keys. The order follows from its
    hash of texts, the number of keys and the order in which they were inserted.
    """
    slots: list[str | None] = [None] * 8
    for count, scan in enumerate(scans, start=1):
        _put(slots, scan)
        if 3 * count >= 2 * len(slots):
            kept, slots = slots, [None] * max(8, 1 << (4 * count).bit_length())
            for name in kept:
                if name is not None:
                    _put(slots, name)
    return [name for name in slots if name is not None]


def _put(slots: list[str | None], name: str) -> None:
    """Put a name into the first free slot in the probe order of its hash, 64 bits without sign."""
    code = ord(name[0]) << 7 if name else 0
    for character in name:
        code = ((1000003 * code) ^ ord(character)) & (2**64 - 1)
    place = code = code ^ len(name)
    while slots[place % len(slots)] is not None:
        place = 5 * place + code + 1
        code >>= 5
    slots[place % len(slots)] = name
