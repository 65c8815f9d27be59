"""What does not fit between runs and references: found as literal loops find it, told with its place."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wayscore.formats.ahead import Ahead

import wayscore as ws
from tests.test_episodes import ASKED, GRAPHS, references, run
from wayscore.episodes import join
from wayscore.episodes.problems import describe, detail, find_problems

walks = st.text("abcdqr", min_size=1, max_size=6)
pairs = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12)


@given(st.dictionaries(st.sampled_from(["e1", "e2", "e3", "e4", "e9"]), walks))
def test_moves_and_nodes_by_literal_loops(paths: dict[str, str]) -> None:
    asked = references(e1="abc", e2="xy", e3="ab", e4="dcb")
    found = find_problems(run(**paths), asked, GRAPHS)
    graphs = {name: GRAPHS[reference.scene] for name, reference in asked.episodes.items()}
    known = [name for name in paths if name in graphs]
    assert found["move"] == tuple(
        name for name in known if any(a != b and not graphs[name].has_edge(a, b) for a, b in pairwise(paths[name]))
    )
    assert found["node"] == tuple(name for name in known if any(node not in graphs[name].nodes for node in paths[name]))
    assert found["start"] == tuple(name for name in known if paths[name][0] != asked.episodes[name].path[0])
    for kind, names in found.items():
        for name in names:
            told = detail(kind, name, run(**paths), asked, GRAPHS)
            assert ("step" in told) == (kind in ("move", "node"))


@given(pairs, pairs, st.booleans())
def test_edges_of_many_pairs(edges: list[tuple[int, int]], asked: list[tuple[int, int]], directed: bool) -> None:
    graph = ws.Graph.from_edges(edges, nodes=range(5), directed=directed)
    a, b = np.array([*asked, (-1, 0), (0, -1), (-1, -1)]).T
    found = graph.has_edges(a, b).tolist()
    assert found == [graph.has_edge(*pair) for pair in asked] + [False] * 3


def test_details() -> None:
    agent = run(e1="acd", e2="xq", e3="ba")
    problems = find_problems(agent, ASKED, GRAPHS)
    told = {kind: [detail(kind, name, agent, ASKED, GRAPHS) for name in names] for kind, names in problems.items()}
    assert told == {
        "missing": [],
        "unknown": [],
        "duplicate": [],
        "start": ["begins at 'b', its reference at 'a'"],
        "move": ["step 1, from 'a' to 'c'", "step 1, from 'x' to 'q'"],
        "node": ["step 1, 'q'"],
    }
    told_first = "2 queries take a step that is not an edge: e1 (step 1, from 'a' to 'c'), e2"
    assert describe("move", ("e1", "e2"), ASKED, run=agent, graphs=GRAPHS) == told_first
    assert describe("move", ("e1", "e2"), ASKED) == "2 queries take a step that is not an edge: e1, e2"
    assert describe("move", (), ASKED, run=agent) == "0 queries take a step that is not an edge: "


def test_errors_of_joins_tell_the_place() -> None:
    with pytest.raises(ws.FormatError, match=r"not have: e1 \(step 1, 'q'\); see node=skip or zero"):
        join(run(e1="aq", e2="x", e3="a"), ASKED, graphs=GRAPHS)


def test_points_of_two_dimensions_do_not_begin_together() -> None:
    asked = ws.episodes.References("r", "vlnce", {"1": ws.episodes.Reference("1", "S", np.zeros((2, 3)), "1")})
    flat = ws.episodes.Run("agent", "vlnce", {"1": ws.episodes.Query("1", np.zeros((2, 2)))})
    assert find_problems(flat, asked)["start"] == ("1",)
    assert detail("start", "1", flat, asked) == "begins at [0.0, 0.0], its reference at [0.0, 0.0, 0.0]"


def test_work_begun_ahead_tells_its_errors_to_whoever_asks() -> None:
    def fail() -> None:
        raise ws.FormatError("no such file")

    ahead = Ahead(fail)
    for _ in range(2):
        with pytest.raises(ws.FormatError, match="no such file"):
            ahead.result()
    assert Ahead(dict).result() == {}
