"""Joining a run with its references: every problem found as literal loops find it, every policy carried out."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import wayscore as ws
from tests.house import ASKED, GRAPHS, references, run


def names(joined: Any) -> list[str]:
    return [reference.episode for reference, _ in joined.pairs]


def test_a_run_that_fits() -> None:
    joined = ws.join(run(e3="ab", e1="abcd", e2="x"), ASKED, graphs=GRAPHS)
    assert names(joined) == ["e1", "e2", "e3"]  # the references' order
    assert (len(joined), joined.worst, joined.problems.counts) == (3, (), {})
    table = ws.score(**joined.paths(), distance=GRAPHS, metrics="NE,SR")
    assert table["NE"].tolist() == [4.0, 5.0, 0.0]
    assert repr(joined) == "<Joined: 3 pairs of reference and query; no problems>"
    assert names(ws.join({"e1": ["a"], "e2": ["x"], "e3": ["a"]}, ASKED)) == ["e1", "e2", "e3"]


walks = st.text("abcdqr", min_size=1, max_size=6)


@given(st.dictionaries(st.sampled_from(["e1", "e2", "e3", "e4", "e9"]), walks, min_size=1))
def test_problems_by_literal_loops(paths: dict[str, str]) -> None:
    asked = references(e1="abc", e2="xy", e3="ab", e4="dcb")
    gentle = {"missing": "skip", "unknown": "skip", "start": "keep", "move": "keep", "node": "skip"}
    known = [name for name in paths if name in asked.episodes]
    if not known:
        with pytest.raises(ws.FormatError, match="wrong split"):
            ws.join(run(**paths), asked, graphs=GRAPHS, **gentle)
        return
    found = ws.join(run(**paths), asked, graphs=GRAPHS, **gentle)
    graph = {name: GRAPHS[reference.scene] for name, reference in asked.episodes.items()}
    wanted = {
        "missing": [name for name in asked.episodes if name not in paths],
        "unknown": [name for name in paths if name not in asked.episodes],
        "start": [name for name in known if paths[name][0] != asked.episodes[name].path[0]],
        "move": [
            name for name in known if any(a != b and not graph[name].has_edge(a, b) for a, b in pairwise(paths[name]))
        ],
        "node": [name for name in known if any(node not in graph[name].nodes for node in paths[name])],
    }
    assert found.problems.counts == {kind: len(some) for kind, some in wanted.items() if some}
    for kind, some in wanted.items():
        assert [problem.episode for problem in found.problems.first.get(kind, [])] == some[:3]
        for problem in found.problems.first.get(kind, []):
            assert ("step" in problem.what) == (kind in ("move", "node"))
    assert names(found) == [name for name in asked.episodes if name in known and name not in wanted["node"]]


def test_leaps_are_kept_by_default_and_refused_on_request() -> None:
    leaping = run(e1="ac", e2="x", e3="a")
    assert ws.join(leaping, ASKED, graphs=GRAPHS).problems.counts == {"move": 1}
    with pytest.raises(ws.FormatError, match=r"1 query takes a step .*: e1 \(step 1, from 'a' to 'c'\)"):
        ws.join(leaping, ASKED, graphs=GRAPHS, move="error")


def test_long_lists_are_cut() -> None:
    many = references(**{f"e{i}": "ab" for i in range(10)})
    with pytest.raises(
        ws.FormatError, match=r"9 of the 10 episodes .* have no answer: e1, e2, e3 and 6 more \(an unfinished run, or"
    ):
        ws.join(run(e0="a"), many)


def test_what_belongs_to_other_references_is_said_first() -> None:
    """Neither that answers are missing nor what is wrong with single ones would help."""
    strange = {f"z{i}": "ab" for i in range(4)}
    with pytest.raises(ws.FormatError) as raised:
        ws.join(run(e1="b", **strange), ASKED, graphs=GRAPHS)
    assert str(raised.value) == (
        "agent: 4 of its 5 answers are to episodes that refs.json does not have: wrong split or release? The first is "
        "'z0'; give the references that it answers with references=..., or use unknown=\"skip\""
    )
    with pytest.raises(ws.FormatError, match=r"2 of the 3 episodes of refs\.json have no answer"):
        ws.join(run(e1="a", **strange), ASKED, graphs=GRAPHS, unknown="skip")
    late = run(e1="b", e2="y", e3="a")
    with pytest.raises(
        ws.FormatError, match=r"2 of its 3 queries do not begin .*: wrong split, .* first is 'e1' \(beg"
    ):
        ws.join(late, ASKED, graphs=GRAPHS)
    assert ws.join(late, ASKED, graphs=GRAPHS, start="keep").problems.counts == {"start": 2}


def test_skip_leaves_out_and_zero_is_the_worst() -> None:
    agent = run(e1="abc", e2="y")
    skipped = ws.join(agent, ASKED, missing="skip", start="skip")
    assert (names(skipped), skipped.worst) == (["e1"], ())
    zeroed = ws.join(agent, ASKED, missing="zero", start="zero")
    assert [reference.episode for reference in zeroed.worst] == ["e2", "e3"]
    result = ws.evaluate(agent, ASKED, GRAPHS, missing="zero", start="zero", resamples=9)
    assert result["nDTW"].tolist() == [1.0, 0.0, 0.0]
    assert result["NE"].tolist() == [0.0, math.inf, math.inf]
    assert result["PL"].tolist() == [3.0, math.inf, math.inf]
    assert result.undefined["NE"] == 2
    assert result.means()["SR"] == pytest.approx(1 / 3)


def test_duplicates() -> None:
    answers = [ws.Query("e1", ["a"]), ws.Query("e2", ["x"]), ws.Query("e1", ["a", "b"]), ws.Query("e3", ["a"])]
    twice = ws.Run("agent", "table", answers)
    first = ws.join(twice, ASKED, duplicate="keep")
    assert [query.path for _, query in first.pairs] == [["a"], ["x"], ["a"]]
    every = ws.join(twice, ASKED, duplicate="all")
    assert [query.path for _, query in every.pairs] == [["a"], ["a", "b"], ["x"], ["a"]]
    assert every.problems.counts == {"duplicate": 1}


def test_coordinates_may_start_a_step_away() -> None:
    path = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    asked = ws.References("vlnce", "vlnce", {"1": ws.Reference("1", "S", path, "1")})
    assert ws.join({"1": path + 0.01}, asked).problems.counts == {}
    assert ws.join({"1": path + np.array([0.25, 0.0, 0.0])}, asked).problems.counts == {}
    assert ws.join({"1": path + np.array([0.51, 0.0, 0.0])}, asked, start="keep").problems.counts == {"start": 1}
    assert ws.join({"1": path + 1.0}, asked, start="keep").problems.counts == {"start": 1}
    with pytest.raises(ws.FormatError, match=r"points of 2 coordinates, but references have 3; both need the same"):
        ws.join({"1": path[:, :2]}, asked)


def test_policies_and_scenes_that_do_not_exist() -> None:
    with pytest.raises(ws.OptionError, match="unknown must be error or skip, not 'zero'"):
        ws.join(run(e1="a"), ASKED, unknown="zero")
    with pytest.raises(ws.WayscoreError, match="episode e2: there is no graph of scene 'T'"):
        ws.join(run(e1="a", e2="x", e3="a"), ASKED, graphs={"S": GRAPHS["S"]})
    withheld = ws.References("R2R_test", "r2r", {"1_0": ws.Reference("1_0", "S", ["a"], "1")}, withheld=True)
    with pytest.raises(ws.FormatError, match=r"R2R_test: this split holds starts only .*wayscore validate"):
        ws.join(run(**{"1_0": "ab"}), withheld)
