"""Raters that are programs: they open their link, read the pages and send the forms, like a browser.

A rehearsal of a study uses them, and so do the load tests of the server.
"""

from __future__ import annotations

import asyncio
import html
import random
import re
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import urlencode, urlsplit

from wayscore.errors import WayscoreError
from wayscore.lab.study.model import Item
from wayscore.lab.study.web.forms import FORM_TYPE, rank_field, ranks_of

HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)">')
ONWARD = re.compile(r'<a class="button main" href="([^"]+)">')
CODE = re.compile(r'<p class="code"><code>([^<]+)</code>')
PAUSE = 0.05
"""Seconds before a request that found no server is made again."""


class RobotError(WayscoreError):
    """A page is not what the program expects, or the server does not answer."""


@dataclass(frozen=True)
class Reply:
    """The answer of a server: status, address of a redirect (or empty), and the page."""

    status: int
    location: str
    body: str


@dataclass
class Tally:
    """The results of the programs' work.

    Attributes:
        saved: rater and set of every answer that was confirmed as saved, with its groups.
        seconds: how long each request took, by type: "page" or "answer".
        again: how many requests were repeated because the server was not reachable.
        codes: the completion code of each rater.
    """

    saved: dict[tuple[int, str], list[list[int]]] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=lambda: {"page": [], "answer": []})
    again: int = 0
    codes: dict[int, str] = field(default_factory=dict)

    def times(self) -> str:
        """Return the median and the 99th percentile of how long requests took, as text.

        >>> Tally(seconds={"page": [0.1, 0.2, 0.3], "answer": []}).times()
        'page p50 200 ms, p99 300 ms'
        """
        return "; ".join(
            f"{kind} p50 {_percentile(found, 0.5):.0f} ms, p99 {_percentile(found, 0.99):.0f} ms"
            for kind, found in self.seconds.items()
            if found
        )


class Connection:
    """One connection to a server, opened when it is needed and again when it breaks.

    Args:
        address: host and port.
        patience: seconds for which the server may be unreachable.
        broken: called for each request that is repeated.
        secure: whether to use TLS.
    """

    def __init__(
        self, address: tuple[str, int], *, patience: float, broken: Callable[[], None], secure: bool = False
    ) -> None:
        self._address, self._patience, self._broken = address, patience, broken
        self._context = trusted() if secure else None
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def request(self, path: str, fields: Mapping[str, str] | None = None) -> Reply:
        """Get a page, or send a form; a form that got no answer is sent again, which is harmless."""
        until = time.monotonic() + self._patience
        while True:
            try:
                return await self._request(path, fields)
            except (OSError, EOFError) as error:
                self.close()
                if time.monotonic() > until:
                    raise RobotError(f"no answer from {self._address[0]}:{self._address[1]}: {error}") from None
                self._broken()
                await asyncio.sleep(PAUSE)

    async def _request(self, path: str, fields: Mapping[str, str] | None) -> Reply:
        if self._streams is not None and self._streams[0].at_eof():
            self.close()  # the server closes connections that are not used
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._address, ssl=self._context)
        reader, writer = self._streams
        body = b"" if fields is None else urlencode(fields).encode()
        kind = "" if fields is None else f"Content-Type: {FORM_TYPE}\r\nContent-Length: {len(body)}\r\n"
        verb = "GET" if fields is None else "POST"
        writer.write(f"{verb} {path} HTTP/1.1\r\nHost: {self._address[0]}\r\n{kind}\r\n".encode() + body)
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        page = await reader.readexactly(int(headers.get("content-length", "0")))
        if headers.get("connection") == "close":
            self.close()
        return Reply(int(head[0].split()[1]), headers.get("location", ""), page.decode())

    def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def answer_all(
    link: str,
    rater: int,
    items: Sequence[Item],
    answers: Mapping[str, list[list[int]]],
    *,
    tally: Tally,
    patience: float = 5.0,
    think: float = 0.0,
) -> None:
    """Answer everything that a link leads to.

    Args:
        link: the rater's link.
        rater: the rater's number.
        items: what the rater was assigned, in order.
        answers: set -> groups, best first.
        tally: where results are collected.
        patience: seconds for which the server may be unreachable.
        think: mean seconds before an answer; drawn for each.
    """
    where = urlsplit(link)

    def broken() -> None:
        tally.again += 1

    secure = where.scheme == "https"
    port = where.port or (443 if secure else 80)
    connection = Connection((where.hostname or "", port), patience=patience, broken=broken, secure=secure)

    async def fetch(path: str, fields: Mapping[str, str] | None = None) -> Reply:
        begun = time.monotonic()
        reply = await connection.request(path, fields)
        tally.seconds["page" if fields is None else "answer"].append(time.monotonic() - begun)
        if reply.status not in (200, 303):
            raise RobotError(f"rater {rater}: the server answered {reply.status} to {path.rpartition('/')[2]}")
        return reply

    try:
        path = where.path
        while True:
            reply = await fetch(path)
            page = path.partition("?")[0].removeprefix(where.path)
            if reply.status == 303:
                path = reply.location
            elif page == "/finished":
                tally.codes[rater] = _found(CODE, reply.body)
                return
            elif page == "/instructions":
                path = _found(ONWARD, reply.body)
            elif page == "/consent":
                path = (await fetch(path, {**_hidden(reply.body), "agree": "yes"})).location
            else:
                item = items[int(page.removeprefix("/sets/")) - 1]
                ranks = ranks_of(answers[item.set], item.order)
                chosen = {rank_field(letter): rank for letter, rank in ranks.items()}
                await asyncio.sleep(random.uniform(0, 2 * think))
                sent = await fetch(path.partition("?")[0], {**_hidden(reply.body), **chosen})
                if sent.status != 303:
                    raise RobotError(f"rater {rater}: the answer to {item.set} was not accepted")
                tally.saved[rater, item.set] = answers[item.set]
                path = sent.location
    finally:
        connection.close()


@cache
def trusted() -> ssl.SSLContext:
    """Return whom programs trust: the system's authorities, or those of the variable SSL_CERT_FILE; read once."""
    return ssl.create_default_context()


def _percentile(seconds: Sequence[float], share: float) -> float:
    """Return the milliseconds that this share of requests took at most."""
    found = sorted(seconds)
    return 1000 * found[min(len(found) - 1, int(share * len(found)))]


def _hidden(page: str) -> dict[str, str]:
    """Return the hidden fields of a page's form."""
    return {name: html.unescape(value) for name, value in HIDDEN.findall(page)}


def _found(pattern: re.Pattern[str], page: str) -> str:
    found = pattern.search(page)
    if found is None:
        raise RobotError("a page does not contain the expected form or link")
    return html.unescape(found[1])
