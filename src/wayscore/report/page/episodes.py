"""What the list of episodes shows: scores, paths and warpings, as few numbers as possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wayscore.evaluation.groups import path_labels
from wayscore.report.layout import is_share, metrics_of
from wayscore.report.page.paths import Drawing, find_inputs

if TYPE_CHECKING:
    from wayscore.distances.base import Floats
    from wayscore.evaluation.result import Result

LISTED = 20_000
"""The page lists at most this many episodes, the first ones: more would make it slow to open."""
FACTS = ("scene", "path_id", "reference_nodes")
SHARE_STEPS, STEPS = 100_000, 1_000
"""Scores are whole numbers of these parts: of one for shares, of a metre (or whatever the unit is) for others."""


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
    inputs, why = find_inputs(results)
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

    drawing = None if inputs is None else Drawing(inputs, names, results, rows)
    scenes = [
        references[name].scene if name in references else str(scene or "")
        for name, scene in zip(names, fact("scene") or [""] * len(names), strict=True)
    ]
    threshold = next((float(one.settings["threshold"]) for one in results if inputs and one.inputs is inputs), 0.0)
    drawn = {} if drawing is None else drawing.drawn_scenes(threshold)
    numbers = {name: number for number, name in enumerate(sorted({*scenes, *drawn}))}
    steps = {metric.symbol: SHARE_STEPS if is_share(metric) else STEPS for metric in metrics_of(results)}
    lengths = fact("reference_nodes")
    clusters: dict[str, int] = {}
    cluster = [clusters.setdefault(one, len(clusters)) for one in fact("cluster") or []]
    walked, goals = ({}, {}) if drawing is None else (drawing.walked, drawing.goals)
    found = {
        "id": names,
        "total": len(everyone),
        "undrawn": why,
        "scene": [numbers[scene] for scene in scenes],
        "instruction": [references[name].instruction if name in references else "" for name in names],
        "cluster": cluster if len(clusters) < len(names) else None,
        "clustered_by": results[0].bootstrap["cluster"],
        "length": None if lengths is None else [int(length or 0) for length in lengths],
        "reference": [walked.get(name, -1) for name in names],
        "goals": [goals.get(name, ()) for name in names],
        "runs": [_run(number, one, names, drawing, steps) for number, one in enumerate(rows)],
        "scenes": [drawn.get(name, {"name": name, "scale": 1, "floors": [], "metric": False}) for name in numbers],
        "paths": [] if drawing is None else list(drawing.paths),
        "warpings": [] if drawing is None else drawing.warpings,
        "steps": steps,
    }
    ids = fact("path_id") if split_by == "path" else None
    return found if ids is None else {**found, "path_id": path_labels(scenes, [str(one) for one in ids])}


def _run(
    number: int, rows: Rows, names: Sequence[str], drawing: Drawing | None, steps: dict[str, int]
) -> dict[str, Any]:
    """Return what the page needs of one run: by episode its query, its warping and its scores in whole parts."""
    listed = {name: place for place, name in enumerate(names)}
    kept = [row for row, name in enumerate(rows.episodes) if name in listed]
    mine = [rows.episodes[row] for row in kept]
    scores = {}
    for symbol, values in rows.columns.items():
        finite = np.isfinite(values[kept])
        parts = np.rint(np.where(finite, values[kept], 0.0) * steps[symbol]).astype(np.int64).tolist()
        scores[symbol] = [part if known else None for part, known in zip(parts, finite.tolist(), strict=True)]
    paths = {"query": [-1] * len(mine), "warping": [-1] * len(mine)}
    return {
        "rows": None if mine == list(names) else [listed[name] for name in mine],
        "averaged": rows.averaged,
        **(paths if drawing is None else drawing.of_run(number, mine)),
        "scores": scores,
    }
