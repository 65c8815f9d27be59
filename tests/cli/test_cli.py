"""The command as people meet it: in this process and as a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tests.house import PRESENTATION, command as invoke
from wayscore import MissingPackageError, OptionError, OutputError, PathError, WayscoreError, __version__, kernels
from wayscore.cli.agents import _beside_the_paper
from wayscore.cli.app import VERBS, app

START = "from wayscore.cli import main; main()"
HEAVY = ("numpy", "scipy", "pyarrow", "msgspec", "rich", "typer", "pydantic", "asyncio")
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


@pytest.mark.parametrize("words", [["--help"], ["-h"], [], ["score", "--help"], ["study", "create", "--help"]])
def test_help_is_light(words):
    result = run(*words, program=LIST_MODULES)
    assert result.returncode == 0
    assert "Usage: wayscore" in result.stdout
    assert result.stderr.strip() == "[]"


@pytest.mark.parametrize("words", ["wayscore de", "wayscore score --duplicate al"])
def test_completion_is_light(words):
    result = run(
        program=LIST_MODULES, _WAYSCORE_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(words.count(" "))
    )
    assert result.returncode == 0
    assert result.stdout.split() == ["plain,demo" if "de" in words.split() else "plain,all"]
    assert result.stderr.strip() == "[]"


def test_version_is_lighter_still():
    result = run("--version", program=LIST_MODULES.replace("'asyncio'", "'asyncio', 'click', 'inspect'"))
    assert result.returncode == 0
    assert re.fullmatch(rf"wayscore {re.escape(__version__)} \(kernels: \w+; Python 3[\d.]+\S*\)\n", result.stdout)
    assert result.stderr.strip() == "[]"


@pytest.mark.parametrize("wish", ["numpy", kernels.name])
def test_version_names_the_kernels(wish):
    for words in (["--version"], ["--debug", "--version"]):
        result = run(*words, WAYSCORE_KERNELS=wish)
        assert result.returncode == 0
        assert f"(kernels: {wish}; " in result.stdout
    if kernels.name == "native":
        assert "(kernels: native; " in run("--version").stdout


def verbs(command: click.Command = app, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], click.Command]:
    """Return every verb by the words that call it."""
    if not isinstance(command, click.Group):
        return {path: command}
    context = click.Context(command)
    found = {}
    for name in command.list_commands(context):
        found |= verbs(command.get_command(context, name), (*path, name))
    return found


def test_help_names_the_verbs():
    text = run("--help").stdout
    for verb, line in VERBS.items():
        assert re.search(rf"^  {verb} +{re.escape(line[:40])}", text, re.MULTILINE)
    for option in ("--version", "--debug"):
        assert option in text


@pytest.mark.parametrize("words", verbs(), ids=" ".join)
def test_help_teaches(words):
    """A paragraph, every option explained in a section, examples that parse, and none of the words of old."""
    command = verbs()[words]
    text = invoke(*words, "--help", columns=100).stdout
    assert re.search(r"^Examples?:$", text, re.MULTILINE)
    assert not re.search(r"\b(asked|told|anew|lacking|an inch|a row an)\b", text)
    for param in command.params:
        assert getattr(param, "help", None) or getattr(param, "about", None), param.name
    for example in re.split(r"\n(?=wayscore )", command.epilog):
        for line in example.split("\n"):
            assert f"  {line}\n" in text
        program, *given = example.replace("\\\n", " ").replace('"', "").split()
        assert program == "wayscore"
        assert given[: len(words)] == list(words)
        command.make_context(" ".join(words), given[len(words) :])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["demo", "--episodes", "0"], "--episodes must be a whole number, 1 to 100,000, not '0'"),
        (["demo", "--episodes", "many"], "--episodes must be a whole number, 1 to 100,000, not 'many'"),
        (["demo", "--sed", "1"], "No such option"),
        (["dmo"], "there is no verb 'dmo'; did you mean 'demo'?"),
        (["study", "crate"], "there is no verb 'crate'; did you mean 'create'?"),
        (["score"], "Missing argument '[NAME=]RUN...'"),
        (["conventions", "dute"], "there is no convention 'dute'"),
        (
            ["figures", "--which", "matrix,galery"],
            "--which must be warping, comparison, gallery, matrix or metrics, not",
        ),
        (["figures", "--up", "x"], "--up must be z or y, not 'x'"),
    ],
)
def test_a_wrong_call_takes_one_line(words, message):
    here, process = invoke(*words), run(*words)
    assert here.exit_code == process.returncode == 2
    assert here.stdout == process.stdout == ""
    assert here.stderr == process.stderr
    assert here.stderr.startswith(f"wayscore: {message}")
    assert here.stderr.count("\n") == 1


@pytest.mark.parametrize("words", verbs(), ids=" ".join)
def test_every_choice_is_refused_alike(words):
    command = verbs()[words]
    for param in command.params:
        if isinstance(param.type, click.Choice) and isinstance(param, click.Option):
            option = max(param.opts, key=len)
            with pytest.raises(click.UsageError) as found:
                command.make_context("verb", [option, "nothing"], resilient_parsing=False)
            *others, last = param.type.choices
            listed = f"{', '.join(others)} or {last}" if others else last
            assert str(found.value) == f"{option} must be {listed}, not 'nothing'"


@pytest.mark.parametrize("words", [["--version"], ["demo"]])
def test_unknown_kernels(words):
    result = run(*words, WAYSCORE_KERNELS="fast")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("wayscore: WAYSCORE_KERNELS must be 'numpy' or 'native', got 'fast'")


@pytest.mark.parametrize("words", [["--debug", "demo", "--episodes", "0"], ["demo", "--episodes", "0", "--debug"]])
def test_debug_shows_the_traceback(words):
    result = run(*words)
    assert result.returncode == 2
    assert result.stderr.startswith("Traceback (most recent call last):")
    assert result.stderr.splitlines()[-1].startswith("click.exceptions.UsageError: --episodes must be")
    assert "╭" not in result.stderr


def test_debug_changes_nothing_else():
    assert invoke("--debug", "conventions").stdout == invoke("conventions").stdout != ""


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException, *words: str):
    """Call a verb that fails with this error."""

    def fail(*_, **__):
        raise error

    monkeypatch.setattr("wayscore.worlds.files.write_files", fail)
    return invoke("demo", *words)


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (WayscoreError("first\nsecond"), 1, "first second"),
        (PathError("2 are missing; use <<missing=skip>>"), 1, "2 are missing; use --missing skip"),
        (OutputError("cannot write x"), 1, "cannot write x"),
        (FileNotFoundError(2, "No such file or directory", "x.json"), 1, "x.json: No such file or directory"),
        (OptionError("no"), 2, "no"),
        (MissingPackageError("pip install it"), 2, "pip install it"),
        (click.UsageError("no."), 2, "no (see wayscore demo --help)"),
        (ZeroDivisionError("a defect"), 3, "internal error: ZeroDivisionError: a defect"),
        (KeyError("x"), 3, "internal error: KeyError: 'x'"),
    ],
)
def test_exit_status(monkeypatch, error, status, message):
    result = failing(monkeypatch, error)
    assert result.exit_code == status
    assert result.stderr.splitlines()[0] == f"wayscore: {message}"
    assert result.stderr.count("\n") == (2 if status == 3 else 1)
    assert ("please report it; --debug shows the traceback" in result.stderr) == (status == 3)
    assert "Traceback" in failing(monkeypatch, error, "--debug").stderr


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, click.Abort])
def test_an_interrupt_is_quiet(monkeypatch, interrupt):
    result = failing(monkeypatch, interrupt())
    assert result.exit_code == 130
    assert result.output.strip() == ""


def test_what_a_terminal_cannot_print_is_replaced():
    program = "from wayscore.cli.output import show; show(lambda _, width, color: f'é SR ↑ ─ 5 ± 1 {width} {color}\\n')"
    result = run(program=program, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (result.stdout, result.stderr) == ("? SR ^ - 5 +- 1 100 False\n", "")
    for name, shown in (("FORCE_COLOR", "True"), ("NO_COLOR", "False")):
        assert run(program=program, COLUMNS="60", **{name: "1"}).stdout == f"é SR ↑ ─ 5 ± 1 60 {shown}\n"


def test_the_paper_s_impossible_cell_is_explained():
    means = {"SR": 0.051, "SED": 0.018}
    assert _beside_the_paper(means, {"SR": 5.1, "SED": 5.8}).splitlines() == [
        "",
        "Beside the paper's Table 2, in percent",
        "                SR     SED",
        "wayscore      5.10    1.80",
        "paper          5.1     5.8",
        "The SED cells differ: the paper's random rows print SED above SR, which its own formula cannot give, since",
        "SED is SR times a factor between 0 and 1.",
    ]
