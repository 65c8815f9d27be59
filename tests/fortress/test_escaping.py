"""Names that others chose command neither a terminal nor a browser, a spreadsheet, Markdown, LaTeX or matplotlib."""

from __future__ import annotations

import csv
import io
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

import wayscore as ws
from tests.fortress.attacks import COMMAND, HOSTILE, house, wayscore
from tests.report.browser.conftest import browser, opened, windows
from wayscore.escaping import escape, escape_json, from_cell
from wayscore.evaluation.saved import write_episodes
from wayscore.report import render, render_comparison

pty = pytest.importorskip("pty", reason="terminals to look through are POSIX's")
_fixtures = browser, opened, windows
FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


@pytest.fixture
def results(tmp_path: Path) -> list[Any]:
    """Two runs whose name, episode and scan are hostile, as a comparison shows them."""
    episode, scan = HOSTILE.replace("/", "") + "_0", HOSTILE.replace("/", "")
    run, _, references, _, graphs = house(tmp_path, episode, scan)
    return [ws.evaluate(run, references, graphs, name=name, resamples=10) for name in (HOSTILE, f"other {HOSTILE}")]


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "html"])
def test_every_form(results: list[Any], form: str) -> None:
    comparison = ws.compare(results)
    for text in (render(results, form, split_by="scan"), render_comparison(comparison, form)):
        assert not FORBIDDEN.search(text)
        assert "owned" in text
        if form == "markdown":
            assert not re.search(r"(?<!\\)<img|(?<!\\)\]\(", text)
        if form == "html":
            assert "<img" not in text
        if form == "latex":
            table = "\n".join(line for line in text.split("\n") if not line.startswith("%"))
            assert not re.search(r"\\\]|(?<!\\)\$x(?<!\\)\$", table)


def test_spreadsheets(tmp_path: Path) -> None:
    run, _, references, _, graphs = house(tmp_path, "=1+1_0", "@S")
    result = ws.evaluate(run, references, graphs, name="=cmd|' /C calc'!A0", resamples=10)
    printed = next(csv.DictReader(io.StringIO(render([result], "csv"))))
    assert printed["run"] == "'=cmd|' /C calc'!A0"
    write_episodes(result, tmp_path / "e.csv")
    row = next(csv.DictReader(io.StringIO((tmp_path / "e.csv").read_text())))
    assert (row["episode"], row["scene"]) == ("'=1+1_0", "'@S")
    again = ws.load_result(tmp_path / "e.csv")  # and back
    assert list(again.table.episodes) == ["=1+1_0"]


@given(st.text())
def test_cells_come_back(text: str) -> None:
    cell = escape(text, "csv")
    assert cell[:1] not in ("=", "@", "\t", "\r")
    assert from_cell(cell) == text or text.startswith("'")


@given(st.text(alphabet=st.characters()))
def test_nothing_unseen_is_left(text: str) -> None:
    for form in ("line", "html", "markdown", "latex", "figure"):
        assert not FORBIDDEN.search(escape(text, form))
        assert "\n" not in escape(text, form)


def test_words_of_other_scripts_stay() -> None:
    for text in ("agent-7_0", "代理", "नमस्ते\u200d", "می\u200cخواهم", "naïve ↑ ±", "a\u00a0b"):
        assert escape(text) == text
    assert (
        escape_json('["\\u0928\\u200d", "\\ud83d\\ude00", "\\\\u202e"]')
        == '["\\u0928\\u200d", "\\ud83d\\ude00", "\\\\u202e"]'
    )
    assert escape_json('["\\u202e", "\\ud800", "\\u001b"]') == '["\\\\u202e", "\\\\ud800", "\\\\x1b"]'


def on_a_terminal(*words: str) -> bytes:
    """Return all that the command writes to a terminal, standard error too."""
    screen, terminal = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *words], stdin=terminal, stdout=terminal, stderr=terminal, env={**os.environ, "TERM": "xterm"}
    )
    os.close(terminal)
    seen = b""
    while True:
        try:
            more = os.read(screen, 2**16)
        except OSError:  # Linux says so when the other end is closed
            break
        if not more:
            break
        seen += more
    os.close(screen)
    process.wait()
    return seen


@pytest.mark.parametrize("verb", ["score", "validate", "compare"])
def test_on_a_terminal(tmp_path: Path, verb: str) -> None:
    """Only our own codes reach it: bold, dim, plain, and those of the progress bar."""
    words = house(tmp_path, HOSTILE.replace("/", "") + "_0")
    runs = [f"{HOSTILE.replace('/', '').replace('=', '')}={words[0]}", f"b={words[0]}"][: 2 if verb == "compare" else 1]
    if verb == "validate":
        (tmp_path / "other.json").write_text(Path(words[0]).read_text().replace("_0", "_9"))
        runs = [str(tmp_path / "other.json")]
    seen = on_a_terminal(verb, *runs, *words[1:]).decode()
    assert "owned" in seen
    assert "\x1b[2J" not in seen
    left = re.sub("\x1b\\[[?0-9;]*[a-zA-Z]|\r", "", seen)
    assert not FORBIDDEN.search(left), left


def test_an_error_on_a_terminal(tmp_path: Path) -> None:
    words = house(tmp_path)
    words[0] = str(tmp_path / f"nowhere{HOSTILE.replace('/', '')}.json")
    found = wayscore("score", *words)
    assert found.returncode == 1
    assert not FORBIDDEN.search(found.stderr)
    assert found.stderr.count("\n") == 1


@pytest.mark.soak
def test_in_a_browser(results: list[Any], tmp_path: Path, opened: Any) -> None:
    from wayscore.report import write_page

    write_page(tmp_path / "page.html", results, ws.compare(results))
    page = opened(tmp_path / "page.html").go()
    assert page.evaluate("document.querySelectorAll('img').length") == 0
    text = page.evaluate("document.body.innerText + document.title")
    assert "owned" in text
    assert not FORBIDDEN.search(text.replace("\t", " "))


def test_a_name_that_is_not_text(tmp_path: Path) -> None:
    """A file name may hold any bytes; the page that shows it is text."""
    words = house(tmp_path)
    strange = os.fsdecode(bytes(tmp_path) + b"/\xff\xfe.json")
    os.link(words[0], strange)
    found = wayscore("score", strange, *words[1:], "--html", str(tmp_path / "p.html"))
    assert found.returncode == 0, found.stderr
    assert "\\udcff\\udcfe" in (tmp_path / "p.html").read_text()


def test_in_a_figure(results: list[Any], tmp_path: Path) -> None:
    from wayscore.figures import save
    from wayscore.figures.runs import figure_run_gallery

    save(figure_run_gallery(results[0], count=1), tmp_path / "f.svg")
    assert (tmp_path / "f.svg").stat().st_size
