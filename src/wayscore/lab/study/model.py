"""The parts of a study: comparison sets in scenes, and which rater sees which of them in which order."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal, TypeAlias

import msgspec

from wayscore.distances.graph import Graph
from wayscore.errors import OptionError, did_you_mean

Kind: TypeAlias = Literal["UC", "SC"]
SetKind: TypeAlias = Literal["plain", "repeat", "check"]

FORMAT = "wayscore study 1"
QUERIES = 5
"""How many queries a comparison set has."""
QUESTION = "If I instructed a robot to take the blue path, which of these orange paths would I prefer it to take?"
"""The paper's question."""
TITLE = "Which path would you prefer?"
"""What raters see above every page of a study that was given no name: plain words, which suggest no answer."""


class SceneMap(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A navigation graph, with everything that drawing and scoring need."""

    positions: dict[str, tuple[float, float]]  # node label -> x and y in metres
    edges: list[tuple[int, int]]  # pairs of node numbers, in the order of `positions`; each leads both ways
    lengths: list[float]  # of each edge in metres; stairs make it longer than the distance in x and y

    @classmethod
    def of(cls, graph: Graph, labels: list[str]) -> SceneMap:
        """Return the map of a graph with positions, its nodes under these labels."""
        assert graph.positions is not None  # callers have looked
        import numpy as np

        ends = np.array(graph.edges, dtype=np.int64).reshape(-1, 2)
        points = graph.positions[:, :2].tolist()
        return cls(
            {label: (x, y) for label, (x, y) in zip(labels, points, strict=True)},
            [(a, b) for a, b in ends.tolist()],
            graph.pairs(ends[:, 0], ends[:, 1]).tolist(),
        )


class ComparisonSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One reference and five queries (trajectories of agents), which raters put in order."""

    name: str
    scene: str
    reference: list[str]  # node labels, as in each query
    queries: list[list[str]]
    kind: SetKind = "plain"  # or "repeat", the same paths as another set; or "check", with an obvious answer
    of: str = ""  # the set that a repeat repeats
    best: int = -1  # the number of the query that is obviously best, in a check
    worst: int = -1
    sources: list[str] = []  # which agent each query comes from, in a study from runs


class Item(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A set as one rater sees it: its name, and the numbers of its queries in the order of the page."""

    set: str
    order: list[int]


class Assignment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one rater sees, in this order; raters are numbered from 1."""

    rater: int
    items: list[Item]


class Study(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A whole study; the same options and seed give the same study, byte for byte.

    A UC study compares nDTW with PL, NE, ONE, CLS, AD and MD, an SC study SDTW with SR, OSR, SPL and SED.
    """

    name: str  # what tables and the administrator's pages call it; raters see `title`
    kind: Kind
    question: str
    ties: bool  # whether several queries may share a rank
    seed: int
    threshold: float  # d_th, metres
    scenes: dict[str, SceneMap]
    sets: list[ComparisonSet]  # the plain sets first, then repeats and checks
    assignments: list[Assignment]
    how: dict[str, Any]  # the options that it was created with
    format: str = FORMAT

    @property
    def title(self) -> str:
        """What raters see above every page: the name that the study was given, or plain words."""
        given = self.how.get("options", {}).get("name", "")
        return given if isinstance(given, str) and given else TITLE

    @cached_property
    def _graphs(self) -> dict[str, Graph]:
        return {}

    @cached_property
    def _sets(self) -> dict[str, ComparisonSet]:
        return {one.name: one for one in self.sets}

    def graph(self, scene: str) -> Graph:
        """Return the graph of a scene, built at first use."""
        if scene not in self.scenes:
            raise OptionError(f"the study {self.name!r} has no scene {scene!r}{did_you_mean(scene, self.scenes)}")
        if scene not in self._graphs:
            found = self.scenes[scene]
            nodes = list(found.positions)
            edges = [(nodes[a], nodes[b]) for a, b in found.edges]
            graph = Graph.from_edges(edges, found.lengths, nodes=nodes, positions=found.positions, name=scene)
            self._graphs[scene] = graph
        return self._graphs[scene]

    def set(self, name: str) -> ComparisonSet:
        """Return the set of this name."""
        if name not in self._sets:
            raise OptionError(f"the study {self.name!r} has no set {name!r}{did_you_mean(name, self._sets)}")
        return self._sets[name]

    def of_kind(self, kind: SetKind) -> list[ComparisonSet]:
        """Return the plain sets, the repeats or the checks."""
        return [one for one in self.sets if one.kind == kind]
