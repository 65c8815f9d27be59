"""The database of a study: its tables, the triggers that keep its answers, and how SQLite and PostgreSQL are opened.

The database itself refuses to change or delete answers, whoever asks. There is one exception. A row in `erasures`
erases everything of one rater: the database deletes it while it inserts the row, which says when, by whom and how many
answers; such a row can neither be changed nor deleted. So answers disappear only together with a record of it, in one
transaction.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from wayscore.errors import MissingPackageError, OptionError, first_line

REFUSE = "answers are only ever added"
RECORD = "an erasure must record exactly the answers that it erases, and is never changed"
_RECORDED = "SELECT 1 FROM erasures WHERE rater = OLD.rater AND last_answer >= OLD.id"
_WRONG = (
    "NEW.answers <> (SELECT count(*) FROM answers WHERE rater = NEW.rater) OR "
    "NEW.last_answer <> (SELECT coalesce(max(id), 0) FROM answers WHERE rater = NEW.rater)"
)
_ERASE = (
    "DELETE FROM answers WHERE rater = NEW.rater; "
    "UPDATE raters SET token = NULL, consented_at = NULL, consent = NULL WHERE number = NEW.rater;"
)


def _abort(sentence: str) -> str:
    return f"SELECT RAISE(ABORT, '{sentence}');"


def _raise(sentence: str) -> str:
    return f"RAISE EXCEPTION '{sentence}';"


TRIGGERS: dict[str, list[tuple[str, str, str]]] = {
    "sqlite": [
        ("answers_no_update", "BEFORE UPDATE ON answers", _abort(REFUSE)),
        ("answers_no_delete", f"BEFORE DELETE ON answers WHEN NOT EXISTS ({_RECORDED})", _abort(REFUSE)),
        (  # REPLACE would delete without asking the trigger above
            "answers_no_replace",
            "BEFORE INSERT ON answers WHEN EXISTS (SELECT 1 FROM answers WHERE id = NEW.id OR form = NEW.form)",
            _abort(REFUSE),
        ),
        ("erasures_no_update", "BEFORE UPDATE ON erasures", _abort(RECORD)),
        ("erasures_no_delete", "BEFORE DELETE ON erasures", _abort(RECORD)),
        (
            "erasures_are_true",
            f"BEFORE INSERT ON erasures WHEN {_WRONG} OR EXISTS (SELECT 1 FROM erasures WHERE id = NEW.id)",
            _abort(RECORD),
        ),
        ("erasures_erase", "AFTER INSERT ON erasures", _ERASE),
    ],
    "postgresql": [
        ("answers_no_change", "BEFORE UPDATE OR TRUNCATE ON answers FOR EACH STATEMENT", _raise(REFUSE)),
        (
            "answers_no_delete",
            "BEFORE DELETE ON answers FOR EACH ROW",
            f"IF NOT EXISTS ({_RECORDED}) THEN {_raise(REFUSE)} END IF; RETURN OLD;",
        ),
        ("erasures_no_change", "BEFORE UPDATE OR DELETE OR TRUNCATE ON erasures FOR EACH STATEMENT", _raise(RECORD)),
        (
            "erasures_are_true",
            "BEFORE INSERT ON erasures FOR EACH ROW",
            f"IF {_WRONG} THEN {_raise(RECORD)} END IF; RETURN NEW;",
        ),
        ("erasures_erase", "AFTER INSERT ON erasures FOR EACH ROW", f"{_ERASE} RETURN NULL;"),
    ],
}
"""For each kind of database: the names of triggers, when they run, and what they do."""


def set_triggers(_: Any, connection: sa.Connection, *, tables: list[sa.Table], **__: Any) -> None:
    """Create the triggers, or replace those of an earlier version, if tables were created just now."""
    dialect = connection.dialect.name
    for name, when, what in TRIGGERS[dialect] if tables else ():
        if dialect == "sqlite":
            connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {name}")
            connection.exec_driver_sql(f"CREATE TRIGGER {name} {when} BEGIN {what} END")
        else:
            body = f"RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {what} END $$"
            table = when.split(" ON ")[1].split()[0]
            connection.exec_driver_sql(f"CREATE OR REPLACE FUNCTION {name}() {body}")
            connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {name} ON {table}")
            connection.exec_driver_sql(f"CREATE TRIGGER {name} {when} EXECUTE FUNCTION {name}()")


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
event.listen(tables, "after_create", set_triggers)


def open_engine(database: str) -> tuple[sa.Engine, str]:
    """Return connections to a database, an SQLite file or a URL of either kind, and its name as it may be shown."""
    url = _url(database)
    pool: dict[str, Any] = {
        "pool_size": CONNECTIONS,
        "max_overflow": 2,
        "pool_timeout": PATIENCE,
        "hide_parameters": True,
    }
    if url.drivername != "sqlite":
        connect = {"connect_timeout": PATIENCE}
        try:
            engine = sa.create_engine(url, pool_pre_ping=True, connect_args=connect, **pool)
        except ImportError:
            raise MissingPackageError(
                "PostgreSQL needs psycopg, which is not installed: pip install 'wayscore[postgres]'"
            ) from None
        return engine, url.render_as_string(hide_password=True)
    path = Path(str(url.database))
    try:  # only its owner can read the file: it holds the key that signs forms
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise OptionError(f"cannot write {path}: {error.strerror or error}; choose another --database") from None
    engine = sa.create_engine(url, connect_args={"timeout": PATIENCE}, **pool)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine, str(url.database)


def _url(database: str) -> URL:
    if "://" not in database:
        return URL.create("sqlite", database=database)
    try:
        url = make_url(database)
    except (ArgumentError, ValueError):
        raise OptionError("--database must be a file or a URL such as postgresql://user@host/name") from None
    if url.drivername not in DRIVERS:
        raise OptionError(f"--database must be SQLite or PostgreSQL, not {url.drivername!r}")
    if url.drivername == "sqlite" and url.database in (None, "", ":memory:"):
        raise OptionError("a database in memory would lose its answers when the server stops; give --database FILE")
    return url.set(drivername=DRIVERS[url.drivername])


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions begin where `_begin_sqlite` says
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")  # a commit is on the disk, also when the power fails
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA secure_delete = ON")  # what is erased is overwritten with zeros


def _begin_sqlite(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def explain(error: SQLAlchemyError, where: str) -> str:
    """Return what a database could not do, in a sentence that says what to check."""
    reason = str(error.orig).strip() if isinstance(error, DBAPIError) else first_line(error)
    what = reason.splitlines()[0] if reason else type(error).__name__
    return f"the database {where} cannot be used: {what}; check --database, its permissions, and the space on its disk"


@contextmanager
def in_a_sentence(where: str) -> Iterator[None]:
    """Turn what a database could not do into an error for someone at the command line."""
    try:
        yield
    except SQLAlchemyError as error:
        raise OptionError(explain(error, where)) from None
