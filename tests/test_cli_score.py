"""`wayscore score` and `wayscore validate` as users call them."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import wayscore as ws
from tests.distances.test_distances import connectivity
from wayscore.cli.app import app
from wayscore.cli.score import progress_bar


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Two scans on a line, three instructions, an agent that overshoots one goal."""
    graphs = tmp_path / "connectivity"
    graphs.mkdir()
    (graphs / "S_connectivity.json").write_text(json.dumps(connectivity("abcdefgh", "ab bc cd de ef fg gh")))
    (graphs / "T_connectivity.json").write_text(json.dumps(connectivity("xyz", "xy yz")))
    write_references(tmp_path / "references.json", [("S", "abcd", 2), ("T", "xy", 1)])
    write_run(tmp_path / "agent.json", {"1_0": "abcd", "1_1": "abcdefgh", "2_0": "xyz"})
    return tmp_path


def write_references(path: Path, walks: list[tuple[str, str, int]]) -> None:
    """Each walk is a scan, its nodes and how many instructions it has."""
    references = [
        {
            "scan": scan,
            "path_id": number,
            "path": list(nodes),
            "distance": len(nodes) - 1.0,
            "heading": 0.0,
            "instructions": ["Go."] * count,
        }
        for number, (scan, nodes, count) in enumerate(walks, start=1)
    ]
    path.write_text(json.dumps(references))


def write_run(path: Path, walks: dict[str, str]) -> None:
    run = [{"instr_id": name, "trajectory": [[node, 0.0, 0.0] for node in walk]} for name, walk in walks.items()]
    path.write_text(json.dumps(run))


def call(files: Path, *words: str, verb: str = "score", run: str = "agent.json") -> Result:
    where = ["--references", str(files / "references.json"), "--graphs", str(files / "connectivity")]
    return CliRunner().invoke(app, [verb, str(files / run), *where, *words])


def scored(files: Path, *words: str) -> dict[str, Any]:
    result = call(files, "--format", "json", *words)
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_means_by_hand(files: Path) -> None:
    found = scored(files)
    assert found["run"] == "agent"
    assert found["episodes"] == 3
    assert found["metrics"]["NE"]["mean"] == pytest.approx((0 + 4 + 1) / 3)
    assert found["metrics"]["SR"]["mean"] == pytest.approx(2 / 3)
    assert found["metrics"]["PL"]["mean"] == pytest.approx((3 + 7 + 2) / 3)
    assert "convention:paper" in found["signature"]
    assert scored(files, "--threshold", "4")["metrics"]["SR"]["mean"] == 1.0


def test_the_table_and_its_options(files: Path) -> None:
    result = call(files, "--metrics", "nDTW,SR")
    assert result.exit_code == 0
    assert "nDTW" in result.stdout
    assert "SPL" not in result.stdout
    assert "wayscore|version:" in result.stdout


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_a_row_an_episode(files: Path, ending: str) -> None:
    out = files / f"rows.{ending}"
    assert call(files, "--episodes", str(out)).exit_code == 0
    if ending == "parquet":
        assert list(ws.ScoreTable.load(out).episodes) == ["1_0", "1_1", "2_0"]
    elif ending == "csv":
        assert out.read_text().splitlines()[0].startswith('"episode","scene","PL"')
    else:
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        assert [row["NE"] for row in rows] == [0.0, 4.0, 1.0]


def test_two_runs_side_by_side(files: Path) -> None:
    write_run(files / "other.json", {"1_0": "a", "1_1": "a", "2_0": "x"})
    result = call(files, str(files / "other.json"), "--episodes", str(files / "rows.csv"))
    assert result.exit_code == 0
    assert "agent" in result.stdout
    assert "other" in result.stdout
    assert (files / "rows-agent.csv").exists()
    assert (files / "rows-other.csv").exists()


def test_runs_of_one_name_are_told_apart(files: Path) -> None:
    for agent in ("one", "two"):
        (files / agent).mkdir()
        write_run(files / agent / "agent.json", {"1_0": "a", "1_1": "a", "2_0": "x"})
    more = [str(files / agent / "agent.json") for agent in ("one", "two")]
    result = call(files, *more, "--format", "json", "--episodes", str(files / "rows.csv"))
    names = [json.loads(line)["run"] for line in result.stdout.splitlines()]
    assert names == [f"{files.name}/agent", "one/agent", "two/agent"]
    assert len(list(files.glob("rows-*.csv"))) == 3  # none is written over


@pytest.mark.parametrize(
    ("by", "groups"),
    [
        ("scan", {"S": (2, 2.0), "T": (1, 1.0)}),
        ("length", {"2": (1, 1.0), "4": (2, 2.0)}),
        ("path", {"1": (2, 2.0), "2": (1, 1.0)}),
    ],
)
def test_split(files: Path, by: str, groups: dict[str, tuple[int, float]]) -> None:
    found = scored(files, "--split-by", by, "--metrics", "NE,SR")
    assert found["split_by"] == by
    assert {
        name: (group["episodes"], group["metrics"]["NE"]["mean"]) for name, group in found["groups"].items()
    } == groups
    assert list(found["groups"]) == list(groups)  # in an order that makes sense
    whole = scored(files, "--metrics", "NE,SR")
    assert {key: found[key] for key in whole} == whole  # groups change nothing else
    for form in ("text", "markdown", "latex"):
        printed = call(files, "--split-by", by, "--format", form).stdout
        assert ("number of reference nodes" if by == "length" else f"by {by}") in printed


def test_splitting_counts_what_is_undefined(files: Path) -> None:
    write_run(files / "agent.json", {"1_0": "abcd", "2_0": "xy"})
    found = scored(files, "--missing", "zero", "--split-by", "scan", "--metrics", "NE")
    assert found["groups"]["S"] == {"episodes": 2, "undefined": {"NE": 1}, "metrics": {"NE": {"mean": 0.0}}}
    assert found["groups"]["T"]["undefined"] == {}


def test_clusters_widen_intervals(files: Path) -> None:
    result = call(files, "--format", "json", "--cluster", "path")
    assert "only 2 clusters (path)" in result.stderr
    by_path, alone = json.loads(result.stdout), scored(files)
    assert by_path["metrics"]["PL"]["mean"] == alone["metrics"]["PL"]["mean"]
    assert by_path["metrics"]["PL"]["high"] == 5.0  # path 1 alone: (3 + 7) / 2
    assert alone["metrics"]["PL"]["high"] > 5.0


def test_different_signatures_are_pointed_out_beside_json(files: Path) -> None:
    write_run(files / "other.json", {"1_0": "a", "1_1": "a"})
    result = call(files, str(files / "other.json"), "--format", "json", "--missing", "skip")
    assert "wayscore: warning: agent and other differ in" in result.stderr
    assert len(result.stdout.splitlines()) == 2


def test_progress_is_told_to_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, steps in ((io.StringIO(), 2), (Terminal(), 0), (Terminal(), 2)):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress_bar(steps) as progress:
            progress("reading a[1].json")
            progress("scoring a[1]")
        assert ("scoring a[1]" in stream.getvalue()) == (stream.isatty() and steps > 0)


def test_the_width_of_the_terminal_is_used(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "bcdef":
        write_run(files / f"{name}.json", {"1_0": "a", "1_1": "a", "2_0": "x"})
    for width in (80, 100, 140):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = call(files, *(str(files / f"{name}.json") for name in "bcdef")).stdout.splitlines()
        assert max(len(line) for line in lines if not line.startswith("wayscore|")) <= width


def test_the_same_seed_prints_the_same(files: Path) -> None:
    assert call(files).stdout == call(files).stdout


@pytest.mark.parametrize(
    ("walks", "words", "message"),
    [
        ({"1_0": "abcd"}, (), "2 of the 3 episodes of references.json are not answered: 1_1, 2_0"),
        ({"1_0": "a", "1_1": "a", "2_0": "x", "9_9": "a"}, (), "does not have: 9_9"),
        ({"1_0": "b", "1_1": "a", "2_0": "x"}, (), "does not begin where its reference does: 1_0"),
        ({"1_0": "aq", "1_1": "a", "2_0": "x"}, (), "visits a place that its scene does not have: 1_0"),
        ({"1_0": "ac", "1_1": "a", "2_0": "x"}, ("--move", "error"), "takes a step that is not an edge: 1_0"),
        ({"1_0": "a", "1_1": "a", "2_0": "x"}, ("--metrics", "nDTV"), "there is no metric 'nDTV'"),
        ({"1_0": "a", "1_1": "a", "2_0": "x"}, ("--threshold", "0"), "threshold must be a positive distance"),
        ({"1_0": "a", "1_1": "a", "2_0": "x"}, ("--convention", "papr"), "did you mean 'paper'"),
        ({"1_0": "a", "1_1": "a", "2_0": "x"}, ("--format", "pdf"), "there is no format 'pdf'"),
        ({"1_0": "a", "1_1": "a", "2_0": "x"}, ("--missing", "ignore"), "missing episodes may be error, skip, zero"),
        ({"1_0": "a", "1_1": "a", "2_0": "x"}, ("--episodes", "rows.xls"), "ending must be .parquet, .csv or .jsonl"),
        ({"1_0": "a", "1_1": "a", "2_0": "x"}, ("--resamples", "0"), "resamples"),
        ({"1_0": "a", "1_1": "a", "2_0": "x"}, ("--reader", "player"), "--reader takes name=value"),
        ({"1_0": "a", "1_1": "a", "2_0": "x"}, ("--reader", "path_type=player"), "have no option 'path_type'"),
        (
            {"1_0": "a", "1_1": "a", "2_0": "x"},
            ("--cluster", "scene"),
            "cannot cluster by 'scene'; did you mean 'scan'",
        ),
        ({"1_0": "a", "1_1": "a", "2_0": "x"}, ("--split-by", "lenght"), "cannot split by 'lenght'; did you mean"),
    ],
)
def test_mistakes_are_told_in_one_line(
    files: Path, walks: dict[str, str], words: tuple[str, ...], message: str
) -> None:
    write_run(files / "bad.json", walks)
    result = call(files, *words, run="bad.json")
    assert result.exit_code == 1
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_policies(files: Path) -> None:
    write_run(files / "agent.json", {"1_0": "abcd"})
    assert scored(files, "--missing", "skip")["episodes"] == 1
    zero = scored(files, "--missing", "zero")
    assert (zero["episodes"], zero["missing"], zero["undefined"]["NE"]) == (3, 2, 2)
    assert zero["metrics"]["SR"]["mean"] == pytest.approx(1 / 3)
    assert "missing:zero-2" in zero["signature"]


def test_labels_need_graphs(files: Path) -> None:
    result = CliRunner().invoke(
        app, ["score", str(files / "agent.json"), "--references", str(files / "references.json")]
    )
    assert result.exit_code == 1
    assert "give the connectivity files with --graphs" in result.stderr


def test_validate(files: Path) -> None:
    good = call(files, verb="validate")
    assert good.exit_code == 0
    assert "3 answers to 3 episodes of references.json, no problem found" in good.stdout
    write_run(files / "bad.json", {"1_0": "bq", "9_9": "a"})
    bad = call(files, verb="validate", run="bad.json")
    assert bad.exit_code == 1
    for line in (
        "2 of the 3 episodes of references.json are not answered: 1_1, 2_0",
        "1 answer is to episodes that references.json does not have: 9_9",
        "1 query does not begin where its reference does:\n  1_0: begins at 'b', its reference at 'a'",
        "1 query takes a step that is not an edge:\n  1_0: step 1, from 'b' to 'q'",
        "1 query visits a place that its scene does not have:\n  1_0: step 1, 'q'",
        "6 problems in 2 answers to 3 episodes",
    ):
        assert line in bad.stdout


FIGURES = {"TL": "PL", "NE": "NE", "OSR": "OSR", "SR": "SR", "SPL": "SPL"}


@pytest.mark.parametrize(
    ("split", "agent", "convention"),
    [("val_seen", "seq2seq", "r2r"), ("val_unseen", "seq2seq", "r2r"), ("val_seen", "navillm", "envdrop")],
)
def test_figures_that_others_published(split: str, agent: str, convention: str, data: Path) -> None:
    published = json.loads((data / "published.json").read_text())
    exact = {
        file: entry
        for file, entry in published.items()
        if entry.get("match") == "exact" and f"r2r/{split}_{agent}" in file
    }
    assert exact
    words = ["--references", str(data / f"r2r/R2R_{split}.json.gz"), "--graphs", str(data / "connectivity.tar.gz")]
    files = [str(data / file) for file in exact]
    result = CliRunner().invoke(
        app, ["score", *files, *words, "--convention", convention, "--format", "json", "--resamples", "1"]
    )
    assert result.exit_code == 0, result.stderr
    for line, (file, entry) in zip(result.stdout.splitlines(), exact.items(), strict=True):
        metrics = json.loads(line)["metrics"]
        compared = [(theirs, ours) for theirs, ours in FIGURES.items() if theirs in entry["figures"]]
        assert len(compared) >= 4
        for theirs, ours in compared:
            assert metrics[ours]["mean"] == pytest.approx(entry["figures"][theirs], rel=1e-9), (file, theirs)


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
    words = ["score", str(street / "agent.json"), "-r", str(street / "routes.json"), "-f", "json"]
    result = CliRunner().invoke(app, [*words, "--convention", convention, "-g", str(street)])
    assert result.exit_code == 0, result.stderr
    metrics = json.loads(result.stdout)["metrics"]
    assert (metrics["NE"]["mean"], metrics["SR"]["mean"]) == (error, success)
    shown = CliRunner().invoke(app, [*words[:-2], "--convention", convention, "-g", str(street)]).stdout
    assert "NE hops ↓" in shown
    (street / "links.txt").unlink()
    lacking = CliRunner().invoke(app, [*words, "-g", str(street)])
    assert lacking.exit_code == 1
    assert "has no links.txt or links.txt.gz" in lacking.stderr


def test_real_street_routes(data: Path, tmp_path: Path) -> None:
    # The first few routes of a real file, each walked but for its last place: one hop short.
    with gzip.open(data / "street/map2seq_unseen_dev.json.gz", "rt") as stream:
        lines = [next(stream) for _ in range(5)]
    (tmp_path / "routes.json").write_text("".join(lines))
    walks = [{"id": (route := json.loads(line))["id"], "path": route["route_panoids"][:-1]} for line in lines]
    (tmp_path / "agent.json").write_text(json.dumps(walks))
    words = ["score", str(tmp_path / "agent.json"), "-r", str(tmp_path / "routes.json"), "-g", str(data / "street")]
    for convention, edits in (("touchdown-vlnt", 1 / 38), ("touchdown-valan", 1 / (38 * 37))):
        result = CliRunner().invoke(app, [*words, "-f", "json", "--convention", convention])
        metrics = json.loads(result.stdout)["metrics"]
        assert [metrics[name]["mean"] for name in ("SR", "NE", "DTW")] == [1.0, 1.0, 1.0]
        assert 1 - metrics["SED"]["mean"] == pytest.approx(edits, rel=0.2)


def test_sampling_anew(tmp_path: Path) -> None:
    (tmp_path / "asked.jsonl").write_text('{"episode": "1", "scene": "s", "path": [[0, 0], [2, 0]]}\n')
    (tmp_path / "done.jsonl").write_text('{"episode": "1", "path": [[0, 0], [0.5, 0], [1, 0], [1.5, 0], [2, 0]]}\n')
    words = ["score", str(tmp_path / "done.jsonl"), "-r", str(tmp_path / "asked.jsonl"), "-f", "json"]
    as_given, anew = (json.loads(CliRunner().invoke(app, [*words, *more]).stdout) for more in ([], ["--resample", "1"]))
    assert as_given["metrics"]["DTW"]["mean"] == 2.0
    assert anew["metrics"]["DTW"]["mean"] == 0.0
    assert "|convention:paper(path_step=1.0)|" in anew["signature"]
    wrong = CliRunner().invoke(app, [*words, "--resample", "-1"])
    assert wrong.exit_code == 1
    assert "must be a length above 0" in wrong.stderr


@pytest.mark.parametrize("name", ["vlnce", "etpnav", "cwp", "navid", "streamvln", "internnav-h", "internnav-pe"])
def test_continuous_evaluators_on_a_real_walk(name: str, data: Path) -> None:
    run = data / "vlnce/results/gridmap_agent_val_unseen_3scenes_locations.json.gz"
    asked = data / "vlnce/R2R_VLNCE_v1-3/val_unseen/val_unseen.json.gz"
    words = ["score", str(run), "-r", str(asked), "--missing", "skip", "--start", "keep", "-f", "json"]
    result = CliRunner().invoke(app, [*words, "--convention", name, "--resamples", "100"])
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["episodes"] == 420
    assert 0 < found["metrics"]["SPL"]["mean"] < found["metrics"]["SR"]["mean"] < 1
