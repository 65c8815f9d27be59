"""An nginx of its own for tests, with the configuration of docs/study-server.md, in front of a server of a study."""

from __future__ import annotations

import getpass
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.lab.study.web.servers import Server

MISSING = "this test needs nginx and openssl (on Debian: apt-get install nginx-light openssl)"
PAGE = Path(__file__).parents[4] / "docs" / "study-server.md"
MAIN = """
user {user};
pid {folder}/nginx.pid;
error_log {folder}/main.log;
worker_processes 1;
events {{ worker_connections 4096; }}
http {{
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/study.conf;
}}
"""
"""What surrounds the page's configuration; on a real machine that is /etc/nginx/nginx.conf."""
CERTIFICATE = (
    "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
)


def find_nginx() -> str | None:
    """The program, which is not on everyone's path."""
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")


def is_there() -> bool:
    """Whether a proxy can be started."""
    return find_nginx() is not None and shutil.which("openssl") is not None


def configuration() -> str:
    """The configuration that the page shows."""
    found = re.search(r"^```nginx[^\n]*\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(one.getsockname()[1]) for one in sockets]
    for one in sockets:
        one.close()
    return ports


@contextmanager
def running(study: Path, folder: Path, *, database: str = "") -> Iterator[Server]:
    """Start a server of a study and nginx in front of it; clients of the server go through nginx."""
    plain, tls = free_ports(2)
    certificate = folder / "study.pem"
    words = [*CERTIFICATE.split(), "-keyout", str(folder / "study.key"), "-out", str(certificate)]
    subprocess.run(words, check=True, capture_output=True)
    server = Server(study, folder, database=database, url=f"https://127.0.0.1:{tls}")
    try:
        server.context = ssl.create_default_context(cafile=certificate)
        site = configuration()
        for written, here in (
            ("listen 80;", f"listen 127.0.0.1:{plain};"),
            ("https://$host$request_uri", f"https://$host:{tls}$request_uri"),
            ("listen 443 ssl;", f"listen 127.0.0.1:{tls} ssl;"),
            ("study.example.org", "127.0.0.1"),
            ("/etc/ssl/", f"{folder}/"),
            ("/var/log/nginx/", f"{folder}/"),
            ("http://127.0.0.1:8000", server.address),
        ):
            assert written in site, f"docs/study-server.md no longer has {written!r}"
            site = site.replace(written, here)
        (folder / "study.conf").write_text(site, encoding="utf-8")
        (folder / "nginx.conf").write_text(MAIN.format(folder=folder, user=getpass.getuser()), encoding="utf-8")
        command = [str(find_nginx()), "-c", folder / "nginx.conf", "-p", folder]
        with (folder / "said").open("w") as said:
            status = subprocess.run(command, check=False, stdout=said, stderr=said).returncode
        assert status == 0, "nginx did not start:\n" + (folder / "said").read_text(errors="replace")
        try:
            server.plain_port = plain
            yield server
        finally:
            subprocess.run([*command, "-s", "stop"], check=True, capture_output=True)
    finally:
        server.stop()
