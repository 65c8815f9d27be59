"""Real runs: what others published of them comes out; and the command on small houses, by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import wayscore as ws
from tests.house import command, write_house, write_run

# By hand


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Two scans on a line, three instructions, an agent that overshoots one goal."""
    write_house(tmp_path, [("S", "abcd", 2), ("T", "xy", 1)])
    write_run(tmp_path / "agent.json", {"1_0": "abcd", "1_1": "abcdefgh", "2_0": "xyz"})
    return tmp_path


def call(files: Path, *words: object, run: str = "agent.json") -> Any:
    where = ["--references", files / "references.json", "--graphs", files / "connectivity"]
    return command("score", files / run, *words, *where, "--resamples", 99)


def scored(files: Path, *words: object) -> dict[str, Any]:
    result = call(files, "--format", "json", *words)
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_means_by_hand(files: Path) -> None:
    found = scored(files)
    assert (found["run"], found["episodes"], found["missing"], found["undefined"]) == ("agent", 3, 0, {})
    assert found["metrics"]["NE"]["mean"] == pytest.approx((0 + 4 + 1) / 3)
    assert found["metrics"]["SR"]["mean"] == pytest.approx(2 / 3)
    assert found["metrics"]["PL"]["mean"] == pytest.approx((3 + 7 + 2) / 3)
    assert "convention:paper" in found["signature"]
    assert scored(files, "--threshold", 4)["metrics"]["SR"]["mean"] == 1.0
    assert call(files).stdout == call(files).stdout


@pytest.mark.parametrize(
    ("by", "groups"),
    [
        ("scan", {"S": (2, 2.0), "T": (1, 1.0)}),
        ("length", {"2": (1, 1.0), "4": (2, 2.0)}),
        ("path", {"1": (2, 2.0), "2": (1, 1.0)}),
    ],
)
def test_groups(files: Path, by: str, groups: dict[str, tuple[int, float]]) -> None:
    result = ws.evaluate(files / "agent.json", files / "references.json", files / "connectivity", resamples=9)
    assert {group.name: (group.episodes, group.means["NE"]) for group in result.groups(by)} == groups
    found = scored(files, "--split-by", by)
    assert list(found["groups"]) == list(groups)  # in an order that makes sense
    whole = scored(files)
    assert {key: found[key] for key in whole} == whole  # groups change nothing else


def test_groups_count_what_is_undefined(files: Path) -> None:
    write_run(files / "agent.json", {"1_0": "abcd", "2_0": "xy"})
    zero: dict[str, Any] = {"missing": "zero", "metrics": "NE,SR", "resamples": 9}
    result = ws.evaluate(files / "agent.json", files / "references.json", files / "connectivity", **zero)
    one, other = result.groups("scan")
    assert (one.episodes, one.undefined, one.means) == (2, {"NE": 1}, {"NE": 0.0, "SR": 0.5})
    assert other.undefined == {}
    with pytest.raises(ws.OptionError, match="split_by must be scan, length or path, not 'lenght'"):
        result.groups("lenght")


def test_clusters_widen_intervals(files: Path) -> None:
    by_path, alone = scored(files), scored(files, "--cluster", "none")
    assert "only 2 paths" in by_path["warnings"][0]
    assert by_path["metrics"]["PL"]["mean"] == alone["metrics"]["PL"]["mean"]
    assert by_path["metrics"]["PL"]["high"] == 5.0  # path 1 alone: (3 + 7) / 2
    assert alone["metrics"]["PL"]["high"] > 5.0


def test_settings_of_the_references_reader(files: Path) -> None:
    instance = {"inst_idx": 1, "scan": "S", "planner_path": ["a", "b"], "player_path": ["a", "b", "c", "d"]}
    (files / "ndh.json").write_text(json.dumps([instance]))
    (files / "agent.json").write_text(json.dumps([{"inst_idx": 1, "trajectory": [[n, 0, 0] for n in "abcd"]}]))
    for kind, error in (("planner", 2.0), ("player", 0.0)):
        given = {"reader": {"path_type": kind}, "metrics": "NE", "resamples": 9}
        result = ws.evaluate(files / "agent.json", files / "ndh.json", files / "connectivity", **given)
        assert result.means() == {"NE": error}
        assert f"ndh.json(path_type={kind})" in result.signature.fields["references"]


@pytest.fixture
def street(tmp_path: Path) -> Path:
    """A one-way ring of four panoramas, a route of three, an agent that goes one too far."""
    names = "abcd"
    (tmp_path / "nodes.txt").write_text("".join(f"{name},0,40.{i},-73.9\n" for i, name in enumerate(names)))
    (tmp_path / "links.txt").write_text("".join(f"{a},90,{b}\n" for a, b in ("ab", "bc", "cd", "da")))
    (tmp_path / "routes.json").write_text('{"id": 7, "route_panoids": ["a", "b", "c"], "navigation_text": "Go."}\n')
    (tmp_path / "agent.json").write_text('[{"id": 7, "path": ["a", "b", "c", "d"]}]')
    return tmp_path


@pytest.mark.parametrize(
    ("convention", "error", "success"), [("touchdown-vlnt", 1.0, 1.0), ("touchdown-valan", 3.0, 0.0), ("paper", 1.0, 1)]
)
def test_street_graphs(street: Path, convention: str, error: float, success: float) -> None:
    given = {"convention": convention, "resamples": 9}
    result = ws.evaluate(street / "agent.json", street / "routes.json", street, **given)
    assert (result.means()["NE"], result.means()["SR"]) == (error, success)
    assert result.settings["unit"] == "hops"
    (street / "links.txt").unlink()
    with pytest.raises(ws.FormatError, match=r"has no links\.txt or links\.txt\.gz"):
        ws.evaluate(street / "agent.json", street / "routes.json", street, **given)


def test_paths_at_a_step(tmp_path: Path) -> None:
    (tmp_path / "asked.jsonl").write_text('{"episode": "1", "scene": "s", "path": [[0, 0], [2, 0]]}\n')
    (tmp_path / "done.jsonl").write_text('{"episode": "1", "path": [[0, 0], [0.5, 0], [1, 0], [1.5, 0], [2, 0]]}\n')
    given, stepped = (
        ws.evaluate(tmp_path / "done.jsonl", tmp_path / "asked.jsonl", path_step=step, resamples=9)
        for step in (None, 1)
    )
    assert given.means()["DTW"] == 2.0
    assert stepped.means()["DTW"] == 0.0
    assert "|convention:paper(path_step=1.0)|" in str(stepped.signature)
    with pytest.raises(ws.OptionError, match="must be a length above 0"):
        ws.evaluate(tmp_path / "done.jsonl", tmp_path / "asked.jsonl", path_step=-1)


# Real runs

FIGURES = {"TL": "PL", "NE": "NE", "OSR": "OSR", "SR": "SR", "SPL": "SPL"}


@pytest.mark.parametrize(
    ("split", "agent", "convention"),
    [
        ("val_seen", "seq2seq", "r2r"),
        ("val_unseen", "seq2seq", "r2r"),
        ("val_seen", "navillm", "envdrop"),
        ("val_seen", "navillm", "duet"),
    ],
)
def test_figures_that_others_published(split: str, agent: str, convention: str, data: Path) -> None:
    published = json.loads((data / "published.json").read_text())
    exact = {
        file: entry["figures"]
        for file, entry in published.items()
        if entry.get("match") == "exact" and f"r2r/{split}_{agent}" in file
    }
    assert exact
    references, graphs = ws.load_references(data / f"r2r/R2R_{split}.json.gz"), data / "connectivity.tar.gz"
    for file, figures in exact.items():
        means = ws.evaluate(data / file, references, graphs, convention=convention, resamples=1).means()
        compared = [(theirs, ours) for theirs, ours in FIGURES.items() if theirs in figures]
        assert len(compared) >= 4
        for theirs, ours in compared:
            assert means[ours] == pytest.approx(figures[theirs], rel=1e-9), (file, theirs)


def test_continuous_evaluators_on_a_real_walk(data: Path) -> None:
    run = ws.load_run(data / "vlnce/results/gridmap_agent_val_unseen_3scenes_locations.json.gz")
    known = ws.load_references(data / "vlnce/R2R_VLNCE_v1-3/val_unseen/val_unseen.json.gz")
    for name in ("vlnce", "etpnav", "cwp", "navid", "streamvln", "internnav-h", "internnav-pe"):
        found = ws.evaluate(run, known, convention=name, missing="skip", start="keep", resamples=9)
        assert len(found) == 420
        assert 0 < found.means()["SPL"] < found.means()["SR"] < 1
    sparse, dense = (
        ws.evaluate(run, known, convention=name, missing="skip", start="keep", metrics="nDTW", resamples=9).means()
        for name in ("paper", "vlnce")
    )
    assert 0 < sparse["nDTW"] < dense["nDTW"] < 1  # a dense query against a sparse reference is charged for its density


def test_conventions_of_a_real_run(data: Path) -> None:
    result = command(
        *("conventions", "--diff", "duet", "paper", "--metrics", "SR,SPL,nDTW"),
        *("--run", data / "predictions/r2r/val_unseen_prevalent_add.json.gz"),
        *("--references", data / "r2r/R2R_val_unseen.json.gz", "--graphs", data / "connectivity.tar.gz"),
        status=0,
    )
    lines = result.stdout.splitlines()
    assert any(line.split() == ["paper", "44.79"] for line in lines)
    assert any(line.startswith("paper, but spl_length as duet") for line in lines)
    assert "4 choices change no number of this run: comparison, spl_floor, missing, duplicate." in " ".join(lines)
