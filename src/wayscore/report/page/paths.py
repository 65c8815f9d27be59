"""The paths that the page draws: references, queries and their warpings, each kept once and called by its number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from wayscore.convention.applied import align_by, apply_path_step, distance_by, flatten
from wayscore.distances.euclidean import Euclidean
from wayscore.paths import in_plane, without_repeats
from wayscore.report.page.scenes import Scene, is_y_up

if TYPE_CHECKING:
    from wayscore.convention.choices import Convention
    from wayscore.distances.base import Floats
    from wayscore.episodes import Reference
    from wayscore.evaluation.inputs import Distances, Inputs
    from wayscore.evaluation.result import Result
    from wayscore.report.page.episodes import Rows
    from wayscore.warping.alignment import Alignment

LOADED = "The results were loaded from files that hold scores but no paths, so there are no maps or warpings."
OWN_REFERENCES = "The rows of these runs carry their own references, so there are no maps or warpings."
GAP_STEPS = 100
"""Distances of matched pairs are whole numbers of these parts."""
BLOCK_CELLS = 1 << 20
"""Up to this many cells the distances of two paths are computed in one block, as for the scores."""
MOVES = "?210"
"""A warping's step as one character, by 2 x (along the reference) + (along the query): 0 is both."""


def find_inputs(results: Sequence[Result]) -> tuple[Inputs | None, str]:
    """Return the inputs that are drawn, those of the first result that has references; or why there are none."""
    found = [result.inputs for result in results if result.inputs is not None]
    drawn = next((inputs for inputs in found if inputs.references is not None), None)
    return drawn, "" if drawn else OWN_REFERENCES if found else LOADED


class Drawing:
    """The scenes, paths and warpings of the listed episodes, all by the convention of one result.

    Attributes:
        references: by episode.
        scenes: by name.
        paths: every path as numbers -> its own number.
        warpings: every warping once (see `pack`): episodes that share both paths share theirs.
        walked: by episode, the number of its reference as it is warped.
        goals: by episode, where it should end.
    """

    def __init__(self, inputs: Inputs, names: Iterable[str], results: Sequence[Result], rows: Sequence[Rows]) -> None:
        assert inputs.references is not None
        known = inputs.references.episodes
        convention = self.convention = inputs.convention
        self.up_axis = inputs.references.up_axis
        self.references: dict[str, Reference] = {name: known[name] for name in names if name in known}
        self.paths: dict[tuple[int, ...], int] = {}
        self.warpings: list[list[Any]] = []
        self._distance = distance_by(inputs.distances, convention)
        self._numbers: dict[tuple[str, int, int], int] = {}
        straight = _is_straight(inputs.distances)
        walks = [_walk(reference, convention, straight) for reference in self.references.values()]
        self._walks = dict(zip(self.references, _as_warped(walks, convention, self.up_axis), strict=True))
        self._queries = [self._queries_of(inputs, *one) for one in zip(results, rows, strict=True)]
        ends = {
            name: _ends(reference, convention, straight, self.up_axis) for name, reference in self.references.items()
        }
        visited: dict[str, list[Any]] = {reference.scene: [] for reference in self.references.values()}
        for name, reference in self.references.items():
            visited[reference.scene] += [ends[name], self._walks[name]]
            visited[reference.scene] += [found[name] for found in self._queries if name in found]
        self.scenes = _scenes(visited, inputs)
        self.walked = {name: self._number(name, walk) for name, walk in self._walks.items()}
        self.goals = {name: self.scenes[self.references[name].scene].encode(end) for name, end in ends.items()}

    def of_run(self, run: int, names: Sequence[str]) -> dict[str, list[int]]:
        """Return by episode the numbers of a run's query and warping, -1 where there is none."""
        queries, warped = {}, {}
        measure = align_by(self.convention)
        for name, query in self._queries[run].items():
            queries[name] = self._number(name, query)
            key = (self.references[name].scene, self.walked[name], queries[name])
            if key not in self._numbers:
                space = self._distance[key[0]] if isinstance(self._distance, Mapping) else self._distance
                found = pack(measure(reference=self._walks[name], query=query, distance=space or Euclidean()))
                self._numbers[key] = -1 if found is None else len(self.warpings)
                self.warpings += [] if found is None else [found]
            warped[name] = self._numbers[key]
        return {"query": [queries.get(name, -1) for name in names], "warping": [warped.get(name, -1) for name in names]}

    def drawn_scenes(self, threshold: float) -> dict[str, dict[str, Any]]:
        """Return by name what the page needs of every scene, with the nodes that count as reaching each goal."""
        found = {}
        for name, scene in self.scenes.items():
            ends = {self.goals[one][0] for one, reference in self.references.items() if reference.scene == name}
            found[name] = {**scene.drawn(), "near": scene.near(ends, threshold, self.convention)}
        return found

    def _number(self, episode: str, path: Any) -> int:
        scene = self.scenes[self.references[episode].scene]
        return self.paths.setdefault(scene.encode(path), len(self.paths))

    def _queries_of(self, inputs: Inputs, result: Result, rows: Rows) -> dict[str, Any]:
        """Return the queries of a result by episode, as they were scored; of several runs those of the first.

        Results over other references are not drawn, nor are predictions that a policy gave the worst values.
        """
        own = result.inputs
        assert inputs.references is not None
        if own is None or own.references is None or own.references.fingerprint != inputs.references.fingerprint:
            return {}
        wanted = {name for name in rows.episodes if name in self.references} - rows.zeroed
        found = own.queries(wanted.__contains__)
        straight = _is_straight(inputs.distances)
        paths = {name: _as_path(found[name].path, straight) for name in rows.episodes if name in found}
        spaces = inputs.distances
        known = {name: path for name, path in paths.items() if _fits(path, spaces, self.references[name].scene)}
        walks: Any = list(known.values())
        if self.convention.repeats == "drop":
            walks = without_repeats(walks)
        return dict(zip(known, _as_warped(walks, self.convention, self.up_axis), strict=True))


def pack(warping: Alignment) -> list[Any] | None:
    """Return a warping's moves and the distance of each of its pairs; None where some are unreachable.

    >>> from wayscore import align
    >>> pack(align(reference=[[0.0], [1.0], [2.0]], query=[[0.0], [2.0]]))
    ['10', [0, 100, 0]]
    """
    i, j = warping.pairs.T
    if warping.distance.table is None and len(warping.reference) * len(warping.query) <= BLOCK_CELLS:
        gaps = warping.distances()[i, j].tolist()
    else:
        gaps = warping.distance.pairs(warping.reference[i], warping.query[j]).tolist()
    if not all(map(math.isfinite, gaps)):
        return None
    moves = (MOVES[2 * (c - a) + d - b] for (a, b), (c, d) in pairwise(warping.pairs.tolist()))
    return ["".join(moves), [round(gap * GAP_STEPS) for gap in gaps]]


def _scenes(visited: Mapping[str, list[Any]], inputs: Inputs) -> dict[str, Scene]:
    points = {name: _points(paths) for name, paths in visited.items()}
    some = [found - found.mean(axis=0) for found in points.values() if found is not None]
    assert inputs.references is not None
    form = inputs.references.format
    known = inputs.references.up_axis
    up = known == 1 if known is not None else bool(some) and is_y_up(np.concatenate(some))
    facts = {"y_up": up, "degrees": form == "street"}
    return {
        name: Scene(
            name, inputs.distances, inputs.convention, chain.from_iterable(visited[name]), points[name], **facts
        )
        for name in sorted(visited)
    }


def _walk(reference: Reference, convention: Convention, straight: bool) -> Any:
    dense = None if convention.reference == "path" else reference.dense
    return _as_path(reference.path if dense is None else dense, straight)


def _ends(reference: Reference, convention: Convention, straight: bool, up_axis: int | None) -> Any:
    """Return the nodes or the point where an episode should end."""
    if convention.goal == "set" and reference.goals:
        return list(reference.goals)
    last = _as_path(reference.path, straight)[-1:]
    return in_plane(last, up_axis) if convention.plane == "all" else last


def _is_straight(distances: Distances) -> bool:
    """Whether paths are points that straight lines join."""
    return distances is None or bool(getattr(distances, "is_straight", False))


def _as_path(path: Any, straight: bool) -> Any:
    """Return a path as scenes encode it: a list of labels, or an array of points."""
    path = path.to_pylist() if hasattr(path, "to_pylist") else path
    if isinstance(path, np.ndarray):
        return path if path.ndim == 2 else path.tolist()
    if straight or (len(path) and isinstance(path[0], list | np.ndarray)):
        return np.asarray(path, dtype=np.float64)
    return list(path)


def _fits(path: Any, distances: Distances, scene: str) -> bool:
    """Whether a scene has all the nodes of a path."""
    space = distances[scene] if isinstance(distances, Mapping) else distances
    known = getattr(space, "index", None)
    return known is None or isinstance(path, np.ndarray) or all(node in known for node in path)


def _as_warped(paths: Sequence[Any], convention: Convention, up_axis: int | None) -> Sequence[Any]:
    """Return paths as the convention warps them: in the plane, or resampled, where it says so."""
    found: Any = paths
    if convention.plane == "all" and len(paths):
        found = flatten(found, up_axis)
    if convention.path_step and len(paths):
        found = apply_path_step(found, convention.path_step)
    return found if found is paths else list(found)


def _points(paths: Sequence[Any]) -> Floats | None:
    """Return all the points of some paths, None where they are labels."""
    found = [path for path in paths if isinstance(path, np.ndarray) and path.ndim == 2]
    return np.concatenate(found) if found else None
