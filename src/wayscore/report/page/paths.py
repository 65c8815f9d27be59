"""The paths that the page draws: references, queries and their warpings, each kept once and called by its number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from wayscore.convention.applied import align_by, apply_path_step, distance_by, flatten
from wayscore.distances.base import Euclidean
from wayscore.paths import in_plane, without_repeats
from wayscore.report.page.scenes import Scene, is_y_up

if TYPE_CHECKING:
    from wayscore.episodes import Reference
    from wayscore.evaluation.inputs import Inputs
    from wayscore.evaluation.result import Result
    from wayscore.report.page.episodes import Rows
    from wayscore.warping.alignment import Alignment

GAP_STEPS = 100
"""Distances of matched pairs are whole numbers of these parts."""
BLOCK_CELLS = 1 << 20
"""Up to this many cells the distances of two paths are computed in one block, as for the scores."""
MOVES = "?210"
"""A warping's step as one character, by 2 x (along the reference) + (along the query): 0 is both."""


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
        convention, up_axis, known = inputs.convention, inputs.references.up_axis, inputs.references.episodes
        self._inputs = inputs
        self._distance = distance_by(inputs.distances, convention)
        self.references: dict[str, Reference] = {name: known[name] for name in names if name in known}
        self.paths: dict[tuple[int, ...], int] = {}
        self.warpings: list[list[Any]] = []
        self._numbers: dict[tuple[str, int, int], int] = {}
        walks, ends = {}, {}
        for name, reference in self.references.items():
            dense = None if convention.reference == "path" else reference.dense
            walks[name] = self._as_path(reference.path if dense is None else dense)
            last = self._as_path(reference.path)[-1:]
            end = in_plane(last, up_axis) if convention.plane == "all" else last
            ends[name] = list(reference.goals) if convention.goal == "set" and reference.goals else end
        self._walks = self._as_warped(walks)
        self._queries = [self._queries_of(*one) for one in zip(results, rows, strict=True)]
        visited: dict[str, list[Any]] = {reference.scene: [] for reference in self.references.values()}
        for name, reference in self.references.items():
            visited[reference.scene].append(ends[name])
            visited[reference.scene] += [one[name] for one in (self._walks, *self._queries) if name in one]
        points = {}
        for scene, paths in visited.items():
            found = [path for path in paths if isinstance(path, np.ndarray) and path.ndim == 2]
            points[scene] = np.concatenate(found) if found else None
        some = [found - found.mean(axis=0) for found in points.values() if found is not None]
        up = up_axis == 1 if up_axis is not None else bool(some) and is_y_up(np.concatenate(some))
        degrees = inputs.references.format == "street"
        self.scenes = {
            name: Scene(name, inputs, chain.from_iterable(visited[name]), points[name], y_up=up, degrees=degrees)
            for name in sorted(visited)
        }
        self.walked = {name: self._number(name, walk) for name, walk in self._walks.items()}
        self.goals = {name: self.scenes[one.scene].encode(ends[name]) for name, one in self.references.items()}

    def of_run(self, run: int, names: Sequence[str]) -> dict[str, list[int]]:
        """Return by episode the numbers of a run's query and warping, -1 where there is none."""
        queries, warped = {}, {}
        measure = align_by(self._inputs.convention)
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
        ends: dict[str, set[int]] = {name: set() for name in self.scenes}
        for name, reference in self.references.items():
            ends[reference.scene].add(self.goals[name][0])
        return {
            name: {**scene.drawn(), "near": scene.near(ends[name], threshold)} for name, scene in self.scenes.items()
        }

    def _number(self, episode: str, path: Any) -> int:
        scene = self.scenes[self.references[episode].scene]
        return self.paths.setdefault(scene.encode(path), len(self.paths))

    def _queries_of(self, result: Result, rows: Rows) -> dict[str, Any]:
        """Return the queries of a result by episode, as they were scored; of several runs those of the first.

        Results over other references are not drawn, nor are predictions that a policy gave the worst values.
        """
        own, references, spaces = result.inputs, self._inputs.references, self._inputs.distances
        assert references is not None
        if own is None or own.references is None or own.references.fingerprint != references.fingerprint:
            return {}
        wanted = {name for name in rows.episodes if name in self.references} - rows.zeroed
        found = own.queries(wanted.__contains__)
        known = {}
        for name in (name for name in rows.episodes if name in found):
            path = self._as_path(found[name].path)
            space = spaces[self.references[name].scene] if isinstance(spaces, Mapping) else spaces
            nodes = getattr(space, "index", None)
            if nodes is None or isinstance(path, np.ndarray) or all(node in nodes for node in path):
                known[name] = path
        if self._inputs.convention.repeats == "drop":
            known = dict(zip(known, without_repeats(list(known.values())), strict=True))
        return self._as_warped(known)

    def _as_path(self, path: Any) -> Any:
        """Return a path as scenes encode it: a list of labels, or an array of points."""
        path = path.to_pylist() if hasattr(path, "to_pylist") else path
        if isinstance(path, np.ndarray):
            return path if path.ndim == 2 else path.tolist()
        distances = self._inputs.distances
        straight = distances is None or getattr(distances, "is_straight", False)
        if straight or (len(path) and isinstance(path[0], list | np.ndarray)):
            return np.asarray(path, dtype=np.float64)
        return list(path)

    def _as_warped(self, paths: dict[str, Any]) -> dict[str, Any]:
        """Return paths as the convention warps them: in the plane, or resampled, where it says so."""
        assert self._inputs.references is not None
        found: Any = list(paths.values())
        if self._inputs.convention.plane == "all" and paths:
            found = flatten(found, self._inputs.references.up_axis)
        if self._inputs.convention.path_step and paths:
            found = apply_path_step(found, self._inputs.convention.path_step)
        return dict(zip(paths, found, strict=True))


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
