"""What a walking agent meets: tables of everything that its steps look up and do not change.

An agent's pose is a node and a heading. It is at the start of an episode, or has come along an edge and looks in its
direction; so there are few poses, and what is observed in each is computed once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wayscore import kernels
from wayscore.distances.base import Floats
from wayscore.rewards.nodes import LOOK_AHEAD, Codes, Nodes

if TYPE_CHECKING:
    from wayscore.rewards.tasks import Tasks

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
