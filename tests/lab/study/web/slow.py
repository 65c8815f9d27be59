"""Raters who answer while thousands of connections send their headers a few bytes at a time, and never finish them.

python -m tests.lab.study.web.slow --connections 1500
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.lab.study.web.load import make_study
from tests.lab.study.web.servers import Server
from wayscore.lab.study.design import write_study
from wayscore.lab.study.model import Study
from wayscore.lab.study.rehearsal import send_all
from wayscore.lab.study.robots import RobotError, Tally
from wayscore.lab.study.simulated import simulate

BEGINNING = b"GET / HTTP/1.1\r\nHost: study\r\n"
MORE = b"X-Slow: 1\r\n"
BETWEEN = 2.0
"""Seconds between two lines of a slow header, and before a connection that the server closed is opened again."""


async def hold(port: int, connections: int) -> None:
    """Keep this many connections half open for ever; one that the server closes is opened again."""

    async def one() -> None:
        while True:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(BEGINNING)
                while not reader.at_eof():
                    with contextlib.suppress(asyncio.TimeoutError):
                        await asyncio.wait_for(reader.read(1000), BETWEEN)
                    writer.write(MORE)
                writer.close()
            except OSError:
                pass
            await asyncio.sleep(BETWEEN)

    await asyncio.gather(*(one() for _ in range(connections)))


@dataclass(frozen=True)
class Outcome:
    """What raters had of a server under attack.

    Attributes:
        expected: how many answers were to be given.
        saved: how many a page said were saved.
        again: how many requests had to be made again.
        ended: what ended the raters' work early, or empty.
        log: how many bytes the server wrote meanwhile.
        tally: the robots' notes.
    """

    expected: int
    saved: int
    again: int
    ended: str
    log: int
    tally: Tally


def answer_meanwhile(
    study: Study, folder: Path, *, connections: int, think: float = 0.0, most: float = 60.0, settle: float = 3.0
) -> Outcome:
    """Let all raters answer everything while connections are held half open.

    Args:
        study: the study.
        folder: where its file and its database are left.
        connections: how many are held half open, by a process of their own; 0 for a control.
        think: seconds that a rater thinks before an answer, on average.
        most: seconds after which the raters give up.
        settle: seconds for which connections are held before raters begin.
    """
    write_study(folder / "study.json", study)
    server = Server(folder / "study.json", folder)
    answers = simulate(study, seed=1)
    tally, ended = Tally(), ""
    words = [sys.executable, "-m", "tests.lab.study.web.slow", "--hold", str(server.port), "--connections"]
    before = sum(map(len, server.printed))
    attack = subprocess.Popen([*words, str(connections)]) if connections else None

    async def send() -> None:
        await asyncio.sleep(settle)
        await asyncio.wait_for(send_all(study, server.links, answers, patience=most, think=think, tally=tally), most)

    try:
        asyncio.run(send())
    except (asyncio.TimeoutError, RobotError) as error:
        ended = str(error) or f"no answer for {most:.0f} s"
    finally:
        if attack is not None:
            attack.kill()
            attack.wait()
        server.stop()
    log = sum(map(len, server.printed)) - before
    return Outcome(len(answers), len(tally.saved), tally.again, ended, log, tally)


def main() -> None:
    """Print what raters have of a server with and without half-open connections."""
    parser = argparse.ArgumentParser(description="Raters and half-open connections.")
    parser.add_argument("--raters", type=int, default=20)
    parser.add_argument("--sets", type=int, default=10)
    parser.add_argument("--think", type=float, default=1.0, help="seconds before an answer, on average")
    parser.add_argument("--connections", type=int, default=1500)
    parser.add_argument("--hold", type=int, default=0, metavar="PORT", help="only hold connections to this port")
    given = parser.parse_args()
    if given.hold:
        asyncio.run(hold(given.hold, given.connections))
    study = make_study(given.raters, given.sets)
    for connections in dict.fromkeys((0, given.connections)):
        with tempfile.TemporaryDirectory() as folder:
            found = answer_meanwhile(study, Path(folder), connections=connections, think=given.think)
        print(
            f"{connections} half-open connections: {found.saved} of {found.expected} answers saved, {found.again} "
            f"requests made again{f', ended: {found.ended}' if found.ended else ''}; {found.tally.times()}; "
            f"{found.log:,} bytes of log",
            flush=True,
        )


if __name__ == "__main__":
    main()
