"""score(): the one pass from paths to a table with one row per episode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.convention.applied import apply_undefined, distance_by, flatten
from wayscore.convention.choices import Convention
from wayscore.convention.path_step import apply_path_step
from wayscore.convention.presets import find_convention, signed
from wayscore.distances.base import Distance, Floats
from wayscore.distances.euclidean import EUCLIDEAN
from wayscore.errors import OptionError, PathError, shortened
from wayscore.metrics import Metric, find_metrics
from wayscore.metrics.registry import KNOWN
from wayscore.paths import Paths, without_repeats
from wayscore.scoring.encoding import check_list_of_paths, check_pairing, parts_by_number, parts_by_scene, parts_of_one
from wayscore.scoring.measuring import Scoring
from wayscore.scoring.parts import Part, PathSets, Recorded
from wayscore.scoring.table import ScoreTable
from wayscore.warping.alignment import check_threshold

WARPED = frozenset({"DTW", "nDTW", "SDTW"})
"""The metrics that are measured on dense or resampled paths where a convention says so."""


def score(
    *,
    references: Paths,
    queries: Paths,
    distance: Distance | Mapping[str, Distance] | Sequence[Distance] | None = None,
    threshold: float | None = None,
    metrics: Iterable[str | Metric] | str | None = None,
    convention: str | Path | Convention = "paper",
    scenes: Sequence[str] | NDArray[np.integer[Any]] | None = None,
    goals: Sequence[Sequence[Any]] | None = None,
    stopped: Sequence[bool | None] | None = None,
    start_distances: Sequence[float | None] | None = None,
    dense: Paths | None = None,
    pairing: Sequence[int] | NDArray[np.int64] | None = None,
    episodes: Sequence[Any] | None = None,
    scene_names: Sequence[str] | None = None,
    threads: int | None = None,
) -> ScoreTable:
    """Score queries (agents' trajectories) against references (ground-truth paths).

    Args:
        references: a list of paths: labels for graphs and tables, (n, k) coordinates otherwise.
        queries: a list of paths, one for each reference.
        distance: d between two nodes or points; None is Euclidean. A mapping from scene to distance needs `scenes`; so
            does a list, where scenes are numbers and paths are encoded (see `wayscore.scoring.encoding`).
        threshold: d_th, the success threshold, in the units of the distance; the convention's (3 m) by default.
        metrics: which metrics, as names or values; by default those that the convention names, or all.
        convention: the set of choices, by name, as a TOML file or as a value (see `wayscore.convention`).
        scenes: the scene of each query, where `distance` is a mapping.
        goals: for each query the nodes or points any of which is a right end; the reference's end where none are named.
        stopped: whether each agent stopped by itself (None: not known), for conventions that require it.
        start_distances: from start to goal as the dataset has them, for conventions whose SPL takes those.
        dense: finely sampled references, for conventions that warp to those; the references themselves by default.
        pairing: the number of the reference that each query answers, where several share one.
        episodes: names for the rows; 0, 1, 2, ... by default.
        scene_names: of scenes that are numbers, for metrics of one episode.
        threads: how many cores to use; by default all of them for large batches.

    >>> table = score(references=[[[0, 0], [4, 0]]], queries=[[[0, 0], [4, 1]]], metrics="NE,nDTW")
    >>> table.means()
    {'NE': 1.0, 'nDTW': 0.8464817248906141}
    """
    chosen_convention = find_convention(convention)
    d_th = chosen_convention.threshold if threshold is None else threshold
    check_threshold(d_th)
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise OptionError(f"threads must be a whole number, 1 or more, or None for all cores, got {shortened(threads)}")
    chosen = find_metrics(metrics if metrics is not None else chosen_convention.metrics or None)
    space = distance_by(distance, chosen_convention)
    one_space = EUCLIDEAN if space is None else space if isinstance(space, Distance) else None
    check_list_of_paths("references", references, one_space)
    check_list_of_paths("queries", queries, one_space)
    pairs = check_pairing(references, queries, pairing)
    for what, values in (
        ("episode names", episodes),
        ("sets of goals", goals),
        ("stop flags", stopped),
        ("start distances", start_distances),
        ("scenes", scenes),
    ):
        if values is not None and len(values) != len(queries):
            raise PathError(f"{len(queries)} queries but {len(values)} {what}; give one for each query")
    if goals is None and chosen_convention.goal == "set":
        raise OptionError(
            f"the convention {chosen_convention.name} asks whether a query ends at one of its goals, and no goals are "
            "given; NDH references name them, REVERIE's need the file of objects (--reader objects=FILE)"
        )
    names: Sequence[Any] = range(len(queries)) if episodes is None else episodes
    paths = _paths(references, queries, dense, chosen, chosen_convention)
    if isinstance(space, Mapping):
        parts = parts_by_scene(paths, pairs, space, scenes, names)  # type: ignore[arg-type]
    elif isinstance(space, list):
        parts = parts_by_number(paths, pairs, space, scenes)  # type: ignore[arg-type]
    else:
        parts = parts_of_one(paths, pairs, one_space or EUCLIDEAN, names)
    recorded = Recorded(names, scenes, goals, stopped, start_distances, scene_names)
    other_paths = paths.warped_references is not None or paths.warped_queries is not None
    scoring = Scoring.plan(chosen, d_th, chosen_convention, recorded, other_paths=other_paths)
    scores = scoring.run(parts, threads)
    _check_numbers(scores, chosen, names)
    columns = {metric.symbol: values for metric, values in zip(chosen, scores, strict=True)}
    zeroed = apply_undefined(columns, chosen_convention, names)
    return ScoreTable(
        columns,
        _settings(parts, chosen_convention, d_th, zeroed),
        episodes=names,
        scenes=None if scenes is None or isinstance(space, list) else list(scenes),
        own_metrics={metric.symbol: metric for metric in chosen if KNOWN.get(metric.symbol) is not metric},
    )


def _paths(references: Any, queries: Any, dense: Any, metrics: tuple[Metric, ...], convention: Convention) -> PathSets:
    """Return the paths as the convention scores them, and beside them those that it warps, where those are others."""
    if convention.repeats == "drop":
        queries = without_repeats(queries)
    if convention.plane == "all":
        references, queries = flatten(references), flatten(queries)
    if not any("warping" in metric.needs for metric in metrics):
        return PathSets(references, queries)
    warped = dense if convention.reference == "dense" else None
    if warped is not None and convention.plane == "all":
        warped = flatten(warped)
    if not convention.path_step:
        return PathSets(references, queries, warped)
    step, by = convention.path_step, convention.path_step_by
    warped = apply_path_step(references if warped is None else warped, step, by)
    return PathSets(references, queries, warped, apply_path_step(queries, step, by))


def _check_numbers(scores: Floats, metrics: tuple[Metric, ...], names: Sequence[Any]) -> None:
    wrong = np.isnan(scores)
    if wrong.any():
        metric, row = np.argwhere(wrong)[0].tolist()
        raise OptionError(
            f"metric {metrics[metric].symbol}, episode {names[row]}: the function returned nan; it must return a "
            "number, infinity where it is undefined"
        )


def _settings(parts: list[Part], convention: Convention, threshold: float, zeroed: dict[str, int]) -> dict[str, Any]:
    """Return what a table says of how it was made."""
    from wayscore import __version__

    settings: dict[str, Any] = {
        "convention": signed(convention),
        "threshold": float(threshold),
        "distance": sorted({part.space.fingerprint for part in parts}),
        "version": __version__,
    }
    units = {part.space.unit for part in parts}
    if len(units) == 1 and units != {"m"}:
        settings["unit"] = units.pop()
    moved = max((part.largest_snap for part in parts), default=0.0)
    if moved:
        settings["largest snap"] = moved
    if zeroed:
        settings["zeroed"] = zeroed
    return settings
