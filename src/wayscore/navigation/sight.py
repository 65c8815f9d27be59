"""The words that are seen in the direction of each neighbour: captions and detections of a panorama's 36 views.

Views are numbered by elevation (12 each: down, level, up) and by heading, 30 degrees apart clockwise from +y.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.errors import FormatError
from wayscore.navigation.nodes import Nodes
from wayscore.navigation.walking import Walkers
from wayscore.navigation.words import Vocabulary, words

HEADINGS = 12
LEVEL = 1
"""The row of views that look straight ahead, of three rows."""
STEEP = 0.26
"""Edges steeper than this (sine of the slope; 15 degrees) are seen in the views above or below."""
COMMON = 0.2
"""Words that are seen in a larger share of all directions are left out: they are not informative."""


class Sight:
    """The words that are seen in the direction of every neighbour of every node, and all around the node.

    Args:
        seen: (nodes, candidates, columns) of 0 and 1; candidate 0 is the node itself; column 0 is never seen.
        column: of each word of the vocabulary.
        weight: of each column: how informative it is.
    """

    def __init__(
        self, seen: NDArray[np.uint8], column: NDArray[np.int64], weight: NDArray[np.float32] | None = None
    ) -> None:
        self.seen, self.column = seen, column
        self.weight = np.ones(seen.shape[2], dtype=np.float32) if weight is None else weight

    def matches(self, walkers: Walkers, tokens: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return how informative each seen word is for each candidate, (num_envs, candidates, words); 0 if not seen."""
        columns = self.column[tokens]
        here, candidates = walkers.here[:, None, None], np.arange(walkers.candidates)[None, :, None]
        found = self.seen[here, candidates, columns[:, None, :]] * self.weight[columns][:, None, :]
        return found.astype(np.float32)


def read_views(path: str | Path, nodes: Nodes, vocabulary: Vocabulary, *, common: float = COMMON) -> Sight:
    """Read captions and detections, one file per scan in a tar: {viewpoint: {view: [caption, [[class, ...], ...]]}}.

    A word of the vocabulary is seen if a caption or a detection contains it, in singular or plural. Words that are
    seen in a larger share of directions than `common` are left out; rarer words have larger weights.
    """
    stems = sorted({_stem(word) for word in vocabulary.known if word.isalpha() and len(word) > 2})
    columns = {stem: number for number, stem in enumerate(stems, start=1)}
    seen = np.zeros((len(nodes), nodes.neighbors.shape[1] + 1, len(stems) + 1), dtype=np.uint8)
    with tarfile.open(path) as archive:
        names = {Path(member.name).stem: member for member in archive.getmembers() if member.isfile()}
        for number, scene in enumerate(nodes.scenes):
            if scene not in names:
                raise FormatError(f"{path}: has no views of scene {scene!r}; one file per scan is expected")
            stream = archive.extractfile(names[scene])
            assert stream is not None  # it is a file
            _enter(seen, json.load(stream), nodes, np.flatnonzero(nodes.scene == number), columns)
    real = np.concatenate((np.ones((len(nodes), 1), dtype=bool), nodes.neighbors >= 0), axis=1)
    share = seen[real].mean(axis=0)
    weight = np.where((share > 0) & (share <= common), -np.log(np.maximum(share, 1e-6)) / 5.0, 0.0)
    column = np.array([0, 0, *(columns.get(_stem(word), 0) for word in vocabulary.known)])
    return Sight(seen, column, weight.astype(np.float32))


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
