"""Sessions of the administrator: they end at logout, with time and with the secret, and survive a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.study.web.client import Client, signed
from tests.lab.study.web.servers import ADMIN_SECRET, Server, everything
from wayscore.lab.study.model import Study
from wayscore.lab.study.store import Store
from wayscore.lab.study.web.security import Sessions, Signer


def test_a_session_begins_and_ends(store: Store) -> None:
    sessions = Sessions(store, Signer(b"a key"))
    first, second = sessions.begin(60), sessions.begin(60)
    assert first != second
    assert sessions.is_open(first)
    sessions.end(first)
    sessions.end(first)
    assert not sessions.is_open(first)
    assert sessions.is_open(second)
    assert not sessions.is_open("")
    assert not sessions.is_open(second[:-1])


def test_a_session_ends_with_time_and_is_forgotten(store: Store) -> None:
    clock = [1000.0]
    sessions = Sessions(store, Signer(b"a key"), now=lambda: clock[0])
    session = sessions.begin(60)
    clock[0] = 1059.9
    assert sessions.is_open(session)
    clock[0] = 1060.0
    assert not sessions.is_open(session)
    sessions.begin(60)
    clock[0] = 1000.0
    assert not sessions.is_open(session)


def test_a_session_belongs_to_its_secret(store: Store) -> None:
    session = Sessions(store, Signer(b"a key")).begin(60)
    assert Sessions(store, Signer(b"a key")).is_open(session)
    assert not Sessions(store, Signer(b"another key")).is_open(session)


def sign_in(server: Server) -> Client:
    admin = Client(server)
    page = admin.get("/admin/login").text
    assert admin.post("/admin/login", {**signed(page), "secret": ADMIN_SECRET}).status == 303
    assert admin.get("/admin").status == 200
    return admin


def copy_of(admin: Client, server: Server) -> Client:
    """Someone who has the administrator's cookies."""
    made = Client(server)
    made.cookies |= admin.cookies
    return made


@pytest.mark.soak
def test_sessions_on_a_server(studies: dict[str, tuple[Study, Path]], tmp_path: Path) -> None:
    server = Server(studies["strict"][1], tmp_path)
    try:
        admin, other = sign_in(server), sign_in(server)
        thief = copy_of(admin, server)
        assert thief.get("/admin").status == 200
        stored = str(everything(server)["sessions"])
        assert len(everything(server)["sessions"]) == 2
        assert admin.cookies["wayscore_admin"] not in stored  # only a hash
        earlier = copy_of(other, server)
        page = other.get("/admin/login").text
        assert other.post("/admin/login", {**signed(page), "secret": ADMIN_SECRET}).status == 303
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
    finally:
        server.stop()
