"""score(): the one pass from paths to a table with one row per episode."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import wayscore
from wayscore import kernels
from wayscore.convention.applied import apply_path_step, distance_by, flatten, zero_undefined
from wayscore.convention.choices import PAPER, Convention
from wayscore.convention.presets import find_convention, signed
from wayscore.distances.base import EUCLIDEAN, Distance, Floats, as_distance
from wayscore.errors import OptionError, PathError, check_threshold, did_you_mean, listed, shortened
from wayscore.evaluation.measure import Part, PathSets, Scoring, parts_of, stretches
from wayscore.evaluation.recorded import STEPWISE, Recorded
from wayscore.evaluation.table import Rows, ScoreTable
from wayscore.metrics import Metric, find_metrics
from wayscore.metrics.paper import METRICS, PAPERS, scores_of_one
from wayscore.metrics.registry import KNOWN, with_columns
from wayscore.paths import Offsets, PathBatch, Paths, Role, as_lists, axis_name, changes, without_repeats
from wayscore.warping.alignment import index_and_table

ONE = range(1)
NUMBERS = {symbol: number for number, symbol in enumerate(METRICS)}


def score(
    *,
    references: Paths,
    queries: Paths,
    distance: Distance | Mapping[str, Distance] | None = None,
    threshold: float | None = None,
    metrics: Iterable[str | Metric] | str | None = None,
    convention: str | Path | Convention = "paper",
    scenes: Sequence[str] | None = None,
    goals: Sequence[Sequence[Any]] | None = None,
    views: Sequence[Sequence[Sequence[Any]]] | None = None,
    stopped: Sequence[bool | None] | None = None,
    start_distances: Sequence[float | None] | None = None,
    goal_distances: Sequence[Sequence[float] | None] | None = None,
    headings: Sequence[Sequence[float] | None] | None = None,
    objects: Sequence[tuple[Any, Any]] | None = None,
    recorded: Mapping[str, Sequence[Any]] | None = None,
    dense: Paths | None = None,
    up_axis: int | None = None,
    pairing: Sequence[int] | NDArray[np.int64] | None = None,
    episodes: Sequence[Any] | None = None,
    threads: int | None = None,
) -> ScoreTable:
    """Score queries (agents' trajectories) against references (ground-truth paths).

    Args:
        references: a list of paths: labels for graphs and tables, (n, k) coordinates otherwise.
        queries: a list of paths, one for each reference.
        distance: d between two nodes or points; None is Euclidean. A mapping from scene to distance needs `scenes`.
        threshold: d_th, the success threshold, in the units of the distance; the convention's (3 m) by default.
        metrics: which metrics, as names or values; by default those that the convention names, or all.
        convention: the set of choices, by name, as a TOML file or as a value (see `wayscore.convention`).
        scenes: the scene of each query, where `distance` is a mapping.
        goals: for each query the nodes or points any of which is a right end; the reference's end where none are named.
        views: for each query and each goal the places from which it counts as reached, in place of `goals`.
        stopped: whether each agent stopped by itself (None: not known), for conventions that require it.
        start_distances: from start to goal as the dataset has them, for conventions whose SPL takes those.
        goal_distances: for each query how far every position is from the goal, metres, as the simulator measured it;
            infinity where it is unreachable. They decide NE, ONE, SR, OSR and SPL's shortest length.
        headings: for each query the heading at every position, for conventions that look at it.
        objects: for each query the right object and the one that the agent named (None: not recorded).
        recorded: whatever else is known of each query, by name, for metrics that take it from `Episode.recorded`.
        dense: finely sampled references, for conventions that warp to those.
        up_axis: which coordinate of points in space points up, 0, 1 or 2, for conventions that measure in the plane; by
            default 2.
        pairing: the number of the reference that each query answers, where several share one.
        episodes: names for the rows; 0, 1, 2, ... by default.
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
    if up_axis not in (None, 0, 1, 2):
        raise OptionError(f"up_axis must be 0, 1 or 2: which coordinate points up, got {shortened(up_axis)}")
    chosen = find_metrics(metrics, chosen_convention)
    extras = (scenes, goals, views, stopped, start_distances, goal_distances, headings, objects, recorded, dense)
    others = [one for one in (*extras, pairing, episodes) if one is not None]
    if chosen_convention is PAPER and not others:
        single = _score_one(references, queries, distance, chosen, d_th)
        if single is not None:
            settings = _settings([EUCLIDEAN if distance is None else as_distance(distance)], chosen_convention, d_th)
            return ScoreTable(single, settings, facts={"episode": ONE})
    space = distance_by(distance, chosen_convention)
    one_space = EUCLIDEAN if space is None else space if isinstance(space, Distance) else None
    _check_list_of_paths("references", references, one_space)
    _check_list_of_paths("queries", queries, one_space)
    pairs = _check_pairing(references, queries, pairing)
    if views is not None:
        goals = [[place for places in of_goals for place in places] for of_goals in views]
    facts = {
        "goals": goals,
        "stopped": stopped,
        "start_distance": start_distances,
        "goal_distances": goal_distances,
        "headings": headings,
        "object": None if objects is None else [right for right, _ in objects],
        "predicted_object": None if objects is None else [named for _, named in objects],
        **(recorded or {}),
    }
    for what, values in (("episodes", episodes), ("scenes", scenes), *facts.items()):
        if values is not None and len(values) != len(queries):
            raise PathError(f"{len(queries)} queries but {len(values)} values of {what}; give one for each query")
    known = {name: values for name, values in facts.items() if values is not None}
    names: Sequence[Any] = range(len(queries)) if episodes is None else episodes
    named, walked, order, numbers = names, scenes, None, np.zeros(0, dtype=np.int64)
    spaces = [] if one_space is None else [one_space]
    if one_space is None:  # episodes are scored scene by scene
        numbers, spaces = _number_scenes(space, scenes, names)
        order = np.argsort(numbers, kind="stable")
        numbers = numbers[order]
        rows = order.tolist()
        led = rows if pairs is None else pairs[order].tolist()
        pairs = None
        references, dense = _taken(as_lists(references), led), _taken(None if dense is None else as_lists(dense), led)
        queries, named, walked = _taken(as_lists(queries), rows), _taken(names, rows), _taken(scenes, rows)
        known = {name: _taken(values, rows) for name, values in known.items()}

    def encode(paths: PathSets) -> list[Part]:
        """Encode the episodes of each scene; errors name the episode."""
        parts = []
        for scene, start, stop in [(0, 0, len(queries))] if order is None else stretches(numbers):
            encoded = []
            for some, kind in zip(paths, ("reference", "query", "dense reference", "query"), strict=True):
                own: Role = partial(lambda kind, start, n: f"episode {named[start + n]}, {kind}", kind, start)
                role = kind if pairs is not None and kind.endswith("reference") else own
                of_scene = some if some is None or order is None else some[start:stop]
                encoded.append(None if of_scene is None else spaces[scene].encode(of_scene, role=role))
            one_scene = np.zeros(stop - start, dtype=np.int64)
            parts += parts_of(PathSets(*encoded), pairs, spaces[scene : scene + 1], one_scene, start)
        return parts

    scores, used = score_paths(
        PathSets(references, queries, dense),
        encode,
        Recorded(named, walked, known),
        chosen,
        chosen_convention,
        d_th,
        up_axis,
        threads,
    )
    if order is not None:
        back = np.argsort(order)
        scores = {symbol: values[back] for symbol, values in scores.items()}
    return ScoreTable(
        scores,
        _settings(spaces if len(queries) else [], with_columns(chosen_convention, chosen), d_th) | used,
        facts={"episode": names, **({} if scenes is None else {"scene": list(scenes)})},
        own_metrics={metric.symbol: metric for metric in chosen if KNOWN.get(metric.symbol) is not metric},
    )


def _score_one(
    references: Any, queries: Any, distance: Any, metrics: tuple[Metric, ...], threshold: float
) -> Rows | None:
    """Return the paper's metrics of a single episode; None where there are more, or anything about it is unusual."""
    if type(references) is not list or type(queries) is not list or not len(references) == len(queries) == 1:
        return None
    reference, query = references[0], queries[0]
    if type(reference) is tuple or type(query) is tuple:  # which could be a node
        return None
    if metrics is PAPERS:
        numbers = NUMBERS
    elif all(METRICS.get(metric.symbol) is metric for metric in metrics):
        numbers = {metric.symbol: NUMBERS[metric.symbol] for metric in metrics}
    else:
        return None
    measured = kernels.pair_measures(reference, query, *index_and_table(distance), threshold, threshold)
    if measured is None:
        return None
    return Rows(numbers, np.array([scores_of_one(measured, threshold)]).T)


def _check_list_of_paths(kind: str, paths: Any, space: Distance | None) -> None:
    """Refuse what is not a list of paths, above all one bare path, which would pass for many of one point each.

    Args:
        kind: the keyword, "references" or "queries".
        paths: what was given.
        space: the distance, where there is one for all paths.
    """
    if isinstance(paths, PathBatch):
        return
    if hasattr(paths, "episodes") or hasattr(paths, "queries"):
        raise OptionError(
            f"{kind} is a {type(paths).__name__}, and ws.score takes lists of paths; "
            "ws.evaluate(run, references, graphs) scores a run against its references"
        )
    if isinstance(paths, str | bytes | Mapping) or not hasattr(paths, "__len__") or not hasattr(paths, "__getitem__"):
        raise PathError(f"{kind} must be a list of paths or a PathBatch, got {shortened(paths)}")
    if isinstance(paths, np.ndarray) and paths.dtype != object:
        bare = paths.ndim < 2 or (paths.ndim == 2 and paths.dtype.kind in "biufc")
    else:
        bare = len(paths) > 0 and _is_node(paths[0], space)
    if bare:
        raise PathError(
            f"{kind} must be a list of paths, but this is a single path: {shortened(paths, 80)}; wrap it in a list, "
            f"{kind}=[path]"
        )


def _is_node(first: Any, space: Distance | None) -> bool:
    """Say whether the first item of what should be paths is a node or a point."""
    if not hasattr(first, "__len__"):
        return True
    if space is not None and space.is_straight:
        return len(first) > 0 and isinstance(first[0], int | float | np.number)
    if isinstance(first, str) and len(first) == 1:  # "abc" is a path of three nodes, and "a" one of one
        return False
    return (
        isinstance(first, str | tuple) and space is not None and space.index is not None and _known(first, space.index)
    )


def _known(label: Any, index: dict[Any, int]) -> bool:
    try:
        return label in index
    except TypeError:  # a tuple of lists: a path
        return False


def _check_pairing(references: Paths, queries: Paths, pairing: Any) -> Offsets | None:
    """Return the number of the reference of each query, or None where they go in step."""
    if pairing is None:
        if len(references) != len(queries):
            raise PathError(
                f"{len(references)} references but {len(queries)} queries; give one query for each reference, "
                "or say with pairing= which reference each query answers"
            )
        return None
    pairs = np.asarray(pairing, dtype=np.int64)
    if pairs.shape != (len(queries),):
        raise PathError(f"{len(queries)} queries but a pairing of shape {pairs.shape}; give one number for each query")
    if pairs.size and not (0 <= pairs.min() and pairs.max() < len(references)):
        raise PathError(f"the pairing names reference {pairs.max()}, but there are {len(references)}")
    return pairs


def _number_scenes(
    distances: Mapping[str, Distance], scenes: Sequence[str] | None, names: Sequence[Any]
) -> tuple[NDArray[np.int64], list[Distance]]:
    """Return the number of the scene of each query, and the distance of each scene."""
    if scenes is None:
        raise OptionError("distance is a mapping from scene to distance; say with scenes= where each query was walked")
    known = {scene: number for number, scene in enumerate(dict.fromkeys(scenes))}
    for scene in known:
        if scene not in distances:
            hint = did_you_mean(scene, distances)
            raise PathError(f"episode {names[list(scenes).index(scene)]}: there is no scene {shortened(scene)}{hint}")
    numbers = np.fromiter((known[scene] for scene in scenes), dtype=np.int64, count=len(scenes))
    return numbers, [as_distance(distances[scene]) for scene in known]


def _taken(values: Any, rows: list[int]) -> Any:
    return None if values is None else [values[row] for row in rows]


def score_paths(
    paths: PathSets,
    encode: Callable[[PathSets], list[Part]],
    recorded: Recorded,
    metrics: tuple[Metric, ...],
    convention: Convention,
    threshold: float,
    up_axis: int | None = None,
    threads: int | None = None,
) -> tuple[dict[str, Floats], dict[str, Any]]:
    """Return the scores of paths by symbol, and what else the numbers depend on or leave out.

    The third of the paths are dense references, for conventions that warp to these; `encode` takes the paths, changed
    as the convention says, and returns them encoded and cut into parts.
    """
    references, queries, warped, _ = paths
    if "goals" not in recorded.facts and convention.goal == "set":
        raise OptionError(
            f"the convention {convention.name} asks whether a query ends at one of its goals, and no goals are "
            "given; NDH references name them, REVERIE's need the file of objects (--reader objects=FILE)"
        )
    drops = convention.repeats == "drop"
    stepwise = not STEPWISE.isdisjoint(recorded.facts)
    if drops or stepwise:
        counts = (
            queries.lengths
            if isinstance(queries, PathBatch)
            else [len(path) if hasattr(path, "__len__") else 0 for path in queries]
        )
        kept = [changes(path) for path in queries] if drops and stepwise else None
        recorded = replace(recorded, counts=np.array(counts, dtype=np.float64), kept=kept)
    warps, step = any("warping" in metric.needs for metric in metrics), convention.path_step
    if convention.reference != "dense" or not warps:
        warped = None
    elif warped is None:
        raise PathError(
            f"the convention {convention.name} warps to dense references, and none are given; give them with dense=, "
            'or take a convention of your own with reference = "path"'
        )
    if drops:
        queries = without_repeats(queries)
    if convention.plane == "all":
        references, queries = flatten(references, up_axis), flatten(queries, up_axis)
        warped = None if warped is None else flatten(warped, up_axis)
    paths = PathSets(references, queries, warped)
    if step and warps:
        paths = PathSets(
            references,
            queries,
            apply_path_step(references if warped is None else warped, step),
            apply_path_step(queries, step),
        )
    parts = encode(paths)
    users = [metric.symbol for metric in metrics if "points" in metric.needs]
    if users and any(part.paths.queries.places.ndim == 1 for part in parts):
        raise OptionError(
            f"{listed(users)} of the convention {convention.name} need paths of coordinates, and these are nodes of "
            "a graph; leave them out of <<metrics>>, or use another convention"
        )
    other_paths = paths.warped_references is not None or paths.warped_queries is not None
    scoring = Scoring(metrics, threshold, convention, recorded, up_axis, other_paths)
    scores = np.empty((len(metrics), len(recorded.names)))
    groups: list[list[Part]] = []
    room = 0.0
    for part in parts:  # small scenes go together, up to the work of a large one: every call has its price
        if part.work > room:
            groups.append([])
            room = 1.0
        groups[-1].append(part)
        room -= part.work
    if threads is None and len(groups) > 1:
        threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    workers = min(len(groups), threads or 1)
    if workers <= 1 or kernels.name != "native":
        for group in groups:
            scoring.score(group, scores)
    else:
        from concurrent.futures import ThreadPoolExecutor  # slow to import, and small batches do without

        with ThreadPoolExecutor(workers) as pool:
            for _ in pool.map(lambda group: scoring.score(group, scores), groups):
                pass
    if not kernels.all_within(scores, np.inf):  # which NaN is not
        metric, row = np.argwhere(np.isnan(scores))[0].tolist()
        raise OptionError(
            f"metric {metrics[metric].symbol}, episode {recorded.names[row]}: the function returned nan; it must "
            "return a number, infinity where it is undefined"
        )
    columns = {metric.symbol: values for metric, values in zip(metrics, scores, strict=True)}
    taken = dict.fromkeys(name for metric in metrics for name in metric.records)
    if convention.goal_distance == "simulator":
        taken["goal_distances"] = None
    if convention.stop == "required":
        taken["stopped"] = None
    unrecorded = {name: int(np.count_nonzero(~recorded.has(name))) for name in taken}
    moved = [some for part in parts for some in part.paths[:2] if some.moved is not None]
    used = {
        "largest snap": max((float(some.moved.max(initial=0.0)) for some in moved), default=0.0),
        "up": axis_name(up_axis) if convention.plane == "all" else None,
        "zeroed": {} if convention.undefined == "drop" else zero_undefined(columns),
        "unrecorded": {name: count for name, count in unrecorded.items() if count},
        "recorded": {"goal_distances": int(np.count_nonzero(scoring.known))} if scoring.known.any() else {},
    }
    return columns, {name: value for name, value in used.items() if value}


def _settings(spaces: Iterable[Distance], convention: Convention, threshold: float) -> dict[str, Any]:
    """Return what a table says of how it was made."""
    settings: dict[str, Any] = {
        "convention": signed(convention),
        "threshold": float(threshold),
        "distance": sorted({space.fingerprint for space in spaces}),
        "version": wayscore.__version__,
    }
    units = {space.unit for space in spaces}
    if len(units) == 1 and units != {"m"}:
        settings["unit"] = units.pop()
    return settings
