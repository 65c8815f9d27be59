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
from wayscore.formats import load_references, load_run
from wayscore.formats.episodes import Query, Reference, References, Run
from wayscore.metrics import METRICS, find_metrics

ROUND = ws.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")], [1.0, 2.0, 3.0, 4.0])
"""A square of 1, 2, 3 and 4 metres: from a to d it is 4 m direct and 6 m around."""


def test_hops_by_scene() -> None:
    table = ws.score(references=["ad"], queries=["a"], distance={"s": ROUND}, scenes=["s"], convention="r4r-hops")
    assert table["DTW"].tolist() == [1.0]
    assert not ROUND.hops.directed


def evaluate(agent: Run, asked: References, **options: Any) -> ws.Result:
    """Score a run; without intervals, which take the longest."""
    return ws.evaluate(agent, asked, **{"resamples": 1, **options})


def test_three_instructions_per_path() -> None:
    asked = References("r.json", "r2r", {f"7_{n}": Reference(f"7_{n}", "s", ["a", "b"], "7") for n in range(4)})
    agent = Run("agent", "r2r", [Query(name, ["a", "b"]) for name in asked.episodes])
    assert evaluate(agent, asked, graphs={"s": ROUND}).episodes == ["7_0", "7_1", "7_2", "7_3"]
    assert evaluate(agent, asked, graphs={"s": ROUND}, convention="r2r").episodes == ["7_0", "7_1", "7_2"]


def test_options_go_before_the_convention() -> None:
    asked = References("r.json", "r2r", {name: Reference(name, "s", ["a", "b"], name) for name in ("e1", "e2")})
    options: dict[str, Any] = {"graphs": {"s": ROUND}, "convention": "duet"}
    agent = Run("agent", "r2r", [Query("e1", ["a", "b"])])
    assert evaluate(agent, asked, **options).episodes == ["e1"]
    with pytest.raises(ws.FormatError, match="has no answer"):
        evaluate(agent, asked, **options, missing="error")


def test_every_preset_is_sound_and_different() -> None:
    assert len({convention.about for convention in CONVENTIONS.values()}) == len(CONVENTIONS)
    for name, convention in CONVENTIONS.items():
        assert convention.name == name
        assert find_convention(name) is find_convention(name.upper()) is convention
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
    options: dict[str, Any] = {"references": ["abcd"], "queries": ["ab"], "distance": ROUND}
    table = ws.score(**options, convention=str(own))
    assert table.columns.keys() == {"SR"}
    assert table["SR"].tolist() == [1.0]
    assert table.settings["threshold"] == 5.0
    alike = tmp_path / "paper.toml"  # named like one that ships, and not the same
    alike.write_text('comparison = "<"\nmetrics = ["SR"]\n')
    signatures = [ws.score(**options, convention=one).settings["convention"] for one in (alike, "duet", "paper")]
    assert signatures == ["paper(comparison=<)", "duet", "paper"]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("comparison = ", "not TOML"),
        ('comparson = "<"', "there is no choice 'comparson'; did you mean 'comparison'"),
        ("colour = 1", r"there is no choice 'colour'\. Known: name"),
        ('comparison = "=="', "comparison must be one of <=, <, got '=='"),
        ('threshold = "3"', "threshold must be a float, got '3'"),
        ("instructions = 1.5", "instructions must be a int, got 1.5"),
        ('metrics = "SR"', "metrics must be a list"),
        ("metrics = [1]", "metrics must be a list such as"),
        ("base = [1]", r"base must be the name of a convention, got \[1\]"),
        ("x = " + "[" * 50_000 + "]" * 50_000, "nested too deeply"),
        ('base = "dute"', "there is no convention 'dute'; did you mean 'duet'"),
        ('base = "OWN"', "its base leads back to it"),
        (None, r"mine\.toml: no such file"),
    ],
)
def test_damaged_conventions(text: str | None, match: str, tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    if text is not None:
        own.write_text(text.replace("OWN", own.as_posix()))
    with pytest.raises(ws.WayscoreError, match=match):
        find_convention(own)


def test_the_command() -> None:
    listed = command("conventions")
    assert all(name in listed.stdout for name in CONVENTIONS)
    one = command("conventions", "duet")
    assert "spl_length: reference" in one.stdout
    diff = command("conventions", "--diff", "duet", "paper")
    assert "comparison: duet <, paper <=" in diff.stdout.splitlines()
    wrong = command("conventions", "papr", status=2)
    assert "did you mean 'paper'" in wrong.stderr


NAMES = {"nav_error": "NE", "oracle_error": "ONE", "spl": "SPL"}
"""What both repositories call metrics."""
COLUMNS = {
    "paper": {
        **{symbol.lower(): symbol for symbol in METRICS},
        **{f"r4r_{symbol.lower()}": symbol for symbol in ("DTW", "nDTW", "SDTW", "CLS")},
    },
    "duet": {f"duet_{symbol.lower()}": symbol for symbol in ("SR", "SPL", "nDTW", "SDTW", "CLS")},
}
"""Columns of expected values; "r4r" is the authors' own code, which sometimes has no CLS."""


@pytest.mark.parametrize("walker", ["stop", "shortest", "oracle", "random", "noisy", "detour", "turning"])
@pytest.mark.parametrize(("which", "count"), [("r2r_val_seen", 1021), ("r4r_val_seen", 115)])
def test_other_peoples_scorers_on_real_walks(which: str, count: int, walker: str, data: Path, golden: Path) -> None:
    folder = golden / which
    source = data / "r2r/R2R_val_seen.json.gz" if which.startswith("r2r") else folder / "references.json.gz"
    asked, agent = load_references(source), load_run(folder / f"{walker}.predictions.json.gz")
    graphs = ws.load_graphs(data / "connectivity.tar.gz")
    with gzip.open(folder / f"{walker}.expected.csv.gz", "rt") as stream:
        expected = {row["instr_id"]: row for row in csv.DictReader(stream)}
    for convention, columns in COLUMNS.items():
        table = evaluate(agent, asked, graphs=graphs, convention=convention)
        assert len(table) == count
        for column, metric in columns.items():
            texts = [expected[name][column] for name in table.episodes]
            known = np.array([text != "" for text in texts])
            values = np.array([float(text or 0) for text in texts])
            np.testing.assert_allclose(table[metric][known], values[known], rtol=1e-9, atol=1e-13, err_msg=column)
            assert known.all() or column == "r4r_cls"

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
    found = read_signed("mine(comparison=<,threshold=far,colour=red)")
    assert found == replace(PAPER, name="mine", about="", comparison="<")
