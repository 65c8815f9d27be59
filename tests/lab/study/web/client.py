"""A visitor who sends whatever it likes: raw requests, with nothing done for it."""

from __future__ import annotations

import http.client
import re
import socket
from dataclasses import dataclass
from urllib.parse import urlencode

from tests.lab.study.web.servers import ADMIN_SECRET, Server
from wayscore.lab.study.web.forms import FORM_TYPE, LETTERS

HIDDEN = re.compile(r'name="(form|csrf)" value="([^"]*)"')


@dataclass(frozen=True)
class Reply:
    """A response: its status, its headers in small letters, its text."""

    status: int
    headers: dict[str, str]
    text: str


class Client:
    """Requests to a server, from an address of the loopback of the caller's choice."""

    def __init__(self, server: Server, source: str = "127.0.0.1") -> None:
        self._server, self._source = server, source
        self.cookies: dict[str, str] = {}

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Reply:
        """Send a request; underscores in the names of headers stand for hyphens."""
        connection = self._connection()
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookies:
            given["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        try:
            connection.request(method, path, body, given)
            response = connection.getresponse()
            text = response.read().decode()
            for name, value in response.getheaders():
                if name.lower() == "set-cookie":
                    key, _, rest = value.partition("=")
                    self.cookies[key] = rest.partition(";")[0]
            return Reply(response.status, {name.lower(): value for name, value in response.getheaders()}, text)
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        """A connection to the server, or to the proxy in front of it."""
        source = (self._source, 0)
        if self._server.context is None:
            return http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=30, source_address=source)
        host, _, port = self._server.url.rpartition("/")[2].partition(":")
        return http.client.HTTPSConnection(
            host, int(port), timeout=30, source_address=source, context=self._server.context
        )

    def get(self, path: str, **headers: str) -> Reply:
        return self.send("GET", path, **headers)

    def post(self, path: str, fields: dict[str, str] | list[tuple[str, str]], **headers: str) -> Reply:
        return self.send("POST", path, urlencode(fields).encode(), **{"Content_Type": FORM_TYPE, **headers})

    def sign_in(self, secret: str = ADMIN_SECRET) -> Reply:
        """Send the administrator's secret with the form of the page."""
        return self.post("/admin/login", {**signed(self.get("/admin/login").text), "secret": secret})

    def raw(self, content: bytes) -> bytes:
        """Send bytes, and return what comes back until the server closes or waits."""
        with socket.create_connection(("127.0.0.1", self._server.port), timeout=3) as connection:
            found = b""
            try:
                connection.sendall(content)
                while piece := connection.recv(65536):
                    found += piece
            except (TimeoutError, ConnectionError):
                pass
            return found


def signed(page: str) -> dict[str, str]:
    """The hidden fields of a page's first form."""
    return dict(HIDDEN.findall(page)[:2])


def ranks(chosen: str = "12345") -> dict[str, str]:
    """A rank for each picture."""
    return {f"rank-{letter}": rank for letter, rank in zip(LETTERS, chosen, strict=True)}


class Person(Client):
    """A rater with a link."""

    def __init__(self, server: Server, rater: int) -> None:
        super().__init__(server)
        self.rater = rater
        self.home = f"/r/{server.token(rater)}"

    def agree(self) -> None:
        """Agree to take part."""
        page = self.get(f"{self.home}/consent").text
        assert self.post(f"{self.home}/consent", {**signed(page), "agree": "yes"}).status == 303

    def form(self, number: int = 1) -> dict[str, str]:
        """The hidden fields of the form of a set."""
        reply = self.get(f"{self.home}/sets/{number}")
        assert reply.status == 200
        return signed(reply.text)

    def answer(self, number: int = 1, chosen: str = "12345", **fields: str) -> Reply:
        """Send an order, with the form of the page or what is given instead of it."""
        sent = {**self.form(number), **ranks(chosen), **fields}
        return self.post(f"{self.home}/sets/{number}", sent)
