"""The paper's simulated world and its path sampler.

Nodes form a jittered grid, and an edge joins two nodes that are near; lengths are Euclidean, one metre per grid step.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from wayscore.distances.base import Euclidean
from wayscore.distances.graph import Graph
from wayscore.errors import OptionError, PathError

Node: TypeAlias = tuple[int, int]
Path: TypeAlias = list[Node]
Rng: TypeAlias = np.random.Generator

THRESHOLD_IN_EDGES = 1.33  # d_th in mean edge lengths
STAGES = 4  # nodes that the sampler draws after the first; the paper does not say: four give about ten edges, as in R4R


@dataclass(frozen=True)
class World:
    """A random world: size x size nodes n_ij, and an edge between every two nodes within reach.

    x_ij ~ U(i - jitter, i + jitter), y_ij ~ U(j - jitter, j + jitter), and an edge joins every pair whose
    distance is at most `reach`. The same four values always give the same world. With the paper's values, a few worlds
    in a hundred have nodes in a corner that cannot be reached; a sampled path stays in the part where it started.

    Attributes:
        size: the number of nodes along each side of the grid.
        jitter: the paper's zeta, in metres: how far a node may be from its grid point along each axis.
        reach: the length of the longest edge, in metres.
        seed: random seed, a whole number, 0 or more.

    >>> world = World(seed=7)
    >>> world.graph
    <world: 225 nodes, 577 edges>
    >>> round(world.threshold, 3)
    1.419
    """

    size: int = 15
    jitter: float = 0.3
    reach: float = 1.4
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole("size", self.size, least=1)
        check_number("jitter", self.jitter)
        check_number("reach", self.reach)
        check_whole("seed", self.seed, least=0)

    @classmethod
    def paper(cls, seed: int = 0) -> World:
        """Return a world with the paper's settings: 15 x 15 nodes, jitter 0.3, reach 1.4."""
        return cls(seed=seed)

    @cached_property
    def positions(self) -> NDArray[np.float64]:
        """Coordinates (x, y) in metres, (size^2, 2), in the order of `graph.nodes`."""
        i, j = np.divmod(np.arange(self.size**2), self.size)
        shift = np.random.default_rng(self.seed).uniform(-self.jitter, self.jitter, (self.size**2, 2))
        positions = np.column_stack((i, j)) + shift
        positions.flags.writeable = False
        return positions

    @cached_property
    def _edges(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Pairs of node numbers, and the length of each."""
        away = Euclidean().between(self.positions, self.positions)
        a, b = np.nonzero(np.triu(away <= self.reach, k=1))
        return np.column_stack((a, b)), away[a, b]

    @property
    def lengths(self) -> NDArray[np.float64]:
        """Lengths of all edges, in metres."""
        return self._edges[1]

    @cached_property
    def graph(self) -> Graph:
        """The navigation graph; nodes are labelled (i, j)."""
        pairs, lengths = self._edges
        nodes = [(i, j) for i in range(self.size) for j in range(self.size)]
        edges = [(nodes[a], nodes[b]) for a, b in pairs.tolist()]
        positions = dict(zip(nodes, self.positions.tolist(), strict=True))
        return Graph.from_edges(edges, lengths, nodes=nodes, positions=positions, name="world")

    @cached_property
    def threshold(self) -> float:
        """d_th = 1.33 x the mean edge length, in metres."""
        if not len(lengths := self.lengths):
            raise OptionError(f"{self} has no edges; give it more nodes or a longer reach")
        return THRESHOLD_IN_EDGES * math.fsum(lengths) / len(lengths)

    def neighbors(self, node: Node) -> list[Node]:
        """Return the nodes one edge away."""
        return cast(list[Node], self.graph.neighbors(node))

    def within(self, node: Node, hops: int) -> dict[Node, int]:
        """Return the nodes at most `hops` edges away, each with its number of edges (breadth first).

        >>> World(size=3, jitter=0.0, reach=1.0).within((0, 0), 2)
        {(0, 0): 0, (0, 1): 1, (1, 0): 1, (0, 2): 2, (1, 1): 2, (2, 0): 2}
        """
        found = {node: 0}
        queue = deque([node])
        while queue and found[queue[0]] < hops:
            here = queue.popleft()
            for near in self.neighbors(here):
                if near not in found:
                    found[near] = found[here] + 1
                    queue.append(near)
        return found

    def shortest_path(self, start: Node, goal: Node) -> Path:
        """Return the shortest path by length, both ends included.

        >>> World(size=3, jitter=0.0, reach=1.0).shortest_path((0, 0), (1, 2))
        [(0, 0), (0, 1), (0, 2), (1, 2)]
        """
        if math.isinf(self.graph.distance(start, goal)):
            raise PathError(f"no path leads from {start} to {goal} in {self}; a longer reach would join them")
        path = [start]
        while path[-1] != goal:
            # An edge is the shortest way between its ends, because lengths are Euclidean.
            near = [goal] if self.graph.has_edge(path[-1], goal) else self.neighbors(path[-1])
            here, *codes, end = (self.graph.index[node] for node in (path[-1], *near, goal))
            steps = self.graph.between(np.array([here]), np.array(codes))[0]
            rest = self.graph.between(np.array(codes), np.array([end]))[:, 0]
            path.append(near[int(np.argmin(steps + rest))])
        return path

    @cached_property
    def _stages_after(self) -> dict[Node, list[Node]]:
        """For each node, the nodes exactly two or three edges away; nodes without any are left out."""
        nodes = cast(tuple[Node, ...], self.graph.nodes)
        stages = {node: [near for near, hops in self.within(node, 3).items() if hops >= 2] for node in nodes}
        return {node: choices for node, choices in stages.items() if choices}

    def sample_stages(self, rng: Rng, stages: int = STAGES) -> Path:
        """Draw a node, then `stages` times a node exactly two or three edges away from the last one."""
        check_whole("stages", stages, least=1)
        if not (starts := list(self._stages_after)):
            raise OptionError(f"no two nodes of {self} are two or three edges apart; give it more nodes")
        drawn = [draw(starts, rng)]
        for _ in range(stages):
            drawn.append(draw(self._stages_after[drawn[-1]], rng))
        return drawn

    def sample_path(self, rng: Rng, stages: int = STAGES) -> Path:
        """Draw a path as the paper does: `sample_stages`, joined by shortest paths.

        >>> World.paper(seed=7).sample_path(np.random.default_rng(0), stages=2)
        [(12, 11), (11, 11), (10, 12), (9, 12), (8, 13), (8, 12), (7, 11)]
        """
        first, *others = self.sample_stages(rng, stages)
        path = [first]
        for stage in others:
            path += self.shortest_path(path[-1], stage)[1:]
        return path


def draw(nodes: Sequence[Node], rng: Rng) -> Node:
    """Return one of the nodes, each as likely as the others."""
    return nodes[int(rng.integers(len(nodes)))]


def check_whole(name: str, value: Any, *, least: int) -> None:
    """Raise an error unless a value is a whole number of at least `least`."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise OptionError(f"{name} must be a whole number, {least} or more, got {value!r}")


def check_number(name: str, value: Any, *, most: float = math.inf) -> None:
    """Raise an error unless a value is a finite number from 0 to `most`."""
    if not isinstance(value, int | float | np.number) or not (0 <= value <= most and math.isfinite(value)):
        limits = "0 or more" if math.isinf(most) else f"from 0 to {most:g}"
        raise OptionError(f"{name} must be a number, {limits}, got {value!r}")
