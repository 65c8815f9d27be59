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
    """A navigation graph, with everything that drawing and scoring need.

    Attributes:
        positions: node label -> x and y in metres.
        edges: pairs of node numbers, in the order of `positions`; each leads both ways.
        lengths: the length of each edge in metres; stairs make it longer than the distance in x and y.
    """

    positions: dict[str, tuple[float, float]]
    edges: list[tuple[int, int]]
    lengths: list[float]

    def lines(self) -> list[tuple[tuple[float, float], tuple[float, float]]]:
        """Return the two ends of each edge, to draw.

        >>> SceneMap({"a": (0.0, 0.0), "b": (1.0, 2.0)}, [(0, 1)], [2.5]).lines()
        [((0.0, 0.0), (1.0, 2.0))]
        """
        points = list(self.positions.values())
        return [(points[a], points[b]) for a, b in self.edges]

    def graph(self, name: str) -> Graph:
        """Return the graph that paths are measured along."""
        nodes = list(self.positions)
        edges = [(nodes[a], nodes[b]) for a, b in self.edges]
        return Graph.from_edges(edges, self.lengths, nodes=nodes, positions=self.positions, name=name)

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
    """One reference and five queries (trajectories of agents), which raters put in order.

    Attributes:
        name: its name, unique in a study.
        scene: the scene of all its paths.
        reference: the instructed path, as node labels.
        queries: five paths.
        kind: "plain"; "repeat", the same paths as the set `of` again; or "check", with an obvious answer.
        of: the set that a repeat repeats.
        best: the number of the query that is obviously best, in a check.
        worst: the number of the query that is obviously worst, in a check.
        sources: which agent each query comes from, in a study from runs.
    """

    name: str
    scene: str
    reference: list[str]
    queries: list[list[str]]
    kind: SetKind = "plain"
    of: str = ""
    best: int = -1
    worst: int = -1
    sources: list[str] = []


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

    Attributes:
        name: what tables and the administrator's pages call it; raters see `title`.
        kind: "UC", unconstrained, which compares nDTW with PL, NE, ONE, CLS, AD and MD; "SC", success-constrained,
            which compares SDTW with SR, OSR, SPL and SED.
        question: the question to the raters.
        ties: whether several queries may share a rank.
        seed: random seed of the study.
        threshold: d_th, metres.
        scenes: name -> map.
        sets: the plain sets first, then repeats and checks.
        assignments: one for each rater.
        how: the options that it was created with.
        format: the version of the file format.
    """

    name: str
    kind: Kind
    question: str
    ties: bool
    seed: int
    threshold: float
    scenes: dict[str, SceneMap]
    sets: list[ComparisonSet]
    assignments: list[Assignment]
    how: dict[str, Any]
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
            self._graphs[scene] = self.scenes[scene].graph(scene)
        return self._graphs[scene]

    def set(self, name: str) -> ComparisonSet:
        """Return the set of this name."""
        if name not in self._sets:
            raise OptionError(f"the study {self.name!r} has no set {name!r}{did_you_mean(name, self._sets)}")
        return self._sets[name]

    def of_kind(self, kind: SetKind) -> list[ComparisonSet]:
        """Return the plain sets, the repeats or the checks."""
        return [one for one in self.sets if one.kind == kind]
