"""Verbs are built when called, and load no more than they need."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from tests.test_cli_score import write_references, write_run
from tests.test_distances import connectivity
from wayscore.cli import app as root
from wayscore.cli.verb import build

UNNEEDED = "rich pyarrow scipy pandas networkx numpy.ma wayscore.evaluation.comparison wayscore.cli.demo".split()


def test_a_score_loads_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    (tmp_path / "S_connectivity.json").write_text(json.dumps(connectivity("abcd", "ab bc cd")))
    write_references(tmp_path / "references.json", [("S", "abcd", 2)])
    write_run(tmp_path / "run.json", {"1_0": "abc", "1_1": "ab"})
    words = ["wayscore", "score", "run.json", "-r", "references.json", "-g", "."]
    script = (
        f"import sys; sys.argv = {words!r}\n"
        "from wayscore.cli.app import main\n"
        "try:\n    main()\n"
        f"finally:\n    print('loaded', [name for name in {UNNEEDED!r} if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "nDTW" in result.stdout
    assert result.stdout.endswith("loaded []\n")


def test_help_lists_every_verb_and_calls_build_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = CliRunner().invoke(root.app, ["--help"], env={"COLUMNS": "200"}).stdout
    assert all(f" {verb} " in shown for verb in root.VERBS)
    built: list[str] = []
    monkeypatch.setattr(root, "build", lambda name: built.append(name) or build(name))
    assert CliRunner().invoke(root.app, ["conventions"]).exit_code == 0
    assert built == ["conventions"]


def test_a_verb_may_be_an_app_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    study = typer.Typer(name="bench")
    study.command("create")(lambda: typer.echo("created"))
    study.command("serve")(lambda: None)
    monkeypatch.setattr("wayscore.cli.bench.bench", study)
    assert CliRunner().invoke(root.app, ["bench", "create"]).stdout == "created\n"


def test_collections_are_rare_only_in_the_command() -> None:
    script = "import gc, wayscore.cli.app; print(gc.get_threshold()[0] < 10_000)"
    result = subprocess.run([sys.executable, "-c", script], env=os.environ, capture_output=True, text=True, check=True)
    assert result.stdout == "True\n"
