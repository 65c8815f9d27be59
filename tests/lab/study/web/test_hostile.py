"""Visitors who mean harm: whatever they send is refused, and nothing changes."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from tests.lab.study.web.client import Client, Person, Reply, ranks, signed
from tests.lab.study.web.conftest import Served
from tests.lab.study.web.servers import ADMIN_SECRET, Server, everything, rows
from wayscore.lab.study.create import create
from wayscore.lab.study.files import write_study
from wayscore.lab.study.web.forms import FORM_TYPE, MOST_BYTES
from wayscore.lab.study.web.security import FORM_AGE, HEADERS, Signer

SCRIPT = "<script>alert(1)</script>"
SQL = "1'; DROP TABLE answers; --"
PAYLOADS = (SCRIPT, SQL, '" onmouseover="alert(1)', "{{ 7 * 7 }}", "\x00", "../../etc/passwd", "9" * 3000)


@pytest.fixture(scope="module")
def served(crowd: Served) -> Served:
    return crowd


@pytest.fixture
def person(served: Served) -> Person:
    """A rater who agreed to take part, and answered the first of three sets."""
    made = Person(served.server, served.fresh())
    made.agree()
    assert made.answer(1).status == 303
    return made


@pytest.fixture
def unchanged(served: Served, person: Person) -> Iterator[None]:
    """Whatever the test does, the database stays as it was."""
    before = everything(served.server)
    yield
    assert everything(served.server) == before


@pytest.fixture
def admin(served: Served) -> Client:
    """An administrator who signed in."""
    made = Client(served.server)
    assert made.sign_in().status == 303
    return made


def key_of(server: Server) -> bytes:
    """The key that a server signs with, which nobody outside has: here to make forms of other times."""
    with closing(sqlite3.connect(server.database)) as database:
        return bytes.fromhex(database.execute("SELECT value FROM facts WHERE name = 'key'").fetchone()[0])


def test_what_is_allowed_is_allowed(served: Served, person: Person) -> None:
    """The control of all tests below: the same requests, unspoilt, are accepted."""
    assert person.answer(2, "21345").status == 303
    assert len(rows(served.server, person.rater)) == 2


# Links


TOKENS = ("A" * 43, "A" * 42, "A" * 44, "", "..", "%00", "%2e%2e", "' OR 1=1 --", SCRIPT, "é" * 20, "_" * 250, "٣" * 43)


@pytest.mark.parametrize("number", range(len(TOKENS)))
@pytest.mark.usefixtures("unchanged")
def test_forged_links(served: Served, person: Person, number: int) -> None:
    stranger = Client(served.server, f"127.0.2.{number + 1}")
    home = f"/r/{quote(TOKENS[number], safe='%')}"
    for path in ("", "/consent", "/sets/2", "/finished"):
        assert stranger.get(home + path).status == 404
    assert stranger.post(f"{home}/sets/2", {**person.form(2), **ranks()}).status == 404


def test_a_replaced_link_is_void(served: Served, person: Person, admin: Client) -> None:
    form = person.form(2)
    reply = admin.post("/admin/link", {**_link_form(admin), "rater": str(person.rater)})
    assert reply.status == 200
    before = everything(served.server)
    assert person.get(person.home).status == 404
    assert person.post(f"{person.home}/sets/2", {**form, **ranks()}).status == 404
    assert everything(served.server) == before


@pytest.mark.usefixtures("unchanged")
def test_links_of_another_study(served: Served, person: Person, ties: Served) -> None:
    assert Client(served.server).get(f"/r/{ties.server.token(1)}").status == 404
    foreign = Person(ties.server, ties.fresh())
    foreign.agree()
    reply = person.post(f"{person.home}/sets/2", {**foreign.form(1), **ranks()})
    assert reply.status == 403


def test_links_are_kept_as_hashes(served: Served) -> None:
    content = b"".join(path.read_bytes() for path in Path(served.server.database).parent.glob("answers.sqlite*"))
    assert b"CREATE TABLE" in content
    assert not any(served.server.token(rater).encode() in content for rater in served.server.links)
    assert Path(served.server.database).stat().st_mode & 0o077 == 0


# Forms


def _tampered(form: dict[str, str]) -> dict[str, str]:
    nonce, _, issued = form["form"].partition(".")
    return {**form, "form": f"{nonce}.{int(issued) - 60_000}"}


SPOILT: tuple[Callable[[dict[str, str]], dict[str, str]], ...] = (
    lambda form: {},
    lambda form: {"form": form["form"]},
    lambda form: {"csrf": form["csrf"]},
    lambda form: {**form, "csrf": form["csrf"][:-1]},
    lambda form: {**form, "csrf": form["csrf"][::-1]},
    lambda form: {**form, "csrf": "é"},
    lambda form: {**form, "form": form["form"] + "0"},
    _tampered,
)


@pytest.mark.parametrize("spoil", SPOILT)
@pytest.mark.usefixtures("unchanged")
def test_forged_forms(person: Person, spoil: Callable[[dict[str, str]], dict[str, str]]) -> None:
    reply = person.post(f"{person.home}/sets/2", {**spoil(person.form(2)), **ranks()})
    assert reply.status == 403


def test_forms_of_others(served: Served, person: Person) -> None:
    other = Person(served.server, served.fresh())
    other.agree()
    other.answer(1)
    before = everything(served.server)
    assert person.post(f"{person.home}/sets/2", {**other.form(2), **ranks()}).status == 403
    assert person.post(f"{person.home}/sets/2", {**person.form(1), **ranks()}).status == 403
    consent = signed(person.get(f"{person.home}/consent").text)
    assert person.post(f"{person.home}/sets/2", {**consent, **ranks()}).status == 403
    assert everything(served.server) == before


@pytest.mark.usefixtures("unchanged")
def test_stale_forms(served: Served, person: Person) -> None:
    """A form of the day before yesterday is shown again, with the order that was sent and a form of today."""
    name = served.items(person.rater)[1].set
    old = Signer(key_of(served.server), now=lambda: time.time() - 2 * FORM_AGE)
    sent = {**old.form("answer", str(person.rater), name), **ranks("54321")}
    reply = person.post(f"{person.home}/sets/2", sent)
    assert reply.status == 422
    assert "open for more than a day" in reply.text
    assert reply.text.index('data-letter="E"') < reply.text.index('data-letter="A"')
    assert signed(reply.text)["form"] != sent["form"]


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.usefixtures("unchanged")
def test_forms_sent_by_other_sites(person: Person, site: str) -> None:
    sent = {**person.form(2), **ranks()}
    assert person.post(f"{person.home}/sets/2", sent, Sec_Fetch_Site=site).status == 403


def test_a_form_is_good_once(served: Served, person: Person) -> None:
    form = person.form(2)
    first = person.post(f"{person.home}/sets/2", {**form, **ranks("21345")})
    before = everything(served.server)
    again = person.post(f"{person.home}/sets/2", {**form, **ranks("21345")})
    assert (first.status, again.status) == (303, 303)
    other = person.post(f"{person.home}/sets/2", {**form, **ranks("54321")})
    assert other.status == 409
    assert "An order was already saved from this page" in other.text
    assert everything(served.server) == before


def test_nobody_answers_before_agreeing(served: Served, person: Person) -> None:
    new = Person(served.server, served.fresh())
    before = everything(served.server)
    assert new.get(f"{new.home}/sets/1").headers["location"] == f"{new.home}/consent"
    item = served.items(new.rater)[0]
    form = Signer(key_of(served.server)).form("answer", str(new.rater), item.set)
    reply = new.post(f"{new.home}/sets/1", {**form, **ranks()})
    assert (reply.status, reply.headers["location"]) == (303, f"{new.home}/consent")
    page = new.get(f"{new.home}/consent").text
    for agree in ({}, {"agree": ""}, {"agree": "no"}, {"agree": SCRIPT}):
        assert new.post(f"{new.home}/consent", {**signed(page), **agree}).status == 422
    assert new.post(f"{new.home}/consent", {"agree": "yes"}).status == 403
    assert everything(served.server) == before


@pytest.mark.usefixtures("unchanged")
def test_nobody_runs_ahead(served: Served, person: Person) -> None:
    name = served.items(person.rater)[2].set
    form = Signer(key_of(served.server)).form("answer", str(person.rater), name)
    reply = person.post(f"{person.home}/sets/3", {**form, **ranks()})
    assert (reply.status, reply.headers["location"]) == (303, f"{person.home}/sets/2")
    assert person.get(f"{person.home}/finished").headers["location"] == f"{person.home}/sets/2"


@pytest.mark.parametrize("number", ["0", "4", "-1", "99999999999999999999999", "1.0", "1e0", "one", "%31'", "٢"])
@pytest.mark.usefixtures("unchanged")
def test_sets_that_there_are_not(person: Person, number: str) -> None:
    path = f"{person.home}/sets/{quote(number, safe='%')}"
    assert person.get(path).status == 404
    assert person.post(path, {**person.form(2), **ranks()}).status == 404


# Orders


@pytest.mark.parametrize("last", ["", "0", "4", "6", "-1", "5.0", " 5", "٥", "nan", "1" * 1000])
@pytest.mark.usefixtures("unchanged")
def test_orders_that_are_none(person: Person, last: str) -> None:
    reply = person.post(f"{person.home}/sets/2", {**person.form(2), **ranks("12345"), "rank-E": last})
    assert reply.status == 422
    assert 'role="alert"' in reply.text


@pytest.mark.parametrize("field", ["rank-A", "rank-E", "seconds", "form", "csrf"])
@pytest.mark.parametrize("payload", PAYLOADS)
def test_words_in_fields_are_only_words(served: Served, person: Person, field: str, payload: str) -> None:
    before = everything(served.server)
    reply = person.answer(2, **{field: payload})
    assert payload not in reply.text
    if field == "seconds":  # the only one that may be nonsense: the server's own clock counts instead
        assert reply.status == 303
        assert rows(served.server, person.rater)[1][0] == served.items(person.rater)[1].set
        with closing(sqlite3.connect(served.server.database)) as database:
            row = database.execute("SELECT seconds FROM answers WHERE rater = ? ORDER BY id", (person.rater,))
            assert 0 <= row.fetchall()[1][0] < 60
    else:
        assert reply.status in (403, 422)
        assert everything(served.server) == before


@pytest.mark.parametrize("payload", [SCRIPT, SQL, "1e9", "0", "7", "9" * 60])
@pytest.mark.usefixtures("unchanged")
def test_words_in_the_address_are_only_words(person: Person, payload: str) -> None:
    reply = person.get(f"{person.home}/sets/2?saved={quote(payload)}&x={quote(payload)}")
    assert reply.status == 200
    assert "is saved" not in reply.text
    assert payload == "0" or payload == "7" or payload not in reply.text


@pytest.mark.usefixtures("unchanged")
def test_more_than_a_form_has(person: Person) -> None:
    form = list({**person.form(2), **ranks()}.items())
    address = f"{person.home}/sets/2"
    assert person.post(address, [*form, ("rank-A", "1")]).status == 400
    assert person.post(address, [*form, ("rater", "1")]).status == 400
    assert person.post(address, [*form, *(("rank-A", "1") for _ in range(200))]).status == 400
    assert person.post(address, [*form, ("groups", "[[0],[1],[2],[3],[4]]")]).status == 400


@pytest.mark.usefixtures("unchanged")
@pytest.mark.soak
def test_huge_forms(person: Person) -> None:
    address = f"{person.home}/sets/2"
    assert person.post(address, {**person.form(2), **ranks(), "seconds": "1" * MOST_BYTES}).status == 413
    head = f"POST {address} HTTP/1.1\r\nHost: x\r\nContent-Type: {FORM_TYPE}\r\n"
    declared = person.raw(f"{head}Content-Length: 99999999999\r\n\r\nrank-A=1".encode())
    assert declared.startswith(b"HTTP/1.1 413 ")
    pieces = b"".join(b"400\r\n" + b"1" * 1024 + b"\r\n" for _ in range(2000)) + b"0\r\n\r\n"
    streamed = person.raw(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + pieces)
    assert streamed.startswith(b"HTTP/1.1 413 ") or streamed == b""  # the server may close before all is sent
    assert person.get(person.home).status == 303  # and goes on


@pytest.mark.parametrize("kind", ["application/json", "multipart/form-data; boundary=x", "text/plain", ""])
@pytest.mark.usefixtures("unchanged")
def test_forms_of_another_kind(person: Person, kind: str) -> None:
    assert person.post(f"{person.home}/sets/2", {**person.form(2), **ranks()}, Content_Type=kind).status == 415


@pytest.mark.parametrize("body", [b"\xff\xfe", b"rank-A=%ff", b"rank-A", b"&&&&", b"=1", b"a=1;b=2", b"%", b"\x00"])
@pytest.mark.usefixtures("unchanged")
def test_bodies_that_are_no_forms(person: Person, body: bytes) -> None:
    assert person.send("POST", f"{person.home}/sets/2", body, Content_Type=FORM_TYPE).status in (400, 403)


# Addresses and methods


OUTSIDE = (
    "/static/../site.py /static/../../store.py /static/%2e%2e/site.py /static/..%2fsite.py "
    "/static/%2e%2e%2f%2e%2e%2fstore.py /static/..\\site.py /static//etc/passwd /static/%2fetc%2fpasswd "
    "/static/vendor/../../templates/admin.html /static/study.css%00.html /static/ /static "
    "/../../../../etc/passwd //etc/passwd /templates/admin.html /answers.sqlite /admin/../admin/answers.jsonl/ "
    "/.git/config /too-long/../admin"
).split()


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.usefixtures("unchanged")
def test_no_way_out_of_the_site(served: Served, person: Person, path: str) -> None:
    reply = person.raw(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    assert reply.startswith(b"HTTP/1.1 404 "), reply[:200]
    assert b"root:" not in reply
    assert b"import" not in reply


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY"])
@pytest.mark.usefixtures("unchanged")
def test_wrong_methods(served: Served, person: Person, method: str) -> None:
    gets = ["/", person.home, *(f"{person.home}/{page}" for page in ("instructions", "pause", "finished"))]
    gets += ["/admin", "/admin/answers.jsonl", "/static/study.css"]
    posts = ["/admin/logout", "/admin/link"]
    both = [f"{person.home}/consent", f"{person.home}/sets/2", "/admin/login"]
    refused = gets if method == "POST" else [*gets, *posts, *both]
    for path in refused:
        assert person.send(method, path, b"").status == 405, path
    for path in posts:
        assert person.get(path).status == 405


@pytest.mark.usefixtures("unchanged")
def test_endless_addresses_and_headers(person: Person) -> None:
    assert person.get("/" + "a" * 400).status == 414
    assert person.get(f"{person.home}/sets/2?saved=" + "1" * 400).status == 414
    assert person.post("/" + "a" * 400, {}).status == 414
    assert b" 200 " not in person.raw(b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 200_000 + b"\r\n\r\n")[:20]
    assert person.get(person.home).status == 303


@pytest.mark.parametrize(
    "content",
    [
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /admin",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"GET / HTTP/1.1\r\nHost: x\r\nBad Header: y\r\n\r\n",
    ],
)
@pytest.mark.usefixtures("unchanged")
def test_what_is_no_http(person: Person, content: bytes) -> None:
    assert b"HTTP/1.1 200" not in person.raw(content)
    assert person.get(person.home).status == 303


# The administrator


def _link_form(admin: Client) -> dict[str, str]:
    """The hidden fields of the form that makes links; the form to sign out comes before it."""
    return signed(admin.get("/admin").text.partition('action="/admin/link"')[2])


@pytest.mark.parametrize("cookie", ["", "x", "a.b.c", "a.99999999999.c", "é.1.2", "." * 50])
@pytest.mark.usefixtures("unchanged")
def test_nobody_else_is_the_administrator(served: Served, person: Person, cookie: str) -> None:
    stranger = Client(served.server)
    headers = {"Cookie": f"wayscore_admin={quote(cookie)}"} if cookie else {}
    for path in ("/admin", "/admin/answers.jsonl"):
        reply = stranger.get(path, **headers)
        assert (reply.status, reply.headers["location"]) == (303, "/admin/login")
        assert reply.text == ""
    for path in ("/admin/link", "/admin/logout"):
        assert stranger.post(path, person.form(2), **headers).status == 403


def test_links_for_nobody(served: Served, admin: Client) -> None:
    before, form = everything(served.server), _link_form(admin)  # its page is slow
    for rater in ("0", "-1", "9999", "1 OR 1=1", SCRIPT, SQL, "", "1.0", "١", "9" * 400):
        reply = admin.post("/admin/link", {**form, "rater": rater})
        assert reply.status == 404, rater
        assert SCRIPT not in reply.text
    assert everything(served.server) == before


def test_the_administrators_forms_are_signed(served: Served, admin: Client, person: Person) -> None:
    other = Client(served.server)
    other.sign_in()
    before = everything(served.server)
    logout = signed(admin.get("/admin").text)
    for form in ({}, logout, person.form(2)):
        assert admin.post("/admin/link", {**form, "rater": "1"}).status == 403
    assert admin.post("/admin/link", {**_link_form(admin), "rater": "1"}, Sec_Fetch_Site="cross-site").status == 403
    assert other.post("/admin/link", {**_link_form(admin), "rater": "1"}).status == 403  # another session's form
    assert everything(served.server) == before


@pytest.mark.parametrize("secret", ["", SCRIPT, SQL, ADMIN_SECRET[:-1], ADMIN_SECRET + " ", "é", "\x00"])
def test_wrong_secrets(served: Served, secret: str) -> None:
    stranger = Client(served.server, f"127.0.1.{len(secret) + 1}")
    reply = stranger.sign_in(secret)
    assert reply.status == 403
    assert "wayscore_admin" not in stranger.cookies
    assert not secret or secret not in reply.text


def test_secrets_are_not_guessed_by_trying(served: Served) -> None:
    stranger = Client(served.server, "127.0.0.3")
    found = []
    for number in range(8):
        page = stranger.get("/admin/login").text
        found.append(stranger.post("/admin/login", {**signed(page), "secret": f"guess {number}"}).status)
    assert found == [403] * 5 + [429] * 3
    assert stranger.sign_in().status == 429
    assert stranger.post("/admin/login", {"secret": ADMIN_SECRET}).status == 403  # and never without a form


# Rates


def test_nobody_sends_faster_than_people_can(served: Served) -> None:
    hasty, other = Person(served.server, served.fresh()), Person(served.server, served.fresh())
    found = [hasty.get(hasty.home) for _ in range(150)]
    refused = [reply for reply in found if reply.status == 429]
    assert found[0].status == 303
    assert len(refused) > 20
    assert refused[0].headers["retry-after"] == "30"
    assert other.get(other.home).status == 303


def test_links_are_not_guessed_by_trying(served: Served) -> None:
    stranger = Client(served.server, "127.0.0.2")
    found = [stranger.get(f"/r/{number:043}").status for number in range(60)]
    assert found[0] == 404
    assert found.count(429) > 20
    known = Person(served.server, served.fresh())  # whoever has a link is served, even from the same address
    assert stranger.get(known.home).status == 303


# Headers


def test_every_response_has_the_headers_of_safety(served: Served, person: Person, admin: Client) -> None:
    replies: list[tuple[str, Reply]] = [(path, person.get(path)) for path in ("/", "/nowhere", "/static/study.css")]
    pages = ("", "/consent", "/instructions", "/sets/1", "/sets/2", "/sets/9", "/pause", "/finished")
    replies += [(page, person.get(person.home + page)) for page in pages]
    replies += [(path, admin.get(path)) for path in ("/admin", "/admin/login", "/admin/answers.jsonl", "/admin/link")]
    replies.append(("/sets/2", person.post(f"{person.home}/sets/2", {})))
    replies.append(("long", person.get("/" + "a" * 400)))
    for path, reply in replies:
        for name, value in HEADERS.items():
            assert reply.headers.get(name.lower()) == value, (path, name)
        assert reply.headers["cache-control"] == (
            "public, max-age=86400" if path.startswith("/static") else "no-store"
        ), path
        assert "server" not in reply.headers
        assert "unsafe" not in reply.headers["content-security-policy"]
        if not path.startswith("/admin"):
            assert "set-cookie" not in reply.headers
        assert "<script>" not in reply.text
        assert " style=" not in reply.text
        assert "access-control-allow-origin" not in reply.headers
    login = Client(served.server).get("/admin/login").headers["set-cookie"]
    assert "HttpOnly" in login
    assert "SameSite=strict" in login


# Studies


def test_words_of_a_study_are_only_words(tmp_path: Path) -> None:
    """Names of studies, scenes, nodes and sets, and the question, come from files that others wrote."""
    study = create("UC", sets=2, raters=1, seed=1, worlds=1, ties=True)
    evil = f"{SCRIPT}\"'><img src=x onerror=alert(2)>{{{{ 7*7 }}}}{{% raw %}}"
    content: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(study))

    def spoilt(node: str) -> str:
        return node + evil

    content["name"] = content["question"] = content["how"]["options"]["name"] = evil
    content["scenes"] = {
        spoilt(name): {**scene, "positions": {spoilt(node): place for node, place in scene["positions"].items()}}
        for name, scene in content["scenes"].items()
    }
    for one in content["sets"]:
        one["name"], one["scene"] = spoilt(one["name"]), spoilt(one["scene"])
        one["reference"] = [spoilt(node) for node in one["reference"]]
        one["queries"] = [[spoilt(node) for node in query] for query in one["queries"]]
    for item in content["assignments"][0]["items"]:
        item["set"] = spoilt(item["set"])
    write_study(tmp_path / "study.json", msgspec.convert(content, type(study)))
    with Server(tmp_path / "study.json", tmp_path) as server:
        person = Person(server, 1)
        pages = [person.get("/").text, person.get(f"{person.home}/consent").text, person.get("/nowhere").text]
        person.agree()
        pages += [person.get(f"{person.home}/{page}").text for page in ("instructions", "sets/1", "pause")]
        assert person.answer(1, "11223").status == 303
        assert person.answer(2, "54321").status == 303
        pages.append(person.get(f"{person.home}/finished").text)
        admin = Client(server)
        assert admin.sign_in().status == 303
        pages.append(admin.get("/admin").text)
        for page in pages:
            assert SCRIPT not in page
            assert "<img" not in page
            assert "&lt;script&gt;" in page
        export = admin.get("/admin/answers.jsonl")
        assert export.headers["content-disposition"].isascii()
        assert [name for name, _ in rows(server, 1)] == [item["set"] for item in content["assignments"][0]["items"]]
