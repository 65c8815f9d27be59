"""A study behind nginx with TLS, configured as docs/study-server.md says."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.lab.study.web import proxy
from tests.lab.study.web.client import Client, Person
from tests.lab.study.web.servers import ADMIN_SECRET, Server, rows
from wayscore.lab.study.model import Study
from wayscore.lab.study.web.security import HEADERS

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def behind(
    studies: dict[str, tuple[Study, Path]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Server, Path]]:
    """A server behind nginx, and the folder of both."""
    if not proxy.is_there():
        pytest.skip(proxy.MISSING)
    folder = tmp_path_factory.mktemp("proxy")
    with proxy.running(studies["strict"][1], folder) as server:
        yield server, folder


def test_a_rater_answers(behind: tuple[Server, Path]) -> None:
    server, _ = behind
    assert server.links[1].startswith(f"{server.url}/r/")
    person = Person(server, 1)
    person.agree()
    assert person.answer(1, "21345").status == 303
    assert len(rows(server, 1)) == 1
    reply = person.get(f"{person.home}/sets/2")
    for name, value in HEADERS.items():
        assert reply.headers[name.lower()] == value
    assert reply.headers["strict-transport-security"] == "max-age=31536000; includeSubDomains"
    assert reply.headers["server"] == "nginx"  # without its version
    assert "set-cookie" not in reply.headers


def test_plain_http_leads_to_tls(behind: tuple[Server, Path]) -> None:
    server, _ = behind
    with closing(http.client.HTTPConnection("127.0.0.1", server.plain_port, timeout=30)) as connection:
        connection.request("GET", "/admin")
        reply = connection.getresponse()
        assert (reply.status, reply.headers["Location"]) == (301, f"{server.url}/admin")


def test_visitors_are_told_apart(behind: tuple[Server, Path]) -> None:
    """Wrong links from one address do not shut others out; and nobody can choose an address."""
    server, _ = behind
    stranger = Client(server, "127.0.0.2")
    wrong = [stranger.get(f"/r/{number:043}", X_Forwarded_For=f"10.0.0.{number}").status for number in range(60)]
    assert wrong.count(429) > 20
    assert Client(server, "127.0.0.3").get(f"/r/{1:043}").status == 404


def test_large_forms_stop_at_the_proxy(behind: tuple[Server, Path]) -> None:
    server, _ = behind
    assert Client(server).post("/admin/login", {"secret": "x" * 20_000}).status == 413


def test_browsers_accept_the_cookies(behind: tuple[Server, Path], browser: Any) -> None:
    server, _ = behind
    context = browser.new_context(ignore_https_errors=True)
    try:
        page = context.new_page()
        page.goto(f"{server.url}/admin/login")
        page.fill("#secret", ADMIN_SECRET)
        page.click("button.main")
        page.wait_for_url(f"{server.url}/admin")
        cookies = {one["name"]: one for one in context.cookies()}
        assert set(cookies) == {"__Host-wayscore_admin", "__Host-wayscore_visitor"}
        for one in cookies.values():
            assert (one["secure"], one["httpOnly"], one["sameSite"], one["path"]) == (True, True, "Strict", "/")
        page.click("form.logout button")
        page.wait_for_url(f"{server.url}/admin/login")
        assert {one["name"] for one in context.cookies()} == {"__Host-wayscore_visitor"}
    finally:
        context.close()


def test_logs_tell_no_link(behind: tuple[Server, Path]) -> None:
    """Not even when the server behind the proxy is gone; the last test of this server."""
    server, folder = behind
    person = Person(server, 2)
    server.stop()
    assert person.get(person.home).status == 502
    logs = [path for path in folder.iterdir() if path.suffix == ".log"]
    assert {path.name for path in logs} == {"main.log", "study.log"}
    assert not any(server.token(2).encode() in path.read_bytes() for path in logs)
