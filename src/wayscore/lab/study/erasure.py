"""Erasing what is stored about a rater, which leaves a record of it: when, by whom, and how many answers."""

from __future__ import annotations

import sqlalchemy as sa

from wayscore.errors import OptionError
from wayscore.lab.study.database import answers, erasures, raters
from wayscore.lab.study.store import Store, now

LONGEST_NAME = 100


def erase(store: Store, rater: int, *, by: str) -> int:
    """Erase a rater's answers, all their earlier versions, the consent and the link; return the number of rows.

    The database does it while it writes the record (see `wayscore.lab.study.guards`): both happen, or neither.

    Args:
        store: the store.
        rater: the number of the rater.
        by: who erases, for the record; not the rater's name.
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
    _leave_no_copies(store)
    return int(count)


def _leave_no_copies(store: Store) -> None:
    """Remove the deleted rows from the database's files, where they would stay until they are overwritten."""
    with store.read() as connection:
        if connection.dialect.name == "sqlite":
            connection.connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")  # outside of any transaction
            return
        alone = connection.execution_options(isolation_level="AUTOCOMMIT")
        for table in (answers, raters):
            alone.exec_driver_sql(f"VACUUM FULL {table.name}")


def erasure_records(store: Store) -> list[str]:
    """Return the record of all erasures, one sentence each."""
    with store.read() as connection:
        found = connection.execute(sa.select(erasures).order_by(erasures.c.id)).all()
    return [f"{row.erased_at}: rater {row.rater}, {row.answers} answers, erased by {row.erased_by}" for row in found]
