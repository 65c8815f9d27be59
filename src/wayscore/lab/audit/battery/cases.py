"""Where experiments take place: references with a perfect and a faulty query, in generated worlds or on real paths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wayscore.distances.base import EUCLIDEAN, Distance
from wayscore.distances.graph import Graph
from wayscore.errors import OptionError, UnknownSceneError
from wayscore.formats.episodes import References
from wayscore.worlds.walkers import noisy
from wayscore.worlds.world import THRESHOLD_IN_EDGES, World, check_whole

MISTAKES = 0.3
"""The share of wrong steps of a faulty query."""
SHIFT = 0.5
"""How far the points of a faulty query without a graph are moved, in thresholds (standard deviation of each axis)."""
TRIES = 20
"""How often a faulty query is drawn again if it turns out to be perfect."""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One reference and one query that an experiment changes: labels of nodes on a graph, or (n, k) points.

    The bootstrap resamples cases of one cluster together.
    """

    name: str
    scene: str
    cluster: str
    reference: Any
    query: Any
    distance: Distance
    threshold: float

    @property
    def graph(self) -> Graph | None:
        """The graph whose nodes the paths consist of; None where they consist of points."""
        return self.distance if isinstance(self.distance, Graph) else None

    def walked(self, query: Any) -> Case:
        """Return the same case with another query."""
        return replace(self, query=query)

    def in_space(self) -> Case | None:
        """Return the same with points and straight lines in place of nodes; None where nodes have no positions."""
        graph = self.graph
        if graph is None:
            return self
        if graph.positions is None:
            return None
        paths = self.reference, self.query
        reference, query = (graph.positions[[graph.index[node] for node in path]] for path in paths)
        return replace(self, reference=reference, query=query, distance=EUCLIDEAN)


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """The episodes of a battery of experiments, with a description of their source.

    In perfect cases the query is the reference; faulty ones have the same references, and queries that leave them.
    """

    source: str
    perfect: tuple[Case, ...]
    faulty: tuple[Case, ...]
    cluster: str  # what the bootstrap resamples: "world" or "path"

    @property
    def threshold(self) -> float:
        """d_th of all of them."""
        return self.perfect[0].threshold


def from_worlds(worlds: int, paths: int, seed: int = 0, *, threshold: float | None = None) -> Cases:
    """Return this many paths in each of the paper's worlds; d_th is 1.33 mean edges by default, as in the paper.

    >>> cases = from_worlds(worlds=2, paths=3)
    >>> len(cases.perfect), cases.perfect[0].cluster, round(cases.threshold, 2)
    (6, 'world1', 1.41)
    """
    for name, value in (("worlds", worlds), ("paths", paths)):
        check_whole(f"<<{name}>>", value, least=1)
    check_whole("<<seed>>", seed, least=0)
    made = [World.paper(seed * worlds + number) for number in range(worlds)]
    if threshold is None:
        lengths = [world.lengths for world in made]
        threshold = THRESHOLD_IN_EDGES * math.fsum(map(np.sum, lengths)) / sum(map(len, lengths))
    perfect = []
    for number, world in enumerate(made, start=1):
        rng = np.random.default_rng([seed, number, *b"paths"])
        scene = f"world{number}"
        for path in range(1, paths + 1):
            nodes = world.sample_path(rng)
            perfect.append(Case(f"{scene}-{path}", scene, scene, nodes, nodes, world.graph, threshold))
    return _with_faults(f"{len(perfect)} paths in {worlds} generated worlds", perfect, seed, "world")


def from_references(
    references: References, distances: Any, *, threshold: float = 3.0, paths: int = 200, seed: int = 0
) -> Cases:
    """Return different paths of references, at most `paths` of them drawn at random.

    `distances` maps scenes to graphs; it is one distance, or None for Euclidean, where paths are points.
    """
    check_whole("<<paths>>", paths, least=1)
    if references.withheld:
        raise OptionError(
            f"{references.name}: its paths are withheld (a test split), so nothing can be changed in them"
        )
    different = {
        (one.scene, one.path_id): one.path for one in reversed([*references.episodes.values()]) if len(one.path) > 1
    }
    if not different:
        raise OptionError(f"{references.name} has no path of two nodes or more, and experiments need some")
    listed = sorted(different)
    rng = np.random.default_rng([seed, *b"references"])
    perfect = []
    for place in sorted(rng.choice(len(listed), size=min(paths, len(listed)), replace=False).tolist()):
        scene, path_id = listed[place]
        distance = EUCLIDEAN if distances is None else distances
        if not isinstance(distance, Distance):
            if scene not in distance:
                raise UnknownSceneError(
                    f"{references.name}: there is no graph of the scene {scene!r}; add it to <<graphs>>"
                )
            distance = distance[scene]
        name, path = f"{scene}-{path_id}", different[scene, path_id]
        perfect.append(Case(name, scene, name, path, path, distance, float(threshold)))
    return _with_faults(f"{len(perfect)} paths of {references.name}", perfect, seed, "path")


def _with_faults(source: str, perfect: Sequence[Case], seed: int, cluster: str) -> Cases:
    """Add to each case one whose query makes mistakes."""
    rng = np.random.default_rng([seed, *b"faults"])
    faulty = []
    for case in perfect:
        if case.graph is None:
            points = np.asarray(case.reference, dtype=np.float64)
            walk: Any = points + rng.normal(scale=SHIFT * case.threshold, size=points.shape)
        else:
            for _ in range(TRIES):
                walk = noisy(case.graph, case.reference, rng, mistakes=MISTAKES)
                if walk != list(case.reference):
                    break
        faulty.append(case.walked(walk))
    return Cases(source, tuple(perfect), tuple(faulty), cluster)
