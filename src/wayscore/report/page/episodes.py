"""What the list of episodes shows: scores, paths and warpings, as few numbers as possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wayscore.evaluation.groups import group_by
from wayscore.report.layout import is_share, metrics_of
from wayscore.report.page.paths import Drawing

if TYPE_CHECKING:
    from wayscore.distances.base import Floats
    from wayscore.evaluation.result import Result

LISTED = 20_000
"""The page lists at most this many episodes, the first ones: more would make it slow to open."""
FACTS = ("scene", "path_id", "reference_nodes")
SHARE_STEPS, STEPS = 100_000, 1_000
"""Scores are whole numbers of these parts: of one for shares, of a metre (or whatever the unit is) for others."""
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
