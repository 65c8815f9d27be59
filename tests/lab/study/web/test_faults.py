"""Databases that fail while a study is served: one sentence, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.lab.study.web.client import Person, ranks
from tests.lab.study.web.servers import Server
from wayscore.errors import OptionError
from wayscore.lab.study.model import Study
from wayscore.lab.study.server import serve
from wayscore.lab.study.store import Store

resource = pytest.importorskip("resource", reason="limits of files need Linux")


def check(study: Study, server: Server, fail: Callable[[], object], repair: Callable[[], object], reason: str) -> None:
    """A rater whose answer could not be saved sees it again, and sends it again when the database works."""
    person = Person(server, 1)
    person.agree()
    assert person.answer(1, "12345").status == 303
    sent = {**person.form(2), **ranks("54321")}
    fail()
    try:
        reply = person.post(f"{person.home}/sets/2", sent)
        again = person.post(f"{person.home}/sets/2", sent)
    finally:
        repair()
    assert (reply.status, again.status) == (503, 503)
    assert "could not use its database. Please wait a moment, then send your answer again." in reply.text
    assert reply.text.index('data-letter="E"') < reply.text.index('data-letter="A"')  # the order that was sent
    assert person.post(f"{person.home}/sets/2", sent).status == 303
    assert person.answer(3, "21345").status == 303
    server.stop()
    printed = "".join(server.printed)
    assert "Traceback" not in printed
    lines = [line for line in server.printed if "cannot be used" in line]
    assert len(lines) == 2
    assert lines[0].startswith("wayscore: the database ")
    assert reason in lines[0]
    assert (
        "check --database, its permissions, and the space on its disk; answers that were confirmed are safe" in lines[0]
    )
    assert server.token(1) not in printed
    with closing(Store(server.database, study)) as store:
        assert [len(one.groups) for one in store.rankings(history=True)] == [5, 5, 5]


def test_a_disk_that_is_full(studies: dict[str, tuple[Study, Path]], tmp_path: Path) -> None:
    """As if: no file of the server may grow."""
    study, path = studies["strict"]
    server = Server(path, tmp_path)
    least = min(file.stat().st_size for file in tmp_path.glob("answers.sqlite*") if file.stat().st_size)
    infinite = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    try:
        check(
            study,
            server,
            lambda: resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (least // 2, resource.RLIM_INFINITY)),
            lambda: resource.prlimit(server.pid, resource.RLIMIT_FSIZE, infinite),
            "cannot be used: ",
        )
    finally:
        server.stop()


def test_a_database_that_may_not_be_written(
    studies: dict[str, tuple[Study, Path]], tmp_path: Path, cluster: str
) -> None:
    study, path = studies["strict"]
    engine = sa.create_engine(cluster.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT")

    def execute(*statements: str) -> None:
        with engine.connect() as connection:
            for statement in statements:
                connection.execute(sa.text(statement))

    execute("DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
    server = Server(path, tmp_path, database=cluster)
    only_read = "ALTER DATABASE postgres SET default_transaction_read_only TO"
    end = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = 'postgres'"
    )
    try:
        check(
            study,
            server,
            lambda: execute(f"{only_read} on", end),
            lambda: execute("SET default_transaction_read_only TO off", f"{only_read} off", end),
            "read-only transaction",
        )
    finally:
        server.stop()
        engine.dispose()


def test_a_file_that_may_not_be_written(studies: dict[str, tuple[Study, Path]], tmp_path: Path) -> None:
    """From the start: the sentence says so, and the links' file is not left behind."""
    study, path = studies["strict"]
    store = Store(str(tmp_path / "answers.sqlite"), study)
    with store.write() as connection:
        connection.execute(sa.text("CREATE TRIGGER full BEFORE UPDATE ON raters BEGIN SELECT RAISE(ABORT, 'no'); END"))
    store.close()
    with pytest.raises(OptionError, match=r"the database .* cannot be used: no; check --database"):
        serve(path, database=str(tmp_path / "answers.sqlite"), port=0, links=tmp_path / "links.csv")
    assert not (tmp_path / "links.csv").exists()
