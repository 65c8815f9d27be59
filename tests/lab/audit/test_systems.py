"""Metrics on systems: numbers against SciPy and by hand, and what is said of runs that cannot be ranked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import wayscore as ws
from wayscore.lab.audit.systems import Systems
from wayscore.lab.audit.systems.scoreboard import (
    Scoreboard,
    agreement,
    correlations,
    episodes_needed,
    groups,
    power,
    ranks,
    stability,
)
from wayscore.worlds.files import Course, course_files, write_files

WALKERS = ("perfect", "noisy", "detour", "overshoot", "early_stop", "shortest", "random_walk")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("course")
    write_files(folder, course_files(Course(episodes=160, scans=3), WALKERS))
    return folder


SIX = "NE,SR,SPL,CLS,nDTW,SDTW"


def audited(course: Path, walkers: tuple[str, ...] = WALKERS, metrics: Any = SIX, **options: Any) -> Systems:
    given = {"references": course / "references.json", "graphs": course / "connectivity", "threshold": 1.41}
    runs = [course / "runs" / f"{walker}.json" for walker in walkers]
    return ws.audit(metrics, runs=runs, **{"resamples": 200, **given, **options})


@pytest.fixture(scope="module")
def systems(course: Path) -> Systems:
    return audited(course)


def board(scores: Any, symbols: tuple[str, ...] = ("SR",), paths: Any = None) -> Scoreboard:
    """Return scores (metrics, systems, episodes) as a scoreboard; every episode is a path unless they are given."""
    values = np.asarray(scores, dtype=float)
    numbers = np.arange(values.shape[2]) if paths is None else np.asarray(paths)
    metrics, scans = tuple(ws.METRICS[symbol] for symbol in symbols), np.zeros(len(numbers), dtype=np.int64)
    return Scoreboard(tuple("ABCDEFGH"[: values.shape[1]]), metrics, values, numbers, scans)


def result_of(course: Path, walker: str) -> ws.Result:
    run, data = course / "runs" / f"{walker}.json", (course / "references.json", course / "connectivity")
    return ws.evaluate(run, *data, threshold=1.41)


def test_means_and_ranks_are_those_of_score(systems: Systems, course: Path) -> None:
    for place, walker in enumerate(WALKERS):
        result = result_of(course, walker)
        assert systems.names[place] == walker
        for metric in systems.metrics:
            assert np.isclose(systems.means[metric.symbol][place], result.means()[metric.symbol])
    assert systems.ranks["nDTW"][0] == systems.ranks["NE"][0] == 1
    assert ranks(np.array([0.2, 0.9, 0.2, 0.1])) == [2, 1, 2, 4]


def test_agreement_is_kendalls_tau(systems: Systems) -> None:
    for a in ("nDTW", "SPL"):
        for b in ("nDTW", "SDTW", "NE"):
            sign = -1 if b == "NE" else 1
            expected = stats.kendalltau(systems.means[a], sign * np.array(systems.means[b])).statistic
            assert np.isclose(systems.agreement[a][b], expected)
    assert all(systems.agreement[a][a] == 1.0 for a in systems.agreement)


def test_rankings_are_stable_if_systems_are_far_apart_and_not_by_noise() -> None:
    far = board([[[0.9, 0.8, 0.9, 0.8], [0.5, 0.4, 0.5, 0.4], [0.1, 0.0, 0.1, 0.0]]])
    (found,) = stability(far, resamples=50)
    assert (found.cluster, found.tau, found.low, found.same_first) == ("path", 1.0, 1.0, 1.0)
    noise = board(np.random.default_rng(0).random((1, 6, 60)))
    (found,) = stability(noise, resamples=200)
    assert found.low < found.tau < 0.8
    assert found.same_first < 0.95


def test_power_by_hand() -> None:
    one = np.random.default_rng(0).random(60)
    found = power(board([[one, one, one + 1.0]]), 3.0)[0]
    assert found.paths == (25, 50, 60)
    assert found.told_apart == (2 / 3, 2 / 3, 2 / 3)  # A and B are the same, C is better than both in all episodes
    assert found.difference == 0.02
    assert found.needed == pytest.approx(0.0, abs=1e-20)  # differences that never vary need no more than one episode


def test_episodes_needed() -> None:
    assert episodes_needed(1.0, 0.1) == pytest.approx(784.89, abs=0.01)  # ((1.95996 + 0.84162) / 0.1)^2
    assert episodes_needed(1.0, 0.0) == float("inf")
    rng = np.random.default_rng(0)
    paths = np.repeat(np.arange(500), 2)
    noise = rng.normal(size=(1, 2, 500)).repeat(2, axis=2)  # both episodes of a path are alike
    (found,) = power(board(noise, paths=paths), 3.0, difference=0.1)
    apart = noise[0, 0, ::2] - noise[0, 1, ::2]
    assert found.needed == pytest.approx(2 * episodes_needed(float(np.std(apart, ddof=1)), 0.1))


def test_power_grows_with_paths(systems: Systems) -> None:
    assert all(one.told_apart[0] <= one.told_apart[-1] for one in systems.power)
    assert systems.power[0].paths == (25, 50, 80)


def test_correlations_are_spearmans_rho() -> None:
    scores = np.random.default_rng(1).random((2, 3, 40))
    scores[0, 2] = 0.5  # a system of which the first metric says nothing
    found = correlations(board(scores, ("SR", "SPL")))
    expected = np.mean([stats.spearmanr(scores[0, s], scores[1, s]).statistic for s in (0, 1)])
    assert np.isclose(found["SR"]["SPL"], expected)
    assert found["SPL"]["SR"] == found["SR"]["SPL"]


def test_groups() -> None:
    rho = {"a": {"a": 1, "b": 0.95, "c": 0.1}, "b": {"a": 0.95, "b": 1, "c": 0.2}, "c": {"a": 0.1, "b": 0.2, "c": 1}}
    assert groups(rho) == [["a", "b"], ["c"]]
    assert groups({"a": {"a": 1.0}}) == [["a"]]


def test_agreement_of_lower_and_higher_is_better() -> None:
    """Scores on a board are such that higher is better, so a metric and its negation agree fully."""
    values = np.random.default_rng(2).random((4, 30))
    assert agreement(board([values, values], ("SR", "NE")))["SR"]["NE"] == 1.0


def test_other_thresholds_and_conventions(systems: Systems) -> None:
    found = {(one.setting, one.value, one.metric): one for one in systems.alternatives}
    values = {value for setting, value, _ in found if setting == "threshold"}
    assert values == {factor * 1.41 for factor in (0.5, 0.75, 1.5, 2.0)}
    assert all(found["threshold", value, "NE"].tau == 1.0 for value in values)
    assert found["threshold", 2 * 1.41, "SR"].change > 0 > found["threshold", 0.5 * 1.41, "SR"].change
    assert {"r2r", "duet", "valan"} <= {value for setting, value, _ in found if setting == "convention"}
    assert ("convention", "r2r", "nDTW") not in found  # which R2R's evaluator does not print
    assert systems.unfit == {"r2r-back-hamt": "it takes midstop and pred_midstop, which these runs do not record"}


def test_the_object_of_json(systems: Systems) -> None:
    found = json.loads(systems.to_json())
    assert list(found) == (
        "audit references systems metrics episodes paths scans left_out signature resamples seed means ranks agreement "
        "stability power correlations groups alternatives unfit warnings".split()
    )
    assert (found["episodes"], found["paths"], found["scans"]) == (160, 80, 3)
    assert list(found["stability"][0]) == "metric cluster tau low same_first".split()
    assert list(found["power"][0]) == "metric paths told_apart difference needed needed_median".split()
    assert list(found["alternatives"][0]) == "setting value metric tau mean change".split()
    assert found["ranks"]["nDTW"]["perfect"] == 1
    again = Systems.from_json(systems.to_json())
    assert (again.to_json(), str(again)) == (systems.to_json(), str(systems))


def test_it_shows_itself(systems: Systems) -> None:
    text = str(systems)
    titles = ("Means and ranks", "Agreement of rankings", "Stability of rankings", "Power to tell systems apart")
    for shown in (text, systems.to_markdown(), systems._repr_html_()):
        assert all(t in shown for t in (*titles, "Another threshold", "Another convention", "Redundancy"))
    assert all(len(line) <= 100 for line in text.splitlines())
    assert repr(systems).startswith("<Systems: 6 metrics on 7 systems: 160 episodes of 80 paths in 3 scans")


def test_the_figure(systems: Systems) -> None:
    pytest.importorskip("matplotlib")
    assert len(systems.figure().axes) == 4


def test_a_metric_of_ones_own(course: Path) -> None:
    end = ws.Metric(
        symbol="end", name="End", direction="down", bounds=(0, float("inf")), unit="m", formula="d",
        measure=lambda episode: float(episode.goal_distances()[-1]),
    )  # fmt: skip
    found = audited(course, WALKERS[:4], ["NE", end])
    assert found.agreement["NE"]["end"] == 1.0
    assert found.groups == [["NE", "end"]]
    assert found.means["NE"] == pytest.approx(found.means["end"])


def test_several_runs_of_one_system_are_one(course: Path) -> None:
    found = audited(course, ("noisy", "detour", "perfect"), names=["A", "A", "B"])
    assert found.names == ("A", "B")


def test_saved_results_have_no_other_thresholds(course: Path, tmp_path: Path) -> None:
    files = [tmp_path / f"{walker}.parquet" for walker in WALKERS[:3]]
    for file in files:
        result_of(course, file.stem).save(file)
    found = ws.audit("SR,nDTW", runs=files, resamples=50)
    assert found.alternatives == ()
    assert "other thresholds and conventions need paths" in str(found)


@pytest.mark.parametrize(
    ("walkers", "options", "said"),
    [
        (WALKERS[:2], {"metrics": "PL"}, "none of these metrics says which of two systems is better"),
        (WALKERS[:2], {"graphs": None}, "give the connectivity files"),
        (WALKERS[:2], {"experiments": ["detour"]}, "experiments changes episodes, and runs are taken as they are"),
        (WALKERS[:2], {"difference": 2.0}, "difference must be a share of a metric's scale"),
    ],
)
def test_mistakes(course: Path, walkers: tuple[str, ...], options: dict[str, Any], said: str) -> None:
    with pytest.raises(ws.WayscoreError, match=said):
        audited(course, walkers, **options)
