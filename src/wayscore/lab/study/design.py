"""Creating a study: which sets people compare, in which worlds, and who sees them in which order.

    study = create("UC", sets=265, raters=9, seed=1)
    write_study("uc.json", study)

`wayscore.lab.study.from_runs.create_from_runs` creates a study from runs of agents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wayscore.errors import OptionError, did_you_mean
from wayscore.lab.study.assigning import assign, repeats_in
from wayscore.lab.study.files import read_study, study_bytes, write_study
from wayscore.lab.study.model import QUERIES, QUESTION, Assignment, ComparisonSet, Item, Kind, SceneMap, Study
from wayscore.lab.study.sampling import (
    SAMPLERS,
    SUCCESSES,
    Sampler,
    Success,
    draw_check,
    draw_set,
    make_worlds,
    mean_threshold,
    scene_map,
)
from wayscore.worlds.world import check_whole

__all__ = [
    "PAPER",
    "QUERIES",
    "QUESTION",
    "Assignment",
    "ComparisonSet",
    "Item",
    "SceneMap",
    "Study",
    "create",
    "paper_study",
    "read_study",
    "rebuild",
    "study_bytes",
    "write_study",
]

PAPER: dict[str, dict[str, Any]] = {"UC": {"sets": 265, "raters": 9}, "SC": {"sets": 240, "raters": 9}}
"""The paper's two studies: 1,325 and 1,200 samples in sets of five.

The counts of its Table 1 never exceed these numbers of sets (except for one slip), so one rater ranked each set.
"""


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

    Args:
        kind: "UC", unconstrained, or "SC", success-constrained.
        sets: how many sets of one reference (ground-truth path) and five queries (trajectories of agents).
        raters: how many raters share them.
        each: how many raters see each set; more than one is needed for agreement between raters.
        repeats: how many of their sets each rater sees twice, for consistency.
        checks: how many sets with an obvious answer every rater sees, for attention.
        seed: random seed of the study. The numbers of raters, repeats and checks do not change the plain sets.
        worlds: how many worlds the sets are spread over.
        sampler: how queries are drawn: "near" the reference, by the paper's procedure from the reference's "start",
            or "independent" of the reference, as the paper describes it.
        success: in an SC study, "all" five queries of a set end within the threshold of the goal, or two to four do
            ("mixed"). SDTW, SPL and SED cannot order paths that fail, since they are 0 for all of them.
        ties: whether several queries may share a rank.
        name: what pages and tables call the study.
        question: the question to the raters; the paper's by default.

    >>> study = create("SC", sets=2, raters=2, each=2, checks=1, seed=3, worlds=1)
    >>> [one.name for one in study.sets]
    ['sc-1', 'sc-2', 'check-1']
    >>> [sorted(item.set for item in one.items) for one in study.assignments]
    [['check-1', 'sc-1', 'sc-2'], ['check-1', 'sc-1', 'sc-2']]
    """
    check_options(kind=kind, success=success, sets=sets, seed=seed)
    if sampler not in SAMPLERS:
        raise OptionError(
            f"<<sampler>> must be near, start or independent, not {sampler!r}{did_you_mean(sampler, SAMPLERS)}"
        )
    check_whole("worlds", worlds, least=1)
    made = make_worlds(seed, min(worlds, sets))
    threshold = mean_threshold(made)
    scenes = list(made)
    plain = []
    for number in range(sets):
        scene = scenes[number % len(scenes)]
        rng = np.random.default_rng([seed, number, *kind.encode()])
        called = f"{kind.lower()}-{number + 1:0{len(str(sets))}}"
        plain.append(
            draw_set(called, scene, made[scene], rng, kind=kind, threshold=threshold, sampler=sampler, success=success)
        )
    obvious = []
    for number in range(checks):
        scene = scenes[number % len(scenes)]
        rng = np.random.default_rng([seed, number, *b"checks"])
        obvious.append(draw_check(f"check-{number + 1}", scene, made[scene], rng))
    how = {
        "from": "worlds",
        "options": {
            "kind": kind,
            "sets": sets,
            "raters": raters,
            "each": each,
            "repeats": repeats,
            "checks": checks,
            "seed": seed,
            "worlds": worlds,
            "sampler": sampler,
            "success": success,
            "ties": ties,
            "name": name,
            "question": question,
        },
    }
    return assemble(plain, obvious, {scene: scene_map(world) for scene, world in made.items()}, threshold, how)


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
    return Study(
        name=options["name"] or f"{kind} study, seed {seed}",
        kind=kind,
        question=options["question"],
        ties=options["ties"],
        seed=seed,
        threshold=threshold,
        scenes=scenes,
        sets=[*plain, *repeats_in(assignments, plain), *checks],
        assignments=assignments,
        how=how,
    )


def paper_study(kind: Kind, seed: int = 0) -> Study:
    """Return one of the paper's two studies: 265 sets (UC) or 240 (SC), each ranked by one of nine raters."""
    return create(kind, seed=seed, **PAPER[kind])


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
