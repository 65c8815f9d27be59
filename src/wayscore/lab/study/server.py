"""Serves a study: opens its database, hands out the links, and runs until it is stopped."""

from __future__ import annotations

import csv
import os
import secrets
import socket
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from wayscore.errors import MissingPackageError, OptionError

if TYPE_CHECKING:
    from wayscore.lab.study.store import Store

SECRET = "WAYSCORE_STUDY_SECRET"
"""The environment variable that may hold the administrator's secret."""
SHORTEST_SECRET = 12
MOST_CONNECTIONS = 700
"""More are refused with status 503; a process may have 1,024 files open on most systems."""
IDLE_SECONDS = 15
"""How long a connection may be idle after a response."""
LAST_SECONDS = 10
"""How long requests may take when the server is stopped."""
LARGEST_HEADER = 16 * 1024


def serve(
    study: str | os.PathLike[str],
    *,
    database: str = "",
    host: str = "127.0.0.1",
    port: int = 8000,
    url: str = "",
    links: str | os.PathLike[str] | None = None,
    consent: str | os.PathLike[str] | None = None,
    simulated: bool = False,
    say: Callable[[str], None] = print,
) -> None:
    """Serve a study until the process is interrupted.

    `database` is an SQLite file or a PostgreSQL URL; by default a file in the folder of the study. Port 0 is any free
    one. `url` is the public address of the server, if a proxy on this machine is in front of it. New links are written
    to the CSV file `links`, or printed by `say`. `consent` is a text file with the paragraphs that raters agree to.
    `simulated` marks the answers as simulated: no person gave them.
    """
    need_study()
    import uvicorn

    from wayscore.lab.study.files import read_study
    from wayscore.lab.study.store import Store
    from wayscore.lab.study.web.app import create_app
    from wayscore.lab.study.web.site import Site

    loaded = read_study(study)
    if not loaded.assignments:
        raise OptionError(f"{study}: the study has no raters; create it again with --raters N")
    secret = os.environ.get(SECRET, "")
    if secret and len(secret) < SHORTEST_SECRET:
        raise OptionError(f"{SECRET} must have {SHORTEST_SECRET} characters or more, not {len(secret)}")
    paragraphs = read_paragraphs(consent) if consent is not None else []
    check_url(url, host)
    with listen(host, port) as listening, suppress(KeyboardInterrupt):
        here = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
        address = url.rstrip("/") or here
        store = Store(database or default_database(study), loaded, simulated=simulated)
        with closing(store):
            say(f"{loaded.name}: {len(loaded.assignments)} raters; answers are saved in {store.where}")
            issue_links(store, store.unlinked(), address, links, say)
            if not secret:
                secret = secrets.token_urlsafe(24)
                say(f"The administrator's secret (valid until this server stops): {secret}")
            say(f"The administrator's page: {address}/admin")
            if not (address.startswith("https://") or host in ("127.0.0.1", "::1", "localhost")):
                say("Warning: links are secret, but plain HTTP sends them openly; put a proxy with TLS in front of it.")
            site = Site(loaded, store, secret=secret, url=address, consent=paragraphs)

            class Server(uvicorn.Server):
                """Says that it listens when it does."""

                async def startup(self, sockets: Any = None) -> None:
                    await super().startup(sockets)
                    say(f"Listening at {here}{f' for {address}' if url else ''}; stop with Ctrl-C.")

            config = uvicorn.Config(
                create_app(site),
                http="h11",
                limit_concurrency=MOST_CONNECTIONS,
                timeout_keep_alive=IDLE_SECONDS,
                timeout_graceful_shutdown=LAST_SECONDS,
                access_log=False,  # addresses hold tokens
                log_config=None,  # sentences on standard error
                log_level="warning",
                server_header=False,
                proxy_headers=bool(url),
                h11_max_incomplete_event_size=LARGEST_HEADER,
                ws="none",
                lifespan="off",
            )
            Server(config).run(sockets=[listening])


def need_study() -> None:
    """Raise an error that says how to install the packages for serving a study, if one is missing."""
    for name in ("jinja2", "sqlalchemy", "starlette", "uvicorn"):
        try:
            import_module(name)
        except ImportError as error:
            raise MissingPackageError(
                f"serving a study needs {error.name}, which is not installed: pip install 'wayscore[study]'"
            ) from None


def default_database(study: str | os.PathLike[str]) -> str:
    """Return the file of the answers to a study, in the same folder.

    >>> default_database("studies/uc.json")
    'studies/uc.sqlite'
    """
    path = Path(study)
    return str(path.with_name(path.name.removesuffix(".gz").removesuffix(".json") + ".sqlite"))


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, so that its port is known before links are made."""
    if not 0 <= port <= 65535:
        raise OptionError(f"--port must be a number from 1 to 65535, or 0 for any free port, not {port}")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise OptionError(
            f"cannot listen at {host}:{port}: {error.strerror or error}; choose another --port or --host"
        ) from None


def read_paragraphs(path: str | os.PathLike[str]) -> list[str]:
    """Return the paragraphs of a text file; empty lines separate them."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"cannot read {path}: {error}; --consent takes a text file in UTF-8") from None
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
    if not any(paragraphs):
        raise OptionError(f"{path}: is empty; --consent takes the text that raters agree to")
    return [paragraph for paragraph in paragraphs if paragraph]


def check_url(url: str, host: str) -> None:
    """Refuse addresses that cannot be used in links."""
    if not url and host in ("0.0.0.0", "::", ""):
        raise OptionError(f"--host {host!r} cannot be used in links; give the address that raters open with --url")
    parts = urlsplit(url)
    if url and (parts.scheme not in ("http", "https") or not parts.netloc or parts.path not in ("", "/")):
        raise OptionError(f"--url must be an address such as https://study.example.org, without a path, not {url}")


def issue_links(
    store: Store, raters: Sequence[int], address: str, path: str | os.PathLike[str] | None, say: Callable[[str], None]
) -> None:
    """Give raters new links; earlier ones end when the new ones are on the disk or printed, and not before.

    `address` is the public address of the server, and `path` a new file for the links, which only its owner can read;
    without one they are printed by `say`.
    """
    from wayscore.lab.study.database import in_a_sentence

    if not raters:
        return
    made = False

    def deliver(tokens: dict[int, str]) -> None:
        nonlocal made
        links = [(number, f"{address}/r/{token}") for number, token in tokens.items()]
        if path is None:
            for number, link in links:
                say(f"  rater {number}: {link}")
            return
        try:  # only its owner can read the file
            opened = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except OSError as error:
            reason = error.strerror or error
            raise OptionError(f"cannot write {path}: {reason}; choose a new file for <<links>>") from None
        made = True
        try:
            with open(opened, "w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows([("rater", "link"), *links])
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            reason = error.strerror or error
            raise OptionError(
                f"cannot write {path}: {reason}; no link was changed: choose another disk for <<links>>"
            ) from None

    try:
        with in_a_sentence(store.where):
            store.new_links(raters, deliver)
    except BaseException:
        if made and path is not None:
            with suppress(OSError):
                os.unlink(path)  # these links never became valid
        raise
    if path is not None:
        say(f"The links of {len(raters)} raters are in {path}; they cannot be shown again.")
