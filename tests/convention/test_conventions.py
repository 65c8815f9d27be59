"""Conventions: what each does differently, by hand, and against other people's scorers on real walks."""

from __future__ import annotations

import csv
import gzip
import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wayscore as ws
from tests.conftest import read_json
from tests.house import command
from wayscore.convention import CHOICES, PAPER, Convention
from wayscore.convention.presets import CONVENTIONS, find_convention, read_signed, signed
from wayscore.episodes import Query, Reference, References, Run
from wayscore.formats import load_references, load_run
from wayscore.metrics import find_metrics
from wayscore.paths import without_repeats

ROUND = ws.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")], [1.0, 2.0, 3.0, 4.0])
"""A square of 1, 2, 3 and 4 metres: from a to d it is 4 m direct and 6 m around."""


def score(reference: str, query: str, convention: Any, metric: str, threshold: float | None = None) -> float:
    table = ws.score(
        references=[reference],
        queries=[query],
        distance=ROUND,
        convention=convention,
        metrics=metric,
        threshold=threshold,
    )
    return float(table[metric][0])


@pytest.mark.parametrize(
    ("convention", "success"),
    [("paper", 1.0), ("r4r", 1.0), ("r2r", 0.0), ("envdrop", 0.0), ("duet", 0.0), ("valan", 0.0)],
)
def test_at_exactly_the_threshold(convention: str, success: float) -> None:
    # b is 3 m from d: a success only where the threshold itself counts.
    found = [score("abcd", "abcdcb", convention, metric, threshold=5.0) for metric in ("SR", "OSR")]
    assert found == [success, 1.0] if success else found[1] == 1.0
    assert score("abcd", "ab", convention, "SR", threshold=5.0) == success


@pytest.mark.parametrize(
    ("convention", "stayed", "left"),
    [("paper", 1.0, 0.0), ("envdrop", 0.0, 0.0), ("valan", 0.0, 0.0), ("duet", 1.0, 1.0)],
)
def test_a_start_at_the_goal(convention: str, stayed: float, left: float) -> None:
    assert score("aba", "a", convention, "SPL") == stayed
    assert score("aba", "aba", convention, "SPL") == left


def test_hops_in_place_of_metres() -> None:
    assert score("abcd", "abc", "r4r", "DTW") == 3.0
    assert score("abcd", "abc", "r4r-hops", "DTW") == 1.0
    assert ROUND.hops.distance("a", "d") == 1.0
    assert not ROUND.hops.directed
    table = ws.score(references=["ad"], queries=["a"], distance={"s": ROUND}, scenes=["s"], convention="r4r-hops")
    assert table["DTW"].tolist() == [1.0]
    with pytest.raises(ws.OptionError, match="counts hops, which needs a Graph"):
        ws.score(references=[[[0.0]]], queries=[[[0.0]]], convention="r4r-hops")


def test_what_an_evaluator_prints() -> None:
    table = ws.score(references=["ab"], queries=["ab"], distance=ROUND, convention="r2r")
    assert table.metrics == ["PL", "NE", "OSR", "SR", "SPL"]
    assert table.settings["convention"] == "r2r"


def instructed(*names: str) -> References:
    """Episodes in one scene whose references lead from a to b; those named alike up to "_" share a path."""
    return References(
        "r.json", "r2r", {name: Reference(name, "s", ["a", "b"], name.partition("_")[0]) for name in names}
    )


def evaluate(agent: Run, asked: References, **options: Any) -> ws.Result:
    """Score a run; without intervals, which take the longest."""
    return ws.evaluate(agent, asked, **{"resamples": 1, **options})


def test_three_instructions_per_path() -> None:
    asked = instructed("7_0", "7_1", "7_2", "7_3")
    agent = Run("agent", "r2r", [Query(name, ["a", "b"]) for name in asked.episodes])
    assert evaluate(agent, asked, graphs={"s": ROUND}).episodes == ["7_0", "7_1", "7_2", "7_3"]
    assert evaluate(agent, asked, graphs={"s": ROUND}, convention="r2r").episodes == ["7_0", "7_1", "7_2"]


def test_missing_answers_as_each_evaluator_takes_them() -> None:
    asked, agent = instructed("e1", "e2"), Run("agent", "r2r", [Query("e1", ["a", "b"])])
    assert evaluate(agent, asked, graphs={"s": ROUND}, convention="duet").episodes == ["e1"]
    for options in ({"convention": "envdrop"}, {"convention": "duet", "missing": "error"}):
        with pytest.raises(ws.FormatError, match="has no answer"):
            evaluate(agent, asked, graphs={"s": ROUND}, **options)


def test_every_preset_is_sound_and_different() -> None:
    assert len({convention.about for convention in CONVENTIONS.values()}) == len(CONVENTIONS)
    for name, convention in CONVENTIONS.items():
        assert convention.name == name
        assert find_convention(name) is convention
        for choice, values in CHOICES.items():
            assert getattr(convention, choice) in values
        find_metrics(convention.metrics or None)  # raises where there is no such metric
        others = [other for other in CONVENTIONS.values() if other.name != name]
        assert all(convention.differences(other) for other in others)
    assert set(CHOICES) <= {field.name for field in fields(Convention)}


def test_a_convention_of_ones_own(tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text('base = "duet"\ncomparison = "<="\nthreshold = 5\nmetrics = ["SR"]\n')
    found = find_convention(own)
    assert (found.name, found.comparison, found.threshold, found.spl_length) == ("mine", "<=", 5.0, "reference")
    table = ws.score(references=["abcd"], queries=["ab"], distance=ROUND, convention=str(own))
    assert table.columns.keys() == {"SR"}
    assert table["SR"].tolist() == [1.0]
    assert table.settings["threshold"] == 5.0


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("comparison = ", "not TOML"),
        ('comparson = "<"', "there is no choice 'comparson'; did you mean 'comparison'"),
        ('comparison = "=="', "comparison must be one of <=, <, got '=='"),
        ('threshold = "3"', "threshold must be a float, got '3'"),
        ("instructions = 1.5", "instructions must be a int, got 1.5"),
        ('metrics = "SR"', "metrics must be a list"),
        ('base = "dute"', "there is no convention 'dute'; did you mean 'duet'"),
    ],
)
def test_damaged_conventions(text: str, match: str, tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text(text)
    with pytest.raises(ws.WayscoreError, match=match):
        find_convention(own)
    with pytest.raises(ws.FormatError, match=r"nowhere\.toml: no such file"):
        find_convention(tmp_path / "nowhere.toml")


def test_the_command() -> None:
    listed = command("conventions")
    assert all(name in listed.stdout for name in CONVENTIONS)
    one = command("conventions", "duet")
    assert "spl_length: reference" in one.stdout
    diff = command("conventions", "--diff", "duet", "paper")
    assert "comparison: duet <, paper <=" in diff.stdout.splitlines()
    wrong = command("conventions", "papr", status=2)
    assert "did you mean 'paper'" in wrong.stderr


WALKERS = ["stop", "shortest", "oracle", "random", "noisy", "detour", "turning"]
NAMES = {"nav_error": "NE", "oracle_error": "ONE", "spl": "SPL"}
"""What both repositories call metrics."""
SETS = {"r2r_val_seen": 1021, "r4r_val_seen": 115}


@pytest.mark.parametrize("walker", WALKERS)
@pytest.mark.parametrize("which", SETS)
def test_duet_and_the_official_evaluator_on_real_walks(which: str, walker: str, data: Path, golden: Path) -> None:
    folder = golden / which
    source = data / "r2r/R2R_val_seen.json.gz" if which.startswith("r2r") else folder / "references.json.gz"
    asked, agent = load_references(source), load_run(folder / f"{walker}.predictions.json.gz")
    graphs = ws.load_graphs(data / "connectivity.tar.gz")
    table = evaluate(agent, asked, graphs=graphs, convention="duet")
    with gzip.open(folder / f"{walker}.expected.csv.gz", "rt") as stream:
        expected = {row["instr_id"]: row for row in csv.DictReader(stream)}
    assert len(table["SR"]) == SETS[which]
    for metric in ("SR", "SPL", "nDTW", "SDTW", "CLS"):
        values = [float(expected[name][f"duet_{metric.lower()}"]) for name in table.episodes]
        np.testing.assert_allclose(table[metric], values, rtol=1e-9, atol=1e-13, err_msg=metric)

    official = json.loads((folder / "summary.json").read_text())[walker].get("r2r_official")
    if official is None:
        return
    means = evaluate(agent, asked, graphs=graphs, convention="r2r").means()
    names = {**NAMES, "length": "PL", "oracle success_rate": "OSR", "success_rate": "SR"}
    compared = [(figure, names[key]) for key, figure in official.items() if key in names]
    assert len(compared) >= 4
    for figure, metric in compared:
        assert means[metric] == pytest.approx(figure, rel=1e-9), metric


def test_another_repositorys_figures_for_each_episode(data: Path) -> None:
    folder = data / "predictions/r2r"
    asked = load_references(data / "r2r/R2R_val_seen.json.gz")
    agent = load_run(folder / "val_seen_navillm_run1.json.gz")
    theirs = read_json(folder / "val_seen_navillm_run1.item_metrics.json.gz")
    graphs = ws.load_graphs(data / "connectivity.tar.gz")
    table = evaluate(agent, asked, graphs=graphs, convention="duet")
    names = {**NAMES, "trajectory_length": "PL", "success": "SR", "oracle_success": "OSR"}
    for key, metric in names.items():
        values = [float(theirs[name][key]) for name in table.episodes]
        np.testing.assert_allclose(table[metric], values, rtol=1e-9, atol=1e-12, err_msg=key)


def test_paper_is_the_default() -> None:
    assert find_convention("paper") is PAPER
    assert ws.score(references=["ab"], queries=["ab"], distance=ROUND).settings["convention"] == "paper"


def changed(**choices: str) -> Convention:
    return replace(PAPER, name="changed", **choices)  # type: ignore[arg-type]


def test_repeated_places_kept_or_dropped() -> None:
    # The off-path node d stands three times in the query: each costs 4 m.
    options = {"references": ["ab"], "queries": ["adddab"], "distance": ROUND, "metrics": "DTW,SED,PL"}
    kept, dropped = ws.score(**options), ws.score(**options, convention=changed(repeats="drop"))  # type: ignore[arg-type]
    assert (kept["DTW"][0], dropped["DTW"][0]) == (12.0, 4.0)
    assert kept["PL"][0] == dropped["PL"][0] == 9.0
    assert kept["SED"][0] < dropped["SED"][0]
    points = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    assert without_repeats([points])[0].tolist() == [[0.0, 0.0], [1.0, 0.0]]
    table = ws.score(references=[[[0.0]]], queries=[[[2.0], [2.0], [2.0]]], convention=changed(repeats="drop"))
    assert table["DTW"].tolist() == [2.0]


def test_repeats_are_dropped_from_batches_too() -> None:
    paths = ["aab", "b", "bba"]
    lists = ws.score(references=["ab"] * 3, queries=paths, distance=ROUND, convention=changed(repeats="drop"))
    batch = ROUND.encode(paths)
    assert len(without_repeats(batch)) == 3
    table = ws.score(references=["ab"] * 3, queries=batch, distance=ROUND, convention=changed(repeats="drop"))
    assert table["DTW"].tolist() == lists["DTW"].tolist()
    assert ROUND.encode(without_repeats(ROUND.encode(paths))).lengths.tolist() == [2, 1, 2]


def test_a_convention_of_ones_own_signs_its_choices(tmp_path: Path) -> None:
    own = tmp_path / "paper.toml"  # named like one that ships, and not the same
    own.write_text('comparison = "<"\nmetrics = ["SR"]\n')
    options = {"references": ["ab"], "queries": ["ab"], "distance": ROUND}
    assert ws.score(**options, convention=own).settings["convention"] == "paper(comparison=<)"  # type: ignore[arg-type]
    assert ws.score(**options, convention="duet").settings["convention"] == "duet"  # type: ignore[arg-type]


def test_exact_or_fast_warping() -> None:
    rng = np.random.default_rng(3)
    R, Q = (rng.normal(size=(400, 3)).cumsum(axis=0) for _ in range(2))  # long enough for FastDTW to be off
    exact = ws.score(references=[R, R], queries=[Q, R], metrics="DTW,nDTW")
    fast = ws.score(references=[R, R], queries=[Q, R], metrics="DTW,nDTW", convention=changed(warping="fast"))
    assert fast["DTW"][0] == ws.fast_dtw(reference=R, query=Q, radius=1).cost > exact["DTW"][0]
    assert fast["nDTW"][0] < exact["nDTW"][0]
    assert fast["DTW"][1] == 0.0
    on_graph = ws.score(references=["abcd"], queries=["ad"], distance=ROUND, convention=changed(warping="fast"))
    assert on_graph["DTW"].tolist() == [ws.fast_dtw(reference="abcd", query="ad", distance=ROUND).cost]


def test_who_must_say_that_they_stopped() -> None:
    options = {"references": ["ab"] * 3, "queries": ["ab"] * 3, "distance": ROUND, "stopped": [True, False, None]}
    assert ws.score(**options)["SR"].tolist() == [1.0, 1.0, 1.0]  # type: ignore[arg-type]
    required = ws.score(**options, convention=changed(stop="required"))  # type: ignore[arg-type]
    assert required["SR"].tolist() == [1.0, 0.0, 1.0]
    assert required["SDTW"].tolist() == [1.0, 0.0, 1.0]
    assert required["nDTW"].tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(ws.PathError, match="1 queries but 2 values of stopped"):
        ws.score(references=["a"], queries=["a"], distance=ROUND, stopped=[True, True])


def continuous(stopped: bool | None = True, dense: bool = True) -> tuple[References, Run]:
    """Four metres straight ahead; the walk given beside it has a point every quarter; the agent ends 3 m short."""
    path = np.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0]])
    walk = np.linspace(path[0], path[1], 17) if dense else None
    asked = References("val.json", "vlnce", {"1": Reference("1", "S", path, "1", start_distance=4.0, dense=walk)})
    steps = np.array([[0.0, 0.0, 0.0]] * 3 + [[0.25, 0.0, 0.0], [0.5, 0.0, 0.0], [1.0, 0.0, 0.0]])
    return asked, Run("agent", "vlnce", {"1": Query("1", steps, stopped)})


@pytest.mark.parametrize(
    ("convention", "stopped", "success"),
    [
        ("etpnav", False, 1.0),
        ("etpnav", True, 1.0),
        ("vlnce", True, 0.0),
        ("vlnce", False, 0.0),
        ("vlnce-exact", True, 0.0),
        ("paper", False, 1.0),
    ],
)
def test_continuous_evaluators_at_the_threshold(convention: str, stopped: bool, success: float) -> None:
    asked, agent = continuous(stopped)
    table = evaluate(agent, asked, convention=convention)
    assert table["SR"].tolist() == [success]
    nearer = evaluate(agent, asked, convention=convention, threshold=3.5)
    assert nearer["SR"].tolist() == [0.0 if convention.startswith("vlnce") and not stopped else 1.0]


def test_continuous_evaluators_warp_to_the_dense_walk() -> None:
    asked, agent = continuous()
    reference, query = asked.episodes["1"], agent.queries["1"]
    (steps,) = without_repeats([query.path])
    assert len(steps) == 4
    options: dict[str, Any] = {"threshold": 3.5, "metrics": "DTW,nDTW,SDTW"}
    fast = evaluate(agent, asked, convention="vlnce", **options)
    exact = evaluate(agent, asked, convention="vlnce-exact", **options)
    assert fast["DTW"][0] == ws.fast_dtw(reference=reference.dense, query=steps, radius=1).cost
    assert exact["DTW"][0] == ws.dtw(reference=reference.dense, query=steps)
    assert exact["nDTW"][0] == pytest.approx(np.exp(-exact["DTW"][0] / (17 * 3.5)))
    assert exact["SDTW"][0] == exact["nDTW"][0]
    sparse = evaluate(agent, asked, convention="paper", threshold=3.5)
    assert sparse["DTW"][0] == ws.dtw(reference=reference.path, query=query.path) != exact["DTW"][0]
    only = evaluate(agent, asked, convention="vlnce", metrics="SDTW")
    assert list(only.means()) == ["SDTW"]
    lacking, agent = continuous(dense=False)
    with pytest.raises(ws.FormatError, match="not every reference has a dense"):
        evaluate(agent, lacking, convention="vlnce")


def test_a_continuous_agent(data: Path) -> None:
    asked = load_references(data / "vlnce/R2R_VLNCE_v1-3/val_unseen/val_unseen.json.gz")
    agent = load_run(data / "vlnce/results/gridmap_agent_val_unseen_3scenes_locations.json.gz")
    options = {"missing": "skip", "start": "keep"}
    table = evaluate(agent, asked, convention="vlnce", **options)
    assert len(table["nDTW"]) == 420
    assert 0 < table.means()["nDTW"] < 1
    sparse = evaluate(agent, asked, convention="paper", **options).means()["nDTW"]
    assert sparse < table.means()["nDTW"]  # a dense query against a sparse reference is charged for its density


def test_goal_progress_by_hand() -> None:
    # From a, goal c is 3 m and goal d 4 m away; from b they are 2 m and 5 m away.
    table = ws.score(
        references=["abcd", "abcd", "abcd"],
        queries=["ab", "abcd", "ab"],
        goals=["cd", "d", ""],
        distance=ROUND,
        metrics="GP,NE,steps,PC",
    )
    assert table["GP"].tolist() == [1.0, 4.0, -1.0]  # none named: the reference's end, from 4 m to 5 m
    assert table["NE"].tolist() == [5.0, 0.0, 5.0]
    assert table["steps"].tolist() == [1.0, 3.0, 1.0]
    assert table["PC"][1] == 1.0
    with pytest.raises(ws.PathError, match="1 queries but 2 values of goals"):
        ws.score(references=["a"], queries=["a"], goals=["a", "a"], distance=ROUND)
    with pytest.raises(ws.UnknownNodeError, match="episode 0, goals, step 0: node 'q'"):
        ws.score(references=["a"], queries=["a"], goals=["q"], distance=ROUND, metrics="GP")


@pytest.mark.parametrize(
    ("query", "goals", "hamt", "reverie"),
    [
        # From a: b is 1 m, c 3 m and d 4 m away. The reference ends at d.
        ("ab", "bc", (1.0, 1.0, 1.0), (1.0, 1.0, 1.0)),  # at a goal, the nearest one; beyond the way to d there is none
        ("abc", "b", (0.0, 1.0, 0.0), (0.0, 1.0, 0.0)),  # passed the goal and left it
        ("abc", "c", (1.0, 1.0, 1.0), (1.0, 1.0, 1.0)),
        ("abcd", "d", (1.0, 1.0, 4 / 6), (1.0, 1.0, 4 / 6)),  # the long way round
        ("abcba", "a", (1.0, 1.0, 0.0), (1.0, 1.0, 4 / 6)),  # back at a start that is a goal
        ("ad", "b", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),  # one metre off is off
    ],
)
def test_goals_that_must_be_reached_themselves(
    query: str, goals: str, hamt: tuple[float, ...], reverie: tuple[float, ...]
) -> None:
    for convention, expected in (("cvdn-hamt", hamt), ("reverie", reverie)):
        table = ws.score(
            references=["abcd"],
            queries=[query],
            goals=[goals],
            distance=ROUND,
            convention=convention,
            metrics="SR,OSR,SPL",
        )
        found = [table[metric][0] for metric in ("SR", "OSR", "SPL")]
        assert found == pytest.approx(list(expected)), convention


def test_edits_of_a_success_far_from_the_references_end() -> None:
    # b is a goal, 5 m from d: one of three edges was walked.
    table = ws.score(
        references=["abcd"], queries=["ab"], goals=["b"], distance=ROUND, convention="reverie", metrics="NE,SED"
    )
    assert table["NE"].tolist() == [5.0]
    assert table["SED"][0] == pytest.approx(1 / 3)


def test_goals_that_nobody_named() -> None:
    with pytest.raises(ws.OptionError, match="the convention reverie asks whether a query ends at one of its goals"):
        ws.score(references=["ab"], queries=["ab"], distance=ROUND, convention="reverie")


def test_reverie_through_the_command(data: Path, tmp_path: Path) -> None:
    references = data / "reverie/REVERIE_val_seen.json.gz"
    asked = load_references(references, objects=data / "semantics/reverie_bbox.json.gz")
    walks = [{"instr_id": name, "trajectory": [[p, 0, 0] for p in r.path]} for name, r in asked.episodes.items()]
    (tmp_path / "oracle.json").write_text(json.dumps(walks))
    words = ["--references", str(references), "--graphs", str(data / "connectivity.tar.gz"), "--convention", "reverie"]
    objects = ["--reader", f"objects={data / 'semantics/reverie_bbox.json.gz'}"]
    result = command("score", str(tmp_path / "oracle.json"), *words, *objects, "--format", "json", status=0)
    assert json.loads(result.stdout)["metrics"]["SR"]["mean"] > 0.99  # references end where their object is seen
    without = command("score", str(tmp_path / "oracle.json"), *words, status=2)
    assert "--reader objects=FILE" in without.stderr


def test_goal_progress_where_no_way_exists() -> None:
    islands = ws.Graph.from_edges([("a", "b"), ("x", "y")])
    table = ws.score(references=["ab", "ab"], queries=["ab", "xy"], goals=["x", "b"], distance=islands, metrics="GP")
    assert table.undefined() == {"GP": 2}
    assert not np.isnan(table["GP"]).any()


@pytest.mark.parametrize("split", ["val_seen", "val_unseen"])
def test_goal_progress_of_a_real_agent(split: str, data: Path) -> None:
    with (data / "predictions/ndh/seq2seq_iter00100_log.csv").open() as stream:
        logged = next(csv.DictReader(stream))
    column = next(key for key in logged if key.startswith(split) and "dist_to_end_reduction" in key)
    asked = load_references(data / f"ndh/NDH_{split}.json.gz")
    agent = load_run(data / f"predictions/ndh/{split}_seq2seq_iter00100.json.gz")
    graphs = ws.load_graphs(data / "connectivity.tar.gz")
    table = evaluate(agent, asked, graphs=graphs, convention="cvdn")
    assert table.means()["GP"] == pytest.approx(float(logged[column]), abs=5e-5)


@pytest.mark.parametrize("name", CONVENTIONS)
def test_what_is_signed_can_be_read_back(name: str) -> None:
    convention = CONVENTIONS[name]
    assert read_signed(signed(convention)) is convention
    mine = replace(convention, name="mine", threshold=2.5, path_step=0.5, instructions=2, metrics=())
    assert read_signed(signed(mine)) == replace(mine, about="")
    assert len(repr(mine)) < 400


def test_signatures_written_by_hand() -> None:
    assert read_signed("mine(comparison=<,threshold=far,colour=red)") == replace(
        PAPER, name="mine", about="", comparison="<"
    )


def test_names_in_any_case_and_files_that_make_no_sense(tmp_path: Path) -> None:
    assert find_convention("DUET") is CONVENTIONS["duet"]
    with pytest.raises(ws.OptionError, match=r"convention must be a name, a \.toml file or a Convention, got 3"):
        find_convention(3)  # type: ignore[arg-type]
    own = tmp_path / "own.toml"
    for content, match in (
        ("base = [1]", r"base must be the name of a convention, got \[1\]"),
        (f'base = "{own.as_posix()}"', "its base leads back to it"),
        ("x = " + "[" * 50_000 + "]" * 50_000, "nested too deeply"),
        ("metrics = [1]", "metrics must be a list such as"),
        ("colour = 1", r"there is no choice 'colour'\. Known: name"),
    ):
        own.write_text(content)
        with pytest.raises(ws.FormatError, match=match):
            find_convention(own)
