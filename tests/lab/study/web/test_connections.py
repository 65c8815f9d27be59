"""Connections that never finish what they send: they end or make room, and raters are served meanwhile."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
import uvicorn

from tests.lab.study.web.load import make_study
from tests.lab.study.web.slow import BEGINNING, answer_meanwhile
from wayscore.lab.study.model import Study
from wayscore.lab.study.serve import configure, listen
from wayscore.lab.study.store import Store
from wayscore.lab.study.web import connections
from wayscore.lab.study.web.connections import most_connections
from wayscore.lab.study.web.log import Sparing
from wayscore.lab.study.web.security import Limiter
from wayscore.lab.study.web.site import Site

pytestmark = pytest.mark.soak
WHOLE = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
Open = Callable[[bytes], socket.socket]


@pytest.fixture
def open_one(small: Study, tmp_path: Path) -> Iterator[Open]:
    """Open connections to a server in this process, and send something over each."""
    with ExitStack() as stack:
        store = stack.enter_context(closing(Store(str(tmp_path / "answers.sqlite"), small)))
        listening = stack.enter_context(listen("127.0.0.1", 0))
        port = listening.getsockname()[1]
        server = uvicorn.Server(configure(Site(small, store, secret="a secret", url=f"http://127.0.0.1:{port}")))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)

        def open_one(sent: bytes) -> socket.socket:
            made = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            made.sendall(sent)
            return made

        yield open_one
        server.should_exit = True
        thread.join()


def answer(connection: socket.socket) -> bytes:
    """The status line that comes, or nothing if the server closes the connection."""
    try:
        return connection.recv(65536).partition(b"\r\n")[0]
    except ConnectionError:
        return b""


def ends(connection: socket.socket, sent: Iterable[bytes], pause: float) -> bool:
    """Whether the server ends a connection while something is sent over it."""
    try:
        for piece in sent:
            connection.sendall(piece)
            time.sleep(pause)
    except ConnectionError:
        return True
    return False


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Visitors have half a second for whatever they do."""
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.5)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("sent", [b"", b"GET", BEGINNING])
def test_half_a_header_is_not_waited_for(open_one: Open, sent: bytes) -> None:
    assert answer(open_one(sent)) == b""
    assert answer(open_one(WHOLE)) == b"HTTP/1.1 200 OK"


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize(
    "sent", [BEGINNING, b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 999999\r\n\r\n"], ids=["header", "body"]
)
def test_drops_do_not_keep_a_connection_open(open_one: Open, sent: bytes) -> None:
    """Neither in a second request, nor in a form that no page reads."""
    connection = open_one(WHOLE)
    assert answer(connection) == b"HTTP/1.1 200 OK"
    assert ends(connection, [bytes([byte]) for byte in sent] + [b"X"] * 1000, pause=0.05)


@pytest.mark.usefixtures("soon")
def test_a_page_that_is_not_read(open_one: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "RESPONSE_SECONDS", 0.5)
    file = b"GET /static/vendor/sortable.min.js HTTP/1.1\r\nHost: x\r\n\r\n"
    assert ends(open_one(b""), [file] * 10_000, pause=0.001)


def test_whoever_waited_longest_makes_room(
    small: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(connections, "most_connections", lambda: 5)
    open_one: Open = request.getfixturevalue("open_one")
    held = [open_one(BEGINNING) for _ in range(5)]
    assert answer(open_one(WHOLE)) == b"HTTP/1.1 200 OK"
    assert answer(held[0]) == b""
    held[1].sendall(b"\r\n")  # the others can still finish
    assert answer(held[1]) == b"HTTP/1.1 200 OK"


def test_files_are_left_for_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource", reason="Windows has no such limits")
    for files, most in ((1024, 768), (1_000_000, 1000), (resource.RLIM_INFINITY, 1000), (64, 16)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, files=files: (files, files))
        assert most_connections() == most


def test_raters_answer_while_connections_are_held(tmp_path: Path) -> None:
    """More connections than the server's process may have files open."""
    found = answer_meanwhile(make_study(5, 4), tmp_path, connections=1500)
    assert (found.saved, found.ended) == (20, "")
    assert found.log < 10_000


def test_the_log_is_sparing() -> None:
    clock = [0.0]
    sparing = Sparing(Limiter(burst=2, rate=1, now=lambda: clock[0]))

    def written(text: str) -> str | None:
        record = logging.LogRecord("x", logging.WARNING, "", 0, "%s", (text,), None)
        return record.getMessage() if sparing.filter(record) else None

    assert [written(text) for text in "abcde"] == ["a", "b", None, None, None]
    clock[0] = 1.0
    assert [written("f"), written("g")] == ["f (before it, 3 messages were left out)", None]
    clock[0] = 9.0
    assert [written("h"), written("i")] == ["h (before it, 1 messages were left out)", "i"]
