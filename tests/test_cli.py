"""The command as people meet it: in this process and as a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import wayscore.cli.demo as demo_verb
from wayscore import METRICS, ScoreTable, WayscoreError, World, __version__, kernels
from wayscore.cli.app import app
from wayscore.worlds import WALKERS

START = "from wayscore.cli.app import main; main()"
PRESENTATION = ("COLUMNS", "FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE")
"""What would make the output look otherwise on the machine of a test."""
HEAVY = ("numpy", "scipy", "pyarrow")
LIST_MODULES = f"""
import atexit, sys
atexit.register(lambda: print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr))
{START}
"""


def run(*words: str, program: str = START, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("WAYSCORE_KERNELS", *PRESENTATION)}
    return subprocess.run(
        [sys.executable, "-c", program, *words],
        env={**kept, "PYTHONIOENCODING": "utf-8", **environment},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def invoke(*words: str, columns: int = 140):
    environment = {**dict.fromkeys(PRESENTATION), "COLUMNS": str(columns)}
    return CliRunner().invoke(app, list(words), env=environment)


def table_rows(text: str) -> dict[str, list[str]]:
    """Return the numbers after each walker's name, tables one above the other joined."""
    rows: dict[str, list[str]] = {}
    for line in text.splitlines():
        for name in WALKERS:
            shown = name.replace("_", " ")
            if line.startswith(shown + " "):
                rows.setdefault(name, []).extend(line.removeprefix(shown).split())
    return rows


@pytest.mark.parametrize("words", [["--help"], ["-h"], [], ["demo", "--help"], ["bench", "--help"]])
def test_help_is_light(words):
    result = run(*words, program=LIST_MODULES)
    assert result.returncode == 0
    assert "Usage: wayscore" in result.stdout
    assert "Args:" not in result.stdout
    assert result.stderr.strip() == "[]"


def test_completion_is_light():
    result = run(
        program=LIST_MODULES,
        _WAYSCORE_COMPLETE="complete_bash",
        COMP_WORDS="wayscore de",
        COMP_CWORD="1",
    )
    assert result.returncode == 0
    assert result.stdout.split() == ["demo"]
    assert result.stderr.strip() == "[]"


def test_help_names_the_verbs():
    text = run("--help").stdout
    for verb in ("demo", "bench", "--version", "--debug"):
        assert verb in text


@pytest.mark.parametrize("wish", ["numpy", ""])
def test_version(wish):
    result = run("--version", WAYSCORE_KERNELS=wish)
    assert result.returncode == 0
    assert result.stderr == ""
    described = "numpy" if wish == "numpy" else r"(native, \w+|numpy)"
    pattern = rf"wayscore {re.escape(__version__)} \(kernels: {described}; Python 3[\d.]+\S*, NumPy \S+\)\n"
    assert re.fullmatch(pattern, result.stdout)


@pytest.mark.skipif(kernels.name != "native", reason="the native kernels are not built, or not wanted, here")
def test_version_with_native_kernels():
    result = run("--version", WAYSCORE_KERNELS="native")
    assert result.returncode == 0
    assert f"(kernels: {kernels.description};" in result.stdout


@pytest.mark.parametrize("words", [["--version"], ["demo"]])
def test_unknown_kernels(words):
    result = run(*words, WAYSCORE_KERNELS="fast")
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("wayscore: WAYSCORE_KERNELS must be 'numpy' or 'native', got 'fast'")


@pytest.mark.parametrize("columns", [80, 100, 140])
def test_demo_prints_every_walker_and_metric(columns):
    result = invoke("demo", "--episodes", "20", columns=columns)
    assert result.exit_code == 0
    assert result.stderr == ""
    assert max(map(len, result.stdout.splitlines())) <= columns
    assert "…" not in result.stdout
    rows = table_rows(result.stdout)
    assert list(rows) == list(WALKERS)
    assert all(len(cells) == len(METRICS) for cells in rows.values())
    headers = [line for line in result.stdout.splitlines() if set(line.split()) & set(METRICS)]
    assert sorted(" ".join(headers).split()) == sorted(METRICS)
    arrows = [metric.direction for metric in METRICS.values()]
    assert result.stdout.count("↑") == arrows.count("up")
    assert result.stdout.count("↓") == arrows.count("down")
    *_, settings = result.stdout.splitlines()
    assert re.fullmatch(
        rf"threshold 1\.\d+ m, distance graph#\w{{8}}, convention paper, wayscore {__version__}", settings
    )


def test_demo_shows_the_means():
    tables = demo_verb.score_walkers(World.paper(4), 15)
    rows = table_rows(invoke("demo", "--seed", "4", "--episodes", "15").stdout)
    for name, table in tables.items():
        shown = [demo_verb.show(METRICS[symbol], mean) for symbol, mean in table.means().items()]
        assert rows[name] == shown


def test_demo_marks_the_best():
    from rich.console import Console

    tables = {
        "one": ScoreTable({"PL": np.array([2.0]), "NE": np.array([1.0]), "SR": np.array([0.0])}, {}),
        "two": ScoreTable({"PL": np.array([2.0]), "NE": np.array([3.0]), "SR": np.array([1.0])}, {}),
    }
    metrics = [METRICS[symbol] for symbol in ("PL", "NE", "SR")]
    table = demo_verb.means_table(tables, metrics, space=1)
    styles = [[cell.style for cell in column._cells] for column in table.columns[1:]]
    assert styles == [["", ""], ["bold", ""], ["", "bold"]]
    console = Console(width=80)
    with console.capture() as capture:
        console.print(table)
    assert "100.0" in capture.get()


def test_demo_says_what_is_undefined():
    settings = {"threshold": 3.0, "distance": ["graph#0"], "convention": "paper", "version": "1"}
    table = ScoreTable({"NE": np.array([1.0, np.inf])}, settings)
    assert demo_verb.settings_line({"one": table}).endswith(", 1 values undefined")


def test_demo_is_deterministic():
    first, again, other = (run("demo", "--seed", seed, "--episodes", "10") for seed in ("7", "7", "8"))
    assert first.returncode == 0
    assert first.stderr == ""
    assert first.stdout == again.stdout
    assert first.stdout != other.stdout
    plain = run("demo", "--seed", "7", "--episodes", "10", WAYSCORE_KERNELS="numpy")
    assert plain.stdout == first.stdout


def test_demo_where_only_ascii_can_be_printed():
    result = run("demo", "--episodes", "2", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert result.returncode == 0
    assert result.stdout.isascii()
    assert "% ^" in result.stdout


def test_demo_saves_its_tables(tmp_path):
    out = tmp_path / "deep" / "scores"
    result = invoke("demo", "--episodes", "5", "--out", str(out))
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == f"Saved {len(WALKERS)} tables in {out}"
    assert sorted(path.stem for path in out.iterdir()) == sorted(WALKERS)
    table = ScoreTable.load(out / "perfect.parquet")
    assert len(table) == 5
    assert table.metrics == list(METRICS)
    assert table.settings["convention"] == "paper"


def test_demo_cannot_save(tmp_path):
    taken = tmp_path / "taken"
    taken.write_text("")
    result = invoke("demo", "--episodes", "1", "--out", str(taken))
    assert result.exit_code == 1
    assert result.stderr.startswith(f"wayscore: cannot save scores in {taken}: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["demo", "--episodes", "0"], "episodes must be a whole number, 1 or more, got 0; the default is 200"),
        (["demo", "--episodes", "many"], "Invalid value for '--episodes': "),
        (["demo", "--seed", "-1"], "seed must be a whole number, 0 or more, got -1"),
        (["demo", "--sed", "1"], "No such option"),
        (["dmo"], "No such command 'dmo'"),
    ],
)
def test_mistakes_take_one_line(words, message):
    here, process = invoke(*words), run(*words)
    assert here.exit_code == process.returncode == 1
    assert here.stdout == process.stdout == ""
    assert here.stderr == process.stderr
    assert here.stderr.startswith(f"wayscore: {message}")
    assert here.stderr.count("\n") == 1


@pytest.mark.parametrize("words", [["--debug", "demo", "--episodes", "0"], ["demo", "--episodes", "0", "--debug"]])
def test_debug_shows_the_traceback(words):
    result = run(*words)
    assert result.returncode == 1
    assert result.stderr.startswith("Traceback (most recent call last):")
    assert result.stderr.splitlines()[-1].startswith("wayscore.errors.OptionError: episodes must be")
    assert "╭" not in result.stderr


def test_debug_changes_nothing_else():
    assert invoke("--debug", "demo", "--episodes", "3").stdout == invoke("demo", "--episodes", "3").stdout


def failing(error: BaseException):
    def fail(*_):
        raise error

    return fail


def test_a_message_of_several_lines_becomes_one(monkeypatch):
    monkeypatch.setattr(demo_verb, "score_walkers", failing(WayscoreError("first\nsecond")))
    result = invoke("demo")
    assert result.exit_code == 1
    assert result.stderr == "wayscore: first second\n"


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, typer.Abort])
def test_an_interrupt_is_quiet(monkeypatch, interrupt):
    monkeypatch.setattr(demo_verb, "score_walkers", failing(interrupt()))
    result = invoke("demo")
    assert result.exit_code == 130
    assert result.output == ""


def test_a_defect_is_not_taken_for_a_mistake(monkeypatch):
    monkeypatch.setattr(demo_verb, "score_walkers", failing(ZeroDivisionError("a defect")))
    result = invoke("demo")
    assert result.exit_code == 1
    assert isinstance(result.exception, ZeroDivisionError)


def test_verbs_are_plain_functions(capsys):
    assert demo_verb.demo(seed=1, episodes=2) is None
    assert "perfect" in capsys.readouterr().out
