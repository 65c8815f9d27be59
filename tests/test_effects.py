"""What conventions do to a run's numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.test_episodes import ASKED, GRAPHS, run
from wayscore.cli.app import app
from wayscore.convention.presets import find_convention
from wayscore.evaluation.effects import effects, rows


def test_both_conventions_and_every_single_choice() -> None:
    # e3 ends 3 m from its goal: exactly the threshold. e1 takes the reference's own 3 m.
    agent = run(e1="abc", e2="xy", e3="abc")
    paper, envdrop = find_convention("paper"), find_convention("envdrop")
    found = effects(agent, ASKED, envdrop, paper, graphs=GRAPHS, metrics="SR,SPL")
    assert set(found.choices) == {"comparison", "spl_floor", "spl_at_goal"}
    assert found.first["SR"] == pytest.approx(found.choices["comparison"]["SR"])
    assert found.second["SR"] == found.choices["spl_floor"]["SR"]
    assert [label for label, _ in rows(found, ("envdrop", "paper"))] == [
        "envdrop",
        "paper",
        "paper, but comparison as envdrop",
        "paper, but spl_floor as envdrop",
        "paper, but spl_at_goal as envdrop",
    ]
    assert [metric.symbol for metric in found.metrics] == ["SR", "SPL"]
    assert found.run == "agent"


def test_metrics_are_those_that_either_prints() -> None:
    found = effects(
        run(e1="abc", e2="xy", e3="ab"), ASKED, find_convention("r2r"), find_convention("r4r"), graphs=GRAPHS
    )
    assert [m.symbol for m in found.metrics] == ["PL", "NE", "ONE", "SR", "OSR", "SPL", "CLS", "DTW", "nDTW", "SDTW"]


def test_the_command_on_a_real_run(data: Path) -> None:
    result = CliRunner().invoke(
        app,
        [
            "conventions",
            *("--diff", "duet", "paper"),
            *("--run", str(data / "predictions/r2r/val_unseen_prevalent_add.json.gz")),
            *("--references", str(data / "r2r/R2R_val_unseen.json.gz"), "--graphs", str(data / "connectivity.tar.gz")),
            *("--metrics", "SR,SPL,nDTW"),
        ],
    )
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert "spl_length: duet reference, paper shortest" in lines
    assert any(line.split() == ["paper", "48.7", "44.8", "60.1"] for line in lines)
    assert any(line.startswith("paper, but comparison as duet") for line in lines)


def test_a_run_needs_two_conventions_and_references() -> None:
    result = CliRunner().invoke(app, ["conventions", "--run", "x.json"])
    assert result.exit_code == 1
    assert "--run needs --diff A B and --references FILE" in result.stderr
