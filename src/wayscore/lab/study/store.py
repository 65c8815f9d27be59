"""The store of a study's answers: rows that are only ever added, each in one transaction (see `database.py`)."""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Literal, NamedTuple, TypeAlias

import sqlalchemy as sa

from wayscore.errors import OptionError
from wayscore.lab.study.database import (
    CONNECTIONS,
    answers,
    erasures,
    facts,
    in_a_sentence,
    open_engine,
    raters,
    tables,
)
from wayscore.lab.study.files import study_bytes
from wayscore.lab.study.model import Study
from wayscore.lab.study.rankings import Ranking

Groups: TypeAlias = list[list[int]]
Outcome: TypeAlias = Literal["saved", "again", "used", "full", "gone"]
"""The outcome of an answer: written; written before from the same form; the form was used for another answer; changed
too often; the rater's link was replaced in the meantime."""
MOST_VERSIONS = 50
"""How often an answer may be changed, so that the disk cannot be filled."""
LONGEST_NAME = 100
"""The longest name of someone who erases."""
SHORTEST = 0.1
"""The shortest time that is stored, seconds: 0 would say that the time is not known."""
CREATION = 0x57415953
"""The lock under which only one server at a time creates the tables in PostgreSQL."""


class Rater(NamedTuple):
    """A rater whose link was followed."""

    number: int
    token: str  # the hash of the link's token
    consented: bool


class Progress(NamedTuple):
    """How far a rater has come."""

    rater: int
    erased: bool  # and nobody else has the number since
    consented: bool
    answered: int
    changes: int  # how many answers were replaced by later ones
    last: str  # when the last answer came, ISO 8601, or empty


class Store:
    """The answers to one study: an SQLite file, or a URL such as postgresql://user@host/name.

    A database belongs to one study only, and stores which one; with `new` it may be a new one, which is then created.
    All answers of a database that was created with `simulated` are marked as simulated: no person gave them.

    Attributes:
        key: the key that signs forms; stored here, so that forms stay valid when the server restarts.
        simulated: whether the answers are marked as simulated.
        where: the database, to be shown.
    """

    def __init__(self, database: str, study: Study, *, simulated: bool = False, new: bool = True) -> None:
        self._engine, self.where = open_engine(database)
        self._writer = self._engine.execution_options(writes=True)
        self._one_writer = (
            threading.Lock() if self._engine.dialect.name == "sqlite" else threading.Semaphore(CONNECTIONS)
        )
        try:
            with in_a_sentence(self.where), self.write() as connection:
                if self._engine.dialect.name == "postgresql":
                    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(CREATION)))
                tables.create_all(connection)
                known = _begin(connection, study, simulated=simulated, new=new)
        except BaseException:
            self._engine.dispose()
            raise
        self.key = bytes.fromhex(known["key"])
        self.simulated = known["simulated"] == "yes"

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """A transaction that is on the disk when the block is left, and had no effect if it is left by an error.

        SQLite has one writer; those who wait do so here, where they are woken at once, and not in its polling.
        """
        with self._one_writer, self._writer.begin() as connection:
            yield connection

    def read(self) -> sa.Connection:
        """Return a connection to read from."""
        return self._engine.connect()

    def unlinked(self) -> list[int]:
        """Return the raters who have no link yet, without those whose data were erased."""
        erased = sa.select(erasures.c.rater)
        found = sa.select(raters.c.number).where(raters.c.token.is_(None), raters.c.number.not_in(erased))
        with self.read() as connection:
            return list(connection.scalars(found.order_by(raters.c.number)))

    def new_links(
        self, numbers: Iterable[int], deliver: Callable[[dict[int, str]], None] = lambda _: None
    ) -> dict[int, str]:
        """Give raters new tokens and return them; only hashes are kept, and earlier tokens are void at once.

        `deliver` is called with the new tokens before they are valid; if it fails, the earlier ones stay valid.
        """
        made = {number: secrets.token_urlsafe(32) for number in numbers}
        with self.write() as connection:
            for number, token in made.items():
                change = sa.update(raters).where(raters.c.number == number).values(token=hash_token(token))
                if not connection.execute(change).rowcount:
                    raise OptionError(f"the study has no rater {number}")
            deliver(made)
        return made

    def rater(self, token: str) -> Rater | None:
        """Return the rater whose link has this token."""
        with self.read() as connection:
            hashed = hash_token(token)
            row = connection.execute(
                sa.select(raters.c.number, raters.c.consented_at).where(raters.c.token == hashed)
            ).first()
        return None if row is None else Rater(row.number, hashed, bool(row.consented_at))

    def consent(self, rater: Rater, text: str) -> None:
        """Write that a rater agreed to a text, once."""
        with self.write() as connection:
            agreed = {"consented_at": now(), "consent": hashlib.sha256(text.encode()).hexdigest()}
            connection.execute(
                sa.update(raters)
                .where(raters.c.number == rater.number, raters.c.token == rater.token, raters.c.consented_at.is_(None))
                .values(agreed)
            )

    def answer(self, rater: Rater, name: str, groups: Groups, *, form: str, seconds: float) -> Outcome:
        """Write an answer, its best group first; when this returns "saved" it is on the disk.

        `form` is the token of the form it came with: the same form sent again is the same answer.
        """
        with self.write() as connection:
            link = sa.select(raters.c.number).where(raters.c.number == rater.number, raters.c.token == rater.token)
            if connection.scalar(link.with_for_update()) is None:  # and a rater's answers come one after another
                return "gone"
            written = json.dumps(groups, separators=(",", ":"))
            earlier = connection.execute(
                sa.select(answers.c.rater, answers.c.set, answers.c.groups).where(answers.c.form == form)
            ).first()
            if earlier is not None:
                return "again" if tuple(earlier) == (rater.number, name, written) else "used"
            versions = sa.select(sa.func.count()).where(answers.c.rater == rater.number, answers.c.set == name)
            if (connection.scalar(versions) or 0) >= MOST_VERSIONS:
                return "full"
            row = {"rater": rater.number, "set": name, "groups": written, "form": form, "at": now()}
            connection.execute(sa.insert(answers), {**row, "seconds": max(SHORTEST, round(seconds, 1))})
        return "saved"

    def answered(self, rater: Rater) -> dict[str, Groups]:
        """Return a rater's answers as they stand, by set."""
        with self.read() as connection:
            found = sa.select(answers.c.set, answers.c.groups).where(answers.c.rater == rater.number)
            return {row.set: json.loads(row.groups) for row in connection.execute(found.order_by(answers.c.id))}

    def progress(self) -> list[Progress]:
        """Return how far each rater has come."""
        rows, sets = sa.func.count(answers.c.id), sa.func.count(answers.c.set.distinct())
        erased = sa.and_(raters.c.token.is_(None), raters.c.number.in_(sa.select(erasures.c.rater)))
        last = sa.func.coalesce(sa.func.max(answers.c.at), "")
        found = sa.select(raters.c.number, erased, raters.c.consented_at.is_not(None), sets, rows - sets, last)
        with self.read() as connection:
            joined = found.outerjoin(answers, answers.c.rater == raters.c.number).group_by(raters.c.number)
            return [Progress(*row) for row in connection.execute(joined.order_by(raters.c.number))]

    def rankings(self, *, history: bool = False) -> list[Ranking]:
        """Return the answers by rater, in the order of time.

        With `history`, every version of an answer has its own time; otherwise only the last version is returned, with
        the time of all versions together.
        """
        seconds: sa.ColumnElement[float] = answers.c.seconds
        found = sa.select(answers.c.rater, answers.c.set, answers.c.groups, answers.c.at)
        if not history:
            last = sa.func.max(answers.c.id).label("id"), sa.func.sum(answers.c.seconds).label("seconds")
            versions = sa.select(*last).group_by(answers.c.rater, answers.c.set).subquery()
            found, seconds = found.join(versions, versions.c.id == answers.c.id), versions.c.seconds
        found = found.add_columns(seconds.label("seconds")).order_by(answers.c.rater, answers.c.id)
        with self.read() as connection:
            return [
                Ranking(
                    rater_name(row.rater, simulated=self.simulated),
                    row.set,
                    json.loads(row.groups),
                    round(row.seconds, 1),
                    row.at,
                    self.simulated,
                )
                for row in connection.execute(found)
            ]


def rater_name(number: int, *, simulated: bool) -> str:
    """Return what rankings call a rater.

    >>> rater_name(3, simulated=False), rater_name(3, simulated=True)
    ('3', 'simulated-3')
    """
    return f"simulated-{number}" if simulated else str(number)


def hash_token(token: str) -> str:
    """Return the hash that is stored for a token; tokens are random, so a plain hash cannot be reversed."""
    return hashlib.sha256(token.encode()).hexdigest()


def _begin(connection: sa.Connection, study: Study, *, simulated: bool, new: bool) -> dict[str, str]:
    """Return the facts that a database stores about its study; a new database gets them."""
    fingerprint = hashlib.sha256(study_bytes(study)).hexdigest()
    known = {row.name: row.value for row in connection.execute(sa.select(facts))}
    if not known and not new:
        raise OptionError("the database does not belong to a study yet; serve the study first, or check --database")
    if not known:
        known = {
            "study": fingerprint,
            "name": study.name,
            "key": secrets.token_hex(32),
            "simulated": "yes" if simulated else "no",
        }
        connection.execute(sa.insert(facts), [{"name": name, "value": value} for name, value in known.items()])
        if study.assignments:
            connection.execute(sa.insert(raters), [{"number": one.rater} for one in study.assignments])
    elif known["study"] != fingerprint:
        raise OptionError(
            f"the database holds answers to another study ({known['name']!r}), or the study's file was changed since; "
            "give the original file of the study, or another --database"
        )
    elif simulated and known["simulated"] != "yes":
        raise OptionError("the database holds answers of people; give another --database for simulated raters")
    return known


def now() -> str:
    """Return the time, ISO 8601."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


def erase(store: Store, rater: int, *, by: str) -> int:
    """Erase a rater's answers, all their earlier versions, the consent and the link; return the number of rows.

    The database does it while it writes the record (see `database.py`): both happen, or neither. `by` says who
    erases, for the record; it is not the rater's name.
    """
    if not 1 <= len(by) <= LONGEST_NAME:
        raise OptionError(f"<<by>> must be a name of 1 to {LONGEST_NAME} characters, not {len(by)}")
    with store.write() as connection:
        known = sa.select(raters.c.number).where(raters.c.number == rater)
        if connection.scalar(known.with_for_update()) is None:  # and answers that arrive now wait, and are refused
            raise OptionError(f"the study has no rater {rater}; check <<rater>>")
        count, last = connection.execute(
            sa.select(sa.func.count(), sa.func.coalesce(sa.func.max(answers.c.id), 0)).where(answers.c.rater == rater)
        ).one()
        record = {"rater": rater, "erased_at": now(), "erased_by": by, "answers": count, "last_answer": last}
        connection.execute(sa.insert(erasures), record)
    with store.read() as connection:  # deleted rows would stay in the files until they are overwritten
        if connection.dialect.name == "sqlite":
            connection.connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")  # outside of any transaction
        else:
            alone = connection.execution_options(isolation_level="AUTOCOMMIT")
            for table in (answers, raters):
                alone.exec_driver_sql(f"VACUUM FULL {table.name}")
    return int(count)


def erasure_records(store: Store) -> list[str]:
    """Return the record of all erasures, one sentence each."""
    with store.read() as connection:
        found = connection.execute(sa.select(erasures).order_by(erasures.c.id)).all()
    return [f"{row.erased_at}: rater {row.rater}, {row.answers} answers, erased by {row.erased_by}" for row in found]
