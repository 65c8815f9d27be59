"""score(): the one pass from paths to a table with a row for each episode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.convention import Convention
from wayscore.convention.applied import distance_by, halted, start_lengths, without_undefined
from wayscore.convention.path_step import flatten, resample
from wayscore.convention.presets import find_convention
from wayscore.distances.base import Distance, Floats
from wayscore.distances.euclidean import Euclidean
from wayscore.distances.graph import HOPS
from wayscore.episodes import Joined
from wayscore.errors import FormatError, OptionError, PathError
from wayscore.metrics import Metric, find_metrics
from wayscore.paths import Paths, without_repeats
from wayscore.scoring.encoding import check_pairing, parts_by_number, parts_by_scene, parts_of_one
from wayscore.scoring.measuring import Given, Part, run
from wayscore.scoring.table import ScoreTable
from wayscore.warping.alignment import check_threshold

WARPED = frozenset({"DTW", "nDTW", "SDTW"})
"""What is measured on dense or resampled walks where a convention says so."""


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
    threads: int | None = None,
) -> ScoreTable:
    """Score queries against references.

    Args:
        references: the instructed paths: labels for graphs and tables, (n, k) coordinates otherwise.
        queries: the agent's paths, one for each reference.
        distance: the metric on places; None is Euclidean. A mapping from scene to distance needs `scenes`; so does a
            list, where scenes are numbers and paths are encoded (see `wayscore.encoding.parts_by_number`).
        threshold: d_th, the success threshold, in the units of the distance; the convention's (3 m) by default.
        metrics: which metrics, as symbols or values; by default those that the convention names, or all.
        convention: the set of choices, by name, as a TOML file or as a value (see `wayscore.convention`).
        scenes: the scene of each query, where `distance` is a mapping.
        goals: the places any of which ends each query rightly; the reference's last place where none are named.
        stopped: whether each agent said that it stopped (None: not known), for conventions that ask.
        start_distances: from start to goal as the dataset has them, for conventions whose SPL takes those.
        dense: finely sampled references, for conventions that warp to those; the references themselves by default.
        pairing: the number of the reference that each query answers, where several share one.
        episodes: names for the rows; 0, 1, 2, ... by default.
        threads: how many cores to use; by default all of them for large batches.

    >>> table = score(references=[[[0, 0], [4, 0]]], queries=[[[0, 0], [4, 1]]], metrics="NE,nDTW")
    >>> table.means()
    {'NE': 1.0, 'nDTW': 0.8464817248906141}
    """
    rules = find_convention(convention)
    threshold = rules.threshold if threshold is None else threshold
    check_threshold(threshold)
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise OptionError(f"threads must be a whole number, 1 or more, or None for all cores, got {threads!r}")
    for kind, paths in (("references", references), ("queries", queries)):
        if not hasattr(paths, "__len__"):
            raise PathError(f"{kind} must be a list of paths or a PathBatch, got {paths!r}")
    chosen = find_metrics(metrics if metrics is not None else rules.metrics or None)
    space: Any = distance_by(distance, rules)
    where: Any = scenes
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
    if goals is None and rules.goal == "set":
        raise OptionError(
            f"the convention {rules.name} asks whether a query ends at one of its goals, and no goals are given; NDH "
            "references name them, REVERIE's need the file of objects (--reader objects=FILE)"
        )
    names: Sequence[Any] = range(len(queries)) if episodes is None else episodes
    given = Given(goals, names, start_lengths(start_distances, chosen, rules, names), halted(stopped, queries, rules))
    if rules.repeats == "drop":
        queries = without_repeats(queries)
    if rules.plane == "all":
        references, queries = flatten(references), flatten(queries)

    def measure(asked: Any, done: Any, wanted: tuple[Metric, ...]) -> tuple[list[Part], Floats]:
        if isinstance(space, Mapping):
            parts = parts_by_scene(asked, done, pairs, space, where, names)
        elif isinstance(space, list):
            parts = parts_by_number(asked, done, pairs, space, where)
        else:
            parts = parts_of_one(asked, done, pairs, Euclidean() if space is None else space, names)
        scores = np.empty((len(wanted), len(queries)))
        run(parts, wanted, threshold, rules, given, scores, threads)
        return parts, scores

    parts, scores = measure(references, queries, chosen)
    columns = {metric.symbol: values for metric, values in zip(chosen, scores, strict=True)}
    if (rules.resample or (rules.reference == "dense" and dense is not None)) and WARPED & columns.keys():
        walks: Any = dense if rules.reference == "dense" and dense is not None else references
        if rules.plane == "all":
            walks = flatten(walks)
        if rules.resample:
            walks, queries = (resample(p, rules.resample, moves=rules.resampling == "moves") for p in (walks, queries))
        _, (warping, similarity) = measure(walks, queries, find_metrics("DTW,nDTW"))
        # Success is a matter of the goal, not of where the walk ends.
        success = columns["SR"] if "SR" in columns else measure(references, queries, find_metrics("SR"))[1][0]
        warped = {"DTW": warping, "nDTW": similarity, "SDTW": success * similarity}
        columns.update({symbol: values for symbol, values in warped.items() if symbol in columns})
    zeroed = without_undefined(columns, rules, names)
    settings: dict[str, Any] = {
        "convention": rules.signed,
        "threshold": float(threshold),
        "distance": sorted({part.space.fingerprint for part in parts}),
        "version": _version(),
    }
    units = {getattr(part.space, "unit", "m") for part in parts}
    if units == {HOPS}:
        settings["unit"] = HOPS
    moved = max((part.moved for part in parts), default=0.0)
    if moved:
        settings["largest snap"] = moved
    if zeroed:
        settings["zeroed"] = zeroed
    named = None if scenes is None or isinstance(space, list) else list(scenes)
    return ScoreTable(columns, settings, episodes=names, scenes=named)


def score_joined(joined: Joined, *, distance: Distance | Mapping[str, Distance] | None, **options: Any) -> ScoreTable:
    """Score a run that was joined with its references; the table has the references' order.

    Args:
        joined: what `wayscore.join` returned. Its `worst` episodes get the worst value of every metric.
        distance: the metric on places, or one for each scene.
        **options: threshold, metrics, convention and threads, as for `score`.
    """
    rows = joined.pairs
    rules = find_convention(options.get("convention", "paper"))
    chosen = find_metrics(options.get("metrics") or rules.metrics or None)
    to_dense = rules.reference == "dense" and not WARPED.isdisjoint(metric.symbol for metric in chosen)
    table = score(
        references=[reference.path for reference, _ in rows],
        queries=[query.path for _, query in rows],
        distance=distance,
        scenes=[reference.scene for reference, _ in rows],
        stopped=[query.stopped for _, query in rows],
        goals=[reference.goals for reference, _ in rows] if any(reference.goals for reference, _ in rows) else None,
        start_distances=[reference.start_distance for reference, _ in rows],
        dense=_dense_walks(joined) if to_dense else None,
        episodes=joined.episodes,
        **options,
    )
    if not joined.worst:
        return table
    names = [*joined.episodes, *(reference.episode for reference in joined.worst)]
    places = np.argsort([joined.order[name] for name in names])
    columns = {}
    for symbol, values in table.columns.items():
        metric = find_metrics([symbol])[0]
        columns[symbol] = np.concatenate((values, np.full(len(joined.worst), metric.worst)))[places]
    scenes = [reference.scene for reference, _ in rows] + [reference.scene for reference in joined.worst]
    return ScoreTable(
        columns,
        table.settings,
        episodes=[names[place] for place in places],
        scenes=[scenes[place] for place in places],
    )


def _dense_walks(joined: Joined) -> list[Any]:
    lacking = [reference.episode for reference, _ in joined.pairs if reference.dense is None]
    if lacking:
        raise FormatError(
            f"{joined.references}: episode {lacking[0]} has no dense walk, which this convention warps to; put the "
            "dataset's _gt file beside the references"
        )
    return [reference.dense for reference, _ in joined.pairs]


def _version() -> str:
    from wayscore import __version__

    return __version__
