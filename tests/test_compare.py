"""`compare_runs` and `wayscore compare`: differences by hand, tests, corrections, and every form."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import wayscore as ws
from tests.test_cli_score import write_references, write_run
from tests.distances.test_distances import connectivity
from wayscore.cli.app import app
from wayscore.report import RENDERERS, Comparison, compare_runs, render_comparison
from wayscore.statistics import holm

EPISODES = [*(f"{path}_{k}" for path in range(1, 7) for k in (0, 1)), "7_0"]
STAY = {name: "x" if name == "7_0" else "a" for name in EPISODES}
PERFECT = {name: "xy" if name == "7_0" else "abcd" for name in EPISODES}
HALF = PERFECT | dict.fromkeys(EPISODES[:6], "ab")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Six paths of 3 m with two instructions each and one of 1 m; three agents."""
    graphs = tmp_path / "connectivity"
    graphs.mkdir()
    (graphs / "S_connectivity.json").write_text(json.dumps(connectivity("abcd", "ab bc cd")))
    (graphs / "T_connectivity.json").write_text(json.dumps(connectivity("xy", "xy")))
    write_references(tmp_path / "references.json", [("S", "abcd", 2)] * 6 + [("T", "xy", 1)])
    for name, walks in (("stay", STAY), ("perfect", PERFECT), ("half", HALF)):
        write_run(tmp_path / f"{name}.json", walks)
    return tmp_path


def compared(folder: Path, *names: str, **options: Any) -> Comparison:
    settings = {"threshold": 2.0, "resamples": 999} | options
    runs = [folder / f"{name}.json" for name in names]
    return compare_runs(runs, folder / "references.json", graphs=folder / "connectivity", **settings)


def call(folder: Path, *words: str, runs: tuple[str, ...] = ("stay", "perfect")) -> Result:
    where = ["--references", str(folder / "references.json"), "--graphs", str(folder / "connectivity")]
    files = [str(folder / f"{name}.json") for name in runs]
    return CliRunner().invoke(app, ["compare", *files, *where, "--resamples", "99", *words])


def test_differences_by_hand(folder: Path) -> None:
    found = compared(folder, "stay", "perfect")
    assert (found.baseline, found.episodes, found.left_out, found.others) == ("stay", 13, 0, ["perfect"])
    tests = found.of("perfect")
    assert list(tests) == list(found.summaries[0].metrics)
    assert tests["NE"].difference.mean == pytest.approx(-37 / 13)
    assert tests["NE"].outcomes == (13, 0, 0)  # less is better
    assert tests["NE"].superiority == 1.0
    assert tests["SR"].difference.mean == pytest.approx(12 / 13)  # 7_0 stays within 2 m of its goal
    assert tests["SR"].outcomes == (12, 1, 0)
    assert tests["SR"].superiority == pytest.approx(12.5 / 13)
    assert tests["PL"].difference.mean == pytest.approx(37 / 13)
    assert tests["PL"].outcomes is None
    assert tests["PL"].superiority is None
    spread = math.sqrt((12 * (3 - 37 / 13) ** 2 + (1 - 37 / 13) ** 2) / 12)
    assert tests["NE"].effect_size == pytest.approx(-37 / 13 / spread)
    for test in tests.values():
        assert test.difference.low <= test.difference.mean <= test.difference.high
        assert test.episodes == 13


def test_a_clearly_better_run_is_significant(folder: Path) -> None:
    tests = compared(folder, "stay", "perfect", resamples=9999).of("perfect")
    assert tests["nDTW"].p_holm < 0.05
    assert tests["nDTW"].difference.low > 0


def test_identical_runs(folder: Path) -> None:
    write_run(folder / "again.json", PERFECT)
    found = compared(folder, "perfect", "again")
    for test in found.contrasts:
        assert (test.p, test.p_holm, test.effect_size, test.difference) == (1.0, 1.0, 0.0, (0.0, 0.0, 0.0))
        assert test.outcomes in (None, (0, 13, 0))
        assert test.superiority in (None, 0.5)
    assert found.better == found.worse == {"again": ()}


def test_holm_is_over_all_metrics_and_runs(folder: Path) -> None:
    found = compared(folder, "stay", "perfect", "half", metrics="NE,SR,PL")
    assert len(found.contrasts) == 6
    assert [test.p_holm for test in found.contrasts] == holm([test.p for test in found.contrasts])
    alone = compared(folder, "stay", "half", metrics="NE,SR,PL")
    for symbol, test in alone.of("half").items():
        assert found.of("half")[symbol].p == test.p  # other runs beside it change the correction only
        assert found.of("half")[symbol].difference == test.difference


def test_the_seed_decides(folder: Path) -> None:
    first = compared(folder, "stay", "half", seed=3)
    assert first == compared(folder, "stay", "half", seed=3)
    assert first != compared(folder, "stay", "half", seed=4)


@pytest.mark.parametrize("baseline", ["perfect", 2, "2"])
def test_the_baseline(folder: Path, baseline: Any) -> None:
    found = compared(folder, "stay", "perfect", "half", baseline=baseline)
    assert found.baseline == "perfect"
    assert found.others == ["stay", "half"]
    assert found.of("stay")["NE"].difference.mean == pytest.approx(37 / 13)
    assert found.of("perfect") == {}


def test_the_baseline_as_a_file(folder: Path) -> None:
    assert compared(folder, "stay", "half", baseline=str(folder / "half.json")).baseline == "half"


def test_the_episodes_that_differ_most(folder: Path) -> None:
    write_run(folder / "mixed.json", HALF | {"1_0": "abcd", "7_0": "x"})
    found = compared(folder, "half", "mixed", metrics="NE,nDTW")
    assert found.metric == "NE"
    assert [example.to_dict() for example in found.better["mixed"]] == [
        {"episode": "1_0", "scene": "S", "baseline": 2.0, "run": 0.0}
    ]
    assert [(example.episode, example.baseline, example.run) for example in found.worse["mixed"]] == [("7_0", 0.0, 1.0)]
    assert len(compared(folder, "stay", "perfect", top=2).better["perfect"]) == 2
    assert compared(folder, "stay", "perfect").metric == "nDTW"
    assert compared(folder, "stay", "perfect", convention="r2r").metric == "PL"


def test_shared_episodes_only(folder: Path) -> None:
    write_run(folder / "part.json", {name: PERFECT[name] for name in EPISODES[2:]})
    found = compared(folder, "stay", "part", missing="skip")
    assert (found.episodes, found.left_out) == (11, 2)
    assert found.summaries[0].metrics["NE"].mean == pytest.approx(31 / 11)
    assert found.warnings == ("warning: stay and part differ in missing (none, skip-2)",)
    worst = compared(folder, "stay", "part", missing="zero")
    assert (worst.episodes, worst.left_out) == (13, 0)
    assert worst.of("part")["NE"].episodes == 11  # undefined in two
    assert worst.of("part")["NE"].outcomes == (11, 0, 2)


def test_warnings_are_printed_in_every_form(folder: Path) -> None:
    write_run(folder / "part.json", {name: PERFECT[name] for name in EPISODES[2:]})
    for form in RENDERERS:
        result = call(folder, "--missing", "skip", "--format", form, runs=("stay", "part"))
        assert result.exit_code == 0
        assert "stay and part differ in missing (none, skip-2)" in result.stdout
        assert bool(result.stderr) == (form == "json")
        assert "2 left out" in result.stdout or form == "json"


def test_clusters(folder: Path) -> None:
    by_scan = compared(folder, "stay", "half", cluster="scan")
    assert by_scan.summaries[0].signature.fields["cluster"] == "scan"
    assert "only 2 clusters (scan)" in by_scan.warnings[0]
    assert by_scan.of("half")["NE"].p > compared(folder, "stay", "half").of("half")["NE"].p  # two things to swap
    by_path = compared(folder, "stay", "half", cluster="path")
    assert "only 7 clusters (path)" in by_path.warnings[0]
    assert by_path.of("half")["NE"].difference.mean == by_scan.of("half")["NE"].difference.mean


def test_runs_of_one_name_are_told_apart(folder: Path) -> None:
    for agent, walks in (("one", STAY), ("two", PERFECT)):
        (folder / agent).mkdir()
        write_run(folder / agent / "results.json", walks)
    found = compared(folder, "one/results", "two/results", baseline="two/results")
    assert [summary.run for summary in found.summaries] == ["one/results", "two/results"]
    assert found.baseline == "two/results"
    assert compared(folder, "stay", "stay").others == ["stay (2)"]


def test_runs_and_graphs_that_were_loaded_before(folder: Path) -> None:
    runs = [ws.load_run(folder / "stay.json"), ws.load_run(folder / "perfect.json")]
    asked, graphs = ws.load_references(folder / "references.json"), ws.load_graphs(folder / "connectivity")
    found = compare_runs(runs, asked, graphs=graphs, threshold=2.0, resamples=999)
    assert found == compared(folder, "stay", "perfect")


def refuse(constant: str) -> Any:
    pytest.fail(f"{constant} in JSON")


def test_json_is_one_object_of_finite_numbers(folder: Path) -> None:
    result = call(folder, "--format", "json", "--threshold", "0.5")
    assert result.exit_code == 0
    found = json.loads(result.stdout, parse_constant=refuse)
    tests = {test["metric"]: test for test in found["tests"]}
    assert tests["SR"]["effect_size"] is None  # all differ by 1: infinite
    assert (tests["PL"]["wins"], tests["PL"]["ties"], tests["PL"]["losses"]) == (None, None, None)
    assert (tests["SR"]["wins"], tests["SR"]["ties"], tests["SR"]["losses"]) == (13, 0, 0)
    assert found["baseline"] == "stay"
    assert [run["run"] for run in found["runs"]] == ["stay", "perfect"]
    assert found["differ_most"]["metric"] == "nDTW"
    assert len(found["differ_most"]["better"]["perfect"]) == 5


def test_undefined_values_are_null(folder: Path) -> None:
    write_run(folder / "part.json", {name: PERFECT[name] for name in EPISODES[2:]})
    words = ("--missing", "zero", "--metrics", "NE", "--format", "json")
    found = json.loads(call(folder, *words, runs=("stay", "part")).stdout, parse_constant=refuse)
    first, *_ = found["differ_most"]["worse"]["part"]
    assert first == {"episode": "1_0", "scene": "S", "baseline": 3.0, "run": None}
    text = call(folder, *words[:-2], runs=("stay", "part")).stdout
    assert "+inf" in text
    assert "nan" not in text


@pytest.mark.parametrize("width", [80, 100, 140])
def test_the_tables_fit(folder: Path, width: int) -> None:
    found = compared(folder, "stay", "perfect", "half", threshold=0.5)
    lines = render_comparison(found, "text", width=width).splitlines()
    tables = [line for line in lines if not line.startswith("wayscore|")]
    assert max(map(len, tables)) <= width
    assert not any("…" in line for line in tables)
    assert "3 runs on 13 episodes of references.json, none left out" in lines
    (row,) = [
        line.split()
        for line in lines[lines.index("perfect minus stay") : lines.index("half minus stay")]
        if line.startswith("SR")
    ]
    assert row[:4] == ["SR", "%", "↑", "+100.0"]
    assert row[-3:] == ["13/0/0", "+inf", "1.000"]


def test_long_names_are_shortened_and_told_below(folder: Path) -> None:
    names = [f"an_agent_with_a_rather_long_name_iter{n}" for n in (100, 200)]
    for name, walks in zip(names, (STAY, HALF), strict=True):
        write_run(folder / f"{name}.json", walks)
    lines = render_comparison(compared(folder, *names), "text", width=80).splitlines()
    assert "iter200 minus iter100" in lines
    assert f"iter100 = {names[0]}" in lines
    assert max(len(line) for line in lines if not line.startswith("wayscore|")) <= 80


def test_colours_only_where_wanted(folder: Path) -> None:
    found = compared(folder, "stay", "perfect", metrics="nDTW")
    assert "\x1b[1m" in render_comparison(found, "text", color=True)
    assert "\x1b" not in render_comparison(found, "text")


def test_latex(folder: Path) -> None:
    printed = render_comparison(compared(folder, "stay", "perfect", metrics="nDTW,PL"), "latex")
    assert r"perfect & \textbf{100.0}$^{**}$ & 2.85$^{**}$ \\" in printed
    assert r"\toprule" in printed
    assert "paired randomization test, Holm correction over 2 tests; 999 resamples, seed 0." in printed
    assert all(line.startswith("% ") for line in printed.split("\\end{tabular}\n")[1].splitlines())


def test_markdown(folder: Path) -> None:
    lines = render_comparison(compared(folder, "stay", "perfect", metrics="nDTW,PL"), "markdown").splitlines()
    assert r"| perfect | **100.0**\*\* | 2.85\*\* |" in lines
    for start in (place for place, line in enumerate(lines) if line.startswith("|---")):
        assert lines[start - 1].count("|") == lines[start].count("|") == lines[start + 1].count("|")


def test_settings_of_the_references_reader(folder: Path) -> None:
    instance = {"inst_idx": 1, "scan": "S", "planner_path": ["a", "b"], "player_path": ["a", "b", "c", "d"]}
    (folder / "ndh.json").write_text(json.dumps([instance]))
    walk = [{"inst_idx": 1, "trajectory": [[node, 0, 0] for node in "abcd"]}]
    files = [folder / name for name in ("one.json", "two.json")]
    for file in files:
        file.write_text(json.dumps(walk))
    words = ["compare", *map(str, files), "-r", str(folder / "ndh.json"), "-g", str(folder / "connectivity")]
    for setting, nodes in (("planner", 2), ("player", 4)):
        more = ["--reader", f"path_type={setting}", "--resamples", "9", "-f", "json"]
        found = json.loads(CliRunner().invoke(app, [*words, *more]).stdout)
        assert found["runs"][0]["metrics"]["NE"]["mean"] == 4 - nodes
    assert "--reader takes name=value" in CliRunner().invoke(app, [*words, "--reader", "player"]).stderr


def test_the_same_seed_prints_the_same(folder: Path) -> None:
    assert call(folder).stdout == call(folder).stdout


@pytest.mark.parametrize(
    ("runs", "words", "message"),
    [
        (("stay",), (), "a comparison needs two runs or more, got 1"),
        (("stay", "half"), ("--baseline", "hal"), "no run 'hal' to be the baseline; did you mean 'half'?"),
        (("stay", "half"), ("--baseline", "3"), "or a number from 1 to 2"),
        (("stay", "half"), ("--baseline", "0"), "or a number from 1 to 2"),
        (("stay", "half"), ("--cluster", "scans"), "cannot cluster by 'scans'; did you mean 'scan'?"),
        (("stay", "half"), ("--format", "pdf"), "there is no format 'pdf'"),
        (("stay", "half"), ("--metrics", "nDTV"), "there is no metric 'nDTV'"),
        (("stay", "half"), ("--resamples", "0"), "resamples is a whole number, 1 or more"),
        (("stay", "half"), ("--top", "-1"), "top must be a whole number, 0 or more"),
        (("stay", "half"), ("--seed", "-1"), "seed must be a whole number, 0 or more"),
        (("stay", "nowhere"), (), "nowhere.json"),
        (("first", "last"), (), "are not answered"),
        (("first", "last"), ("--missing", "skip"), "share no episode that can be scored (episodes of each: first 6, "),
    ],
)
def test_mistakes_are_told_in_one_line(
    folder: Path, runs: tuple[str, ...], words: tuple[str, ...], message: str
) -> None:
    write_run(folder / "first.json", {name: STAY[name] for name in EPISODES[:6]})
    write_run(folder / "last.json", {name: STAY[name] for name in EPISODES[6:]})
    result = call(folder, *words, runs=runs)
    assert result.exit_code == 1
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stdout == ""


def test_two_checkpoints_of_a_real_agent(data: Path) -> None:
    found = compare_runs(
        [data / f"predictions/r2r/val_unseen_seq2seq_iter{when}.json.gz" for when in ("05000", "19000")],
        data / "r2r/R2R_val_unseen.json.gz",
        graphs=data / "connectivity.tar.gz",
        resamples=2000,
    )
    assert (found.episodes, found.left_out, found.warnings) == (2349, 0, ())
    before, after = (summary.metrics for summary in found.summaries)
    tests = found.of(found.others[0])
    for symbol, test in tests.items():
        assert test.difference.mean == pytest.approx(after[symbol].mean - before[symbol].mean, abs=1e-12)
        assert test.outcomes is None or sum(test.outcomes) == 2349
    assert tests["nDTW"].p_holm < 0.05  # it learned
    assert tests["nDTW"].difference.low > 0
    assert tests["MD"].p > 0.05
    assert len(found.better[found.others[0]]) == len(found.worse[found.others[0]]) == 5
