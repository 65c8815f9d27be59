"""Serving from the command line: what is printed, what is refused, and from there to exported answers."""

from __future__ import annotations

import re
import socket
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.house import command
from tests.lab.study.web.client import Client, Person, signed
from tests.lab.study.web.servers import LINK, Server, everything
from wayscore.errors import MissingPackageError, OptionError
from wayscore.lab.study import server as serving
from wayscore.lab.study.create import create
from wayscore.lab.study.files import write_study
from wayscore.lab.study.model import Study
from wayscore.lab.study.rankings import read_rankings
from wayscore.lab.study.store import Store, erase


@pytest.fixture(scope="module")
def study() -> Study:
    return create("UC", sets=6, raters=3, each=2, repeats=1, checks=1, seed=3, worlds=2, name="Small")


@pytest.fixture
def file(study: Study, tmp_path: Path) -> Path:
    write_study(tmp_path / "small.json", study)
    return tmp_path / "small.json"


def run(*words: str | Path, status: int = 0) -> str:
    return command("study", *words, status=status).output


def test_serve_and_export(file: Path, study: Study) -> None:
    with Server(file, secret="") as server:
        text = "".join(server.printed)
        links = re.findall(r"rater (\d+): http://127\.0\.0\.1:\d+/r/[\w-]{43}$", text, re.MULTILINE)
        assert links == ["1", "2", "3"]
        assert re.search(r"secret \(valid until this server stops\): [\w-]{32}$", text, re.MULTILINE)
        person = Person(server, 1)
        person.agree()
        assert person.answer(1, "21345").status == 303
        assert person.answer(1, "12345").status == 303
        assert "1 answers" in run("export", file)  # while the server runs
    assert server.printed[-1].startswith("Listening at ")  # and nothing later
    (ranking,) = read_rankings(file.with_name("small-answers.jsonl"), study)
    item = study.assignments[0].items[0]
    assert (ranking.set, ranking.groups) == (item.set, [[query] for query in item.order])
    run("export", file, "--history", "-o", file.with_name("history.jsonl"))
    assert len(file.with_name("history.jsonl").read_text().splitlines()) == 2
    again = Server(file, secret="twelve letters")
    again.stop()
    assert not any("/r/" in line or "secret" in line for line in again.printed)  # links and secrets are shown once


def test_behind_tls_links_cookies_and_headers_say_so(file: Path, tmp_path: Path) -> None:
    with Server(file, tmp_path, url="https://study.example.org") as server:
        assert re.fullmatch(
            r"Listening at http://127\.0\.0\.1:\d+ for https://study\.example\.org;.*\n", server.printed[-1]
        )
        assert not any("/r/" in line for line in server.printed)
        assert (tmp_path / "links.csv").stat().st_mode & 0o777 == 0o600
        rows = (tmp_path / "links.csv").read_text().split()
        assert rows[0] == "rater,link"
        assert re.fullmatch(r"1,https://study\.example\.org/r/[\w-]{43}", rows[1])
        reply = Client(server).get("/admin/login")
        assert reply.headers["strict-transport-security"] == "max-age=31536000; includeSubDomains"
        assert re.fullmatch(
            r"__Host-wayscore_visitor=[\w-]{22}; HttpOnly; Max-Age=43200; Path=/; SameSite=strict; Secure",
            reply.headers["set-cookie"],
        )


def test_a_consent_of_ones_own(file: Path) -> None:
    text = file.with_name("consent.txt")
    text.write_text("Run by <b>us</b>.\nWe are many.\n\n\nWrite to us & ask.\n", encoding="utf-8")
    with Server(file, None, "--consent", text) as server:
        person = Person(server, 1)
        page = person.get(f"{person.home}/consent").text
        assert "<p>Run by &lt;b&gt;us&lt;/b&gt;. We are many.</p>" in page
        assert "<p>Write to us &amp; ask.</p>" in page


def test_mistakes_are_told_in_a_sentence(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_links_that_could_not_be_written_are_made_again(file: Path, tmp_path: Path) -> None:
    """A start that fails after links were drawn leaves none behind that nobody has."""
    links = tmp_path / "links.csv"
    links.touch()
    with pytest.raises(OptionError, match="choose a new file for links"):
        serving.serve(file, port=0, links=links, database=str(tmp_path / "answers.sqlite"))
    links.unlink()
    server = Server(file, tmp_path)
    server.stop()
    assert sorted(server.links) == [1, 2, 3]


def written(path: Path) -> dict[int, str]:
    """The tokens of a file of links."""
    return {int(rater): link.rpartition("/")[2] for rater, link in LINK.findall(path.read_text())}


def test_relink_while_the_server_runs(studies: dict[str, tuple[Study, Path]], tmp_path: Path) -> None:
    study, file = studies["strict"]
    with Server(file, tmp_path) as server:
        call = ("relink", file, "--database", server.database, "--url", server.address)
        first, second = Person(server, 1), Person(server, 2)
        first.agree()
        assert first.answer(1).status == 303
        said = run(*call, "--rater", "1", "--links", tmp_path / "new.csv")
        assert said == f"The links of 1 raters are in {tmp_path / 'new.csv'}; they cannot be shown again.\n"
        assert first.get(first.home).status == 404  # the old link ends
        first.home = f"/r/{written(tmp_path / 'new.csv')[1]}"
        assert first.get(first.home).headers["location"] == f"{first.home}/sets/2"  # the answers stay
        assert second.get(second.home).status == 303
        with closing(Store(server.database, study)) as store:
            erase(store, 3, by="x")
        run(*call, "--all", "--links", tmp_path / "all.csv")
        assert sorted(written(tmp_path / "all.csv")) == [number for number in range(1, 25) if number != 3]
        assert second.get(second.home).status == 404
        second.home = f"/r/{written(tmp_path / 'all.csv')[2]}"
        assert second.get(second.home).status == 303
        assert f"  rater 4: {server.address}/r/" in run(*call, "--rater", "4")
    assert "give --rater N" in run(*call, status=2)
    assert "give --rater N" in run(*call, "--rater", "1", "--all", status=2)
    assert "no rater 99" in run(*call, "--rater", "99", status=2)


def sign_in(server: Server) -> Client:
    admin = Client(server)
    assert admin.sign_in().status == 303
    assert admin.get("/admin").status == 200
    return admin


@pytest.mark.soak
def test_sessions_on_a_server(studies: dict[str, tuple[Study, Path]], tmp_path: Path) -> None:
    with Server(studies["strict"][1], tmp_path) as server:
        admin, other = sign_in(server), sign_in(server)
        thief, earlier = Client(server), Client(server)
        thief.cookies |= admin.cookies
        earlier.cookies |= other.cookies
        assert thief.get("/admin").status == 200
        stored = str(everything(server)["sessions"])
        assert len(everything(server)["sessions"]) == 2
        assert admin.cookies["wayscore_admin"] not in stored  # only a hash
        assert other.sign_in().status == 303
        assert (other.get("/admin").status, earlier.get("/admin").status) == (200, 303)  # a new one ends that before
        server.kill()
        server.start()
        assert admin.get("/admin").status == 200  # sessions survive a restart
        assert admin.post("/admin/logout", signed(admin.get("/admin").text)).status == 303
        assert admin.cookies["wayscore_admin"] in ("", '""')
        assert (thief.get("/admin").status, thief.get("/admin/answers.jsonl").status) == (303, 303)
        assert other.get("/admin").status == 200
        server.stop()
        server.secret = "another secret for tests"
        server.start()
        assert other.get("/admin").status == 303  # and end with the secret
