"""The store of a study's answers: rows that are only ever added, each in one transaction, in SQLite or PostgreSQL."""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Literal, TypeAlias

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from wayscore.errors import OptionError
from wayscore.lab.study.database import CONNECTIONS, answers, erasures, explain, facts, open_engine, raters, tables
from wayscore.lab.study.files import study_bytes
from wayscore.lab.study.model import Study
from wayscore.lab.study.rankings import Ranking

Groups: TypeAlias = list[list[int]]
Outcome: TypeAlias = Literal["saved", "again", "used", "full", "gone"]
"""The outcome of an answer: written; written before from the same form; the form was used for another answer; changed
too often; the rater's link was replaced in the meantime."""
MOST_VERSIONS = 50
"""How often an answer may be changed, so that the disk cannot be filled."""
SHORTEST = 0.1
"""The shortest time that is stored, seconds: 0 would say that the time is not known."""
CREATION = 0x57415953
"""The lock under which only one server at a time creates the tables in PostgreSQL."""


@dataclass(frozen=True)
class Rater:
    """A rater whose link was followed.

    Attributes:
        number: as in the study's assignments.
        token: the hash of the link's token.
        consented: whether the rater agreed to take part.
    """

    number: int
    token: str
    consented: bool


@dataclass(frozen=True)
class Progress:
    """How far a rater has come.

    Attributes:
        rater: the number.
        linked: whether the rater has a link.
        erased: whether the rater's data were erased, and nobody else has the number since.
        consented: whether the rater agreed to take part.
        answered: how many sets have an answer.
        changes: how many answers were replaced by later ones.
        last: when the last answer came, ISO 8601, or empty.
    """

    rater: int
    linked: bool
    erased: bool
    consented: bool
    answered: int
    changes: int
    last: str


class Store:
    """The answers to one study.

    Args:
        database: an SQLite file, or a URL such as postgresql://user@host/name.
        study: the study; a database belongs to one study only, and stores which one.
        simulated: mark the answers of a new database as simulated: no person gave them.
        new: whether the database may be a new one, which is then created.

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

        Args:
            numbers: the raters.
            deliver: called with the new tokens before they are valid; if it fails, the earlier ones stay valid.
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
        """Write an answer; when this returns "saved" it is on the disk.

        Args:
            rater: who answers.
            name: the set.
            groups: the order of its queries, best group first.
            form: the token of the form it came with: the same form sent again is the same answer.
            seconds: how long it took.
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
        counted = (
            sa.select(
                answers.c.rater,
                sa.func.count().label("rows"),
                sa.func.count(answers.c.set.distinct()).label("sets"),
                sa.func.max(answers.c.at).label("last"),
            )
            .group_by(answers.c.rater)
            .subquery()
        )
        erased = raters.c.number.in_(sa.select(erasures.c.rater)).label("erased")
        found = sa.select(raters.c.number, raters.c.token, raters.c.consented_at, erased, counted).outerjoin(
            counted, counted.c.rater == raters.c.number
        )
        with self.read() as connection:
            return [
                Progress(
                    row.number,
                    linked=row.token is not None,
                    erased=row.token is None and bool(row.erased),
                    consented=bool(row.consented_at),
                    answered=row.sets or 0,
                    changes=(row.rows or 0) - (row.sets or 0),
                    last=row.last or "",
                )
                for row in connection.execute(found.order_by(raters.c.number))
            ]

    def rankings(self, *, history: bool = False) -> list[Ranking]:
        """Return the answers by rater, in the order of time.

        Args:
            history: return every version of an answer with its own time; otherwise only the last one, with the time
                of all versions together.
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


@contextmanager
def in_a_sentence(where: str) -> Iterator[None]:
    """Turn what a database could not do into an error for someone at the command line."""
    try:
        yield
    except SQLAlchemyError as error:
        raise OptionError(explain(error, where)) from None


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
