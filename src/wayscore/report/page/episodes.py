"""What the list of episodes shows: scores, and references, queries and their warpings, each kept once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wayscore.convention.applied import align_by, apply_path_step, distance_by, flatten
from wayscore.distances.base import Euclidean
from wayscore.evaluation.groups import group_by
from wayscore.paths import in_plane, without_repeats
from wayscore.report.layout import is_share, metrics_of
from wayscore.report.page.scenes import Scene, is_y_up

if TYPE_CHECKING:
    from wayscore.distances.base import Floats
    from wayscore.evaluation.inputs import Inputs
    from wayscore.evaluation.result import Result
    from wayscore.formats.episodes import Reference
    from wayscore.warping.alignment import Alignment

LISTED = 20_000
"""The page lists at most this many episodes, the first ones: more would make it slow to open."""
FACTS = ("scene", "path_id", "reference_nodes")
SHARE_STEPS, STEPS = 100_000, 1_000
"""Scores are whole numbers of these parts: of one for shares, of a metre (or whatever the unit is) for others."""
GAP_STEPS = 100
"""Distances of matched pairs are whole numbers of these parts."""
BLOCK_CELLS = 1 << 20
"""Up to this many cells the distances of two paths are computed in one block, as for the scores."""
MOVES = "?210"
"""A warping's step as one character, by 2 x (along the reference) + (along the query): 0 is both."""
LOADED = "The results were loaded from files that hold scores but no paths, so there are no maps or warpings."
OWN_REFERENCES = "The rows of these runs carry their own references, so there are no maps or warpings."


class Rows(NamedTuple):
    """The episodes of one result, one row for each, in the table's order.

    Attributes:
        episodes: their names.
        facts: by name (see `FACTS`), what is known of each, the known ones only; and the cluster that it is drawn with.
        columns: by symbol, the scores, means where an episode has several predictions; infinite where undefined.
        averaged: whether some of them are such means.
        zeroed: the episodes that have a prediction and still get the worst values, as a policy says.
    """

    episodes: Sequence[str]
    facts: Mapping[str, Sequence[Any]]
    columns: Mapping[str, Floats]
    averaged: bool
    zeroed: frozenset[str]


def rows_of(result: Result) -> Rows:
    """Return what a result knows of single episodes."""
    table = result.table
    numbers: dict[str, int] = {}
    codes = np.array([numbers.setdefault(name, len(numbers)) for name in map(str, table.episodes)], dtype=np.int64)
    facts: dict[str, Sequence[Any]] = {name: table.facts[name] for name in FACTS if name in table.facts}
    facts["cluster"] = result.cluster_labels()
    columns: dict[str, Floats] = {symbol: table[symbol] for symbol in result.symbols}
    several = len(numbers) < len(codes)
    if several:
        first = np.unique(codes, return_index=True)[1].tolist()
        facts = {name: [values[row] for row in first] for name, values in facts.items()}
        counts = np.bincount(codes)
        columns = {symbol: np.bincount(codes, values) / counts for symbol, values in columns.items()}
    zeroed: frozenset[str] = frozenset()
    policies = result.settings.get("policies", {})
    if any(policies.get(kind) == "zero" and result.problems.counts.get(kind) for kind in ("start", "move", "node")):
        worst = np.all([columns[metric.symbol] == metric.worst for metric in result.metrics], axis=0)
        zeroed = frozenset(name for name, bad in zip(numbers, worst.tolist(), strict=True) if bad)
    return Rows(list(numbers), facts, columns, several, zeroed)


def episodes_of(results: Sequence[Result], split_by: str | None = None) -> dict[str, Any]:
    """Return the episodes of several results as plain values; `static/data.js` reads them.

    Those of the references come first, in their order. Paths are drawn by the convention and the references of the
    first result that has any.
    """
    rows = [rows_of(result) for result in results]
    drawn = next((one for one in results if one.inputs is not None and one.inputs.references is not None), None)
    inputs = None if drawn is None else drawn.inputs
    references = {} if inputs is None or inputs.references is None else inputs.references.episodes
    known = dict.fromkeys(name for one in rows for name in one.episodes)
    everyone = dict.fromkeys([*(name for name in references if name in known), *known])
    names = list(everyone)[:LISTED]

    def fact(which: str) -> list[Any] | None:
        """Return what any result knows of the listed episodes; None where none knows it of any."""
        found: dict[str, Any] = {}
        for one in reversed(rows):
            found |= zip(one.episodes, one.facts.get(which, ()), strict=False)
        return [found.get(name) for name in names] if found else None

    scene_of = zip(names, fact("scene") or [""] * len(names), strict=True)
    scenes = [references[name].scene if name in references else str(scene or "") for name, scene in scene_of]
    found_lengths, ids = fact("reference_nodes"), fact("path_id") if split_by == "path" else None
    lengths = None if found_lengths is None else [int(length or 0) for length in found_lengths]
    groups = {}
    if lengths is not None:
        groups["length"] = [name.replace("-", "\u2013") for name in group_by("length", [], [], lengths)[0]]
    if ids is not None:
        groups["path"] = group_by("path", scenes, [str(one) for one in ids], [])[0]
    clusters: dict[str, int] = {}
    cluster = [clusters.setdefault(one, len(clusters)) for one in fact("cluster") or []]
    steps = {metric.symbol: SHARE_STEPS if is_share(metric) else STEPS for metric in metrics_of(results)}
    drawing = None if inputs is None else Drawing(inputs, names, results, rows)
    walked, goals, maps = {}, {}, {}
    why = "" if drawing else OWN_REFERENCES if any(one.inputs is not None for one in results) else LOADED
    if drawing is not None and drawn is not None:
        walked, goals, maps = drawing.walked, drawing.goals, drawing.drawn_scenes(float(drawn.settings["threshold"]))
    numbers = {name: number for number, name in enumerate(sorted({*scenes, *maps}))}
    nowhere = [-1] * len(names)
    runs = []
    for run, one in enumerate(rows):
        row_of = {name: row for row, name in enumerate(one.episodes)}
        at = np.array([row_of.get(name, -1) for name in names], dtype=np.int64)
        paths = {"query": nowhere, "warping": nowhere} if drawing is None else drawing.of_run(run, names)
        columns = one.columns.items()
        scores = {symbol: _whole(np.append(values, np.inf)[at], steps[symbol]) for symbol, values in columns}
        runs.append({"has": (at >= 0).astype(int).tolist(), "averaged": one.averaged, **paths, "scores": scores})
    return {
        "id": names,
        "total": len(everyone),
        "undrawn": why,
        "scene": [numbers[scene] for scene in scenes],
        "instruction": [references[name].instruction if name in references else "" for name in names],
        "cluster": cluster if len(clusters) < len(names) else None,
        "clustered_by": results[0].bootstrap["cluster"],
        "length": lengths,
        "groups": groups,
        "reference": [walked.get(name, -1) for name in names],
        "goals": [goals.get(name, ()) for name in names],
        "runs": runs,
        "scenes": [maps.get(name, {"name": name, "scale": 1, "floors": [], "metric": False}) for name in numbers],
        "paths": [] if drawing is None else list(drawing.paths),
        "warpings": [] if drawing is None else drawing.warpings,
        "steps": steps,
    }


def _whole(values: Floats, steps: int) -> list[int | None]:
    """Return scores in whole parts, None where they are undefined."""
    finite = np.isfinite(values)
    parts = np.rint(np.where(finite, values, 0.0) * steps).astype(np.int64).tolist()
    return [part if known else None for part, known in zip(parts, finite.tolist(), strict=True)]


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
        self._inputs, self._truth = inputs, inputs.references
        convention, up_axis, known = inputs.convention, self._truth.up_axis, self._truth.episodes
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
        degrees = self._truth.format == "street"
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
        own, spaces = result.inputs, self._inputs.distances
        if own is None or own.references is None or own.references.fingerprint != self._truth.fingerprint:
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
        found: Any = list(paths.values())
        if self._inputs.convention.plane == "all" and paths:
            found = flatten(found, self._truth.up_axis)
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
