"""Many raters at once, and a server that is killed amid their answers; what was said to be saved must be there.

python -m tests.lab.study.web.load --raters 200 --sets 50 --kills 10
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.lab.study.web import postgres, proxy
from tests.lab.study.web.raters import Tally, send_all, trusted
from tests.lab.study.web.servers import Server
from wayscore.lab.study.create import create
from wayscore.lab.study.files import write_study
from wayscore.lab.study.model import Study
from wayscore.lab.study.rankings import Ranking
from wayscore.lab.study.rater_models import simulate
from wayscore.lab.study.store import Store

PATIENCE = 600.0
"""Seconds for which raters send a request again: on a busy machine, many kills follow before all are served."""


@dataclass(frozen=True)
class Outcome:
    """What came of a run under load.

    Attributes:
        expected: how many answers were to be given.
        saved: how many a page said were saved.
        lost: of those, how many are not in the database.
        changed: how many are there, but not as they were given.
        doubled: how many are there more than once.
        kills: how often the server was killed.
        again: how many requests were made again.
        seconds: how long it all took.
        tally: the robots' notes.
    """

    expected: int
    saved: int
    lost: int
    changed: int
    doubled: int
    kills: int
    again: int
    seconds: float
    tally: Tally


def make_study(raters: int, sets: int) -> Study:
    """A study in which every rater sees every set."""
    return create("UC", sets=sets, raters=raters, each=raters, seed=5, worlds=min(sets, 10), name="Load")


def put_under_load(
    study: Study,
    folder: Path,
    *,
    database: str = "",
    kills: int = 0,
    seed: int = 0,
    think: float = 0.0,
    proxied: bool = False,
) -> Outcome:
    """Let all raters answer everything at once, and compare what is kept with what they were told.

    Args:
        study: the study.
        folder: where its file, its links and its database are left.
        database: the URL of a database that is no file.
        kills: how often the server is killed meanwhile.
        seed: of the moments when.
        think: seconds that a rater thinks before an answer, on average; 0 asks for all that the server can do.
        proxied: whether nginx with TLS is in front of the server; without kills, since nginx answers for a dead server.
    """
    write_study(folder / "study.json", study)
    answers = simulate(study, seed=1)
    with contextlib.ExitStack() as stack:
        if proxied:
            server = stack.enter_context(proxy.running(folder / "study.json", folder, database=database))
            os.environ["SSL_CERT_FILE"] = str(folder / "study.pem")
            trusted.cache_clear()
        else:
            server = Server(folder / "study.json", folder, database=database)
            stack.callback(server.stop)
        begun = time.monotonic()
        tally = asyncio.run(_drive(study, server, answers, kills, random.Random(seed), think))
        seconds = time.monotonic() - begun
    store = Store(server.database, study)
    try:
        rows = Counter((int(one.rater), one.set) for one in store.rankings(history=True))
        last = {(int(one.rater), one.set): one.groups for one in store.rankings()}
    finally:
        store.close()
    faults = [line for line in server.printed if "Traceback" in line or "failed" in line]
    assert not faults, "".join(server.printed)
    return Outcome(
        expected=len(answers),
        saved=len(tally.saved),
        lost=sum(key not in last for key in tally.saved),
        changed=sum(last.get(key, given) != given for key, given in tally.saved.items()),
        doubled=sum(count > 1 for count in rows.values()),
        kills=kills,
        again=tally.again,
        seconds=seconds,
        tally=tally,
    )


async def _drive(
    study: Study, server: Server, answers: Sequence[Ranking], kills: int, rng: random.Random, think: float
) -> Tally:
    tally = Tally()
    sending = asyncio.create_task(send_all(study, server.links, answers, patience=PATIENCE, think=think, tally=tally))
    for moment in sorted(rng.sample(range(1, len(answers) // 2), kills)):  # counted in answers, however fast they come
        while len(tally.saved) < moment and not sending.done():
            await asyncio.sleep(0.001)
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
    return await sending


def report(name: str, outcome: Outcome) -> str:
    """The outcome in one paragraph."""
    return (
        f"{name}: {outcome.saved} of {outcome.expected} answers in {outcome.seconds:.1f} s "
        f"({outcome.saved / outcome.seconds:.0f} per second), {outcome.lost} lost, {outcome.changed} changed, "
        f"{outcome.doubled} doubled; "
        f"{outcome.kills} kills, {outcome.again} requests made again; {outcome.tally.times()}"
    )


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
    bad = 0
    for name in ("sqlite", "postgresql"):
        if given.only in (None, name) and (name == "sqlite" or postgres.is_there()):
            for kills in dict.fromkeys((0, 0 if given.proxied else given.kills)):
                with contextlib.ExitStack() as stack:
                    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                    url = stack.enter_context(postgres.running()) if name == "postgresql" else ""
                    outcome = put_under_load(
                        study,
                        folder,
                        database=url,
                        kills=kills,
                        seed=given.seed,
                        think=given.think,
                        proxied=given.proxied,
                    )
                print(report(f"{name}{' behind nginx' * given.proxied}", outcome), flush=True)
                bad += outcome.lost + outcome.changed + outcome.doubled + outcome.expected - outcome.saved
    if bad:
        raise SystemExit("answers were lost, changed or doubled")


if __name__ == "__main__":
    main()
