"""Data for training: episodes with some houses held out, and the words that are seen in the views there.

Views are numbered by elevation (12 each: down, level, up) and by heading, 30 degrees apart clockwise from +y.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore import reading
from wayscore.distances.graph import Graph
from wayscore.errors import FormatError, OptionError
from wayscore.formats import load_references
from wayscore.formats.benchmarks import distances_for
from wayscore.formats.episodes import Reference, References
from wayscore.rewards.batch import Codes, Nodes
from wayscore.rewards.tasks import Tasks, Vocabulary, from_references, from_worlds, generate, words

HEADINGS = 12
LEVEL = 1
"""The row of views that look straight ahead, of three rows."""
STEEP = 0.26
"""Edges steeper than this (sine of the slope; 15 degrees) are seen in the views above or below."""
COMMON = 0.2
"""Words that are seen in a larger share of all directions are left out: they are not informative."""

WordWeights = dict[str, float]
"""Word without the ending of its plural -> how informative it is that the word is seen."""


class Sight:
    """The words that are seen in the direction of every neighbour of every node, and all around the node.

    Args:
        seen: (nodes, candidates, columns) of 0 and 1; candidate 0 is the node itself; column 0 is never seen.
        column: of each word of the vocabulary.
        weights: of the words, in the order of their columns.
    """

    def __init__(self, seen: NDArray[np.uint8], column: NDArray[np.int64], weights: WordWeights) -> None:
        self.column, self.weights = column, weights
        self._bits = np.packbits(seen, axis=2, bitorder="little")  # small enough for a cache
        self._weight = np.array([0.0, *weights.values()], dtype=np.float32)

    def matches(self, here: Codes, tokens: NDArray[np.int32], candidates: int) -> NDArray[np.float32]:
        """Return the weight of each word that is seen towards each candidate, (agents, candidates, words); else 0."""
        columns, (_, every, width) = self.column[tokens], self._bits.shape
        first = ((here * every)[:, None] + np.arange(candidates)) * width
        bits = self._bits.reshape(-1).take(first[:, :, None] + (columns >> 3)[:, None, :])
        seen: NDArray[np.uint8] = bits >> (columns & 7).astype(np.uint8)[:, None, :] & 1
        return seen * self._weight[columns][:, None, :]


def read_views(
    path: str | Path,
    nodes: Nodes,
    vocabulary: Vocabulary,
    weights: WordWeights | None = None,
    *,
    learn_in: Collection[str] | None = None,
    common: float = COMMON,
) -> Sight:
    """Read captions and detections, one file per scan in a tar: {viewpoint: {view: [caption, [[class, ...], ...]]}}.

    A word of the vocabulary is seen if a caption or a detection contains it, in singular or plural. `weights` are those
    that an agent has learned. By default they are learned here, from the scenes `learn_in`: words that are seen in a
    larger share of directions than `common` have no weight, and rarer words have larger weights.
    """
    stems = sorted({_stem(word) for word in vocabulary.known if word.isalpha() and len(word) > 2})
    columns = {stem: number for number, stem in enumerate(stems, start=1)}
    seen = np.zeros((len(nodes), nodes.neighbors.shape[1] + 1, len(stems) + 1), dtype=np.uint8)
    number_of = {scene: number for number, scene in enumerate(nodes.scenes)}
    missing = set(nodes.scenes)
    with reading.opened(Path(path)) as file:
        for member, archive in reading.members(file, str(path), stream=True):
            scene = Path(member.name).stem
            stream = archive.extractfile(member) if scene in missing else None
            if stream is not None:
                missing.discard(scene)
                rows = np.flatnonzero(nodes.scene == number_of[scene])
                _enter(seen, json.load(stream), nodes, rows, columns)
    if missing:
        raise FormatError(f"{path}: has no views of scene {min(missing)!r}; one file per scan is expected")
    if weights is None:
        scenes = [number for scene, number in number_of.items() if learn_in is None or scene in learn_in]
        real = np.concatenate((np.ones((len(nodes), 1), dtype=bool), nodes.neighbors >= 0), axis=1)
        share = seen[real & np.isin(nodes.scene, scenes)[:, None], 1:].mean(axis=0)
        rare = np.where((share > 0) & (share <= common), -np.log(np.maximum(share, 1e-6)) / 5.0, 0)
        weights = dict(zip(stems, rare.tolist(), strict=True))
    column = np.array([0, 0, *(columns.get(_stem(word), 0) for word in vocabulary.known)])
    return Sight(seen, column, {stem: weights.get(stem, 0.0) for stem in stems})


def _enter(
    seen: NDArray[np.uint8],
    views: Mapping[str, Mapping[str, Any]],
    nodes: Nodes,
    rows: NDArray[np.int64],
    columns: Mapping[str, int],
) -> None:
    """Mark the words seen from the nodes of one scene."""
    for node in rows.tolist():
        described = views.get(nodes.names[node])
        if described is None:
            continue
        found = [_columns(described.get(str(view), ("", ())), columns) for view in range(3 * HEADINGS)]
        level = found[LEVEL * HEADINGS : (LEVEL + 1) * HEADINGS]
        seen[node, 0, [column for view in level for column in view]] = 1
        for candidate in range(int(nodes.degree[node])):
            heading = round(float(nodes.headings[node, candidate]) / (2 * np.pi) * HEADINGS) % HEADINGS
            climb = float(nodes.climbs[node, candidate])
            elevation = LEVEL + (1 if climb > STEEP else -1 if climb < -STEEP else 0)
            towards = {*level[heading], *found[elevation * HEADINGS + heading]}
            seen[node, candidate + 1, list(towards)] = 1


def _columns(view: Any, columns: Mapping[str, int]) -> list[int]:
    caption, detections = view
    texts: Iterable[str] = (caption, *(detection[0] for detection in detections))
    return [columns[stem] for text in texts for word in words(text) if (stem := _stem(word)) in columns]


def _stem(word: str) -> str:
    """Return a word without the ending of its plural.

    >>> [_stem(word) for word in ("stairs", "couches", "glass")]
    ['stair', 'couch', 'glass']
    """
    if word.endswith(("ches", "shes", "xes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


WORLD_STAGES = 2
"""How many shortest paths are joined in generated episodes: two give about five edges, with a turn."""
HELD_OUT_EPISODES = 2_000
"""The most episodes of held-out houses: enough for a stable score, few enough to evaluate often."""


@dataclass(frozen=True, slots=True)
class TrainingData:
    """Episodes to learn from, episodes in held-out houses to evaluate on, and what is seen, if views are given."""

    train: Tasks
    dev: Tasks
    sight: Sight | None = None


def data_from_files(
    references: str | Path,
    graphs: str | Path | None,
    *,
    views: str | Path | None = None,
    held_out: int = 8,
    words: int = 80,
    known: Sequence[str] | None = None,
    weights: WordWeights | None = None,
    most: int | None = None,
) -> TrainingData:
    """Read a training split and hold some houses out.

    `references` is the training split of R2R or R4R, and `views` a tar of captions and detections. `held_out` houses
    are only used for evaluation. An agent that goes on learning knows its words (`known`) and the weights of seen words
    (`weights`) already. At most `most` episodes are drawn to learn from.
    """
    loaded = load_references(references)
    episodes = list(loaded.episodes.values())
    houses = sorted({reference.scene for reference in episodes})
    if not 0 < held_out < len(houses):
        raise OptionError(
            f"<<held_out>> must be at least 1 and less than {len(houses)}, the number of houses in {loaded.name}, not "
            f"{held_out}"
        )
    rng = np.random.default_rng(0)
    away = set(rng.permutation(houses)[:held_out].tolist())
    learned = _drawn([reference for reference in episodes if reference.scene not in away], most, rng)
    evaluated = _drawn([reference for reference in episodes if reference.scene in away], HELD_OUT_EPISODES, rng)
    vocabulary = (
        Vocabulary.of((reference.instruction for reference in learned), least=2) if known is None else Vocabulary(known)
    )
    every = from_references([*learned, *evaluated], distances_for(loaded, graphs), vocabulary=vocabulary, words=words)
    sight = None if views is None else read_views(views, every.nodes, vocabulary, weights, learn_in=set(houses) - away)
    return TrainingData(every.some(range(len(learned))), every.some(range(len(learned), len(every))), sight)


def _drawn(episodes: list[Reference], most: int | None, rng: np.random.Generator) -> list[Reference]:
    if most is None or len(episodes) <= most:
        return episodes
    return [episodes[row] for row in sorted(rng.permutation(len(episodes))[:most].tolist())]


def data_from_worlds(episodes: int = 4_000) -> TrainingData:
    """Generate worlds; every fifth is held out."""
    every = from_worlds(episodes, worlds=20, stages=WORLD_STAGES, seed=0)
    rows = np.arange(len(every))
    evaluated = every.nodes.scene[every.paths[:, 0]] % 5 == 4
    return TrainingData(every.some(rows[~evaluated]), every.some(rows[evaluated]))


def world_test(episodes: int = 500) -> tuple[References, dict[str, Graph]]:
    """Generate worlds that no training has seen, to test in."""
    made = generate(episodes, worlds=5, seed=1_000, stages=WORLD_STAGES)
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
