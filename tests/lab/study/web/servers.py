"""Real servers of a study for tests: processes of their own on 127.0.0.1; and what is in their databases."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import ssl
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

from wayscore.lab.study.server import SECRET
from wayscore.lab.study.store import Rater, Store

ADMIN_SECRET = "a secret for tests only"
USUAL_FILES = 1024
"""How many files and connections a process may have open on most systems."""
COMMAND = [sys.executable, "-u", "-c", "from wayscore.cli.app import main; main()", "study", "serve"]
LINK = re.compile(r"^(?:  rater )?(\d+)(?:: |,)(http\S+)$", re.MULTILINE)


class Server:
    """`wayscore study serve` as a process.

    Its links and its database are in a folder; without one, links are printed, and the database is beside the study.
    `database` is the URL of one that is no file, and `url` the address of a proxy in front of the server, whose
    certificate `context` trusts. Without the administrator's secret, the server prints its own.
    """

    def __init__(
        self,
        study: Path,
        folder: Path | None = None,
        *options: str | Path,
        database: str = "",
        url: str = "",
        secret: str = ADMIN_SECRET,
    ) -> None:
        self.url, self.secret = url, secret
        self.database = database or str(folder / "answers.sqlite" if folder else study.with_suffix(".sqlite"))
        self._words = [study, "--database", self.database, *options]
        self._words += ["--url", url] if url else []
        self._words += ["--links", folder / "links.csv"] if folder else []
        self._process: subprocess.Popen[str] | None = None
        self.port = self.plain_port = 0  # where the server listens, and the proxy without TLS
        self.context: ssl.SSLContext | None = None
        self.printed: list[str] = []
        self.start()
        written = (folder / "links.csv").read_text(encoding="utf-8") if folder else "".join(self.printed)
        self.links = {int(rater): link for rater, link in LINK.findall(written)}

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def token(self, rater: int) -> str:
        return self.links[rater].rpartition("/")[2]

    def start(self) -> None:
        """Start the process, at the same port as before, and wait until it listens."""
        self._process = subprocess.Popen(
            [*COMMAND, *map(str, self._words), "--port", str(self.port)],
            env={**os.environ, SECRET: self.secret},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if sys.platform == "linux":
            import resource

            resource.prlimit(self._process.pid, resource.RLIMIT_NOFILE, (USUAL_FILES, USUAL_FILES))
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.printed.append(line)
            found = re.match(r"Listening at http://127\.0\.0\.1:(\d+)", line)
            if found:
                self.port = int(found[1])
                break
        else:
            raise AssertionError("the server did not start:\n" + "".join(self.printed))
        self._listener = threading.Thread(target=self._listen, args=(self._process,), daemon=True)
        self._listener.start()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout:
            self.printed.extend(process.stdout)

    def kill(self) -> None:
        """End the process at once: it has no time to write anything."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End the process as an administrator does."""
        self._end(signal.SIGINT)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            status = self._process.wait(30)
            self._listener.join(30)
            self._process = None
            assert status == (0 if how == signal.SIGINT else -how)


def rows(server: Server, rater: int) -> list[tuple[str, list[list[int]]]]:
    """The answers of a rater in the order they came."""
    found = [row for row in everything(server)["answers"] if row[1] == rater]
    return [(row[2], json.loads(row[3])) for row in sorted(found)]


def everything(server: Server) -> dict[str, list[Any]]:
    """All rows of all tables."""
    with closing(sqlite3.connect(f"file:{server.database}?mode=ro", uri=True)) as database:
        tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {table: database.execute(f"SELECT * FROM {table}").fetchall() for table in tables}


def known(store: Store, number: int = 1) -> Rater:
    """A rater with a new link."""
    rater = store.rater(store.new_links([number])[number])
    assert rater is not None
    return rater
