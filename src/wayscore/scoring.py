"""score(): the one pass from paths to a table with a row for each episode."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.alignment import check_threshold
from wayscore.convention import Convention, find_convention
from wayscore.distances.base import Distance, Floats, check_distance
from wayscore.distances.euclidean import Euclidean
from wayscore.distances.graph import Graph
from wayscore.distances.labels import encode_in_scenes
from wayscore.episodes import Joined
from wayscore.errors import FormatError, OptionError, PathError, did_you_mean
from wayscore.measuring import Goals, Part, cut, run
from wayscore.metrics import Metric, find_metrics
from wayscore.paths import Offsets, Paths, Role, as_lists, without_repeats
from wayscore.table import ScoreTable


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
    stopped: Sequence[bool | None] | None = None,
    pairing: Sequence[int] | NDArray[np.int64] | None = None,
    episodes: Sequence[Any] | None = None,
    threads: int | None = None,
) -> ScoreTable:
    """Score queries against references.

    Args:
        references: the instructed paths: labels for graphs and tables, (n, k) coordinates otherwise.
        queries: the agent's paths, one for each reference.
        distance: the metric on places; None is Euclidean. A mapping from scene to distance needs `scenes`.
        threshold: d_th, the success threshold, in the units of the distance; the convention's (3 m) by default.
        metrics: which metrics, as symbols or values; by default those that the convention names, or all.
        convention: the set of choices, by name, as a TOML file or as a value (see `wayscore.convention`).
        scenes: the scene of each query, where `distance` is a mapping.
        goals: the places any of which ends each query rightly; the reference's last place where none are named.
        stopped: whether each agent said that it stopped (None: not known), for conventions that ask.
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
    distance = _as_convention(distance, rules)
    pairs = _check_pairing(references, queries, pairing)
    for what, given in (
        ("episode names", episodes),
        ("sets of goals", goals),
        ("stop flags", stopped),
        ("scenes", scenes),
    ):
        if given is not None and len(given) != len(queries):
            raise PathError(f"{len(queries)} queries but {len(given)} {what}; give one for each query")
    if goals is None and rules.goal == "set":
        raise OptionError(
            f"the convention {rules.name} asks whether a query ends at one of its goals, and no goals are given; NDH "
            "references name them, REVERIE's need the file of objects (--reader objects=FILE)"
        )
    names: Sequence[Any] = range(len(queries)) if episodes is None else list(episodes)
    halted: Floats = np.broadcast_to(1.0, len(queries))
    if stopped is not None and rules.stop == "required":
        halted = np.array([flag is not False for flag in stopped], dtype=np.float64)

    if rules.repeats == "drop":
        queries = without_repeats(queries)
    if isinstance(distance, Mapping):
        parts = _parts_by_scene(references, queries, pairs, distance, scenes, names)
    else:
        parts = _parts_of_one(references, queries, pairs, Euclidean() if distance is None else distance, names)
    scores = np.empty((len(chosen), len(queries)))
    targets = None if goals is None else Goals(goals, names)
    run(parts, chosen, threshold, rules, targets, halted, scores, threads)
    settings: dict[str, Any] = {
        "convention": rules.signed,
        "threshold": float(threshold),
        "distance": sorted({part.space.fingerprint for part in parts}),
        "version": _version(),
    }
    moved = max((part.moved for part in parts), default=0.0)
    if moved:
        settings["largest snap"] = moved
    columns = {metric.symbol: values for metric, values in zip(chosen, scores, strict=True)}
    return ScoreTable(columns, settings, episodes=names, scenes=None if scenes is None else list(scenes))


def score_joined(joined: Joined, *, distance: Distance | Mapping[str, Distance] | None, **options: Any) -> ScoreTable:
    """Score a run that was joined with its references; the table has the references' order.

    Args:
        joined: what `wayscore.join` returned. Its `worst` episodes get the worst value of every metric.
        distance: the metric on places, or one for each scene.
        **options: threshold, metrics, convention and threads, as for `score`.
    """
    rows = joined.pairs
    options.update(
        queries=[query.path for _, query in rows],
        distance=distance,
        scenes=[reference.scene for reference, _ in rows],
        stopped=[query.stopped for _, query in rows],
        goals=[reference.goals for reference, _ in rows] if any(reference.goals for reference, _ in rows) else None,
        episodes=joined.episodes,
    )
    table = score(references=[reference.path for reference, _ in rows], **options)
    if find_convention(options.get("convention", "paper")).reference == "dense":
        _warp_to_dense(table, joined, options)
    if not joined.worst:
        return table
    names = [*joined.episodes, *(reference.episode for reference in joined.worst)]
    places = np.argsort([joined.order[name] for name in names])
    columns = {}
    for symbol, values in table.columns.items():
        metric = find_metrics([symbol])[0]
        worst = metric.bounds[0] if metric.direction == "up" else metric.bounds[1]
        columns[symbol] = np.concatenate((values, np.full(len(joined.worst), worst)))[places]
    scenes = [reference.scene for reference, _ in rows] + [reference.scene for reference in joined.worst]
    return ScoreTable(
        columns,
        table.settings,
        episodes=[names[place] for place in places],
        scenes=[scenes[place] for place in places],
    )


def _warp_to_dense(table: ScoreTable, joined: Joined, options: dict[str, Any]) -> None:
    """Replace DTW, nDTW and SDTW by those to the dense walks; what is asked of the goal stays."""
    lacking = [reference.episode for reference, _ in joined.pairs if reference.dense is None]
    if lacking:
        raise FormatError(
            f"{joined.references}: episode {lacking[0]} has no dense walk, which this convention warps to; put the "
            "dataset's _gt file beside the references"
        )
    walks = [reference.dense for reference, _ in joined.pairs]
    warped = score(references=walks, **{**options, "metrics": "DTW,nDTW"})
    if "SDTW" in table.columns:  # success is a matter of the goal, not of where the dense walk ends
        paths = [reference.path for reference, _ in joined.pairs]
        reached = table if "SR" in table.columns else score(references=paths, **{**options, "metrics": "SR"})
        warped.columns["SDTW"] = reached["SR"] * warped["nDTW"]
    table.columns.update({symbol: values for symbol, values in warped.columns.items() if symbol in table.columns})


def _as_convention(distance: Any, rules: Convention) -> Any:
    """Return the distance, or distances by scene, as the convention takes them."""
    if rules.distance == "given":
        return distance
    if isinstance(distance, Mapping):
        return _Hops(distance)
    if not isinstance(distance, Graph):
        raise OptionError(f"the convention {rules.name} counts hops, which needs a Graph; got {distance!r}")
    return distance.hops


class _Hops(Mapping[str, Distance]):
    """Scene -> graph in hops, counted when first asked for."""

    def __init__(self, graphs: Mapping[str, Any]) -> None:
        self._graphs = graphs

    def __getitem__(self, scene: str) -> Distance:
        hops: Distance = self._graphs[scene].hops
        return hops

    def __iter__(self) -> Iterator[str]:
        return iter(self._graphs)

    def __len__(self) -> int:
        return len(self._graphs)


def _check_pairing(references: Paths, queries: Paths, pairing: Any) -> Offsets | None:
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


def _parts_of_one(
    references: Paths, queries: Paths, pairs: Offsets | None, space: Distance, names: Sequence[Any]
) -> list[Part]:
    """Encode the episodes of one scene; errors name the episode."""
    check_distance(space)
    r = space.encode(references, role=lambda n: f"episode {names[n]}, reference" if pairs is None else f"reference {n}")
    q = space.encode(queries, role=lambda n: f"episode {names[n]}, query")
    return list(cut(space, r, q, pairs, range(len(q))))


def _parts_by_scene(
    references: Any,
    queries: Any,
    pairs: Offsets | None,
    distance: Mapping[str, Distance],
    scenes: Sequence[str] | None,
    names: Sequence[Any],
) -> list[Part]:
    """Put the episodes of each scene together and encode them; errors name the episode."""
    if scenes is None:
        raise OptionError("distance is a mapping from scene to distance; say with scenes= where each query was walked")
    groups: dict[str, list[int]] = {}
    for number, scene in enumerate(scenes):
        groups.setdefault(scene, []).append(number)
    for scene, numbers in groups.items():
        if scene not in distance:
            raise PathError(f"episode {names[numbers[0]]}: there is no scene {scene!r}{did_you_mean(scene, distance)}")
    references, queries = as_lists(references), as_lists(queries)
    order = list(chain.from_iterable(groups.values()))
    references = [references[i] for i in (order if pairs is None else pairs[order].tolist())]
    queries = [queries[i] for i in order]
    spaces = [distance[scene] for scene in groups]
    for space in spaces:
        check_distance(space)
    ends = np.cumsum([0, *map(len, groups.values())]).tolist()
    rows = np.array(order, dtype=np.int64)

    def role(kind: str, first: int = 0) -> Role:
        return lambda n: f"episode {names[order[first + n]]}, {kind}"

    parts: list[Part] = []
    if all(getattr(space, "table", None) is not None and hasattr(space, "index") for space in spaces):
        each = [space for space, numbers in zip(spaces, groups.values(), strict=True) for _ in numbers]
        r = encode_in_scenes(references, each, role=role("reference"))
        q = encode_in_scenes(queries, each, role=role("query"))
        for space, (start, stop) in zip(spaces, pairwise(ends), strict=True):
            parts += cut(space, r.part(start, stop), q.part(start, stop), None, rows[start:stop])
    else:
        for space, (start, stop) in zip(spaces, pairwise(ends), strict=True):
            r = space.encode(references[start:stop], role=role("reference", start))
            q = space.encode(queries[start:stop], role=role("query", start))
            parts += cut(space, r, q, None, rows[start:stop])
    return parts


def _version() -> str:
    from wayscore import __version__

    return __version__
