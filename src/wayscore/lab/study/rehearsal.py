"""A rehearsal: a real server with its own database, and simulated raters who answer everything over HTTP."""

from __future__ import annotations

import asyncio
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import uvicorn

from wayscore.errors import OptionError
from wayscore.lab.study.model import Study
from wayscore.lab.study.rankings import Ranking
from wayscore.lab.study.robots import Tally, answer_all
from wayscore.lab.study.serve import configure, listen
from wayscore.lab.study.store import Store
from wayscore.lab.study.web.site import Site

UNLIMITED = 1e9
"""Simulated raters answer faster than people, so the limit on requests is lifted here."""


def rehearse(study: Study, rankings: Sequence[Ranking], *, database: str = "") -> list[Ranking]:
    """Send rankings through the questionnaire, and return them as the server exports them.

    Args:
        study: the study.
        rankings: an answer of every rater to every set they were given, such as `simulate` draws.
        database: where the server keeps them; by default a file that is deleted afterwards.

    Returns:
        The same rankings, all marked as simulated, with the time when each was given.
    """
    with tempfile.TemporaryDirectory() as folder:
        store = Store(database or str(Path(folder) / "rehearsal.sqlite"), study, simulated=True)
        with closing(store), listen("127.0.0.1", 0) as listening:
            address = f"http://127.0.0.1:{listening.getsockname()[1]}"
            site = Site(study, store, secret=store.key.hex(), url=address, burst=UNLIMITED)
            server = uvicorn.Server(configure(site))
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
            thread.start()
            try:
                tokens = store.new_links(site.assignments)
                links = {number: f"{address}/r/{token}" for number, token in tokens.items()}
                asyncio.run(send_all(study, links, rankings))
            finally:
                while thread.is_alive() and not server.started:
                    time.sleep(0.01)  # a server that is still starting ignores a request to stop
                server.should_exit = True
                thread.join()
            return store.rankings()


async def send_all(
    study: Study,
    links: dict[int, str],
    rankings: Sequence[Ranking],
    *,
    patience: float = 5.0,
    think: float = 0.0,
    tally: Tally | None = None,
) -> Tally:
    """Let all raters answer at once; `rankings` name a rater by the number at the end of the name."""
    answers: dict[int, dict[str, list[list[int]]]] = {one.rater: {} for one in study.assignments}
    for ranking in rankings:
        number = ranking.rater.rpartition("-")[2]
        if not number.isdecimal() or int(number) not in answers:
            raise OptionError(f"the study {study.name!r} has no rater {ranking.rater!r}")
        answers[int(number)][ranking.set] = ranking.groups
    for one in study.assignments:
        missing = [item.set for item in one.items if item.set not in answers[one.rater]]
        if missing:
            raise OptionError(f"rater {one.rater} has no answer to set {missing[0]!r}; every assigned set needs one")
    tally = Tally() if tally is None else tally
    await asyncio.gather(
        *(
            answer_all(
                links[one.rater], one.rater, one.items, answers[one.rater], tally=tally, patience=patience, think=think
            )
            for one in study.assignments
        )
    )
    return tally
