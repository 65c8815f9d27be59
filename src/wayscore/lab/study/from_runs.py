"""Studies of real agents: comparison sets from their own runs on real graphs.

Pictures show paths from above, where two storeys would cover each other. So all paths of a set are on one storey.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wayscore.convention.presets import find_convention
from wayscore.distances.graph import Graph
from wayscore.episodes import Reference, Run
from wayscore.errors import OptionError, PathError
from wayscore.evaluation.pairing import join
from wayscore.evaluation.result import names_apart
from wayscore.formats import load_references, load_run
from wayscore.formats.graphs import distances_for
from wayscore.lab.study.checks import make_check
from wayscore.lab.study.design import assemble, check_options
from wayscore.lab.study.model import QUERIES, QUESTION, ComparisonSet, Kind, SceneMap, Study
from wayscore.lab.study.sampling import Success
from wayscore.worlds import Rng

File = str | os.PathLike[str]
POLICIES: dict[str, Any] = {"missing": "skip", "unknown": "skip", "duplicate": "keep", "start": "keep", "node": "skip"}
"""Sets use the episodes that several runs have in common, so gaps and problems of single runs are skipped."""
STOREY = 2.0
"""The nodes of a set differ by no more than this in height, metres."""


def create_from_runs(
    runs: Sequence[File],
    *,
    references: File,
    graphs: File,
    kind: Kind = "UC",
    sets: int = 60,
    raters: int = 9,
    each: int = 1,
    repeats: int = 0,
    checks: int = 0,
    seed: int = 0,
    success: Success = "all",
    threshold: float | None = None,
    ties: bool = False,
    name: str = "",
    question: str = QUESTION,
) -> Study:
    """Create a study from the paths that five or more agents took in the same episodes.

    A set is an episode in which five agents took five different paths on one storey. If there are more than five, five
    are drawn at random. No two sets have the same reference.

    Args:
        runs: result files of five agents or more.
        references: the ground-truth paths.
        graphs: connectivity files, a folder or a tar of them.
        kind: "UC", unconstrained, or "SC", success-constrained.
        sets: how many sets.
        raters: how many raters share them.
        each: how many raters see each set.
        repeats: how many of their sets each rater sees twice.
        checks: how many sets with an obvious answer every rater sees.
        seed: random seed of the study.
        success: in an SC study, "all" five queries of a set succeed, or two to four do ("mixed").
        threshold: d_th in metres; 3 by default.
        ties: whether several queries may share a rank.
        name: what pages and tables call the study.
        question: the question to the raters.
    """
    check_options(kind=kind, success=success, sets=sets, seed=seed)
    d_th = find_convention("paper").threshold if threshold is None else threshold
    if len(runs) < QUERIES:
        raise OptionError(
            f"a set has {QUERIES} queries, each from a different run; give {QUERIES} runs or more, not {len(runs)}"
        )
    loaded = [load_run(path) for path in runs]
    truth = load_references(references)
    scenes = distances_for(truth, Path(graphs))
    if scenes is None or truth.format == "street":
        raise OptionError(
            f"{truth.name}: a study from runs needs paths on graphs of buildings, not coordinates or streets"
        )
    names = names_apart([run.name for run in loaded], [Path(path).parent.name for path in runs])
    found = _paths(loaded, names, truth, scenes)
    rng = np.random.default_rng([seed, *b"runs", *kind.encode()])
    plain: list[ComparisonSet] = []
    used: set[tuple[str, str]] = set()
    for number in rng.permutation(len(found)):
        reference, paths = found[number]
        key = reference.scene, reference.path_id
        chosen = None if key in used else _five(reference, paths, scenes[reference.scene], rng, kind, success, d_th)
        if chosen is not None:
            used.add(key)
            queries = [paths[agent] for agent in chosen]
            called = f"{kind.lower()}-{reference.episode}"
            plain.append(ComparisonSet(called, reference.scene, list(reference.path), queries, sources=chosen))
        if len(plain) == sets:
            break
    if len(plain) < sets:
        wanted = "" if kind == "UC" else f", {'all' if success == 'all' else 'two to four'} of them successful"
        raise OptionError(
            f"cannot find {sets} sets: in only {len(plain)} episodes of {truth.name} five agents took five different "
            f"paths on one storey{wanted}; give more runs or lower <<sets>>"
        )
    obvious = _checks(plain, scenes, checks, seed)
    files = [*map(Path, runs), Path(references)]
    how = {
        "from": "runs",
        "options": {
            "kind": kind,
            "sets": sets,
            "raters": raters,
            "each": each,
            "repeats": repeats,
            "checks": checks,
            "seed": seed,
            "success": success,
            "threshold": threshold,
            "ties": ties,
            "name": name,
            "question": question,
        },
        "runs": dict(zip(names, (_digest(path) for path in files[:-1]), strict=True)),
        "references": {files[-1].name: _digest(files[-1])},
        "graphs": {one.scene: scenes[one.scene].fingerprint for one in plain},
    }
    maps = {one.scene: _map(scenes[one.scene], one.scene) for one in plain}
    return assemble(plain, obvious, maps, d_th, how)


def _paths(
    runs: Sequence[Run], names: Sequence[str], truth: Any, scenes: Mapping[str, Graph]
) -> list[tuple[Reference, dict[str, list[str]]]]:
    """Return each episode with the path of every agent that answered it, without repeated nodes."""
    paths: dict[str, dict[str, list[str]]] = {}
    for run, name in zip(runs, names, strict=True):
        for reference, query in join(run, truth, graphs=scenes, **POLICIES).pairs:
            walked = [node for n, node in enumerate(query.path) if n == 0 or node != query.path[n - 1]]
            paths.setdefault(reference.episode, {})[name] = walked
    return [(truth.episodes[episode], found) for episode, found in paths.items() if len(found) >= QUERIES]


def _five(
    reference: Reference,
    paths: Mapping[str, list[str]],
    graph: Graph,
    rng: Rng,
    kind: Kind,
    success: Success,
    threshold: float,
) -> list[str] | None:
    """Draw five agents whose paths differ and succeed as the study requires; None if there are not five."""
    agents = [agent for agent, path in paths.items() if _climb(graph, [*reference.path, *path]) <= STOREY]
    order = [agents[number] for number in rng.permutation(len(agents))]
    reached = [agent for agent in order if graph.distance(paths[agent][-1], reference.path[-1]) <= threshold]
    others = [agent for agent in order if agent not in reached]
    if kind == "UC":
        drawn = _different(order, paths)[:QUERIES]
    elif success == "all":
        drawn = _different(reached, paths)[:QUERIES]
    else:
        count = int(rng.integers(2, QUERIES))
        drawn = [*_different(reached, paths)[:count], *_different(others, paths)[: QUERIES - count]]
    return [drawn[number] for number in rng.permutation(QUERIES)] if len(drawn) == QUERIES else None


def _climb(graph: Graph, nodes: Sequence[str]) -> float:
    """Return by how much nodes differ in height, metres; 0 if their graph is flat."""
    if graph.positions is None or graph.positions.shape[1] < 3:
        return 0.0
    return float(np.ptp(graph.positions[[graph.index[node] for node in nodes], 2]))


def _different(agents: Sequence[str], paths: Mapping[str, list[str]]) -> list[str]:
    """Return the first agent of each path."""
    first: dict[tuple[str, ...], str] = {}
    for agent in agents:
        first.setdefault(tuple(paths[agent]), agent)
    return list(first.values())


def _checks(plain: Sequence[ComparisonSet], scenes: Mapping[str, Graph], count: int, seed: int) -> list[ComparisonSet]:
    """Create checks from the references of the first sets where there is room for an obvious answer."""
    made: list[ComparisonSet] = []
    for one in plain:
        if len(made) == count:
            break
        graph = scenes[one.scene]
        check = make_check(graph, one.reference, np.random.default_rng([seed, len(made), *b"checks"]), storey=STOREY)
        if check is not None:
            name = f"check-{len(made) + 1}"
            made.append(
                ComparisonSet(
                    name, one.scene, one.reference, check.queries, kind="check", best=check.best, worst=check.worst
                )
            )
    if len(made) < count:
        raise OptionError(
            f"cannot make {count} checks: only {len(made)} of the sets allow an obvious answer; lower <<checks>> or "
            "raise <<sets>>"
        )
    return made


def _map(graph: Graph, scene: str) -> SceneMap:
    if graph.positions is None:
        raise PathError(f"the graph of {scene} has no positions, so its paths cannot be drawn")
    return SceneMap.of(graph, [str(node) for node in graph.nodes])


def _digest(path: Path) -> str:
    from wayscore.formats.files import read

    return f"sha256:{hashlib.sha256(read(path).content).hexdigest()[:16]}"
