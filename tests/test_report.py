"""Summaries, their signatures, and every form they are printed in."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import wayscore as ws
from tests.test_episodes import ASKED, GRAPHS, run
from wayscore.convention.signature import SHORT, Signature
from wayscore.episodes import Query, Reference, References, Run, join
from wayscore.report import RENDERERS, Summary, partition, render, score_runs, summarize
from wayscore.report.layout import short_names
from wayscore.scoring import score_joined


def summary(name: str = "agent", threshold: float = 3.0, **policies: str) -> Summary:
    paths = {"e1": "abcd", "e2": "x", "e3": "ab"} if not policies else {"e1": "abc"}
    agent = run(**paths)
    joined = join(agent, ASKED, graphs=GRAPHS, **policies)  # type: ignore[arg-type]
    table = score_joined(joined, distance=GRAPHS, threshold=threshold)
    found = summarize(table, joined, rng=np.random.default_rng(0), resamples=200)
    return Summary(name, *(getattr(found, field) for field in Summary.__slots__[1:]))


def test_the_json_object() -> None:
    printed = render([summary()], "json")
    found = json.loads(printed)
    keys = "run signature convention threshold episodes missing unknown undefined metrics bootstrap"
    assert list(found) == keys.split()
    assert found["bootstrap"] == {"resamples": 200, "seed": None, "cluster": "none"}
    assert (found["run"], found["convention"], found["threshold"]) == ("agent", "paper", 3.0)
    assert (found["episodes"], found["missing"], found["unknown"], found["undefined"]) == (3, 0, 0, {})
    assert found["metrics"]["NE"]["mean"] == 3.0
    assert found["metrics"]["NE"]["low"] <= 3.0 <= found["metrics"]["NE"]["high"]
    assert list(found["metrics"]) == list(ws.METRICS)


def test_what_intervals_depend_on_is_told_but_not_signed() -> None:
    agent = run(e1="abcd", e2="x", e3="ab")
    joined = join(agent, ASKED, graphs=GRAPHS)
    table = score_joined(joined, distance=GRAPHS)
    found = summarize(table, joined, rng=7, resamples=1)
    assert json.loads(render([found], "json"))["bootstrap"] == {"resamples": 1, "seed": 7, "cluster": "none"}
    assert "Means over 3 episodes with 95 % bootstrap intervals (1 resample, seed 7)\n" in render([found], "text")
    scans = partition(ASKED.episodes.values(), "scan")
    by_scan = summarize(table, joined, rng=np.random.default_rng(7), resamples=2000, clusters=scans)
    assert "95 % bootstrap intervals (2,000 resamples), resampled by scan\n" in render([by_scan], "text")
    assert found.signature == summarize(table, joined, rng=8, resamples=2).signature
    assert found.metrics == summarize(table, joined, rng=np.random.default_rng(7), resamples=1).metrics
    assert "with 95 % intervals\n" in render([replace(found, bootstrap=None)], "text")
    with pytest.raises(ws.OptionError, match="seed must be a whole number, 0 or more, got -1"):
        summarize(table, joined, rng=-1)


def test_what_was_wrong_is_signed() -> None:
    found = summary(missing="zero")
    assert found.missing == 2
    assert found.undefined["NE"] == 2
    assert "|missing:zero-2|undefined:2" in str(found.signature)
    assert Signature.parse(str(found.signature)) == found.signature
    assert Signature.parse(found.signature.short()) == found.signature


def test_the_signature_changes_with_every_setting() -> None:
    close = summary(threshold=1.4071234567).signature
    assert close.fields["threshold"] == "1.4071234567"
    first = summary().signature
    assert first.differences(summary(threshold=2.0).signature) == {"threshold": ("3", "2")}
    assert set(first.differences(summary(missing="skip").signature)) == {"episodes", "missing", "distance"}
    assert set(first.fields) <= set(SHORT)


@pytest.mark.parametrize(
    "text", ["", "sacrebleu|v:1", "wayscore|threshold", "wayscore|th:3|threshold:3", "wayscore|x:1"]
)
def test_bad_signatures(text: str) -> None:
    with pytest.raises(ws.FormatError, match="signature"):
        Signature.parse(text)


@pytest.mark.parametrize("form", RENDERERS)
def test_every_form_names_runs_and_signature(form: str) -> None:
    printed = render([summary("one"), summary("two")], form)
    assert "one" in printed
    assert "two" in printed
    assert printed.count("convention:paper") == (2 if form == "json" else 1)
    assert "nan" not in printed.lower().replace("nano", "")


def test_different_signatures_are_pointed_out() -> None:
    printed = render([summary("one"), summary("two", threshold=2.0)], "text")
    assert "warning: one and two differ in threshold (3, 2)" in printed


def test_latex_has_the_best_in_bold_and_escapes_names() -> None:
    printed = render([summary("a_1"), summary("b", threshold=5.0)], "latex")
    assert r"a\_1 & " in printed
    assert r"\toprule" in printed
    assert r"\textbf{100.0}" in printed  # SR: 66.7 within 3 m, all within 5 m
    assert printed.count("% ") == 3  # two signatures and one warning, as comments
    assert r"\textbf" not in render([summary()], "latex")


def test_markdown_is_a_table() -> None:
    lines = render([summary()], "markdown").splitlines()
    assert lines[0].startswith("| run | PL | NE ↓ |")
    assert len({line.count("|") for line in lines[:3]}) == 1


@pytest.mark.parametrize("width", [80, 100, 140])
@pytest.mark.parametrize("count", [1, 5])
def test_tables_fit_and_long_names_are_told_below(width: int, count: int) -> None:
    names = [f"an_agent_with_a_name_that_is_much_too_long_for_a_column_{n}" for n in range(count)]
    lines = render([summary(name) for name in names], "text", width=width).splitlines()
    table = lines[: lines.index("", 3)]
    assert max(map(len, table)) <= width
    for metric in ws.METRICS:
        assert any(line.startswith(f"{metric} ") for line in table)
    shown = "\n".join(lines)
    for n, name in enumerate(names):
        assert name in shown
        assert count == 1 or f"{n} = {name}" in lines


def test_names_are_not_markup() -> None:
    names = ["[bold]a[/bold]", "b | c"]
    runs = [summary(name) for name in names]
    assert "[bold]a[/bold]" in render(runs, "text")
    assert r"| b \| c |" in render(runs, "markdown")
    assert r"a\#1\_\%\&\$\{\}\textbackslash{} & " in render([summary("a#1_%&${}\\")], "latex")


def test_short_names() -> None:
    assert short_names(["agent", "other"], 5) == ["agent", "other"]
    assert short_names(["run_of_a", "run_of_b"], 7) == ["a", "b"]
    assert short_names(["run_of_one", "run_of"], 7) == ["of_one", "of"]  # whole words, never nothing
    alike = short_names(["x" * 20 + "1" + "y" * 20, "x" * 20 + "2" + "y" * 20], 10)
    assert alike == ["run 1", "run 2"]


def test_bins_of_length() -> None:
    asked = [Reference(f"e{n}", "S", ["a"] * n, "1") for n in range(4, 8)]
    assert partition(asked, "length").names == ("4", "5", "6", "7")
    many = [Reference(f"e{n}", "S", ["a"] * n, "1") for n in (3, 19, 61, 100)]
    assert partition(many, "length").names == ("0-19", "60-79", "100-119")
    assert partition([], "length").names == ()


def test_paths_of_one_number_in_two_scenes_are_two() -> None:
    asked = [Reference("e1", "S", ["a"], "1"), Reference("e2", "T", ["x"], "1"), Reference("e3", "T", ["x"], "2")]
    assert partition(asked, "path").names == ("S/1", "T/1", "2")


def test_the_best_is_bold_in_colour() -> None:
    two = [summary("one"), summary("two", threshold=5.0)]
    assert "\x1b[1m100.0" in render(two, "text", color=True)
    assert "\x1b" not in render(two, "text")


def test_an_unknown_form() -> None:
    with pytest.raises(ws.OptionError, match="there is no format 'jsn'; did you mean 'json'"):
        render([summary()], "jsn")


def test_a_metric_of_ones_own_is_reported() -> None:
    asked = References("asked", "r2r", {"1": Reference("1", "s", ["a", "b"], "1")})
    agent = Run("agent", "r2r", {"1": Query("1", ["a", "b"])})
    graph = ws.Graph.from_edges([("a", "b")], [4.0])
    twice = ws.Metric("PL2", "Twice the length", "down", (0, float("inf")), "m", "2 PL", lambda m: 2 * m.query_length)
    (scored,) = score_runs([agent], asked, graphs={"s": graph}, metrics=["nDTW", twice])
    summary = summarize(scored.table, scored.joined, rng=0, resamples=10)
    assert "PL2 m" in render([summary], "text")
    assert "8.00" in render([summary], "latex")
