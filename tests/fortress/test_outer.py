"""Whatever happens, the command leaves with one of its exit statuses and a sentence, never with a traceback."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from tests.fortress.attacks import COMMAND, house, wayscore
from tests.house import command
from wayscore.cli.app import Option, app

FULL = Path("/dev/full")
full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")


def verbs(group: click.Group = app, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        if isinstance(found, click.Group):
            yield from verbs(found, (*words, name))
        else:
            yield (*words, name), found


CHECKED = {"--resamples", "--workers", "--chunk", "--top"}
"""Options that the functions behind the verbs bound."""


@pytest.mark.parametrize(("words", "verb"), [pytest.param(*found, id=" ".join(found[0])) for found in verbs()])
def test_every_number_has_bounds(words: tuple[str, ...], verb: click.Command) -> None:
    for param in verb.params:
        assert param.type is not click.INT, param.name
        assert param.type is not click.FLOAT or isinstance(param, Option), param.name  # which refuses NaN and infinity
        if isinstance(param.type, click.IntRange):
            assert param.type.min is not None, param.name
            assert param.type.max is not None or CHECKED & {*param.opts}, param.name


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--resamples", "99999999999"),
        ("--workers", "99999999999"),
        ("--chunk", "99999999999"),
        ("--seed", "9" * 5000),
        ("--threshold", "inf"),
        ("--threshold", "1e400"),
        ("--path-step", "nan"),
        ("--workers", "0x10"),
    ],
)
def test_absurd_numbers(tmp_path: Path, option: str, value: str) -> None:
    found = command("score", *house(tmp_path), option, value, status=2)
    assert found.stderr.startswith(f"wayscore: {option} must be a ")
    assert len(found.stderr) < 300


@full
@pytest.mark.parametrize("words", [["--version"], ["--help"], ["conventions"]])
def test_a_full_disk_behind_standard_output(words: list[str]) -> None:
    with FULL.open("w") as nowhere:
        found = wayscore(*words, stdout=nowhere)
    assert found.returncode == 1
    assert "no space left on device" in found.stderr.lower()
    assert found.stderr.count("\n") == 1


@full
def test_nobody_to_complain_to() -> None:
    with FULL.open("w") as nowhere:
        assert wayscore("conventions", "nowhere", stdout=nowhere, stderr=nowhere).returncode == 2
        assert wayscore("conventions", stdout=nowhere, stderr=nowhere).returncode == 1


def test_closed_streams() -> None:
    for stream, status in (("1", 1), ("2", 0)):
        words = ["sh", "-c", f'exec "$@" {stream}>&-', "sh", *COMMAND, "conventions"]
        found = subprocess.run(words, capture_output=True, text=True, check=False)
        assert found.returncode == status, found.stderr
        assert "Traceback" not in found.stderr
    assert found.stderr == ""


def test_a_reader_who_has_enough() -> None:
    process = subprocess.Popen([*COMMAND, "conventions"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.communicate()[1] == b""
    assert process.returncode == 0


@pytest.mark.parametrize("seconds", [0.3, *(pytest.param(n, marks=pytest.mark.soak) for n in (1.0, 2.0, 3.5))])
def test_ctrl_c(tmp_path: Path, seconds: float) -> None:
    """At any moment: while modules are loaded, in the work, and while files are written."""
    words = house(tmp_path)
    written = ["--html", str(tmp_path / "p.html"), "--episodes", str(tmp_path / "e.csv"), "--resamples", "1000000"]
    before = {*os.listdir(tmp_path)}
    process = subprocess.Popen(
        [*COMMAND, "score", *words, *written], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    time.sleep(seconds)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode in (0, 130, -signal.SIGINT)  # the last before any of our code runs
    if process.returncode == 130:
        assert b"Traceback" not in said
    assert {*os.listdir(tmp_path)} - before <= {"p.html", "e.csv"}


def broken(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> Any:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr("wayscore.convention.presets.find_convention", fail)
    return command("conventions", "paper")


def test_faults_of_the_machine_and_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlite3

    import pyarrow as pa

    for error, words in (
        (MemoryError(), "the memory of this machine is not enough"),
        (pa.ArrowMemoryError("malloc of size 9 failed"), "the memory of this machine is not enough"),
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE)), "this machine: Too many open files"),
        (PermissionError(errno.EACCES, os.strerror(errno.EACCES), "x"), "x: Permission denied"),
        (sqlite3.OperationalError("attempt to write a readonly database"), "the database: attempt to write a readonly"),
    ):
        found = broken(monkeypatch, error)
        assert (found.exit_code, found.stderr.count("\n")) == (1, 1), found.stderr
        assert words in found.stderr
    found = broken(monkeypatch, KeyError("ours"))
    assert found.exit_code == 3
    assert "This is a bug in wayscore: please report it; --debug shows the traceback." in found.stderr
    assert broken(monkeypatch, KeyboardInterrupt()).exit_code == 130


@pytest.mark.parametrize(
    "content",
    [
        b"base = [1]",
        b"x = " + b"[" * 50_000 + b"]" * 50_000,
        b"\xff\xfe",
        b"a.b.c.d = 1",
        b'threshold = "far"',
        b"threshold = inf",
        b"threshold = nan",
        b"metrics = [[]]",
        b"base = 'mine.toml'",
        b"comparison = 1979-05-27",
        b"name = 3",
        b"threshold = 1" + b"0" * 5000,
        b" " * (2**20 + 1),
    ],
    ids=range(13),
)
def test_odd_toml(tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.toml").write_bytes(content)
    words = house(tmp_path)
    monkeypatch.chdir(tmp_path)
    found = command("score", *words, "--convention", "mine.toml", "--resamples", 10)
    assert found.exit_code in (1, 2), found.stderr
    assert found.stderr.count("\n") == 1
    assert len(found.stderr) < 1500


def test_a_database_that_is_read_only(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    from sqlalchemy import create_engine, text
    from sqlalchemy.exc import OperationalError

    path = tmp_path / "x.db"
    create_engine(f"sqlite:///{path}").connect().close()
    path.touch()
    database = create_engine(f"sqlite:///file:{path}?mode=ro&uri=true").connect()
    with database, pytest.raises(OperationalError, match="readonly") as caught:
        database.execute(text("create table t (a int)"))
    from wayscore.cli.app import explain

    status, sentence = explain(caught.value)
    assert status == 1
    assert sentence.startswith("the database: attempt to write a readonly database; see that it can be written")


def test_limits_are_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "limits.md").read_text(encoding="utf-8")
    from wayscore import reading
    from wayscore.evaluation.engines import MOST_WORKERS
    from wayscore.statistics.bootstrap import MOST_RESAMPLES

    sizes = (f"{reading.SIZE_LIMIT >> 30} GiB", f"{reading.RATIO_LIMIT} times", f"{reading.MEMBER_LIMIT:,}")
    for word in (reading.SIZE_VARIABLE, reading.MEMBER_VARIABLE, *sizes, f"{MOST_WORKERS:,}", f"{MOST_RESAMPLES:,}"):
        assert word in page
