"""The demo: its files read back, its table against the public functions, its commands run as they are printed."""

from __future__ import annotations

import json
import os
import re
import subprocess
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.cli.test_cli import invoke, run
from tests.worlds.test_instructions import follow
from wayscore import METRICS, Graph, OptionError, Signature, load_graphs, load_references, load_run
from wayscore.cli import demo
from wayscore.worlds import WALKERS
from wayscore.worlds.files import MARK, Course, course_files, node_name, write_files


@pytest.fixture(scope="module")
def course() -> Course:
    return Course(seed=3, episodes=41)


@pytest.fixture(scope="module")
def folder(course, tmp_path_factory) -> Path:
    """The files of a course, without the report."""
    out = tmp_path_factory.mktemp("demo")
    write_files(out, course_files(course))
    return out


@pytest.fixture(scope="module")
def house(folder):
    """The references and the graphs of a course, as they are read."""
    return load_references(folder / "references.json").episodes, load_graphs(folder / "connectivity")


@pytest.fixture(scope="module")
def default(tmp_path_factory):
    """The demo as people run it first, in a folder of its own: where it ran, and what it printed."""
    home = tmp_path_factory.mktemp("home")
    return home, run("demo", cwd=home, COLUMNS="100")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_references_read_back(course, folder, house):
    references, graphs = house
    assert load_references(folder / "references.json").format == "r2r"
    assert len(references) == 41
    assert {reference.scene for reference in references.values()} == set(graphs) == set(course.worlds)
    assert [len(task.instructions) for task in course.tasks] == [2] * 20 + [1]
    for task in course.tasks:
        for place, words in enumerate(task.instructions):
            reference = references[f"{task.path_id}_{place}"]
            assert reference.path == [node_name(node) for node in task.path]
            assert reference.instruction == words
            graph = graphs[reference.scene]
            assert follow(graph, reference.path[0], words) == reference.path
            apart = graph.distance(reference.path[0], reference.path[-1])
            assert reference.start_distance == pytest.approx(apart, abs=0.0051)
    for record in json.loads((folder / "references.json").read_text()):
        assert record.keys() == {"path_id", "scan", "heading", "path", "instructions", "distance"}
        assert 0 <= record["heading"] < 6.284


def test_worlds_read_back(course, house):
    for scan, graph in house[1].items():
        world = course.worlds[scan]
        assert graph.nodes == tuple(node_name(node) for node in world.graph.nodes)
        assert graph.edges == world.graph.edges
        assert np.array_equal(graph.positions[:, :2], world.positions)
        assert np.ptp(graph.positions[:, 2]) == 0
        assert np.allclose(graph.table, world.graph.table, rtol=1e-12)


@pytest.mark.parametrize("walker", WALKERS)
def test_runs_read_back(course, folder, house, walker):
    references, graphs = house
    read = load_run(folder / "runs" / f"{walker}.json")
    paths = {name: query.path for name, query in read.queries.items()}
    assert (read.name, read.format) == (walker, "r2r")
    assert paths == {name: [node_name(node) for node in path] for name, path in course.walk(walker).items()}
    for name, path in paths.items():
        assert all(graphs[references[name].scene].has_edge(a, b) for a, b in pairwise(path))


def test_headings_point_where_the_step_led(folder, house):
    references, graphs = house
    for record in json.loads((folder / "runs" / "noisy.json").read_text()):
        graph: Graph = graphs[references[record["instr_id"]].scene]
        for (a, _, _), (b, heading, elevation) in pairwise(record["trajectory"]):
            x, y, _ = graph.positions[graph.index[b]] - graph.positions[graph.index[a]]
            assert (np.sin(heading), np.cos(heading)) == pytest.approx((x, y) / np.hypot(x, y), abs=0.001)
            assert elevation == 0


def test_a_course_is_spread_evenly():
    course = Course(seed=1)
    assert course.threshold == pytest.approx(np.mean([world.threshold for world in course.worlds.values()]), abs=0.01)
    scans = [task.scan for task in course.tasks]
    assert [scans.count(scan) for scan in course.worlds] == [25] * 4
    assert scans == sorted(scans)
    words = [text for task in course.tasks for text in task.instructions]
    assert len(words) == 200
    assert sum(a == b for a, b in (task.instructions for task in course.tasks)) < 5
    others = {world.seed for world in Course(seed=2).worlds.values()}
    assert others.isdisjoint(world.seed for world in course.worlds.values())
    with pytest.raises(OptionError, match="scans must be a whole number, 1 or more, got 0"):
        Course(scans=0)


def test_the_demo_leaves_its_files(default):
    home, result = default
    assert result.returncode == 0
    assert result.stderr == ""
    assert [path.name for path in home.iterdir()] == ["wayscore-demo"]
    found = contents(home / "wayscore-demo")
    expected = {"references.json", "report.html", MARK, *(f"runs/{name}.json" for name in WALKERS)}
    assert found.keys() == expected | {f"connectivity/world{n}_connectivity.json" for n in range(1, 5)}
    assert len(load_references(home / "wayscore-demo" / "references.json").episodes) == 200
    page = found["report.html"].decode()
    assert "<html" in page
    assert all(name in page for name in WALKERS)


def test_the_same_seed_makes_the_same_files(tmp_path):
    outputs = {}
    for name, seed in (("first", 7), ("again", 7), ("other", 8)):
        (tmp_path / name).mkdir()
        result = run("demo", "--seed", str(seed), "--episodes", "12", cwd=tmp_path / name)
        assert result.returncode == 0
        outputs[name] = result.stdout, contents(tmp_path / name)
    assert outputs["first"] == outputs["again"]
    assert outputs["first"][0] != outputs["other"][0]
    assert outputs["first"][1].keys() == outputs["other"][1].keys()
    same = [name for name, content in outputs["first"][1].items() if outputs["other"][1][name] == content]
    assert same == [f"wayscore-demo/{MARK}"]


def test_printed_commands_work(default):
    home, result = default
    scripts = re.findall(r"^# (.+)\n((?:.+\\\n)*.+)$", result.stdout, flags=re.MULTILINE)
    assert [re.search(r"\bwayscore (\w+) ", script)[1] for _, script in scripts] == ["score", "compare", "validate"]
    printed = {}
    for comment, script in scripts:
        settings = {**os.environ, "PYTHONIOENCODING": "utf-8", "COLUMNS": "100"}
        done = subprocess.run(
            script, shell=True, cwd=home, env=settings, capture_output=True, encoding="utf-8", check=False
        )
        assert done.stderr == "", comment
        assert done.returncode == (1 if "refuse" in comment else 0), done
        printed[comment] = done.stdout
    by_world, tests, refused = printed.values()
    assert all(world in by_world for world in ("world1", "world2", "world3", "world4"))
    assert "shortest minus noisy" in tests
    assert "do not begin where their reference does" in refused
    (row,) = re.findall(r"^noisy +(.+)$", result.stdout.partition("Which metrics")[0], flags=re.MULTILINE)
    shown = {}
    for heads, means in re.findall(r"^run +(.+)\n─+\nnoisy +(.+)$", by_world, flags=re.MULTILINE):
        shown |= dict(zip(re.findall(r"(\w+) [m%]", heads), re.findall(r"([\d.]+) \[", means), strict=True))
    assert row.split() == [shown[symbol] for symbol in METRICS]  # the very numbers of the demo's table
    signature = re.search(r"^wayscore\|.*$", result.stdout, flags=re.MULTILINE)[0]
    again = re.search(r"^wayscore\|.*$", by_world, flags=re.MULTILINE)[0]
    assert Signature.parse(signature) == Signature.parse(again)


@pytest.mark.parametrize("columns", [80, 100])
def test_narrow_tables_show_every_mean(columns, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke("demo", "--episodes", "20", columns=columns, status=0)
    lines = [line for line in result.stdout.splitlines() if not line.startswith("wayscore|")]
    assert max(map(len, lines)) <= columns
    assert "…" not in result.stdout
    rows: dict[str, list[str]] = {}  # the numbers after each walker's name, in all parts of a broken table
    for line in result.stdout.partition("Which metrics")[0].splitlines():
        name, *cells = line.split() or [""]
        if name in WALKERS:
            rows.setdefault(name, []).extend(cells)
    assert list(rows) == list(WALKERS)
    assert all(len(cells) == len(METRICS) for cells in rows.values())
    arrows = [metric.direction for metric in METRICS.values()]
    assert result.stdout.count("↑") == arrows.count("up")
    assert result.stdout.count("↓") == arrows.count("down")


def test_faults_and_who_notices_them(default):
    _, result = default
    rows = {}
    for walker in WALKERS:
        if found := re.search(rf"^{walker} +{re.escape(demo.FAULTS[walker])} +(.+?) *$", result.stdout, re.MULTILINE):
            rows[walker] = found[1]
    assert list(rows) == [name for name in WALKERS if name != "perfect"]
    assert rows["shortest"] == "NE ONE SR OSR SPL (prefers it)"
    assert rows["reversed_walk"] == "ONE OSR AD MD CLS"  # of CLS only rounding is left
    assert rows["early_stop"] == "AD MD"
    assert rows["detour"] == "NE ONE SR OSR"
    assert rows["random_walk"] == "-"
    assert "SED, DTW, nDTW and SDTW notice every fault." in result.stdout
    told = " ".join(result.stdout.split())
    assert re.search(r"shortest or noisy\? .*SR and SPL prefer shortest; .*nDTW and SDTW prefer noisy\.", told)
    assert re.search(r"shortest minus noisy: SR \+[\d.]+ \[.+\] %, nDTW -[\d.]+ \[.+\] %", told)
    assert re.search(r"reversed_walk: start:keep-\d+, because it does not start where its references start", told)


def test_one_episode_is_enough(tmp_path):
    result = invoke("demo", "--episodes", "1", "--out", str(tmp_path), status=0)
    assert "1 instruction for 1 path, seed 0" in result.stdout
    assert "No metric shows a difference" in result.stdout
    assert "notice every fault" not in result.stdout


def test_only_its_own_files_are_rewritten(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "agent.json").write_text("mine too")
    invoke("demo", "--episodes", "2", "--out", str(tmp_path), status=0)
    first = contents(tmp_path)
    invoke("demo", "--episodes", "2", "--seed", "1", "--out", str(tmp_path), status=0)
    second = contents(tmp_path)
    assert first["references.json"] != second["references.json"]
    assert first["report.html"] != second["report.html"]
    assert (second["notes.txt"], second["runs/agent.json"]) == (b"mine", b"mine too")
    assert first.keys() == second.keys()


@pytest.mark.parametrize("name", ["references.json", "report.html", "runs/noisy.json"])
def test_a_file_that_is_not_its_own_stays(tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    result = invoke("demo", "--episodes", "2", "--out", str(tmp_path), status=2)
    assert result.stderr.startswith(f"wayscore: {tmp_path / name} exists already and was not made by a demo")
    assert result.stderr.count("\n") == 1
    assert contents(tmp_path) == {name: b"mine"}


@pytest.mark.parametrize("inside", [".", "deeper"])
def test_a_folder_that_cannot_be_written(tmp_path, inside):
    taken = tmp_path / "taken"
    taken.write_text("")
    result = invoke("demo", "--episodes", "1", "--out", str(taken / inside), status=1)
    assert result.stderr.startswith(f"wayscore: {taken / inside}")
    assert result.stderr.endswith(": cannot be written: not a directory; choose another place\n")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("called", "shown"),
    [("env/bin/wayscore", "env/bin/wayscore"), ("-c", r"\S+ -m wayscore"), ("my env/wayscore", "'my env/wayscore'")],
)
def test_commands_can_be_pasted_into_a_shell(monkeypatch, called, shown):
    monkeypatch.setattr(demo.shutil, "which", lambda _: None)
    monkeypatch.setattr(demo.sys, "argv", [called])
    assert re.fullmatch(shown, demo.program())
    assert "'my demo/runs/noisy.json'" in demo.commands(Path("my demo"), Course(episodes=1))[0][1]
