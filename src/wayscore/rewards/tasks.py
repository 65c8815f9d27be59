"""Tasks for agents: paths with instructions in many scenes, from files or from generated worlds, as arrays."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wayscore.distances.graph import Graph
from wayscore.errors import OptionError
from wayscore.formats.episodes import Reference, References
from wayscore.rewards.batch import Codes, Nodes, StepTables

PADDING, UNKNOWN = 0, 1
WORD = re.compile(r"[a-z]+|\d+|[.,;]")
IN_METRES = re.compile(r" \(\d+\.\d m\)")
"""Lengths in metres, which are removed from generated instructions: they also count nodes, and shorter is faster."""
WORLD_THRESHOLD = 1.4
"""d_th of generated worlds, metres: 1.33 mean edges."""
LONGEST_GENERATED = 120
"""The number of words that are kept of a generated instruction; few have more."""


def words(text: str) -> list[str]:
    """Return the words of a text, in lower case; full stops and commas are words too.

    >>> words("Turn left, past the sofa.")
    ['turn', 'left', ',', 'past', 'the', 'sofa', '.']
    """
    return WORD.findall(text.lower())


class Vocabulary:
    """Words and their numbers; 0 is padding, 1 is an unknown word.

    >>> vocabulary = Vocabulary.of(["turn left", "turn right"], least=2)
    >>> vocabulary.encode(["turn around"], 4).tolist()
    [[2, 1, 0, 0]]
    """

    def __init__(self, known: Sequence[str]) -> None:
        self.known = tuple(known)
        self.numbers = {word: number for number, word in enumerate(self.known, start=2)}

    @classmethod
    def of(cls, texts: Iterable[str], *, least: int = 1) -> Vocabulary:
        """Collect the words that occur at least `least` times, the most frequent first."""
        counts = Counter(word for text in texts for word in words(text))
        return cls(sorted((word for word in counts if counts[word] >= least), key=lambda w: (-counts[w], w)))

    def __len__(self) -> int:
        return len(self.known) + 2

    def encode(self, texts: Sequence[str], length: int) -> NDArray[np.int32]:
        """Return texts as rows of numbers, cut or padded to a length."""
        rows = np.full((len(texts), length), PADDING, dtype=np.int32)
        for row, text in zip(rows, texts, strict=True):
            numbers = [self.numbers.get(word, UNKNOWN) for word in words(text)[:length]]
            row[: len(numbers)] = numbers
        return rows


@dataclass(frozen=True)
class Tasks:
    """Episodes for agents, as arrays."""

    nodes: Nodes
    names: tuple[str, ...]
    paths: Codes  # (episodes, longest), node numbers, filled up with -1
    lengths: Codes  # of the paths, in nodes
    headings: NDArray[np.float64]  # where the agent looks at the start, radians
    tokens: NDArray[np.int32]  # (episodes, words) of the instructions
    vocabulary: Vocabulary

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def tables(self) -> StepTables:
        """What the steps of agents look up in these episodes."""
        return StepTables(self)

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The row of each episode by its name."""
        return {name: row for row, name in enumerate(self.names)}

    def some(self, rows: Sequence[int] | Codes) -> Tasks:
        """Return a selection of the episodes."""
        chosen = np.asarray(rows, dtype=np.int64)
        return replace(
            self,
            names=tuple(self.names[row] for row in chosen),
            paths=self.paths[chosen],
            lengths=self.lengths[chosen],
            headings=self.headings[chosen],
            tokens=self.tokens[chosen],
        )


def from_references(
    references: References | Iterable[Reference],
    graphs: Mapping[str, Graph],
    *,
    vocabulary: Vocabulary | None = None,
    words: int = 80,
) -> Tasks:
    """Return the tasks of references whose paths are node labels.

    The default vocabulary has the words that occur twice or more. Of an instruction, the first `words` words are kept.
    """
    episodes = list(references.episodes.values() if isinstance(references, References) else references)
    if not episodes:
        raise OptionError("an environment needs at least one episode")
    nodes = Nodes({reference.scene: graphs[reference.scene] for reference in episodes})
    lengths = np.array([len(reference.path) for reference in episodes])
    paths = np.full((len(episodes), int(lengths.max())), -1, dtype=np.int64)
    for row, reference in zip(paths, episodes, strict=True):
        row[: len(reference.path)] = nodes.numbers(reference.scene, reference.path)
    texts = [reference.instruction for reference in episodes]
    vocabulary = vocabulary or Vocabulary.of(texts, least=2)
    names = tuple(reference.episode for reference in episodes)
    headings = np.array([reference.heading for reference in episodes])
    return Tasks(nodes, names, paths, lengths, headings, vocabulary.encode(texts, words), vocabulary)


def from_worlds(episodes: int, *, worlds: int = 8, seed: int = 0, stages: int = 4) -> Tasks:
    """Generate winding paths with instructions, spread evenly over worlds as the paper generates them.

    A path joins `stages` shortest paths; four give about ten edges, as in R4R.

    >>> tasks = from_worlds(3, worlds=2, seed=7)
    >>> len(tasks), tasks.nodes.scenes
    (3, ['world7-0', 'world7-1'])
    """
    references, graphs = generate(episodes, worlds=worlds, seed=seed, stages=stages)
    return from_references(references, graphs, words=LONGEST_GENERATED)


def generate(
    episodes: int, *, worlds: int = 8, seed: int = 0, stages: int = 4
) -> tuple[list[Reference], dict[str, Graph]]:
    """Generate winding paths with instructions, and the graphs of their worlds; see `from_worlds`."""
    from wayscore.worlds import World, instruct

    made = {f"world{seed}-{number}": World.paper(seed * 1_000 + number) for number in range(worlds)}
    rng = np.random.default_rng(seed)
    references = []
    for number in range(episodes):
        scene = list(made)[number % worlds]
        path = made[scene].sample_path(rng, stages)
        text = IN_METRES.sub("", instruct(made[scene], path, seed=rng))
        references.append(Reference(str(number), scene, path, str(number), text))
    return references, {scene: world.graph for scene, world in made.items()}
