"""Raters that are programs: they open their link, read the pages and send the forms, like a browser."""

from __future__ import annotations

import asyncio
import html
import http.client
import random
import re
import ssl
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from tests.lab.study.web.servers import Server
from wayscore.lab.study.files import write_study
from wayscore.lab.study.model import Item, Study
from wayscore.lab.study.rankings import Ranking
from wayscore.lab.study.store import Store
from wayscore.lab.study.web.forms import FORM_TYPE, RANK_FIELDS, ranks_of

HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)">')
ONWARD = re.compile(r'<a class="button main" href="([^"]+)">')
CODE = re.compile(r'<p class="code"><code>([^<]+)</code>')
PAUSE = 0.05
"""Seconds before a request that found no server is made again."""


@dataclass
class Tally:
    """What the programs saw.

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
        """The median and the 99th percentile of how long requests took."""
        shown = []
        for kind, found in self.seconds.items():
            ordered = [1000 * seconds for seconds in sorted(found)]
            p50, p99 = (ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in (0.5, 0.99))
            shown.append(f"{kind} p50 {p50:.0f} ms, p99 {p99:.0f} ms")
        return "; ".join(shown)


@cache
def trusted() -> ssl.SSLContext:
    """Whom programs trust: the system's authorities, or those of the variable SSL_CERT_FILE; read once."""
    return ssl.create_default_context()


class Robot:
    """A rater that is a program; a request that got no answer is made again, which is harmless."""

    def __init__(self, link: str, rater: int, tally: Tally, *, patience: float) -> None:
        where = urlsplit(link)
        self.home, self.rater, self.tally, self._patience = where.path, rater, tally, patience
        self._connection = (
            http.client.HTTPSConnection(where.netloc, timeout=patience, context=trusted())
            if where.scheme == "https"
            else http.client.HTTPConnection(where.netloc, timeout=patience)
        )

    def fetch(self, path: str, fields: Mapping[str, str] | None = None) -> tuple[int, str, str]:
        """Get a page or send a form: its status, where it leads, and its text."""
        begun = time.monotonic()
        method, body, kind = ("GET", None, "page") if fields is None else ("POST", urlencode(fields), "answer")
        while True:
            try:
                self._connection.request(method, path, body, {"Content-Type": FORM_TYPE} if body else {})
                response = self._connection.getresponse()
                page = response.read().decode()
                break
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                fresh = isinstance(error, http.client.RemoteDisconnected)  # a server closes what is not used
                if time.monotonic() > begun + self._patience:
                    raise AssertionError(f"no answer to {path}: {error}") from None
                self.tally.again += not fresh
                time.sleep(PAUSE)
        self.tally.seconds[kind].append(time.monotonic() - begun)
        assert response.status in (200, 303), f"rater {self.rater}: {response.status} to {path.rpartition('/')[2]}"
        return response.status, response.getheader("Location", ""), page

    def answer_all(self, items: Sequence[Item], answers: Mapping[str, list[list[int]]], think: float = 0.0) -> None:
        """Answer everything that the link leads to."""
        path = self.home
        while True:
            status, location, page = self.fetch(path)
            here = path.partition("?")[0].removeprefix(self.home)
            if status == 303:
                path = location
            elif here == "/finished":
                self.tally.codes[self.rater] = _found(CODE, page)
                self._connection.close()
                return
            elif here == "/instructions":
                path = _found(ONWARD, page)
            elif here == "/consent":
                path = self.fetch(path, {**_hidden(page), "agree": "yes"})[1]
            else:
                item = items[int(here.removeprefix("/sets/")) - 1]
                ranks = ranks_of(answers[item.set], item.order)
                time.sleep(random.uniform(0, 2 * think))
                chosen = {RANK_FIELDS[letter]: rank for letter, rank in ranks.items()}
                status, path, _ = self.fetch(path.partition("?")[0], {**_hidden(page), **chosen})
                assert status == 303, f"rater {self.rater}: the answer to {item.set} was not accepted"
                self.tally.saved[self.rater, item.set] = answers[item.set]


async def send_all(
    study: Study,
    links: Mapping[int, str],
    rankings: Sequence[Ranking],
    *,
    patience: float = 5.0,
    think: float = 0.0,
    tally: Tally | None = None,
) -> Tally:
    """Let all raters answer at once, each in a thread; `rankings` name a rater by the number at the end."""
    answers: dict[int, dict[str, list[list[int]]]] = {one.rater: {} for one in study.assignments}
    for ranking in rankings:
        answers[int(ranking.rater.rpartition("-")[2])][ranking.set] = ranking.groups
    tally = tally or Tally()
    with ThreadPoolExecutor(len(study.assignments)) as threads:
        loop = asyncio.get_running_loop()
        robots = [Robot(links[one.rater], one.rater, tally, patience=patience) for one in study.assignments]
        work = [
            loop.run_in_executor(threads, robot.answer_all, one.items, answers[one.rater], think)
            for one, robot in zip(study.assignments, robots, strict=True)
        ]
        await asyncio.gather(*work)
    return tally


def rehearse(study: Study, rankings: Sequence[Ranking], folder: Path) -> list[Ranking]:
    """Send rankings through the questionnaire of a server, and return them as it exports them."""
    write_study(folder / "study.json", study)
    server = Server(folder / "study.json", folder, simulated=True)
    try:
        asyncio.run(send_all(study, server.links, rankings))
    finally:
        server.stop()
    store = Store(server.database, study)
    try:
        return store.rankings()
    finally:
        store.close()


def _hidden(page: str) -> dict[str, str]:
    return {name: html.unescape(value) for name, value in HIDDEN.findall(page)}


def _found(pattern: re.Pattern[str], page: str) -> str:
    found = pattern.search(page)
    assert found is not None, "a page does not contain the expected form or link"
    return html.unescape(found[1])
