"""Table 2 from data to LaTeX, in small."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="install wayscore[navigation] to run these tests")

from tests.house import command as invoke
from wayscore.lab.agents import data as agent_data, table2, table2_results
from wayscore.lab.agents.table2 import FOLLOWING, METRICS, REWARDS, Plan, jobs, recipe_of
from wayscore.lab.agents.table2_results import chosen, document, mean_of


def test_jobs_follow_each_other() -> None:
    plan = Plan(Path("out"), r2r=Path("r2r"), seeds=2, settings={"goal": {"entropy": 0.5}})
    found = {job.name: job for job in jobs(plan)}
    assert len(found) == 3 * 2 * (1 + len(FOLLOWING))
    assert found["r2r-imitation-1"].after is None
    assert found["r4r-imitation-1"].after == "r2r-imitation-1"
    assert found["sparse-imitation-1"].after is None
    assert found["r4r-goal-0"].after == found["r4r-fidelity-0"].after == "r4r-imitation-0"
    goal, fidelity = (found[f"r2r-{reward}-1"].recipe for reward in ("goal", "fidelity"))
    assert (goal.reward, fidelity.reward, goal.imitation, goal.seed) == ("goal", "fidelity", 0, 1)
    assert (goal.entropy, fidelity.entropy) == (0.5, 0.01)
    assert recipe_of(replace(plan, scale=0.001), "r2r", "imitation").imitation == 2
    assert found["r2r-continued-0"].recipe.imitation == goal.reinforcement


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_data.data_from_worlds, "__defaults__", (60,))
    monkeypatch.setattr(agent_data.world_test, "__defaults__", (30,))
    monkeypatch.setattr(table2, "EPISODES", {"r4r": 50, "sparse": 20})


@pytest.mark.soak
def test_worlds(small: None, tmp_path: Path) -> None:
    words = ["reproduce", "table2", "--worlds", "--out", str(tmp_path), "--seeds", "2", "--scale", "0.005"]
    made = invoke(*words, "--workers", "1", status=0)
    assert "fidelity-oriented" in made.stdout
    first = (tmp_path / "worlds-goal-1" / "scores.json").stat().st_mtime_ns
    again = invoke(*words, "--workers", "1", "-f", "latex")
    assert (tmp_path / "worlds-goal-1" / "scores.json").stat().st_mtime_ns == first  # nothing was done again
    assert again.stdout == (tmp_path / "table2.tex").read_text()
    scores = json.loads((tmp_path / "worlds-goal-1" / "scores.json").read_text())
    assert set(scores["means"]) == set(METRICS)
    assert list(scores["caps"]) == ["10", "15", "20", "30"]
    assert {name: value for name, value in scores["caps"]["30"].items() if name in METRICS} == scores["means"]
    ours = json.loads((tmp_path / "worlds-goal-together" / "scores.json").read_text())
    one, other = ours["held_out"].values()
    assert set(one) == set(other) == {"SR", "nDTW", "SDTW", "PL"}
    assert "goal-oriented, seeds together" in made.stdout
    shares = [scores["caps"][cap]["never stopped"] for cap in scores["caps"]]
    assert shares == sorted(shares, reverse=True)
    saved = json.loads((tmp_path / "table2.json").read_text())
    gaps = next(one for one in saved["differences"] if (one["agent"], one["less"]) == ("fidelity", "goal"))
    seeds = [
        saved["trainings"][f"worlds-{agent}-{seed}"]["means"]["nDTW"]
        for agent in ("fidelity", "goal")
        for seed in (0, 1)
    ]
    assert gaps["nDTW"]["mean"] == pytest.approx(50 * (seeds[0] + seeds[1] - seeds[2] - seeds[3]), abs=1e-3)
    ranges = saved["by_winding"]
    assert sum(one["episodes"] for one in ranges) == 30
    weighted = sum(one["episodes"] * one["nDTW"]["mean"] for one in ranges) / 30
    assert weighted == pytest.approx(gaps["nDTW"]["mean"], abs=1e-3)
    assert set(gaps["nDTW"]) == {"mean", "margin", "seeds_ahead", "path", "scan"}


@pytest.mark.soak
def test_one_training(small: None, tmp_path: Path) -> None:
    words = ["reproduce", "table2", "--worlds", "--out", str(tmp_path), "--scale", "0.005", "--workers", "1", "--only"]
    made = invoke(*words, "worlds-goal-3", status=0)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["worlds-goal-3", "worlds-imitation-3"]
    assert "goal-oriented" in made.stdout
    curve = json.loads((tmp_path / "table2.json").read_text())["trainings"]["worlds-goal-3"]["curve"]
    assert set(curve) == {"update", "SR", "nDTW", "SDTW"}
    refused = invoke(*words, "worlds-gaol-3", status=2)
    assert "--only: there is no training 'worlds-gaol-3'; did you mean 'worlds-goal-3'?" in refused.stderr


@pytest.mark.soak
def test_the_same_search_for_every_reward(small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = table2.TRIED[:3]
    monkeypatch.setattr(table2, "TRIED", tried)
    monkeypatch.setattr(table2_results, "TRIED", tried)
    words = ["reproduce", "search", "--worlds", "--out", str(tmp_path), "--scale", "0.005", "--workers", "1"]
    made = invoke(*words, status=0)
    rows = made.stdout.splitlines()[2:]
    assert len(rows) == len(REWARDS) * len(tried)
    assert [sum(row.split()[0] == reward and row.endswith("*") for row in rows) for reward in REWARDS] == [1, 1, 1]
    best = {row.split()[0]: float(row.split()[6]) for row in rows if row.endswith("*")}
    for reward in REWARDS:
        assert best[reward] == max(float(row.split()[6]) for row in rows if row.split()[0] == reward)
    assert set(chosen(tmp_path)) == set(REWARDS)
    assert invoke(*words).stdout == made.stdout  # nothing is trained again


def test_files(small: None, course: Path, tmp_path: Path) -> None:
    data = tmp_path / "r2r"
    data.mkdir()
    for split in ("train", "val_unseen"):
        (data / f"R2R_{split}.json").write_bytes((course / "references.json").read_bytes())
    words: list[Any] = ["reproduce", "table2", "--r2r", str(data), "-g", str(course / "connectivity"), "--seeds", "1"]
    made = invoke(*words, "--out", str(tmp_path / "out"), "--scale", "0.001", "--workers", "1", status=2)
    assert (
        "--held-out must be at least 1 and less than 4" in made.stderr
    )  # four scans, of which eight cannot be held out


@pytest.mark.soak
def test_ablations(course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "R2R_train.json").write_bytes((course / "references.json").read_bytes())
    monkeypatch.setattr(
        agent_data.data_from_files, "__kwdefaults__", {**agent_data.data_from_files.__kwdefaults__, "held_out": 1}
    )
    words = ["reproduce", "ablations", "--r2r", str(tmp_path), "-g", str(course / "connectivity"), "--scale", "0.002"]
    made = invoke(*words, "--out", str(tmp_path / "out"), "--workers", "1", status=0)
    shown = made.stdout.splitlines()
    assert len(shown) == 2 + len(table2.VARIANTS) - 1  # no views are given, so none can be left out
    assert shown[2].startswith("everything")


def test_mistakes(tmp_path: Path) -> None:
    for words, match in (
        (["table3", "--worlds"], "must be table2, search or ablations, not 'table3'"),
        (["table2"], "give either --r2r FOLDER"),
        (["ablations", "--worlds"], "ablations need R2R"),
        (["search", "--worlds", "--only", "r2r-goal-0"], "--only names a training of table2, and search has none"),
        (["table2", "--worlds", "-f", "html"], "--format must be text or latex"),
        (["table2", "--r2r", str(tmp_path)], "need their connectivity graphs"),
        (["table2", "--r2r", str(tmp_path), "-g", str(tmp_path)], "has neither R2R_train.json nor"),
    ):
        refused = invoke("reproduce", *words, "--out", str(tmp_path / "out"))
        assert refused.exit_code == (1 if "neither" in match else 2)
        assert match in refused.stderr


def test_the_interval_over_seeds() -> None:
    assert mean_of([0.5]) == {"mean": 50.0, "margin": 0.0}
    assert mean_of([0.40, 0.41, 0.42]) == {"mean": 41.0, "margin": 2.5}  # 4.303 x 1 / sqrt(3)


def test_the_table_in_words_and_in_latex() -> None:
    row = {metric: {"mean": 40.0 + number, "margin": 1.0} for number, metric in enumerate(METRICS)}
    best = {metric: {"mean": 44.4, "margin": 0.0} for metric in METRICS}
    gap = {"mean": 1.5, "margin": 0.5, "seeds_ahead": 5, "path": (0.5, 2.5), "scan": (-0.5, 3.5)}
    r2r = {"dataset": "r2r", "agent": "fidelity"}
    table = {
        "rows": [{**r2r, **row, "agent": "random"}, {**r2r, **row, "agent": "goal"}, {**r2r, **best}],
        "differences": [{**r2r, "less": "goal", **dict.fromkeys(METRICS, gap)}],
        "by_cap": [{**r2r, "agent": "goal", "cap": 10, **best, "never stopped": {"mean": 2.0, "margin": 0.1}}],
    }
    shown = str(document(table)).splitlines()
    assert shown[0].split()[-6:] == list(METRICS)
    assert shown[5].split() == ["Ilharco", "et", "al.", "43.7", "38.4", "31.9", "53.5", "54.4", "36.1"]
    assert any(line.startswith("fidelity-oriented less goal-oriented") and "+1.5±0.5" in line for line in shown)
    assert any("houses resampled" in line and "[-0.5, +3.5]" in line for line in shown)
    assert shown[-1].split() == ["goal-oriented", "10", *["44.4"] * 6, "2.0"]
    latex = document(table, details=False).render("latex")
    assert latex.startswith(r"\begin{tabular}{lrrrrrr}")
    assert r"fidelity-oriented & \textbf{44.4} &" in latex
    assert r"\textbf{45.0}$\pm$1.0" in latex
    assert latex.count("tabular") == 2
