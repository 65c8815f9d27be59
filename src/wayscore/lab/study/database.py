"""The tables of a study, and how SQLite and PostgreSQL are opened so that saved answers are never lost."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from wayscore.errors import MissingPackageError, OptionError, first_line
from wayscore.lab.study.guards import set_guards

CONNECTIONS = 8
"""Connections of one server, and the threads that use them."""
PATIENCE = 20
"""Seconds to wait for a connection or another server's lock before giving up."""
DRIVERS = {"postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg", "sqlite": "sqlite"}

tables = sa.MetaData()
facts = sa.Table(
    "facts", tables, sa.Column("name", sa.String(40), primary_key=True), sa.Column("value", sa.Text, nullable=False)
)
raters = sa.Table(
    "raters",
    tables,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("token", sa.String(64), unique=True),
    sa.Column("consented_at", sa.String(40)),
    sa.Column("consent", sa.String(64)),
)
answers = sa.Table(
    "answers",
    tables,
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
    sa.Column("rater", sa.Integer, sa.ForeignKey("raters.number"), nullable=False),
    sa.Column("set", sa.Text, nullable=False),
    sa.Column("groups", sa.String(80), nullable=False),
    sa.Column("seconds", sa.Float, nullable=False),
    sa.Column("at", sa.String(40), nullable=False),
    sa.Column("form", sa.String(80), nullable=False, unique=True),
    sa.Index("answers_of_rater", "rater", "set", "id"),
    sqlite_autoincrement=True,  # numbers grow for ever, so that the last answer is the one with the highest
)

erasures = sa.Table(
    "erasures",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("rater", sa.Integer, sa.ForeignKey("raters.number"), nullable=False),
    sa.Column("erased_at", sa.String(40), nullable=False),
    sa.Column("erased_by", sa.Text, nullable=False),
    sa.Column("answers", sa.Integer, nullable=False),
    sa.Column("last_answer", sa.BigInteger, nullable=False),
    sqlite_autoincrement=True,
)
sessions = sa.Table(
    "sessions",
    tables,
    sa.Column("hash", sa.String(64), primary_key=True),
    sa.Column("expires_at", sa.Float, nullable=False),
)
event.listen(tables, "after_create", set_guards)


def open_engine(database: str) -> tuple[sa.Engine, str]:
    """Return connections to a database, and its name as it may be shown.

    Args:
        database: a file, or a URL of SQLite or PostgreSQL.
    """
    url = _url(database)
    shown = url.database if url.drivername == "sqlite" else url.render_as_string(hide_password=True)
    pool: dict[str, Any] = {
        "pool_size": CONNECTIONS,
        "max_overflow": 2,
        "pool_timeout": PATIENCE,
        "hide_parameters": True,
    }
    if url.drivername != "sqlite":
        connect = {"connect_timeout": PATIENCE}
        try:
            return sa.create_engine(url, pool_pre_ping=True, connect_args=connect, **pool), str(shown)
        except ImportError:
            raise MissingPackageError(
                "PostgreSQL needs psycopg, which is not installed: pip install 'wayscore[postgres]'"
            ) from None
    _make_private(Path(str(url.database)))
    engine = sa.create_engine(url, connect_args={"timeout": PATIENCE}, **pool)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine, str(shown)


def explain(error: SQLAlchemyError, where: str) -> str:
    """Return what a database could not do, in a sentence that says what to check."""
    reason = str(error.orig).strip() if isinstance(error, DBAPIError) else first_line(error)
    what = reason.splitlines()[0] if reason else type(error).__name__
    return f"the database {where} cannot be used: {what}; check --database, its permissions, and the space on its disk"


def _url(database: str) -> URL:
    if "://" not in database:
        return URL.create("sqlite", database=database)
    try:
        url = make_url(database)
    except (ArgumentError, ValueError):
        raise OptionError("--database must be a file or a URL such as postgresql://user@host/name") from None
    if url.drivername not in DRIVERS:
        raise OptionError(f"--database must be SQLite or PostgreSQL, not {url.drivername!r}")
    url = url.set(drivername=DRIVERS[url.drivername])
    if url.drivername == "sqlite" and url.database in (None, "", ":memory:"):
        raise OptionError("a database in memory would lose its answers when the server stops; give --database FILE")
    return url


def _make_private(path: Path) -> None:
    """Create the file of a new database, readable by its owner only: it holds the key that signs forms."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise OptionError(f"cannot write {path}: {error.strerror or error}; choose another --database") from None


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions begin where `_begin_sqlite` says
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")  # a commit is on the disk, also when the power fails
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA secure_delete = ON")  # what is erased is overwritten with zeros


def _begin_sqlite(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
