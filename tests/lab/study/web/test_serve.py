"""Serving from the command line, rehearsing over HTTP, and from there to the analysis."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house import command
from tests.lab.study.web.client import Person, Reply
from tests.lab.study.web.raters import rehearse
from tests.lab.study.web.servers import Server
from wayscore.errors import MissingPackageError, OptionError
from wayscore.lab.study import server as serving
from wayscore.lab.study.analysis import analyze
from wayscore.lab.study.create import create
from wayscore.lab.study.files import write_study
from wayscore.lab.study.model import Study
from wayscore.lab.study.rankings import read_rankings
from wayscore.lab.study.rater_models import simulate

COMMAND = [sys.executable, "-u", "-c", "from wayscore.cli.app import main; main()", "study"]


@pytest.fixture(scope="module")
def study() -> Study:
    return create("UC", sets=6, raters=3, each=2, repeats=1, checks=1, seed=3, worlds=2, name="Small")


@pytest.fixture
def file(study: Study, tmp_path: Path) -> Path:
    write_study(tmp_path / "small.json", study)
    return tmp_path / "small.json"


def invoke(*words: str | Path) -> str:
    return command("study", *words, status=0).output


class Command:
    """`wayscore study serve` as a process, with what it prints until it listens."""

    def __init__(self, *words: str | Path, **environment: str) -> None:
        kept = {name: value for name, value in os.environ.items() if name != serving.SECRET}
        self.process = subprocess.Popen(
            [*COMMAND, "serve", *map(str, words), "--port", "0"],
            env={**kept, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.process.stdout is not None
        self.lines: list[str] = []
        for line in self.process.stdout:
            self.lines.append(line.rstrip())
            if line.startswith("Listening at "):
                break
        else:
            raise AssertionError("\n".join(self.lines))

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        rest, _ = self.process.communicate(timeout=30)
        assert rest == ""
        return self.process.returncode


def test_serve_and_export(file: Path, study: Study) -> None:
    command = Command(file)
    try:
        text = "\n".join(command.lines)
        links = dict(re.findall(r"rater (\d+): (http://127\.0\.0\.1:\d+/r/[\w-]{43})$", text, re.MULTILINE))
        assert list(links) == ["1", "2", "3"]
        assert re.search(r"secret \(valid until this server stops\): [\w-]{32}$", text, re.MULTILINE)
        server = _as_server(links)
        person = Person(server, 1)
        person.agree()
        assert person.answer(1, "21345").status == 303
        assert person.answer(1, "12345").status == 303
        assert "1 answers" in invoke("export", file)  # while the server runs
    finally:
        assert command.stop() == 0
    (ranking,) = read_rankings(file.with_name("small-answers.jsonl"), study)
    item = study.assignments[0].items[0]
    assert (ranking.set, ranking.groups) == (item.set, [[query] for query in item.order])
    invoke("export", file, "--history", "-o", file.with_name("history.jsonl"))
    assert len(file.with_name("history.jsonl").read_text().splitlines()) == 2
    again = Command(file, **{serving.SECRET: "twelve letters"})
    assert not any("/r/" in line or "secret" in line for line in again.lines)  # links and secrets are told once
    assert again.stop() == 0


def _as_server(links: dict[str, str]) -> Server:
    server = Server.__new__(Server)
    server.context = None
    server.port = int(links["1"].split(":")[2].partition("/")[0])
    server.links = {int(rater): link for rater, link in links.items()}
    return server


def test_links_in_a_file(file: Path) -> None:
    links = file.with_name("links.csv")
    command = Command(file, "--links", links, "--url", "https://study.example.org/")
    assert command.stop() == 0
    assert not any("/r/" in line for line in command.lines)
    assert links.stat().st_mode & 0o777 == 0o600
    rows = links.read_text().split()
    assert rows[0] == "rater,link"
    assert re.fullmatch(r"1,https://study\.example\.org/r/[\w-]{43}", rows[1])


def test_a_consent_of_ones_own(file: Path) -> None:
    text = file.with_name("consent.txt")
    text.write_text("Run by <b>us</b>.\nWe are many.\n\n\nWrite to us & ask.\n", encoding="utf-8")
    command = Command(file, "--consent", text)
    try:
        links = dict(re.findall(r"rater (\d+): (\S+)", "\n".join(command.lines)))
        person = Person(_as_server(links), 1)
        page: Reply = person.get(f"{person.home}/consent")
        assert "<p>Run by &lt;b&gt;us&lt;/b&gt;. We are many.</p>" in page.text
        assert "<p>Write to us &amp; ask.</p>" in page.text
    finally:
        command.stop()


def test_behind_tls_cookies_and_headers_say_so(file: Path, tmp_path: Path) -> None:
    command = Command(file, "--links", tmp_path / "links.csv", "--url", "https://study.example.org")
    try:
        server = Server.__new__(Server)
        server.context = None
        found = re.match(r"Listening at http://127\.0\.0\.1:(\d+) for https://study\.example\.org;", command.lines[-1])
        assert found is not None
        server.port = int(found[1])
        server.links = {1: "https://study.example.org/r/x"}
        reply = Person(server, 1).get("/admin/login")
        assert reply.headers["strict-transport-security"] == "max-age=31536000; includeSubDomains"
        cookie = reply.headers["set-cookie"]
        assert re.fullmatch(
            r"__Host-wayscore_visitor=[\w-]{22}; HttpOnly; Max-Age=43200; Path=/; SameSite=strict; Secure", cookie
        )
    finally:
        command.stop()


def test_mistakes_are_told_in_a_sentence(
    file: Path, study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OptionError, match="cannot listen at"):
        serving.serve(file, port=taken.getsockname()[1])
    with pytest.raises(OptionError, match="--port must be a number from 1 to 65535, or 0 for any free port, not 99999"):
        serving.serve(file, port=99999)
    for url in ("study.example.org", "ftp://study.example.org", "https://", "https://example.org/study"):
        with pytest.raises(OptionError, match="must be an address such as https://study"):
            serving.serve(file, port=0, url=url)
    with pytest.raises(OptionError, match=r"cannot be used in links; give .* with --url"):
        serving.serve(file, port=0, host="0.0.0.0")
    with pytest.raises(OptionError, match="cannot read"):
        serving.serve(file, port=0, consent=tmp_path / "none.txt")
    (tmp_path / "empty.txt").write_text("\n\n")
    with pytest.raises(OptionError, match="is empty"):
        serving.serve(file, port=0, consent=tmp_path / "empty.txt")
    (tmp_path / "links.csv").touch()
    with pytest.raises(OptionError, match="choose a new file for links"):
        serving.serve(file, port=0, links=tmp_path / "links.csv")
    monkeypatch.setenv(serving.SECRET, "short")
    with pytest.raises(OptionError, match="must have 12 characters or more, not 5"):
        serving.serve(file, port=0)
    command("study", "export", tmp_path / "small.json", "--database", "none.sqlite", status=2)


def test_packages_that_are_missing(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("uvicorn", "sqlalchemy", "jinja2", "starlette"):
        with monkeypatch.context() as without:
            without.setitem(sys.modules, name, None)
            with pytest.raises(MissingPackageError, match=rf"needs {name}, .* pip install 'wayscore\[study\]'"):
                serving.serve(file, port=0)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingPackageError, match=r"PostgreSQL needs psycopg, .*'wayscore\[postgres\]'"):
        serving.serve(file, port=0, database="postgresql://study@127.0.0.1/study")


def test_links_that_could_not_be_written_are_made_again(file: Path) -> None:
    """A start that fails after links were drawn leaves none behind that nobody has."""
    links = file.with_name("links.csv")
    links.touch()
    with pytest.raises(OptionError):
        serving.serve(file, port=0, links=links)
    links.unlink()
    command = Command(file, "--links", links)
    assert command.stop() == 0
    assert len(links.read_text().split()) == 4


@pytest.mark.soak
def test_a_rehearsal_gives_the_same_analysis(study: Study, tmp_path: Path) -> None:
    """From the design over the pages, forms and export to Table 1: as if the answers had not been sent over HTTP."""
    drawn = simulate(study, seed=7)
    sent = rehearse(study, drawn, tmp_path)
    assert all(one.simulated and one.at for one in sent)
    results = [json.dumps(analyze(study, found, resamples=200).to_dict()) for found in (drawn, sent)]
    assert results[0] == results[1]
