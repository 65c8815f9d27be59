"""`wayscore audit`: what the command prints, writes and refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.house import command
from wayscore.worlds.files import Course, course_files, write_files

QUICK = ("--worlds", "3", "--paths", "2", "--resamples", "50")
DATA = ("-r", "references.json", "-g", "connectivity", "--threshold", "1.41", "--resamples", "50")
BOTH = ("--runs", "runs/noisy.json", "runs/detour.json", "--metrics", "SR,nDTW")


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_files(tmp_path, course_files(Course(episodes=60, scans=2), ["noisy", "detour", "early_stop"]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_experiments_in_worlds() -> None:
    text = command("audit", "ndtw", "SED", "--experiments", "near-miss,reversed", *QUICK, status=0).output
    assert text.startswith("2 metrics, 2 experiments on 6 paths in 3 generated worlds")
    assert re.search(r"near-miss +falls +jumps down", text)


def test_experiments_on_real_paths(course: Path) -> None:
    found = json.loads(command("audit", "nDTW", "--paths", "10", "-f", "json", *DATA, status=0).output)
    assert found["source"] == "10 paths of references.json"


def test_runs(course: Path) -> None:
    words = ("--runs", "runs/noisy.json", "B=runs/detour.json", "--metrics", "SR,nDTW", "-f", "json")
    found = json.loads(command("audit", *words, *DATA, status=0).output)
    assert (found["systems"], found["metrics"]) == (["noisy", "B"], ["SR", "nDTW"])
    assert "| system | SR % ↑ | nDTW % ↑ |" in command("audit", *BOTH, "-f", "markdown", *DATA).output


def test_figures(course: Path) -> None:
    pytest.importorskip("matplotlib")
    command("audit", "nDTW", "--experiments", "swap", "--figure", "one.svg", *QUICK, status=0)
    assert (course / "one.svg").read_text().startswith("<?xml")
    command("audit", *BOTH, "--figure", "two.png", *DATA, status=0)
    assert (course / "two.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nDTV",), "there is no metric 'nDTV'; did you mean 'nDTW'?"),
        (("--experiments", "detours"), "there is no experiment 'detours'; did you mean 'detour'?"),
        (("runs/noisy.json",), "runs/noisy.json is a file, and without --runs the arguments are metrics; add --runs"),
        (("--runs", "runs/noisy.json", *DATA), "rankings need the runs of two systems or more, got only noisy"),
        (("--runs",), "rankings need the runs of two systems or more, got none; give further runs"),
        (("--runs", "runs/noisy.json", "runs/detour.json", "-r", "references.json"), "--graphs FOLDER"),
        (("--graphs", "connectivity"), "--graphs goes with --references FILE, whose paths are changed"),
        (("--missing", "skip"), "--missing goes with the runs of systems; give --runs"),
        (("--figure", "one.gif", *QUICK), "figures can be written as pdf, svg or png, not as 'gif'"),
        (("--format", "latex"), "--format must be text, json or markdown, not 'latex'"),
    ],
)
def test_mistakes_take_one_sentence(course: Path, words: Any, said: str) -> None:
    result = command("audit", *words, status=2)
    assert said in result.output
    assert "Traceback" not in result.output
    assert len(result.output.strip().splitlines()) <= 2, result.output
