"""Creating a study: which sets people compare, from generated worlds or the runs of agents, and who sees which.

Pictures show paths from above, where two storeys would cover each other. So all paths of a set are on one storey.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from wayscore.convention.presets import find_convention
from wayscore.distances.graph import Graph
from wayscore.errors import OptionError, PathError, did_you_mean
from wayscore.evaluation.result import names_apart
from wayscore.evaluation.validation import join
from wayscore.formats import load_references, load_run
from wayscore.formats.base import read
from wayscore.formats.benchmarks import distances_for
from wayscore.formats.episodes import Reference
from wayscore.lab.study.model import QUERIES, QUESTION, Assignment, ComparisonSet, Item, Kind, SceneMap, Study
from wayscore.lab.study.sets import SAMPLERS, SUCCESSES, Sampler, Success, draw_check, draw_set, make_check
from wayscore.worlds import THRESHOLD_IN_EDGES, Node, Rng, World
from wayscore.worlds.files import node_name
from wayscore.worlds.world import check_whole

File = str | os.PathLike[str]
POLICIES: dict[str, Any] = {"missing": "skip", "unknown": "skip", "duplicate": "keep", "start": "keep", "node": "skip"}
"""Sets use the episodes that several runs have in common, so gaps and problems of single runs are skipped."""
STOREY = 2.0
"""The nodes of a set differ by no more than this in height, metres."""
PAPER: dict[str, dict[str, Any]] = {"UC": {"sets": 265, "raters": 9}, "SC": {"sets": 240, "raters": 9}}
"""The paper's two studies: 1,325 and 1,200 samples in sets of five.

The counts of its Table 1 never exceed these numbers of sets (except for one slip), so one rater ranked each set.
"""
AGAIN = "-again"
"""Ends the name of a repeat, after that of its set."""


def deal(names: Sequence[str], raters: int, each: int, rng: Rng) -> list[list[str]]:
    """Give every set to `each` different raters; the loads of two raters differ by at most one set.

    >>> sorted(len(hand) for hand in deal(["a", "b", "c", "d"], 3, 2, np.random.default_rng(0)))
    [2, 3, 3]
    """
    if each > raters:
        raise OptionError(
            f"each set should go to {each} raters, but there are only {raters}; raise <<raters>> or lower <<each>>"
        )
    hands: list[list[str]] = [[] for _ in range(raters)]
    for number in rng.permutation(len(names)):
        chance = rng.random(raters)
        order = sorted(range(raters), key=lambda rater: (len(hands[rater]), chance[rater]))
        for rater in order[:each]:
            hands[rater].append(names[number])
    return hands


def assign(
    plain: Sequence[ComparisonSet], checks: Sequence[ComparisonSet], *, raters: int, each: int, repeats: int, rng: Rng
) -> list[Assignment]:
    """Return what each rater sees: their share of the plain sets, all checks, and some of their sets a second time.

    A repeat comes at a random position after the set that it repeats, with at least one other set between the two if
    there is one.
    """
    assignments = []
    for rater, hand in enumerate(deal([one.name for one in plain], raters, each, rng), start=1):
        names = [str(name) for name in rng.permutation([*hand, *(one.name for one in checks)])]
        again = [name for name in names if name in hand][: max(1, (len(hand) + 1) // 2)]  # early, so far apart
        if repeats > len(again):
            raise OptionError(
                f"rater {rater} has {len(hand)} sets, of which at most {len(again)} can be repeated, not {repeats}; "
                "lower <<repeats>> or raise <<sets>>"
            )
        for name in rng.choice(again, size=repeats, replace=False) if repeats else ():
            first = min(names.index(name) + 2, len(names))
            names.insert(int(rng.integers(first, len(names) + 1)), f"{name}{AGAIN}")
        assignments.append(Assignment(rater, [Item(name, rng.permutation(QUERIES).tolist()) for name in names]))
    return assignments


def create(
    kind: Kind = "UC",
    *,
    sets: int = 60,
    raters: int = 9,
    each: int = 1,
    repeats: int = 0,
    checks: int = 0,
    seed: int = 0,
    worlds: int = 10,
    sampler: Sampler = "near",
    success: Success = "all",
    ties: bool = False,
    name: str = "",
    question: str = QUESTION,
) -> Study:
    """Create a study in generated worlds, as the paper does.

    `sets` sets of one reference and five queries, spread over `worlds` worlds, are shared by `raters` raters. `each`
    raters see each set; more than one is needed for agreement between raters. Each rater sees `repeats` of their sets
    twice, for consistency, and `checks` sets with an obvious answer, for attention. The numbers of raters, repeats and
    checks do not change the plain sets. With `ties`, several queries may share a rank.

    For `sampler`, see `sets.draw_stages`. In an SC study, "all" five queries of a set end within the threshold of the
    goal, or two to four do ("mixed"): SDTW, SPL and SED cannot order paths that fail, since they are 0 for all of them.

    >>> study = create("SC", sets=2, raters=2, each=2, checks=1, seed=3, worlds=1)
    >>> [one.name for one in study.sets]
    ['sc-1', 'sc-2', 'check-1']
    >>> [sorted(item.set for item in one.items) for one in study.assignments]
    [['check-1', 'sc-1', 'sc-2'], ['check-1', 'sc-1', 'sc-2']]
    """
    options = locals()
    check_options(kind=kind, success=success, sets=sets, seed=seed)
    if sampler not in SAMPLERS:
        raise OptionError(
            f"<<sampler>> must be near, start or independent, not {sampler!r}{did_you_mean(sampler, SAMPLERS)}"
        )
    check_whole("worlds", worlds, least=1)
    seeds = np.random.default_rng([seed, *b"worlds"]).choice(2**31, size=min(worlds, sets), replace=False)
    made = {f"world{number + 1}": World.paper(int(one)) for number, one in enumerate(seeds)}
    lengths = np.concatenate([world.lengths for world in made.values()])
    threshold = THRESHOLD_IN_EDGES * math.fsum(lengths) / len(lengths)

    def drawn(count: int, words: str) -> Iterator[tuple[int, str, World, np.random.Generator]]:
        """Yield the number of each set, its scene, and its own random stream."""
        for number in range(count):
            scene = f"world{number % len(made) + 1}"
            yield number, scene, made[scene], np.random.default_rng([seed, number, *words.encode()])

    plain = []
    for number, scene, world, rng in drawn(sets, kind):
        called = f"{kind.lower()}-{number + 1:0{len(str(sets))}}"
        plain.append(
            draw_set(called, scene, world, rng, kind=kind, threshold=threshold, sampler=sampler, success=success)
        )
    obvious = [draw_check(f"check-{n + 1}", scene, world, rng) for n, scene, world, rng in drawn(checks, "checks")]
    maps = {
        scene: SceneMap.of(world.graph, [node_name(cast(Node, node)) for node in world.graph.nodes])
        for scene, world in made.items()
    }
    return assemble(plain, obvious, maps, threshold, {"from": "worlds", "options": options})


def check_options(*, kind: str, success: str, sets: int, seed: int) -> None:
    """Refuse options that no study has."""
    for word, value, known in (("kind", kind, tuple(PAPER)), ("success", success, SUCCESSES)):
        if value not in known:
            raise OptionError(f"<<{word}>> must be {' or '.join(known)}, not {value!r}{did_you_mean(value, known)}")
    check_whole("seed", seed, least=0)
    check_whole("sets", sets, least=1)


def assemble(
    plain: Sequence[ComparisonSet],
    checks: Sequence[ComparisonSet],
    scenes: dict[str, SceneMap],
    threshold: float,
    how: dict[str, Any],
) -> Study:
    """Assign sets to raters as the options of `how` say, and return the study."""
    options = how["options"]
    for word, least in (("raters", 1), ("each", 1), ("repeats", 0), ("checks", 0)):
        check_whole(word, options[word], least=least)
    kind, seed = options["kind"], options["seed"]
    assignments = assign(
        plain,
        checks,
        raters=options["raters"],
        each=options["each"],
        repeats=options["repeats"],
        rng=np.random.default_rng([seed, *b"assignments", *kind.encode()]),
    )
    assigned = {item.set for one in assignments for item in one.items}
    repeats = [
        ComparisonSet(name, one.scene, one.reference, one.queries, kind="repeat", of=one.name, sources=one.sources)
        for one in plain
        if (name := one.name + AGAIN) in assigned
    ]
    return Study(
        name=options["name"] or f"{kind} study, seed {seed}",
        kind=kind,
        question=options["question"],
        ties=options["ties"],
        seed=seed,
        threshold=threshold,
        scenes=scenes,
        sets=[*plain, *repeats, *checks],
        assignments=assignments,
        how=how,
    )


def rebuild(study: Study) -> Study:
    """Recreate a study in generated worlds from its saved design; a study from runs also needs their files."""
    if study.how.get("from") != "worlds":
        raise OptionError(
            f"the study {study.name!r} was created from runs, which its file does not contain; create it again with "
            "--from-runs and the same files"
        )
    try:
        return create(**study.how["options"])
    except (KeyError, TypeError):
        raise OptionError(f"the study {study.name!r} has no saved design, so it cannot be recreated") from None


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

    `runs` and `references` are files; `graphs` are connectivity files, a folder or a tar of them; `threshold` is d_th
    in metres, 3 by default. The other options are those of `create`.
    """
    options = {name: given for name, given in locals().items() if name not in ("runs", "references", "graphs")}
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
    walked: dict[str, dict[str, list[str]]] = {}  # episode -> agent -> path, without repeated nodes
    for run, agent in zip(loaded, names, strict=True):
        for reference, query in join(run, truth, graphs=scenes, **POLICIES).pairs:
            path = [node for n, node in enumerate(query.path) if n == 0 or node != query.path[n - 1]]
            walked.setdefault(reference.episode, {})[agent] = path
    found = [(truth.episodes[episode], paths) for episode, paths in walked.items() if len(paths) >= QUERIES]
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
    obvious: list[ComparisonSet] = []
    for one in plain:  # checks of the references of the first sets where there is room for an obvious answer
        if len(obvious) == checks:
            break
        rng = np.random.default_rng([seed, len(obvious), *b"checks"])
        check = make_check(scenes[one.scene], one.reference, rng, storey=STOREY)
        if check is not None:
            called, (queries, best, worst) = f"check-{len(obvious) + 1}", check
            obvious.append(
                ComparisonSet(called, one.scene, one.reference, queries, kind="check", best=best, worst=worst)
            )
    if len(obvious) < checks:
        raise OptionError(
            f"cannot make {checks} checks: only {len(obvious)} of the sets allow an obvious answer; lower <<checks>> "
            "or raise <<sets>>"
        )
    digests = [f"sha256:{hashlib.sha256(read(path).content).hexdigest()[:16]}" for path in (*runs, references)]
    how = {
        "from": "runs",
        "options": options,
        "runs": dict(zip(names, digests[:-1], strict=True)),
        "references": {Path(references).name: digests[-1]},
        "graphs": {one.scene: scenes[one.scene].fingerprint for one in plain},
    }
    maps = {}
    for one in plain:
        if one.scene not in maps:
            graph = scenes[one.scene]
            if graph.positions is None:
                raise PathError(f"the graph of {one.scene} has no positions, so its paths cannot be drawn")
            maps[one.scene] = SceneMap.of(graph, [str(node) for node in graph.nodes])
    return assemble(plain, obvious, maps, d_th, how)


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
