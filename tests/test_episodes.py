"""Joining a run with its references: every problem found, every policy carried out."""

from __future__ import annotations

import math

import numpy as np
import pytest

import wayscore as ws
from wayscore.episodes import POLICIES, Query, Reference, References, Run, find_problems, join
from wayscore.scoring import score_joined

GRAPHS = {
    "S": ws.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d")], [1.0, 2.0, 4.0], name="scan S"),
    "T": ws.Graph.from_edges([("x", "y")], [5.0], name="scan T"),
}


def references(**paths: str) -> References:
    episodes = {
        name: Reference(name, "T" if path[0] in "xy" else "S", list(path), name.split("_")[0])
        for name, path in paths.items()
    }
    return References("refs.json", "r2r", episodes)


def run(duplicates: tuple[str, ...] = (), **paths: str) -> Run:
    return Run("agent", "r2r", {name: Query(name, list(path)) for name, path in paths.items()}, duplicates)


ASKED = references(e1="abc", e2="xy", e3="ab")


def test_a_run_that_fits() -> None:
    joined = join(run(e3="ab", e1="abcd", e2="x"), ASKED, graphs=GRAPHS)
    assert joined.episodes == ("e1", "e2", "e3")  # the references' order
    assert not any(joined.problems.values())
    table = score_joined(joined, distance=GRAPHS, metrics="NE,SR")
    assert table["NE"].tolist() == [4.0, 5.0, 0.0]
    assert list(table.episodes) == ["e1", "e2", "e3"]
    assert table.scenes == ["S", "T", "S"]


BROKEN = run(("e1",), e1="bc", e2="x", e9="a")


def test_every_problem_is_found() -> None:
    leaping = run(e1="acd", e2="xq", e3="abbb")
    assert find_problems(leaping, ASKED, GRAPHS) == {
        "missing": (),
        "unknown": (),
        "duplicate": (),
        "start": (),
        "move": ("e1", "e2"),
        "node": ("e2",),
    }
    assert find_problems(BROKEN, ASKED) == {
        "missing": ("e3",),
        "unknown": ("e9",),
        "duplicate": ("e1",),
        "start": ("e1",),
        "move": (),
        "node": (),
    }


@pytest.mark.parametrize(
    ("kind", "agent", "match"),
    [
        (
            "missing",
            run(e1="abc", e2="x"),
            r"agent: 1 of the 3 episodes of refs.json is not answered: e3; see missing=skip or zero",
        ),
        ("unknown", run(e1="a", e2="x", e3="a", e9="a"), "1 answer is to episodes that refs.json does not have: e9"),
        ("duplicate", run(("e1",), e1="a", e2="x", e3="a"), "1 episode is answered more than once: e1"),
        ("start", run(e1="b", e2="x", e3="a"), "1 query does not begin where its reference does: e1"),
        ("node", run(e1="aq", e2="x", e3="a"), "1 query visits a place that its scene does not have: e1"),
    ],
)
def test_errors_by_default(kind: str, agent: Run, match: str) -> None:
    assert POLICIES[kind][0] == "error"
    with pytest.raises(ws.FormatError, match=match):
        join(agent, ASKED, graphs=GRAPHS)


def test_leaps_are_kept_by_default_and_refused_on_request() -> None:
    leaping = run(e1="ac", e2="x", e3="a")
    assert join(leaping, ASKED, graphs=GRAPHS).problems["move"] == ("e1",)
    with pytest.raises(ws.FormatError, match="1 query takes a step that is not an edge: e1"):
        join(leaping, ASKED, graphs=GRAPHS, move="error")


def test_long_lists_are_cut() -> None:
    many = references(**{f"e{i}": "ab" for i in range(10)})
    with pytest.raises(ws.FormatError, match=r"10 of the 10 episodes .*: e0, e1, e2 and 7 more"):
        join(run(), many)


def test_skip_leaves_out_and_zero_is_the_worst() -> None:
    agent = run(e1="abc", e2="y")
    skipped = join(agent, ASKED, missing="skip", start="skip")
    assert skipped.episodes == ("e1",)
    assert skipped.worst == ()
    zeroed = join(agent, ASKED, missing="zero", start="zero")
    table = score_joined(zeroed, distance=GRAPHS)
    assert list(table.episodes) == ["e1", "e2", "e3"]
    assert table["nDTW"].tolist() == [1.0, 0.0, 0.0]
    assert table["SR"].tolist() == [1.0, 0.0, 0.0]
    assert table["NE"].tolist() == [0.0, math.inf, math.inf]
    assert table["PL"].tolist() == [3.0, math.inf, math.inf]
    assert table.undefined()["NE"] == 2
    assert table.means()["SR"] == pytest.approx(1 / 3)


def test_coordinates_may_start_a_rounding_away() -> None:
    path = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    asked = References("vlnce", "vlnce", {"1": Reference("1", "S", path, "1")})
    near = Run("agent", "vlnce", {"1": Query("1", path + 0.01)})
    far = Run("agent", "vlnce", {"1": Query("1", path + 1.0)})
    assert join(near, asked).problems["start"] == ()
    assert join(far, asked, start="keep").problems["start"] == ("1",)
    assert score_joined(join(near, asked), distance=None)["SR"].tolist() == [1.0]


def test_a_withheld_split_cannot_be_scored() -> None:
    asked = References("R2R_test", "r2r", {"1_0": Reference("1_0", "S", ["a"], "1")}, withheld=True)
    with pytest.raises(ws.FormatError, match=r"R2R_test: this split holds starts only .*wayscore validate"):
        join(run(**{"1_0": "ab"}), asked)
    assert find_problems(run(**{"1_0": "ab"}), asked, GRAPHS)["missing"] == ()


def test_policies_that_do_not_exist() -> None:
    with pytest.raises(
        ws.OptionError, match=r"no policy for 'mising'; did you mean 'missing'\? Known: missing, unknown"
    ):
        join(run(), ASKED, mising="skip")  # type: ignore[arg-type]
    with pytest.raises(ws.OptionError, match="unknown episodes may be error, skip; got 'zero'"):
        join(run(), ASKED, unknown="zero")


def test_a_scene_without_a_graph() -> None:
    with pytest.raises(ws.FormatError, match="episode e2: there is no graph of scene 'T'"):
        join(run(e1="a", e2="x", e3="a"), ASKED, graphs={"S": GRAPHS["S"]})
