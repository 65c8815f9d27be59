"""Raters that are programs: many at once, and a server that is killed amid their answers; what it saved must be there.

python -m tests.lab.study.web.load --raters 200 --sets 50 --kills 10
"""

from __future__ import annotations

import argparse
import contextlib
import html
import http.client
import random
import re
import ssl
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from tests.lab.study.web import postgres, proxy
from tests.lab.study.web.servers import Server
from wayscore.lab.study.create import create
from wayscore.lab.study.files import write_study
from wayscore.lab.study.model import Item, Study
from wayscore.lab.study.rankings import Ranking
from wayscore.lab.study.rater_models import simulate
from wayscore.lab.study.store import Store
from wayscore.lab.study.web.forms import FORM_TYPE, RANK_FIELDS, ranks_of

HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)">')
ONWARD = re.compile(r'<a class="button main" href="([^"]+)">')
CODE = re.compile(r'<p class="code"><code>([^<]+)</code>')
PAUSE = 0.05
"""Seconds before a request that found no server is made again."""
PATIENCE = 600.0
"""Seconds for which raters send a request again: on a busy machine, many kills follow before all are served."""
Groups = list[list[int]]


@dataclass
class Tally:
    """What the programs saw, and what the database has."""

    expected: int = 0  # how many answers were to be given
    saved: dict[tuple[int, str], Groups] = field(default_factory=dict)  # the answers that a page said were saved
    lost: int = 0  # how many of these are not in the database
    changed: int = 0  # how many are there, but not as they were given
    doubled: int = 0  # how many are there more than once
    again: int = 0  # how many requests were repeated because the server was not reachable
    codes: dict[int, str] = field(default_factory=dict)  # the completion code of each rater
    seconds: float = 0.0  # how long it all took
    times: dict[str, list[float]] = field(default_factory=lambda: {"page": [], "answer": []})  # of each request

    def __str__(self) -> str:
        shown = []
        for kind, found in self.times.items():
            ordered = [1000 * seconds for seconds in sorted(found)]
            p50, p99 = (ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in (0.5, 0.99))
            shown.append(f"{kind} p50 {p50:.0f} ms, p99 {p99:.0f} ms")
        return (
            f"{len(self.saved)} of {self.expected} answers in {self.seconds:.1f} s "
            f"({len(self.saved) / self.seconds:.0f} per second), {self.lost} lost, {self.changed} changed, "
            f"{self.doubled} doubled; {self.again} requests made again; {'; '.join(shown)}"
        )


class Robot:
    """A rater that is a program; a request that got no answer is made again, which is harmless."""

    def __init__(self, link: str, rater: int, tally: Tally, context: ssl.SSLContext | None) -> None:
        where = urlsplit(link)
        self.home, self.rater, self.tally = where.path, rater, tally
        self._connection = (
            http.client.HTTPConnection(where.netloc, timeout=PATIENCE)
            if context is None
            else http.client.HTTPSConnection(where.netloc, timeout=PATIENCE, context=context)
        )

    def fetch(self, path: str, fields: Mapping[str, str] | None = None) -> tuple[str, str]:
        """Get a page or send a form: where it leads, and its text."""
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
                if time.monotonic() > begun + PATIENCE:
                    raise AssertionError(f"no answer to {path}: {error}") from None
                self.tally.again += not fresh
                time.sleep(PAUSE)
        self.tally.times[kind].append(time.monotonic() - begun)
        expected = (303,) if fields else (200, 303)
        assert response.status in expected, f"rater {self.rater}: {response.status} to {path.rpartition('/')[2]}"
        return response.getheader("Location", ""), page

    def answer_all(self, items: Sequence[Item], answers: Mapping[str, Groups], think: float = 0.0) -> None:
        """Answer everything that the link leads to."""
        path = self.home
        while True:
            location, page = self.fetch(path)
            here = path.partition("?")[0].removeprefix(self.home)
            hidden = {name: html.unescape(value) for name, value in HIDDEN.findall(page)}
            if location:
                path = location
            elif here == "/finished":
                self.tally.codes[self.rater] = CODE.findall(page)[0]
                self._connection.close()
                return
            elif here == "/instructions":
                path = ONWARD.findall(page)[0]
            elif here == "/consent":
                path, _ = self.fetch(path, {**hidden, "agree": "yes"})
            else:
                item = items[int(here.removeprefix("/sets/")) - 1]
                time.sleep(random.uniform(0, 2 * think))
                ranks = ranks_of(answers[item.set], item.order)
                chosen = {RANK_FIELDS[letter]: rank for letter, rank in ranks.items()}
                path, _ = self.fetch(path.partition("?")[0], {**hidden, **chosen})
                self.tally.saved[self.rater, item.set] = answers[item.set]


def put_under_load(
    study: Study,
    folder: Path,
    *,
    database: str = "",
    kills: int = 0,
    seed: int = 0,
    think: float = 0.0,
    proxied: bool = False,
) -> tuple[Tally, list[Ranking]]:
    """Let simulated raters answer everything at once; return what they saw, and the answers that the database has.

    If proxied, nginx with TLS is in front of the server; without kills, since nginx answers for a dead server.
    """
    write_study(folder / "study.json", study)
    given: dict[int, dict[str, Groups]] = {one.rater: {} for one in study.assignments}
    tally = Tally()
    for ranking in simulate(study, seed=seed):
        given[int(ranking.rater.rpartition("-")[2])][ranking.set] = ranking.groups
        tally.expected += 1
    with contextlib.ExitStack() as stack:
        if database == "":
            Store(str(folder / "answers.sqlite"), study, simulated=True).close()
        if proxied:
            server = stack.enter_context(proxy.running(folder / "study.json", folder, database=database))
        else:
            server = Server(folder / "study.json", folder, database=database)
            stack.callback(server.stop)
        threads = stack.enter_context(ThreadPoolExecutor(len(study.assignments)))
        begun = time.monotonic()
        work: list[Future[None]] = []
        for one in study.assignments:
            robot = Robot(server.links[one.rater], one.rater, tally, server.context)
            work.append(threads.submit(robot.answer_all, one.items, given[one.rater], think))
        for moment in sorted(random.Random(seed).sample(range(1, tally.expected // 2), kills)):
            while len(tally.saved) < moment and not all(one.done() for one in work):  # however fast answers come
                time.sleep(0.001)
            server.kill()
            server.start()
        for one in work:
            one.result()
        tally.seconds = time.monotonic() - begun
    faults = [line for line in server.printed if "Traceback" in line or "failed" in line]
    assert not faults, "".join(server.printed)
    with contextlib.closing(Store(server.database, study)) as store:
        versions, last = store.rankings(history=True), store.rankings()
    found = {(int(one.rater.rpartition("-")[2]), one.set): one.groups for one in last}
    tally.lost = sum(key not in found for key in tally.saved)
    tally.changed = sum(found.get(key, groups) != groups for key, groups in tally.saved.items())
    tally.doubled = sum(count > 1 for count in Counter((one.rater, one.set) for one in versions).values())
    return tally, last


def make_study(raters: int, sets: int) -> Study:
    """A study in which every rater sees every set."""
    return create("UC", sets=sets, raters=raters, each=raters, seed=5, worlds=min(sets, 10), name="Load")


def main() -> None:
    """Run the load on SQLite and PostgreSQL, with and without kills, and print what came of it."""
    parser = argparse.ArgumentParser(description="Many raters at once, and a server that is killed meanwhile.")
    parser.add_argument("--raters", type=int, default=200)
    parser.add_argument("--sets", type=int, default=50)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--think", type=float, default=0.0, help="seconds before an answer, on average")
    parser.add_argument("--only", choices=["sqlite", "postgresql"])
    parser.add_argument("--proxied", action="store_true", help="behind nginx with TLS, and without kills")
    given = parser.parse_args()
    study = make_study(given.raters, given.sets)
    options = {"seed": given.seed, "think": given.think, "proxied": given.proxied}
    bad = 0
    for name in ("sqlite", "postgresql"):
        if given.only not in (None, name) or (name == "postgresql" and not postgres.is_there()):
            continue
        for kills in dict.fromkeys((0, 0 if given.proxied else given.kills)):
            with contextlib.ExitStack() as stack:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                url = stack.enter_context(postgres.running()) if name == "postgresql" else ""
                tally, _ = put_under_load(study, folder, database=url, kills=kills, **options)
            print(f"{name}{' behind nginx' * given.proxied}, {kills} kills: {tally}", flush=True)
            bad += tally.lost + tally.changed + tally.doubled + tally.expected - len(tally.saved)
    if bad:
        raise SystemExit("answers were lost, changed or doubled")


if __name__ == "__main__":
    main()
