"""What the list of episodes shows: scores, paths and warpings, as few numbers as possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wayscore.evaluation.groups import path_labels
from wayscore.report.layout import is_share, metrics_of
from wayscore.report.page.paths import Drawing, find_inputs
from wayscore.report.page.rows import Rows, facts_of, list_episodes, rows_of

if TYPE_CHECKING:
    from wayscore.distances.base import Floats
    from wayscore.evaluation.result import Result

SHARE_STEPS, STEPS = 100_000, 1_000
"""Scores are whole numbers of these parts: of one for shares, of a metre (or whatever the unit is) for others."""


def episodes_of(results: Sequence[Result], split_by: str | None = None) -> dict[str, Any]:
    """Return the episodes of several results as plain values; `static/data.js` reads them.

    Paths are drawn by the convention and the references of the first result that has any.
    """
    rows = [rows_of(result) for result in results]
    inputs, why = find_inputs(results)
    references = {} if inputs is None or inputs.references is None else inputs.references.episodes
    names, total = list_episodes(rows, references)
    drawing = None if inputs is None else Drawing(inputs, names, results, rows)
    known = facts_of(rows, names, "scene") or [""] * len(names)
    scenes = [
        references[name].scene if name in references else str(scene or "")
        for name, scene in zip(names, known, strict=True)
    ]
    threshold = next((float(one.settings["threshold"]) for one in results if inputs and one.inputs is inputs), 0.0)
    drawn = {} if drawing is None else drawing.drawn_scenes(threshold)
    numbers = {name: number for number, name in enumerate(sorted({*scenes, *drawn}))}
    steps = {metric.symbol: SHARE_STEPS if is_share(metric) else STEPS for metric in metrics_of(results)}
    lengths = facts_of(rows, names, "reference_nodes")
    clusters: dict[str, int] = {}
    cluster = [clusters.setdefault(one, len(clusters)) for one in facts_of(rows, names, "cluster") or []]
    walked = {} if drawing is None else drawing.walked
    goals = {} if drawing is None else drawing.goals
    found = {
        "id": names,
        "total": total,
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
        "warpings": [] if drawing is None else drawing.warpings.packed,
        "steps": steps,
    }
    ids = facts_of(rows, names, "path_id") if split_by == "path" else None
    return found if ids is None else {**found, "path_id": path_labels(scenes, [str(one) for one in ids])}


def _run(
    number: int, rows: Rows, names: Sequence[str], drawing: Drawing | None, steps: dict[str, int]
) -> dict[str, Any]:
    """Return what the page needs of one run: by episode its query, its warping and its scores."""
    listed = {name: place for place, name in enumerate(names)}
    kept = [row for row, name in enumerate(rows.episodes) if name in listed]
    mine = [rows.episodes[row] for row in kept]
    paths = {"query": [-1] * len(mine), "warping": [-1] * len(mine)}
    return {
        "rows": None if mine == list(names) else [listed[name] for name in mine],
        "averaged": rows.averaged,
        **(paths if drawing is None else drawing.of_run(number, mine)),
        "scores": {symbol: _scores(values[kept], steps[symbol]) for symbol, values in rows.columns.items()},
    }


def _scores(values: Floats, steps: int) -> list[int | None]:
    """Return scores as whole numbers of parts, None for infinite ones."""
    finite = np.isfinite(values)
    parts = np.rint(np.where(finite, values, 0.0) * steps).astype(np.int64).tolist()
    return [part if known else None for part, known in zip(parts, finite.tolist(), strict=True)]
