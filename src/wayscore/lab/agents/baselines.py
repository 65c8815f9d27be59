"""The random agent of the paper's Table 2: uniformly random moves, as many as a randomly drawn reference has."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.distances.graph import Graph
from wayscore.errors import OptionError, PathError
from wayscore.evaluation.policies import Problems
from wayscore.evaluation.result import Result
from wayscore.evaluation.score import score
from wayscore.evaluation.table import ScoreTable
from wayscore.formats.episodes import References
from wayscore.formats.trajectories import encode_run
from wayscore.metrics import find_metrics
from wayscore.paths import PathBatch
from wayscore.statistics import Interval
from wayscore.writing import write_whole

Codes = NDArray[np.int32]
TABLE_2 = {
    "r2r": {"SR": 5.1, "SPL": 3.3, "SED": 5.8, "CLS": 29.0, "nDTW": 27.9, "SDTW": 3.6},
    "r4r": {"SR": 13.7, "SPL": 2.2, "SED": 16.5, "CLS": 22.3, "nDTW": 18.5, "SDTW": 4.1},
}
"""The paper's rows for the random agent, in percent, by the format of the references. Its SED is above its SR, which
is impossible by its own definition, SED = SR (...)."""


def random_walks(graph: Graph, starts: Codes, counts: NDArray[np.int64], rng: np.random.Generator) -> PathBatch:
    """Walk from each start to uniformly drawn neighbours, all walks at once; a walk has `counts` nodes.

    >>> line = Graph.from_edges([("a", "b"), ("b", "c")])
    >>> walks = random_walks(line, np.array([0, 2], dtype=np.int32), np.array([2, 3]), np.random.default_rng(0))
    >>> [[line.nodes[code] for code in walk] for walk in walks][0]
    ['a', 'b']
    """
    first, neighbors = graph.adjacency
    degrees = np.diff(first)
    if len(stuck := np.flatnonzero(degrees[starts] == 0)):
        raise PathError(
            f"no edge leaves {graph.nodes[starts[stuck[0]]]!r} in the {graph.name}, so a walk cannot start there"
        )
    steps = np.empty((len(starts), int(counts.max(initial=1))), dtype=np.int32)
    steps[:, 0] = here = starts
    for step in range(1, steps.shape[1]):
        here = neighbors[first[here] + (rng.random(len(here)) * degrees[here]).astype(np.int64)]
        steps[:, step] = here
    taken = np.arange(steps.shape[1]) < counts[:, None]
    return PathBatch(steps[taken], np.concatenate(([0], np.cumsum(counts))).astype(np.int64))


def score_random(
    references: References, graphs: Mapping[str, Graph], *, walks: int = 1_000_000, seed: int = 0, **options: Any
) -> ScoreTable:
    """Score random walks against references; every reference gets equally many, or one more.

    A walk starts where its reference starts. Its number of nodes is that of a randomly drawn reference, not of its own;
    each move goes to one of the neighbours, all equally likely.

    The table has one row per walk, in the order of scenes; `options` are those of `wayscore.score`.
    """
    if walks < 1:
        raise OptionError(f"the number of walks must be 1 or more, got {walks}")
    episodes = list(references.episodes.values())
    lengths = np.array([len(reference.path) for reference in episodes])
    shares = np.bincount(np.arange(walks) % len(episodes), minlength=len(episodes))
    by_scene: dict[str, list[int]] = {}
    for number, reference in enumerate(episodes):
        by_scene.setdefault(reference.scene, []).append(number)
    tables = []
    for (scene, numbers), rng in zip(by_scene.items(), np.random.default_rng(seed).spawn(len(by_scene)), strict=True):
        graph = graphs[scene]
        paths = graph.encode([episodes[number].path for number in numbers], role=f"reference in {scene}")
        pairing = np.repeat(np.arange(len(numbers)), shares[numbers])
        starts = paths.places[paths.offsets[:-1]][pairing]
        queries = random_walks(graph, starts, rng.choice(lengths, size=len(pairing)), rng)
        tables.append(score(references=paths, queries=queries, pairing=pairing, distance=graph, **options))
    columns = {symbol: np.concatenate([table[symbol] for table in tables]) for symbol in tables[0].columns}
    distances = sorted({fingerprint for table in tables for fingerprint in table.settings["distance"]})
    return ScoreTable(columns, {**tables[0].settings, "distance": distances}, own_metrics=tables[0].own_metrics)


def evaluate_random(
    references: References, graphs: Mapping[str, Graph], *, walks: int = 1_000_000, seed: int = 0, **options: Any
) -> Result:
    """Return the random agent's result: `score_random`, with intervals from the normal approximation."""
    table = score_random(references, graphs, walks=walks, seed=seed, **options)
    intervals = {}
    for symbol, mean in table.means().items():
        finite = table[symbol][np.isfinite(table[symbol])]
        margin = 1.96 * float(finite.std()) / len(finite) ** 0.5 if len(finite) else 0.0
        intervals[symbol] = Interval(None, None, None) if mean is None else Interval(mean, mean - margin, mean + margin)
    found = {"name": references.name, "fingerprint": references.fingerprint, "episodes": len(references)}
    return Result(
        f"random (seed {seed})",
        tuple(table.own_metrics.get(symbol) or find_metrics([symbol])[0] for symbol in table.columns),
        {**table.settings, "policies": {}, "references": found, "format": "random", "undefined": table.undefined()},
        walks,
        Problems(),
        {"resamples": 0, "seed": seed, "cluster": "none", "clusters": walks},
        (),
        table,
        known=intervals,
    )


def write_random_run(
    path: str | os.PathLike[str], references: References, graphs: Mapping[str, Graph], *, seed: int = 0
) -> None:
    """Write one random walk per reference as a result file, in the format of R2R."""
    lengths = np.array([len(reference.path) for reference in references.episodes.values()])
    rng = np.random.default_rng(seed)
    paths = {}
    for name, reference in references.episodes.items():
        graph = graphs[reference.scene]
        start = np.array([graph.index[reference.path[0]]], dtype=np.int32)
        walk = random_walks(graph, start, rng.choice(lengths, size=1), rng)[0]
        paths[name] = [graph.nodes[code] for code in walk]
    write_whole(path, encode_run(paths))
