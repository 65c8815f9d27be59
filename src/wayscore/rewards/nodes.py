"""The nodes of many scenes as arrays: neighbours, distances, and all that steps look up and do not change.

Headings are in radians clockwise from +y, as in R2R; z points up. An agent's pose is a node and a heading. It is at the
start of an episode, or has come along an edge and looks in its direction; so there are few poses, and what is observed
in each is computed once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wayscore import kernels
from wayscore.distances.base import Floats
from wayscore.distances.graph import Graph
from wayscore.errors import OptionError

if TYPE_CHECKING:
    from wayscore.rewards.tasks import Tasks

Codes = NDArray[np.int64]
STAIRS = 0.5
"""An edge that rises or falls by more than this, metres, counts as going up or down."""
LOOK_AHEAD = ("degree", "ahead", "right", "back", "left", "up", "down")
"""What an agent knows about the nodes behind a neighbour, relative to the edge that leads to it."""


class Nodes:
    """All nodes of several graphs under one numbering.

    Attributes:
        names: label of each node.
        scene: number of each node's scene.
        local: number of each node within its scene.
        tables: the distances within each scene.
        positions: (n, 3), metres.
        neighbors: (n, k) node numbers, filled up with -1.
        degree: how many neighbours each node has.
        headings: (n, k) of the edge to each neighbour.
        climbs: (n, k) sine of its slope.
        lengths: (n, k) length of the edge, filled up with infinity.
        beyond: (n, k, 7) what is behind each neighbour (see `LOOK_AHEAD`), in tens of metres or eighths.
    """

    def __init__(self, graphs: Mapping[str, Graph]) -> None:
        if not graphs:
            raise OptionError("an environment needs at least one scene")
        self.scenes = list(graphs)
        self.names: list[str] = []
        sizes, tables, positions, edges = [], [], [], []
        for scene, graph in graphs.items():
            if graph.positions is None or graph.table is None:
                raise OptionError(
                    f"scene {scene!r}: an environment needs a graph with positions and at most 4,096 nodes"
                )
            starts, targets = graph.adjacency
            sources = np.repeat(np.arange(len(graph)), np.diff(starts))
            edges.append(np.column_stack((sources, targets)) + len(self.names))
            self.names += [str(node) for node in graph.nodes]
            sizes.append(len(graph))
            tables.append(graph.table.reshape(-1))
            flat = np.zeros((len(graph), 3))
            flat[:, : graph.positions.shape[1]] = graph.positions[:, :3]
            positions.append(flat)
        self._first = np.cumsum([0, *sizes])
        self.scene = np.repeat(np.arange(len(sizes)), sizes)
        self.local: Codes = np.arange(len(self.names)) - self._first[self.scene]
        starts = np.cumsum([0, *(size**2 for size in sizes)])
        self._table: Floats = np.concatenate(tables)
        self._row = starts[self.scene] + self.local * np.array(sizes)[self.scene]
        """Where the distances from each node begin in the table."""
        self.tables = [
            self._table[start : start + size**2].reshape(size, size) for start, size in zip(starts, sizes, strict=False)
        ]
        self.positions: Floats = np.concatenate(positions)
        self._index = {scene: graph.index for scene, graph in graphs.items()}
        self._lay_out(np.concatenate(edges))

    def __len__(self) -> int:
        return len(self.names)

    def numbers(self, scene: str, labels: list[str]) -> Codes:
        """Return the numbers of nodes by their labels."""
        first = self._first[self.scenes.index(scene)]
        index = self._index[scene]
        found: Codes = np.array([index[label] for label in labels], dtype=np.int64) + first
        return found

    def labels(self, walk: list[int]) -> list[str]:
        """Return the labels of nodes, without those that repeat the one before."""
        return [self.names[node] for at, node in enumerate(walk) if at == 0 or node != walk[at - 1]]

    def distance(self, a: Codes, b: Codes) -> Floats:
        """Return d(a, b) of nodes in the same scene; the two arrays broadcast."""
        found: Floats = self._table[self._row[a] + self.local[b]]
        return found

    def next_hop(self, here: Codes, goal: Codes) -> Codes:
        """Return the index of the neighbour that is next on a shortest path from each node to a goal."""
        near = self.neighbors[here]
        rest = self.distance(np.where(near < 0, here[:, None], near), goal[:, None])
        hop: Codes = np.argmin(self.lengths[here] + rest, axis=1)
        return hop

    def _lay_out(self, edges: Codes) -> None:
        sources, targets = edges.T
        self.degree = np.bincount(sources, minlength=len(self))
        width = int(self.degree.max(initial=1))
        column = np.arange(len(sources)) - (np.cumsum(self.degree) - self.degree)[sources]
        away = self.positions[targets] - self.positions[sources]
        flat = np.hypot(away[:, 0], away[:, 1])
        heading = np.arctan2(away[:, 0], away[:, 1])
        shape = (len(self), width)
        self.neighbors = np.full(shape, -1, dtype=np.int64)
        self.headings, self.climbs, self.lengths = np.zeros(shape), np.zeros(shape), np.full(shape, np.inf)
        self.neighbors[sources, column] = targets
        self.headings[sources, column] = heading
        self.climbs[sources, column] = np.sin(np.arctan2(away[:, 2], flat))
        self.lengths[sources, column] = self.distance(sources, targets)
        self.beyond = np.zeros((*shape, len(LOOK_AHEAD)))
        self.beyond[sources, column] = self._look_ahead(sources, targets, heading)

    def _look_ahead(self, sources: Codes, targets: Codes, heading: Floats) -> Floats:
        """Describe the edges that leave the end of each edge, except the one that leads back."""
        near = self.neighbors[targets]
        onward = (near >= 0) & (near != sources[:, None])
        turn = (self.headings[targets] - heading[:, None] + np.pi / 4) % (2 * np.pi)
        quarter = (turn // (np.pi / 2)).astype(np.int64)
        metres = np.where(onward, np.where(np.isfinite(self.lengths[targets]), self.lengths[targets], 0.0), 0.0)
        rise = np.where(onward, self.climbs[targets] * metres, 0.0)
        columns = [self.degree[targets] / 8.0]
        columns += [np.where(quarter == side, metres, 0.0).sum(axis=1) / 10.0 for side in range(4)]
        columns += [(rise > STAIRS).any(axis=1).astype(float), (rise < -STAIRS).any(axis=1).astype(float)]
        return np.column_stack(columns)


FEATURES = (
    "stop",
    *(f"{wave} {times}h" for times in (1, 2, 3) for wave in ("cos", "sin")),
    "climb",
    "metres",
    "came from",
    "visited",
    *LOOK_AHEAD,
)
"""What an agent observes of each candidate; h is its heading relative to the agent's."""
FEATURE_COUNT = len(FEATURES)
CLIMB, METRES, CAME_FROM, VISITED = (FEATURES.index(name) for name in ("climb", "metres", "came from", "visited"))
TURN = slice(1, 7)
WAVES = np.array([1.0, 2.0, 3.0])
STOP = 0
"""The action that ends an episode; action k > 0 goes to the k-th neighbour."""


class Terrain:
    """The tables of some tasks.

    Attributes:
        candidates: how many actions there are, impossible ones included.
        node: the node of each pose.
        heading: (poses, 1), radians.
        features: (poses, candidates, features), without the flags of nodes that were visited; see `FEATURES`.
        mask: (poses, candidates), 1 for actions that are possible.
        position: (poses, 3), metres.
        near: (poses, candidates - 1), the neighbours, numbered within their scene; `largest` where there is none.
        largest: how many nodes the largest scene has.
        first: the pose at the start of each episode.
        goal: the last node of each reference.
        optimal: the distance from the first node of each reference to its goal, metres.
        rows: (episodes, longest + 1), the first column of C, whose query is at the reference's first node.
        dtw: DTW after that first node.
        lookup: what `kernels.walk` looks up.
    """

    def __init__(self, tasks: Tasks) -> None:
        nodes, count = tasks.nodes, len(tasks)
        start, real = tasks.paths[:, 0], nodes.neighbors >= 0
        sources, ways = np.nonzero(real)
        starts, first = np.unique(np.stack((start, tasks.headings), axis=1), axis=0, return_inverse=True)
        headings: Any = np.concatenate((nodes.headings[sources, ways], starts[:, 1]))
        self.candidates = nodes.neighbors.shape[1] + 1
        self.node: Codes = np.concatenate((nodes.neighbors[sources, ways], starts[:, 0].astype(np.int64)))
        self.heading = headings[:, None].astype(np.float32)
        self.features = self._observe(nodes, headings, np.concatenate((sources, np.full(len(starts), -2))))
        self.mask = (np.arange(self.candidates) <= nodes.degree[self.node, None]).view(np.int8)
        self.position = nodes.positions[self.node].astype(np.float32)
        self.largest = int(nodes.local.max()) + 1
        self.near: Codes = np.where(real, nodes.local[nodes.neighbors], self.largest)[self.node]
        self.first: Codes = len(sources) + first.reshape(-1)
        self.goal: Codes = tasks.paths[np.arange(count), tasks.lengths - 1]
        self.optimal = nodes.distance(start, self.goal)

        metres = np.concatenate((nodes.lengths[sources, ways], np.zeros(len(starts))))
        after = np.full((len(nodes), self.candidates), -1, dtype=np.int32)
        after[sources, ways + 1] = np.arange(len(sources))
        paths = np.where(tasks.paths < 0, 0, nodes.local[tasks.paths]).astype(np.int32)
        looked_up = (nodes.scene[start], paths, tasks.lengths, after[self.node], nodes.local[self.node], metres)
        self._looked_up, self._tables = looked_up, nodes.tables
        self._hold()
        self.rows = np.full((count, paths.shape[1] + 1), np.inf)
        self.rows[:, 0] = 0.0
        self.dtw = np.empty(count)
        state = (paths, tasks.lengths, self.rows, None, self.dtw)
        kernels.advance_table(*state, nodes.local[start], nodes.scene[start], self.lookup[-1])

    def _hold(self) -> None:
        """Keep views of what kernels look up at every step."""
        self.lookup: tuple[Any, ...] = (*map(kernels.view, self._looked_up), [*map(kernels.view, self._tables)])

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "lookup"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._hold()

    def _observe(self, nodes: Nodes, headings: Floats, came_from: Codes) -> NDArray[np.float32]:
        """Return the features of every candidate in every pose."""
        real = nodes.neighbors >= 0
        still = np.zeros((len(nodes), self.candidates, FEATURE_COUNT), dtype=np.float32)
        still[:, STOP, 0] = 1.0
        still[:, 1:, CLIMB] = nodes.climbs
        still[:, 1:, METRES] = np.where(real, nodes.lengths, 0.0) / 10.0
        still[:, 1:, VISITED + 1 :] = nodes.beyond
        features = still[self.node]
        # Turning by the agent's heading is a product of complex numbers: cosine and sine of 1, 2 and 3 times the angle.
        edges = (np.exp(1j * nodes.headings[..., None] * WAVES) * real[..., None]).astype(np.complex64)
        turned = np.exp(-1j * headings[:, None] * WAVES).astype(np.complex64)[:, None, :] * edges[self.node]
        features[:, 1:, TURN] = turned.view(np.float32)
        features[:, 1:, CAME_FROM] = nodes.neighbors[self.node] == came_from[:, None]
        return features
