"""`wayscore score` of runs that are streamed: when they are, what is printed, what cannot be asked for."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result
from wayscore.cli.streamed import is_stream, rows_bar

import wayscore as ws
from tests.bulk_data import SAMPLES, Town, read_scores, write_lines, write_parquet
from wayscore.cli import streamed
from wayscore.cli.app import app

GENTLE = ["--duplicate", "all", "--missing", "skip"]


def call(town: Town, *words: object) -> Result:
    return CliRunner().invoke(app, ["score", *map(str, words), *town.files, "--resamples", str(SAMPLES)])


def scored(town: Town, *words: object) -> Any:
    result = call(town, *words, "--format", "json")
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_as_without_a_stream(town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = write_parquet(tmp_path / "agent.parquet", town.answers)
    (in_memory,) = scored(town, run)
    (asked_for,) = scored(town, run, "--workers", "1")
    monkeypatch.setattr(streamed, "LARGE", 1000)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    (large,) = scored(town, run)
    assert large == asked_for
    assert {**large, "bootstrap": None, "metrics": None} == {**in_memory, "bootstrap": None, "metrics": None}
    assert large["bootstrap"] == {**in_memory["bootstrap"], "units": 400}
    for symbol, values in in_memory["metrics"].items():
        assert large["metrics"][symbol] == pytest.approx(values, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("form", ["text", "markdown", "latex"])
def test_every_form(town: Town, tmp_path: Path, form: str) -> None:
    run = write_lines(tmp_path / "agent.jsonl", town.answers)
    printed = [call(town, run, "--format", form, *words).stdout for words in ([], ["--workers", "1"])]
    assert printed[0] == printed[1] != ""


def test_several_runs(town: Town, tmp_path: Path) -> None:
    runs = []
    for number, folder in enumerate("ab"):
        runs.append(write_parquet(tmp_path / folder / "agent.parquet", town.answers.slice(number)))
    words = ["--missing", "skip", "--workers", "1", "--episodes", tmp_path / "scores.parquet"]
    found = scored(town, *runs, *words)
    assert [one["run"] for one in found] == ["a/agent", "b/agent"]
    result = call(town, *runs, *words, "--format", "json")
    assert "wayscore: warning: a/agent and b/agent differ in" in result.stderr
    assert not (tmp_path / "scores.parquet").exists()
    for folder, count in (("a", 400), ("b", 399)):
        table = ws.ScoreTable.load(tmp_path / f"scores-{folder}-agent.parquet")
        assert len(table) == count == len(read_scores(tmp_path / f"scores-{folder}-agent.parquet"))


def test_few_clusters_are_pointed_out(town: Town, tmp_path: Path) -> None:
    run = write_parquet(tmp_path / "agent.parquet", town.answers)
    (in_memory, stream) = (call(town, run, "--cluster", "scan", *words).stderr for words in ([], ["--workers", "1"]))
    assert in_memory == stream
    assert "only 3 clusters (scan)" in stream


def test_when_runs_are_streamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamed, "LARGE", 10)
    for name in ("large.parquet", "large.jsonl", "large.json", "large.csv"):
        (tmp_path / name).write_bytes(bytes(11))
    (tmp_path / "small.parquet").write_bytes(bytes(10))
    (tmp_path / "odd[1].parquet").write_bytes(bytes(10))
    found = {
        run: is_stream(run if "://" in run else str(tmp_path / run), "references", asked_for=False)
        for run in (
            *("large.parquet", "large.jsonl", "large.json", "large.csv", "small.parquet", "odd[1].parquet"),
            *("absent.parquet", "*.parquet", ".", "s3://bucket/run.parquet"),
        )
    }
    assert [run for run, stream in found.items() if stream] == [
        *("large.parquet", "large.jsonl", "*.parquet", ".", "s3://bucket/run.parquet"),
    ]
    assert is_stream(str(tmp_path / "small.parquet"), None, asked_for=False)
    assert is_stream(str(tmp_path / "small.parquet"), "references", asked_for=True)


@pytest.mark.parametrize("option", ["--html", "--split-by"])
def test_what_a_stream_cannot_do(town: Town, tmp_path: Path, option: str) -> None:
    run = write_parquet(tmp_path / "agent.parquet", town.answers)
    result = call(town, run, "--workers", "1", option, "scan")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"wayscore: {option} needs the whole run in memory, and this one is streamed")
    assert not (tmp_path / "scan").exists()


def test_progress_is_told_to_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream in (io.StringIO(), Terminal()):
        monkeypatch.setattr(sys, "stderr", stream)
        with rows_bar("agent[1]") as progress:
            if progress is not None:
                progress("looking at a.parquet", 0, 0)
                progress("scoring", 1000, 3000)
        assert ("agent[1]: scoring" in stream.getvalue()) == stream.isatty()
        assert ("1,000 of 3,000 rows" in stream.getvalue()) == stream.isatty()
