"""The battery: what it finds does not depend on what else is asked, and it says what it cannot do."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import wayscore as ws
from wayscore.lab.audit.battery import Battery
from wayscore.lab.audit.battery.battery import CLAIMS, Claim, findings
from wayscore.lab.audit.battery.cases import from_references, from_worlds
from wayscore.lab.audit.battery.experiments import EXPERIMENTS, find_experiments
from wayscore.lab.audit.battery.responses import changed_cases, respond, scores_of

FEW: dict[str, Any] = {"worlds": 8, "paths": 3, "resamples": 200}


@pytest.fixture(scope="module")
def battery() -> Battery:
    return ws.audit(**FEW)


def references(paths: dict[str, Any], scene: str = "s") -> ws.References:
    return ws.References("mine", "table", {name: ws.Reference(name, scene, path, name) for name, path in paths.items()})


KNOWN = {
    "invariant": "nDTW scale, CLS reversed-loop, PC shuffled, AD reversed, SPL reversed-loop, DTW swap, OSR stop-late, "
    "PL translation",
    "falls": "nDTW near-miss, nDTW query-density, CLS shuffled",
    "jumps down": "SED near-miss, SR stop-late",
}


def test_known_responses(battery: Battery) -> None:
    for word, pairs in KNOWN.items():
        for pair in pairs.split(", "):
            assert battery.of(*pair.split()).verdict.word == word, pair


def test_a_near_miss_costs_what_the_formula_says(battery: Battery) -> None:
    """A walk beside the reference by s d_th costs s d_th at each of |R| nodes, while no other warping is cheaper."""
    values = [one.mean for one in battery.of("nDTW", "near-miss").values]
    assert np.allclose(values[:4], np.exp([0, -0.001, -0.01, -0.1]))


def test_every_experiment_is_carried_out_on_every_metric(battery: Battery) -> None:
    assert len(battery.responses) == len(EXPERIMENTS) * 14
    assert not battery.skipped
    assert all(len(one.values) == len(EXPERIMENTS[one.experiment].sizes) for one in battery.responses)
    assert len(battery.findings) == len(CLAIMS)  # which name experiments and metrics that exist
    assert {one.outcome for one in battery.findings} == {"holds", "fails"}


def test_what_one_experiment_finds_does_not_depend_on_the_others(battery: Battery) -> None:
    alone = ws.audit(["nDTW"], experiments=["detour"], **FEW)
    assert alone.responses == (battery.of("nDTW", "detour"),)
    assert ws.audit(["nDTW"], experiments=["detour"], seed=1, **FEW).responses != alone.responses


def test_a_claim_holds_by_its_verdicts(battery: Battery) -> None:
    response = battery.of("nDTW", "near-miss")
    soft, hard = (Claim("2", "", "nDTW", "near-miss", (word,)) for word in ("falls", "invariant"))
    other = Claim("2", "", "SPD", "near-miss", ("falls",))  # which nobody measured
    assert [one.outcome for one in findings([soft, hard, other], [response])] == ["holds", "fails"]


def test_the_object_of_json(battery: Battery) -> None:
    found = json.loads(ws.audit("nDTW,SED", experiments=["near-miss"], **FEW).to_json())
    assert list(found) == (
        "audit source convention threshold tolerance cluster clusters resamples seed experiments responses claims "
        "skipped".split()
    )
    assert list(found["experiments"][0]) == "name about sizes unit base on".split()
    ndtw, sed = found["responses"]
    assert list(ndtw) == "experiment metric episodes verdict jumps_at values changes".split()
    assert list(ndtw["values"][0]) == ["size", "mean", "low", "high"]
    assert (ndtw["jumps_at"], sed["jumps_at"]) == (None, 0.001)
    assert len(ndtw["values"]) == len(ndtw["changes"]) + 1 == 8
    assert list(found["claims"][0]) == "section claim metric experiment holds_with verdict change outcome".split()
    assert json.loads(battery.to_json())["seed"] == 0


def test_it_shows_itself(battery: Battery) -> None:
    text = str(battery)
    for shown in (text, battery.to_markdown(), battery._repr_html_()):
        assert all(name in shown for name in EXPERIMENTS)
    assert all(len(line) <= 100 for line in text.splitlines())
    assert "29 of 34 tests hold" in text
    assert repr(battery).startswith("<Battery: 14 metrics, 19 experiments on 24 paths in 8 generated worlds")
    few = str(ws.audit("nDTW", experiments=["reversed"], **FEW))
    assert "Curves" in few
    assert "intervals resample only 8 worlds; with fewer than 30 they are too narrow" in few
    assert "Curves" not in text


def test_the_figure(battery: Battery) -> None:
    pytest.importorskip("matplotlib")
    figure = battery.figure()
    (ax,) = figure.axes
    assert [label.get_text() for label in ax.get_yticklabels()] == list(EXPERIMENTS)
    assert len(ax.get_xticklabels()) == 14
    assert "generated worlds" in figure.get_label()


def test_points_alone_have_no_detours() -> None:
    paths = {str(n): np.array([[0.0, 0, 0], [3.0, n, 0], [6.0, n, 1], [9.0, 0, 2]]) for n in range(6)}
    found = ws.audit("nDTW", references=references(paths), resamples=100)
    assert set(found.skipped) == {name for name, one in EXPERIMENTS.items() if one.on == "nodes"}
    assert "left out: reversed-loop, detour" in str(found)
    assert found.of("nDTW", "scale").verdict.word == "invariant"
    assert found.source == "6 paths of mine"


def test_nodes_without_positions_are_not_moved() -> None:
    house = {"s": ws.Graph.from_edges(list(pairwise("abcdefgh")))}
    found = ws.audit("SR", references=references({"1": list("abcd"), "2": list("bcde")}), graphs=house, resamples=50)
    assert "near-miss" in found.skipped
    assert "stop-early" not in found.skipped
    assert "it needs points, or nodes with positions" in str(found)


def test_metrics_that_need_points_see_positions() -> None:
    def bends(episode: ws.Episode) -> float:
        assert np.ndim(episode.query) == 2
        return float(np.ptp(episode.query, axis=0).max())

    metric = ws.Metric(
        symbol="extent", name="Extent", direction=None, bounds=(0, float("inf")), unit="m", formula="max - min",
        measure=bends, needs=frozenset({"points"}),
    )  # fmt: skip
    found = ws.audit([metric, "NE"], experiments=["detour", "near-miss"], **FEW)
    assert found.of("extent", "near-miss").verdict.word == "invariant"
    assert found.of("extent", "detour").verdict.word == "rises"


def test_conventions_and_thresholds_are_used() -> None:
    kept, dropped = (ws.audit("nDTW", experiments=["repeats"], repeats=repeats, **FEW) for repeats in ("keep", "drop"))
    assert (kept.responses[0].verdict.word, dropped.responses[0].verdict.word) == ("falls", "invariant")
    even = ws.audit("nDTW", experiments=["query-density"], path_step=0.1, **FEW)
    assert even.responses[0].verdict.word == "invariant"
    assert "path_step=0.1" in even.convention
    assert ws.audit("SR", experiments=["stop-late"], threshold=100.0, **FEW).responses[0].verdict.word == "invariant"


def test_unreachable_values_are_left_out() -> None:
    """A metric that is undefined in some episodes is judged in the others, the same at every size."""

    def sometimes(episode: ws.Episode) -> float:
        return float("inf") if episode.name == "world1-1" and len(episode.query) > 4 else 0.5

    never = dict.fromkeys(("symbol", "name", "formula"), "rare")
    rare = ws.Metric(**never, direction="up", bounds=(0, 1), unit="", measure=sometimes)
    found = ws.audit([rare], experiments=["stop-early"], **FEW).responses[0]
    assert (found.episodes, found.verdict.word) == (23, "invariant")
    none = ws.Metric(**never, direction="up", bounds=(0, 1), unit="", measure=lambda _: float("inf"))
    found = ws.audit([none], experiments=["stop-early"], **FEW).responses[0]
    assert (found.episodes, found.verdict.word, found.largest) == (0, "undefined", None)


def test_cases() -> None:
    cases = from_worlds(3, 2)
    assert [case.cluster for case in cases.perfect] == ["world1", "world1", "world2", "world2", "world3", "world3"]
    assert all(case.query == case.reference for case in cases.perfect)
    assert all(case.query != case.reference for case in cases.faulty)
    again = from_worlds(3, 2)
    assert [case.query for case in cases.faulty] == [case.query for case in again.faulty]
    rows = changed_cases(EXPERIMENTS["reversed"], cases)
    assert scores_of([row[0] for row in rows], [ws.METRICS["nDTW"]]).tolist() == [[1.0] * 6]
    assert respond(EXPERIMENTS["reversed"], cases, [ws.METRICS["SR"]], resamples=10)[0].values[0].mean == 1.0


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"metrics": "nDTV"}, "there is no metric 'nDTV'; did you mean 'nDTW'"),
        ({"experiments": ["near-mis"]}, "there is no experiment 'near-mis'; did you mean 'near-miss'"),
        ({"graphs": "connectivity"}, "graphs goes with references=..., whose paths are changed; give these too"),
        ({"names": ["a"]}, "names goes with the runs of systems; give runs"),
        ({"missing": "skip"}, "missing goes with the runs of systems; give runs"),
        ({"difference": 0.1}, "difference goes with the runs of systems; give runs"),
        ({"repeats": "some"}, "repeats must be keep or drop, not 'some'"),
        ({"seed": -1}, "seed must be a whole number, 0 or more"),
    ],
)
def test_mistakes(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ws.OptionError, match=said):
        ws.audit(**settings)


def test_mistakes_of_references() -> None:
    house = {"s": ws.Graph.from_edges([("a", "b")])}
    one = references({"1": ["a", "b"]})
    for given, error, said in (
        ({}, ws.OptionError, "give the connectivity files"),
        ({"graphs": {"other": house["s"]}}, ws.UnknownSceneError, "there is no graph of the scene 's'"),
        ({"graphs": house, "references": references({"1": ["a"]})}, ws.OptionError, "has no path of two nodes or more"),
        ({"graphs": house, "worlds": 3}, ws.OptionError, "worlds goes without references"),
    ):
        with pytest.raises(error, match=said):
            ws.audit("nDTW", **{"references": one, **given})
    hidden = ws.References("test", "r2r", {"1": ws.Reference("1", "s", ["a"], "1")}, withheld=True)
    with pytest.raises(ws.OptionError, match="withheld"):
        from_references(hidden, house)
    assert find_experiments("swap")[0].name == "swap"
    with pytest.raises(ws.OptionError, match="no response of 'SPD'"):
        ws.audit("SR", experiments=["swap"], **FEW).of("SPD", "swap")
