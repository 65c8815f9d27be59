"""`ws.compare`: differences by hand, tests against a literal recomputation, corrections, shared episodes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wayscore as ws
from tests.house import command, write_house, write_run
from tests.town import Town, evaluated
from wayscore.statistics import holm

EPISODES = [*(f"{path}_{k}" for path in range(1, 7) for k in (0, 1)), "7_0"]
STAY = {name: "x" if name == "7_0" else "a" for name in EPISODES}
PERFECT = {name: "xy" if name == "7_0" else "abcd" for name in EPISODES}
HALF = PERFECT | dict.fromkeys(EPISODES[:6], "ab")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Six paths of 3 m with two instructions each and one of 1 m; three agents."""
    write_house(tmp_path, [("S", "abcd", 2)] * 6 + [("T", "xy", 1)])
    for name, walks in (("stay", STAY), ("perfect", PERFECT), ("half", HALF)):
        write_run(tmp_path / f"{name}.json", walks)
    return tmp_path


def compared(folder: Path, *names: str, **options: Any) -> ws.Comparison:
    settings = {"threshold": 2.0, "resamples": 999, "cluster": "none"} | options
    runs = [folder / f"{name}.json" for name in names]
    return ws.compare(runs, folder / "references.json", folder / "connectivity", **settings)


def test_differences_by_hand(folder: Path) -> None:
    found = compared(folder, "stay", "perfect")
    assert (found.baseline, found.episodes, found.left_out, found.others) == ("stay", 13, 0, ["perfect"])
    tests = found.of("perfect")
    assert list(tests) == found.results[0].symbols
    by_hand = {"NE": (-37, (13, 0, 0), 1.0), "SR": (12, (12, 1, 0), 12.5 / 13), "PL": (37, None, None)}
    for symbol, (difference, outcomes, superiority) in by_hand.items():  # less NE is better; 7_0 stays within 2 m
        test = tests[symbol]
        assert test.difference.mean == pytest.approx(difference / 13)
        assert (test.outcomes, test.superiority) == (outcomes, superiority)
    spread = math.sqrt((12 * (3 - 37 / 13) ** 2 + (1 - 37 / 13) ** 2) / 12)
    assert tests["NE"].effect_size == pytest.approx(-37 / 13 / spread)
    assert tests["nDTW"].p_holm < 0.05
    assert tests["nDTW"].difference.low > 0
    for test in tests.values():
        assert test.difference.low <= test.difference.mean <= test.difference.high
        assert test.episodes == 13


def test_statistics_recomputed_literally(town: Town) -> None:
    a, b = evaluated(town.answers, town, name="a"), evaluated(town.walks, town, duplicate="keep", name="b")
    found = ws.compare([a, b])
    test = found.of("b")["nDTW"]
    rows = {name: number for number, name in enumerate(a.episodes)}
    other = dict(zip(b.episodes, b["nDTW"].tolist(), strict=True))
    pairs = [(name, other[name] - a["nDTW"][rows[name]]) for name in a.episodes if name in other]
    assert found.episodes == len(pairs)
    differences = np.array([difference for _, difference in pairs])
    assert test.difference.mean == pytest.approx(differences.mean(), abs=1e-12)
    wins, ties, losses = ((differences > 0).sum(), (differences == 0).sum(), (differences < 0).sum())
    assert test.outcomes == (wins, ties, losses)
    assert test.superiority == pytest.approx((wins + ties / 2) / len(pairs))
    assert test.effect_size == pytest.approx(differences.mean() / differences.std(ddof=1))
    # Resampling paths, many more times than the comparison does: the same interval and p, to chance.
    paths = [town.references.episodes[name] for name, _ in pairs]
    clusters = np.unique([f"{one.scene}/{one.path_id}" for one in paths], return_inverse=True)[1]
    rng = np.random.default_rng(7)
    sums, counts = np.bincount(clusters, differences), np.bincount(clusters)
    drawn = rng.integers(len(counts), size=(20_000, len(counts)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    many = ws.compare([evaluated(town.answers, town, name="a", resamples=20_000), b]).of("b")["nDTW"]
    assert [many.difference.low, many.difference.high] == pytest.approx(np.quantile(means, [0.025, 0.975]), abs=0.004)
    signs = rng.choice([-1, 1], size=(20_000, len(counts)))
    flipped = np.abs((signs * sums).sum(axis=1)) >= abs(sums.sum()) - 1e-12
    assert many.p == pytest.approx((1 + flipped.sum()) / 20_001, abs=0.003)


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
    first, again, other = (compared(folder, "stay", "half", seed=seed).to_dict() for seed in (3, 3, 4))
    assert first == again != other


@pytest.mark.parametrize("baseline", ["perfect", 2, "2", "file"])
def test_the_baseline(folder: Path, baseline: Any) -> None:
    baseline = str(folder / "perfect.json") if baseline == "file" else baseline
    found = compared(folder, "stay", "perfect", "half", baseline=baseline)
    assert (found.baseline, found.others, found.of("perfect")) == ("perfect", ["stay", "half"], {})
    assert found.of("stay")["NE"].difference.mean == pytest.approx(37 / 13)


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
    assert found.results[0].means()["NE"] == pytest.approx(31 / 11)
    assert "stay and part differ in missing (none, skip-2)" in found.warnings
    worst = compared(folder, "stay", "part", missing="zero")
    assert (worst.episodes, worst.left_out) == (13, 0)
    assert worst.of("part")["NE"].episodes == 11  # undefined in two
    assert worst.of("part")["NE"].outcomes == (11, 0, 2)
    assert worst.of("part")["NE"].difference.mean == pytest.approx(-31 / 11)  # over the same episodes
    ranked = compared(folder, "stay", "part", missing="zero", metrics="NE").worse["part"][0].to_dict()
    assert ranked == {"episode": "1_0", "scene": "S", "baseline": 3.0, "run": None}


def test_clusters(folder: Path) -> None:
    by_scan = compared(folder, "stay", "half", cluster="scan")
    assert by_scan.results[0].signature.fields["cluster"] == "scan"
    assert any("only 2 scans" in warning for warning in by_scan.warnings)
    assert by_scan.of("half")["NE"].p > compared(folder, "stay", "half").of("half")["NE"].p  # two things to swap
    by_path = compared(folder, "stay", "half", cluster="auto")
    assert any("only 7 paths" in warning for warning in by_path.warnings)
    assert by_path.of("half")["NE"].difference.mean == by_scan.of("half")["NE"].difference.mean


def test_names_of_runs(folder: Path) -> None:
    for agent, walks in (("one", STAY), ("two", PERFECT)):
        (folder / agent).mkdir()
        write_run(folder / agent / "results.json", walks)
    found = compared(folder, "one/results", "two/results", baseline="two/results")
    assert [result.name for result in found.results] == ["one/results", "two/results"]
    assert found.baseline == "two/results"
    assert compared(folder, "stay", "stay").others == ["stay (2)"]
    assert compared(folder, "stay", "half", names=["A", None]).others == ["half"]


def test_inputs_of_every_kind_are_compared_alike(folder: Path) -> None:
    wanted = compared(folder, "stay", "half").to_dict()
    known, graphs = ws.load_references(folder / "references.json"), ws.load_graphs(folder / "connectivity")
    options: dict[str, Any] = {"threshold": 2.0, "resamples": 999, "cluster": "none"}
    loaded = [ws.load_run(folder / f"{name}.json") for name in ("stay", "half")]
    results = [ws.evaluate(run, known, graphs, **options) for run in loaded]
    lines = []
    for name, walks in (("stay", STAY), ("half", dict(reversed(HALF.items())))):  # in another order
        rows = ({"episode": episode, "path": list(walk)} for episode, walk in walks.items())
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        lines.append(folder / f"{name}.jsonl")
    for runs in (loaded, results, [results[0], lines[1]], lines):
        assert ws.compare(runs, known, graphs, **options).to_dict() == wanted


def test_every_answer_of_several_is_compared(town: Town) -> None:
    a = evaluated(town.walks, town, name="a")
    b = evaluated(town.walks.take(np.arange(len(town.walks))[::-1]), town, name="b")
    found = ws.compare([a, b])
    assert found.episodes == len(town.walks)
    first = next(name for name in a.episodes if list(a.episodes).count(name) == 1)
    rows = [list(result.episodes).index(first) for result in (a, b)]
    assert a["nDTW"][rows[0]] == b["nDTW"][rows[1]]
    assert found.of("b")["nDTW"].difference.mean == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("runs", "options", "message"),
    [
        (("stay",), {}, "a comparison needs two runs or more, got 1"),
        (("stay", "half"), {"baseline": "hal"}, r"no run 'hal' to be the baseline; did you mean 'half'\?"),
        (("stay", "half"), {"baseline": 3}, "or a number from 1 to 2"),
        (("stay", "half"), {"baseline": "0"}, "or a number from 1 to 2"),
        (("stay", "half"), {"top": -1}, "top must be a whole number, 0 or more"),
        (("stay", "half"), {"names": ["a"]}, "2 runs but 1 names"),
        (("stay", "half"), {"names": ["a", "a"]}, "all runs have one name, 'a': they are one agent"),
        (("first", "last"), {}, "have no answer"),
        (("first", "last"), {"missing": "skip"}, r"the runs share no episode \(episodes of each: first 6, last 7\)"),
        (("stay", "nowhere"), {}, "nowhere.json: no such file"),
    ],
)
def test_mistakes(folder: Path, runs: tuple[str, ...], options: dict[str, Any], message: str) -> None:
    write_run(folder / "first.json", {name: STAY[name] for name in EPISODES[:6]})
    write_run(folder / "last.json", {name: STAY[name] for name in EPISODES[6:]})
    with pytest.raises(ws.WayscoreError, match=message) as raised:
        compared(folder, *runs, **options)
    assert "\n" not in str(raised.value)


def test_common_metrics(folder: Path) -> None:
    a, b = compared(folder, "stay", "half").results
    assert [metric.symbol for metric in ws.compare([a, b], metrics="nDTW,SR").metrics] == ["nDTW", "SR"]
    with pytest.raises(ws.OptionError, match=r"the runs share no metric \(stay: SR; half: NE\)"):
        ws.compare([a.select(["SR"]), b.select(["NE"])])


def test_the_command_prints_finite_json(folder: Path) -> None:
    files = ["-r", folder / "references.json", "-g", folder / "connectivity"]
    words = [folder / "stay.json", folder / "perfect.json", *files, "--format", "json", "--threshold", "0.5"]
    result = command("compare", *words, "--resamples", 99, status=0)
    found = json.loads(result.stdout, parse_constant=pytest.fail)  # what is called for NaN and Infinity
    tests = {
        test["metric"]: [test[key] for key in ("wins", "ties", "losses", "effect_size")] for test in found["tests"]
    }
    assert tests["SR"] == [13, 0, 0, None]  # all differ by 1: infinite
    assert tests["PL"][:3] == [None, None, None]
    assert len(found["differ_most"]["better"]["perfect"]) == 5
