"""score(): the one pass from paths to a table with a row for each episode."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore import kernels
from wayscore.alignment import check_threshold
from wayscore.distances.base import Distance, Floats
from wayscore.distances.euclidean import Euclidean
from wayscore.errors import OptionError, PathError, did_you_mean
from wayscore.metrics import METRICS, Measurements, Metric, find_metrics
from wayscore.paths import Offsets, PathBatch, Paths
from wayscore.table import ScoreTable

MEASURED = tuple(field.name for field in fields(Measurements))[:10]
"""What a kernel writes, row by row; the counts and the threshold are known without it."""
EPISODES_AT_ONCE = 1 << 13
"""Few enough that a chunk's measurements stay in the cache, enough that threads have little to say."""


def score(
    *,
    references: Paths,
    queries: Paths,
    distance: Distance | Mapping[str, Distance] | None = None,
    threshold: float = 3.0,
    metrics: Iterable[str | Metric] | str | None = None,
    convention: str = "paper",
    scenes: Sequence[str] | None = None,
    pairing: Sequence[int] | NDArray[np.int64] | None = None,
    episodes: Sequence[Any] | None = None,
    threads: int | None = None,
) -> ScoreTable:
    """Score queries against references.

    Args:
        references: the instructed paths: labels for graphs and tables, (n, k) coordinates otherwise.
        queries: the agent's paths, one for each reference.
        distance: the metric on places; None is Euclidean. A mapping from scene to distance needs `scenes`.
        threshold: d_th, the success threshold, in the units of the distance.
        metrics: which metrics, as symbols or values; all of the paper's by default.
        convention: the set of choices; "paper" is the one there is.
        scenes: the scene of each query, where `distance` is a mapping.
        pairing: the number of the reference that each query answers, where several share one.
        episodes: names for the rows; 0, 1, 2, ... by default.
        threads: how many cores to use; by default all of them for large batches.

    >>> table = score(references=[[[0, 0], [4, 0]]], queries=[[[0, 0], [4, 1]]], metrics="NE,nDTW")
    >>> table.means()
    {'NE': 1.0, 'nDTW': 0.8464817248906141}
    """
    check_threshold(threshold)
    if convention != "paper":
        raise OptionError(f"there is no convention {convention!r}{did_you_mean(convention, ['paper'])} Known: paper")
    chosen = find_metrics(metrics, METRICS)
    pairs = _check_pairing(references, queries, pairing)
    names: Sequence[Any] = range(len(queries)) if episodes is None else list(episodes)
    if len(names) != len(queries):
        raise PathError(f"{len(queries)} queries but {len(names)} episode names; give one for each")

    columns = {metric.symbol: np.empty(len(queries)) for metric in chosen}
    moved = 0.0
    fingerprints = set()
    for numbers, space in _by_scene(distance, scenes, len(queries), names):
        r, q, local = _encode(space, references, queries, pairs, numbers, names)
        fingerprints.add(space.fingerprint)
        for batch in (r, q):
            if batch.moved is not None and batch.moved.size:
                moved = max(moved, float(batch.moved.max()))
        part = columns if numbers is None else {symbol: np.empty(len(numbers)) for symbol in columns}
        _score_scene(space, r, q, local, threshold, chosen, part, threads)
        if numbers is not None:
            for symbol, values in part.items():
                columns[symbol][numbers] = values
    settings: dict[str, Any] = {
        "convention": convention,
        "threshold": float(threshold),
        "distance": sorted(fingerprints),
        "version": _version(),
    }
    if moved:
        settings["largest snap"] = moved
    return ScoreTable(columns, settings, episodes=names, scenes=None if scenes is None else list(scenes))


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


def _by_scene(
    distance: Distance | Mapping[str, Distance] | None,
    scenes: Sequence[str] | None,
    count: int,
    names: Sequence[Any],
) -> Iterable[tuple[Offsets | None, Distance]]:
    """Yield the numbers of each scene's queries (None: all there are) and the scene's distance."""
    if not isinstance(distance, Mapping):
        yield None, Euclidean() if distance is None else distance
        return
    if scenes is None:
        raise OptionError("distance is a mapping from scene to distance; say with scenes= where each query was walked")
    if len(scenes) != count:
        raise PathError(f"{count} queries but {len(scenes)} scenes; give one for each query")
    groups: dict[str, list[int]] = {}
    for number, scene in enumerate(scenes):
        groups.setdefault(scene, []).append(number)
    for scene, numbers in groups.items():
        if scene not in distance:
            raise PathError(f"episode {names[numbers[0]]}: there is no scene {scene!r}{did_you_mean(scene, distance)}")
        yield np.array(numbers, dtype=np.int64), distance[scene]


def _encode(
    space: Distance,
    references: Any,
    queries: Any,
    pairs: Offsets | None,
    numbers: Offsets | None,
    names: Sequence[Any],
) -> tuple[PathBatch, PathBatch, Offsets | None]:
    """Encode the paths of one scene; errors name the episode."""
    if numbers is None:
        answered = pairs

        def query_name(number: int) -> str:
            return f"episode {names[number]}, query"

        def reference_name(number: int) -> str:
            return f"episode {names[number]}, reference" if pairs is None else f"reference {number}"
    else:
        wanted = numbers if pairs is None else pairs[numbers]
        distinct, answered = np.unique(wanted, return_inverse=True)
        references = [references[number] for number in distinct.tolist()]
        queries = [queries[number] for number in numbers.tolist()]

        def query_name(number: int) -> str:
            return f"episode {names[numbers[number]]}, query"

        def reference_name(number: int) -> str:
            first = int(numbers[np.flatnonzero(answered == number)[0]])
            return f"episode {names[first]}, reference"

    r = space.encode(references, role=reference_name)
    q = space.encode(queries, role=query_name)
    if r.places.ndim == 2 and len(r) and len(q) and r.places.shape[1] != q.places.shape[1]:
        raise PathError(
            f"references have {r.places.shape[1]}-dimensional points and queries {q.places.shape[1]}-dimensional ones; "
            "both need the same dimension"
        )
    return r, q, answered


def _score_scene(
    space: Distance,
    r: PathBatch,
    q: PathBatch,
    pairing: Offsets | None,
    threshold: float,
    metrics: tuple[Metric, ...],
    columns: dict[str, Floats],
    threads: int | None,
) -> None:
    needs = frozenset().union(*(metric.needs for metric in metrics))
    scale = threshold if "coverage" in needs else 0.0
    reach = threshold if "edits" in needs else -1.0
    measure = _measurer(space, r, q)
    reference_counts, query_counts = r.lengths.astype(np.float64), q.lengths.astype(np.float64)

    def run(start: int) -> None:
        stop = min(start + EPISODES_AT_ONCE, len(q))
        measured = np.empty((len(MEASURED), stop - start))
        measure(start, stop, None if pairing is None else pairing[start:stop], scale, reach, measured)
        counts = reference_counts[start:stop] if pairing is None else reference_counts[pairing[start:stop]]
        measurements = Measurements(*measured, counts, query_counts[start:stop], threshold)  # type: ignore[call-arg]
        for metric in metrics:
            columns[metric.symbol][start:stop] = metric.compute(measurements)

    starts = range(0, len(q), EPISODES_AT_ONCE)
    workers = min(len(starts), _cores() if threads is None else max(1, threads))
    if workers <= 1 or kernels.name != "native":
        for start in starts:
            run(start)
        return
    with ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(run, starts):
            pass


Measure = Callable[[int, int, Offsets | None, float, float, Floats], None]


def _measurer(space: Distance, r: PathBatch, q: PathBatch) -> Measure:
    """Return the kernel call for episodes start to stop, whatever kind of distance they have."""

    def part(start: int, stop: int, pairing: Offsets | None) -> tuple[Any, Offsets, Any, Offsets]:
        rs, qs = r if pairing is not None else r.part(start, stop), q.part(start, stop)
        return rs.places, rs.offsets, qs.places, qs.offsets

    if isinstance(space, Euclidean):

        def by_points(start: int, stop: int, pairing: Offsets | None, scale: float, reach: float, out: Floats) -> None:
            kernels.measure_points(*part(start, stop, pairing), pairing, scale, reach, out)

        return by_points
    table = getattr(space, "table", None)
    if table is not None:

        def by_table(start: int, stop: int, pairing: Offsets | None, scale: float, reach: float, out: Floats) -> None:
            kernels.measure_table(table, *part(start, stop, pairing), pairing, scale, reach, out)

        return by_table

    def by_blocks(start: int, stop: int, pairing: Offsets | None, scale: float, reach: float, out: Floats) -> None:
        for number in range(start, stop):
            reference, query = r[number if pairing is None else int(pairing[number - start])], q[number]
            block = space.between(reference, query)
            one = np.empty((len(MEASURED), 1))
            kernels.measure_block(
                block.reshape(-1),
                np.zeros(1, dtype=np.int64),
                np.append(space.pairs(reference[:-1], reference[1:]), 0.0),
                np.append(space.pairs(query[:-1], query[1:]), 0.0),
                reference,
                np.array([0, len(reference)]),
                query,
                np.array([0, len(query)]),
                None,
                scale,
                reach,
                one,
            )
            out[:, number - start] = one[:, 0]

    return by_blocks


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _version() -> str:
    from wayscore import __version__

    return __version__
