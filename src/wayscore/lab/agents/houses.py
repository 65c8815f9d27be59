"""Data for training: episodes of a file or of generated worlds, with some houses held out, and the views there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wayscore.distances.graph import Graph
from wayscore.episodes import Reference, References
from wayscore.errors import OptionError
from wayscore.formats import load_references
from wayscore.formats.graphs import distances_for
from wayscore.lab.agents.sight import Sight, WordWeights, read_views
from wayscore.rewards.tasks import Tasks, Vocabulary, from_references, from_worlds, generate

WORLD_EPISODES = 4_000
WORLD_STAGES = 2
"""How many shortest paths are joined in generated episodes: two give about five edges, with a turn."""
HELD_OUT_EPISODES = 2_000
"""The most episodes of held-out houses: enough for a stable score, few enough to evaluate often."""


@dataclass(frozen=True, slots=True)
class Lessons:
    """The data of a training.

    Attributes:
        train: episodes to learn from.
        dev: episodes in held-out houses, to evaluate on.
        sight: the words that are seen in the views of all houses, if views are given.
    """

    train: Tasks
    dev: Tasks
    sight: Sight | None = None


def lessons_from_files(
    references: str | Path,
    graphs: str | Path | None,
    *,
    views: str | Path | None = None,
    held_out: int = 8,
    words: int = 80,
    known: Sequence[str] | None = None,
    weights: WordWeights | None = None,
    most: int | None = None,
    seed: int = 0,
) -> Lessons:
    """Read a training split and hold some houses out.

    Args:
        references: R2R or R4R, the training split.
        graphs: connectivity files.
        views: captions and detections of the views, a tar.
        held_out: how many houses are only used for evaluation.
        words: how many words of an instruction are kept.
        known: the words that an agent knows already; those of the instructions by default.
        weights: of seen words, as an agent learned them; by default they are learned in the houses not held out.
        most: how many episodes are drawn to learn from; all by default.
        seed: chooses the houses and the episodes.
    """
    loaded = load_references(references)
    episodes = list(loaded.episodes.values())
    houses = sorted({reference.scene for reference in episodes})
    if not 0 < held_out < len(houses):
        raise OptionError(
            f"<<held_out>> must be at least 1 and less than {len(houses)}, the number of houses in {loaded.name}, not "
            f"{held_out}"
        )
    rng = np.random.default_rng(seed)
    away = set(rng.permutation(houses)[:held_out].tolist())
    learned = _drawn([reference for reference in episodes if reference.scene not in away], most, rng)
    evaluated = _drawn([reference for reference in episodes if reference.scene in away], HELD_OUT_EPISODES, rng)
    vocabulary = (
        Vocabulary.of((reference.instruction for reference in learned), least=2) if known is None else Vocabulary(known)
    )
    every = from_references([*learned, *evaluated], distances_for(loaded, graphs), vocabulary=vocabulary, words=words)
    sight = None if views is None else read_views(views, every.nodes, vocabulary, weights, learn_in=set(houses) - away)
    return Lessons(every.some(range(len(learned))), every.some(range(len(learned), len(every))), sight)


def _drawn(episodes: list[Reference], most: int | None, rng: np.random.Generator) -> list[Reference]:
    if most is None or len(episodes) <= most:
        return episodes
    return [episodes[row] for row in sorted(rng.permutation(len(episodes))[:most].tolist())]


def lessons_from_worlds(
    episodes: int = WORLD_EPISODES, *, worlds: int = 20, stages: int = WORLD_STAGES, seed: int = 0
) -> Lessons:
    """Generate worlds; every fifth is held out."""
    every = from_worlds(episodes, worlds=worlds, stages=stages, seed=seed)
    away = {scene for number, scene in enumerate(every.nodes.scenes) if number % 5 == 4}
    rows = np.arange(len(every))
    evaluated = np.array([scene in away for scene in every.scene_of])
    return Lessons(every.some(rows[~evaluated]), every.some(rows[evaluated]))


def world_test(episodes: int = 500, *, worlds: int = 5, seed: int = 1_000) -> tuple[References, dict[str, Graph]]:
    """Generate worlds that no training has seen, to test in."""
    made = generate(episodes, worlds=worlds, seed=seed, stages=WORLD_STAGES)
    return References("worlds", "r2r", {one.episode: one for one in made[0]}), made[1]


def tasks_for(
    references: References | list[Reference],
    graphs: object,
    vocabulary: Vocabulary,
    *,
    words: int = 80,
    views: str | Path | None = None,
    weights: WordWeights | None = None,
) -> tuple[Tasks, Sight | None]:
    """Return the tasks of episodes and the words that are seen there, with the vocabulary and weights of an agent."""
    tasks = from_references(references, graphs, vocabulary=vocabulary, words=words)  # type: ignore[arg-type]
    return tasks, None if views is None else read_views(views, tasks.nodes, vocabulary, weights)
