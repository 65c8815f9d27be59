"""The command as people meet it: in this process and as a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import wayscore.cli.demo as demo_verb
from wayscore import WayscoreError, __version__, kernels
from wayscore.cli.app import app

START = "from wayscore.cli.app import main; main()"
PRESENTATION = ("COLUMNS", "FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE")
"""What would make the output look otherwise on the machine of a test."""
HEAVY = ("numpy", "scipy", "pyarrow")
LIST_MODULES = f"""
import atexit, sys
atexit.register(lambda: print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr))
{START}
"""


def run(
    *words: str, program: str = START, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("WAYSCORE_KERNELS", *PRESENTATION)}
    return subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=cwd,
        env={**kept, "PYTHONIOENCODING": "utf-8", **environment},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def invoke(*words: str, columns: int = 140):
    environment = {**dict.fromkeys(PRESENTATION), "COLUMNS": str(columns)}
    return CliRunner().invoke(app, list(words), env=environment)


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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["demo", "--episodes", "0"], "episodes must be a whole number, 1 or more, got 0"),
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
    assert invoke("--debug", "conventions").stdout == invoke("conventions").stdout != ""


def failing(error: BaseException):
    def fail(*_):
        raise error

    return fail


def test_a_message_of_several_lines_becomes_one(monkeypatch, tmp_path):
    monkeypatch.setattr(demo_verb, "score_walkers", failing(WayscoreError("first\nsecond")))
    result = invoke("demo", "--episodes", "1", "--out", str(tmp_path))
    assert result.exit_code == 1
    assert result.stderr == "wayscore: first second\n"


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, typer.Abort])
def test_an_interrupt_is_quiet(monkeypatch, tmp_path, interrupt):
    monkeypatch.setattr(demo_verb, "score_walkers", failing(interrupt()))
    result = invoke("demo", "--episodes", "1", "--out", str(tmp_path))
    assert result.exit_code == 130
    assert result.output == ""


def test_a_defect_is_not_taken_for_a_mistake(monkeypatch, tmp_path):
    monkeypatch.setattr(demo_verb, "score_walkers", failing(ZeroDivisionError("a defect")))
    result = invoke("demo", "--episodes", "1", "--out", str(tmp_path))
    assert result.exit_code == 1
    assert isinstance(result.exception, ZeroDivisionError)


def test_verbs_are_plain_functions(capsys, tmp_path):
    assert demo_verb.demo(tmp_path, seed=1, episodes=2) is None
    assert "perfect" in capsys.readouterr().out
