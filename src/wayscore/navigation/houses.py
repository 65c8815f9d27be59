"""Data for training: episodes of a file or of generated worlds, some houses held out to look at, and what is seen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wayscore.episodes import Reference, References
from wayscore.errors import OptionError
from wayscore.formats import load_references
from wayscore.navigation.sight import Sight, read_views
from wayscore.navigation.tasks import Tasks, from_references, from_worlds
from wayscore.navigation.words import Vocabulary
from wayscore.report.runs import distances_for

WORLD_EPISODES = 4_000


@dataclass(frozen=True, slots=True)
class Lessons:
    """What an agent is trained on.

    Attributes:
        train: episodes to learn from.
        dev: episodes in other houses, to look at.
        sight: what is seen in all of the houses, if that is known.
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
    seed: int = 0,
) -> Lessons:
    """Read a training split and hold some houses out.

    Args:
        references: R2R or R4R, the training split.
        graphs: connectivity files.
        views: captions and detections of the views, a tar.
        held_out: how many houses are only looked at.
        words: how many words of an instruction are kept.
        seed: chooses the houses.
    """
    asked = load_references(references)
    episodes = list(asked.episodes.values())
    houses = sorted({reference.scene for reference in episodes})
    if not 0 < held_out < len(houses):
        raise OptionError(f"{asked.name} has {len(houses)} houses; hold out at least one and not all, got {held_out}")
    away = set(np.random.default_rng(seed).permutation(houses)[:held_out].tolist())
    learned = [reference for reference in episodes if reference.scene not in away]
    looked_at = [reference for reference in episodes if reference.scene in away]
    vocabulary = Vocabulary.of((reference.instruction for reference in learned), least=2)
    every = from_references([*learned, *looked_at], distances_for(asked, graphs), vocabulary=vocabulary, words=words)
    sight = None if views is None else read_views(views, every.places, vocabulary)
    return Lessons(every.some(range(len(learned))), every.some(range(len(learned), len(every))), sight)


def lessons_from_worlds(episodes: int = WORLD_EPISODES, *, worlds: int = 20, stages: int = 4, seed: int = 0) -> Lessons:
    """Generate worlds; every fifth is only looked at."""
    every = from_worlds(episodes, worlds=worlds, stages=stages, seed=seed)
    away = {scene for number, scene in enumerate(every.places.scenes) if number % 5 == 4}
    rows = np.arange(len(every))
    looked_at = np.array([scene in away for scene in every.scene_of])
    return Lessons(every.some(rows[~looked_at]), every.some(rows[looked_at]))


def tasks_for(
    references: References | list[Reference],
    graphs: object,
    vocabulary: Vocabulary,
    *,
    words: int = 80,
    views: str | Path | None = None,
) -> tuple[Tasks, Sight | None]:
    """Return episodes to walk, and what is seen there, in the words that an agent knows."""
    tasks = from_references(references, graphs, vocabulary=vocabulary, words=words)  # type: ignore[arg-type]
    return tasks, None if views is None else read_views(views, tasks.places, vocabulary)
