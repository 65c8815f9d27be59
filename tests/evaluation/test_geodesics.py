"""Where distances to the goal come from: recorded, a navigation mesh, walks of the references, straight lines."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wayscore as ws
from tests.navmeshes import mesh_of, write

# A floor in the shape of an L: from one end to the other, the way leads round the corner.
CORNERS = [[0, 0, 0], [2, 0, 0], [2, 0, 8], [0, 0, 8], [2, 0, 10], [0, 0, 10], [9, 0, 8], [9, 0, 10]]
POLYGONS = [[0, 3, 2, 1], [3, 5, 4, 2], [2, 4, 7, 6]]
START, CORNER, GOAL = [1.0, 0.0, 1.0], [1.0, 0.0, 9.0], [8.0, 0.0, 9.0]
SIZE = (1.5, 0.1, 0.2)
VLNCE = {"convention": "vlnce", "metrics": "NE,ONE,SR,SPL"}


def mesh() -> ws.NavMesh:
    return mesh_of(CORNERS, POLYGONS)


def references(**facts: Any) -> ws.References:
    path = np.array([START, CORNER, GOAL])
    dense = np.concatenate([np.linspace(START, CORNER, 33), np.linspace(CORNER, GOAL, 29)[1:]])
    episodes = {
        name: ws.Reference(name, scene, path, name, start_distance=15.0, dense=dense)
        for name, scene in (("1", "L"), ("2", "other"))
    }
    return ws.References("mine.json", "vlnce", episodes, up_axis=1, **facts)


def run(recorded: dict[str, Any] | None = None) -> ws.Run:
    walk = np.array([START, [1.0, 0.0, 5.0]])
    return ws.Run("agent", "table", [ws.Query(name, walk, True, recorded or {}) for name in ("1", "2")])


def test_the_mesh_sees_walls_and_straight_lines_do_not() -> None:
    around = mesh().distance([1.0, 0.0, 5.0], GOAL)
    straight = math.dist([1.0, 0.0, 5.0], GOAL)
    assert around > straight + 1
    plain = ws.evaluate(run(), references(), **VLNCE)
    assert plain["NE"].tolist() == [straight, straight]
    assert plain.signature.fields["goal"] == "straight"
    by_mesh = ws.evaluate(run(), references(), navmesh={"L": mesh()}, **VLNCE)
    assert by_mesh["NE"].tolist() == [around, straight]
    assert by_mesh["ONE"].tolist() == [around, straight]
    assert by_mesh.signature.fields["goal"] == f"{mesh().fingerprint}+straight"
    assert any("1 of 2 episodes have no `goal_distances`" in warning for warning in by_mesh.warnings)


def test_each_source_in_its_turn() -> None:
    known = ws.evaluate(run({"goal_distances": [20.0, 12.5]}), references(), navmesh={"L": mesh()}, **VLNCE)
    assert known["NE"].tolist() == [12.5, 12.5]
    assert known.signature.fields["goal"] == "recorded"
    both = ws.evaluate(run(), references(), navmesh={"L": mesh()}, walkable=True, **VLNCE)
    assert both["NE"][0] == mesh().distance([1.0, 0.0, 5.0], GOAL)
    assert both["NE"][1] == pytest.approx(11.0, abs=0.3)  # 4 m to the corner and 7 m from there
    kinds = [source.partition("#")[0] for source in both.signature.fields["goal"].split("+")]
    assert kinds == ["navmesh-0.3.4", "walkable"]
    assert any("along the references' walks" in warning for warning in both.warnings)


def test_spl_takes_the_length_from_the_start_by_the_mesh() -> None:
    there = ws.Run("agent", "table", [ws.Query(name, np.array([START, CORNER, GOAL]), True) for name in "12"])
    found = ws.evaluate(there, references(), navmesh={"L": mesh(), "other": mesh()}, **VLNCE)
    assert found["SR"].tolist() == [1.0, 1.0]
    assert found["SPL"][0] == pytest.approx(mesh().distance(START, GOAL) / 15.0)


def test_folders_workers_and_saved_results(tmp_path: Path) -> None:
    for scene in ("L", "other"):
        (tmp_path / "meshes" / scene).mkdir(parents=True)
        (tmp_path / "meshes" / scene / f"{scene}.navmesh").write_bytes(write(CORNERS, POLYGONS, SIZE))
    expected = ws.evaluate(run(), references(), navmesh={"L": mesh(), "other": mesh()}, **VLNCE)
    table = {name: [START, [1.0, 0.0, 5.0]] for name in ("1", "2")}
    (tmp_path / "run.json").write_text(str(table).replace("'", '"'))
    for workers in (1, 2):
        found = ws.evaluate(tmp_path / "run.json", references(), navmesh=tmp_path / "meshes", workers=workers, **VLNCE)
        assert found["NE"].tolist() == expected["NE"].tolist()
        assert found.signature.fields["goal"] == expected.signature.fields["goal"]
    found.save(tmp_path / "saved.parquet")
    assert str(ws.load_result(tmp_path / "saved.parquet").signature) == str(found.signature)


def test_a_mesh_of_another_agent_is_noted() -> None:
    rxr = ws.evaluate(run(), references(agent=(0.88, 0.18)), navmesh={"L": mesh()}, **VLNCE)
    assert any("built for an agent of height 1.5 m and radius 0.1 m" in warning for warning in rxr.warnings)
    assert not any(
        "built for" in w for w in ws.evaluate(run(), references(agent=(1.5, 0.1)), navmesh={"L": mesh()}).warnings
    )


def test_what_cannot_be_measured_is_said(tmp_path: Path) -> None:
    with pytest.raises(ws.WayscoreError, match="is not a folder"):
        ws.evaluate(run(), references(), navmesh=tmp_path / "none", **VLNCE)
    with pytest.raises(ws.OptionError, match=r"navmesh must be a folder of \.navmesh files or a mapping"):
        ws.evaluate(run(), references(), navmesh=3, **VLNCE)
    graph = {"s": ws.Graph.from_edges([("a", "b")], [1.0])}
    nodes = ws.References("mine", "table", {"1": ws.Reference("1", "s", ["a", "b"], "1")})
    with pytest.raises(ws.OptionError, match="need paths of coordinates"):
        ws.evaluate({"1": ["a"]}, nodes, graph, navmesh={"s": mesh()})
    with pytest.raises(ws.OptionError, match="must be points in space"):
        ws.evaluate({"1": ["a"]}, nodes, graph, walkable=True)
    plane = ws.References("mine", "table", {"1": ws.Reference("1", "L", np.zeros((2, 2)), "1")})
    with pytest.raises(ws.PathError, match="episode 1, distances to the goal by the navmesh"):
        ws.evaluate({"1": [[0.0, 0.0]]}, plane, navmesh={"L": mesh()})
