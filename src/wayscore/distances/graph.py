"""Navigation graphs: the distance is the length of the shortest path along edges."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore import kernels
from wayscore.distances.base import Distance, Floats, Places, unknown_node
from wayscore.errors import DistanceError, PathError, shortened

TABLE_NODES = 4096
"""Up to this many nodes all pairs are stored (128 MiB); above, shortest paths are searched one by one."""
DENSE_NODES = 1024
"""Up to this many nodes all pairs are computed by Floyd-Warshall, which is faster; above, by Dijkstra."""

HOPS = "hops"  # the unit of distances that count edges


class Graph(Distance):
    """Nodes (any hashable labels) and weighted edges; d(a, b) is the length of the shortest path, or infinity.

    Build one with `from_edges`, `from_networkx` or `from_matterport`.

    >>> graph = Graph.from_edges([("hall", "stairs"), ("stairs", "attic")], [2.0, 3.5])
    >>> graph.distance("hall", "attic")
    5.5
    >>> graph.neighbors("stairs")
    ['hall', 'attic']
    """

    def __init__(
        self,
        nodes: Sequence[Hashable],
        sources: NDArray[np.int32],
        targets: NDArray[np.int32],
        weights: Floats,
        *,
        directed: bool = False,
        positions: Floats | None = None,
        name: str = "graph",
        unit: str = "m",
    ) -> None:
        """Create a graph from edges as node numbers; usually `from_edges` is called instead."""
        self.nodes = tuple(nodes)
        self.index: dict[Any, int] = {node: code for code, node in enumerate(self.nodes)}
        self.name = name
        self.directed = directed
        self.positions = positions
        self.unit = unit
        if not self.nodes:
            raise DistanceError(f"the {name} has no nodes; give it at least one edge or node")
        a: NDArray[Any] = np.asarray(sources)
        b: NDArray[Any] = np.asarray(targets)
        lengths: NDArray[Any] = np.asarray(weights)
        if not (a.shape == b.shape == lengths.shape == (a.size,)):
            raise DistanceError(
                f"the edges of the {name} must be three lists of one length (sources, targets, weights), got shapes "
                f"{a.shape}, {b.shape} and {lengths.shape}"
            )
        if a.size and (a.dtype.kind not in "iu" or b.dtype.kind not in "iu"):
            raise DistanceError(f"the edges of the {name} must be numbers of nodes, got {a.dtype} and {b.dtype}")
        count = len(self.nodes)
        for ends in (a, b):
            if ends.size and not (ends.min() >= 0 and ends.max() < count):
                wrong = ends[(ends < 0) | (ends >= count)][0]
                raise DistanceError(
                    f"an edge of the {name} leads to node {wrong}, but its {count} nodes are 0 to {count - 1}"
                )
        try:
            lengths = lengths.astype(np.float64, copy=False)
        except (TypeError, ValueError):
            raise DistanceError(f"the weights of the {name} must be numbers, one for each edge") from None
        if lengths.size and not lengths.min() >= 0:  # NaN fails this, too
            raise DistanceError(
                f"the {name} has an edge of length {lengths.min()}; lengths must be numbers, not negative"
            )
        if not directed:
            a, b, lengths = np.concatenate((a, b)), np.concatenate((b, a)), np.concatenate((lengths, lengths))
        order = np.lexsort((b, a))
        # Every edge in every direction in which it leads, by source and then by target.
        self.sources: NDArray[np.int64] = a[order].astype(np.int64, copy=False)
        self.targets: NDArray[np.int32] = b[order].astype(np.int32, copy=False)
        self._weights: Floats = np.ascontiguousarray(lengths[order])
        self._starts = np.concatenate(([0], np.cumsum(np.bincount(a, minlength=count)))).astype(np.int64)

    @classmethod
    def from_edges(
        cls,
        edges: Iterable[tuple[Hashable, Hashable]],
        weights: Iterable[float] | None = None,
        nodes: Iterable[Hashable] | None = None,
        *,
        directed: bool = False,
        positions: Mapping[Any, Sequence[float]] | None = None,
        name: str = "graph",
    ) -> Graph:
        """Build a graph from pairs of labels.

        Args:
            edges: pairs of labels; each edge can be used in both directions unless `directed`.
            weights: one length >= 0 per edge; without them every edge has length 1.
            nodes: labels in the order that you want, including nodes without edges.
            directed: edges lead only from the first label to the second.
            positions: coordinates of every node, for drawing.
            name: the name of the graph in errors.
        """
        if not isinstance(edges, Iterable):
            raise DistanceError(f"the edges of the {name} must be pairs of node labels, got {shortened(edges)}")
        index = {label: code for code, label in enumerate(dict.fromkeys(nodes or ()))}
        ends: list[tuple[int, int]] = []
        for number, edge in enumerate(edges):
            try:
                a, b = edge
                ends.append((index.setdefault(a, len(index)), index.setdefault(b, len(index))))
            except (TypeError, ValueError):
                raise DistanceError(
                    f"edge {number} of the {name} must be a pair of node labels, got {shortened(edge)}"
                ) from None
        labels, codes = tuple(index), np.array(ends, dtype=np.int32).reshape(-1, 2)
        try:
            lengths = np.ones(len(ends)) if weights is None else np.array(list(weights), dtype=np.float64)
        except (TypeError, ValueError):
            raise DistanceError(f"the weights of the {name} must be numbers, one for each edge") from None
        if lengths.shape != (len(ends),):
            raise DistanceError(f"the {name} has {len(ends)} edges but {lengths.size} weights; give one for each edge")
        wrong = np.flatnonzero(~(np.isfinite(lengths) & (lengths >= 0)))
        if wrong.size:
            a, b = (labels[code] for code in ends[wrong[0]])
            raise DistanceError(
                f"edge {shortened(a)} - {shortened(b)} of the {name} has length {lengths[wrong[0]]}; lengths must be "
                "finite and not negative"
            )
        where = None
        if positions is not None:
            missing = next((label for label in labels if label not in positions), None)
            if missing is not None:
                raise DistanceError(f"the {name} has no position for node {shortened(missing)}; give every node one")
            where = np.array([positions[label] for label in labels], dtype=np.float64)
        return cls(labels, codes[:, 0], codes[:, 1], lengths, directed=directed, positions=where, name=name)

    @classmethod
    def from_networkx(cls, graph: Any, weight: str | None = "weight") -> Graph:
        """Convert a networkx graph whose edges have lengths >= 0 in the attribute `weight`.

        If no edge has this attribute, distances are hops, as in networkx. If only some have it, an error is raised.

        >>> import networkx as nx
        >>> Graph.from_networkx(nx.path_graph(3)).distance(0, 2)
        2.0
        """
        weights = [data.get(weight) for _, _, data in graph.edges(data=True)]
        missing = [edge for edge, length in zip(graph.edges(), weights, strict=True) if length is None]
        if missing and len(missing) < len(weights):
            a, b = missing[0]
            raise DistanceError(
                f"edge {shortened(a)} - {shortened(b)} has no attribute {weight!r}, but other edges have; give every "
                "edge a length, or pass weight=None to count hops"
            )
        lengths = None if missing else weights
        return cls.from_edges(graph.edges(), lengths, nodes=graph.nodes(), directed=graph.is_directed())

    @classmethod
    def from_matterport(cls, path: str | Path, scan: str | None = None) -> Graph:
        """Read the connectivity of one scan: from its JSON file, or of `scan` from a folder or tar of such files."""
        from wayscore.distances.graphs import load_graph  # few graphs come from files, and msgspec takes time

        return load_graph(path, scan)

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        return f"<{self.name}: {len(self.nodes)} nodes, {len(self.edges)} edges>"

    @property
    def edges(self) -> list[tuple[int, int]]:
        """Pairs of node numbers; an undirected graph has each edge once."""
        keep = slice(None) if self.directed else self.sources <= self.targets
        return list(zip(self.sources[keep].tolist(), self.targets[keep].tolist(), strict=True))

    @property
    def adjacency(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The offsets of each node's neighbours (one more than nodes), and the numbers of all neighbours."""
        return self._starts, self.targets

    def neighbors(self, node: Hashable) -> list[Hashable]:
        """Return the labels one edge away."""
        code = self._code(node)
        return [self.nodes[c] for c in self.targets[self._starts[code] : self._starts[code + 1]]]

    @cached_property
    def hops(self) -> Graph:
        """The same graph with every edge of length 1.

        >>> Graph.from_edges([("hall", "stairs"), ("stairs", "attic")], [2.0, 3.5]).hops.distance("hall", "attic")
        2.0
        """
        # Edges are stored in both directions, so they can be passed as directed ones.
        counted = self._with(np.ones(len(self.targets)), directed=True, unit=HOPS)
        counted.directed = self.directed
        return counted

    @cached_property
    def both_ways(self) -> Graph:
        """The same graph with every edge in both directions.

        >>> Graph.from_edges([("gate", "exit")], [2.0], directed=True).both_ways.distance("exit", "gate")
        2.0
        """
        return self._with(self._weights, directed=False, unit=self.unit) if self.directed else self

    def _with(self, weights: Floats, *, directed: bool, unit: str) -> Graph:
        sources, where = self.sources.astype(np.int32), self.positions
        return Graph(
            self.nodes, sources, self.targets, weights, directed=directed, positions=where, name=self.name, unit=unit
        )

    def has_edge(self, a: Hashable, b: Hashable) -> bool:
        """Return whether an edge leads from `a` to `b`; False if one of them is unknown."""
        return a in self.index and b in self.neighbors(a)

    def has_edges(self, a: Places, b: Places) -> NDArray[np.bool_]:
        """Return for each pair of node numbers whether an edge leads from the first to the second; False if negative.

        >>> graph = Graph.from_edges([("hall", "stairs"), ("stairs", "attic")])
        >>> graph.has_edges(np.array([0, 1, 0]), np.array([1, 2, 2])).tolist()
        [True, True, False]
        """
        edges = self.sources * len(self) + self.targets  # in order, since the targets of each source are
        wanted = np.where((a < 0) | (b < 0), -1, a.astype(np.int64) * len(self) + b)
        places = np.minimum(np.searchsorted(edges, wanted), max(0, len(edges) - 1))
        return edges[places] == wanted if len(edges) else np.zeros(len(wanted), dtype=np.bool_)

    def edge_lengths(self, a: Places, b: Places) -> Floats:
        """Return the length of the edge between each pair of node numbers, infinity if there is no edge.

        >>> graph = Graph.from_edges([("a", "b"), ("b", "c"), ("a", "c")], [1.0, 1.0, 5.0])
        >>> graph.edge_lengths(np.array([0, 0]), np.array([2, 0])).tolist(), graph.distance("a", "c")
        ([5.0, inf], 2.0)
        """
        found = [
            self._weights[first:last][self.targets[first:last] == target].min(initial=np.inf)
            for first, last, target in zip(self._starts[a], self._starts[a + 1], b, strict=True)
        ]
        return np.array(found, dtype=np.float64)

    def distance(self, a: Hashable, b: Hashable) -> float:
        """Return d(a, b) of two labels."""
        return float(self.between(np.array([self._code(a)]), np.array([self._code(b)]))[0, 0])

    def shortest_path(self, a: Hashable, b: Hashable) -> list[Hashable]:
        """Return the labels of a shortest path from `a` to `b`, both ends included.

        >>> Graph.from_edges([("hall", "stairs"), ("stairs", "attic")]).shortest_path("hall", "attic")
        ['hall', 'stairs', 'attic']
        """
        here, goal = self._code(a), self._code(b)
        if not np.isfinite(self.distance(a, b)):
            raise PathError(f"there is no path from {shortened(a)} to {shortened(b)} in the {self.name}")
        path = [here]
        while here != goal:
            edges = slice(self._starts[here], self._starts[here + 1])
            ways = self._weights[edges] + self.between(self.targets[edges], np.array([goal]))[:, 0]
            ways[np.isin(self.targets[edges], path)] = np.inf  # edges of length 0 could lead in circles
            here = int(self.targets[edges][np.argmin(ways)])
            path.append(here)
        return [self.nodes[code] for code in path]

    @cached_property
    def table(self) -> Floats | None:  # type: ignore[override]
        """The distances of all pairs, or None if the graph is too large to store them."""
        count = len(self.nodes)
        if count > TABLE_NODES:
            return None
        matrix = np.full((count, count), np.inf)
        if count <= DENSE_NODES:
            np.minimum.at(matrix, (self.sources, self.targets), self._weights)  # the shortest of parallel edges
            np.fill_diagonal(matrix, 0.0)
            kernels.all_pairs(matrix, not self.directed)
        else:
            for source, row in enumerate(matrix):
                kernels.dijkstra(self._starts, self.targets, self._weights, source, -1, row)
        matrix.flags.writeable = False
        return matrix

    @cached_property
    def fingerprint(self) -> str:  # type: ignore[override]
        """`graph#` and eight digits, a hash of all nodes, edges and lengths."""
        digest = hashlib.sha256(repr(self.nodes).encode())
        for part in (self._starts, self.targets, self._weights):
            digest.update(part.tobytes())
        return f"graph#{digest.hexdigest()[:8]}"

    def decode(self, places: Places) -> list[Any]:
        """Turn node numbers into labels."""
        return [self.nodes[code] for code in places.tolist()]

    def between(self, a: Places, b: Places) -> Floats:
        """Return the lengths of the shortest paths from each node of `a` to each of `b`."""
        if self.table is not None:
            return super().between(a, b)
        found: dict[int, Floats] = {}
        far = int(b[-1])
        for code in a.tolist():
            if code not in found:
                found[code] = self._search(code, b, far)
                far = int(b[np.argmax(found[code])])  # farthest from here, so probably also from the next node
        return np.array([found[code] for code in a.tolist()])

    def pairs(self, a: Places, b: Places) -> Floats:
        """Return the length of the shortest path from each node of `a` to its partner in `b`."""
        if self.table is not None:
            return super().pairs(a, b)
        return np.array([self._search(x, np.array([y]), y)[0] for x, y in zip(a.tolist(), b.tolist(), strict=True)])

    def _search(self, source: int, wanted: Places, far: int) -> Floats:
        """Return the distances from one node to the wanted ones; the search stops at `far` if it has found them all."""
        row = np.empty(len(self))
        kernels.dijkstra(self._starts, self.targets, self._weights, source, far, row)
        if not np.isfinite(row[wanted]).all():
            kernels.dijkstra(self._starts, self.targets, self._weights, source, -1, row)
        found: Floats = row[wanted]
        return found

    def _code(self, node: Hashable) -> int:
        try:
            return self.index[node]
        except (KeyError, TypeError):
            raise unknown_node(node, "this node", self.index, self.name) from None
