"""Real servers of a study for tests: processes of their own on 127.0.0.1, started, killed and started again."""

from __future__ import annotations

import csv
import os
import re
import signal
import ssl
import subprocess
import sys
import threading
from pathlib import Path

from wayscore.lab.study.server import SECRET

ADMIN_SECRET = "a secret for tests only"
USUAL_FILES = 1024
"""How many files and connections a process may have open on most systems."""
PROGRAM = """
import resource, sys
from wayscore.lab.study.server import serve
study, database, port, links, simulated, url, files = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_NOFILE, (int(files), int(files)))
say = lambda line: print(line, flush=True)
serve(study, database=database, port=int(port), links=links, simulated=simulated == "yes", url=url, say=say)
"""


class Server:
    """A server of a study.

    Args:
        study: the file of the study.
        folder: where its links and its database are.
        database: the URL of a database that is no file.
        simulated: whether its answers are marked as simulated.
        url: the address of a proxy in front of it, which its links use.

    Attributes:
        address: where it listens.
        links: rater -> link.
        printed: the lines that it wrote.
        context: whom to trust, if a proxy with TLS is in front of it.
        plain_port: where the proxy listens without TLS.
    """

    def __init__(
        self, study: Path, folder: Path, *, database: str = "", simulated: bool = False, url: str = ""
    ) -> None:
        self.study = study
        self.url = url
        self.database = database or str(folder / "answers.sqlite")
        self._links = folder / "links.csv"
        self._simulated = simulated
        self._process: subprocess.Popen[str] | None = None
        self.port = self.plain_port = 0
        self.context: ssl.SSLContext | None = None
        self.printed: list[str] = []
        self.start()
        with self._links.open(encoding="utf-8", newline="") as file:
            self.links = {int(row["rater"]): row["link"] for row in csv.DictReader(file)}

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
        words = [str(self.study), self.database, str(self.port), str(self._links), "yes" if self._simulated else "no"]
        words += [self.url, str(USUAL_FILES)]
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *words],
            env={**os.environ, SECRET: ADMIN_SECRET},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
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

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(30)
            self._listener.join(30)
            self._process = None
