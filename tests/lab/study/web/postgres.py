"""A PostgreSQL of its own for tests: a fresh cluster in a temporary folder, on a free port of 127.0.0.1."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MISSING = "this test needs PostgreSQL (on Debian: apt-get install postgresql) and psycopg"
UNPRIVILEGED = ("postgres", "nobody")
"""Whom the server runs as where the tests run as root, which PostgreSQL refuses."""


def find_programs() -> Path | None:
    """The folder of PostgreSQL's programs, the newest version's."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


def is_there() -> bool:
    """Whether a server can be started and spoken to."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return False
    return find_programs() is not None


@contextmanager
def running() -> Iterator[str]:
    """Start a server, and give its URL; all is gone afterwards. Its settings are the defaults: commits are synced."""
    programs = find_programs()
    assert programs is not None
    folder = Path(tempfile.mkdtemp(prefix="wayscore-postgres-"))
    who: dict[str, Any] = {"cwd": folder}
    if os.getuid() == 0:
        import pwd  # not on Windows

        account = next(pwd.getpwnam(name) for name in UNPRIVILEGED if name in {one.pw_name for one in pwd.getpwall()})
        os.chown(folder, account.pw_uid, account.pw_gid)
        who |= {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    cluster = folder / "cluster"
    words = [programs / "initdb", "-D", cluster, "-U", "wayscore", "-A", "trust", "-E", "UTF8", "--no-locale"]
    try:
        subprocess.run(words, check=True, capture_output=True, **who)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        control = [programs / "pg_ctl", "-D", cluster, "-w"]
        start = [*control, "-l", folder / "log", "-o", f"-p {port} -h 127.0.0.1 -k ''", "start"]
        started = subprocess.run(start, check=False, stdout=subprocess.DEVNULL, **who)
        assert started.returncode == 0, "PostgreSQL did not start:\n" + (folder / "log").read_text(errors="replace")
        try:
            yield f"postgresql://wayscore@127.0.0.1:{port}/postgres"
        finally:  # "fast" ends the sessions that are left
            subprocess.run([*control, "-m", "fast", "stop"], check=True, stdout=subprocess.DEVNULL, **who)
    finally:
        shutil.rmtree(folder)
